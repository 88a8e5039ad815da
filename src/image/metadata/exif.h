/* EXIF data as PNG's eXIf chunk holds it: a small classic TIFF structure of either byte order. */
#ifndef CLIMG_IMAGE_METADATA_EXIF_H
#define CLIMG_IMAGE_METADATA_EXIF_H

#include "base/error.h"
#include "image/metadata/metadata.h"

#include <stdint.h>

/* TIFF's orientation, 1 to 8; 0 when it is not said or the data is not readable. */
int exif_orientation(const struct blob *exif);

/* Sets it, leaving every other byte where it is. Absent or unreadable data becomes data that says only this.
 */
enum status exif_set_orientation(struct blob *exif, int orientation, struct error *error);

/* A copy of a text of the first IFD, up to its NUL, to be freed; *text is NULL when there is none. */
enum status exif_text(const struct blob *exif, uint16_t tag, char **text, struct error *error);

#endif
