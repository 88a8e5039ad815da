/* The formats of image files. Each is one struct in a file of a folder below src/image: the Makefile finds
 * the lines that begin with "const struct format format_". All that depends on a format is asked here. */
#ifndef CLIMG_IMAGE_FORMAT_H
#define CLIMG_IMAGE_FORMAT_H

#include "image/image.h"

enum { CHANNELS_ALL = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 };

/* What a file can keep. */
struct capacity {
    unsigned types;    /* of samples: 1u << enum sample_type */
    unsigned channels; /* numbers of them: 1u << 3 for RGB */
    bool masks;        /* a last channel of two or four that is not alpha */
    bool pages;        /* more than one */
    bool texts;        /* those of the metadata, and what else its fields say */
    unsigned extras;   /* of the metadata: 1u << enum extra_place */
};

struct format {
    const char *name;              /* in messages: "PNG" */
    const char *const *extensions; /* lower case, no dots; the first is what outputs get; NULL ends them */
    struct capacity holds;
    /* Whether a file begins so; `size` is at most SIGNATURE_SIZE. NULL: read as another format. */
    bool (*recognise)(const unsigned char *head, size_t size);
    /* How the format calls `compression` of image_info, for people; NULL where there is none to tell. */
    const char *(*compression)(int compression);
    /* Whether it has a place for this text. NULL: for any, if it holds texts. */
    bool (*holds_text)(const struct text_entry *text);
    /* The same of an ICC profile, which is there, and images of so many channels. */
    bool (*holds_icc)(const struct blob *icc, int channels);
    const struct reader_class *reader; /* of image/codec.h */
    const struct writer_class *writer;
};

enum { SIGNATURE_SIZE = 8 };

/* NULL ends them; in the order of their folders' names. */
extern const struct format *const formats[];

/* By an extension in capitals or not, with a dot or without: what --format takes. NULL: there is none. */
const struct format *format_by_word(const char *word);

/* By what the last part of a path ends in; NULL: that says nothing. */
const struct format *format_by_path(const char *path);

/* By a file's first bytes; NULL: climg does not read it. */
const struct format *format_by_signature(const unsigned char *head, size_t size);

/* The same of a file that is there; NULL also where it cannot be read. */
const struct format *format_by_content(const char *path);

/* The words of --format: "png|tif|tiff". */
const char *format_words(void);

bool format_holds(const struct format *format, const struct capacity *wanted);

/* A pyramid: complex samples in many pages, and a text that describes them. */
bool format_holds_coefficients(const struct format *format);

/* The samples that a file gets where `type` is wanted: the same, if it holds them, or else those that lose
 * least. */
enum sample_type format_sample_type(const struct format *format, enum sample_type type);

/* Notes in the metadata what of it, and of the page, such a file cannot hold. */
void format_leave_out(const struct format *format, struct image_info *info);

/* "PNG, PAM or TIFF": those that hold all of this (NULL: all formats). */
struct format_names {
    char text[160];
};
struct format_names format_names(const struct capacity *wanted, const char *conjunction);

/* What is asked of readers and writers. */

struct reader_options {
    int page;            /* 1 is the first; 0: all pages, starting at the first */
    int last_page;       /* of those that begin with `page`; there may be fewer; 0: `page` alone */
    bool upright;        /* pages are turned as their Orientation says */
    bool looks_behind;   /* a pipe may be kept whole to know what stands behind its pixels before these */
    bool rewinds;        /* it will be read again: reader_measure */
    uint64_t max_pixels; /* a page with more is refused before anything is allocated for it */
    int jobs;            /* threads that decode; 0: as many as there are processors */
    const char *spool;   /* the folder for what must be whole and comes from a pipe */
    uint64_t memory;     /* bytes for what the threads decode ahead; 0: as many as they like */
};

enum compression_preset {
    COMPRESSION_PRESET_DEFAULT = -1, /* PNG: fast and small for photos; TIFF: as the input, else none */
    /* 0 none, 1 fast ... 9 best: the zlib level */
};

struct writer_options {
    const struct format *format;
    int compression; /* COMPRESSION_PRESET_DEFAULT or 0 to 9 */
    uint64_t
        expected_bytes; /* uncompressed, of all pages: beyond 4 GiB a TIFF must be a BigTIFF; 0: unknown */
    int jobs;           /* threads that compress; 0: as many as there are processors */
    const char *spool;  /* the folder for what must be whole and goes to a pipe */
    uint64_t memory;    /* bytes for what the threads compress; 0: as many as they like. One may take more */
    bool durable;       /* on the disk before it has its name */
};

#endif
