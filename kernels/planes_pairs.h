/* Pairs of neighbours along x, an even and an odd sample. In the dual-tree transform even samples are of tree a and odd
 * ones of tree b. Quads, 2x2 blocks of two pairs above each other, become complex numbers:
 *
 *     a b      p = (a + jb) / sqrt 2      q2c: subbands p - q and p + q
 *     c d      q = (d - jc) / sqrt 2      c2q: the inverse
 *
 *   PAIRS   pairs of a register; defined by the file that includes this one
 *   pair    type of PAIRS pairs: their samples as they follow along x. In images PAIRS is 1: two texels
 *   single  type of their even samples alone, or of the odd ones */
#pragma once
#include "planes.h"

#ifdef IMAGES
typedef float8 pair;
typedef float4 single;
#define EVEN lo
#define ODD  hi
#else
#if PAIRS == 8
typedef float16 pair;
typedef float8 single;
#elif PAIRS == 2
typedef float4 pair;
typedef float2 single;
#else
typedef float2 pair;
typedef float single;
#endif
#define EVEN even
#define ODD  odd
#endif

/* Joins even and odd samples to pairs. */
static inline pair interleave(single even_ones, single odd_ones)
{
    pair v;
    v.EVEN = even_ones;
    v.ODD = odd_ones;
    return v;
}

/* Returns v with the even and the odd sample of each pair exchanged. */
static inline pair swap(pair v)
{
    return interleave(v.ODD, v.EVEN);
}

/* Returns the weight of tree a in the even lanes and the weight of tree b in the odd ones. */
static inline pair both_trees(float2 weights)
{
    return interleave((single)(weights.x), (single)(weights.y));
}

/* Stores pairs at x. In buffers this is one aligned store, as x is a multiple of 2 * PAIRS and rows are padded. In an image
 * of odd width the last texel has no partner. */
static inline void store_pair(PLANES_OUT(t), int x, int y, int z, pair value)
{
#ifdef IMAGES
    store(PLANES_ARG(t), x, y, z, value.lo);
    if (x + 1 < t_at.width)
        store(PLANES_ARG(t), x + 1, y, z, value.hi);
#else
    *(__global pair *)(t + offset(t_at, x, y, z)) = value;
#endif
}

/* Loads PAIRS neighbouring samples of one plane, such as the real part of a subband; in images a texel. */
static inline single load_single(PLANES_IN(s), int x, int y, int z)
{
#ifdef IMAGES
    return load(PLANES_ARG(s), x, y, z);
#else
    return *(__global const single *)(s + offset(s_at, x, y, z));
#endif
}

/* Stores PAIRS neighbouring samples of one plane; in images a texel. */
static inline void store_single(PLANES_OUT(t), int x, int y, int z, single value)
{
#ifdef IMAGES
    store(PLANES_ARG(t), x, y, z, value);
#else
    *(__global single *)(t + offset(t_at, x, y, z)) = value;
#endif
}

/* Stores the complex numbers of PAIRS quads (q2c) at column n and row i: p - q in subband `first`, p + q in `second`. `top`
 * and `bottom` are the two rows of the quads. */
static inline void store_q2c(PLANES_OUT(subbands), int first, int second, int n, int i, int z, pair top, pair bottom)
{
    const int channels = subbands_at.channels;
    const single a = top.EVEN, b = top.ODD, c = bottom.EVEN, d = bottom.ODD;
    store_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * first, z, channels), (a - d) * M_SQRT1_2_F);
    store_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * first + 1, z, channels), (b + c) * M_SQRT1_2_F);
    store_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * second, z, channels), (a + d) * M_SQRT1_2_F);
    store_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * second + 1, z, channels), (b - c) * M_SQRT1_2_F);
}

/* PAIRS quads: their upper rows, in an even row of the level, and their lower rows, in the odd row below it. */
struct quads {
    pair even, odd;
};

/* Returns the quads for samples z0 and z1 of two subbands (c2q):
 *
 *     a + jb = (z0 + z1) / sqrt 2,  d - jc = (z1 - z0) / sqrt 2 */
static inline struct quads c2q(single re0, single im0, single re1, single im1)
{
    struct quads quads;
    quads.even = interleave(re0 + re1, im0 + im1) * M_SQRT1_2_F;
    quads.odd = interleave(im0 - im1, re1 - re0) * M_SQRT1_2_F;
    return quads;
}

/* Loads the quads of subbands `first` and `second` at column n and row i. */
static inline struct quads load_c2q(PLANES_IN(subbands), int first, int second, int n, int i, int z)
{
    const int channels = subbands_at.channels;
    return c2q(load_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * first, z, channels)),
               load_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * first + 1, z, channels)),
               load_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * second, z, channels)),
               load_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * second + 1, z, channels)));
}
