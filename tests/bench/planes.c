/* Device time of the wavelet transform against the number of planes in one call: what a batch of images costs. Prints
 * one line of JSON for each count. */
#include "device/profile.h"
#include "filters/dtcwt.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 512, LEVELS = 4, RUNS = 40 };

static void check(enum status status, const struct error *error)
{
    if (status == STATUS_OK)
        return;
    fprintf(stderr, "planes: %s\n", error->text);
    exit(1);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds of all kernels since the last call. */
static double device_seconds(struct run *run, struct error *error)
{
    struct profile *profile = run->device->profile;
    double sum = 0;
    clFinish(run->device->queue);
    check(profile_collect(profile, profile_mark(profile), error), error);
    for (size_t i = 0; i < profile->sum_count; i++)
        sum += profile->sums[i].seconds;
    profile_free(profile);
    *profile = (struct profile){0};
    return sum;
}

static void measure(struct run *run, int planes, struct error *error)
{
    struct shape image = {.kind = KIND_IMAGE, .width = SIZE, .height = SIZE, .channels = planes};
    struct shape pyramid = image;
    pyramid.kind = KIND_PYRAMID;
    pyramid.levels = LEVELS;
    struct value in = {.shape = image, .rows = rows_all(SIZE)};
    double forward[RUNS], inverse[RUNS];
    check(run_output(run, &in, error), error);
    float *noise = calloc(1, planes_bytes(&in.planes[0]));
    check(planes_write(run->device, &in.planes[0], noise, error), error);
    free(noise);
    for (int i = -1; i < RUNS; i++) {
        struct value middle = {.shape = pyramid, .rows = rows_all(SIZE)}, out = {.shape = image, .rows = rows_all(SIZE)};
        struct dtcwt_rows rows;
        dtcwt_inverse_rows(&pyramid, middle.rows, &rows);
        dtcwt_forward_rows(&pyramid, &rows);
        check(dtcwt_forward(run, &in, &rows, &middle, error), error);
        double seconds = device_seconds(run, error);
        check(dtcwt_inverse(run, &middle, &out, error), error);
        run_end_stage(run);
        if (i >= 0) {
            forward[i] = seconds;
            inverse[i] = device_seconds(run, error);
        } else
            device_seconds(run, error);
        value_release(run, &middle);
        value_release(run, &out);
    }
    value_release(run, &in);
    qsort(forward, RUNS, sizeof *forward, compare);
    qsort(inverse, RUNS, sizeof *inverse, compare);
    printf("{\"planes\": %d, \"size\": %d, \"levels\": %d, \"forward_us\": %.1f, \"inverse_us\": %.1f}\n", planes, SIZE,
           LEVELS, 1e6 * forward[RUNS / 2], 1e6 * inverse[RUNS / 2]);
}

int main(void)
{
    static const int counts[] = {1, 1, 2, 4, 8, 16};
    struct error error = {""};
    struct device device = {0};
    struct profile profile = {0};
    struct run run;
    check(device_choose(getenv("CLIMG_DEVICE"), &device, &error), &error);
    check(device_open(&device, &error), &error);
    device.profile = &profile;
    run_init(&run, &device, MEMORY_BUFFER, EDGE_CLAMP);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        measure(&run, counts[i], &error);
    run_free(&run);
    profile_free(&profile);
    device_close(&device);
    return 0;
}
