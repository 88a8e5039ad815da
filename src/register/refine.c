/* Refinement of a match by Gauss-Newton steps. Blocks of pixels are weighted by their agreement.
 *
 * Inverse-compositional alignment (S. Baker and I. Matthews, Lucas-Kanade 20 Years On, IJCV 56, 2004): the
 * reference R is moved by a small d so that R(x + d(x)) = gain I(W x) + offset, and then W by the inverse of
 * d, so that slopes are computed once, from the reference. Gain and offset belong to a block of 8
 * to 32 pixels: they equate the block's mean and standard deviation in both pictures. A block weighs
 *
 *     r^2 / ((1 - r^2 + INTERPOLATION) v)
 *
 * where r is the correlation of the two pictures in it and v the reference's variance. The denominator is
 * what the picture leaves unexplained (each block has noise of its own, as in iteratively reweighted least
 * squares); r^2 leaves out blocks that hold only noise. So what moved, another exposure, a tone curve or a
 * hot pixel cost the blocks that they lie in.
 *
 * Tried and lost: one gain and offset for the whole picture and Cauchy's weights for single pixels, whose
 * width comes from the median residual. In a star field the median is that of the empty sky, so that stars
 * which are half a pixel off were left out: steps ended 0.4 to 1.7 pixels off (now 0.01 to 0.04). A gain by
 * regression is too small where most is noise, and steps with it. Of pictures in which a third of the objects
 * moved 46% were right (now 96%). Blocks of 64 pixels: errors of tone curves grow from 0.03 to 0.05 pixels,
 * and nothing gains. */
#include "register/refine.h"

#include "base/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UNKNOWNS = 6, LANES = 8, LEAST_BLOCK = 8, MOST_BLOCK = 32, LEAST_BLOCKS = 8 };
_Static_assert(LANES - 1 <= GRAY_PADDING, "lanes may read beyond the last pixel");

/* The share of a block's variance that interpolation leaves unexplained in pictures without noise. */
static const float INTERPOLATION = 0.005F;

/* Added to variances, for blocks that are flat. The whole picture's variance is 1. */
static const float LEAST_VARIANCE = 1e-5F;

/* White noise has this share of its variance in its slopes: on a level that was halved, and on the finest
 * one, which is smoothed. */
static const double IN_SLOPES = 0.5, IN_SMOOTHED_SLOPES = 0.25;

/* Half the diagonal is the unit of places, about the centre, so that all unknowns are pixels in the corners.
 */
struct frame {
    double x, y, unit;
};

/* Sums over blocks: the normal equations of the motion, and how well the blocks agree. */
struct equations {
    double matrix[MOST_UNKNOWNS][MOST_UNKNOWNS], right[MOST_UNKNOWNS];
    double spread[MOST_UNKNOWNS][MOST_UNKNOWNS]; /* outer products of the blocks' right sides */
    double noise[MOST_UNKNOWNS][MOST_UNKNOWNS]; /* the part of `matrix` that noise explains, over IN_SLOPES */
    double agreement, structure;                /* their ratio is the share of blocks that agree */
    double whole, covered;                      /* weights of the reference, and where the picture is, too */
    int blocks;                                 /* that agree at all */
};

/* A match on its way to a better one, on one level. */
struct refining {
    struct workers *workers;
    struct match *match;
    enum model model;
    int unknowns;
    const struct level *reference;
    const struct gray_plane *picture;
    struct frame frame;
    struct gray_plane sampled; /* the picture at the reference's places */
    int side;                  /* of a block in pixels of the level */
    double in_slopes;
    struct equations *bands; /* one for each row of blocks */
};

struct block {
    int x, y, width, height;
};

/* A block of the reference (a) and the picture (b). `whole` is the count of a picture that is equal. */
struct agreement {
    float whole, count, mean_a, mean_b, gain, correlation, variance;
};

static float add_up(const float *lanes)
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/* Weights of LANES neighbouring pixels; 0 outside the block. */
static void find_weights(const struct refining *refining, const struct block *block, int x, size_t at,
                         float *weight)
{
    const float *weights = refining->reference->gray.weights + at, *covered = refining->sampled.weights + at;
    for (int i = 0; i < LANES; i++)
        weight[i] = x + i < block->width ? weights[i] * covered[i] : 0;
}

/* Returns a count of 0 if less than half of what the reference shows in the block is covered. Sums are of
 * differences to one of its pixels, so that floats are exact enough. */
static struct agreement compare_block(const struct refining *refining, const struct block *block)
{
    const struct gray_plane *gray = &refining->reference->gray;
    const size_t pitch = (size_t)gray->width;
    const size_t middle =
        (size_t)(block->y + block->height / 2) * pitch + (size_t)(block->x + block->width / 2);
    const float pivot_a = gray->values[middle], pivot_b = refining->sampled.values[middle];
    float whole[LANES] = {0}, n[LANES] = {0}, a[LANES] = {0}, b[LANES] = {0}, aa[LANES] = {0},
          bb[LANES] = {0}, ab[LANES] = {0};
    for (int y = block->y; y < block->y + block->height; y++)
        for (int x = 0; x < block->width; x += LANES) {
            const size_t at = (size_t)y * pitch + (size_t)(block->x + x);
            const float *values = gray->values + at, *weights = gray->weights + at,
                        *sampled = refining->sampled.values + at;
            float weight[LANES];
            find_weights(refining, block, x, at, weight);
            for (int i = 0; i < LANES; i++) {
                whole[i] += x + i < block->width ? weights[i] * weights[i] : 0;
                const float first = values[i] - pivot_a, second = sampled[i] - pivot_b;
                n[i] += weight[i];
                a[i] += weight[i] * first;
                b[i] += weight[i] * second;
                aa[i] += weight[i] * first * first;
                bb[i] += weight[i] * second * second;
                ab[i] += weight[i] * first * second;
            }
        }
    const float count = add_up(n);
    if (!(count > 0.5F * add_up(whole)))
        return (struct agreement){.whole = add_up(whole)};
    const float first = add_up(a) / count, second = add_up(b) / count;
    const float variance_a = fmaxf(add_up(aa) / count - first * first, 0) + LEAST_VARIANCE;
    const float variance_b = fmaxf(add_up(bb) / count - second * second, 0) + LEAST_VARIANCE;
    return (struct agreement){.whole = add_up(whole),
                              .count = count,
                              .mean_a = pivot_a + first,
                              .mean_b = pivot_b + second,
                              .gain = sqrtf(variance_a / variance_b),
                              .correlation =
                                  (add_up(ab) / count - first * second) / sqrtf(variance_a * variance_b),
                              .variance = variance_a};
}

/* Computes the derivatives of the reference by each unknown at LANES neighbouring pixels. */
static void find_motions(enum model model, const float *x, float y, const float *across, const float *down,
                         float unknown[][LANES])
{
    for (int i = 0; i < LANES; i++) {
        unknown[0][i] = across[i];
        unknown[1][i] = down[i];
    }
    for (int i = 0; i < LANES && (model == MODEL_RIGID || model == MODEL_SIMILARITY); i++)
        unknown[2][i] = down[i] * x[i] - across[i] * y;
    for (int i = 0; i < LANES && model == MODEL_SIMILARITY; i++)
        unknown[3][i] = across[i] * x[i] + down[i] * y;
    for (int i = 0; i < LANES && model == MODEL_AFFINE; i++) {
        unknown[2][i] = across[i] * x[i];
        unknown[3][i] = across[i] * y;
        unknown[4][i] = down[i] * x[i];
        unknown[5][i] = down[i] * y;
    }
}

/* A block's sums over its pixels: products of two unknowns, of an unknown and what is left, and unknowns. */
struct block_sums {
    float matrix[MOST_UNKNOWNS][MOST_UNKNOWNS][LANES], right[MOST_UNKNOWNS][LANES],
        unknown[MOST_UNKNOWNS][LANES];
};

static void sum_block(const struct refining *refining, const struct block *block,
                      const struct agreement *agreement, struct block_sums *sums)
{
    const struct level *reference = refining->reference;
    const struct frame *frame = &refining->frame;
    const float step = (float)(1 / frame->unit), centre = (float)frame->x;
    for (int y = block->y; y < block->y + block->height; y++)
        for (int x = 0; x < block->width; x += LANES) {
            const size_t at = (size_t)y * (size_t)reference->gray.width + (size_t)(block->x + x);
            const float *values = reference->gray.values + at, *sampled = refining->sampled.values + at;
            float places[LANES], unknown[MOST_UNKNOWNS][LANES], left[LANES], weight[LANES];
            find_weights(refining, block, x, at, weight);
            for (int i = 0; i < LANES; i++) {
                places[i] = ((float)(block->x + x + i) - centre) * step;
                left[i] =
                    agreement->gain * (sampled[i] - agreement->mean_b) - (values[i] - agreement->mean_a);
            }
            find_motions(refining->model, places, (float)((y - frame->y) / frame->unit),
                         reference->across + at, reference->down + at, unknown);
            for (int a = 0; a < refining->unknowns; a++) {
                float weighted[LANES];
                for (int i = 0; i < LANES; i++) {
                    weighted[i] = weight[i] * unknown[a][i];
                    sums->unknown[a][i] += weighted[i];
                    sums->right[a][i] += weighted[i] * left[i];
                }
                for (int b = 0; b <= a; b++)
                    for (int i = 0; i < LANES; i++)
                        sums->matrix[a][b][i] += weighted[i] * unknown[b][i];
            }
        }
}

/* Adds the products of unknowns of slopes across and down of mean square `squares`, at the block's centre. */
static void add_noise(const struct refining *refining, const struct block *block, double squares,
                      struct equations *equations)
{
    const struct frame *frame = &refining->frame;
    const float none[LANES] = {0}, one[LANES] = {1};
    const float x[LANES] = {(float)((block->x + 0.5 * (block->width - 1) - frame->x) / frame->unit)},
                y = (float)((block->y + 0.5 * (block->height - 1) - frame->y) / frame->unit);
    float across[MOST_UNKNOWNS][LANES], down[MOST_UNKNOWNS][LANES];
    find_motions(refining->model, x, y, one, none, across);
    find_motions(refining->model, x, y, none, one, down);
    for (int a = 0; a < refining->unknowns; a++)
        for (int b = 0; b <= a; b++)
            equations->noise[a][b] +=
                squares * (double)(across[a][0] * across[b][0] + down[a][0] * down[b][0]);
}

/* Unknowns are taken free of their means, as the offset is unknown. */
static void add_block(const struct refining *refining, const struct block *block,
                      const struct agreement *agreement, struct equations *equations)
{
    const double squared = (double)agreement->correlation * (double)agreement->correlation;
    const double weight = squared / ((1 - squared + (double)INTERPOLATION) * (double)agreement->variance);
    struct block_sums sums = {.right = {{0}}};
    double unknown[MOST_UNKNOWNS], right[MOST_UNKNOWNS];
    sum_block(refining, block, agreement, &sums);
    equations->blocks++;
    add_noise(refining, block,
              weight * (double)(agreement->count * (1 - agreement->correlation) * agreement->variance),
              equations);
    for (int a = 0; a < refining->unknowns; a++) {
        unknown[a] = (double)add_up(sums.unknown[a]);
        right[a] = weight * (double)add_up(sums.right[a]);
        equations->right[a] += right[a];
        for (int b = 0; b <= a; b++) {
            equations->matrix[a][b] += weight * ((double)add_up(sums.matrix[a][b]) -
                                                 unknown[a] * unknown[b] / (double)agreement->count);
            equations->spread[a][b] += right[a] * right[b];
        }
    }
}

static enum status sample_band(void *context, int index, struct error *error)
{
    struct refining *refining = context;
    const struct affine affine = level_from_whole(refining->reference, refining->match->affine);
    (void)error;
    sample_rows(refining->picture, &affine, gray_plane_block(&refining->sampled, index), &refining->sampled);
    return STATUS_OK;
}

/* A block counts by its standard deviation: by its variance, one bright star would be the whole picture. The
 * power of the correlation is between 1, where 1 in 60 strangers reached 0.3, and 2, where noisy star fields
 * did not. */
static enum status sum_band(void *context, int index, struct error *error)
{
    const struct refining *refining = context;
    const struct gray_plane *gray = &refining->reference->gray;
    const int side = refining->side, top = index * side, width = gray->width,
              height = top + side < gray->height ? side : gray->height - top;
    struct equations *equations = &refining->bands[index];
    (void)error;
    *equations = (struct equations){.covered = 0};
    for (int x = 0; x < width; x += side) {
        const struct block block = {x, top, x + side < width ? side : width - x, height};
        const struct agreement agreement = compare_block(refining, &block);
        equations->whole += (double)agreement.whole;
        if (!(agreement.count > 0))
            continue;
        const double structure = (double)(agreement.count * sqrtf(agreement.variance));
        equations->structure += structure;
        equations->covered += (double)agreement.count;
        if (!(agreement.correlation > 0))
            continue;
        equations->agreement += structure * (double)(agreement.correlation * sqrtf(agreement.correlation));
        add_block(refining, &block, &agreement, equations);
    }
    return STATUS_OK;
}

/* Adds up the bands in their order, whichever thread did them. */
static struct equations sum_all(const struct refining *refining, int bands)
{
    struct equations sum = {.covered = 0};
    const int n = refining->unknowns;
    for (int i = 0; i < bands; i++) {
        const struct equations *more = &refining->bands[i];
        sum.agreement += more->agreement;
        sum.structure += more->structure;
        sum.whole += more->whole;
        sum.covered += more->covered;
        sum.blocks += more->blocks;
        for (int a = 0; a < n; a++) {
            sum.right[a] += more->right[a];
            for (int b = 0; b <= a; b++) {
                sum.matrix[b][a] = sum.matrix[a][b] += more->matrix[a][b];
                sum.noise[b][a] = sum.noise[a][b] += more->noise[a][b];
                sum.spread[b][a] = sum.spread[a][b] += more->spread[a][b];
            }
        }
    }
    return sum;
}

/* Gauss' elimination with pivots; false if the blocks do not tell all unknowns. */
static bool solve(struct equations *equations, int n)
{
    double(*m)[MOST_UNKNOWNS] = equations->matrix, *right = equations->right, trace = 0;
    for (int k = 0; k < n; k++)
        trace += m[k][k];
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            best = fabs(m[i][k]) > fabs(m[best][k]) ? i : best;
        if (!(fabs(m[best][k]) > 1e-12 * trace))
            return false;
        for (int j = 0; j < n; j++) {
            const double kept = m[k][j];
            m[k][j] = m[best][j];
            m[best][j] = kept;
        }
        const double kept = right[k];
        right[k] = right[best];
        right[best] = kept;
        for (int i = k + 1; i < n; i++) {
            const double share = m[i][k] / m[k][k];
            for (int j = k; j < n; j++)
                m[i][j] -= share * m[k][j];
            right[i] -= share * right[k];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            right[i] -= m[i][j] * right[j];
        right[i] /= m[i][i];
    }
    return true;
}

static struct affine invert(const struct affine *a)
{
    double determinant = a->xx * a->yy - a->xy * a->yx;
    struct affine inverse = {a->yy / determinant,  -a->xy / determinant, 0,
                             -a->yx / determinant, a->xx / determinant,  0};
    inverse.x = -(inverse.xx * a->x + inverse.xy * a->y);
    inverse.y = -(inverse.yx * a->x + inverse.yy * a->y);
    return inverse;
}

/* The unknowns d as a map of the level's places, and how far it moves a corner at most. */
static struct affine find_motion(enum model model, const struct frame *frame, const double *d, double *moved)
{
    double xx = 0, xy = 0, yx = 0, yy = 0;
    if (model == MODEL_AFFINE) {
        xx = d[2];
        xy = d[3];
        yx = d[4];
        yy = d[5];
    } else if (model != MODEL_SHIFT) {
        xy = -d[2];
        yx = d[2];
    }
    if (model == MODEL_SIMILARITY)
        xx = yy = d[3];
    *moved = sqrt(d[0] * d[0] + d[1] * d[1]) + sqrt(xx * xx + xy * xy + yx * yx + yy * yy);
    struct affine motion = {1 + xx / frame->unit, xy / frame->unit,     0,
                            yx / frame->unit,     1 + yy / frame->unit, 0};
    double length = model == MODEL_RIGID ? sqrt(motion.xx * motion.xx + motion.yx * motion.yx) : 1;
    motion.xx /= length;
    motion.xy /= length;
    motion.yx /= length;
    motion.yy /= length;
    motion.x = d[0] + frame->x - motion.xx * frame->x - motion.xy * frame->y;
    motion.y = d[1] + frame->y - motion.yx * frame->x - motion.yy * frame->y;
    return motion;
}

/* A standard deviation of the corners in pixels of the level: H^-1 G H^-1, where H is the matrix and G what
 * the blocks' right sides spread by (P. Huber, 5th Berkeley Symposium, 1967). The slopes of noise say nothing
 * and are taken out of H. */
static double find_uncertainty(const struct refining *refining, const struct equations *equations)
{
    const int n = refining->unknowns;
    double variance = 0;
    if (equations->blocks <= n)
        return INFINITY;
    for (int k = 0; k < n; k++) {
        struct equations unit = *equations;
        memset(unit.right, 0, sizeof unit.right);
        unit.right[k] = 1;
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                unit.matrix[a][b] -= refining->in_slopes * equations->noise[a][b];
        if (!solve(&unit, n) || !(unit.right[k] > 0))
            return INFINITY;
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                variance += unit.right[a] * equations->spread[a][b] * unit.right[b];
    }
    variance *= (double)equations->blocks / (equations->blocks - n);
    return variance >= 0 ? sqrt(variance) : INFINITY;
}

/* Compares the pictures where the match has them now. A picture that covers little of the reference is
 * likelier to agree by chance. */
static struct equations measure(struct refining *refining)
{
    struct match *match = refining->match;
    const struct gray_plane *gray = &refining->reference->gray;
    const int bands = (gray->height + refining->side - 1) / refining->side;
    struct error none; /* neither of them fails */
    workers_each(refining->workers, gray_plane_blocks(&refining->sampled), sample_band, refining, &none);
    workers_each(refining->workers, bands, sum_band, refining, &none);
    struct equations sum = sum_all(refining, bands);
    match->covered = sum.whole > 0 ? sum.covered / sum.whole : 0;
    match->agreement = sum.structure > 0 ? sum.agreement / sum.structure : 0;
    match->score = match->agreement > 0 ? match->agreement * sqrt(sqrt(match->covered)) : -1;
    match->uncertainty = find_uncertainty(refining, &sum);
    return sum;
}

/* False if there is no step to take. *moved is in pixels of the level. */
static bool take_step(struct refining *refining, struct equations *equations, double *moved)
{
    const struct level *reference = refining->reference;
    if (!solve(equations, refining->unknowns))
        return false;
    struct affine motion = find_motion(refining->model, &refining->frame, equations->right, moved);
    if (!(*moved < reference->gray.width + reference->gray.height))
        return false;
    struct affine back = invert(&motion), here = level_from_whole(reference, refining->match->affine);
    refining->match->affine = level_to_whole(reference, affine_through(&back, &here));
    return true;
}

static void refine(struct refining *refining, int steps, double enough)
{
    double moved = INFINITY;
    for (int i = 0;; i++) {
        struct equations equations = measure(refining);
        refining->match->settled = moved < enough;
        if (i == steps || moved < enough)
            return;
        if (!take_step(refining, &equations, &moved)) {
            refining->match->score = -1;
            return;
        }
    }
}

enum status match_refine(struct workers *workers, struct match *match, enum model model,
                         const struct levels *reference, const struct levels *picture, int index, int steps,
                         double enough, struct error *error)
{
    static const int unknowns[] = {
        [MODEL_SHIFT] = 2, [MODEL_RIGID] = 3, [MODEL_SIMILARITY] = 4, [MODEL_AFFINE] = 6};
    const struct gray_plane *gray = &reference->level[index].gray;
    const int width = gray->width, height = gray->height;
    const double unit = sqrt((double)width * width + (double)height * height) / 2;
    struct refining refining = {
        .workers = workers,
        .match = match,
        .model = model,
        .unknowns = unknowns[model],
        .reference = &reference->level[index],
        .picture = &picture->level[index].gray,
        .frame = {(width - 1) / 2.0, (height - 1) / 2.0, unit},
        .side = LEAST_BLOCK,
        .in_slopes = index == 0 ? IN_SMOOTHED_SLOPES : IN_SLOPES,
    };
    while (refining.side < MOST_BLOCK &&
           2 * refining.side * LEAST_BLOCKS <= (width < height ? width : height))
        refining.side *= 2;
    const int bands = (height + refining.side - 1) / refining.side;
    if (gray_plane_make(&refining.sampled, width, height, error) != STATUS_OK)
        return STATUS_FAILED;
    refining.bands = allocate((size_t)bands * sizeof *refining.bands, "sums of brightness", error);
    enum status status = refining.bands ? STATUS_OK : STATUS_FAILED;
    if (status == STATUS_OK)
        refine(&refining, steps, enough);
    free(refining.bands);
    gray_plane_free(&refining.sampled);
    return status;
}
