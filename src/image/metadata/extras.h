/* What becomes of chunks of PNG and tags of TIFF that the other format has no place for. */
#ifndef CLIMG_IMAGE_METADATA_EXTRAS_H
#define CLIMG_IMAGE_METADATA_EXTRAS_H

#include "image/metadata/change.h"

/* Changes those that tell of sizes and places, and removes those that are no longer true. */
enum status extras_follow(struct metadata *metadata, const struct change *change, struct error *error);

/* For people: "IPTC", "sCAL"; the text lives until the next call in this thread. */
const char *extra_name(const struct extra *extra);

#endif
