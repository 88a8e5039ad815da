/* libFuzzer's target for the description of a file: --info as text and as JSON, and what climg adds to
 * Software. The first byte chooses. */
#include "batch/resume.h"
#include "cli/cli.h"
#include "fuzz.h"
#include "image/reader.h"
#include "png_chunks.h"

#include <jansson.h>

enum { CHOICES = 1 };

static void ignore(const struct error *error)
{
    (void)error;
}

static void check_json(const char *text)
{
    json_error_t problem;
    json_t *told = json_loads(text, 0, &problem);
    insist(told != NULL, problem.text);
    json_decref(told);
}

/* Terminals obey C0, DEL and C1, the last as U+0080 to U+009F or, some of them, as single bytes. */
static void check_visible(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        const bool continues = at != (const unsigned char *)text && at[-1] >= 0x80;
        insist(*at == '\n' || (*at >= 0x20 && *at != 0x7f), "a control character is printed");
        insist(*at != 0xc2 || at[1] < 0x80 || at[1] >= 0xa0, "a control character of two bytes is printed");
        insist(*at < 0x80 || *at >= 0xa0 || continues, "a control character of one byte is printed");
    }
}

static void tell(const char *path, bool json, bool upright)
{
    const char *words[] = {"climg", json ? "--info=json" : "--info", path, "--auto-orient"};
    struct command command = {0};
    struct error error = {.text = ""};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    insist(out != NULL && command_parse(upright ? 4 : 3, words, &command, &error) == STATUS_OK, error.text);
    const enum status status = info_write(&command, out, ignore, &error);
    fclose(out);
    insist(status == STATUS_OK || error.text[0] != '\0', "a failure without a word");
    check_visible(text);
    if (json && status == STATUS_OK)
        check_json(text);
    command_free(&command);
    free(text);
}

/* Put once, twice is the same. */
static void put_provenance(const char *path)
{
    static const char made[] = "climg 0.2.0 --blur=2";
    const struct reader_options options = {.page = 1, .max_pixels = 1 << 14, .jobs = 1};
    struct reader *reader = NULL;
    struct error error = {.text = ""};
    struct metadata once, twice;
    if (reader_open(path, &options, &reader, &error) == STATUS_OK) {
        insist(metadata_copy(&once, &reader_info(reader)->metadata, &error) == STATUS_OK &&
                   provenance_put(made, &once, &error) == STATUS_OK &&
                   metadata_copy(&twice, &once, &error) == STATUS_OK &&
                   provenance_put(made, &twice, &error) == STATUS_OK,
               error.text);
        const char *first = metadata_text(&once, "Software"), *second = metadata_text(&twice, "Software");
        insist(first == NULL ? second == NULL : strcmp(first, second) == 0, "it is not put in its own place");
        insist(first == NULL || strcmp(first + strlen(first) - strlen(made), made) == 0, "it is not put");
        metadata_free(&once);
        metadata_free(&twice);
    }
    reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_SIZE];
    if (size < CHOICES)
        return 0;
    const int file = fuzz_file(data + CHOICES, size - CHOICES, path);
    tell(path, data[0] & 1, data[0] & 2);
    put_provenance(path);
    close(file);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    return mutate_file(data, size, room, seed, CHOICES);
}
