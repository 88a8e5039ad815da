/* Counts the values of a picture's colours. */
#include "raster.h"

/* As src/filters/histogram.c has them. */
#define BINS    (1 << 18)
#define HALF    (BINS / 2)
#define SPACING (BINS + 16) /* from histogram to histogram; what is not counted goes behind the bins */
#define FIRST   ((127 - 32) << 11)
#define SHIFT   12

#if LANES == 16
#define TO_INTS(v) convert_int16(v)
#define INTS(v)    as_int16(v)
#define COUNT(p)   ++*(p) /* one work-item has the copy of the histogram for itself */
#else
#define TO_INTS(v) convert_int(v)
#define INTS(v)    as_int(v)
#define COUNT(p)   atomic_inc(p)
#endif

/* Integers go by counts of 65535, floats by their upper bits, whose order is that of the values. */
static inline truths find_bins(lanes v, int floats)
{
    const lanes a = fabs(v);
    truths bin;
    if (floats) {
        const truths number = min(max(((INTS(a) + (1 << (SHIFT - 1))) >> SHIFT) - FIRST, (truths)(0)), (truths)(HALF - 1));
        bin = v < 0.0f ? HALF - 1 - number : HALF + number;
    } else {
        lanes t = v * 65535.0f + (HALF + 0.5f);
        t = t > 0.0f ? t : (lanes)(0.0f);
        t = t < BINS - 1.0f ? t : (lanes)(BINS - 1.0f);
        bin = TO_INTS(t);
    }
    return a < INFINITY ? bin : (truths)(BINS);
}

static inline lanes channel_of(SOURCE(src), int x, int y, int channel)
{
#ifdef IMAGES
    const float4 v = load(GIVE(src), x, y, 0);
    return channel == 0 ? v.x : channel == 1 ? v.y : channel == 2 ? v.z : v.w;
#else
    return load(GIVE(src), x, y, channel);
#endif
}

/* Colour is premultiplied, and where alpha is 0 there is none. */
APART void count_run(SOURCE(src), __global uint *bins, int2 rows, int copies, int histograms, int colours, int alpha,
                     int floats, int2 step, ITEM)
{
    __global uint *own = bins + (size_t)(item_y % copies) * histograms * SPACING;
    for (int y = rows.x + item_y; y < rows.y; y += step.y)
        for (int x = first_item * LANES; x < src_at.width; x += step.x)
            for (int c = 0; c < colours; c++) {
                lanes v = channel_of(GIVE(src), x, y, c);
                if (alpha >= 0) {
                    const lanes a = channel_of(GIVE(src), x, y, alpha);
                    v = a > 0.0f ? v / a : (lanes)(INFINITY);
                }
                const truths bin = find_bins(v, floats);
                __global uint *to = own + (histograms > 1 ? c * SPACING : 0);
                const int there = min(LANES, src_at.width - x);
                for (int i = 0; i < there; i++)
                    COUNT(to + ((const int *)&bin)[i]);
            }
}

/* Rows from rows.x to rows.y. The grid: on CPU devices a work-item for each copy of the histograms, else one for each pixel. */
__kernel void count(SOURCE(src), __global uint *bins, int2 rows, int copies, int histograms, int colours, int alpha, int floats)
{
    const int2 step = (int2)(get_global_size(0) * LANES, get_global_size(1));
    count_run(GIVE(src), bins, rows, copies, histograms, colours, alpha, floats, step, THIS_ITEM);
}
