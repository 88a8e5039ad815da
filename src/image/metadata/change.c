#include "image/metadata/change.h"

bool change_resizes(const struct change *change)
{
    return change->in_width != change->out_width || change->in_height != change->out_height ||
           change->x != 1 || change->y != 1;
}
