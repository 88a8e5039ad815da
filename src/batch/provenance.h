/* What a file was made by, as climg writes it into the file: PNG's Software text, TIFF's Software tag.
 *
 *     climg 0.2.0 --blur=2,truncate=4 --scale=1/2,filter=bicubic,antialias=yes --edge clamp
 */
#ifndef CLIMG_BATCH_PROVENANCE_H
#define CLIMG_BATCH_PROVENANCE_H

#include "chain/chain.h"
#include "image/metadata/metadata.h"
#include "settings/settings.h"

/* The stages with all their effective parameters, and the options that decide about pixels (`effect` in the
 * table of settings/settings.c). Two ways to write one command give one text. For free(); NULL on failure. */
char *provenance_describe(const struct chain *chain, const struct settings *settings, struct error *error);

/* Puts it into the metadata: behind the name of the program that made the input, "GIMP 2.10; climg 0.2.0
 * ...", in the place of what climg wrote there before. */
enum status provenance_put(const char *provenance, struct metadata *metadata, struct error *error);

/* Whether both say the same work. The version is not compared: it does not say whether pixels changed, and
 * half a job is not to be done again because climg was updated. */
bool provenance_matches(const char *software, const char *provenance);

#endif
