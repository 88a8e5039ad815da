/* A run: the device memory, launches and results that a stage's function `run` works with.
 *
 * A run belongs to one worker and is reused from page to page. Lifetimes:
 *
 *     output planes of a stage          until the pipeline releases them (value_release)
 *     scratch planes, counters          until the stage returns (run_end_stage)
 *     analysis results                  until the end of the page (run_free_analysis_results)
 *     results for messages and reports  until the next page (run_begin_page)
 *     noise held for the next frames    until the end of the file
 *     constants                         until run_free, or until newer ones replace them (device/planes.h)
 *     memory pools                      until run_free; unused memory until run_trim or run_clear
 *
 * The functions that stages call enqueue work and do not wait for it. A stage that needs counts on the host
 * waits in words_read (device/planes.h).
 *
 * Thread safety: a run belongs to its worker's thread. */
#ifndef CLIMG_ENGINE_RUN_H
#define CLIMG_ENGINE_RUN_H

#include "base/timing.h"
#include "device/launch.h"
#include "device/planes.h"
#include "device/staging.h"
#include "engine/stage.h"
#include "image/format.h"

/* Interleaved samples, as a file stores them, in device-accessible memory; see kernels/samples.h. */
struct raster {
    cl_mem memory;    /* belongs to a staging buffer */
    cl_int pitch;     /* pixels between rows, a multiple of PITCH_UNIT */
    cl_int first_row; /* row of the image at the start of the memory */
    cl_int rows;      /* for a group: rows from the start of an image to the start of the next */
    cl_int width;     /* for output: pixels per row */
    cl_mem clipped;   /* for output: clipping counters; may be NULL */
    size_t pixel;     /* bytes of a pixel */
    const struct conversion *conversion; /* parameters of the conversion to planes (engine/transfer.h) */
    int sample;                          /* enum sample_type of each sample */
    double black, white; /* sample values that become 0 and full scale in the chain; in units of
                          * sample_full_scale (1 for floats) */
};

/* Kernel arguments for a raster that the kernel reads, and for a raster that it writes. */
#define ARGS_READ_RASTER(raster)                                                                             \
    ARG_MEMORY((raster)->memory), ARG((raster)->pitch), ARG((raster)->first_row), ARG((raster)->rows)
#define ARGS_WRITE_RASTER(raster)                                                                            \
    ARGS_READ_RASTER(raster), ARG((raster)->width), ARG_MEMORY((raster)->clipped)

/* Returns the size in bytes of `rows` rows, including padding. */
size_t raster_bytes(const struct raster *raster, int rows);

/* Columns to copy: first one in the source, first one in the destination, number. An int4 in kernels. */
struct columns {
    cl_int from, to, count, unused;
};

/* An image or a pyramid on the device.
 *
 *     image     planes[0]                1 layer
 *     pyramid   planes[0]                1 layer, the lowpass
 *               planes[1 .. levels]      SUBBAND_LAYERS layers: 2b is the real part of subband b,
 *                                        2b + 1 the imaginary part
 *
 * A group uses buffers and has no alpha. Each layer contains the planes of all images, one image after the
 * other. */
struct value {
    struct shape shape;
    struct interval rows; /* rows that are present, or requested */
    struct planes planes[1 + MAX_LEVELS];
    bool opponent;               /* colours are luma and two differences: kernels/opponent.h */
    const struct raster *raster; /* samples that the stage reads or writes instead of planes; may be NULL */
};

enum {
    NOISE_LEVELS = 6, /* levels with an estimate, from the finest on */
    NOISE_TONES = 8   /* ranges of brightness with a factor of their own: TONES in kernels/tones.h */
};

/* Noise of one image. */
struct image_noise {
    /* sigma[level - 1][channel]: the standard deviation of white noise that is as strong as the image's noise
     * on this level; full scale is 1. Level 1 is the finest. Channels are opponent colours, or RGB if
     * is_separate. */
    float sigma[MAX_LEVELS][4];
    /* tones[k]: noise at brightness (k + 0.5) / NOISE_TONES, divided by `sigma`. All 0: it does not vary. */
    float tones[NOISE_TONES];
    bool is_found;    /* false: the image has no estimate, for example because all its pixels are equal */
    bool is_white;    /* the noise has the same strength on all levels */
    bool is_separate; /* channels are RGB, as their noise differs strongly; else opponent colours */
};

/* Maximum number of images in a group (chain/group.h). */
enum { GROUP_IMAGES = 32 };

/* Noise estimates of the images of a group, from the first stage that estimates noise. */
struct noise_estimates {
    struct shape shape; /* shape of the pyramid */
    int levels;         /* 0 means no estimate */
    struct image_noise images[GROUP_IMAGES];
};

/* Result of the page's first --align. */
struct alignment {
    struct affine affine; /* from output to input positions, in pixels, like --warp's matrix */
    double confidence;    /* 0 (nothing was found) to 1 */
    bool found;           /* the other fields are valid, also with a low confidence */
};

/* Result of a stage's analysis pass. Valid until the page is finished. */
struct analysis_result {
    const void *params;      /* parameters of the stage, which identify it */
    cl_mem words;            /* counters of the stage, on the device; may be NULL */
    struct planes planes[3]; /* planes of the stage; zeroed if unused */
    float numbers[8];        /* host data of the stage */
    struct image_noise noise;
};

enum { MAX_ANALYSIS_RESULTS = 8, MAX_HELD = 8, MAX_SCRATCH = 2 * MAX_LEVELS + 8 };

/* Noise that a stage found in a frame of a video, used for the following frames. */
struct held_noise {
    const void *params; /* parameters of the stage, which identify it */
    struct image_noise noise;
    bool is_old; /* will be replaced by the next frame that has an estimate */
};

/* Memory limits of a run. */
struct run_limits {
    uint64_t host;   /* bytes of host memory; 0 means no limit */
    uint64_t device; /* bytes of device memory */
    int slice;       /* maximum rows of a slice; 0 means no limit */
};

/* Memory of the stage that is being enqueued; released when it returns. */
struct stage_scratch {
    struct planes planes[MAX_SCRATCH];
    int count;
    cl_mem counters; /* may be NULL */
};

/* Results of a page or group, for messages and reports. */
struct page_results {
    const char *warning;    /* a string literal, from the first stage that warns; may be NULL */
    uint64_t warned_images; /* images of the group that caused the warning: bit i for image i */
    struct noise_estimates noise;
    struct alignment alignment;
    const void *missing_params;       /* parameters of the stage that counted missing values; may be NULL */
    uint64_t nonfinite[GROUP_IMAGES]; /* missing (NaN or infinite) values of each image of the group */
    int counted, counting;            /* end of the rows that it counted in earlier slices, and in this one */
    char text[1024];                  /* other findings for people, separated by "; "; may be empty */
};

/* Results of the analysis passes of a page. */
struct analysis_results {
    struct analysis_result items[MAX_ANALYSIS_RESULTS];
    int count;
};

/* Noise that is reused from frame to frame. */
struct frame_noises {
    bool hold; /* pages are frames of a video: hold noise estimates */
    struct held_noise noises[MAX_HELD];
    int count;
};

/* A worker's memory and state. See the top of this file. */
struct run {
    /* Set by the worker. */
    struct device *device; /* not owned */
    struct run_limits limits;
    enum memory memory; /* kind of memory for planes */
    enum edge edge;     /* --edge */
    int jobs;           /* host threads, including the calling one */
    bool is_merged;     /* the page will be merged with others (struct merge of stage.h) */
    size_t input;       /* if is_merged: index of the page's input in struct input_series */

    /* The second computation of --verify (chain/verify.h). */
    struct run *second;    /* computes parts of each page again; NULL: none */
    double verified_share; /* fraction of the output's rows that it computes, 0 to 1 */
    uint32_t random[2];    /* of the page: which rows these are */

    /* Memory that outlives a page. */
    struct pool pool;
    struct staging_pool stagings;
    struct constants constants;

    /* State of the page and the stage in progress. */
    bool prebuilt; /* the programs of the whole chain were compiled together, before the first page */
    struct stage_scratch scratch;
    struct page_results results;
    struct analysis_results analysis_results;
    struct frame_noises frames;
};

/* Initialises a run. The device must outlive it. */
void run_init(struct run *run, struct device *device, enum memory memory, enum edge edge);

/* Returns the timing of the device's event log; may be NULL. */
struct timing *run_timing(const struct run *run);

/* Frees all memory of the run. The device's queues must be empty. */
void run_free(struct run *run);

/* Frees pooled memory that the last page did not use, also of run->second. Call it between pages. */
void run_trim(struct run *run);

/* Frees all pooled memory that is not in use, also of run->second. Call it before work of another size, or
 * after out of memory. */
void run_clear(struct run *run);

/* Allocates planes of width x height pixels, of which `rows` are present, in the run's kind of memory. The
 * caller releases them (planes_release), or they become part of its output. */
enum status run_planes(struct run *run, int width, int height, struct interval rows, int layers, int channels,
                       struct planes *planes, struct error *error);

/* Allocates the output planes of an image stage for out's shape and rows. */
enum status run_output(struct run *run, struct value *out, struct error *error);

/* Allocates planes that the pipeline releases when the stage returns; at most MAX_SCRATCH for a stage. */
enum status run_scratch(struct run *run, int width, int height, struct interval rows, int layers,
                        int channels, struct planes *planes, struct error *error);

/* Allocates scratch planes with `rows` and otherwise the size and number of `like`. */
enum status run_scratch_like(struct run *run, const struct planes *like, struct interval rows,
                             struct planes *planes, struct error *error);

/* Releases scratch planes before the stage returns, so that it can use their memory again. */
void run_scratch_release(struct run *run, struct planes *planes);

/* Removes planes from the scratch planes, so that they are not released when the stage returns: they are now
 * planes of the output. */
void run_scratch_keep(struct run *run, const struct planes *planes);

/* True if the CPU variants of kernels are used: vectors along x, in buffers. */
bool run_is_cpu(const struct run *run);

/* Returns a launch of kernels/FILE.cl's KERNEL over all pixels of `planes`, with the run's kind of
 * memory and border rule. */
struct kernel_launch run_work(const struct run *run, const char *file, const char *kernel,
                              const struct planes *planes);

/* Returns a launch like run_work, with the launch configuration for the device. */
struct kernel_launch run_configured(const struct run *run, const char *file,
                                    const struct kernel_configs *kernel_configs, const struct planes *planes);

/* Returns the number of outputs per work-item: `outputs`, halved until local memory has room for `bytes` per
 * output, but at least 1. */
int run_fitting_outputs(const struct run *run, int outputs, size_t bytes);

/* Sets the grid of a kernel whose work-groups are rows of work-items that share local memory.
 *
 * Along x, `halo` work-items at each end of a group overlap the neighbouring groups. The inner work-items of
 * all groups cover `positions`, one position each. Along y, the grid covers `rows` rows; each work-item
 * computes work->config.outputs of them, and each of these outputs needs `output_bytes` bytes of local
 * memory. If local memory is too small, first the number of outputs is halved, then the size of the group.
 * Defines GROUP and OUTPUTS for the kernel.
 *
 *     group k      |halo|  inner items  |halo|
 *     group k + 1                 |halo|  inner items  |halo| */
void work_groups(const struct run *run, int halo, int positions, int rows, size_t output_bytes,
                 struct kernel_launch *work);

/* Copies `count` floats to the device, such as the weights of a filter. Arrays of equal content share one
 * memory object. *memory belongs to the run and is valid at least until the stage returns. On a dry-run
 * device it is NULL. */
enum status run_constants(struct run *run, const float *values, size_t count, cl_mem *memory,
                          struct error *error);

/* Allocates `count` 32-bit words on the device, all zero; NULL on a dry-run device. They are valid until the
 * stage returns. A stage may call this once for each slice. */
enum status run_counters(struct run *run, size_t count, cl_mem *memory, struct error *error);

/* Returns the noise that is held for the stage with these params, or NULL. */
const struct held_noise *run_held_noise(const struct run *run, const void *params);

/* Holds a copy of the noise for the following frames, if pages are frames of a video and the noise has an
 * estimate. Noise of more than MAX_HELD stages is not held. */
void run_hold_noise(struct run *run, const void *params, const struct image_noise *noise);

/* Marks held noise as old, so that the next frame with an estimate replaces it. */
void run_expire_noise(struct run *run);

/* Adds to the number of missing (NaN or infinite) values of an image of the group. Ignored if an earlier
 * stage has found some. */
void run_count_missing(struct run *run, const void *params, int image, uint64_t count);

/* Returns the first of `rows` whose missing values the stage has not counted in earlier slices: slices
 * overlap, and the analysis pass of a later stage repeats them. Call it before the stage counts `rows`.
 * `begins_slice`: false for all tiles of a slice but the first. */
int run_uncounted_row(struct run *run, const void *params, struct interval rows, bool begins_slice);

/* Adds a warning about an image of the group. `text` is a string literal. Ignored if the page already has
 * another warning. */
void run_warn(struct run *run, int image, const char *text);

/* Adds a finding to run->results.text, unless another slice or the analysis has added the same. */
void run_report(struct run *run, const char *text);

/* Clears the results of the previous page, and prepares run->second for the next one. */
void run_begin_page(struct run *run);

/* Returns the analysis result of the stage with these params, complete or in progress, or NULL. */
struct analysis_result *run_analysis_result(struct run *run, const void *params);

/* Adds an empty analysis result for the stage. Cannot fail, as a plan has at most MAX_ANALYSIS_RESULTS
 * passes. */
struct analysis_result *run_add_analysis_result(struct run *run, const void *params);

/* Frees all analysis results, also of run->second, at the end of a page. */
void run_free_analysis_results(struct run *run);

/* Stores the noise of a pyramid's images in run->results, unless an earlier stage has stored its noise. */
void run_report_noise(struct run *run, const struct shape *shape, const struct image_noise *images);

/* Adds the host's time from `since` (clock_seconds) until now to a phase of the timing. `what` is its name in
 * --trace. */
void run_add_host_time(struct run *run, enum phase phase, const char *what, double since);

/* Releases the scratch memory of a stage. Called by the pipeline. */
void run_end_stage(struct run *run);

/* Calls `function`, which has the signature of struct stage's `run`, with planes in buffers: for kernels
 * without a variant for images. If the run uses images, copies the input to buffers first, and afterwards
 * copies the output, if `function` allocated one, to images. */
enum status
run_in_buffers(struct run *run,
               enum status (*function)(struct run *run, const void *params, const struct value *in,
                                       struct value *out, struct error *error),
               const void *params, const struct value *in, struct value *out, struct error *error);

/* Returns the rows that are present. */
static inline struct interval planes_rows(const struct planes *planes)
{
    return (struct interval){planes->first_row, planes->first_row + planes->rows};
}

/* Returns the planes of an image. If it has a raster instead, returns their geometry without memory. */
struct planes value_planes(const struct value *image);

/* Release the planes of a value: all, or all but the planes that are also in `kept`. */
void value_release(struct run *run, struct value *value);
void value_release_except(struct run *run, struct value *value, const struct value *kept);

#endif
