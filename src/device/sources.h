/* The kernels' texts, embedded by the Makefile from kernels/. */
#ifndef CLIMG_DEVICE_SOURCES_H
#define CLIMG_DEVICE_SOURCES_H

struct kernel_source {
    const char *name; /* "separable" for kernels/separable.cl; headers keep theirs: "planes" for planes.h */
    const char *text;
};

/* Sorted by file name, ends with a NULL name. Headers are the entries whose text precedes every program. */
extern const struct kernel_source kernel_headers[];
extern const struct kernel_source kernel_sources[];

#endif
