/* Enlarging by FACTOR = 2^n with the cubic B-spline, by four bilinear fetches of the texture unit a texel (C. Sigg,
 * M. Hadwiger: Fast Third-Order Texture Filtering, GPU Gems 2, chapter 20; clamped edge only).
 *
 * Along an axis, the output lies t past sample j, and with the spline's weights w0 ... w3
 *
 *     w0 s[j - 1] + w1 s[j] + w2 s[j + 1] + w3 s[j + 2] = (w0 + w1) s(j - 1 + f) + (w2 + w3) s(j + 1 + g)
 *     f = w1 / (w0 + w1), g = w3 / (w2 + w3)
 *
 * where s(x) is interpolated linearly. Texture units round f and g to 8 bits; here they are rounded before, which makes
 * the place exact in a float up to 65536 texels, and so the same for every band and device. Each is then off by at most
 * 1/512, so an axis by at most (w0 + w1 + w2 + w3) / 512 of the difference of neighbouring samples, and both
 * axes by 1/256 of that between the largest and the smallest of the 16 samples.
 *
 *   -DFACTOR=n */
#ifdef IMAGES
__constant sampler_t LINEAR = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

/* Two fetches along an axis, in the sampler's coordinates (sample i at i + 0.5), and the weight of each. */
struct pair {
    float first, second, first_weight, second_weight;
};

static inline float to_eight_bits(float x)
{
    return rint(x * 256.0f) / 256.0f;
}

/* For output `out` along an axis of which the image holds what begins at sample `held`. */
static inline struct pair pair_at(int out, int held)
{
    const int phase = out % FACTOR, later = phase >= FACTOR / 2;
    const float t = (phase + 0.5f) / FACTOR + (later ? -0.5f : 0.5f), rest = 1.0f - t;
    const float w0 = rest * rest * rest / 6.0f, w1 = 2.0f / 3.0f - t * t * (1.0f - 0.5f * t);
    const float w2 = 2.0f / 3.0f - rest * rest * (1.0f - 0.5f * rest), w3 = t * t * t / 6.0f;
    const float centre = out / FACTOR + later - 1 - held + 0.5f;
    return (struct pair){centre - 1.0f + to_eight_bits(w1 / (w0 + w1)), centre + 1.0f + to_eight_bits(w3 / (w2 + w3)),
                         w0 + w1, w2 + w3};
}

static inline pixel fetch_row(SOURCE(src), struct pair x, float y, int z)
{
    return x.first_weight * read_imagef(src, LINEAR, (float4)(x.first, y, z, 0.0f)) +
           x.second_weight * read_imagef(src, LINEAR, (float4)(x.second, y, z, 0.0f));
}

__kernel void enlarge_bspline(SOURCE(src), TARGET(dst))
{
    const int x = get_global_id(0), y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const struct pair across = pair_at(x, 0), down = pair_at(y, src_at.first_row);
    store(GIVE(dst), x, y, z,
          down.first_weight * fetch_row(GIVE(src), across, down.first, z) +
              down.second_weight * fetch_row(GIVE(src), across, down.second, z));
}
#endif
