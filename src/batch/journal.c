#include "batch/journal.h"

#include "base/json_text.h"
#include "base/side.h"
#include "batch/report.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum status cannot_write(const struct journal *journal, struct error *error)
{
    return fail(error, STATUS_FAILED, "%s: cannot write the report: %s", journal->path, strerror(errno));
}

/* A line that a full disk or a dying machine cut off must not swallow the next one. */
static enum status end_last_line(const struct journal *journal, struct error *error)
{
    char last = '\n';
    off_t size = lseek(journal->file, 0, SEEK_END);
    if (size > 0 && pread(journal->file, &last, 1, size - 1) == 1 && last != '\n' &&
        write(journal->file, "\n", 1) != 1)
        return cannot_write(journal, error);
    return STATUS_OK;
}

enum status journal_open(struct journal *journal, const char *path, bool append, struct error *error)
{
    bool standard = path && strcmp(path, "-") == 0;
    *journal = (struct journal){.path = path ? side_name(path) : NULL, .file = -1};
    if (!path)
        return STATUS_OK;
    journal->file = standard
                        ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                        : open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC), 0666);
    if (journal->file < 0)
        return cannot_write(journal, error);
    return append && !standard ? end_last_line(journal, error) : STATUS_OK;
}

/* Microseconds; more digits would be noise. */
static json_t *seconds(double value)
{
    return json_real(round(1e6 * value) / 1e6);
}

static json_t *parts(const struct times *times)
{
    json_t *object = json_object();
    for (int i = 0; i < PART_COUNT; i++)
        if (report_has_part((enum part)i, times->seconds[i]))
            json_object_set_new(object, report_part_key((enum part)i), seconds(times->seconds[i]));
    json_object_set_new(object, "total", seconds(times->total));
    return object;
}

static json_t *sizes(int width, int height, int channels)
{
    return width > 0 ? json_pack("{si si si}", "width", width, "height", height, "channels", channels)
                     : json_null();
}

static json_t *noise(const struct result *result)
{
    json_t *array = result->noise_count > 0 ? json_array() : json_null();
    for (int i = 0; i < result->noise_count; i++)
        json_array_append_new(array, json_real(round(1e3 * (double)result->noise[i]) / 1e3));
    return array;
}

static json_t *alignment(const struct result *result)
{
    const struct alignment *found = &result->alignment;
    const struct affine *map = &found->affine;
    const double numbers[] = {map->xx, map->xy, map->x, map->yx, map->yy, map->y};
    json_t *matrix = json_array();
    for (int i = 0; i < 6; i++)
        json_array_append_new(matrix, json_real(numbers[i]));
    json_t *object = found->found ? json_object() : json_null();
    json_object_set(object, "matrix", matrix);
    json_object_set_new(object, "confidence", json_real(round(1e3 * found->confidence) / 1e3));
    json_decref(matrix);
    return object;
}

static json_t *describe(const struct job *job, const struct result *result)
{
    bool failed = result->status != STATUS_OK, worked = !result->skipped;
    json_t *object = json_object();
    json_object_set_new(object, "input", json_text(job->input));
    json_object_set_new(object, "output", json_text(job->output));
    json_object_set_new(object, "status", json_string(failed ? "failed" : worked ? "done" : "skipped"));
    json_object_set_new(object, "error", failed ? json_text(result->error.text) : json_null());
    json_object_set_new(object, "from", sizes(result->width, result->height, result->channels));
    json_object_set_new(object, "to",
                        sizes(result->output_width, result->output_height, result->output_channels));
    json_object_set_new(object, "noise", noise(result));
    json_object_set_new(object, "align", alignment(result));
    json_object_set_new(object, "bytes_in", json_integer((json_int_t)result->bytes_in));
    json_object_set_new(object, "bytes_out", json_integer((json_int_t)result->bytes_out));
    json_object_set_new(object, "seconds", worked ? parts(&result->times) : json_null());
    json_object_set_new(object, "group", worked ? json_integer(result->group) : json_null());
    json_object_set_new(object, "device", worked && result->device ? json_text(result->device) : json_null());
    return object;
}

static enum status write_all(const struct journal *journal, const char *bytes, size_t size,
                             struct error *error)
{
    while (size > 0) {
        ssize_t written = write(journal->file, bytes, size);
        if (written < 0 && errno != EINTR)
            return cannot_write(journal, error);
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return STATUS_OK;
}

enum status journal_write(struct journal *journal, const struct job *job, const struct result *result,
                          struct error *error)
{
    if (!journal->path)
        return STATUS_OK;
    json_t *object = describe(job, result);
    char *line = json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10));
    json_decref(object);
    if (!line)
        return fail_memory(error, "%s: out of memory for the report", journal->path);
    size_t length = strlen(line);
    line[length] = '\n'; /* instead of its NUL */
    enum status status = write_all(journal, line, length + 1, error);
    free(line);
    return status;
}

enum status journal_close(struct journal *journal, struct error *error)
{
    int file = journal->file;
    journal->file = -1;
    return journal->path && file >= 0 && close(file) != 0 ? cannot_write(journal, error) : STATUS_OK;
}
