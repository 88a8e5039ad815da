/* Between climg and the C library: a file system that no test could mount. A folder named caseless/ does not
 * tell "A.png" from "a.png": its names are made small on their way. */
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

enum { LONGEST = 4096 };
static const char FOLDER[] = "caseless/";

static const char *small(const char *path, char *buffer)
{
    const char *found = strstr(path, FOLDER);
    if (!found || strlen(path) >= LONGEST)
        return path;
    strcpy(buffer, path);
    for (char *c = buffer + (found - path) + strlen(FOLDER); *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return buffer;
}

int open(const char *path, int flags, ...)
{
    char buffer[LONGEST];
    va_list arguments;
    va_start(arguments, flags);
    int mode = va_arg(arguments, int);
    va_end(arguments);
    return NEXT(open)(small(path, buffer), flags, mode);
}

int stat(const char *path, struct stat *there)
{
    char buffer[LONGEST];
    return NEXT(stat)(small(path, buffer), there);
}

int access(const char *path, int mode)
{
    char buffer[LONGEST];
    return NEXT(access)(small(path, buffer), mode);
}

int faccessat(int folder, const char *path, int mode, int flags)
{
    char buffer[LONGEST];
    return NEXT(faccessat)(folder, small(path, buffer), mode, flags);
}

int rename(const char *from, const char *to)
{
    char first[LONGEST], second[LONGEST];
    return NEXT(rename)(small(from, first), small(to, second));
}

int unlink(const char *path)
{
    char buffer[LONGEST];
    return NEXT(unlink)(small(path, buffer));
}
