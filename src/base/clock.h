/* Wall-clock time for measuring. */
#ifndef CLIMG_BASE_CLOCK_H
#define CLIMG_BASE_CLOCK_H

/* Seconds of a monotonic clock with an arbitrary zero. */
double clock_seconds(void);

#endif
