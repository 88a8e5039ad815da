#include "device/kept.h"

#include "base/files.h"
#include "base/sums.h"
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

/* The line behind a text that began with the header. */
static void memo_sum(const char *text, size_t size, char line[MEMO_SUM_SIZE])
{
    snprintf(line, MEMO_SUM_SIZE, "sum %016llx\n", (unsigned long long)hash_bytes(HASH_START, text, size));
}

char *memo_load(const struct device *device, const char *about)
{
    struct error ignored = {.text = ""};
    char header[MEMO_LINE_SIZE];
    size_t size = 0;
    char *path = memo_path(device, about, &ignored);
    char *text = path ? cache_read(path, &size) : NULL;
    memo_header(device, about, header);
    const size_t first = strlen(header), last = MEMO_SUM_SIZE - 1;
    bool whole = text && size >= first + last && memcmp(text, header, first) == 0;
    if (whole) {
        char sum[MEMO_SUM_SIZE];
        memo_sum(text, size - last, sum);
        whole = memcmp(text + size - last, sum, last) == 0;
        text[size - last] = '\0';
        memmove(text, text + first, size - last - first + 1);
    }
    free(path);
    if (whole)
        return text;
    free(text);
    return NULL;
}

void memo_save(const struct device *device, const char *about, const char *text)
{
    struct error ignored = {.text = ""};
    const size_t room = MEMO_LINE_SIZE + strlen(text) + MEMO_SUM_SIZE;
    char *path = memo_path(device, about, &ignored), *all = path ? malloc(room) : NULL;
    if (all) {
        memo_header(device, about, all);
        strcat(all, text);
        const size_t size = strlen(all);
        memo_sum(all, size, all + size);
        cache_write(path, all, size + MEMO_SUM_SIZE - 1, &ignored);
    }
    free(all);
    free(path);
}

/* ---------------------------------------------------------------- what --selftest found */

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

/* ---------------------------------------------------------------- programs */

enum { RECIPE_SIZE = 1024, HEADER_SIZE = MEMO_LINE_SIZE + RECIPE_SIZE, SUM_SIZE = 18 };

/* The first lines of the file: all that the program depends on. Gives its path, to be freed. */
static char *find_place(const struct device *device, const char *file, const char *options,
                        char header[HEADER_SIZE])
{
    char subject[32], line[MEMO_LINE_SIZE], what[RECIPE_SIZE];
    struct error ignored = {.text = ""};
    snprintf(what, sizeof what, "%s.cl %s\n", file, options);
    snprintf(subject, sizeof subject, "program-%016llx",
             (unsigned long long)hash_bytes(HASH_START, what, strlen(what)));
    memo_header(device, subject, line);
    snprintf(header, HEADER_SIZE, "%s%s", line, what);
    return memo_path(device, subject, &ignored);
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

/* Writes the line with the sum of the bytes that follow it. */
static void describe(char *line, const unsigned char *binary, size_t size)
{
    snprintf(line, SUM_SIZE, "%016llx\n", (unsigned long long)hash_bytes(HASH_START, binary, size));
}

/* The binary in what a file holds; NULL: it is of something else, or damaged. */
static const unsigned char *find_binary(const char *text, size_t *size, const char *header)
{
    char sum[SUM_SIZE];
    const size_t first = strlen(header), begin = first + SUM_SIZE - 1;
    if (*size <= begin || memcmp(text, header, first) != 0)
        return NULL;
    const unsigned char *binary = (const unsigned char *)text + begin;
    *size -= begin;
    describe(sum, binary, *size);
    return memcmp(text + first, sum, SUM_SIZE - 1) == 0 ? binary : NULL;
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
    char header[HEADER_SIZE];
    size_t size = 0;
    char *path = device_is_pocl(device) ? find_place(device, file, options, header) : NULL;
    char *text = path ? cache_read(path, &size) : NULL;
    const unsigned char *binary = text ? find_binary(text, &size, header) : NULL;
    cl_program program = binary ? build(device, binary, size, options) : NULL;
    free(text);
    free(path);
    return program;
}

/* To be freed; NULL: there is none. */
static unsigned char *fetch_binary(cl_program program, size_t *size)
{
    unsigned char *binary = NULL;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof *size, size, NULL) != CL_SUCCESS ||
        *size == 0)
        return NULL;
    binary = malloc(*size);
    if (binary && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
        return binary;
    free(binary);
    return NULL;
}

void kept_save(const struct device *device, const char *file, const char *options, cl_program program)
{
    char header[HEADER_SIZE],
        *path = device_is_pocl(device) ? find_place(device, file, options, header) : NULL;
    struct error ignored = {.text = ""};
    size_t size = 0;
    unsigned char *binary = path ? fetch_binary(program, &size) : NULL;
    const size_t begin = binary ? strlen(header) + SUM_SIZE - 1 : 0;
    char *text = binary ? malloc(begin + size) : NULL;
    if (text) {
        char sum[SUM_SIZE];
        describe(sum, binary, size);
        snprintf(text, begin + 1, "%s%s", header, sum);
        memcpy(text + begin, binary, size);
        cache_write(path, text, begin + size, &ignored);
    }
    free(text);
    free(binary);
    free(path);
}
