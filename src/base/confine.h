/* Takes rights away from the process that it does not need, so that a flaw in a decoder does little harm.
 *
 *     confine_begin ─▶ confine_allow, for each path ─▶ confine_apply ─▶ threads, drivers, decoders
 *
 * Afterwards the kernel refuses every file that was not allowed (Landlock), and sockets, ptrace, changes of
 * identity and other calls that climg has no use for (seccomp). There is no way back, and programs that the
 * process starts are confined, too. Thread safety: the rules are for the calling thread and those that it
 * starts later, so call all three functions before there are other threads. */
#ifndef CLIMG_BASE_CONFINE_H
#define CLIMG_BASE_CONFINE_H

#include "base/error.h"

#include <stdbool.h>

/* Rights on a file, or on a folder and everything below it. */
enum confine_right {
    CONFINE_READ = 1 << 0,
    CONFINE_WRITE = 1 << 1,          /* existing files and devices */
    CONFINE_MAKE_FILES = 1 << 2,     /* in folders: new files */
    CONFINE_CREATE = 1 << 3,         /* in folders: create, rename and remove files and folders */
    CONFINE_REMOVE_FOLDERS = 1 << 4, /* empty ones */
    CONFINE_EXECUTE = 1 << 5,
};

/* Begins a set of rules: system libraries, what drivers read, and devices are allowed. */
void confine_begin(void);

/* Allows the path, which must exist; others are ignored. Links are followed. */
void confine_allow(const char *path, unsigned rights);

/* Calls confine_allow for the folder of a path, which need not exist. */
void confine_allow_folder(const char *path, unsigned rights);

/* Puts the rules into force, as far as the kernel offers them. *note receives what is in force, for -v. Fails
 * if a path could not be allowed for lack of descriptors or memory. */
enum status confine_apply(const char **note, struct error *error);

/* True if rules are in force. */
bool confine_is_on(void);

#endif
