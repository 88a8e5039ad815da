/* Shared by the benchmark programs: the device, times of events, the rate of a copy. All functions exit at
 * the first error. */
#ifndef CLIMG_BENCH_BENCH_H
#define CLIMG_BENCH_BENCH_H

#include "device/event_log.h"
#include "engine/run.h"

struct bench {
    struct environment environment;
    struct device device; /* CLIMG_DEVICE chooses it */
    struct event_log event_log;
    struct timing timing;
    cl_program copy; /* the kernel that bench_copy_seconds measures */
};

void bench_open(struct bench *bench);
/* Forgets what was measured. */
void bench_restart(struct bench *bench);

void bench_close(struct bench *bench);

/* Print what went wrong and exit; the checks unless nothing did. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void bench_check(enum status status, const struct error *error);
void bench_check_cl(cl_int code, const char *what);

/* Zeroed; there is always enough. */
void *bench_allocate(size_t count, size_t size) __attribute__((returns_nonnull));

/* Never NULL. */
FILE *bench_file(const char *path, const char *mode) __attribute__((returns_nonnull));

/* Keeps the device busy for a moment: a GPU that waited for the host has lowered its clocks. */
void bench_warm(struct bench *bench);

/* Returns the number of repetitions of a measurement that takes `seconds`: `most`, or fewer if it is slow. */
int bench_repeats(double seconds, int most);

double bench_median(double *values, int count);

/* Seconds of a finished command, which is released. */
double bench_event_seconds(cl_event event);

/* Seconds of all of climg's kernels since the last call; waits for them. */
double bench_kernel_seconds(struct bench *bench);

/* Median seconds of the fastest copy on the device that reads bytes / 2 and writes as many:
 * clEnqueueCopyBuffer, or a kernel of vectors. */
double bench_copy_seconds(struct bench *bench, size_t bytes);

/* Noise from 0 to 1, the same in every process. */
float *bench_noise(size_t count);

/* Puts all bytes of planes (planes_bytes) there, in the device's order, and waits. */
void bench_write(struct run *run, const struct planes *planes, const float *host);

/* Planes of the run's memory kind that hold `pixels` (layers images of height rows of width interleaved
 * pixels), and back. */
void bench_upload(struct run *run, const float *pixels, int width, int height, int channels, int layers,
                  struct planes *planes);
float *bench_download(struct run *run, const struct planes *planes);

#endif
