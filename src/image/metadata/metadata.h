/* What a file says beside its pixels, in terms that PNG and TIFF share. */
#ifndef CLIMG_IMAGE_METADATA_METADATA_H
#define CLIMG_IMAGE_METADATA_METADATA_H

#include "base/affine.h"
#include "base/error.h"
#include "image/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blob {
    unsigned char *data; /* NULL: absent */
    size_t size;         /* bytes */
};

/* The key of XMP, which is a text as others are: PNG's keyword for it. */
#define XMP_KEY "XML:com.adobe.xmp"

struct text_entry {
    char *key;   /* PNG keyword: Title, Author, Description, Copyright, Creation Time, Software, ... */
    char *value; /* UTF-8 */
    char *language, *translated; /* of PNG's iTXt: such as "de", and the keyword in that language; or NULL */
    bool compressed;             /* in the PNG it came from */
    char *item;                  /* of GDAL's items: what one says beside its name, such as
                                  * ` sample="0" role="scale"`; or NULL. Such a text is found by no key */
};

/* What only one format has a place for, as its file has it. */
enum extra_place {
    EXTRA_CHUNK, /* of PNG: `name` is its four letters, the first one in the highest byte */
    EXTRA_TAG    /* of TIFF: `name` is its number, the values are in the host's byte order */
};

struct extra {
    enum extra_place place;
    uint32_t name;
    struct blob data;
};

enum extra_tag {
    EXTRA_PIXEL_SCALE = 33550, /* GeoTIFF's */
    EXTRA_IPTC = 33723,
    EXTRA_TIE_POINTS = 33922,
    EXTRA_TRANSFORMATION = 34264,
    EXTRA_PHOTOSHOP = 34377,
    EXTRA_GEO_KEYS = 34735,
    EXTRA_GEO_DOUBLES = 34736,
    EXTRA_GEO_TEXTS = 34737,
    EXTRA_NODATA = 42113, /* GDAL's */
    EXTRA_IMAGEJ_COUNTS = 50838,
    EXTRA_IMAGEJ = 50839,
};

#define CHUNK_NAME(a, b, c, d)                                                                               \
    ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

enum resolution_unit {
    RESOLUTION_ABSENT,
    RESOLUTION_RATIO /* only the aspect is known */,
    RESOLUTION_PER_METRE
};

struct metadata {
    struct blob icc;  /* ICC profile */
    struct blob exif; /* as PNG's eXIf: starts at the TIFF byte-order mark */
    enum resolution_unit resolution_unit;
    double x_resolution, y_resolution; /* pixels a metre, or a ratio */
    int orientation;                   /* TIFF's 1 to 8; 0: not said */
    bool srgb;                         /* PNG's sRGB chunk */
    int rendering_intent;              /* of sRGB, 0 to 3 */
    double gamma;                      /* PNG's gAMA as the file has it, such as 0.45455; 0: absent */
    bool has_chromaticities;
    double chromaticities[8]; /* white x y, red x y, green x y, blue x y (PNG's cHRM) */
    struct text_entry *texts;
    size_t text_count, text_bytes; /* those of all values that were ever added */
    struct extra *extras;
    size_t extra_count;
    char left_out[400]; /* for people: "the EXIF thumbnail, IPTC" */
    char warning[200];  /* what they must know; "" when all is well */
};

void metadata_free(struct metadata *metadata);

/* Deep copy into an uninitialised struct; on failure the copy is left empty. */
enum status metadata_copy(struct metadata *to, const struct metadata *from, struct error *error);

enum status metadata_set_blob(struct blob *blob, const void *data, size_t size, struct error *error);

/* Replaces the first entry of that key, or appends it. The value need not end in NUL: `size` bytes. */
enum status metadata_set_text(struct metadata *metadata, const char *key, const char *value, size_t size,
                              struct error *error);

/* Appends a copy of an entry, whatever the keys of those that are there. Beyond a number and a sum of bytes
 * that no honest file needs, it is left out. */
enum status metadata_add_text(struct metadata *metadata, const struct text_entry *entry, struct error *error);

/* Removes all entries of that key, or one. */
void metadata_remove_text(struct metadata *metadata, const char *key);
void metadata_remove_entry(struct metadata *metadata, size_t index);

/* Replaces the extra of that name, or appends it; the same limits. */
enum status metadata_set_extra(struct metadata *metadata, enum extra_place place, uint32_t name,
                               const void *data, size_t size, struct error *error);
struct blob *metadata_extra(const struct metadata *metadata, enum extra_place place, uint32_t name);
void metadata_remove_extra(struct metadata *metadata, enum extra_place place, uint32_t name);

/* Notes that something is lost on the way, once for each name. */
void metadata_leave_out(struct metadata *metadata, const char *name);

/* Says what people must know: "is damaged in its tEXt chunk". The first one is kept. */
void metadata_warn(struct metadata *metadata, const char *what);

/* The first value, or NULL. */
const char *metadata_text(const struct metadata *metadata, const char *key);

/* What lies between the file that was read and the one that is written. */
struct change {
    uint32_t in_width, in_height, out_width, out_height;
    struct affine
        from; /* to places of the input from those of the output, in pixels from the top left corners */
    int in_pages, out_pages;
    int in_channels, out_channels;
    enum sample_type in_type, out_type;
    bool worked;   /* stages ran: samples have other values */
    bool revalued; /* and they mean something else */
    bool ranged;   /* by --range, to 0 and full scale */
    bool expanded; /* numbers of a palette became colours */
    double unit,
        zero;     /* but for that, a number of the input is this many of the output's, and so much more */
    bool turned;  /* by its Orientation, which it then no longer has */
    bool redrawn; /* the picture is another one: nothing lies where it was */
};

/* What a file says must stay true of what comes out of a chain: sizes, pages, resolution, positions. Changes
 * or removes what is no longer true. What is removed is noted in left_out. */
enum status metadata_follow(struct metadata *metadata, const struct change *change, struct error *error);

/* For people: "IPTC", "sCAL"; the text lives until the next call in this thread. */
const char *extra_name(const struct extra *extra);

/* Whether the description is ImageJ's and tells of several images. */
bool description_is_stack(const struct metadata *metadata);

/* The images that ImageJ's says follow each other; 0: it says nothing of that. */
int description_image_count(const struct metadata *metadata);

/* TIFF's orientation, 1 to 8; 0 when it is not said or the data is not readable. */
int exif_orientation(const struct blob *exif);

/* Sets it, leaving every other byte where it is. Absent or unreadable data becomes data that says only this.
 */
enum status exif_set_orientation(struct blob *exif, int orientation, struct error *error);

/* The exponent that the samples were encoded with, as PNG's gAMA has it, such as 0.45455; 0 when it is not
 * said. Setting it is done as for the orientation. */
double exif_gamma(const struct blob *exif);
enum status exif_set_gamma(struct blob *exif, double gamma, struct error *error);

/* Pixels a unit along both axes, and the unit as TIFF numbers it; false where the first IFD does not say. */
bool exif_resolution(const struct blob *exif, double *x, double *y, int *unit);

bool exif_has_thumbnail(const struct blob *exif);

/* Notes what of it has no place in a TIFF: tags of the first IFD, a thumbnail. */
void exif_leave_out(struct metadata *metadata);

/* A copy of a text of the first IFD, up to its NUL (of Copyright all parts, a line each), to be freed; *text
 * is NULL when there is none. */
enum status exif_text(const struct blob *exif, uint16_t tag, char **text, struct error *error);

#endif
