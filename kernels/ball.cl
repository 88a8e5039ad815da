/* Rolling ball: a picture is a landscape whose height is brightness, and a ball rolls below it.
 *
 *     dst[p] = -min over q of (src[p + q] - height[q]),  q in a square of (2 reach + 1)^2 positions
 *
 * This is a negated erosion: -dst[p] is the greatest height to which the top of a ball at p can rise below src. Applied to its
 * own result the kernel is a dilation, as -min(-v - height) is max(v + height): the surface that the balls touch. Both together
 * are a gray-scale opening. Samples beyond the picture do not limit the ball.
 *
 *       -----------.-'''-.------     height[q]: the ball's surface above the level of its top, row by row: 0 in the
 *                .'       '.          middle, negative elsewhere. The reach is less than the ball's radius, so only
 *               /     +     \         the top of the ball is used (src/stages/background.c)
 *                     |<->| reach
 *
 * Grid: x counts vecs, y rows, z planes. A minimum does not depend on the order of its operands. */
#include "planes.h"

#define MAX_REACH 80 /* at least the reach of the largest ball, 75 (src/stages/background.c) */

/* The square extends `reach` columns and rows to each side of the ball's centre. Pixel (x, y) of dst is at
 * (x + shift, y + shift) of src. */
struct ball {
    int reach, shift;
};

/* Returns the minimum of a and b - height. The fmin() of PoCL 3.1 takes several times as long. */
static inline vec min_lowered(vec a, vec b, float height)
{
    b -= height;
    return b < a ? b : a;
}

NOINLINE void roll_run(PLANES_IN(src), PLANES_OUT(dst), __global const float *heights, const struct ball ball, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        const int left = x + ball.shift - ball.reach, side = 2 * ball.reach + 1; /* of the window */
        vec smallest = INFINITY;
        for (int j = 0; j < side; j++) {
            const int row = y + ball.shift - ball.reach + j;
            __global const float *height = heights + j * side;
            if (row < src_at.first_row || row >= src_at.first_row + src_at.rows)
                continue;
#if LANES == 16
            if (left >= 0 && left + side - 1 + LANES <= src_at.width) {
                __global const float *from = src + offset(src_at, left, row, z);
                for (int i = 0; i < side; i++)
                    smallest = min_lowered(smallest, VLOAD(from + i), height[i]);
                continue;
            }
            float line[LANES + 2 * MAX_REACH]; /* the row, with INFINITY beyond the picture */
            for (int i = 0; i < LANES + side - 1; i++)
                line[i] = left + i >= 0 && left + i < src_at.width ? src[offset(src_at, left + i, row, z)] : INFINITY;
            for (int i = 0; i < side; i++)
                smallest = min_lowered(smallest, VLOAD(line + i), height[i]);
#else
            const int begin = max(0, -left), end = min(side, src_at.width - left);
            for (int i = begin; i < end; i++)
                smallest = min_lowered(smallest, load(PLANES_ARG(src), left + i, row, z), height[i]);
#endif
        }
        store(PLANES_ARG(dst), x, y, z, -smallest);
    }
}

__kernel void roll(PLANES_IN(src), PLANES_OUT(dst), __global const float *heights, const struct ball ball)
{
    roll_run(PLANES_ARG(src), PLANES_ARG(dst), heights, ball, WORK_ITEM_ARGS);
}
