/* The functions of libc and OpenCL that tests fail, each as a wrapper of the real one. The including file
 * defines
 *
 *   STANDS_BEFORE(type, name, parameters)   the head of a function that is called in place of the real one
 *   REAL(name)                              the real one
 *   FAILS(name, usual)                      whether this call fails; errno is set then, to what fits as a
 * rule CUTS_SHORT                              whether reads and writes that fail do half instead
 *   COUNTS(file)                            whether calls with this descriptor count
 *   COUNTS_STREAM(file)                     and with this stream */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A function of libc that gives `failure` and sets errno. */
#define CALL_FAILS(type, name, parameters, arguments, usual, failure)                                        \
    STANDS_BEFORE(type, name, parameters)                                                                    \
    {                                                                                                        \
        return FAILS(name, usual) ? failure : REAL(name) arguments;                                          \
    }

CALL_FAILS(int, rename, (const char *from, const char *to), (from, to), EIO, -1)
CALL_FAILS(int, unlink, (const char *path), (path), EIO, -1)
CALL_FAILS(int, mkdir, (const char *path, mode_t mode), (path, mode), ENOSPC, -1)
CALL_FAILS(void *, mmap, (void *at, size_t size, int protection, int flags, int file, off_t offset),
           (at, size, protection, flags, file, offset), ENOMEM, MAP_FAILED)
CALL_FAILS(int, flock, (int file, int operation), (file, operation), ENOLCK, -1)
CALL_FAILS(int, stat, (const char *path, struct stat *there), (path, there), EIO, -1)
CALL_FAILS(int, lstat, (const char *path, struct stat *there), (path, there), EIO, -1)
CALL_FAILS(int, fstat, (int file, struct stat *there), (file, there), EIO, -1)
CALL_FAILS(FILE *, fopen, (const char *path, const char *mode), (path, mode), EMFILE, NULL)
CALL_FAILS(FILE *, fdopen, (int file, const char *mode), (file, mode), ENOMEM, NULL)
CALL_FAILS(int, fseeko, (FILE * file, off_t offset, int whence), (file, offset, whence), EIO, -1)
CALL_FAILS(off_t, ftello, (FILE * file), (file), EIO, -1)
CALL_FAILS(DIR *, opendir, (const char *path), (path), EMFILE, NULL)
CALL_FAILS(struct dirent *, readdir, (DIR * folder), (folder), EIO, NULL)
CALL_FAILS(FILE *, open_memstream, (char **text, size_t *size), (text, size), ENOMEM, NULL)
CALL_FAILS(off_t, lseek, (int file, off_t offset, int whence), (file, offset, whence), EIO, -1)
CALL_FAILS(int, fchmod, (int file, mode_t mode), (file, mode), EPERM, -1)
CALL_FAILS(int, fchown, (int file, uid_t user, gid_t group), (file, user, group), EPERM, -1)
CALL_FAILS(ssize_t, readlink, (const char *path, char *text, size_t size), (path, text, size), EIO, -1)
CALL_FAILS(int, faccessat, (int folder, const char *path, int mode, int flags), (folder, path, mode, flags),
           EACCES, -1)
CALL_FAILS(int, fsync, (int file), (file), EIO, -1)
CALL_FAILS(int, mkostemp, (char *name, int flags), (name, flags), EACCES, -1)

STANDS_BEFORE(int, pthread_create,
              (pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *), void *context))
{
    return FAILS(pthread_create, EAGAIN) ? EAGAIN : REAL(pthread_create)(thread, attributes, start, context);
}

/* One whose last argument, a number, is there for some calls only. */
#define CALL_FAILS_MORE(name, parameters, last, arguments)                                                   \
    STANDS_BEFORE(int, name, parameters)                                                                     \
    {                                                                                                        \
        va_list rest;                                                                                        \
        va_start(rest, last);                                                                                \
        long more = va_arg(rest, long);                                                                      \
        va_end(rest);                                                                                        \
        return FAILS(name, EMFILE) ? -1 : REAL(name) arguments;                                              \
    }

CALL_FAILS_MORE(open, (const char *path, int flags, ...), flags, (path, flags, more))
CALL_FAILS_MORE(openat, (int folder, const char *path, int flags, ...), flags, (folder, path, flags, more))
CALL_FAILS_MORE(fcntl, (int file, int command, ...), command, (file, command, more))

#define FAILS_OR_HALF(name, parameters, buffer, usual)                                                       \
    STANDS_BEFORE(ssize_t, name, parameters)                                                                 \
    {                                                                                                        \
        if (COUNTS(file) && FAILS(name, usual)) {                                                            \
            if (!CUTS_SHORT)                                                                                 \
                return -1;                                                                                   \
            size = size > 1 ? size / 2 : size;                                                               \
        }                                                                                                    \
        return REAL(name) buffer;                                                                            \
    }

FAILS_OR_HALF(read, (int file, void *buffer, size_t size), (file, buffer, size), EIO)
FAILS_OR_HALF(write, (int file, const void *buffer, size_t size), (file, buffer, size), ENOSPC)
FAILS_OR_HALF(pread, (int file, void *buffer, size_t size, off_t offset), (file, buffer, size, offset), EIO)
FAILS_OR_HALF(pwrite, (int file, const void *buffer, size_t size, off_t offset), (file, buffer, size, offset),
              ENOSPC)

/* Sets the error that ferror returns; glibc has no call for it. */
enum { STREAM_ERROR = 0x20 };

static bool set_stream_error(FILE *file)
{
    file->_flags |= STREAM_ERROR;
    return true;
}

#define STREAM_FAILS(name, usual) (COUNTS_STREAM(file) && FAILS(name, usual) && set_stream_error(file))

STANDS_BEFORE(size_t, fread, (void *buffer, size_t size, size_t count, FILE *file))
{
    return STREAM_FAILS(fread, EIO) ? 0 : REAL(fread)(buffer, size, count, file);
}

STANDS_BEFORE(size_t, fwrite, (const void *buffer, size_t size, size_t count, FILE *file))
{
    return STREAM_FAILS(fwrite, ENOSPC) ? 0 : REAL(fwrite)(buffer, size, count, file);
}

STANDS_BEFORE(int, fflush, (FILE * file))
{
    return STREAM_FAILS(fflush, ENOSPC) ? EOF : REAL(fflush)(file);
}

/* The file is closed all the same, as the real ones do it. */
#define CLOSE_FAILS(name, type, counts)                                                                      \
    STANDS_BEFORE(int, name, (type file))                                                                    \
    {                                                                                                        \
        bool failed = counts(file) && FAILS(name, EDQUOT);                                                   \
        int number = errno, result = REAL(name)(file);                                                       \
        if (failed)                                                                                          \
            errno = number;                                                                                  \
        return failed ? -1 : result;                                                                         \
    }

CLOSE_FAILS(fclose, FILE *, COUNTS_STREAM)
CLOSE_FAILS(close, int, COUNTS)

/* A function of OpenCL that gives a status; one that gives an object and a status through `code`. */
#define CL_FAILS(name, parameters, arguments, status)                                                        \
    STANDS_BEFORE(cl_int, name, parameters)                                                                  \
    {                                                                                                        \
        return FAILS(name, 0) ? status : REAL(name) arguments;                                               \
    }
#define CL_CREATES(type, name, parameters, arguments, status)                                                \
    STANDS_BEFORE(type, name, parameters)                                                                    \
    {                                                                                                        \
        if (!FAILS(name, 0))                                                                                 \
            return REAL(name) arguments;                                                                     \
        if (code)                                                                                            \
            *code = status;                                                                                  \
        return NULL;                                                                                         \
    }

CL_FAILS(clBuildProgram,
         (cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
          void(CL_CALLBACK *done)(cl_program, void *), void *context),
         (program, n, devices, options, done, context), CL_BUILD_PROGRAM_FAILURE)
CL_CREATES(cl_mem, clCreateBuffer,
           (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code),
           (context, flags, size, host, code), CL_MEM_OBJECT_ALLOCATION_FAILURE)
CL_CREATES(cl_command_queue, clCreateCommandQueue,
           (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *code),
           (context, device, properties, code), CL_OUT_OF_RESOURCES)
CL_CREATES(cl_context, clCreateContext,
           (const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
            void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *context,
            cl_int *code),
           (properties, n, devices, notify, context, code), CL_OUT_OF_HOST_MEMORY)
CL_CREATES(cl_mem, clCreateImage,
           (cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *shape,
            void *host, cl_int *code),
           (context, flags, format, shape, host, code), CL_MEM_OBJECT_ALLOCATION_FAILURE)
CL_CREATES(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *code),
           (program, name, code), CL_OUT_OF_RESOURCES)
CL_CREATES(cl_program, clCreateProgramWithSource,
           (cl_context context, cl_uint n, const char **texts, const size_t *sizes, cl_int *code),
           (context, n, texts, sizes, code), CL_OUT_OF_HOST_MEMORY)
CL_FAILS(clEnqueueBarrierWithWaitList,
         (cl_command_queue queue, cl_uint n, const cl_event *wait, cl_event *event), (queue, n, wait, event),
         CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueMarkerWithWaitList,
         (cl_command_queue queue, cl_uint n, const cl_event *wait, cl_event *event), (queue, n, wait, event),
         CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueFillBuffer,
         (cl_command_queue queue, cl_mem memory, const void *pattern, size_t pattern_size, size_t offset,
          size_t size, cl_uint n, const cl_event *wait, cl_event *event),
         (queue, memory, pattern, pattern_size, offset, size, n, wait, event), CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueFillImage,
         (cl_command_queue queue, cl_mem memory, const void *colour, const size_t *origin,
          const size_t *region, cl_uint n, const cl_event *wait, cl_event *event),
         (queue, memory, colour, origin, region, n, wait, event), CL_OUT_OF_RESOURCES)
CL_CREATES(void *, clEnqueueMapBuffer,
           (cl_command_queue queue, cl_mem memory, cl_bool blocking, cl_map_flags flags, size_t offset,
            size_t size, cl_uint n, const cl_event *wait, cl_event *event, cl_int *code),
           (queue, memory, blocking, flags, offset, size, n, wait, event, code), CL_MAP_FAILURE)
CL_FAILS(clEnqueueUnmapMemObject,
         (cl_command_queue queue, cl_mem memory, void *mapped, cl_uint n, const cl_event *wait,
          cl_event *event),
         (queue, memory, mapped, n, wait, event), CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueReadBuffer,
         (cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t size, void *host,
          cl_uint n, const cl_event *wait, cl_event *event),
         (queue, memory, blocking, offset, size, host, n, wait, event), CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueWriteBuffer,
         (cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t size,
          const void *host, cl_uint n, const cl_event *wait, cl_event *event),
         (queue, memory, blocking, offset, size, host, n, wait, event), CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueReadImage,
         (cl_command_queue queue, cl_mem memory, cl_bool blocking, const size_t *origin, const size_t *region,
          size_t pitch, size_t slice, void *host, cl_uint n, const cl_event *wait, cl_event *event),
         (queue, memory, blocking, origin, region, pitch, slice, host, n, wait, event), CL_OUT_OF_RESOURCES)
CL_FAILS(clEnqueueWriteImage,
         (cl_command_queue queue, cl_mem memory, cl_bool blocking, const size_t *origin, const size_t *region,
          size_t pitch, size_t slice, const void *host, cl_uint n, const cl_event *wait, cl_event *event),
         (queue, memory, blocking, origin, region, pitch, slice, host, n, wait, event), CL_OUT_OF_RESOURCES)
CL_FAILS(clFinish, (cl_command_queue queue), (queue), CL_OUT_OF_RESOURCES)
CL_FAILS(clFlush, (cl_command_queue queue), (queue), CL_OUT_OF_RESOURCES)
CL_FAILS(clGetDeviceIDs,
         (cl_platform_id platform, cl_device_type type, cl_uint n, cl_device_id *devices, cl_uint *found),
         (platform, type, n, devices, found), CL_DEVICE_NOT_FOUND)
CL_FAILS(clGetDeviceInfo,
         (cl_device_id device, cl_device_info what, size_t size, void *value, size_t *length),
         (device, what, size, value, length), CL_OUT_OF_HOST_MEMORY)
CL_FAILS(clGetEventProfilingInfo,
         (cl_event event, cl_profiling_info what, size_t size, void *value, size_t *length),
         (event, what, size, value, length), CL_PROFILING_INFO_NOT_AVAILABLE)
CL_FAILS(clGetPlatformIDs, (cl_uint n, cl_platform_id *platforms, cl_uint *found), (n, platforms, found),
         CL_OUT_OF_HOST_MEMORY)
CL_FAILS(clGetPlatformInfo,
         (cl_platform_id platform, cl_platform_info what, size_t size, void *value, size_t *length),
         (platform, what, size, value, length), CL_OUT_OF_HOST_MEMORY)
CL_FAILS(clGetProgramBuildInfo,
         (cl_program program, cl_device_id device, cl_program_build_info what, size_t size, void *value,
          size_t *length),
         (program, device, what, size, value, length), CL_OUT_OF_HOST_MEMORY)
CL_FAILS(clRetainContext, (cl_context context), (context), CL_OUT_OF_RESOURCES)
CL_FAILS(clRetainEvent, (cl_event event), (event), CL_OUT_OF_RESOURCES)
CL_FAILS(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value),
         (kernel, index, size, value), CL_OUT_OF_RESOURCES)
CL_CREATES(cl_program, clCreateProgramWithBinary,
           (cl_context context, cl_uint n, const cl_device_id *devices, const size_t *sizes,
            const unsigned char **binaries, cl_int *outcomes, cl_int *code),
           (context, n, devices, sizes, binaries, outcomes, code), CL_INVALID_BINARY)
CL_FAILS(clGetProgramInfo,
         (cl_program program, cl_program_info what, size_t size, void *value, size_t *length),
         (program, what, size, value, length), CL_OUT_OF_HOST_MEMORY)
CL_FAILS(clGetKernelWorkGroupInfo,
         (cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what, size_t size, void *value,
          size_t *length),
         (kernel, device, what, size, value, length), CL_OUT_OF_HOST_MEMORY)
CL_FAILS(clSetMemObjectDestructorCallback,
         (cl_mem memory, void(CL_CALLBACK *done)(cl_mem, void *), void *context), (memory, done, context),
         CL_OUT_OF_HOST_MEMORY)
