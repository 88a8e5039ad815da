/* Further questions of 2011, one table each: OpenCL variants (kernels/), threads of the processor, climg's
 * own kernels. */
#include "experiments_rows.h"

#include <math.h>
#include <stdlib.h>

enum { ROW_OPTIONS = 128 };

/* A place among some hundred pixels has 15 bits of fraction in a float; the texture unit's weights have 8. An
 * impulse that is flushed was 2^-6 before. */
static const double PLACED = 2e-4, HARDWARE = 8e-3, FLUSHED = 0x1p-6;

static const char threads[] = "threads, without OpenCL";

static const struct row vector_rows[] = {
    {"a work-item a row", "row_an_item", .grid = ITEM_A_ROW, .group = {64, 1}},
    {"64 work-items a row, local memory", "row_a_group", .grid = GROUP_A_ROW, .group = {64, 1}},
    {threads, .host = host_multiply},
    {NULL},
};
static const struct column precisions[] = {{"float", .value = 1}, {"float4", .value = 4}, {NULL}};

static const struct row systems_rows[] = {
    {"a work-item a system, global memory", "solve", "-DFORM=0", ITEM_A_ROW, {64, 1}, .then = 220},
    {"registers", "solve", "-DFORM=1", ITEM_A_ROW, {64, 1}, .then = 118},
    {"registers, systems interleaved", "solve", "-DFORM=2", ITEM_A_ROW, {64, 1}, .turned = true, .then = 38},
    {"six work-items a system, local memory", "solve", "-DFORM=3", GROUP_A_ROW, {6, 8}, .then = 26},
    {NULL},
};
static const struct row sorting_rows[] = {
    {"counting, a work-item a row", "counts_of_an_item", .grid = ITEM_A_ROW, .group = {64, 1}},
    {"beads, a work-item a pole", "beads", .grid = GROUP_A_ROW, .group = {256, 1}},
    {"counting by atomics, a work-item a value", "counts_of_a_group", .grid = GROUP_A_ROW, .group = {256, 1}},
    {NULL},
};
static const struct column all[] = {{"all", .value = 1}, {NULL}};

static const struct row recurrence_rows[] = {
    {"one work-item steps, all write", "step_by_step", .grid = GROUP_A_ROW, .group = {0, 1}},
    {"all look ahead and write", "look_ahead", .grid = GROUP_A_ROW, .group = {0, 1}},
    {NULL},
};
static const struct column writers[] = {
    {"1 work-item", .value = 1}, {"8", .value = 8}, {"64", .value = 64}, {NULL}};

static const struct row taps_rows[] = {
    {"an output a work-item", "one", .group = {64, 4}},
    {"16 outputs a work-item, float16", "sixteen", .grid = ITEM_A_SIXTEEN, .group = {4, 16}},
    {threads, .host = host_convolve},
    {"climg x, buffers", .produce = produce_taps},
    {NULL},
};
static const struct column widths[] = {{"2 taps", .value = 2}, {"4", .value = 4},   {"8", .value = 8},
                                       {"16", .value = 16},    {"32", .value = 32}, {NULL}};

static const struct row warp_rows[] = {
    {"arrays, four loads", "warp", .group = {64, 4}, .tolerance = PLACED},
    {"images, the sampler", "warp", "-DIMAGES", .group = {16, 16}, .images = true, .tolerance = HARDWARE},
    {"climg --warp, buffers", .produce = produce_warp},
    {"climg --warp, images", .produce = produce_warp, .images = true},
    {NULL},
};
static const struct column degrees[] = {
    {"0°", .value = 0}, {"10°", .value = 10}, {"45°", .value = 45}, {"90°", .value = 90}, {NULL}};

static const struct row denormals_rows[] = {
    {"a work-item a row", "step_by_step", .grid = GROUP_A_ROW, .group = {1, 1}},
    {threads, .host = host_follow},
    {NULL},
};
static const struct column denormals[] = {
    {"kept", .options = "-DN=1 -DGAIN=0x1p120f", .denormals = true},
    {"flushed", 1, "-DN=1 -DGAIN=0x1p120f -cl-denorms-are-zero", .tolerance = FLUSHED},
    {NULL},
};

static bool has_denormals(const struct lab *lab)
{
    cl_device_fp_config config = 0;
    clGetDeviceInfo(lab->bench.device.id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL);
    return config & CL_FP_DENORM;
}

static void material_free(struct material *material)
{
    if (material->truth.pixels != material->in.pixels)
        free(material->truth.pixels);
    free(material->in.pixels);
    free(material->more.pixels);
    free(material->out.pixels);
}

/* Exchanges the rows and columns of what is worked on. */
static void turn(struct material *material)
{
    const struct picture from = material->in;
    struct picture to = picture_noise(from.height, from.width, 1, 1);
    for (int y = 0; y < to.height; y++)
        for (int x = 0; x < to.width; x++)
            to.pixels[(size_t)y * (size_t)to.width + (size_t)x] = (float)picture_at(&from, y, x, 0, 0);
    if (from.pixels != material->truth.pixels)
        free(from.pixels);
    material->in = to;
}

static void lay_grid(struct trial *trial, const struct row *row, const struct material *on)
{
    const size_t width = (size_t)on->out.width, height = (size_t)on->out.height;
    trial->group[0] = (size_t)(row->group[0] ? row->group[0] : on->value);
    trial->group[1] = (size_t)row->group[1];
    trial->group[2] = trial->grid[2] = 1;
    trial->grid[0] = row->grid == ITEM_A_ROW       ? height
                     : row->grid == GROUP_A_ROW    ? trial->group[0]
                     : row->grid == ITEM_A_SIXTEEN ? width / 16
                                                   : width;
    trial->grid[1] = row->grid == ITEM_A_ROW ? 1 : height;
}

static void try_kernel(struct lab *lab, struct cell *cell, const struct table *table, const struct row *row,
                       const char *column_options, const struct material *on)
{
    struct surface in = {.object = NULL}, more = {.object = NULL}, out = {.object = NULL};
    const char *why = NULL;
    char options[2 * ROW_OPTIONS];
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DCHANNELS=1 %s %s", column_options,
             row->options ? row->options : "");
    if (surface_make(lab, &on->in, row->images, &in, &why) &&
        surface_make(lab, &on->more, false, &more, &why) &&
        surface_make(lab, &on->out, row->images, &out, &why)) {
        const struct argument arguments[] = {ARG_MEMORY(in.object),  ARG_MEMORY(more.object),
                                             ARG_MEMORY(out.object), ARG(out.width),
                                             ARG(out.height),        ARG(in.width)};
        struct trial trial = {.header = "pixels.h",
                              .file = table->file,
                              .kernel = row->kernel,
                              .options = options,
                              .arguments = arguments,
                              .count = sizeof arguments / sizeof *arguments};
        lay_grid(&trial, row, on);
        lab_try(lab, cell, &trial, 1, &out, &on->expected);
    } else {
        cell_skip(cell, why);
    }
    surface_free(&in);
    surface_free(&more);
    surface_free(&out);
}

/* With threads that leave denormals as the column wants them. */
static void try_host(struct cell *cell, const struct row *row, struct material *on)
{
#if defined _OPENMP && defined __SSE2__
    on->out.pixels = picture_noise(on->out.width, on->out.height, 1, 1).pixels;
    lab_try_host(cell, row->host, on, &on->out, &on->expected);
#else
    (void)row, (void)on;
    cell_skip(cell, "built without OpenMP or SSE2");
#endif
}

static void try_climg(struct lab *lab, struct cell *cell, const struct row *row, const struct material *on)
{
    const struct value shape = {.shape = {.kind = KIND_IMAGE,
                                          .width = on->truth.width,
                                          .height = on->truth.height,
                                          .channels = 1,
                                          .images = 1},
                                .rows = rows_full(on->truth.height)};
    const struct value shapes[2] = {shape, shape};
    lab_try_production(lab, cell, row->images ? MEMORY_IMAGE : MEMORY_BUFFER, row->produce, &on->expected,
                       shapes, &on->expected);
}

/* Returns the seconds of the first row under this condition, which are `first` unless 0. */
static double try_row(struct lab *lab, const struct table *table, const struct row *row,
                      const struct column *column, double first)
{
    struct cell *cell = lab_cell(lab, table->title, row->name, column->name);
    struct material on;
    char options[ROW_OPTIONS];
    cell->size = lab->size ? lab->size : table->size;
    cell_compare(cell, 1e-6 * row->then, table->size);
    table->prepare(&on, column->value, cell->size);
    if (row->turned)
        turn(&on);
    on.expected.tolerance = fmax(table->tolerance, fmax(row->tolerance, column->tolerance));
    snprintf(options, sizeof options, "-DN=%d", column->value);
    if (column->denormals && !has_denormals(lab))
        cell_skip(cell, "the device has no denormals");
    else if (row->host)
        try_host(cell, row, &on);
    else if (row->produce)
        try_climg(lab, cell, row, &on);
    else
        try_kernel(lab, cell, table, row, column->options ? column->options : options, &on);
    cell->first = first > 0 ? first : cell->now;
    material_free(&on);
    return cell->first;
}

static void try_table(struct lab *lab, const struct table *table)
{
    for (const struct column *column = table->columns; column->name; column++) {
        double first = 0;
        for (const struct row *row = table->rows; row->name; row++)
            first = try_row(lab, table, row, column, first);
    }
}

void vector_experiments(struct lab *lab)
{
    try_table(lab, &(struct table){"Matrix times vector", "vector.cl", 4096, 2e-4, prepare_vector,
                                   vector_rows, precisions});
}

void systems_experiments(struct lab *lab)
{
    try_table(lab, &(struct table){"LU of 6×6, a system each pixel", "systems.cl", 64, 1e-5, prepare_systems,
                                   systems_rows, all});
}

void sorting_experiments(struct lab *lab)
{
    try_table(lab, &(struct table){"Sorting rows of 8 bit", "sorting.cl", 512, 0, prepare_sorting,
                                   sorting_rows, all});
}

void recurrence_experiments(struct lab *lab)
{
    try_table(lab, &(struct table){"Recurrence along rows, by those that write", "recurrence.cl", 512, 1e-5,
                                   prepare_recurrence, recurrence_rows, writers});
    try_table(lab, &(struct table){"Recurrence along black rows, denormals", "recurrence.cl", 512, 1e-6,
                                   prepare_impulses, denormals_rows, denormals});
}

void taps_experiments(struct lab *lab)
{
    try_table(lab, &(struct table){"Convolution along x, by taps", "taps.cl", 1024, 2e-6, prepare_taps,
                                   taps_rows, widths});
}

void warp_experiments(struct lab *lab)
{
    try_table(lab, &(struct table){"Bilinear warp, turned", "warp.cl", 512, 1e-5, prepare_warp, warp_rows,
                                   degrees});
}
