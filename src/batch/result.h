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
    float sigma[4][NOISE_LEVELS]; /* standard deviation in 8-bit counts, by colour and level */
    int count;                    /* number of colours, without alpha; 0: no stage looked for noise */
    int levels;
    bool is_separate; /* of red, green and blue, not of opponent colours */
};

/* The outcome of a job. */
struct result {
    enum status status; /* STATUS_OK unless it failed */
    struct error error; /* valid after a failure */
    bool skipped;       /* an earlier run has done it */

    /* The first page; zero if none was read. */
    int width, height, channels;
    int output_width, output_height, output_channels;

    /* All pages. */
    uint64_t pixels;              /* of the inputs */
    uint64_t bytes_in, bytes_out; /* sizes of the files; 0: unknown */
    int frames;                   /* of video, that were read */
    enum sample_type output_type;
    bool as_floats; /* samples became 32-bit floats on their way */
    struct clipping clipping;
    char warnings[WARNINGS_SIZE]; /* lines, each once */

    /* Findings of stages on the first page. */
    struct noise_summary noise;
    struct alignment alignment;
    char found[160]; /* any other finding, printable; may be empty */

    /* The way it was done. */
    int slice;          /* rows of a slice, if lower slices would take less memory; else 0 */
    int group;          /* number of images in its group; 1: it went alone */
    struct times times; /* the time spent on a group is divided equally */
    const char *device; /* name of the worker's device; NULL if it was not opened */
};

/* Prints a line for --verbose: "climg: INPUT: ...". */
void job_print(const struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a line to the warnings unless another page has added it. An empty text is ignored. */
void result_warn(struct result *result, const char *text);

/* Records the sizes of a page before it is converted, and its warnings. With --verbose prints them. */
void result_note_page(const struct job *job, const struct worker *worker, const struct page *page,
                      struct result *result);

/* The same for a file that is copied. */
void result_note_copy(const struct job *job, const struct worker *worker, struct result *result);

/* Records the warnings of the input's data after the pixels. With --verbose prints the metadata in it, which
 * is left out. */
void result_note_trailing(const struct job *job, const struct worker *worker, struct result *result);

/* Writes "about 1.3 of 255; by size of detail (2, 4 pixels), as the sigma of white noise that is as strong
 * there: brightness 1.05 2.31; ..." to `text`: the standard deviation of a sample, and for each level, finest
 * first, the standard deviation of white noise that has the same energy at this level. In counts of 255. */
enum { NOISE_TEXT_SIZE = 448 };
void noise_text(const struct noise_summary *noise, char text[NOISE_TEXT_SIZE]);

/* Adds the warnings of stages (run_warn), and one of NaN and infinite values that they left out: of a page,
 * or of image `image` of a group. */
void result_note_missing(const struct worker *worker, int image, struct result *result);

/* Records the noise that a stage estimated: of a page, or of image `image` of a group. With --verbose prints
 * it. */
void result_note_noise(const struct job *job, const struct worker *worker, int image, struct result *result);

/* Record the findings of other stages, and of --align, even if its confidence was too low. With --verbose
 * print them. */
void result_note_found(const struct job *job, const struct worker *worker, struct result *result);
void result_note_alignment(const struct job *job, const struct worker *worker, struct result *result);

/* Closes the job and completes the result: sizes of files, warnings of all pages, and the file's name in
 * front of a failure's message. */
void job_finish(struct job *job, const struct worker *worker, enum status status, struct result *result);

#endif
