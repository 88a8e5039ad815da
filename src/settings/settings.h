/* Global options and the environment: all that a user sets except the chain and the files.
 *
 * Thread safety: read-only after settings_resolve. Texts point into argv or the environment. */
#ifndef CLIMG_SETTINGS_SETTINGS_H
#define CLIMG_SETTINGS_SETTINGS_H

#include "base/error.h"
#include "image/sample.h"
#include "settings/environment.h"
#include "settings/option.h"

#include <stdbool.h>
#include <stdint.h>

struct format;

/* --range: the values that become 0 and full scale. */
struct range {
    bool given, automatic;
    double low, high; /* in units of the file */
};

/* In the order of the words in the table. ABSENT: not given. */
enum memory_option { MEMORY_OPTION_AUTO, MEMORY_OPTION_BUFFER, MEMORY_OPTION_IMAGE };
enum timing_form { TIMING_ABSENT, TIMING_TABLE, TIMING_JSON };
enum depth_option { DEPTH_OPTION_ABSENT, DEPTH_OPTION_8, DEPTH_OPTION_16, DEPTH_OPTION_FLOAT };
enum progress_option { PROGRESS_OPTION_AUTO, PROGRESS_OPTION_ALWAYS, PROGRESS_OPTION_NEVER };
enum generate_option { GENERATE_OPTION_ABSENT, GENERATE_OPTION_MAN };

/* The first page is 1; first 0: not given. last may be beyond the file's end. */
struct page_range {
    int first, last;
};

enum info_option { INFO_ABSENT, INFO_TEXT, INFO_JSON };
enum list_option { LIST_ABSENT, LIST_TEXT, LIST_JSON };
struct timing_option {
    int form;         /* enum timing_form */
    const char *file; /* NULL: stderr; "-": stdout */
};

/* --verify */
struct verify_option {
    double share;       /* of the rows of an output, 0 (not requested) to 1 */
    const char *device; /* computes them again; NULL: the same device */
};

/* --shard: the part of the files that this process does. */
enum { SHARD_COUNT_MAX = 1000000 };

struct shard {
    int index, count; /* 1 to count; count 0: everything */
};

/* Enums are int because OPTION_CHOICE stores int. */
struct settings {
    int memory;         /* enum memory_option */
    const char *device; /* never NULL */
    int list_devices;   /* enum list_option */
    int info;           /* enum info_option */
    bool noise;         /* --noise, with --info */
    bool selftest;
    struct verify_option verify;
    bool force; /* use a device that failed --selftest */
    bool warm;
    struct timing_option timing;
    const char *trace; /* NULL: not asked for; "-": stdout */
    int edge;          /* enum edge of engine/ */
    bool linear;
    const struct format *format; /* NULL: not given */
    int depth;                   /* enum depth_option */
    struct range range;
    int compression;  /* -1 (the format's default) or the zlib level, 0 to 9 */
    int quality;      /* of JPEG, 1 to 100; 0: not given */
    int subsampling;  /* of JPEG, enum subsampling of image/image.h */
    bool progressive; /* JPEG */
    bool strip;
    bool auto_orient;
    bool stored_orientation;
    int jobs; /* threads that decode, encode and register; 0: not given, one for each processor */
    struct page_range pages;
    const char *output;     /* --output; NULL: not given */
    const char *files_from; /* a file of inputs' names, "-": stdin; NULL: not given */
    bool null;              /* names in files_from end in NUL instead of newline */
    bool yes;               /* existing files may be overwritten */
    bool in_place;          /* outputs replace their inputs */
    bool recursive;
    bool dry_run;
    bool resume;
    const char *shard;     /* NULL: not given */
    struct shard part;     /* parsed from `shard` */
    const char *report;    /* NULL: not given; "-": stdout */
    int progress;          /* enum progress_option */
    uint64_t memory_limit; /* bytes; 0: none */
    uint64_t max_pixels;   /* a larger input is refused */
    bool quiet;
    bool verbose;
    const char *help; /* NULL: not given; "": the overview; else the name of a stage or option */
    bool version;
    int generate; /* enum generate_option */
    const char *after, *complete;
    struct environment environment;
};

extern const struct option global_options[];

/* Return an option by its long name or its letter, or NULL. */
const struct option *global_find(const char *name);
const struct option *global_find_letter(char letter);

/* Reads the environment and sets every option to its default. */
enum status settings_init(struct settings *settings, struct error *error);

/* Checks options that depend on each other, after the last option was parsed. */
enum status settings_resolve(struct settings *settings, struct error *error);

/* Writes " --edge clamp --depth 8": the options that change the content of outputs, if they are given or have
 * a default; options that only concern stages only with `stages`. Returns false if memory is out. */
bool settings_print_effects(FILE *file, const struct settings *settings, bool stages);

/* -v: one line, the options that are not at their default and the environment variables that are set. */
void settings_print(FILE *file, const struct settings *settings);

/* Returns the sample type of the output: --depth, else the input's. */
enum sample_type settings_type(const struct settings *settings, enum sample_type input);

/* True if --help, --version, --complete or --generate was given: the command only prints text. */
bool settings_want_information(const struct settings *settings);

/* ---------------------------------------------------------------- shards: shard.c */

/* Parses "I/N", "auto" or "auto/N"; NULL means all files. `auto` takes I, and N if it is missing, from the
 * variables of a Slurm array or a task of srun. Unclear variables are a usage error: a wrong part would leave
 * files undone. */
enum status shard_parse(const char *text, struct shard *shard, struct error *error);

/* True if the file of that name is in the part.
 *
 * It belongs to shard 1 + floor(h * N / 2^64), h being the 64-bit FNV-1a hash of its name (job.name, its
 * bytes as they are) mixed by the last step of MurmurHash3. So every machine and every version
 * computes the same parts without communication, a file keeps its shard when others are added or removed, and
 * each file is in one shard. */
bool shard_has(const struct shard *shard, const char *name);

#endif
