/* One input on its way to one output, from the list to what became of it.
 *
 *     list ─▶ open: what it is, and what it is to become ─▶ plan ─▶ pages through the chain ─▶ result
 */
#ifndef CLIMG_BATCH_JOB_H
#define CLIMG_BATCH_JOB_H

#include "batch/worker.h"
#include "chain/coefficients.h"
#include "chain/page.h"

#include <sys/stat.h>

struct job {
    /* As the list has it. Only the worker that took the job touches the rest. */
    char *name; /* below the folder it was found in, or a file argument's last part: the same on every machine
                 */
    char *input, *output;
    int problem;    /* the errno with which the input cannot be looked at; else 0 */
    uint64_t bytes; /* of the input; 0: not known */
    dev_t device;   /* of the input, with its inode; both 0: not known */
    ino_t inode;

    bool skipped;                /* an earlier run has done it */
    struct reader *reader;       /* at the page to come; NULL: the job is not open */
    struct writer *writer;       /* opened with the first page's plan */
    const struct format *format; /* of the output */
    struct chain chain;          /* as it runs on this input */
    double low, high; /* with --range: what becomes 0 and full scale, for integers in parts of theirs */
    enum sample_type samples;     /* of the input; of coefficients, of the image they were made of */
    bool rounded;                 /* 32-bit floats did not hold all of its samples */
    struct coefficients *pyramid; /* what the input says, if it is a coefficient file; else NULL */
    struct job *next;             /* in the crew's lists */
};

/* What messages call the input. */
const char *job_input_name(const struct job *job);

/* As stat, of what is where the output goes: "-" is stdout. */
bool job_stat_output(const struct job *job, struct stat *there);

/* What the list put in. */
void job_free(struct job *job);

/* Whether the list found something wrong with the input. */
enum status job_check(const struct job *job, struct error *error);

/* Whether the output's name says a format, or leaves it to the input, and that holds --depth. Opens nothing.
 */
enum status job_check_format(const struct job *job, const struct settings *settings, struct error *error);

/* Makes the output's folders, opens the input, reads its header, and checks that the command can be done with
 * it. Needs no device. On failure nothing is open. */
enum status job_open(struct job *job, struct worker *worker, struct error *error);

/* Whether an input with another page than the first can become this output. */
enum status job_check_more(const struct job *job, struct error *error);

/* Whether the input is one image and no more, in a regular file. The job must be open, here and below. */
bool job_is_one_image(const struct job *job);

/* The input's current page: its shape, how its samples become values, and the samples that the output gets.
 */
struct shape job_shape(const struct job *job);
struct conversion job_entry(const struct job *job, const struct worker *worker);
enum sample_type job_input_type(const struct job *job);
enum sample_type job_output_type(const struct job *job, const struct worker *worker);

/* The plan for that page, or for a group of so many of its shape. The worker's device must be open. */
enum status job_plan(const struct job *job, struct worker *worker, int images, struct plan *plan,
                     struct error *error);

/* Begins the output, of so many pages of that shape and type. */
enum status job_open_writer(struct job *job, const struct worker *worker, const struct shape *shape,
                            enum sample_type type, int pages, struct error *error);

/* The input only: the page was read. */
void job_close_input(struct job *job);

/* Whether the job can be begun again after a failure: its input can be read again, and nothing of its output
 * has gone elsewhere. */
bool job_can_begin_again(const struct job *job);

/* Closes everything, so that it can be opened again; what was not committed is removed. */
void job_close(struct job *job);

#endif
