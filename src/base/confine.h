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

#include <linux/landlock.h>
#include <stdbool.h>

/* Rights on a file, or on a folder and everything below it: bits of Landlock. Debian 12's kernel headers lack
 * the bits 14 (truncate) and 15 (ioctl of devices). */
enum confine_right {
    CONFINE_READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    CONFINE_WRITE = LANDLOCK_ACCESS_FS_WRITE_FILE | 1 << 14 | 1 << 15, /* existing files and devices */
    CONFINE_MAKE_FILES = LANDLOCK_ACCESS_FS_MAKE_REG, /* in folders: create files, but not remove them */
    CONFINE_REMOVE_FOLDERS = LANDLOCK_ACCESS_FS_REMOVE_DIR, /* empty ones */
    /* In folders: create, rename and remove files and folders. */
    CONFINE_CREATE = LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REFER |
                     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR,
    CONFINE_ALL = CONFINE_READ | CONFINE_WRITE | CONFINE_CREATE, /* all but CONFINE_EXECUTE */
    CONFINE_EXECUTE = LANDLOCK_ACCESS_FS_EXECUTE,
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
