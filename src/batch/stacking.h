/* A worker's files: one by itself, or small images of one shape together.
 *
 *     take ─▶ open ─┬─ like the first one ─▶ decode ─┐
 *                   │                                ├─▶ chain/group.h ─▶ encode, each to its own output
 *                   ├─ like the first one ─▶ decode ─┘
 *                   └─ another ─▶ it is the next one's first
 *
 * What cannot be done in a group, for whatever reason, is done by itself then: so an error is the one that
 * the file would have alone, and does nothing to the others. */
#ifndef CLIMG_BATCH_STACKING_H
#define CLIMG_BATCH_STACKING_H

#include "batch/work.h"
#include "chain/group.h"

/* An image of the group. */
struct member {
    struct entry *entry;
    struct description description;
    char *page_name; /* the description's: the reader is gone */
};

struct stacking {
    struct session *session;
    const struct list *list;
    struct entry entries[GROUP_IMAGES]; /* taken, in the order of the list */
    int count;
    bool odd;     /* the last of them does not belong to the others */
    int room;     /* entries to be taken together */
    int expected; /* that, as far as the groups before have it: neighbours are mostly as many as those were */
    struct conversion from;     /* of the first entry's shape, as all others' */
    struct shape input, output; /* of one image */
    enum sample_type type;      /* of the outputs */
    struct plan plan;           /* of the group; its chain is the first entry's */
    struct group group;
    struct member images[GROUP_IMAGES];
    int image_count;
};

void stacking_init(struct stacking *stacking, struct session *session, const struct list *list);

/* Goes on with the entry that did not belong to those before. False: there is none, stacking_take one. */
bool stacking_carry(struct stacking *stacking);

/* An item becomes the first entry, or where stacking_wants says so the next one. */
void stacking_take(struct stacking *stacking, size_t index);

/* Opens the first entry; of files like it, up to `share` are to be taken in all. */
void stacking_begin(struct stacking *stacking, size_t share);
bool stacking_wants(const struct stacking *stacking);

/* Runs the group and writes its images. The first stacking_count entries are settled then, or are to be
 * finished one by one. */
void stacking_work(struct stacking *stacking);
int stacking_count(const struct stacking *stacking);

#endif
