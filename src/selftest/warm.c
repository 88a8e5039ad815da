/* --warm: compiles the programs that the examples of the manual need, by running them on generated images.
 *
 *     for each stage ─▶ example ─▶ image kind ─▶ unsliced, in slices: parse ─▶ plan ─▶ run in memory
 *
 * An image kind is a number of channels and a sample type. Each example runs on the usual kinds, unsliced and
 * in slices, as all of these may need different programs. The images are 192x160, the smallest size at which
 * all kernels of the examples still run. Other files that examples read are replaced by files in memory. */
#include "base/text.h"
#include "base/timing.h"
#include "batch/worker.h"
#include "chain/planner.h"
#include "cli/cli.h"
#include "device/cache.h"
#include "device/choose.h"
#include "selftest/selftest.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_WORDS = 64, WIDTH = 192, HEIGHT = 160 /* pixels */ };

static const struct image_info usual_kinds[] = {
    {.width = WIDTH, .height = HEIGHT, .channels = 3, .type = SAMPLE_UINT8},
    {.width = WIDTH, .height = HEIGHT, .channels = 1, .type = SAMPLE_UINT8},
    {.width = WIDTH, .height = HEIGHT, .channels = 4, .alpha = true, .type = SAMPLE_UINT8},
    {.width = WIDTH, .height = HEIGHT, .channels = 3, .type = SAMPLE_UINT16},
    {.width = WIDTH, .height = HEIGHT, .channels = 1, .type = SAMPLE_UINT16},
    {.width = WIDTH, .height = HEIGHT, .channels = 2, .alpha = true, .type = SAMPLE_UINT8},
    {.width = WIDTH, .height = HEIGHT, .channels = 3, .type = SAMPLE_FLOAT},
    {.width = WIDTH, .height = HEIGHT, .channels = 1, .type = SAMPLE_FLOAT},
};

/* Files that stages read in examples: the kernel of --convolve and the reference picture of --align. `kernel`
 * is the content that replaces kernel_name. */
static const char kernel_name[] = "samples/emboss.txt", reference_name[] = "samples/scene.tif";
static const char kernel[] = "-2 -1 0\n-1 1 1\n0 1 2\n";

struct warming {
    struct settings *settings; /* of the worker, a copy of the command's; environment.slice and `linear`
                                  change from run to run */
    struct worker worker;
    char kernel[32], reference[32]; /* paths of files in memory: the kernel and the reference picture */
    FILE *out;
    size_t count, failed; /* number of examples so far, and of failed examples */
};

/* Returns an 8-bit sample of a smooth texture, which has enough structure for estimates and alignment. */
static int texture(int x, int y, int channel)
{
    return (x * x + 3 * y * y + x * y + 40 * channel) / 16 % 256;
}

/* ---------------------------------------------------------------- parsing an example */

/* Splits a command into words in place, as shells do with blanks and double quotes. Returns their number. */
static int split_words(char *text, const char **words)
{
    int count = 0;
    while (*text && count < MAX_WORDS) {
        char *to = text;
        bool quoted = false;
        words[count++] = text;
        for (; *text && (quoted || *text != ' '); text++) {
            if (*text == '"')
                quoted = !quoted;
            else
                *to++ = *text;
        }
        while (*text == ' ')
            text++;
        *to = '\0';
    }
    return count;
}

/* ---------------------------------------------------------------- running an example */

/* Plans and runs a chain on a page. `file_type` is the sample type of the command's input file, which differs
 * from the page's after a merge; `output_type` is the sample type of the output. */
static enum status run_chain(struct run *run, const struct settings *settings, const struct chain *chain,
                             const struct input_page *input, enum sample_type file_type,
                             enum sample_type output_type, struct error *error)
{
    struct plan plan;
    struct sample_array output = {.count = 0};
    enum status status = plan_make(
        &plan,
        &(struct plan_request){
            .chain = chain, .input = image_shape(&input->info), .in = input->info.type, .out = output_type},
        run, error);
    if (status != STATUS_OK)
        return status;
    struct page page = memory_page(run, &plan, settings->linear, 0);
    page.output_conversion.counts_clipping =
        transfer_clips(file_type, output_type, chain_caps(chain).amplifies);
    run->prebuilt = false; /* compile all programs of this chain before its first launch, as a command does */
    status = run_in_memory("--warm", &page, input, 1, &output, error);
    samples_free(&output);
    plan_free(&plan);
    run_trim(run);
    return status;
}

/* Runs a chain on the texture, converted to `info`. */
static enum status run_on_texture(struct worker *worker, const struct chain *chain,
                                  const struct image_info *info, enum sample_type file_type,
                                  enum sample_type output_type, struct error *error)
{
    const struct settings *settings = worker->context->settings;
    struct input_page input = {.samples = NULL};
    enum status status = input_page_init(&input, info, error);
    for (int i = 0; status == STATUS_OK && i < WIDTH * HEIGHT * info->channels; i++) {
        const int pixel = i / info->channels,
                  value = texture(pixel % WIDTH, pixel / WIDTH, i % info->channels);
        if (info->type == SAMPLE_UINT8)
            input.samples[i] = (unsigned char)value;
        else if (info->type == SAMPLE_UINT16)
            ((uint16_t *)(void *)input.samples)[i] = (uint16_t)(value * 257);
        else
            ((float *)(void *)input.samples)[i] = (float)value / 255;
    }
    if (status == STATUS_OK)
        status = run_chain(&worker->run, settings, chain, &input, file_type, output_type, error);
    input_page_free(&input);
    return status;
}

/* Runs a parsed example on an image of this kind. */
static enum status run_command(struct worker *worker, struct command *command, const struct image_info *kind,
                               struct error *error)
{
    struct chain chain = {.count = 0};
    const struct settings *settings = worker->context->settings;
    struct image_info info = *kind;
    const enum sample_type file_type = info.type, output_type = settings_type(&command->settings, file_type);

    /* Use the border rule of the example, or else the rule of the command line. */
    const enum edge edge =
        (enum edge)(command->settings.edge != EDGE_CLAMP ? command->settings.edge : settings->edge);
    worker->run.edge = worker->verifier.run.edge = edge;
    enum status status = chain_prepare(&command->chain, &command->settings, error);
    if (status == STATUS_OK)
        status = chain_resolve(&command->chain, KIND_IMAGE,
                               format_holds_coefficients(format_by_path(command->output)), &chain, error);

    /* Replace measured stages, such as --deskew, by the stage with numbers that job_measure would usually put
     * there. */
    for (size_t i = 0; status == STATUS_OK && i < chain.count; i++) {
        const struct measurement *measurement = chain.steps[i].stage->measurement;
        if (step_is_measured(&chain.steps[i]) && measurement->usual_stage)
            status = chain_replace(&chain, i, stage_find(measurement->usual_stage), measurement->usual_value,
                                   error);
    }

    /* Run the chain. If a stage merges, run the part before the merge, which returns floats, and then the
     * part after it. */
    struct chain part = chain;
    part.count = chain_find_merge(&chain, 0);
    const size_t after = part.count + (part.count < chain.count);
    worker->run.is_merged = part.count < chain.count;
    if (status == STATUS_OK)
        status = run_on_texture(worker, &part, &info, file_type,
                                worker->run.is_merged ? SAMPLE_FLOAT : output_type, error);
    if (status == STATUS_OK && worker->run.is_merged) {
        worker->run.is_merged = false;
        part = (struct chain){.steps = chain.steps + after, .count = chain.count - after};
        info.type = SAMPLE_FLOAT;
        status = run_on_texture(worker, &part, &info, file_type, output_type, error);
    }
    worker->run.is_merged = false;
    chain_free(&chain);
    return status;
}

static enum status run_example(struct warming *warming, const char *text, const struct image_info *kind,
                               struct error *error)
{
    const char *words[MAX_WORDS];
    struct command command = {0};
    /* Replace the files of the example by files in memory. */
    const char *const names[] = {kernel_name, reference_name}, *const paths[] = {warming->kernel,
                                                                                 warming->reference};
    char *copy = copy_text(text, error);
    for (int i = 0; i < 2 && copy; i++) {
        const char *found = strstr(copy, names[i]);
        if (!found)
            continue;
        char *replaced =
            text_print(error, "%.*s%s%s", (int)(found - copy), copy, paths[i], found + strlen(names[i]));
        free(copy);
        copy = replaced;
    }
    enum status status =
        copy ? command_parse(split_words(copy, words), words, &command, error) : STATUS_FAILED;
    if (status == STATUS_OK)
        status = run_command(&warming->worker, &command, kind, error);
    command_free(&command);
    free(copy);
    return status;
}

/* Runs and prints the examples of a stage: on each image kind, unsliced and in slices like a large image. An
 * example fails if it fails on all kinds, as a stage may not support some. */
static void run_examples(struct warming *warming, const struct stage *stage)
{
    enum { KINDS = sizeof usual_kinds / sizeof usual_kinds[0] };
    struct settings *settings = warming->settings;
    const bool linear = settings->linear;
    for (const struct example *example = stage->examples; example->command; example++) {
        struct error error = {.text = ""};
        bool done = false;
        struct timing *timing = &warming->worker.timing;
        const double before = timing_phase(timing, PHASE_BUILD).seconds;
        for (int i = 0; i <= KINDS; i++) {
            /* Finally with --linear: the stages then read and write planes instead of samples, so the
             * programs for the middle of a chain are compiled. */
            settings->linear = linear || i == KINDS;
            settings->environment.slice = 0;
            enum status status = run_example(warming, example->command, &usual_kinds[i % KINDS], &error);
            settings->environment.slice = HEIGHT / 2;
            if (status == STATUS_OK)
                status = run_example(warming, example->command, &usual_kinds[i % KINDS], &error);
            done = done || status == STATUS_OK;
        }
        settings->linear = linear;
        warming->count++;
        warming->failed += !done;
        if (done)
            fprintf(warming->out, "%-18s %6.2f s  %s\n", stage->name,
                    timing_phase(timing, PHASE_BUILD).seconds - before, example->command);
        else
            fprintf(warming->out, "%-18s   failed  %s: %s\n", stage->name, example->command, error.text);
        fflush(warming->out);
    }
}

/* Opens the device of this name and runs all examples on it. */
static enum status warm_device(struct command *command, const char *name, FILE *out, struct error *error)
{
    struct warming warming = {.settings = &command->settings, .out = out};
    struct worker *worker = &warming.worker;
    /* The texture in RGB as a PPM. */
    static unsigned char picture[32 + WIDTH * HEIGHT * 3];
    const int header = snprintf((char *)picture, 32, "P6 %d %d 255\n", WIDTH, HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT * 3; i++)
        picture[header + i] = (unsigned char)texture(i / 3 % WIDTH, i / 3 / WIDTH, i % 3);
    const int files_in_memory[] = {memory_file(kernel, strlen(kernel)),
                                   memory_file(picture, (size_t)header + (size_t)WIDTH * HEIGHT * 3)};
    const struct worker_context context = {.settings = &command->settings, .chain = &command->chain};
    worker_init(worker, &context, NULL, name);
    snprintf(warming.kernel, sizeof warming.kernel, "/proc/self/fd/%d", files_in_memory[0]);
    snprintf(warming.reference, sizeof warming.reference, "/proc/self/fd/%d", files_in_memory[1]);
    enum status status = files_in_memory[0] >= 0 && files_in_memory[1] >= 0
                             ? worker_open(worker, error)
                             : fail_memory(error, "out of memory for an input of an example");
    if (status == STATUS_OK) {
        const double start = clock_seconds();
        fprintf(out, "%s\n%-18s %8s  %s\n", worker->device.name, "stage", "building", "example");
        for (const struct stage *const *stage = stages; *stage; stage++)
            if (stage_is_selected(&command->settings.environment, (*stage)->name))
                run_examples(&warming, *stage);
        fprintf(out, "%d programs, %zu examples: %.1f s\n", timing_phase(&worker->timing, PHASE_BUILD).count,
                warming.count, clock_seconds() - start);
        device_finish(&worker->device);
        if (warming.failed > 0)
            status = fail(error, STATUS_FAILED, "%zu of %zu examples failed", warming.failed, warming.count);
    }
    worker_close(worker);
    for (int i = 0; i < 2; i++)
        if (files_in_memory[i] >= 0)
            close(files_in_memory[i]);
    return status;
}

enum status warm(const struct command *command, FILE *out, struct error *error)
{
    static const char *const kinds[] = {"gpu", "cpu"};
    struct command warmed = *command;
    const char *name = command->settings.device;
    warmed.settings.environment.stores_programs = true;
    program_cache_clean(&warmed.settings.environment);
    if (name[0] != '\0' && strcasecmp(name, "auto") != 0 && strcasecmp(name, "all") != 0)
        return warm_device(&warmed, name, out, error);

    /* Use the GPU and the CPU, the second one also if the first fails. If there is neither, warm_device fails
     * with the reason. */
    enum status status = STATUS_OK;
    int found = 0;
    for (int i = 0; i < 2; i++) {
        struct device device;
        struct error absent = {.text = ""}, failure = {.text = ""};
        if (device_choose(kinds[i], &warmed.settings.environment, &device, &absent) != STATUS_OK)
            continue;
        found++;
        if (warm_device(&warmed, kinds[i], out, &failure) != STATUS_OK) {
            status = STATUS_FAILED;
            *error = failure;
        }
    }
    return found > 0 ? status : warm_device(&warmed, "auto", out, error);
}
