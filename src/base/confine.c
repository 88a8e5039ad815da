/* Landlock and a seccomp filter, by their system calls.
 *
 * Landlock takes a list of files and folders with rights. A folder's rights hold for everything below it;
 * parts of it cannot be excluded. Everything else fails with EACCES. Landlock needs no privileges. Each
 * version of its interface (ABI) added rights, and climg uses all that the kernel has. Version 1 cannot allow
 * renames between folders, which PoCL needs for its compiled kernels. So version 2 (Linux 5.19) is required.
 * Before version 3 Landlock does not check truncation. The filter below refuses truncation by other calls
 * than an open for writing, which Landlock checks.
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

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
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

/* Rights of Landlock's versions 2, 3 and 5, which Debian 12's kernel headers lack. */
enum {
    ACCESS_REFER = 1 << 13,
    ACCESS_TRUNCATE = 1 << 14,
    ACCESS_IOCTL_DEVICE = 1 << 15,
    ACCESS_FILE = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
                  ACCESS_TRUNCATE | ACCESS_IOCTL_DEVICE,
};

/* struct landlock_ruleset_attr of version 6. Older kernels accept it if the fields that they do not know are
 * zero. */
struct ruleset {
    uint64_t files, network, scopes;
};

/* Rules of the process. Set before there are threads. */
static int ruleset_fd = -1;  /* descriptor of Landlock's rule set; -1: none */
static int landlock_version; /* version of Landlock; 0: not usable */
static uint64_t handled;     /* rights on files that exist only where a rule grants them */
static int rule_error;       /* errno of the last failure to create the rule set or to add a rule; 0: none */
static bool is_on;

/* ---------------------------------------------------------------- files */

/* Paths that climg's libraries, OpenCL drivers of all makers and the linker read. Missing ones are
 * ignored. */
static const char *const readable[] = {
    /* libraries and programs */
    "/usr",
    "/lib",
    "/lib64",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/opengl-driver",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    /* drivers' settings */
    "/etc/OpenCL",
    "/etc/nvidia",
    "/etc/drirc",
    /* the system: clang asks for the distribution, hwloc for processors, NVIDIA for its kernel module */
    "/etc/os-release",
    "/etc/debian_version",
    "/etc/lsb-release",
    "/etc/localtime",
    "/etc/locale.alias",
    "/etc/passwd",
    "/etc/nsswitch.conf",
    "/sys",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/version",
    "/proc/modules",
    "/proc/devices",
    "/proc/filesystems",
    "/proc/driver",
    "/proc/sys",
};

/* Devices: the usual ones, and GPUs of NVIDIA, AMD and Intel (dri), AMD (kfd) and in WSL (dxg). */
static const char *const devices[] = {"/dev/null",    "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
                                      "/dev/nvidia*", "/dev/dri",  "/dev/kfd",  "/dev/dxg"};

/* The linkers of PoCL, and the programs that load them. */
static const char *const programs[] = {"/usr/bin/ld", "/usr/bin/ld.lld", "/lib64/ld-linux-x86-64.so.2",
                                       "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-*.so.1"};

/* Allows all paths of a list, which may be patterns of glob. */
static void rules_add_list(const char *const *paths, size_t count, unsigned rights)
{
    for (size_t i = 0; i < count; i++) {
        glob_t found;
        if (!strchr(paths[i], '*'))
            confine_allow(paths[i], rights);
        else if (glob(paths[i], 0, NULL, &found) == 0) {
            for (size_t j = 0; j < found.gl_pathc; j++)
                confine_allow(found.gl_pathv[j], rights);
            globfree(&found);
        }
    }
}

void confine_begin(void)
{
    landlock_version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (landlock_version < 2) {
        landlock_version = 0;
        return;
    }
    /* Bit number of the newest right of this version. */
    const int newest_right = landlock_version >= 5 ? 15 : landlock_version >= 3 ? 14 : 13;
    handled = (UINT64_C(2) << newest_right) - 1;
    const struct ruleset ruleset = {
        .files = handled,
        .network = landlock_version >= 4 ? 3 : 0, /* TCP: bind, connect */
        .scopes = landlock_version >= 6 ? 3 : 0,  /* other processes: abstract sockets, signals */
    };
    ruleset_fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0);
    if (ruleset_fd < 0)
        rule_error = errno;
    rules_add_list(readable, sizeof readable / sizeof readable[0], CONFINE_READ);
    rules_add_list(devices, sizeof devices / sizeof devices[0], CONFINE_READ | CONFINE_WRITE);
    rules_add_list(programs, sizeof programs / sizeof programs[0], CONFINE_READ | CONFINE_EXECUTE);
#ifdef CONFINE_ALSO /* gcov's files: make coverage */
    confine_allow(CONFINE_ALSO, CONFINE_READ | CONFINE_WRITE | CONFINE_CREATE);
#endif
}

/* Adds a rule for an open file or folder. */
static void rule_add(int file, unsigned rights)
{
    struct stat info;
    uint64_t access = 0;
    if (rights & CONFINE_READ)
        access |= LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
    if (rights & CONFINE_WRITE)
        access |= LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEVICE;
    if (rights & CONFINE_MAKE_FILES)
        access |= LANDLOCK_ACCESS_FS_MAKE_REG;
    if (rights & CONFINE_CREATE)
        access |= LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | ACCESS_REFER |
                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR;
    if (rights & CONFINE_REMOVE_FOLDERS)
        access |= LANDLOCK_ACCESS_FS_REMOVE_DIR;
    if (rights & CONFINE_EXECUTE)
        access |= LANDLOCK_ACCESS_FS_EXECUTE;
    const bool is_known = fstat(file, &info) == 0;
    const struct landlock_path_beneath_attr rule = {
        .allowed_access = access & handled & (is_known && S_ISDIR(info.st_mode) ? ~UINT64_C(0) : ACCESS_FILE),
        .parent_fd = file};
    /* EBADFD: pipes and the like cannot have a rule and need none. ENOMSG: allowed_access is 0, as this
     * Landlock version does not know the rights. */
    if (!is_known || (syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0 &&
                      errno != EBADFD && errno != ENOMSG))
        rule_error = errno;
}

void confine_allow(const char *path, unsigned rights)
{
    const int file = ruleset_fd >= 0 ? open(path, O_PATH | O_CLOEXEC) : -1;
    if (file < 0) {
        if (ruleset_fd >= 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
            rule_error = errno;
        return;
    }
    rule_add(file, rights);
    close(file);
}

void confine_allow_folder(const char *path, unsigned rights)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (snprintf(folder, sizeof folder, "%.*s.", slash ? (int)(slash + 1 - path) : 0, path) < PATH_MAX)
        confine_allow(folder, rights);
}

/* ---------------------------------------------------------------- system calls */

#if defined(__x86_64__)
static const uint32_t ARCHITECTURE = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
static const uint32_t ARCHITECTURE = AUDIT_ARCH_AARCH64;
#else
static const uint32_t ARCHITECTURE = 0; /* no filter */
#endif

/* Numbers of system calls that Debian 12's kernel headers lack, the same on all architectures. */
enum {
    CALL_FCHMODAT2 = 452,
    CALL_NEWEST = 462, /* mseal, of Linux 6.10; later calls, not reviewed for the list, fail with ENOSYS */
};

/* System calls that climg, image libraries and drivers do not use. */
static const int refused[] = {
/* other processes */
#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer's leak checker uses it */
    SYS_ptrace,
#endif
    SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd, SYS_kcmp, SYS_process_madvise,
    /* sockets; socketpair is allowed, as it reaches no other process */
    SYS_socket, SYS_connect, SYS_bind,
    /* identity */
    SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setgroups,
    SYS_setfsuid, SYS_setfsgid, SYS_capset,
    /* namespaces and file systems */
    SYS_unshare, SYS_setns, SYS_chroot, SYS_pivot_root, SYS_mount, SYS_umount2, SYS_move_mount, SYS_open_tree,
    SYS_fsopen, SYS_fspick, SYS_fsconfig, SYS_fsmount, SYS_mount_setattr, SYS_quotactl, SYS_swapon,
    SYS_swapoff, SYS_open_by_handle_at,
    /* permissions, attributes and size of files */
    SYS_truncate, SYS_fchmodat, CALL_FCHMODAT2, SYS_fchownat, SYS_setxattr, SYS_lsetxattr, SYS_removexattr,
    SYS_lremovexattr,
#ifdef SYS_chmod
    SYS_chmod, SYS_chown, SYS_lchown,
#endif
    /* parts of the kernel with a history of flaws */
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter,
    SYS_io_uring_register, SYS_keyctl, SYS_add_key, SYS_request_key,
    /* the machine */
    SYS_reboot, SYS_kexec_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_acct, SYS_syslog,
    SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname, SYS_setdomainname,
    SYS_vhangup,
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm,
#endif
    /* execution by descriptor: the file may have no path, so no rule of Landlock could apply */
    SYS_execveat};

/* System calls that fail with ENOSYS, so that libraries fall back to others:
 *
 *     clone3, openat2    their flags are in memory, which a filter cannot read
 *     memfd_create       such a file could be executed despite Landlock */
static const int hidden[] = {SYS_clone3, SYS_openat2, SYS_memfd_create};

enum { REFUSED = sizeof refused / sizeof refused[0], HIDDEN = sizeof hidden / sizeof hidden[0] };

static const uint32_t ALLOW = SECCOMP_RET_ALLOW, REFUSE = SECCOMP_RET_ERRNO | EPERM,
                      NO_CALL = SECCOMP_RET_ERRNO | ENOSYS;

/* A filter under construction: its instructions. */
struct filter {
    struct sock_filter code[2 * (REFUSED + HIDDEN) + 48];
    unsigned short length;
};

/* Appends an instruction. A jump skips `if_true` instructions if its test passes, else `if_false`. */
static void filter_add(struct filter *filter, unsigned code, uint32_t value, unsigned char if_true,
                       unsigned char if_false)
{
    filter->code[filter->length++] = (struct sock_filter){(unsigned short)code, if_true, if_false, value};
}

/* Adds a case that returns `result` if the loaded word passes the test against `value`: BPF_JEQ
 * (equal), BPF_JGT (greater) or BPF_JSET (common bits). */
static void filter_case(struct filter *filter, unsigned test, uint32_t value, uint32_t result)
{
    filter_add(filter, BPF_JMP | test | BPF_K, value, 0, 1);
    filter_add(filter, BPF_RET | BPF_K, result, 0, 0);
}

/* Loads a 32-bit word of struct seccomp_data, which the following cases test. */
static void filter_load(struct filter *filter, size_t offset)
{
    filter_add(filter, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Refuses a system call if (argument & mask) passes the test against one of the values. Loads only the low 32
 * bits of the argument, which are first as both architectures are little-endian. Expects the call's number to
 * be loaded, and loads it again at the end. */
static void filter_argument(struct filter *filter, uint32_t call, int argument, uint32_t mask, unsigned test,
                            const uint32_t *values, unsigned char count)
{
    filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, call, 0, (unsigned char)(2 * count + 3));
    filter_load(filter, offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (size_t)argument);
    filter_add(filter, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    for (int i = 0; i < count; i++)
        filter_case(filter, test, values[i], REFUSE);
    filter_load(filter, offsetof(struct seccomp_data, nr));
}

/* Installs the filter. Returns false if climg has none for this architecture, or the kernel refuses it. */
static bool filter_install(void)
{
    static const uint32_t namespaces[] = {CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                          CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET};
    static const uint32_t injections[] = {TIOCSTI, TIOCLINUX}; /* type into the user's terminal */
    /* Modes of open that truncate a file without opening it for writing. O_ACCMODE opens for ioctl only. */
    static const uint32_t truncations[] = {O_TRUNC | O_RDONLY, O_TRUNC | O_ACCMODE};
    struct filter filter = {.length = 0};
    // cppcheck-suppress knownConditionTrueFalse ; it depends on the machine
    if (ARCHITECTURE == 0)
        return false;

    /* Refuse system calls of other architectures, such as 32-bit x86. Numbers of x32 begin at 2^30, so the
     * test against CALL_NEWEST refuses them. */
    filter_load(&filter, offsetof(struct seccomp_data, arch));
    filter_add(&filter, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    filter_add(&filter, BPF_RET | BPF_K, REFUSE, 0, 0);
    filter_load(&filter, offsetof(struct seccomp_data, nr));
    filter_case(&filter, BPF_JGT, CALL_NEWEST, NO_CALL);
    for (size_t i = 0; i < REFUSED; i++)
        filter_case(&filter, BPF_JEQ, (uint32_t)refused[i], REFUSE);
    for (size_t i = 0; i < HIDDEN; i++)
        filter_case(&filter, BPF_JEQ, (uint32_t)hidden[i], NO_CALL);
    filter_argument(&filter, SYS_clone, 0, UINT32_MAX, BPF_JSET, namespaces, 1);
    filter_argument(&filter, SYS_ioctl, 1, UINT32_MAX, BPF_JEQ, injections, 2);
    filter_argument(&filter, SYS_openat, 2, O_TRUNC | O_ACCMODE, BPF_JEQ, truncations, 2);
#ifdef SYS_open
    filter_argument(&filter, SYS_open, 1, O_TRUNC | O_ACCMODE, BPF_JEQ, truncations, 2);
#endif
    filter_add(&filter, BPF_RET | BPF_K, ALLOW, 0, 0);

    const struct sock_fprog program = {.len = filter.length, .filter = filter.code};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

/* ---------------------------------------------------------------- enforcing the rules */

enum status confine_apply(const char **note, struct error *error)
{
    static char text[128];
    /* Allow /proc/self. Its descriptor stays open, since the rule is lost when /proc drops the inode. */
    const int self = ruleset_fd >= 0 ? open("/proc/self", O_PATH | O_CLOEXEC) : -1;
    if (self >= 0)
        rule_add(self, CONFINE_READ);
    if (rule_error != 0)
        return fail(error, STATUS_FAILED, "cannot confine the process: %s%s", strerror(rule_error),
                    rule_error == EMFILE ? "; raise the limit (ulimit -n)" : "");
    /* Landlock and seccomp need CAP_SYS_ADMIN or no_new_privs. With the latter, set-user-ID programs start
     * without their privileges. */
    const bool is_possible = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    const bool files =
        is_possible && ruleset_fd >= 0 && syscall(SYS_landlock_restrict_self, ruleset_fd, 0) == 0;
    const bool calls = is_possible && filter_install();
    if (ruleset_fd >= 0)
        close(ruleset_fd);
    ruleset_fd = -1;
    is_on = files || calls;
    if (files)
        snprintf(text, sizeof text, "files by Landlock %d, system calls %s", landlock_version,
                 calls ? "by seccomp" : "not, as seccomp is not available");
    else
        snprintf(text, sizeof text, "files not, as Landlock is not available; system calls %s",
                 calls ? "by seccomp" : "not, either");
    *note = text;
    return STATUS_OK;
}

bool confine_is_on(void)
{
    return is_on;
}
