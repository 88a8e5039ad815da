/* A job is one input on its way to one output.
 *
 *     list ─▶ job_open: header, format, checks ─▶ job_plan ─▶ pages through the chain ─▶ job_finish: result
 *
 * A job owns its reader, writer and chains while it is open. job_close frees them; then it can be opened
 * again. The list owns the jobs. Thread safety: a job belongs to the worker that took it; before, no thread
 * changes it. Fields that are constant, or protected by a lock, are marked. */
#ifndef CLIMG_BATCH_JOB_H
#define CLIMG_BATCH_JOB_H

#include "batch/worker.h"
#include "chain/coefficients.h"
#include "chain/page.h"
#include "chain/planner.h"

#include <sys/stat.h>

struct result;
struct stack;

/* A picture of a stack that is not merged yet (batch/stack.h). */
struct stack_picture {
    struct image_info info; /* owns its metadata */
    bool stays_in_file;     /* `samples` is NULL, and the merge reads the rows later */
    unsigned char *samples; /* rows without padding, from allocate_pages; owned */
    size_t size;            /* of `samples` in bytes */
    uint32_t next_row;      /* number of rows that are filled */
    struct run *run;        /* of the job's worker */
};

struct job {
    /* Set by the list, then constant. */
    char *name;         /* path from the folder argument, or last part of a file argument: the same on every
                         * machine */
    char *input;        /* path; "-" is stdin */
    char *output;       /* path; "-" is stdout */
    int stat_errno;     /* errno of a failed stat of the input, or of a failed opendir; else 0 */
    uint64_t bytes;     /* size of the input; 0: unknown, as for a pipe */
    dev_t input_device; /* st_dev and st_ino of the input; both 0: unknown */
    ino_t input_inode;
    bool is_single;    /* `several` of the list is false */
    bool is_duplicate; /* another job has the same input and output */

    /* Set by stack_make, then constant. */
    const struct step *merge_step; /* the step that merges the pictures of all jobs; NULL without a stack */
    struct stack *stack;           /* NULL without one */
    size_t index;                  /* number of the input in the command */
    bool is_stack_result;          /* the job is not an input but the result: its reader is the merge */

    /* The outcome so far. */
    size_t created_length;  /* length of the path of the first folder created for `output`; 0: none */
    struct stat input_stat; /* from before the input was opened; st_mode 0: stat failed */
    bool skipped;           /* an earlier run has done the job (--resume) */
    bool is_expected_done;  /* probably skipped, so it is not in pending_bytes; protected by progress.lock */
    bool rounded;           /* some samples did not fit into 32-bit floats */
    bool has_result;        /* results_add has counted the job */

    /* Valid while the job is open. */
    struct reader *reader;        /* at the next page; NULL: the job is not open */
    struct writer *writer;        /* NULL before the first page has a plan */
    const struct format *format;  /* of the output */
    bool is_copied;               /* nothing changes pixels or metadata: the file is copied byte by byte */
    struct chain chain;           /* for the current page */
    int orientation;              /* TIFF's, 2 to 8, if `chain` has the stage that turns the page; else 0 */
    char measured[160];           /* what job_measure found, for people; may be empty */
    struct chain chroma_chain;    /* for the chroma planes of video; made with the plan of the first page */
    struct coefficients *pyramid; /* the description of a coefficient file; else NULL */
    enum sample_type samples;     /* of the page, or of the image that a coefficient file was made from */
    const struct colour_space *space; /* of the page, a reference; NULL: unknown, or no stage needs it */
    char space_warning[160];          /* how the page's space is not respected; may be empty */
    double low, high;             /* with --range: the sample values that become 0 and full scale, in units of
                                   * sample_full_scale (1 for floats) */
    struct stack_picture picture; /* of an input of a stack: the current page */
    bool keeps_reader;            /* job_close leaves the reader to stack_free, as the merge needs it */
    int merged_pages;             /* number of its pages that were merged */

    bool is_deferred;          /* to be done at the end; protected by the worker pool's lock */
    struct progress *progress; /* may be NULL */
    int page, pages;           /* for progress: pages or frames that are done, and all of them; 0: unknown */
    double share; /* fraction of the job that is done, 0 to 1. If `pages` is unknown: number of pages that are
                   * done, or 0 if there are several files. Protected by progress.lock */
};

/* True if the job's pictures become part of a stack, so that it has no output of its own. */
bool job_is_stack_input(const struct job *job);

/* True if pictures of a stack have the samples of their file, as no step before the merge changes them,
 * except that it turns the page upright. */
bool job_keeps_samples(const struct job *job, const struct worker *worker);

/* Returns the input's name for messages; for the result of a stack, the output's. */
const char *job_input_name(const struct job *job);

/* Frees the strings. The job must be closed. */
void job_free(struct job *job);

/* Fails if the list could not stat the input. */
enum status job_check(const struct job *job, struct error *error);

/* Returns the options of an input's reader: with the worker's share of threads and memory, and the profile to
 * which the chain converts CMYK. */
struct reader_options job_reader_options(const struct worker *worker);

/* Creates the output's folders, opens the input, reads its header, and fails if the command cannot be done
 * with it. For a stack's result, stack_open_reader has set the reader, `format`, `samples`, `low` and `high`.
 * Needs no device. After a failure the job is closed. */
enum status job_open(struct job *job, struct worker *worker, struct error *error);

/* Builds the chain for the reader's page. It begins with a stage that turns the page upright if --auto-orient
 * or another stage requires that. */
enum status job_resolve_chain(struct job *job, const struct worker *worker, struct error *error);

/* True if a stage, other than the one that turns the page upright, changes the pixels or merges them. */
bool job_has_stages(const struct job *job);

/* True if the input's coded pixels may be copied to the output: both have the same lossy format, and no
 * option selects another coding. */
bool job_keeps_coding(const struct job *job, const struct worker *worker);

/* Fails if the output cannot hold a second page. */
enum status job_check_more(const struct job *job, struct error *error);

/* True if the input is one image in a regular file and is not copied. This and the following functions need
 * an open job. */
bool job_is_one_image(const struct job *job);

/* Sets `samples`, and `low` and `high` unless --range auto measured them, for the current page. */
void job_note_samples(struct job *job, const struct settings *settings);

/* Return for the input's current page: its shape as it is decoded, the conversion of its samples to values,
 * and the sample type of the output. */
struct shape job_shape(const struct job *job);
struct conversion job_input_conversion(const struct job *job, const struct worker *worker);
enum sample_type job_output_type(const struct job *job, const struct worker *worker);

/* True if the output has one bit for each pixel; its sample type is then SAMPLE_UINT8. */
bool job_is_bilevel(const struct job *job, const struct worker *worker);

/* Makes the plan for the current page, or for a group of `images` like it. The worker's device must be open.
 * After success the caller frees the plan with plan_free. */
enum status job_plan(const struct job *job, struct worker *worker, int images, struct plan *plan,
                     struct error *error);

/* Returns the request for a plan of job->chain for the current page of `reader`, of the job's input. */
struct plan_request job_plan_request(const struct job *job, const struct worker *worker,
                                     const struct reader *reader);

/* Measures the current page (measure.c), and replaces the stages of job->chain whose parameters depend on the
 * picture by stages with numbers. Reads the file a second time. With `has_device` the worker's device must be
 * open. Without it, returns STATUS_OK before the first measurement that needs a device; a second call
 * continues there. */
enum status job_measure(struct job *job, struct worker *worker, bool has_device, struct result *result);

/* Makes the chain for the chroma planes of video from the plan of its first page. Does nothing for other
 * inputs, and for later pages. */
enum status job_adapt_to_chroma(struct job *job, const struct worker *worker, const struct plan *plan,
                                struct error *error);

/* Opens the output. Shape, type and number of pages only serve to estimate its size. */
enum status job_open_writer(struct job *job, const struct worker *worker, const struct shape *shape,
                            enum sample_type type, int pages, struct error *error);

/* Fails if the input, a regular file, was written to or replaced since job_open; but not if it was deleted.
 * Call it after the input was read to its end. */
enum status job_check_unchanged(const struct job *job, struct error *error);

/* Fails if --in-place would lose more than metadata, such as a gain map or an animation. Call it after
 * opening the input, and again after reader_trailing_warnings: not every header announces what follows. */
enum status job_check_in_place(const struct job *job, const struct worker *worker, struct error *error);

/* Closes only the input, after its last page was read. */
void job_close_input(struct job *job);

/* True if the job can be done again after a failure: the input can be read again, the output is no pipe or
 * device, and the job belongs to no stack. */
bool job_can_begin_again(const struct job *job);

/* Closes everything, so that the job can be opened again. Removes an output that was not committed. */
void job_close(struct job *job);

#endif
