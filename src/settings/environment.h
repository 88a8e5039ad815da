/* The environment variables: what they are called, and the struct they fill. It is read once, here; nothing
 * else in climg calls getenv, apart from --shard auto, which asks schedulers (settings/shard.h). */
#ifndef CLIMG_SETTINGS_ENVIRONMENT_H
#define CLIMG_SETTINGS_ENVIRONMENT_H

#include "settings/option.h"

/* In the order of the words in the table. */
enum class_variable { CLASS_VARIABLE_ABSENT, CLASS_VARIABLE_WIDE, CLASS_VARIABLE_GROUPED };

struct environment {
    const char *device;   /* NULL: not set */
    int shard_count;      /* 0: not set */
    const char *cache;    /* the folder of caches; NULL or relative: .cache in `home` */
    const char *home;     /* HOME; NULL: not set */
    const char *pocl;     /* POCL_CACHE_DIR; NULL: not set */
    const char *spool;    /* the folder of temporary files that are in no output's folder */
    const char *no_color; /* NULL: colours are welcome */
    const char *tuning;   /* the file of kernel forms; NULL: what --tune saved in the cache */
    int device_class;     /* enum class_variable */
    bool own_memory;
    bool poison;
    int slice; /* rows; 0: as planned */
    int group; /* images; 0: as planned */
    bool close;
    bool keep;
    const char *ask; /* of --selftest's stages these alone, divided by commas; NULL: all */
};

/* As rows of options. Those that are `hidden` are for tests and experiments. */
extern const struct option environment_variables[];

/* STATUS_USAGE where a variable has a value that it cannot have; an empty one counts as not set. */
enum status environment_read(struct environment *environment, struct error *error);

#endif
