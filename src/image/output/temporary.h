/* Unfinished files, known by name so that a signal handler can remove them. */
#ifndef CLIMG_IMAGE_OUTPUT_TEMPORARY_H
#define CLIMG_IMAGE_OUTPUT_TEMPORARY_H

#include <sys/types.h>

/* Creates and opens (for reading and writing) a hidden file in the folder of `target`, and locks it for as
 * long as it is temporary. *name receives its name, which lives until temporary_forget. Returns a descriptor,
 * or -1 with errno set. */
int temporary_create(const char *target, mode_t mode, char **name);

/* Ends the file being temporary: it was renamed, or removed by temporary_remove. */
void temporary_forget(const char *name);
void temporary_remove(const char *name);

/* Removes the temporary files of all outputs, and from then on none is made: the program ends. Safe in a
 * signal handler. */
void outputs_abandon(void);

/* Removes from a folder ("" is the current one) what climg left there when it was killed, and nothing that
 * may still be written by anyone. */
void outputs_clean(const char *folder);

/* The length of the part of a path that names the folder, with its slash; 0 where there is none. */
int folder_length(const char *path);

#endif
