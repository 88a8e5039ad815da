/* Descriptions in which programs keep what their files hold: ImageJ's lines, tifffile's JSON, OME's XML. */
#ifndef CLIMG_IMAGE_METADATA_DESCRIPTION_H
#define CLIMG_IMAGE_METADATA_DESCRIPTION_H

#include "image/metadata/change.h"

bool description_is_imagej(const struct metadata *metadata);

/* Whether it is ImageJ's and tells of several images. */
bool description_is_stack(const struct metadata *metadata);

/* The images that ImageJ's says follow each other; 0: it says nothing of that. */
int description_image_count(const struct metadata *metadata);

/* Makes what such a description says of sizes, pages and samples true of the output. What cannot be made true
 * is removed, and with it a description that says nothing else. */
enum status description_follow(struct metadata *metadata, const struct change *change, struct error *error);

#endif
