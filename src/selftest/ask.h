/* One question of --selftest, put to a device. */
#ifndef CLIMG_SELFTEST_ASK_H
#define CLIMG_SELFTEST_ASK_H

#include "base/timing.h"
#include "chain/chain.h"
#include "engine/run.h"
#include "selftest/question.h"

/* How the samples that came out differ from the answers. */
struct marks {
    double error; /* the largest, of full scale or of the answer where that is larger; infinite: no number */
    size_t worst; /* its sample's number */
    double got, expected;
};

/* A question's stage as a chain. chain_free is needed also after a failure. */
enum status ask_begin(const struct question *question, struct chain *chain, struct error *error);

/* Sends the samples through the chain as a file's would go, in slices of so many rows (0: at once), and
 * compares what comes out. *sliced says whether there were several slices. STATUS_FAILED: the device could
 * not do it. */
enum status ask(const struct question *question, const struct chain *chain, struct run *run,
                struct timing *timing, int slice, bool *sliced, struct marks *marks, struct error *error);

#endif
