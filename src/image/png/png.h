/* The two ways of a PNG, for its struct in format.c. */
#ifndef CLIMG_IMAGE_PNG_PNG_H
#define CLIMG_IMAGE_PNG_PNG_H

#include "image/codec.h"

extern const struct reader_class png_reader_class;
extern const struct writer_class png_writer_class;

#endif
