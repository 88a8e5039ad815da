/* --resume: finds outputs that earlier runs have made.
 *
 * Each folder with outputs has a record, the hidden file .climg-done. It has a line for each output:
 *
 *     climg1 WORK INPUT-SIZE INPUT-TIME SIZE TIME CHANGED CRC-32 NAME
 *
 * An output is done if its line has this work and this input, and the file is still the one that was written.
 * If size and times are the same, the file is not read. Else (it was copied, or damaged) its checksum
 * decides. Lines have no folders, so a folder can be moved with its record.
 *
 * Several processes may add lines at the same time. If a line is missing or cannot be read (the first run was
 * without
 * --resume, or the process was killed), the output itself decides: it is done if it is not older than the
 * input, its metadata has this work, and it can be read to its end.
 *
 * Thread safety: resume_load and resume_free are called without workers; the rest by any worker. */
#ifndef CLIMG_BATCH_RESUME_H
#define CLIMG_BATCH_RESUME_H

#include "batch/files.h"
#include "batch/job.h"

/* Returns the work of a command, as climg writes it into outputs (PNG's Software text, TIFF's Software tag):
 *
 *     climg 0.2.0 --blur=2,truncate=0 --scale=1/2,filter=bicubic,antialias=yes --edge clamp
 *
 * It has the stages with all their values, and the options that change pixels (`effect` in the table of
 * settings/settings.c). Two ways to write a command give the same text. The caller frees it; NULL on failure.
 */
char *provenance_describe(const struct chain *chain, const struct settings *settings, struct error *error);

/* Adds the work to the metadata, after the name of the program that made the input ("GIMP 2.10; climg 0.2.0
 * ..."). Replaces the work of an earlier climg. */
enum status provenance_put(const char *provenance, struct metadata *metadata, struct error *error);

/* The records of earlier runs. Constant while workers run. */
struct resume {
    const struct settings *settings;
    const char *provenance;      /* work of this command; belongs to the caller */
    uint64_t work;               /* its hash, without the version of climg */
    struct done_record *records; /* sorted by path */
    size_t count;
};

/* Fails if an output replaces its input and its format, or --strip, prevents it from naming its work: such a
 * file cannot be recognised as done. Does nothing without --resume. */
enum status resume_check(const struct settings *settings, const struct list *list, struct error *error);

/* Reads the records of all folders with outputs. Call resume_free also after a failure. */
enum status resume_load(struct resume *resume, const struct settings *settings, const char *provenance,
                        const struct list *list, struct error *error);

/* True if the job's output is done. Sets job->before. May read the whole output. */
bool resume_finds_done(const struct resume *resume, struct job *job);

/* True if resume_finds_done will probably find the output done: the record has it for this work and input.
 * Reads no file. */
bool resume_expects_done(const struct resume *resume, const struct job *job);

/* Records the job's output, which was just committed. If that fails (a read-only folder, a full disk), the
 * next run reads the output itself. */
void resume_note(const struct resume *resume, const struct job *job);

/* May be called twice, and on a zeroed struct. */
void resume_free(struct resume *resume);

#endif
