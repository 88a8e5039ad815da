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

/* The exponent that the samples were encoded with, as PNG's gAMA has it, such as 0.45455; 0 when it is not
 * said. Setting it is done as for the orientation. */
double exif_gamma(const struct blob *exif);
enum status exif_set_gamma(struct blob *exif, double gamma, struct error *error);

/* Makes sizes and resolutions, where they are said, those of an image of so many pixels, that has x and y
 * pixels for each one that it had. */
void exif_resize(struct blob *exif, uint32_t width, uint32_t height, double x, double y);

bool exif_has_thumbnail(const struct blob *exif);

/* Whether there was one. Its pixels are overwritten. */
bool exif_drop_thumbnail(struct blob *exif);

/* A copy of a text of the first IFD, up to its NUL, to be freed; *text is NULL when there is none. */
enum status exif_text(const struct blob *exif, uint16_t tag, char **text, struct error *error);

#endif
