/* The kernels that turn samples into planes and back. */
#ifndef CLIMG_CHAIN_TRANSFER_H
#define CLIMG_CHAIN_TRANSFER_H

#include "device/profile.h"
#include "image/image.h"
#include "run/run.h"

/* Rows of samples as a file has them, where kernels reach them. */
struct samples {
    cl_mem memory;
    size_t pitch;  /* bytes from row to row */
    int first_row; /* of the image, that the memory begins with */
    int rows;      /* of a stack: from one image's first row to the next one's */
};

/* Bytes from row to row: multiples of 16 pixels, so that the kernels' vectors may run past the width. */
size_t transfer_pitch(int width, int channels, enum sample_type type);

/* How samples become the chain's values. */
struct conversion {
    enum sample_type type;
    int channels;
    bool alpha;
    bool premultiplied; /* in the file */
    bool multiply;      /* the chain wants colour multiplied by alpha */
    bool linear;        /* the chain works in linear light */
    double exponent;    /* of the transfer curve's power law, 0: sRGB's curve */
};

/* On whose behalf the device does that: sums of times go by where a name is, so there is one of each. */
extern const struct profile_owner UNPACKING, PACKING;

/* Samples to planes that hold some of their rows; of a stack, for all of its images. */
enum status unpack_planes(struct run *run, const struct conversion *conversion, const struct samples *samples,
                          const struct planes *planes, struct error *error);

/* Planes to samples, whose first row is the planes' first. */
enum status pack_planes(struct run *run, const struct conversion *conversion, const struct planes *planes,
                        const struct samples *samples, struct error *error);

#endif
