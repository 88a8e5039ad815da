/* Builds programs from the embedded kernel texts, and keeps them for all devices of a context.
 *
 *     program_key ─▶ text (source.h) ─▶ climg's cache, or compiler ─▶ compiled_program ─▶ cl_kernel
 *
 * The list of compiled programs is shared. Its lock is held while compiling, so that no two threads compile
 * the same program. Each device has its own kernel objects, since clSetKernelArg is not thread-safe on a
 * shared kernel.
 *
 * For PoCL the text includes kernels/builtins.h instead of clang's opencl-c.h, which has 18,000 lines. Only
 * programs that include edge.h get the border rule as an option; others are compiled once for all rules. */
#include "device/program.h"

#include "base/text.h"
#include "base/threads.h"
#include "base/timing.h"
#include "device/cache.h"
#include "device/compiling.h"
#include "device/event_log.h"
#include "device/pocl.h"
#include "device/source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 16, LOG_SIZE = 4096, NAME_SIZE = 48 };

/* A compiled program, common to all devices of one context (device_share). */
struct compiled_program {
    struct compiled_program *next;
    const char *file;
    char *options;
    int edge; /* border rule (enum edge); -1: the program is the same for all */
    cl_program handle;
};

/* The compiled programs of a context, reference-counted by its devices. */
struct program_store {
    struct launch_serializer serializer; /* has its own lock */

    pthread_mutex_t lock; /* guards everything below; held while compiling */
    int users;            /* number of devices that refer to the store */
    struct compiled_program *compiled;
};

/* A device's own kernel objects of a program: arguments are part of a kernel object. */
struct device_program {
    struct device_program *next;
    struct compiled_program *compiled; /* belongs to the store */
    cl_kernel kernels[MAX_KERNELS];
    char names[MAX_KERNELS][NAME_SIZE]; /* "": no more kernels */
};

/* Copies as much of the compiler's log as fits; compilers put the cause first. Newlines become " | ", as
 * a message is one line. */
static void fetch_log(const struct compiled_program *compiled, const struct device *device, char *log,
                      size_t size)
{
    size_t length = 0;
    char *text = NULL;
    log[0] = '\0';
    clGetProgramBuildInfo(compiled->handle, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &length);
    if (length > 1 && (text = malloc(length)) != NULL &&
        clGetProgramBuildInfo(compiled->handle, device->id, CL_PROGRAM_BUILD_LOG, length, text, NULL) ==
            CL_SUCCESS) {
        size_t used = 0;
        for (const char *c = text; *c && used + 4 < size; c++) {
            if (*c != '\n')
                log[used++] = *c;
            else if (c[1] && c[1] != '\n')
                used += (size_t)snprintf(log + used, size - used, " | ");
        }
        log[used] = '\0';
    }
    free(text);
}

static void compiled_free(struct compiled_program *compiled)
{
    if (compiled->handle)
        clReleaseProgram(compiled->handle);
    free(compiled->options);
    free(compiled);
}

enum status programs_begin(struct device *device, struct error *error)
{
    device->store = allocate_zeroed(1, sizeof *device->store, "the programs", error);
    if (!device->store)
        return STATUS_FAILED;
    pthread_mutex_init(&device->store->lock, NULL);
    serializer_init(&device->store->serializer);
    device->store->users = 1;
    return STATUS_OK;
}

void programs_share(struct device *device)
{
    pthread_mutex_lock(&device->store->lock);
    device->store->users++;
    pthread_mutex_unlock(&device->store->lock);
}

struct launch_serializer *programs_serializer(const struct device *device)
{
    return &device->store->serializer;
}

void programs_free(struct device *device)
{
    /* Release this device's kernels. */
    struct program_store *store = device->store;
    while (device->programs) {
        struct device_program *program = device->programs;
        device->programs = program->next;
        for (int i = 0; i < MAX_KERNELS; i++)
            if (program->kernels[i])
                clReleaseKernel(program->kernels[i]);
        free(program);
    }

    /* The last device of the context frees the store. */
    if (!store)
        return;
    pthread_mutex_lock(&store->lock);
    bool last = --store->users == 0;
    pthread_mutex_unlock(&store->lock);
    if (!last)
        return;
    while (store->compiled) {
        struct compiled_program *next = store->compiled->next;
        compiled_free(store->compiled);
        store->compiled = next;
    }
    serializer_free(&store->serializer);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

/* Returns an embedded text by its name, or NULL. */
static const char *source_text(const char *name)
{
    const struct kernel_source *source = kernel_sources;
    while (source->name && strcmp(source->name, name) != 0)
        source++;
    return source->text;
}

/* Loads the program from the cache, or compiles its text with or without kernels/builtins.h. Sets
 * *is_rejected if the compiler rejects the text. */
static enum status load_or_build(struct compiled_program *compiled, struct device *device, const char *text,
                                 bool builtins, const char *options, bool *is_rejected, struct error *error)
{
    const char *texts[] = {source_text("builtins.h"), text};
    cl_int code;
    compiled->handle = program_cache_load(device, compiled->file, options);
    if (compiled->handle)
        return STATUS_OK;
    compiled->handle = clCreateProgramWithSource(device->context, builtins ? 2 : 1,
                                                 builtins ? texts : texts + 1, NULL, &code);
    if (code != CL_SUCCESS)
        return fail_opencl(error, code, "kernels/%s.cl: no program could be created", compiled->file);
    compiling_begin();
    code = clBuildProgram(compiled->handle, 1, &device->id, options, NULL, NULL);
    compiling_end();
    *is_rejected = code == CL_BUILD_PROGRAM_FAILURE;
    if (code != CL_SUCCESS) {
        char log[LOG_SIZE];
        fetch_log(compiled, device, log, sizeof log);
        fail_opencl(error, code, "kernels/%s.cl does not build on %s (options %s)", compiled->file,
                    device->name, options);
        text_append(error->text, sizeof error->text, ": %s", log);
        return STATUS_FAILED;
    }
    if (device->environment->stores_programs)
        program_cache_save(device, compiled->file, options, compiled->handle);
    return STATUS_OK;
}

/* Loads the program, or compiles it with or without kernels/builtins.h. */
static enum status compile_with(struct compiled_program *compiled, struct device *device, bool builtins,
                                bool *is_rejected, struct error *error)
{
    const char *text = source_text(compiled->file);
    if (!text)
        return fail(error, STATUS_FAILED, "kernels/%s.cl is missing in this build", compiled->file);

    /* Programs that do not include edge.h are the same for all border rules. */
    if (!strstr(text, "\n#line 1 \"edge.h\"\n"))
        compiled->edge = -1;

    /* builtins.h replaces clang's opencl-c.h, so define its include guard. */
    const char *guard = builtins ? " -D_OPENCL_H_" : "";
    char *options = compiled->edge >= 0
                        ? text_print(error, "%s -DEDGE=%d%s", compiled->options, compiled->edge, guard)
                        : text_print(error, "%s%s", compiled->options, guard);
    enum status status = options
                             ? load_or_build(compiled, device, text, builtins, options, is_rejected, error)
                             : STATUS_FAILED;
    free(options);
    return status;
}

/* Adds the time since `start` to the timing, as the time of `count` programs, of which the slowest took
 * `slowest` seconds. */
static void add_build_time(const struct device *device, int count, double slowest, double start)
{
    if (device->event_log && device->event_log->timing)
        timing_add_event(device->event_log->timing, &(struct timing_event){.phase = PHASE_BUILD,
                                                                           .name = "build kernels",
                                                                           .slice = -1,
                                                                           .count = count,
                                                                           .longest = slowest,
                                                                           .begin = start,
                                                                           .end = clock_seconds()});
}

/* Compiles the program of a key. With PoCL, first with kernels/builtins.h; if the compiler rejects the text,
 * without it. If that fails, too, files in PoCL's cache may be damaged, so the next run empties the cache.
 * The caller adds the program to the store. Returns NULL on failure. */
static struct compiled_program *compile_program(struct device *device, const struct program_key *program_key,
                                                struct error *error)
{
    const bool is_pocl = device_is_pocl(device);
    bool is_rejected = false;
    struct compiled_program *compiled = allocate_zeroed(1, sizeof *compiled, "a program", error);
    if (!compiled)
        return NULL;
    compiled->file = program_key->file;
    compiled->edge = program_key->edge;
    compiled->options = copy_text(program_key->options, error);
    enum status status =
        compiled->options ? compile_with(compiled, device, is_pocl, &is_rejected, error) : STATUS_FAILED;
    if (is_pocl && is_rejected) {
        clReleaseProgram(compiled->handle);
        compiled->handle = NULL;
        status = compile_with(compiled, device, false, &is_rejected, error);
    }
    if (status == STATUS_OK)
        return compiled;
    if (is_pocl && compiled->options)
        pocl_cache_invalidate();
    compiled_free(compiled);
    return NULL;
}

void programs_visit(const struct device *device,
                    void (*visit)(void *context, const char *file, const char *options, int edge),
                    void *context)
{
    if (!device->store)
        return;
    pthread_mutex_lock(&device->store->lock);
    for (const struct compiled_program *compiled = device->store->compiled; compiled;
         compiled = compiled->next)
        visit(context, compiled->file, compiled->options, compiled->edge);
    pthread_mutex_unlock(&device->store->lock);
}

/* True if the program was compiled from this key. */
static bool has_key(const struct compiled_program *compiled, const struct program_key *program_key)
{
    return (compiled->edge < 0 || compiled->edge == program_key->edge) &&
           strcmp(compiled->file, program_key->file) == 0 &&
           strcmp(compiled->options, program_key->options) == 0;
}

/* Returns the compiled program for a key, or NULL. Call with the store's lock held. */
static struct compiled_program *find_compiled(const struct program_store *store,
                                              const struct program_key *program_key)
{
    struct compiled_program *compiled = store->compiled;
    while (compiled && !has_key(compiled, program_key))
        compiled = compiled->next;
    return compiled;
}

/* Adds a program to the device, and compiles it unless another device of the context has done so. Returns
 * NULL on failure. */
static struct device_program *program_add(struct device *device, const struct program_key *program_key,
                                          struct error *error)
{
    struct program_store *store = device->store;
    struct device_program *program = allocate_zeroed(1, sizeof *program, "a program", error);
    if (!program)
        return NULL;
    pthread_mutex_lock(&store->lock);
    program->compiled = find_compiled(store, program_key);
    if (!program->compiled) {
        const double start = clock_seconds();
        program->compiled = compile_program(device, program_key, error);
        if (program->compiled) {
            program->compiled->next = store->compiled;
            store->compiled = program->compiled;
            add_build_time(device, 1, clock_seconds() - start, start);
        }
    }
    pthread_mutex_unlock(&store->lock);
    if (!program->compiled) {
        free(program);
        return NULL;
    }
    program->next = device->programs;
    device->programs = program;
    return program;
}

void program_list_add(struct program_list *program_list, const struct program_key *program_key)
{
    const int count = program_list->count;
    for (int i = 0; i < count; i++) {
        const struct program_key *key = &program_list->keys[i];
        if (key->edge == program_key->edge && strcmp(key->file, program_key->file) == 0 &&
            strcmp(key->options, program_key->options) == 0)
            return;
    }
    if (count == MAX_PROGRAM_LIST)
        return;
    program_list->keys[count] = *program_key;
    program_list->keys[count].options = program_list->options[count];
    snprintf(program_list->options[count], OPTIONS_SIZE, "%s", program_key->options);
    program_list->count++;
}

/* A program that is compiled in parallel with others. */
struct build_job {
    struct device *device;
    struct program_key program_key;
    struct compiled_program *compiled; /* result; NULL on failure */
    double seconds;                    /* duration of the compilation */
};

/* Compiles program `index` of an array of jobs. Failures are ignored: program_kernel tries again and reports
 * them. */
static enum status run_build_job(void *context, int index, struct error *error)
{
    struct build_job *job = (struct build_job *)context + index;
    double start = clock_seconds();
    job->compiled = compile_program(job->device, &job->program_key, error);
    job->seconds = clock_seconds() - start;
    return STATUS_OK;
}

void programs_build(struct device *device, const struct program_list *program_list)
{
    struct build_job jobs[MAX_PROGRAM_LIST];
    struct thread_pool workers;
    struct error ignored;
    double slowest = 0, start = clock_seconds();
    int count = 0, built = 0;

    /* Find the programs that are not compiled yet. */
    pthread_mutex_lock(&device->store->lock);
    for (int i = 0; i < program_list->count; i++)
        if (!find_compiled(device->store, &program_list->keys[i]))
            jobs[count++] = (struct build_job){.device = device, .program_key = program_list->keys[i]};

    /* Compile them, on GPUs in parallel. */
    thread_pool_open(&workers, (device->type & CL_DEVICE_TYPE_CPU) || count < 2 ? 1 : count);
    thread_pool_each(&workers, count, run_build_job, jobs, &ignored);
    thread_pool_close(&workers);

    /* Add them to the store. */
    for (int i = 0; i < count; i++) {
        if (!jobs[i].compiled)
            continue;
        jobs[i].compiled->next = device->store->compiled;
        device->store->compiled = jobs[i].compiled;
        slowest = jobs[i].seconds > slowest ? jobs[i].seconds : slowest;
        built++;
    }
    if (built > 0)
        add_build_time(device, built, slowest, start);
    pthread_mutex_unlock(&device->store->lock);
}

enum status program_kernel(struct device *device, const struct program_key *program_key, const char *name,
                           cl_kernel *kernel, struct error *error)
{
    /* Find the program, or add it. */
    struct device_program *program = device->programs;
    while (program && !has_key(program->compiled, program_key))
        program = program->next;
    if (!program)
        program = program_add(device, program_key, error);
    if (!program)
        return STATUS_FAILED;

    /* Find the kernel object, or create it. */
    int i = 0;
    while (i < MAX_KERNELS - 1 && program->names[i][0] && strcmp(program->names[i], name) != 0)
        i++;
    if (program->names[i][0] && strcmp(program->names[i], name) != 0)
        return fail(error, STATUS_FAILED, "kernels/%s.cl has more than %d kernels", program_key->file,
                    MAX_KERNELS);
    if (!program->kernels[i]) {
        cl_int code;
        program->kernels[i] = clCreateKernel(program->compiled->handle, name, &code);
        if (code != CL_SUCCESS) {
            program->kernels[i] = NULL;
            return fail_opencl(error, code, "kernel %s of kernels/%s.cl (options %s)", name,
                               program_key->file, program_key->options);
        }
        snprintf(program->names[i], NAME_SIZE, "%s", name);
    }
    *kernel = program->kernels[i];
    return STATUS_OK;
}
