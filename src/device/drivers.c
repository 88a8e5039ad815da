#include "device/drivers.h"

#include "base/files.h"
#include "base/sums.h"

#include <dlfcn.h>
#include <glob.h>
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

/* And the library that it names, which may be a link that leads elsewhere now. What is no path is found by
 * ld.so.cache. */
static void add_icd(uint64_t *state, const char *path)
{
    char library[PATH_MAX] = "";
    FILE *file = fopen(path, "r");
    add_file(state, path);
    if (file && fgets(library, sizeof library, file) && library[0] == '/') {
        library[strcspn(library, "\n")] = '\0';
        add_file(state, library);
    }
    if (file)
        fclose(file);
}

/* What there is of that pattern; of drivers also what they are. */
static void add_all(uint64_t *state, const char *pattern, void (*add)(uint64_t *state, const char *path))
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        add(state, found.gl_pathv[i]);
    globfree(&found);
}

/* Conda's loader looks into the environment that it stands in. */
static void add_beside_loader(uint64_t *state)
{
    char pattern[PATH_MAX];
    Dl_info loader;
    if (dladdr((void *)(uintptr_t)clGetPlatformIDs, &loader) == 0)
        return;
    const char *name = strrchr(loader.dli_fname, '/');
    snprintf(pattern, sizeof pattern, "%.*s/../etc/OpenCL/vendors/*",
             name ? (int)(name - loader.dli_fname) : 0, loader.dli_fname);
    add_all(state, pattern, add_icd);
}

/* Of all that decides which devices there are, but for the libraries. Devices of the system have times that
 * change; only their names count. */
static uint64_t state_of_system(const struct environment *environment)
{
    uint64_t state =
        hash_bytes(HASH_START, &environment->visible_devices, sizeof environment->visible_devices);
    char drivers[PATH_MAX];
    snprintf(drivers, sizeof drivers, "%s/*",
             environment->vendors ? environment->vendors : "/etc/OpenCL/vendors");
    add_all(&state, drivers, add_icd);
    add_beside_loader(&state);
    add_all(&state, "/dev/nvidia*", add_text);
    add_all(&state, "/dev/kfd", add_text);
    add_all(&state, "/dev/dri/*", add_text);
    add_all(&state, "/dev/dxg", add_text); /* WSL's */
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

/* False at the sum. */
static bool read_line(const char **cursor, struct driven *known)
{
    struct device *device = &known->device;
    unsigned long long type;
    int length = 0;
    *known = (struct driven){.library = ""};
    sscanf(*cursor, "%llx\t%u\t%*x\t%4095[^\t]\t%255[^\t]\t%255[^\t]\t%255[^\t]\t%255[^\n]%n", &type,
           &device->units, known->library, device->platform_name, device->name, device->version,
           device->driver, &length);
    device->type = length > 0 ? type : 0;
    *cursor += length + 1;
    return length > 0;
}

/* What is read must be what would be written now: a damaged file, and one of another system, are not. */
int drivers_recall(const struct environment *environment, struct driven *known)
{
    size_t size = 0;
    int count = 0;
    char *path = environment->loader_is_directed ? NULL : memory_path(environment);
    char *text = path ? cache_read(path, &size) : NULL;
    const char *cursor = text ? strchr(text, '\n') : NULL;
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
