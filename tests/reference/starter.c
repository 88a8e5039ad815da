/* Starts climg again and again without loading PoCL's libraries each time: filters/test_rank.py takes 70 s of processor time instead of
   94. Built twice: as a layer (LD_PRELOAD) under which climg loads them and waits for commands, and as the program that hands it one.

       starter SOCKET climg a.png b.png ── streams, folder, arguments, environment ──> climg that waits: fork, main
               exit status             <────────────── waitpid's status ──────────────

   Each command runs climg's own main in a process of its own. What happens before main is not repeated: tests with layers,
   libraries or an allocator of their own start climg itself. If the caller is killed, its climg is, too. */
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAMS = 3, FAILED = 125 };

/* A message begins with it, and has the streams attached. The text follows: the folder, the arguments and the environment, each ended by 0. */
struct header {
    size_t size;
    int argument_count, environment_count;
};

/* The attachment that carries the streams. */
union attachment {
    char bytes[CMSG_SPACE(sizeof(int[STREAMS]))];
    struct cmsghdr first;
};

static struct msghdr message_of(struct iovec *header, union attachment *attachment)
{
    return (struct msghdr){.msg_iov = header, .msg_iovlen = 1, .msg_control = attachment, .msg_controllen = sizeof *attachment};
}

#ifdef LAYER

static int (*climg_main)(int, char **, char **);

/* Receives a command, applies its streams, folder and environment to this process, and runs climg. */
static int run_command(int caller)
{
    struct header header;
    union attachment attachment;
    struct msghdr message = message_of(&(struct iovec){&header, sizeof header}, &attachment);
    if (recvmsg(caller, &message, 0) != sizeof header || message.msg_controllen != sizeof attachment)
        _exit(FAILED);
    int streams[STREAMS];
    memcpy(streams, CMSG_DATA(&attachment.first), sizeof streams);
    for (int i = 0; i < STREAMS; i++) {
        dup2(streams[i], i);
        close(streams[i]);
    }
    char *text = malloc(header.size), **strings = calloc(header.argument_count + header.environment_count + 2, sizeof *strings);
    if (recv(caller, text, header.size, MSG_WAITALL) != (ssize_t)header.size || chdir(text) != 0)
        _exit(FAILED);
    close(caller);
    char *end = text;
    for (int i = 0; i <= header.argument_count + header.environment_count; i++)
        if (i != header.argument_count)
            strings[i] = end += strlen(end) + 1;
    environ = strings + header.argument_count + 1;
    return climg_main(header.argument_count, strings, environ);
}

/* Waits for the end of the process and reports it, or ends the process if the caller is gone. */
static int watch(pid_t process, int caller)
{
    struct pollfd events[] = {{pidfd_open(process, 0), POLLIN, 0}, {caller, 0, 0}};
    poll(events, 2, -1);
    if (events[0].revents == 0)
        kill(process, SIGKILL);
    int status;
    waitpid(process, &status, 0);
    send(caller, &status, sizeof status, MSG_NOSIGNAL);
    _exit(0);
}

/* Takes the place of climg's main until a command comes. The socket is standard input. */
static int serve(int argument_count, char **arguments, char **environment)
{
    (void)argument_count, (void)arguments, (void)environment;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dlopen("libpocl.so.2", RTLD_LAZY);
    signal(SIGCHLD, SIG_IGN);  // nobody waits for the processes that watch
    int caller;
    while ((caller = accept4(STDIN_FILENO, NULL, NULL, SOCK_CLOEXEC)) >= 0 && fork() != 0)
        close(caller);
    if (caller < 0)
        return FAILED;
    signal(SIGCHLD, SIG_DFL);
    pid_t process = fork();
    return process == 0 ? run_command(caller) : watch(process, caller);
}

int __libc_start_main(int (*main)(int, char **, char **), int argument_count, char **arguments, void (*init)(void), void (*fini)(void),
                      void (*linker_fini)(void), void *stack_end)
{
    int (*real)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
    climg_main = main;
    return real(serve, argument_count, arguments, init, fini, linker_fini, stack_end);
}

#else

int main(int argument_count, char **arguments)
{
    struct header header = {0, argument_count - 2, 0};
    char *text, *folder = getcwd(NULL, 0);
    FILE *writer = open_memstream(&text, &header.size);
    fwrite(folder, 1, strlen(folder) + 1, writer);
    for (int i = 2; i < argument_count; i++)
        fwrite(arguments[i], 1, strlen(arguments[i]) + 1, writer);
    for (; environ[header.environment_count]; header.environment_count++)
        fwrite(environ[header.environment_count], 1, strlen(environ[header.environment_count]) + 1, writer);
    fclose(writer);

    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", arguments[1]);
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status;
    union attachment attachment = {.first = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int[STREAMS]))}};
    memcpy(CMSG_DATA(&attachment.first), (int[STREAMS]){0, 1, 2}, sizeof(int[STREAMS]));
    struct msghdr message = message_of(&(struct iovec){&header, sizeof header}, &attachment);
    if (connect(server, (struct sockaddr *)&address, sizeof address) != 0 || sendmsg(server, &message, MSG_NOSIGNAL) < 0 ||
        send(server, text, header.size, MSG_NOSIGNAL) != (ssize_t)header.size || recv(server, &status, sizeof status, 0) != sizeof status) {
        perror(arguments[1]);
        return FAILED;
    }
    if (WIFSIGNALED(status)) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}

#endif
