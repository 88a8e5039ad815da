/* Every stage of climg on noise: median times of its kernels' events, GB/s, and the fraction of the rate at
 * which the same device copies memory in the same process. One line of JSON a figure; stages.py makes tables
 * and a chart of them.
 *
 *     stages [buffer] [image] [SIZE]...
 *
 * CLIMG_DEVICE and CLIMG_CLASS choose the device and the form of the kernels. */
#include "base/json.h"
#include "bench.h"
#include "chain/chain.h"
#include "chain/planner.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHANNELS = 4,
    MAX_STEPS = 4,
    MAX_KERNELS = 24,
    RUNS = 24,
    MAX_COPIES = 40,
    MAX_SIZES = 16,
    SMALLEST = 64
};

/* A size that would take longer is left out, and the line says so. */
static const double LONGEST_RUN = 3; /* seconds */

/* Chains that have every stage, and the picture's size as a part of the full one: enlargements end at it. */
struct bench_case {
    const char *steps[MAX_STEPS][2]; /* name, value */
    int part;
};

static const struct bench_case cases[] = {
    {{{"invert", NULL}}, 1},
    {{{"blur", "2"}}, 1},
    {{{"blur", "10"}}, 1},
    {{{"blur", "50"}}, 1},
    {{{"blur", "200"}}, 1},
    {{{"convolve", "1 4 6 4 1"}}, 1},
    {{{"sharpen", "1"}}, 1},
    {{{"gradient", "1"}}, 1},
    {{{"median", "1"}}, 1},
    {{{"median", "2"}}, 1},
    {{{"median", "7"}}, 1},
    {{{"median", "31"}}, 1},
    {{{"scale", "2"}}, 2},
    {{{"scale", "4"}}, 4},
    {{{"scale", "4,filter=bilinear"}}, 4},
    {{{"scale", "1/2"}}, 1},
    {{{"resize", "170%"}}, 2},
    {{{"resize", "37%"}}, 1},
    {{{"warp", "0.9 0.1 30 -0.1 0.9 50"}}, 1},
    {{{"rotate", "30"}}, 1},
    {{{"denoise", "10"}}, 1},
    {{{"wavelet", "4"}, {"shrink", "10"}, {"gain", "1:1.5"}, {"inverse-wavelet", NULL}}, 1},
    {{{"wavelet", "4"}, {"mosaic", NULL}}, 1},
};

/* One kernel of one step in all its launches. */
struct kernel_series {
    int step;
    const char *kernel;
    uint64_t bytes;
    int launches;
    double seconds[RUNS];
};

/* State shared by all measurements. */
struct session {
    struct bench bench;
    float *noise; /* for pictures of up to noise_size bytes */
    size_t noise_size;
    double copy_rates[MAX_COPIES]; /* bytes a second, of 2^i bytes; 0: not yet measured */
};

struct stage_times {
    struct session *session;
    struct run run;
    struct chain chain;
    struct value in;
    int size;
    struct kernel_series series[MAX_KERNELS];
    int count;
    uint64_t step_bytes[MAX_STEPS]; /* of what goes in and what comes out */
};

/* Returns the bytes of planes that are not shared with another value: a stage moves no bytes of planes that
 * it passes on. */
static uint64_t own_bytes(const struct value *value, const struct value *other)
{
    uint64_t sum = 0;
    for (int i = 0; i <= MAX_LEVELS; i++) {
        bool shared = false;
        for (int k = 0; k <= MAX_LEVELS; k++)
            shared = shared || value->planes[i].object == other->planes[k].object;
        if (value->planes[i].object && !shared)
            sum += planes_bytes(&value->planes[i]);
    }
    return sum;
}

static void run_chain(struct stage_times *m)
{
    struct error error = {.text = ""};
    struct plan plan;
    struct value value = m->in;
    bench_check(
        plan_make(&plan,
                  &(struct plan_request){
                      .chain = &m->chain, .input = m->in.shape, .in = SAMPLE_FLOAT, .out = SAMPLE_FLOAT},
                  &m->run, &error),
        &error);
    for (size_t i = 0; i < m->chain.count; i++) {
        const struct step *step = &m->chain.steps[i];
        struct value next = {.shape = plan.shapes[i + 1], .rows = rows_full(plan.shapes[i + 1].height)};
        m->session->bench.event_log.owner = (struct event_owner){(int)i, step->stage->name};
        bench_check(step->stage->run(&m->run, step->params, &value, &next, &error), &error);
        run_end_stage(&m->run);
        m->step_bytes[i] = own_bytes(&value, &next) + own_bytes(&next, &value);
        if (i > 0)
            value_release_except(&m->run, &value, &next);
        value = next;
    }
    plan_free(&plan);
    value_release(&m->run, &value);
}

static struct kernel_series *find_series(struct stage_times *m, const struct timing_sum *sum)
{
    int i = 0;
    while (i < m->count &&
           (m->series[i].step != sum->owner_index || strcmp(m->series[i].kernel, sum->name) != 0))
        i++;
    if (i == MAX_KERNELS)
        bench_fail("a chain has more than %d kernels", MAX_KERNELS);
    if (i == m->count)
        m->series[m->count++] = (struct kernel_series){.step = sum->owner_index, .kernel = sum->name};
    return &m->series[i];
}

/* One run's times into place `index` of the series (-1: nowhere); gives their sum. */
static double collect(struct stage_times *m, int index)
{
    struct event_log *event_log = &m->session->bench.event_log;
    struct error error = {.text = ""};
    double sum = 0;
    bench_check_cl(clFinish(m->session->bench.device.queue), "waiting for the device");
    bench_check(event_log_collect(event_log, event_log_mark(event_log), &error), &error);
    const struct timing *timing = &m->session->bench.timing;
    for (size_t k = 0; k < timing->kernel_count; k++) {
        const struct timing_sum *kernel = &timing->kernels[k];
        struct kernel_series *series = find_series(m, kernel);
        series->bytes = kernel->bytes;
        series->launches = kernel->count;
        if (index >= 0)
            series->seconds[index] = kernel->seconds;
        sum += kernel->seconds;
    }
    bench_restart(&m->session->bench);
    return sum;
}

/* Bytes a second of a copy of about as many bytes: measured once for each power of two. */
static double copy_rate(struct session *session, uint64_t bytes)
{
    int power = 16;
    while (power < MAX_COPIES - 1 && (uint64_t)1 << power < bytes)
        power++;
    double *rate = &session->copy_rates[power];
    if (*rate == 0)
        *rate = (double)((uint64_t)1 << power) / bench_copy_seconds(&session->bench, (size_t)1 << power);
    return *rate;
}

enum { DIGITS = 17 };

/* Ends a line of JSON that json_begin began. */
static void end_line(struct json_writer *line)
{
    json_end(line, '}');
    putchar('\n');
    fflush(stdout);
}

static const char *memory_name(enum memory memory)
{
    return memory == MEMORY_IMAGE ? "image" : "buffer";
}

/* `kernel` is empty for all of a step's kernels together, whose bytes are then those that must be moved. */
static void print_figure(const struct stage_times *m, const char *chain, int step, const char *kernel,
                         int launches, uint64_t bytes, double seconds)
{
    double rate = (double)bytes / seconds, copy = copy_rate(m->session, bytes);
    struct json_writer line = {.out = stdout};
    json_begin(&line, NULL, '{');
    json_put_string(&line, "chain", chain);
    json_put_integer(&line, "step", step);
    json_put_string(&line, "stage", m->chain.steps[step].stage->name);
    json_put_string(&line, "kernel", kernel);
    json_put_integer(&line, "size", m->size);
    json_put_string(&line, "memory", memory_name(m->run.memory));
    json_put_integer(&line, "launches", launches);
    json_put_integer(&line, "bytes", (long long)bytes);
    json_put_number(&line, "seconds", seconds, DIGITS);
    json_put_number(&line, "gb_per_second", 1e-9 * rate, DIGITS);
    json_put_number(&line, "copy_gb_per_second", 1e-9 * copy, DIGITS);
    json_put_number(&line, "of_copy", rate / copy, DIGITS);
    end_line(&line);
}

static void print_steps(struct stage_times *m, const char *chain, int runs)
{
    for (int step = 0; step < (int)m->chain.count; step++) {
        double all = 0;
        int launches = 0;
        for (int i = 0; i < m->count; i++) {
            struct kernel_series *series = &m->series[i];
            if (series->step != step)
                continue;
            double seconds = bench_median(series->seconds + runs / 2, runs - runs / 2);
            print_figure(m, chain, step, series->kernel, series->launches, series->bytes, seconds);
            all += seconds;
            launches += series->launches;
        }
        if (launches)
            print_figure(m, chain, step, "", launches, m->step_bytes[step], all);
    }
}

static void describe(const struct bench_case *one, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < MAX_STEPS && one->steps[i][0]; i++) {
        size_t used = strlen(text);
        const char *value = one->steps[i][1];
        snprintf(text + used, size - used, "%s--%s%s%s", i ? " " : "", one->steps[i][0], value ? " " : "",
                 value ? value : "");
    }
}

/* In the device's own order: which pixel has which noise does not matter here. */
static void make_input(struct stage_times *m, int side)
{
    struct error error = {.text = ""};
    struct session *session = m->session;
    m->in = (struct value){
        .shape =
            {.kind = KIND_IMAGE, .width = side, .height = side, .channels = CHANNELS, .images = 1, .full = 1},
        .rows = rows_full(side)};
    bench_check(run_output(&m->run, &m->in, &error), &error);
    size_t size = planes_bytes(&m->in.planes[0]);
    if (size > session->noise_size) {
        free(session->noise);
        session->noise = bench_noise(size / sizeof *session->noise);
        session->noise_size = size;
    }
    bench_write(&m->run, &m->in.planes[0], session->noise);
}

static void make_chain(struct chain *chain, const struct bench_case *one)
{
    struct error error = {.text = ""};
    for (int i = 0; i < MAX_STEPS && one->steps[i][0]; i++)
        bench_check(chain_add(chain, stage_find(one->steps[i][0]), one->steps[i][1], &error), &error);
    bench_check(chain_prepare(chain, NULL, &error), &error);
}

/* Gives the seconds of one run. */
static double measure(struct session *session, const struct bench_case *one, enum memory memory, int size)
{
    struct stage_times m = {.session = session, .size = size};
    char chain[128];
    describe(one, chain, sizeof chain);
    run_init(&m.run, &session->bench.device, memory, EDGE_CLAMP);
    make_chain(&m.chain, one);
    make_input(&m, size / one->part);
    run_chain(&m); /* builds, and takes the memory that all runs use */
    double first = collect(&m, -1);
    int runs = bench_repeats(first, RUNS);
    bench_warm(&session->bench);
    for (int i = 0; i < runs; i++) {
        run_chain(&m);
        collect(&m, i);
    }
    print_steps(&m, chain, runs);
    value_release(&m.run, &m.in);
    run_free(&m.run);
    chain_free(&m.chain);
    return first;
}

static void skip(const char *chain, enum memory memory, int size, const char *why)
{
    struct json_writer line = {.out = stdout};
    json_begin(&line, NULL, '{');
    json_put_string(&line, "chain", chain);
    json_put_integer(&line, "size", size);
    json_put_string(&line, "memory", memory_name(memory));
    json_put_string(&line, "skipped", why);
    end_line(&line);
}

static void measure_sizes(struct session *session, const struct bench_case *one, enum memory memory,
                          const int *sizes, int count)
{
    const struct device *device = &session->bench.device;
    double last = 0;
    for (int i = 0; i < count; i++) {
        double growth = i ? (double)sizes[i] * sizes[i] / ((double)sizes[i - 1] * sizes[i - 1]) : 0;
        char chain[128], why[96] = "";
        describe(one, chain, sizeof chain);
        if (memory == MEMORY_IMAGE && (!device->has_images || (size_t)sizes[i] > device->image_width))
            snprintf(why, sizeof why, "the device has no such images");
        else if (last * growth > LONGEST_RUN)
            snprintf(why, sizeof why, "a run would take about %.0f s", last * growth);
        if (*why)
            skip(chain, memory, sizes[i], why);
        else
            last = measure(session, one, memory, sizes[i]);
        if (*why)
            last *= growth;
    }
}

/* Options of the command line. */
struct request {
    int sizes[MAX_SIZES], count;
    bool memories[2];
};

static bool parse(int argc, char **argv, struct request *request)
{
    static const int usual[] = {512, 2048, 4096};
    *request = (struct request){.count = 0};
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "buffer") == 0)
            request->memories[MEMORY_BUFFER] = true;
        else if (strcmp(argv[i], "image") == 0)
            request->memories[MEMORY_IMAGE] = true;
        else if (request->count == MAX_SIZES || (request->sizes[request->count++] = atoi(argv[i])) < SMALLEST)
            return false;
    for (int i = 0; request->count == 0 && i < 3; i++)
        request->sizes[i] = usual[i];
    if (request->count == 0)
        request->count = 3;
    if (!request->memories[MEMORY_BUFFER] && !request->memories[MEMORY_IMAGE])
        request->memories[MEMORY_BUFFER] = request->memories[MEMORY_IMAGE] = true;
    return true;
}

int main(int argc, char **argv)
{
    struct session session = {.noise = NULL};
    const struct device *device = &session.bench.device;
    struct request request;
    if (!parse(argc, argv, &request)) {
        fprintf(stderr, "stages [buffer] [image] [SIZE]..., sizes from %d\n", SMALLEST);
        return 2;
    }
    bench_open(&session.bench);
    struct json_writer line = {.out = stdout};
    json_begin(&line, NULL, '{');
    json_put_string(&line, "device", device->name);
    json_put_string(&line, "driver", device->driver);
    json_put_string(&line, "class", device->variant == VARIANT_CPU ? "cpu" : "gpu");
    json_put_integer(&line, "channels", CHANNELS);
    end_line(&line);
    for (int memory = MEMORY_BUFFER; memory <= MEMORY_IMAGE; memory++)
        for (size_t i = 0; request.memories[memory] && i < sizeof cases / sizeof *cases; i++)
            measure_sizes(&session, &cases[i], (enum memory)memory, request.sizes, request.count);
    free(session.noise);
    bench_close(&session.bench);
    return 0;
}
