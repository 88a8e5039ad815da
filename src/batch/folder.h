/* The files of a folder. */
#ifndef CLIMG_BATCH_FOLDER_H
#define CLIMG_BATCH_FOLDER_H

#include "batch/naming.h"

#include <stdbool.h>
#include <sys/stat.h>

struct found {
    const char *name; /* below the folder where the walk began: "a.png", "sub/a.png" */
    const char *path; /* as it can be opened */
    const struct stat *there;
    bool image;
    const struct format *foreign; /* of name_is_image */
    int problem;                  /* the errno of a file or folder that cannot be looked at; else 0 */
};

struct walk {
    bool recursive;
    dev_t skip_device; /* a folder below the first that is passed over; both 0: none */
    ino_t skip_inode;
    enum status (*found)(void *context, const struct found *file, struct error *error);
    void *context;
};

/* Calls `found` for every regular file, links to such included, that is not hidden. Links to folders are
 * passed over: they may lead round in circles, and out of the folder. The order is the file system's. */
enum status folder_walk(const struct walk *walk, const char *path, struct error *error);

#endif
