/* The operand of stages that combine each picture with another one, pixel by pixel: --minus, --over.
 *
 *     file ─▶ operand_read ─▶ planes of floats on the host ─▶ operand_combine ─▶ slices of them on the device
 *
 * The operand is read once, before the first picture, and all workers share it read-only. Like an input it is
 * converted (--linear, --range) and turned by its orientation. Its alpha is ignored, except that
 * premultiplied colours are divided by it. A gray operand is used for all colours. */
#ifndef CLIMG_FILTERS_OPERAND_H
#define CLIMG_FILTERS_OPERAND_H

#include "engine/run.h"
#include "settings/settings.h"

/* Must be the first member of the params of a stage that combines two pictures. */
struct operand {
    const char *path;

    /* Set by operand_read. */
    int width, height, colours; /* pixels; 1 or 3 */
    size_t pitch;               /* floats from row to row, a multiple of PITCH_UNIT */
    float *values;              /* planes of rows; owned */
    bool is_linear;             /* values were converted to amounts of light (--linear) */
    uint64_t hash;              /* of the values, for operand_print. A stage that changes them updates it */
    bool has_missing;           /* a value is NaN or infinite */
    bool multiplies;            /* set by the stage: values are factors; otherwise they are subtracted */
};

/* Row of the option table: the file. */
#define OPERAND_FILE(what)                                                                                   \
    {                                                                                                        \
        .type = OPTION_TEXT, .offset = offsetof(struct operand, path), .value = "FILE", .help = what,        \
        .print_content = operand_print                                                                       \
    }

/* Prints a checksum: outputs depend on the operand's content, not on its name. */
void operand_print(FILE *file, const void *params);

/* Callbacks of the stages. */
enum status operand_check(void *params, struct error *error);
enum status operand_shape(const void *params, const struct shape *in, struct shape *out, struct error *error);
struct stage_caps operand_caps(const void *params);
void operand_release(void *params);

/* Callback `prepare`: reads the first page of the file. operand_release frees the values, also after a
 * failure. */
enum status operand_read(void *params, const struct settings *settings, struct error *error);

/* Returns the mean of a colour's finite values, or 0 without any. Sums doubles, row by row. */
double operand_mean(const struct operand *operand, int colour);

/* Callback `run`: enqueues src - operand, or src * operand. Colour is premultiplied; alpha is copied. */
enum status operand_combine(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error);

#endif
