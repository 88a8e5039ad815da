#include "tuning/warm.h"

#include "base/cache.h"
#include "base/clock.h"
#include "base/workers.h"
#include "engine/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the examples read: of the kinds that the samples have, as small as all of it still happens. */
enum { WIDTH = 192, HEIGHT = 160 };

static const struct {
    const char *name;
    int channels, largest;
} samples[] = {
    {"scene.png", 3, 255},     {"scene.tif", 3, 65535},      {"soft-alpha.png", 4, 255},
    {"zoneplate.png", 1, 255}, {"gradient16.png", 1, 65535},
};

static char timing[] = "--timing=json"; /* what a process tells is read */

static const char matrix[] = "-2 -1 0\n-1 1 1\n0 1 2\n"; /* samples/emboss.txt */

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
    json_t *programs; /* an object: those that were built, each once */
};

static char folder[PATH_MAX]; /* "": none */

/* Whatever becomes of one: two threads may be at it. */
static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    remove(path);
    return 0;
}

/* The processes under way, where another thread finds them. */
enum { NOBODY = 0, STARTING = -1, STARTING_MS = 500 };
static atomic_int children[WORKERS_MAX];
static atomic_bool abandoned; /* no more are started */

static atomic_int *child_place(int pid)
{
    size_t i = 0;
    while (i < WORKERS_MAX - 1 && atomic_load(&children[i]) != pid)
        i++;
    return &children[i];
}

/* Bounded, as the thread that starts it may be stopped for good: by a signal whose handler this is. */
static int pid_when_started(const atomic_int *child)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < STARTING_MS && atomic_load(child) == STARTING; i++)
        nanosleep(&moment, NULL);
    return atomic_load(child);
}

/* Whoever waits for them as well may be the one that learns of their end. */
static void end_children(void)
{
    int pids[WORKERS_MAX];
    atomic_store(&abandoned, true);
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        pids[i] = pid_when_started(&children[i]);
        if (pids[i] > 0)
            kill(pids[i], SIGTERM);
    }
    for (size_t i = 0; i < WORKERS_MAX; i++)
        while (pids[i] > 0 && waitpid(pids[i], NULL, 0) < 0 && errno == EINTR)
            ;
}

void warm_abandon(void)
{
    end_children(); /* they would go on writing */
    if (folder[0])
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A smooth texture, so that there is something to estimate, to align and to see, as a PAM: climg goes by a
 * file's first bytes. */
static void write_picture(FILE *file, int channels, int largest)
{
    static const char *const types[] = {"GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA"};
    fprintf(file, "P7\nWIDTH %d\nHEIGHT %d\nDEPTH %d\nMAXVAL %d\nTUPLTYPE %s\nENDHDR\n", WIDTH, HEIGHT,
            channels, largest, types[channels - 1]);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < channels; c++) {
                int value = (x * x + 3 * y * y + x * y + 40 * c) / 16 % (largest + 1);
                if (largest > 255)
                    fputc(value >> 8, file);
                fputc(value & 255, file);
            }
}

static enum status cannot_write(const char *path, struct error *error)
{
    return fail(error, STATUS_FAILED, "%s: cannot write: %s", path, strerror(errno));
}

static enum status finish_file(FILE *file, const char *path, struct error *error)
{
    bool bad = ferror(file) != 0;
    return fclose(file) != 0 || bad ? cannot_write(path, error) : STATUS_OK;
}

static enum status write_samples(struct error *error)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/samples", folder);
    if (mkdir(path, 0777) != 0)
        return cannot_write(path, error);
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < sizeof samples / sizeof samples[0]; i++) {
        snprintf(path, sizeof path, "%s/samples/%s", folder, samples[i].name);
        FILE *file = fopen(path, "wb");
        if (!file)
            return cannot_write(path, error);
        write_picture(file, samples[i].channels, samples[i].largest);
        status = finish_file(file, path, error);
    }
    snprintf(path, sizeof path, "%s/samples/emboss.txt", folder);
    FILE *file = status == STATUS_OK ? fopen(path, "w") : NULL;
    if (status == STATUS_OK && !file)
        return cannot_write(path, error);
    if (file)
        fputs(matrix, file);
    return file ? finish_file(file, path, error) : status;
}

static enum status make_folder(const struct settings *settings, struct error *error)
{
    snprintf(folder, sizeof folder, "%s/climg-warm-XXXXXX", settings->environment.spool);
    if (mkdtemp(folder))
        return write_samples(error);
    enum status status = fail(error, STATUS_FAILED, "%s: cannot make a folder in it: %s",
                              settings->environment.spool, strerror(errno));
    folder[0] = '\0';
    return status;
}

/* What decides about programs: the device, its memory, and how stages work. --device all means devices of one
 * kind, which share what is built. */
static bool is_handed_on(const struct option *row, const struct settings *settings)
{
    if (strcmp(row->name, "device") == 0)
        return strcasecmp(settings->device, "all") != 0;
    return strcmp(row->name, "memory") == 0 || strcmp(row->name, "force") == 0 ||
           row->effect == EFFECT_STAGES;
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

/* In the folder, with nothing on its standard input and output. */
static int spawn(const char *program, char *const *words, const char *messages, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    posix_spawnattr_init(&attributes);
    sigemptyset(&signals); /* this process has some blocked */
    posix_spawnattr_setsigmask(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int code = posix_spawn(pid, program, &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return code;
}

static void name_messages(const struct warming *warming, const struct rehearsal *rehearsal, char *path,
                          size_t size)
{
    snprintf(path, size, "%s/%td.messages", folder, rehearsal - warming->rehearsals);
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
    atomic_int *child = child_place(NOBODY);
    atomic_store(child, STARTING);
    int code = atomic_load(&abandoned) ? EINTR : spawn(warming->program, words, messages, &rehearsal->pid);
    atomic_store(child, code == 0 ? rehearsal->pid : NOBODY);
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
        return "";
    if (messages[length - 1] == '\n')
        messages[length - 1] = '\0';
    const char *before = strrchr(messages, '\n');
    return before ? before + 1 : messages;
}

static void tell_built(struct warming *warming, const struct rehearsal *rehearsal, const json_t *report)
{
    const json_t *programs = json_object_get(report, "programs");
    for (size_t i = 0; i < json_array_size(programs); i++)
        json_object_set_new(warming->programs, json_string_value(json_array_get(programs, i)), json_true());
    fprintf(warming->out, "%-18s %6.2f s  %s\n", rehearsal->stage->name,
            json_number_value(json_object_get(json_object_get(report, "parts"), "build")),
            rehearsal->command);
}

/* The first one tells which device it is. Where it fails, so would the others. */
static enum status tell(struct warming *warming, const struct rehearsal *rehearsal, bool done,
                        struct error *error)
{
    char path[PATH_MAX + 64];
    size_t size;
    bool first = rehearsal == warming->rehearsals;
    name_messages(warming, rehearsal, path, sizeof path);
    char *messages = cache_read(path, &size);
    const char *line = last_line(messages);
    json_t *report = done ? json_loads(line, 0, NULL) : NULL;
    enum status status = STATUS_OK;
    if (report && first)
        fprintf(warming->out, "%s\n%-18s %8s  %s\n", json_string_value(json_object_get(report, "device")),
                "stage", "building", "example");
    if (report) {
        tell_built(warming, rehearsal, report);
    } else if (first) {
        status = fail(error, STATUS_FAILED, "%s", strncmp(line, "climg: ", 7) == 0 ? line + 7 : line);
    } else {
        warming->failed++;
        fprintf(warming->out, "%-18s   failed  %s: %s\n", rehearsal->stage->name, rehearsal->command, line);
    }
    fflush(warming->out);
    json_decref(report);
    free(messages);
    return status;
}

static enum status await_one(struct warming *warming, struct error *error)
{
    int state = 0;
    pid_t pid = waitpid(-1, &state, 0);
    if (atomic_load(&abandoned) || (pid < 0 && errno != EINTR))
        return fail(error, STATUS_FAILED, "waiting for examples: %s", strerror(errno));
    for (size_t i = 0; pid > 0 && i < warming->begun; i++) {
        struct rehearsal *rehearsal = &warming->rehearsals[i];
        if (rehearsal->pid != pid)
            continue;
        atomic_store(child_place(pid), NOBODY);
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
    fprintf(warming->out, "%zu programs, %zu examples: %.1f s\n", json_object_size(warming->programs),
            warming->count, clock_seconds() - start);
    if (warming->failed > 0)
        return fail(error, STATUS_FAILED, "%zu of %zu examples failed", warming->failed, warming->count);
    return STATUS_OK;
}

enum status warm(const struct settings *settings, FILE *out, struct error *error)
{
    struct warming warming = {.out = out, .programs = json_object()};
    ssize_t length = readlink("/proc/self/exe", warming.program, sizeof warming.program - 1);
    enum status status = STATUS_OK;
    if (length < 0 || !warming.programs)
        status = fail(error, STATUS_FAILED, "/proc/self/exe: %s", length < 0 ? strerror(errno) : "no memory");
    if (status == STATUS_OK)
        status = hand_on(&warming, settings, error);
    if (status == STATUS_OK)
        status = list_examples(&warming, error);
    if (status == STATUS_OK)
        status = make_folder(settings, error);
    int most = settings->jobs > 0 ? settings->jobs : workers_available();
    if (status == STATUS_OK)
        status = rehearse_all(&warming, most < WORKERS_MAX ? most : WORKERS_MAX, error);
    warm_abandon();
    for (size_t i = 0; i < warming.option_count; i++)
        free(warming.options[i]);
    free(warming.rehearsals);
    json_decref(warming.programs);
    return status;
}
