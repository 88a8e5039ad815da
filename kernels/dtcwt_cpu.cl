/* Forward and inverse dual-tree transform, shrinkage, and the count of constant colours as one program. Loading a program takes
 * a CPU driver as long as the transform of a megapixel. */
#include "dtcwt_forward_cpu.cl"
#include "dtcwt_inverse_cpu.cl"
#include "shrink_cpu.cl"
#include "constant.h"
