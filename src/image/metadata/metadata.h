/* Metadata of a file, in the same form for all formats.
 *
 *     file ─▶ reader ─▶ struct metadata ─▶ metadata_copy ─▶ metadata_update (struct change) ─▶ writer ─▶ file
 *
 * Blobs (EXIF, ICC profile, XMP, tags) are copied or dropped. Inside a blob only single values are changed or
 * removed, such as orientation, resolution, EXIF's ColorSpace and properties of XMP. left_out lists what was
 * dropped, for -v. docs/metadata.md has the rule for each kind.
 *
 * metadata.c stores, copies and frees; exif.c, xmp.c and texts.c each handle one kind of data; update.c
 * applies a change to all of them. Thread safety: a struct metadata belongs to one thread. */
#ifndef CLIMG_IMAGE_METADATA_METADATA_H
#define CLIMG_IMAGE_METADATA_METADATA_H

#include "base/affine.h"
#include "base/error.h"
#include "image/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block of memory. */
struct blob {
    unsigned char *data; /* owned; NULL: absent */
    size_t size;         /* bytes */
};

/* The key of XMP, which is stored as a text: PNG's keyword for it. */
#define XMP_KEY "XML:com.adobe.xmp"

/* A text, such as a PNG's tEXt. All strings are owned and end in NUL. */
struct text_entry {
    char *key;   /* PNG keyword: Title, Author, Description, Copyright, Creation Time, Software, ... */
    char *value; /* UTF-8 */
    char *language, *translated; /* PNG's iTXt: "de", and the key in that language; or NULL */
    bool compressed;             /* it was compressed in a PNG */
    char *item; /* NULL, or the other attributes of a GDAL item: ` sample="0" role="scale"`. Items are not
                 * found by their key */
};

/* A tag that only TIFF can hold; JPEG can hold IPTC, too. */
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
    RESOLUTION_RATIO, /* only the aspect ratio of pixels is known */
    RESOLUTION_PER_METRE
};

/* All metadata of a page. Zeroed, it is empty. */
struct metadata {
    struct blob icc;  /* ICC profile */
    struct blob exif; /* as in PNG's eXIf: begins with the TIFF byte-order mark */
    enum resolution_unit resolution_unit;
    double x_resolution, y_resolution; /* pixels per metre; of RESOLUTION_RATIO only x : y counts */
    bool is_in_centimetres;            /* a TIFF stores the resolution per centimetre */
    int orientation;                   /* TIFF's, 1 to 8; 0: unknown */
    bool srgb;                         /* PNG's sRGB chunk */
    int rendering_intent;              /* of sRGB, 0 to 3 */
    bool has_cicp;
    unsigned char cicp[4]; /* PNG's cICP: numbers of ITU-T H.273 */
    double gamma;          /* PNG's gAMA, such as 0.45455; 0: absent */
    bool has_chromaticities;
    double chromaticities[8]; /* white x y, red x y, green x y, blue x y (PNG's cHRM) */
    struct text_entry *texts;
    size_t text_count;
    struct tiff_tag *tags;
    size_t tag_count;
    size_t bytes;       /* of all texts and tags that were ever added; limited, as files may be hostile */
    char left_out[400]; /* names of dropped metadata, printed with -v: "the EXIF thumbnail, IPTC" */
    char warning[400];  /* warnings, separated by "; ", which are always printed; "": none */
};

/* Frees everything and zeroes the struct. */
void metadata_free(struct metadata *metadata);

/* Makes a deep copy in an uninitialised struct; on failure the copy is empty. */
enum status metadata_copy(struct metadata *to, const struct metadata *from, struct error *error);

/* Frees the data and zeroes the blob. */
void blob_free(struct blob *blob);

/* True if the profile is of gray and `channels` is 1 or 2, or of RGB and 3 or 4. */
bool icc_is_for(const struct blob *icc, int channels);

/* Replaces the blob by a copy of the data; size 0 makes it absent. */
enum status metadata_set_blob(struct blob *blob, const void *data, size_t size, struct error *error);

/* Sets EXIF to a copy of the data, and `orientation` to EXIF's. A second EXIF, and data that do not begin as
 * EXIF, are only noted in left_out. */
enum status metadata_add_exif(struct metadata *metadata, const void *data, size_t size, struct error *error);

/* For --strip: removes all metadata except the ICC profile, PNG's colour chunks and the orientation, without
 * which the picture would look different. */
void metadata_strip(struct metadata *metadata);

/* Sets the value of the first text with that key, or appends one. The value has `size` bytes and need not end
 * in NUL. */
enum status metadata_set_text(struct metadata *metadata, const char *key, const char *value, size_t size,
                              struct error *error);

/* Returns a copy of a text, which is converted from Latin-1 unless it is UTF-8. The caller frees it. NULL on
 * failure. */
char *text_to_utf8(const char *text, struct error *error);

/* Appends a copy of a text in UTF-8 (text_to_utf8); several may have one key. A text beyond the limits of
 * metadata.c is added to left_out instead, and so is a second XMP. Ignores an empty XMP. */
enum status metadata_add_text(struct metadata *metadata, const struct text_entry *entry, struct error *error);

/* Remove all texts with that key, or the text at that index. */
void metadata_remove_text(struct metadata *metadata, const char *key);
void metadata_remove_entry(struct metadata *metadata, size_t index);

/* Replaces the tag or appends one, with a copy of the data. Ignores empty data. A tag beyond the limits of
 * metadata.c is added to left_out instead. */
enum status metadata_set_tag(struct metadata *metadata, uint32_t number, const void *data, size_t size,
                             struct error *error);

/* Returns the tag's data, or NULL. */
struct blob *metadata_tag(const struct metadata *metadata, uint32_t number);

/* Removes the tag, if there is one. */
void metadata_remove_tag(struct metadata *metadata, uint32_t number);

/* Adds a name to left_out, unless it is already there. */
void metadata_note_left_out(struct metadata *metadata, const char *name);

/* For formats that hold texts without languages: adds the languages to left_out, if there are any. */
void metadata_note_languages(struct metadata *metadata);

/* Adds a warning, unless it is already there. It is printed after the file's name: "is damaged in its tEXt
 * chunk". */
void metadata_warn(struct metadata *metadata, const char *what);

/* Return the first text with that key, or its value; or NULL. */
struct text_entry *metadata_find_text(const struct metadata *metadata, const char *key);
const char *metadata_text(const struct metadata *metadata, const char *key);

struct colour_space;

/* The differences of an output from its input, for metadata_update. */
struct change {
    uint32_t in_width, in_height, out_width, out_height; /* pixels */
    struct affine from;      /* inverse map, from output to input, in pixels from the top left corners */
    int in_pages, out_pages; /* of the files; 0: unknown */
    int in_channels, out_channels;
    enum sample_type in_type, out_type;
    bool processed;    /* by stages or --range: thumbnails are out of date */
    bool rescaled;     /* a sample value has another meaning: by --depth, --range, --invert, or a palette */
    bool reoriented;   /* pixels were turned upright, and the orientation became 1 */
    bool new_geometry; /* output positions do not correspond to input positions (struct stage_caps) */
    bool recoloured;   /* colours were converted, by the chain or from CMYK or L*a*b* by the reader */
    const struct colour_space *space; /* the output's, if the chain converted colours; else NULL */
};

/* True if the size or the map of pixels changes. */
static inline bool change_moves(const struct change *change)
{
    const struct affine *from = &change->from;
    return change->new_geometry || change->in_width != change->out_width ||
           change->in_height != change->out_height || !affine_is_upright(from) || from->xx != 1 ||
           from->yy != 1 || from->x != 0 || from->y != 0;
}

/* Updates the metadata of a chain's input for its output: sets orientation, width, height, resolutions and
 * GeoTIFF's pixel size and tie point, removes what is no longer true, and adds that to left_out. */
enum status metadata_update(struct metadata *metadata, const struct change *change, struct error *error);

/* Sets the ICC profile to the space's own, or for one or two channels to its gray space's. Removes PNG's
 * colour chunks, and sets EXIF's ColorSpace. */
enum status metadata_set_space(struct metadata *metadata, const struct colour_space *space, int channels,
                               struct error *error);

/* Returns a tag's name for messages: "IPTC", "tag 65000". Valid until the next call in this thread. */
const char *tiff_tag_name(const struct tiff_tag *tag);

/* True if ImageJ or tifffile wrote the description, and a reader that trusts it may expect several images
 * after one directory, without gaps between them. */
bool description_is_stack(const struct metadata *metadata);

/* After a page was opened: drops tifffile's description if decoded rows do not have the shape in it, and
 * OME's if they have another number or type of samples than the file. */
void description_check_decoded(struct metadata *metadata, bool is_other_shape, bool is_other_type);

/* True if the description is short and not by ImageJ, tifffile, OME or climg, so that it may be a person's.
 * Those programs describe properties that stages change, and EXIF has at most 64 KiB in a JPEG. */
enum { CAPTION_MAX = 8192 };
bool description_is_caption(const struct metadata *metadata);

/* True if tifffile wrote one directory for several images. */
bool description_is_truncated(const struct metadata *metadata);

/* Returns the number of images that ImageJ's description promises without gaps in the file; 0: none. */
int description_image_count(const struct metadata *metadata);

/* True if the data begin with the header of a classic TIFF, as EXIF does. */
bool exif_has_header(const void *data, size_t size);

/* Returns TIFF's orientation, 1 to 8; 0: absent or unreadable. */
int exif_orientation(const struct blob *exif);

/* Creates EXIF with the metadata's orientation, for formats that store the orientation only in EXIF. If
 * `copied`, it is a copy of the metadata's EXIF with that orientation; else it has only the orientation. The
 * caller frees exif->data, which is NULL if there is nothing to store. */
enum status exif_with_orientation(const struct metadata *metadata, bool copied, struct blob *exif,
                                  struct error *error);

/* Sets the orientation without moving other values. Replaces absent or unreadable EXIF by one with only this
 * tag. */
enum status exif_set_orientation(struct blob *exif, int orientation, struct error *error);

/* Reads the pixels per unit along both axes, and the unit, RESUNIT_... False: the first IFD does not have
 * them. */
bool exif_resolution(const struct blob *exif, double *x, double *y, int *unit);

/* True if there is a second IFD: it describes a thumbnail. */
bool exif_has_thumbnail(const struct blob *exif);

/* For EXIF at another offset in the output: drops a maker note whose offsets count from the start of
 * the file. */
void exif_drop_maker_note(struct metadata *metadata);

/* True for tags that are copied between the page of a TIFF and the first IFD of EXIF: HostComputer, and the
 * titles, keywords and ratings of Windows. */
bool exif_shares_tag(uint32_t tag);

/* For EXIF that is written to a TIFF: calls exif_drop_maker_note, copies tags of exif_shares_tag to the
 * metadata's tags, and adds to left_out the tags of the first IFD and the thumbnail that the TIFF will not
 * have. */
void exif_to_page(struct metadata *metadata);

/* Copies a text of the first IFD up to its NUL; the two parts of Copyright as two lines. The caller frees
 * *text, which is NULL if the tag is missing or empty. */
enum status exif_text(const struct blob *exif, uint16_t tag, char **text, struct error *error);

/* Prints camera, date and exposure as far as they are known: "Canon EOS R6, 2024:05:31 12:00:00, 1/250 s,
 * f/2.8, ISO 400, 50 mm, with GPS position". The text may have control characters. */
void exif_describe(const struct blob *exif, char *text, size_t size);

/* ---------------- parts of metadata_update, private to src/image/metadata. Functions with an argument
 * `metadata` add what they remove to left_out. */

/* For changes that move pixels: sets width, height and resolutions in EXIF, and drops the position of the
 * subject. */
void exif_update(struct metadata *metadata, const struct change *change);

/* Overwrites the thumbnail and its IFD with zeros, and unlinks the IFD. True if there was one. */
bool exif_drop_thumbnail(struct blob *exif);

/* Sets EXIF's ColorSpace, if it is present, to sRGB or uncalibrated. */
void exif_set_space(struct blob *exif, bool is_srgb);

/* Removes the properties of XMP that are not true of the output. */
void xmp_update(struct metadata *metadata, const struct change *change);

/* Drops a description of tifffile or OME that is untrue of the output; of ImageJ's, only such lines. */
void description_update(struct metadata *metadata, const struct change *change);

/* Drops GDAL's items, and texts that repeat EXIF, that are not true of the output. */
void texts_update(struct metadata *metadata, const struct change *change);

/* True if ImageJ wrote the description. */
bool description_is_imagej(const struct metadata *metadata);

#endif
