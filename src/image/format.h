/* The formats of image files. Each is one struct in a file of a folder below src/image: the Makefile finds
 * the lines that begin with "const struct format format_". Nothing outside of src/image knows which formats
 * there are. */
#ifndef CLIMG_IMAGE_FORMAT_H
#define CLIMG_IMAGE_FORMAT_H

#include "image/image.h"

#include <stdio.h>

enum { CHANNELS_ALL = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 };

/* Kinds of data that a file can hold. */
struct capacity {
    unsigned types;    /* set of sample types: bits 1u << enum sample_type */
    unsigned channels; /* set of numbers of channels of a picture: bit 1u << 3 is RGB. 0 for video */
    bool bits;         /* gray pictures of one bit for each pixel (writer_options.bilevel) */
    bool masks;        /* pictures of two or four channels whose last one is not alpha */
    bool flat;         /* no alpha: pictures that have it are blended with white before they are written */
    bool pages;        /* more than one page */
    bool video;        /* frames of several pages (struct video) */
    bool texts;        /* metadata: texts and most other fields */
    bool tags;         /* metadata: tags that only TIFF has */
    bool cicp;         /* metadata: cICP, code points of the colour space (H.273) */
};

struct reader;
struct writer;

/* The result of an attempt to move pixels without coding them again. */
struct lossless_move {
    bool done;
    char obstacle[120]; /* why not: "its width, 173, is no multiple of 16"; "" if it was not tried */
};

/* Options of the command line that have a meaning only in some formats. */
enum coding_option {
    CODING_QUALITY = 1 << 0,
    CODING_SUBSAMPLING = 1 << 1,
    CODING_PROGRESSIVE = 1 << 2,
    CODING_LOSSLESS = 1 << 3,
    CODING_COMPRESSION = 1 << 4,
};

/* A format. Constant; defined in its folder. */
struct format {
    const char *name;              /* in messages: "PNG" */
    const char *const *extensions; /* in lower case, without dots, ending with NULL; outputs get the first */
    bool lossy; /* encoding changes pixels; so if no stage or option changes a file, its bytes are copied */
    unsigned coding; /* options of the command that the writer follows: enum coding_option */
    struct capacity holds;
    /* True if a file that begins with `head` has this format; `size` is SIGNATURE_SIZE or
     * RIFF_SIGNATURE_SIZE, or less if the file is shorter. NULL if another format's reader reads such files.
     */
    bool (*recognise)(const unsigned char *head, size_t size);
    /* Returns the name of the file's compression, or NULL. May be NULL. */
    const char *(*compression)(const struct image_info *info);
    /* Returns the checksums of such a page that reading compares, or NULL. NULL: the format has none. */
    const char *(*checksums)(const struct image_info *info);
    /* Examines what reading leaves out, in a file at its start: other checksums. Warns in `notes` of data
     * after the end. May be NULL. */
    enum status (*examine)(FILE *file, struct metadata *notes, struct error *error);
    /* True if a file can hold this text. NULL: any, if it holds texts. */
    bool (*holds_text)(const struct text_entry *text);
    /* True if a file of that number of channels can hold this ICC profile. NULL: any, if it holds texts. */
    bool (*holds_icc)(const struct blob *icc, int channels);
    /* Notes in the metadata the contents of a page that a file loses, in addition to what format_leave_out()
     * finds by the members above. May be NULL. */
    void (*leave_out)(struct image_info *info);
    /* Lossy formats: writes a file whose pixels only move, as in a quarter turn, without coding them again.
     * If that is impossible, writes nothing and fills move->obstacle. May be NULL. */
    enum status (*turn)(struct reader *reader, struct writer *writer, const struct affine *places,
                        const struct image_info *info, struct lossless_move *move, struct error *error);
    const struct reader_class *reader; /* image/codec.h */
    const struct writer_class *writer;
};

/* Bytes of a file by which its format is recognised. RIFF names its content after its size; formats that need
 * so many bytes must seek, as only SIGNATURE_SIZE bytes are kept for readers of pipes. */
enum { SIGNATURE_SIZE = 8, RIFF_SIGNATURE_SIZE = 12 };

/* In the order of their folders' names, ending with NULL. */
extern const struct format *const formats[];

/* Returns the format with an extension, as --format takes it: in any case, with or without a dot. NULL if no
 * format has it. */
const struct format *format_by_extension(const char *extension);

/* Returns the format by the extension of a path, or NULL if that is unknown. */
const struct format *format_by_path(const char *path);

/* Returns the format by a file's first bytes, or NULL if climg does not read such files. */
const struct format *format_by_signature(const unsigned char *head, size_t size);

/* Returns the format by the first bytes of the file at that path; NULL also if it cannot be read. */
const struct format *format_by_content(const char *path);

/* A set of formats of inputs: bits 1u << index in `formats`. */
typedef unsigned format_set;

/* Parses a list of extensions, as --only takes it: "png,jpeg". A name that is for output only, pnm, means
 * the formats that its reader reads. Returns false for an unknown name. */
bool format_set_parse(const char *text, format_set *set);

/* Prints the first extension of each format of the set, separated by commas. */
void format_set_print(FILE *file, format_set set);

/* True if the format is in the set, or the set is empty. */
bool format_set_accepts(format_set set, const struct format *format);

/* Returns all extensions, for --format: "png|tif|tiff". Valid until the next call; not thread-safe. */
const char *format_extensions(void);

/* True if a file of the format can hold all that `content` has; ignores `flat`, `tags` and `cicp`. */
bool format_holds(const struct format *format, const struct capacity *content);

/* True if it can hold a pyramid: complex samples in many pages, and a text that describes them. */
bool format_holds_coefficients(const struct format *format);

/* Returns the sample type to write for samples of type `type`: the same, or, if the format does not hold
 * that, the one that loses least. */
enum sample_type format_sample_type(const struct format *format, enum sample_type type);

/* Warns in `notes` of bytes after the end of a file, unless there are none. */
void format_warn_surplus(struct metadata *notes, uint64_t bytes);

/* Notes in the metadata the contents of a page that a file of the format cannot hold, for a warning. Removes
 * nothing: writers skip them. */
void format_leave_out(const struct format *format, struct image_info *info);

struct format_names {
    char text[160];
};

/* Returns a list of the formats that hold all that `content` has, or of all formats if it is NULL. The
 * conjunction "or" makes it "PNG, PAM or TIFF". */
struct format_names format_names(const struct capacity *content, const char *conjunction);

/* A foreign format is one that climg neither reads nor writes. Return its name ("GIF") by a file's first
 * bytes or by its extension, or NULL for all other files. */
enum { FOREIGN_SIZE = 15 /* bytes that are looked at */ };
const char *foreign_name(const unsigned char *head, size_t size);
const char *foreign_name_by_path(const char *path);

/* A sentence of advice. */
struct foreign_hint {
    char text[400];
};

/* Return advice: "climg does not read GIF; convert it first, as with ImageMagick: convert a.gif a.png",
 * "climg does not write GIF; write out.png and convert that, ...". `name` must be a pointer that one of the
 * two functions above returned, or foreign_camera_raw. The path may be "-". */
extern const char foreign_camera_raw[];
struct foreign_hint foreign_reading(const char *name, const char *path);
struct foreign_hint foreign_writing(const char *name, const char *path);

struct reader_options {
    format_set only;     /* other formats are refused by the file's first bytes; 0: all are read */
    int page;            /* the first page to read, from 1 on; 0: all pages */
    int last_page;       /* the last page to read; the file may have fewer; 0: only `page` */
    bool rewinds;        /* reader_measure() or reader_rewind() will be called, so the file is read twice */
    bool reopens;        /* reader_open_again() will be called; not for video, which may not end */
    bool copies;         /* reader_copy() may be called, if the format is lossy */
    uint64_t max_pixels; /* a page with more is refused before memory is allocated */
    const struct colour_space *target; /* RGB space that CMYK and L*a*b* are converted to; NULL: sRGB */
    int jobs;                          /* threads that decode; 0: one for each processor */
    const char *spool;                 /* folder for a temporary copy of a pipe, if the reader must seek */
    uint64_t memory;                   /* limit in bytes of what threads decode ahead; 0: no limit */
};

enum compression_preset {
    COMPRESSION_PRESET_DEFAULT = -1, /* PNG: fast and small for photos; TIFF: as the input, or none; WebP:
                                        libwebp's default */
    /* 0 none, 1 fast ... 9 best: zlib's level */
};

struct writer_options {
    const struct format *format;
    int compression;         /* COMPRESSION_PRESET_DEFAULT or 0 to 9 */
    uint64_t expected_bytes; /* of all pages, uncompressed: beyond 4 GiB TIFF becomes BigTIFF; 0: unknown */
    int quality;             /* 1 to 100; 0: of JPEG as the input, or 90, of WebP 80 */
    bool bilevel;            /* one bit for each pixel; samples are gray, 8 bit, and 0 or 255 */
    bool lossless;           /* WebP without loss, as also if the input was and `quality` is 0 */
    int subsampling;         /* of JPEG, enum subsampling */
    bool progressive;        /* JPEG in scans of more and more detail */
    int jobs;                /* threads that compress; 0: one for each processor */
    const char *spool;       /* folder for a temporary file, if a format that seeks is written to a pipe */
    uint64_t memory;         /* bytes that threads may compress at once, but at least one part; 0: no limit */
    bool durable;            /* fsync before the file gets its name */
};

#endif
