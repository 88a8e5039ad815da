/* Affine warps, and moves that only change the position of pixels.
 *
 * A map maps positions of the output to positions of the input. The centres of pixels are whole numbers.
 * Positions are computed in integers of 2^-40 pixels (kernels/warp.cl), so results do not depend on slices.
 *
 * Maps and options are plain values and own nothing. All functions only enqueue work. */
#ifndef CLIMG_FILTERS_WARP_H
#define CLIMG_FILTERS_WARP_H

#include "base/affine.h"
#include "engine/run.h"
#include "filters/resample.h"

/* Pixels beyond the picture: zero (transparent if there is alpha), or by the border rule of --edge. In
 * pictures without alpha that are going to be merged (run.is_merged), zero means NaN, which the merge
 * ignores. */
enum warp_outside { OUTSIDE_ZERO, OUTSIDE_EDGE };

#define OUTSIDE_CHOICES "zero|edge"

/* Limits in pixels: the sides of the output, and the distance of a position from the picture. */
enum { WARP_MAX_SIDE = 1 << 20, WARP_MAX_POSITION = 1 << 22 };

/* Limit of outputs times samples per output. The reduction of a picture by a cubic reads 16 times as many
 * samples as it has pixels, for any factor: a picture of 2^36 pixels reaches the limit. */
static const double WARP_MAX_SAMPLES = 0x1p40;

struct warp_size {
    int width, height; /* pixels; 0: not given */
};

/* Must be the first member of the params of a stage that warps. */
struct warp_options {
    struct warp_size size;
    int resampler;    /* enum resampler */
    int outside;      /* enum warp_outside */
    bool antialias;   /* widen the filter if the picture shrinks */
    bool copies;      /* do not interpolate; no pixel counts as missing. Set by moves and canvases */
    cl_float fill[4]; /* with copies and OUTSIDE_ZERO: channels of the pixels beyond the picture */
};

/* Rows of the option table. `unused_callback` is option.unused of outside=; may be NULL. */
#define WARP_OPTIONS(unused_callback)                                                                        \
    {.name = "size",                                                                                         \
     .type = OPTION_CUSTOM,                                                                                  \
     .offset = offsetof(struct warp_options, size),                                                          \
     .value = "WxH",                                                                                         \
     .help = "pixels of the result",                                                                         \
     .parse = warp_parse_size,                                                                               \
     .print = warp_print_size},                                                                              \
        WARP_OPTIONS_BUT_SIZE(unused_callback)

/* The same for a stage that determines the size itself. */
#define WARP_OPTIONS_BUT_SIZE(unused_callback)                                                               \
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
         .help = "pixels outside the picture; zero: transparent if there is alpha, black otherwise; edge: "  \
                 "as --edge says",                                                                           \
         .unused = (unused_callback)},                                                                       \
    {                                                                                                        \
        .name = "antialias", .type = OPTION_YES_NO, .offset = offsetof(struct warp_options, antialias),      \
        .fallback = "yes",                                                                                   \
        .help = "where the picture shrinks, widen the filter so that fine detail does not alias"             \
    }

/* Parse and print "640x480". */
enum status warp_parse_size(const char *text, void *field, struct error *error);
void warp_print_size(FILE *file, const void *field);

/* Fails if WARP_MAX_POSITION or WARP_MAX_SAMPLES is exceeded. `what` names the stage in the message. */
enum status warp_check(const char *what, const struct affine *affine, const struct warp_options *options,
                       const struct shape *out, struct error *error);

/* Converts a map of luma positions into one of chroma positions. Keeps the siting: in the output, chroma
 * samples have the same offset from luma samples as in the input. */
struct affine warp_chroma_map(const struct affine *luma, const struct chroma *chroma);

/* True if the map takes whole positions to whole positions, one to one: a shift by whole pixels, with or
 * without a flip or quarter turn. */
bool warp_is_whole(const struct affine *affine);

/* Sets the size of a chroma plane. Fails with OUTSIDE_ZERO, because zero chroma is not black. */
enum status warp_adapt_options_to_chroma(struct warp_options *options, const struct chroma *chroma,
                                         struct error *error);

/* Returns the source rows that rows `out` need, for an output of the given width. */
struct interval warp_source_rows(const struct affine *affine, const struct warp_options *options, int width,
                                 const struct shape *in, struct interval out);

/* True if slices from top to bottom may read the source in another order: if the map turns the picture upside
 * down, or a border rule may mirror or wrap. */
bool warp_needs_all_rows(const struct affine *affine, const struct warp_options *options);

/* Enqueues a warp. Allocates the planes of `out`. */
enum status warp_image(struct run *run, const struct affine *affine, const struct warp_options *options,
                       const struct value *in, struct value *out, struct error *error);

/* ---------------------------------------------------------------- moves
 *
 * Quarter turns, flips, crops and larger canvases: pixels change their position and keep their values. */

/* Enqueues a move from raster to raster, of samples of any type. `affine` must map each pixel of the output
 * to a pixel of the input. */
enum status move_pixels(struct run *run, const struct affine *affine, const struct value *in,
                        const struct value *out, struct error *error);

/* Enqueues a move from raster to raster, or from planes to planes that it allocates. */
enum status move_image(struct run *run, const struct affine *affine, const struct value *in,
                       struct value *out, struct error *error);

/* Callback `run` of a stage without an effect on a single picture: copies it. */
enum status copy_image(struct run *run, const void *params, const struct value *in, struct value *out,
                       struct error *error);

/* Returns the launch of kernel FILE of kernels/FILE.cl, which copies pixels to the raster of `out`, each as
 * *units integers of the largest possible size (kernels/copy_pixel.h). */
struct kernel_launch move_work(const struct run *run, const char *file, const struct value *out,
                               cl_int *units);

/* Callback `caps` of a stage that only moves pixels, with parameters that refer to the upright picture. */
struct stage_caps move_caps(const void *params);

#endif
