/* Conversion of samples to planes and back, on the device (kernels/samples.cl).
 *
 *     samples ─▶ 0 to 1 ─▶ (divide by alpha) ─▶ (range) ─▶ (linear light) ─▶ (multiply by alpha) ─▶
 *     (opponent) ─▶ planes
 *
 * On output the reverse, except that colour is divided by alpha and never multiplied by it again. struct
 * conversion selects the steps; both ends of a chain have one. Rasters refer to their conversion, which must
 * outlive them. Functions enqueue and do not wait, unless their comment says so. Thread safety: like struct
 * run. */
#ifndef CLIMG_ENGINE_TRANSFER_H
#define CLIMG_ENGINE_TRANSFER_H

#include "device/event_log.h"
#include "engine/run.h"
#include "image/image.h"

/* Returns the bytes from row to row: PITCH_UNIT pixels or a multiple, as vectors of kernels may exceed the
 * width. */
size_t transfer_pitch(int width, int channels, enum sample_type type);

/* Conversion between the samples of a file and the chain's values. */
struct conversion {
    /* The file's samples. */
    enum sample_type type;
    int channels;         /* of a pixel, alpha included */
    bool alpha;           /* the last channel is alpha */
    bool premultiplied;   /* the input file's colour is multiplied by alpha; set for the output, too */
    bool counts_clipping; /* count clipped values on output */

    /* The chain's values. */
    bool multiply;           /* colour is multiplied by alpha */
    bool flushes_tiny_alpha; /* tiny alpha becomes 0: it is a rounding error of a stage with a large halo */
    bool linear;             /* colour is linear light */
    double exponent; /* of the power law of the transfer curve; 0: sRGB's curve; -1: the curves of `space` */
    const struct colour_space *space; /* has curves for all colour channels; else NULL */
    bool has_range;                   /* `low` becomes 0 and `high` full scale */
    double low, high; /* in units of sample_full_scale: 1 is full scale of integers, 1.0 of floats */
    bool opponent_in, opponent_out; /* the first, the last planes of the chain are in opponent colours */
};

/* Sets the transfer curves of the colour space of that shape (shape_space). */
void conversion_set_curves(struct conversion *conversion, const struct shape *shape);

struct range_text {
    char text[64];
};

/* Returns the values that become 0 and full scale, in units of the file: "-1 to 3". */
struct range_text conversion_range(const struct conversion *conversion);

/* True if samples of type `in` may have values that samples of type `out` cannot hold, or if a stage
 * amplifies and makes such values. */
bool transfer_clips(enum sample_type in, enum sample_type out, bool amplifies);

/* Numbers of samples of an output, and of samples that cannot hold their values. */
struct clipping {
    uint64_t samples;     /* all samples of the output but alpha; set by batch/result.c */
    uint64_t beyond;      /* clipped to the range of the type */
    uint64_t not_numbers; /* NaN, written as 0 */
};

/* True if stages may read and write samples with this conversion (reads_samples of struct stage_caps), as
 * values are the samples times a factor. */
bool conversion_allows_raw_samples(const struct run *run, const struct conversion *conversion);

/* True if samples that no stage changes have the same bits in the output. */
bool conversion_keeps_samples(const struct conversion *from, const struct conversion *to);

/* Allocates clipping counters for `images` images on the device, all zero. *counters is NULL if the
 * conversion does not count. The caller frees them with memory_release. */
enum status clipping_begin(const struct run *run, const struct conversion *to, int images, cl_mem *counters,
                           struct error *error);

/* Waits for the device and adds the counters of image i to `beyond` and `not_numbers` of clippings[i]. Does
 * nothing if `counters` is NULL. */
enum status clipping_read(const struct run *run, cl_mem counters, int images, struct clipping *clippings,
                          struct error *error);

/* Returns a raster for samples in memory whose rows are `pitch` bytes apart, a multiple of a pixel.
 * `first_row` is the row of the image at the start of the memory. */
struct raster conversion_raster(const struct conversion *conversion, cl_mem memory, size_t pitch,
                                int first_row);

/* Owners of the time of these kernels in an event log. */
extern const struct event_owner UNPACKING, PACKING;

/* unpack_columns enqueues the conversion of samples to all rows of the planes: column `column` of the raster
 * becomes column 0. pack_columns enqueues the conversion of columns.count columns, in all rows of the planes,
 * to samples: from column columns.from of the planes to column columns.to of the raster. The event log counts
 * the time as unpacking and packing, not as time of the calling stage. */
enum status unpack_columns(struct run *run, const struct raster *raster, int column,
                           const struct planes *planes, struct error *error);
enum status pack_columns(struct run *run, const struct planes *planes, struct columns columns,
                         const struct raster *raster, struct error *error);

#endif
