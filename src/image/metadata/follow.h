/* What a file says must stay true of what comes out of a chain: sizes, pages, resolution, positions. */
#ifndef CLIMG_IMAGE_METADATA_FOLLOW_H
#define CLIMG_IMAGE_METADATA_FOLLOW_H

#include "image/metadata/change.h"

/* Changes or removes what is no longer true. What is removed is noted in left_out. */
enum status metadata_follow(struct metadata *metadata, const struct change *change, struct error *error);

#endif
