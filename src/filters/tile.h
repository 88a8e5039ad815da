/* Both axes of a separable filter in one kernel, by tiles that a group of work-items shares: see
 * kernels/filter_grouped.h. */
#ifndef CLIMG_FILTERS_TILE_H
#define CLIMG_FILTERS_TILE_H

#include "filters/filter.h"

/* What such a kernel is launched with. */
struct tile {
    struct work work;
    struct {
        cl_int before, reach;
    } span;
    struct window window;
    struct weights weights_x, weights_y;
};

#define ARGS_TILE(tile)                                                                                      \
    ARG_WEIGHTS((tile).weights_x), ARG((tile).span), ARG_WEIGHTS((tile).weights_y), ARG((tile).window)

/* Forms of such kernels: a group is one row, of `group` work-items in buffers. */
extern const int tile_groups[][2];
#define TILE_FORMS(outputs, group)                                                                           \
    .wide_images = {outputs, {128, 1}}, .grouped = {outputs, {group, 1}},                                    \
    .grouped_images = {outputs, {128, 1}}, .groups = tile_groups

/* Whether the device's kernels work so, and the filter does not reach too far along x. */
bool tile_suits(const struct run *run, const struct tunable *tunable, const struct filter *along_x);

/* The launch of `tunable` of kernels/FILE.cl that gives `dst`. Of `count` filters that run side by side, each
 * axis' weights stand one after the other. */
enum status tile_make(struct run *run, const char *file, const struct tunable *tunable, int count,
                      const struct filter *along_x, const struct filter *along_y, const struct planes *dst,
                      struct tile *tile, struct error *error);

#endif
