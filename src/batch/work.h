/* One item of a list, done. */
#ifndef CLIMG_BATCH_WORK_H
#define CLIMG_BATCH_WORK_H

#include "batch/converting.h"
#include "batch/list.h"

enum outcome_kind { OUTCOME_DONE, OUTCOME_SKIPPED, OUTCOME_FAILED };

/* What became of an item. */
struct outcome {
    enum outcome_kind kind;
    enum status status; /* STATUS_OK unless it failed */
    struct error error;
    struct converted made;
    int group; /* images that went through the chain together, this one among them; 1: it went by itself */
    uint64_t bytes_in, bytes_out;
    double seconds[PART_COUNT], total; /* of what was done for a group each image has its share */
    const char *device;                /* belongs to the session; NULL: none was needed */
};

/* An item under way. It uses nothing but the session (one a thread) and what is constant, and says nothing:
 * see results_take. */
struct entry {
    struct session *session;
    const struct list *list;
    size_t index; /* in the list */
    const struct item *item;
    struct outcome outcome;
    bool begun, settled;          /* settled: the outcome is known, and nothing is left to do */
    struct converting converting; /* open from entry_begin until it is settled */
};

void entry_take(struct entry *entry, struct session *session, const struct list *list, size_t index);

/* Finds out whether there is anything to do, makes the folders, and opens the input. */
void entry_begin(struct entry *entry);

/* Does what is left, whatever it needs: it is settled then. */
void entry_finish(struct entry *entry);

/* The output is in its place: settled, as OUTCOME_DONE. */
void entry_done(struct entry *entry);

/* Closes what is open, so that the item can be begun again, here or elsewhere. */
void entry_drop(struct entry *entry);

/* What the session has measured so far. */
struct measured {
    double total, seconds[PART_COUNT];
};

struct measured measure(const struct session *session);

/* Charges what went by since then to the entry, as one of so many for which it was done. */
void entry_charge(struct entry *entry, const struct measured *since, int share);

#endif
