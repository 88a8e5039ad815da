/* The processes that --warm starts, which end with it. */
#ifndef CLIMG_TUNING_WARM_CHILDREN_H
#define CLIMG_TUNING_WARM_CHILDREN_H

#include <sys/types.h>

/* Starts a program in the folder, with nothing on its standard input and output, and what it says on stderr
 * in the file `messages`. Gives 0 or an errno. */
int child_start(const char *program, char *const *words, const char *folder, const char *messages,
                pid_t *pid);

/* Waits for any of them, as waitpid does; -1 with errno also when they are forbidden. */
pid_t child_await(int *state);

/* No more are started, in this process. Also for signal handlers. */
void children_forbid(void);

/* Ends all of them and waits until they are gone. Also for signal handlers. */
void children_end(void);

#endif
