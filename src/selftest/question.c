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

/* What `--convolve @matrix` reads: MATRIX of make_answers.py. */
static const char matrix[] = "1 2 3 4 5\n-1 0 2 0 1\n0 1 0 3 -2\n";

const char *const edge_words[] = {"clamp", "mirror", "wrap", "zero"};

/* ---------------------------------------------------------------- the file */

static bool find_type(const char *word, enum sample_type *type)
{
    for (*type = SAMPLE_UINT8; *type <= SAMPLE_INT32; ++*type)
        if (strcmp(word, sample_name(*type)) == 0)
            return true;
    return false;
}

static bool find_edge(const char *word, enum edge *edge)
{
    for (*edge = EDGE_CLAMP; *edge <= EDGE_ZERO; ++*edge)
        if (strcmp(word, edge_words[*edge]) == 0)
            return true;
    return false;
}

/* A line of words and numbers, with tabs between them ("-": none), then one of answers ("x": none). */
bool question_next(const char **text, struct question *question)
{
    char edge[16], in[24], out[24], *end;
    int used = 0;
    *question = (struct question){.width = 0};
    if (sscanf(*text,
               "%23[^\t]\t%95[^\t]\t%d\t%d\t%d\t%d\t%d\t%d\t%lf\t%15[^\t]\t%23[^\t]\t%23[^\t]\t%zu\n%n",
               question->stage, question->value, &question->width, &question->height, &question->channels,
               &question->alpha, &question->levels, &question->linear, &question->exponent, edge, in, out,
               &question->step, &used) < 13 ||
        !find_edge(edge, &question->edge) || !find_type(in, &question->in) || !find_type(out, &question->out))
        return false;
    if (strcmp(question->stage, "-") == 0)
        question->stage[0] = '\0';
    if (strcmp(question->value, "-") == 0)
        question->value[0] = '\0';
    const char *at = *text + used;
    while (*at && *at != '\n' && question->count < MAX_ANSWERS) {
        bool known = *at != 'x';
        question->answers[question->count++] = known ? (int)strtol(at, &end, 10) : NO_ANSWER;
        at = known ? end : at + 1;
        at += *at == ' ';
    }
    *text = at + (*at == '\n');
    return true;
}

bool stage_is_wanted(const struct environment *environment, const char *name)
{
    const char *wanted = environment->ask;
    const size_t length = strlen(name);
    for (const char *at = wanted; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return wanted == NULL;
}

/* ---------------------------------------------------------------- the samples */

enum { HOLES = 11 }; /* one pixel of so many has alpha 0 */

/* 32 bits that look random, of a number: the finalizer of MurmurHash3 (A. Appleby, public domain). */
static uint32_t mix(uint32_t number)
{
    number = (number ^ number >> 16) * 0x85ebca6bu;
    number = (number ^ number >> 13) * 0xc2b2ae35u;
    return number ^ number >> 16;
}

/* From 0 to 1, in pyramids most of them small, but for one of 32 that is a denormal number. */
static float real_number(uint32_t bits, bool pyramid)
{
    float value = (float)(bits >> 8) * 0x1p-24f, square = value * value;
    uint32_t denormal = bits >> 10;
    if (pyramid)
        value = square * square;
    if ((bits & 31) == 0)
        memcpy(&value, &denormal, sizeof value);
    return value;
}

static void write_sample(enum sample_type type, uint32_t bits, bool pyramid, unsigned char *to)
{
    uint16_t upper = (uint16_t)(bits >> 16), half = (uint16_t)(0x3800 | bits >> 22); /* from 0.5 to 1 */
    float value = real_number(bits, pyramid);
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

/* The samples that go in, `count` of them from number `first` on, as rows hold them. */
static void write_samples(const struct question *question, enum sample_type type, size_t first, size_t count,
                          void *samples)
{
    unsigned char *to = samples;
    size_t channels = (size_t)question->channels, parts = type == SAMPLE_COMPLEX ? 2 : 1;
    enum sample_type part = type == SAMPLE_COMPLEX ? SAMPLE_FLOAT : type;
    for (size_t i = first * parts; i < (first + count) * parts; i++, to += sample_size(part)) {
        bool alpha = question->alpha && i % channels == channels - 1;
        bool hole = alpha && i / channels % HOLES == HOLES - 1;
        uint32_t bits = mix((uint32_t)i + 1);
        write_sample(part, bits | (alpha ? 0x80000001u : 0), question->levels > 0, to);
        if (hole)
            memset(to, 0, sample_size(part));
    }
}

/* ---------------------------------------------------------------- asking */

int question_file(const void *bytes, size_t size)
{
    int file = memfd_create("given", MFD_CLOEXEC);
    if (file >= 0 && write(file, bytes, size) == (ssize_t)size)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

static enum status add_stage(const struct question *question, struct chain *chain, const char *value,
                             struct error *error)
{
    static const struct settings settings = {.max_pixels = 1 << 20, .jobs = 1};
    enum status status = chain_add(chain, stage_find(question->stage), value[0] ? value : NULL, error);
    return status == STATUS_OK ? chain_prepare(chain, &settings, error) : status;
}

static enum status add_with_file(const struct question *question, struct chain *chain, const char *bytes,
                                 size_t size, const char *format, struct error *error)
{
    char value[64];
    int file = question_file(bytes, size);
    if (file < 0)
        return fail_memory(error, "out of memory for a second input");
    snprintf(value, sizeof value, format, file);
    enum status status = add_stage(question, chain, value, error);
    close(file);
    return status;
}

/* Writes the input, gray samples of 8 bit, as a PGM. */
static enum status add_with_picture(const struct question *question, struct chain *chain, struct error *error)
{
    char picture[4096];
    size_t pixels = (size_t)question->width * (size_t)question->height;
    int header = snprintf(picture, sizeof picture, "P5 %d %d 255\n", question->width, question->height);
    if (pixels > sizeof picture - (size_t)header)
        return fail(error, STATUS_FAILED, "the picture is too large");
    write_samples(question, SAMPLE_UINT8, 0, pixels, picture + header);
    return add_with_file(question, chain, picture, (size_t)header + pixels, "/proc/self/fd/%d,model=shift",
                         error);
}

enum status question_chain(const struct question *question, struct chain *chain, struct error *error)
{
    *chain = (struct chain){.count = 0};
    if (!question->stage[0])
        return STATUS_OK;
    if (strcmp(question->value, "@matrix") == 0)
        return add_with_file(question, chain, matrix, strlen(matrix), "@/proc/self/fd/%d", error);
    if (strcmp(question->value, "@picture") == 0)
        return add_with_picture(question, chain, error);
    return add_stage(question, chain, question->value, error);
}

static struct shape input_shape(const struct question *question)
{
    return (struct shape){.kind = question->levels > 0 ? KIND_PYRAMID : KIND_IMAGE,
                          .width = question->width,
                          .height = question->height,
                          .channels = question->channels,
                          .floats = sample_is_float(question->in),
                          .images = 1,
                          .alpha = question->alpha,
                          .full = sample_full_scale(question->in),
                          .levels = question->levels};
}

/* The picture, or a page of the pyramid; *given samples went into the pages before. */
static enum status make_sheet(const struct question *question, const struct shape *shape, int page,
                              size_t *given, struct input_page *sheet, struct error *error)
{
    int width = question->width, height = question->height;
    struct image_info info = {.channels = question->channels, .alpha = question->alpha, .type = question->in};
    if (question->levels > 0) {
        char name[PAGE_NAME_SIZE];
        coefficients_page(shape, page, &width, &height, name);
        info.type = page == 0 ? SAMPLE_FLOAT : SAMPLE_COMPLEX;
    }
    info.width = (uint32_t)width;
    info.height = (uint32_t)height;
    if (input_page_init(sheet, &info, rows_full(height), error) != STATUS_OK)
        return STATUS_FAILED;
    const size_t count = (size_t)width * (size_t)height * (size_t)info.channels;
    write_samples(question, info.type, *given, count, sheet->samples);
    *given += count;
    return STATUS_OK;
}

/* How far off a sample may be by being rounded to what a file holds. */
static double rounding_of(enum sample_type type)
{
    if (type == SAMPLE_FLOAT)
        return 0;
    return type == SAMPLE_HALF ? 0x1p-12 : 0.5 / sample_full_scale(type);
}

/* Also samples without an answer must be numbers. */
static struct marks mark(const struct question *question, const struct sample_array *numbers)
{
    struct marks marks = {.error = 0,
                          .sum = isal_crc32(0, numbers->bytes, numbers->count * sample_size(numbers->type))};
    for (size_t i = 0; i < numbers->count; i++) {
        const size_t place = i / question->step;
        bool asked =
            i % question->step == 0 && place < question->count && question->answers[place] != NO_ANSWER;
        double got = samples_value(numbers, i);
        double expected = asked ? ANSWER_UNIT * question->answers[place] : got;
        double off = fabs(got - expected) - rounding_of(numbers->type);
        double error = isfinite(got) ? off / fmax(1, fabs(expected)) : INFINITY;
        if (error > marks.error)
            marks = (struct marks){error, i, got, expected, marks.sum};
    }
    return marks;
}

/* With the sheets that `pages` has room for. */
static enum status send(const struct question *question, const struct plan *plan, struct run *run,
                        struct timing *timing, struct input_page *sheets, int pages, struct marks *marks,
                        struct error *error)
{
    struct page page = memory_page(run, plan, timing, question->linear, question->exponent);
    /* Without a stage a command converts nothing; a question about samples alone asks for it all the same. */
    page.from.linear = page.to.linear = question->linear;
    struct sample_array numbers = {.count = 0};
    enum status status = STATUS_OK;
    size_t given = 0;
    for (int i = 0; status == STATUS_OK && i < pages; i++)
        status = make_sheet(question, &plan->shapes[0], i, &given, &sheets[i], error);
    if (status == STATUS_OK)
        status = run_in_memory("selftest", &page, sheets, (size_t)pages, &numbers, error);
    if (status == STATUS_OK && numbers.count <= (question->count - 1) * question->step)
        status = fail(error, STATUS_FAILED, "%zu samples came out, which are too few", numbers.count);
    if (status == STATUS_OK)
        *marks = mark(question, &numbers);
    samples_free(&numbers);
    return status;
}

enum status question_ask(const struct question *question, const struct chain *chain, struct run *run,
                         struct timing *timing, int slice, bool *sliced, struct marks *marks,
                         struct error *error)
{
    struct plan plan;
    const struct shape in = input_shape(question);
    const int pages = question->levels > 0 ? coefficients_page_count(&in) : 1;
    *marks = (struct marks){.error = 0};
    run->edge = question->edge;
    run->limits.slice = slice;
    enum status status = plan_make(
        &plan, &(struct plan_request){.chain = chain, .input = in, .in = question->in, .out = question->out},
        run, error);
    if (status != STATUS_OK)
        return status;
    *sliced = plan.slices > 1;
    if (slice == 0 || *sliced) {
        struct input_page *sheets = allocate_zeroed((size_t)pages, sizeof *sheets, "pages", error);
        status = sheets ? send(question, &plan, run, timing, sheets, pages, marks, error) : STATUS_FAILED;
        for (int i = 0; sheets && i < pages; i++)
            input_page_free(&sheets[i]);
        free(sheets);
    }
    plan_free(&plan);
    return status;
}
