/* ImageJ's metadata: texts, labels, ranges, lookup tables and regions in two tags that no type is right for.
 */
#ifndef CLIMG_IMAGE_TIFF_IMAGEJ_H
#define CLIMG_IMAGE_TIFF_IMAGEJ_H

#include "image/metadata/metadata.h"

/* Of a file of the other byte order, of which the tag of bytes still is: puts it in the host's, in which
 * files are written. What is not understood is left out. */
void tiff_imagej_swap(struct metadata *metadata);

#endif
