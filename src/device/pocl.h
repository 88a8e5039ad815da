/* Where PoCL keeps what it compiles: without such a folder it offers no device. */
#ifndef CLIMG_DEVICE_POCL_H
#define CLIMG_DEVICE_POCL_H

#include "settings/environment.h"

/* Gives PoCL a folder of ours below TMPDIR where its own one, below XDG_CACHE_HOME or HOME, cannot be written
 * or is on a full disk, and the user names none by POCL_CACHE_DIR; `verbose` says so. Before anything calls
 * OpenCL, and while nothing else reads the environment. */
void pocl_prepare(const struct environment *environment, bool verbose);

#endif
