/* EXIF and GPS directories of a TIFF page, from and to the form that PNG has. */
#ifndef CLIMG_IMAGE_TIFF_EXIF_H
#define CLIMG_IMAGE_TIFF_EXIF_H

#include "image/metadata/metadata.h"
#include "image/tiff/file.h"

/* Stays absent where the page has neither. */
enum status tiff_exif_read(struct tiff_file *file, struct blob *exif, struct error *error);

/* Appends the directories to the file and makes the current page's tags point to them. */
enum status tiff_exif_write(struct tiff_file *file, const struct blob *exif, struct error *error);

#endif
