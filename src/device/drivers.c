/* Finds the installed OpenCL drivers in the way the loader does. ocl-icd and the Khronos loader read
 * OCL_ICD_FILENAMES (a list of libraries) and the .icd files of a directory, each of which names a
 * library in its first line.
 *
 * To make either loader load a single library takes two variables. ocl-icd accepts a library in
 * OCL_ICD_VENDORS, which the Khronos loader ignores unless it is a directory. The Khronos loader accepts
 * it in OCL_ICD_FILENAMES, which ocl-icd reads only since 2.3.2. With both set, a platform may be listed
 * twice. */
#include "device/drivers.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Counts a driver, and notes the first one for CPUs. */
static void add_library(struct drivers *drivers, const char *library)
{
    drivers->count++;
    if (!drivers->cpu[0] && (strstr(library, "pocl") || strstr(library, "intelocl")))
        snprintf(drivers->cpu, sizeof drivers->cpu, "%s", library);
}

/* Adds the libraries that the .icd files of a directory name. */
static void add_icd_files(struct drivers *drivers, const char *directory)
{
    char pattern[PATH_MAX], library[PATH_MAX];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.icd", directory);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *file = fopen(found.gl_pathv[i], "r");
        if (file && fgets(library, sizeof library, file)) {
            library[strcspn(library, "\r\n")] = '\0';
            add_library(drivers, library);
        }
        if (file)
            fclose(file);
    }
    globfree(&found);
}

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Finds the directory of .icd files: next to a loader that belongs to a Conda environment, else the system's.
 */
static void find_directory(char directory[PATH_MAX])
{
    Dl_info loader;
    if (dladdr((void *)(uintptr_t)clGetPlatformIDs, &loader) != 0) {
        const char *name = strrchr(loader.dli_fname, '/');
        snprintf(directory, PATH_MAX, "%.*s/../etc/OpenCL/vendors", name ? (int)(name - loader.dli_fname) : 0,
                 loader.dli_fname);
        if (is_directory(directory))
            return;
    }
    strcpy(directory, "/etc/OpenCL/vendors");
}

void drivers_find(const struct environment *environment, struct drivers *drivers)
{
    char directory[PATH_MAX], library[PATH_MAX];
    *drivers = (struct drivers){.count = 0};
    if (environment->icd_directory && !is_directory(environment->icd_directory))
        return; /* a single driver */
    const char *list = environment->icd_filenames ? environment->icd_filenames : "";
    for (size_t length; *list; list += length + (list[length] == ':')) {
        length = strcspn(list, ":");
        snprintf(library, sizeof library, "%.*s", (int)length, list);
        if (length > 0)
            add_library(drivers, library);
    }
    if (!environment->icd_directory)
        find_directory(directory);
    add_icd_files(drivers, environment->icd_directory ? environment->icd_directory : directory);
}

bool drivers_load_only(const char *library)
{
    const void *loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL); /* until the process ends */
    // cppcheck-suppress resourceLeak
    return loaded && setenv("OCL_ICD_VENDORS", library, 1) == 0 &&
           setenv("OCL_ICD_FILENAMES", library, 1) == 0;
}
