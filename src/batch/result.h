/* The result of a job: filled in while the job runs, completed by job_finish, printed and counted by
 * results_add (report.h).
 *
 * Thread safety: a result belongs to the worker that runs the job. */
#ifndef CLIMG_BATCH_RESULT_H
#define CLIMG_BATCH_RESULT_H

#include "batch/job.h"

enum { WARNINGS_SIZE = 1024 }; /* bytes; further warnings are cut off */

/* Noise that a stage estimated. */
struct noise_summary {
    float sigma[4][NOISE_LEVELS]; /* [colour][level - 1]: standard deviation of white noise that has the
                                   * noise's energy on that level; 255 is full scale */
    int count;                    /* number of colours, without alpha; 0: no stage looked for noise */
    int levels;
    bool is_separate; /* colours are red, green and blue; otherwise opponent colours */
};

/* The outcome of a job. */
struct result {
    enum status status; /* STATUS_OK unless it failed */
    struct error error; /* valid after a failure */
    bool skipped;       /* an earlier run has done the job */

    /* The first page; zero if none was read. */
    int width, height, channels;
    int output_width, output_height, output_channels;

    /* All pages. */
    uint64_t pixels;              /* of the inputs */
    uint64_t bytes_in, bytes_out; /* sizes of the files; 0: unknown */
    int frames;                   /* number of frames of video that were read */
    enum sample_type output_type;
    bool as_floats; /* samples of 4 bytes were converted to floats in between */
    struct clipping clipping;
    bool conversion_clips;        /* the sample types of a page make clipping possible, even without stages */
    char warnings[WARNINGS_SIZE]; /* one in each line, without repetitions */
    char depth_warning[160];      /* one of them: printed only once for all files; may be empty */

    /* Findings of stages on the first page. */
    struct noise_summary noise;
    struct alignment alignment;
    char found[1024]; /* other findings, for people; may be empty */

    /* Details of the run. */
    int slice;          /* rows of a slice of the last page; 0 if lower slices would not need less memory */
    int group;          /* number of images in the job's group; 1: it was done alone */
    struct times times; /* with an equal share of the time spent on the group */
    const char *device; /* name of the worker's device; NULL if it was not opened */
};

/* Prints a line for --verbose: "climg: INPUT: ...". */
void job_print(const struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a line to the warnings, unless it is there or empty. */
void result_warn(struct result *result, const char *text);

/* Records the sizes and the warnings of a page, before it is converted. With --verbose prints how it will be
 * converted. */
void result_note_page(const struct job *job, const struct worker *worker, const struct page *page,
                      struct result *result);

/* Records the sizes of a file that is copied. With --verbose prints them. */
void result_note_copy(const struct job *job, const struct worker *worker, struct result *result);

/* Records warnings of data after the page's pixels. With --verbose prints which metadata is left out. */
void result_note_trailing(const struct job *job, const struct worker *worker, struct result *result);

/* Describes noise in `text`: "about 1.3 of 255 on average; by size of detail (2, 4 pixels), each as the sigma
 * of equally strong white noise: brightness 1.05 2.31; ...". The first number is the standard deviation of a
 * sample. The others are `sigma`, from the finest level on. `after_colon` and `between` are the separators,
 * above " " and "; ". */
enum { NOISE_TEXT_SIZE = 448 };
void noise_text(const struct noise_summary *noise, const char *after_colon, const char *between,
                char text[NOISE_TEXT_SIZE]);

/* Adds the warnings of stages (run_warn), and one of the NaN and infinite values that they left out. `image`
 * is the index in a group, otherwise 0. */
void result_note_warnings(const struct worker *worker, int image, struct result *result);

/* Records the noise that a stage estimated in the page or the group's image. With --verbose prints it. */
void result_note_noise(const struct job *job, const struct worker *worker, int image, struct result *result);

/* Records the findings of other stages and the map of --align, also after a failure, such as a confidence
 * that is too low. With --verbose prints them. */
void result_note_found(const struct job *job, const struct worker *worker, struct result *result);

/* Closes the job and completes the result: status, sizes of files, warnings of clipping, and the input's name
 * before the message of a failure. */
void job_finish(struct job *job, const struct worker *worker, enum status status, struct result *result);

#endif
