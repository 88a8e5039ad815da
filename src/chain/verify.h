/* --verify: computes random rows of every output again and compares them before they are written.
 *
 *     input rows ─┬─▶ run ─────────────────────▶ compare ─▶ writer
 *                 └─▶ copy ─▶ run->second ──────────┘
 *
 * The second run uses the other kernel variant, with planes in buffers, or another device. All of them give
 * the same bits (kernels/exact.h), so any difference is an error. It follows the page's run slice by slice
 * (flow.c) and through the analysis passes, with the same plan. A pyramid is verified as a whole. */
#ifndef CLIMG_CHAIN_VERIFY_H
#define CLIMG_CHAIN_VERIFY_H

#include "chain/plan.h"
#include "device/event_log.h"
#include "settings/settings.h"

/* Device and run of the second computation. Thread safety: they belong to the worker of the first one. */
struct verifier {
    bool is_open;
    struct device device;
    struct run run;
    struct event_log event_log;
};

/* Opens the verifier, which becomes run->second. `opened` is a copy of the run's device. If --verify names
 * another device, this must not have failed --selftest, unless `force` is set. After success the caller calls
 * verifier_close, when `run` is no longer used. */
enum status verifier_open(struct verifier *verifier, struct run *run, const struct device *opened,
                          const struct verify_option *verify, bool force, struct error *error);

/* Frees the verifier. Safe on a zeroed one. */
void verifier_close(struct verifier *verifier);

/* Returns the output rows of a slice that run->second computes; they may be none, but not in all slices of a
 * page. In an analysis pass they are all rows. Any thread may call. */
struct interval verified_rows(const struct run *run, const struct plan *plan, int slice);

/* Compares `rows` of a page with the second computation. `info` describes the page; `name` is the name of a
 * pyramid's page, or "". `first` and `second` point to the first of the rows, which are `pitch` bytes apart.
 * Fails at the first sample that differs; the message has its position and both values. Any thread may call.
 */
enum status verify_rows(const struct run *run, const struct image_info *info, const char *name,
                        struct interval rows, const unsigned char *first, const unsigned char *second,
                        size_t pitch, struct error *error);

#endif
