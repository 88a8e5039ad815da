/* Removes small objects of a black-and-white picture: connected components of less than N pixels
 * (kernels/despeckle.cl).
 *
 *     label_runs -> join_rows -> count_runs -> fill
 *
 * Slices need N - 1 rows above and below. If a component with a pixel in an output row reaches beyond them,
 * it has a pixel in each row on the way: at least N of its pixels are in the slice, so it stays. Otherwise
 * all of it is in the slice.
 *
 * Labels are per plane, so each colour is cleaned separately, just as --threshold decides each separately.
 * Alpha is copied. */
#include "engine/run.h"

struct despeckle {
    int min_pixels; /* objects of fewer pixels disappear */
    int white;      /* 1: objects are white, 0: black */
};

/* The largest N. Slices read N - 1 rows more on each side. A full stop at 1200 dpi has some 300 pixels. */
enum { MAX_PIXELS = 1000 };

/* Above this N the halo is large compared with a slice. */
enum { LARGE_HALO = 100 };

/* Warning about a picture that is not black and white. */
static const char GRAYS_WARNING[] =
    "--despeckle is for black-and-white pictures, and this one has grays or colours; put --gray --threshold "
    "otsu before it. Noise of a camera is for --denoise, single wrong pixels for --median 1";

/* Work-items of a work-group along y, on GPUs. */
enum { GROUP_ROWS = 32 };

static const struct option options[] = {
    {.type = OPTION_INTEGER,
     .offset = offsetof(struct despeckle, min_pixels),
     .min = 1,
     .max = MAX_PIXELS,
     .value = "N",
     .help = "objects of fewer pixels disappear"},
    {.name = "objects",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct despeckle, white),
     .fallback = "black",
     .choices = "black|white",
     .help = "black: specks of dirt on paper; white: bright specks of a mask"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/page.jpg --gray --threshold sauvola,radius=15,k=0.05 --despeckle 6 page.png",
     "remove specks that are smaller than a full stop"},
    {"climg samples/cells.png --gray --threshold otsu --despeckle 40,objects=white mask.png",
     "a mask without small objects"},
    {NULL, NULL},
};

/* Returns the rows in which the pixels of an object are counted. */
static struct interval despeckle_rows(const void *params, const struct shape *in, struct interval out)
{
    (void)in;
    return interval_widen(out, ((const struct despeckle *)params)->min_pixels - 1);
}

static struct stage_caps despeckle_caps(const void *params)
{
    return (struct stage_caps){.groups = true,
                               .large_halo = ((const struct despeckle *)params)->min_pixels > LARGE_HALO,
                               .relative_cost = 4};
}

/* Returns a launch with a work-item per row. */
static struct kernel_launch despeckle_row_work(const struct run *run, const char *kernel,
                                               const struct planes *planes)
{
    struct kernel_launch work = run_work(run, "despeckle", kernel, planes);
    work.vector_width = VECTOR_SCALAR;
    work.config = (struct launch_config){1, {1, run_is_cpu(run) ? 1 : GROUP_ROWS}};
    work.width = 1;
    return work;
}

/* Enqueues the four steps, in buffers. Waits for the first one, to warn of a picture with grays. */
static enum status despeckle_buffers(struct run *run, const void *params, const struct value *in,
                                     struct value *out, struct error *error)
{
    const struct despeckle *despeckle = params;
    const struct shape *shape = &in->shape;
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    const struct interval rows = planes_rows(src);
    const cl_int white = despeckle->white, channels = shape->channels, alpha = shape_alpha(shape);
    const cl_uint min_pixels = (cl_uint)despeckle->min_pixels;
    cl_uint gray_counts[GROUP_IMAGES] = {0}; /* samples between black and white, of each image */
    cl_mem grays;
    struct planes labels, counts;
    if (run_output(run, out, error) != STATUS_OK ||
        run_counters(run, (size_t)shape->images, &grays, error) != STATUS_OK ||
        run_scratch_like(run, src, rows, &labels, error) != STATUS_OK ||
        run_scratch_like(run, src, rows, &counts, error) != STATUS_OK)
        return STATUS_FAILED;
    if ((uint64_t)labels.pitch * (uint64_t)labels.rows > UINT32_MAX) /* labels have 32 bits */
        return fail(error, STATUS_FAILED,
                    "--despeckle: more than 2^32 samples in a slice; use --memory-limit");
    const struct kernel_launch label = despeckle_row_work(run, "label_runs", src),
                               join = despeckle_row_work(run, "join_rows", src),
                               count = despeckle_row_work(run, "count_runs", src);
    struct kernel_launch fill = run_work(run, "despeckle", "fill", dst);
    fill.vector_width = VECTOR_SCALAR;
    if (LAUNCH(run->device, &label, error, ARG_PLANES(src), ARG_PLANES(&labels), ARG_PLANES(&counts),
               ARG_MEMORY(grays), ARG(white), ARG(channels), ARG(alpha)) != STATUS_OK ||
        words_read(run->device, grays, 0, (size_t)shape->images, gray_counts, true, error) != STATUS_OK)
        return STATUS_FAILED;
    for (int i = 0; i < shape->images; i++)
        if (gray_counts[i] > 0)
            run_warn(run, i, GRAYS_WARNING);
    if (LAUNCH(run->device, &join, error, ARG_PLANES(&labels)) != STATUS_OK ||
        LAUNCH(run->device, &count, error, ARG_PLANES(&labels), ARG_PLANES(&counts)) != STATUS_OK)
        return STATUS_FAILED;
    return LAUNCH(run->device, &fill, error, ARG_PLANES(src), ARG_PLANES(&labels), ARG_PLANES(&counts),
                  ARG_PLANES(dst), ARG(min_pixels), ARG(white), ARG(alpha));
}

static enum status run_despeckle(struct run *run, const void *params, const struct value *in,
                                 struct value *out, struct error *error)
{
    return run_in_buffers(run, despeckle_buffers, params, in, out, error);
}

const struct stage stage_despeckle = {
    .name = "despeckle",
    .brief = "remove small objects, black or white",
    .manual = "Removes the small objects of a black-and-white picture: paints black objects of fewer than N "
              "pixels white; with objects=white, paints white objects black. Pixels that touch each other, "
              "also by a corner, are one object, as in scipy.ndimage.label with a structure of ones. Samples "
              "below half of full scale are black, all others white, in each colour separately, so put "
              "--threshold before it. Pixels that stay are unchanged, as are alpha and NaN.\n\n"
              "A full stop of ordinary text has about D * D / 5000 pixels at D dots per inch: 18 at 300 dpi. "
              "Half of that is a good N.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct despeckle),
    .rows = despeckle_rows,
    .caps = despeckle_caps,
    .run = run_despeckle,
};
