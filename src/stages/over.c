/* Divides by a picture, such as a flat field: dst = src * mean / operand, for each colour. The factors
 * mean / operand are computed once, on the host; the kernel multiplies (filters/operand.h). */
#include "base/sums.h"
#include "filters/operand.h"

#include <math.h>

static const struct option options[] = {OPERAND_FILE("the picture to divide by"), {.type = OPTION_END}};

static const struct example examples[] = {
    {"climg samples/tilted.png --over samples/scene.tif --depth float quotient.tif",
     "the quotient of two pictures of one size"},
    {NULL, NULL},
};

/* Replaces the values of the operand by the factors. A value that is not above 0 or not finite gets the
 * factor 1. */
static enum status over_prepare(void *params, const struct settings *settings, struct error *error)
{
    struct operand *operand = params;
    if (operand_read(operand, settings, error) != STATUS_OK)
        return STATUS_FAILED;
    const size_t plane = (size_t)operand->height * operand->pitch;
    for (int c = 0; c < operand->colours; c++) {
        const double mean = operand_mean(operand, c);
        if (!(mean > 0))
            return fail(error, STATUS_FAILED, "%s: has a mean of 0 or less, by which nothing can be divided",
                        operand->path);
        for (size_t i = (size_t)c * plane; i < (size_t)(c + 1) * plane; i++) {
            const float factor = (float)(mean / (double)operand->values[i]);
            operand->values[i] = factor > 0 && isfinite(factor) ? factor : 1;
        }
    }
    operand->hash = hash_bytes(operand->hash, "over", sizeof "over");
    operand->multiplies = true;
    operand->has_missing = false;
    return STATUS_OK;
}

const struct stage stage_over = {
    .name = "over",
    .brief = "divide by a picture, such as a flat field",
    .manual = "Divides by FILE and multiplies by its mean, for each colour by itself. A flat field is a "
              "picture of an evenly lit surface; it shows how much light each pixel gets. What the lens "
              "darkens in the corners, and dust, disappear. Pixels of FILE that are 0, negative, NaN or "
              "infinite change nothing. FILE has the size of the picture at this point of the chain, and its "
              "colours, or gray for all of them; of several pages the first counts. Its depth may be "
              "another; --linear and --range apply to it as to the input, and its alpha is ignored. Light "
              "and not display values should be divided: add --linear for photographs. FILE is turned as its "
              "orientation says, unless --stored-orientation is given.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct operand),
    .check = operand_check,
    .prepare = over_prepare,
    .release = operand_release,
    .caps = operand_caps,
    .shape = operand_shape,
    .rows = rows_same,
    .run = operand_combine,
};
