/* What a file was made by, as climg writes it into the file (PNG's Software text, TIFF's Software tag), and
 * so whether --resume finds it done.
 *
 *     climg 0.2.0 --blur=2,truncate=0 --scale=1/2,filter=bicubic,antialias=yes --edge clamp
 */
#ifndef CLIMG_BATCH_PROVENANCE_H
#define CLIMG_BATCH_PROVENANCE_H

#include "batch/list.h"

/* The stages with all their effective parameters, and the options that decide about pixels (`effect` in the
 * table of settings/settings.c). Two ways to write one command give one text. For free(); NULL on failure. */
char *provenance_describe(const struct chain *chain, const struct settings *settings, struct error *error);

/* Puts it into the metadata: behind the name of the program that made the input, "GIMP 2.10; climg 0.2.0
 * ...", in the place of what climg wrote there before. */
enum status provenance_put(const char *provenance, struct metadata *metadata, struct error *error);

/* Whether an earlier run has done the job: the output is at least as new as the input, and can be read, and
 * was made by the same chain; with --strip, and in formats without texts, where files do not say what made
 * them, the first two are enough. Without --resume it is false. */
bool resume_finds_done(const struct settings *settings, const char *provenance, const struct job *job);

/* Refuses what --resume could only get wrong: a file that replaces itself and does not say what made it, as
 * nothing then tells the output from the input. */
enum status resume_check(const struct settings *settings, const struct list *list, struct error *error);

#endif
