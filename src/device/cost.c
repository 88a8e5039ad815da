/* The cost model of --device auto: a start, time per sample, and time per byte, by class of device.
 * docs/performance.md compares its choices with measured times. */
#include "device/cost.h"

#include <math.h>

/* Measured with 4096² RGB on 16 cores (PoCL 5.0) and an H200 with PCI Express. For GPUs with their own memory
 * a compute unit is half as fast as the H200's, since most have less memory bandwidth per unit. GPUs that
 * share the host's memory are estimated: 24 units with 40 GB/s in total, and no transfer. */
static const struct {
    double start;       /* seconds to start the driver and to close it at the end */
    double unit_sample; /* seconds of one compute unit for one sample of --blur 2 */
    double byte;        /* seconds to transfer a byte between host and device */
} table[] = {
    [COST_CPU] = {0.05, 5.4e-9, 0},
    [COST_GPU] = {0.35, 1e-9, 1 / 12e9},
    [COST_GPU_SHARED] = {0.35, 5e-9, 0},
};

/* Seconds to read or write a byte of a file: 20000² RGB TIFF takes 0.5 s on 16 cores. */
static const double FILE_BYTE = 0.2e-9;

/* Conversion between samples and floats takes half the time of --blur 2. On a CPU device, kernels and codecs
 * use the same processors, so their times add up. A GPU computes while files are read and written. */
double cost_total(enum cost_class class, unsigned units, const struct workload *work)
{
    const double samples = work->stage_samples + work->file_samples / 2;
    const double device =
        samples * table[class].unit_sample / fmax(units, 1) + work->file_bytes * table[class].byte;
    const double files = work->file_bytes * FILE_BYTE;
    return table[class].start + (class == COST_CPU ? device + files : fmax(device, files));
}

bool cost_is_below_gpu_start(unsigned processors, const struct workload *work)
{
    return cost_total(COST_CPU, processors, work) < table[COST_GPU].start;
}
