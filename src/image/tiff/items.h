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

/* Adds the items; what one says beside its name is text_entry.item. */
enum status tiff_items_read(struct tiff_file *file, struct metadata *metadata, struct error *error);

/* Writes the texts that have no tag: those that `has_tag` does not claim, and of those that it does all but
 * the first one of a key. */
enum status tiff_items_write(struct tiff_file *file, const struct metadata *metadata,
                             bool (*has_tag)(const struct text_entry *entry), struct error *error);

#endif
