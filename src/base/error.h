/* How failure travels: a status that is handed up, and one message that is filled in where it happened. */
#ifndef CLIMG_BASE_ERROR_H
#define CLIMG_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* The values are the program's exit statuses. */
enum status {
    STATUS_OK = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
    STATUS_PARTIAL = 3, /* batch: some files failed, the others are done */
};

/* Which other jobs would fail for the same reason. */
enum reach {
    REACH_FILE,   /* nothing */
    REACH_FOLDER, /* what goes into the same folder: it may not be written */
    REACH_DISK,   /* what goes to the same file system: it is full, or read-only */
    REACH_ALL,    /* everything: there is no device, or no room for temporary files */
};

/* One line without newline and without the "climg: " that main prints before it:
 * "FILE: what is wrong; what to do about it". */
struct error {
    char text[1024];
    bool named;  /* it says what it is about */
    bool memory; /* memory ran out: where less is wanted, or more is free, it may succeed */
    enum reach reach;
};

/* Fills in the message and returns `status`, so that a failing function ends in `return fail(...)`. */
enum status fail(struct error *error, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same where memory ran out. */
enum status fail_memory(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "cannot write: No space left on device", with its reach, for an errno. */
enum status fail_writing(struct error *error, int code);

/* Puts "name: " before the message, of a long name the end; used by the caller that knows what it was working
 * on. */
void error_prefix(struct error *error, const char *name);

/* The same unless the message has a name already. */
void error_name(struct error *error, const char *name);

/* malloc and calloc that say what they were for. Sizes in bytes; 0 bytes gives a valid pointer; NULL on
 * failure with the message filled in. `what` completes "out of memory for WHAT". */
void *allocate(size_t size, const char *what, struct error *error);
void *allocate_zeroed(size_t count, size_t size, const char *what, struct error *error);
char *copy_text(const char *text, struct error *error);

/* Memory for pixels that host and device share. */

/* At least `size` bytes on page boundaries, in huge pages where the system has them and the size warrants it;
 * NULL where memory is out. */
void *allocate_pages(size_t size);

/* `size` is that of the allocation. NULL is fine. */
void free_pages(void *memory, size_t size);

#endif
