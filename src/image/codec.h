/* The interface between reader.c, writer.c and the formats. Internal to src/image. */
#ifndef CLIMG_IMAGE_CODEC_H
#define CLIMG_IMAGE_CODEC_H

#include "image/format.h"
#include "image/output/output.h"

#include <stdio.h>

/* Rows that were decoded before reader_read asked for them, without padding. */
struct prefetch {
    unsigned char *rows;  /* owned; NULL once all of them were read */
    size_t size;          /* bytes allocated */
    uint32_t next, count; /* the next row to be read, and the number of rows */
    enum status status;   /* not STATUS_OK: the row after the last one cannot be read */
    struct error error;   /* the reason */
};

/* A format's reader embeds this first. */
struct reader {
    const struct format *format;
    char *name; /* the path, or "standard input" */
    struct reader_options options;
    FILE *file;
    unsigned char head[RIFF_SIGNATURE_SIZE]; /* the file's first bytes, which were read to recognise it */
    size_t head_size; /* at most SIGNATURE_SIZE; 0 if the class seeks: the file is at its start again */
    struct prefetch prefetch;
    struct metadata trailing; /* only left_out and warning: see reader_trailing_warnings */
    bool copied;              /* reader_copy was called: the output has the data after the picture, too */
    /* The format fills in the rest. */
    struct image_info info; /* reader.c frees its metadata */
    /* Files of CMYK and L*a*b*: info describes their samples, `converted` the RGB that reader_info returns;
     * it borrows from info and from the target. */
    struct image_info converted;
    struct rgb_conversion *to_rgb; /* NULL: info describes gray or RGB */
    unsigned char *file_row;       /* a row of the file's samples */
    int page_count;                /* 1 unless the format sets it */
    bool uncompressed;             /* the current page's rows need no decoding */
    uint64_t memory;               /* bytes that decoding the current page takes */
    bool rounded;                  /* some samples lost precision when they became floats of 32 bits */
};

/* Returns the number of the last page to read, by the options. The file may have fewer. */
int reader_last_page(const struct reader *reader);

/* Refuses an image without pixels, with more than `max_pixels`, or with a side that is too long. */
enum status check_image_size(uint64_t width, uint64_t height, uint64_t max_pixels, struct error *error);

/* A format's functions. image/reader.h has the contracts, under the same names.
 * Messages leave out the file's name, which reader.c adds. A reader is used by one thread at a time. */
struct reader_class {
    size_t size; /* bytes of the format's reader struct, which reader_open allocates and zeroes */
    bool seeks;  /* needs a seekable file: reader.c copies a pipe to a temporary one */
    /* Reads the header and sets the fields of struct reader that the format fills in. */
    enum status (*open)(struct reader *reader, struct error *error);
    enum status (*read)(struct reader *reader, void *rows, size_t pitch, uint32_t count, struct error *error);
    /* Reduces the first page before its first row is read, and sets info. May be NULL. */
    void (*reduce)(struct reader *reader, int factor);
    /* Skips the next rows without decoding them. False: nothing was skipped, and they must be read. May be
     * NULL. */
    bool (*skip)(struct reader *reader, uint32_t count);
    /* Goes back to the first row of a plain page. False: not possible. May be NULL. */
    bool (*go_back)(struct reader *reader);
    /* After the page's last row: notes in `trailing` the data after the picture. Does not wait for a pipe.
     * May be NULL. */
    void (*check_trailing_data)(struct reader *reader);
    enum status (*next_page)(struct reader *reader, bool *more,
                             struct error *error); /* NULL: files have one page */
    void (*close)(struct reader *reader); /* frees what the format allocated, after a failed open, too */
};

/* A format's writer embeds this first. */
struct writer {
    const struct format *format;
    struct writer_options options;
    struct output output;   /* output.file is at its start */
    struct image_info info; /* of the current page; the format can hold it */
    unsigned char *rows;    /* writer.c: some rows as bits or without alpha, owned; else NULL */
    bool has_alpha;         /* writer.c: rows have alpha, which `info` has not */
    bool begun;             /* a page was begun */
    bool copied;            /* the output is a copy of the input's bytes */
};

/* Returns the bytes of a row as the format's `write` receives it: of a bilevel page packed bits, the first
 * pixel in the highest bit. */
static inline size_t writer_row_size(const struct writer_options *options, const struct image_info *info)
{
    return options->bilevel ? ((size_t)info->width + 7) / 8 : row_size(info);
}

/* A format's functions. image/writer.h has the contracts, under the same names. */
struct writer_class {
    /* Returns the bytes of memory that writing such a page takes. NULL: hardly any. options->jobs is set. */
    uint64_t (*memory)(const struct writer_options *options, const struct image_info *info);
    size_t size;       /* bytes of the format's writer struct, which writer_open allocates and zeroes */
    bool seeks;        /* needs a seekable output.file: for a pipe it is a temporary file */
    bool black_is_one; /* bits of bilevel pages: 1 is black */
    enum status (*open)(struct writer *writer, struct error *error); /* may be NULL */
    enum status (*begin_page)(struct writer *writer, const struct image_info *info, struct error *error);
    enum status (*write)(struct writer *writer, const void *rows, size_t pitch, uint32_t count,
                         struct error *error);
    enum status (*end_page)(struct writer *writer, struct error *error);
    /* Writes the end of the file, after the last page. May be NULL. */
    enum status (*finish)(struct writer *writer, struct error *error);
    void (*close)(struct writer *writer); /* frees what the format allocated, not the struct */
};

#endif
