/* Texts of the kernels, embedded into the program by the Makefile, and their preprocessor, which
 * replaces #include. The texts are constant; any thread may call. */
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
extern const char kernels_sum[]; /* checksum of all texts */

/* Headers that a program's text contains already. */
enum { MAX_INCLUDED = 16 };

struct included {
    const char *names[MAX_INCLUDED];
    int count;
};

/* Writes kernels/NAME with each #include "..." replaced by that file's text; a header with #pragma once
 * is written once. #line directives keep the compiler's messages correct. Conditionals are not
 * evaluated: an #include counts even in a disabled block. A failure names the missing file. */
enum status source_write(FILE *stream, const char *name, struct included *included, struct error *error);

#endif
