/* Deflate (RFC 1951) with no repetitions but runs of one byte, the only ones that filtered rows of
 * photographs have many of. What zlib's Z_RLE gives, in a fraction of the time. */
#ifndef CLIMG_IMAGE_DEFLATE_RUNS_H
#define CLIMG_IMAGE_DEFLATE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RUNS_SYMBOLS_MAX = 1 << 15 }; /* of a block; more adapt less to what changes in an image */

/* So many literals, and then the byte before so many times again. */
struct deflate_run {
    uint16_t literals, length;
};

/* What is needed while it works. */
struct deflate_runs {
    struct deflate_run runs[RUNS_SYMBOLS_MAX];
    size_t run_count;
};

/* The largest result of deflate_runs. */
size_t deflate_runs_bound(size_t size);

/* Compresses to whole bytes at `to` and returns how many. If it is not the last part of a stream, others may
 * be put behind it. */
size_t deflate_runs(struct deflate_runs *work, const unsigned char *bytes, size_t size, bool last,
                    unsigned char *to);

#endif
