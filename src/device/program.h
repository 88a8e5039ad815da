/* OpenCL programs, compiled from the embedded kernel texts at their first use and kept until the device
 * is closed.
 *
 * Compiled programs and the launch serializer belong to the context. All devices of the context
 * (device_share) use them, and the last one to call programs_free frees them. Kernel objects belong to their
 * device.
 *
 * Thread safety: devices of one context may call at the same time. Programs are compiled one after the other,
 * except in programs_build. */
#ifndef CLIMG_DEVICE_PROGRAM_H
#define CLIMG_DEVICE_PROGRAM_H

#include "device/device.h"
#include "device/launch_serializer.h"

/* Input of a compilation: kernels/FILE.cl with its includes, build options, and the border rule (enum
 * edge), which has an effect only if the text includes edge.h. */
struct program_key {
    const char *file, *options;
    int edge;
};

/* Finds kernel `name` of a program, and compiles the program at its first use. *kernel belongs to the device.
 * After a failure the message contains the file, the options and the compiler's log. */
enum status program_kernel(struct device *device, const struct program_key *program_key, const char *name,
                           cl_kernel *kernel, struct error *error);

enum { MAX_PROGRAM_LIST = 16 };

/* Programs that a dry run found, each once. Programs beyond MAX_PROGRAM_LIST are left out, and compiled at
 * their first use. Not to be copied: keys point into `options`. */
struct program_list {
    int count;
    struct program_key keys[MAX_PROGRAM_LIST]; /* their files are string literals */
    char options[MAX_PROGRAM_LIST][OPTIONS_SIZE];
};

/* Adds a program unless it is in the list or the list is full. */
void program_list_add(struct program_list *program_list, const struct program_key *program_key);

/* Compiles the programs of the list that are not compiled yet: on GPUs in parallel, which saves part of the
 * time; on CPU devices one after the other, as PoCL serializes clBuildProgram and generates code at the first
 * launch. Failures are reported by program_kernel. */
void programs_build(struct device *device, const struct program_list *program_list);

/* Creates an empty store for the device's context. */
enum status programs_begin(struct device *device, struct error *error);

/* Adds a reference to the store of a device that is a copy of another one. */
void programs_share(struct device *device);

/* Calls `visit` with each program that a device of this context has compiled or loaded, with the store
 * locked. `edge` is -1 if the program does not depend on the border rule. */
void programs_visit(const struct device *device,
                    void (*visit)(void *context, const char *file, const char *options, int edge),
                    void *context);

/* Returns the launch serializer of the device's context. */
struct launch_serializer *programs_serializer(const struct device *device);

/* Releases the device's kernels; the last device of a context frees the store. Safe on a zeroed device. */
void programs_free(struct device *device);

#endif
