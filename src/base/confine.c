/* Landlock and a seccomp filter, by their system calls.
 *
 * Landlock takes a list of files and folders with rights. A folder's rights apply to everything below it;
 * parts of it cannot be excluded. All other accesses fail with EACCES. Landlock needs no privileges. Each
 * version of its interface (ABI) added rights, and climg uses all that the kernel has. Version 1 cannot allow
 * renames between folders, which PoCL needs for its compiled kernels. So version 2 (Linux 5.19) is required.
 * Before version 3 Landlock checks truncation only if the file is opened for writing; the filter below
 * refuses the other ways to truncate.
 *
 * The seccomp filter is a list of system calls that are refused, in the language of packet filters (BPF).
 * Most fail with EPERM. Some fail with ENOSYS, so that libraries fall back to others: clone3, memfd_create,
 * and calls newer than the list. None ends the process, as drivers probe for features by calls. A list of
 * allowed calls would be shorter to review, but the next version of a driver may need another call.
 *
 * PoCL links kernels with /usr/bin/ld. The rules allow climg to start only linkers and their loaders, which
 * are confined like climg.
 *
 * Not refused: reading of sizes and times of files (stat), changes of time stamps and, before Landlock 6,
 * signals to other processes of the user. */
#include "base/confine.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct landlock_ruleset_attr of version 6. Older kernels accept it if the fields that they do not know are
 * zero. */
struct ruleset {
    uint64_t files, network, scopes;
};

/* Rules of the process. Set before there are threads. */
static int ruleset_fd = -1;  /* descriptor of Landlock's rule set; -1: none */
static int landlock_version; /* version of Landlock; less than 2: not used */
static uint64_t handled;     /* rights on files that are denied unless a rule grants them */
static int rule_error;       /* errno of the last failure to create the rule set or to add a rule; 0: none */
static bool is_on;

/* ---------------------------------------------------------------- files */

/* Paths that libraries, drivers and linkers need, as patterns of glob; each list ends with NULL. Missing
 * paths are ignored. */
static const struct {
    unsigned rights;
    const char *patterns[40];
} usual[] = {
    {CONFINE_READ,
     {/* libraries and programs */
      "/usr", "/lib", "/lib64", "/opt", "/nix/store", "/gnu/store", "/run/opengl-driver", "/etc/ld.so.cache",
      "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload",
      /* drivers' settings */
      "/etc/OpenCL", "/etc/nvidia", "/etc/drirc",
      /* the system: clang asks for the distribution, hwloc for processors, NVIDIA for its kernel module */
      "/etc/os-release", "/etc/debian_version", "/etc/lsb-release", "/etc/localtime", "/etc/locale.alias",
      "/etc/passwd", "/etc/nsswitch.conf", "/sys", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
      "/proc/version", "/proc/modules", "/proc/devices", "/proc/filesystems", "/proc/driver", "/proc/sys"}},
    /* GPUs of NVIDIA, AMD and Intel (dri), AMD (kfd) and in WSL (dxg) */
    {CONFINE_READ | CONFINE_WRITE,
     {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/nvidia*", "/dev/dri",
      "/dev/kfd", "/dev/dxg"}},
    /* the linkers of PoCL, and the programs that load them */
    {CONFINE_READ | CONFINE_EXECUTE,
     {"/usr/bin/ld", "/usr/bin/ld.lld", "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",
      "/lib/ld-musl-*.so.1"}}};

/* Adds a rule. Returns a descriptor of the path, or -1 if there is no rule set or it cannot be opened. */
static int rule_add(const char *path, unsigned rights)
{
    enum { FILE_RIGHTS = (CONFINE_READ | CONFINE_WRITE | CONFINE_EXECUTE) & ~LANDLOCK_ACCESS_FS_READ_DIR };
    struct stat info;
    const int file = ruleset_fd >= 0 ? open(path, O_PATH | O_CLOEXEC) : -1;
    if (file < 0) {
        if (ruleset_fd >= 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
            rule_error = errno;
        return -1;
    }
    const bool is_folder = fstat(file, &info) == 0 && S_ISDIR(info.st_mode);
    const struct landlock_path_beneath_attr rule = {
        .allowed_access = rights & handled & (is_folder ? ~UINT64_C(0) : FILE_RIGHTS), .parent_fd = file};
    /* EBADFD: pipes and the like cannot have a rule and need none. */
    if (syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0 &&
        errno != EBADFD)
        rule_error = errno;
    return file;
}

void confine_allow(const char *path, unsigned rights)
{
    const int file = rule_add(path, rights);
    if (file >= 0)
        close(file);
}

void confine_allow_folder(const char *path, unsigned rights)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (snprintf(folder, sizeof folder, "%.*s.", slash ? (int)(slash + 1 - path) : 0, path) < PATH_MAX)
        confine_allow(folder, rights);
}

void confine_begin(void)
{
    landlock_version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (landlock_version < 2)
        return;
    handled = (UINT64_C(1) << (14 + (landlock_version >= 3) + (landlock_version >= 5))) - 1;
    const struct ruleset ruleset = {
        .files = handled,
        .network = landlock_version >= 4 ? 3 : 0, /* TCP: bind, connect */
        .scopes = landlock_version >= 6 ? 3 : 0,  /* other processes: abstract sockets, signals */
    };
    ruleset_fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0);
    if (ruleset_fd < 0)
        rule_error = errno;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        for (const char *const *pattern = usual[i].patterns; *pattern; pattern++) {
            glob_t found = {0};
            if (!strchr(*pattern, '*')) /* for plain paths glob would make 34 more system calls in all */
                confine_allow(*pattern, usual[i].rights);
            else if (glob(*pattern, 0, NULL, &found) == GLOB_NOSPACE)
                rule_error = ENOMEM;
            for (size_t j = 0; j < found.gl_pathc; j++)
                confine_allow(found.gl_pathv[j], usual[i].rights);
            globfree(&found);
        }
#ifdef CONFINE_ALSO /* gcov's files: make coverage */
    confine_allow(CONFINE_ALSO, CONFINE_ALL);
#endif
}

/* ---------------------------------------------------------------- system calls */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0 /* no filter */
#endif

/* Results of a call, and parts of the filter. It loads a 32-bit word of struct seccomp_data, tests it with
 * BPF_JEQ (equal), BPF_JGT (greater) or BPF_JSET (common bits), and returns a result or goes on. */
#define REFUSED                   (SECCOMP_RET_ERRNO | EPERM)
#define UNKNOWN                   (SECCOMP_RET_ERRNO | ENOSYS)
#define LOAD(word)                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, word))
#define RETURN(result)            BPF_STMT(BPF_RET | BPF_K, (result))
#define CASE(test, value, result) BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), 0, 1), RETURN(result)
#define REFUSE(call)              CASE(BPF_JEQ, SYS_##call, REFUSED)
#define HIDE(call)                CASE(BPF_JEQ, SYS_##call, UNKNOWN)

/* Refuses a call if (argument & mask) passes the test. Loads only the low 32 bits of the argument, which are
 * first as both architectures are little-endian. Skips its 5 further instructions for other calls. */
#define REFUSE_IF(call, argument, mask, test, value)                                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 5), LOAD(args[argument]),                             \
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (mask)), CASE(test, value, REFUSED), LOAD(nr)

/* Installs the filter. Returns false if climg has none for this architecture, or the kernel refuses it. */
static bool filter_install(void)
{
    static struct sock_filter filter[] = {
        /* Refuse system calls of other architectures, such as 32-bit x86. Numbers of x32 begin at 2^30. */
        LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0), RETURN(REFUSED), LOAD(nr),
        CASE(BPF_JGT, 462, UNKNOWN), /* 462 is mseal, of Linux 6.10; later calls are not reviewed */
/* other processes */
#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer's leak checker uses it */
        REFUSE(ptrace),
#endif
        REFUSE(process_vm_readv), REFUSE(process_vm_writev), REFUSE(pidfd_getfd), REFUSE(kcmp),
        REFUSE(process_madvise),
        /* sockets; socketpair is allowed, as it reaches no other process */
        REFUSE(socket), REFUSE(connect), REFUSE(bind),
        /* identity */
        REFUSE(setuid), REFUSE(setgid), REFUSE(setreuid), REFUSE(setregid), REFUSE(setresuid),
        REFUSE(setresgid), REFUSE(setgroups), REFUSE(setfsuid), REFUSE(setfsgid), REFUSE(capset),
        /* namespaces and file systems */
        REFUSE(unshare), REFUSE(setns), REFUSE(chroot), REFUSE(pivot_root), REFUSE(mount), REFUSE(umount2),
        REFUSE(move_mount), REFUSE(open_tree), REFUSE(fsopen), REFUSE(fspick), REFUSE(fsconfig),
        REFUSE(fsmount), REFUSE(mount_setattr), REFUSE(quotactl), REFUSE(swapon), REFUSE(swapoff),
        REFUSE(open_by_handle_at),
        /* permissions, attributes and size of files; 452: fchmodat2, which Debian 12's headers lack */
        CASE(BPF_JEQ, 452, REFUSED), REFUSE(truncate), REFUSE(fchmodat), REFUSE(fchownat), REFUSE(setxattr),
        REFUSE(lsetxattr), REFUSE(removexattr), REFUSE(lremovexattr),
#ifdef SYS_chmod
        REFUSE(chmod), REFUSE(chown), REFUSE(lchown),
#endif
        /* parts of the kernel with a history of flaws */
        REFUSE(bpf), REFUSE(perf_event_open), REFUSE(userfaultfd), REFUSE(io_uring_setup),
        REFUSE(io_uring_enter), REFUSE(io_uring_register), REFUSE(keyctl), REFUSE(add_key),
        REFUSE(request_key),
        /* the machine */
        REFUSE(reboot), REFUSE(kexec_load), REFUSE(init_module), REFUSE(finit_module), REFUSE(delete_module),
        REFUSE(acct), REFUSE(syslog), REFUSE(settimeofday), REFUSE(clock_settime), REFUSE(clock_adjtime),
        REFUSE(adjtimex), REFUSE(sethostname), REFUSE(setdomainname), REFUSE(vhangup),
#ifdef SYS_iopl
        REFUSE(iopl), REFUSE(ioperm),
#endif
        /* execution by descriptor: the file may have no path, so no rule of Landlock could apply */
        REFUSE(execveat),
        /* flags in memory, which a filter cannot read */
        HIDE(clone3), HIDE(openat2),
        /* a file in memory could be executed despite Landlock */
        HIDE(memfd_create),
        /* namespaces */
        REFUSE_IF(clone, 0, UINT32_MAX, BPF_JSET,
                  CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                      CLONE_NEWNET),
        /* typing into the user's terminal */
        REFUSE_IF(ioctl, 1, UINT32_MAX, BPF_JEQ, TIOCSTI),
        REFUSE_IF(ioctl, 1, UINT32_MAX, BPF_JEQ, TIOCLINUX),
        /* truncation by an open that is not for writing; O_ACCMODE opens for ioctl only */
        REFUSE_IF(openat, 2, O_TRUNC | O_ACCMODE, BPF_JEQ, O_TRUNC | O_RDONLY),
        REFUSE_IF(openat, 2, O_TRUNC | O_ACCMODE, BPF_JEQ, O_TRUNC | O_ACCMODE),
#ifdef SYS_open
        REFUSE_IF(open, 1, O_TRUNC | O_ACCMODE, BPF_JEQ, O_TRUNC | O_RDONLY),
        REFUSE_IF(open, 1, O_TRUNC | O_ACCMODE, BPF_JEQ, O_TRUNC | O_ACCMODE),
#endif
        RETURN(SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    return ARCHITECTURE != 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

/* ---------------------------------------------------------------- enforcing the rules */

enum status confine_apply(const char **note, struct error *error)
{
    static char text[128] = "files not, as Landlock is not available;";
    /* The descriptor stays open, since the rule is lost when /proc drops the inode. */
    rule_add("/proc/self", CONFINE_READ);
    if (rule_error != 0)
        return fail(error, STATUS_FAILED, "cannot confine the process: %s%s", strerror(rule_error),
                    rule_error == EMFILE ? "; raise the limit (ulimit -n)" : "");
    /* Landlock and seccomp need CAP_SYS_ADMIN or no_new_privs. With the latter, set-user-ID programs start
     * without their privileges. */
    const bool is_possible = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    const bool has_landlock = is_possible && syscall(SYS_landlock_restrict_self, ruleset_fd, 0) == 0;
    const bool has_filter = is_possible && filter_install();
    if (ruleset_fd >= 0)
        close(ruleset_fd);
    is_on = has_landlock || has_filter;
    if (has_landlock)
        snprintf(text, sizeof text, "files by Landlock %d,", landlock_version);
    text_append(text, sizeof text, " system calls %s",
                has_filter ? "by seccomp" : "not, as seccomp is not available");
    *note = text;
    return STATUS_OK;
}

bool confine_is_on(void)
{
    return is_on;
}
