/* One OpenCL device with its context, its queue and the programs built for it. */
#ifndef CLIMG_DEVICE_DEVICE_H
#define CLIMG_DEVICE_DEVICE_H

#include "base/error.h"
#include "settings/environment.h"

#include <CL/cl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

/* Which shape of a kernel suits: background measurements show that one cannot serve both. */
enum device_class {
    DEVICE_CPU, /* CPU-like: explicit vectors along x, no local memory */
    DEVICE_GPU, /* GPU-like: many narrow work-items */
};

struct program;
struct program_store;
struct program_list;
struct profile;

struct device {
    const struct environment *environment; /* what tests and experiments force */
    cl_device_id id;
    cl_platform_id platform;
    cl_context context;
    cl_command_queue queue;            /* of kernels; in order, profiling on, as are */
    cl_command_queue upload, download; /* of copies, where the device has its own memory; else NULL */
    enum device_class class;
    char name[256], platform_name[256], version[256], driver[256];
    bool simulator;     /* Oclgrind and the like: right, and thousands of times slower */
    bool shares_memory; /* with the host: buffers can be the host's own memory */
    bool has_images;
    size_t image_width, image_height, image_layers; /* largest 2-D image array */
    size_t group_size;                              /* largest work-group */
    cl_ulong memory, allocation, constant_memory;   /* bytes: all, one allocation, constants */
    cl_ulong local_memory;                          /* bytes of a work-group */
    cl_device_fp_config arithmetic;                 /* of floats */
    cl_device_type type;
    cl_uint units; /* compute units */

    struct program *programs;    /* with kernels of its own */
    struct program_store *store; /* built so far in this process, for all that share the context */
    struct profile *profile;     /* where launches record their events */
    struct program_list
        *needed_programs; /* of an imaginary device: where launches say what they need; or NULL */
};

/* Looks like the original, in whose memory nothing can be had and on which nothing can be launched: on it a
 * run only counts what it would take. It holds nothing of its own and is not closed. */
void device_init_dry_run(const struct device *original, struct device *device);
bool device_is_dry_run(const struct device *device);

/* True if results are the same bits as on other devices: what kernels/exact.h asks of a device, it has. */
bool device_is_exact(const struct device *device);

/* Its compiler is PoCL's. */
bool device_is_pocl(const struct device *device);

/* Waits until nothing is under way. What failed shows elsewhere: this is for before memory is freed. */
void device_finish(const struct device *device);

/* A buffer in the host's own memory, in large pages; *host is where. The memory is freed when the buffer is
 * released and the last command that uses it is done. NULL: *code says why. */
cl_mem device_host_buffer(const struct device *device, size_t size, void **host, cl_int *code);

/* Fails because so many bytes are not to be had on the device, or with that code of the host's. */
enum status device_out_of_memory(const struct device *device, size_t bytes, cl_int code, struct error *error);

/* Notes beside a message whether the code says that memory ran out: drivers may say so long after they
 * promised it. Returns STATUS_FAILED. */
enum status cl_failed(cl_int code, struct error *error);

/* "CL_OUT_OF_RESOURCES" for the code. */
const char *cl_error_name(cl_int code);

/* ---------------------------------------------------------------- a chosen device, ready to work: open.c */

/* OpenCL drivers abort where they should fail, and crash. From now on SIGABRT, SIGSEGV, SIGBUS, SIGILL
 * and SIGFPE call `handler`, which must end the program, while signals of `blocked` wait. Call it before
 * there are threads. */
void crashes_handle(void (*handler)(int), const sigset_t *blocked);

/* Whether the signal is one of those. */
bool crashes_include(int number);

/* Creates the context and the queues of a chosen device. */
enum status device_open(struct device *device, struct error *error);

/* Chooses the device that `wanted` names (device_choose) and opens it; without `force` not one that
 * --selftest found wrong. device_close is needed also after a failure. */
enum status device_find(const char *wanted, const struct environment *environment, bool force,
                        struct device *device, struct error *error);

/* For another thread: the same context and programs, queues of its own. `original` must be open and may be
 * closed first. */
enum status device_share(const struct device *original, struct device *device, struct error *error);

/* Frees everything; fine on a zeroed or merely chosen device. */
void device_close(struct device *device);

#endif
