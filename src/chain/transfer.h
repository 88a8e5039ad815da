/* The kernels that turn samples into planes and back. */
#ifndef CLIMG_CHAIN_TRANSFER_H
#define CLIMG_CHAIN_TRANSFER_H

#include "device/profile.h"
#include "engine/run.h"
#include "image/image.h"

/* Bytes from row to row: multiples of 16 pixels, so that the kernels' vectors may run past the width. */
size_t transfer_pitch(int width, int channels, enum sample_type type);

/* How samples become the chain's values. */
struct conversion {
    enum sample_type type;
    int channels;
    bool alpha;
    bool premultiplied;             /* in the file */
    bool multiply;                  /* the chain wants colour multiplied by alpha */
    bool rounded;                   /* the chain transforms alpha there and back */
    bool linear;                    /* the chain works in linear light */
    double exponent;                /* of the transfer curve's power law, 0: sRGB's curve */
    bool ranged;                    /* colour of `low` is the chain's 0, that of `high` its full scale */
    double low, high;               /* integers: full scale is 1 */
    bool counted;                   /* values that the samples cannot hold are counted on the way out */
    bool opponent_in, opponent_out; /* the chain's first planes, its last ones, are in opponent colours */
};

/* The values that become 0 and full scale, in the file's own numbers: "-1 to 3". */
struct range_text {
    char text[64];
};
struct range_text conversion_range(const struct conversion *conversion);

/* True if samples of one type may have values that samples of the other cannot hold; `amplifies`: or may get
 * them from a stage. */
bool transfer_clips(enum sample_type in, enum sample_type out, bool amplifies);

/* Counts of values that samples cannot hold. */
struct clipping {
    uint64_t samples;     /* all that were written */
    uint64_t beyond;      /* those that were clipped */
    uint64_t not_numbers; /* became 0 */
};

/* True if a stage may read or write such samples itself (reads_samples of struct traits). */
bool conversion_is_plain(const struct run *run, const struct conversion *conversion);

/* Whether samples that no stage changes come out as they went in. */
bool conversion_keeps_samples(const struct conversion *from, const struct conversion *to);

/* Counters on the device for rasters of so many images; NULL where the conversion does not count. To be given
 * to memory_release. */
enum status clipping_begin(const struct run *run, const struct conversion *to, int images, cl_mem *counters,
                           struct error *error);

/* Waits for the device, and adds what was counted for each image. */
enum status clipping_read(const struct run *run, cl_mem counters, int images, struct clipping *clippings,
                          struct error *error);

/* Samples in memory whose rows are `pitch` bytes apart; the conversion must live as long. */
struct raster conversion_raster(const struct conversion *conversion, cl_mem memory, size_t pitch,
                                int first_row);

/* The same for a device that is only imagined. */
struct raster conversion_imagined(const struct conversion *conversion, const struct shape *shape);

/* On whose behalf the device does that: sums of times go by where a name is, so there is one of each. */
extern const struct profile_owner UNPACKING, PACKING;

/* Samples to planes that hold some of their rows; of a group, for all of its images. */
enum status unpack_planes(struct run *run, const struct conversion *conversion, const struct raster *raster,
                          const struct planes *planes, struct error *error);

/* Whether the device carries a pixel to planes and back. */
bool transfer_works(struct run *run);

/* Planes to samples, whose first row is the planes' first. */
enum status pack_planes(struct run *run, const struct conversion *conversion, const struct planes *planes,
                        const struct raster *raster, struct error *error);

#endif
