/* What a TIFF page says beside its pixels. */
#ifndef CLIMG_IMAGE_TIFF_METADATA_H
#define CLIMG_IMAGE_TIFF_METADATA_H

#include "image/metadata/metadata.h"
#include "image/tiff/file.h"

/* Into a zeroed struct, which the caller frees even on failure. */
enum status tiff_metadata_read(struct tiff_file *file, struct metadata *metadata, struct error *error);

/* The tags of the page under way, whose layout is set; before its pixels or after them. */
enum status tiff_metadata_write(struct tiff_file *file, const struct metadata *metadata, struct error *error);

#endif
