/* What metadata_follow has the parts of metadata do. */
#ifndef CLIMG_IMAGE_METADATA_FOLLOW_H
#define CLIMG_IMAGE_METADATA_FOLLOW_H

#include "image/metadata/metadata.h"

/* Whether pixels lie elsewhere, are of another size, or there are more or fewer of them. */
bool change_moves(const struct change *change);

/* Of pixels in a unit of length, along both axes: those of the input become those of the output. */
void change_densities(const struct change *change, double *x, double *y);

/* Makes sizes, resolutions and the place of the subject, where they are said, those of the output. */
void exif_follow(struct blob *exif, const struct change *change);

/* Whether there was a thumbnail. Its pixels are overwritten. */
bool exif_drop_thumbnail(struct blob *exif);

/* What XMP says of size, orientation and resolution, as EXIF does; small pictures in it are dropped where it
 * is another one. */
enum status xmp_follow(struct metadata *metadata, const struct change *change, struct error *error);

/* Of chunks of PNG and tags of TIFF that the other format has no place for: changes those that tell of sizes
 * and places, and removes those that are no longer true. */
enum status extras_follow(struct metadata *metadata, const struct change *change, struct error *error);

/* Removes texts that say once more what is no longer true. */
void repeats_follow(struct metadata *metadata, const struct change *change);

/* As extras_follow, of GDAL's items: statistics, scale and offset of values, what is of one channel. */
enum status items_follow(struct metadata *metadata, const struct change *change, struct error *error);

/* Behind the quote that begins the value of an XML attribute, which stands behind `text`; NULL: there is
 * none. */
const char *attribute_find(const char *text, const char *name);

/* Whether numbers mean other values than they did. */
bool change_maps(const struct change *change);

bool description_is_imagej(const struct metadata *metadata);

/* Makes what a description says of sizes, pages and samples true of the output. What cannot be made true is
 * removed, and with it a description that says nothing else. */
enum status description_follow(struct metadata *metadata, const struct change *change, struct error *error);

#endif
