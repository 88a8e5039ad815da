/* What a command is to do, known whole before anything is done. */
#ifndef CLIMG_BATCH_LIST_H
#define CLIMG_BATCH_LIST_H

#include "batch/job.h"

struct list {
    struct job *jobs; /* sorted by name, byte by byte, whatever the locale */
    size_t count;
    size_t passed_over; /* files in folders that are no images climg reads */
    size_t unread; /* those among folders' files that are images by their names, which climg does not read */
    char *unread_one;   /* the first of them in the order of names; NULL: there is none */
    const char *output; /* of the command */
    bool output_is_directory;
    bool several; /* files are talked about as such; a single one's message is the command's */
};

/* Finds every input of the command and names its output: a file argument is taken whatever it is; of a
 * folder, and with --recursive of those in it, regular files that are images by their name or else by their
 * first bytes, and are not hidden. Links to files are followed there, links to folders are not. A
 * folder that is the command's output is passed over inside another. What would destroy a file (clash.h) is
 * a usage error. Writes nothing. To be freed with list_free, on failure too. */
enum status list_make(struct list *list, const struct command *command, struct error *error);

struct list_note {
    char text[1024];
};

/* "2 images are left out, such as a.jpg: climg does not read JPEG; ..."; "" where there are no such. */
struct list_note list_left_out(const struct list *list);

void list_free(struct list *list);

#endif
