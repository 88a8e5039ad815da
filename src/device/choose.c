/* Lists the OpenCL devices, chooses one by name or by expected time, and prints --list-devices.
 *
 *     device_select_drivers   selects the drivers to load (drivers.c), before the first OpenCL call
 *     find_devices            reads the properties of all devices of these drivers
 *     match_device            resolves "auto", a number, "gpu", "cpu" or a part of a name
 *
 * "auto" compares the expected time of the whole command on each device (cost_total). A GPU's driver takes
 * a third of a second to start (H200), so small commands run on the CPU and do not even load that driver:
 * --invert of a 64² PNG takes 0.05 s instead of 0.34. */
#include "device/choose.h"

#include "base/confine.h"
#include "base/json.h"
#include "base/text.h"
#include "base/threads.h"
#include "device/cache.h"
#include "device/drivers.h"
#include "device/pocl.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLATFORMS = 16 };

/* All devices, by their number in --list-devices. 77 kB, on the stack. */
struct device_table {
    struct device entries[MAX_DEVICES];
    int count;
};

/* Settings of the command. Set by device_select_drivers, read afterwards by any thread. */
static struct {
    bool allows_failed;   /* --force or --selftest: also use devices that failed --selftest */
    bool verbose;         /* -v without -q */
    bool quiet;           /* -q */
    bool cpu_only;        /* only the CPU's driver is loaded */
    bool has_work;        /* `work` is known */
    struct workload work; /* the command's work */
} startup;

/* ---------------------------------------------------------------- the cost model: a start, time per sample,
 * and time per byte, by class of device. docs/performance.md compares its choices with measured times. */

/* Measured with 4096² RGB on 16 cores (PoCL 5.0) and an H200 with PCI Express. For GPUs with their own memory
 * a compute unit is half as fast as the H200's, since most have less memory bandwidth per unit. GPUs that
 * share the host's memory are estimated: 24 units with 40 GB/s in total, and no transfer. */
static const struct {
    double start;       /* seconds to start the driver and to close it at the end */
    double unit_sample; /* seconds of one compute unit for one sample of --blur 2 */
    double byte;        /* seconds to transfer a byte between host and device */
} cost_table[] = {
    [COST_CPU] = {0.05, 5.4e-9, 0},
    [COST_GPU] = {0.35, 1e-9, 1 / 12e9},
    [COST_GPU_SHARED] = {0.35, 5e-9, 0},
};

/* Seconds to read or write a byte of a file: 20000² RGB TIFF takes 0.5 s on 16 cores. */
static const double FILE_BYTE = 0.2e-9;

/* Conversion between samples and floats takes half the time of --blur 2. On a CPU device, kernels and codecs
 * use the same processors, so their times add up. A GPU computes while files are read and written. */
double cost_total(enum cost_class class, unsigned units, const struct workload *work)
{
    const double samples = work->stage_samples + work->file_samples / 2;
    const double device =
        samples * cost_table[class].unit_sample / fmax(units, 1) + work->file_bytes * cost_table[class].byte;
    const double files = work->file_bytes * FILE_BYTE;
    return cost_table[class].start + (class == COST_CPU ? device + files : fmax(device, files));
}

bool cost_is_below_gpu_start(unsigned processors, const struct workload *work)
{
    return cost_total(COST_CPU, processors, work) < cost_table[COST_GPU].start;
}

/* ---------------------------------------------------------------- devices */

/* Reads a text property; "" if that fails. */
static void device_text(cl_device_id id, cl_device_info what, char *text, size_t size)
{
    text[0] = '\0';
    clGetDeviceInfo(id, what, size - 1, text, NULL);
    text[size - 1] = '\0';
}

/* Reads a number; 0 if that fails. */
static cl_ulong device_number(cl_device_id id, cl_device_info what)
{
    cl_ulong value = 0; /* little-endian: a shorter result leaves the upper bytes zero */
    clGetDeviceInfo(id, what, sizeof value, &value, NULL);
    return value;
}

/* Smallest CL_DEVICE_LOCAL_MEM_SIZE of OpenCL 1.2, in bytes. */
enum { MIN_LOCAL_MEMORY = 32 << 10 };

/* Reads the properties of a device, and applies CLIMG_CLASS and CLIMG_OWN_MEMORY. */
static void read_properties(struct device *device, const struct environment *environment,
                            cl_platform_id platform, cl_device_id id)
{
    *device = (struct device){.environment = environment, .platform = platform, .id = id};
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof device->platform_name - 1, device->platform_name,
                      NULL);
    device_text(id, CL_DEVICE_NAME, device->name, sizeof device->name);
    if (!device->name[0])
        snprintf(device->name, sizeof device->name, "device without a name");
    device_text(id, CL_DEVICE_VERSION, device->version, sizeof device->version);
    device_text(id, CL_DRIVER_VERSION, device->driver, sizeof device->driver);
    device->type = device_number(id, CL_DEVICE_TYPE);
    device->simulator = strcasestr(device->name, "oclgrind") || strcasestr(device->platform_name, "oclgrind");
    device->variant = (device->type & CL_DEVICE_TYPE_CPU) != 0 ? VARIANT_CPU : VARIANT_GPU;
    if (environment->device_class != CLASS_VARIABLE_ABSENT)
        device->variant = environment->device_class == CLASS_VARIABLE_CPU ? VARIANT_CPU : VARIANT_GPU;
    device->shares_memory = !environment->own_memory && (device->type & CL_DEVICE_TYPE_CPU ||
                                                         device_number(id, CL_DEVICE_HOST_UNIFIED_MEMORY));
    device->has_images = device_number(id, CL_DEVICE_IMAGE_SUPPORT);
    device->image_width = device_number(id, CL_DEVICE_IMAGE2D_MAX_WIDTH);
    device->image_height = device_number(id, CL_DEVICE_IMAGE2D_MAX_HEIGHT);
    device->image_layers = device_number(id, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE);
    device->group_size = device_number(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    device->compute_units = (cl_uint)device_number(id, CL_DEVICE_MAX_COMPUTE_UNITS);
    device->memory = device_number(id, CL_DEVICE_GLOBAL_MEM_SIZE);
    device->max_allocation = device_number(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    device->fp_config = device_number(id, CL_DEVICE_SINGLE_FP_CONFIG);
    /* If the query failed, assume what exact.h needs: a device without it then rejects the build options,
     * instead of computing other bits. */
    if (device->fp_config == 0 && !device->simulator)
        device->fp_config = CL_FP_FMA | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    device->constant_memory = device_number(id, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE);
    device->local_memory = device_number(id, CL_DEVICE_LOCAL_MEM_SIZE);
    /* If a query failed, assume the least that every device has. */
    if (device->group_size == 0)
        device->group_size = 1;
    if (device->compute_units == 0)
        device->compute_units = 1;
    if (device->local_memory == 0)
        device->local_memory = MIN_LOCAL_MEMORY;
}

/* Kinds of devices, the best one last. */
enum device_rank { RANK_SIMULATOR, RANK_ACCELERATOR, RANK_CPU, RANK_GPU };

static enum device_rank device_rank(const struct device *device)
{
    if (device->simulator)
        return RANK_SIMULATOR;
    if (device->type & CL_DEVICE_TYPE_GPU)
        return RANK_GPU;
    return (device->type & CL_DEVICE_TYPE_CPU) ? RANK_CPU : RANK_ACCELERATOR;
}

/* Adds the available devices of a platform that have a compiler. */
static void add_platform(struct device_table *table, const struct environment *environment,
                         cl_platform_id platform)
{
    cl_device_id ids[MAX_DEVICES];
    cl_uint found = 0;
    for (int i = 0; i < table->count; i++)
        if (table->entries[i].platform == platform)
            return; /* a loader lists a platform twice if two .icd files name its library */
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &found) != CL_SUCCESS)
        return;
    for (cl_uint i = 0; i < found && i < MAX_DEVICES && table->count < MAX_DEVICES; i++) {
        struct device *device = &table->entries[table->count];
        read_properties(device, environment, platform, ids[i]);
        table->count += device->type != 0 /* 0: the query failed */ &&
                        device_number(ids[i], CL_DEVICE_AVAILABLE) &&
                        device_number(ids[i], CL_DEVICE_COMPILER_AVAILABLE);
    }
}

/* True if the name is empty or "auto". */
static bool is_automatic(const char *name)
{
    return !*name || strcasecmp(name, "auto") == 0;
}

/* Returns the index of the first device of the best kind, or -1. Only devices in `allowed` count, unless
 * that is NULL. */
static int best_index(const struct device_table *table, const bool *allowed)
{
    int best = -1;
    for (int i = 0; i < table->count; i++)
        if ((!allowed || allowed[i]) &&
            (best < 0 || device_rank(&table->entries[i]) > device_rank(&table->entries[best])))
            best = i;
    return best;
}

/* Returns the expected seconds of the command on the device. */
static double device_cost(const struct device *device)
{
    const enum cost_class class = (device->type & CL_DEVICE_TYPE_CPU) ? COST_CPU
                                  : device->shares_memory             ? COST_GPU_SHARED
                                                                      : COST_GPU;
    return cost_total(class, device->compute_units, &startup.work);
}

/* Returns the device's name for a message. */
static const char *short_name(const struct device *device)
{
    return (device->type & CL_DEVICE_TYPE_CPU) != 0 ? "the CPU" : device->name;
}

/* Sets allowed[i] for the devices that "auto" may use: those that did not fail --selftest. If all failed, all
 * are allowed, and opening one reports the failure. Returns the index of the first device that is not
 * allowed, for a message, or -1. A single device is always allowed, so its selftest result is not read. */
static int find_allowed(const struct device_table *table, bool allowed[MAX_DEVICES])
{
    int skipped = -1, count = 0;
    for (int i = 0; i < table->count; i++) {
        struct selftest_result result = {.known = false};
        if (!startup.allows_failed && table->count > 1)
            selftest_result_load(&table->entries[i], &result);
        allowed[i] = !result.known || result.passed;
        count += allowed[i];
        if (!allowed[i] && skipped < 0)
            skipped = i;
    }
    for (int i = 0; count == 0 && i < table->count; i++)
        allowed[i] = true;
    return count == 0 ? -1 : skipped;
}

/* Returns the index of the allowed CPU or GPU that is expected to finish first, except `other`; or -1. */
static int fastest_index(const struct device_table *table, const bool *allowed, int other)
{
    int first = -1;
    for (int i = 0; i < table->count; i++)
        if (allowed[i] && i != other && device_rank(&table->entries[i]) >= RANK_CPU &&
            (first < 0 || device_cost(&table->entries[i]) < device_cost(&table->entries[first])))
            first = i;
    return first;
}

/* Returns the index of the device for "auto", or -1 if the table is empty: the fastest one. If the work is
 * unknown, or if there is no CPU or GPU, it is the first allowed device of the best kind. */
static int choose_automatically(const struct device_table *table)
{
    bool allowed[MAX_DEVICES];
    if (table->count <= 1)
        return table->count - 1;
    const int skipped = find_allowed(table, allowed);
    if (skipped >= 0 && !startup.quiet)
        fprintf(stderr, "climg: %s is left out, as it gave wrong answers in --selftest\n",
                table->entries[skipped].name);
    const int first = startup.has_work ? fastest_index(table, allowed, -1) : -1;
    const int second = first >= 0 ? fastest_index(table, allowed, first) : -1;
    if (startup.verbose && second >= 0)
        fprintf(stderr, "climg: on %s: about %.2f s; on %s %.2f s\n", short_name(&table->entries[first]),
                device_cost(&table->entries[first]), short_name(&table->entries[second]),
                device_cost(&table->entries[second]));
    return first >= 0 ? first : best_index(table, allowed);
}

/* Returns the index of the best device that `name` names, or -1. */
static int match_device(const struct device_table *table, const char *name)
{
    if (is_automatic(name))
        return choose_automatically(table);
    if (isdigit((unsigned char)name[0]) && name[strspn(name, "0123456789")] == '\0') {
        const long number = strtol(name, NULL, 10);
        if (number < MAX_DEVICES) /* else it is a part of a name: 3080 */
            return number < table->count ? (int)number : -1;
    }
    bool gpu = strcasecmp(name, "gpu") == 0, cpu = strcasecmp(name, "cpu") == 0, fits[MAX_DEVICES];
    for (int i = 0; i < table->count; i++) {
        const struct device *device = &table->entries[i];
        fits[i] = gpu   ? (device->type & CL_DEVICE_TYPE_GPU) != 0
                  : cpu ? (device->type & CL_DEVICE_TYPE_CPU) != 0
                        : strcasestr(device->name, name) || strcasestr(device->platform_name, name) ||
                              strcasestr(device->version, name); /* "OpenCL 3.0 PoCL HSTR: ..." */
    }
    return best_index(table, fits);
}

/* Finds all devices of the loaded drivers, in the order of their numbers. */
static enum status find_devices(struct device_table *table, const struct environment *environment,
                                struct error *error)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint found = 0;
    table->count = 0;
    errno = 0;
    dlerror(); /* clears earlier errors */
    cl_int code = clGetPlatformIDs(MAX_PLATFORMS, platforms, &found);
    const int cause = errno;
    const char *failure = dlerror();
    char loading[1024] = ""; /* a copy, as drivers_check may call dlopen */
    if (failure)
        snprintf(loading, sizeof loading, "%s", failure);

    /* Without this check "auto" would silently use another device if a driver cannot start. */
    if (confine_is_on() && !startup.cpu_only && drivers_check(environment, error) != STATUS_OK)
        return STATUS_FAILED;

    /* clGetPlatformIDs does not return why there is no platform, so the message is based on errno or the last
     * error of dlopen. */
    const bool is_missing = code != CL_SUCCESS || found == 0;
    if (is_missing && (cause == EMFILE || cause == ENFILE))
        return fail(error, STATUS_FAILED, "cannot open the OpenCL driver: %s; raise the limit (ulimit -n)",
                    strerror(cause));
    if (is_missing && failure)
        return fail(
            error, STATUS_FAILED,
            "cannot load the OpenCL driver: %s; check that it is installed and that `clinfo -l` lists it%s",
            loading, strstr(loading, "failed to map") ? ", or allow climg more memory (ulimit -v)" : "");
    if (is_missing)
        return fail(error, STATUS_FAILED,
                    "no OpenCL platform found; install a driver (such as pocl-opencl-icd for the CPU) and "
                    "check that `clinfo -l` lists it");
    for (cl_uint i = 0; i < found && i < MAX_PLATFORMS; i++)
        add_platform(table, environment, platforms[i]);
    if (table->count == 0)
        return fail(
            error, STATUS_FAILED, "no usable OpenCL device found; %s",
            pocl_cache_is_missing()
                ? "PoCL needs a folder for what it compiles: neither XDG_CACHE_HOME or HOME nor TMPDIR "
                  "can be written, or their disks are full"
                : "check that `clinfo -l` lists one and that its compiler is there");
    return STATUS_OK;
}

static const char gpu_advice[] = "a GPU needs its OpenCL driver: nvidia-opencl-icd, intel-opencl-icd or "
                                 "mesa-opencl-icd on Debian and Ubuntu, ROCm for AMD";

/* Fails: no device has this name. */
static enum status fail_no_device(const char *name, struct error *error)
{
    return fail(error, STATUS_FAILED, "no OpenCL device fits \"%s\"; %s", name,
                strcasecmp(name, "gpu") == 0 ? gpu_advice : "see --list-devices");
}

bool device_needs_workload(const struct settings *settings)
{
    struct drivers drivers;
    drivers_find(&settings->environment, &drivers);
    return drivers.count > 1;
}

void device_select_drivers(const struct settings *settings, const struct workload *work)
{
    struct drivers drivers;
    startup.allows_failed = settings->force || settings->selftest;
    startup.quiet = settings->quiet;
    startup.verbose = settings->verbose;
    startup.has_work = work;
    startup.work = work ? *work : (struct workload){0};

    /* Load all drivers for commands that need all devices, and if only one is installed. */
    if (settings->list_devices || settings->warm || settings->verify.device)
        return;
    drivers_find(&settings->environment, &drivers);
    if (drivers.count <= 1 || !drivers.cpu[0])
        return;

    /* Load only the CPU's driver if the command runs on the CPU regardless of other devices. "auto" needs the
     * others if the CPU failed --selftest. */
    const bool is_for_cpu = strcasecmp(settings->device, "cpu") == 0 ||
                            (is_automatic(settings->device) && startup.has_work &&
                             cost_is_below_gpu_start((unsigned)processors_available(), &startup.work) &&
                             (startup.allows_failed || !selftest_failed_on_cpu(&settings->environment)));
    startup.cpu_only = is_for_cpu && drivers_load_only(drivers.cpu);
    if (startup.cpu_only && startup.verbose)
        fprintf(stderr, "climg: only the CPU's OpenCL driver is loaded, %s; --list-devices loads all\n",
                drivers.cpu);
}

enum status device_choose(const char *name, const struct environment *environment, struct device *device,
                          struct error *error)
{
    struct device_table table;
    memset(device, 0, sizeof *device);
    if (find_devices(&table, environment, error) != STATUS_OK)
        return STATUS_FAILED;
    const int index = match_device(&table, name);
    if (index < 0)
        return fail_no_device(name, error);
    *device = table.entries[index];
    if (startup.verbose && !device_is_exact(device))
        fprintf(stderr, "climg: %s: results may differ from those of other devices in the last bit\n",
                device->name);
    return STATUS_OK;
}

enum status device_resolve_list(const char *name, const struct environment *environment,
                                int numbers[MAX_DEVICES], int *count, struct error *error)
{
    struct device_table table;
    *count = 0;
    if (find_devices(&table, environment, error) != STATUS_OK)
        return STATUS_FAILED;
    if (strcasecmp(name, "all") == 0) {
        for (int i = 0; i < table.count; i++)
            if (device_rank(&table.entries[i]) == device_rank(&table.entries[best_index(&table, NULL)]))
                numbers[(*count)++] = i;
        return STATUS_OK;
    }
    /* Try the whole name first: a device's name may contain a comma. */
    const int whole = match_device(&table, name);
    if (whole >= 0) {
        numbers[(*count)++] = whole;
        return STATUS_OK;
    }
    /* Resolve the names between commas, in their order. */
    char one[256]; /* bytes: device names are not longer */
    struct word word;
    for (const char *cursor = name; text_next_word(&cursor, ',', &word);) {
        if (word.length == 0)
            return fail(error, STATUS_USAGE, "--device %s: an empty name is in it", name);
        snprintf(one, sizeof one, "%.*s", (int)word.length, word.start);
        const int index = match_device(&table, one);
        if (index < 0)
            return fail_no_device(one, error);
        for (int i = 0; i < *count; i++)
            if (numbers[i] == index)
                return fail(error, STATUS_USAGE, "--device %s: device %d is in it twice", name, index);
        numbers[(*count)++] = index;
    }
    return STATUS_OK;
}

/* Returns the kind of device for --list-devices. */
static const char *rank_name(const struct device *device)
{
    static const char *const names[] = {"simulator", "accelerator", "CPU", "GPU"};
    return names[device_rank(device)];
}

/* Returns the reason why "auto" uses the device. */
static const char *auto_reason(const struct device_table *table, const struct device *device)
{
    return table->count == 1                   ? "it is the only one"
           : device->simulator                 ? "no other device may be used"
           : device->type & CL_DEVICE_TYPE_GPU ? "the first GPU; small jobs may run on the CPU"
                                               : "no usable GPU is there";
}

/* Prints one device of --list-devices. `automatic` is the index of the device that "auto" uses. */
static void print_device(FILE *out, const struct device_table *table, int index, int automatic)
{
    const struct device *device = &table->entries[index];
    struct selftest_result result;
    selftest_result_load(device, &result);
    fprintf(out, "%d: %s\n", index, device->name);
    fprintf(out, "   %s, %u compute units; %s; %s, driver %s\n", rank_name(device), device->compute_units,
            device->platform_name, device->version, device->driver);
    fprintf(out, "   memory %.1f GiB, one allocation %.1f GiB", (double)device->memory / (1 << 30),
            (double)device->max_allocation / (1 << 30));
    if (device->has_images)
        fprintf(out, "; images up to %zux%zu\n", device->image_width, device->image_height);
    else
        fputs("; no images (--memory buffer only)\n", out);
    if (!device_is_exact(device))
        fputs("   results may differ from those of other devices in the last bit\n", out);
    if (!result.known)
        fputs("   --selftest (optional) was not run with this driver\n", out);
    else if (result.passed)
        fprintf(out, "   --selftest passed on %s, largest error %.1e\n", result.date, result.error);
    else
        fprintf(out, "   --selftest failed on %s (%s off by %.1e): not used without --force\n", result.date,
                result.stage, result.error);
    if (index == automatic)
        fprintf(out, "   --device auto uses this one: %s\n", auto_reason(table, device));
}

/* Writes one device of --list-devices=json: the limits of print_device and a few more, in bytes. */
static void put_device(struct json_writer *out, const struct device_table *table, int index, int automatic)
{
    const struct device *device = &table->entries[index];
    struct selftest_result result;
    selftest_result_load(device, &result);
    json_begin(out, NULL, '{');
    json_put_integer(out, "number", index);
    json_put_string(out, "name", device->name);
    json_put_string(out, "kind", rank_name(device));
    json_put_integer(out, "compute_units", device->compute_units);
    json_put_string(out, "platform", device->platform_name);
    json_put_string(out, "version", device->version);
    json_put_string(out, "driver", device->driver);
    json_put_integer(out, "memory", (long long)device->memory);
    json_put_integer(out, "allocation", (long long)device->max_allocation);
    json_put_integer(out, "local_memory", (long long)device->local_memory);
    json_put_integer(out, "group_size", (long long)device->group_size);
    if (json_begin_optional(out, "images", '[', device->has_images)) {
        json_put_integer(out, NULL, (long long)device->image_width);
        json_put_integer(out, NULL, (long long)device->image_height);
        json_end(out, ']');
    }
    json_put_boolean(out, "exact", device_is_exact(device));
    if (json_begin_optional(out, "selftest", '{', result.known)) {
        json_put_boolean(out, "passed", result.passed);
        json_put_string(out, "date", result.date);
        json_end(out, '}');
    }
    json_put_string(out, "auto", index == automatic ? auto_reason(table, device) : NULL);
    json_end(out, '}');
    fputc('\n', out->out);
}

enum status device_list(const struct environment *environment, bool json, FILE *out, struct error *error)
{
    struct device_table table;
    struct json_writer writer = {.out = out};
    bool allowed[MAX_DEVICES], has_gpu = false;
    if (find_devices(&table, environment, error) != STATUS_OK)
        return STATUS_FAILED;
    find_allowed(&table, allowed);
    const int automatic = best_index(&table, allowed);
    if (json)
        json_begin(&writer, NULL, '[');
    for (int i = 0; i < table.count; i++) {
        has_gpu = has_gpu || device_rank(&table.entries[i]) == RANK_GPU;
        if (json)
            put_device(&writer, &table, i, automatic);
        else
            print_device(out, &table, i, automatic);
    }
    if (json) {
        json_end(&writer, ']');
        fputc('\n', out);
    } else if (!has_gpu) {
        fprintf(out, "no GPU: %s\n", gpu_advice);
    }
    return STATUS_OK;
}
