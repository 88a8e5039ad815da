/* Chains: the stages of a command line in the order written, each with its parsed parameters.
 *
 * A written chain belongs to the command and is shared by all workers. chain_resolve creates a copy for one
 * kind of input. The copy borrows the parameters, so it must be freed before the written chain.
 *
 * Thread safety: a written chain is read-only after chain_prepare and chain_prepare_series. */
#ifndef CLIMG_CHAIN_CHAIN_H
#define CLIMG_CHAIN_CHAIN_H

#include "base/error.h"
#include "engine/stage.h"

#include <stdbool.h>
#include <stddef.h>

/* Maximum numbers of steps: of a written chain, and after steps such as mosaics were inserted. Arrays of row
 * ranges on the stack have MAX_CHAIN elements. */
enum { MAX_WRITTEN = 256, MAX_CHAIN = 2 * MAX_WRITTEN };

/* A stage with its parameters. */
struct step {
    const struct stage *stage;
    void *params;        /* stage->params_size bytes; owned unless `borrowed` */
    char *text;          /* text that params point into; owned unless `borrowed` */
    const char *written; /* the value as typed; may be NULL. Belongs to the caller of chain_add */
    bool borrowed;       /* params and text belong to another chain */
};

/* A chain. All zero: the empty chain. */
struct chain {
    struct step *steps;
    size_t count;
    double prepare_seconds; /* time of chain_prepare and chain_prepare_series, for --timing */
};

/* Appends a stage with its value, which is parsed and checked. `value` may be NULL; it must live as long as
 * the chain. Fails with STATUS_USAGE for a wrong value; messages start with "--NAME VALUE". The chain stays
 * valid after a failure. */
enum status chain_add(struct chain *chain, const struct stage *stage, const char *value, struct error *error);

/* Copies the chain for an input of that kind. Inserts --mosaic, which draws a pyramid as an image, before an
 * image stage that would get a pyramid, and at the end unless `keep_pyramid`. A pyramid stage that would get
 * an image is a usage error. The caller frees *resolved with chain_free before `written`; on failure it is
 * empty. */
enum status chain_resolve(const struct chain *written, enum kind input, bool keep_pyramid,
                          struct chain *resolved, struct error *error);

/* Inserts a step that turns pictures with an orientation of 2 to 8 upright: at the start, or in a chain for
 * coefficient files after --inverse-wavelet. Sets *orientation to 0 and inserts nothing if the output is a
 * pyramid or its mosaic. */
enum status chain_auto_orient(struct chain *chain, enum kind input, int *orientation, struct error *error);
extern const struct stage stage_auto_orient; /* auto_orient.c */

/* Replaces a step, which is freed, by a stage with this value. */
enum status chain_replace(struct chain *chain, size_t index, const struct stage *stage, const char *value,
                          struct error *error);

/* Returns the kind of value at the end of the chain. */
enum kind chain_output(const struct chain *chain, enum kind input);

/* Returns the index of the first step from `first` on that merges pictures, or chain->count. */
size_t chain_find_merge(const struct chain *chain, size_t first);

/* Returns the capabilities of the stage with these parameters. */
struct stage_caps step_caps(const struct step *step);

/* True if the step needs a measurement of the page (struct measurement), after which another stage replaces
 * it. */
bool step_is_measured(const struct step *step);

/* Returns capabilities of the chain: new_geometry, new_values, amplifies, needs_colour_space, needs_upright
 * and large_halo are set if one of its stages has them, lossless_move if all have it; all others are zero. */
struct stage_caps chain_caps(const struct chain *chain);

/* True if a stage has that name. */
bool chain_has(const struct chain *chain, const char *stage);

/* Calls `prepare` of every stage, which reads files. Messages start with the stage's name. Call it once,
 * before the chain is shared by threads. */
enum status chain_prepare(struct chain *chain, const struct settings *settings, struct error *error);

/* Calls `prepare_series` of every stage. `series` is NULL for the stages after a merge. */
enum status chain_prepare_series(struct chain *chain, const struct settings *settings,
                                 const struct input_series *series, struct error *error);

/* Calls `end_series` of every stage. */
enum status chain_end_series(const struct chain *chain, const struct input_series *series,
                             struct error *error);

/* Creates the chain for the chroma planes of video: parses the typed values again, and adapts them to the
 * sampling and siting in `chroma`. `shapes` are the shapes of luma before the first step and after each step
 * (plan->shapes). Fails if a stage does not work on video. The caller frees *chroma_chain with chain_free;
 * on failure it is empty. */
enum status chain_make_chroma(const struct chain *chain, const struct chroma *chroma,
                              const struct shape *shapes, const struct settings *settings,
                              struct chain *chroma_chain, struct error *error);

/* Frees the steps and what they own. May be called twice, and on an empty chain. */
void chain_free(struct chain *chain);

#endif
