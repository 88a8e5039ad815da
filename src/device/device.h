/* One OpenCL device: its properties, context, command queues and compiled programs.
 *
 * A device is chosen (choose.h), opened, and closed with device_close, which frees everything that it owns.
 * Other threads open a copy with device_share. Copies share the context and the compiled programs; each copy
 * owns its queues and kernel objects.
 *
 * Thread safety: one struct device belongs to one thread, since clSetKernelArg changes a kernel object.
 * Different copies may be used at the same time; launches on CPU devices are serialized where PoCL needs it
 * (launch_serializer.h). Call crashes_handle before there are threads. */
#ifndef CLIMG_DEVICE_DEVICE_H
#define CLIMG_DEVICE_DEVICE_H

#include "base/error.h"
#include "settings/environment.h"

#include <CL/cl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

/* The two variants of the kernels. A single variant would be too slow: on a CPU the GPU variants take 10 to
 * 30 times as long as the CPU variants (13 taps over 4096² RGB with PoCL 3.1: 262 to 667 ms a pass instead of
 * 23), and on an H200 the CPU variants take 40 to 100 times as long as the GPU variants. */
enum kernel_variant {
    VARIANT_CPU, /* explicit vectors along x, no local memory */
    VARIANT_GPU, /* short vectors or none, local memory */
};

enum { OPTIONS_SIZE = 512 }; /* bytes of a program's build options, with NUL */

struct device_kernel;
struct program_store;
struct event_log;

struct device {
    const struct environment *environment; /* overrides for tests and experiments */

    /* Identity, set by device_choose. */
    cl_device_id id;
    cl_platform_id platform;
    enum kernel_variant variant; /* by the type, unless CLIMG_CLASS overrides it */
    cl_device_type type;         /* CL_DEVICE_TYPE */
    char name[256], platform_name[256], version[256], driver[256]; /* for messages and cache entries */
    bool simulator;     /* a simulator such as Oclgrind: correct results, thousands of times slower */
    bool shares_memory; /* the device uses the host's memory: buffers need no transfers */

    /* Capabilities, set by device_choose. */
    bool has_images;
    size_t image_width, image_height, image_layers;   /* limits of a 2-D image array, in pixels and layers */
    size_t group_size;                                /* maximum number of work-items of a work-group */
    cl_ulong memory, max_allocation, constant_memory; /* bytes: total, largest allocation, __constant */
    cl_ulong local_memory;                            /* bytes of __local memory */
    cl_device_fp_config fp_config;                    /* CL_DEVICE_SINGLE_FP_CONFIG */
    cl_uint compute_units;

    /* Set by device_open and device_share. Queues are in order and have profiling enabled. */
    cl_context context;
    cl_command_queue queue;            /* kernels */
    cl_command_queue upload, download; /* copies; NULL if the device shares the host's memory */

    struct device_kernel *kernels;       /* kernel objects of this device */
    struct program_store *program_store; /* programs, shared by all devices of the context. A dry-run device
                                          * adds the programs of its launches to it, unless it is NULL */
    bool owns_programs;                  /* device_close frees the store; false in copies */
    struct event_log *event_log; /* of launches and copies; set by the caller before them, not owned */
};

/* Makes `device` a dry-run device with the original's properties: allocations are only counted, and launches
 * only add their programs to `program_store`, if the caller sets it. The device owns nothing: do not close
 * it. */
void device_init_dry_run(const struct device *original, struct device *device);

/* True if the device is a dry-run device. */
bool device_is_dry_run(const struct device *device);

/* True if results have the same bits as on other devices: fused multiply-add, correctly rounded division
 * and square root, denormals, infinities and NaN, as kernels/exact.h requires. */
bool device_is_exact(const struct device *device);

/* True if the platform is PoCL. */
bool device_is_pocl(const struct device *device);

/* Waits for all commands of the device's queues, before memory is freed. Failures of commands are
 * reported by event_log_collect and staging_wait. */
void device_finish(const struct device *device);

/* Creates a buffer of `size` bytes on top of host memory in huge pages (CL_MEM_USE_HOST_PTR); *host receives
 * its address. The buffer owns the memory: OpenCL frees both after clReleaseMemObject, when the last command
 * that uses the buffer has finished. Returns NULL on failure, with the error in *code. */
cl_mem device_host_buffer(const struct device *device, size_t size, void **host, cl_int *code);

/* Returns the number of MiB, rounded up. */
size_t whole_mebibytes(size_t bytes);

/* Fails, as an allocation of `bytes` failed with `code`: CL_OUT_OF_HOST_MEMORY means host memory, other codes
 * mean device memory. Sets error->is_out_of_memory. */
enum status device_out_of_memory(const struct device *device, size_t bytes, cl_int code, struct error *error);

/* Like fail, for an OpenCL call that returned `code`: the message ends with its name. Sets
 * error->is_out_of_memory if `code` means that, as some drivers allocate memory at its first use. */
enum status fail_opencl(struct error *error, cl_int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the name of an OpenCL error code: "CL_OUT_OF_RESOURCES". */
const char *cl_error_name(cl_int code);

/* ---------------------------------------------------------------- opening: open.c */

/* Installs `handler` for SIGABRT, SIGSEGV, SIGBUS, SIGILL and SIGFPE, since OpenCL drivers abort or crash
 * instead of returning errors. The handler must end the program. Signals of `blocked` are deferred while it
 * runs. Call it before there are threads. */
void crashes_handle(void (*handler)(int), const sigset_t *blocked);

/* True if crashes_handle handles this signal. */
bool is_crash_signal(int number);

/* Creates the context and the queues of a chosen device. Call device_close also after a failure. */
enum status device_open(struct device *device, struct error *error);

/* Chooses a device by name (device_choose) and opens it. Fails for a device that failed --selftest, unless
 * `force` is set. Call device_close also after a failure. */
enum status device_open_named(const char *name, const struct environment *environment, bool force,
                              struct device *device, struct error *error);

/* Opens a copy of an open device for another thread: same context and programs, own queues. Close it before
 * the original. */
enum status device_share(const struct device *original, struct device *device, struct error *error);

/* Frees everything that the device owns. Safe on a zeroed device and on one that was only chosen. */
void device_close(struct device *device);

#endif
