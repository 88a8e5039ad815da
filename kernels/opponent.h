/* Opponent colours: brightness and two colour differences. The matrix is orthonormal, so white noise stays white and
 * has the same strength in each channel:
 *
 *     [ brightness ]   [ 1/sqrt3   1/sqrt3  1/sqrt3 ]   [ red   ]
 *     [ red - blue ] = [ 1/sqrt2   0       -1/sqrt2 ] * [ green ]
 *     [ green      ]   [ 1/sqrt6  -2/sqrt6  1/sqrt6 ]   [ blue  ]
 *
 *   COLOUR  type of the values of a channel; defined by the file that includes this */
#pragma once

#define ROOT2 0.70710678118654752f
#define ROOT3 0.57735026918962576f
#define ROOT6 0.40824829046386302f

/* Converts red, green, blue to opponent colours, in place. */
static inline void to_opponent(COLOUR *v)
{
    const COLOUR a = v[0], b = v[1], c = v[2];
    v[0] = (a + b + c) * ROOT3;
    v[1] = (a - c) * ROOT2;
    v[2] = (mad(-2.0f, b, a) + c) * ROOT6;
}

/* Converts opponent colours to red, green, blue, in place: the transposed matrix. */
static inline void from_opponent(COLOUR *v)
{
    const COLOUR a = v[0], b = v[1], c = v[2];
    v[0] = mad(c, ROOT6, mad(b, ROOT2, a * ROOT3));
    v[1] = mad(c, -2.0f * ROOT6, a * ROOT3);
    v[2] = mad(c, ROOT6, mad(b, -ROOT2, a * ROOT3));
}
