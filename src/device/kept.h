/* What climg keeps of a device in its cache: what --selftest found, and
 * programs that --warm built. Each file is a memo, for one device, driver and set of kernels: a line that
 * says which, what is kept, and a line with the sum of both. */
#ifndef CLIMG_DEVICE_KEPT_H
#define CLIMG_DEVICE_KEPT_H

#include "device/device.h"

/* What --selftest found. */
struct verdict {
    bool known, passed;
    double error;   /* the largest, of full scale */
    char stage[32]; /* that was the first to fail: "--blur" */
    char date[16];  /* 2026-01-31 */
};

/* verdict->known is false where nothing is remembered, or nothing that makes sense. */
void verdict_load(const struct device *device, struct verdict *verdict);

/* *path (to be freed) receives the file's. */
enum status verdict_save(const struct device *device, const struct verdict *verdict, char **path,
                         struct error *error);

/* STATUS_FAILED, with advice, for a device that failed. */
enum status verdict_check(const struct device *device, struct error *error);

/* What memo_save wrote about the device under that short name, with a 0 byte behind it, to be freed; NULL:
 * nothing, or it is damaged or of another driver or another version of the kernels. */
char *memo_load(const struct device *device, const char *about, size_t *size);
enum status memo_save(const struct device *device, const char *about, const void *data, size_t size,
                      struct error *error);

/* PoCL finds what it compiled by a hash of the preprocessed text, and preprocessing takes about 10 ms for
 * each program; a program from its binary takes 1. But such a binary has every kernel for groups of any size,
 * which doubles the compiling, so only --warm makes them. */

/* The program of that file of kernels with these options; NULL: it was not kept, or the driver does not take
 * it any more. */
cl_program kept_load(const struct device *device, const char *file, const char *options);

/* Removes the programs of other kernels than these. */
void kept_forget(const struct environment *environment);

/* Keeps a program that was built, where the device is PoCL's. After a failure later runs take their 10 ms. */
void kept_save(const struct device *device, const char *file, const char *options, cl_program program);

#endif
