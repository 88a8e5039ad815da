#include "filters/registration.h"

#include "base/exact.h"
#include "base/threads.h"
#include "base/timing.h"
#include "filters/refine.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 100, FEW_STEPS = 20, COARSE_STEPS = 10 };

/* On so many levels, from the coarsest on, other places are compared with the best one. */
enum { DOUBTFUL = 2 };

/* How many matches are followed on the coarsest level, the next one, and so on; of the last as many on all
 * that are finer. */
static const int FOLLOWED[] = {64, 8, 2, 1};

/* Pixels of a level that corners may still move. */
static const double COARSE = 0.02, FINE = 0.002;

/* A share of the reference: what covers less is not found. */
static const double LEAST_COVERED = 0.2;

/* A share of the reference's variance. */
static const double UNEXPLAINED = 0.03;

/* Pixels of the finest level that corners may be unsure by: then a match counts half. */
static const double UNSURE = 0.25;

/* Pixels that the corners of matches are apart at least; nearer ones are one. */
static const double APART = 3;

/* Where a search gives less confidence on the coarsest level, more is searched. */
static const double SURE = 0.5;

/* Matches that cast less doubt on the best one are followed no further. */
static const double LEAST_DOUBT = 0.05;

struct comparison {
    struct workers *workers;
    enum model model;
    const struct levels *reference, *picture;
};

static int followed(int depth)
{
    int last = (int)(sizeof FOLLOWED / sizeof FOLLOWED[0]) - 1;
    return FOLLOWED[depth < last ? depth : last];
}

/* How many pixels of the level a corner of the reference moves between two maps at most. */
static double distance(const struct level *level, const struct affine *a, const struct affine *b)
{
    double width = (level->grey.width - 1) * level->factor, height = (level->grey.height - 1) * level->factor;
    double most = 0;
    for (int corner = 0; corner < 4; corner++) {
        double x = corner % 2 ? width : 0, y = corner / 2 ? height : 0;
        most = fmax(most, exact_hypot((a->xx - b->xx) * x + (a->xy - b->xy) * y + a->x - b->x,
                                      (a->yx - b->yx) * x + (a->yy - b->yy) * y + a->y - b->y));
    }
    return most / level->factor;
}

/* From 0 to 1, where another place agrees as well as the best one: what either leaves unexplained is
 * compared, of which interpolation may be the cause up to UNEXPLAINED. */
static double cast_doubt(const struct match *best, const struct match *other)
{
    double ratio = (1 - best->correlation * best->correlation + UNEXPLAINED) /
                   (1 - other->correlation * other->correlation + UNEXPLAINED);
    return other->score > 0 ? fmin(ratio * ratio, 1) : 0;
}

static double find_doubt(const struct match *matches, int count)
{
    return count < 2 ? 0 : cast_doubt(&matches[0], &matches[1]);
}

static void drop_hopeless(struct match *matches, int *count)
{
    int kept = 1;
    for (int i = 1; i < *count; i++)
        if (cast_doubt(&matches[0], &matches[i]) >= LEAST_DOUBT)
            matches[kept++] = matches[i];
    *count = *count < kept ? *count : kept;
}

/* Leaves out those to which a better one has come; the best stay first. */
static void drop_doubles(const struct level *level, struct match *matches, int *count)
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

/* The matches that are followed on one level. */
struct following {
    const struct comparison *comparison;
    int index, steps; /* of the level; of each match */
    struct match *matches;
};

/* A shear is looked for once the rest is about right. */
static enum status follow(void *context, int i, struct error *error)
{
    const struct following *following = context;
    const struct comparison *comparison = following->comparison;
    int index = following->index;
    bool coarsest = index == comparison->reference->count - 1, finest = index == 0;
    enum model model =
        coarsest && !finest && comparison->model == MODEL_AFFINE ? MODEL_SIMILARITY : comparison->model;
    return match_refine(comparison->workers, &following->matches[i], model,
                        &comparison->reference->level[index], &comparison->picture->level[index],
                        following->steps, finest ? FINE : COARSE, error);
}

/* Where doubts are past only the best match, which may come slowly, takes all the steps that it wants: others
 * that do so creep towards it, and could pass for better where they are not there yet. */
static enum status refine_on(const struct comparison *comparison, int index, struct match *matches,
                             int *count, struct error *error)
{
    const int depth = comparison->reference->count - 1 - index, most = followed(depth);
    struct following following = {comparison, index, STEPS, matches};
    if (depth == 0 && index > 0)
        following.steps = COARSE_STEPS;
    else if (depth >= DOUBTFUL)
        following.steps = FEW_STEPS;
    *count = *count < most ? *count : most;
    drop_hopeless(matches, count);
    enum status status = workers_each(comparison->workers, *count, follow, &following, error);
    drop_doubles(&comparison->reference->level[index], matches, count);
    following.steps = STEPS - FEW_STEPS;
    if (status == STATUS_OK && depth >= DOUBTFUL && *count > 0 && !matches[0].settled)
        status = follow(&following, 0, error);
    return status;
}

/* In the detail, where a slow change of light in both does not look like agreement. */
static enum status find_confidence(const struct levels *reference, const struct levels *picture,
                                   struct registration *registration, struct error *error)
{
    const struct level *coarsest = &reference->level[reference->count - 1];
    struct affine affine = level_from_whole(coarsest, registration->affine);
    struct grey sampled;
    double covered;
    if (grey_make(&sampled, reference->detail.width, reference->detail.height, error) != STATUS_OK)
        return STATUS_FAILED;
    sample_rows(&picture->detail, &affine, rows_whole(sampled.height), &sampled);
    double correlation = correlate(&reference->detail, &sampled, &covered);
    registration->confidence = correlation > 0 && covered >= LEAST_COVERED ? correlation : 0;
    grey_free(&sampled);
    return STATUS_OK;
}

/* Places on the coarsest level. The array has room for MOST_MATCHES. */
static enum status find_places(const struct comparison *comparison, enum extent extent, struct match *matches,
                               int *count, struct error *error)
{
    enum status status = search_matches(comparison->workers, comparison->model, extent, comparison->reference,
                                        comparison->picture, matches, count, error);
    return status == STATUS_OK
               ? refine_on(comparison, comparison->reference->count - 1, matches, count, error)
               : status;
}

/* Of the best match. */
static enum status judge_best(const struct comparison *comparison, const struct match *matches, int count,
                              struct registration *registration, struct error *error)
{
    *registration = (struct registration){.affine = affine_scaling(1, 1)};
    if (count == 0) /* one of them is flat: it may lie anywhere */
        return STATUS_OK;
    registration->affine = matches[0].affine;
    return matches[0].score > 0
               ? find_confidence(comparison->reference, comparison->picture, registration, error)
               : STATUS_OK;
}

/* What one search found stays beside what the next one does. */
static enum status find_all_places(const struct comparison *comparison, struct match *matches, int *count,
                                   struct error *error)
{
    const struct levels *reference = comparison->reference;
    struct registration best = {.confidence = 0};
    enum status status = STATUS_OK;
    *count = 0;
    for (int extent = 0; status == STATUS_OK && extent < EXTENTS && best.confidence < SURE; extent++) {
        int more = 0;
        if (extent > 0 && comparison->model == MODEL_SHIFT)
            break;
        status = find_places(comparison, (enum extent)extent, matches + *count, &more, error);
        *count += more;
        drop_doubles(&reference->level[reference->count - 1], matches, count);
        if (status == STATUS_OK)
            status = judge_best(comparison, matches, *count, &best, error);
        best.confidence *= 1 - find_doubt(matches, *count);
    }
    return status;
}

static enum status find(const struct comparison *comparison, struct match *matches,
                        struct registration *registration, struct error *error)
{
    const int levels = comparison->reference->count;
    int count;
    enum status status = find_all_places(comparison, matches, &count, error);
    double doubt = 0;
    for (int i = levels - 1; status == STATUS_OK && i >= 0; i--) {
        if (i < levels - 1)
            status = refine_on(comparison, i, matches, &count, error);
        if (i >= levels - DOUBTFUL)
            doubt = find_doubt(matches, count);
    }
    if (status == STATUS_OK)
        status = judge_best(comparison, matches, count, registration, error);
    if (status != STATUS_OK || count == 0)
        return status;
    double unsure = matches[0].uncertainty / UNSURE;
    registration->confidence *= (1 - doubt) / (1 + unsure * unsure);
    return STATUS_OK;
}

enum status registration_find(struct run *run, struct workers *workers, enum model model,
                              const struct levels *reference, struct grey *picture,
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
        status = matches ? find(&comparison, matches, registration, error) : STATUS_FAILED;
    free(matches);
    levels_free(&levels);
    run_add_host_time(run, PART_REGISTRATION, "registration", since);
    return status;
}
