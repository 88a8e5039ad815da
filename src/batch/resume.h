/* --resume: finds outputs that earlier runs have completed.
 *
 * Each folder with outputs has a done list, the hidden file .climg-done. It has a record for each output, a
 * line of text:
 *
 *     climg2 PROVENANCE INPUT OUTPUT NAME
 *
 * INPUT and OUTPUT are size, inode, times of modification and of the last change of the inode, and CRC-32 of
 * the files. The CRC-32 of an input is of its first and last MiB only. NAME is the output's. The provenance
 * is a text with the stages and options that determine the output's pixels; the record has a hash of it,
 * without the version of climg. An output is done if its record has this command's provenance, and input and
 * output are unchanged. An input of another size or time of modification has changed. A file is not read if
 * its size, inode and times are as in the record; otherwise its checksum decides. So a new input is
 * recognised even if it has the size and the time of the former one. Records have names without folders, so
 * that a folder can be moved together with its done list.
 *
 * Several processes may append records at the same time. If a record is missing or cannot be parsed (the
 * first run was without --resume, or the process was killed), the output itself decides: it is done if it is
 * not older than the input, its metadata has the provenance, and it can be read to its end. With --strip, and
 * in formats without texts, there is no provenance to compare. An output that replaces its input has no
 * record.
 *
 * Thread safety: workers may call resume_finds_done and resume_note at the same time; the main thread calls
 * the other functions while no workers run. */
#ifndef CLIMG_BATCH_RESUME_H
#define CLIMG_BATCH_RESUME_H

#include "batch/files.h"
#include "batch/job.h"

/* Returns the provenance of a command's outputs, which climg writes into them (PNG's Software text, TIFF's
 * Software tag):
 *
 *     climg 0.2.0 --blur=2,truncate=0 --scale=1/2,filter=bicubic,antialias=yes --edge clamp
 *
 * It has the stages with all their values, including defaults, and the options that change pixels (`effect`
 * in the table of settings/settings.c), so that different spellings of a command have the same text. The
 * caller frees it. NULL on failure. */
char *provenance_describe(const struct chain *chain, const struct settings *settings, struct error *error);

/* Adds the provenance to the metadata, after the name of the program that made the input ("GIMP 2.10; climg
 * 0.2.0 ..."). Replaces an earlier provenance. */
enum status provenance_put(const char *provenance, struct metadata *metadata, struct error *error);

/* The records of earlier runs. Constant while workers run. */
struct resume {
    const struct settings *settings;
    const struct chain *chain;
    const char *provenance;      /* of this command's outputs; belongs to the caller */
    uint64_t provenance_hash;    /* without the version of climg */
    struct done_record *records; /* sorted by path */
    size_t count;                /* number of records */
};

/* Fails if --resume does not work: for stdin and stdout, and if an output replaces its input and cannot store
 * the provenance, because of its format or --strip. Such an output cannot be recognised as done. */
enum status resume_check(const struct settings *settings, const struct job_list *list, struct error *error);

/* Reads the done lists of all folders with outputs. Call resume_free also after a failure. */
enum status resume_load(struct resume *resume, const struct command *command, const char *provenance,
                        const struct job_list *list, struct error *error);

/* True if the job's output is done, and the files that stages write (--align …,matrix=FILE) exist. Sets
 * job->input_stat. Reads the output if necessary. */
bool resume_finds_done(const struct resume *resume, struct job *job);

/* True if resume_finds_done will probably find the output done, by its record and the stat of the input. */
bool resume_expects_done(const struct resume *resume, const struct job *job);

/* Appends a record of the job's output, which was just committed. Failures are ignored (a read-only folder, a
 * full disk): then the next run reads the output. */
void resume_note(const struct resume *resume, const struct job *job);

/* Fails with STATUS_USAGE if the output's name may be an input (struct command) and an existing file is to be
 * kept:
 *
 *     output of a stack, whose inputs climg often made      always
 *     single file, named before the stages                  always
 *     single file, named after them; file in a folder       unless climg made it
 *
 * climg made a file if its text Software or a record of `resume` says so; `resume` is NULL without --resume.
 * Empty files, copies of the input and formats without texts count as made by climg. --yes permits all. */
enum status resume_check_existing(const struct command *command, const struct job_list *list,
                                  const struct resume *resume, struct error *error);

/* Frees the records. May be called twice, and on a zeroed struct. */
void resume_free(struct resume *resume);

#endif
