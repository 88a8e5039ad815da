/* Each row of src, whole numbers from 0 to 255, sorted into the row of dst, without one comparison of two of them. */
enum { VALUES = 256 };

#define ARGUMENTS                                                                                                      \
    __global const float *restrict src, __global const float *restrict more, __global float *restrict dst,             \
        const int width, const int height, const int pitch
#define GROUP __attribute__((reqd_work_group_size(VALUES, 1, 1)))

/* By beads (J. J. Arulanandham and others, Bead-Sort, 2002): a value v is a row of beads on the poles below v. They fall; the
 * beads at a height are then as many as the poles filled up to it. A work-item counts the beads of a pole. */
__kernel GROUP void beads(ARGUMENTS)
{
    const int pole = get_local_id(0);
    const size_t row = (size_t)get_global_id(1) * width;
    __local int filled[VALUES];
    int count = 0;
    for (int x = 0; x < width; x++)
        count += src[row + x] > pole;
    filled[pole] = count;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int x = pole; x < width; x += VALUES) {
        int value = 0;
        for (int other = 0; other < VALUES; other++)
            value += filled[other] > width - 1 - x;
        dst[row + x] = value;
    }
}

/* By counting, a work-item a row with counts of its own. */
__kernel void counts_of_an_item(ARGUMENTS)
{
    const size_t row = (size_t)get_global_id(0) * width;
    int counts[VALUES];
    for (int value = 0; value < VALUES; value++)
        counts[value] = 0;
    for (int x = 0; x < width; x++)
        counts[(int)src[row + x]]++;
    for (int value = 0, x = 0; value < VALUES; value++)
        for (const int end = x + counts[value]; x < end; x++)
            dst[row + x] = value;
}

/* By counting, a work-item a value: counts by atomics in local memory, added up in eight steps to where each value ends. */
__kernel GROUP void counts_of_a_group(ARGUMENTS)
{
    const int value = get_local_id(0);
    const size_t row = (size_t)get_global_id(1) * width;
    __local int ends[VALUES];
    ends[value] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int x = value; x < width; x += VALUES)
        atomic_inc(&ends[(int)src[row + x]]);
    for (int step = 1; step < VALUES; step *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int before = value >= step ? ends[value - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        ends[value] += before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int x = value > 0 ? ends[value - 1] : 0; x < ends[value]; x++)
        dst[row + x] = value;
}
