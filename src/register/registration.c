/* Registration, coarse to fine.
 *
 *     coarsest level    search candidates, refine 64, drop duplicates and matches that agree much less
 *     next level        refine 8
 *     next level        refine 2
 *     finer levels      refine the best one
 *
 * The result is the match on the level with the smallest uncertainty. That is not always the finest level,
 * which may have more noise than detail.
 *
 *     score      = agreement * covered^(1/4), by which matches are sorted (refine.h)
 *     confidence = agreement (1 - ambiguity) / (1 + (uncertainty / HALVING_UNCERTAINTY)^2)
 *
 * The agreement is measured on the coarsest level's blocks. Tried and lost: one correlation of the whole
 * picture instead of blocks. It fell to 0 if moved objects covered a third of the picture, with a tone curve
 * of gamma 1.4, and with 20 bright pixels of 160,000. A second search with half the steps found nothing more.
 */
#include "register/registration.h"

#include "base/threads.h"
#include "base/timing.h"

#include <math.h>
#include <stdlib.h>

/* Largest number of steps of a match on a level. Some noisy pairs converge slowly: with 30 instead of 100
 * steps, 2 of 158 ended a pixel off. */
enum {
    STEPS = 100,
    FEW_STEPS = 20,   /* from the third coarsest level on; only the best match continues, up to STEPS */
    COARSE_STEPS = 10 /* on the coarsest level, unless it is the only one */
};

/* Number of coarsest levels on which several matches are compared. The last of them determines the
 * ambiguity: the best match against the second best. */
enum { AMBIGUOUS_LEVELS = 2 };

/* Largest number of matches that are refined on the coarsest level, the next one, ...; the last number is for
 * all finer levels. */
static const int MAX_CANDIDATES[] = {64, 8, 2, 1};

/* Motion of the corners at which steps end, in pixels of the level: on coarser levels, on the finest. */
static const double COARSE_TOLERANCE = 0.02, FINE_TOLERANCE = 0.002;

/* Share of the reference that the picture must cover for a result. */
static const double MIN_COVERED = 0.2;

/* Agreement that is lost by interpolation. Keeps the ratio of two nearly perfect matches near 1. */
static const double INTERPOLATION_LOSS = 0.03;

/* Uncertainty that halves the confidence, in pixels of the finest level. */
static const double HALVING_UNCERTAINTY = 0.25;

/* Matches whose corners are nearer than this, in pixels of the level, are duplicates. */
static const double MIN_DISTANCE = 3;

/* Confidence after the search for small rotations, on the coarsest level, from which on large rotations are
 * not searched. The uncertainty counts in it, in pixels of that level: a fifth of the picture may agree to
 * 0.9 by chance and leave the map undetermined. Without the uncertainty, pictures of a few rectangles that
 * were turned by 180 degrees were refused in 2 of 24 runs. */
static const double SURE_CONFIDENCE = 0.5;

/* Matches with a smaller score_ambiguity are dropped: refining them took most of the time. */
static const double MIN_AMBIGUITY = 0.05;

/* The input of all functions below. */
struct comparison {
    struct thread_pool *workers;
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

/* Returns how well another match agrees: from 0, not at all, to 1, as well as the best one:
 *
 *     min(((1 - best agreement) / (1 - other agreement))^2, (other score / best score)^2, 1)
 *
 * The first ratio separates the matches of smooth pictures, which all agree a little. The second one is for
 * pictures with objects that moved: there all matches leave much unexplained. */
static double score_ambiguity(const struct match *best, const struct match *other)
{
    if (!(other->score > 0))
        return 0;
    const double unexplained =
        (1 - best->agreement + INTERPOLATION_LOSS) / (1 - other->agreement + INTERPOLATION_LOSS);
    const double agreed = other->score / best->score * (other->score / best->score);
    return fmin(fmin(unexplained * unexplained, agreed * agreed), 1);
}

/* Returns the confidence in a match, 0 to 1. `uncertainty` is in the same pixels as HALVING_UNCERTAINTY. */
static double match_confidence(const struct match *match, double ambiguity, double uncertainty)
{
    const double ratio = uncertainty / HALVING_UNCERTAINTY;
    return match->score > 0 ? match->agreement * (1 - ambiguity) / (1 + ratio * ratio) : 0;
}

/* Sorts matches, the best one first, and removes those near a better one. */
static void suppress_duplicates(const struct level *level, struct match *matches, int *count)
{
    int kept = 0;
    qsort(matches, (size_t)*count, sizeof *matches, compare_matches);
    for (int i = 0; i < *count; i++) {
        int k = 0;
        while (k < kept && distance(level, &matches[i].affine, &matches[k].affine) >= MIN_DISTANCE)
            k++;
        if (k == kept)
            matches[kept++] = matches[i];
    }
    *count = kept;
}

/* Returns the model for a level. Affine maps begin as similarities on the coarsest level, unless it is the
 * only one. */
static enum model level_model(const struct comparison *comparison, int index)
{
    return comparison->model == MODEL_AFFINE && index > 0 && index == comparison->reference->count - 1
               ? MODEL_SIMILARITY
               : comparison->model;
}

/* Matches that threads refine on one level. */
struct refinement {
    const struct comparison *comparison;
    int index; /* of the level */
    int steps; /* of each match, at most */
    struct match *matches;
};

/* Refines match `i` (for thread_pool_each). */
static enum status refine_match(void *context, int i, struct error *error)
{
    const struct refinement *refinement = context;
    const struct comparison *comparison = refinement->comparison;
    const int index = refinement->index;
    return match_refine(comparison->workers, &refinement->matches[i], level_model(comparison, index),
                        comparison->reference, comparison->picture, index, refinement->steps,
                        index == 0 ? FINE_TOLERANCE : COARSE_TOLERANCE, error);
}

/* Refines the best matches on a level and sorts them. On the level that determines the ambiguity all matches
 * take up to STEPS steps. With fewer steps, a match on its way to the best maximum would count as a second
 * maximum. */
static enum status refine_level(const struct comparison *comparison, int index, struct match *matches,
                                int *count, struct error *error)
{
    const int depth = comparison->reference->count - 1 - index,
              last = (int)(sizeof MAX_CANDIDATES / sizeof MAX_CANDIDATES[0]) - 1,
              most = MAX_CANDIDATES[depth < last ? depth : last];
    struct refinement refinement = {comparison, index, STEPS, matches};
    if (depth == 0 && index > 0)
        refinement.steps = COARSE_STEPS;
    else if (depth >= AMBIGUOUS_LEVELS)
        refinement.steps = FEW_STEPS;
    /* Keep the best ones, without those that agree much less than the first. */
    int kept = 1;
    *count = *count < most ? *count : most;
    for (int i = 1; i < *count; i++)
        if (score_ambiguity(&matches[0], &matches[i]) >= MIN_AMBIGUITY)
            matches[kept++] = matches[i];
    *count = *count < kept ? *count : kept;
    /* Refine all, then the best one further. */
    enum status status = thread_pool_each(comparison->workers, *count, refine_match, &refinement, error);
    suppress_duplicates(&comparison->reference->level[index], matches, count);
    refinement.steps = STEPS - FEW_STEPS;
    if (status == STATUS_OK && depth >= AMBIGUOUS_LEVELS && *count > 0 && !matches[0].converged)
        status = refine_match(&refinement, 0, error);
    return status;
}

/* Finds matches on the coarsest level: with small rotations, and with large ones unless a match has
 * SURE_CONFIDENCE. `matches` has MAX_MATCHES + ROTATION_RANGES * MAX_CANDIDATES[0] elements. */
static enum status find_candidates(const struct comparison *comparison, struct match *matches, int *count,
                                   struct error *error)
{
    const int coarsest = comparison->reference->count - 1;
    *count = 0;
    for (int range = 0; range < (comparison->model == MODEL_SHIFT ? 1 : ROTATION_RANGES); range++) {
        int more = 0;
        if (search_matches(comparison->workers, comparison->model, (enum rotation_range)range,
                           comparison->reference, comparison->picture, matches + *count, &more,
                           error) != STATUS_OK ||
            refine_level(comparison, coarsest, matches + *count, &more, error) != STATUS_OK)
            return STATUS_FAILED;
        *count += more;
        suppress_duplicates(&comparison->reference->level[coarsest], matches, count);
        const double ambiguity = *count > 1 ? score_ambiguity(&matches[0], &matches[1]) : 0;
        if (*count > 0 && match_confidence(&matches[0], ambiguity, matches[0].uncertainty) >= SURE_CONFIDENCE)
            break;
    }
    return STATUS_OK;
}

/* Finds the best match, from the coarsest level to the finest. `matches` is an array for find_candidates. */
static enum status find_best(const struct comparison *comparison, struct match *matches,
                             struct registration *registration, struct error *error)
{
    const struct levels *reference = comparison->reference;
    struct match best = {.affine = affine_scaling(1, 1), .uncertainty = INFINITY};
    double ambiguity = 0;
    int count;
    enum status status = find_candidates(comparison, matches, &count, error);
    for (int i = reference->count - 1; status == STATUS_OK && count > 0 && i >= 0; i--) {
        if (i < reference->count - 1)
            status = refine_level(comparison, i, matches, &count, error);
        /* Keep the match of the level with the smallest uncertainty, in pixels of the finest level. */
        const double pixels = reference->level[i].factor / reference->level[0].factor;
        if (level_model(comparison, i) == comparison->model && matches[0].score > 0 &&
            matches[0].uncertainty * pixels < best.uncertainty) {
            best = matches[0];
            best.uncertainty *= pixels;
        }
        if (i >= reference->count - AMBIGUOUS_LEVELS)
            ambiguity = count > 1 ? score_ambiguity(&matches[0], &matches[1]) : 0;
    }
    *registration = (struct registration){.affine = best.affine};
    if (status != STATUS_OK || !isfinite(best.uncertainty)) /* no match, for example in a flat picture */
        return status;
    /* The agreement of the final map on the coarsest level, which has the least noise. */
    const double uncertainty = best.uncertainty;
    status = match_refine(comparison->workers, &best, comparison->model, reference, comparison->picture,
                          reference->count - 1, 0, 0, error);
    if (best.covered >= MIN_COVERED)
        registration->confidence = match_confidence(&best, ambiguity, uncertainty);
    return status;
}

enum status registration_find(struct run *run, struct thread_pool *workers, enum model model,
                              const struct levels *reference, const struct gray_plane *picture,
                              struct registration *registration, struct error *error)
{
    const double since = clock_seconds();
    struct levels levels;
    const struct comparison comparison = {workers, model, reference, &levels};
    struct match *matches = allocate_zeroed(MAX_MATCHES + ROTATION_RANGES * MAX_CANDIDATES[0],
                                            sizeof *matches, "registration candidates", error);
    enum status status =
        levels_make(workers, &levels, picture, (int)reference->level[0].factor, reference, error);
    if (status == STATUS_OK)
        status = matches ? find_best(&comparison, matches, registration, error) : STATUS_FAILED;
    free(matches);
    levels_free(&levels);
    if (run)
        run_add_host_time(run, PHASE_REGISTRATION, "registration", since);
    return status;
}
