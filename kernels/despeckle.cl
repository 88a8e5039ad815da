/* Connected components by union-find: pixels of an object that touch each other, also by a corner (8-connected). Buffers
 * only.
 *
 * A label is the index of a pixel of the same component, in the plane of its slice. The first pixel of a run of pixels in
 * a row is a node; all others point at it. A component is a tree of nodes whose root points at itself and has the smallest
 * index, so labels decrease towards the root:
 *
 *     row 0     . 1 1 . . 5 .         1, 5: runs
 *     row 1     . . . 10 10 . .       10 is joined with 1, then with 5: 5 -> 1 <- 10
 *
 *     label_runs     labels of each row by itself; objects are black, or white
 *     join_rows      joins runs with runs of the row above
 *     count_runs     adds the length of each run to the count of its root
 *     fill           erases objects of less than `smallest` pixels
 *
 * Work-items join at the same time. An atomic minimum sets the root's label. If another work-item has changed the label before,
 * joining continues with the label that it stored (D. Playne, K. Hawick, "A new algorithm for parallel connected-component
 * labelling on GPUs", IEEE Transactions on Parallel and Distributed Systems 29 (2018)). Counts do not depend on the order.
 *
 * Grid: y counts rows, z planes. x counts pixels for fill(); for the others it is 1, and a work-item has a row. */
#define LANES 1
#include "planes.h"

#define NONE 0xffffffffu /* label of the background */

/* Labels the runs of a row, and zeroes their counts. Objects are darker than half of full scale, or, with `white`, not darker;
 * the alpha plane, transparent pixels and NaN belong to the background. Counts the samples that are neither black nor white,
 * with a tolerance of one step of 8 bits, in grays[] of the image. */
__kernel void label_runs(PLANES_IN(src), __global uint *labels, const struct geometry at, __global uint *counts,
                         const struct geometry counts_at, volatile __global uint *grays, int white, int channels, int alpha)
{
    const int y = get_global_id(1) + at.first_row, z = get_global_id(2);
    if (get_global_id(0) > 0 || y >= at.first_row + at.rows)
        return;
    const uint row = (uint)(y - at.first_row) * (uint)at.pitch;
    labels += offset(at, 0, at.first_row, z);
    counts += offset(at, 0, at.first_row, z);
    const bool is_colour = z % channels != alpha; /* alpha is -1 without alpha */
    uint label = NONE, between = 0;
    for (int x = 0; x < at.width; x++) {
        const float v = load(PLANES_ARG(src), x, y, z), full = alpha < 0 ? 1.0f : load(PLANES_ARG(src), x, y, alpha);
        between += is_colour && v > 0.005f * full && v < 0.995f * full;
        const bool is_object = is_colour && full > 0.0f && (white ? v >= 0.5f * full : v < 0.5f * full);
        if (!is_object) {
            label = NONE;
        } else if (label == NONE) {
            label = row + (uint)x;
            counts[label] = 0;
        }
        labels[row + (uint)x] = label;
    }
    if (between > 0)
        atomic_add(grays + z / channels, between);
}

/* Returns the root of a label's tree. In join_rows() it may be joined to another tree meanwhile (unite()). */
static inline uint find_root(volatile __global uint *labels, uint label)
{
    uint next = labels[label];
    while (next != label) {
        label = next;
        next = labels[label];
    }
    return label;
}

/* Joins the components of two pixels. */
static inline void unite(volatile __global uint *labels, uint a, uint b)
{
    for (;;) {
        a = find_root(labels, a);
        b = find_root(labels, b);
        if (a == b)
            return;
        const uint larger = max(a, b), smaller = min(a, b), before = atomic_min(labels + larger, smaller);
        if (before == larger)
            return;
        /* `larger` was no root any more: its label may be in another tree than `smaller`. */
        a = before;
        b = smaller;
    }
}

/* Joins the runs of a row with runs of the row above. Skips a pair of pixels if their runs are joined at another pixel. */
__kernel void join_rows(volatile __global uint *labels, const struct geometry at)
{
    const int y = get_global_id(1) + 1, z = get_global_id(2);
    if (get_global_id(0) > 0 || y >= at.rows)
        return;
    const uint row = (uint)y * (uint)at.pitch;
    labels += offset(at, 0, at.first_row, z);
    bool left = false, above_left = false, above = labels[row - (uint)at.pitch] != NONE;
    for (int x = 0; x < at.width; x++) {
        const uint i = row + (uint)x, over = i - (uint)at.pitch;
        const bool here = labels[i] != NONE, above_right = x + 1 < at.width && labels[over + 1] != NONE;
        if (here && above && !(left && above_left))
            unite(labels, i, over);
        if (here && !above && above_left && !left)
            unite(labels, i, over - 1);
        if (here && !above && above_right)
            unite(labels, i, over + 1);
        left = here;
        above_left = above;
        above = above_right;
    }
}

/* Adds the runs of a row to the counts of their roots. */
__kernel void count_runs(volatile __global uint *labels, const struct geometry at, volatile __global uint *counts,
                         const struct geometry counts_at)
{
    const int y = get_global_id(1), z = get_global_id(2);
    if (get_global_id(0) > 0 || y >= at.rows)
        return;
    const uint row = (uint)y * (uint)at.pitch;
    labels += offset(at, 0, at.first_row, z);
    counts += offset(at, 0, at.first_row, z);
    uint length = 0;
    for (int x = 0; x <= at.width; x++) {
        const bool here = x < at.width && labels[row + (uint)x] != NONE;
        if (!here && length > 0)
            atomic_add(counts + find_root(labels, row + (uint)x - 1), length);
        length = here ? length + 1 : 0;
    }
}

/* Copies src, and paints the pixels of small objects white, or, with `white`, black. */
__kernel void fill(PLANES_IN(src), volatile __global uint *labels, const struct geometry at, __global const uint *counts,
                   const struct geometry counts_at, PLANES_OUT(dst), uint smallest, int white, int alpha)
{
    const int x = get_global_id(0), y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    float v = load(PLANES_ARG(src), x, y, z);
    const uint label = labels[offset(at, x, y, z)];
    if (label != NONE) {
        const size_t plane = offset(at, 0, at.first_row, z);
        if (counts[plane + find_root(labels + plane, label)] < smallest)
            v = white ? 0.0f : alpha < 0 ? 1.0f : load(PLANES_ARG(src), x, y, alpha);
    }
    store(PLANES_ARG(dst), x, y, z, v);
}
