/* The formats of image files. Each is one `const struct format format_...` in a folder below src/image, which
 * the Makefile collects into `formats`. Code outside src/image does not name formats: it asks for their
 * properties.
 *
 * Thread safety: all functions are pure unless noted. */
#ifndef CLIMG_IMAGE_FORMAT_H
#define CLIMG_IMAGE_FORMAT_H

#include "image/image.h"

#include <stdio.h>

enum { CHANNELS_ALL = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 };

/* The data that a file can hold; or the data of a page, to ask if a format can hold it. */
struct capacity {
    unsigned types;    /* set of sample types: bit 1u << enum sample_type */
    unsigned channels; /* set of channel counts: bit 1u << 3 is RGB. 0 for pages of video */
    bool bits;         /* gray pictures of one bit per pixel (writer_options.bilevel) */
    bool masks;        /* two or four channels of which the last is not alpha */
    bool opaque;       /* no alpha: the writer blends pictures that have it with white */
    bool pages;        /* more than one page in a file */
    bool video;        /* frames of luma and chroma pages (struct video) */
    bool texts;        /* metadata: texts and most other fields */
    bool tags;         /* metadata: tags that only TIFF has, and chromaticities */
    bool iptc;         /* metadata: IPTC, of those tags */
    bool cicp;         /* metadata: PNG's chunks of colours: cICP (code points of H.273), sRGB, gAMA, cHRM */
};

struct reader;
struct writer;

/* The result of an attempt to flip or turn a picture without coding its pixels again. */
struct lossless_move {
    bool done;
    char obstacle[120]; /* the reason if not done: "its width, 173, is no multiple of 16"; "" if it was not
                           tried */
};

/* Command line options that only some formats follow. */
enum coding_option {
    CODING_QUALITY = 1 << 0,
    CODING_SUBSAMPLING = 1 << 1,
    CODING_PROGRESSIVE = 1 << 2,
    CODING_LOSSLESS = 1 << 3,
    CODING_COMPRESSION = 1 << 4,
};

struct format {
    const char *name;              /* in messages: "PNG" */
    const char *const *extensions; /* in lower case, without dots, ending with NULL; outputs get the first */
    bool lossy; /* encoding changes pixels: a file that no stage or option changes is copied byte by byte */
    unsigned coding; /* set of enum coding_option that the writer follows */
    struct capacity holds;
    /* True if a file that begins with `head` has this format. `size` is SIGNATURE_SIZE or
     * RIFF_SIGNATURE_SIZE, or less if the file is shorter. NULL: only for outputs; another format reads such
     * files, as PGM and PPM read PNM. */
    bool (*recognise)(const unsigned char *head, size_t size);
    /* Verifies the checksums that reading skips, and warns in `trailing` of data after the end. `file` is at
     * its start. May be NULL. */
    enum status (*examine)(FILE *file, struct metadata *trailing, struct error *error);
    /* True if a file can hold this text. NULL: any text if holds.texts. */
    bool (*holds_text)(const struct text_entry *text);
    /* True if a file of that number of channels can hold the ICC profile. NULL: any if holds.texts. */
    bool (*holds_icc)(const struct blob *icc, int channels);
    /* Adds to left_out what else a file of this format loses, in addition to what format_note_left_out()
     * derives from the members above. May be NULL. */
    void (*note_left_out)(struct image_info *info);
    /* Writes a flipped or turned copy of the reader's file without coding its pixels again. If that is
     * impossible, writes nothing and fills in move->obstacle. May be NULL. */
    enum status (*transform)(struct reader *reader, struct writer *writer, const struct affine *inverse_map,
                             const struct image_info *info, struct lossless_move *move, struct error *error);
    const struct reader_class *reader; /* image/codec.h */
    const struct writer_class *writer;
};

/* Bytes at the start of a file by which its format is recognised. A RIFF file names its content only after
 * its size. A format that needs RIFF_SIGNATURE_SIZE bytes must set reader_class.seeks: a reader of a pipe
 * gets back SIGNATURE_SIZE bytes at most. */
enum { SIGNATURE_SIZE = 8, RIFF_SIGNATURE_SIZE = 12 };

/* All formats in the order of their folders' names, ending with NULL. */
extern const struct format *const formats[];

/* Returns the format with that extension, in upper or lower case, with or without a dot; or NULL. */
const struct format *format_by_extension(const char *extension);

/* Returns the format with the path's extension, or NULL. */
const struct format *format_by_path(const char *path);

/* Returns the format of a file with these first bytes, or NULL if climg does not read it. */
const struct format *format_by_signature(const unsigned char *head, size_t size);

/* Returns the format by the first bytes of the file at that path; NULL also if the file cannot be read. */
const struct format *format_by_content(const char *path);

/* A set of formats: bit 1u << index in `formats`. */
typedef unsigned format_set;

/* Parses a list of extensions, "png,jpeg", for --only. An output format (pnm, pbm) means all formats that
 * have the same reader. Returns false for an unknown extension. */
bool format_set_parse(const char *text, format_set *set);

/* Prints the first extension of each format in the set, separated by commas. */
void format_set_print(FILE *file, format_set set);

/* True if the format is in the set, or the set is empty. */
bool format_set_accepts(format_set set, const struct format *format);

/* Returns all extensions, "png|tif|tiff", for --help. Valid until the next call; not thread-safe. */
const char *format_extensions(void);

/* True if a file of the format can hold `content`; ignores `opaque`, `tags`, `iptc` and `cicp`. */
bool format_holds(const struct format *format, const struct capacity *content);

/* True if a file of the format can hold a pyramid: complex samples in many pages, and a text that describes
 * them. */
bool format_holds_coefficients(const struct format *format);

/* Returns the sample type in which samples of `type` are written: `type` itself, or if the format does not
 * hold it, the type that loses least. */
enum sample_type format_sample_type(const struct format *format, enum sample_type type);

/* Warns in `trailing`, unless they have a warning, if a file goes on after its end, by that number of bytes.
 */
void format_warn_surplus(struct metadata *trailing, uint64_t bytes);

/* True if a file of the format with that number of channels can hold the ICC profile. */
bool format_holds_icc(const struct format *format, const struct blob *icc, int channels);

/* True if a file of the format with that number of channels can describe the colours as `metadata` does. */
bool format_holds_colours(const struct format *format, const struct metadata *metadata, int channels);

/* Adds to left_out, for a message, what a file of the format cannot hold of the page. Removes nothing:
 * writers skip it. */
void format_note_left_out(const struct format *format, struct image_info *info);

struct format_names {
    char text[160];
};

/* Returns a list of the formats that can hold `content`; NULL: of all formats. With the conjunction "or" it
 * reads "PNG, PAM or TIFF". */
struct format_names format_names(const struct capacity *content, const char *conjunction);

/* A foreign format is known by name, but climg neither reads nor writes it. These return its name ("GIF") by
 * a file's first bytes or by its extension, or NULL. */
enum { FOREIGN_SIGNATURE_SIZE = 15 /* first bytes that are compared */ };
const char *foreign_name(const unsigned char *head, size_t size);
const char *foreign_name_by_path(const char *path);

/* A sentence of advice. */
struct foreign_hint {
    char text[400];
};

/* Returns advice on reading, or on writing: "climg does not read GIF; convert it first, as with ImageMagick:
 * convert a.gif a.png", "climg does not write GIF; write out.png and convert that, ...". `name` is
 * foreign_camera_raw or a result of the two functions above: pointers are compared. The path may be "-". */
extern const char foreign_camera_raw[];
struct foreign_hint foreign_hint(const char *name, const char *path, bool writes);

struct reader_options {
    format_set only;     /* formats to accept, by the file's first bytes; 0: all */
    int page;            /* the first page to read, from 1 on; 0: all pages */
    int last_page;       /* the last page to read; may be beyond the file's last page; 0: only `page` */
    bool rewinds;        /* reader_measure(), reader_rewind() or reader_examine() may be called */
    bool reopens;        /* reader_open_again() may be called; not for video, which may be endless */
    bool copies;         /* reader_copy() may be called if the format is lossy */
    uint64_t max_pixels; /* a page with more is refused before its memory is allocated */
    const struct colour_space *rgb_space; /* CMYK and L*a*b* are converted to it; NULL: sRGB */
    int jobs;                             /* threads that decode; 0: one for each processor */
    const char *spool_folder;             /* folder for a temporary copy of a pipe if the reader must seek */
    uint64_t memory;                      /* limit in bytes for decoding ahead; 0: no limit */
};

enum compression_preset {
    /* PNG: fast, and small for photos. TIFF: as the input, or none. WebP: libwebp's default. */
    COMPRESSION_PRESET_DEFAULT = -1,
    /* 0 (none) to 9 (smallest): zlib's levels */
};

struct writer_options {
    const struct format *format;
    int compression;          /* COMPRESSION_PRESET_DEFAULT or 0 to 9 */
    uint64_t expected_bytes;  /* uncompressed, of all pages; 0: unknown. TIFF: BigTIFF if 0 or near 4 GiB */
    int quality;              /* 1 to 100; 0: JPEG as the input, or 90; WebP 80 */
    bool bilevel;             /* write one bit per pixel; the rows are 8-bit gray, 0 or 255 */
    bool lossless;            /* WebP without loss; so, too, if the input was and `quality` is 0 */
    int subsampling;          /* of JPEG, enum subsampling */
    bool progressive;         /* a progressive JPEG */
    int jobs;                 /* threads that compress; 0: one for each processor */
    const char *spool_folder; /* folder for a temporary file if a format that seeks is written to a pipe */
    uint64_t memory;          /* limit in bytes for all strips in memory, but at least one; 0: no limit */
    bool durable;             /* fsync before the file gets its name */
};

#endif
