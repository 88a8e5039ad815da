/* Opponent colours: brightness and two colour differences. The matrix is orthonormal, so white noise stays white and
 * has the same strength in each channel:
 *
 *     [ brightness      ]   [ 1/sqrt3   1/sqrt3  1/sqrt3 ]   [ red   ]
 *     [ red - blue      ] = [ 1/sqrt2   0       -1/sqrt2 ] * [ green ]
 *     [ magenta - green ]   [ 1/sqrt6  -2/sqrt6  1/sqrt6 ]   [ blue  ]
 *
 * The file that includes this one defines the type of the values of one channel:
 *
 *   CHANNEL  float, or a vector of floats of neighbouring pixels */
#pragma once

#define INVERSE_ROOT2 0.70710678118654752f
#define INVERSE_ROOT3 0.57735026918962576f
#define INVERSE_ROOT6 0.40824829046386302f

/* Converts red, green, blue to opponent colours, in place. */
static inline void to_opponent(CHANNEL *v)
{
    const CHANNEL a = v[0], b = v[1], c = v[2];
    v[0] = (a + b + c) * INVERSE_ROOT3;
    v[1] = (a - c) * INVERSE_ROOT2;
    v[2] = (mad(-2.0f, b, a) + c) * INVERSE_ROOT6;
}

/* Converts opponent colours to red, green, blue, in place: the transposed matrix. */
static inline void from_opponent(CHANNEL *v)
{
    const CHANNEL a = v[0], b = v[1], c = v[2];
    v[0] = mad(c, INVERSE_ROOT6, mad(b, INVERSE_ROOT2, a * INVERSE_ROOT3));
    v[1] = mad(c, -2.0f * INVERSE_ROOT6, a * INVERSE_ROOT3);
    v[2] = mad(c, INVERSE_ROOT6, mad(b, -INVERSE_ROOT2, a * INVERSE_ROOT3));
}
