/* Environment variables of climg, read once at the start. Only two other files call getenv: settings/shard.c
 * for Slurm's variables, and device/drivers.c for variables of drivers and of the dynamic loader.
 *
 * Texts point into the environment, which must not change. Thread safety: read-only afterwards. */
#ifndef CLIMG_SETTINGS_ENVIRONMENT_H
#define CLIMG_SETTINGS_ENVIRONMENT_H

#include "settings/option.h"

/* CLIMG_CLASS, in the order of the words in the table. */
enum class_variable { CLASS_VARIABLE_ABSENT, CLASS_VARIABLE_CPU, CLASS_VARIABLE_GPU };

/* Texts are NULL if the variable is not set or empty. */
struct environment {
    /* Folders. */
    const char *cache;        /* XDG_CACHE_HOME; NULL or relative: use .cache in `home` */
    const char *home;         /* HOME */
    const char *system_cache; /* CLIMG_SYSTEM_CACHE: caches for all users, only read; never NULL */
    const char *pocl_cache;   /* POCL_CACHE_DIR */
    const char *spool_folder; /* TMPDIR: folder of temporary files, except unfinished outputs; never NULL */

    /* OpenCL. */
    const char *device;        /* CLIMG_DEVICE: default of --device */
    const char *icd_directory; /* OCL_ICD_VENDORS or OPENCL_VENDOR_PATH: folder of the drivers' .icd files */
    const char *icd_filenames; /* OCL_ICD_FILENAMES: libraries of drivers, separated by colons */

    /* For tests and experiments. */
    int device_class;        /* CLIMG_CLASS, enum class_variable */
    bool own_memory;         /* CLIMG_OWN_MEMORY: treat the device as one with its own memory */
    bool poison;             /* CLIMG_POISON: fill device memory with NaN */
    int slice;               /* CLIMG_SLICE: rows of a slice; 0: the plan decides */
    int tile;                /* CLIMG_TILE: columns of a tile; 0: chosen by the width */
    int group;               /* CLIMG_GROUP: maximum number of images in a group; 0: the plan decides */
    bool close;              /* CLIMG_CLOSE: free everything at the end */
    bool stores_programs;    /* CLIMG_KEEP: store compiled programs in climg's cache */
    const char *only_stages; /* CLIMG_STAGES: of --selftest and --warm, between commas; NULL: all */
};

/* The table of climg's variables. `hidden` ones are for tests and experiments. A FLAG is set by any value
 * that is not empty, also by 0. */
extern const struct option environment_variables[];

/* Reads all variables. Returns STATUS_USAGE if one has an invalid value. */
enum status environment_read(struct environment *environment, struct error *error);

/* True if all resources are freed at the end: with CLIMG_CLOSE, and in builds with a leak checker. */
bool environment_closes(const struct environment *environment);

#endif
