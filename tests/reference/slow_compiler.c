/* A layer over OpenCL (LD_PRELOAD) under which each program takes $SLOW_SECONDS more to build. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    cl_int (*real)(cl_program, cl_uint, const cl_device_id *, const char *,
                   void(CL_CALLBACK *)(cl_program, void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "clBuildProgram");
    usleep((useconds_t)(1e6 * atof(getenv("SLOW_SECONDS"))));
    return real(program, count, devices, options, notify, data);
}
