#include "device/tuning.h"

#include "base/cache.h"
#include "device/source.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_SIZE = 1280 };

/* A row for every kernel that differs from the first of its class. On an H200 row passes like low groups and
 * column passes narrow ones (each by 3 to 6%). A row pass in images has a work-item walk along x, so its
 * neighbours in the group lie along y, which is as good: textures are stored in tiles. On CPU devices all
 * groups are one shape, as the driver compiles anew for each. */
struct preset {
    const char *kernel;
    struct form form;
};

static const struct preset wide[] = {
    {"", {1, {16, 1}}},
    {"filter_columns", {4, {16, 1}}},
    {"filter_columns_pack", {4, {16, 1}}},
    {"gradient_columns", {4, {16, 1}}},
    {"sharpen_columns", {4, {16, 1}}},
    {"convolve", {4, {16, 1}}},
    {NULL, {0}},
};

static const struct preset wide_images[] = {
    {"", {1, {16, 1}}},
    {"filter_rows", {8, {16, 1}}},
    {"filter_columns", {8, {16, 1}}},
    {"gradient_rows", {8, {16, 1}}},
    {"gradient_columns", {8, {16, 1}}},
    {"sharpen_columns", {8, {16, 1}}},
    {"enlarge", {8, {16, 1}}},
    {"convolve", {4, {16, 1}}},
    {NULL, {0}},
};

static const struct preset grouped[] = {
    {"", {1, {32, 4}}},
    {"filter_rows", {1, {64, 2}}},
    {"filter_columns", {8, {32, 4}}},
    {"filter_both", {4, {64, 2}}},
    {"gradient_rows", {1, {64, 2}}},
    {"gradient_columns", {4, {32, 8}}},
    {"sharpen_columns", {8, {32, 4}}},
    {"enlarge", {8, {32, 4}}},
    {"convolve", {8, {32, 2}}},
    {"forward_columns", {1, {16, 8}}},
    {"forward_rows", {1, {64, 2}}},
    {"inverse_columns", {2, {32, 4}}},
    {"inverse_rows", {1, {64, 2}}},
    {"shrink_energy", {1, {16, 8}}},
    {"shrink", {1, {16, 8}}},
    {NULL, {0}},
};

static const struct preset grouped_images[] = {
    {"", {1, {32, 4}}},
    {"filter_rows", {8, {1, 64}}},
    {"filter_columns", {8, {8, 16}}},
    {"gradient_rows", {8, {1, 64}}},
    {"gradient_columns", {4, {8, 16}}},
    {"sharpen_columns", {8, {8, 16}}},
    {"enlarge", {8, {1, 64}}},
    {"filter_both", {8, {128, 1}}},
    {"convolve", {4, {32, 4}}},
    {"forward_columns", {1, {2, 64}}},
    {"forward_rows", {1, {2, 64}}},
    {"inverse_columns", {2, {2, 64}}},
    {"inverse_rows", {1, {2, 64}}},
    {"shrink_energy", {1, {2, 64}}},
    {"shrink", {1, {2, 64}}},
    {NULL, {0}},
};

static struct form preset_form(const struct device *device, enum memory memory, const char *kernel)
{
    const struct preset *presets = device->class == DEVICE_WIDE ? memory == MEMORY_IMAGE ? wide_images : wide
                                   : memory == MEMORY_IMAGE     ? grouped_images
                                                                : grouped;
    for (const struct preset *preset = presets; preset->kernel; preset++)
        if (strcmp(preset->kernel, kernel) == 0)
            return preset->form;
    return presets[0].form;
}

static struct tuned *find(const struct device *device, enum memory memory, const char *kernel)
{
    struct tuned *tuned = device->tuned;
    while (tuned && (tuned->memory != memory || strcmp(tuned->kernel, kernel) != 0))
        tuned = tuned->next;
    return tuned;
}

struct form device_form(const struct device *device, enum memory memory, const char *kernel)
{
    const struct tuned *tuned = find(device, memory, kernel);
    struct form form = tuned ? tuned->form : preset_form(device, memory, kernel);
    while ((size_t)form.group[0] * (size_t)form.group[1] > device->group_size)
        form.group[form.group[1] > 1] /= 2;
    return form;
}

bool form_has_outputs(const struct device *device, enum memory memory, const char *kernel)
{
    return preset_form(device, memory, kernel).outputs > 1;
}

/* Nothing that a file says may make a launch fail or a result wrong. */
static bool valid(const struct device *device, enum memory memory, const char *kernel,
                  const struct form *form)
{
    int outputs = form->outputs, x = form->group[0], y = form->group[1];
    if (outputs < 1 || outputs > FORM_MAX_OUTPUTS || (outputs & (outputs - 1)) != 0)
        return false;
    if (outputs != 1 && !form_has_outputs(device, memory, kernel))
        return false;
    return x > 0 && y > 0 && x <= 1024 && y <= 1024 && (size_t)x * (size_t)y <= device->group_size;
}

enum status tuning_set(struct device *device, enum memory memory, const char *kernel, const struct form *form,
                       struct error *error)
{
    struct tuned *tuned = find(device, memory, kernel);
    if (!valid(device, memory, kernel, form))
        return fail(error, STATUS_FAILED, "%s: no form for %s: %d outputs, groups of %dx%d", device->name,
                    kernel, form->outputs, form->group[0], form->group[1]);
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

/* FNV-1a, 64 bit. */
static uint64_t add_hash(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static uint64_t kernels_hash(void)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const struct kernel_source *source = kernel_sources; source->name; source++)
        hash = add_hash(hash, source->text);
    return hash;
}

/* The first line of a file: for which device, driver and kernels the rest was measured. */
static void header(const struct device *device, char *line, size_t size)
{
    snprintf(line, size, "climg tuning, %s, %s, %s, %s, kernels %016llx\n", device->platform_name,
             device->name, device->version, device->driver, (unsigned long long)kernels_hash());
}

static char *tuning_path(const struct device *device, struct error *error)
{
    char name[64], line[HEADER_SIZE];
    const struct environment *environment = device->environment;
    if (environment->tuning)
        return copy_text(environment->tuning, error);
    header(device, line, sizeof line);
    snprintf(name, sizeof name, "tuning-%016llx", (unsigned long long)add_hash(0xcbf29ce484222325u, line));
    return cache_path(environment->cache, environment->home, name, error);
}

static void read_line(struct device *device, const char *line)
{
    char memory[8], kernel[32], end;
    struct form form;
    struct error ignored = {""};
    if (sscanf(line, "%7s %31s %d %d %d %c", memory, kernel, &form.outputs, &form.group[0], &form.group[1],
               &end) != 5)
        return;
    bool image = strcmp(memory, "image") == 0;
    if (image || strcmp(memory, "buffer") == 0)
        tuning_set(device, image ? MEMORY_IMAGE : MEMORY_BUFFER, kernel, &form, &ignored);
}

void tuning_load(struct device *device)
{
    struct error ignored = {""};
    char expected[HEADER_SIZE], line[HEADER_SIZE];
    char *path = tuning_path(device, &ignored);
    FILE *file = path ? fopen(path, "r") : NULL;
    header(device, expected, sizeof expected);
    bool named = device->environment->tuning != NULL; /* by somebody who knows what for */
    if (file && fgets(line, sizeof line, file) && (named || strcmp(line, expected) == 0))
        while (fgets(line, sizeof line, file))
            read_line(device, line);
    if (file)
        fclose(file);
    free(path);
}

enum status tuning_save(const struct device *device, char **path, struct error *error)
{
    char *text = NULL, line[HEADER_SIZE];
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return fail(error, STATUS_FAILED, "out of memory for the tuning file");
    header(device, line, sizeof line);
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
