/* Enlarges by FACTOR with one output a work-item, as in 2011. Output d is at u = (d + 0.5) / FACTOR - 0.5 of the
 * source's pixels.
 *
 *   -DFACTOR=n    a power of two up to 32: then the table's steps hit every u exactly
 *   -DFILTER=n    0 bilinear; 1 cubic B-spline by four bilinear fetches; 2 bicubic by sixteen fetches
 *   -DCORNERS     the source holds the (N + 1)^2 samples at the pixels' corners: i there is i - 0.5 of the pixels
 *
 * `table` has ENTRIES rows for the places between two samples. Filter 1, with the B-spline's four weights w: the weight
 * of the left pair w0 + w1 and of the right one, and where in its pair each fetch lies (C. Sigg and M. Hadwiger, Fast
 * Third-Order Texture Filtering, GPU Gems 2, 2005). Filter 2: the four weights. In images the bilinear fetches are the
 * texture unit's, with its 8 bits of fraction; in arrays four loads each. */
enum { ENTRIES = 64 };

#ifdef CORNERS
#define SHIFT 0.5f
#else
#define SHIFT 0.0f
#endif

/* Sample i of the source is at coordinate i. */
#ifdef IMAGES
#define BILINEAR(u, v) FROM_TEXEL(read_imagef(src, LINEAR, (float4)((u) + 0.5f, (v) + 0.5f, 0.0f, 0.0f)))
#define SAMPLE(i, j)   FETCH(src, i, j, 0)
#define RESULT(x, y, v) STORE(dst, x, y, 0, v)
#else
static inline pixel sample_at(SOURCE(src), int width, int height, int i, int j)
{
    return src[(size_t)clamp(j, 0, height - 1) * width + clamp(i, 0, width - 1)];
}

static inline pixel bilinear_at(SOURCE(src), int width, int height, float u, float v)
{
    const int i = (int)floor(u), j = (int)floor(v);
    const float fu = u - i, fv = v - j;
    const pixel above = mix(sample_at(src, width, height, i, j), sample_at(src, width, height, i + 1, j), fu);
    const pixel below = mix(sample_at(src, width, height, i, j + 1), sample_at(src, width, height, i + 1, j + 1), fu);
    return mix(above, below, fv);
}
#define BILINEAR(u, v)  bilinear_at(src, width, height, u, v)
#define SAMPLE(i, j)    sample_at(src, width, height, i, j)
#define RESULT(x, y, v) dst[(size_t)(y) * out_width + (x)] = (v)
#endif

__kernel void enlarge(SOURCE(src), TARGET(dst), __constant float4 *restrict table, const int width, const int height,
                      const int out_width, const int out_height)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const float u = (x + 0.5f) / FACTOR - 0.5f + SHIFT, v = (y + 0.5f) / FACTOR - 0.5f + SHIFT;
    if (x >= out_width || y >= out_height)
        return;
#if FILTER == 0
    RESULT(x, y, BILINEAR(u, v));
#else
    const int i = (int)floor(u), j = (int)floor(v);
    const float4 a = table[(int)((u - i) * ENTRIES)], b = table[(int)((v - j) * ENTRIES)];
#if FILTER == 1
    const pixel above = a.x * BILINEAR(i + a.z, j + b.z) + a.y * BILINEAR(i + a.w, j + b.z);
    const pixel below = a.x * BILINEAR(i + a.z, j + b.w) + a.y * BILINEAR(i + a.w, j + b.w);
    RESULT(x, y, b.x * above + b.y * below);
#else
#define ROW(j) (a.x * SAMPLE(i - 1, j) + a.y * SAMPLE(i, j) + a.z * SAMPLE(i + 1, j) + a.w * SAMPLE(i + 2, j))
    RESULT(x, y, b.x * ROW(j - 1) + b.y * ROW(j) + b.z * ROW(j + 1) + b.w * ROW(j + 2));
#endif
#endif
}

#if FILTER == 2
/* The same by a group of 64 x 1 outputs: a work-item filters a column of those that the group needs, once for all. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void enlarge_tile(SOURCE(src), TARGET(dst),
                                                                           __constant float4 *restrict table,
                                                                           const int width, const int height,
                                                                           const int out_width, const int out_height)
{
    const int lx = get_local_id(0), x = get_global_id(0), y = get_global_id(1);
    const float u = (x + 0.5f) / FACTOR - 0.5f + SHIFT, v = (y + 0.5f) / FACTOR - 0.5f + SHIFT;
    const int i = (int)floor(u), j = (int)floor(v);
    const int first = (int)floor((x - lx + 0.5f) / FACTOR - 0.5f + SHIFT) - 1;
    __local pixel columns[64 / FACTOR + 4];
    for (int k = lx; k < 64 / FACTOR + 4; k += 64) {
        const float4 b = table[(int)((v - j) * ENTRIES)];
        columns[k] = b.x * SAMPLE(first + k, j - 1) + b.y * SAMPLE(first + k, j) + b.z * SAMPLE(first + k, j + 1) +
                     b.w * SAMPLE(first + k, j + 2);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float4 a = table[(int)((u - i) * ENTRIES)];
    const int k = i - 1 - first;
    if (x < out_width && y < out_height)
        RESULT(x, y, a.x * columns[k] + a.y * columns[k + 1] + a.z * columns[k + 2] + a.w * columns[k + 3]);
}
#endif

/* The (N + 1)^2 samples at the corners of the pixels: the mean of the four pixels that meet there. */
__kernel void corners(SOURCE(src), TARGET(dst), __constant float4 *restrict table, const int width, const int height,
                      const int out_width, const int out_height)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < out_width && y < out_height)
        RESULT(x, y, BILINEAR(x - 0.5f, y - 0.5f));
}
