/* Places are looked for on the coarsest level (search.c), the best ones are refined from level to level
 * (refine.c), and the result is the one of the level that is surest of it: in noisy pictures without fine
 * detail that is not the finest one.
 *
 * The confidence is the share of the coarsest level's blocks that agree, times (1 - ambiguity), over
 * (1 + (uncertainty / UNSURE)^2). Before it was one correlation of all detail: objects that moved over a
 * third of the picture, tone curves of gamma 1.4 and 20 bright pixels of 160,000 brought it to 0. */
#include "register/registration.h"

#include "base/threads.h"
#include "base/timing.h"
#include "register/refine.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 100, FEW_STEPS = 20, COARSE_STEPS = 10 };

/* Number of coarsest levels on which other places are compared with the best one. */
enum { AMBIGUOUS_LEVELS = 2 };

/* Number of matches that are followed on the coarsest level, the next one, and so on; the last one is for all
 * finer levels. */
static const int FOLLOWED[] = {64, 8, 2, 1};

/* Pixels of a level that corners may still move. */
static const double COARSE = 0.02, FINE = 0.002;

/* A share of the reference: what covers less is not found. */
static const double LEAST_COVERED = 0.2;

/* The share of agreement that interpolation may cost. */
static const double UNEXPLAINED = 0.03;

/* Uncertainty of the corners in pixels of the finest level that halves the confidence. */
static const double UNSURE = 0.25;

/* Pixels of a level by which corners of matches differ at least; nearer ones are one. */
static const double APART = 3;

/* Other rotations are tried if the best place has less confidence on the coarsest level. */
static const double SURE = 0.5;

/* Matches that are less ambiguous are followed no further. */
static const double LEAST_AMBIGUITY = 0.05;

struct comparison {
    struct workers *workers;
    enum model model;
    const struct levels *reference, *picture;
};

/* Returns the largest distance, in pixels of the level, between the images of a corner under two maps. */
static double distance(const struct level *level, const struct affine *a, const struct affine *b)
{
    double width = (level->gray.width - 1) * level->factor, height = (level->gray.height - 1) * level->factor;
    double most = 0;
    for (int corner = 0; corner < 4; corner++) {
        const double x = corner % 2 ? width : 0, y = corner / 2 ? height : 0;
        const double across = (a->xx - b->xx) * x + (a->xy - b->xy) * y + a->x - b->x;
        const double down = (a->yx - b->yx) * x + (a->yy - b->yy) * y + a->y - b->y;
        most = fmax(most, across * across + down * down);
    }
    return sqrt(most) / level->factor;
}

/* Returns 1 if another place agrees as well as the best one, and 0 if it does not at all: either what they
 * leave unexplained differs (of smooth pictures all places agree a little), or the agreement itself (objects
 * that moved are unexplained in all places). */
static double score_ambiguity(const struct match *best, const struct match *other)
{
    if (!(other->score > 0))
        return 0;
    const double unexplained = (1 - best->agreement + UNEXPLAINED) / (1 - other->agreement + UNEXPLAINED);
    const double agreed = other->score / best->score * (other->score / best->score);
    return fmin(fmin(unexplained * unexplained, agreed * agreed), 1);
}

static void drop_hopeless(struct match *matches, int *count)
{
    int kept = 1;
    for (int i = 1; i < *count; i++)
        if (score_ambiguity(&matches[0], &matches[i]) >= LEAST_AMBIGUITY)
            matches[kept++] = matches[i];
    *count = *count < kept ? *count : kept;
}

/* Sorts matches, the best one first, and leaves out those near a better one. */
static void suppress_duplicates(const struct level *level, struct match *matches, int *count)
{
    int kept = 0;
    qsort(matches, (size_t)*count, sizeof *matches, compare_matches);
    for (int i = 0; i < *count; i++) {
        int k = 0;
        while (k < kept && distance(level, &matches[i].affine, &matches[k].affine) >= APART)
            k++;
        if (k == kept)
            matches[kept++] = matches[i];
    }
    *count = kept;
}

/* Affine maps start as similarities: a shear is estimated from the second coarsest level on. */
static enum model model_on(const struct comparison *comparison, int index)
{
    return comparison->model == MODEL_AFFINE && index > 0 && index == comparison->reference->count - 1
               ? MODEL_SIMILARITY
               : comparison->model;
}

/* The matches that are followed on one level. */
struct following {
    const struct comparison *comparison;
    int index, steps; /* of the level; of each match */
    struct match *matches;
};

static enum status follow(void *context, int i, struct error *error)
{
    const struct following *following = context;
    const struct comparison *comparison = following->comparison;
    const int index = following->index;
    return match_refine(comparison->workers, &following->matches[i], model_on(comparison, index),
                        comparison->reference, comparison->picture, index, following->steps,
                        index == 0 ? FINE : COARSE, error);
}

/* Once no place is ambiguous, only the best match takes all steps that it wants: others that converge slowly
 * creep towards it, and could pass for better before they are there. */
static enum status refine_on(const struct comparison *comparison, int index, struct match *matches,
                             int *count, struct error *error)
{
    const int depth = comparison->reference->count - 1 - index,
              last = (int)(sizeof FOLLOWED / sizeof FOLLOWED[0]) - 1,
              most = FOLLOWED[depth < last ? depth : last];
    struct following following = {comparison, index, STEPS, matches};
    if (depth == 0 && index > 0)
        following.steps = COARSE_STEPS;
    else if (depth >= AMBIGUOUS_LEVELS)
        following.steps = FEW_STEPS;
    *count = *count < most ? *count : most;
    drop_hopeless(matches, count);
    enum status status = workers_each(comparison->workers, *count, follow, &following, error);
    suppress_duplicates(&comparison->reference->level[index], matches, count);
    following.steps = STEPS - FEW_STEPS;
    if (status == STATUS_OK && depth >= AMBIGUOUS_LEVELS && *count > 0 && !matches[0].settled)
        status = follow(&following, 0, error);
    return status;
}

/* Searches one extent after the other until the confidence of a place reaches SURE. The array has room for
 * MOST_MATCHES and FOLLOWED[0] of each extent. */
static enum status find_places(const struct comparison *comparison, struct match *matches, int *count,
                               struct error *error)
{
    const int coarsest = comparison->reference->count - 1;
    *count = 0;
    for (int extent = 0; extent < (comparison->model == MODEL_SHIFT ? 1 : EXTENTS); extent++) {
        int more = 0;
        if (search_matches(comparison->workers, comparison->model, (enum extent)extent, comparison->reference,
                           comparison->picture, matches + *count, &more, error) != STATUS_OK ||
            refine_on(comparison, coarsest, matches + *count, &more, error) != STATUS_OK)
            return STATUS_FAILED;
        *count += more;
        suppress_duplicates(&comparison->reference->level[coarsest], matches, count);
        const double ambiguity = *count > 1 ? score_ambiguity(&matches[0], &matches[1]) : 0;
        if (*count > 0 && matches[0].score > 0 && matches[0].agreement * (1 - ambiguity) >= SURE)
            break;
    }
    return STATUS_OK;
}

static enum status registration_do_find(const struct comparison *comparison, struct match *matches,
                                        struct registration *registration, struct error *error)
{
    const struct levels *reference = comparison->reference;
    struct match best = {.affine = affine_scaling(1, 1), .uncertainty = INFINITY};
    double ambiguity = 0;
    int count;
    enum status status = find_places(comparison, matches, &count, error);
    for (int i = reference->count - 1; status == STATUS_OK && count > 0 && i >= 0; i--) {
        if (i < reference->count - 1)
            status = refine_on(comparison, i, matches, &count, error);
        const double pixels = reference->level[i].factor / reference->level[0].factor;
        if (model_on(comparison, i) == comparison->model && matches[0].score > 0 &&
            matches[0].uncertainty * pixels < best.uncertainty) {
            best = matches[0];
            best.uncertainty *= pixels;
        }
        if (i >= reference->count - AMBIGUOUS_LEVELS)
            ambiguity = count > 1 ? score_ambiguity(&matches[0], &matches[1]) : 0;
    }
    *registration = (struct registration){.affine = best.affine};
    if (status != STATUS_OK || !isfinite(best.uncertainty)) /* one of them may be flat */
        return status;
    const double unsure = best.uncertainty / UNSURE;
    status = match_refine(comparison->workers, &best, comparison->model, reference, comparison->picture,
                          reference->count - 1, 0, 0, error);
    if (best.score > 0 && best.covered >= LEAST_COVERED)
        registration->confidence = best.agreement * (1 - ambiguity) / (1 + unsure * unsure);
    return status;
}

enum status registration_find(struct run *run, struct workers *workers, enum model model,
                              const struct levels *reference, struct gray_plane *picture,
                              struct registration *registration, struct error *error)
{
    const double since = clock_seconds();
    struct levels levels;
    const struct comparison comparison = {workers, model, reference, &levels};
    struct match *matches = allocate_zeroed(MOST_MATCHES + EXTENTS * FOLLOWED[0], sizeof *matches,
                                            "places that may be right", error);
    enum status status =
        levels_make(workers, &levels, picture, (int)reference->level[0].factor, reference, error);
    if (status == STATUS_OK)
        status = matches ? registration_do_find(&comparison, matches, registration, error) : STATUS_FAILED;
    free(matches);
    levels_free(&levels);
    run_add_host_time(run, PART_REGISTRATION, "registration", since);
    return status;
}
