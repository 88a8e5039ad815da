/* Tells when a compiler runs, for progress messages. State is per process. Thread safety: any thread may
 * call.
 */
#ifndef CLIMG_DEVICE_COMPILING_H
#define CLIMG_DEVICE_COMPILING_H

/* Call these before and after a call that may compile: clBuildProgram, or the first launch of a kernel. Calls
 * of several threads may overlap; they form one period. */
void compiling_begin(void);
void compiling_end(void);

/* Returns the seconds of all periods so far while a compiler is running, and 0 at other times. Periods of
 * less than 0.05 s do not count: these calls compiled nothing. */
double compiling_seconds(void);

#endif
