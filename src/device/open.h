/* A chosen device, ready to work. */
#ifndef CLIMG_DEVICE_OPEN_H
#define CLIMG_DEVICE_OPEN_H

#include "device/device.h"

#include <signal.h>

/* OpenCL drivers abort where they should fail, and crash. From now on SIGABRT, SIGSEGV, SIGBUS and SIGILL
 * call `handler`, which must end the program, while signals of `blocked` wait. Call it before there are
 * threads. */
void crashes_handle(void (*handler)(int), const sigset_t *blocked);

/* Whether the signal is one of those. */
bool crashes_include(int number);

/* Creates the context and the queues of a chosen device. */
enum status device_open(struct device *device, struct error *error);

/* Chooses the device that `wanted` names (device_choose) and opens it; without `force` not one that
 * --selftest found wrong. device_close is needed also after a failure. */
enum status device_find(const char *wanted, const struct environment *environment, bool force,
                        struct device *device, struct error *error);

/* For another thread: the same context and programs, queues of its own. `original` must be open and may be
 * closed first. */
enum status device_share(const struct device *original, struct device *device, struct error *error);

/* Frees everything; fine on a zeroed or merely chosen device. */
void device_close(struct device *device);

#endif
