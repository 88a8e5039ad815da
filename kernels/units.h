/* What a pixel is moved in, whatever its type and number of channels.
 *
 *   -DUNIT=n   bytes that are moved at once: 1, 2, 4, 8 or 16
 *   -DUNITS=n  how many of them a pixel has
 *   -DTILE=n   pixels along either side of a work-item's square: on CPU devices those of a tile that stays in the cache */
#pragma once

#ifndef UNIT
#define UNIT  1
#define UNITS 3
#define TILE  64
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
