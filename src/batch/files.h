/* The list of a command's jobs, complete before anything is written.
 *
 * The list owns its jobs. Thread safety: the main thread makes and changes the list before there are workers.
 * Then only its jobs change: each belongs to the worker that took it. */
#ifndef CLIMG_BATCH_FILES_H
#define CLIMG_BATCH_FILES_H

#include "batch/job.h"

struct job_list {
    /* For stacks and commands without outputs (--info, --check, --compare) in the order of the arguments,
     * with the files of each folder sorted; else all sorted by name, byte by byte. */
    struct job *jobs;
    size_t count;

    /* Files and folders inside folder arguments that are no inputs. */
    size_t files_left_out;   /* number of files that are no images for climg */
    char **left_out_paths;   /* their paths, sorted */
    size_t folders_left_out; /* number of folders that were not searched, without --recursive */

    bool has_folder; /* an argument, or a name of --files-from, is a folder */

    const char *output; /* of the command; NULL: each input's path, or no outputs */
    bool output_is_directory;
    bool is_stack; /* the inputs become one output */
    bool several;  /* there may be several files: several arguments, --files-from, or a folder as input or
                    * output. Otherwise the failure of the file is the command's */
};

/* Finds every input of the command and names its output.
 *
 * Each file argument is an input, with any name. In a folder, and with --recursive in the folders below,
 * an input is a regular file that is not hidden and is an image by its name or its first bytes. Links to
 * files are followed, links to folders are not. An output folder inside of an input folder is skipped.
 *
 * Fails with STATUS_USAGE if a job would destroy a file (conflicts_check). Writes nothing but a temporary
 * file to find out if a folder distinguishes upper and lower case. Free the list with job_list_free, also
 * after a failure. */
enum status job_list_make(struct job_list *list, const struct command *command, struct error *error);

/* Removes duplicates, and the jobs of other shards. */
void job_list_keep_shard(struct job_list *list, const struct shard *shard);

/* Prints on stderr the number of files and folders that were left out, unless --quiet is given. With
 * --verbose names each file. */
void job_list_print_left_out(const struct job_list *list, const struct settings *settings);

/* Calls `visit_one` once for each folder with outputs, until it fails. The folder's path ends in a slash; ""
 * is the current folder. Returns the last status. */
enum status job_list_each_folder(const struct job_list *list,
                                 enum status (*visit_one)(void *context, const char *folder,
                                                          struct error *error),
                                 void *context, struct error *error);

/* Frees the jobs, which must be closed. May be called twice. */
void job_list_free(struct job_list *list);

#endif
