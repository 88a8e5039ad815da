/* Separable convolution in 2011's forms: kernels/separable.cl. */
#include "filters/gaussian.h"
#include "lab.h"

#include <stdlib.h>

enum { SIZE_THEN = 512, SIGMA = 2, RADIUS = 8, TAPS = 2 * RADIUS + 1, STRIP = 64, COLUMNS = 6 };

static const char *const columns[COLUMNS] = {"1 ch",           "2 ch",           "4 ch",
                                             "4 images: 1 ch", "4 images: 2 ch", "4 images: 4 ch"};
static const int column_channels[COLUMNS] = {1, 2, 4, 1, 2, 4}, column_layers[COLUMNS] = {1, 1, 1, 4, 4, 4};

struct variant {
    const char *name, *kernel;
    bool images, vectors, along_y;
    int group[2];
    int outputs[2];       /* of a group */
    double then[COLUMNS]; /* us */
};

static const struct variant variants[] = {
    {"array x: 128×4 floats to local memory, 64×4 results",
     "array_x_whole",
     false,
     false,
     false,
     {64, 4},
     {64, 4},
     {42, 58, 103, 151, 219, 398}},
    {"array y: no local memory, coalesced column walk",
     "array_y_walk",
     false,
     false,
     true,
     {64, 4},
     {64, 4},
     {59, 70, 110, 227, 270, 429}},
    {"array x: extra work-items that only load",
     "array_x_loaders",
     false,
     false,
     false,
     {64 + 2 * RADIUS, 4},
     {64, 4},
     {48, 70, 121, 182, 271, 475}},
    {"array y: rolling buffer in local memory",
     "array_y_rolling",
     false,
     false,
     true,
     {64, 4},
     {64, STRIP},
     {85, 118, 188, 327, 460, 738}},
    {"image x with a local cache",
     "image_x_cached",
     true,
     false,
     false,
     {16, 16},
     {16, 16},
     {61, 77, 110, 239, 303, 433}},
    {"image y with a local cache",
     "image_y_cached",
     true,
     false,
     true,
     {16, 16},
     {16, 16},
     {60, 75, 102, 240, 301, 407}},
    {"image x, texture cache alone", "image_x", true, false, false, {16, 16}, {16, 16}, {87, 88, 169}},
    {"image y, texture cache alone", "image_y", true, false, true, {16, 16}, {16, 16}, {87, 87, 169}},
    {"array x, loading only what is needed",
     "array_x_needed",
     false,
     false,
     false,
     {64, 4},
     {64, 4},
     {44, 60, 95, 160, 220, 366}},
    {"array x, vector types in the local cache",
     "array_x_whole",
     false,
     true,
     false,
     {64, 4},
     {64, 4},
     {0, 58, 141}},
};

static double convolved(const struct expectation *expected, int x, int y, int z, int channel)
{
    double sum = 0;
    for (int k = 0; k < TAPS; k++) {
        int along = k - RADIUS;
        sum += (double)expected->weights[k] * picture_at(expected->in, expected->variant ? x : x + along,
                                                         expected->variant ? y + along : y, z, channel);
    }
    return sum;
}

static void try_variant(struct lab *lab, const struct variant *variant, int column, const struct picture *in,
                        cl_mem weights, const struct expectation *expected)
{
    struct cell *cell = lab_cell(lab, "Separable convolution", variant->name, columns[column]);
    struct picture nothing = {NULL, in->width, in->height, in->channels, in->layers};
    struct surface src = {.object = NULL}, dst = {.object = NULL};
    const char *why = NULL;
    char options[96];
    cl_int width = in->width, height = in->height;
    cell->size = in->width;
    if (variant->vectors && in->channels == 1) {
        cell_skip(cell, "a vector of one channel is a scalar");
        return;
    }
    cell_compare(cell, 1e-6 * variant->then[column], SIZE_THEN);
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DRADIUS=%d -DCHANNELS=%d%s%s", RADIUS, in->channels,
             variant->images ? " -DIMAGES" : "", variant->vectors ? " -DVECTORS" : "");
    if (!surface_make(lab, in, variant->images, &src, &why) ||
        !surface_make(lab, &nothing, variant->images, &dst, &why)) {
        cell_skip(cell, why);
        surface_free(&src);
        return;
    }
    const struct argument arguments[] = {ARG_MEMORY(src.object), ARG_MEMORY(dst.object), ARG_MEMORY(weights),
                                         ARG(width), ARG(height)};
    const size_t gx = (size_t)variant->group[0], gy = (size_t)variant->group[1];
    struct trial trial = {.header = "pixels.h",
                          .file = "separable.cl",
                          .kernel = variant->kernel,
                          .options = options,
                          .grid = {(size_t)(in->width / variant->outputs[0]) * gx,
                                   (size_t)(in->height / variant->outputs[1]) * gy, (size_t)in->layers},
                          .group = {gx, gy, 1},
                          .arguments = arguments,
                          .count = 5};
    lab_try(lab, cell, &trial, 1, &dst, expected);
    surface_free(&src);
    surface_free(&dst);
}

static enum status produce(struct run *run, const void *context, const struct value *in, struct value *out,
                           struct error *error)
{
    const struct expectation *expected = context;
    const struct filter filter = {expected->weights, TAPS, -RADIUS};
    return produce_pass(run, &filter, expected->variant != 0, in, out, error);
}

static void try_climg(struct lab *lab, int column, const struct expectation *expected)
{
    static const char *const names[2][2] = {{"climg x, buffers", "climg y, buffers"},
                                            {"climg x, images", "climg y, images"}};
    const struct value shapes[2] = {{.shape = {0}}, {.shape = {0}}};
    for (int memory = MEMORY_BUFFER; memory <= MEMORY_IMAGE; memory++) {
        struct cell *cell =
            lab_cell(lab, "Separable convolution", names[memory][expected->variant], columns[column]);
        cell->size = expected->in->width;
        lab_try_production(lab, cell, (enum memory)memory, produce, expected, shapes, expected);
    }
}

static void try_column(struct lab *lab, int column, int size, const float *weights, cl_mem memory)
{
    struct picture in = picture_noise(size, size, column_channels[column], column_layers[column]);
    struct expectation expected = {convolved, &in, weights, TAPS, 0, 2e-6};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        expected.variant = variants[i].along_y;
        try_variant(lab, &variants[i], column, &in, memory, &expected);
    }
    for (expected.variant = 0; expected.variant < 2; expected.variant++)
        try_climg(lab, column, &expected);
    free(in.pixels);
}

void separable_experiments(struct lab *lab)
{
    struct gaussian gaussian = {.sigma = SIGMA, .truncate = (double)RADIUS / SIGMA};
    struct error error;
    cl_int code;
    bench_check(gaussian_make(&gaussian, &error), &error);
    cl_mem memory = clCreateBuffer(lab->bench.device.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                   TAPS * sizeof *gaussian.x_weights, gaussian.x_weights, &code);
    bench_check_cl(code, "weights");
    for (int column = 0; column < COLUMNS; column++)
        try_column(lab, column, lab->size ? lab->size : SIZE_THEN, gaussian.x_weights, memory);
    clReleaseMemObject(memory);
    gaussian_free(&gaussian);
}
