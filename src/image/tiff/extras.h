/* Tags that only TIFF has a place for, kept as they are: IPTC, GeoTIFF's, GDAL's, ImageJ's, Windows'. */
#ifndef CLIMG_IMAGE_TIFF_EXTRAS_H
#define CLIMG_IMAGE_TIFF_EXTRAS_H

#include "image/tiff/file.h"

enum status tiff_extras_read(struct tiff_file *file, struct metadata *metadata, struct error *error);
enum status tiff_extras_write(struct tiff_file *file, const struct metadata *metadata, struct error *error);

#endif
