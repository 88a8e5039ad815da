/* A TIFF on an open FILE, with libtiff's messages kept beside their handle. */
#ifndef CLIMG_IMAGE_TIFF_FILE_H
#define CLIMG_IMAGE_TIFF_FILE_H

#include "base/error.h"
#include "image/ifd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tiffio.h>

struct tiff_file {
    TIFF *tiff; /* NULL: closed */
    int descriptor;
    uint64_t position; /* libtiff's; the descriptor's own offset is never moved */
    uint64_t size;     /* bytes */
    int read_error;    /* errno of the first read that failed, 0 */
    int write_error;   /* the same of writes */
    bool out_of_memory;
    char message[256]; /* libtiff's first error; "" when all is well */
};

/* Not mapped. 'D': arrays of strips and tiles are read for the pages that are read, not for those that are
 * counted. Without a 'c', libtiff presents one uncompressed strip as many. */
#define TIFF_FILE_READ "rmD"

/* `mode` is TIFFOpen's. The struct must not move while it is open, and does not own the descriptor, for which
 * nothing may be pending in a buffer. */
enum status tiff_file_open(struct tiff_file *file, int descriptor, const char *mode, struct error *error);

/* Closing a file that is being written writes what libtiff still holds. A closed file is fine. */
void tiff_file_close(struct tiff_file *file);

/* The same without writing. */
void tiff_file_abandon(struct tiff_file *file);

/* False when not all bytes could be read or written. */
bool tiff_file_read_at(struct tiff_file *file, uint64_t offset, void *to, size_t size);
bool tiff_file_write_at(struct tiff_file *file, uint64_t offset, const void *from, size_t size);

/* The current directory of a file that is read, as bytes. */
void tiff_file_ifd(struct tiff_file *file, struct ifd_source *source, uint64_t *ifd);

/* Whether the machine failed, not the file: then what libtiff took for absent may be there. */
enum status tiff_file_trouble(const struct tiff_file *file, struct error *error);

/* STATUS_FAILED, with libtiff's first error as the reason. */
enum status tiff_file_damaged(const struct tiff_file *file, struct error *error);
enum status tiff_file_not_written(const struct tiff_file *file, struct error *error);

#endif
