/* The stages as the user wrote them, each with its parsed parameters. */
#ifndef CLIMG_CHAIN_CHAIN_H
#define CLIMG_CHAIN_CHAIN_H

#include "base/error.h"
#include "engine/stage.h"

#include <stdbool.h>
#include <stddef.h>

enum { MAX_CHAIN = 256 }; /* stages, with the mosaics that chain_resolve adds */

struct step {
    const struct stage *stage;
    void *params;        /* stage->params_size bytes */
    char *keep;          /* what params point into */
    const char *written; /* the value that they were parsed from; NULL: none. Belongs to the caller */
    bool borrowed;       /* params and keep belong to another chain */
};

/* Zeroed, it is the empty chain. */
struct chain {
    struct step *steps;
    size_t count;
    double prepared; /* seconds that it took the stages to read their files; 0: there are none */
};

/* Appends a stage with its value (NULL: none given), which must live as long, parsed and checked. Messages
 * start with "--NAME VALUE".
 */
enum status chain_add(struct chain *chain, const struct stage *stage, const char *value, struct error *error);

/* The chain as it runs on an input of that kind. Free it with chain_free before `written`. A pyramid becomes
 * a mosaic before an image stage, and at the end unless `keep_pyramid`. A pyramid stage that is given an
 * image is a usage error. */
enum status chain_resolve(const struct chain *written, enum kind input, bool keep_pyramid,
                          struct chain *resolved, struct error *error);

/* The kind of value that the chain gives. */
enum kind chain_output(const struct chain *chain, enum kind input);

struct traits step_traits(const struct step *step);

/* True if a stage makes another picture, or other values, or amplifies (struct traits of engine/stage.h). */
bool chain_redraws(const struct chain *chain);
bool chain_revalues(const struct chain *chain);
bool chain_amplifies(const struct chain *chain);

/* Lets every stage read what it needs from the host. */
enum status chain_prepare(struct chain *chain, const struct settings *settings, struct error *error);

/* Makes the chain for the colour of video, whose sampling and siting `chroma` gives; `shapes` are those of
 * the brightness, before the first step and after each. Fails if a stage does not work on video. The caller
 * calls chain_free. */
enum status chain_coarsen(const struct chain *chain, const struct chroma *chroma, const struct shape *shapes,
                          const struct settings *settings, struct chain *colour, struct error *error);

/* Safe on an empty chain, and twice. */
void chain_free(struct chain *chain);

#endif
