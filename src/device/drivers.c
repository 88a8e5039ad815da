#include "device/drivers.h"

#include "base/files.h"
#include "base/sums.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

static bool left_out;

/* ---------------------------------------------------------------- what is remembered holds as long as this
 */

static void add_text(uint64_t *state, const char *text)
{
    *state = hash_bytes(*state, text ? text : "", text ? strlen(text) + 1 : 0);
}

static void add_file(uint64_t *state, const char *path)
{
    struct stat info;
    add_text(state, path);
    if (stat(path, &info) != 0)
        return;
    const long long facts[] = {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
                               (long long)info.st_ino};
    *state = hash_bytes(*state, facts, sizeof facts);
}

/* The entries whose names begin with `prefix`, in any order: folders list them in that of their making. */
static void add_folder(uint64_t *state, const char *folder, const char *prefix, bool files)
{
    char path[PATH_MAX];
    uint64_t sum = 0;
    DIR *listing = opendir(folder);
    // cppcheck-suppress readdirCalled ; no two threads read one stream, and readdir_r is deprecated
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        uint64_t one = HASH_START;
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= PATH_MAX)
            continue;
        if (files)
            add_file(&one, path);
        else
            add_text(&one, path);
        sum += one;
    }
    if (listing)
        closedir(listing);
    *state = hash_bytes(*state, &sum, sizeof sum);
}

static const char *vendors_folder(const struct environment *environment)
{
    return environment->vendors ? environment->vendors : "/etc/OpenCL/vendors";
}

/* Of all that decides which devices there are, but for the libraries. Devices of the system have times that
 * change; only their names count. */
static uint64_t state_of_system(const struct environment *environment)
{
    uint64_t state =
        hash_bytes(HASH_START, &environment->visible_devices, sizeof environment->visible_devices);
    add_folder(&state, vendors_folder(environment), "", true);
    add_folder(&state, "/dev", "nvidia", false);
    add_folder(&state, "/dev", "kfd", false);
    add_folder(&state, "/dev/dri", "", false);
    add_file(&state, "/etc/ld.so.cache");
    return state;
}

/* ---------------------------------------------------------------- the file */

/* The file of this machine, to be freed: a home may be shared by several. */
static char *memory_path(const struct environment *environment)
{
    char name[32];
    struct utsname machine;
    struct error ignored = {.text = ""};
    memset(&machine, 0, sizeof machine);
    uname(&machine);
    snprintf(name, sizeof name, "drivers-%016llx",
             (unsigned long long)hash_bytes(HASH_START, machine.nodename, strlen(machine.nodename)));
    return cache_path(environment->cache, environment->home, name, &ignored);
}

enum { LINE_SIZE = PATH_MAX + 4 * 256 + 64, MOST_TEXT = (MAX_DEVICES + 2) * LINE_SIZE };

/* The size of a text of at most MOST_TEXT: a line of the system, one for each device, and a sum. */
static size_t describe(const struct environment *environment, const struct driven *devices, int count,
                       char *text)
{
    size_t length =
        (size_t)sprintf(text, "climg drivers %016llx\n", (unsigned long long)state_of_system(environment));
    for (int i = 0; i < count; i++) {
        const struct device *device = &devices[i].device;
        uint64_t library = HASH_START;
        add_file(&library, devices[i].library);
        length += (size_t)snprintf(text + length, LINE_SIZE, "%llx\t%u\t%016llx\t%s\t%s\t%s\t%s\t%s\n",
                                   (unsigned long long)device->type, device->units,
                                   (unsigned long long)library, devices[i].library, device->platform_name,
                                   device->name, device->version, device->driver);
    }
    return length + (size_t)sprintf(text + length, "sum %016llx\n",
                                    (unsigned long long)hash_bytes(HASH_START, text, length));
}

static bool copy_field(char **cursor, char end, char *field, size_t size)
{
    char *stop = strchr(*cursor, end);
    const size_t length = stop ? (size_t)(stop - *cursor) : size;
    if (length >= size)
        return false;
    memcpy(field, *cursor, length);
    field[length] = '\0';
    *cursor = stop + 1;
    return true;
}

/* False at the sum. */
static bool read_line(char **cursor, struct driven *known)
{
    struct device *device = &known->device;
    char *end;
    *known = (struct driven){.device = {.type = strtoull(*cursor, &end, 16)}};
    if (*end != '\t')
        return false;
    device->units = (cl_uint)strtoul(end + 1, &end, 10);
    if (*end != '\t' || (strtoull(end + 1, &end, 16), *end != '\t'))
        return false;
    *cursor = end + 1;
    return copy_field(cursor, '\t', known->library, sizeof known->library) &&
           copy_field(cursor, '\t', device->platform_name, sizeof device->platform_name) &&
           copy_field(cursor, '\t', device->name, sizeof device->name) &&
           copy_field(cursor, '\t', device->version, sizeof device->version) &&
           copy_field(cursor, '\n', device->driver, sizeof device->driver);
}

/* What is read must be what would be written now: a damaged file, and one of another system, are not. */
int drivers_recall(const struct environment *environment, struct driven *known)
{
    size_t size = 0;
    int count = 0;
    char *path = environment->loader_is_directed ? NULL : memory_path(environment);
    char *text = path ? cache_read(path, &size) : NULL;
    char *cursor = text ? strchr(text, '\n') : NULL;
    char *now = cursor ? malloc(MOST_TEXT) : NULL;
    if (now)
        for (cursor++; count < MAX_DEVICES && read_line(&cursor, &known[count]);)
            count++;
    if (now && (describe(environment, known, count, now) != size || memcmp(now, text, size) != 0))
        count = 0;
    free(now);
    free(text);
    free(path);
    return count;
}

void drivers_remember(const struct environment *environment, const struct driven *found, int count)
{
    bool several = false, usual = !environment->loader_is_directed;
    for (int i = 0; i < count; i++) {
        const struct device *device = &found[i].device;
        several = several || strcmp(found[i].library, found[0].library) != 0;
        usual = usual && found[i].library[0] && !strpbrk(device->name, "\t\n") &&
                !strpbrk(device->platform_name, "\t\n") && !strpbrk(device->version, "\t\n") &&
                !strpbrk(device->driver, "\t\n");
    }
    struct error ignored = {.text = ""};
    char *path = several && usual ? memory_path(environment) : NULL;
    char *text = path ? malloc(MOST_TEXT) : NULL;
    if (text)
        cache_write(path, text, describe(environment, found, count, text), &ignored);
    free(text);
    free(path);
}

void drivers_forget(const struct environment *environment)
{
    char *path = memory_path(environment);
    if (path)
        remove(path);
    free(path);
}

/* ---------------------------------------------------------------- the loader */

/* Some drivers, and Khronos' loader since 2025, do not give that function to programs. Then it is one of the
 * table that cl_khr_icd has every platform begin with: the second one is clGetPlatformInfo. */
void drivers_find_library(cl_platform_id platform, char library[PATH_MAX])
{
    Dl_info place;
    void *function = clGetExtensionFunctionAddressForPlatform(platform, "clIcdGetPlatformIDsKHR");
    void *const *table = function ? NULL : *(void *const *const *)platform;
    function = table ? table[1] : function;
    library[0] = '\0';
    if (!function || !dladdr(function, &place) || !place.dli_fname || !realpath(place.dli_fname, library))
        library[0] = '\0';
}

/* A folder of vendors in climg's cache in which that library stands alone: ocl-icd of any version and
 * Khronos' loader since 2019 take one from OCL_ICD_VENDORS, the latter before 2020 only with a slash at its
 * end. OCL_ICD_FILENAMES would do without a folder, but ocl-icd knows it since 2.3.2 only. */
bool drivers_start_only(const struct environment *environment, const struct driven *known)
{
    char name[48], line[PATH_MAX + 1];
    struct error ignored = {.text = ""};
    const int length = snprintf(line, sizeof line, "%s\n", known->library);
    snprintf(name, sizeof name, "driver-%016llx/only.icd",
             (unsigned long long)hash_bytes(HASH_START, line, (size_t)length));
    char *path = cache_path(environment->cache, environment->home, name, &ignored);
    size_t size = 0;
    char *there = path ? cache_read(path, &size) : NULL;
    if (path && ((there && strcmp(there, line) == 0) ||
                 cache_write(path, line, (size_t)length, &ignored) == STATUS_OK)) {
        strrchr(path, '/')[1] = '\0';
        left_out = setenv("OCL_ICD_VENDORS", path, 1) == 0;
    }
    free(there);
    free(path);
    return left_out;
}

bool drivers_are_left_out(void)
{
    return left_out;
}
