/* Noise by brightness. A tone is an eighth of the range of brightness, and has a factor of the noise. The curve connects
 * the factors at the middle of each tone, in straight lines, and is constant below the first and above the last:
 *
 *     factor |  __/\
 *            |       \____
 *            +--|--|--|--|--|--|--|--|   brightness 0 to 1
 *
 * A curve is stored as its first value and the seven differences to the next one. */
#pragma once

#define TONES          8           /* also NOISE_TONES in src/engine/run.h */
#define ONE_BRIGHTNESS 0.57735027f /* 1 / sqrt(3): brightness of white is 1, in opponent colours sqrt(3) */

/* Returns the factor at brightness `b`. */
static inline vec tone_factor(vec b, __global const float *curve)
{
    const vec at = mad(b, (vec)((float)TONES), (vec)(-0.5f));
    vec factor = curve[0];
#pragma unroll
    for (int k = 1; k < TONES; k++)
        factor = mad(fmin(fmax(at - (float)(k - 1), 0.0f), (vec)(1.0f)), (vec)(curve[k]), factor);
    return factor;
}
