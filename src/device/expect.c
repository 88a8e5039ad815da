#include "device/expect.h"

#include "device/kept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char START[] = "start";

/* Of that part, `fresh` where it was not there; NULL: there is no room. */
static double *entry(struct workload *work, const char *name, double fresh)
{
    int i = 0;
    while (i < work->count && strcmp(work->parts[i].name, name) != 0)
        i++;
    if (i == WORK_PARTS || strlen(name) >= sizeof work->parts[i].name)
        return NULL;
    if (i == work->count) {
        strcpy(work->parts[i].name, name);
        work->parts[i].amount = fresh;
        work->count++;
    }
    return &work->parts[i].amount;
}

void workload_add(struct workload *work, const char *name, double amount)
{
    double *there = entry(work, name, 0);
    if (there)
        *there += amount;
}

/* ---------------------------------------------------------------- what is remembered: seconds of the start,
 * and for a unit of each part's amount, in a struct workload of its own */

/* Where nothing is known: of `--blur 2` on an H200 and on 16 cores, with PCI Express of 12 GB/s. */
static double usual(const struct device *device, const char *name)
{
    const bool cpu = (device->type & CL_DEVICE_TYPE_CPU) != 0;
    const double units = fmin(fmax(device->units, 1), 1024);
    if (strcmp(name, START) == 0)
        return cpu ? 0.03 : 0.25;
    if (strcmp(name, WORK_COPIES) == 0)
        return cpu ? 0 : 1 / 12e9;
    const double pass = (cpu ? 4e-9 : 1e-9) / units;
    return strcmp(name, WORK_ENDS) == 0 ? pass / 2 : pass;
}

static double look_up(struct workload *times, const struct device *device, const char *name)
{
    const double *known = entry(times, name, usual(device, name));
    return known ? *known : usual(device, name);
}

/* PoCL's device has the same name on any number of cores. */
enum { ABOUT_SIZE = 32 };

static void name_memory(const struct device *device, char about[ABOUT_SIZE])
{
    snprintf(about, ABOUT_SIZE, "times-%u", device->units);
}

/* Lines of a name and seconds. Nothing of a file that has another line. */
static void recall(const struct device *device, struct workload *times)
{
    char about[ABOUT_SIZE], name[32];
    double seconds;
    size_t size;
    int length = 0;
    name_memory(device, about);
    char *text = memo_load(device, about, &size);
    const char *line = text ? text : "";
    *times = (struct workload){.count = 0};
    for (; sscanf(line, "%31s %lf%n", name, &seconds, &length) == 2 && line[length] == '\n' && seconds >= 0 &&
           seconds < 1e3;
         line += length + 1)
        workload_add(times, name, seconds);
    if (*line)
        times->count = 0;
    free(text);
}

static void remember(const struct device *device, const struct workload *times)
{
    char about[ABOUT_SIZE], text[WORK_PARTS * 64] = "";
    struct error ignored;
    int length = 0;
    name_memory(device, about);
    for (int i = 0; i < times->count; i++)
        length += sprintf(text + length, "%s %.3e\n", times->parts[i].name, times->parts[i].amount);
    memo_save(device, about, text, (size_t)length, &ignored);
}

/* ---------------------------------------------------------------- expecting and learning */

/* The host reads and writes meanwhile, 0.2 ns a byte or more: 20000x20000 RGB took 0.5 s of TIFF on 16 cores.
 * What the device does in that time costs nothing. */
static const double READ_AND_WRITE = 0.2e-9;

struct expected expect(const struct device *device, const struct workload *work)
{
    struct workload times;
    double busy = 0, files = 0;
    recall(device, &times);
    for (int i = 0; i < work->count; i++) {
        busy += work->parts[i].amount * look_up(&times, device, work->parts[i].name);
        if (strcmp(work->parts[i].name, WORK_COPIES) == 0)
            files += work->parts[i].amount * READ_AND_WRITE;
    }
    const double start = look_up(&times, device, START);
    return (struct expected){.start = start, .end = start + fmax(busy, files)};
}

/* Halfway to what was measured, which counts as at most four times what was expected and at least a quarter:
 * a machine that was busy once, or a GPU that was asleep, is forgotten after a few runs. */
static bool learn(struct workload *times, const struct device *device, const char *name, double measured)
{
    double *known = entry(times, name, usual(device, name));
    if (known)
        *known = (*known + fmin(fmax(measured, *known / 4), 4 * *known)) / 2;
    return known;
}

/* Of the launches on behalf of a stage, or before the first and behind the last one: their names are in
 * brackets. False: there were none, as another way led to the output. */
static bool sum_up(const struct profile *profile, const char *name, double *seconds)
{
    const bool ends = strcmp(name, WORK_ENDS) == 0, copies = strcmp(name, WORK_COPIES) == 0;
    bool found = ends || copies;
    *seconds = copies ? profile->upload_seconds + profile->download_seconds : 0;
    for (size_t i = 0; i < profile->sum_count; i++) {
        const struct profile_sum *sum = &profile->sums[i];
        if (!copies && (ends ? sum->owner.name[0] == '(' : strcmp(sum->owner.name, name) == 0)) {
            *seconds += sum->seconds;
            found = true;
        }
    }
    return found;
}

static const double MOST_OF_LAUNCHES = 4e6; /* bytes */

void expect_learn(const struct device *device, const struct workload *work, const struct profile *profile)
{
    struct workload times;
    double bytes = 0, seconds;
    for (int i = 0; i < work->count; i++)
        if (strcmp(work->parts[i].name, WORK_COPIES) == 0)
            bytes = work->parts[i].amount;
    recall(device, &times);
    bool learnt = device->start_seconds > 0 && learn(&times, device, START, device->start_seconds);
    for (int i = 0; profile && bytes > MOST_OF_LAUNCHES && i < work->count; i++)
        if (work->parts[i].amount > 0 && sum_up(profile, work->parts[i].name, &seconds))
            learnt = learn(&times, device, work->parts[i].name, seconds / work->parts[i].amount) || learnt;
    if (learnt)
        remember(device, &times);
}
