/* How long drivers' compilers keep a command waiting, for whoever tells the user. Any thread may call. */
#ifndef CLIMG_DEVICE_COMPILING_H
#define CLIMG_DEVICE_COMPILING_H

/* Around a call that may compile. */
void compiling_begin(void);
void compiling_end(void);

/* Seconds in which compilers were at work so far, while one is; 0 while none is, or has only just begun. */
double compiling_seconds(void);

#endif
