/* --resume: what earlier runs have done.
 *
 * Each folder that outputs go to has a record, the hidden file .climg-done: one line for each output, with
 * the work that made it, the size and time of its input, and its own size, times and checksum. An output is
 * done if its line says this work and this input, and the file is still the one that was written. As long as
 * its size and times are those of the line, the file is not read; else (it was copied, or damaged) its
 * checksum decides. Lines hold no paths, so a folder can be moved, with its record.
 *
 * Several processes may add lines at the same time. Where a line is missing or cannot be read (the first run
 * was without --resume, or the process was killed) the output itself is asked: it is done if it is not
 * older than the input, says in its metadata that this work made it, and can be read to its end. */
#ifndef CLIMG_BATCH_RESUME_H
#define CLIMG_BATCH_RESUME_H

#include "batch/files.h"
#include "batch/job.h"

/* Returns the work of a command, as climg writes it into outputs (PNG's Software text, TIFF's Software tag):
 *
 *     climg 0.2.0 --blur=2,truncate=0 --scale=1/2,filter=bicubic,antialias=yes --edge clamp
 *
 * It has the stages with all their values, and the options that change pixels (`effect` in the table of
 * settings/settings.c). Two ways to write a command give the same text. To be freed; NULL on failure. */
char *provenance_describe(const struct chain *chain, const struct settings *settings, struct error *error);

/* Puts the work into the metadata, after the name of the program that made the input ("GIMP 2.10; climg 0.2.0
 * ..."), replacing what climg wrote there before. */
enum status provenance_put(const char *provenance, struct metadata *metadata, struct error *error);

struct resume {
    const struct settings *settings;
    const char *provenance;      /* of this command */
    uint64_t work;               /* hash of what is done, whatever the version of climg */
    struct done_record *records; /* sorted by path; read by all workers */
    size_t count;
};

/* Fails if files replace themselves and cannot name their work: --resume could not tell whether they are
 * done. */
enum status resume_check(const struct settings *settings, const struct list *list, struct error *error);

/* Reads the records of all folders that outputs go to. To be freed with resume_free, on failure too. */
enum status resume_load(struct resume *resume, const struct settings *settings, const char *provenance,
                        const struct list *list, struct error *error);

/* True if the job is done. Thread safety: several threads may ask at once. */
bool resume_finds_done(const struct resume *resume, struct job *job);

/* Records the job's output, which was just written. If that fails (a read-only folder, a full disk), the next
 * run reads the output itself. */
void resume_note(const struct resume *resume, const struct job *job);

void resume_free(struct resume *resume);

#endif
