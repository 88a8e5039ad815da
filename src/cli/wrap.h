/* Text for a terminal of 80 columns. */
#ifndef CLIMG_CLI_WRAP_H
#define CLIMG_CLI_WRAP_H

#include <stdio.h>

/* Writes paragraphs (separated by blank lines) in lines of at most 78 columns, each indented. Line breaks
 * inside a paragraph count as blanks. */
void wrap_paragraphs(FILE *file, const char *text, size_t indent);

/* Writes a term at column 2 and what it means from column 28 on, on a line of its own after a long term. */
void wrap_entry(FILE *file, const char *term, const char *meaning);

#endif
