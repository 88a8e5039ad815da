#include "tuning/warm_children.h"

#include "base/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The processes under way, where another thread finds them. */
enum { NOBODY = 0, STARTING = -1, STARTING_MS = 500 };
static atomic_int children[WORKERS_MAX];
static atomic_bool abandoned; /* no more are started */

static atomic_int *child_place(int pid)
{
    size_t i = 0;
    while (i < WORKERS_MAX - 1 && atomic_load(&children[i]) != pid)
        i++;
    return &children[i];
}

/* Bounded, as the thread that starts it may be stopped for good: by a signal whose handler this is. */
static int pid_when_started(const atomic_int *child)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < STARTING_MS && atomic_load(child) == STARTING; i++)
        nanosleep(&moment, NULL);
    return atomic_load(child);
}

void children_forbid(void)
{
    atomic_store(&abandoned, true);
}

/* Whoever waits for them as well may be the one that learns of their end. */
void children_end(void)
{
    int pids[WORKERS_MAX];
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        pids[i] = pid_when_started(&children[i]);
        if (pids[i] > 0)
            kill(pids[i], SIGTERM);
    }
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        while (pids[i] > 0 && waitpid(pids[i], NULL, 0) < 0 && errno == EINTR)
            ;
        atomic_store(&children[i], NOBODY);
    }
}

static int spawn(const char *program, char *const *words, const char *folder, const char *messages,
                 pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    posix_spawnattr_init(&attributes);
    sigemptyset(&signals); /* this process has some blocked */
    posix_spawnattr_setsigmask(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int code = posix_spawn(pid, program, &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return code;
}

int child_start(const char *program, char *const *words, const char *folder, const char *messages, pid_t *pid)
{
    atomic_int *child = child_place(NOBODY);
    atomic_store(child, STARTING);
    int code = atomic_load(&abandoned) ? EINTR : spawn(program, words, folder, messages, pid);
    atomic_store(child, code == 0 ? *pid : NOBODY);
    return code;
}

pid_t child_await(int *state)
{
    pid_t pid = waitpid(-1, state, 0);
    if (atomic_load(&abandoned)) {
        errno = ECANCELED;
        return -1;
    }
    atomic_int *child = child_place(pid);
    if (pid > 0 && atomic_load(child) == pid) /* a process may have children from before it was climg */
        atomic_store(child, NOBODY);
    return pid;
}
