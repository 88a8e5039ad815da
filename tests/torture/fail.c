/* A library to preload: it counts the calls that climg makes of functions that can fail, and fails one of
 * them.
 *
 *   FAIL_LOG     a file of LOG_SIZE bytes that every process under the layer maps and counts in
 *   FAIL_STACKS  a file that takes a record of each counted call: which it is, and its stack
 *   FAIL_CALL    the function to fail; "lib_malloc": memory for the image libraries; "kernel": a launch
 *                that is accepted and whose event then ends in an error
 *   FAIL_AT      which of its calls, from 1; 0: none
 *   FAIL_STACK   count calls with that stack alone for FAIL_AT
 *   FAIL_ALWAYS  1: that one and all calls of the function after it
 *   FAIL_DEVICE  count and fail launches on devices alone whose name begins so
 *   FAIL_ERRNO   errno for the caller, instead of one that fits
 *   FAIL_SHORT   1: reads and writes do half of what they were asked for instead
 *   FAIL_SIGNAL  the number of a signal that the call's own instructions raise instead (not for memory)
 *
 * The counts are in shared memory, so that a crash, a signal and _exit lose none. Only calls from climg's own
 * code count, found by their return address: drivers, compilers and libc are not what is tested. */
#define CL_TARGET_OPENCL_VERSION 120
#include "stack.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* clang-format off */
#define CALLS(X) \
    X(malloc) X(calloc) X(realloc) X(aligned_alloc) X(lib_malloc) X(pthread_create) X(open) X(openat) \
    X(read) X(write) X(pread) X(pwrite) X(rename) X(unlink) X(mkdir) X(mmap) X(flock) X(fcntl) X(stat) \
    X(lstat) X(fstat) X(fopen) X(fdopen) X(fread) X(fwrite) X(fflush) X(fclose) X(fseeko) X(ftello) \
    X(opendir) X(readdir) X(open_memstream) X(lseek) X(fchmod) X(fchown) X(readlink) X(faccessat) \
    X(fsync) X(mkostemp) X(close) X(clBuildProgram) X(clCreateBuffer) X(clCreateCommandQueue) X(clCreateContext) \
    X(clCreateImage) X(clCreateKernel) X(clCreateProgramWithSource) X(clEnqueueBarrierWithWaitList) \
    X(clEnqueueFillBuffer) X(clEnqueueFillImage) X(clEnqueueMapBuffer) X(clEnqueueMarkerWithWaitList) \
    X(clEnqueueNDRangeKernel) X(clEnqueueReadBuffer) X(clEnqueueReadImage) X(clEnqueueUnmapMemObject) \
    X(clEnqueueWriteBuffer) X(clEnqueueWriteImage) X(clFinish) X(clFlush) X(clGetDeviceIDs) \
    X(clGetDeviceInfo) X(clGetEventInfo) X(clGetEventProfilingInfo) X(clGetPlatformIDs) \
    X(clGetPlatformInfo) X(clGetProgramBuildInfo) X(clRetainContext) X(clRetainEvent) X(clSetKernelArg) \
    X(clCreateProgramWithBinary) X(clGetProgramInfo) X(clGetKernelWorkGroupInfo) \
    X(clSetMemObjectDestructorCallback) X(clWaitForEvents) X(kernel)
/* clang-format on */

enum call {
#define X(name) CALL_##name,
    CALLS(X)
#undef X
        CALL_COUNT
};

/* Read by tests/torture/torture.py, which knows this layout. */
struct entry {
    char name[48];
    atomic_uint_fast64_t calls, failed;
};

enum { LOG_SIZE = CALL_COUNT * sizeof(struct entry), MAX_LIBRARIES = 32, MAX_BROKEN = 1024 };

static struct entry own_log[CALL_COUNT], *entries = own_log;
/* The program, then the image libraries. */
static struct range modules[1 + MAX_LIBRARIES];
static const struct range *const program = &modules[0], *const libraries = &modules[1];
static int library_count, chosen = -1, chosen_errno, chosen_signal;
static uint_fast64_t fail_at, fail_stack;
static const char *fail_device;
static atomic_uint_fast64_t met; /* calls of that stack */
static bool fail_always, fail_short, by_stack, images_at_work, watching;
static _Atomic(cl_event) broken[MAX_BROKEN];
static atomic_int broken_count;

static atomic_bool over;

/* Calls after this one are gcov's, not climg's. */
void end_faults(void);
void end_faults(void)
{
    atomic_store(&over, true);
}

static bool contains(const struct range *range, const void *address)
{
    return !atomic_load(&over) && (uintptr_t)address >= range->begin && (uintptr_t)address < range->end;
}

/* The first object is the program itself; of the others only libraries that decode or encode images count. */
static int note_object(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char *const names[] = {"libpng",  "libtiff", "libz.",   "libisal", "libjansson",
                                        "libjpeg", "libwebp", "libzstd", "liblzma", "libdeflate"};
    struct range range = {UINTPTR_MAX, 0};
    bool *first = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            range.begin = begin < range.begin ? begin : range.begin;
            range.end = begin + info->dlpi_phdr[i].p_memsz > range.end ? begin + info->dlpi_phdr[i].p_memsz
                                                                       : range.end;
        }
    if (*first)
        modules[0] = range;
    for (size_t i = 0; !*first && i < sizeof names / sizeof *names; i++)
        if (strstr(info->dlpi_name, names[i]) && library_count < MAX_LIBRARIES)
            modules[1 + library_count++] = range;
    *first = false;
    return 0;
}

static void map_log(const char *path)
{
    int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *shared = (void *)syscall(SYS_mmap, NULL, LOG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    if (shared != MAP_FAILED)
        entries = shared;
}

static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);
static struct sigaction on_crash = {.sa_handler = SIG_DFL}; /* the program's own */

/* libtiff uses what it had no memory for, or lets libc free it. The exit status distinguishes such a death
 * from one of climg's own. */
static void die_in_library(int number)
{
    enum { DIED_IN_LIBRARY = 86 };
    if (stack_innermost(modules, 1 + library_count) > 0)
        _exit(DIED_IN_LIBRARY);
    real_sigaction(number, &on_crash, NULL); /* the fault comes again */
}

static void watch_libraries(void)
{
    struct sigaction action = {.sa_handler = die_in_library};
    sigaction(SIGSEGV, &action, NULL);
    watching = true;
}

int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    if (!real_sigaction)
        *(void **)&real_sigaction = dlsym(RTLD_NEXT, "sigaction");
    if (!watching || number != SIGSEGV || !action)
        return real_sigaction(number, action, before);
    if (before)
        *before = on_crash;
    on_crash = *action;
    return 0;
}

/* A thread that blocks the signal would die of it before anybody is asked. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    static __typeof__(&pthread_sigmask) real;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_sigmask");
    if (!watching || !set || how == SIG_UNBLOCK)
        return real(how, set, before);
    sigset_t some = *set;
    sigdelset(&some, SIGSEGV);
    return real(how, &some, before);
}

__attribute__((constructor)) static void begin(void)
{
    static const char *const names[] = {
#define X(name) #name,
        CALLS(X)
#undef X
    };
    const char *call = getenv("FAIL_CALL"), *at = getenv("FAIL_AT"), *number = getenv("FAIL_ERRNO"),
               *stack = getenv("FAIL_STACK");
    bool first = true;
    map_log(getenv("FAIL_LOG"));
    stack_open_record();
    dl_iterate_phdr(note_object, &first);
    for (int i = 0; i < CALL_COUNT; i++) {
        strcpy(entries[i].name, names[i]);
        if (call && strcmp(call, names[i]) == 0)
            chosen = i;
    }
    fail_at = at ? strtoull(at, NULL, 10) : 0;
    fail_stack = stack ? strtoull(stack, NULL, 16) : 0;
    by_stack = stack != NULL;
    fail_always = getenv("FAIL_ALWAYS") != NULL;
    fail_device = getenv("FAIL_DEVICE");
    fail_short = getenv("FAIL_SHORT") != NULL;
    chosen_errno = number ? atoi(number) : 0;
    chosen_signal = getenv("FAIL_SIGNAL") ? atoi(getenv("FAIL_SIGNAL")) : 0;
    if (chosen == CALL_lib_malloc)
        watch_libraries();
}

/* Returns this call's number among the calls that FAIL_STACK selects; 0 if it is not selected. */
static uint_fast64_t number_with_stack(void)
{
    if (fail_always && atomic_load(&met) >= fail_at)
        return fail_at;
    return stack_hash(modules, 1 + library_count) == fail_stack ? atomic_fetch_add(&met, 1) + 1 : 0;
}

static bool count(enum call call)
{
    uint_fast64_t number = atomic_fetch_add(&entries[call].calls, 1) + 1;
    bool is_chosen = (int)call == chosen && fail_at > 0;
    if (stack_is_recorded())
        stack_record(call, stack_hash(modules, 1 + library_count));
    if (is_chosen && by_stack)
        number = number_with_stack();
    bool fails = is_chosen && (fail_always ? number >= fail_at : number == fail_at);
    if (fails)
        atomic_fetch_add(&entries[call].failed, 1);
    return fails;
}

/* Commits a fault, as a driver or a library may: the kernel delivers the signal to the thread that made it. A
 * signal that a thread blocks kills the process without its handler then. */
static void commit_fault(int number)
{
    static volatile int zero, one = 1;
    if (number == SIGSEGV)
        *(volatile char *)(uintptr_t)zero = 0;
    if (number == SIGFPE)
        zero = one / zero;
    if (number == SIGILL)
        __builtin_trap();
    if (number == SIGBUS) { /* a page after the end of a file */
        const char *folder = getenv("TMPDIR");
        const int file =
            (int)syscall(SYS_openat, AT_FDCWD, folder ? folder : "/tmp", O_RDWR | O_TMPFILE, 0600);
        volatile char *page = (void *)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
        zero = *page;
    }
    if (number == SIGABRT)
        abort();
    raise(number); /* the processor does not fault for it */
}

/* True if this call must fail; sets errno. */
static bool fails(enum call call, const void *caller, int usual)
{
    if (!contains(program, caller))
        return false;
    images_at_work = true;
    if (!count(call))
        return false;
    if (chosen_signal)
        commit_fault(chosen_signal);
    errno = chosen_errno ? chosen_errno : usual;
    return true;
}

static bool memory_fails(enum call call, const void *caller)
{
    if (contains(program, caller))
        return fails(call, caller, ENOMEM);
    for (int i = 0; images_at_work && i < library_count; i++)
        if (contains(&libraries[i], caller) && count(CALL_lib_malloc)) {
            errno = ENOMEM;
            return true;
        }
    return false;
}

#define CALLER                                __builtin_return_address(0)
#define FAILS(name, usual)                    fails(CALL_##name, CALLER, usual)
#define STANDS_BEFORE(type, name, parameters) type name parameters
#define REAL(name)                                                                                           \
    ({                                                                                                       \
        static __typeof__(&name) real;                                                                       \
        if (!real)                                                                                           \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                                       \
        real;                                                                                                \
    })
/* Files only: what goes to stdout and stderr is judged, not failed. */
#define COUNTS(file)        ((file) > STDERR_FILENO)
#define COUNTS_STREAM(file) ((file) && (file) != stdin && (file) != stdout && (file) != stderr)
#define CUTS_SHORT          fail_short

/* dlsym allocates, so memory comes from libc by its other names. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size)
{
    return memory_fails(CALL_malloc, CALLER) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return memory_fails(CALL_calloc, CALLER) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return memory_fails(CALL_realloc, CALLER) ? NULL : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memory_fails(CALL_aligned_alloc, CALLER) ? NULL : __libc_memalign(alignment, size);
}

#include "calls.h"

static bool is_broken(cl_event event)
{
    for (int i = 0; i < atomic_load(&broken_count); i++)
        if (atomic_load(&broken[i]) == event)
            return true;
    return false;
}

static bool is_chosen_device(cl_command_queue queue)
{
    char name[256] = "";
    cl_device_id device;
    if (!fail_device)
        return true;
    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    REAL(clGetDeviceInfo)(device, CL_DEVICE_NAME, sizeof name, name, NULL);
    return strncmp(name, fail_device, strlen(fail_device)) == 0;
}

/* A launch may be accepted and fail later: its event is kept alive, and ends in an error for whoever asks. */
cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local, cl_uint n,
                              const cl_event *wait, cl_event *event)
{
    if (!is_chosen_device(queue))
        return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, n, wait, event);
    if (FAILS(clEnqueueNDRangeKernel, 0))
        return CL_OUT_OF_RESOURCES;
    bool breaks = event && contains(program, CALLER) && count(CALL_kernel);
    cl_int code =
        REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, n, wait, event);
    if (breaks && code == CL_SUCCESS && atomic_load(&broken_count) < MAX_BROKEN) {
        clRetainEvent(*event);
        atomic_store(&broken[atomic_load(&broken_count)], *event);
        atomic_fetch_add(&broken_count, 1);
    }
    return code;
}

cl_int clWaitForEvents(cl_uint n, const cl_event *events)
{
    if (FAILS(clWaitForEvents, 0))
        return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    cl_int code = REAL(clWaitForEvents)(n, events);
    for (cl_uint i = 0; i < n; i++)
        if (is_broken(events[i]))
            code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return code;
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value, size_t *length)
{
    if (FAILS(clGetEventInfo, 0))
        return CL_OUT_OF_HOST_MEMORY;
    cl_int code = REAL(clGetEventInfo)(event, what, size, value, length);
    if (what == CL_EVENT_COMMAND_EXECUTION_STATUS && value && size >= sizeof(cl_int) && is_broken(event))
        *(cl_int *)value = CL_OUT_OF_RESOURCES;
    return code;
}
