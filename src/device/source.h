/* Texts of the kernels, which the Makefile embeds into climg, and a small preprocessor for #include.
 *
 * Thread safety: the texts are constant; any thread may call, with its own struct included. */
#ifndef CLIMG_DEVICE_SOURCE_H
#define CLIMG_DEVICE_SOURCE_H

#include "base/error.h"

#include <stdio.h>

/* An embedded file. */
struct kernel_source {
    const char *name; /* of the file in kernels/: "product_cpu.cl", "planes.h" */
    const char *text;
};

/* All files, sorted by name; ends with a NULL name. */
extern const struct kernel_source kernel_sources[];

/* Checksum and size of all texts, as cksum prints them: the version of the kernels. */
extern const char kernels_sum[];

/* Maximum number of headers with #pragma once in a program, and of nested files. */
enum { MAX_INCLUDED = 16 };

/* Headers with #pragma once that a program's text already contains. Zero it before the program's first file.
 */
struct included {
    const char *names[MAX_INCLUDED];
    int count;
};

/* Writes kernels/NAME, a name with extension, and replaces each line #include "..." by the text of that file.
 * A header with #pragma once is written only if `included` does not list it, and is added to the list. #line
 * directives make the compiler's messages name file and line. Conditionals are not evaluated: an #include in
 * a disabled block is replaced, too. Fails if a file is missing, or if more than MAX_INCLUDED files are
 * nested; the message names the file. The caller checks the stream for errors. */
enum status source_write(FILE *stream, const char *name, struct included *included, struct error *error);

#endif
