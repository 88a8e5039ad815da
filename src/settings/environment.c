/* The table of climg's environment variables, which are parsed like options, and variables of other programs.
 */
#include "settings/environment.h"

#include <math.h>
#include <stdlib.h>

#define FIELD(name) .offset = offsetof(struct environment, name)

/* clang-format off */
const struct option environment_variables[] = {
    {.name = "CLIMG_DEVICE", .type = OPTION_TEXT, FIELD(device),
     .help = "the device, if --device is not given"},
    {.name = "XDG_CACHE_HOME", .type = OPTION_TEXT, FIELD(cache),
     .help = "the folder of climg/, which holds compiled programs, the results of --selftest and PoCL's cache; by default ~/.cache; "
             "if PoCL cannot write there, it uses TMPDIR/climg-pocl-UID.N, which only its user can read"},
    {.name = "TMPDIR", .type = OPTION_TEXT, FIELD(spool_folder), .fallback = "/tmp",
     .help = "the folder of temporary files, for pipes of formats that need random access, such as TIFF"},
    {.name = "CLIMG_CLASS", .type = OPTION_CHOICE, FIELD(device_class), .choices = "|cpu|gpu",
     .hidden = true,
     .help = "kernel variants to run, cpu or gpu, on any device"},
    {.name = "CLIMG_OWN_MEMORY", .type = OPTION_FLAG, FIELD(own_memory), .hidden = true,
     .help = "treat the device as one with its own memory: copies, pinned staging, queues for transfers"},
    {.name = "CLIMG_POISON", .type = OPTION_FLAG, FIELD(poison), .hidden = true,
     .help = "fill device memory with NaN before each use, to find what is never written"},
    {.name = "CLIMG_SLICE", .type = OPTION_INTEGER, FIELD(slice), .min = 1, .max = INFINITY, .hidden = true,
     .help = "rows of a slice, instead of the plan's choice"},
    {.name = "CLIMG_TILE", .type = OPTION_INTEGER, FIELD(tile), .min = 1, .max = INFINITY, .hidden = true,
     .help = "columns of a tile, rounded up to a multiple of 64"},
    {.name = "CLIMG_GROUP", .type = OPTION_INTEGER, FIELD(group), .min = 1, .max = INFINITY, .hidden = true,
     .help = "maximum number of small images in a group; 1: no groups"},
    {.name = "CLIMG_SYSTEM_CACHE", .type = OPTION_TEXT, FIELD(system_cache), .fallback = "/var/cache", .hidden = true,
     .help = "the folder that contains climg/, the programs compiled for all users"},
    {.name = "CLIMG_CLOSE", .type = OPTION_FLAG, FIELD(close), .hidden = true,
     .help = "free everything at the end, instead of leaving it to the system"},
    {.name = "CLIMG_KEEP", .type = OPTION_FLAG, FIELD(stores_programs), .hidden = true,
     .help = "keep built programs in climg's cache, as --warm does"},
    {.name = "CLIMG_STAGES", .type = OPTION_TEXT, FIELD(only_stages), .hidden = true,
     .help = "stages for --selftest and --warm, separated by commas (samples: test cases without a stage); a pass is not stored then"},
    {0},
};
/* clang-format on */

/* Returns the value of a variable, or NULL if it is not set or empty. */
static const char *read_text(const char *name)
{
    const char *text = getenv(name);
    return text && text[0] != '\0' ? text : NULL;
}

enum status environment_read(struct environment *environment, struct error *error)
{
    enum status status = STATUS_OK;
    *environment = (struct environment){.home = read_text("HOME"),
                                        .pocl_cache = read_text("POCL_CACHE_DIR"),
                                        .icd_directory = read_text("OCL_ICD_VENDORS"),
                                        .icd_filenames = read_text("OCL_ICD_FILENAMES")};
    options_set_defaults(environment_variables, environment);
    if (!environment->icd_directory)
        environment->icd_directory = read_text("OPENCL_VENDOR_PATH");
    for (const struct option *row = environment_variables; row->type != OPTION_END && status == STATUS_OK;
         row++) {
        const char *text = read_text(row->name);
        if (text != NULL)
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
