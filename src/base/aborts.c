#include "base/aborts.h"

#include <stddef.h>

static struct sigaction action;

void aborts_handle_again(void)
{
    if (action.sa_handler)
        sigaction(SIGABRT, &action, NULL);
}

void aborts_handle(void (*handler)(int), const sigset_t *blocked)
{
    action = (struct sigaction){.sa_handler = handler, .sa_mask = *blocked};
    aborts_handle_again();
}
