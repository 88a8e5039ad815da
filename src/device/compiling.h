/* Reports when a compiler runs, for progress messages. Thread safety: any thread may call. */
#ifndef CLIMG_DEVICE_COMPILING_H
#define CLIMG_DEVICE_COMPILING_H

#include <stdbool.h>

/* Enclose a call that may compile, such as clBuildProgram. */
void compiling_begin(void);
void compiling_end(void);

/* Sets a function that is called when compilation begins and ends; for concurrent calls, when the first
 * begins and the last ends. `spent` is the seconds of compilation so far. The function runs under a lock, so
 * it must not compile. NULL removes it. */
void compiling_watch(void (*watch)(bool begins, double spent));

#endif
