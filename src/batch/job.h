/* A job is one input on its way to one output.
 *
 *     list ─▶ open: header, format, checks ─▶ plan ─▶ pages through the chain ─▶ result
 *
 * Thread safety: a job belongs to the worker that took it. */
#ifndef CLIMG_BATCH_JOB_H
#define CLIMG_BATCH_JOB_H

#include "batch/worker.h"
#include "chain/coefficients.h"
#include "chain/page.h"

#include <sys/stat.h>

struct job {
    /* Set by the list; the rest belongs to the worker that took the job. */
    char
        *name; /* path from the folder argument, or last part of a file argument: the same on every machine */
    char *input, *output;
    int problem;    /* errno of a failed stat of the input; else 0 */
    uint64_t bytes; /* size of the input; 0: unknown */
    dev_t device;   /* of the input, as is the inode; both 0: unknown */
    ino_t inode;
    size_t
        made_from;  /* length of the part of `output` that is the first folder created for the job; 0: none */
    bool is_single; /* the command's only file */
    bool is_duplicate; /* another job has the same input and output */

    struct stat before;          /* of the input, before it was opened; mode 0: stat failed */
    bool skipped;                /* an earlier run has done it */
    struct reader *reader;       /* at the next page; NULL: the job is not open */
    struct writer *writer;       /* opened with the first page's plan */
    const struct format *format; /* of the output */
    struct chain chain;          /* as it runs on this page */
    int orientation;     /* of TIFF, 2 to 8: `chain` begins with the stage that turns the page; else 0 */
    struct chain colour; /* of the colour of video */
    bool adapted;        /* `colour` is made: the first page of brightness has a plan */
    double low, high; /* with --range: the values that become 0 and full scale; for integers as fractions of
                         their full scale */
    enum sample_type samples; /* of the input, or of the image that a coefficient file was made from */
    bool copied;  /* nothing changes pixels or metadata, so the file is copied, not encoded again */
    bool rounded; /* some samples did not fit into 32-bit floats */
    struct coefficients *pyramid; /* the description of a coefficient file; else NULL */
    struct job *next;             /* deferred after this one */
    struct progress *progress;    /* may be NULL */
    double share;                 /* part of the job that is done, as the progress has it */
};

/* Returns the input's name for messages. */
const char *job_input_name(const struct job *job);

/* stat of the output; "-" is stdout. */
bool job_stat_output(const struct job *job, struct stat *there);

/* Frees what the list allocated. */
void job_free(struct job *job);

/* Fails if the list could not stat the input. */
enum status job_check(const struct job *job, struct error *error);

/* Checks that the output's name or --format names a format (or leaves it to the input) that holds --depth.
 * Opens nothing. */
enum status job_check_format(const struct job *job, const struct settings *settings, struct error *error);

/* The first of --quality, --subsampling and --compression that is given and that the format does not have;
 * NULL: none. */
const char *coding_option_without_use(const struct format *format, const struct settings *settings);

/* Makes the output's folders, opens the input, reads its header, and checks that the command can be done with
 * it. Needs no device. On failure nothing is open. */
enum status job_open(struct job *job, struct worker *worker, struct error *error);

/* Makes the chain for the reader's page, with the stage that turns it if the chain or --auto-orient wants
 * that. */
enum status job_resolve_chain(struct job *job, const struct worker *worker, struct error *error);

/* True if the page goes through a stage that is not --auto-orient's. */
bool job_has_stages(const struct job *job);

/* True if the output can have the input's coded pixels: both have the same lossy format, and no option asks
 * for another coding. */
bool job_keeps_coding(const struct job *job, const struct worker *worker);

/* Fails if the output cannot hold a second page. */
enum status job_check_more(const struct job *job, struct error *error);

/* True if the input is a single image in a regular file for the chain. From here on the job must be open. */
bool job_is_one_image(const struct job *job);

/* Return for the input's current page its shape, how its samples become values, its type of samples, and that
 * of the output. */
struct shape job_shape(const struct job *job);
struct conversion job_input_conversion(const struct job *job, const struct worker *worker);
enum sample_type job_input_type(const struct job *job);
enum sample_type job_output_type(const struct job *job, const struct worker *worker);

/* Makes the plan for that page, or for a group of `images` like it. The worker's device must be open. */
enum status job_plan(const struct job *job, struct worker *worker, int images, struct plan *plan,
                     struct error *error);

/* Makes the chain for the colour of a video, from the plan of its first page. */
enum status job_adapt_to_chroma(struct job *job, const struct worker *worker, const struct plan *plan,
                                struct error *error);

/* Begins an output of `pages` pages of one shape and type. */
enum status job_open_writer(struct job *job, const struct worker *worker, const struct shape *shape,
                            enum sample_type type, int pages, struct error *error);

/* Call it after the input was read to its end: fails if it was written to or replaced since job_open. */
enum status job_check_unchanged(const struct job *job, struct error *error);

/* Closes only the input, after its page was read. */
void job_close_input(struct job *job);

/* True if the job can start over after a failure: the input can be read again, and no output went to a pipe
 * or device. */
bool job_can_begin_again(const struct job *job);

/* Closes everything, so that the job can be opened again. What was not committed is removed. */
void job_close(struct job *job);

enum { WARNINGS_SIZE = 1024 };

/* The outcome of a job. Sizes are of the first page, pixels of all pages that were read. */
struct result {
    enum status status; /* STATUS_OK unless it failed */
    bool skipped;
    struct error error;
    int width, height, channels;
    int output_width, output_height, output_channels;
    int slice;  /* rows of a slice, if lower slices would take less memory; else 0 */
    int group;  /* images in its group; 1: it went alone */
    int frames; /* of video, that were read */
    uint64_t pixels, bytes_in, bytes_out;
    enum sample_type output_type;
    bool as_floats; /* samples became 32-bit floats on their way */
    struct clipping clipping;
    float noise[4][NOISE_LEVELS]; /* found on the first page, in 8-bit counts, by colour and level */
    int noise_count;              /* colours, alpha having none; 0: no stage looked for noise */
    int noise_levels;
    bool noise_separate;        /* of red, green and blue, not of opponent colours */
    struct alignment alignment; /* of the first page, as what else was found is */
    char found[160];
    char warnings[WARNINGS_SIZE]; /* lines, each once */
    struct times times;           /* the time spent on a group is shared equally */
    const char *device;           /* of the worker; NULL if it was not opened */
};

/* Prints a line for --verbose: "climg: INPUT: ...". */
void job_print(const struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a line to the warnings unless it is there already (from another page). */
void result_warn(struct result *result, const char *text);

/* Records the sizes of a page before it is converted; with --verbose prints what was decided. */
void result_note_page(const struct job *job, const struct worker *worker, const struct page *page,
                      struct result *result);

/* The same for a file that is copied. */
void result_note_copy(const struct job *job, const struct worker *worker, struct result *result);

/* Prints "about 1.3 of 255; by size of detail (2, 4 pixels): brightness 1.05 2.31; red - blue ..." into
 * `text`: the standard deviation of a sample, then that of white noise of the same strength by level, finest
 * first. */
enum { NOISE_TEXT_SIZE = 384 };
void result_noise_text(const struct result *result, char text[NOISE_TEXT_SIZE]);

/* Warns of values that stages left out, of a page or of an image of a group. */
void result_note_missing(const struct worker *worker, int image, struct result *result);

/* Records the noise that stages estimated, of a page, or of image `image` of a group. */
void result_note_noise(const struct job *job, const struct worker *worker, int image, struct result *result);

/* Record what other stages found, and where --align found the page, even if its confidence was too low. */
void result_note_found(const struct job *job, const struct worker *worker, struct result *result);
void result_note_alignment(const struct job *job, const struct worker *worker, struct result *result);

/* Closes the job and completes the result. The one place where a failure's message gets the file's name. */
void job_finish(struct job *job, const struct worker *worker, enum status status, struct result *result);

#endif
