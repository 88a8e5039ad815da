/* How stages and options are written down, for --help and the manual page alike. */
#ifndef CLIMG_CLI_DESCRIBE_H
#define CLIMG_CLI_DESCRIBE_H

#include "engine/stage.h"

#include <stddef.h>

/* What a description fits in; longer ones are cut off, and a unit test looks for them. */
enum { DESCRIPTION_SIZE = 256 };

struct description {
    char text[DESCRIPTION_SIZE];
};

/* "--scale FACTOR[,KEY=VALUE]...", "--wavelet[=LEVELS]" */
struct description describe_stage(const struct stage *stage);

/* A global option: "-m, --memory auto|buffer|image" */
struct description describe_global(const struct option *option);

/* A row of a stage's table: "SIGMA", "filter=bicubic|bilinear" */
struct description describe_parameter(const struct option *option);

/* An environment variable: "CLIMG_DEVICE" */
struct description describe_variable(const struct option *option);

/* The help of a row, with what else the table knows: "levels (1 to 16, default 4)" */
struct description describe_help(const struct option *option);

/* "image to pyramid" */
struct description describe_kinds(const struct stage *stage);

/* For the overview and the manual page; ends with a NULL command. */
extern const struct example overview_examples[];

#endif
