/* The kernels' texts, embedded by the Makefile from kernels/, and what a compiler gets of them. */
#ifndef CLIMG_DEVICE_SOURCE_H
#define CLIMG_DEVICE_SOURCE_H

#include "base/error.h"

#include <stdio.h>

struct kernel_source {
    const char *name; /* "product_cpu.cl", "planes.h" */
    const char *text;
};

/* Sorted by name, ends with a NULL name. */
extern const struct kernel_source kernel_sources[];
extern const char kernels_sum[]; /* of all their texts */

/* Headers that stand in a program's text already. */
enum { MAX_INCLUDED = 16 };

struct included {
    const char *names[MAX_INCLUDED];
    int count;
};

/* Writes kernels/NAME with each `#include "..."` replaced by that file's text; a header that says #pragma
 * once comes once. #line tells the compiler whose lines they are. Conditionals are not looked at: an include
 * counts wherever it stands. STATUS_FAILED names a file that is missing. */
enum status source_write(FILE *stream, const char *name, struct included *included, struct error *error);

#endif
