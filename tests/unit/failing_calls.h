/* Stands between climg and libc: it notes from where calls that can fail are made, fails one of them, and
 * counts the memory that was not freed. The Makefile has the linker put __wrap_NAME in the place of each NAME
 * here. To be included once. */
#ifndef CLIMG_TESTS_FAILING_CALLS_H
#define CLIMG_TESTS_FAILING_CALLS_H

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct site {
    const char *call;
    int number; /* which of its calls; 0: none */
};

enum { MAX_SITES = 1 << 14, MAX_CALLS = 128, MAX_DEPTH = 48, MAX_LIVE = 1 << 15 };

static struct {
    pthread_mutex_t lock;
    enum { IDLE, RECORDING, FAILING } mode;
    struct site fault;
    bool always;
    atomic_int met; /* calls of the function that is to fail */
    struct site counts[MAX_CALLS];
    struct site fresh[MAX_SITES]; /* calls of this line whose stack is new */
    int fresh_count;
    uint64_t known[2 * MAX_SITES]; /* stacks of all lines, by hash; 0: free */
    void *live[MAX_LIVE];          /* memory that was not freed, by address */
    int live_count;
} faults = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* FNV-1a. */
static uint64_t hash_stack(const char *call)
{
    void *frames[MAX_DEPTH];
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    int depth = backtrace(frames, MAX_DEPTH);
    for (int i = 2; i < depth; i++)
        hash = (hash ^ (uintptr_t)frames[i]) * UINT64_C(0x100000001b3);
    return (hash ^ (uintptr_t)call) | 1;
}

/* Locked. Whether it was not there before. */
static bool add_known(uint64_t stack)
{
    size_t at = stack % (2 * MAX_SITES);
    while (faults.known[at] != 0 && faults.known[at] != stack)
        at = (at + 1) % (2 * MAX_SITES);
    bool fresh = faults.known[at] == 0;
    faults.known[at] = stack;
    return fresh;
}

static void record(const char *call)
{
    uint64_t stack = hash_stack(call);
    struct site *count = faults.counts;
    pthread_mutex_lock(&faults.lock);
    while (count->call && strcmp(count->call, call) != 0)
        count++;
    count->call = call;
    count->number++;
    if (faults.fresh_count < MAX_SITES && add_known(stack))
        faults.fresh[faults.fresh_count++] = *count;
    pthread_mutex_unlock(&faults.lock);
}

static bool is_fault(const char *call)
{
    if (faults.mode == RECORDING)
        record(call);
    if (faults.mode != FAILING || strcmp(call, faults.fault.call) != 0)
        return false;
    int number = atomic_fetch_add(&faults.met, 1) + 1;
    return faults.always ? number >= faults.fault.number : number == faults.fault.number;
}

static size_t place_of(const void *memory)
{
    size_t at = (size_t)((uintptr_t)memory / 16 * UINT64_C(0x9e3779b97f4a7c15) % MAX_LIVE);
    while (faults.live[at] && faults.live[at] != memory)
        at = (at + 1) % MAX_LIVE;
    return at;
}

static void *note_memory(void *memory)
{
    pthread_mutex_lock(&faults.lock);
    if (memory) {
        faults.live[place_of(memory)] = memory;
        faults.live_count++;
    }
    pthread_mutex_unlock(&faults.lock);
    return memory;
}

/* What libraries allocated is not in the table. */
static void forget_memory(void *memory)
{
    pthread_mutex_lock(&faults.lock);
    size_t at = place_of(memory);
    if (memory && faults.live[at]) {
        faults.live[at] = NULL;
        faults.live_count--;
        for (size_t next = (at + 1) % MAX_LIVE; faults.live[next]; next = (next + 1) % MAX_LIVE) {
            void *moved = faults.live[next];
            faults.live[next] = NULL;
            faults.live[place_of(moved)] = moved;
        }
    }
    pthread_mutex_unlock(&faults.lock);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *__wrap_malloc(size_t size)
{
    return is_fault("malloc") ? no_memory() : note_memory(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_fault("calloc") ? no_memory() : note_memory(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (is_fault("realloc"))
        return no_memory();
    forget_memory(memory);
    return note_memory(__real_realloc(memory, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return is_fault("aligned_alloc") ? no_memory() : note_memory(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory)
{
    forget_memory(memory);
    __real_free(memory);
}

/* One that gives `failure` and sets errno. The Makefile has the linker put these in the place of libc's. */
#define WRAP(type, name, parameters, arguments, usual, failure)                                              \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        if (!is_fault(#name))                                                                                \
            return __real_##name arguments;                                                                  \
        errno = usual;                                                                                       \
        return failure;                                                                                      \
    }

/* clang-format off */
WRAP(int, rename, (const char *from, const char *to), (from, to), EIO, -1)
WRAP(int, unlink, (const char *path), (path), EIO, -1)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), ENOSPC, -1)
WRAP(int, flock, (int file, int operation), (file, operation), ENOLCK, -1)
WRAP(int, stat, (const char *path, struct stat *there), (path, there), EIO, -1)
WRAP(int, lstat, (const char *path, struct stat *there), (path, there), EIO, -1)
WRAP(int, fstat, (int file, struct stat *there), (file, there), EIO, -1)
WRAP(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode), EMFILE, -1)
WRAP(int, openat, (int folder, const char *path, int flags, mode_t mode), (folder, path, flags, mode), EMFILE, -1)
WRAP(int, fcntl, (int file, int command, long argument), (file, command, argument), EMFILE, -1)
WRAP(FILE *, fopen, (const char *path, const char *mode), (path, mode), EMFILE, NULL)
WRAP(FILE *, fdopen, (int file, const char *mode), (file, mode), ENOMEM, NULL)
WRAP(FILE *, open_memstream, (char **text, size_t *size), (text, size), ENOMEM, NULL)
WRAP(int, fseeko, (FILE *file, off_t offset, int whence), (file, offset, whence), EIO, -1)
WRAP(off_t, ftello, (FILE *file), (file), EIO, -1)
WRAP(off_t, lseek, (int file, off_t offset, int whence), (file, offset, whence), EIO, -1)
WRAP(DIR *, opendir, (const char *path), (path), EMFILE, NULL)
WRAP(struct dirent *, readdir, (DIR *listing), (listing), EIO, NULL)
WRAP(ssize_t, readlink, (const char *path, char *text, size_t size), (path, text, size), EIO, -1)
WRAP(int, fsync, (int file), (file), EIO, -1)
WRAP(int, fchmod, (int file, mode_t mode), (file, mode), EPERM, -1)
WRAP(ssize_t, read, (int file, void *to, size_t size), (file, to, size), EIO, -1)
WRAP(ssize_t, pread, (int file, void *to, size_t size, off_t at), (file, to, size, at), EIO, -1)
WRAP(ssize_t, write, (int file, const void *from, size_t size), (file, from, size), ENOSPC, -1)
WRAP(ssize_t, pwrite, (int file, const void *from, size_t size, off_t at), (file, from, size, at), ENOSPC, -1)
WRAP(char *, mkdtemp, (char *name), (name), EACCES, NULL)
WRAP(pid_t, waitpid, (pid_t pid, int *state, int options), (pid, state, options), ECHILD, -1)
WRAP(int, mkostemp, (char *name, int flags), (name, flags), EACCES, -1)
/* clang-format on */

/* The error that ferror tells of; glibc has no call that sets it. */
enum { STREAM_ERROR = 0x20 };

static bool is_stream_fault(const char *call, FILE *file, int code)
{
    if (!is_fault(call))
        return false;
    file->_flags |= STREAM_ERROR;
    errno = code;
    return true;
}

size_t __real_fread(void *to, size_t size, size_t count, FILE *file);
size_t __wrap_fread(void *to, size_t size, size_t count, FILE *file);
size_t __real_fwrite(const void *from, size_t size, size_t count, FILE *file);
size_t __wrap_fwrite(const void *from, size_t size, size_t count, FILE *file);
int __real_fflush(FILE *file);
int __wrap_fflush(FILE *file);
int __real_fclose(FILE *file);
int __wrap_fclose(FILE *file);
int __real_close(int file);
int __wrap_close(int file);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *context);

size_t __wrap_fread(void *to, size_t size, size_t count, FILE *file)
{
    return is_stream_fault("fread", file, EIO) ? 0 : __real_fread(to, size, count, file);
}

size_t __wrap_fwrite(const void *from, size_t size, size_t count, FILE *file)
{
    return is_stream_fault("fwrite", file, ENOSPC) ? 0 : __real_fwrite(from, size, count, file);
}

int __wrap_fflush(FILE *file)
{
    return file != stdout && is_stream_fault("fflush", file, ENOSPC) ? EOF : __real_fflush(file);
}

/* The file is closed all the same, as the real ones do it. */
int __wrap_fclose(FILE *file)
{
    bool fails = is_fault("fclose");
    int result = __real_fclose(file);
    if (fails)
        errno = EDQUOT;
    return fails ? EOF : result;
}

int __wrap_close(int file)
{
    bool fails = is_fault("close");
    int result = __real_close(file);
    if (fails)
        errno = EDQUOT;
    return fails ? -1 : result;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *context)
{
    return is_fault("pthread_create") ? EAGAIN : __real_pthread_create(thread, attributes, start, context);
}

#endif
