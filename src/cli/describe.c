#include "cli/describe.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

const struct example overview_examples[] = {
    {"climg in.png --wavelet --scale 4 out.png", "transform, look at it as a picture, enlarge that"},
    {"climg scan.tif --blur 1.5 --scale 1/2 small.png", "smooth, halve, change the format"},
    {"curl ... | climg --blur 1.5 | other-tool", "stdin to stdout"},
    {"climg a.png b.tif c.png --scale 1/2 thumbs/", "several files into a directory, made if need be"},
    {"climg -r photos/ --denoise -f png clean/", "every image of a directory and of those in it"},
    {NULL, NULL},
};

static void append(struct description *description, const char *text)
{
    text_append(description->text, sizeof description->text, "%s", text);
}

static bool has_keys(const struct option *table)
{
    const struct option *row = options_primary(table) != NULL ? table + 1 : table;
    return row->type != OPTION_END;
}

struct description describe_stage(const struct stage *stage)
{
    struct description description = {"--"};
    const struct option *primary = options_primary(stage->options);
    bool needed = options_need_value(stage->options);
    append(&description, stage->name);
    if (stage->options->type == OPTION_END)
        return description;
    append(&description, needed ? " " : "[=");
    if (primary != NULL)
        append(&description, option_value_name(primary));
    if (has_keys(stage->options))
        append(&description, primary != NULL ? "[,KEY=VALUE]..." : "KEY=VALUE[,...]");
    append(&description, needed ? "" : "]");
    return description;
}

struct description describe_global(const struct option *option)
{
    struct description description = {""};
    const char *value = option_value_name(option);
    if (option->letter != 0)
        text_append(description.text, sizeof description.text, "-%c, ", option->letter);
    append(&description, "--");
    append(&description, option->name);
    if (value != NULL) {
        append(&description, option->optional ? "[=" : " ");
        append(&description, value);
        append(&description, option->optional ? "]" : "");
    }
    return description;
}

struct description describe_parameter(const struct option *option)
{
    struct description description = {""};
    if (option->name != NULL) {
        append(&description, option->name);
        append(&description, "=");
    }
    append(&description, option_value_name(option));
    return description;
}

struct description describe_variable(const struct option *option)
{
    struct description description = {""};
    append(&description, option->name);
    return description;
}

/* Begins the remark in brackets, or goes on with it. */
static void begin_remark(struct description *description, bool *begun)
{
    append(description, *begun ? ", " : " (");
    *begun = true;
}

static void append_range(struct description *description, const struct option *option, bool *begun)
{
    if (option->min == 0 && option->max == 0)
        return;
    begin_remark(description, begun);
    if (isinf(option->max))
        text_append(description->text, sizeof description->text, "at least %.15g", option->min);
    else
        text_append(description->text, sizeof description->text, "%.15g to %.15g", option->min, option->max);
}

struct description describe_help(const struct option *option)
{
    struct description description = {""};
    bool begun = false;
    append(&description, option->help);
    /* Where VIEW stands for the words, they are named here. */
    if (option->type == OPTION_CHOICE && option->value != NULL) {
        begin_remark(&description, &begun);
        append(&description, option->choices[0] == '|' ? option->choices + 1 : option->choices);
    }
    append_range(&description, option, &begun);
    /* A word "default" says itself what it is. */
    if (option->fallback != NULL && strcmp(option->fallback, "default") != 0) {
        begin_remark(&description, &begun);
        append(&description, "default ");
        append(&description, option->fallback);
    }
    append(&description, begun ? ")" : "");
    return description;
}

static const char *kind_name(enum kind kind)
{
    return kind == KIND_PYRAMID ? "pyramid" : "image";
}

struct description describe_kinds(const struct stage *stage)
{
    struct description description = {""};
    append(&description, kind_name(stage->in));
    append(&description, " to ");
    append(&description, kind_name(stage->out));
    return description;
}
