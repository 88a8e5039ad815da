/* Opens devices: creates their context and queues. Also installs the signal handler for crashes of drivers.
 *
 * A device with its own memory has three queues, so that copies in both directions run while kernels do. A
 * device that shares the host's memory has one, since nothing is copied. Kernel queues are registered with
 * the context's launch serializer (launch_serializer.h). */
#include "device/device.h"

#include "device/cache.h"
#include "device/choose.h"
#include "device/program.h"

#include <string.h>

#ifdef __SANITIZE_ADDRESS__
static const int crash_signals[] = {SIGABRT}; /* AddressSanitizer reports the others */
#else
static const int crash_signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
#endif

static struct sigaction crash_action; /* set by crashes_handle, before there are threads */

bool is_crash_signal(int number)
{
    for (size_t i = 0; i < sizeof crash_signals / sizeof crash_signals[0]; i++)
        if (crash_signals[i] == number)
            return true;
    return false;
}

/* Installs the handler. Called again after each clCreateContext, as drivers install handlers of their own.
 * LLVM's handler only removes LLVM's temporary files. PoCL's handler ignores integer divisions by zero, even
 * in climg's code. */
static void install_handler(void)
{
    for (size_t i = 0; crash_action.sa_handler && i < sizeof crash_signals / sizeof crash_signals[0]; i++)
        sigaction(crash_signals[i], &crash_action, NULL);
}

void crashes_handle(void (*handler)(int), const sigset_t *blocked)
{
    crash_action = (struct sigaction){.sa_handler = handler, .sa_mask = *blocked};
    install_handler();
}

/* Creates an in-order queue with profiling enabled. */
static enum status open_queue(const struct device *device, cl_command_queue *queue, struct error *error)
{
    cl_int code;
    *queue = clCreateCommandQueue(device->context, device->id, CL_QUEUE_PROFILING_ENABLE, &code);
    if (code == CL_SUCCESS)
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "%s: no command queue could be created (%s); try another --device",
                device->name, cl_error_name(code));
}

/* Creates the queues; queues for copies only if the device has its own memory. */
static enum status open_queues(struct device *device, struct error *error)
{
    enum status status = open_queue(device, &device->queue, error);
    if (status == STATUS_OK)
        status = serializer_add_queue(programs_serializer(device), device->queue, error);
    if (status == STATUS_OK && !device->shares_memory)
        status = open_queue(device, &device->upload, error);
    if (status == STATUS_OK && !device->shares_memory)
        status = open_queue(device, &device->download, error);
    return status;
}

enum status device_open(struct device *device, struct error *error)
{
    cl_int code;
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)device->platform, 0};
    device->context = clCreateContext(properties, 1, &device->id, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return fail(error, STATUS_FAILED, "%s: no context could be created (%s); try another --device",
                    device->name, cl_error_name(code));
    install_handler();
    enum status status = programs_begin(device, error);
    return status == STATUS_OK ? open_queues(device, error) : status;
}

enum status device_open_named(const char *name, const struct environment *environment, bool force,
                              struct device *device, struct error *error)
{
    enum status status = device_choose(name, environment, device, error);
    if (status == STATUS_OK && !force)
        status = selftest_result_check(device, error);
    return status == STATUS_OK ? device_open(device, error) : status;
}

enum status device_share(const struct device *original, struct device *device, struct error *error)
{
    *device = *original;
    device->queue = device->upload = device->download = NULL;
    device->kernels = NULL;
    device->owns_programs = false;
    device->event_log = NULL;
    cl_int code = clRetainContext(device->context);
    if (code != CL_SUCCESS) {
        device->context = NULL;
        device->program_store = NULL;
        return fail(error, STATUS_FAILED, "%s: its context cannot be shared (%s)", device->name,
                    cl_error_name(code));
    }
    return open_queues(device, error);
}

void device_close(struct device *device)
{
    const cl_command_queue queues[] = {device->upload, device->queue, device->download};
    if (device->program_store)
        serializer_remove_queue(programs_serializer(device), device->queue);
    programs_free(device);
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++)
        if (queues[i])
            clReleaseCommandQueue(queues[i]);
    if (device->context)
        clReleaseContext(device->context);
    memset(device, 0, sizeof *device);
}
