#include "filters/warp.h"

struct flip {
    int axis;
};

enum { HORIZONTALLY, VERTICALLY };

static const struct option options[] = {
    {.type = OPTION_CHOICE,
     .offset = offsetof(struct flip, axis),
     .choices = "h|v",
     .value = "h|v",
     .help = "h: left and right change places; v: top and bottom do"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --flip h mirrored.png", "as in a mirror"},
    {"climg samples/scene.png --flip v reflection.png", "upside down, as in water"},
    {NULL, NULL},
};

/* Its own inverse. */
static struct affine find_affine(const struct flip *flip, const struct shape *in)
{
    return flip->axis == HORIZONTALLY ? (struct affine){-1, 0, in->width - 1, 0, 1, 0}
                                      : (struct affine){1, 0, 0, 0, -1, in->height - 1};
}

static struct rows rows(const void *params, const struct shape *in, struct rows out)
{
    const struct flip *flip = params;
    return flip->axis == HORIZONTALLY ? out : (struct rows){in->height - out.end, in->height - out.begin};
}

static struct affine places(const void *params, const struct shape *in)
{
    const struct affine affine = find_affine(params, in);
    return affine_counted(&affine, 0.5);
}

static struct traits traits(const void *params)
{
    struct traits traits = move_traits(params);
    traits.all_rows = ((const struct flip *)params)->axis == VERTICALLY;
    return traits;
}

static enum status run_flip(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error)
{
    const struct affine affine = find_affine(params, &in->shape);
    return move_image(run, &affine, in, out, error);
}

const struct stage stage_flip = {
    .name = "flip",
    .brief = "mirror left to right, or top to bottom",
    .manual =
        "Mirrors the picture: --flip h exchanges left and right, --flip v top and bottom. Samples are copied "
        "unchanged, but 64-bit floats become 32-bit. Quarter turns are --rotate 90.\n\n"
        "Left and top are those of the rows as the file stores them; --auto-orient turns a photo upright "
        "first (its EXIF orientation), wherever it stands in the command.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct flip),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .rows = rows,
    .traits = traits,
    .places = places,
    .coarsen = coarsen_nothing,
    .run = run_flip,
};
