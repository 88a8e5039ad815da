/* Two-dimensional convolution 16x16 in the steps of 2011: kernels/matrix.cl. */
#include "chain/chain.h"
#include "lab.h"

#include <stdlib.h>
#include <unistd.h>

enum { SIZE_THEN = 4096, SIZE_WIDE = 512, TAPS = 16, CENTRE = TAPS / 2, MARGIN = TAPS };

static const char *const table = "2-D convolution 16×16";
static const double TOLERANCE = 1e-5;

struct variant {
    const char *kernel, *options;
    int outputs; /* of a work-item, along x */
    int group[2];
    int tile;    /* floats of local memory along x for a group; 0: none */
    double then; /* ms */
};

struct improvement {
    const char *name;
    struct variant local, texture;
};

/* The figures of 2011 have one text for both naive columns, so the first step has no local memory in either.
 */
static const struct improvement improvements[] = {
    {"naive",
     {"matrix", "-DTAPS_SPACE=__global", 1, {64, 1}, 0, 1511},
     {"matrix", "-DTAPS_SPACE=__global", 1, {64, 1}, 0, 1511}},
    {"data reuse in 16×16 groups",
     {"matrix_tile", "-DTAPS_SPACE=__global", 1, {16, 16}, 16, 182},
     {"matrix", "-DTAPS_SPACE=__global", 1, {16, 16}, 0, 207}},
    {"constant taps",
     {"matrix_tile", "-DTAPS_SPACE=__constant", 1, {16, 16}, 16, 190},
     {"matrix", "-DTAPS_SPACE=__constant", 1, {16, 16}, 0, 160}},
    {"unrolled by 4, float4 input",
     {"matrix_four", "-DTAPS_SPACE=__global", 4, {16, 16}, 64, 90},
     {"matrix_four", "-DTAPS_SPACE=__global", 4, {16, 16}, 0, 130}},
    {"float4 taps",
     {"matrix_four", "-DTAPS_SPACE=__global -DVECTOR_TAPS", 4, {16, 16}, 64, 83},
     {"matrix_four", "-DTAPS_SPACE=__global -DVECTOR_TAPS", 4, {16, 16}, 0, 127}},
    {"constant float4 taps",
     {"matrix_four", "-DTAPS_SPACE=__constant -DVECTOR_TAPS", 4, {16, 16}, 64, 71},
     {"matrix_four", "-DTAPS_SPACE=__constant -DVECTOR_TAPS", 4, {16, 16}, 0, 93}},
    {"sizes as -D constants",
     {"matrix_four", "-DTAPS_SPACE=__constant -DVECTOR_TAPS -DTAPS_X=16 -DTAPS_Y=16", 4, {16, 16}, 64, 25},
     {"matrix_four", "-DTAPS_SPACE=__constant -DVECTOR_TAPS -DTAPS_X=16 -DTAPS_Y=16", 4, {16, 16}, 0, 63}},
};

static double convolved(const struct expectation *expected, int x, int y, int z, int channel)
{
    double sum = 0;
    for (int j = 0; j < TAPS; j++)
        for (int i = 0; i < TAPS; i++)
            sum += (double)expected->weights[j * TAPS + i] *
                   picture_at(expected->in, x + i - CENTRE, y + j - CENTRE, z, channel);
    return sum;
}

/* With a margin of clamped pixels, MARGIN more along both axes. */
static struct picture padded(const struct picture *in)
{
    struct picture wide = picture_noise(in->width + MARGIN, in->height + MARGIN, 1, 1);
    for (int y = 0; y < wide.height; y++)
        for (int x = 0; x < wide.width; x++)
            wide.pixels[(size_t)y * (size_t)wide.width + (size_t)x] =
                (float)picture_at(in, x - CENTRE, y - CENTRE, 0, 0);
    return wide;
}

static void run_form(struct lab *lab, struct cell *cell, const struct variant *form,
                     const struct surface *src, const struct surface *dst, cl_mem taps, int pitch,
                     const struct expectation *expected)
{
    char options[160];
    cl_int count = TAPS, floats = pitch, width = dst->width;
    size_t tile = sizeof(cl_float) * (size_t)(form->tile ? (form->tile + TAPS) * (form->group[1] + TAPS) : 4);
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DPITCH=%d %s%s", pitch, form->options,
             src->image ? " -DIMAGES" : "");
    const struct argument arguments[] = {ARG_MEMORY(src->object),
                                         ARG_MEMORY(dst->object),
                                         ARG_MEMORY(taps),
                                         {ARGUMENT_VALUE, tile, NULL},
                                         ARG(count),
                                         ARG(count),
                                         ARG(floats),
                                         ARG(width)};
    struct trial trial = {.file = "matrix.cl",
                          .kernel = form->kernel,
                          .options = options,
                          .grid = {(size_t)(dst->width / form->outputs), (size_t)dst->height, 1},
                          .group = {(size_t)form->group[0], (size_t)form->group[1], 1},
                          .arguments = arguments,
                          .count = sizeof arguments / sizeof *arguments};
    lab_try(lab, cell, &trial, 1, dst, expected);
}

static void try_form(struct lab *lab, const char *name, const struct variant *form, bool image,
                     const struct picture *wide, cl_mem taps, const struct expectation *expected)
{
    struct cell *cell = lab_cell(lab, table, name, image ? "texture" : "local memory");
    struct picture from = *wide, to = {NULL, expected->in->width, expected->in->height, 1, 1};
    struct surface src = {.object = NULL}, dst = {.object = NULL};
    const char *why = NULL;
    cell->size = expected->in->width;
    cell_compare(cell, 1e-3 * form->then, SIZE_THEN);
    if (image && form->outputs == 4) { /* four neighbours a texel */
        from.channels = 4;
        from.width /= 4;
    }
    if (surface_make(lab, &from, image, &src, &why) && surface_make(lab, &to, false, &dst, &why))
        run_form(lab, cell, form, &src, &dst, taps, wide->width, expected);
    else
        cell_skip(cell, why);
    surface_free(&src);
    surface_free(&dst);
}

static enum status produce(struct run *run, const void *context, const struct value *in, struct value *out,
                           struct error *error)
{
    const struct chain *chain = context;
    return chain->steps[0].stage->run(run, chain->steps[0].params, in, out, error);
}

/* --convolve reads its matrix from a file. */
static void write_matrix(const float *weights, char *path)
{
    int descriptor = mkstemp(path);
    if (descriptor < 0 || close(descriptor) != 0)
        bench_fail("%s: no temporary file could be made", path);
    FILE *file = bench_file(path, "w");
    for (int i = 0; i < TAPS * TAPS; i++)
        fprintf(file, "%.9g%c", (double)weights[i], i % TAPS == TAPS - 1 ? '\n' : ' ');
    fclose(file);
}

static void try_climg(struct lab *lab, const struct expectation *expected)
{
    const struct picture *in = expected->in;
    struct chain chain = {.steps = NULL};
    struct error error = {.text = ""};
    struct value shape = {
        .shape = {.kind = KIND_IMAGE, .width = in->width, .height = in->height, .channels = 1, .images = 1},
        .rows = rows_full(in->height)};
    const struct value shapes[2] = {shape, shape};
    char value[] = "@/tmp/climg-matrix-XXXXXX";
    write_matrix(expected->weights, value + 1);
    enum status status = chain_add(&chain, stage_find("convolve"), value, &error);
    if (status == STATUS_OK)
        status = chain_prepare(&chain, NULL, &error);
    unlink(value + 1);
    bench_check(status, &error);
    for (int memory = MEMORY_BUFFER; memory <= MEMORY_IMAGE; memory++) {
        struct cell *cell =
            lab_cell(lab, table, "climg --convolve", memory == MEMORY_IMAGE ? "texture" : "local memory");
        cell->size = in->width;
        lab_try_production(lab, cell, (enum memory)memory, produce, &chain, shapes, expected);
    }
    chain_free(&chain);
}

/* Random, so of full rank (a product of two vectors would be separable), with sum 1. */
static float *random_matrix(void)
{
    float *weights = bench_noise((size_t)TAPS * TAPS);
    double sum = 0;
    for (int i = 0; i < TAPS * TAPS; i++)
        sum += (double)weights[i];
    for (int i = 0; i < TAPS * TAPS; i++)
        weights[i] = (float)((double)weights[i] / sum);
    return weights;
}

void matrix_experiments(struct lab *lab)
{
    int preset = lab->bench.device.variant == VARIANT_CPU ? SIZE_WIDE : SIZE_THEN,
        size = lab->size ? lab->size : preset;
    struct picture in = picture_noise(size, size, 1, 1), wide = padded(&in);
    float *weights = random_matrix();
    struct expectation expected = {convolved, &in, weights, TAPS, 0, TOLERANCE};
    cl_int code;
    cl_mem taps = clCreateBuffer(lab->bench.device.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                 sizeof *weights * TAPS * TAPS, weights, &code);
    bench_check_cl(code, "weights");
    for (size_t i = 0; i < sizeof improvements / sizeof *improvements; i++) {
        try_form(lab, improvements[i].name, &improvements[i].local, false, &wide, taps, &expected);
        try_form(lab, improvements[i].name, &improvements[i].texture, true, &wide, taps, &expected);
    }
    try_climg(lab, &expected);
    clReleaseMemObject(taps);
    free(weights);
    free(wide.pixels);
    free(in.pixels);
}
