/* Copies pixels of any type and number of channels.
 *
 *   -DUNIT=n  bytes of a unit, the part of a pixel that one access copies: 1, 2, 4, 8 or 16. A pixel has one or three units
 *   -DTILE=n  for the files that include this: side of the square of pixels that a work-item copies. On CPUs the square
 *             fits into the cache */
#pragma once

/* Defaults, so that these files can be compiled without options. */
#ifndef UNIT
#define UNIT 1
#endif
#ifndef TILE
#define TILE 64
#endif

#if UNIT == 1
typedef uchar unit;
#elif UNIT == 2
typedef ushort unit;
#elif UNIT == 4
typedef uint unit;
#elif UNIT == 8
typedef uint2 unit;
#else
typedef uint4 unit;
#endif

/* Copies one pixel of `units` units: 1 or 3. */
static inline void copy_pixel(__global unit *to, __global const unit *from, int units)
{
    to[0] = from[0];
    if (units == 3) {
        to[1] = from[1];
        to[2] = from[2];
    }
}
