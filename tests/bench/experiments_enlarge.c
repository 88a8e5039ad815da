/* Scaling by 4 in 2011's forms: kernels/enlarge.cl. */
#include "chain/chain.h"
#include "lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_THEN = 512, FACTOR = 4, ENTRIES = 64, METHODS = 3 };

static const char *const table = "Scaling ×4";

/* A place among some thousand pixels has a dozen bits of fraction in a float; the texture unit's bilinear
 * weights have 8. */
static const double EXACT = 2e-6, PLACED = 5e-5, HARDWARE = 8e-3;

static double triangle(double x)
{
    return x < 1 ? 1 - x : 0;
}

/* The uniform cubic B-spline. */
static double spline(double x)
{
    if (x < 1)
        return 2.0 / 3 - x * x + x * x * x / 2;
    return x < 2 ? (2 - x) * (2 - x) * (2 - x) / 6 : 0;
}

/* Keys' kernel, a = -1/2 (IEEE TASSP 29, 1981). */
static double keys(double x)
{
    if (x < 1)
        return 1.5 * x * x * x - 2.5 * x * x + 1;
    return x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
}

/* A variant is a method in one of these forms: METHODS * form + method. */
enum { DIRECT, FROM_CORNERS, BY_TILES };

static int form_of(int variant)
{
    return variant / METHODS;
}

struct method {
    const char *names[3]; /* by form; NULL: not written */
    const char *climg, *chain;
    double (*weight)(double);
    double then[2]; /* us: array, image */
};

static const struct method methods[METHODS] = {
    {{"bilinear", "(N+1)² corners first, then bilinear", NULL},
     "climg --scale 4,filter=bilinear",
     "4,filter=bilinear",
     triangle,
     {36, 40}},
    {{"fast bicubic: four bilinear fetches, 64-entry table", "(N+1)² corners first, then fast bicubic", NULL},
     "climg --scale 4,filter=bspline",
     "4,filter=bspline",
     spline,
     {79, 56}},
    {{"bicubic by 64-entry tables", "(N+1)² corners first, then bicubic by tables",
      "bicubic by tables, 64×1 groups, local memory"},
     "climg --scale 4",
     "4",
     keys,
     {63, 106}},
};

/* kernels/enlarge.cl says what is in it. */
static void fill_table(const struct method *method, float *entries)
{
    for (int i = 0; i < ENTRIES; i++, entries += 4) {
        double t = (double)i / ENTRIES;
        double w[4] = {method->weight(1 + t), method->weight(t), method->weight(1 - t),
                       method->weight(2 - t)};
        double left = w[0] + w[1], right = w[2] + w[3];
        bool pairs = method->weight == spline;
        entries[0] = (float)(pairs ? left : w[0]);
        entries[1] = (float)(pairs ? right : w[1]);
        entries[2] = (float)(pairs ? w[1] / left - 1 : w[2]);
        entries[3] = (float)(pairs ? w[3] / right + 1 : w[3]);
    }
}

/* The sample at the corner where pixels x - 1 and x, y - 1 and y meet. */
static double corner_at(const struct picture *in, int x, int y)
{
    return (picture_at(in, x - 1, y - 1, 0, 0) + picture_at(in, x, y - 1, 0, 0) +
            picture_at(in, x - 1, y, 0, 0) + picture_at(in, x, y, 0, 0)) /
           4;
}

static int clamped(int i, int last)
{
    return i < 0 ? 0 : i > last ? last : i;
}

static double interpolated(const struct expectation *expected, int x, int y, int z, int channel)
{
    const struct picture *in = expected->in;
    double (*weight)(double) = methods[expected->variant % METHODS].weight, sum = 0;
    bool corners = form_of(expected->variant) == FROM_CORNERS;
    double u = (x + 0.5) / FACTOR - (corners ? 0 : 0.5), v = (y + 0.5) / FACTOR - (corners ? 0 : 0.5);
    for (int j = (int)floor(v) - 1; j <= floor(v) + 2; j++)
        for (int i = (int)floor(u) - 1; i <= floor(u) + 2; i++) {
            double sample = corners ? corner_at(in, clamped(i, in->width), clamped(j, in->height))
                                    : picture_at(in, i, j, z, channel);
            sum += weight(fabs(u - i)) * weight(fabs(v - j)) * sample;
        }
    return sum;
}

static void grid_for(struct trial *trial, bool images, int width, int height)
{
    bool tiles = strcmp(trial->kernel, "enlarge_tile") == 0;
    size_t gx = images && !tiles ? 16 : 64, gy = tiles ? 1 : images ? 16 : 4;
    trial->group[0] = gx;
    trial->group[1] = gy;
    trial->grid[0] = ((size_t)width + gx - 1) / gx * gx;
    trial->grid[1] = ((size_t)height + gy - 1) / gy * gy;
    trial->group[2] = trial->grid[2] = 1;
}

struct surfaces {
    struct surface in, corners, out;
};

static void run_form(struct lab *lab, struct cell *cell, struct surfaces *on, cl_mem entries,
                     const struct expectation *expected)
{
    bool corners = form_of(expected->variant) == FROM_CORNERS, images = on->in.image;
    const struct surface *from = corners ? &on->corners : &on->in;
    char options[96];
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DCHANNELS=1 -DFACTOR=%d -DFILTER=%d%s%s", FACTOR,
             expected->variant % METHODS, images ? " -DIMAGES" : "", corners ? " -DCORNERS" : "");
    const struct argument sampling[] = {
        ARG_MEMORY(on->in.object), ARG_MEMORY(on->corners.object), ARG_MEMORY(entries),    ARG(on->in.width),
        ARG(on->in.height),        ARG(on->corners.width),         ARG(on->corners.height)};
    const struct argument enlarging[] = {
        ARG_MEMORY(from->object), ARG_MEMORY(on->out.object), ARG_MEMORY(entries), ARG(from->width),
        ARG(from->height),        ARG(on->out.width),         ARG(on->out.height)};
    struct trial trials[2] = {{.header = "pixels.h", .file = "enlarge.cl", .options = options, .count = 7},
                              {.header = "pixels.h", .file = "enlarge.cl", .options = options, .count = 7}};
    trials[0].kernel = "corners";
    trials[0].arguments = sampling;
    grid_for(&trials[0], images, on->corners.width, on->corners.height);
    trials[1].kernel = form_of(expected->variant) == BY_TILES ? "enlarge_tile" : "enlarge";
    trials[1].arguments = enlarging;
    grid_for(&trials[1], images, on->out.width, on->out.height);
    lab_try(lab, cell, corners ? trials : trials + 1, corners ? 2 : 1, &on->out, expected);
}

static double tolerance_of(int variant, bool images)
{
    if (images && (variant % METHODS != 2 || form_of(variant) == FROM_CORNERS))
        return HARDWARE;
    return variant % METHODS == 1 ? PLACED : EXACT;
}

static void try_form(struct lab *lab, int variant, bool images, const struct picture *in)
{
    const struct method *method = &methods[variant % METHODS];
    struct cell *cell = lab_cell(lab, table, method->names[form_of(variant)], images ? "image" : "array");
    struct picture between = {NULL, in->width + 1, in->height + 1, 1, 1};
    struct picture large = {NULL, FACTOR * in->width, FACTOR * in->height, 1, 1};
    struct surfaces on = {.in = {.object = NULL}};
    struct expectation expected = {interpolated, in, NULL, 0, variant, tolerance_of(variant, images)};
    const char *why = NULL;
    float entries[4 * ENTRIES];
    cl_int code;
    cell->size = in->width;
    cell_compare(cell, variant >= METHODS ? 0 : 1e-6 * method->then[images], SIZE_THEN);
    fill_table(method, entries);
    cl_mem memory = clCreateBuffer(lab->bench.device.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                   sizeof entries, entries, &code);
    bench_check_cl(code, "a table of weights");
    if (surface_make(lab, in, images, &on.in, &why) &&
        surface_make(lab, &between, images, &on.corners, &why) &&
        surface_make(lab, &large, images, &on.out, &why))
        run_form(lab, cell, &on, memory, &expected);
    else
        cell_skip(cell, why);
    surface_free(&on.in);
    surface_free(&on.corners);
    surface_free(&on.out);
    clReleaseMemObject(memory);
}

static enum status produce(struct run *run, const void *context, const struct value *in, struct value *out,
                           struct error *error)
{
    const struct step *step = &((const struct chain *)context)->steps[0];
    return step->stage->run(run, step->params, in, out, error);
}

static void try_climg(struct lab *lab, int variant, enum memory memory, const struct picture *in)
{
    struct chain chain = {.steps = NULL};
    struct error error = {.text = ""};
    struct value shapes[2] = {
        {.shape = {.kind = KIND_IMAGE, .width = in->width, .height = in->height, .channels = 1, .images = 1},
         .rows = rows_full(in->height)}};
    struct expectation expected = {interpolated, in, NULL, 0, variant, EXACT};
    struct cell *cell =
        lab_cell(lab, table, methods[variant].climg, memory == MEMORY_IMAGE ? "image" : "array");
    cell->size = in->width;
    bench_check(chain_add(&chain, stage_find("scale"), methods[variant].chain, &error), &error);
    shapes[1] = shapes[0];
    bench_check(
        chain.steps[0].stage->shape(chain.steps[0].params, &shapes[0].shape, &shapes[1].shape, &error),
        &error);
    shapes[1].rows = rows_full(shapes[1].shape.height);
    lab_try_production(lab, cell, memory, produce, &chain, shapes, &expected);
    chain_free(&chain);
}

void enlarge_experiments(struct lab *lab)
{
    int size = lab->size ? lab->size : SIZE_THEN;
    struct picture in = picture_noise(size, size, 1, 1);
    for (int variant = 0; variant < 3 * METHODS; variant++)
        for (int images = 1; images >= 0 && methods[variant % METHODS].names[form_of(variant)]; images--)
            try_form(lab, variant, images, &in);
    for (int variant = 0; variant < METHODS; variant++)
        for (int memory = MEMORY_IMAGE; memory >= MEMORY_BUFFER; memory--)
            try_climg(lab, variant, (enum memory)memory, &in);
    free(in.pixels);
}
