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
    v[2] = (a - 2.0f * b + c) * ROOT6;
}

static inline void from_opponent(COLOUR *v)
{
    const COLOUR a = v[0], b = v[1], c = v[2];
    v[0] = a * ROOT3 + b * ROOT2 + c * ROOT6;
    v[1] = a * ROOT3 - 2.0f * c * ROOT6;
    v[2] = a * ROOT3 - b * ROOT2 + c * ROOT6;
}
