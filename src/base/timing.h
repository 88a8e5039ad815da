/* Where the wall-clock time goes: at any moment exactly one phase is charged, so the phases add up to the
 * total. */
#ifndef CLIMG_BASE_TIMING_H
#define CLIMG_BASE_TIMING_H

enum phase {
    PHASE_OTHER,
    PHASE_START, /* finding the device, creating its context */
    PHASE_BUILD, /* kernels */
    PHASE_DECODE,
    PHASE_UPLOAD,
    PHASE_DEVICE, /* enqueuing stages and waiting for them */
    PHASE_LAUNCH, /* what of that the device did not compute: filled in by the report */
    PHASE_DOWNLOAD,
    PHASE_ENCODE,
    PHASE_COUNT
};

struct timing {
    double seconds[PHASE_COUNT];
    double began, since;
    enum phase current;
};

/* Starts the clock in PHASE_OTHER. */
void timing_begin(struct timing *timing);

/* Charges from now on to `phase`; gives the phase before, to be handed to the next call. */
enum phase timing_enter(struct timing *timing, enum phase phase);

/* Seconds since timing_begin; the current phase is charged up to now. */
double timing_total(struct timing *timing);

#endif
