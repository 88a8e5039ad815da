/* Runs: what stages work with: values, device memory, launches, and the results for people.
 *
 * A value's planes belong to the stage that allocated them until the pipeline releases them; scratch planes
 * are released when the stage returns. Everything is enqueued; only words_read with `wait` waits.
 *
 * Thread safety: a run belongs to one worker's thread. */
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
    cl_mem memory;
    cl_int pitch;                        /* pixels from row to row, a multiple of PITCH_UNIT */
    cl_int first_row;                    /* row of the image at the start of the memory */
    cl_int rows;                         /* in a group: rows from the start of one image to the next */
    cl_int width;                        /* for output: pixels of a row */
    cl_mem clipped;                      /* for output: clipping counters; may be NULL */
    size_t pixel;                        /* bytes of one */
    const struct conversion *conversion; /* conversion to values (chain/transfer.h), and its functions */
    const struct transfer *transfer;
    int sample;          /* their type, an enum sample_type */
    double black, white; /* sample values that become 0 and full scale in the chain */
};

#define ARGS_READ_RASTER(raster)                                                                             \
    ARG_MEMORY((raster)->memory), ARG((raster)->pitch), ARG((raster)->first_row), ARG((raster)->rows)
#define ARGS_RASTER(raster) ARGS_READ_RASTER(raster), ARG((raster)->width), ARG_MEMORY((raster)->clipped)

/* Returns the bytes of that number of rows. */
size_t raster_bytes(const struct raster *raster, int rows);

/* Columns to copy: source, destination and number. An int4 in kernels. */
struct columns {
    cl_int from, to, count, unused;
};

/* Enqueues conversion of samples to planes and back, for a stage that works in tiles (filters/tiles.h). */
struct transfer {
    /* The planes' first column is the raster's `column`. */
    enum status (*load)(struct run *run, const struct raster *raster, int column, const struct planes *planes,
                        struct error *error);
    enum status (*store)(struct run *run, const struct planes *planes, struct columns columns,
                         const struct raster *raster, struct error *error);
};

/* An image or pyramid on the device. An image is planes[0], one layer. A pyramid is its lowpass in planes[0]
 * and the subbands of level l in planes[l]: layer 2b the real, 2b + 1 the imaginary part of subband b. In a
 * group, which is in buffers and has no alpha, each layer holds the planes of the first image, then those of
 * the second, and so on. */
struct value {
    struct shape shape;
    struct rows rows; /* rows of the image: requested or present */
    struct planes planes[1 + MAX_LEVELS];
    bool opponent;               /* three colours are brightness and two differences: kernels/opponent.h */
    const struct raster *raster; /* samples that a stage reads or writes instead of planes; may be NULL */
};

/* The noise of one image, full scale 1: by level, finest first, and channel the standard deviation of white
 * noise of the same strength. */
struct image_noise {
    float sigma[MAX_LEVELS][4];
    float factor;     /* coefficients are shrunk by this multiple of the noise; 0 means 1 */
    bool is_found;    /* false: the image gives no estimate, for example because it has one colour */
    bool is_white;    /* equally strong on all levels */
    bool is_separate; /* channels are red, green and blue, whose noise is very different; else opponent
                         colours */
};

enum { NOISE_LEVELS = 6, MAX_NOISES = 256 };

/* Noise estimates of the first stage that makes them, for the images of a group. */
struct estimate {
    struct shape shape; /* of the pyramid */
    int levels;         /* 0: no estimate */
    struct image_noise images[MAX_NOISES];
};

/* The alignment found by the first --align of a page. */
struct alignment {
    struct affine affine; /* as --warp takes it */
    double confidence;
    bool found; /* valid, whatever the confidence */
};

/* Result of a stage's analysis pass, valid until the page is done. */
struct analysis_result {
    const void *params;      /* the stage's */
    cl_mem words;            /* of the device, for the stage; NULL: none */
    struct planes planes[3]; /* for the stage; zeroed: none */
    float numbers[8];        /* for the stage, on the host */
    struct image_noise noise;
};

enum { MAX_ANALYSIS_RESULTS = 8, MAX_HELD = 8, MAX_SCRATCH = 2 * MAX_LEVELS + 8 };

/* The noise that a stage found in a frame of a video, for the frames that follow. */
struct held_noise {
    const void *params; /* identify the stage */
    struct image_noise noise;
    bool is_old; /* the next frame with an estimate replaces it */
};

/* Memory that a run may use. */
struct run_limits {
    uint64_t host;    /* bytes of the host's memory; 0: no limit */
    bool host_halved; /* --verify uses as much */
    uint64_t device;  /* bytes of the device's memory */
    int slice;        /* rows of a slice; 0: no limit */
};

/* Memory of the stage that is being enqueued. */
struct stage_scratch {
    struct planes planes[MAX_SCRATCH];
    int count;
    cl_mem counters; /* may be NULL */
};

/* Results of the stages of a page or group, for people and reports. */
struct page_results {
    struct estimate noise;
    struct alignment alignment;
    const void
        *missing_of; /* params of the stage that counted values which are NaN or infinite; may be NULL */
    uint64_t missing[MAX_NOISES]; /* their number, for each image of a group */
    char text[160];               /* any other result; may be empty */
};

/* Results of the analysis passes of a page. */
struct analysis_results {
    struct analysis_result items[MAX_ANALYSIS_RESULTS];
    int count;
};

/* Noise that is kept from frame to frame. */
struct frame_noises {
    bool hold; /* pages are frames: keep the noise that is found */
    struct held_noise noises[MAX_HELD];
    int count;
};

/* Everything that stages work with. A run belongs to one worker's thread. */
struct run {
    /* Set by the worker. */
    struct device *device;
    struct run_limits limits;
    enum memory memory;
    enum edge edge;
    int jobs;              /* host threads that work for it, including the calling one */
    struct timing *timing; /* may be NULL */

    /* Memory that is reused. */
    struct pool pool;
    struct staging_pool stagings;
    struct constants constants;

    /* State of the page and the stage in progress. */
    bool prebuilt; /* the programs of the first page were compiled together */
    struct stage_scratch scratch;
    struct page_results results;
    struct analysis_results analysis_results;
    struct frame_noises frames;
};

void run_init(struct run *run, struct device *device, enum memory memory, enum edge edge);
void run_free(struct run *run);

/* Frees memory that the last page did not use. Call between pages. */
void run_trim(struct run *run);

/* Frees all unused memory. */
void run_clear(struct run *run);

/* Allocates planes for the output of a stage: `rows` of width x height pixels in the run's kind of memory. */
enum status run_planes(struct run *run, int width, int height, struct rows rows, int layers, int channels,
                       struct planes *planes, struct error *error);

/* Allocates the output planes of an image stage for out's shape and rows. */
enum status run_output(struct run *run, struct value *out, struct error *error);

/* Allocates planes that are released when the stage returns. */
enum status run_scratch(struct run *run, int width, int height, struct rows rows, int layers, int channels,
                        struct planes *planes, struct error *error);

/* Releases scratch planes before the stage returns. */
void run_scratch_done(struct run *run, struct planes *planes);

/* Makes scratch planes part of the output: they are not released with the stage. */
void run_scratch_keep(struct run *run, const struct planes *planes);

/* True if the CPU kernel variants are used: vectors along x, in buffers. */
bool run_is_cpu(const struct run *run);

/* Returns the launch of KERNEL of kernels/FILE.cl over all pixels of `planes`, with the run's kind of memory
 * and border rule. */
struct work run_work(const struct run *run, const char *file, const char *kernel,
                     const struct planes *planes);

/* Like run_work for a kernel with several launch configurations: takes the one for the device. */
struct work run_configured(const struct run *run, const char *file,
                           const struct kernel_configs *kernel_configs, const struct planes *planes);

/* Halves the outputs of a work-item until local memory holds that number of bytes for each. */
int run_fitting_outputs(const struct run *run, int outputs, size_t bytes);

/* For kernels whose groups are rows of items that share local memory. Makes a grid of groups over `items`
 * along x, in which `halo` items on either side of a group overlap with the next group, and over rows, of
 * which each item computes the form's outputs. An output takes `output` bytes of local memory: if they do not
 * fit, an item has fewer outputs, and then a group fewer items. Defines GROUP and OUTPUTS. */
void work_groups(const struct run *run, int halo, int items, int rows, size_t output, struct work *work);

/* Copies floats to the device, such as the weights of a filter; equal contents share one object. Valid until
 * the stage returns, and mostly longer. */
enum status run_constants(struct run *run, const float *values, size_t count, cl_mem *memory,
                          struct error *error);

/* Copies the weights of a filter to the device. */
enum status run_weights(struct run *run, const float *values, size_t count, struct weights *weights,
                        struct error *error);

/* Allocates `count` 32-bit words on the device, all zero, valid until the stage returns. */
enum status run_counters(struct run *run, size_t count, cl_mem *memory, struct error *error);

/* The noise that is held for the stage with these params; NULL: none. */
const struct held_noise *run_held_noise(const struct run *run, const void *params);

/* Holds the noise that was just found, if pages are frames and it says something. */
void run_hold_noise(struct run *run, const void *params, const struct image_noise *noise);

/* The stages find their noise anew, in the next frame that says something of it. */
void run_age_noise(struct run *run);

/* Forgets all noise. */
void run_drop_noise(struct run *run);

/* Adds values of an image that are NaN or infinite, if no other stage has counted any. */
void run_count_missing(struct run *run, const void *params, int image, uint64_t count);

/* Forgets what stages said of the page before. */
void run_begin_page(struct run *run);

/* Returns the result of the analysis pass of the stage with these params, complete or in progress, or NULL.
 */
struct analysis_result *run_analysis_result(struct run *run, const void *params);

/* Adds an empty result for that stage. There is room: the plan has no more than MAX_ANALYSIS_RESULTS. */
struct analysis_result *run_begin_analysis_result(struct run *run, const void *params);

/* Frees the results of analysis passes. */
void run_end_analysis_results(struct run *run);

/* Keeps the noise of the images of a pyramid of that shape as run->results.noise, if it is the first. */
void run_keep_noise(struct run *run, const struct shape *shape, const struct image_noise *images);

/* Adds the time since `since` (clock_seconds) to a part of the timing: host work for the stage. `what` is its
 * name in
 * --trace. */
void run_add_host_time(struct run *run, enum part part, const char *what, double since);

/* Releases the scratch memory of a stage. Called by the pipeline. */
void run_end_stage(struct run *run);

/* Returns the planes of an image, or, if it has a raster, their description without memory. */
struct planes value_planes(const struct value *image);

/* Release the planes of a value; planes that are also in `kept` stay. */
void value_release(struct run *run, struct value *value);
void value_release_except(struct run *run, struct value *value, const struct value *kept);

#endif
