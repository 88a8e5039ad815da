/* Programs built from the embedded kernels, each kept once built. */
#ifndef CLIMG_DEVICE_PROGRAM_H
#define CLIMG_DEVICE_PROGRAM_H

#include "device/device.h"
#include "device/launch_serializer.h"

/* What a program is built from: kernels/FILE.cl with its includes, options (-D...), and the border rule (enum
 * edge) where the text includes edge.h. */
struct program_key {
    const char *file, *options;
    int edge;
};

/* The kernel `name` of a program, which is built on first use; the kernel is the device's own. A failed build
 * gives the file, the options and the compiler's log. */
enum status program_kernel(struct device *device, const struct program_key *program_key, const char *name,
                           cl_kernel *kernel, struct error *error);

/* What a chain will need, as far as it is known and there is room for it: each recipe once. */
enum { MAX_PROGRAM_LIST = 16, PROGRAM_OPTIONS_SIZE = 512 };

struct program_list {
    int count;
    const char *files[MAX_PROGRAM_LIST];
    char options[MAX_PROGRAM_LIST][PROGRAM_OPTIONS_SIZE];
    int edges[MAX_PROGRAM_LIST];
};

void program_list_add(struct program_list *program_list, const struct program_key *program_key);

/* Builds those that are not built yet. On GPUs they are built at once, as the compilers partly work in
 * parallel; on CPU devices one after the other, as PoCL takes a lock and compiles at the first launch.
 * program_kernel reports failures. */
void programs_build(struct device *device, const struct program_list *program_list);

/* A device's programs are none at first, or with programs_share those of the device it was copied from. */
enum status programs_begin(struct device *device, struct error *error);
void programs_share(struct device *device);

/* Tells the file and the options of each program that was built or loaded so far, by this device or one that
 * shares its context. */
void programs_visit(const struct device *device,
                    void (*visit)(void *context, const char *file, const char *options, int edge),
                    void *context);

/* The turns of launches by this device and by those that share its context. */
struct launch_serializer *programs_serializer(const struct device *device);

void programs_free(struct device *device);

#endif
