/* Work that is handed to threads piece by piece and taken back in the order in which it was handed out:
 *
 *     fill a slot ─▶ submit ─▶ threads ─▶ oldest (waits for it) ─▶ take: the slot is free again
 *
 * Slots are used in turn, and as many pieces as there are slots may be under way. What is in a slot is the
 * caller's. One thread calls all of this. */
#ifndef CLIMG_BASE_ORDERED_H
#define CLIMG_BASE_ORDERED_H

#include "base/error.h"
#include "base/workers.h"

#include <stdbool.h>
#include <stddef.h>

struct ordered {
    struct workers workers;
    struct task *tasks;   /* one for each slot */
    unsigned char *slots; /* zeroed when they are allocated */
    size_t size, count;   /* bytes of a slot, slots */
    size_t submitted, taken;
};

/* `run` gets a slot. The struct must stay where it is until ordered_close, which is needed after a failure,
 * too, and fine on a zeroed struct. */
enum status ordered_open(struct ordered *ordered, int threads, size_t count, size_t size,
                         void (*run)(void *slot), struct error *error);

/* The slot of the piece with this number, from 0: of one that is under way, or the next to be submitted. */
void *ordered_slot(const struct ordered *ordered, size_t piece);

/* Whether a piece must be taken before the next can be submitted. */
bool ordered_is_full(const struct ordered *ordered);

/* Hands out the next piece. `alone`: there will be no other, so that it is not worth a thread and is done
 * here. */
void ordered_submit(struct ordered *ordered, bool alone);

/* The oldest piece that was not taken, when it is done; NULL: none is left. */
void *ordered_oldest(struct ordered *ordered);
void ordered_take(struct ordered *ordered);

/* Waits for what is under way; what nobody began is dropped. `release` then frees what each slot owns, also
 * one that was never used. */
void ordered_close(struct ordered *ordered, void (*release)(void *slot));

#endif
