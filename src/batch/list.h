/* What a command is to do, known whole before anything is done. */
#ifndef CLIMG_BATCH_LIST_H
#define CLIMG_BATCH_LIST_H

#include "batch/command.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One file in, one file out. Nothing in it changes once the list is made, so that several threads may take
 * items of one list. */
struct item {
    char *name; /* below the folder it was found in, or a file argument's last part: the same on every machine
                 */
    char *input, *output;
    char *problem;  /* what is wrong with it already, as a whole message; else NULL */
    uint64_t bytes; /* of the input; 0: not known */
    dev_t device;   /* of the input, with its inode; both 0: not known */
    ino_t inode;
};

struct list {
    struct item *items; /* sorted by name, byte by byte, whatever the locale */
    size_t count;
    size_t passed_over; /* files in folders that are no images climg reads */
    const char *output; /* the last argument */
    bool output_is_directory;
};

/* Finds every input of the command and names its output: a file argument is taken whatever it is; of a
 * folder, and with --recursive of those in it, regular files that are PNG or TIFF by their name or else by
 * their first bytes, and are not hidden. Links to files are followed there, links to folders are not. A
 * folder that is the command's output is passed over inside another. What would destroy a file (clash.h) is
 * a usage error. Writes nothing. To be freed with list_free, on failure too. */
enum status list_make(struct list *list, const struct command *command, struct error *error);

/* What an item owns. */
void item_free(struct item *item);

void list_free(struct list *list);

#endif
