/* Reports when a compiler runs, for progress messages. State is per process. Thread safety: any thread may
 * call.
 */
#ifndef CLIMG_DEVICE_COMPILING_H
#define CLIMG_DEVICE_COMPILING_H

#include <stdbool.h>

/* Call these before and after a call that may compile: clBuildProgram, or the first launch of a kernel. Calls
 * of several threads may overlap; they form one period. */
void compiling_begin(void);
void compiling_end(void);

/* Sets a function that is called when a period begins and when it ends; NULL removes it. `spent` is the total
 * of all finished periods in seconds. Periods of less than 0.05 s are not added: these calls compiled
 * nothing. The function runs under a lock, so it must not call any function of this file. */
void compiling_watch(void (*watch)(bool begins, double spent));

#endif
