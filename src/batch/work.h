/* One item of a list, done. */
#ifndef CLIMG_BATCH_WORK_H
#define CLIMG_BATCH_WORK_H

#include "batch/list.h"
#include "batch/session.h"

enum outcome_kind { OUTCOME_DONE, OUTCOME_SKIPPED, OUTCOME_FAILED };

/* What became of an item. */
struct outcome {
    enum outcome_kind kind;
    enum status status; /* STATUS_OK unless it failed */
    struct error error;
    struct converted made;
    uint64_t bytes_in, bytes_out;
    double seconds[PART_COUNT], total;
    const char *device; /* belongs to the session; NULL: none was needed */
};

/* Does the item, whatever it needs: folders, device, kernels. It uses nothing but the session (one a thread)
 * and what is constant, and says nothing: see results_take. */
void item_work(struct session *session, const struct list *list, const struct item *item,
               struct outcome *outcome);

#endif
