/* The dual-tree transform there and back and shrinkage as one program: a driver for CPUs takes as long to load one as a megapixel takes
 * to transform. */
#include "dtcwt_forward_cpu.cl"
#include "dtcwt_inverse_cpu.cl"
#include "shrink_cpu.cl"
