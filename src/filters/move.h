/* Pixels that go elsewhere and keep their values: turns by quarters, flips, crops. */
#ifndef CLIMG_FILTERS_MOVE_H
#define CLIMG_FILTERS_MOVE_H

#include "base/affine.h"
#include "engine/run.h"

/* From samples of any type to such samples (in->raster, out->raster). `affine` goes from pixels of the output
 * to those of the input; each is a whole number there, and within it. */
enum status move_pixels(struct run *run, const struct affine *affine, const struct value *in,
                        const struct value *out, struct error *error);

/* The same, or from planes to planes, which it then allocates. */
enum status move_image(struct run *run, const struct affine *affine, const struct value *in,
                       struct value *out, struct error *error);

/* Of a stage that does nothing else. */
struct traits move_traits(const void *params);

#endif
