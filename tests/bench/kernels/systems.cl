/* Solves systems of six equations, one a row of src: a matrix and its right-hand side, [A | b]. A = LU without pivoting,
 * the right-hand side forward on the way, then back; dst has the six unknowns of a system in a row.
 *
 *   -DFORM=0   one work-item a system, which works in global memory (`more` has room for all systems)
 *   -DFORM=1   ... in registers
 *   -DFORM=2   ... in registers, from a src of which each column is a system, so that neighbours load neighbours
 *   -DFORM=3   six work-items a system, which work in local memory */
enum { ROWS = 6, COLUMNS = 7, ENTRIES = ROWS * COLUMNS, TOGETHER = 8 };

#define ARGUMENTS                                                                                                      \
    __global const float *restrict src, __global float *restrict more, __global float *restrict dst, const int width,  \
        const int height, const int pitch
#define AT(i, j) a[(i) * COLUMNS + (j)]
#define UNROLL   _Pragma("unroll")

#if FORM == 3
__kernel __attribute__((reqd_work_group_size(ROWS, TOGETHER, 1))) void solve(ARGUMENTS)
{
    const int i = get_local_id(0), system = get_global_id(1);
    __local float room[TOGETHER][ENTRIES];
    __local float *a = room[get_local_id(1)];
    for (int k = i; k < ENTRIES; k += ROWS)
        a[k] = src[(size_t)system * ENTRIES + k];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < ROWS; k++) {
        const float factor = AT(i, k) / AT(k, k);
        for (int j = k + 1; j < COLUMNS && i > k; j++)
            AT(i, j) -= factor * AT(k, j);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int k = ROWS - 1; k > 0; k--) {
        if (i < k)
            AT(i, ROWS) -= AT(i, k) * (AT(k, ROWS) / AT(k, k));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    dst[(size_t)system * ROWS + i] = AT(i, ROWS) / AT(i, i);
}
#else
__kernel void solve(ARGUMENTS)
{
    const size_t system = get_global_id(0);
#if FORM == 0
    __global float *a = more + system * ENTRIES;
#else
    float a[ENTRIES];
#endif
    UNROLL for (int k = 0; k < ENTRIES; k++)
        a[k] = FORM == 2 ? src[(size_t)k * pitch + system] : src[system * ENTRIES + k];
    UNROLL for (int k = 0; k < ROWS; k++)
        UNROLL for (int i = k + 1; i < ROWS; i++)
        {
            const float factor = AT(i, k) / AT(k, k);
            UNROLL for (int j = k + 1; j < COLUMNS; j++) AT(i, j) -= factor * AT(k, j);
        }
    UNROLL for (int i = ROWS - 1; i >= 0; i--)
    {
        UNROLL for (int j = i + 1; j < ROWS; j++) AT(i, ROWS) -= AT(i, j) * AT(j, ROWS);
        AT(i, ROWS) /= AT(i, i);
        dst[system * ROWS + i] = AT(i, ROWS);
    }
}
#endif
