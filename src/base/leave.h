/* The end of the process, which whoever started it waits for. */
#ifndef CLIMG_BASE_LEAVE_H
#define CLIMG_BASE_LEAVE_H

#include <stdbool.h>
#include <stdnoreturn.h>

/* From now on this process holds what the system takes long to take apart: a GPU's context, 0.1 s on NVIDIA.
 */
void leave_takes_long(void);

/* Whether process 1, of that name, waits for processes that it adopts, which stay in the table of processes
 * otherwise. */
bool leave_has_reaper(const char *name);

/* Ends the process with that status at once. What takes long is left to a second process of the same memory,
 * which nobody waits for and which ends right after this one; so does the linker mold. It holds no file, pipe
 * or lock, nor the current folder. */
noreturn void leave(int status);

#endif
