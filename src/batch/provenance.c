#include "batch/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char NAME[] = "climg ";
static const char KEY[] = "Software", SOURCE_KEY[] = "Source Software";

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
        settings_print_effects(file, settings, chain->count > 0);
        if (fclose(file) == 0)
            return text;
    }
    free(text);
    fail(error, STATUS_FAILED, "out of memory for the description of the chain");
    return NULL;
}

enum status provenance_put(const char *provenance, struct metadata *metadata, struct error *error)
{
    const char *before = metadata_text(metadata, KEY);
    enum status status = STATUS_OK;
    if (before && strncmp(before, NAME, strlen(NAME)) != 0 && !metadata_text(metadata, SOURCE_KEY))
        status = metadata_set_text(metadata, SOURCE_KEY, before, strlen(before), error);
    if (status == STATUS_OK)
        status = metadata_set_text(metadata, KEY, provenance, strlen(provenance), error);
    return status;
}

/* Behind "climg 0.1.0"; NULL where something else made the file. */
static const char *work_of(const char *software)
{
    if (strncmp(software, NAME, strlen(NAME)) != 0)
        return NULL;
    return software + strlen(NAME) + strcspn(software + strlen(NAME), " ");
}

bool provenance_matches(const char *software, const char *provenance)
{
    const char *made = work_of(software), *wanted = work_of(provenance);
    return made && wanted && strcmp(made, wanted) == 0;
}
