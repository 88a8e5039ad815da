/* libFuzzer's target for command lines: lines are words. Parsing opens no file and ends in one of three ways.
 */
#include "cli/cli.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 64, MAX_TEXT = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[MAX_TEXT + 1];
    const char *words[MAX_WORDS + 1] = {"climg"};
    int count = 1;
    if (size > MAX_TEXT)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *word = strtok(text, "\n"); word && count < MAX_WORDS; word = strtok(NULL, "\n"))
        words[count++] = word;

    struct command command = {0};
    struct error error = {.text = ""};
    enum status status = command_parse(count, words, &command, &error);
    if (status != STATUS_OK && (status != STATUS_USAGE || !error.text[0]))
        abort(); /* what is wrong with a command line is a usage error that says so */
    command_free(&command);
    return 0;
}
