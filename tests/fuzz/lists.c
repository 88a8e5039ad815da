/* libFuzzer's target for what a batch reads in addition to images: lists of files (--files-from), through the
 * command line to the jobs that are checked against each other; and the records of --resume. The first byte
 * chooses. */
#include "batch/files.h"
#include "batch/resume.h"
#include "cli/cli.h"
#include "fuzz.h"

enum { RECORD = 1 << 7, NUL = 1 << 0, SHARD = 1 << 1, FORMAT = 1 << 2, IN_PLACE = 1 << 3, FOLDER = 1 << 4 };

static void try_list(int options, const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_SIZE];
    const char *words[12] = {"climg", "--files-from", path, "--invert"};
    const int file = fuzz_file(data, size, path);
    int count = 4;
    if (options & NUL)
        words[count++] = "--null";
    if (options & SHARD)
        words[count++] = "--shard=2/3";
    if (options & FORMAT)
        words[count++] = "--format=png";
    words[count++] = options & IN_PLACE ? "--in-place" : options & FOLDER ? "out/" : "out";

    struct command command = {0};
    struct job_list list = {0};
    struct error error = {.text = ""};
    enum status status = command_parse(count, words, &command, &error);
    if (status == STATUS_OK)
        status = job_list_make(&list, &command, &error);
    if (status != STATUS_OK && !error.text[0])
        abort(); /* what is wrong is said */
    job_list_free(&list);
    command_free(&command);
    close(file);
}

static char folder[] = "/tmp/climg-fuzz-XXXXXX";

static void remove_folder(void)
{
    rmdir(folder);
}

/* In a folder of its own, where the job's output is not. */
static void try_record(const uint8_t *data, size_t size)
{
    char record[64], output[64], input[] = "/dev/null";
    static const char *made;
    if (!made) {
        made = mkdtemp(folder);
        atexit(remove_folder);
    }
    snprintf(record, sizeof record, "%s/.climg-done", folder);
    snprintf(output, sizeof output, "%s/a.png", folder);
    FILE *file = fopen(record, "w");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
    struct job job = {.input = input, .output = output};
    const struct job_list list = {.jobs = &job, .count = 1};
    const struct command command = {.settings = {.resume = true}};
    struct resume resume;
    struct error error;
    if (resume_load(&resume, &command, "climg 1 --invert", &list, &error) == STATUS_OK &&
        resume_finds_done(&resume, &job))
        abort(); /* there is no output */
    resume_free(&resume);
    unlink(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] & RECORD)
        try_record(data + 1, size - 1);
    else if (size > 0)
        try_list(data[0], data + 1, size - 1);
    return 0;
}
