/* What metadata_follow has the parts of metadata do. */
#ifndef CLIMG_IMAGE_METADATA_FOLLOW_H
#define CLIMG_IMAGE_METADATA_FOLLOW_H

#include "image/metadata/metadata.h"

/* Whether pixels are of another size, or there are more or fewer of them. */
bool change_resizes(const struct change *change);

/* Makes sizes and resolutions, where they are said, those of an image of so many pixels, that has x and y
 * pixels for each one that it had. */
void exif_resize(struct blob *exif, uint32_t width, uint32_t height, double x, double y);

/* Whether there was a thumbnail. Its pixels are overwritten. */
bool exif_drop_thumbnail(struct blob *exif);

/* Of chunks of PNG and tags of TIFF that the other format has no place for: changes those that tell of sizes
 * and places, and removes those that are no longer true. */
enum status extras_follow(struct metadata *metadata, const struct change *change, struct error *error);

bool description_is_imagej(const struct metadata *metadata);

/* Makes what a description says of sizes, pages and samples true of the output. What cannot be made true is
 * removed, and with it a description that says nothing else. */
enum status description_follow(struct metadata *metadata, const struct change *change, struct error *error);

#endif
