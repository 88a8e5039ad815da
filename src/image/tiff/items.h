/* Texts that TIFF has no tag for, in the one that GDAL registered for such:
 *
 *     <GDALMetadata>
 *       <Item name="Comment">seen &amp; approved</Item>
 *     </GDALMetadata>
 */
#ifndef CLIMG_IMAGE_TIFF_ITEMS_H
#define CLIMG_IMAGE_TIFF_ITEMS_H

#include "image/metadata/metadata.h"
#include "image/tiff/file.h"

/* Adds the items that have nothing but a name (GDAL's others say to which band they belong). */
enum status tiff_items_read(struct tiff_file *file, struct metadata *metadata, struct error *error);

/* Writes the texts whose key `is_elsewhere` does not claim, if there are any. */
enum status tiff_items_write(struct tiff_file *file, const struct metadata *metadata,
                             bool (*is_elsewhere)(const char *key), struct error *error);

#endif
