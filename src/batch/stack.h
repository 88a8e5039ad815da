/* A stack: all inputs of a command become one output, by a stage that merges (struct merge of
 * engine/stage.h).
 *
 *     input ─▶ steps before ─▶ picture in memory ─┐
 *     input ─▶ steps before ─▶ picture in memory ─┼─ in order ─▶ add ─▶ ... ─▶ read ─▶ steps after ─▶ output
 *     input ─▶ steps before ─▶ picture in memory ─┘
 *
 * Inputs are the jobs of the list. Several workers process them, each into a picture of its own. A worker
 * waits until all earlier inputs were added before it adds its picture, so that sums always have the same
 * order. The result is one more job, whose reader is the merge. If no step changes its pixels before the
 * merge, a picture keeps the samples of its file; otherwise it has the chain's values as floats.
 *
 * Uncompressed pictures of 8 or 16 bits that no step changes stay in their files: the merge reads rows of all
 * of them when rows of the result are read.
 *
 * Thread safety: the struct says which fields are constant, which have a lock, and which belong to the worker
 * whose turn it is. */
#ifndef CLIMG_BATCH_STACK_H
#define CLIMG_BATCH_STACK_H

#include "batch/files.h"

struct stack {
    /* Constant while workers run. */
    const struct settings *settings;
    struct chain before, after; /* parts of the command's chain, which owns the steps */
    const struct step *step;    /* the step between them, which merges; NULL: there is no stack */
    struct input_series series; /* the inputs; owns the array, not the paths */
    struct job *jobs;           /* the inputs */
    bool leaves_files_open;     /* pictures may stay in their files */
    int max_workers;            /* number of workers whose pictures fit into 256 MB and --memory-limit, at
                                 * least 1 */

    pthread_mutex_t lock; /* protects has_ended to spare_size */
    pthread_cond_t turn_changed;
    bool *has_ended;      /* by input: no more pictures of it will be added */
    size_t turn;          /* index of the first input that has not ended */
    unsigned char *spare; /* unused memory of an earlier picture; owned, may be NULL */
    size_t spare_size;    /* bytes */

    /* The merge; belongs to the worker whose turn it is. */
    void *merge;                  /* state of struct merge; NULL before the first picture */
    struct image_info first_info; /* of the first picture; owns its metadata */
    struct job result;            /* the job of the result, whose strings belong to the first input's job;
                                   * format, samples, low and high come from the first picture */
    size_t pictures;              /* number of pictures that were added */
};

/* Finds the step that merges. If there is one, makes the jobs of the list inputs of the stack, and checks the
 * command. Call stack_free also after a failure. */
enum status stack_make(struct stack *stack, const struct command *command, struct job_list *list,
                       struct error *error);

/* Sets max_workers, and calls chain_prepare_series. Call it after chain_prepare.
 *
 *     part of the chain         argument `series` of chain_prepare_series
 *     steps before the merge    the inputs; not called in a dry run
 *     steps after the merge     NULL
 *     chain without a merge     the inputs */
enum status stack_prepare(struct stack *stack, const struct command *command, const struct job_list *list,
                          struct error *error);

/* Frees the merge and all memory of the stack, and closes the readers of its jobs. */
void stack_free(struct stack *stack);

/* Opens a writer for an input's pictures, which adds each to the merge after its last row. */
enum status stack_open_writer(struct job *job, struct error *error);

/* True if the picture can stay in its file. Set picture.stays_in_file then, before the writer's page begins,
 * and write no rows. */
bool stack_can_leave_in_file(const struct job *job);

/* Frees the job's picture. Its memory becomes the stack's `spare`, for the next picture. */
void stack_free_picture(struct job *job);

/* Notes that an input adds no more pictures. May be called twice. */
void stack_pass_turn(struct job *job);

/* Ends the merge, and opens the reader of the job of the result, before job_open. Fails if there is no
 * picture. */
enum status stack_open_reader(struct job *job, struct worker *worker, struct error *error);

/* Fails if a file in which a picture stays has changed, after the result was read. */
enum status stack_check_unchanged(const struct stack *stack, struct error *error);

/* Appends findings: "11 pictures merged, 1 of 12 files left out", and what the stage describes. */
void stack_describe(const struct stack *stack, size_t left_out, char *text, size_t size);

#endif
