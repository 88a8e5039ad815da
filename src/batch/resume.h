/* --resume: what an earlier run has done. */
#ifndef CLIMG_BATCH_RESUME_H
#define CLIMG_BATCH_RESUME_H

#include "batch/list.h"

/* True if the output is at least as new as the input, and can be read, and was made by the same chain; with
 * --strip, and in formats without texts, where files do not say what made them, the first two are enough.
 * Without --resume it is false. */
bool resume_finds_done(const struct settings *settings, const char *provenance, const struct job *job);

/* Refuses what --resume could only get wrong: a file that replaces itself and does not say what made it, as
 * nothing then tells the output from the input. */
enum status resume_check(const struct settings *settings, const struct list *list, struct error *error);

#endif
