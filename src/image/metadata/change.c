#include "image/metadata/change.h"

#include <math.h>

static bool is_size(uint32_t in, double factor, uint32_t out)
{
    return ceil(in * factor) == out;
}

void change_factors(const struct change *change, double *x, double *y)
{
    const int largest = 30;
    for (int power = 0; power <= largest; power = power > 0 ? -power : 1 - power) {
        double factor = ldexp(1, power);
        if (is_size(change->in_width, factor, change->out_width) &&
            is_size(change->in_height, factor, change->out_height)) {
            *x = *y = factor;
            return;
        }
    }
    *x = (double)change->out_width / change->in_width;
    *y = (double)change->out_height / change->in_height;
}

bool change_resizes(const struct change *change)
{
    return change->in_width != change->out_width || change->in_height != change->out_height;
}
