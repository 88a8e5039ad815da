/* What the shells' completions (completions/) ask for: `climg --after=BEFORE --complete=WORD`. The logic is
 * here once; the scripts only hand over the words and show what comes back. */
#ifndef CLIMG_CLI_COMPLETION_H
#define CLIMG_CLI_COMPLETION_H

#include <stdio.h>

/* Writes what the argument `word`, which stands behind `before` ("" or NULL: nothing), may become: a line
 * each, the whole argument, a tab and what it means. No line: a file name, or anything. */
void completion_write(FILE *file, const char *before, const char *word);

#endif
