/* Finds the installed OpenCL drivers in the way the loader does. ocl-icd and the Khronos loader read
 * OCL_ICD_FILENAMES (a list of libraries) and the .icd files of a directory, each of which names a
 * library in its first line.
 *
 * Two variables are needed to make either loader load a single library. ocl-icd accepts a library in
 * OCL_ICD_VENDORS, which the Khronos loader ignores unless it is a directory. The Khronos loader accepts it
 * in OCL_ICD_FILENAMES, which ocl-icd reads only since 2.3.2. With both set, a platform may be listed twice.
 */
#include "device/drivers.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Counts a driver. Stores its library if it is the first one for CPUs. */
static void add_library(struct drivers *drivers, const char *library)
{
    drivers->count++;
    if (!drivers->cpu[0] && (strstr(library, "pocl") || strstr(library, "intelocl")))
        snprintf(drivers->cpu, sizeof drivers->cpu, "%s", library);
}

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Finds the directory of .icd files: etc/OpenCL/vendors of the Conda environment that the loader belongs to,
 * or else the system's. */
static void find_icd_directory(char directory[PATH_MAX])
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
    char directory[PATH_MAX], pattern[PATH_MAX + 8], library[PATH_MAX];
    glob_t found;
    *drivers = (struct drivers){.count = 0};
    if (environment->icd_directory && !is_directory(environment->icd_directory))
        return; /* OCL_ICD_VENDORS names a library or file: a single driver */

    /* Add the libraries of OCL_ICD_FILENAMES. */
    const char *list = environment->icd_filenames ? environment->icd_filenames : "";
    for (size_t length; *list; list += length + (list[length] == ':')) {
        length = strcspn(list, ":");
        snprintf(library, sizeof library, "%.*s", (int)length, list);
        if (length > 0)
            add_library(drivers, library);
    }

    /* Add the library in the first line of each .icd file. */
    if (!environment->icd_directory)
        find_icd_directory(directory);
    snprintf(pattern, sizeof pattern, "%s/*.icd",
             environment->icd_directory ? environment->icd_directory : directory);
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

bool drivers_load_only(const char *library)
{
    /* Check that the library can be loaded. It stays loaded, so that the loader need not read it again. */
    const void *loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    // cppcheck-suppress resourceLeak
    return loaded && setenv("OCL_ICD_VENDORS", library, 1) == 0 &&
           setenv("OCL_ICD_FILENAMES", library, 1) == 0;
}
