#include "device/verdict.h"

#include "base/cache.h"
#include "device/memo.h"

#include <stdlib.h>
#include <string.h>

/* A device has other kernels where CLIMG_CLASS says so. */
static const char *about(const struct device *device)
{
    return device->class == DEVICE_WIDE ? "selftest-wide" : "selftest-grouped";
}

void verdict_load(const struct device *device, struct verdict *verdict)
{
    struct error ignored = {.text = ""};
    char header[MEMO_LINE_SIZE], word[8] = "";
    size_t size = 0;
    char *path = memo_path(device, about(device), &ignored);
    char *text = path ? cache_read(path, &size) : NULL;
    *verdict = (struct verdict){.known = false};
    memo_header(device, about(device), header);
    size_t length = strlen(header);
    if (text && strncmp(text, header, length) == 0 &&
        sscanf(text + length, "%7s %31s %lf %15s", word, verdict->stage, &verdict->error, verdict->date) ==
            4) {
        verdict->passed = strcmp(word, "passed") == 0;
        verdict->known = verdict->passed || strcmp(word, "failed") == 0;
    }
    free(text);
    free(path);
}

enum status verdict_save(const struct device *device, const struct verdict *verdict, char **path,
                         struct error *error)
{
    char text[MEMO_LINE_SIZE + 96];
    memo_header(device, about(device), text);
    size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, "%s %s %.2g %s\n", verdict->passed ? "passed" : "failed",
             verdict->stage[0] ? verdict->stage : "-", verdict->error, verdict->date);
    *path = memo_path(device, about(device), error);
    return *path ? cache_write(*path, text, strlen(text), error) : STATUS_FAILED;
}

enum status verdict_check(const struct device *device, struct error *error)
{
    struct verdict verdict;
    verdict_load(device, &verdict);
    if (!verdict.known || verdict.passed)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "%s gave wrong answers in --selftest on %s (%s off by %.2g); take another --device, run "
                "--selftest again with another driver, or --force",
                device->name, verdict.date, verdict.stage, verdict.error);
}
