/* Merges all pictures of a command into one: options, and the choice of the merge.
 *
 *     mean, sum, max, min     add to accumulators of the picture's size, divide at the end
 *     median, sigma=K         append to a temporary file, then read some pixels of all pictures
 *     focus                   append to a temporary file, then merge on the device (wavelet/focus.h)
 *
 * All but focus run on the host, where pictures arrive decoded, or downloaded from the device: copying them
 * to the device and back would take longer than the merge. So the order of operations is the same everywhere.
 *
 * A picture covers a pixel if its alpha there is above 0 and no channel is NaN. Colour is multiplied by
 * alpha, as everywhere in a chain. */
#include "engine/run.h"
#include "filters/merge.h"
#include "filters/warp.h"
#include "wavelet/focus.h"
#include "wavelet/shrink.h"

#include <math.h>

struct stack_params {
    struct merge_options merge; /* must be first */
    bool pages;                 /* merge all pages of a file, not only the first */
    bool strict;                /* fail if an input fails, instead of leaving it out */
};

/* Return why a key has no effect, or NULL. */
static const char *sigma_unused(const void *params)
{
    const struct stack_params *stack = params;
    return stack->merge.method == MERGE_MEAN || stack->merge.sigma == 0 ? NULL : "belongs to the mean";
}

static const char *focus_unused(const void *params)
{
    return ((const struct stack_params *)params)->merge.method == MERGE_FOCUS ? NULL : "belongs to focus";
}

static const struct option options[] = {
    {.type = OPTION_CHOICE,
     .offset = offsetof(struct stack_params, merge.method),
     .fallback = "mean",
     .choices = MERGE_METHOD_CHOICES,
     .help = "how the samples of a pixel become one",
     .hint = "an average is mean, sigma clipping is sigma=K"},
    {.name = "sigma",
     .type = OPTION_REAL,
     .offset = offsetof(struct stack_params, merge.sigma),
     .fallback = "0",
     .max = 100,
     .value = "K",
     .help = "the mean of the samples within K standard deviations of the median, 1 or more; 0: of all",
     .unused = sigma_unused},
    {.name = "noise",
     .type = OPTION_CUSTOM,
     .offset = offsetof(struct stack_params, merge.noise),
     .fallback = "auto",
     .value = "N",
     .help = "standard deviation of the pictures' noise in 8-bit counts, 0 to 255; auto estimates it",
     .parse = shrink_parse_sigma,
     .print = shrink_print_sigma,
     .unused = focus_unused},
    {.name = "depth",
     .type = OPTION_TEXT,
     .offset = offsetof(struct stack_params, merge.depth_path),
     .value = "FILE",
     .help =
         "writes a gray picture of the input with the most detail, black for the first to white for the last",
     .unused = focus_unused},
    {.name = "edges",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct stack_params, merge.edges),
     .fallback = "fill",
     .choices = MERGE_EDGES_CHOICES,
     .help = "pixels that no picture covers: fill makes them transparent (NaN in floats without alpha), crop "
             "cuts them off, with focus also pixels that only some pictures cover"},
    {.name = "pages",
     .type = OPTION_YES_NO,
     .offset = offsetof(struct stack_params, pages),
     .fallback = "no",
     .help = "merge all pages of files that have several"},
    {.name = "strict",
     .type = OPTION_YES_NO,
     .offset = offsetof(struct stack_params, strict),
     .fallback = "no",
     .help = "an input that fails ends the work, instead of being left out"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/shots --stack mean calm.png",
     "five photographs in one, with less than half of the noise"},
    {"climg samples/shots --denoise --stack sigma=1.5 --sharpen 1 calm.png",
     "without what differs in one of them; each is denoised, the result is sharpened"},
    {NULL, NULL},
};

static enum status stack_check(void *params, struct error *error)
{
    const struct stack_params *stack = params;
    /* Below 1, all samples may be rejected. */
    if (stack->merge.sigma > 0 && stack->merge.sigma < 1)
        return fail(error, STATUS_USAGE, "sigma must be at least 1, or 0");
    if (stack->merge.depth_path && !format_by_path(stack->merge.depth_path))
        return fail(error, STATUS_USAGE, "depth=%s: climg writes %s; give the map one of their extensions",
                    stack->merge.depth_path, format_names(NULL, "and").text);
    if (stack->merge.depth_path) {
        const struct format *format = format_by_path(stack->merge.depth_path);
        const struct capacity map = {.types = 1u << format_sample_type(format, SAMPLE_UINT16),
                                     .channels = 1u << 1};
        if (!format_holds(format, &map))
            return fail(error, STATUS_USAGE, "depth=%s: %s does not hold gray pictures; write %s",
                        stack->merge.depth_path, format->name, format_names(&map, "or").text);
    }
    return STATUS_OK;
}

/* Returns the method's merge: in memory, from a temporary file on the host, or from one on the device. */
static const struct merge *stack_merge(const void *params)
{
    const struct stack_params *stack = params;
    if (stack->merge.method == MERGE_FOCUS)
        return &merge_focus;
    return stack->merge.method == MERGE_MEDIAN || stack->merge.sigma > 0 ? &merge_robust : &merge_sums;
}

/* --selftest calls run_stack like any stage: `groups` and `needs_all_rows` are for this. */
static struct stage_caps stack_caps(const void *params)
{
    const struct stack_params *stack = params;
    return (struct stage_caps){.groups = stack->merge.method != MERGE_FOCUS,
                               .needs_all_rows = stack->merge.method == MERGE_FOCUS,
                               .needs_upright = true,
                               .amplifies = stack->merge.method == MERGE_SUM,
                               .output_file = stack->merge.depth_path,
                               .output_is_image = stack->merge.depth_path != NULL,
                               .merges_pages = stack->pages,
                               .merges_strictly = stack->strict,
                               .relative_cost = 0.1};
}

/* Copies a single picture. With focus and a given noise, --selftest merges it (focus_self_test). */
static enum status run_stack(struct run *run, const void *params, const struct value *in, struct value *out,
                             struct error *error)
{
    const struct stack_params *stack = params;
    if (stack->merge.method == MERGE_FOCUS && !isnan(stack->merge.noise))
        return focus_self_test(run, stack->merge.noise / 255, in, out, error);
    return copy_image(run, params, in, out, error);
}

const struct stage stage_stack = {
    .name = "stack",
    .brief = "merge many pictures into one: mean, median, sum, ...",
    .manual =
        "Merges all inputs of the command into one output. Stages before it work on each input, stages "
        "after it on the result. Inputs must have one size, number of channels and sample type when "
        "they are merged, in the order in which they are named; the output is a file, not a folder, "
        "and has the first input's metadata.\n\n"
        "mean averages noise away: with N pictures it is 1/sqrt(N) as strong. median also removes what is in "
        "less than half of the pictures, such as people who walk by. sigma=K is between the two: samples "
        "further than K standard deviations from the median are rejected, twice, and the mean of the others "
        "is taken; -v and --report say how many were. Use it with five pictures or more. One sample of N is "
        "at most N/sqrt(N-1) deviations away, 2.5 of five pictures: K is 1.5 to 2 for five to nine, 2 to 3 "
        "for more. max and min keep the lightest and the darkest sample of each channel. sum exceeds full "
        "scale; a TIFF with --depth float keeps it.\n\n"
        "focus merges pictures of different focus into one that is sharp everywhere, by the dual-tree "
        "complex wavelet transform: for each place, size and direction of detail the picture with the "
        "most detail counts, and pictures count alike where they differ by noise alone. All are made "
        "equally bright before. The noise is estimated from the picture with the least detail, or "
        "given by noise=N. "
        "--align middle comes before it, as each focus has another scale. Here edges=crop leaves what all "
        "pictures cover. depth=FILE shows which input is the sharpest at each pixel.\n\n"
        "Pixels that are transparent or have a NaN (with focus also an infinity) do not count: a mean is the "
        "mean of the other pictures. Pixels that no picture covers become transparent, or NaN in floats "
        "without alpha; edges=crop cuts the result to the largest rectangle in which at least one picture "
        "covers each pixel. After --align first this is the whole picture, as the first input covers it. "
        "Colours are multiplied by alpha before they are merged; alpha is merged like a colour, but sum "
        "gives the mean of alpha.\n\n"
        "Sums of 8 and 16 bit are exact; others are doubles, added in the order of the inputs. With "
        "--linear, light is merged. A picture that fails is left out with a warning, and the exit status is "
        "0; with strict=yes it ends the work. A picture of another size always ends it. mean, max, min and "
        "sum decode each input once and keep one picture of 32-bit or 64-bit sums in memory. median and "
        "sigma=K keep all pictures in a temporary file (TMPDIR) and need little memory for any number of "
        "them. Up to 256 uncompressed TIFFs of 8 or 16 bit without alpha need no temporary file if no stage "
        "comes before: they are read some rows of all at a time, and a disk error then ends the work. "
        "--report has a line for each input, and one for the result, whose input is null.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct stack_params),
    .check = stack_check,
    .rows = rows_same,
    .caps = stack_caps,
    .merge = stack_merge,
    .run = run_stack,
};
