/* A layer over OpenCL (LD_PRELOAD) that does for PoCL's sake what src/device/launch_serializer.h is about. A
 * launch of a kernel in groups of one size over a larger grid than any before must be the only one of that
 * kernel from the time it is enqueued until it is done. At the end a line of $TURNS has the numbers of
 * launches on CPU devices, of those that had to be alone, and of those that overlapped with one of these. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256, UNDER_WAY = 4096 };

struct kind {
    char kernel[64];
    cl_program program;
    size_t group[2], grid;
};

struct launch {
    int kind;
    int alone; /* it had to be */
    cl_event event;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kind kinds[MOST];
static struct launch launches[UNDER_WAY];
static int kind_count, launch_count, all, alone, together;

static int on_cpu(cl_command_queue queue)
{
    cl_device_id device;
    cl_device_type type = 0;
    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return (type & CL_DEVICE_TYPE_CPU) != 0;
}

static int find_kind(cl_kernel kernel, const size_t *group)
{
    struct kind kind = {.group = {group[0], group[1]}};
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof kind.kernel, kind.kernel, NULL);
    clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof kind.program, &kind.program, NULL);
    for (int i = 0; i < kind_count; i++)
        if (strcmp(kinds[i].kernel, kind.kernel) == 0 && kinds[i].program == kind.program &&
            kinds[i].group[0] == group[0] && kinds[i].group[1] == group[1])
            return i;
    if (kind_count == MOST)
        abort();
    kinds[kind_count] = kind;
    return kind_count++;
}

static void forget_what_is_done(void)
{
    int left = 0;
    for (int i = 0; i < launch_count; i++) {
        cl_int state = CL_COMPLETE;
        clGetEventInfo(launches[i].event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
        if (state > CL_COMPLETE)
            launches[left++] = launches[i];
        else
            clReleaseEvent(launches[i].event);
    }
    launch_count = left;
}

/* Locked, before the launch. Whether it has to be alone. */
static int begin(int kind, const size_t *global)
{
    size_t grid = global[0] > global[1] ? global[0] : global[1];
    int larger = grid > kinds[kind].grid, meets = 0;
    forget_what_is_done();
    for (int i = 0; i < launch_count; i++)
        meets |= launches[i].kind == kind && (larger || launches[i].alone);
    if (larger)
        kinds[kind].grid = grid;
    all++;
    alone += larger;
    together += meets;
    return larger;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
                              const cl_event *events, cl_event *event)
{
    cl_int (*real)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                   cl_uint, const cl_event *, cl_event *);
    *(void **)&real = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    if (!on_cpu(queue))
        return real(queue, kernel, dimensions, offset, global, local, count, events, event);
    pthread_mutex_lock(&lock);
    int kind = find_kind(kernel, local), larger = begin(kind, global);
    cl_int code = real(queue, kernel, dimensions, offset, global, local, count, events, event);
    if (code == CL_SUCCESS && launch_count < UNDER_WAY) {
        clRetainEvent(*event);
        launches[launch_count++] = (struct launch){kind, larger, *event};
    }
    pthread_mutex_unlock(&lock);
    return code;
}

__attribute__((destructor)) static void tell(void)
{
    FILE *file = getenv("TURNS") ? fopen(getenv("TURNS"), "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%d %d %d\n", all, alone, together);
    fclose(file);
}
