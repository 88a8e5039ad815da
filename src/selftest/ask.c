#include "selftest/ask.h"

#include "chain/coefficients.h"
#include "chain/flow.h"
#include "chain/planning.h"
#include "image/relay.h"
#include "settings/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What a device is given and what it gave back, sample by sample. */
struct talk {
    const struct question *question;
    struct shape in;
    int page;                 /* that goes in */
    size_t given, got;        /* samples, of all pages */
    struct image_info giving; /* the page that goes in */
    struct image_info taking; /* the page that comes out */
    struct marks *marks;
};

static enum status add_stage(const struct question *question, struct chain *chain, const char *value,
                             struct error *error)
{
    static const struct settings settings = {.max_pixels = 1 << 20, .jobs = 1};
    enum status status = chain_add(chain, stage_find(question->stage), value, error);
    return status == STATUS_OK ? chain_prepare(chain, &settings, error) : status;
}

/* The stage with a file that only this process sees: `format` has its number. */
static enum status add_with_file(const struct question *question, struct chain *chain, const char *bytes,
                                 size_t size, const char *format, struct error *error)
{
    char value[64];
    int file = memfd_create("question", MFD_CLOEXEC);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size) {
        if (file >= 0)
            close(file);
        return fail_memory(error, "no memory for a file");
    }
    snprintf(value, sizeof value, format, file);
    enum status status = add_stage(question, chain, value, error);
    close(file);
    return status;
}

/* With what goes in, gray samples of 8 bit, as a PGM. */
static enum status add_with_picture(const struct question *question, struct chain *chain, struct error *error)
{
    char picture[4096];
    size_t pixels = (size_t)question->width * (size_t)question->height;
    int header = snprintf(picture, sizeof picture, "P5 %d %d 255\n", question->width, question->height);
    if (pixels > sizeof picture - (size_t)header)
        return fail(error, STATUS_FAILED, "the picture is too large");
    question_write(question, SAMPLE_UINT8, 0, pixels, picture + header);
    return add_with_file(question, chain, picture, (size_t)header + pixels, "/proc/self/fd/%d,model=shift",
                         error);
}

enum status ask_begin(const struct question *question, struct chain *chain, struct error *error)
{
    *chain = (struct chain){.count = 0};
    if (!question->stage)
        return STATUS_OK;
    if (question->value && strcmp(question->value, "@matrix") == 0)
        return add_with_file(question, chain, question_matrix, strlen(question_matrix), "@/proc/self/fd/%d",
                             error);
    if (question->value && strcmp(question->value, "@picture") == 0)
        return add_with_picture(question, chain, error);
    return add_stage(question, chain, question->value, error);
}

static struct shape input_shape(const struct question *question)
{
    return (struct shape){.kind = question->levels > 0 ? KIND_PYRAMID : KIND_IMAGE,
                          .width = question->width,
                          .height = question->height,
                          .channels = question->channels,
                          .images = 1,
                          .alpha = question->alpha,
                          .levels = question->levels};
}

/* What the page is: the picture, or one of the pyramid's. */
static void begin_giving(struct talk *talk)
{
    const struct question *question = talk->question;
    int width = question->width, height = question->height;
    if (question->levels > 0) {
        char name[PAGE_NAME_SIZE];
        coefficients_page(&talk->in, talk->page, &width, &height, name);
    }
    talk->giving = (struct image_info){.width = (uint32_t)width,
                                       .height = (uint32_t)height,
                                       .channels = question->channels,
                                       .alpha = question->alpha,
                                       .type = question->levels == 0 ? question->in
                                               : talk->page == 0     ? SAMPLE_FLOAT
                                                                     : SAMPLE_COMPLEX};
}

static enum status give(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    struct talk *talk = context;
    size_t row = (size_t)talk->giving.width * (size_t)talk->giving.channels;
    (void)error;
    for (uint32_t y = 0; y < count; y++, talk->given += row)
        question_write(talk->question, talk->giving.type, talk->given, row,
                       (unsigned char *)rows + y * pitch);
    return STATUS_OK;
}

static enum status give_next(void *context, struct image_info *info, bool *more, struct error *error)
{
    struct talk *talk = context;
    (void)error;
    *more = talk->question->levels > 0 && talk->page + 1 < coefficients_page_count(&talk->in);
    talk->page += *more;
    begin_giving(talk);
    *info = talk->giving;
    return STATUS_OK;
}

static enum status take_page(void *context, const struct image_info *info, struct error *error)
{
    (void)error;
    ((struct talk *)context)->taking = *info;
    return STATUS_OK;
}

/* How far off a sample may be by being rounded to what a file holds. */
static double rounding_of(enum sample_type type)
{
    if (type == SAMPLE_FLOAT || type == SAMPLE_COMPLEX)
        return 0;
    return type == SAMPLE_HALF ? 0x1p-12 : 0.5 / sample_full_scale(type);
}

/* Also samples without an answer must be numbers. */
static void mark(struct talk *talk, double got)
{
    const struct question *question = talk->question;
    size_t number = talk->got++, place = number / question->step;
    bool asked =
        number % question->step == 0 && place < question->count && question->answers[place] != NO_ANSWER;
    double expected = asked ? ANSWER_UNIT * question->answers[place] : got;
    double off = fabs(got - expected) - rounding_of(talk->taking.type);
    double error = isfinite(got) ? off / fmax(1, fabs(expected)) : INFINITY;
    if (error > talk->marks->error)
        *talk->marks = (struct marks){error, number, got, expected};
}

static enum status take(void *context, const void *rows, size_t pitch, uint32_t count, struct error *error)
{
    struct talk *talk = context;
    size_t parts = talk->taking.type == SAMPLE_COMPLEX ? 2 : 1;
    size_t row = (size_t)talk->taking.width * (size_t)talk->taking.channels * parts;
    (void)error;
    for (uint32_t y = 0; y < count; y++)
        for (size_t i = 0; i < row; i++)
            mark(talk, sample_value(talk->taking.type, (const unsigned char *)rows + y * pitch, i));
    return STATUS_OK;
}

static enum status end_page(void *context, struct error *error)
{
    (void)context;
    (void)error;
    return STATUS_OK;
}

/* The page of the file that would be written. */
static struct image_info output_info(const struct question *question, const struct shape *out)
{
    return (struct image_info){.width = (uint32_t)out->width,
                               .height = (uint32_t)out->height,
                               .channels = out->channels,
                               .alpha = out->alpha,
                               .type = question->out};
}

static enum status send(const struct plan *plan, struct run *run, struct timing *timing, struct talk *talk,
                        struct error *error)
{
    const struct question *question = talk->question;
    const struct relay_source source = {talk, give, give_next};
    const struct relay_sink sink = {talk, take_page, take, end_page};
    struct page page = {.run = run, .plan = plan, .timing = timing};
    page.from = (struct conversion){.type = question->in,
                                    .channels = question->channels,
                                    .alpha = question->alpha,
                                    .multiply = plan->chain->count > 0,
                                    .rounded = plan_is_deep(plan),
                                    .linear = question->linear,
                                    .exponent = question->exponent,
                                    .opponent_in = plan->opponent_in,
                                    .opponent_out = plan->opponent_out};
    page.out = output_info(question, plan_output(plan));
    page.to = page.from;
    page.to.type = page.out.type;
    page.to.channels = page.out.channels;
    begin_giving(talk);
    enum status status = relay_reader("selftest", &talk->giving, &source, &page.reader, error);
    if (status == STATUS_OK)
        status = relay_writer("selftest", &sink, &page.writer, error);
    if (status == STATUS_OK)
        status = flow_page(&page, error);
    reader_close(page.reader);
    writer_close(page.writer);
    return status;
}

enum status ask(const struct question *question, const struct chain *chain, struct run *run,
                struct timing *timing, int slice, bool *sliced, struct marks *marks, struct error *error)
{
    struct plan plan;
    struct talk talk = {.question = question, .in = input_shape(question), .marks = marks};
    *marks = (struct marks){.error = 0};
    run->edge = question->edge;
    run->slice_limit = slice;
    enum status status = plan_make(&plan, chain, &talk.in, question->in, question->out, run, error);
    if (status != STATUS_OK)
        return status;
    *sliced = plan.slices > 1;
    if (slice == 0 || *sliced)
        status = send(&plan, run, timing, &talk, error);
    if (status == STATUS_OK && (slice == 0 || *sliced) && talk.got / question->step < question->count - 1)
        status = fail(error, STATUS_FAILED, "%zu samples came out, which are too few", talk.got);
    plan_free(&plan);
    return status;
}
