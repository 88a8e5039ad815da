/* The texts of a TIFF page: its own tags for what PNG has keywords for, GDAL's tag for all the rest. */
#ifndef CLIMG_IMAGE_TIFF_TEXTS_H
#define CLIMG_IMAGE_TIFF_TEXTS_H

#include "image/metadata/metadata.h"
#include "image/tiff/file.h"

enum status tiff_texts_read(struct tiff_file *file, struct metadata *metadata, struct error *error);
enum status tiff_texts_write(struct tiff_file *file, const struct metadata *metadata, struct error *error);

/* A text tag of the current page as UTF-8, to be freed; *text is NULL when it is absent or empty. */
enum status tiff_text_read(struct tiff_file *file, uint32_t tag, char **text, struct error *error);

#endif
