/* Cuts a uniform border away: a --crop whose size and place are measured (batch/measure.c).
 *
 *     top and left rows and columns    like the top left pixel
 *     right columns                    like the top right pixel
 *     bottom rows                      like the bottom left pixel
 *
 * to within the tolerance, in every channel. Rows arrive from the top, before the colour of the bottom is
 * known. So the smallest and the largest values of each row are kept until the end. */
#include "filters/histogram.h"
#include "filters/warp.h"
#include "image/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct trim {
    struct amount tolerance;
};

/* Parses "10" or "4%". */
static enum status parse_tolerance(const char *text, void *field, struct error *error)
{
    struct amount *tolerance = field;
    if (!amount_parse(&text, tolerance) || *text != '\0' || !(tolerance->number >= 0))
        return fail(error, STATUS_USAGE, "not a number from 0 on, or percent");
    return STATUS_OK;
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct trim, tolerance),
     .fallback = "4%",
     .value = "TOLERANCE",
     .optional = true,
     .help = "difference from the corner's colour that still counts as border: a sample value (0 to 255 in 8 "
             "bit), or percent of full scale",
     .parse = parse_tolerance,
     .print = amount_print},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/cells.png --extend 500x500,color=white --trim same.png", "a white frame, and its end"},
    {"climg samples/page.jpg --crop 75% --gray --threshold sauvola,radius=15 --trim=0 text.png",
     "only the printed part"},
    {NULL, NULL},
};

enum { MAX_CHANNELS = 4 };

/* State of the measurement. Positions are -1 until a pixel of the inside was found. */
struct trim_state {
    struct image_info info;
    double tolerance;
    double rounding; /* relative error of a value */
    int left, right, top;
    int row;                             /* the next one */
    double corner[2][MAX_CHANNELS];      /* the top left and the top right pixel */
    double bottom[MAX_CHANNELS];         /* the first pixel of the last row */
    double *values;                      /* of a row; owned */
    double (*extremes)[2][MAX_CHANNELS]; /* of each row, the smallest and the largest values; owned */
};

/* Allocates memory for the values of a row and the extremes of all rows. */
static enum status trim_begin(void *context, const void *params, const struct shape *shape,
                              const struct image_info *info, struct error *error)
{
    struct trim_state *state = context;
    const struct amount *tolerance = &((const struct trim *)params)->tolerance;
    *state = (struct trim_state){.info = *info, .left = -1, .right = -1, .top = -1};
    state->tolerance = tolerance->number / (tolerance->is_percent ? 100 : shape->full - shape->zero);
    state->rounding = sample_is_float(info->type) ? 0x1p-21 : 0x1p-40;
    state->values = allocate(info->width * (size_t)info->channels * sizeof *state->values, "a row", error);
    state->extremes = allocate(info->height * sizeof *state->extremes, "rows", error);
    return state->values && state->extremes ? STATUS_OK : STATUS_FAILED;
}

/* True if the pixel at `value` differs from a colour, or is NaN. A tolerance of 10 includes a difference of
 * exactly 10 counts, whose values are rounded. */
static bool trim_differs(const struct trim_state *state, const double *value, const double *colour)
{
    const double tolerance = state->tolerance;
    for (int c = 0; c < state->info.channels; c++) {
        const double rounded = state->rounding * (tolerance + fmin(fabs(value[c]), fabs(colour[c])));
        if (!(fabs(value[c] - colour[c]) <= tolerance + rounded))
            return true;
    }
    return false;
}

/* Extends the part that stays by the pixels of rows. */
static void trim_add(void *context, const void *rows, size_t pitch, uint32_t count)
{
    struct trim_state *state = context;
    const int width = (int)state->info.width, channels = state->info.channels;
    double *values = state->values;
    for (uint32_t i = 0; i < count; i++) {
        sample_values(state->info.type, (const unsigned char *)rows + i * pitch, 0,
                      state->info.width * (size_t)channels, values);
        double(*extremes)[MAX_CHANNELS] = state->extremes[state->row];
        const size_t pixel = (size_t)channels * sizeof *values;
        /* Colours of transparent pixels do not show. */
        for (int x = 0; state->info.alpha && x < width; x++)
            for (int c = 0; c + 1 < channels; c++)
                values[x * channels + c] *= values[x * channels + channels - 1];
        if (state->row == 0) {
            memcpy(state->corner[0], values, pixel);
            memcpy(state->corner[1], values + (width - 1) * channels, pixel);
        }
        memcpy(state->bottom, values, pixel);
        for (int c = 0; c < channels; c++) {
            extremes[0][c] = INFINITY;
            extremes[1][c] = -INFINITY;
            for (int x = 0; x < width; x++) {
                const double value = isnan(values[x * channels + c]) ? INFINITY : values[x * channels + c];
                extremes[0][c] = value < extremes[0][c] ? value : extremes[0][c];
                extremes[1][c] = value > extremes[1][c] ? value : extremes[1][c];
            }
        }
        if (state->top < 0 && (trim_differs(state, extremes[0], state->corner[0]) ||
                               trim_differs(state, extremes[1], state->corner[0])))
            state->top = state->row;
        for (int x = 0; x < (state->left < 0 ? width : state->left); x++)
            if (trim_differs(state, values + x * channels, state->corner[0])) {
                state->left = x;
                break;
            }
        for (int x = width - 1; x > state->right; x--)
            if (trim_differs(state, values + x * channels, state->corner[1]))
                state->right = x;
        state->row++;
    }
}

/* Replaces the stage by --crop of the inside. */
static enum status trim_end(void *context, const void *params, const char *written,
                            struct replacement *replacement, struct error *error)
{
    const struct trim_state *state = context;
    const int width = (int)state->info.width, height = (int)state->info.height;
    int bottom = height - 1;
    (void)params;
    (void)written;
    (void)error;
    while (bottom >= 0 && !trim_differs(state, state->extremes[bottom][0], state->bottom) &&
           !trim_differs(state, state->extremes[bottom][1], state->bottom))
        bottom--;
    replacement->stage = "crop";
    /* A picture of one colour has no inside, and neither has one of stripes. */
    if (state->left < 0 || state->top < 0 || bottom < state->top || state->right < state->left) {
        snprintf(replacement->value, sizeof replacement->value, "%dx%d+0+0", width, height);
        snprintf(replacement->warning, sizeof replacement->warning,
                 "is nothing but border, and is not trimmed");
        return STATUS_OK;
    }
    snprintf(replacement->value, sizeof replacement->value, "%dx%d+%d+%d", state->right - state->left + 1,
             bottom - state->top + 1, state->left, state->top);
    snprintf(replacement->found, sizeof replacement->found, "trimmed to %.50s", replacement->value);
    return STATUS_OK;
}

static void trim_release(void *context)
{
    struct trim_state *state = context;
    free(state->values);
    free(state->extremes);
}

static const struct measurement trim_measurement = {.size = sizeof(struct trim_state),
                                                    .begin = trim_begin,
                                                    .add = trim_add,
                                                    .end = trim_end,
                                                    .release = trim_release};

const struct stage stage_trim = {
    .name = "trim",
    .brief = "cut a uniform border away",
    .manual =
        "Cuts off the rows and columns at each side whose pixels all have the colour of a corner: at the top "
        "and the left that of the top left pixel, at the right of the top right one, at the bottom of the "
        "bottom left one. Colours may differ by TOLERANCE in each channel, which allows for the noise of "
        "JPEG and of scanners; alpha counts as a channel, and colours of transparent pixels do not. Samples "
        "that stay are copied unchanged, as by --crop. -v and --report give the part, as --crop takes it.\n\n"
        "A picture of one colour stays as it is, with a warning. The picture is read twice; a pipe is first "
        "copied to a temporary file. Video is refused.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct trim),
    .rows = rows_same,
    .measurement = &trim_measurement,
    .fixed_caps = {.needs_upright = true},
    .run = copy_image,
};
