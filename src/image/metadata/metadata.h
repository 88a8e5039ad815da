/* Metadata of a file, in the same form for all formats.
 *
 *     file ─▶ reader ─▶ struct metadata ─▶ metadata_copy ─▶ metadata_update (of a chain's change) ─▶ writer
 * ─▶ file
 *
 * A blob is copied or dropped. Orientation, width, height and resolution alone are changed inside of blobs.
 * What is dropped is noted in left_out, for -v. docs/metadata.md has the rule for each kind.
 *
 * metadata.c stores; exif.c, xmp.c and texts.c each know one kind of blob; update.c applies a change to all
 * of them. Thread safety: a struct metadata belongs to one thread. */
#ifndef CLIMG_IMAGE_METADATA_METADATA_H
#define CLIMG_IMAGE_METADATA_METADATA_H

#include "base/affine.h"
#include "base/error.h"
#include "image/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes on the heap. */
struct blob {
    unsigned char *data; /* NULL: absent */
    size_t size;         /* bytes */
};

/* XMP is a text like others, with PNG's keyword for it as its key. */
#define XMP_KEY "XML:com.adobe.xmp"

/* A text. All strings are owned and end in NUL. */
struct text_entry {
    char *key;   /* PNG keyword: Title, Author, Description, Copyright, Creation Time, Software, ... */
    char *value; /* UTF-8 */
    char *language, *translated; /* of PNG's iTXt: "de", and the keyword in that language; or NULL */
    bool compressed;             /* it was compressed in the PNG that it came from */
    char *item; /* further attributes of a GDAL item: ` sample="0" role="scale"`; or NULL. Such a text
                 * is not found by its key */
};

/* A tag that only TIFF can hold (JPEG has a place for IPTC, too). */
struct tiff_tag {
    uint32_t number;
    struct blob data; /* in the host's byte order */
};

enum tiff_tag_number {
    TAG_PIXEL_SCALE = 33550, /* GeoTIFF's */
    TAG_IPTC = 33723,
    TAG_TIE_POINTS = 33922,
    TAG_TRANSFORMATION = 34264,
    TAG_PHOTOSHOP = 34377,
    TAG_GEO_KEYS = 34735,
    TAG_GEO_DOUBLES = 34736,
    TAG_GEO_TEXTS = 34737,
    TAG_NODATA = 42113, /* GDAL's */
    TAG_IMAGEJ_COUNTS = 50838,
    TAG_IMAGEJ = 50839,
};

enum resolution_unit {
    RESOLUTION_ABSENT,
    RESOLUTION_RATIO /* only the aspect is known */,
    RESOLUTION_PER_METRE
};

/* Zeroed, it is empty. */
struct metadata {
    struct blob icc;  /* ICC profile */
    struct blob exif; /* as PNG's eXIf: starts at the TIFF byte-order mark */
    enum resolution_unit resolution_unit;
    double x_resolution, y_resolution; /* pixels per metre, or a ratio */
    int orientation;                   /* TIFF's, 1 to 8; 0: unknown */
    bool srgb;                         /* PNG's sRGB chunk */
    int rendering_intent;              /* of sRGB, 0 to 3 */
    bool has_cicp;
    unsigned char cicp[4]; /* PNG's cICP: numbers of ITU-T H.273 */
    double gamma;          /* PNG's gAMA as the file has it, such as 0.45455; 0: absent */
    bool has_chromaticities;
    double chromaticities[8]; /* white x y, red x y, green x y, blue x y (PNG's cHRM) */
    struct text_entry *texts;
    size_t text_count;
    struct tiff_tag *tags;
    size_t tag_count;
    size_t bytes;       /* of all texts and tags that were ever added: a bound on the work, too */
    char left_out[400]; /* for -v: "the EXIF thumbnail, IPTC" */
    char warning[200];  /* is printed without -v, too; "" if there is no warning */
};

/* Frees everything and zeroes the struct. */
void metadata_free(struct metadata *metadata);

/* Makes a deep copy in an uninitialised struct; on failure the copy is empty. */
enum status metadata_copy(struct metadata *to, const struct metadata *from, struct error *error);

/* Frees the data and zeroes the blob. */
void blob_free(struct blob *blob);

/* True for an ICC profile of gray (one or two channels) or RGB (three or four). */
bool icc_is_for(const struct blob *icc, int channels);

/* Replaces the blob by a copy of the data; without bytes it becomes absent. */
enum status metadata_set_blob(struct blob *blob, const void *data, size_t size, struct error *error);

/* Sets EXIF and the orientation in it. A second EXIF is left out and noted. */
enum status metadata_add_exif(struct metadata *metadata, const void *data, size_t size, struct error *error);

/* Removes all but what viewers need to show the pixels: the ICC profile, PNG's chunks of colour and the
 * orientation. For --strip. */
void metadata_strip(struct metadata *metadata);

/* Replaces the first entry of that key, or appends one. The value is `size` bytes and need not end in NUL. */
enum status metadata_set_text(struct metadata *metadata, const char *key, const char *value, size_t size,
                              struct error *error);

/* Appends a copy of an entry; several may have one key. Texts beyond the limits at the top of metadata.c are
 * left out and noted. An XMP text of no bytes is ignored. */
enum status metadata_add_text(struct metadata *metadata, const struct text_entry *entry, struct error *error);

/* Remove all entries of that key, or the entry at that index. */
void metadata_remove_text(struct metadata *metadata, const char *key);
void metadata_remove_entry(struct metadata *metadata, size_t index);

/* Replaces the tag, or appends one, with the limits of metadata_add_text. */
enum status metadata_set_tag(struct metadata *metadata, uint32_t number, const void *data, size_t size,
                             struct error *error);

/* Returns the tag's data, or NULL. */
struct blob *metadata_tag(const struct metadata *metadata, uint32_t number);
void metadata_remove_tag(struct metadata *metadata, uint32_t number);

/* Notes that something is left out; the same name is noted once. */
void metadata_leave_out(struct metadata *metadata, const char *name);

/* Notes that languages of texts are left out, if there are any, for formats that hold texts without them. */
void metadata_leave_out_languages(struct metadata *metadata);

/* Sets the warning, which follows the file's name: "is damaged in its tEXt chunk". The first one stays. */
void metadata_warn(struct metadata *metadata, const char *what);

/* Returns the first entry of that key, and its value, or NULL. */
struct text_entry *metadata_find_text(const struct metadata *metadata, const char *key);
const char *metadata_text(const struct metadata *metadata, const char *key);

struct colour_space;

/* Differences of an output from its input. */
struct change {
    uint32_t in_width, in_height, out_width, out_height; /* pixels */
    struct affine from;      /* maps the output to the input, in pixels from the top left corners */
    int in_pages, out_pages; /* of the files; 0: unknown */
    int in_channels, out_channels;
    enum sample_type in_type, out_type;
    bool processed;  /* by stages or --range: small copies of the picture show something else */
    bool rescaled;   /* a number means another value: another depth, --range, a palette, --invert */
    bool reoriented; /* turned as its orientation says: Orientation becomes 1 */
    bool replaced;   /* it is another picture: no pixel stays in place */
    const struct colour_space *space; /* of the output, if it was converted; else NULL */
};

/* True if pixels move, have another size, or their number changes. */
static inline bool change_moves(const struct change *change)
{
    const struct affine *from = &change->from;
    return change->in_width != change->out_width || change->in_height != change->out_height ||
           !affine_is_upright(from) || from->xx != 1 || from->yy != 1 || from->x != 0 || from->y != 0;
}

/* Makes the metadata of a chain's input true of its output: sets orientation, width, height, resolutions and
 * the size of a GeoTIFF's pixels, and removes all else that is no longer true. Notes in left_out what is
 * removed. */
enum status metadata_update(struct metadata *metadata, const struct change *change, struct error *error);

/* Describes a picture in that space: embeds its profile, or for one or two channels of a space of RGB the
 * profile of its grays, and drops PNG's chunks of colour. */
enum status metadata_set_space(struct metadata *metadata, const struct colour_space *space, int channels,
                               struct error *error);

/* Returns a name for messages: "IPTC", "tag 65000". Valid until the next call in this thread. */
const char *tiff_tag_name(const struct tiff_tag *tag);

/* True if the description is ImageJ's or tifffile's, of images that may follow each other without a gap. */
bool description_is_stack(const struct metadata *metadata);

/* Drops tifffile's description, whose shape differs from the pages that are read. */
void description_drop_tifffile(struct metadata *metadata);

/* True if tifffile wrote one directory for several images. */
bool description_is_truncated(const struct metadata *metadata);

/* Returns the number of images that follow each other in the file without a gap, by ImageJ's description; 0:
 * it does not say. */
int description_image_count(const struct metadata *metadata);

/* Returns TIFF's orientation, 1 to 8; 0: EXIF does not say it, or cannot be read. */
int exif_orientation(const struct blob *exif);

/* Makes the EXIF of a file that can hold the orientation nowhere else: a copy of the metadata's EXIF if
 * `copied`, else an empty one, with the metadata's orientation. The caller frees exif->data; it is NULL if
 * neither says anything.
 */
enum status exif_with_orientation(const struct metadata *metadata, bool copied, struct blob *exif,
                                  struct error *error);

/* Sets the orientation and moves no other value. Absent or unreadable EXIF becomes EXIF that says only this.
 */
enum status exif_set_orientation(struct blob *exif, int orientation, struct error *error);

/* Reads the pixels per unit along both axes, and TIFF's number of the unit. False: the first IFD does not say
 * it. */
bool exif_resolution(const struct blob *exif, double *x, double *y, int *unit);

/* True if there is a second IFD, which describes a thumbnail. */
bool exif_has_thumbnail(const struct blob *exif);

/* For EXIF that gets another place in its file: drops a maker note whose offsets would be wrong there, and
 * notes that. */
void exif_move(struct metadata *metadata);

/* For EXIF that is written to a TIFF: exif_move, and notes what a TIFF cannot hold: other tags of the first
 * IFD, a thumbnail. */
void exif_leave_out(struct metadata *metadata);

/* Copies a text of the first IFD, up to its NUL; of Copyright all parts, a line each. The caller frees *text;
 * it is NULL if the tag is missing. */
enum status exif_text(const struct blob *exif, uint16_t tag, char **text, struct error *error);

/* Writes camera, date and exposure, as in "Canon EOS R6, 2024:05:31 12:00:00, 1/250 s, f/2.8, ISO 400, 50
 * mm", as far as they are known. The text may have control characters. */
void exif_describe(const struct blob *exif, char *text, size_t size);

/* ---------------- the parts of metadata_update, for this folder only. Each notes what it removes. */

/* For changes that move pixels: sets the width, height and resolutions that EXIF says, and drops the place of
 * the subject. */
void exif_update(struct metadata *metadata, const struct change *change);

/* Overwrites the thumbnail with zeros and cuts its IFD off; returns true if there was one. */
bool exif_drop_thumbnail(struct blob *exif);

/* Sets EXIF's ColorSpace, if it is present: sRGB, or uncalibrated. */
void exif_set_space(struct blob *exif, bool is_srgb);

/* Cuts size, resolution, orientation and thumbnails out of XMP where they are not true of the output. */
void xmp_update(struct metadata *metadata, const struct change *change);

/* Drops a description of tifffile or OME that is not true of the output, and those lines of ImageJ's that are
 * not. */
void description_update(struct metadata *metadata, const struct change *change);

/* Drops GDAL's items and texts that repeat EXIF where they are not true of the output. */
void texts_update(struct metadata *metadata, const struct change *change);

bool description_is_imagej(const struct metadata *metadata);

#endif
