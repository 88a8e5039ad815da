#include "base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COPY_SIZE = 1 << 16 };

static enum status spool_failed(const char *folder, const char *what, int code, struct error *error)
{
    fail(error, STATUS_FAILED, "cannot %s a temporary file in %s: %s; set TMPDIR to a folder with room", what,
         folder, strerror(code));
    error->reach = REACH_ALL;
    return STATUS_FAILED;
}

FILE *spool_open(const char *folder, struct error *error)
{
    static const char pattern[] = "/climg-XXXXXX";
    size_t size = strlen(folder) + sizeof pattern;
    char *name = allocate(size, "a file name", error);
    if (name == NULL)
        return NULL;
    snprintf(name, size, "%s%s", folder, pattern);

    FILE *file = NULL;
    int descriptor = mkostemp(name, O_CLOEXEC);
    if (descriptor >= 0) {
        unlink(name); /* at once: no way of dying leaves it behind */
        file = fdopen(descriptor, "w+b");
    }
    if (file == NULL)
        spool_failed(folder, "create", errno, error);
    if (file == NULL && descriptor >= 0)
        close(descriptor);
    free(name);
    return file;
}

static enum status copy_in(const char *folder, FILE *spool, FILE *source, struct error *error)
{
    char buffer[COPY_SIZE];
    size_t size;
    while ((size = fread(buffer, 1, sizeof buffer, source)) > 0)
        if (fwrite(buffer, 1, size, spool) != size)
            return spool_failed(folder, "write", errno, error);
    if (ferror(source))
        return fail(error, STATUS_FAILED, "cannot read: %s", strerror(errno));
    if (fflush(spool) != 0)
        return spool_failed(folder, "write", errno, error);
    rewind(spool);
    return STATUS_OK;
}

FILE *spool_fill(const char *folder, FILE *source, const void *head, size_t head_size, struct error *error)
{
    FILE *spool = spool_open(folder, error);
    if (spool == NULL)
        return NULL;
    enum status status = STATUS_OK;
    if (fwrite(head, 1, head_size, spool) != head_size)
        status = spool_failed(folder, "write", errno, error);
    if (status == STATUS_OK)
        status = copy_in(folder, spool, source, error);
    if (status == STATUS_OK)
        return spool;
    fclose(spool);
    return NULL;
}

static enum status write_all(int descriptor, const char *data, size_t size, struct error *error)
{
    while (size > 0) {
        ssize_t written = write(descriptor, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail_writing(error, errno);
        data += written;
        size -= (size_t)written;
    }
    return STATUS_OK;
}

enum status spool_drain(const char *folder, FILE *spool, int descriptor, struct error *error)
{
    char buffer[COPY_SIZE];
    size_t size;
    if (fflush(spool) != 0)
        return spool_failed(folder, "write", errno, error);
    rewind(spool);
    while ((size = fread(buffer, 1, sizeof buffer, spool)) > 0) {
        enum status status = write_all(descriptor, buffer, size, error);
        if (status != STATUS_OK)
            return status;
    }
    if (ferror(spool))
        return spool_failed(folder, "read", errno, error);
    return STATUS_OK;
}
