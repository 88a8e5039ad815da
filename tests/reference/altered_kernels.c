/* A layer over OpenCL (LD_PRELOAD) under which the text of kernels has $ALTERED_TO in place of $ALTERED_FROM.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* To be freed. */
static char *alter(const char *text, const char *from, const char *to)
{
    char *altered = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&altered, &size);
    for (const char *found; (found = strstr(text, from)); text = found + strlen(from))
        fprintf(stream, "%.*s%s", (int)(found - text), text, to);
    fputs(text, stream);
    fclose(stream);
    return altered;
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                     const size_t *lengths, cl_int *code)
{
    cl_program (*real)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
    *(void **)&real = dlsym(RTLD_NEXT, "clCreateProgramWithSource");
    char *text = alter(texts[count - 1], getenv("ALTERED_FROM"), getenv("ALTERED_TO"));
    const char *altered[] = {texts[0], text}; /* the text of the kernels is the last one */
    cl_program program = real(context, count, count > 1 ? altered : altered + 1, NULL, code);
    (void)lengths;
    free(text);
    return program;
}
