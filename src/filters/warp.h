/* Affine warps on the device: see kernels/warp.cl. The map goes from the output to the input, pixels' centres
 * at whole numbers. */
#ifndef CLIMG_FILTERS_WARP_H
#define CLIMG_FILTERS_WARP_H

#include "base/affine.h"
#include "engine/run.h"
#include "filters/resample.h"

/* What stands for pixels beyond the picture: zero, which is transparent where there is alpha, or the border
 * rule. */
enum warp_outside { OUTSIDE_ZERO, OUTSIDE_EDGE };

#define OUTSIDE_CHOICES "zero|edge"

enum { WARP_MAX_SIDE = 1 << 20, WARP_MAX_POSITION = 1 << 22 };

/* Samples of the source that an output is made of, each pixel's apart. A picture of 2^36 pixels that becomes
 * smaller takes as many times 16, the area of the filter. */
static const double WARP_MAX_SAMPLES = 0x1p40;

struct warp_size {
    int width, height; /* 0: not given */
};

/* What stages that warp have in common: the first field of their params. */
struct warp_options {
    struct warp_size size;
    int resampler, outside;
    bool antialias;
    bool copies;      /* set by a stage whose positions are whole numbers */
    cl_float fill[4]; /* and, with OUTSIDE_ZERO, what its planes have beyond the picture */
};

#define WARP_OPTIONS                                                                                         \
    {.name = "size",                                                                                         \
     .type = OPTION_CUSTOM,                                                                                  \
     .offset = offsetof(struct warp_options, size),                                                          \
     .value = "WxH",                                                                                         \
     .help = "pixels of the result",                                                                         \
     .parse = warp_parse_size,                                                                               \
     .print = warp_print_size},                                                                              \
        WARP_OPTIONS_BUT_SIZE

/* Of a stage that knows the size. */
#define WARP_OPTIONS_BUT_SIZE                                                                                \
    {.name = "filter",                                                                                       \
     .type = OPTION_CHOICE,                                                                                  \
     .offset = offsetof(struct warp_options, resampler),                                                     \
     .fallback = "bicubic",                                                                                  \
     .choices = RESAMPLE_CHOICES,                                                                            \
     .help = "how samples are interpolated"},                                                                \
        {.name = "outside",                                                                                  \
         .type = OPTION_CHOICE,                                                                              \
         .offset = offsetof(struct warp_options, outside),                                                   \
         .fallback = "zero",                                                                                 \
         .choices = OUTSIDE_CHOICES,                                                                         \
         .help = "what lies beyond the picture: black, or transparent with alpha; or what --edge says"},     \
    {                                                                                                        \
        .name = "antialias", .type = OPTION_YES_NO, .offset = offsetof(struct warp_options, antialias),      \
        .fallback = "yes",                                                                                   \
        .help = "where the picture shrinks, widen the filter so that fine detail does not alias"             \
    }

enum status warp_parse_size(const char *text, void *field, struct error *error);
void warp_print_size(FILE *file, const void *params);

/* Fails where a place of the output is too far away from the picture for the kernels, or where the output is
 * made of too many samples. */
enum status warp_check(const char *what, const struct affine *affine, const struct warp_options *options,
                       const struct shape *out, struct error *error);

/* Returns the map of video's colour for one of its brightness, both with samples' centres at whole numbers.
 * It keeps the siting: if colour lies on the left samples of brightness, it does so in the output, too. */
struct affine warp_chroma_map(const struct affine *brightness, const struct chroma *chroma);

/* True if the map leads from whole numbers to whole numbers, in steps of one. */
bool warp_is_whole(const struct affine *affine);

/* Beyond the picture, video's colour is not 0: options->outside must say otherwise. */
enum status warp_adapt_options_to_chroma(struct warp_options *options, const struct chroma *chroma,
                                         struct error *error);

/* The source rows that rows `out` of an output of that width need. */
struct rows warp_source_rows(const struct affine *affine, const struct warp_options *options, int width,
                             const struct shape *in, struct rows out);

/* Whether slices of the output do not go down the source one after the other: beyond the picture a border
 * rule may go the other way. */
bool warp_needs_all_rows(const struct affine *affine, const struct warp_options *options);

/* Allocates out's planes. */
enum status warp_image(struct run *run, const struct affine *affine, const struct warp_options *options,
                       const struct value *in, struct value *out, struct error *error);

/* ---------------------------------------------------------------- moves
 *
 * Pixels that go elsewhere and keep their values: turns by quarters, flips, crops, larger canvases. */

/* From samples of any type to such samples (in->raster, out->raster). `affine` goes from pixels of the output
 * to those of the input; each is a whole number there, and within it. */
enum status move_pixels(struct run *run, const struct affine *affine, const struct value *in,
                        const struct value *out, struct error *error);

/* The same, or from planes to planes, which it then allocates. */
enum status move_image(struct run *run, const struct affine *affine, const struct value *in,
                       struct value *out, struct error *error);

/* Returns the launch of the kernel FILE of kernels/FILE.cl, which writes out's samples: a work-item has a
 * square of pixels, which it copies in the largest units that they have, `units` a pixel (kernels/units.h).
 */
struct work move_work(const struct run *run, const char *file, const struct value *out, cl_int *units);

/* Of a stage that does nothing else. */
struct stage_caps move_caps(const void *params);

#endif
