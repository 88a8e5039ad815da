/* Environment variables. They are read once, here; no other file calls getenv, except settings/shard.c for
 * Slurm's variables. */
#ifndef CLIMG_SETTINGS_ENVIRONMENT_H
#define CLIMG_SETTINGS_ENVIRONMENT_H

#include "settings/option.h"

/* In the order of the words in the table. */
enum class_variable { CLASS_VARIABLE_ABSENT, CLASS_VARIABLE_CPU, CLASS_VARIABLE_GPU };

struct environment {
    const char *device;       /* NULL: not set */
    const char *cache;        /* the folder of caches; NULL or relative: .cache in `home` */
    const char *home;         /* HOME; NULL: not set */
    const char *system_cache; /* the folder of caches that climg only reads */
    const char *pocl;         /* POCL_CACHE_DIR; NULL: not set */
    const char *spool;        /* the folder of temporary files that are in no output's folder */
    int device_class;         /* enum class_variable */
    bool own_memory;
    bool poison;
    int slice; /* rows; 0: the plan decides */
    int tile;  /* columns; 0: chosen by the width */
    int group; /* images; 0: the plan decides */
    bool close;
    bool keep;
    const char
        *icd_directory; /* OCL_ICD_VENDORS or OPENCL_VENDOR_PATH: .icd files of drivers; NULL: not set */
    const char *icd_filenames; /* OCL_ICD_FILENAMES: libraries of drivers, divided by colons; NULL: not set */
    const char *ask;           /* the only stages of --selftest and --warm, divided by commas; NULL: all */
};

/* The table of variables. `hidden` ones are for tests and experiments. */
extern const struct option environment_variables[];

/* STATUS_USAGE if a variable has a bad value. An empty variable counts as not set. */
enum status environment_read(struct environment *environment, struct error *error);

/* True if all resources are freed at the end: with CLIMG_CLOSE, and in builds with a leak checker. */
bool environment_closes(const struct environment *environment);

#endif
