/* The shape of a kernel's work: good defaults for a class of devices, and what --tune found best on this one.
 */
#ifndef CLIMG_DEVICE_TUNING_H
#define CLIMG_DEVICE_TUNING_H

#include "device/device.h"
#include "device/planes.h"

struct form {
    int outputs;  /* that a work-item computes along the filtered axis, beside its lanes: -DOUTPUTS */
    int group[2]; /* work-items of a group along x and y */
};

/* A kernel that has forms to choose from: stands beside the stage or the filter that launches it. A form that
 * is left out is that of all kernels of the class. Where the outputs are more than 1, others are possible;
 * where they are not, they are 1 (or what the kernel's text says). */
struct tunable {
    const char *kernel;
    struct form wide, wide_images, grouped, grouped_images; /* the defaults */
    const int (*groups)[2]; /* the only ones that its text takes, to {0, 0}; NULL: any */
};

struct tuned {
    struct tuned *next;
    enum memory memory;
    struct form form;
    char kernel[32];
};

enum { FORM_MAX_OUTPUTS = 16 }; /* powers of two */

/* What launches of a kernel use; NULL: of one that has no forms. */
struct form device_form(const struct device *device, enum memory memory, const struct tunable *tunable);

/* Whether the kernel's outputs can be chosen. */
bool form_has_outputs(const struct device *device, enum memory memory, const struct tunable *tunable);

/* From now on, in this process. */
enum status tuning_set(struct device *device, enum memory memory, const struct tunable *tunable,
                       const struct form *form, struct error *error);

/* Reads what --tune saved for this device, driver and these kernels. Anything else is ignored: a missing
 * file, another device's, a damaged line. CLIMG_TUNING names another file, whose first line is not looked at.
 */
void tuning_load(struct device *device);

/* Saves all that was set; *path (to be freed) is where. */
enum status tuning_save(const struct device *device, char **path, struct error *error);

void tuning_free(struct device *device);

#endif
