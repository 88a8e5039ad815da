/* Interface between the formats and reader.c and writer.c. Private to src/image. A format's own reader and
 * writer structs begin with struct reader and struct writer. It implements struct reader_class and struct
 * writer_class. */
#ifndef CLIMG_IMAGE_CODEC_H
#define CLIMG_IMAGE_CODEC_H

#include "image/format.h"
#include "image/output/output.h"

#include <stdio.h>

/* Rows that reader_prefetch decoded before reader_read asked for them, without padding. */
struct prefetch {
    unsigned char *rows;  /* owned; NULL before prefetching, and after a later row was read */
    size_t size;          /* bytes of `rows` */
    uint32_t next, count; /* index of the next row to read; number of decoded rows */
    enum status status;   /* of decoding the rows after these */
    struct error error;   /* set if status is not STATUS_OK */
};

/* The first member of a format's reader. */
struct reader {
    const struct format *format;
    char *name; /* the path, or "standard input" */
    struct reader_options options;
    FILE *file;
    unsigned char head[FOREIGN_SIGNATURE_SIZE]; /* the file's first bytes, already read to recognise it */
    size_t head_size; /* bytes of `head` that the format must decode before it reads on in `file`, at most
                       * SIGNATURE_SIZE. 0 if the class seeks: `file` is at its start */
    struct prefetch prefetch;
    struct metadata trailing;  /* of data after the pixels: only left_out and warning are used */
    bool has_checked_trailing; /* check_trailing_data was called, or reader_copy copies all data */
    /* The format sets unread, info, page_count, uncompressed, memory and rounded. */
    const char *unread;     /* a part of the file that is not read, such as "the other frames"; or NULL */
    struct image_info info; /* as in the file; reader.c frees its metadata */
    /* For CMYK and L*a*b*: the RGB that reader_info returns. Borrows from info and from the target space. */
    struct image_info converted;
    struct rgb_conversion *to_rgb; /* NULL: rows are gray or RGB in the file */
    unsigned char *file_row;       /* a row before its conversion */
    int page_count;                /* 1 by default; 0: unknown */
    bool uncompressed;             /* rows of the current page need no decoding */
    uint64_t memory;               /* bytes allocated to decode the current page */
    bool rounded;                  /* some samples lost precision in the conversion to 32-bit floats */
};

/* Returns the last page to read by the options, from 1 on; the file may have fewer. INT_MAX: all pages. */
int reader_last_page(const struct reader *reader);

/* Fails if an image has no pixels, more than `max_pixels`, or a side above 2^30. */
enum status check_image_size(uint64_t width, uint64_t height, uint64_t max_pixels, struct error *error);

/* Fails with "cannot read: " and the text of errno. */
enum status fail_reading(struct error *error);

/* Fails with "damaged PNG: " and `what`, or like fail_reading if reading the file failed. */
enum status fail_damaged(const struct reader *reader, const char *what, struct error *error);

/* Functions of a format. Contracts are in image/reader.h, at the functions of the same names. Messages do not
 * name the file: reader.c adds the name. One thread at a time uses a reader. */
struct reader_class {
    size_t size; /* bytes of the format's reader struct, which reader_open allocates and zeroes */
    bool seeks;  /* needs a seekable file: reader.c copies a pipe to a temporary one */
    /* Reads the header of the first page and sets the format's fields of struct reader. */
    enum status (*open)(struct reader *reader, struct error *error);
    enum status (*read)(struct reader *reader, void *rows, size_t pitch, uint32_t count, struct error *error);
    /* Decodes the first page at a reduced size, and updates info. May be NULL. */
    void (*reduce)(struct reader *reader, int factor);
    /* Skips the next rows without decoding them. False: not possible. May be NULL. */
    bool (*skip)(struct reader *reader, uint32_t count);
    /* Seeks to the first row of an uncompressed page. False: not possible. May be NULL. */
    bool (*rewind_page)(struct reader *reader);
    /* True if the file has all rows of the current page, which is uncompressed. NULL: unknown. */
    bool (*is_complete)(const struct reader *reader);
    /* After the last row: sets a warning in `trailing` if data follow the picture. Does not wait for a pipe.
     * May be NULL. */
    void (*check_trailing_data)(struct reader *reader);
    enum status (*next_page)(struct reader *reader, bool *more, struct error *error); /* NULL: one page */
    /* Frees the format's memory, also after a failed open. May be NULL. */
    void (*close)(struct reader *reader);
};

/* The first member of a format's writer. */
struct writer {
    const struct format *format;
    struct writer_options options;
    struct output output;   /* the format writes to output.file */
    struct image_info info; /* of the current page, as the format's `write` receives it */
    unsigned char *rows; /* writer.c: rows after their conversion to bits or without alpha, owned; or NULL */
    bool blends_alpha;   /* writer.c: the caller's rows have alpha, which is blended with white */
    bool begun;          /* a page was begun */
    bool copied;         /* by writer_copy or writer_transform: no page was begun, and the file is complete */
};

/* Returns the bytes of a row as the format's `write` receives it. Pixels of a bilevel page are bits, the
 * first one the highest of its byte. */
static inline size_t writer_row_size(const struct writer_options *options, const struct image_info *info)
{
    return options->bilevel ? ((size_t)info->width + 7) / 8 : row_size(info);
}

/* Functions of a format. Contracts are in image/writer.h, at the functions of the same names. */
struct writer_class {
    /* Returns the bytes allocated to write such a page. options->jobs is not 0. NULL: negligible. */
    uint64_t (*memory)(const struct writer_options *options, const struct image_info *info);
    size_t size;       /* bytes of the format's writer struct, which writer_open allocates and zeroes */
    bool seeks;        /* needs a seekable output.file: a temporary file for pipes */
    bool black_is_one; /* in bilevel pages */
    enum status (*begin_page)(struct writer *writer, const struct image_info *info, struct error *error);
    enum status (*write)(struct writer *writer, const void *rows, size_t pitch, uint32_t count,
                         struct error *error);
    enum status (*end_page)(struct writer *writer, struct error *error);
    /* Writes the end of the file, after the last page. May be NULL. */
    enum status (*finish)(struct writer *writer, struct error *error);
    void (*close)(struct writer *writer); /* frees the format's memory, but not the struct; may be NULL */
};

#endif
