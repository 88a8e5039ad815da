/* The kernel of constant.h as a program of its own, for GPUs. */
#ifndef LANES
#define LANES 1
#endif
#include "constant.h"
