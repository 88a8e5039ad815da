/* Where the samples of a pixel of an axis lie, for GPUs: at the border its samples are mirrored ones. */
#pragma once
#include "axis.h"

#ifdef IMAGES
#define PIXEL 1 /* samples along x */
#else
#define PIXEL 4
#endif

/* Together, or each by itself: mirrored at the border, shifted by padding. */
struct place {
    int4 x;
    bool together;
};

static inline struct place find_place(const struct axis axis, int x)
{
    struct place place;
    place.together = axis.pad == 0 && plain(axis, x, PIXEL);
    place.x = x;
    if (!place.together)
        place.x = (int4)(sample_at(axis, x), sample_at(axis, x + 1), sample_at(axis, x + 2), sample_at(axis, x + 3));
    return place;
}

static inline pixel load_place(SOURCE(src), const struct place place, int y, int z)
{
#ifdef IMAGES
    return load(GIVE(src), place.x.x, y, z);
#else
    __global const float *row = src + offset(src_at, 0, y, z);
    return place.together ? *(__global const float4 *)(row + place.x.x)
                          : (float4)(row[place.x.x], row[place.x.y], row[place.x.z], row[place.x.w]);
#endif
}
