/* Between reader.c and writer.c and the formats: internal to src/image. */
#ifndef CLIMG_IMAGE_CODEC_H
#define CLIMG_IMAGE_CODEC_H

#include "image/format.h"
#include "image/output/output.h"

#include <stdio.h>

/* Rows that were decoded before they were asked for, without padding; then, perhaps, what stopped that. */
struct ahead {
    unsigned char *rows; /* NULL: none are left */
    size_t size;         /* bytes allocated */
    uint32_t next, count;
    enum status status;
    struct error error;
};

/* A page that is turned as it is read: upright.h. Zeroed, it is not. */
struct upright {
    int orientation;        /* TIFF's, 2 to 8; 0: rows are handed on as they are */
    struct image_info info; /* of the page as it is shown; its metadata is the page's */
    unsigned char *stored;  /* the page as it lies in the file; NULL before the first row */
    uint32_t row;           /* the next */
};

/* A format's reader embeds this first. */
struct reader {
    const struct format *format;
    char *name; /* the path, or "standard input" */
    struct reader_options options;
    FILE *file;
    unsigned char head[SIGNATURE_SIZE]; /* what was read of the file already */
    size_t head_size;                   /* bytes; none where the class seeks */
    struct ahead ahead;
    struct upright upright;
    struct metadata late; /* see reader_late; freed by reader.c */
    /* For the format to fill in: */
    struct image_info info; /* its metadata is freed by reader.c */
    int page_count;         /* 1 unless it says something else */
    bool plain;             /* the current page's rows lie in the file as they are wanted */
    uint64_t memory;        /* bytes that the current page's rows take before they are the caller's */
    bool rounded;           /* samples were met that floats of 32 bits do not hold */
};

/* Begins anew at the first page to be read; for readers with options.rewinds. */
enum status reader_rewind(struct reader *reader, struct error *error);

/* The last page that is wanted, which the file may not have. */
int reader_last_page(const struct reader *reader);

/* The functions are those of image/reader.h. Messages come without the file's name: reader.c puts it before
 * them.
 */
struct reader_class {
    size_t size;       /* of the format's reader struct; allocated zeroed by reader_open */
    bool seeks;        /* needs a seekable file, which it gets at its start */
    bool looks_behind; /* the same where what stands behind the pixels is asked for:
                          reader_options.looks_behind */
    enum status (*open)(struct reader *reader, struct error *error);
    enum status (*read)(struct reader *reader, void *rows, size_t pitch, uint32_t count, struct error *error);
    /* After the page's last row: adds to `late` what a pipe holds behind the picture by now, without waiting.
     * NULL: that is no matter. */
    void (*look_after_end)(struct reader *reader);
    enum status (*next_page)(struct reader *reader, bool *more, struct error *error); /* NULL: there is one */
    void (*close)(struct reader *reader); /* frees what the format allocated; after a failed open too */
};

/* A format's writer embeds this first. */
struct writer {
    const struct format *format;
    struct writer_options options;
    struct output output;   /* see output.h; output.file is a FILE * positioned at its start */
    struct image_info info; /* of the page under way, which is one that the format holds */
    bool begun;             /* a page before */
};

struct writer_class {
    /* Bytes that writing such a page takes beside the caller's; NULL: next to none. `jobs` are not 0. */
    uint64_t (*memory)(const struct writer_options *options, const struct image_info *info);
    size_t size; /* of the format's writer struct; allocated zeroed by writer_open */
    bool seeks;  /* needs a seekable output.file: output_open spools stdout and pipes */
    enum status (*open)(struct writer *writer, struct error *error); /* NULL: nothing to do */
    enum status (*begin_page)(struct writer *writer, const struct image_info *info, struct error *error);
    enum status (*write)(struct writer *writer, const void *rows, size_t pitch, uint32_t count,
                         struct error *error);
    /* Adds what was known too late for begin_page. NULL: nothing can follow pixels. */
    enum status (*amend)(struct writer *writer, const struct metadata *late, struct error *error);
    enum status (*end_page)(struct writer *writer, struct error *error);
    /* Everything is in output.file then; NULL: it is already. */
    enum status (*finish)(struct writer *writer, struct error *error);
    void (*close)(struct writer *writer); /* frees what the format allocated, not the struct */
};

#endif
