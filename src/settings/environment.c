#include "settings/environment.h"

#include "base/sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) .offset = offsetof(struct environment, name)

/* clang-format off */
const struct option environment_variables[] = {
    {.name = "CLIMG_DEVICE", .type = OPTION_TEXT, FIELD(device),
     .help = "the device, where --device is not given"},
    {.name = "XDG_CACHE_HOME", .type = OPTION_TEXT, FIELD(cache),
     .help = "the folder in which climg/ keeps what --warm and --selftest found, which driver each device has and how long things took there, and PoCL what it compiles; by default ~/.cache; where "
             "PoCL cannot write there, it gets TMPDIR/climg-pocl-UID.0, which only its user can read"},
    {.name = "TMPDIR", .type = OPTION_TEXT, FIELD(spool), .fallback = "/tmp",
     .help = "the folder for what must be whole and comes from a pipe or goes to one, such as a TIFF"},
    {.name = "CLIMG_CLASS", .type = OPTION_CHOICE, FIELD(device_class), .choices = "|wide|grouped",
     .hidden = true,
     .help = "which kernel forms run whatever the device is: wide those for CPUs, grouped those for GPUs"},
    {.name = "CLIMG_OWN_MEMORY", .type = OPTION_FLAG, FIELD(own_memory), .hidden = true,
     .help = "treat the device as one with its own memory: copies, pinned staging, queues for transfers"},
    {.name = "CLIMG_POISON", .type = OPTION_FLAG, FIELD(poison), .hidden = true,
     .help = "fill device memory with NaN before each use, to find what is never written"},
    {.name = "CLIMG_SLICE", .type = OPTION_INTEGER, FIELD(slice), .min = 1, .max = INFINITY, .hidden = true,
     .help = "rows that go through the chain at once, instead of what the plan would choose"},
    {.name = "CLIMG_TILE", .type = OPTION_INTEGER, FIELD(tile), .min = 1, .max = INFINITY, .hidden = true,
     .help = "columns of a tile, of stages that work in tiles, rounded up to a multiple of 64"},
    {.name = "CLIMG_GROUP", .type = OPTION_INTEGER, FIELD(group), .min = 1, .max = INFINITY, .hidden = true,
     .help = "at most that many small images at once; 1: each by itself"},
    {.name = "CLIMG_VENDORS", .type = OPTION_TEXT, FIELD(vendors), .hidden = true,
     .help = "a folder of OpenCL drivers (.icd) in place of /etc/OpenCL/vendors"},
    {.name = "CLIMG_CLOSE", .type = OPTION_FLAG, FIELD(close), .hidden = true,
     .help = "give everything back at the end, instead of leaving it to the system"},
    {.name = "CLIMG_KEEP", .type = OPTION_FLAG, FIELD(keep), .hidden = true,
     .help = "keep built programs in climg's cache, as --warm does"},
    {.name = "CLIMG_ASK", .type = OPTION_TEXT, FIELD(ask), .hidden = true,
     .help = "only these stages, divided by commas, in --selftest (samples: what has no stage) and --warm; what passes is not remembered then"},
    {0},
};
/* clang-format on */

/* The loader of OpenCL reads these. */
static const char *const directing[] = {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OCL_ICD_DEFAULT_PLATFORM",
                                        "OCL_ICD_PLATFORM_SORT", "OPENCL_VENDOR_PATH"};

/* Drivers read these, and the system's loader of libraries. */
static const char *const hiding[] = {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
                                     "GPU_DEVICE_ORDINAL",   "HIP_VISIBLE_DEVICES",
                                     "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
                                     "POCL_DEVICES",         "RUSTICL_ENABLE",
                                     "LD_LIBRARY_PATH",      "LD_PRELOAD"};

static void read_of_drivers(struct environment *environment)
{
    environment->visible_devices = HASH_START;
    for (size_t i = 0; i < sizeof directing / sizeof directing[0]; i++)
        environment->loader_is_directed = environment->loader_is_directed || getenv(directing[i]);
    for (size_t i = 0; i < sizeof hiding / sizeof hiding[0]; i++) {
        const char *text = getenv(hiding[i]);
        const size_t size = text ? strlen(text) + 1 : 0;
        environment->visible_devices =
            hash_bytes(hash_bytes(environment->visible_devices, &size, sizeof size), text, size);
    }
}

enum status environment_read(struct environment *environment, struct error *error)
{
    enum status status = STATUS_OK;
    *environment = (struct environment){.home = getenv("HOME"), .pocl = getenv("POCL_CACHE_DIR")};
    options_set_defaults(environment_variables, environment);
    read_of_drivers(environment);
    for (const struct option *row = environment_variables; row->type != OPTION_END && status == STATUS_OK;
         row++) {
        const char *text = getenv(row->name);
        if (text != NULL && text[0] != '\0')
            status = option_parse(row, row->name, row->type == OPTION_FLAG ? NULL : text, environment, error);
    }
    return status;
}

bool environment_closes(const struct environment *environment)
{
#ifdef __SANITIZE_ADDRESS__
    (void)environment;
    return true;
#else
    return environment->close;
#endif
}
