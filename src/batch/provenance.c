#include "batch/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char NAME[] = "climg ";
static const char KEY[] = "Software", BETWEEN[] = "; ";

static void print_stage(FILE *file, const struct step *step)
{
    char separator = '=';
    fprintf(file, " --%s", step->stage->name);
    for (const struct option *option = step->stage->options; option->type != OPTION_END; option++) {
        fputc(separator, file);
        if (option->name)
            fprintf(file, "%s=", option->name);
        option_print(file, option, step->params);
        separator = ',';
    }
}

char *provenance_describe(const struct chain *chain, const struct settings *settings, struct error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (file) {
        fprintf(file, "%s%s", NAME, CLIMG_VERSION);
        for (size_t i = 0; i < chain->count; i++)
            print_stage(file, &chain->steps[i]);
        bool complete = settings_print_effects(file, settings, chain->count > 0);
        if (fclose(file) == 0 && complete)
            return text;
    }
    free(text);
    fail(error, STATUS_FAILED, "out of memory for the description of the chain");
    return NULL;
}

/* The part of a Software text that climg wrote: all of it, or what stands behind the maker's; NULL: none. */
static const char *own_part(const char *software)
{
    for (const char *part = software; part; part = strstr(part, BETWEEN)) {
        part += part == software ? 0 : strlen(BETWEEN);
        if (strncmp(part, NAME, strlen(NAME)) == 0)
            return part;
    }
    return NULL;
}

enum status provenance_put(const char *provenance, struct metadata *metadata, struct error *error)
{
    const char *before = metadata_text(metadata, KEY);
    const char *own = before ? own_part(before) : NULL;
    size_t maker = own ? (size_t)(own - before) : before ? strlen(before) : 0;
    size_t size = maker + strlen(BETWEEN) + strlen(provenance);
    char *text = allocate(size + 1, "the description of the chain", error);
    if (!text)
        return STATUS_FAILED;
    snprintf(text, size + 1, "%.*s%s%s", (int)maker, before ? before : "", maker > 0 && !own ? BETWEEN : "",
             provenance);
    enum status status = metadata_set_text(metadata, KEY, text, strlen(text), error);
    free(text);
    return status;
}

/* Behind "climg 0.2.0"; NULL where something else made the file. */
static const char *work_of(const char *software)
{
    const char *own = own_part(software);
    return own ? own + strlen(NAME) + strcspn(own + strlen(NAME), " ") : NULL;
}

bool provenance_matches(const char *software, const char *provenance)
{
    const char *made = work_of(software), *wanted = work_of(provenance);
    return made && wanted && strcmp(made, wanted) == 0;
}
