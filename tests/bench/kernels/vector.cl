/* A matrix of pitch columns times a vector: dst[y] = sum over x of src[y, x] more[x].
 *
 *   -DN=1|4   floats that are loaded at once */
#if N == 4
typedef float4 vector;
#define SUM(v) ((v).x + (v).y + (v).z + (v).w)
#else
typedef float vector;
#define SUM(v) (v)
#endif
#define ARGUMENTS                                                                                                      \
    __global const vector *restrict src, __global const vector *restrict more, __global float *restrict dst,           \
        const int width, const int height, const int pitch

/* The sum of every step-th product of a row. */
static inline float add_up(__global const vector *restrict row, __global const vector *restrict by, int first, int count,
                           int step)
{
    vector sum = 0.0f;
    for (int x = first; x < count; x += step)
        sum += row[x] * by[x];
    return SUM(sum);
}

__kernel void row_an_item(ARGUMENTS)
{
    const int y = get_global_id(0), count = pitch / N;
    dst[y] = add_up(src + (size_t)y * count, more, 0, count, 1);
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void row_a_group(ARGUMENTS)
{
    const int lx = get_local_id(0), y = get_global_id(1), count = pitch / N;
    __local float sums[64];
    sums[lx] = add_up(src + (size_t)y * count, more, lx, count, 64);
    for (int half_way = 32; half_way > 0; half_way /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lx < half_way)
            sums[lx] += sums[lx + half_way];
    }
    if (lx == 0)
        dst[y] = sums[0];
}
