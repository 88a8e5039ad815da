#include "device/tuning.h"

#include "base/cache.h"
#include "device/memo.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 4096 /* of a file, which may be anything */ };

/* Rows of 16 vectors, all alike, as a CPU's driver compiles anew for each shape of a group. */
static const struct form usual[] = {[DEVICE_WIDE] = {1, {16, 1}}, [DEVICE_GROUPED] = {1, {32, 4}}};

static struct form preset(const struct device *device, enum memory memory, const struct tunable *tunable)
{
    const struct form *form = &usual[device->class];
    if (tunable && device->class == DEVICE_WIDE)
        form = memory == MEMORY_IMAGE ? &tunable->wide_images : &tunable->wide;
    else if (tunable)
        form = memory == MEMORY_IMAGE ? &tunable->grouped_images : &tunable->grouped;
    return form->outputs > 0 ? *form : usual[device->class];
}

static struct tuned *find(const struct device *device, enum memory memory, const char *kernel)
{
    struct tuned *tuned = device->tuned;
    while (tuned && (tuned->memory != memory || strcmp(tuned->kernel, kernel) != 0))
        tuned = tuned->next;
    return tuned;
}

bool form_has_outputs(const struct device *device, enum memory memory, const struct tunable *tunable)
{
    return preset(device, memory, tunable).outputs > 1;
}

static bool is_possible(const struct device *device, const struct form *form)
{
    int outputs = form->outputs, x = form->group[0], y = form->group[1];
    return outputs >= 1 && outputs <= FORM_MAX_OUTPUTS && (outputs & (outputs - 1)) == 0 && x > 0 && y > 0 &&
           x <= 1024 && y <= 1024 && (size_t)x * (size_t)y <= device->group_size;
}

/* Nothing that a file says may make a launch fail or a result wrong. */
static bool suits(const struct device *device, enum memory memory, const struct tunable *tunable,
                  const struct form *form)
{
    if (form->outputs != 1 && !form_has_outputs(device, memory, tunable))
        return false;
    const int(*group)[2] = tunable->groups;
    while (group && (*group)[0] && ((*group)[0] != form->group[0] || (*group)[1] != form->group[1]))
        group++;
    return is_possible(device, form) && (!group || (*group)[0]);
}

struct form device_form(const struct device *device, enum memory memory, const struct tunable *tunable)
{
    const struct tuned *tuned = tunable ? find(device, memory, tunable->kernel) : NULL;
    if (tuned && suits(device, memory, tunable, &tuned->form))
        return tuned->form;
    struct form form = preset(device, memory, tunable);
    while ((size_t)form.group[0] * (size_t)form.group[1] > device->group_size)
        form.group[form.group[1] > 1] /= 2;
    return form;
}

static enum status keep(struct device *device, enum memory memory, const char *kernel,
                        const struct form *form, struct error *error)
{
    struct tuned *tuned = find(device, memory, kernel);
    if (!tuned) {
        tuned = allocate_zeroed(1, sizeof *tuned, "a tuned kernel", error);
        if (!tuned)
            return STATUS_FAILED;
        snprintf(tuned->kernel, sizeof tuned->kernel, "%s", kernel);
        tuned->memory = memory;
        tuned->next = device->tuned;
        device->tuned = tuned;
    }
    tuned->form = *form;
    return STATUS_OK;
}

enum status tuning_set(struct device *device, enum memory memory, const struct tunable *tunable,
                       const struct form *form, struct error *error)
{
    if (!suits(device, memory, tunable, form))
        return fail(error, STATUS_FAILED, "%s: no form for %s: %d outputs, groups of %dx%d", device->name,
                    tunable->kernel, form->outputs, form->group[0], form->group[1]);
    return keep(device, memory, tunable->kernel, form, error);
}

/* A device has other kernels where CLIMG_CLASS says so. */
static const char *about(const struct device *device)
{
    return device->class == DEVICE_WIDE ? "tuning-wide" : "tuning-grouped";
}

static char *tuning_path(const struct device *device, struct error *error)
{
    const char *named = device->environment->tuning;
    return named ? copy_text(named, error) : memo_path(device, about(device), error);
}

static void read_line(struct device *device, const char *line)
{
    char memory[8], kernel[32], end;
    struct form form;
    struct error ignored = {.text = ""};
    if (sscanf(line, "%7s %31s %d %d %d %c", memory, kernel, &form.outputs, &form.group[0], &form.group[1],
               &end) != 5)
        return;
    bool image = strcmp(memory, "image") == 0;
    if ((image || strcmp(memory, "buffer") == 0) && is_possible(device, &form))
        keep(device, image ? MEMORY_IMAGE : MEMORY_BUFFER, kernel, &form, &ignored);
}

void tuning_load(struct device *device)
{
    struct error ignored = {.text = ""};
    char expected[MEMO_LINE_SIZE], line[MEMO_LINE_SIZE];
    char *path = tuning_path(device, &ignored);
    FILE *file = path ? fopen(path, "r") : NULL;
    memo_header(device, about(device), expected);
    bool named = device->environment->tuning != NULL; /* by somebody who knows what for */
    if (file && fgets(line, sizeof line, file) && (named || strcmp(line, expected) == 0))
        for (int i = 0; i < LINES_MAX && fgets(line, sizeof line, file); i++)
            read_line(device, line);
    if (file)
        fclose(file);
    free(path);
}

enum status tuning_save(const struct device *device, char **path, struct error *error)
{
    char *text = NULL, line[MEMO_LINE_SIZE];
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return fail_memory(error, "out of memory for the tuning file");
    memo_header(device, about(device), line);
    fputs(line, stream);
    for (const struct tuned *tuned = device->tuned; tuned; tuned = tuned->next)
        fprintf(stream, "%s %s %d %d %d\n", tuned->memory == MEMORY_IMAGE ? "image" : "buffer", tuned->kernel,
                tuned->form.outputs, tuned->form.group[0], tuned->form.group[1]);
    fclose(stream);
    *path = tuning_path(device, error);
    enum status status = *path ? cache_write(*path, text, size, error) : STATUS_FAILED;
    free(text);
    if (status != STATUS_OK) {
        free(*path);
        *path = NULL;
    }
    return status;
}

void tuning_free(struct device *device)
{
    while (device->tuned) {
        struct tuned *next = device->tuned->next;
        free(device->tuned);
        device->tuned = next;
    }
}
