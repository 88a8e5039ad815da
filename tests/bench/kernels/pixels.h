/* Pixels of the experiments, in every way that they were kept in 2011: interleaved in arrays, or texels of
 * image arrays.
 *
 *   -DCHANNELS=1|2|4  floats of a pixel
 *   -DIMAGES          src and dst are 2-D image arrays, one layer an image of the batch; else arrays
 *
 * Sizes are multiples of the work-groups', so nothing is stored past an edge; what is read past one is
 * clamped. */
#if CHANNELS == 4
typedef float4 pixel;
#define TEXEL(v)      (v)
#define FROM_TEXEL(t) (t)
#elif CHANNELS == 2
typedef float2 pixel;
#define TEXEL(v)      ((float4)((v), 0.0f, 1.0f))
#define FROM_TEXEL(t) ((t).xy)
#else
typedef float pixel;
#define TEXEL(v)      ((float4)((v), 0.0f, 0.0f, 1.0f))
#define FROM_TEXEL(t) ((t).x)
#endif

#ifdef IMAGES
#define SOURCE(name) __read_only image2d_array_t name
#define TARGET(name) __write_only image2d_array_t name

__constant sampler_t NEAREST = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__constant sampler_t LINEAR = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

#define FETCH(s, x, y, z)    FROM_TEXEL(read_imagef(s, NEAREST, (int4)(x, y, z, 0)))
#define STORE(t, x, y, z, v) write_imagef(t, (int4)(x, y, z, 0), TEXEL(v))
#else
#define SOURCE(name) __global const pixel *restrict name
#define TARGET(name) __global pixel *restrict name
#endif
