/* Samples between host and device: staging memory, and the kernels that turn samples into planes and back. */
#ifndef CLIMG_CHAIN_TRANSFER_H
#define CLIMG_CHAIN_TRANSFER_H

#include "image/image.h"
#include "run/run.h"

/* Rows of a raster in memory that host and device take turns to use. On a device that shares the host's
 * memory both use the same bytes; on others they are copied. */
struct staging {
    struct device *device;
    cl_mem object;
    void *host;
    size_t size;  /* bytes */
    size_t pitch; /* bytes from row to row: 16 pixels, so that the kernels' vectors may run past the width */
    bool shared;
    bool mapped;
};

enum status staging_create(struct staging *staging, struct device *device, int width, int channels,
                           enum sample_type type, int rows, struct error *error);
void staging_free(struct staging *staging);

/* The host's turn to write `host`; what it held before stays. */
enum status staging_begin_write(struct staging *staging, struct error *error);
/* The device's turn, with the first `rows` rows written. */
enum status staging_end_write(struct staging *staging, int rows, struct error *error);
/* The host's turn to read the first `rows` rows; waits for the device. */
enum status staging_begin_read(struct staging *staging, int rows, struct error *error);
enum status staging_end_read(struct staging *staging, struct error *error);

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

/* staging, whose first row is `first_row` of the image, to planes that hold some of its rows. */
enum status unpack_planes(struct run *run, const struct conversion *conversion, const struct staging *staging,
                          int first_row, const struct planes *planes, struct error *error);

/* planes to staging, whose first row is the planes' first. */
enum status pack_planes(struct run *run, const struct conversion *conversion, const struct planes *planes,
                        struct staging *staging, struct error *error);

#endif
