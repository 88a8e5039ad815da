/* What a file says beside its pixels, in terms that PNG and TIFF share. */
#ifndef CLIMG_IMAGE_METADATA_METADATA_H
#define CLIMG_IMAGE_METADATA_METADATA_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct blob {
    unsigned char *data; /* NULL: absent */
    size_t size;         /* bytes */
};

struct text_entry {
    char *key;   /* PNG keyword: Title, Author, Description, Copyright, Creation Time, Software, ... */
    char *value; /* UTF-8 */
};

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
    size_t text_count;
    char left_out[200]; /* for people: "the EXIF thumbnail, IPTC" */
};

void metadata_free(struct metadata *metadata);

/* Deep copy into an uninitialised struct; on failure the copy is left empty. */
enum status metadata_copy(struct metadata *to, const struct metadata *from, struct error *error);

enum status metadata_set_blob(struct blob *blob, const void *data, size_t size, struct error *error);

/* Replaces the entry of that key, or appends it. The value need not end in NUL: `size` bytes. */
enum status metadata_set_text(struct metadata *metadata, const char *key, const char *value, size_t size,
                              struct error *error);

void metadata_remove_text(struct metadata *metadata, const char *key);

/* Notes that something is lost on the way, once for each name. */
void metadata_leave_out(struct metadata *metadata, const char *name);

/* The value, or NULL. */
const char *metadata_text(const struct metadata *metadata, const char *key);

#endif
