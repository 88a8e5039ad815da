/* Device time of the wavelet transform against the number of planes in one call: what a batch of images
 * costs. Prints one line of JSON for each count. */
#include "bench.h"
#include "wavelet/dtcwt.h"

#include <stdlib.h>

enum { SIZE = 512, LEVELS = 4, RUNS = 40 };

static void measure(struct bench *bench, struct run *run, int planes, struct error *error)
{
    struct shape image = {.kind = KIND_IMAGE, .width = SIZE, .height = SIZE, .channels = 1, .images = planes};
    struct shape pyramid = image;
    pyramid.kind = KIND_PYRAMID;
    pyramid.levels = LEVELS;
    struct value in = {.shape = image, .rows = rows_full(SIZE)};
    double forward[RUNS], inverse[RUNS];
    bench_check(run_output(run, &in, error), error);
    float *noise = calloc(1, planes_bytes(&in.planes[0]));
    bench_write(run, &in.planes[0], noise);
    free(noise);
    for (int i = -1; i < RUNS; i++) {
        struct value middle = {.shape = pyramid, .rows = rows_full(SIZE)},
                     out = {.shape = image, .rows = rows_full(SIZE)};
        struct dtcwt_rows rows = {.positions = 0};
        dtcwt_inverse_rows(&pyramid, middle.rows, &rows);
        dtcwt_forward_rows(&pyramid, &rows);
        bench_check(dtcwt_forward(run, &in, &rows, &middle, error), error);
        double seconds = bench_kernel_seconds(bench);
        bench_check(dtcwt_inverse(run, NULL, &middle, &out, error), error);
        run_end_stage(run);
        if (i >= 0) {
            forward[i] = seconds;
            inverse[i] = bench_kernel_seconds(bench);
        } else
            bench_kernel_seconds(bench);
        value_release(run, &middle);
        value_release(run, &out);
    }
    value_release(run, &in);
    printf("{\"planes\": %d, \"size\": %d, \"levels\": %d, \"forward_us\": %.1f, \"inverse_us\": %.1f}\n",
           planes, SIZE, LEVELS, 1e6 * bench_median(forward, RUNS), 1e6 * bench_median(inverse, RUNS));
}

int main(void)
{
    static const int counts[] = {1, 1, 2, 4, 8, 16};
    struct error error = {.text = ""};
    struct bench bench;
    struct run run;
    bench_open(&bench);
    run_init(&run, &bench.device, MEMORY_BUFFER, EDGE_CLAMP);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        measure(&bench, &run, counts[i], &error);
    run_free(&run);
    bench_close(&bench);
    return 0;
}
