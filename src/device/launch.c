/* Builds the options of a kernel's program, sets the arguments and enqueues the kernel.
 *
 *     struct kernel_launch ─▶ build options ─▶ program.c: cl_kernel ─▶ arguments ─▶ grid ─▶ enqueue ─▶ event
 *
 * Sizes that kernels use in inner loops are build options (-DTAPS=19), not arguments: with compile-time sizes
 * a 16×16 convolution of 4096² took 25 ms instead of 71 on a Radeon 5870. Each combination of options is a
 * separate program, so values that differ from call to call, such as weights, are arguments or buffers.
 *
 * On CPU devices each work-group size is compiled separately at its first launch (70 to 190 ms with PoCL
 * 3.1), so most kernels use the same size there. */
#include "device/launch.h"

#include "base/timing.h"
#include "device/event_log.h"
#include "device/program.h"

/* Seconds. A longer enqueue is timed as compilation: PoCL generates native code for a work-group size at the
 * first launch. */
static const double COMPILING_ENQUEUE = 5e-3;

int launch_lanes(const struct device *device, enum memory memory, enum vector_width vector_width)
{
    if (memory == MEMORY_IMAGE || vector_width == VECTOR_SCALAR)
        return 1;
    if (device->variant == VARIANT_CPU)
        return CPU_LANES;
    return vector_width == VECTOR_FULL ? GPU_LANES : 1;
}

/* Default launch configurations. */
static const struct launch_config default_configs[] = {
    [VARIANT_CPU] = {1, {16, 1}}, [VARIANT_GPU] = {1, {32, 4}}};

struct launch_config device_launch_config(const struct device *device, enum memory memory,
                                          const struct kernel_configs *kernel_configs)
{
    /* Select the kernel's configuration, or the default. */
    const struct launch_config *selected = &default_configs[device->variant];
    if (kernel_configs && device->variant == VARIANT_CPU)
        selected = memory == MEMORY_IMAGE ? &kernel_configs->cpu_images : &kernel_configs->cpu;
    else if (kernel_configs)
        selected = memory == MEMORY_IMAGE ? &kernel_configs->gpu_images : &kernel_configs->gpu;
    struct launch_config config = selected->outputs > 0 ? *selected : default_configs[device->variant];

    /* Halve the group until the device supports its size: first its rows, then its columns. */
    while ((size_t)config.group[0] * (size_t)config.group[1] > device->group_size) {
        int *side = config.group[1] > 1 ? &config.group[1] : &config.group[0];
        *side /= 2;
    }
    return config;
}

/* Sets the kernel's arguments. Planes are two arguments; their bytes are added to *bytes. */
static cl_int set_arguments(cl_kernel kernel, const struct argument *arguments, size_t count, uint64_t *bytes)
{
    cl_uint index = 0;
    cl_int code = CL_SUCCESS;
    for (size_t i = 0; i < count && code == CL_SUCCESS; i++) {
        const struct argument *argument = &arguments[i];
        switch (argument->kind) {
        case ARGUMENT_VALUE:
        case ARGUMENT_MEMORY:
            code = clSetKernelArg(kernel, index++, argument->size, argument->value);
            break;
        case ARGUMENT_WEIGHTS: {
            const struct weights *weights = argument->value;
            code = clSetKernelArg(kernel, index++, sizeof(cl_mem), &weights->memory);
            break;
        }
        case ARGUMENT_PLANES: {
            const struct planes *planes = argument->value;
            struct geometry geometry = planes_geometry(planes);
            *bytes += planes_bytes(planes);
            code = clSetKernelArg(kernel, index++, sizeof(cl_mem), &planes->object);
            if (code == CL_SUCCESS)
                code = clSetKernelArg(kernel, index++, sizeof geometry, &geometry);
            break;
        }
        }
    }
    return code;
}

/* Rounds up to a multiple of `unit`. */
static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Returns the configuration of the launch, or the default one. */
static struct launch_config work_launch_config(const struct device *device, const struct kernel_launch *work)
{
    return work->config.outputs > 0 ? work->config : device_launch_config(device, work->memory, NULL);
}

/* True if one work-item loops over a whole work-group (NOINLINE in kernels/planes.h). */
static bool loops_over_group(const struct device *device, const struct kernel_launch *work)
{
    return work->calls_noinline && device->variant == VARIANT_CPU && work->memory == MEMORY_BUFFER;
}

/* Computes grid and group, enqueues the kernel and records its event. */
static enum status enqueue_kernel(struct device *device, const struct kernel_launch *work, cl_kernel kernel,
                                  uint64_t bytes, struct error *error)
{
    /* Compute the grid: one work-item per vector, rounded up to whole groups. */
    int lanes = launch_lanes(device, work->memory, work->vector_width);
    struct launch_config config = work_launch_config(device, work);
    struct launch_request request = {.queue = device->queue,
                                     .kernel = kernel,
                                     .name = work->kernel,
                                     .group = {(size_t)config.group[0], (size_t)config.group[1], 1}};
    size_t *group = request.group, *grid = request.grid;
    grid[0] = round_up(((size_t)work->width + (size_t)lanes - 1) / (size_t)lanes, group[0]);
    grid[1] = round_up((size_t)work->height, group[1]);
    grid[2] = (size_t)work->depth;
    if (loops_over_group(device, work)) {
        grid[0] /= group[0];
        group[0] = 1;
    }

    /* Enqueue. Only drivers of CPU devices need the serializer. */
    cl_event event = NULL;
    double since;
    bool is_exclusive;
    clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(cl_program), &request.program, NULL);
    const cl_int code =
        serializer_enqueue((device->type & CL_DEVICE_TYPE_CPU) ? programs_serializer(device) : NULL, &request,
                           &event, &is_exclusive, &since);
    if (code != CL_SUCCESS && event)
        clReleaseEvent(event);
    if (code != CL_SUCCESS)
        return fail_opencl(error, code, "kernel %s over %zux%zux%zu work-items in groups of %zux%zu on %s",
                           work->kernel, grid[0], grid[1], grid[2], group[0], group[1], device->name);

    /* A call that takes long, without the execution of an exclusive launch, has compiled the kernel. */
    cl_ulong start = 0, end = 0; /* on the device's clock */
    if (is_exclusive) {
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    }
    const double seconds = clock_seconds() - since - 1e-9 * (double)(end - start);
    if (seconds > COMPILING_ENQUEUE && device->event_log->timing)
        timing_add(device->event_log->timing, PHASE_BUILD, "build at the first launch", -1,
                   clock_seconds() - seconds);

    return event_log_add(device->event_log, PHASE_STAGES, work->kernel, bytes, event, error);
}

/* Appends text. If it does not fit, only `used` grows, and the launch fails. */
static void launch_append(struct defines *defines, const char *text)
{
    size_t used = defines->used < OPTIONS_SIZE ? defines->used : OPTIONS_SIZE;
    defines->used += (size_t)snprintf(defines->text + used, OPTIONS_SIZE - used, "%s", text);
}

void define(struct defines *defines, const char *name, long value)
{
    char text[64];
    snprintf(text, sizeof text, " -D%s=%ld", name, value);
    launch_append(defines, text);
}

/* Fills in the program's key. Its options are written to `options`, which must outlive the key. */
static enum status make_program_key(const struct device *device, const struct kernel_launch *work,
                                    const struct argument *arguments, size_t count, struct defines *options,
                                    struct program_key *program_key, struct error *error)
{
    bool has_many_weights = false;
    if (source_find(work->file, &program_key->source, error) != STATUS_OK)
        return STATUS_FAILED;
    for (size_t i = 0; i < count; i++)
        if (arguments[i].kind == ARGUMENT_WEIGHTS) {
            const struct weights *weights = arguments[i].value;
            has_many_weights = has_many_weights || weights->count * sizeof(float) > device->constant_memory;
        }
    launch_append(options, "-cl-std=CL1.2 -w"); /* -w: PoCL prints the number of warnings */
    if (device->fp_config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)
        launch_append(options, " -cl-fp32-correctly-rounded-divide-sqrt");
    if (!(device->fp_config & CL_FP_FMA) && !device->simulator)
        define(options, "NO_FMA", 1);
    define(options, "LANES", launch_lanes(device, work->memory, work->vector_width));
    if (has_many_weights) /* too many for __constant, see kernels/planes.h */
        launch_append(options, " -DWEIGHTS=__global");
    if (work->memory == MEMORY_IMAGE)
        define(options, "IMAGES", 1);
    if (loops_over_group(device, work))
        define(options, "ITEMS_PER_CALL", work_launch_config(device, work).group[0]);
    launch_append(options, work->defines.text);
    if (program_key->source->has_edge)
        define(options, "EDGE", work->edge);
    if (work->defines.used >= OPTIONS_SIZE || options->used >= OPTIONS_SIZE)
        return fail(error, STATUS_FAILED, "kernel %s: its options are too long", work->kernel);
    program_key->options = options->text;
    return STATUS_OK;
}

enum status launch(struct device *device, const struct kernel_launch *work, const struct argument *arguments,
                   size_t count, struct error *error)
{
    bool is_dry_run = device_is_dry_run(device);
    struct defines options = {0};
    struct program_key program_key;
    if (is_dry_run && !device->program_store)
        return STATUS_OK;
    if (make_program_key(device, work, arguments, count, &options, &program_key, error) != STATUS_OK)
        return STATUS_FAILED;
    if (is_dry_run)
        return program_add(device, &program_key, error);
    cl_kernel kernel = NULL;
    if (program_kernel(device, &program_key, work->kernel, &kernel, error) != STATUS_OK)
        return STATUS_FAILED;
    uint64_t bytes = work->bytes;
    cl_int code = set_arguments(kernel, arguments, count, &bytes);
    if (code != CL_SUCCESS)
        return fail_opencl(error, code, "kernel %s: setting its arguments", work->kernel);
    return enqueue_kernel(device, work, kernel, bytes, error);
}
