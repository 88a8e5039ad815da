/* Texts of the kernels, which the Makefile embeds into climg, and a small preprocessor for #include.
 *
 * Thread safety: the texts are constant; any thread may call. */
#ifndef CLIMG_DEVICE_SOURCE_H
#define CLIMG_DEVICE_SOURCE_H

#include "base/error.h"

#include <stdio.h>

/* An embedded file. */
struct kernel_source {
    const char *name; /* "product_cpu.cl", "planes.h" */
    const char *text;
};

/* All files, sorted by name; ends with a NULL name. */
extern const struct kernel_source kernel_sources[];

/* Checksum of all texts in hexadecimal: the version of the kernels. */
extern const char kernels_sum[];

enum { MAX_INCLUDED = 16 };

/* Headers with #pragma once that a program's text already contains. Zero it before the first file. */
struct included {
    const char *names[MAX_INCLUDED];
    int count;
};

/* Writes kernels/NAME with each #include "..." replaced by the text of that file; a header with #pragma once
 * is written once. #line directives make the compiler's messages name file and line. Conditionals are not
 * evaluated: an #include in a disabled block is replaced, too. The message of a failure names the missing
 * file. The caller checks the stream for errors. */
enum status source_write(FILE *stream, const char *name, struct included *included, struct error *error);

#endif
