/* The rules of a confined process: inputs may be read, the folders of outputs written.
 *
 * A rule on a folder includes everything below it, so a folder argument needs one rule. A link in it needs a
 * rule of its own, as its target may be outside. An output needs a rule on its folder, as a temporary file
 * there is renamed to it. --report, --trace and similar files are overwritten in place: if the file exists, a
 * rule on the file suffices. */
#include "batch/rights.h"

#include "base/confine.h"
#include "batch/conflicts.h"
#include "batch/output_format.h"
#include "device/drivers.h"
#include "image/output/output.h"
#include "image/writer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_link(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

/* Allows overwriting a file, or creating it if it does not exist. Links are followed, also to a file that
 * does not exist. With --resume also allows reading it. `path` may be NULL. */
static void allow_aux_output(const char *path, const struct settings *settings)
{
    struct stat info;
    struct error ignored; /* opening the file will fail */
    const unsigned rights = CONFINE_WRITE | (settings->resume ? CONFINE_READ : 0);
    if (!path || strcmp(path, "-") == 0)
        return;
    const bool exists = stat(path, &info) == 0;
    char *target = exists ? NULL : resolve_links(path, &ignored);
    if (exists)
        confine_allow(path, rights);
    else if (target)
        confine_allow_folder(target, rights | CONFINE_MAKE_FILES);
    free(target);
}

/* Allows writing an image. A device or pipe gets a rule of its own. Otherwise the rule is on the folder of
 * the image, or of a link's target. *folder is the last folder that got a rule; an output in the same folder
 * needs no other one. */
static enum status allow_image(const char *path, unsigned rights, struct word *folder, struct error *error)
{
    struct stat info = {.st_mode = 0};
    const size_t length = (size_t)folder_length(path);
    const bool exists = lstat(path, &info) == 0, is_symlink = exists && S_ISLNK(info.st_mode);
    if (strcmp(path, "-") == 0)
        return STATUS_OK;
    if (exists && (!is_symlink || stat(path, &info) == 0) && !S_ISREG(info.st_mode)) {
        confine_allow(path, CONFINE_WRITE);
        return STATUS_OK;
    }
    if (is_symlink) {
        char *target = resolve_links(path, error);
        if (target)
            confine_allow_folder(target, rights);
        free(target);
        return target ? STATUS_OK : STATUS_FAILED;
    }
    if (folder->start && folder->length == length && strncmp(folder->start, path, length) == 0)
        return STATUS_OK;
    *folder = (struct word){path, length};
    confine_allow_folder(path, rights);
    return STATUS_OK;
}

static enum status allow_outputs(const struct command *command, const struct job_list *list,
                                 struct error *error)
{
    const struct settings *settings = &command->settings;
    struct word folder = {NULL, 0};
    if (list->output_is_directory)
        confine_allow(list->output, CONFINE_ALL);
    for (size_t i = 0; i < list->count; i++) {
        /* Reading is needed for several outputs, to find temporary files of killed runs, for formats that
         * read what they have written, for --resume, and for resume_check_existing. */
        const struct job *job = &list->jobs[i];
        const struct format *format = output_format(settings, job->output);
        const bool reads = !job->is_single || !format || writer_seeks(format) || settings->resume ||
                           command->output_after_input || command->output_may_be_input;
        const unsigned rights = CONFINE_WRITE | CONFINE_CREATE | (reads ? CONFINE_READ : 0);
        if (allow_image(job->output, rights, &folder, error) != STATUS_OK)
            return STATUS_FAILED;
    }
    /* Allow removing the output folder if this run created it: it is removed if it stays empty. */
    const size_t created_length = list->jobs[0].created_length;
    if (created_length > 0) {
        char *made = text_print(error, "%.*s", (int)created_length, list->jobs[0].output);
        if (!made)
            return STATUS_FAILED;
        confine_allow_folder(made, CONFINE_REMOVE_FOLDERS);
        free(made);
    }
    struct aux_output aux[AUX_OUTPUTS];
    list_aux_outputs(command, aux);
    for (int i = 0; i < AUX_OUTPUTS; i++) {
        folder = (struct word){NULL, 0};
        if (i != MAP_OUTPUT || !aux[i].path)
            allow_aux_output(aux[i].path, settings);
        else if (allow_image(aux[i].path, CONFINE_ALL, &folder, error) != STATUS_OK)
            return STATUS_FAILED;
    }
    return STATUS_OK;
}

enum status rights_confine(const struct command *command, const struct job_list *list, struct error *error)
{
    const struct settings *settings = &command->settings;
    const char *reference = command->compare.reference;
    char counterpart[PATH_MAX]; /* the file of an input's name in the folder that --compare names */
    confine_begin();

    /* Allow reading all inputs, and files that stages and --compare read. */
    for (size_t i = 0; i < command->input_count; i++)
        confine_allow(command->inputs[i], CONFINE_READ);
    if (reference)
        confine_allow(reference, CONFINE_READ);
    for (size_t i = 0; i < list->count; i++) {
        const struct job *job = &list->jobs[i];
        if (settings->files_from || is_link(job->input))
            confine_allow(job->input, CONFINE_READ);
        if (reference &&
            snprintf(counterpart, sizeof counterpart, "%s/%s", reference, job->name) < PATH_MAX &&
            is_link(counterpart))
            confine_allow(counterpart, CONFINE_READ);
    }
    for (size_t i = 0; i < command->chain.count; i++) {
        const struct stage_caps caps = step_caps(&command->chain.steps[i]);
        if (caps.file)
            confine_allow(caps.file, CONFINE_READ);
    }

    /* Allow temporary files, drivers, and writing the outputs. */
    confine_allow(settings->environment.spool_folder, CONFINE_ALL);
    drivers_allow(&settings->environment);
    struct word folder = {NULL, 0};
    if (command->compare.diff && allow_image(command->compare.diff, CONFINE_ALL, &folder, error) != STATUS_OK)
        return STATUS_FAILED;
    if ((settings->mode & MODES_READING) != 0)
        allow_aux_output(settings->report, settings);
    else if (allow_outputs(command, list, error) != STATUS_OK)
        return STATUS_FAILED;
    const char *note;
    if (confine_apply(&note, error) != STATUS_OK)
        return STATUS_FAILED;
    if (settings->verbose)
        fprintf(stderr, "climg: confined: %s\n", note);
    return STATUS_OK;
}
