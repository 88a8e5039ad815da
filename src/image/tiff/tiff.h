/* The two ways of a TIFF, for its struct in format.c. */
#ifndef CLIMG_IMAGE_TIFF_TIFF_H
#define CLIMG_IMAGE_TIFF_TIFF_H

#include "image/codec.h"

extern const struct reader_class tiff_reader_class;
extern const struct writer_class tiff_writer_class;

#endif
