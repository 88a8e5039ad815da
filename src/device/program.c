/* Builds programs from the embedded kernel texts, and keeps them for all devices of a context.
 *
 *     program_key ─▶ program in the store ─▶ climg's cache, or compiler ─▶ cl_program ─▶ cl_kernel
 *
 * The list of programs is shared. Its lock is held while compiling, so that no two threads compile the same
 * program. Each device has its own kernel objects, since clSetKernelArg is not thread-safe on a shared
 * kernel.
 *
 * For PoCL the text includes kernels/builtins.h instead of clang's opencl-c.h, which has 18,000 lines. */
#include "device/program.h"

#include "base/text.h"
#include "base/threads.h"
#include "base/timing.h"
#include "device/cache.h"
#include "device/event_log.h"
#include "device/pocl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_SIZE = 4096, MAX_BUILDS = 16 };

/* A program, common to all devices of one context (device_share). */
struct program {
    struct program *next;
    const struct kernel_source *source;
    char *options;
    cl_program handle; /* NULL: not compiled */
};

/* The programs of a context, which belong to the device that created it. */
struct program_store {
    struct launch_serializer serializer; /* has its own lock */

    pthread_mutex_t lock; /* guards everything below; held while compiling */
    struct program *programs;
};

/* A device's own kernel object: the arguments are part of it. */
struct device_kernel {
    struct device_kernel *next;
    const struct program *program; /* belongs to the store */
    const char *name;              /* a string literal */
    cl_kernel handle;
};

/* Copies as much of the compiler's log as fits; compilers put the cause first. Newlines become " | ", as
 * a message is one line. */
static void fetch_log(cl_program program, const struct device *device, char *log, size_t size)
{
    size_t length = 0;
    char *text = NULL;
    log[0] = '\0';
    clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &length);
    if (length > 1 && (text = malloc(length)) != NULL &&
        clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, length, text, NULL) == CL_SUCCESS) {
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

enum status programs_begin(struct device *device, struct error *error)
{
    device->program_store = allocate_zeroed(1, sizeof *device->program_store, "the programs", error);
    if (!device->program_store)
        return STATUS_FAILED;
    pthread_mutex_init(&device->program_store->lock, NULL);
    serializer_init(&device->program_store->serializer);
    device->owns_programs = true;
    return STATUS_OK;
}

struct launch_serializer *programs_serializer(const struct device *device)
{
    return &device->program_store->serializer;
}

void programs_free(struct device *device)
{
    /* Release this device's kernels. */
    struct program_store *store = device->program_store;
    while (device->kernels) {
        struct device_kernel *kernel = device->kernels;
        device->kernels = kernel->next;
        clReleaseKernel(kernel->handle);
        free(kernel);
    }

    if (!device->owns_programs)
        return;
    while (store->programs) {
        struct program *program = store->programs;
        store->programs = program->next;
        if (program->handle)
            clReleaseProgram(program->handle);
        free(program->options);
        free(program);
    }
    serializer_free(&store->serializer);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

enum status source_find(const char *name, const struct kernel_source **source, struct error *error)
{
    for (*source = kernel_sources; (*source)->name; ++*source)
        if (strcmp((*source)->name, name) == 0)
            return STATUS_OK;
    return fail(error, STATUS_FAILED, "kernels/%s.cl is missing in this build", name);
}

/* Loads the program from the cache, or compiles its text with or without kernels/builtins.h. Sets
 * *is_rejected if the compiler rejects the text. */
static enum status load_or_build(struct program *program, struct device *device, bool builtins,
                                 bool *is_rejected, struct error *error)
{
    const char *file = program->source->name, *texts[] = {program->source->text, NULL};
    const struct kernel_source *header;
    char options[OPTIONS_SIZE + 32];
    cl_int code;
    snprintf(options, sizeof options, "%s", program->options);
    if (builtins) {
        if (source_find("builtins.h", &header, error) != STATUS_OK)
            return STATUS_FAILED;
        texts[1] = texts[0];
        texts[0] = header->text;
        text_append(options, sizeof options, " -D_OPENCL_H_"); /* the include guard of clang's opencl-c.h */
    }
    program->handle = program_cache_load(device, file, options);
    if (program->handle)
        return STATUS_OK;
    cl_program built = clCreateProgramWithSource(device->context, builtins ? 2 : 1, texts, NULL, &code);
    if (code != CL_SUCCESS)
        return fail_opencl(error, code, "kernels/%s.cl: no program could be created", file);
    compiling_begin();
    code = clBuildProgram(built, 1, &device->id, options, NULL, NULL);
    compiling_end();
    *is_rejected = code == CL_BUILD_PROGRAM_FAILURE;
    if (code != CL_SUCCESS) {
        char log[LOG_SIZE];
        fetch_log(built, device, log, sizeof log);
        clReleaseProgram(built);
        fail_opencl(error, code, "kernels/%s.cl does not build on %s (options %s)", file, device->name,
                    options);
        text_append(error->text, sizeof error->text, ": %s", log);
        return STATUS_FAILED;
    }
    program->handle = built;
    if (device->environment->stores_programs)
        program_cache_save(device, file, options, built);
    return STATUS_OK;
}

/* Compiles a program. With PoCL, first with kernels/builtins.h; if the compiler rejects the text, without it.
 * After a failure with PoCL, whose cache may be damaged, the next run empties the cache. */
static enum status program_compile(struct program *program, struct device *device, struct error *error)
{
    const bool is_pocl = device_is_pocl(device);
    bool is_rejected = false;
    enum status status = load_or_build(program, device, is_pocl, &is_rejected, error);
    if (is_pocl && is_rejected)
        status = load_or_build(program, device, false, &is_rejected, error);
    if (is_pocl && status != STATUS_OK)
        pocl_cache_invalidate();
    return status;
}

/* Adds the time since `start` to the timing, as the time of `count` programs. */
static void add_build_time(const struct device *device, int count, double start)
{
    if (device->event_log && device->event_log->timing)
        timing_add_event(device->event_log->timing, &(struct timing_event){.phase = PHASE_BUILD,
                                                                           .name = "build kernels",
                                                                           .slice = -1,
                                                                           .count = count,
                                                                           .begin = start,
                                                                           .end = clock_seconds()});
}

void programs_visit(const struct device *device,
                    void (*visit)(void *context, const char *file, const char *options), void *context)
{
    if (!device->program_store)
        return;
    pthread_mutex_lock(&device->program_store->lock);
    for (const struct program *program = device->program_store->programs; program; program = program->next)
        if (program->handle)
            visit(context, program->source->name, program->options);
    pthread_mutex_unlock(&device->program_store->lock);
}

/* True if the key is the program's. */
static bool has_key(const struct program *program, const struct program_key *key)
{
    return program->source == key->source && strcmp(program->options, key->options) == 0;
}

/* Returns the program of a key, and adds it to the store if necessary. NULL if out of memory. Call with the
 * store's lock held. */
static struct program *store_find_or_add(struct program_store *store, const struct program_key *key,
                                         struct error *error)
{
    struct program *program = store->programs;
    while (program && !has_key(program, key))
        program = program->next;
    if (program)
        return program;
    program = allocate_zeroed(1, sizeof *program, "a program", error);
    char *options = program ? copy_text(key->options, error) : NULL;
    if (!options) {
        free(program);
        return NULL;
    }
    *program = (struct program){store->programs, key->source, options, NULL};
    return store->programs = program;
}

enum status program_add(struct device *device, const struct program_key *program_key, struct error *error)
{
    pthread_mutex_lock(&device->program_store->lock);
    const struct program *program = store_find_or_add(device->program_store, program_key, error);
    pthread_mutex_unlock(&device->program_store->lock);
    return program ? STATUS_OK : STATUS_FAILED;
}

/* A program that is compiled in parallel with others. */
struct build_job {
    struct device *device;
    struct program *program;
};

/* Compiles program `index` of an array of jobs. Failures are ignored: program_kernel tries again and reports
 * them. */
static enum status run_build_job(void *context, int index, struct error *error)
{
    const struct build_job *job = (struct build_job *)context + index;
    program_compile(job->program, job->device, error);
    return STATUS_OK;
}

void programs_build(struct device *device)
{
    struct build_job jobs[MAX_BUILDS];
    struct thread_pool workers;
    struct error ignored;
    const double start = clock_seconds();
    int count = 0, built = 0;
    pthread_mutex_lock(&device->program_store->lock);
    for (struct program *program = device->program_store->programs; program && count < MAX_BUILDS;
         program = program->next)
        if (!program->handle)
            jobs[count++] = (struct build_job){.device = device, .program = program};
    thread_pool_open(&workers, (device->type & CL_DEVICE_TYPE_CPU) || count < 2 ? 1 : count);
    thread_pool_each(&workers, count, run_build_job, jobs, &ignored);
    thread_pool_close(&workers);
    for (int i = 0; i < count; i++)
        built += jobs[i].program->handle != NULL;
    if (built > 0)
        add_build_time(device, built, start);
    pthread_mutex_unlock(&device->program_store->lock);
}

enum status program_kernel(struct device *device, const struct program_key *program_key, const char *name,
                           cl_kernel *kernel, struct error *error)
{
    struct program_store *store = device->program_store;
    struct device_kernel *known = device->kernels;
    while (known && !(strcmp(known->name, name) == 0 && has_key(known->program, program_key)))
        known = known->next;
    if (known) {
        *kernel = known->handle;
        return STATUS_OK;
    }

    /* Find the program, and compile it if necessary. */
    const double start = clock_seconds();
    pthread_mutex_lock(&store->lock);
    struct program *program = store_find_or_add(store, program_key, error);
    if (program && !program->handle && program_compile(program, device, error) == STATUS_OK)
        add_build_time(device, 1, start);
    pthread_mutex_unlock(&store->lock);
    known = program && program->handle ? allocate(sizeof *known, "a kernel", error) : NULL;
    if (!known)
        return STATUS_FAILED;

    /* Create the kernel. */
    cl_int code;
    *kernel = clCreateKernel(program->handle, name, &code);
    if (code != CL_SUCCESS) {
        free(known);
        return fail_opencl(error, code, "kernel %s of kernels/%s.cl (options %s)", name,
                           program->source->name, program->options);
    }
    *known = (struct device_kernel){device->kernels, program, name, *kernel};
    device->kernels = known;
    return STATUS_OK;
}
