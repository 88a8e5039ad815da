/* Texts of the kernels, which the Makefile embeds into climg: a driver's compiler cannot read the files, as
 * they are not installed. Constant. */
#ifndef CLIMG_DEVICE_SOURCE_H
#define CLIMG_DEVICE_SOURCE_H

#include <stdbool.h>

/* The text of a program: kernels/NAME.cl with its headers, each once. */
struct kernel_source {
    const char *name; /* "product_cpu"; "builtins.h" is the header for PoCL */
    const char *text;
    bool has_edge; /* includes edge.h: the border rule is a build option */
};

/* All texts; ends with a NULL name. */
extern const struct kernel_source kernel_sources[];

/* Checksum and size of all files, as cksum prints them: the version of the kernels. */
extern const char kernels_sum[];

#endif
