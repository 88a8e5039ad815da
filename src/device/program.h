/* OpenCL programs, compiled from the embedded kernel texts at their first use and kept until the device
 * is closed.
 *
 * Programs and the launch serializer belong to the device that created the context. Its copies (device_share)
 * use them, too. Kernel objects belong to their device.
 *
 * Thread safety: devices of one context may call at the same time. Programs are compiled one after the other,
 * except in programs_build. */
#ifndef CLIMG_DEVICE_PROGRAM_H
#define CLIMG_DEVICE_PROGRAM_H

#include "device/device.h"
#include "device/launch_serializer.h"
#include "device/source.h"

/* Input of a compilation. */
struct program_key {
    const struct kernel_source *source;
    const char *options; /* build options */
};

/* Returns the embedded text of that name. Fails if this build has none. */
enum status source_find(const char *name, const struct kernel_source **source, struct error *error);

/* Finds kernel `name`, a string literal, of a program, and compiles the program at its first use. *kernel
 * belongs to the device. After a failure the message contains the file, the options and the compiler's log.
 */
enum status program_kernel(struct device *device, const struct program_key *program_key, const char *name,
                           cl_kernel *kernel, struct error *error);

/* Adds a program to the store, for programs_build. `device` may be a dry-run device with the store of
 * another device. */
enum status program_add(struct device *device, const struct program_key *program_key, struct error *error);

/* Compiles at most 16 programs of the store that are not compiled yet: on GPUs in parallel, which saves part
 * of the time; on CPU devices one after the other, as PoCL serializes clBuildProgram and generates code at
 * the first launch. Failures are reported by program_kernel. */
void programs_build(struct device *device);

/* Creates an empty store for the device's context. */
enum status programs_begin(struct device *device, struct error *error);

/* Calls `visit` with each program that a device of this context has compiled or loaded, with the store
 * locked. */
void programs_visit(const struct device *device,
                    void (*visit)(void *context, const char *file, const char *options), void *context);

/* Returns the launch serializer of the device's context. */
struct launch_serializer *programs_serializer(const struct device *device);

/* Releases the device's kernels, and the programs that it owns. Safe on a zeroed device. */
void programs_free(struct device *device);

#endif
