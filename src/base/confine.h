/* Drops the rights that the process does not need, so that a flaw in a decoder does little harm.
 *
 *     confine_begin ─▶ confine_allow, for each path ─▶ confine_apply ─▶ threads, drivers, decoders
 *
 * After confine_apply the kernel refuses every file that was not allowed (Landlock). It also refuses sockets,
 * ptrace, changes of identity and other system calls that climg does not use (seccomp). The rules cannot be
 * removed, and programs that the process starts inherit them. Thread safety: the rules hold for the calling
 * thread and those that it starts later, so set them up before there are other threads. */
#ifndef CLIMG_BASE_CONFINE_H
#define CLIMG_BASE_CONFINE_H

#include "base/error.h"

#include <stdbool.h>

/* Rights on a file, or on a folder and everything below it. */
enum confine_right {
    CONFINE_READ = 1 << 0,
    CONFINE_WRITE = 1 << 1,          /* existing files and devices */
    CONFINE_MAKE_FILES = 1 << 2,     /* in folders: create files, but not remove them */
    CONFINE_CREATE = 1 << 3,         /* in folders: create, rename and remove files and folders */
    CONFINE_REMOVE_FOLDERS = 1 << 4, /* empty ones */
    CONFINE_EXECUTE = 1 << 5,
};

/* Begins a set of rules that allows system libraries, drivers and their settings, and devices. */
void confine_begin(void);

/* Adds rights on a path; if it is a link, on its target. A path that cannot be opened is ignored. */
void confine_allow(const char *path, unsigned rights);

/* Calls confine_allow for the folder above a path. The path itself need not exist. */
void confine_allow_folder(const char *path, unsigned rights);

/* Enforces the rules, as far as the kernel supports them. *note receives a text for -v that says which are
 * enforced; it is valid until the next call. Fails if a rule could not be added, for example because
 * descriptors ran out. */
enum status confine_apply(const char **note, struct error *error);

/* True if rules are enforced. */
bool confine_is_on(void);

#endif
