/* Errors: functions return an enum status, and the function that fails fills in a struct error.
 *
 * Callers pass both up. The first caller that knows the file prefixes its name; main prints one line. Also
 * allocation functions whose messages name the purpose. Thread safety: a struct error belongs to a thread. */
#ifndef CLIMG_BASE_ERROR_H
#define CLIMG_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* The values are the program's exit statuses. */
enum status {
    STATUS_OK = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
    STATUS_PARTIAL = 3,   /* batch: some files failed, the others are done */
    STATUS_DIFFERENT = 4, /* --compare: pictures differ */
};

/* Scope: the other jobs that this error also affects. */
enum error_scope {
    SCOPE_FILE,   /* none */
    SCOPE_STACK,  /* the other inputs of a stack, which fails as a whole */
    SCOPE_FOLDER, /* outputs in the same directory: it is not writable */
    SCOPE_DISK,   /* outputs on the same file system: it is full or read-only */
    SCOPE_ALL,    /* all: no device, or no space for temporary files */
};

/* One line without newline and without the "climg: " that main prints before it:
 * "FILE: what is wrong; what to do about it". */
struct error {
    char text[1024];
    bool has_name;         /* the message already starts with a name */
    bool is_out_of_memory; /* the job may succeed alone, in smaller slices */
    bool is_device_error;  /* an OpenCL call failed */
    enum error_scope scope;
    const char *stage; /* name of the stage that failed; may be NULL */
};

/* Fills in the message and returns `status`, so that a failing function ends in `return fail(...)`. */
enum status fail(struct error *error, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets a message that is no failure, such as a warning. */
void error_set(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Like fail with STATUS_FAILED; also sets error->is_out_of_memory. */
enum status fail_memory(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fails with "cannot write: " and the text of `code`, an errno. The scope is SCOPE_DISK if the disk or the
 * quota is full or the file system is read-only. */
enum status fail_writing(struct error *error, int code);

/* Prefixes the message with "name: ". Keeps only the last 512 bytes of a longer name. */
void error_prefix(struct error *error, const char *name);

/* Prefixes the message unless it already starts with a name. */
void error_prefix_once(struct error *error, const char *name);

/* Allocate like malloc, calloc and strdup; free the result with free(). Sizes are in bytes; 0 bytes give a
 * valid pointer. On failure they return NULL, and the message is "out of memory for WHAT". */
void *allocate(size_t size, const char *what, struct error *error);
void *allocate_zeroed(size_t count, size_t size, const char *what, struct error *error);
char *copy_text(const char *text, struct error *error);

/* Makes room for one more item in an array of `count` items of `size` bytes. Returns the array, which may
 * have moved. It is reallocated only if `count` is 0 or a power of two, so begin with NULL and 0, and call it
 * before each item is added. Returns NULL if out of memory; the old array is then unchanged. */
void *array_grow(void *array, size_t count, size_t size, const char *what, struct error *error);

/* Allocates at least `size` bytes at a page boundary, for pixels that host and device share; blocks of 2 MiB
 * and more in huge pages if the system has them. The content is undefined. Returns NULL if out of memory,
 * without a message. */
void *allocate_pages(size_t size);

/* Frees the physical memory of the first `size` bytes of a block of allocate_pages, rounded down to 2 MiB.
 * Their content becomes undefined. */
void discard_pages(void *memory, size_t size);

/* Frees memory of allocate_pages. `size` must be the size that was passed to it. `memory` may be NULL. */
void free_pages(void *memory, size_t size);

#endif
