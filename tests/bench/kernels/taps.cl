/* A convolution along x by N taps, dst[x] = sum over k < N of more[k] src[x + k]: rows of src, pitch floats each, have a margin
 * of clamped pixels. */
#define ARGUMENTS                                                                                                      \
    __global const float *restrict src, __constant float *restrict more, __global float *restrict dst,                 \
        const int width, const int height, const int pitch

__kernel void one(ARGUMENTS)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < N; k++)
        sum += more[k] * src[(size_t)y * pitch + x + k];
    dst[(size_t)y * width + x] = sum;
}

__kernel void sixteen(ARGUMENTS)
{
    const int x = 16 * get_global_id(0), y = get_global_id(1);
    float16 sum = 0.0f;
    for (int k = 0; k < N; k++)
        sum += more[k] * vload16(0, src + (size_t)y * pitch + x + k);
    vstore16(sum, 0, dst + (size_t)y * width + x);
}
