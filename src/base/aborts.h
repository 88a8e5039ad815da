/* OpenCL drivers abort where they should fail. What is to happen then must happen even so. */
#ifndef CLIMG_BASE_ABORTS_H
#define CLIMG_BASE_ABORTS_H

#include <signal.h>

/* From now on SIGABRT calls `handler`, which must end the program, while signals of `blocked` wait. Call it
 * before there are threads. */
void aborts_handle(void (*handler)(int), const sigset_t *blocked);

/* The same again. LLVM, in drivers, takes the place of the handler when it is loaded, and after its own
 * abort() ends the program at once. Does nothing without aborts_handle. */
void aborts_handle_again(void);

#endif
