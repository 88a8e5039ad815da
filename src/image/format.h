/* Between reader.c/writer.c and the two formats: internal to src/image. */
#ifndef CLIMG_IMAGE_FORMAT_H
#define CLIMG_IMAGE_FORMAT_H

#include "image/image.h"
#include "image/output/output.h"
#include "image/reader.h"
#include "image/writer.h"

#include <stdio.h>

/* Rows that were decoded before they were asked for, without padding; then, perhaps, what stopped that. */
struct ahead {
    unsigned char *rows; /* NULL: none are left */
    size_t size;         /* bytes allocated */
    uint32_t next, count;
    enum status status;
    struct error error;
};

/* A format's reader embeds this first. The functions are those of reader.h; `name` is for messages. */
struct reader {
    const struct reader_class *class;
    const char *name; /* the path, or "standard input" */
    struct reader_options options;
    struct image_info info;
    int page_count;
    bool plain; /* the current page's rows lie in the file as they are wanted */
    struct ahead ahead;
    uint64_t memory; /* bytes that the current page's rows take before they are the caller's */
};

struct reader_class {
    enum file_format format;
    enum status (*read)(struct reader *reader, void *rows, size_t pitch, uint32_t count, struct error *error);
    enum status (*next_page)(struct reader *reader, bool *more, struct error *error);
    void (*close)(struct reader *reader); /* frees all, the struct and the FILE too */
};

/* Each takes ownership of `file` (also on failure), whose first `peeked` bytes (8 for PNG, 0 for TIFF, which
 * gets a seekable file) were read already. `name` must outlive the reader. Fill in everything above.
 * Messages come without the file's name: reader.c puts it before them. */
enum status png_reader_open(FILE *file, const char *name, const struct reader_options *options,
                            struct reader **reader, struct error *error);
enum status tiff_reader_open(FILE *file, const char *name, const struct reader_options *options,
                             struct reader **reader, struct error *error);

/* A format's writer embeds this first. */
struct writer {
    const struct writer_class *class;
    struct writer_options options;
    struct output output;   /* see output.h; output.file is a FILE * positioned at its start */
    struct image_info info; /* of the page under way */
};

struct writer_class {
    size_t size; /* of the format's writer struct; allocated zeroed by writer_open */
    bool seeks;  /* needs a seekable output.file: output_open spools stdout and pipes */
    enum status (*open)(struct writer *writer, struct error *error);
    enum status (*begin_page)(struct writer *writer, const struct image_info *info, struct error *error);
    enum status (*write)(struct writer *writer, const void *rows, size_t pitch, uint32_t count,
                         struct error *error);
    enum status (*end_page)(struct writer *writer, struct error *error);
    enum status (*finish)(struct writer *writer, struct error *error); /* everything is in output.file */
    void (*close)(struct writer *writer); /* frees what the format allocated, not the struct */
};

extern const struct writer_class png_writer_class;
extern const struct writer_class tiff_writer_class;

/* Refuses an image with more pixels than the options allow, or of no size. */
enum status check_image_size(uint64_t width, uint64_t height, const struct reader_options *options,
                             struct error *error);

#endif
