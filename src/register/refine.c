/* Refinement of a match by Gauss-Newton steps, in blocks of pixels that are weighted by their correlation.
 *
 *     sample the picture ─▶ compare each block ─▶ normal equations ─▶ solve ─▶ move the match ─┐
 *            ▲                                                                                 │
 *            └─────────────── until the corners move by less than `enough` ◀───────────────────┘
 *
 * Inverse-compositional alignment (S. Baker and I. Matthews, "Lucas-Kanade 20 Years On", IJCV 56, 2004): find
 * a small motion d of the reference R with R(x + d(x)) = gain I(W x) + offset, then replace the map W by W
 * after the inverse of d. Only the reference's slopes are needed, so they are computed once.
 *
 * A block has 8 to 32 pixels a side, and a gain and an offset of its own: they give both pictures the same
 * mean and standard deviation in it. The weight of a block is
 *
 *     r^2 / ((1 - r^2 + INTERPOLATION) v)
 *
 * where r is the correlation of the two pictures in the block and v the variance of R. The denominator is the
 * unexplained variance, as in iteratively reweighted least squares; r^2 leaves out blocks that contain only
 * noise. So objects that moved, another exposure, a tone curve or a hot pixel affect only the blocks that
 * contain them.
 *
 * Tried and lost:
 * - One gain and offset for the whole picture, with Cauchy weights of single pixels whose width is the median
 *   residual. In a star field that is the residual of the empty sky, so stars half a pixel off were left out
 *   as outliers. Steps ended 0.4 to 1.7 pixels off (now 0.01 to 0.04). Of pictures in which a third of the
 *   objects moved, 46% were right (now 96%).
 * - The gain by regression. It is too small if the block is mostly noise, and so are the steps.
 * - Blocks of 64 pixels. Errors with tone curves grow from 0.03 to 0.05 pixels; none becomes smaller. */
#include "register/refine.h"

#include "base/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_UNKNOWNS = 6,
    LANES = 8,      /* neighbouring pixels that are summed separately: one vector register */
    MIN_BLOCK = 8,  /* smallest side of a block in pixels */
    MAX_BLOCK = 32, /* largest side */
    MIN_BLOCKS = 8  /* least number along the shorter side, unless MIN_BLOCK is too large for it */
};
_Static_assert(LANES - 1 <= GRAY_PADDING, "lanes may read beyond the last pixel");

/* Share of a block's variance that interpolation leaves unexplained in pictures without noise. */
static const float INTERPOLATION = 0.005F;

/* Added to the variances of a block, to avoid divisions by 0. The whole picture has a variance of 1. */
static const float MIN_VARIANCE = 1e-5F;

/* Variance of the slopes of white noise, relative to the variance of the noise. A slope is half a difference
 * of two pixels: (1 + 1) / 4. It is less on the finest level, which is smoothed. */
static const double NOISE_IN_SLOPES = 0.5, NOISE_IN_SMOOTHED_SLOPES = 0.25;

/* Coordinates of the normal equations: from the centre of the level, in half diagonals. So an unknown is
 * about the motion of a corner in pixels, and the matrix is well conditioned. */
struct frame {
    double x, y; /* centre, in pixels */
    double unit; /* half the diagonal, in pixels */
};

/* Sums over blocks. Only the lower triangles are summed; judge completes them. */
struct equations {
    /* Normal equations: matrix * d = right. */
    double matrix[MAX_UNKNOWNS][MAX_UNKNOWNS], right[MAX_UNKNOWNS];

    /* For the uncertainty. */
    double spread[MAX_UNKNOWNS][MAX_UNKNOWNS]; /* sum of b b^T, where b is the right side of a block */
    double noise[MAX_UNKNOWNS][MAX_UNKNOWNS];  /* part of `matrix` due to noise, divided by noise_in_slopes */
    int blocks;                                /* number of blocks with a positive correlation */

    /* Numerators and denominators of match.agreement and match.covered. */
    double agreement, structure;
    double covered, whole;
};

/* State of match_refine. */
struct refiner {
    struct thread_pool *workers;
    struct match *match;
    enum model model;
    int unknowns;
    const struct level *reference;
    const struct gray_plane *picture;
    struct frame frame;
    int side;                  /* of a block, in pixels of the level */
    double noise_in_slopes;    /* NOISE_IN_SLOPES, or NOISE_IN_SMOOTHED_SLOPES */
    struct gray_plane sampled; /* the picture at the reference's pixels; owned */
    struct equations *bands;   /* sums of each band, a row of blocks; owned */
};

/* A rectangle of the level, in pixels. */
struct block {
    int x, y, width, height;
};

/* Statistics of a block. A pixel's weight is the product of its weights in both pictures. */
struct block_statistics {
    float whole;          /* sum of weights if the picture were the reference */
    float count;          /* sum of weights; 0 if the picture covers too little */
    float mean_a, mean_b; /* of the reference and the picture */
    float gain;           /* ratio of the standard deviations */
    float correlation;    /* -1 to 1 */
    float variance;       /* of the reference */
};

/* Adds the lanes pairwise, as a vector register is reduced. */
static float add_up(const float *lanes)
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/* Computes the weights of LANES neighbouring pixels from column `x` of the block and index `at` on. They are
 * 0 outside the block. */
static void find_weights(const struct refiner *refiner, const struct block *block, int x, size_t at,
                         float *weight)
{
    const float *weights = refiner->reference->gray.weights + at, *covered = refiner->sampled.weights + at;
    for (int i = 0; i < LANES; i++)
        weight[i] = x + i < block->width ? weights[i] * covered[i] : 0;
}

/* Computes a block's statistics. All but `whole` are 0 if the picture covers less than half of the block.
 * Sums are of differences from the middle pixel, for which float is exact enough. */
static struct block_statistics compare_block(const struct refiner *refiner, const struct block *block)
{
    const struct gray_plane *gray = &refiner->reference->gray;
    const size_t pitch = (size_t)gray->width;
    const size_t middle =
        (size_t)(block->y + block->height / 2) * pitch + (size_t)(block->x + block->width / 2);
    const float pivot_a = gray->values[middle], pivot_b = refiner->sampled.values[middle];
    float whole[LANES] = {0}, n[LANES] = {0}, a[LANES] = {0}, b[LANES] = {0}, aa[LANES] = {0},
          bb[LANES] = {0}, ab[LANES] = {0};
    for (int y = block->y; y < block->y + block->height; y++)
        for (int x = 0; x < block->width; x += LANES) {
            const size_t at = (size_t)y * pitch + (size_t)(block->x + x);
            const float *values = gray->values + at, *weights = gray->weights + at,
                        *sampled = refiner->sampled.values + at;
            float weight[LANES];
            find_weights(refiner, block, x, at, weight);
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
        return (struct block_statistics){.whole = add_up(whole)};
    const float mean_a = add_up(a) / count, mean_b = add_up(b) / count;
    const float variance_a = fmaxf(add_up(aa) / count - mean_a * mean_a, 0) + MIN_VARIANCE;
    const float variance_b = fmaxf(add_up(bb) / count - mean_b * mean_b, 0) + MIN_VARIANCE;
    const float covariance = add_up(ab) / count - mean_a * mean_b;
    return (struct block_statistics){.whole = add_up(whole),
                                     .count = count,
                                     .mean_a = pivot_a + mean_a,
                                     .mean_b = pivot_b + mean_b,
                                     .gain = sqrtf(variance_a / variance_b),
                                     .correlation = covariance / sqrtf(variance_a * variance_b),
                                     .variance = variance_a};
}

/* Computes the derivative of the reference by each unknown, at LANES neighbouring pixels. x and y are in
 * frame coordinates, and the reference's slopes are (across, down) = (Rx, Ry). The unknowns are
 *
 *     shift        tx, ty:          Rx, Ry
 *     rigid        and rotation:    Ry x - Rx y
 *     similarity   and scale:       Rx x + Ry y
 *     affine       tx, ty and the matrix: Rx x, Rx y, Ry x, Ry y */
static void find_derivatives(enum model model, const float *x, float y, const float *across,
                             const float *down, float derivatives[][LANES])
{
    for (int i = 0; i < LANES; i++) {
        derivatives[0][i] = across[i];
        derivatives[1][i] = down[i];
    }
    for (int i = 0; i < LANES && (model == MODEL_RIGID || model == MODEL_SIMILARITY); i++)
        derivatives[2][i] = down[i] * x[i] - across[i] * y;
    for (int i = 0; i < LANES && model == MODEL_SIMILARITY; i++)
        derivatives[3][i] = across[i] * x[i] + down[i] * y;
    for (int i = 0; i < LANES && model == MODEL_AFFINE; i++) {
        derivatives[2][i] = across[i] * x[i];
        derivatives[3][i] = across[i] * y;
        derivatives[4][i] = down[i] * x[i];
        derivatives[5][i] = down[i] * y;
    }
}

/* A block's weighted sums over its pixels, where g is the derivative by an unknown and e the residual. */
struct block_sums {
    float matrix[MAX_UNKNOWNS][MAX_UNKNOWNS][LANES]; /* of g g^T */
    float right[MAX_UNKNOWNS][LANES];                /* of g e */
    float derivatives[MAX_UNKNOWNS][LANES];          /* of g */
};

/* Adds the pixels of a block to the sums. The residual is gain (I - mean of I) - (R - mean of R). */
static void sum_block(const struct refiner *refiner, const struct block *block,
                      const struct block_statistics *statistics, struct block_sums *sums)
{
    const struct level *reference = refiner->reference;
    const struct frame *frame = &refiner->frame;
    const float step = (float)(1 / frame->unit), centre = (float)frame->x;
    for (int y = block->y; y < block->y + block->height; y++)
        for (int x = 0; x < block->width; x += LANES) {
            const size_t at = (size_t)y * (size_t)reference->gray.width + (size_t)(block->x + x);
            const float *values = reference->gray.values + at, *sampled = refiner->sampled.values + at;
            float frame_x[LANES], derivatives[MAX_UNKNOWNS][LANES], residual[LANES], weight[LANES];
            find_weights(refiner, block, x, at, weight);
            for (int i = 0; i < LANES; i++) {
                frame_x[i] = ((float)(block->x + x + i) - centre) * step;
                residual[i] =
                    statistics->gain * (sampled[i] - statistics->mean_b) - (values[i] - statistics->mean_a);
            }
            find_derivatives(refiner->model, frame_x, (float)((y - frame->y) / frame->unit),
                             reference->across + at, reference->down + at, derivatives);
            for (int a = 0; a < refiner->unknowns; a++) {
                float weighted[LANES];
                for (int i = 0; i < LANES; i++) {
                    weighted[i] = weight[i] * derivatives[a][i];
                    sums->derivatives[a][i] += weighted[i];
                    sums->right[a][i] += weighted[i] * residual[i];
                }
                for (int b = 0; b <= a; b++)
                    for (int i = 0; i < LANES; i++)
                        sums->matrix[a][b][i] += weighted[i] * derivatives[b][i];
            }
        }
}

/* Adds a block, times its weight, to the equations. The mean of each derivative in the block is subtracted,
 * as the block's offset is unknown. */
static void add_block(const struct refiner *refiner, const struct block *block,
                      const struct block_statistics *statistics, struct equations *equations)
{
    const double squared = (double)statistics->correlation * (double)statistics->correlation;
    const double weight = squared / ((1 - squared + (double)INTERPOLATION) * (double)statistics->variance);
    struct block_sums sums = {.right = {{0}}};
    double derivatives[MAX_UNKNOWNS], right[MAX_UNKNOWNS];
    sum_block(refiner, block, statistics, &sums);
    equations->blocks++;
    /* The part of the block's matrix that is due to noise, divided by noise_in_slopes. Approximates the
     * positions of all pixels by the block's centre. */
    const struct frame *frame = &refiner->frame;
    const float none[LANES] = {0}, one[LANES] = {1};
    const double noise =
        weight * (double)(statistics->count * (1 - statistics->correlation) * statistics->variance);
    const float x[LANES] = {(float)((block->x + 0.5 * (block->width - 1) - frame->x) / frame->unit)},
                y = (float)((block->y + 0.5 * (block->height - 1) - frame->y) / frame->unit);
    float across[MAX_UNKNOWNS][LANES], down[MAX_UNKNOWNS][LANES];
    find_derivatives(refiner->model, x, y, one, none, across);
    find_derivatives(refiner->model, x, y, none, one, down);
    for (int a = 0; a < refiner->unknowns; a++)
        for (int b = 0; b <= a; b++)
            equations->noise[a][b] += noise * (double)(across[a][0] * across[b][0] + down[a][0] * down[b][0]);
    for (int a = 0; a < refiner->unknowns; a++) {
        derivatives[a] = (double)add_up(sums.derivatives[a]);
        right[a] = weight * (double)add_up(sums.right[a]);
        equations->right[a] += right[a];
        for (int b = 0; b <= a; b++) {
            equations->matrix[a][b] += weight * ((double)add_up(sums.matrix[a][b]) -
                                                 derivatives[a] * derivatives[b] / (double)statistics->count);
            equations->spread[a][b] += right[a] * right[b];
        }
    }
}

/* Resamples a block of rows (for thread_pool_each). */
static enum status sample_block(void *context, int index, struct error *error)
{
    struct refiner *refiner = context;
    const struct affine affine = level_from_whole(refiner->reference, refiner->match->affine);
    (void)error;
    sample_rows(refiner->picture, &affine, gray_plane_block(&refiner->sampled, index), &refiner->sampled);
    return STATUS_OK;
}

/* Sums one row of blocks into its equations (for thread_pool_each).
 *
 * The agreement is the mean of r^1.5, in which the weight of a block is its standard deviation. With its
 * variance instead, one bright star would outweigh the rest of the picture. With an exponent of 1, 1 in 60
 * pairs of unrelated pictures reached 0.3; with 2, noisy star fields did not reach it. */
static enum status sum_band(void *context, int index, struct error *error)
{
    const struct refiner *refiner = context;
    const struct gray_plane *gray = &refiner->reference->gray;
    const int side = refiner->side, top = index * side, width = gray->width,
              height = top + side < gray->height ? side : gray->height - top;
    struct equations *equations = &refiner->bands[index];
    (void)error;
    *equations = (struct equations){.covered = 0};
    for (int x = 0; x < width; x += side) {
        const struct block block = {x, top, x + side < width ? side : width - x, height};
        const struct block_statistics statistics = compare_block(refiner, &block);
        const float r = statistics.correlation;
        equations->whole += (double)statistics.whole;
        if (!(statistics.count > 0))
            continue;
        const double structure = (double)(statistics.count * sqrtf(statistics.variance));
        equations->structure += structure;
        equations->covered += (double)statistics.count;
        if (!(r > 0))
            continue;
        equations->agreement += structure * (double)(r * sqrtf(r));
        add_block(refiner, &block, &statistics, equations);
    }
    return STATUS_OK;
}

/* Solves the n normal equations by Gaussian elimination with partial pivoting; `right` becomes the solution.
 * Returns false if they are singular: the picture does not determine all unknowns. */
static bool solve(struct equations *equations, int n)
{
    double(*m)[MAX_UNKNOWNS] = equations->matrix, *right = equations->right, trace = 0;
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

/* Returns the solution d as a map of the level's pixels. *moved is a bound of the motion of a corner, in
 * pixels. */
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
    /* The linearized rotation enlarges a little: a rigid map has determinant 1. */
    double length = model == MODEL_RIGID ? sqrt(motion.xx * motion.xx + motion.yx * motion.yx) : 1;
    motion.xx /= length;
    motion.xy /= length;
    motion.yx /= length;
    motion.yy /= length;
    motion.x = d[0] + frame->x - motion.xx * frame->x - motion.xy * frame->y;
    motion.y = d[1] + frame->y - motion.yx * frame->x - motion.yy * frame->y;
    return motion;
}

/* Returns the standard deviation of the corners, in pixels of the level: the root of the trace of
 *
 *     H^-1 G H^-1,  H: matrix without the part that is due to noise,  G: spread
 *
 * P. Huber, "The behavior of maximum likelihood estimates under nonstandard conditions", 5th Berkeley
 * Symposium, 1967. Slopes of noise do not determine the motion. */
static double find_uncertainty(const struct refiner *refiner, const struct equations *equations)
{
    const int n = refiner->unknowns;
    double variance = 0;
    if (equations->blocks <= n)
        return INFINITY;
    for (int k = 0; k < n; k++) {
        struct equations unit = *equations;
        memset(unit.right, 0, sizeof unit.right);
        unit.right[k] = 1;
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                unit.matrix[a][b] -= refiner->noise_in_slopes * equations->noise[a][b];
        if (!solve(&unit, n) || !(unit.right[k] > 0))
            return INFINITY;
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                variance += unit.right[a] * equations->spread[a][b] * unit.right[b];
    }
    variance *= (double)equations->blocks / (equations->blocks - n);
    return variance >= 0 ? sqrt(variance) : INFINITY;
}

/* Judges the match at its current map, and returns the equations of the next step. The score prefers pictures
 * that cover more of the reference, as small parts agree by chance more often. */
static struct equations judge(struct refiner *refiner)
{
    struct match *match = refiner->match;
    const struct gray_plane *gray = &refiner->reference->gray;
    const int bands = (gray->height + refiner->side - 1) / refiner->side;
    struct error none; /* neither call fails */
    thread_pool_each(refiner->workers, gray_plane_blocks(&refiner->sampled), sample_block, refiner, &none);
    thread_pool_each(refiner->workers, bands, sum_band, refiner, &none);
    /* Add the equations of all bands, in the order of rows, and complete the matrices' upper triangles. */
    struct equations sum = {.covered = 0};
    const int n = refiner->unknowns;
    for (int i = 0; i < bands; i++) {
        const struct equations *more = &refiner->bands[i];
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
    match->covered = sum.whole > 0 ? sum.covered / sum.whole : 0;
    match->agreement = sum.structure > 0 ? sum.agreement / sum.structure : 0;
    match->score = match->agreement > 0 ? match->agreement * sqrt(sqrt(match->covered)) : -1;
    match->uncertainty = find_uncertainty(refiner, &sum);
    return sum;
}

/* Judges the match, and moves it by at most `steps` steps, until one moves the corners by less than `enough`
 * pixels. Judges it after each step. */
static void take_steps(struct refiner *refiner, int steps, double enough)
{
    const struct level *reference = refiner->reference;
    struct match *match = refiner->match;
    double moved = INFINITY;
    for (int i = 0;; i++) {
        struct equations equations = judge(refiner);
        match->converged = moved < enough;
        if (i == steps || moved < enough)
            return;
        /* A step that is undetermined, NaN or longer than the picture ends the match. */
        struct affine motion = {.xx = 1, .yy = 1};
        const bool is_solved = solve(&equations, refiner->unknowns);
        if (is_solved)
            motion = find_motion(refiner->model, &refiner->frame, equations.right, &moved);
        if (!is_solved || !(moved < reference->gray.width + reference->gray.height)) {
            match->score = -1;
            return;
        }
        /* W becomes W after the inverse of the motion, in pixels of the level. */
        const double determinant = motion.xx * motion.yy - motion.xy * motion.yx;
        struct affine back = {motion.yy / determinant,  -motion.xy / determinant, 0,
                              -motion.yx / determinant, motion.xx / determinant,  0};
        back.x = -(back.xx * motion.x + back.xy * motion.y);
        back.y = -(back.yx * motion.x + back.yy * motion.y);
        struct affine here = level_from_whole(reference, match->affine);
        match->affine = level_to_whole(reference, affine_then(&back, &here));
    }
}

enum status match_refine(struct thread_pool *workers, struct match *match, enum model model,
                         const struct levels *reference, const struct levels *picture, int index, int steps,
                         double enough, struct error *error)
{
    static const int unknowns[] = {
        [MODEL_SHIFT] = 2, [MODEL_RIGID] = 3, [MODEL_SIMILARITY] = 4, [MODEL_AFFINE] = 6};
    const struct gray_plane *gray = &reference->level[index].gray;
    const int width = gray->width, height = gray->height;
    const double unit = sqrt((double)width * width + (double)height * height) / 2;
    struct refiner refiner = {
        .workers = workers,
        .match = match,
        .model = model,
        .unknowns = unknowns[model],
        .reference = &reference->level[index],
        .picture = &picture->level[index].gray,
        .frame = {(width - 1) / 2.0, (height - 1) / 2.0, unit},
        .side = MIN_BLOCK,
        .noise_in_slopes = index == 0 ? NOISE_IN_SMOOTHED_SLOPES : NOISE_IN_SLOPES,
    };
    /* Blocks as large as possible, with MIN_BLOCKS along the shorter side. */
    while (refiner.side < MAX_BLOCK && 2 * refiner.side * MIN_BLOCKS <= (width < height ? width : height))
        refiner.side *= 2;
    const int bands = (height + refiner.side - 1) / refiner.side;
    if (gray_plane_make(&refiner.sampled, width, height, error) != STATUS_OK)
        return STATUS_FAILED;
    refiner.bands = allocate((size_t)bands * sizeof *refiner.bands, "sums of brightness", error);
    enum status status = refiner.bands ? STATUS_OK : STATUS_FAILED;
    if (status == STATUS_OK)
        take_steps(&refiner, steps, enough);
    free(refiner.bands);
    gray_plane_free(&refiner.sampled);
    return status;
}
