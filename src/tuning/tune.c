#include "tuning/tune.h"

#include "chain/chain.h"
#include "chain/planning.h"
#include "device/profile.h"
#include "device/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_WIDE = 1536, SIZE_GROUPED = 4096, SIZE_SIMULATED = 64, CHANNELS = 4, RUNS = 5 };

/* A form must be this much faster than the default to replace it: less is noise. */
static const double WORTHWHILE = 0.97;
static const double TOLERANCE = 1e-6; /* between forms, of values from 0 to 1 */

static const int wide_groups[][2] = {{16, 1}, {8, 1}, {4, 4}, {64, 1}, {0, 0}};
static const int grouped_groups[][2] = {{32, 4}, {64, 2}, {32, 8}, {16, 8}, {128, 1},
                                        {8, 16}, {4, 32}, {1, 64}, {0, 0}};

struct tuner {
    struct run run;
    struct profile profile;
    struct chain chain;
    struct value in;
    float *expected, *got; /* what the default's and a candidate's output hold on the host */
    size_t size;           /* bytes of each */
    FILE *out;
};

static enum status add_stages(struct tuner *tuner, const struct tuning *problem, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < 2 && problem->stages[i][0]; i++)
        status = chain_add(&tuner->chain, stage_find(problem->stages[i][0]), problem->stages[i][1], error);
    return status;
}

/* Noise, the same in every process. */
static enum status make_input(struct tuner *tuner, int size, struct error *error)
{
    struct value *in = &tuner->in;
    uint32_t state = 1;
    *in = (struct value){
        .shape = {.kind = KIND_IMAGE, .width = size, .height = size, .channels = CHANNELS, .images = 1},
        .rows = rows_whole(size)};
    if (run_output(&tuner->run, in, error) != STATUS_OK)
        return STATUS_FAILED;
    size_t bytes = planes_bytes(&in->planes[0]);
    float *noise = allocate(bytes, "noise", error);
    if (!noise)
        return STATUS_FAILED;
    for (size_t i = 0; i < bytes / sizeof *noise; i++) {
        state = state * 1664525u + 1013904223u; /* Numerical Recipes' generator */
        noise[i] = (float)(state >> 8) * 0x1p-24f;
    }
    enum status status = planes_write(tuner->run.device, &in->planes[0], noise, error);
    free(noise);
    return status;
}

static enum status run_chain(struct tuner *tuner, struct value *out, struct error *error)
{
    struct plan plan;
    struct value value = tuner->in;
    enum status status =
        plan_make(&plan, &tuner->chain, &tuner->in.shape, SAMPLE_FLOAT, SAMPLE_FLOAT, &tuner->run, error);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; status == STATUS_OK && i < tuner->chain.count; i++) {
        const struct step *step = &tuner->chain.steps[i];
        struct value next = {.shape = plan.shapes[i + 1], .rows = rows_whole(plan.shapes[i + 1].height)};
        status = step->stage->run(&tuner->run, step->params, &value, &next, error);
        run_end_stage(&tuner->run);
        if (i > 0)
            value_release_except(&tuner->run, &value, &next);
        value = next;
    }
    plan_free(&plan);
    *out = value;
    return status;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds of `kernel` in all its launches, the median of several runs; 0 if the chain does not use it. The
 * last run's output is read to `host`. */
static enum status measure(struct tuner *tuner, const char *kernel, float *host, double *seconds,
                           struct error *error)
{
    double times[RUNS] = {0};
    enum status status = STATUS_OK;
    for (int i = -1; status == STATUS_OK && i < RUNS; i++) { /* the first one builds */
        struct value out = {.shape = {0}};
        profile_free(&tuner->profile);
        tuner->profile = (struct profile){0};
        status = run_chain(tuner, &out, error);
        device_finish(tuner->run.device);
        if (status == STATUS_OK)
            status = profile_collect(&tuner->profile, profile_mark(&tuner->profile), error);
        for (size_t k = 0; i >= 0 && k < tuner->profile.sum_count; k++)
            if (strcmp(tuner->profile.sums[k].name, kernel) == 0)
                times[i] += tuner->profile.sums[k].seconds;
        if (status == STATUS_OK && i == RUNS - 1)
            status = planes_read(tuner->run.device, &out.planes[0], host, error);
        value_release(&tuner->run, &out);
    }
    qsort(times, RUNS, sizeof *times, compare);
    *seconds = times[RUNS / 2];
    return status;
}

/* The largest difference; padding is not looked at. */
static double difference(const struct tuner *tuner, int width, int pitch)
{
    double largest = 0;
    for (size_t i = 0; i < tuner->size / sizeof *tuner->got; i++)
        if ((int)(i % (size_t)pitch) < width &&
            !(fabs((double)(tuner->got[i] - tuner->expected[i])) <= largest))
            largest = fabs((double)(tuner->got[i] - tuner->expected[i]));
    return largest;
}

struct search {
    const struct tunable *tunable;
    struct form best;
    double preset, fastest; /* seconds */
    int width, pitch;       /* of the output on the host */
};

static enum status try_form(struct tuner *tuner, struct search *search, const struct form *form,
                            struct error *error)
{
    struct device *device = tuner->run.device;
    struct error ignored = {.text = ""};
    double seconds = 0;
    if (tuning_set(device, tuner->run.memory, search->tunable, form, &ignored) != STATUS_OK)
        return STATUS_OK; /* larger than the device's groups */
    if (measure(tuner, search->tunable->kernel, tuner->got, &seconds, &ignored) != STATUS_OK) {
        device_finish(device);
        profile_discard(&tuner->profile); /* more registers than a group may have, say */
    } else if (difference(tuner, search->width, search->pitch) > TOLERANCE)
        fprintf(tuner->out, "  %s: %d outputs, groups of %dx%d: wrong pixels; not used\n",
                search->tunable->kernel, form->outputs, form->group[0], form->group[1]);
    else if (seconds < search->fastest) {
        search->fastest = seconds;
        search->best = *form;
    }
    return tuning_set(device, tuner->run.memory, search->tunable, &search->best, error);
}

static enum status try_all(struct tuner *tuner, struct search *search, struct error *error)
{
    const struct device *device = tuner->run.device;
    const int(*groups)[2] = search->tunable->groups;
    if (!groups)
        groups = device->class == DEVICE_WIDE ? wide_groups : grouped_groups;
    bool several = form_has_outputs(device, tuner->run.memory, search->tunable);
    enum status status = STATUS_OK;
    for (int outputs = several ? 2 : 1; outputs <= (several ? FORM_MAX_OUTPUTS : 1); outputs *= 2)
        for (const int(*group)[2] = groups; status == STATUS_OK && (*group)[0]; group++)
            status = try_form(tuner, search, &(struct form){outputs, {(*group)[0], (*group)[1]}}, error);
    return status;
}

/* The best of many noisy figures looks better than it is: it meets the default once more, both measured anew.
 */
static enum status duel(struct tuner *tuner, struct search *search, const struct form *preset,
                        struct error *error)
{
    struct device *device = tuner->run.device;
    enum status status = measure(tuner, search->tunable->kernel, tuner->got, &search->fastest, error);
    if (status == STATUS_OK)
        status = tuning_set(device, tuner->run.memory, search->tunable, preset, error);
    if (status == STATUS_OK)
        status = measure(tuner, search->tunable->kernel, tuner->got, &search->preset, error);
    if (status == STATUS_OK)
        status = tuning_set(device, tuner->run.memory, search->tunable, &search->best, error);
    return status;
}

static enum status search_kernel(struct tuner *tuner, const struct planes *planes,
                                 const struct tunable *tunable, struct error *error)
{
    struct device *device = tuner->run.device;
    const struct form preset = device_form(device, tuner->run.memory, tunable);
    struct search search = {
        .tunable = tunable, .best = preset, .width = planes->width, .pitch = planes->pitch};
    if (tuner->run.memory == MEMORY_IMAGE)
        search.width = search.pitch = 1;
    enum status status = measure(tuner, tunable->kernel, tuner->expected, &search.preset, error);
    if (status != STATUS_OK || search.preset == 0)
        return status;
    search.fastest = search.preset;
    status = try_all(tuner, &search, error);
    if (status == STATUS_OK)
        status = duel(tuner, &search, &preset, error);
    if (status == STATUS_OK && search.fastest > WORTHWHILE * search.preset) {
        search.best = preset;
        search.fastest = search.preset;
        status = tuning_set(device, tuner->run.memory, tunable, &preset, error);
    }
    if (status == STATUS_OK)
        fprintf(tuner->out, "  %-7s%-18s%8.0f us%9.0f us%8d%6dx%d\n",
                tuner->run.memory == MEMORY_IMAGE ? "image" : "buffer", tunable->kernel, 1e6 * search.preset,
                1e6 * search.fastest, search.best.outputs, search.best.group[0], search.best.group[1]);
    fflush(tuner->out);
    return status;
}

/* Sizes the host's copies by a first run. */
static enum status prepare(struct tuner *tuner, struct planes *planes, struct error *error)
{
    struct value out = {.shape = {0}};
    enum status status = run_chain(tuner, &out, error);
    if (status != STATUS_OK)
        return status;
    *planes = out.planes[0];
    tuner->size = planes_bytes(planes);
    value_release(&tuner->run, &out);
    device_finish(tuner->run.device);
    tuner->expected = allocate(tuner->size, "pixels", error);
    tuner->got = allocate(tuner->size, "pixels", error);
    return tuner->expected && tuner->got ? STATUS_OK : STATUS_FAILED;
}

static enum status tune_problem(struct device *device, enum memory memory, const struct tuning *problem,
                                FILE *out, struct error *error)
{
    struct tuner tuner = {.out = out};
    struct planes planes;
    int usual = device->class == DEVICE_WIDE ? SIZE_WIDE : SIZE_GROUPED;
    int size = (device->simulator ? SIZE_SIMULATED : usual) / problem->part;
    struct profile *before = device->profile;
    device->profile = &tuner.profile;
    run_init(&tuner.run, device, memory, EDGE_CLAMP);
    enum status status = add_stages(&tuner, problem, error);
    if (status == STATUS_OK)
        status = make_input(&tuner, size, error);
    if (status == STATUS_OK)
        status = prepare(&tuner, &planes, error);
    for (const struct tunable *const *tunable = problem->tunables; status == STATUS_OK && *tunable; tunable++)
        status = search_kernel(&tuner, &planes, *tunable, error);
    device_finish(device);
    value_release(&tuner.run, &tuner.in);
    run_free(&tuner.run);
    chain_free(&tuner.chain);
    profile_free(&tuner.profile);
    free(tuner.expected);
    free(tuner.got);
    device->profile = before;
    return status;
}

static enum status tune_stage(struct device *device, enum memory memory, const struct stage *stage, FILE *out,
                              struct error *error)
{
    enum status status = STATUS_OK;
    const struct tuning *problem = stage->tunings;
    for (; status == STATUS_OK && problem && problem->tunables; problem++)
        status = tune_problem(device, memory, problem, out, error);
    return status;
}

enum status tune(struct device *device, FILE *out, struct error *error)
{
    enum status status = STATUS_OK;
    char *path = NULL;
    fprintf(out, "%s, %s\n  memory kernel               default     best outputs  group\n", device->name,
            device->platform_name);
    /* Images on CPU devices are hopeless in every form (docs/performance.md). */
    bool images = device->has_images && device->class == DEVICE_GROUPED;
    for (int memory = MEMORY_BUFFER; memory <= (images ? MEMORY_IMAGE : MEMORY_BUFFER); memory++)
        for (const struct stage *const *stage = stages; status == STATUS_OK && *stage; stage++)
            status = tune_stage(device, (enum memory)memory, *stage, out, error);
    if (status == STATUS_OK)
        status = tuning_save(device, &path, error);
    if (status == STATUS_OK)
        fprintf(out, "remembered in %s\n", path);
    else
        error_prefix(error, "--tune");
    free(path);
    return status;
}
