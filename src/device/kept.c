#include "device/kept.h"

#include "base/files.h"
#include "base/sums.h"
#include "base/text.h"
#include "device/source.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMO_LINE_SIZE = 1280 };

/* A file's first line: what it is about and what it was found on. */
static void memo_header(const struct device *device, const char *about, char line[MEMO_LINE_SIZE])
{
    snprintf(line, MEMO_LINE_SIZE, "climg %s, %s, %s, %s, %s, kernels %s\n", about, device->platform_name,
             device->name, device->version, device->driver, kernels_sum);
}

/* The file's path, to be freed; NULL where there is no cache. */
static char *memo_path(const struct device *device, const char *about, struct error *error)
{
    char name[64], line[MEMO_LINE_SIZE];
    const struct environment *environment = device->environment;
    memo_header(device, about, line);
    snprintf(name, sizeof name, "%.*s-%016llx", 32, about,
             (unsigned long long)hash_bytes(HASH_START, line, strlen(line)));
    return cache_path(environment->cache, environment->home, name, error);
}

enum { MEMO_SUM_SIZE = 22 };

/* The line behind what began with the header. */
static void memo_sum(const char *begin, size_t size, char line[MEMO_SUM_SIZE])
{
    snprintf(line, MEMO_SUM_SIZE, "sum %016llx\n", (unsigned long long)hash_bytes(HASH_START, begin, size));
}

char *memo_load(const struct device *device, const char *about, size_t *size)
{
    struct error ignored = {.text = ""};
    char header[MEMO_LINE_SIZE];
    char *path = memo_path(device, about, &ignored);
    char *data = path ? cache_read(path, size) : NULL;
    memo_header(device, about, header);
    const size_t first = strlen(header), last = MEMO_SUM_SIZE - 1;
    bool whole = data && *size >= first + last && memcmp(data, header, first) == 0;
    if (whole) {
        char sum[MEMO_SUM_SIZE];
        *size -= last;
        memo_sum(data, *size, sum);
        whole = memcmp(data + *size, sum, last) == 0;
        data[*size] = '\0';
        *size -= first;
        memmove(data, data + first, *size + 1);
    }
    free(path);
    if (whole)
        return data;
    free(data);
    return NULL;
}

enum status memo_save(const struct device *device, const char *about, const void *data, size_t size,
                      struct error *error)
{
    char *path = memo_path(device, about, error);
    char *all = path ? allocate(MEMO_LINE_SIZE + size + MEMO_SUM_SIZE, "what is kept", error) : NULL;
    enum status status = STATUS_FAILED;
    if (all) {
        memo_header(device, about, all);
        const size_t first = strlen(all);
        memcpy(all + first, data, size);
        memo_sum(all, first + size, all + first + size);
        status = cache_write(path, all, first + size + MEMO_SUM_SIZE - 1, error);
    }
    free(all);
    free(path);
    return status;
}

/* ---------------------------------------------------------------- what --selftest found */

/* A device has other kernels where CLIMG_CLASS says so. */
static const char *about(const struct device *device)
{
    return device->class == DEVICE_WIDE ? "selftest-wide" : "selftest-grouped";
}

void verdict_load(const struct device *device, struct verdict *verdict)
{
    char word[8] = "";
    size_t size;
    char *text = memo_load(device, about(device), &size);
    *verdict = (struct verdict){.known = false};
    if (text &&
        sscanf(text, "%7s %31s %lf %15s", word, verdict->stage, &verdict->error, verdict->date) == 4) {
        verdict->passed = strcmp(word, "passed") == 0;
        verdict->known = verdict->passed || strcmp(word, "failed") == 0;
    }
    free(text);
}

enum status verdict_save(const struct device *device, const struct verdict *verdict, char **path,
                         struct error *error)
{
    char text[96];
    const int size = snprintf(text, sizeof text, "%s %s %.2g %s\n", verdict->passed ? "passed" : "failed",
                              verdict->stage[0] ? verdict->stage : "-", verdict->error, verdict->date);
    *path = memo_path(device, about(device), error);
    return *path ? memo_save(device, about(device), text, (size_t)size, error) : STATUS_FAILED;
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

/* ---------------------------------------------------------------- programs */

/* "FILE.cl OPTIONS\n", which its memo begins with, to be freed; `memo` receives the memo's name. */
static char *describe(const char *file, const char *options, char memo[32])
{
    struct error ignored;
    char *recipe = text_print(&ignored, "%s.cl %s\n", file, options);
    if (recipe)
        snprintf(memo, 32, "program-%016llx",
                 (unsigned long long)hash_bytes(HASH_START, recipe, strlen(recipe)));
    return recipe;
}

/* Whether the file's first line ends as those of programs of these kernels do. */
static bool is_current(const char *path)
{
    char line[MEMO_LINE_SIZE] = "", end[64];
    FILE *file = fopen(path, "rb");
    bool read = file && fgets(line, sizeof line, file);
    const int length = snprintf(end, sizeof end, "kernels %s\n", kernels_sum);
    const size_t size = strlen(line);
    if (file)
        fclose(file);
    return read && size >= (size_t)length && strcmp(line + size - length, end) == 0;
}

void kept_forget(const struct environment *environment)
{
    struct error ignored = {.text = ""};
    char path[PATH_MAX], *folder = cache_path(environment->cache, environment->home, "", &ignored);
    DIR *listing = folder ? opendir(folder) : NULL;
    // cppcheck-suppress readdirCalled ; no two threads read one stream, and readdir_r is deprecated
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        const int length = snprintf(path, sizeof path, "%s%s", folder, entry->d_name);
        if (strncmp(entry->d_name, "program-", 8) == 0 && length < PATH_MAX && !is_current(path))
            unlink(path);
    }
    if (listing)
        closedir(listing);
    free(folder);
}

static cl_program build(const struct device *device, const unsigned char *binary, size_t size,
                        const char *options)
{
    cl_int code;
    cl_program program =
        clCreateProgramWithBinary(device->context, 1, &device->id, &size, &binary, NULL, &code);
    if (code != CL_SUCCESS)
        return NULL;
    if (clBuildProgram(program, 1, &device->id, options, NULL, NULL) == CL_SUCCESS)
        return program;
    clReleaseProgram(program);
    return NULL;
}

cl_program kept_load(const struct device *device, const char *file, const char *options)
{
    char memo[32];
    size_t size = 0;
    char *recipe = device_is_pocl(device) ? describe(file, options, memo) : NULL;
    char *data = recipe ? memo_load(device, memo, &size) : NULL;
    const size_t first = recipe ? strlen(recipe) : 0;
    cl_program program = NULL;
    if (data && size > first && memcmp(data, recipe, first) == 0)
        program = build(device, (const unsigned char *)data + first, size - first, options);
    free(data);
    free(recipe);
    return program;
}

/* The recipe of `first` bytes and behind it the binary, to be freed; NULL: there is none. */
static char *fetch_binary(cl_program program, const char *recipe, size_t first, size_t *size)
{
    size_t bytes = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS ||
        bytes == 0)
        return NULL;
    char *data = malloc(first + bytes), *binary = data ? data + first : NULL;
    if (data && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS) {
        memcpy(data, recipe, first);
        *size = first + bytes;
        return data;
    }
    free(data);
    return NULL;
}

void kept_save(const struct device *device, const char *file, const char *options, cl_program program)
{
    char memo[32];
    struct error ignored = {.text = ""};
    size_t size = 0;
    char *recipe = device_is_pocl(device) ? describe(file, options, memo) : NULL;
    char *data = recipe ? fetch_binary(program, recipe, strlen(recipe), &size) : NULL;
    if (data)
        memo_save(device, memo, data, size, &ignored);
    free(data);
    free(recipe);
}
