/* libFuzzer's target for ICC profiles: any bytes are one, after a byte that chooses the intent and the
 * conversion. What is read has finite curves and tables, and can be embedded as gray. */
#include "fuzz.h"
#include "image/colour/colour.h"

#include <math.h>
#include <string.h>

enum {
    INTENT = 3,
    BLACKPOINT = 1 << 2,
    FROM_LIGHT = 1 << 3,
    TO_LIGHT = 1 << 4,
    IS_TARGET = 1 << 5,
    IS_WIDE = 1 << 6
};

static void insist_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        insist(isfinite(values[i]), "a table that is not finite");
}

/* Converts a row of CMYK or L*a*b*. */
static void try_colour_model(enum colour_model colour_model, int options, const struct blob *icc)
{
    enum { WIDTH = 16, ROW = WIDTH * 4 * 2 };
    const struct image_info info = {.width = WIDTH,
                                    .colour_model = colour_model,
                                    .type = options & IS_WIDE ? SAMPLE_UINT16 : SAMPLE_UINT8,
                                    .metadata = {.icc = *icc}};
    unsigned char row[ROW], rgb[ROW];
    struct rgb_conversion *conversion;
    struct error error = {.text = ""};
    for (size_t i = 0; i < sizeof row; i++)
        row[i] = (unsigned char)(97 * i);
    if (rgb_conversion_open(&info, colour_space_builtin(COLOUR_SRGB), &conversion, &error) == STATUS_OK)
        rgb_conversion_apply(conversion, row, rgb, WIDTH);
    else
        insist(error.text[0], "a failure that says nothing");
    rgb_conversion_close(conversion);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const int options = data[0];
    const struct blob icc = {(unsigned char *)data + 1, size - 1};
    const struct colour_space *space, *p3 = colour_space_builtin(COLOUR_P3);
    const struct colour_link *link;
    struct error error = {.text = ""};
    try_colour_model(COLOUR_MODEL_CMYK, options, &icc);
    try_colour_model(COLOUR_MODEL_CIELAB, options, &icc);
    if (colour_space_load(icc.data, icc.size, &space, &error) != STATUS_OK) {
        insist(error.text[0] && !strchr(error.text, '\n'), "a failure is one line");
        return 0;
    }
    colour_space_curve_name(space);
    for (int c = 0; c < space->channels && space->channels <= 3; c++)
        for (int encodes = 0; encodes < 2; encodes++)
            insist_finite(colour_space_table(space, c, encodes), CURVE_TABLE_SIZE);
    if (space->channels <= 3) {
        const struct colour_endpoint end = {space, options & FROM_LIGHT}, other = {p3, options & TO_LIGHT};
        const bool is_target = options & IS_TARGET;
        if (colour_link_find(is_target ? other : end, is_target ? end : other,
                             (enum colour_intent)(options & INTENT), options & BLACKPOINT, &link,
                             &error) == STATUS_OK)
            insist_finite(link->floats, link->count);
        else
            insist(error.text[0], "a failure that says nothing");
    }
    colour_space_release(space);
    return 0;
}
