/* The jobs of a command, all known before anything is written. */
#ifndef CLIMG_BATCH_FILES_H
#define CLIMG_BATCH_FILES_H

#include "batch/job.h"

struct list {
    struct job *jobs; /* sorted by name, byte by byte in every locale; for --info as they were given */
    size_t count;
    size_t skipped;        /* files in folders that are no images for climg */
    size_t foreign;        /* skipped files that have an image's name, in formats that climg does not read */
    char *foreign_example; /* the first foreign one by name; may be NULL */
    size_t folders_left_out; /* folders in folders, without --recursive */
    const char *output;      /* of the command; NULL: each input's place */
    bool output_is_directory;
    bool has_made_output; /* the output folder was created by this run */
    bool several;         /* messages name files; with a single file the message is the command's */
};

/* Finds every input of the command and names its output. A file argument is an input, even if its name is no
 * image's. In a folder, and with --recursive in the folders below, regular files are taken that are not
 * hidden and are images by name or by their first bytes; links to files are followed, links to folders are
 * not. The output folder is skipped if it lies inside an input folder. A job that would destroy a file is a
 * usage error. Writes nothing. Free with list_free, also after a failure. */
enum status list_make(struct list *list, const struct command *command, struct error *error);

/* Removes the jobs of other shards. */
void list_keep_shard(struct list *list, const struct shard *shard);

struct list_note {
    char text[1024];
};

/* Returns "2 files are left out, such as a.jp2: climg does not read ..."; "" if there are none. */
struct list_note list_describe_foreign(const struct list *list);

/* Calls `visit_one` once for each folder that outputs go to, until it fails. The path ends in a slash; "" is
 * the current folder. */
enum status list_each_folder(const struct list *list,
                             enum status (*visit_one)(void *context, const char *folder, struct error *error),
                             void *context, struct error *error);

void list_free(struct list *list);

/* Fails with STATUS_USAGE if an output would destroy a file: if two jobs of different inputs have the same
 * output, by whatever path or link or in a folder that does not distinguish case; if an output is an input
 * (without --in-place its own, too); if --report, --trace, --timing or a stage's file is also an input, an
 * output or another of them; or if a stage or --files-from reads an output. Marks the later jobs of a file
 * that was named several times. */
enum status conflicts_check(struct list *list, const struct command *command, struct error *error);

/* Fails with STATUS_USAGE if --report, --trace, --timing or a stage's file has an image's name: its own was
 * forgotten. */
enum status conflicts_check_names(const struct command *command, struct error *error);

#endif
