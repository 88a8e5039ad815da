/* What a stage works with while it runs: values, device memory, launches. */
#ifndef CLIMG_ENGINE_RUN_H
#define CLIMG_ENGINE_RUN_H

#include "base/timing.h"
#include "device/launch.h"
#include "device/planes.h"
#include "device/staging.h"
#include "engine/stage.h"
#include "image/format.h"

/* Samples as a file has them, interleaved, where kernels reach them: kernels/samples.h. */
struct raster {
    cl_mem memory;
    cl_int pitch;     /* pixels from row to row, a multiple of PITCH_UNIT */
    cl_int first_row; /* of the image, that the memory begins with */
    cl_int rows;      /* of a group: from one image's first row to the next one's */
    cl_int width;     /* where it is written: pixels of a row */
    cl_mem clipped;   /* and counters of values that samples cannot hold; NULL: nobody counts */
    size_t pixel;     /* bytes of one */
    const struct conversion *conversion; /* how they become values (chain/transfer.h), and who does it */
    const struct transfer *transfer;
    int sample;          /* their type, an enum sample_type */
    double black, white; /* the samples' values (sample_value) that are 0 and full scale in the chain */
};

#define ARGS_READ_RASTER(raster)                                                                             \
    ARG_MEMORY((raster)->memory), ARG((raster)->pitch), ARG((raster)->first_row), ARG((raster)->rows)
#define ARGS_RASTER(raster) ARGS_READ_RASTER(raster), ARG((raster)->width), ARG_MEMORY((raster)->clipped)

/* Bytes that so many rows of samples take. */
size_t raster_bytes(const struct raster *raster, int rows);

/* Columns that are copied: from which on, to which on, how many. An int4 of kernels. */
struct columns {
    cl_int from, to, count, unused;
};

/* Enqueues the samples' way to planes and back, for a stage that works in tiles (filters/tiles.h). */
struct transfer {
    /* The planes' first column is the raster's `column`. */
    enum status (*load)(struct run *run, const struct raster *raster, int column, const struct planes *planes,
                        struct error *error);
    enum status (*store)(struct run *run, const struct planes *planes, struct columns columns,
                         const struct raster *raster, struct error *error);
};

/* An image is planes[0], one layer. A pyramid is its lowpass in planes[0] and the subbands of level l in
 * planes[l]: layer 2b the real, 2b + 1 the imaginary part of subband b. In a group, which is in buffers and
 * has no alpha, each layer holds the planes of the first image, then those of the second, and so on. */
struct value {
    struct shape shape;
    struct rows rows; /* of the image: those wanted or held */
    struct planes planes[1 + MAX_LEVELS];
    bool opponent;               /* three colours are brightness and two differences: kernels/opponent.h */
    const struct raster *raster; /* where a stage reads or writes samples: in place of planes; else NULL */
};

/* The noise of one image: by level, from the finest on, and channel the standard deviation of white noise
 * that would be as strong, full scale being 1. */
struct image_noise {
    float sigma[MAX_LEVELS][4];
    float factor;     /* images are shrunk by so many times the noise; 0 means 1 */
    bool is_found;    /* false: the image says nothing of noise, as one of one colour */
    bool is_white;    /* as strong on all levels */
    bool is_separate; /* of red, green and blue, as their noise is very different; else of opponent colours */
};

enum { NOISE_LEVELS = 6, MAX_NOISES = 256 };

/* The noise that the first stage to look for it found, of the images of a group; of more none are kept. */
struct estimate {
    struct shape shape; /* of the pyramid in which it was found */
    int levels;         /* 0: no noise was found */
    struct image_noise images[MAX_NOISES];
};

/* The alignment that the page's first stage to look for it found. */
struct alignment {
    struct affine affine; /* as --warp takes it */
    double confidence;
    bool found; /* there is one, however sure */
};

/* What a stage's survey found, until the page is done. */
struct finding {
    const void *params;      /* the stage's */
    cl_mem words;            /* of the device, for the stage; NULL: none */
    struct planes planes[3]; /* for the stage; zeroed: none */
    float numbers[8];        /* for the stage, on the host */
    struct image_noise noise;
};

enum { MAX_FINDINGS = 8 };

/* The noise that a stage found in a frame of a video, for those that follow. */
struct held_noise {
    const void *params; /* the stage's */
    struct image_noise noise;
    bool is_old; /* the next frame that says something of noise replaces it */
};

enum { MAX_HELD = 8 };

enum { MAX_SCRATCH = 2 * MAX_LEVELS + 8 };

struct run {
    struct device *device;
    struct pool pool;
    struct staging_pool stagings;
    uint64_t memory_limit;  /* bytes of the host's memory; 0: none */
    bool memory_halved;     /* as much is --verify's */
    uint64_t device_memory; /* bytes of the device's memory that are this run's */
    bool foreseen;          /* the programs of the first page were built together */
    struct timing *timing;  /* of the file under way; NULL: nobody asks */
    int jobs;               /* threads of the host that work for it, the calling one too */
    int slice_limit;        /* rows that may go through a chain at once; 0: as many as suit */
    enum memory memory;
    enum edge edge;
    struct constants constants;
    struct planes scratch[MAX_SCRATCH]; /* of the stage under way */
    int scratch_count;
    struct estimate noise; /* of the page or group under way */
    bool holds;            /* the noise that is found is held: pages are frames */
    struct held_noise held[MAX_HELD];
    int held_count;
    struct alignment alignment;
    const void
        *missing_of; /* params of the stage that counted values which are NaN or infinite; NULL: none did */
    uint64_t missing[MAX_NOISES];          /* their number, for each image of a group */
    char found[160];                       /* what else the page's stages found, for people; "": nothing */
    cl_mem counters;                       /* of the stage under way; NULL: none */
    struct finding findings[MAX_FINDINGS]; /* of the page under way */
    int finding_count;
};

void run_init(struct run *run, struct device *device, enum memory memory, enum edge edge);
void run_free(struct run *run);

/* Between pages: gives memory back that the last one did not use. */
void run_trim(struct run *run);

/* Gives all memory back that is not in use. */
void run_clear(struct run *run);

/* Planes for a value that a stage gives: width x height, `rows` of it, on the run's memory kind. */
enum status run_planes(struct run *run, int width, int height, struct rows rows, int layers, int channels,
                       struct planes *planes, struct error *error);

/* The output planes of an image stage, as out's shape and rows say. */
enum status run_output(struct run *run, struct value *out, struct error *error);

/* Planes that live until the stage returns. */
enum status run_scratch(struct run *run, int width, int height, struct rows rows, int layers, int channels,
                        struct planes *planes, struct error *error);

/* Gives scratch planes back before the stage returns. */
void run_scratch_done(struct run *run, struct planes *planes);

/* Makes scratch planes part of the stage's output: they are no longer given back with the stage. */
void run_scratch_keep(struct run *run, const struct planes *planes);

/* Whether kernels have the form for CPU devices: vectors along x, in buffers. */
bool run_is_wide(const struct run *run);

/* The launch of kernels/FILE.cl's KERNEL over all pixels of `planes`, in the run's memory and by its border
 * rule. */
struct work run_work(const struct run *run, const char *file, const char *kernel,
                     const struct planes *planes);

/* The same of a kernel that has forms: in the one that is the fastest on the device, as far as it is known.
 */
struct work run_tuned(const struct run *run, const char *file, const struct tunable *tunable,
                      const struct planes *planes);

/* The outputs, halved until local memory holds so many bytes of a group for each: a form that was the fastest
 * for one chain may be too large for another. */
int run_fitting_outputs(const struct run *run, int outputs, size_t bytes);

/* For kernels whose groups are rows of items that share local memory. Makes a grid of groups over `items`
 * along x, in which `halo` items on either side of a group overlap with the next group, and over rows, of
 * which each item computes the form's outputs. An output takes `output` bytes of local memory: if they do not
 * fit, an item has fewer outputs, and then a group fewer items. Defines GROUP and OUTPUTS. */
void work_groups(const struct run *run, int halo, int items, int rows, size_t output, struct work *work);

/* Floats on the device, such as a filter's weights; equal contents share one object. They live until the
 * stage returns, and mostly longer. */
enum status run_constants(struct run *run, const float *values, size_t count, cl_mem *memory,
                          struct error *error);

/* The same as a filter's weights. */
enum status run_weights(struct run *run, const float *values, size_t count, struct weights *weights,
                        struct error *error);

/* `count` 32-bit words on the device, all zero, until the stage returns. */
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

/* What the survey of the stage with these params found, or is finding; NULL: there was none. */
struct finding *run_finding(struct run *run, const void *params);

/* An empty finding for that stage; there is room for it, as the plan has no more of them. */
struct finding *run_begin_finding(struct run *run, const void *params);

/* Gives back what surveys found. */
void run_end_findings(struct run *run);

/* Keeps the noise of the images of a pyramid of that shape as run->noise, if it is the first. */
void run_keep_noise(struct run *run, const struct shape *shape, const struct image_noise *images);

/* Since `since`, a time of clock_seconds, the host and not the device did that part for the stage. `what` is
 * what --trace calls it. */
void run_add_host_time(struct run *run, enum part part, const char *what, double since);

/* Gives the stage's scratch planes back; called by the engine. */
void run_end_stage(struct run *run);

/* An image's planes, or where it has a raster instead, what they would be. */
struct planes value_planes(const struct value *image);

/* Gives a value's planes back; those that `kept` has too stay. */
void value_release(struct run *run, struct value *value);
void value_release_except(struct run *run, struct value *value, const struct value *kept);

#endif
