/* Kernel launches: one call compiles the program if necessary, sets the arguments and enqueues the kernel.
 *
 * A caller fills in a struct kernel_launch (run_work of engine/run.h) and calls LAUNCH. Arguments are copied,
 * and OpenCL retains memory objects until the kernel has finished, so the caller may release both at once.
 *
 * Thread safety: a device belongs to one thread, so its launches come from that thread. */
#ifndef CLIMG_DEVICE_LAUNCH_H
#define CLIMG_DEVICE_LAUNCH_H

#include "device/device.h"
#include "device/planes.h"

enum argument_kind { ARGUMENT_VALUE, ARGUMENT_MEMORY, ARGUMENT_PLANES, ARGUMENT_WEIGHTS };

/* Argument of a kernel. Use the macros below. */
struct argument {
    enum argument_kind kind;
    size_t size;       /* bytes of *value; of __local memory if `value` is NULL */
    const void *value; /* for clSetKernelArg, or a struct planes or weights */
};

/* Weights of a filter in device memory. */
struct weights {
    cl_mem memory;
    size_t count; /* floats */
};

/* Arguments of a launch, by the kernel's parameter:
 *
 *     ARG          a scalar or struct, from a variable
 *     ARG_MEMORY   a memory object, from a cl_mem variable
 *     ARG_PLANES   two parameters, the memory object and its struct geometry, from a struct planes *
 *     ARG_WEIGHTS  a pointer to constant or global memory (kernels/planes.h), from a struct weights
 *     ARG_FLOATS   a struct of `count` floats by value
 *     ARG_LOCAL    a __local pointer to that number of bytes */
#define ARG(variable)         ((struct argument){ARGUMENT_VALUE, sizeof(variable), &(variable)})
#define ARG_MEMORY(variable)  ((struct argument){ARGUMENT_MEMORY, sizeof(cl_mem), &(variable)})
#define ARG_PLANES(variable)  ((struct argument){ARGUMENT_PLANES, sizeof(struct planes), (variable)})
#define ARG_WEIGHTS(variable) ((struct argument){ARGUMENT_WEIGHTS, sizeof(struct weights), &(variable)})
#define ARG_FLOATS(values, count)                                                                            \
    ((struct argument){ARGUMENT_VALUE, (size_t)(count) * sizeof(float), (values)})
#define ARG_LOCAL(bytes) ((struct argument){ARGUMENT_VALUE, (bytes), NULL})

/* Outputs per work-item and size of the work-groups. */
struct launch_config {
    int outputs;  /* vectors along the filtered axis, or rows, that a work-item computes: -DOUTPUTS */
    int group[2]; /* work-group size along x and y */
};

/* Launch configurations of a kernel, by kernel variant and kind of memory. Defined next to the code that
 * launches the kernel. `outputs` 0 selects the default configuration. */
struct kernel_configs {
    const char *kernel;
    struct launch_config cpu, cpu_images, gpu, gpu_images;
};

/* Returns a kernel's launch configuration on this device, with the group reduced to the device's
 * maximum. `kernel_configs` may be NULL: the default configuration. */
struct launch_config device_launch_config(const struct device *device, enum memory memory,
                                          const struct kernel_configs *kernel_configs);

/* Number of floats along x that a work-item processes as a vector, on CPU and GPU: -DLANES, the width of
 * `vec` in kernels. It is 1 for images, whose texel has up to four channels. */
enum vector_width {
    VECTOR_FULL,   /* CPU_LANES on CPU, GPU_LANES on GPU */
    VECTOR_WINDOW, /* CPU_LANES on CPU, 1 on GPU, whose variant keeps a window of floats in registers */
    VECTOR_SCALAR  /* 1 on both */
};

enum { CPU_LANES = 16, GPU_LANES = 4 };

/* Build options, -DNAME=VALUE. Zeroed it is empty. The launch fails if the options do not fit. */
struct defines {
    size_t used; /* bytes of the text; more than OPTIONS_SIZE if it did not fit */
    char text[OPTIONS_SIZE];
};

/* Appends an option. */
void define(struct defines *defines, const char *name, long value);

/* A launch: kernel, grid and build options. The arguments come with LAUNCH. */
struct kernel_launch {
    const char *file;   /* kernels/FILE.cl */
    const char *kernel; /* a string literal: the event log keeps the pointer */
    enum memory memory; /* kind of memory of the planes */
    int edge;           /* the border rule, for files that include edge.h */
    enum vector_width vector_width;
    bool calls_noinline;         /* the kernel calls a NOINLINE function (kernels/planes.h) */
    struct launch_config config; /* {0}: the default configuration */
    int width;                   /* floats along x: launch_lanes of them make a work-item */
    int height, depth;           /* work-items along y and z */
    uint64_t bytes;              /* bytes read and written in addition to the planes, for --timing */
    struct defines defines;      /* build options, in addition to the fields above */
};

/* Returns the number of floats of a vector (enum vector_width). */
int launch_lanes(const struct device *device, enum memory memory, enum vector_width vector_width);

/* Enqueues the kernel and records its event in device->event_log. Compiles the program if this is its first
 * use. A failure names the kernel, the grid and the OpenCL error. On a dry-run device only adds the program
 * to device->program_store, unless that is NULL. */
enum status launch(struct device *device, const struct kernel_launch *work, const struct argument *arguments,
                   size_t count, struct error *error);

/* LAUNCH(device, &work, error, ARG(a), ...). */
#define LAUNCH(device, work, error, ...)                                                                     \
    launch(device, work, (const struct argument[]){__VA_ARGS__},                                             \
           sizeof((const struct argument[]){__VA_ARGS__}) / sizeof(struct argument), error)

#endif
