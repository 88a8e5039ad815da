/* Which rows each step of the transform needs for rows of its result. Every level has coordinates of its own,
 * those of the whole image, so a subband is computed from the very samples and by the very formulas that the
 * whole is. Samples beyond an axis are mirrored into what is within the same reach on it. */
#include "filters/dtcwt_rows.h"

#include "filters/dtcwt_banks.h"

int dtcwt_lowpass_size(int n, int level)
{
    int size = n + n % 2;
    for (int l = 2; l <= level; l++)
        size = 2 * ((size + 3) / 4);
    return size;
}

int dtcwt_max_levels(int width, int height)
{
    int larger = width > height ? width : height, levels = 1;
    while (levels < MAX_LEVELS && (dtcwt_lowpass_size(larger, levels) > 2 || levels < 6))
        levels++;
    return levels;
}

void dtcwt_padding(int n, int level, int *pad, int *length)
{
    *pad = level > 1 && n % 4 != 0;
    *length = level > 1 ? n + 2 * *pad : n + n % 2;
}

struct rows rows_aligned(struct rows rows, int unit)
{
    return (struct rows){rows.begin / unit * unit, (rows.end + unit - 1) / unit * unit};
}

/* Of both filters of level 1, which are brought to one length. */
static int biort_radius(const struct shape *shape)
{
    const struct biort *bank = &biorts[shape->biort];
    return (bank->h0_taps > bank->g0_taps ? bank->h0_taps : bank->g0_taps) / 2;
}

int dtcwt_crop(int n, int level)
{
    return dtcwt_lowpass_size(n, level) - dtcwt_lowpass_size(n, level - 1) / 2;
}

/* Level 1 filters pairs of rows, with a radius. From level 2 on, four rows 4i ... 4i + 3 come from rows
 * 2i - M ... 2i + M + 1 of the next level, M being half of the kernels' taps: U in dtcwt_inverse_wide.cl.
 */
static struct rows level_rows(const struct shape *shape, int level, struct rows made)
{
    int radius = biort_radius(shape), half = qshift_kernel_taps(&qshifts[shape->qshift]) / 2;
    struct rows first = rows_aligned(made, 2), four = rows_aligned(made, 4),
                wanted = level == 1 ? (struct rows){first.begin - radius, first.end + radius}
                                    : (struct rows){four.begin / 2 - half, four.end / 2 + half};
    return rows_aligned(rows_clip(wanted, dtcwt_lowpass_size(shape->height, level)), 2);
}

static struct rows halved(struct rows rows)
{
    return (struct rows){rows.begin / 2, rows.end / 2};
}

struct rows dtcwt_subband_rows(const struct shape *shape, int level, struct rows made)
{
    return halved(level_rows(shape, level, made));
}

void dtcwt_inverse_rows(const struct shape *shape, struct rows image, struct dtcwt_rows *rows)
{
    struct rows made = image;
    for (int level = 1; level <= shape->levels; level++) {
        rows->lowpass[level] = level_rows(shape, level, made);
        rows->subbands[level] = halved(rows->lowpass[level]);
        int crop = level < shape->levels ? dtcwt_crop(shape->height, level + 1) : 0;
        made = (struct rows){rows->lowpass[level].begin + crop, rows->lowpass[level].end + crop};
    }
}

/* Level 1 is a filter with a radius. From level 2 on, rows 2n and 2n + 1 come from positions
 * 4n + 2 - m ... 4n + 1 + m of the padded axis, m being the kernels' taps: D in dtcwt_forward_wide.cl. */
void dtcwt_forward_rows(const struct shape *shape, struct dtcwt_rows *rows)
{
    int radius = biort_radius(shape), taps = qshift_kernel_taps(&qshifts[shape->qshift]);
    struct rows wanted = rows->lowpass[shape->levels];
    for (int level = shape->levels; level >= 1; level--) {
        struct rows subbands = {2 * rows->subbands[level].begin, 2 * rows->subbands[level].end};
        struct rows all = rows_aligned(rows_joined(wanted, subbands), 2);
        rows->lowpass[level] = all;
        if (level == 1) {
            rows->image = rows_clip((struct rows){all.begin - radius, all.end + radius}, shape->height);
            return;
        }
        int pad = dtcwt_crop(shape->height, level);
        wanted = (struct rows){2 * all.begin + 2 - taps - pad, 2 * all.end - 2 + taps - pad};
        wanted = rows_clip(wanted, dtcwt_lowpass_size(shape->height, level - 1));
    }
}
