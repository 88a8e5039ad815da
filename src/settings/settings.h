/* Global options and the environment: everything that a user sets except the chain and the files.
 *
 *     settings_init ─▶ option_parse for each option ─▶ settings_resolve
 *
 * Texts point into argv, the environment or constants; nothing needs to be freed. After settings_resolve they
 * are read-only for all threads; a caller that changes some, such as --warm, works on a copy. */
#ifndef CLIMG_SETTINGS_SETTINGS_H
#define CLIMG_SETTINGS_SETTINGS_H

#include "base/error.h"
#include "image/format.h"
#include "settings/environment.h"
#include "settings/option.h"

#include <stdbool.h>
#include <stdint.h>

/* --range: the sample values that become 0 and full scale. */
struct range {
    bool given;
    bool automatic;   /* "auto": the smallest and the largest value of the input */
    double low, high; /* otherwise, in units of the file */
};

/* Choices in the order of the words in the table. ABSENT: the option was not given. */
enum memory_option { MEMORY_OPTION_AUTO, MEMORY_OPTION_BUFFER, MEMORY_OPTION_IMAGE };
enum timing_form { TIMING_ABSENT, TIMING_TABLE, TIMING_JSON };
enum depth_option {
    DEPTH_OPTION_ABSENT,
    DEPTH_OPTION_8,
    DEPTH_OPTION_16,
    DEPTH_OPTION_FLOAT,
    DEPTH_OPTION_1
};
enum progress_option { PROGRESS_OPTION_AUTO, PROGRESS_OPTION_ALWAYS, PROGRESS_OPTION_NEVER };
enum generate_option { GENERATE_OPTION_ABSENT, GENERATE_OPTION_MAN };

enum info_option { INFO_ABSENT, INFO_TEXT, INFO_JSON };
enum list_option { LIST_ABSENT, LIST_TEXT, LIST_JSON };

/* --page: the pages first to last, which may exceed the file's number of pages. */
struct page_range {
    int first, last; /* counted from 1; last INT_MAX: to the end; first 0: not given, all pages */
};

/* --timing */
struct timing_option {
    int form;         /* enum timing_form */
    const char *file; /* NULL: stderr; "-": stdout */
};

/* --verify */
struct verify_option {
    double share;       /* share of the rows of an output, 0 (not requested) to 1 */
    const char *device; /* name of the device that computes them again; NULL: the same device */
};

/* --compare PICTURE[,KEY=VALUE]...; struct command has the parsed value. */
enum compare_form { COMPARE_TEXT, COMPARE_JSON };
struct compare_option {
    const char *reference; /* a file, or a folder with files of the inputs' names */
    double min_psnr;       /* dB that each channel must reach; 0: all samples must be equal */
    double peak;           /* in units of the input's samples; 0: full scale, which is 1 for floats */
    const char *diff;      /* file of the differences; may be NULL */
    int form;              /* enum compare_form */
};

enum { SHARD_COUNT_MAX = 1000000 };

/* --shard: the part of the files that this process does. */
struct shard {
    int index; /* 1 to count */
    int count; /* 0: this process does all files */
};

/* All global options, with the environment. Enums are int because OPTION_CHOICE stores int. Texts are NULL if
 * the option was not given. */
struct settings {
    uint64_t given; /* bit i: row i of global_options was given */
    unsigned mode;  /* enum command_mode, set by settings_resolve */

    /* Commands other than processing files. */
    int info;     /* enum info_option */
    bool measure; /* --measure, with --info */
    bool check;
    const char *compare; /* the value as given; parsed by compare_options */
    int list_devices;    /* enum list_option */
    bool selftest;
    bool warm;
    const char *help; /* "": the overview; else the name of a stage or option */
    bool version;
    int generate;                  /* enum generate_option */
    const char *complete;          /* the argument to complete */
    const char *previous_argument; /* --after: the argument before it */

    /* Device and memory. */
    const char *device;    /* never NULL */
    bool force;            /* use a device that failed --selftest */
    int memory;            /* enum memory_option */
    uint64_t memory_limit; /* bytes; 0: none */
    bool no_confine;       /* keep all rights of the user */
    format_set only;       /* formats of inputs; 0: all */
    uint64_t max_pixels;   /* maximum of an input */
    int jobs; /* maximum number of threads that decode, encode and align; 0: one for each processor */
    struct verify_option verify;

    /* Samples. */
    int edge;    /* enum edge of engine/stage.h */
    bool linear; /* work in linear light */
    struct range range;
    int depth; /* enum depth_option */

    /* Output format. */
    const struct format *format;
    int compression;  /* zlib level, 0 to 9; -1: the format's default */
    int quality;      /* of JPEG and WebP, 1 to 100; 0: not given */
    bool lossless;    /* WebP */
    int subsampling;  /* of JPEG, enum subsampling of image/image.h */
    bool progressive; /* JPEG */
    bool strip;       /* drop most metadata */
    bool auto_orient;
    bool stored_orientation; /* geometry stages work on the picture as stored */

    /* Files. */
    struct page_range pages;
    const char *output;
    const char *files_from; /* a file of names of inputs; "-": stdin */
    bool ends_in_nul;       /* --null: names in files_from end in NUL instead of newline */
    bool yes;               /* existing files may be overwritten */
    bool in_place;          /* outputs replace their inputs */
    bool recursive;
    bool resume;
    const char *shard; /* the value as given */
    struct shard part; /* the value parsed by settings_resolve */
    int dry_run;       /* enum list_option */

    /* Messages and reports. */
    bool quiet;
    bool verbose;       /* false if `quiet` is set */
    int progress;       /* enum progress_option */
    const char *report; /* file; "-": stdout */
    const char *trace;  /* file; "-": stdout */
    struct timing_option timing;

    struct environment environment;
};

/* The table of global options. */
extern const struct option global_options[];

/* The value of --compare: fields of struct compare_option. */
extern const struct option compare_options[];

/* Return an option by its long name or its letter, or NULL. */
const struct option *global_find(const char *name);
const struct option *global_find_letter(char letter);

/* Reads the environment and sets every option to its default. Returns STATUS_USAGE if a variable has an
 * invalid value. */
enum status settings_init(struct settings *settings, struct error *error);

/* Records that a global option was given. */
void settings_note_given(struct settings *settings, const struct option *row);

/* Returns the modes in which a global option has an effect: `modes`, or MODE_CONVERT by default. */
unsigned option_modes(const struct option *option);

/* Returns the name, without dashes, of the first option that selects one of these modes; NULL for
 * MODE_CONVERT. */
const char *mode_name(unsigned modes);

/* Sets the mode. Fails with STATUS_USAGE if an option has no effect in that mode, or options contradict each
 * other. Sets `part`, and clears `verbose` if `quiet` is set. Call it after the last option was parsed. */
enum status settings_resolve(struct settings *settings, struct error *error);

/* Prints the options that change the content of outputs: " --edge clamp --depth 8". Leaves out options that
 * are not given and have no default. Without stages, also leaves out options that only affect stages
 * (EFFECT_STAGES). */
void settings_print_effects(FILE *file, const struct settings *settings, bool has_stages);

/* Prints a line for -v, with the options and environment variables that differ from their defaults, if
 * any do. */
void settings_print(FILE *file, const struct settings *settings);

/* Returns the options of a reader: pages, formats, limits, threads, the folder of temporary files. */
struct reader_options settings_reader_options(const struct settings *settings);

/* Returns the number of threads of --jobs; by default the number of processors. */
int settings_threads(const struct settings *settings);

/* Returns the sample type of --depth, or `input` without --depth. 1 bit is SAMPLE_UINT8. */
enum sample_type settings_type(const struct settings *settings, enum sample_type input);

/* True if --help, --version, --complete or --generate was given: the command only prints text. */
bool settings_prints_text(const struct settings *settings);

/* ---------------------------------------------------------------- shards: shard.c */

/* Parses "I/N", "auto" or "auto/N"; NULL means all files. "auto" reads I and N from the variables of a Slurm
 * array or of a task of srun; "auto/N" reads only I. Returns STATUS_USAGE if the variables are ambiguous, as
 * with a wrong part no task would process some of the files. */
enum status shard_parse(const char *text, struct shard *shard, struct error *error);

/* True if the file of that name is in the shard, or if count is 0.
 *
 * A file is in shard 1 + floor(h * N / 2^64), where h is the 64-bit FNV-1a hash of the bytes of its name
 * (job.name), mixed by MurmurHash3's finalizer fmix64. Therefore all machines and versions compute the same
 * shards without communication. Each file is in exactly one shard, and adding or removing a file moves no
 * other file. */
bool shard_has(const struct shard *shard, const char *name);

#endif
