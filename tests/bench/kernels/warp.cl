/* An affine warp: output (x, y) is interpolated bilinearly at (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]) of the source,
 * where m is `more` and pixels' centres are at whole numbers; edges are clamped. From images by the sampler. */
__kernel void warp(SOURCE(src), __constant float *restrict more, TARGET(dst), const int width, const int height,
                   const int pitch)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const float u = more[0] * x + more[1] * y + more[2], v = more[3] * x + more[4] * y + more[5];
#ifdef IMAGES
    STORE(dst, x, y, 0, FROM_TEXEL(read_imagef(src, LINEAR, (float4)(u + 0.5f, v + 0.5f, 0.0f, 0.0f))));
#else
    const int i = (int)floor(u), j = (int)floor(v);
    const int left = clamp(i, 0, width - 1), right = clamp(i + 1, 0, width - 1);
    __global const pixel *above = src + (size_t)clamp(j, 0, height - 1) * width;
    __global const pixel *below = src + (size_t)clamp(j + 1, 0, height - 1) * width;
    dst[(size_t)y * width + x] =
        mix(mix(above[left], above[right], u - i), mix(below[left], below[right], u - i), v - j);
#endif
}
