/* Parses test cases, generates their input, runs them and compares the output.
 *
 *     answers.txt ─▶ struct test_case ─▶ samples by a formula ─▶ chain ─▶ comparison with the answers
 *
 * Inputs are pseudo-random bits, so that an error at any position changes the output. Some samples are
 * denormal floats and some pixels have alpha 0, as devices and kernels may treat these in a special way.
 * tests/reference/make_answers.py has the same formula. */
#include "selftest/selftest.h"

#include "base/sums.h"
#include "chain/coefficients.h"
#include "chain/planner.h"
#include "settings/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The file for `--profile @xyz`: an ICC profile whose tables, of two nodes per axis, map R, G and B to X, Y
 * and Z. Full scale of XYZ is 1 + 32767/32768 (ICC.1:2001-04, 6.5.7: lut16Type). */
static const char xyz_profile[280] =
    "\0\0\1\30\0\0\0\0\2\0\0\0prtr"                                         /* size, version, printer */
    "RGB XYZ \0\0\0\0\0\0\0\0\0\0\0\0"                                      /* RGB to XYZ */
    "acsp\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"          /* signature */
    "\0\0\366\326\0\1\0\0\0\0\323-\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" /* D50 */
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "\0\0\0\2A2B0\0\0\0\234\0\0\0|" /* two tags that share their data */
    "B2A0\0\0\0\234\0\0\0|"
    "mft2\0\0\0\0\3\3\2\0"                                                     /* 3 channels to 3, 2 nodes */
    "\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0" /* the identity */
    "\0\2\0\2"                                                                 /* 2 values of each curve */
    "\0\0\377\377\0\0\377\377\0\0\377\377"                                     /* curves */
    "\0\0\0\0\0\0\0\0\0\0\377\377\0\0\377\377\0\0\0\0\377\377\377\377"         /* nodes */
    "\377\377\0\0\0\0\377\377\0\0\377\377\377\377\377\377\0\0\377\377\377\377\377\377"
    "\0\0\377\377\0\0\377\377\0\0\377\377" /* curves */;

/* The file for `--convolve @matrix`; equal to MATRIX of make_answers.py. */
static const char matrix[] = "1 2 3 4 5\n-1 0 2 0 1\n0 1 0 3 -2\n";

const char *const edge_words[] = {"clamp", "mirror", "wrap", "zero"};

/* ---------------------------------------------------------------- reading answers.txt */

/* A test case is a line of fields with tabs between them ("-" for an empty one), then a line of answers
 * ("x" for a missing one). */
bool test_case_next(const char **text, struct test_case *test_case)
{
    /* Parse the fields. */
    char edge[16], in[24], out[24], *end;
    int used = 0;
    *test_case = (struct test_case){.width = 0};
    if (sscanf(*text,
               "%23[^\t]\t%95[^\t]\t%d\t%d\t%d\t%d\t%d\t%d\t%lf\t%15[^\t]\t%23[^\t]\t%23[^\t]\t%zu\n%n",
               test_case->stage, test_case->value, &test_case->width, &test_case->height,
               &test_case->channels, &test_case->alpha, &test_case->levels, &test_case->linear,
               &test_case->exponent, edge, in, out, &test_case->stride, &used) < 13)
        return false;
    while (test_case->edge < EDGE_ZERO && strcmp(edge, edge_words[test_case->edge]) != 0)
        test_case->edge++;
    while (test_case->in < SAMPLE_INT32 && strcmp(in, sample_name(test_case->in)) != 0)
        test_case->in++;
    while (test_case->out < SAMPLE_INT32 && strcmp(out, sample_name(test_case->out)) != 0)
        test_case->out++;
    if (strcmp(test_case->stage, "-") == 0)
        test_case->stage[0] = '\0';
    if (strcmp(test_case->value, "-") == 0)
        test_case->value[0] = '\0';

    /* Parse the answers. */
    const char *at = *text + used;
    while (*at && *at != '\n' && test_case->count < MAX_ANSWERS) {
        bool known = *at != 'x';
        test_case->answers[test_case->count++] = known ? (int)strtol(at, &end, 10) : NO_ANSWER;
        at = known ? end : at + 1;
        at += *at == ' ';
    }
    *text = at + (*at == '\n');
    return true;
}

bool stage_is_selected(const struct environment *environment, const char *name)
{
    const char *selected = environment->only_stages;
    const size_t length = strlen(name);
    for (const char *at = selected; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return selected == NULL;
}

/* ---------------------------------------------------------------- input samples */

enum { HOLE_INTERVAL = 11 }; /* each 11th pixel has alpha 0 */

/* Returns pseudo-random bits for a number: the finalizer of MurmurHash3 (A. Appleby, public domain). */
static uint32_t murmur_mix(uint32_t number)
{
    number = (number ^ number >> 16) * 0x85ebca6bu;
    number = (number ^ number >> 13) * 0xc2b2ae35u;
    return number ^ number >> 16;
}

/* Converts pseudo-random bits to a sample. `pyramid`: the sample is a coefficient. */
static void write_sample(enum sample_type type, uint32_t bits, bool pyramid, unsigned char *to)
{
    const uint16_t upper = (uint16_t)(bits >> 16), half = (uint16_t)(0x3800 | bits >> 22); /* from 0.5 to 1 */

    /* Floats are from 0 to 1; for pyramids they are raised to the fourth power, as most coefficients are
     * small. One in 32 is denormal. */
    const float uniform = (float)(bits >> 8) * 0x1p-24f, square = uniform * uniform;
    const uint32_t denormal = bits >> 10;
    float value = pyramid ? square * square : uniform;
    if ((bits & 31) == 0)
        memcpy(&value, &denormal, sizeof value);

    if (sample_size(type) == 1)
        *to = (unsigned char)(bits >> 24);
    else if (type == SAMPLE_UINT16 || type == SAMPLE_INT16)
        memcpy(to, &upper, sizeof upper);
    else if (type == SAMPLE_UINT32)
        memcpy(to, &bits, sizeof bits);
    else if (type == SAMPLE_HALF)
        memcpy(to, &half, sizeof half);
    else
        memcpy(to, &value, sizeof value);
}

/* Writes `count` input samples, from index `first` of all samples on. Alpha is at least a half, except for
 * holes. */
static void write_samples(const struct test_case *test_case, enum sample_type type, size_t first,
                          size_t count, void *samples)
{
    unsigned char *to = samples;
    size_t channels = (size_t)test_case->channels, parts = type == SAMPLE_COMPLEX ? 2 : 1;
    enum sample_type part = type == SAMPLE_COMPLEX ? SAMPLE_FLOAT : type;
    for (size_t i = first * parts; i < (first + count) * parts; i++, to += sample_size(part)) {
        bool alpha = test_case->alpha && i % channels == channels - 1;
        bool hole = alpha && i / channels % HOLE_INTERVAL == HOLE_INTERVAL - 1;
        uint32_t bits = murmur_mix((uint32_t)i + 1);
        /* For alpha, bit 31 makes the sample at least a half, and bit 0 keeps it from being denormal. */
        write_sample(part, bits | (alpha ? 0x80000001u : 0), test_case->levels > 0, to);
        if (hole)
            memset(to, 0, sample_size(part));
    }
}

/* ---------------------------------------------------------------- running */

int memory_file(const void *bytes, size_t size)
{
    int file = memfd_create("input", MFD_CLOEXEC);
    if (file >= 0 && write(file, bytes, size) == (ssize_t)size)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

static enum status add_stage(const struct test_case *test_case, struct chain *chain, const char *value,
                             struct error *error)
{
    static const struct settings settings = {.max_pixels = 1 << 20, .jobs = 1};
    enum status status = chain_add(chain, stage_find(test_case->stage), value[0] ? value : NULL, error);
    return status == STATUS_OK ? chain_prepare(chain, &settings, error) : status;
}

/* Adds the stage with a file in memory as its value. `format` is the printf format of the value, with %d for
 * the descriptor. */
static enum status add_with_file(const struct test_case *test_case, struct chain *chain, const char *bytes,
                                 size_t size, const char *format, struct error *error)
{
    char value[64];
    int file = memory_file(bytes, size);
    if (file < 0)
        return fail_memory(error, "out of memory for a second input");
    snprintf(value, sizeof value, format, file);
    enum status status = add_stage(test_case, chain, value, error);
    close(file);
    return status;
}

enum status test_case_chain(const struct test_case *test_case, struct chain *chain, struct error *error)
{
    *chain = (struct chain){.count = 0};
    if (!test_case->stage[0])
        return STATUS_OK;
    if (strcmp(test_case->value, "@matrix") == 0)
        return add_with_file(test_case, chain, matrix, strlen(matrix), "@/proc/self/fd/%d", error);
    if (strcmp(test_case->value, "@xyz") == 0)
        return add_with_file(test_case, chain, xyz_profile, sizeof xyz_profile, "/proc/self/fd/%d", error);
    if (strcmp(test_case->value, "@picture") != 0)
        return add_stage(test_case, chain, test_case->value, error);
    /* A second picture: the samples of an 8-bit gray input, a PGM in memory. */
    char picture[4096];
    size_t pixels = (size_t)test_case->width * (size_t)test_case->height;
    int header = snprintf(picture, sizeof picture, "P5 %d %d 255\n", test_case->width, test_case->height);
    if (pixels > sizeof picture - (size_t)header)
        return fail(error, STATUS_FAILED, "the picture is too large");
    write_samples(test_case, SAMPLE_UINT8, 0, pixels, picture + header);
    return add_with_file(
        test_case, chain, picture, (size_t)header + pixels,
        strcmp(test_case->stage, "align") == 0 ? "/proc/self/fd/%d,model=shift" : "/proc/self/fd/%d", error);
}

/* Generates the image, or a page of the pyramid's coefficient file. *written is the number of samples of
 * earlier pages, and increases by the samples of this page. */
static enum status make_input(const struct test_case *test_case, const struct shape *shape, int page,
                              size_t *written, struct input_page *input, struct error *error)
{
    int width = test_case->width, height = test_case->height;
    struct image_info info = {
        .channels = test_case->channels, .alpha = test_case->alpha, .type = test_case->in};
    if (test_case->levels > 0) {
        const struct coefficient_page layout = coefficients_page(shape, page);
        width = layout.width;
        height = layout.height;
        info.type = layout.type;
    }
    info.width = (uint32_t)width;
    info.height = (uint32_t)height;
    if (input_page_init(input, &info, error) != STATUS_OK)
        return STATUS_FAILED;
    const size_t count = (size_t)width * (size_t)height * (size_t)info.channels;
    write_samples(test_case, info.type, *written, count, input->samples);
    *written += count;
    return STATUS_OK;
}

/* Compares the output with the answers. Values without an answer only have to be finite. */
static struct comparison compare_output(const struct test_case *test_case, const struct sample_array *numbers)
{
    /* Tolerate the error of rounding to the output's type, as the answers are not rounded. */
    const double rounding = numbers->type == SAMPLE_FLOAT  ? 0
                            : numbers->type == SAMPLE_HALF ? 0x1p-12
                                                           : 0.5 / sample_full_scale(numbers->type);
    struct comparison comparison = {
        .error = 0, .sum = isal_crc32(0, numbers->bytes, numbers->count * sample_size(numbers->type))};
    for (size_t i = 0; i < numbers->count; i++) {
        const size_t index = i / test_case->stride;
        bool has_answer =
            i % test_case->stride == 0 && index < test_case->count && test_case->answers[index] != NO_ANSWER;
        double got = sample_value(numbers->type, numbers->bytes, i);
        double expected = has_answer ? ANSWER_UNIT * test_case->answers[index] : got;
        double difference = fabs(got - expected) - rounding;
        double error = isfinite(got) ? difference / fmax(1, fabs(expected)) : INFINITY;
        if (error > comparison.error)
            comparison = (struct comparison){error, i, got, expected, comparison.sum};
    }
    return comparison;
}

/* Generates the input pages, runs the plan on them, and compares the output with the answers. */
static enum status run_plan(const struct test_case *test_case, const struct plan *plan, struct run *run,
                            struct input_page *inputs, int pages, struct comparison *comparison,
                            struct error *error)
{
    /* Samples are converted to linear light only for stages. Test cases of this conversion have no stage. */
    struct page page = memory_page(run, plan, test_case->linear, test_case->exponent);
    page.input_conversion.linear = page.output_conversion.linear = test_case->linear;
    struct sample_array numbers = {.count = 0};
    enum status status = STATUS_OK;
    size_t written = 0;
    for (int i = 0; status == STATUS_OK && i < pages; i++)
        status = make_input(test_case, &plan->shapes[0], i, &written, &inputs[i], error);
    if (status == STATUS_OK)
        status = run_in_memory("selftest", &page, inputs, (size_t)pages, &numbers, error);
    if (status == STATUS_OK && numbers.count <= (test_case->count - 1) * test_case->stride)
        status = fail(error, STATUS_FAILED, "%zu samples came out, which are too few", numbers.count);
    if (status == STATUS_OK)
        *comparison = compare_output(test_case, &numbers);
    samples_free(&numbers);
    return status;
}

enum status test_case_run(const struct test_case *test_case, const struct chain *chain, struct run *run,
                          int slice, bool *sliced, struct comparison *comparison, struct error *error)
{
    struct plan plan;
    const struct shape in = {.kind = test_case->levels > 0 ? KIND_PYRAMID : KIND_IMAGE,
                             .width = test_case->width,
                             .height = test_case->height,
                             .channels = test_case->channels,
                             .is_float = sample_is_float(test_case->in),
                             .may_have_missing = sample_is_float(test_case->in),
                             .images = 1,
                             .alpha = test_case->alpha,
                             .full = sample_full_scale(test_case->in),
                             .levels = test_case->levels};
    const int pages = test_case->levels > 0 ? coefficients_page_count(&in) : 1;
    *comparison = (struct comparison){.error = 0};
    run->edge = test_case->edge;
    run->limits.slice = slice;
    enum status status = plan_make(
        &plan,
        &(struct plan_request){.chain = chain, .input = in, .in = test_case->in, .out = test_case->out}, run,
        error);
    if (status != STATUS_OK)
        return status;
    *sliced = plan.slices > 1;
    if (slice == 0 || *sliced) {
        struct input_page *inputs = allocate_zeroed((size_t)pages, sizeof *inputs, "pages", error);
        status = inputs ? run_plan(test_case, &plan, run, inputs, pages, comparison, error) : STATUS_FAILED;
        for (int i = 0; inputs && i < pages; i++)
            input_page_free(&inputs[i]);
        free(inputs);
    }
    plan_free(&plan);
    return status;
}
