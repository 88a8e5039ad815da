/* Launching a kernel in one call: what to build, over which grid, with which arguments. */
#ifndef CLIMG_DEVICE_LAUNCH_H
#define CLIMG_DEVICE_LAUNCH_H

#include "device/device.h"
#include "device/planes.h"

enum argument_kind { ARGUMENT_VALUE, ARGUMENT_MEMORY, ARGUMENT_PLANES };

struct argument {
    enum argument_kind kind;
    size_t size;
    const void *value;
};

/* A scalar or struct variable; a cl_mem variable; a struct planes variable, which fills two kernel arguments:
 * the memory object and its geometry. */
#define ARG(variable)        ((struct argument){ARGUMENT_VALUE, sizeof(variable), &(variable)})
#define ARG_MEMORY(variable) ((struct argument){ARGUMENT_MEMORY, sizeof(cl_mem), &(variable)})
#define ARG_PLANES(variable) ((struct argument){ARGUMENT_PLANES, sizeof(struct planes), (variable)})

struct work {
    const char *file;    /* kernels/FILE.cl */
    const char *kernel;  /* a literal: timing refers to it */
    const char *options; /* -D... beside those of memory kind and lanes; may be NULL */
    enum memory memory;  /* of its planes */
    bool single;         /* one lane an item also on wide devices */
    bool along_x;        /* a pass along x: rows share no data, so a group need not be high */
    int width;           /* pixels (or what a lane is) along x; the launch divides by the lanes */
    int height, depth;   /* items along y and z */
    uint64_t bytes;      /* extra traffic beside the planes' own */
};

/* Floats that one work-item handles side by side: `pixel` in the kernels is that wide. */
int launch_lanes(const struct device *device, enum memory memory, bool single);

/* Enqueues; records the event in device->profile. A failure names the kernel, the grid and the OpenCL error.
 */
enum status launch(struct device *device, const struct work *work, const struct argument *arguments,
                   size_t count, struct error *error);

/* LAUNCH(device, &work, error, ARG(a), ...). */
#define LAUNCH(device, work, error, ...)                                                                     \
    launch(device, work, (const struct argument[]){__VA_ARGS__},                                             \
           sizeof((const struct argument[]){__VA_ARGS__}) / sizeof(struct argument), error)

#endif
