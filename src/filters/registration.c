#include "filters/registration.h"

#include "filters/search.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 30, COARSE_STEPS = 10 };

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
        most = fmax(most, hypot((a->xx - b->xx) * x + (a->xy - b->xy) * y + a->x - b->x,
                                (a->yx - b->yx) * x + (a->yy - b->yy) * y + a->y - b->y));
    }
    return most / level->factor;
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

/* A shear is looked for once the rest is about right. */
static enum status refine_on(int index, enum model model, const struct levels *reference,
                             const struct levels *picture, struct match *matches, int *count,
                             struct error *error)
{
    int depth = reference->count - 1 - index;
    bool coarsest = depth == 0, finest = index == 0;
    enum model here = coarsest && !finest && model == MODEL_AFFINE ? MODEL_SIMILARITY : model;
    enum status status = STATUS_OK;
    *count = *count < followed(depth) ? *count : followed(depth);
    for (int i = 0; status == STATUS_OK && i < *count; i++)
        status = match_refine(&matches[i], here, &reference->level[index], &picture->level[index],
                              coarsest && !finest ? COARSE_STEPS : STEPS, finest ? FINE : COARSE, error);
    drop_doubles(&reference->level[index], matches, count);
    return status;
}

/* From 0 to 1, where a second place agrees as well as the best one: what either leaves unexplained is
 * compared, of which interpolation may be the cause up to UNEXPLAINED. */
static double find_doubt(const struct match *matches, int count)
{
    if (count < 2 || matches[1].score <= 0)
        return 0;
    double best = matches[0].correlation, second = matches[1].correlation,
           ratio = (1 - best * best + UNEXPLAINED) / (1 - second * second + UNEXPLAINED);
    return fmin(ratio * ratio, 1);
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
    sample_grey(&picture->detail, &affine, &sampled);
    double correlation = correlate(&reference->detail, &sampled, &covered);
    registration->confidence = correlation > 0 && covered >= LEAST_COVERED ? correlation : 0;
    grey_free(&sampled);
    return STATUS_OK;
}

enum status registration_find(enum model model, const struct levels *reference, const struct levels *picture,
                              struct registration *registration, struct error *error)
{
    struct match matches[MOST_MATCHES];
    int count;
    enum status status = search_matches(model, reference, picture, matches, &count, error);
    double doubt = 0;
    for (int i = reference->count - 1; status == STATUS_OK && i >= 0; i--) {
        status = refine_on(i, model, reference, picture, matches, &count, error);
        if (i >= reference->count - 2)
            doubt = find_doubt(matches, count);
    }
    if (status != STATUS_OK)
        return status;
    *registration = (struct registration){.affine = matches[0].affine};
    if (matches[0].score > 0)
        status = find_confidence(reference, picture, registration, error);
    double unsure = matches[0].uncertainty / UNSURE;
    registration->confidence *= (1 - doubt) / (1 + unsure * unsure);
    return status;
}
