/* Red, green, blue to brightness and two colour differences, and back. The matrix is orthonormal, so white noise stays
 * white and as strong in each.
 *
 *   COLOUR  the type of a colour's values: defined before this is included */
#pragma once

#define ROOT2 0.70710678118654752f
#define ROOT3 0.57735026918962576f
#define ROOT6 0.40824829046386302f

static inline void to_opponent(COLOUR *v)
{
    const COLOUR a = v[0], b = v[1], c = v[2];
    v[0] = (a + b + c) * ROOT3;
    v[1] = (a - c) * ROOT2;
    v[2] = (mad(-2.0f, b, a) + c) * ROOT6;
}

static inline void from_opponent(COLOUR *v)
{
    const COLOUR a = v[0], b = v[1], c = v[2];
    v[0] = mad(c, ROOT6, mad(b, ROOT2, a * ROOT3));
    v[1] = mad(c, -2.0f * ROOT6, a * ROOT3);
    v[2] = mad(c, ROOT6, mad(b, -ROOT2, a * ROOT3));
}
