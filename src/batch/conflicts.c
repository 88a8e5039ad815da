/* Refuses, before anything is written, commands whose outputs would destroy a file.
 *
 * One set holds the identity of every file of the command. It is filled in this order: files that stages and
 * --files-from read, inputs, auxiliary outputs (--report, --trace, --timing, a stage's matrix), outputs. A
 * file that is in the set already is a conflict, and which one depends on the two roles.
 *
 * A file has two identities. Its inode says whether it is an input, by whatever path or link. Its name in its
 * folder, after symbolic links were followed, says what a rename replaces: two hard links may each be an
 * output, two symbolic links to one file may not. Of a file that does not exist yet, the folder is the
 * nearest one that does. */
#include "batch/list.h"

#include "base/files.h"
#include "base/text.h"
#include "image/format.h"
#include "image/output/output.h"

#include <limits.h>
#include <locale.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wctype.h>

struct file_identity {
    dev_t device; /* of the file, or of the folder */
    ino_t inode;
    const char *name; /* the path from that folder; NULL: the file itself */
    const char *path; /* that `name` is the end of */
};

/* --report, --timing, --trace, and what a stage writes besides the picture. */
struct aux_output {
    const char *option, *noun, *example;
    const char *path; /* "-" is stdout; NULL: not given */
};

enum { AUX_OUTPUTS = 4, STAGE_OUTPUT = AUX_OUTPUTS - 1 };

/* A file of the command. One of the last four is set. */
struct claim {
    struct file_identity identity; /* the first member, as trees compare it */
    const char *reader;            /* the option that reads the file */
    const struct job *input, *output;
    const struct aux_output *aux;
};

struct conflicts {
    bool in_place;
    void *files, *folded; /* trees of tsearch, in the orders of compare and compare_folded */
    struct claim *claims;
    char **paths; /* that names point into */
    size_t claim_count, path_count;
};

static int compare(const void *a, const void *b)
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

/* Adds a claim unless its identity is there; *earlier receives the claim that has it, or NULL. */
static enum status add(struct conflicts *set, void **tree, int (*order)(const void *, const void *),
                       const struct claim *claim, const struct claim **earlier, struct error *error)
{
    struct claim *added = &set->claims[set->claim_count];
    *added = *claim;
    void *const *found = tsearch(added, tree, order);
    if (!found)
        return fail_memory(error, "out of memory for file names");
    *earlier = *found == added ? NULL : *found;
    set->claim_count += *earlier == NULL;
    return STATUS_OK;
}

/* "a//./b" becomes "a/b". */
static void simplify(char *path)
{
    bool begins = true; /* at the start of a name */
    char *to = path;
    for (const char *from = path; *from != '\0'; from++) {
        if (begins && from[0] == '.' && from[1] == '/')
            from++;
        else if (!begins || *from != '/')
            *to++ = *from;
        begins = *from == '/';
    }
    *to = '\0';
}

/* True if the first `length` bytes of the path, which end in a slash, are an existing folder; "" is ".". */
static bool stat_folder(char *path, size_t length, struct stat *there)
{
    const char next = path[length];
    path[length] = '\0';
    const bool found = stat(length > 0 ? path : ".", there) == 0;
    path[length] = next;
    return found;
}

/* Finds the name in its folder; the set keeps the path. "-" is stdout. */
static enum status identify_name(struct conflicts *set, const char *path, struct file_identity *identity,
                                 struct error *error)
{
    struct stat there = {.st_ino = 0};
    *identity = (struct file_identity){.name = "-"};
    if (strcmp(path, "-") == 0)
        return STATUS_OK;
    char *target = resolve_links(path, error);
    if (!target)
        return STATUS_FAILED;
    set->paths[set->path_count++] = target;
    size_t length = (size_t)folder_length(target);
    while (!stat_folder(target, length, &there) && length > 0) {
        while (length > 0 && target[length - 1] == '/')
            length--;
        while (length > 0 && target[length - 1] != '/')
            length--;
    }
    simplify(target + length);
    *identity = (struct file_identity){there.st_dev, there.st_ino, target + length, target};
    return STATUS_OK;
}

static enum status reject(const struct conflicts *set, const struct claim *later, const struct claim *earlier,
                          struct error *error)
{
    const struct job *job = later->output;
    const bool is_own = job && earlier->input && earlier->identity.device == job->device &&
                        earlier->identity.inode == job->inode;
    char name[1024];
    if (job && earlier->output)
        return fail(error, STATUS_USAGE,
                    "%s and %s would both become %s; rename one, or use two output folders",
                    earlier->output->input, job->input, job->output);
    if (is_own && strcmp(job->output, "-") == 0)
        return fail(error, STATUS_USAGE, "%s: is also where standard output goes", job_input_name(job));
    if (is_own)
        return set->in_place
                   ? STATUS_OK
                   : fail(error, STATUS_USAGE, "%s: is also the input; --in-place replaces it", job->output);
    if (earlier->aux && later->aux)
        return fail(error, STATUS_USAGE, "the %s and the %s would both go to %s", earlier->aux->noun,
                    later->aux->noun, side_name(later->aux->path));
    if (earlier->aux)
        return fail(error, STATUS_USAGE, "%s%s: %s would also be written there", earlier->aux->option,
                    earlier->aux->path, strcmp(job->output, "-") == 0 ? "the output" : job->input);
    if (job)
        snprintf(name, sizeof name, "%.480s would become %.480s", job->input, job->output);
    else
        snprintf(name, sizeof name, "%s%.960s", later->aux->option, later->aux->path);
    return earlier->reader ? fail(error, STATUS_USAGE, "%s: --%s reads that file", name, earlier->reader)
                           : fail(error, STATUS_USAGE, "%s: that is also an input", name);
}

/* ---------------------------------------------------------------- auxiliary outputs */

static void list_aux_outputs(const struct command *command, struct aux_output aux[AUX_OUTPUTS])
{
    const struct settings *settings = &command->settings;
    const bool json = settings->timing.form == TIMING_JSON;
    aux[0] = (struct aux_output){"--report ", "report", "done.jsonl", settings->report};
    aux[1] = (struct aux_output){"--trace ", "trace", "trace.json", settings->trace};
    aux[2] = (struct aux_output){json ? "--timing=json:" : "--timing=table:", "timing", "times.json",
                                 settings->timing.file};
    aux[STAGE_OUTPUT] = (struct aux_output){"--align matrix=", "matrix", "matrix.txt", NULL};
    for (size_t i = 0; i < command->chain.count && !aux[STAGE_OUTPUT].path; i++)
        aux[STAGE_OUTPUT].path = step_traits(&command->chain.steps[i]).writes;
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
    for (int i = 0; i < AUX_OUTPUTS; i++)
        if (aux[i].path && format_by_path(aux[i].path))
            return fail(error, STATUS_USAGE, "%s%s: that is an image's name; name the %s first, as in %s%s",
                        aux[i].option, aux[i].path, aux[i].noun, aux[i].option, aux[i].example);
    return STATUS_OK;
}

/* ---------------------------------------------------------------- folders that do not distinguish case */

static locale_t utf8; /* of the comparison, which tsearch gives no context; 0: case is not folded */

/* Moves past a character and returns it in lower case. A byte that is not UTF-8 stays as it is. */
static wint_t next_folded(const char **text)
{
    unsigned long character = (unsigned char)**text;
    const size_t length = utf8_decode(*text, strlen(*text), &character);
    *text += length > 0 ? length : 1;
    return towlower_l((wint_t)character, utf8);
}

static int compare_folded(const void *a, const void *b)
{
    struct file_identity first = *(const struct file_identity *)a, second = *(const struct file_identity *)b;
    const char *left = first.name, *right = second.name;
    first.name = second.name = NULL;
    const int order = compare(&first, &second);
    while (order == 0 && *left != '\0' && *right != '\0') {
        const wint_t one = next_folded(&left), other = next_folded(&right);
        if (one != other)
            return one < other ? -1 : 1;
    }
    return order != 0 ? order : (*left != '\0') - (*right != '\0');
}

/* True if the first components that differ are one name for their folder: tries with a temporary file in the
 * existing folder. If none can be created there, the job itself will fail. */
static bool is_one_name(const struct file_identity *first, const struct file_identity *second)
{
    enum { LONGEST = 200 }; /* bytes of a name that temporary_create keeps */
    char target[PATH_MAX], other[2 * PATH_MAX], *created = NULL;
    const int length = (int)(first->name - first->path);
    size_t at = 0;
    for (size_t i = 0; first->name[i] != '\0' && first->name[i] == second->name[i]; i++)
        at = first->name[i] == '/' ? i + 1 : at;
    const int one = (int)strcspn(first->name + at, "/"), two = (int)strcspn(second->name + at, "/");
    snprintf(target, sizeof target, "%.*s%.*s", length, first->path, one, first->name + at);
    const int file = temporary_create(target, 0600, &created);
    if (file < 0)
        return false;
    struct stat there;
    snprintf(other, sizeof other, "%.*s.%.*s%s", length, first->path, two < LONGEST ? two : LONGEST,
             second->name + at, created + length + 1 + (one < LONGEST ? one : LONGEST));
    const bool same = stat(other, &there) == 0;
    temporary_remove(created);
    close(file);
    return same;
}

static enum status add_folded(struct conflicts *set, const struct claim *claim, struct error *error)
{
    const struct claim *earlier;
    if (add(set, &set->folded, compare_folded, claim, &earlier, error) != STATUS_OK)
        return STATUS_FAILED;
    if (!earlier || !is_one_name(&earlier->identity, &claim->identity))
        return STATUS_OK;
    return fail(error, STATUS_USAGE,
                "%s and %s would both become %s, as this folder does not distinguish upper and lower case; "
                "rename one, or use two output folders",
                earlier->output->input, claim->output->input, claim->output->output);
}

/* ---------------------------------------------------------------- filling the set */

/* Adds a file that is read. It may be read several times. */
static enum status add_read(struct conflicts *set, dev_t device, ino_t inode, const char *reader,
                            const struct job *input, struct error *error)
{
    const struct claim *earlier;
    return add(set, &set->files, compare,
               &(struct claim){{.device = device, .inode = inode}, .reader = reader, .input = input},
               &earlier, error);
}

static enum status add_reader(struct conflicts *set, const char *path, const char *reader,
                              struct error *error)
{
    struct stat there;
    if (!path || stat(path, &there) != 0 || S_ISCHR(there.st_mode))
        return STATUS_OK;
    return add_read(set, there.st_dev, there.st_ino, reader, NULL, error);
}

static bool is_same_input(const struct job *a, const struct job *b)
{
    return strcmp(a->input, b->input) == 0 ||
           (a->inode != 0 && a->device == b->device && a->inode == b->inode);
}

/* Adds a file that is written. Several may go to one device, such as /dev/null, but only one to stdout.
 * *is_duplicate: it is written already, from the same input. */
static enum status add_written(struct conflicts *set, const char *path, struct claim claim,
                               bool *is_duplicate, struct error *error)
{
    const struct claim *earlier;
    struct stat there;
    const bool is_stdout = strcmp(path, "-") == 0;
    const bool exists = (is_stdout ? fstat(STDOUT_FILENO, &there) : stat(path, &there)) == 0;
    if (exists && S_ISCHR(there.st_mode) && !is_stdout)
        return STATUS_OK;
    enum status status = identify_name(set, path, &claim.identity, error);
    if (status == STATUS_OK)
        status = add(set, &set->files, compare, &claim, &earlier, error);
    *is_duplicate = status == STATUS_OK && earlier && earlier->output && claim.output &&
                    is_same_input(earlier->output, claim.output);
    if (status == STATUS_OK && earlier && !*is_duplicate)
        status = reject(set, &claim, earlier, error);
    if (status == STATUS_OK && claim.output && utf8 && !*is_duplicate)
        status = add_folded(set, &claim, error);
    if (status != STATUS_OK || *is_duplicate || !exists || S_ISCHR(there.st_mode))
        return status;
    claim.identity = (struct file_identity){.device = there.st_dev, .inode = there.st_ino};
    status = add(set, &set->files, compare, &claim, &earlier, error);
    /* Hard links become files of their own, and what is no file is not replaced. */
    const bool is_free = !earlier || (earlier->output && claim.output) ||
                         (earlier->input && claim.output && !S_ISREG(there.st_mode));
    return status != STATUS_OK || is_free ? status : reject(set, &claim, earlier, error);
}

static enum status fill(struct conflicts *set, struct list *list, const struct command *command,
                        const struct aux_output aux[AUX_OUTPUTS], struct error *error)
{
    bool is_duplicate = false;
    enum status status = add_reader(set, command->settings.files_from, "files-from", error);
    for (size_t i = 0; status == STATUS_OK && i < command->chain.count; i++) {
        const struct step *step = &command->chain.steps[i];
        const struct traits traits = step_traits(step);
        if (traits.writes && traits.writes != aux[STAGE_OUTPUT].path)
            return fail(error, STATUS_USAGE, "--%s writes a file twice; leave one out", step->stage->name);
        status = add_reader(set, traits.file, step->stage->name, error);
    }
    for (size_t i = 0; status == STATUS_OK && i < list->count; i++) {
        const struct job *job = &list->jobs[i];
        if (job->inode != 0)
            status = add_read(set, job->device, job->inode, NULL, job, error);
    }
    for (int i = 0; status == STATUS_OK && i < AUX_OUTPUTS; i++)
        if (aux[i].path)
            status = add_written(set, aux[i].path, (struct claim){.aux = &aux[i]}, &is_duplicate, error);
    for (size_t i = 0; status == STATUS_OK && i < list->count; i++) {
        struct job *job = &list->jobs[i];
        status = add_written(set, job->output, (struct claim){.output = job}, &job->is_duplicate, error);
    }
    return status;
}

static void keep(void *claim)
{
    (void)claim; /* claims are freed together */
}

enum status conflicts_check(struct list *list, const struct command *command, struct error *error)
{
    struct conflicts set = {.in_place = command->settings.in_place};
    const size_t written = list->count + AUX_OUTPUTS, most = command->chain.count + 2 + 4 * written;
    struct aux_output aux[AUX_OUTPUTS];
    list_aux_outputs(command, aux);
    if (aux[STAGE_OUTPUT].path && list->count > 1)
        return fail(error, STATUS_USAGE,
                    "%s%s: is for one picture; --report FILE gives the matrices of several",
                    aux[STAGE_OUTPUT].option, aux[STAGE_OUTPUT].path);
    set.claims = allocate(most * sizeof *set.claims, "file names", error);
    set.paths = set.claims ? allocate(written * sizeof *set.paths, "file names", error) : NULL;
    if (!command->settings.dry_run) /* trying a name takes a temporary file */
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    enum status status = set.paths ? fill(&set, list, command, aux, error) : STATUS_FAILED;
    tdestroy(set.files, keep);
    tdestroy(set.folded, keep);
    for (size_t i = 0; i < set.path_count; i++)
        free(set.paths[i]);
    free(set.paths);
    free(set.claims);
    if (utf8)
        freelocale(utf8);
    utf8 = (locale_t)0;
    return status;
}
