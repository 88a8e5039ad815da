/* --verify: computes random rows of every output again and compares them before they are written.
 *
 * The second computation uses the other kernel variant, with planes in buffers, or another device. All of
 * them give the same bits (kernels/exact.h), so any difference is an error.
 *
 * A verifier owns its device and run. Thread safety: it belongs to one worker; verify_page uses it in the
 * page's writer thread. */
#ifndef CLIMG_CHAIN_VERIFY_H
#define CLIMG_CHAIN_VERIFY_H

#include "chain/memory_run.h"
#include "device/event_log.h"
#include "settings/settings.h"

/* Device and run of the second computation. */
struct verifier {
    double share; /* fraction of the output's rows to verify, 0 to 1 */
    bool is_open;
    struct device device;
    struct run run;
    struct event_log event_log;
    struct timing timing;
};

/* Opens the verifier for pages of `run`. `opened` is a copy of the run's device. If --verify names another
 * device, this must not have failed --selftest, unless `force` is set. Call verifier_close also after a
 * failure. */
enum status verifier_open(struct verifier *verifier, const struct run *run, const struct device *opened,
                          const struct verify_option *verify, bool force, struct error *error);

/* Frees the verifier. Safe on a zeroed one. */
void verifier_close(struct verifier *verifier);

/* Runs flow_page and verifies some of the page's rows before they are written. Fails at the first sample
 * that differs; the message has its position and both values. */
enum status verify_page(struct verifier *verifier, const struct page *page, struct error *error);

#endif
