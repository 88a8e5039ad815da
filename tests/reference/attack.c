/* A layer over libpng, libjpeg and libtiff (LD_PRELOAD) that does at the first header what the code of a
 * malicious file might do, each thing once, and writes to stderr a line for each: "attack NAME: done" or
 * "attack NAME: " and the error. $HOME has a file `secret`. Changes nothing outside of $HOME but for what
 * would be an attack. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <png.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *name, bool done)
{
    dprintf(STDERR_FILENO, "attack %s: %s\n", name, done ? "done" : strerror(errno));
}

static const char *at_home(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("HOME"), name);
    return path;
}

/* Executes a file in a child. True if it ran; otherwise sets errno to the error. */
static bool executes(const char *path)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        char *arguments[] = {(char *)(uintptr_t)path, NULL}, *none[] = {NULL};
        execve(path, arguments, none);
        _exit(errno);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return false;
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return errno == 0;
}

/* Copies /bin/true to a file in memory and executes that. */
static bool executes_memory(void)
{
    char bytes[1 << 18], path[64];
    const int file = (int)syscall(SYS_memfd_create, "attack", 0), from = open("/bin/true", O_RDONLY);
    if (file < 0 || from < 0)
        return false;
    const ssize_t size = read(from, bytes, sizeof bytes);
    if (size <= 0 || write(file, bytes, (size_t)size) != size)
        return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return executes(path);
}

static void attack(void)
{
    static bool begun;
    char secret[4096], byte = 'x';
    if (__atomic_exchange_n(&begun, true, __ATOMIC_SEQ_CST))
        return;
    snprintf(secret, sizeof secret, "%s", at_home("secret"));
    struct iovec own = {&byte, 1}, other = {NULL, 1};
    union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE, .size = sizeof event, .exclude_kernel = 1};
    char parameters[256] = "";

    /* files */
    say("read", open(secret, O_RDONLY) >= 0);
    say("list", opendir(getenv("HOME")) != NULL);
    say("read system", open("/etc/shadow", O_RDONLY) >= 0 || open("/etc/hostname", O_RDONLY) >= 0);
    say("read process", open("/proc/1/cmdline", O_RDONLY) >= 0);
    say("create", open(at_home("planted"), O_WRONLY | O_CREAT, 0600) >= 0);
    say("append", open(secret, O_WRONLY | O_APPEND) >= 0);
    say("truncate", truncate(secret, 1) == 0);
    const char *input = getenv("ATTACK_INPUT");
    for (int mode = 0; input && mode < 4; mode += O_ACCMODE)
        say(mode == 0 ? "truncate input" : "truncate input without reading",
            open(input, mode | O_TRUNC) >= 0);
    say("rights", chmod(secret, 0666) == 0);
    say("folder", mkdir(at_home("folder"), 0700) == 0);
    say("link", symlink("/", at_home("link")) == 0);
    say("device", mknod(at_home("pipe"), S_IFIFO | 0600, 0) == 0);
    say("rename", rename(secret, at_home("renamed")) == 0);
    say("remove", unlink(at_home("removed")) == 0);
    say("mount", mount("none", at_home("none"), "tmpfs", 0, NULL) == 0 || errno != EPERM);
    /* programs and processes */
    say("execute", executes("/bin/true"));
    say("execute memory", executes_memory());
    say("trace", ptrace(PTRACE_SEIZE, getppid(), 0, 0) == 0);
    say("other memory", process_vm_writev(getppid(), &own, 1, &other, 1, 0) >= 0 || errno != EPERM);
    say("signal", kill(getppid(), 0) == 0);
    say("terminal", ioctl(STDIN_FILENO, TIOCSTI, &byte) == 0 || errno != EPERM);
    /* sockets */
    say("internet", socket(AF_INET, SOCK_STREAM, 0) >= 0);
    say("internet 6", socket(AF_INET6, SOCK_DGRAM, 0) >= 0);
    say("local socket", socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
    say("netlink", socket(AF_NETLINK, SOCK_RAW, 0) >= 0);
    /* identity */
    say("user", setuid(getuid()) == 0);
    say("group", setgid(getgid()) == 0);
    say("real user", setresuid(getuid(), getuid(), getuid()) == 0);
    /* other calls; an argument that is wrong gives another error than EPERM */
    say("namespace", unshare(CLONE_FS) == 0);
    say("bpf", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map) >= 0 || errno != EPERM);
    say("events", syscall(SYS_perf_event_open, &event, 0, -1, -1, 0) >= 0 || errno != EPERM);
    say("faults", syscall(SYS_userfaultfd, 0) >= 0 || errno != EPERM);
    say("rings", syscall(SYS_io_uring_setup, 1, parameters) >= 0 || errno != EPERM);
    say("keys", syscall(SYS_keyctl, 0, -3, 0) >= 0 || errno != EPERM);
}

/* A kernel whose Landlock has version $ATTACK_LANDLOCK; 0: none. */
long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    const char *version = getenv("ATTACK_LANDLOCK");
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    errno = ENOSYS;
    if (number == SYS_landlock_create_ruleset && arguments[0] == 0 && version)
        return atoi(version) > 0 ? atoi(version) : -1;
    return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

#define ATTACKS(type, name, parameters, arguments)                                                           \
    type name parameters                                                                                     \
    {                                                                                                        \
        type(*real) parameters;                                                                              \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                                           \
        attack();                                                                                            \
        return real arguments;                                                                               \
    }

ATTACKS(void, png_read_info, (png_structp png, png_infop info), (png, info))
ATTACKS(int, jpeg_read_header, (void *in, int whole), (in, whole))
ATTACKS(void *, TIFFClientOpenExt,
        (const char *name, const char *mode, void *handle, void *read, void *write, void *seek, void *close,
         void *size, void *map, void *unmap, void *options),
        (name, mode, handle, read, write, seek, close, size, map, unmap, options))
