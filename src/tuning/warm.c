#include "tuning/warm.h"

#include "base/cache.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/workers.h"
#include "device/kept.h"
#include "engine/stage.h"
#include "tuning/warm_children.h"
#include "tuning/warm_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char timing[] = "--timing=json"; /* what a process tells is read */

enum { MAX_WORDS = 64, MAX_OPTIONS = 16 };

/* An example, run in a process of its own. */
struct rehearsal {
    const struct stage *stage;
    const char *command;
    pid_t pid; /* 0: not yet begun, or done */
};

struct warming {
    FILE *out;
    char program[PATH_MAX];
    char *options[MAX_OPTIONS]; /* handed on */
    size_t option_count;
    struct rehearsal *rehearsals;
    size_t count, begun, running, failed;
    struct json *programs; /* an object: those that were built, each once */
};

static void clear(void)
{
    children_end(); /* they would go on writing */
    warm_folder_remove();
}

void warm_abandon(void)
{
    children_forbid();
    clear();
}

/* What decides about programs: the device, its memory, how stages work and whether they work twice. --device
 * all means devices of one kind, which share what is built. */
static bool is_handed_on(const struct option *row, const struct settings *settings)
{
    if (strcmp(row->name, "device") == 0)
        return strcasecmp(settings->device, "all") != 0;
    return strcmp(row->name, "memory") == 0 || strcmp(row->name, "force") == 0 ||
           strcmp(row->name, "verify") == 0 || row->effect == EFFECT_STAGES;
}

static enum status hand_on(struct warming *warming, const struct settings *settings, struct error *error)
{
    struct settings defaults = {0};
    options_set_defaults(global_options, &defaults);
    for (const struct option *row = global_options; row->type != OPTION_END; row++) {
        size_t size = 0;
        if (!is_handed_on(row, settings) || !option_differs(row, settings, &defaults) ||
            warming->option_count == MAX_OPTIONS)
            continue;
        char **option = &warming->options[warming->option_count++];
        FILE *stream = open_memstream(option, &size);
        if (!stream)
            return fail_memory(error, "out of memory for options");
        fprintf(stream, "--%s%s", row->name, row->type == OPTION_FLAG ? "" : "=");
        if (row->type != OPTION_FLAG)
            option_print(stream, row, settings);
        if (fclose(stream) != 0)
            return fail_memory(error, "out of memory for options");
    }
    return STATUS_OK;
}

static enum status list_examples(struct warming *warming, struct error *error)
{
    for (const struct stage *const *stage = stages; *stage; stage++)
        for (const struct example *example = (*stage)->examples; example->command; example++)
            warming->count++;
    warming->rehearsals =
        allocate_zeroed(warming->count, sizeof *warming->rehearsals, "the list of examples", error);
    if (!warming->rehearsals)
        return STATUS_FAILED;
    struct rehearsal *next = warming->rehearsals;
    for (const struct stage *const *stage = stages; *stage; stage++)
        for (const struct example *example = (*stage)->examples; example->command; example++)
            *next++ = (struct rehearsal){.stage = *stage, .command = example->command};
    return STATUS_OK;
}

/* As a shell does for words that may have blanks in double quotes. */
static size_t split(char *text, char **words, size_t most)
{
    size_t count = 0;
    while (*text && count < most) {
        char *to = text;
        bool quoted = false;
        words[count++] = text;
        for (; *text && (quoted || *text != ' '); text++) {
            if (*text == '"')
                quoted = !quoted;
            else
                *to++ = *text;
        }
        while (*text == ' ')
            text++;
        *to = '\0';
    }
    return count;
}

static void name_messages(const struct warming *warming, const struct rehearsal *rehearsal, char *path,
                          size_t size)
{
    snprintf(path, size, "%s/%td.messages", warm_folder(), rehearsal - warming->rehearsals);
}

/* The example's own words, but for an output that no other has, and what is handed on. */
static enum status begin(struct warming *warming, struct rehearsal *rehearsal, struct error *error)
{
    char *words[MAX_WORDS + MAX_OPTIONS + 2], output[PATH_MAX], messages[PATH_MAX + 64];
    char *command = copy_text(rehearsal->command, error);
    if (!command)
        return STATUS_FAILED;
    size_t count = split(command, words, MAX_WORDS);
    snprintf(output, sizeof output, "%td-%s", rehearsal - warming->rehearsals,
             count > 0 ? words[count - 1] : "");
    count = count > 0 ? count - 1 : 0;
    words[count++] = output;
    for (size_t i = 0; i < warming->option_count; i++)
        words[count++] = warming->options[i];
    words[count++] = timing;
    words[count] = NULL;
    name_messages(warming, rehearsal, messages, sizeof messages);
    int code = child_start(warming->program, words, warm_folder(), messages, &rehearsal->pid);
    free(command);
    if (code == 0)
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "%s: cannot be started: %s", warming->program, strerror(code));
}

/* Of what the process said, with nothing behind it. */
static const char *last_line(char *messages)
{
    size_t length = messages ? strlen(messages) : 0;
    if (length == 0)
        return messages ? "it ended without a word" : "what it said cannot be read";
    if (messages[length - 1] == '\n')
        messages[length - 1] = '\0';
    const char *before = strrchr(messages, '\n');
    return before ? before + 1 : messages;
}

static enum status tell_built(struct warming *warming, const struct rehearsal *rehearsal,
                              const struct json *report, struct error *error)
{
    const struct json *programs = json_member(report, "programs");
    double seconds = 0;
    json_get_number(json_member(json_member(report, "parts"), "build"), &seconds);
    for (size_t i = 0; i < json_length(programs); i++)
        if (!json_replace(warming->programs, json_get_text(json_item(programs, i)), "true"))
            return fail_memory(error, "out of memory for the list of programs");
    fprintf(warming->out, "%-18s %6.2f s  %s\n", rehearsal->stage->name, seconds, rehearsal->command);
    return STATUS_OK;
}

/* The first one tells which device it is. Where it fails, so would the others. */
static enum status tell_failed(struct warming *warming, const struct rehearsal *rehearsal, const char *line,
                               struct error *error)
{
    if (rehearsal == warming->rehearsals && strncmp(line, "climg: ", 7) == 0)
        return fail(error, STATUS_FAILED, "%s", line + 7);
    if (rehearsal == warming->rehearsals)
        return fail(error, STATUS_FAILED, "%s: %s", rehearsal->command, line);
    warming->failed++;
    fprintf(warming->out, "%-18s   failed  %s: %s\n", rehearsal->stage->name, rehearsal->command, line);
    return STATUS_OK;
}

static enum status tell(struct warming *warming, const struct rehearsal *rehearsal, bool done,
                        struct error *error)
{
    char path[PATH_MAX + 64];
    size_t size;
    struct json *report = NULL;
    name_messages(warming, rehearsal, path, sizeof path);
    char *messages = cache_read(path, &size);
    const char *line = last_line(messages);
    enum status status = done ? json_read(line, &report, error) : STATUS_OK;
    const char *device = json_get_text(json_member(report, "device"));
    if (device && rehearsal == warming->rehearsals)
        fprintf(warming->out, "%s\n%-18s %8s  %s\n", device, "stage", "building", "example");
    if (status == STATUS_OK)
        status = report ? tell_built(warming, rehearsal, report, error)
                        : tell_failed(warming, rehearsal, line, error);
    fflush(warming->out);
    json_free(report);
    free(messages);
    return status;
}

static enum status await_one(struct warming *warming, struct error *error)
{
    int state = 0;
    pid_t pid = child_await(&state);
    if (pid < 0 && errno != EINTR)
        return fail(error, STATUS_FAILED, "waiting for examples: %s", strerror(errno));
    for (size_t i = 0; pid > 0 && i < warming->begun; i++) {
        struct rehearsal *rehearsal = &warming->rehearsals[i];
        if (rehearsal->pid != pid)
            continue;
        rehearsal->pid = 0;
        warming->running--;
        return tell(warming, rehearsal, WIFEXITED(state) && WEXITSTATUS(state) == 0, error);
    }
    return STATUS_OK;
}

static enum status rehearse_all(struct warming *warming, int most, struct error *error)
{
    double start = clock_seconds();
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (warming->begun < warming->count || warming->running > 0)) {
        const size_t limit = warming->begun == 1 ? 1 : (size_t)most; /* the first one goes ahead */
        if (warming->begun < warming->count && warming->running < limit) {
            status = begin(warming, &warming->rehearsals[warming->begun++], error);
            warming->running++;
        } else {
            status = await_one(warming, error);
        }
    }
    if (status != STATUS_OK)
        return status;
    fprintf(warming->out, "%zu programs, %zu examples: %.1f s\n", json_length(warming->programs),
            warming->count, clock_seconds() - start);
    if (warming->failed > 0)
        return fail(error, STATUS_FAILED, "%zu of %zu examples failed", warming->failed, warming->count);
    return STATUS_OK;
}

enum status warm(const struct settings *settings, FILE *out, struct error *error)
{
    struct warming warming = {.out = out};
    ssize_t length = readlink("/proc/self/exe", warming.program, sizeof warming.program - 1);
    if (json_check("--warm", error) != STATUS_OK)
        return STATUS_FAILED;
    enum status status = json_read("{}", &warming.programs, error);
    if (status == STATUS_OK && length < 0)
        status = fail(error, STATUS_FAILED, "/proc/self/exe: %s", strerror(errno));
    if (status == STATUS_OK)
        status = hand_on(&warming, settings, error);
    if (status == STATUS_OK)
        status = list_examples(&warming, error);
    if (status == STATUS_OK)
        status = warm_folder_make(settings->environment.spool, error);
    kept_forget(&settings->environment);
    setenv("CLIMG_KEEP", "1", 1); /* for the examples */
    int most = settings->jobs > 0 ? settings->jobs : workers_available();
    if (status == STATUS_OK)
        status = rehearse_all(&warming, most < WORKERS_MAX ? most : WORKERS_MAX, error);
    clear();
    for (size_t i = 0; i < warming.option_count; i++)
        free(warming.options[i]);
    free(warming.rehearsals);
    json_free(warming.programs);
    return status;
}
