/* Finds files that a command would destroy, before anything is written.
 *
 * Conflicts are found by one set with the identity of every file of the command. It is filled in this order:
 * files that stages and --files-from read, inputs, auxiliary outputs (--report, --trace, --timing, a stage's
 * matrix), outputs. A file that is in the set already may be a conflict; the roles of both decide, and give
 * the message.
 *
 * A file has two identities. The inode identifies a file that is read, by any path or link. The name in a
 * folder identifies a file that is written, since climg renames a temporary file to that name. So two hard
 * links to one file can be two outputs: each gets a file of its own. Two symbolic links to one file cannot:
 * links are followed, and both lead to one name. For a file that does not exist yet, the folder is the
 * nearest one above it that exists. */
#include "batch/conflicts.h"

#include "base/files.h"
#include "base/text.h"
#include "image/format.h"
#include "image/output/output.h"

#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wctype.h>

/* One of a file's two identities: its inode, or its name in a folder. */
struct file_identity {
    dev_t device;     /* of the file itself if `name` is NULL, else of the folder */
    ino_t inode;      /* likewise */
    const char *name; /* path below the folder, or NULL */
    const char *path; /* the whole path, which ends with `name`; belongs to the set; may be NULL */
};

/* A file of the command and its role. Exactly one of the last four fields is set. */
struct claim {
    struct file_identity identity; /* must be first, as compare_identities gets claims */
    const char *reader;            /* name of the stage or option that reads the file */
    const struct job *input;       /* the job that reads it */
    const struct job *output;      /* the job that writes it */
    const struct aux_output *aux;
};

struct claim_set {
    struct job *jobs;
    size_t inputs;  /* number of jobs */
    size_t outputs; /* number of jobs from the first on whose output counts: 1 for a stack */
    bool in_place, is_stack;
    void *files;          /* tree of tsearch, ordered by compare_identities */
    void *folded;         /* tree of outputs, ordered by compare_folded */
    struct claim *claims; /* memory of the claims in both trees */
    size_t claim_count;
    char **paths; /* memory of the paths of all identities */
    size_t path_count;
};

static int compare_identities(const void *a, const void *b)
{
    const struct file_identity *first = a, *second = b;
    if (first->device != second->device)
        return first->device < second->device ? -1 : 1;
    if (first->inode != second->inode)
        return first->inode < second->inode ? -1 : 1;
    if (!first->name || !second->name)
        return (first->name != NULL) - (second->name != NULL);
    return strcmp(first->name, second->name);
}

/* Adds a claim to a tree, and sets *earlier to NULL. If the tree has a claim with an equal identity, adds
 * nothing, and sets *earlier to that claim. */
static enum status claim_add(struct claim_set *set, void **tree, int (*order)(const void *, const void *),
                             const struct claim *claim, const struct claim **earlier, struct error *error)
{
    struct claim *added = &set->claims[set->claim_count];
    *earlier = NULL;
    *added = *claim;
    void *const *found = tsearch(added, tree, order);
    if (!found)
        return fail_memory(error, "out of memory for file names");
    *earlier = *found == added ? NULL : *found;
    set->claim_count += *earlier == NULL;
    return STATUS_OK;
}

/* Sets *identity to the file's name in the nearest folder that exists. The set owns the path. "-" is stdout.
 * Fails if ".." follows a missing folder: new/../a.png has no identity yet, but becomes a.png as soon as the
 * folder `new` is created. */
static enum status identify_name(struct claim_set *set, const char *path, struct file_identity *identity,
                                 struct error *error)
{
    struct stat info = {.st_ino = 0};
    *identity = (struct file_identity){.name = "-"};
    if (strcmp(path, "-") == 0)
        return STATUS_OK;
    char *target = resolve_links(path, error);
    if (!target)
        return STATUS_FAILED;
    set->paths[set->path_count++] = target;
    size_t length = (size_t)folder_length(target);
    for (bool found = false; !found && length > 0;) {
        const char next = target[length];
        target[length] = '\0';
        found = stat(target, &info) == 0;
        target[length] = next;
        length = found ? length : path_above(target, length);
    }
    if (length == 0)
        stat(".", &info);
    /* Remove empty and "." components: "a//./b" becomes "a/b". */
    bool begins = true; /* at the start of a name */
    char *to = target + length;
    for (const char *from = to; *from != '\0'; from++) {
        if (begins && from[0] == '.' && from[1] == '/')
            from++;
        else if (!begins || *from != '/')
            *to++ = *from;
        begins = *from == '/';
    }
    *to = '\0';
    for (const char *at = target + length; (at = strstr(at, "..")) != NULL; at += 2)
        if ((at == target + length || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
            return fail(error, STATUS_USAGE, "%s: the folder before \"..\" does not exist", path);
    *identity = (struct file_identity){info.st_dev, info.st_ino, target + length, target};
    return STATUS_OK;
}

/* Fails if writing the file of `later`, an output or an auxiliary output, would destroy the file of
 * `earlier`. An output may replace its own input with --in-place. */
static enum status check_claims(const struct claim_set *set, const struct claim *later,
                                const struct claim *earlier, struct error *error)
{
    const struct job *job = later->output;
    const struct aux_output *aux = later->aux;
    if (!job && earlier->aux)
        return fail(error, STATUS_USAGE, "the %s and the %s would both go to %s", earlier->aux->noun,
                    aux->noun, aux_name(aux->path));
    if (!job && earlier->reader)
        return fail(error, STATUS_USAGE, "%s%s: --%s reads that file", aux->option, aux->path,
                    earlier->reader);
    if (!job)
        return fail(error, STATUS_USAGE, "%s%s: that is also an input", aux->option, aux->path);
    const bool is_stdout = strcmp(job->output, "-") == 0;
    if (earlier->output)
        return fail(error, STATUS_USAGE,
                    "%s and %s would both become %s; rename one, or use two output folders",
                    earlier->output->input, job->input, job->output);
    if (earlier->aux)
        return fail(error, STATUS_USAGE, "%s%s: %s would also be written there", earlier->aux->option,
                    earlier->aux->path, is_stdout ? "the output" : job->input);
    if (earlier->reader)
        return fail(error, STATUS_USAGE, "%s would become %s: --%s reads that file", job->input, job->output,
                    earlier->reader);
    if (set->is_stack && !is_stdout)
        return fail(error, STATUS_USAGE, "%s: is also an input; name another file", job->output);
    if (earlier->identity.device != job->input_device || earlier->identity.inode != job->input_inode)
        return fail(error, STATUS_USAGE, "%s would become %s: that is also an input", job->input,
                    job->output);
    if (is_stdout)
        return fail(error, STATUS_USAGE, "%s: is also where standard output goes", job_input_name(job));
    return set->in_place
               ? STATUS_OK
               : fail(error, STATUS_USAGE, "%s: is also the input; --in-place replaces it", job->output);
}

/* ---------------------------------------------------------------- auxiliary outputs */

void list_aux_outputs(const struct command *command, struct aux_output aux[AUX_OUTPUTS])
{
    const struct settings *settings = &command->settings;
    const bool json = settings->timing.form == TIMING_JSON;
    aux[REPORT_OUTPUT] = (struct aux_output){"--report ", "report", "done.jsonl", settings->report};
    aux[TRACE_OUTPUT] = (struct aux_output){"--trace ", "trace", "trace.json", settings->trace};
    aux[TIMING_OUTPUT] = (struct aux_output){json ? "--timing=json:" : "--timing=table:", "timing",
                                             "times.json", settings->timing.file};
    aux[MATRIX_OUTPUT] = (struct aux_output){"--align matrix=", "matrix", "matrix.txt", NULL};
    aux[MAP_OUTPUT] = (struct aux_output){"--stack focus,depth=", "map", "map.png", NULL};
    for (size_t i = 0; i < command->chain.count; i++) {
        const struct stage_caps caps = step_caps(&command->chain.steps[i]);
        struct aux_output *output = &aux[caps.output_is_image ? MAP_OUTPUT : MATRIX_OUTPUT];
        if (!output->path)
            output->path = caps.output_file;
    }
}

enum status conflicts_check_names(const struct command *command, struct error *error)
{
    const char *trace = command->settings.trace, *ending = trace ? strrchr(trace, '.') : NULL;
    struct aux_output aux[AUX_OUTPUTS];
    list_aux_outputs(command, aux);
    if (ending && strcmp(ending, ".svg") == 0)
        return fail(error, STATUS_USAGE,
                    "--trace %s: a trace is JSON for https://ui.perfetto.dev; name it %.*s.json", trace,
                    (int)(ending - trace), trace);
    /* The map is an image, as its example is; the other files are not. */
    for (int i = 0; i < AUX_OUTPUTS; i++)
        if (aux[i].path && (format_by_path(aux[i].path) || foreign_name_by_path(aux[i].path)) &&
            !format_by_path(aux[i].example))
            return fail(error, STATUS_USAGE, "%s%s: that is an image's name; name the %s first, as in %s%s",
                        aux[i].option, aux[i].path, aux[i].noun, aux[i].option, aux[i].example);
    return STATUS_OK;
}

/* ---------------------------------------------------------------- folders that do not distinguish case */

/* Locale of compare_folded, global as tsearch passes no context to it; 0: case is not checked. */
static locale_t folding_locale;

/* Moves past a character and returns it in lower case. A byte that is not UTF-8 counts as a character of
 * Latin-1: a wrong guess does no harm, as is_one_name decides. */
static wint_t next_folded(const char **text)
{
    unsigned long character = (unsigned char)**text;
    const size_t length = utf8_decode(*text, strlen(*text), &character);
    *text += length > 0 ? length : 1;
    return towlower_l((wint_t)character, folding_locale);
}

/* Compares the folders of two files, and then their names without case. */
static int compare_folded(const void *a, const void *b)
{
    struct file_identity first = *(const struct file_identity *)a, second = *(const struct file_identity *)b;
    const char *left = first.name, *right = second.name;
    first.name = second.name = NULL;
    const int order = compare_identities(&first, &second);
    while (order == 0 && *left != '\0' && *right != '\0') {
        const wint_t one = next_folded(&left), other = next_folded(&right);
        if (one != other)
            return one < other ? -1 : 1;
    }
    return order != 0 ? order : (*left != '\0') - (*right != '\0');
}

/* True if the folder treats two names, which differ in case only, as one. It is tried with a temporary file
 * whose name has the part from the first letter that differs. For photo.png and phOTO.png the function
 * creates .oto.png.climg-…tmp and looks for .OTO.png.climg-…tmp. False if the file cannot be created: then
 * the job fails anyway. */
static bool is_one_name(const struct file_identity *first, const struct file_identity *second)
{
    char target[PATH_MAX], other[2 * PATH_MAX], *created = NULL;
    const int length = (int)(first->name - first->path);
    size_t at = 0;
    while (first->name[at] != '\0' && first->name[at] == second->name[at])
        at++;
    while (at > 0 && ((unsigned char)first->name[at] & 0xc0) == 0x80)
        at--; /* to the start of the UTF-8 character */
    const int one = (int)strcspn(first->name + at, "/"), two = (int)strcspn(second->name + at, "/");
    snprintf(target, sizeof target, "%.*s%.*s", length, first->path, one, first->name + at);
    const int file = temporary_create(target, O_WRONLY, 0600, &created);
    if (file < 0)
        return false;
    struct stat info;
    snprintf(other, sizeof other, "%.*s.%.*s%s", length, first->path,
             temporary_stem_length(second->name + at, (size_t)two), second->name + at,
             created + length + 1 + temporary_stem_length(first->name + at, (size_t)one));
    const bool same = stat(other, &info) == 0;
    temporary_remove(created);
    close(file);
    return same;
}

/* ---------------------------------------------------------------- filling the set */

/* Adds a file that is read. Several readers are no conflict. */
static enum status add_read_inode(struct claim_set *set, dev_t device, ino_t inode, const char *reader,
                                  const struct job *input, struct error *error)
{
    const struct claim *earlier;
    return claim_add(set, &set->files, compare_identities,
                     &(struct claim){{.device = device, .inode = inode}, .reader = reader, .input = input},
                     &earlier, error);
}

/* Adds a file that a stage or an option reads. `path` may be NULL; "-" is stdin, which counts only if it is a
 * regular file: a socket may be stdin and stdout. */
static enum status add_read_path(struct claim_set *set, const char *path, const char *reader,
                                 struct error *error)
{
    struct stat info;
    const bool is_stdin = path && strcmp(path, "-") == 0;
    if (!path || (is_stdin ? fstat(STDIN_FILENO, &info) : stat(path, &info)) != 0 ||
        (is_stdin ? !S_ISREG(info.st_mode) : S_ISCHR(info.st_mode)))
        return STATUS_OK;
    return add_read_inode(set, info.st_dev, info.st_ino, reader, NULL, error);
}

/* Adds a file that is written: its name, and its inode if it exists. Several outputs may go to one device,
 * such as /dev/null, but only one to stdout. Sets *is_duplicate if an earlier job converts the same
 * input to it. */
static enum status add_written(struct claim_set *set, const char *path, struct claim claim,
                               bool *is_duplicate, struct error *error)
{
    const struct claim *earlier;
    struct stat info;
    const bool is_stdout = strcmp(path, "-") == 0;
    const bool exists = (is_stdout ? fstat(STDOUT_FILENO, &info) : stat(path, &info)) == 0;
    const bool is_device = exists && S_ISCHR(info.st_mode);
    *is_duplicate = false;
    if (is_device && !is_stdout)
        return STATUS_OK;

    /* Add the name. */
    enum status status = identify_name(set, path, &claim.identity, error);
    if (status == STATUS_OK)
        status = claim_add(set, &set->files, compare_identities, &claim, &earlier, error);
    if (status != STATUS_OK)
        return status;
    if (earlier && earlier->output && claim.output) {
        const struct job *one = earlier->output, *other = claim.output;
        *is_duplicate = strcmp(one->input, other->input) == 0 ||
                        (one->input_inode != 0 && one->input_device == other->input_device &&
                         one->input_inode == other->input_inode);
        if (*is_duplicate)
            return STATUS_OK;
    }
    if (earlier && (status = check_claims(set, &claim, earlier, error)) != STATUS_OK)
        return status;

    /* Add an output's name without case. */
    if (claim.output && folding_locale) {
        status = claim_add(set, &set->folded, compare_folded, &claim, &earlier, error);
        if (status == STATUS_OK && earlier && is_one_name(&earlier->identity, &claim.identity))
            status = fail(error, STATUS_USAGE,
                          "%s and %s would both become %s, as this folder does not distinguish upper and "
                          "lower case; rename one, or use two output folders",
                          earlier->output->input, claim.output->input, claim.output->output);
        if (status != STATUS_OK)
            return status;
    }

    /* Add the inode. Two outputs may be hard links to one file, as a rename replaces one name. An output may
     * also be an input if that is a pipe or device, which is not replaced. */
    if (!exists || is_device)
        return STATUS_OK;
    claim.identity = (struct file_identity){.device = info.st_dev, .inode = info.st_ino};
    status = claim_add(set, &set->files, compare_identities, &claim, &earlier, error);
    if (status != STATUS_OK || !earlier)
        return status;
    const bool is_allowed = claim.output && (earlier->output || (earlier->input && !S_ISREG(info.st_mode)));
    return is_allowed ? STATUS_OK : check_claims(set, &claim, earlier, error);
}

/* Adds all files of the command; the opening comment has the order. */
static enum status fill_set(struct claim_set *set, const struct command *command,
                            const struct aux_output aux[AUX_OUTPUTS], struct error *error)
{
    bool is_duplicate;
    enum status status = add_read_path(set, command->settings.files_from, "files-from", error);
    for (size_t i = 0; status == STATUS_OK && i < command->chain.count; i++) {
        const struct step *step = &command->chain.steps[i];
        const struct stage_caps caps = step_caps(step);
        /* list_aux_outputs took the first stage's path, so another pointer is a second stage. */
        if (caps.output_file &&
            caps.output_file != aux[caps.output_is_image ? MAP_OUTPUT : MATRIX_OUTPUT].path)
            return fail(error, STATUS_USAGE, "only one --%s may write a file", step->stage->name);
        status = add_read_path(set, caps.file, step->stage->name, error);
    }
    for (size_t i = 0; status == STATUS_OK && i < set->inputs; i++) {
        const struct job *job = &set->jobs[i];
        if (job->input_inode != 0)
            status = add_read_inode(set, job->input_device, job->input_inode, NULL, job, error);
    }
    for (int i = 0; status == STATUS_OK && i < AUX_OUTPUTS; i++)
        if (aux[i].path)
            status = add_written(set, aux[i].path, (struct claim){.aux = &aux[i]}, &is_duplicate, error);
    for (size_t i = 0; status == STATUS_OK && i < set->outputs; i++) {
        struct job *job = &set->jobs[i];
        status = add_written(set, job->output, (struct claim){.output = job}, &job->is_duplicate, error);
    }
    return status;
}

/* For tdestroy: the claims are freed together. */
static void keep_claim(void *claim)
{
    (void)claim;
}

enum status conflicts_check(struct job *jobs, size_t count, bool is_stack, const struct command *command,
                            struct error *error)
{
    struct claim_set set = {.jobs = jobs,
                            .inputs = count,
                            .outputs = (command->settings.mode & MODES_READING) != 0 ? 0
                                       : is_stack                                    ? 1
                                                                                     : count,
                            .in_place = command->settings.in_place,
                            .is_stack = is_stack};
    /* Maximum number of claims. One for each file that stages and --files-from read. Four for each job and
     * auxiliary output: an input, a name, a name without case and an inode. One for claim_add's search. */
    const size_t written = count + AUX_OUTPUTS, most = command->chain.count + 2 + 4 * written;
    struct aux_output aux[AUX_OUTPUTS];
    list_aux_outputs(command, aux);
    if (aux[MATRIX_OUTPUT].path && count > 1 && !is_stack)
        return fail(error, STATUS_USAGE,
                    "%s%s: is for one picture; --report FILE gives the matrices of several",
                    aux[MATRIX_OUTPUT].option, aux[MATRIX_OUTPUT].path);
    set.claims = allocate(most * sizeof *set.claims, "file names", error);
    set.paths = set.claims ? allocate(written * sizeof *set.paths, "file names", error) : NULL;
    if (!command->settings.dry_run) /* is_one_name writes a temporary file */
        folding_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    enum status status = set.paths ? fill_set(&set, command, aux, error) : STATUS_FAILED;
    tdestroy(set.files, keep_claim);
    tdestroy(set.folded, keep_claim);
    for (size_t i = 0; i < set.path_count; i++)
        free(set.paths[i]);
    free(set.paths);
    free(set.claims);
    if (folding_locale)
        freelocale(folding_locale);
    folding_locale = (locale_t)0;
    return status;
}
