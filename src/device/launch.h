/* Launching a kernel in one call: what to build, over which grid, with which arguments. */
#ifndef CLIMG_DEVICE_LAUNCH_H
#define CLIMG_DEVICE_LAUNCH_H

#include "device/device.h"
#include "device/planes.h"

enum argument_kind { ARGUMENT_VALUE, ARGUMENT_MEMORY, ARGUMENT_PLANES, ARGUMENT_WEIGHTS };

struct argument {
    enum argument_kind kind;
    size_t size;
    const void *value;
};

/* A filter's weights on the device. */
struct weights {
    cl_mem memory;
    size_t count; /* floats */
};

/* A scalar or struct variable; a cl_mem variable; a struct planes variable, which fills two kernel arguments:
 * the memory object and its geometry; a struct weights variable, WEIGHTS const float * in the kernel; so many
 * floats by value, a struct of floats in the kernel; so many bytes of local memory. */
#define ARG(variable)         ((struct argument){ARGUMENT_VALUE, sizeof(variable), &(variable)})
#define ARG_MEMORY(variable)  ((struct argument){ARGUMENT_MEMORY, sizeof(cl_mem), &(variable)})
#define ARG_PLANES(variable)  ((struct argument){ARGUMENT_PLANES, sizeof(struct planes), (variable)})
#define ARG_WEIGHTS(variable) ((struct argument){ARGUMENT_WEIGHTS, sizeof(struct weights), &(variable)})
#define ARG_FLOATS(values, count)                                                                            \
    ((struct argument){ARGUMENT_VALUE, (size_t)(count) * sizeof(float), (values)})
#define ARG_LOCAL(bytes) ((struct argument){ARGUMENT_VALUE, (bytes), NULL})

/* The shape of a kernel's work. */
struct launch_config {
    int outputs;  /* of a work-item along the filtered axis, beside its lanes: -DOUTPUTS */
    int group[2]; /* work-items of a group along x and y */
};

/* The config of a kernel for each class of device and kind of memory; it stands beside the stage or the
 * filter that launches the kernel. Where `outputs` is 0, the config is the usual one of the class. */
struct kernel_configs {
    const char *kernel;
    struct launch_config cpu, cpu_images, gpu, gpu_images;
};

/* The config that launches of a kernel have on this device, its group no larger than the device takes.
 * `kernel_configs` may be NULL: the usual config. */
struct launch_config device_launch_config(const struct device *device, enum memory memory,
                                          const struct kernel_configs *kernel_configs);

/* How many floats along x a work-item handles side by side: as `pixel` in the kernels. */
enum vector_width {
    VECTOR_FULL,   /* 16 on CPU devices, 4 on others */
    VECTOR_WINDOW, /* 16 on CPU devices, 1 on others: kernels that hold windows of single floats there */
    VECTOR_SCALAR  /* 1 everywhere */
};

/* Options of a program, -DNAME=VALUE one after the other. Zeroed, they are none. More than there is room for
 * are an error of the launch. */
enum { DEFINES_SIZE = 512 };

struct defines {
    size_t used; /* bytes of text, or those that it would take */
    char text[DEFINES_SIZE];
};

void define(struct defines *defines, const char *name, long value);
void define_all(struct defines *defines, const struct defines *more);

struct work {
    const char *file;   /* kernels/FILE.cl */
    const char *kernel; /* a literal: timing refers to it */
    enum memory memory; /* of its planes */
    int edge;           /* the border rule, for files that include edge.h */
    enum vector_width vector_width;
    bool outlined;               /* the kernel calls a function that is NOINLINE (kernels/planes.h) */
    struct launch_config config; /* its group is that of the launch; {0}: the usual one */
    int width;                   /* pixels (or what a lane is) along x; the launch divides by the lanes */
    int height, depth;           /* items along y and z */
    uint64_t bytes;              /* extra traffic beside the planes' own */
    struct defines defines;      /* beside those of memory kind, lanes and border rule */
};

enum { CPU_LANES = 16, GPU_LANES = 4 };

/* Floats that one work-item handles side by side; of images, texels: 1. */
int launch_lanes(const struct device *device, enum memory memory, enum vector_width vector_width);

/* Enqueues; records the event in device->profile. A failure names the kernel, the grid and the OpenCL error.
 */
enum status launch(struct device *device, const struct work *work, const struct argument *arguments,
                   size_t count, struct error *error);

/* LAUNCH(device, &work, error, ARG(a), ...). */
#define LAUNCH(device, work, error, ...)                                                                     \
    launch(device, work, (const struct argument[]){__VA_ARGS__},                                             \
           sizeof((const struct argument[]){__VA_ARGS__}) / sizeof(struct argument), error)

#endif
