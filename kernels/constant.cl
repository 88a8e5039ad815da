/* Colours that are constant: constant.h. */
#ifndef LANES
#define LANES 1
#endif
#include "constant.h"
