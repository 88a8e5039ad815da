/* EXIF and XMP in texts: PNG had no place for EXIF before 2017, and ImageMagick, exiv2 and what is built on
 * them write a text in hexadecimal numbers, "Raw profile type exif". */
#ifndef CLIMG_IMAGE_PNG_PROFILE_H
#define CLIMG_IMAGE_PNG_PROFILE_H

#include "image/metadata/metadata.h"

/* Adds what such a text holds; *taken is false where it is another one. What a chunk of its own says already
 * is left out. */
enum status png_profile_take(const struct text_entry *entry, struct metadata *metadata, bool *taken,
                             struct error *error);

#endif
