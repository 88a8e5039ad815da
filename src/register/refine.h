/* Matches: maps from a reference to a picture that may be the result of a registration. search.c finds them
 * on the coarsest level; refine.c improves and judges one on any level.
 *
 * The caller owns matches and pyramids. Pyramids are only read, so several threads may share them. Results do
 * not depend on the number of threads. */
#ifndef CLIMG_REGISTER_REFINE_H
#define CLIMG_REGISTER_REFINE_H

#include "base/affine.h"
#include "register/levels.h"

/* Families of maps, with 2, 3, 4 and 6 unknowns. Each one contains the one before. */
enum model { MODEL_SHIFT, MODEL_RIGID, MODEL_SIMILARITY, MODEL_AFFINE };

#define MODEL_CHOICES "shift|rigid|similarity|affine"

/* A map from reference to picture, and how well the two agree under it. */
struct match {
    struct affine affine; /* in pixels of whole pictures */

    /* Set by match_refine, for its level. */
    double agreement;   /* share of the covered blocks that agree, 0 to 1 */
    double covered;     /* share of the reference that the picture covers, 0 to 1 */
    bool converged;     /* the last step moved the corners by less than `enough` */
    double uncertainty; /* standard deviation of the corners, in pixels of the level; may be INFINITY */

    double score; /* agreement * covered^(1/4), or search.c's correlation; -1 if the steps diverged */
};

/* ---------------------------------------------------------------- refine.c */

/* Improves a match on level `index` by at most `steps` Gauss-Newton steps, until a step moves the corners by
 * less than `enough` pixels of the level. With 0 steps the match is only judged. Fails only if out of
 * memory; steps that diverge give a score of -1. */
enum status match_refine(struct thread_pool *workers, struct match *match, enum model model,
                         const struct levels *reference, const struct levels *picture, int index, int steps,
                         double enough, struct error *error);

/* ---------------------------------------------------------------- search.c */

enum { MAX_MATCHES = 4096 }; /* of search_matches */

/* Rotations of up to 30 degrees, and all others. Most pictures need only the first range, a sixth of the
 * work. */
enum rotation_range { ROTATIONS_SMALL, ROTATIONS_LARGE, ROTATION_RANGES };

/* Finds the best shifts for every rotation and scale that the model has: scales from 0.72 to 1.38, shifts up
 * to half of the reference, or more if the canvas (search.c) is large enough. Stores *count matches, the best
 * one first, in an array with room for MAX_MATCHES, and sets only their affine and score. */
enum status search_matches(struct thread_pool *workers, enum model model, enum rotation_range range,
                           const struct levels *reference, const struct levels *picture,
                           struct match *matches, int *count, struct error *error);

/* Compares matches for qsort, the higher score first. Equal scores are ordered by their maps, so that the
 * order does not depend on the C library's qsort. */
int compare_matches(const void *a, const void *b);

#endif
