/* Finds the installed OpenCL drivers like the loader, libOpenCL, which is ocl-icd or Khronos's. Both read
 * OCL_ICD_FILENAMES (a list of libraries) and the .icd files of a directory, whose first line is the name of
 * a library.
 *
 * To make either loader load a single library, two variables are set. ocl-icd accepts a library in
 * OCL_ICD_VENDORS, which Khronos's loader ignores unless it is a directory. Khronos's loader accepts it in
 * OCL_ICD_FILENAMES, which ocl-icd reads only since 2.3.2. If a loader reads both, it lists the platform
 * twice; choose.c skips the second. */
#include "device/drivers.h"

#include "base/confine.h"
#include "base/files.h"
#include "base/text.h"

#include <CL/cl.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* True for the name of an .icd file, for scandir. */
static int is_icd(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".icd") == 0;
}

/* Calls `visit` with the library of each driver that the loader would load. Calls it for no driver if
 * OCL_ICD_VENDORS is a file, which then is the only driver. */
static void each_library(const struct environment *environment,
                         void (*visit)(void *context, const char *library), void *context)
{
    const char *folder = environment->icd_directory;
    char directory[PATH_MAX], path[PATH_MAX], library[PATH_MAX];
    struct dirent **entries;
    if (folder && !is_folder(folder))
        return;

    /* Visit the libraries of OCL_ICD_FILENAMES. */
    struct word word;
    for (const char *list = environment->icd_filenames; text_next_word(&list, ':', &word);) {
        snprintf(library, sizeof library, "%.*s", (int)word.length, word.start);
        if (library[0])
            visit(context, library);
    }

    /* Visit the library in the first line of each .icd file. By default these are in etc/OpenCL/vendors of
     * the Conda environment that contains the loader, or else in /etc/OpenCL/vendors. */
    Dl_info loader;
    snprintf(directory, sizeof directory, "%s", folder ? folder : "/etc/OpenCL/vendors");
    if (!folder && dladdr((void *)(uintptr_t)clGetPlatformIDs, &loader) != 0) {
        const char *slash = strrchr(loader.dli_fname, '/');
        snprintf(path, sizeof path, "%.*s/../etc/OpenCL/vendors", slash ? (int)(slash - loader.dli_fname) : 0,
                 loader.dli_fname);
        if (is_folder(path))
            strcpy(directory, path);
    }
    const int count = scandir(directory, &entries, is_icd, alphasort);
    for (int i = 0; i < count; i++) {
        FILE *file = snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name) < PATH_MAX
                         ? fopen(path, "r")
                         : NULL;
        if (file && fgets(library, sizeof library, file)) {
            library[strcspn(library, "\r\n")] = '\0';
            visit(context, library);
        }
        if (file)
            fclose(file);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

/* Counts a driver. Stores its library if it is the first one for CPUs. */
static void add_library(void *context, const char *library)
{
    struct drivers *drivers = context;
    drivers->count++;
    if (!drivers->cpu[0] && (strstr(library, "pocl") || strstr(library, "intelocl")))
        snprintf(drivers->cpu, sizeof drivers->cpu, "%s", library);
}

void drivers_find(const struct environment *environment, struct drivers *drivers)
{
    *drivers = (struct drivers){.count = 0};
    each_library(environment, add_library, drivers);
}

bool drivers_load_only(const char *library)
{
    /* Check that the library can be loaded. It stays loaded, so that the loader need not read it again. */
    const void *loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    // cppcheck-suppress resourceLeak
    return loaded && setenv("OCL_ICD_VENDORS", library, 1) == 0 &&
           setenv("OCL_ICD_FILENAMES", library, 1) == 0;
}

/* ---------------------------------------------------------------- confined processes */

/* Directories in which drivers cache compiled kernels. */
static const struct {
    const char *library;   /* part of the driver's file name */
    const char *variable;  /* environment variable with the directory */
    const char *directory; /* its default value */
    bool below_home;       /* `directory` is relative to HOME, else to climg's cache */
} caches[] = {
    {"nvidia", "CUDA_CACHE_PATH", ".nv", true},
    {"amdocl", "AMD_COMGR_CACHE_DIR", "../comgr", false},
    {"igdrcl", "NEO_CACHE_DIR", "../neo_compiler_cache", false},
    {"Mesa", "MESA_SHADER_CACHE_DIR", "../mesa_shader_cache", false},
    {"Rusticl", "MESA_SHADER_CACHE_DIR", "../mesa_shader_cache", false},
    {"Rusticl", "MESA_SHADER_CACHE_DIR", "../mesa_shader_cache_db", false}, /* the default of some versions */
};

/* Allows the path FOLDER/NAME. */
static void allow_joined(const char *folder, const char *name, unsigned rights)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) < PATH_MAX)
        confine_allow(path, rights);
}

/* Allows reading the directory of a driver's library, and data in the same installation prefix; running the
 * linker; and writing the driver's cache. */
static void allow_library(void *context, const char *library)
{
    const struct environment *environment = context;
    const char *slash = strrchr(library, '/');
    if (slash) {
        char folder[PATH_MAX];
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - library), library);
        confine_allow(folder, CONFINE_READ);
        allow_joined(folder, "../share/pocl", CONFINE_READ);
        allow_joined(folder, "../etc/OpenCL", CONFINE_READ);
        allow_joined(folder, "../bin/ld", CONFINE_READ | CONFINE_EXECUTE);
    }
    for (size_t i = 0; i < sizeof caches / sizeof caches[0]; i++) {
        const char *chosen = getenv(caches[i].variable), *home = environment->home;
        struct error ignored;
        char *cache = NULL;
        if (!strstr(library, caches[i].library))
            continue;
        if (chosen)
            cache = copy_text(chosen, &ignored);
        else if (!caches[i].below_home)
            cache = cache_path(environment->cache, home, caches[i].directory, &ignored);
        else if (home)
            cache = text_print(&ignored, "%s/%s", home, caches[i].directory);
        if (cache) {
            try_folders_above(cache); /* climg's own, too, if the path contains it */
            mkdir(cache, 0700);
            confine_allow(cache, CONFINE_ALL);
        }
        free(cache);
    }
}

void drivers_allow(const struct environment *environment)
{
    void *context = (void *)(uintptr_t)environment; /* allow_library does not change it */
    struct error ignored = {.text = ""};
    Dl_info loader;

    /* Only this folder for temporary files is allowed. Without TMPDIR, AMD's LLVM would try TMP and TEMP. */
    setenv("TMPDIR", environment->spool_folder, 0);

    /* Allow climg's caches for this user and for all users, and PoCL's cache, which pocl_cache_open has
     * chosen. A rule needs an existing directory; climg's own is created only if programs will be stored. */
    char *own = cache_path(environment->cache, environment->home, "", &ignored);
    if (own && environment->stores_programs)
        try_folders_above(own);
    if (own)
        confine_allow(own, CONFINE_ALL);
    free(own);
    const char *pocl = getenv("POCL_CACHE_DIR");
    if (pocl)
        confine_allow(pocl, CONFINE_ALL);
    allow_joined(environment->system_cache, "climg", CONFINE_READ);

    /* Allow the loader, its list of drivers, and the drivers. */
    if (dladdr((void *)(uintptr_t)clGetPlatformIDs, &loader) != 0)
        allow_library(context, loader.dli_fname);
    if (environment->icd_directory) {
        confine_allow(environment->icd_directory, CONFINE_READ);
        if (!is_folder(environment->icd_directory))
            allow_library(context, environment->icd_directory);
    }
    each_library(environment, allow_library, context);

    /* Allow the folders and libraries of the dynamic loader's variables, which also apply to the linker. */
    static const struct {
        const char *variable, *separators;
    } lists[] = {{"LD_LIBRARY_PATH", ":;"}, {"LD_PRELOAD", ": "}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const char *list = getenv(lists[i].variable);
        for (size_t length; list && *list; list += length + (list[length] != '\0')) {
            char path[PATH_MAX];
            length = strcspn(list, lists[i].separators);
            snprintf(path, sizeof path, "%.*s", (int)length, list);
            confine_allow(path, CONFINE_READ);
        }
    }
}

/* Fills in *context, a struct error, if this driver cannot start. Keeps an earlier driver's message. */
static void check_library(void *context, const char *library)
{
    static const char format[] =
        "an OpenCL driver cannot start, as climg is confined: %s%s; --no-confine keeps all rights";
    static const char *const nodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm"};
    struct error *error = context;
    const void *loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    const char *problem = loaded ? NULL : dlerror();
    if (error->text[0] == '\0' && problem && strstr(problem, strerror(EACCES)))
        fail(error, STATUS_FAILED, format, problem, "");
    const bool needs_nodes =
        loaded && strstr(library, "nvidia") && access("/proc/driver/nvidia/version", F_OK) == 0;
    for (size_t i = 0; needs_nodes && i < sizeof nodes / sizeof nodes[0]; i++)
        if (error->text[0] == '\0' && access(nodes[i], F_OK) != 0)
            fail(error, STATUS_FAILED, format, nodes[i],
                 ": does not exist; nvidia-modprobe -u -c 0 makes it");
    // cppcheck-suppress resourceLeak
}

enum status drivers_check(const struct environment *environment, struct error *error)
{
    error->text[0] = '\0';
    each_library(environment, check_library, error);
    return error->text[0] == '\0' ? STATUS_OK : STATUS_FAILED;
}
