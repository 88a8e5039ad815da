/* Forward and inverse dual-tree transform and shrinkage as one program. Loading a program takes a CPU driver as long as
 * the transform of a megapixel, so three programs would be slower. */
#include "dtcwt_forward_cpu.cl"
#include "dtcwt_inverse_cpu.cl"
#include "shrink_cpu.cl"
#include "constant.h"
