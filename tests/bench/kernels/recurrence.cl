/* A first-order recurrence along each row, y[n] = FACTOR y[n - 1] + x[n] from y[-1] = 0 on, of which GAIN y is written by a
 * group of N work-items, as many neighbours at once.
 *
 *   -DN=n        a power of two; width is a multiple of it
 *   -DGAIN=g     1 unless given */
#ifndef GAIN
#define GAIN 1.0f
#endif
#define FACTOR 0.9f

#define ARGUMENTS                                                                                                      \
    __global const float *restrict src, __global const float *restrict more, __global float *restrict dst,             \
        const int width, const int height, const int pitch
#define GROUP __attribute__((reqd_work_group_size(N, 1, 1)))

/* The first work-item goes step by step; the others are there to write. */
__kernel GROUP void step_by_step(ARGUMENTS)
{
    const int lx = get_local_id(0);
    const size_t row = (size_t)get_global_id(1) * width;
    __local float block[N];
    float y = 0.0f;
    for (int x = 0; x < width; x += N) {
        for (int k = 0; k < N && lx == 0; k++)
            block[k] = y = FACTOR * y + src[row + x + k];
        barrier(CLK_LOCAL_MEM_FENCE);
        dst[row + x + lx] = GAIN * block[lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* Look-ahead: y[n] = FACTOR^k y[n - k] + what came in since, for k = 1, 2, 4 ... up to the block before, by all
 * work-items at once. */
__kernel GROUP void look_ahead(ARGUMENTS)
{
    const int lx = get_local_id(0);
    const size_t row = (size_t)get_global_id(1) * width;
    const float decay = pown(FACTOR, lx + 1);
    __local float block[N];
    float carry = 0.0f;
    for (int x = 0; x < width; x += N) {
        float y = src[row + x + lx], factor = FACTOR;
        for (int step = 1; step < N; step *= 2, factor *= factor) {
            block[lx] = y;
            barrier(CLK_LOCAL_MEM_FENCE);
            y += lx >= step ? factor * block[lx - step] : 0.0f;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        y += decay * carry;
        block[lx] = y;
        dst[row + x + lx] = GAIN * y;
        barrier(CLK_LOCAL_MEM_FENCE);
        carry = block[N - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
