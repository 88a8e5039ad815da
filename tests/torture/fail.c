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
 *   FAIL_ERRNO   errno for the caller, instead of one that fits
 *   FAIL_SHORT   1: reads and writes do half of what they were asked for instead
 *
 * The counts are in shared memory, so that a crash, a signal and _exit lose none. Only calls from climg's own
 * code count, which their return address tells: drivers, compilers and libc are not what is tested. */
#define CL_TARGET_OPENCL_VERSION 120
#include "stack.h"

#include <CL/cl.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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
    X(fsync) X(close) X(clBuildProgram) X(clCreateBuffer) X(clCreateCommandQueue) X(clCreateContext) \
    X(clCreateImage) X(clCreateKernel) X(clCreateProgramWithSource) X(clEnqueueBarrierWithWaitList) \
    X(clEnqueueFillBuffer) X(clEnqueueFillImage) X(clEnqueueMapBuffer) X(clEnqueueMarkerWithWaitList) \
    X(clEnqueueNDRangeKernel) X(clEnqueueReadBuffer) X(clEnqueueReadImage) X(clEnqueueUnmapMemObject) \
    X(clEnqueueWriteBuffer) X(clEnqueueWriteImage) X(clFinish) X(clFlush) X(clGetDeviceIDs) \
    X(clGetDeviceInfo) X(clGetEventInfo) X(clGetEventProfilingInfo) X(clGetPlatformIDs) \
    X(clGetPlatformInfo) X(clGetProgramBuildInfo) X(clRetainContext) X(clRetainEvent) X(clSetKernelArg) \
    X(clWaitForEvents) X(kernel)
/* clang-format on */

enum call {
#define X(name) CALL_##name,
    CALLS(X)
#undef X
        CALL_COUNT
};

/* What the driver reads: tests/torture/torture.py knows this layout. */
struct entry {
    char name[48];
    atomic_uint_fast64_t calls, failed;
};

enum { LOG_SIZE = CALL_COUNT * sizeof(struct entry), MAX_LIBRARIES = 32, MAX_BROKEN = 1024 };

static struct entry own_log[CALL_COUNT], *entries = own_log;
/* The program, then the image libraries. */
static struct range modules[1 + MAX_LIBRARIES];
static const struct range *const program = &modules[0], *const libraries = &modules[1];
static int library_count, chosen = -1, chosen_errno;
static uint_fast64_t fail_at, fail_stack;
static atomic_uint_fast64_t met; /* calls of that stack */
static bool fail_always, fail_short, by_stack, images_at_work, watching;
static _Atomic(cl_event) broken[MAX_BROKEN];
static atomic_int broken_count;

static atomic_bool over;

/* What a build for gcov does from then on is not climg's. */
void end_faults(void);
void end_faults(void)
{
    atomic_store(&over, true);
}

static bool contains(const struct range *range, const void *address)
{
    return !atomic_load(&over) && (uintptr_t)address >= range->begin && (uintptr_t)address < range->end;
}

/* The first object is the program itself; of the others those that decode and encode images count. */
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

/* libtiff uses what it had no memory for, or lets libc free it. The driver tells such a death from one of
 * climg's own by the exit status. */
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
    fail_short = getenv("FAIL_SHORT") != NULL;
    chosen_errno = number ? atoi(number) : 0;
    if (chosen == CALL_lib_malloc)
        watch_libraries();
}

/* Of the calls that FAIL_STACK means, which one this is; 0: none. */
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

/* Whether this call fails; errno is set then. */
static bool fails(enum call call, const void *caller, int usual)
{
    if (!contains(program, caller))
        return false;
    images_at_work = true;
    if (!count(call))
        return false;
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

#define CALLER __builtin_return_address(0)
#define REAL(name)                                                                                           \
    static __typeof__(&name) real;                                                                           \
    if (!real)                                                                                               \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

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

/* A function of libc that gives `failure` and sets errno. */
#define FAILS(type, name, parameters, arguments, usual, failure)                                             \
    type name parameters                                                                                     \
    {                                                                                                        \
        REAL(name);                                                                                          \
        return fails(CALL_##name, CALLER, usual) ? failure : real arguments;                                 \
    }

FAILS(int, rename, (const char *from, const char *to), (from, to), EIO, -1)
FAILS(int, unlink, (const char *path), (path), EIO, -1)
FAILS(int, mkdir, (const char *path, mode_t mode), (path, mode), ENOSPC, -1)
FAILS(void *, mmap, (void *at, size_t size, int protection, int flags, int file, off_t offset),
      (at, size, protection, flags, file, offset), ENOMEM, MAP_FAILED)
FAILS(int, flock, (int file, int operation), (file, operation), ENOLCK, -1)
FAILS(int, stat, (const char *path, struct stat *there), (path, there), EIO, -1)
FAILS(int, lstat, (const char *path, struct stat *there), (path, there), EIO, -1)
FAILS(int, fstat, (int file, struct stat *there), (file, there), EIO, -1)
FAILS(FILE *, fopen, (const char *path, const char *mode), (path, mode), EMFILE, NULL)
FAILS(FILE *, fdopen, (int file, const char *mode), (file, mode), ENOMEM, NULL)
FAILS(int, fseeko, (FILE * file, off_t offset, int whence), (file, offset, whence), EIO, -1)
FAILS(off_t, ftello, (FILE * file), (file), EIO, -1)
FAILS(DIR *, opendir, (const char *path), (path), EMFILE, NULL)
FAILS(struct dirent *, readdir, (DIR * folder), (folder), EIO, NULL)
FAILS(FILE *, open_memstream, (char **text, size_t *size), (text, size), ENOMEM, NULL)
FAILS(off_t, lseek, (int file, off_t offset, int whence), (file, offset, whence), EIO, -1)
FAILS(int, fchmod, (int file, mode_t mode), (file, mode), EPERM, -1)
FAILS(int, fchown, (int file, uid_t user, gid_t group), (file, user, group), EPERM, -1)
FAILS(ssize_t, readlink, (const char *path, char *text, size_t size), (path, text, size), EIO, -1)
FAILS(int, faccessat, (int folder, const char *path, int mode, int flags), (folder, path, mode, flags),
      EACCES, -1)
FAILS(int, fsync, (int file), (file), EIO, -1)

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *context)
{
    REAL(pthread_create);
    return fails(CALL_pthread_create, CALLER, EAGAIN) ? EAGAIN : real(thread, attributes, start, context);
}

int open(const char *path, int flags, ...)
{
    REAL(open);
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    return fails(CALL_open, CALLER, EMFILE) ? -1 : real(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    REAL(openat);
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    return fails(CALL_openat, CALLER, EMFILE) ? -1 : real(folder, path, flags, mode);
}

int fcntl(int file, int command, ...)
{
    REAL(fcntl);
    va_list rest;
    va_start(rest, command);
    long argument = va_arg(rest, long);
    va_end(rest);
    return fails(CALL_fcntl, CALLER, EMFILE) ? -1 : real(file, command, argument);
}

/* Files only: what goes to stdout and stderr is judged, not failed. */
#define FAILS_OR_HALF(name, parameters, buffer, usual)                                                       \
    ssize_t name parameters                                                                                  \
    {                                                                                                        \
        REAL(name);                                                                                          \
        if (file > STDERR_FILENO && fails(CALL_##name, CALLER, usual)) {                                     \
            if (!fail_short)                                                                                 \
                return -1;                                                                                   \
            size = size > 1 ? size / 2 : size;                                                               \
        }                                                                                                    \
        return real buffer;                                                                                  \
    }

FAILS_OR_HALF(read, (int file, void *buffer, size_t size), (file, buffer, size), EIO)
FAILS_OR_HALF(write, (int file, const void *buffer, size_t size), (file, buffer, size), ENOSPC)
FAILS_OR_HALF(pread, (int file, void *buffer, size_t size, off_t offset), (file, buffer, size, offset), EIO)
FAILS_OR_HALF(pwrite, (int file, const void *buffer, size_t size, off_t offset), (file, buffer, size, offset),
              ENOSPC)

/* The error that ferror tells of; glibc has no call that sets it. */
enum { STREAM_ERROR = 0x20 };

static bool stream_fails(enum call call, FILE *file, const void *caller, int usual)
{
    if (!file || file == stdin || file == stdout || file == stderr || !fails(call, caller, usual))
        return false;
    file->_flags |= STREAM_ERROR;
    return true;
}

size_t fread(void *buffer, size_t size, size_t count, FILE *file)
{
    REAL(fread);
    return stream_fails(CALL_fread, file, CALLER, EIO) ? 0 : real(buffer, size, count, file);
}

size_t fwrite(const void *buffer, size_t size, size_t count, FILE *file)
{
    REAL(fwrite);
    return stream_fails(CALL_fwrite, file, CALLER, ENOSPC) ? 0 : real(buffer, size, count, file);
}

int fflush(FILE *file)
{
    REAL(fflush);
    return stream_fails(CALL_fflush, file, CALLER, ENOSPC) ? EOF : real(file);
}

/* The file is closed all the same, as the real ones do it. */
int fclose(FILE *file)
{
    REAL(fclose);
    bool failed = stream_fails(CALL_fclose, file, CALLER, EDQUOT);
    int number = errno, result = real(file);
    if (failed)
        errno = number;
    return failed ? EOF : result;
}

int close(int file)
{
    REAL(close);
    bool failed = file > STDERR_FILENO && fails(CALL_close, CALLER, EDQUOT);
    int number = errno, result = real(file);
    if (failed)
        errno = number;
    return failed ? -1 : result;
}

/* A function of OpenCL that gives a status; one that gives an object and a status through `code`. */
#define CL_FAILS(name, parameters, arguments, status)                                                        \
    cl_int name parameters                                                                                   \
    {                                                                                                        \
        REAL(name);                                                                                          \
        return fails(CALL_##name, CALLER, 0) ? status : real arguments;                                      \
    }
#define CL_CREATES(type, name, parameters, arguments, status)                                                \
    type name parameters                                                                                     \
    {                                                                                                        \
        REAL(name);                                                                                          \
        if (!fails(CALL_##name, CALLER, 0))                                                                  \
            return real arguments;                                                                           \
        if (code)                                                                                            \
            *code = status;                                                                                  \
        return NULL;                                                                                         \
    }

CL_FAILS(clBuildProgram,
         (cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
          void(CL_CALLBACK *done)(cl_program, void *), void *context),
         (program, n, devices, options, done, context), CL_BUILD_PROGRAM_FAILURE)
CL_CREATES(cl_mem, clCreateBuffer,
           (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code),
           (context, flags, size, host, code), CL_MEM_OBJECT_ALLOCATION_FAILURE)
CL_CREATES(cl_command_queue, clCreateCommandQueue,
           (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *code),
           (context, device, properties, code), CL_OUT_OF_RESOURCES)
CL_CREATES(cl_context, clCreateContext,
           (const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
            void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *context,
            cl_int *code),
           (properties, n, devices, notify, context, code), CL_OUT_OF_HOST_MEMORY)
CL_CREATES(cl_mem, clCreateImage,
           (cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *shape,
            void *host, cl_int *code),
           (context, flags, format, shape, host, code), CL_MEM_OBJECT_ALLOCATION_FAILURE)
CL_CREATES(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *code),
           (program, name, code), CL_OUT_OF_RESOURCES)
CL_CREATES(cl_program, clCreateProgramWithSource,
           (cl_context context, cl_uint n, const char **texts, const size_t *sizes, cl_int *code),
           (context, n, texts, sizes, code), CL_OUT_OF_HOST_MEMORY)
CL_FAILS(clEnqueueBarrierWithWaitList,
         (cl_command_queue queue, cl_uint n, const cl_event *wait, cl_event *event), (queue, n, wait, event),
         CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueMarkerWithWaitList,
         (cl_command_queue queue, cl_uint n, const cl_event *wait, cl_event *event), (queue, n, wait, event),
         CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueFillBuffer,
         (cl_command_queue queue, cl_mem memory, const void *pattern, size_t pattern_size, size_t offset,
          size_t size, cl_uint n, const cl_event *wait, cl_event *event),
         (queue, memory, pattern, pattern_size, offset, size, n, wait, event), CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueFillImage,
         (cl_command_queue queue, cl_mem memory, const void *colour, const size_t *origin,
          const size_t *region, cl_uint n, const cl_event *wait, cl_event *event),
         (queue, memory, colour, origin, region, n, wait, event), CL_OUT_OF_RESOURCES)
CL_CREATES(void *, clEnqueueMapBuffer,
           (cl_command_queue queue, cl_mem memory, cl_bool blocking, cl_map_flags flags, size_t offset,
            size_t size, cl_uint n, const cl_event *wait, cl_event *event, cl_int *code),
           (queue, memory, blocking, flags, offset, size, n, wait, event, code), CL_MAP_FAILURE)
CL_FAILS(clEnqueueUnmapMemObject,
         (cl_command_queue queue, cl_mem memory, void *mapped, cl_uint n, const cl_event *wait,
          cl_event *event),
         (queue, memory, mapped, n, wait, event), CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueReadBuffer,
         (cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t size, void *host,
          cl_uint n, const cl_event *wait, cl_event *event),
         (queue, memory, blocking, offset, size, host, n, wait, event), CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueWriteBuffer,
         (cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t size,
          const void *host, cl_uint n, const cl_event *wait, cl_event *event),
         (queue, memory, blocking, offset, size, host, n, wait, event), CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueReadImage,
         (cl_command_queue queue, cl_mem memory, cl_bool blocking, const size_t *origin, const size_t *region,
          size_t pitch, size_t slice, void *host, cl_uint n, const cl_event *wait, cl_event *event),
         (queue, memory, blocking, origin, region, pitch, slice, host, n, wait, event), CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueWriteImage,
         (cl_command_queue queue, cl_mem memory, cl_bool blocking, const size_t *origin, const size_t *region,
          size_t pitch, size_t slice, const void *host, cl_uint n, const cl_event *wait, cl_event *event),
         (queue, memory, blocking, origin, region, pitch, slice, host, n, wait, event), CL_OUT_OF_RESOURCES)
CL_FAILS(clFinish, (cl_command_queue queue), (queue), CL_OUT_OF_RESOURCES)
CL_FAILS(clFlush, (cl_command_queue queue), (queue), CL_OUT_OF_RESOURCES)
CL_FAILS(clGetDeviceIDs,
         (cl_platform_id platform, cl_device_type type, cl_uint n, cl_device_id *devices, cl_uint *found),
         (platform, type, n, devices, found), CL_DEVICE_NOT_FOUND)
CL_FAILS(clGetDeviceInfo,
         (cl_device_id device, cl_device_info what, size_t size, void *value, size_t *length),
         (device, what, size, value, length), CL_OUT_OF_HOST_MEMORY)
CL_FAILS(clGetEventProfilingInfo,
         (cl_event event, cl_profiling_info what, size_t size, void *value, size_t *length),
         (event, what, size, value, length), CL_PROFILING_INFO_NOT_AVAILABLE)
CL_FAILS(clGetPlatformIDs, (cl_uint n, cl_platform_id *platforms, cl_uint *found), (n, platforms, found),
         CL_OUT_OF_HOST_MEMORY)
CL_FAILS(clGetPlatformInfo,
         (cl_platform_id platform, cl_platform_info what, size_t size, void *value, size_t *length),
         (platform, what, size, value, length), CL_OUT_OF_HOST_MEMORY)
CL_FAILS(clGetProgramBuildInfo,
         (cl_program program, cl_device_id device, cl_program_build_info what, size_t size, void *value,
          size_t *length),
         (program, device, what, size, value, length), CL_OUT_OF_HOST_MEMORY)
CL_FAILS(clRetainContext, (cl_context context), (context), CL_OUT_OF_RESOURCES)
CL_FAILS(clRetainEvent, (cl_event event), (event), CL_OUT_OF_RESOURCES)
CL_FAILS(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value),
         (kernel, index, size, value), CL_OUT_OF_RESOURCES)

static bool is_broken(cl_event event)
{
    for (int i = 0; i < atomic_load(&broken_count); i++)
        if (atomic_load(&broken[i]) == event)
            return true;
    return false;
}

/* A launch may be accepted and fail later: its event is kept alive, and ends in an error for whoever asks. */
cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local, cl_uint n,
                              const cl_event *wait, cl_event *event)
{
    REAL(clEnqueueNDRangeKernel);
    if (fails(CALL_clEnqueueNDRangeKernel, CALLER, 0))
        return CL_OUT_OF_RESOURCES;
    bool breaks = event && contains(program, CALLER) && count(CALL_kernel);
    cl_int code = real(queue, kernel, dimensions, offset, global, local, n, wait, event);
    if (breaks && code == CL_SUCCESS && atomic_load(&broken_count) < MAX_BROKEN) {
        clRetainEvent(*event);
        atomic_store(&broken[atomic_load(&broken_count)], *event);
        atomic_fetch_add(&broken_count, 1);
    }
    return code;
}

cl_int clWaitForEvents(cl_uint n, const cl_event *events)
{
    REAL(clWaitForEvents);
    if (fails(CALL_clWaitForEvents, CALLER, 0))
        return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    cl_int code = real(n, events);
    for (cl_uint i = 0; i < n; i++)
        if (is_broken(events[i]))
            code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return code;
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value, size_t *length)
{
    REAL(clGetEventInfo);
    if (fails(CALL_clGetEventInfo, CALLER, 0))
        return CL_OUT_OF_HOST_MEMORY;
    cl_int code = real(event, what, size, value, length);
    if (what == CL_EVENT_COMMAND_EXECUTION_STATUS && value && size >= sizeof(cl_int) && is_broken(event))
        *(cl_int *)value = CL_OUT_OF_RESOURCES;
    return code;
}
