/* The stages as the user wrote them, each with its parsed parameters. */
#ifndef CLIMG_CHAIN_CHAIN_H
#define CLIMG_CHAIN_CHAIN_H

#include "base/error.h"
#include "chain/stage.h"

#include <stdbool.h>
#include <stddef.h>

struct step {
    const struct stage *stage;
    void *params; /* stage->params_size bytes */
    char *keep;   /* what params point into */
};

/* Zeroed, it is the empty chain. */
struct chain {
    struct step *steps;
    size_t count;
};

/* Appends a stage with its value (NULL: none given), parsed and checked. Messages start with "--NAME VALUE".
 */
enum status chain_add(struct chain *chain, const struct stage *stage, const char *value, struct error *error);

/* Follows the kind of the data through the chain. A pyramid that meets an image stage becomes a mosaic before
 * it; one that reaches the end becomes a mosaic there, unless `keep_pyramid`. A pyramid stage that is given
 * an image is a usage error. */
enum status chain_check_kinds(struct chain *chain, enum kind input, bool keep_pyramid, struct error *error);

/* Lets every stage read what it needs from the host. */
enum status chain_prepare(struct chain *chain, struct error *error);

/* Safe on an empty chain, and twice. */
void chain_free(struct chain *chain);

#endif
