/* Files of climg's own cache: the result of --selftest, and programs that --warm compiled. Each file belongs
 * to one device, driver and version of the kernels:
 *
 *     climg KIND, PLATFORM, DEVICE, VERSION, DRIVER, kernels SUM    the key, whose hash is in the file's name
 *     FILE.cl OPTIONS                                               part of the key; programs only
 *     DATA
 *     sum 0123456789abcdef                                          FNV-1a of key and data
 *
 * A file with another key or checksum is ignored.
 *
 * PoCL has its own cache, but finds a compiled program by a hash of the preprocessed text: clang's
 * preprocessor takes 6 to 16 of the 33 to 55 ms for a small picture. A program that is loaded as a binary
 * needs no clang. To write a binary, PoCL compiles each kernel for work-groups of any size, which takes twice
 * as long. Therefore only --warm writes binaries; `make install` and the Debian package run it for all users.
 * Kernels for any size are as fast as kernels for one size (4096² blur, denoise, median, resize, wavelet:
 * within 2%). */
#include "device/cache.h"

#include "base/files.h"
#include "base/sums.h"
#include "base/text.h"
#include "device/pocl.h"
#include "device/source.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the key of an entry; the caller frees it. `program` is its second line, or "". */
static char *entry_key(const struct device *device, const char *kind, const char *program,
                       struct error *error)
{
    return text_print(error, "climg %s, %s, %s, %s, %s, kernels %s\n%s", kind, device->platform_name,
                      device->name, device->version, device->driver, kernels_sum, program);
}

/* Returns the path of a cache entry (cache_path of base/files.h); the caller frees it. NULL on failure. */
static char *entry_path(const char *base, const char *home, const char *kind, const char *key,
                        struct error *error)
{
    char file[64];
    snprintf(file, sizeof file, "%.40s-%016llx", kind,
             (unsigned long long)hash_bytes(HASH_START, key, strlen(key)));
    return cache_path(base, home, file, error);
}

enum { CHECKSUM_SIZE = 22 }; /* bytes of the last line, with NUL */

/* Writes the last line: a checksum of the `size` bytes of key and data. */
static void entry_checksum(const char *bytes, size_t size, char line[CHECKSUM_SIZE])
{
    snprintf(line, CHECKSUM_SIZE, "sum %016llx\n", (unsigned long long)hash_bytes(HASH_START, bytes, size));
}

/* Returns the data of an entry, with a NUL at the end; the caller frees them. NULL if the file is missing or
 * damaged, or was written for another key. `base` and `home` are arguments of cache_path. */
static char *entry_load(const struct device *device, const char *base, const char *home, const char *kind,
                        const char *program, size_t *size)
{
    struct error ignored = {.text = ""};
    char *key = entry_key(device, kind, program, &ignored);
    char *path = key ? entry_path(base, home, kind, key, &ignored) : NULL;
    char *data = path ? file_read_whole(path, size) : NULL;
    const size_t key_size = key ? strlen(key) : 0, sum_size = CHECKSUM_SIZE - 1;
    bool is_valid = data && *size >= key_size + sum_size && memcmp(data, key, key_size) == 0;
    if (is_valid) {
        char sum[CHECKSUM_SIZE];
        *size -= sum_size;
        entry_checksum(data, *size, sum);
        is_valid = memcmp(data + *size, sum, sum_size) == 0;
        *size -= key_size;
        memmove(data, data + key_size, *size);
        data[*size] = '\0';
    }
    free(path);
    free(key);
    if (is_valid)
        return data;
    free(data);
    return NULL;
}

/* Writes an entry to the user's cache. *path receives its path, also after a failure; the caller frees
 * it. */
static enum status entry_save(const struct device *device, const char *kind, const char *program,
                              const void *data, size_t size, char **path, struct error *error)
{
    const struct environment *environment = device->environment;
    char *key = entry_key(device, kind, program, error);
    const size_t key_size = key ? strlen(key) : 0;
    *path = key ? entry_path(environment->cache, environment->home, kind, key, error) : NULL;
    char *all = *path ? allocate(key_size + size + CHECKSUM_SIZE, "a cache entry", error) : NULL;
    enum status status = STATUS_FAILED;
    if (all) {
        strcpy(all, key);
        memcpy(all + key_size, data, size);
        entry_checksum(all, key_size + size, all + key_size + size);
        status = cache_write(*path, all, key_size + size + CHECKSUM_SIZE - 1, error);
    }
    free(all);
    free(key);
    return status;
}

/* ---------------------------------------------------------------- the result of --selftest */

/* Returns the kind of entry. It depends on the kernel variant, which CLIMG_CLASS can override. */
static const char *selftest_kind(const struct device *device)
{
    return device->variant == VARIANT_CPU ? "selftest-cpu" : "selftest-gpu";
}

void selftest_result_load(const struct device *device, struct selftest_result *result)
{
    char word[8] = "";
    size_t size;
    const struct environment *environment = device->environment;
    char *text = entry_load(device, environment->cache, environment->home, selftest_kind(device), "", &size);
    *result = (struct selftest_result){.known = false};
    if (text && sscanf(text, "%7s %31s %lf %15s", word, result->stage, &result->error, result->date) == 4) {
        result->passed = strcmp(word, "passed") == 0;
        result->known = result->passed || strcmp(word, "failed") == 0;
    }
    free(text);
}

enum status selftest_result_save(const struct device *device, const struct selftest_result *result,
                                 char **path, struct error *error)
{
    char text[96];
    const int size = snprintf(text, sizeof text, "%s %s %.2g %s\n", result->passed ? "passed" : "failed",
                              result->stage[0] ? result->stage : "-", result->error, result->date);
    return entry_save(device, selftest_kind(device), "", text, (size_t)size, path, error);
}

enum status selftest_result_check(const struct device *device, struct error *error)
{
    struct selftest_result result;
    selftest_result_load(device, &result);
    if (!result.known || result.passed)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "%s gave wrong answers in --selftest on %s (%s off by %.2g); choose another --device, run "
                "--selftest again after a driver update, or use --force",
                device->name, result.date, result.stage, result.error);
}

bool selftest_failed_on_cpu(const struct environment *environment)
{
    struct error ignored = {.text = ""};
    char *folder = cache_path(environment->cache, environment->home, "", &ignored);
    char *failure = text_print(&ignored, ", kernels %s\nfailed ", kernels_sum);
    DIR *listing = folder && failure ? opendir(folder) : NULL;
    bool found = false;
    // cppcheck-suppress readdirCalled ; no two threads read one stream, and readdir_r is deprecated
    for (const struct dirent *entry; listing && !found && (entry = readdir(listing));) {
        size_t size;
        const bool is_result = strncmp(entry->d_name, "selftest-cpu-", 13) == 0;
        char *path = is_result ? text_print(&ignored, "%s/%s", folder, entry->d_name) : NULL;
        char *text = path ? file_read_whole(path, &size) : NULL;
        found = text && strstr(text, failure);
        free(text);
        free(path);
    }
    if (listing)
        closedir(listing);
    free(failure);
    free(folder);
    return found;
}

/* ---------------------------------------------------------------- programs */

enum { KIND_SIZE = 32, LINE_SIZE = OPTIONS_SIZE + 128 }; /* bytes */

/* Writes the kind of entries for programs of these kernels, "program-CRC". program_cache_clean removes
 * programs of other kinds. */
static void program_kind(char kind[KIND_SIZE])
{
    snprintf(kind, KIND_SIZE, "program-%.*s", (int)strcspn(kernels_sum, " "), kernels_sum);
}

/* Writes the kind and the second line of a program's key. Returns false if the program is not cached: if the
 * driver is not PoCL, or the line would be too long. */
static bool program_entry_key(const struct device *device, const char *file, const char *options,
                              char kind[KIND_SIZE], char line[LINE_SIZE])
{
    program_kind(kind);
    return device_is_pocl(device) && snprintf(line, LINE_SIZE, "%s.cl %s\n", file, options) < LINE_SIZE;
}

cl_program program_cache_load(const struct device *device, const char *file, const char *options)
{
    const struct environment *environment = device->environment;
    char kind[KIND_SIZE], line[LINE_SIZE];
    size_t size = 0;
    if (!program_entry_key(device, file, options, kind, line))
        return NULL;

    /* Read the entry from the cache for all users, or else from the user's own. */
    char *data = entry_load(device, environment->system_cache, NULL, kind, line, &size);
    const bool is_for_all_users = data;
    if (!data)
        data = entry_load(device, environment->cache, environment->home, kind, line, &size);
    if (!data)
        return NULL;

    /* Copy the linked kernels to the user's PoCL cache, so that PoCL need not link them again. */
    const unsigned char *binary = (const unsigned char *)data;
    if (is_for_all_users)
        pocl_copy_program(environment, binary, size);

    /* Build the binary. The driver may refuse it. */
    cl_int code;
    cl_program program =
        clCreateProgramWithBinary(device->context, 1, &device->id, &size, &binary, NULL, &code);
    if (code != CL_SUCCESS)
        program = NULL;
    if (program && clBuildProgram(program, 1, &device->id, options, NULL, NULL) != CL_SUCCESS) {
        clReleaseProgram(program);
        program = NULL;
    }
    free(data);
    return program;
}

void program_cache_save(const struct device *device, const char *file, const char *options,
                        cl_program program)
{
    struct error ignored = {.text = ""};
    char kind[KIND_SIZE], line[LINE_SIZE], *path = NULL;
    size_t size = 0;
    if (!program_entry_key(device, file, options, kind, line) ||
        clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != CL_SUCCESS ||
        size == 0)
        return;
    unsigned char *binary = malloc(size);
    if (binary && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
        entry_save(device, kind, line, binary, size, &path, &ignored);
    free(path);
    free(binary);
}

void program_cache_clean(const struct environment *environment)
{
    struct error ignored = {.text = ""};
    char kind[KIND_SIZE], *folder = cache_path(environment->cache, environment->home, "", &ignored);
    DIR *listing = folder ? opendir(folder) : NULL;
    program_kind(kind);
    // cppcheck-suppress readdirCalled ; no two threads read one stream, and readdir_r is deprecated
    for (const struct dirent *entry; listing && (entry = readdir(listing));)
        if (strncmp(entry->d_name, "program-", 8) == 0 && strncmp(entry->d_name, kind, strlen(kind)) != 0)
            unlinkat(dirfd(listing), entry->d_name, 0);
    if (listing)
        closedir(listing);
    free(folder);
}
