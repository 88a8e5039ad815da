/* A stack: all inputs of a command become one output, by a stage that merges (struct merge of
 * engine/stage.h).
 *
 *     input ─▶ steps before ─▶ picture in memory ─┐
 *     input ─▶ steps before ─▶ picture in memory ─┼─ in order ─▶ add ─▶ ... ─▶ read ─▶ steps after ─▶ output
 *     input ─▶ steps before ─▶ picture in memory ─┘
 *
 * Inputs are the jobs of the list. Workers do them at the same time, each into a picture of its own, and wait
 * for their turn to add it, so that the order of the inputs is the order of the sums. The result is one more
 * job, whose reader is the merge. A picture keeps the samples of its file if nothing changes them before the
 * merge; otherwise it has the chain's values as floats.
 *
 * Thread safety: what is not constant belongs to the worker whose turn it is. */
#ifndef CLIMG_BATCH_STACK_H
#define CLIMG_BATCH_STACK_H

#include "batch/files.h"

struct stack {
    /* Constant while workers run. */
    const struct settings *settings;
    struct chain before, after; /* parts of the command's chain, which owns the steps */
    const struct step *step;    /* the step between them; NULL: the command has none, and there is no stack */
    struct input_series series; /* the inputs; owns the array, not the paths */
    int max_workers;            /* whose pictures fit into memory */

    pthread_mutex_t lock; /* protects the next five */
    pthread_cond_t turn_changed;
    bool *has_ended;      /* by input: its job adds no more pictures */
    size_t turn;          /* index of the first input that has not ended */
    unsigned char *spare; /* memory for the next picture; owned, may be NULL */
    size_t spare_size;    /* bytes */

    /* The merge; belongs to the worker whose turn it is. */
    void *merge;                  /* state; NULL before the first picture */
    struct image_info first_info; /* the first picture; owns its metadata */
    const struct format *format;  /* of its file */
    enum sample_type samples;     /* of its file */
    double low, high;             /* as in struct job */
    size_t pictures;              /* number of pictures so far */
};

/* Finds the stage that merges, and checks that the command can be done with it. Marks the jobs of the list as
 * inputs. Call stack_free also after a failure. */
enum status stack_make(struct stack *stack, const struct command *command, struct job_list *list,
                       struct error *error);

/* Prepares stages for the series of inputs, or for single ones if there is no stack, after chain_prepare;
 * counts the workers by the size of the first picture. */
enum status stack_prepare(struct stack *stack, const struct command *command, const struct job_list *list,
                          struct error *error);

void stack_free(struct stack *stack);

/* Opens a writer for an input's pictures, which adds each of them after its last row. */
enum status stack_open_writer(struct job *job, struct error *error);

/* Reads a picture that keeps its samples after writer_begin_page, without the device. */
enum status stack_read(struct job *job, struct error *error);

/* Frees the job's picture. Its memory is kept for the next one. */
void stack_free_picture(struct job *job);

/* Notes that an input adds no more pictures. May be called twice. */
void stack_pass_turn(struct job *job);

/* Ends the merge, and prepares the job of the result for job_open. Fails if there is no picture. */
enum status stack_open_reader(struct job *job, struct worker *worker, struct error *error);

/* Appends the findings of the merge: "11 pictures merged, 1 of 12 files left out". */
void stack_describe(const struct stack *stack, size_t left_out, char *text, size_t size);

#endif
