/* The kernel of constant.h as a program of its own, for GPUs. */
#define LANES 1
#include "constant.h"
