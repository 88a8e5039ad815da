/* Built programs that --warm keeps in climg's cache.
 *
 * PoCL finds what it compiled by a hash of the preprocessed text, and preprocessing takes about 10 ms for
 * each program, where one from its binary takes 1. But such a binary holds every kernel for groups of any
 * size, which doubles the compiling, so it is made where somebody waits for compilers anyway. */
#ifndef CLIMG_DEVICE_KEPT_H
#define CLIMG_DEVICE_KEPT_H

#include "device/device.h"

/* The program of that file of kernels, built with these options as it was kept; NULL: it was not, or the
 * driver does not take it any more. */
cl_program kept_load(const struct device *device, const char *file, const char *options);

/* Removes what climg kept when it had other kernels. */
void kept_forget(const struct environment *environment);

/* Keeps a program that was built, where the device is PoCL's. What fails costs later runs their 10 ms. */
void kept_save(const struct device *device, const char *file, const char *options, cl_program program);

#endif
