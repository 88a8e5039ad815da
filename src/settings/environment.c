#include "settings/environment.h"

#include "settings/shard.h"

#include <math.h>
#include <stdlib.h>

#define FIELD(name) .offset = offsetof(struct environment, name)

/* clang-format off */
const struct option environment_variables[] = {
    {.name = "CLIMG_DEVICE", .type = OPTION_TEXT, FIELD(device),
     .help = "the device, where --device is not given"},
    {.name = "CLIMG_SHARD_COUNT", .type = OPTION_INTEGER, FIELD(shard_count), .min = 1,
     .max = SHARD_COUNT_MAX, .help = "how many parts --shard auto is about, where nothing else says so"},
    {.name = "XDG_CACHE_HOME", .type = OPTION_TEXT, FIELD(cache),
     .help = "the folder in which climg/ keeps what --tune, --warm and --selftest found, and PoCL what it compiles; by default ~/.cache; where "
             "PoCL cannot write there, it gets TMPDIR/climg-pocl-UID.0, which only its user can read"},
    {.name = "TMPDIR", .type = OPTION_TEXT, FIELD(spool), .fallback = "/tmp",
     .help = "the folder for what must be whole and comes from a pipe or goes to one, such as a TIFF"},
    {.name = "NO_COLOR", .type = OPTION_TEXT, FIELD(no_color),
     .help = "if it is not empty, the bars of --timing have no colour"},
    {.name = "CLIMG_TUNING", .type = OPTION_TEXT, FIELD(tuning), .hidden = true,
     .help = "a file of kernel forms instead of what --tune saved"},
    {.name = "CLIMG_CLASS", .type = OPTION_CHOICE, FIELD(device_class), .choices = "|wide|grouped",
     .hidden = true,
     .help = "which kernel forms run whatever the device is: wide those for CPUs, grouped those for GPUs"},
    {.name = "CLIMG_OWN_MEMORY", .type = OPTION_FLAG, FIELD(own_memory), .hidden = true,
     .help = "treat the device as one with its own memory: copies, pinned staging, queues for transfers"},
    {.name = "CLIMG_POISON", .type = OPTION_FLAG, FIELD(poison), .hidden = true,
     .help = "fill device memory with NaN before each use, to find what is never written"},
    {.name = "CLIMG_SLICE", .type = OPTION_INTEGER, FIELD(slice), .min = 1, .max = INFINITY, .hidden = true,
     .help = "rows that go through the chain at once, instead of what the plan would choose"},
    {.name = "CLIMG_GROUP", .type = OPTION_INTEGER, FIELD(group), .min = 1, .max = INFINITY, .hidden = true,
     .help = "at most that many small images at once; 1: each by itself"},
    {.name = "CLIMG_CLOSE", .type = OPTION_FLAG, FIELD(close), .hidden = true,
     .help = "give everything back at the end, instead of leaving it to the system"},
    {.name = "CLIMG_KEEP", .type = OPTION_FLAG, FIELD(keep), .hidden = true,
     .help = "keep built programs in climg's cache, as --warm tells the examples that it runs"},
    {.name = "CLIMG_ASK", .type = OPTION_TEXT, FIELD(ask), .hidden = true,
     .help = "the stages that --selftest asks alone, divided by commas (samples: those without one); what passes is not remembered then"},
    {0},
};
/* clang-format on */

enum status environment_read(struct environment *environment, struct error *error)
{
    enum status status = STATUS_OK;
    *environment = (struct environment){.home = getenv("HOME"), .pocl = getenv("POCL_CACHE_DIR")};
    options_set_defaults(environment_variables, environment);
    for (const struct option *row = environment_variables; row->type != OPTION_END && status == STATUS_OK;
         row++) {
        const char *text = getenv(row->name);
        if (text != NULL && text[0] != '\0')
            status = option_parse(row, row->name, row->type == OPTION_FLAG ? NULL : text, environment, error);
    }
#ifdef __SANITIZE_ADDRESS__
    environment->close = true; /* leaks are looked for */
#endif
    return status;
}
