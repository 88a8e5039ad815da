/* Inputs and expected outputs of experiments_rows.c, and the variants that are not in kernels/. */
#include "chain/chain.h"
#include "experiments_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

enum {
    COLUMNS = SYSTEM_ROWS + 1,
    VALUES = 256,
    MARGIN = 64,               /* a multiple of the widest loads, and more than there are taps */
    FLUSH = 1u << 15 | 1u << 6 /* denormals as results and as operands are zero */
};

static const float FACTOR = 0.9f; /* of recurrence.cl */

static void prepare(struct material *material, struct picture truth, struct picture out, int value,
                    double (*at)(const struct expectation *, int, int, int, int))
{
    *material = (struct material){
        .in = truth, .more = {NULL, 1, 1, 1, 1}, .out = out, .truth = truth, .value = value};
    material->expected =
        (struct expectation){.at = at, .in = &material->truth, .taps = value, .variant = value};
}

static double dot_product(const struct expectation *expected, int x, int y, int z, int channel)
{
    double sum = 0;
    (void)x;
    for (int k = 0; k < expected->in->width; k++)
        sum += (double)expected->weights[k] * picture_at(expected->in, k, y, z, channel);
    return sum;
}

void prepare_vector(struct material *material, int value, int size)
{
    prepare(material, picture_noise(size, size, 1, 1), (struct picture){NULL, 1, size, 1, 1}, value,
            dot_product);
    material->more = picture_noise(size, 1, 1, 1);
    for (int i = 0; i < size; i++)
        material->more.pixels[i] -= 0.5f;
    material->expected.weights = material->more.pixels;
}

/* Unknown x of system y, by Gaussian elimination with pivots. */
static double solution(const struct expectation *expected, int x, int y, int z, int channel)
{
    double a[SYSTEM_ROWS][COLUMNS];
    for (int k = 0; k < SYSTEM_ROWS * COLUMNS; k++)
        a[k / COLUMNS][k % COLUMNS] = picture_at(expected->in, k, y, z, channel);
    for (int k = 0; k < SYSTEM_ROWS; k++) {
        int pivot = k;
        for (int i = k + 1; i < SYSTEM_ROWS; i++)
            pivot = fabs(a[i][k]) > fabs(a[pivot][k]) ? i : pivot;
        for (int j = 0; j < COLUMNS; j++) {
            double value = a[pivot][j];
            a[pivot][j] = a[k][j];
            a[k][j] = value;
        }
        for (int i = 0; i < SYSTEM_ROWS; i++)
            for (int j = COLUMNS - 1; j >= k && i != k; j--)
                a[i][j] -= a[i][k] / a[k][k] * a[k][j];
    }
    return a[x][SYSTEM_ROWS] / a[x][x];
}

/* Noise with a heavy diagonal, so that no pivots are needed; one system a row. */
void prepare_systems(struct material *material, int value, int size)
{
    const int count = size * size, entries = SYSTEM_ROWS * COLUMNS;
    prepare(material, picture_noise(entries, count, 1, 1), (struct picture){NULL, SYSTEM_ROWS, count, 1, 1},
            value, solution);
    for (int i = 0; i < count * SYSTEM_ROWS; i++)
        material->truth.pixels[i / SYSTEM_ROWS * entries + i % SYSTEM_ROWS * (COLUMNS + 1)] += SYSTEM_ROWS;
    material->more = (struct picture){NULL, entries, count, 1, 1};
}

static double itself(const struct expectation *expected, int x, int y, int z, int channel)
{
    return picture_at(expected->in, x, y, z, channel);
}

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void prepare_sorting(struct material *material, int value, int size)
{
    prepare(material, picture_noise(size, size, 1, 1), (struct picture){NULL, size, size, 1, 1}, value,
            itself);
    for (int i = 0; i < size * size; i++)
        material->in.pixels[i] = floorf(VALUES * material->in.pixels[i]);
    material->truth = picture_noise(size, size, 1, 1);
    memcpy(material->truth.pixels, material->in.pixels, sizeof(float) * (size_t)size * (size_t)size);
    for (int y = 0; y < size; y++)
        qsort(material->truth.pixels + (size_t)y * (size_t)size, (size_t)size, sizeof(float), compare);
}

static double recurrence(const struct expectation *expected, int x, int y, int z, int channel)
{
    double result = 0;
    for (int k = 0; k <= x; k++)
        result = (double)FACTOR * result + picture_at(expected->in, k, y, z, channel);
    return result;
}

void prepare_recurrence(struct material *material, int value, int size)
{
    prepare(material, picture_noise(size, size, 1, 1), (struct picture){NULL, size, size, 1, 1}, value,
            recurrence);
}

/* Each row begins with 2^-120, which forty steps make a denormal, and goes on in black; results are taken
 * times 2^120. */
void prepare_impulses(struct material *material, int value, int size)
{
    prepare_recurrence(material, value, size);
    material->in = picture_noise(size, size, 1, 1);
    for (int i = 0; i < size * size; i++) {
        material->truth.pixels[i] = i % size == 0;
        material->in.pixels[i] = i % size == 0 ? 0x1p-120f : 0.0f;
    }
}

static double convolved(const struct expectation *expected, int x, int y, int z, int channel)
{
    double sum = 0;
    for (int k = 0; k < expected->taps; k++)
        sum += (double)expected->weights[k] *
               picture_at(expected->in, x + k - expected->taps / 2, y, z, channel);
    return sum;
}

void prepare_taps(struct material *material, int value, int size)
{
    prepare(material, picture_noise(size, size, 1, 1), (struct picture){NULL, size, size, 1, 1}, value,
            convolved);
    material->in = picture_noise(size + MARGIN, size, 1, 1);
    for (int i = 0; i < (size + MARGIN) * size; i++)
        material->in.pixels[i] =
            (float)picture_at(&material->truth, i % (size + MARGIN) - value / 2, i / (size + MARGIN), 0, 0);
    material->more = picture_noise(value, 1, 1, 1);
    for (int k = 0; k < value; k++)
        material->more.pixels[k] *= 2.0f / (float)value;
    material->expected.weights = material->more.pixels;
}

/* About the middle of the picture. */
static void rotation(int degrees, int size, double matrix[6])
{
    const double angle = degrees * acos(-1) / 180, centre = (size - 1) / 2.0;
    const double c = degrees == 90 ? 0 : cos(angle), s = sin(angle);
    const double about[6] = {c, -s, centre * (1 - c + s), s, c, centre * (1 - s - c)};
    memcpy(matrix, about, sizeof about);
}

static double warped(const struct expectation *expected, int x, int y, int z, int channel)
{
    double m[6], sum = 0;
    rotation(expected->variant, expected->in->width, m);
    double u = m[0] * x + m[1] * y + m[2], v = m[3] * x + m[4] * y + m[5];
    int i = (int)floor(u), j = (int)floor(v);
    for (int below = 0; below < 2; below++)
        for (int beside = 0; beside < 2; beside++)
            sum += (1 - fabs(u - i - beside)) * (1 - fabs(v - j - below)) *
                   picture_at(expected->in, i + beside, j + below, z, channel);
    return sum;
}

void prepare_warp(struct material *material, int value, int size)
{
    double matrix[6];
    prepare(material, picture_noise(size, size, 1, 1), (struct picture){NULL, size, size, 1, 1}, value,
            warped);
    rotation(value, size, matrix);
    material->more = picture_noise(6, 1, 1, 1);
    for (int i = 0; i < 6; i++)
        material->more.pixels[i] = (float)matrix[i];
}

void host_multiply(const struct material *on)
{
    const int count = on->in.width;
    const float *by = on->more.pixels;
#pragma omp parallel for
    for (int y = 0; y < on->in.height; y++) {
        const float *row = on->in.pixels + (size_t)y * (size_t)count;
        float sum = 0;
        if (on->value == 1)
            for (int x = 0; x < count; x++)
                sum += row[x] * by[x];
        else
#pragma omp simd reduction(+ : sum)
            for (int x = 0; x < count; x++)
                sum += row[x] * by[x];
        on->out.pixels[y] = sum;
    }
}

/* Tap after tap over a row, which stays in the cache: compilers make vectors of that. */
void host_convolve(const struct material *on)
{
    const float *taps = on->more.pixels;
    const int width = on->out.width;
#pragma omp parallel for
    for (int y = 0; y < on->out.height; y++) {
        const float *restrict from = on->in.pixels + (size_t)y * (size_t)on->in.width;
        float *restrict to = on->out.pixels + (size_t)y * (size_t)width;
        for (int x = 0; x < width; x++)
            to[x] = taps[0] * from[x];
        for (int k = 1; k < on->value; k++)
            for (int x = 0; x < width; x++)
                to[x] += taps[k] * from[x + k];
    }
}

static unsigned flush_denormals(bool flush)
{
    unsigned before = 0;
#ifdef __SSE2__
    before = _mm_getcsr();
    _mm_setcsr(flush ? before | FLUSH : before & ~FLUSH);
#endif
    return before;
}

void host_follow(const struct material *on)
{
    const int width = on->out.width;
#pragma omp parallel
    {
        const unsigned before = flush_denormals(on->value != 0);
#pragma omp for
        for (int y = 0; y < on->out.height; y++) {
            const float *from = on->in.pixels + (size_t)y * (size_t)width;
            float *to = on->out.pixels + (size_t)y * (size_t)width, state = 0;
            for (int x = 0; x < width; x++) {
                state = FACTOR * state + from[x];
                to[x] = 0x1p120f * state;
            }
        }
        flush_denormals(before & FLUSH);
    }
}

enum status produce_taps(struct run *run, const void *context, const struct value *in, struct value *out,
                         struct error *error)
{
    const struct expectation *expected = context;
    const struct filter filter = {expected->weights, expected->taps, -(expected->taps / 2)};
    return produce_pass(run, &filter, false, in, out, error);
}

enum status produce_warp(struct run *run, const void *context, const struct value *in, struct value *out,
                         struct error *error)
{
    const struct expectation *expected = context;
    struct chain chain = {.steps = NULL};
    double m[6];
    char text[256];
    rotation(expected->variant, expected->in->width, m);
    snprintf(text, sizeof text, "%.17g %.17g %.17g %.17g %.17g %.17g,filter=bilinear,outside=edge", m[0],
             m[1], m[2], m[3], m[4], m[5]);
    enum status status = chain_add(&chain, stage_find("warp"), text, error);
    if (status == STATUS_OK)
        status = chain.steps[0].stage->run(run, chain.steps[0].params, in, out, error);
    chain_free(&chain);
    return status;
}
