/* Files of climg's own cache: the result of --selftest, and programs that --warm compiled. Each file belongs
 * to one device, driver and version of the kernels:
 *
 *     climg selftest-gpu, PLATFORM, DEVICE, VERSION, DRIVER, kernels SUM    header; its hash is in the name
 *     DATA
 *     sum 0123456789abcdef                                                  FNV-1a of header and data
 *
 * A file with another header or checksum is ignored.
 *
 * PoCL has a cache, too, but it finds a compiled program by a hash of the preprocessed text. Of the 33 to 55
 * ms for a small picture, clang's preprocessor takes 6 to 16. A program that is loaded as a binary needs no
 * clang. PoCL compiles each kernel of such a binary for work-groups of any size, which takes twice the time.
 * Therefore only --warm writes binaries, and `make install` and the Debian package run it for all users. The
 * kernels are as fast as those for one size (4096² blur, denoise, median, resize, wavelet: within 2%). */
#include "device/cache.h"

#include "base/files.h"
#include "base/sums.h"
#include "base/text.h"
#include "device/pocl.h"
#include "device/source.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER_SIZE = 1280 }; /* bytes; four names of at most 255 and the rest */

/* Writes the header of the entry `name`, such as "selftest-gpu". */
static void entry_header(const struct device *device, const char *name, char line[HEADER_SIZE])
{
    snprintf(line, HEADER_SIZE, "climg %s, %s, %s, %s, %s, kernels %s\n", name, device->platform_name,
             device->name, device->version, device->driver, kernels_sum);
}

/* Returns the path of a cache entry (cache_path of base/files.h); the caller frees it. NULL on failure. */
static char *entry_path(const struct device *device, const char *base, const char *home, const char *name,
                        struct error *error)
{
    char file[64], line[HEADER_SIZE];
    entry_header(device, name, line);
    snprintf(file, sizeof file, "%.32s-%016llx", name,
             (unsigned long long)hash_bytes(HASH_START, line, strlen(line)));
    return cache_path(base, home, file, error);
}

enum { CHECKSUM_SIZE = 22 }; /* bytes of the last line, with NUL */

/* Writes the last line: a checksum of the `size` bytes of header and data. */
static void entry_checksum(const char *bytes, size_t size, char line[CHECKSUM_SIZE])
{
    snprintf(line, CHECKSUM_SIZE, "sum %016llx\n", (unsigned long long)hash_bytes(HASH_START, bytes, size));
}

/* Returns the data of an entry, with a NUL at the end; the caller frees them. NULL if the file is missing or
 * damaged, or was written for another device, driver or version of the kernels. `base` and `home` are
 * arguments of cache_path. */
static char *entry_load(const struct device *device, const char *base, const char *home, const char *name,
                        size_t *size)
{
    struct error ignored = {.text = ""};
    char header[HEADER_SIZE];
    char *path = entry_path(device, base, home, name, &ignored);
    char *data = path ? file_read_whole(path, size) : NULL;
    free(path);
    entry_header(device, name, header);
    const size_t header_size = strlen(header), sum_size = CHECKSUM_SIZE - 1;
    if (data && *size >= header_size + sum_size && memcmp(data, header, header_size) == 0) {
        char sum[CHECKSUM_SIZE];
        *size -= sum_size;
        entry_checksum(data, *size, sum);
        if (memcmp(data + *size, sum, sum_size) == 0) {
            *size -= header_size;
            memmove(data, data + header_size, *size);
            data[*size] = '\0';
            return data;
        }
    }
    free(data);
    return NULL;
}

/* Writes an entry to the user's cache. *path receives its path, also after a failure; the caller frees
 * it. */
static enum status entry_save(const struct device *device, const char *name, const void *data, size_t size,
                              char **path, struct error *error)
{
    const struct environment *environment = device->environment;
    *path = entry_path(device, environment->cache, environment->home, name, error);
    char *all = *path ? allocate(HEADER_SIZE + size + CHECKSUM_SIZE, "a cache entry", error) : NULL;
    if (!all)
        return STATUS_FAILED;
    entry_header(device, name, all);
    const size_t header_size = strlen(all);
    memcpy(all + header_size, data, size);
    entry_checksum(all, header_size + size, all + header_size + size);
    enum status status = cache_write(*path, all, header_size + size + CHECKSUM_SIZE - 1, error);
    free(all);
    return status;
}

/* ---------------------------------------------------------------- the result of --selftest */

/* Returns the name of the entry. It depends on the kernel variant, which CLIMG_CLASS can override. */
static const char *selftest_name(const struct device *device)
{
    return device->variant == VARIANT_CPU ? "selftest-cpu" : "selftest-gpu";
}

void selftest_result_load(const struct device *device, struct selftest_result *result)
{
    char word[8] = "";
    size_t size;
    const struct environment *environment = device->environment;
    char *text = entry_load(device, environment->cache, environment->home, selftest_name(device), &size);
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
    return entry_save(device, selftest_name(device), text, (size_t)size, path, error);
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

/* ---------------------------------------------------------------- programs */

/* Returns the first line of the data of a program's entry, "FILE.cl OPTIONS\n"; the caller frees it. `name`
 * receives the name of the entry. */
static char *program_line(const char *file, const char *options, char name[32])
{
    struct error ignored;
    char *line = text_print(&ignored, "%s.cl %s\n", file, options);
    if (line)
        snprintf(name, 32, "program-%016llx", (unsigned long long)hash_bytes(HASH_START, line, strlen(line)));
    return line;
}

cl_program program_cache_load(const struct device *device, const char *file, const char *options)
{
    char name[32];
    size_t size = 0;
    const struct environment *environment = device->environment;
    char *line = device_is_pocl(device) ? program_line(file, options, name) : NULL;
    if (!line)
        return NULL;

    /* Read the entry from the cache for all users, or else from the user's own. */
    char *data = entry_load(device, environment->system_cache, NULL, name, &size);
    const bool is_for_all_users = data;
    if (!data)
        data = entry_load(device, environment->cache, environment->home, name, &size);

    /* Build the binary, which follows the line. The driver may refuse it. */
    const size_t line_size = strlen(line);
    cl_program program = NULL;
    if (data && size > line_size && memcmp(data, line, line_size) == 0) {
        const unsigned char *binary = (const unsigned char *)data + line_size;
        cl_int code;
        size -= line_size;
        /* Copy the linked kernels to the user's PoCL cache, so that PoCL need not link them again. */
        if (is_for_all_users)
            pocl_copy_program(environment, binary, size);
        program = clCreateProgramWithBinary(device->context, 1, &device->id, &size, &binary, NULL, &code);
        if (code != CL_SUCCESS)
            program = NULL;
        if (program && clBuildProgram(program, 1, &device->id, options, NULL, NULL) != CL_SUCCESS) {
            clReleaseProgram(program);
            program = NULL;
        }
    }
    free(data);
    free(line);
    return program;
}

void program_cache_save(const struct device *device, const char *file, const char *options,
                        cl_program program)
{
    struct error ignored = {.text = ""};
    char name[32], *path = NULL;
    size_t size = 0;
    if (!device_is_pocl(device) ||
        clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != CL_SUCCESS ||
        size == 0)
        return;

    /* The data are the line and the binary. */
    char *line = program_line(file, options, name);
    const size_t line_size = line ? strlen(line) : 0;
    unsigned char *data = line ? malloc(line_size + size) : NULL;
    if (data) {
        unsigned char *binary = data + line_size;
        memcpy(data, line, line_size + 1); /* the binary overwrites the NUL */
        if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
            entry_save(device, name, data, line_size + size, &path, &ignored);
    }
    free(path);
    free(data);
    free(line);
}

void program_cache_clean(const struct environment *environment)
{
    struct error ignored = {.text = ""};
    char path[PATH_MAX], *folder = cache_path(environment->cache, environment->home, "", &ignored);
    DIR *listing = folder ? opendir(folder) : NULL;
    char line[HEADER_SIZE], end[64];
    const int end_length = snprintf(end, sizeof end, "kernels %s\n", kernels_sum);
    // cppcheck-suppress readdirCalled ; no two threads read one stream, and readdir_r is deprecated
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        if (strncmp(entry->d_name, "program-", 8) != 0 ||
            snprintf(path, sizeof path, "%s%s", folder, entry->d_name) >= PATH_MAX)
            continue;

        /* Keep the file if its first line ends with the checksum of the current kernels. */
        FILE *file = fopen(path, "rb");
        const size_t size = file && fgets(line, sizeof line, file) ? strlen(line) : 0;
        if (file)
            fclose(file);
        if (size < (size_t)end_length || strcmp(line + size - end_length, end) != 0)
            unlink(path);
    }
    if (listing)
        closedir(listing);
    free(folder);
}
