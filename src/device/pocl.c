/* PoCL has a folder for each program, two levels down, in which it touches `last_accessed` whenever the
 * program is built. The file `sums` beside them has a line for each file in them: what climg calls the
 * program, the file's CRC and its path. A program's files are compared with the sums before PoCL loads them,
 * and only those, as looking at all would take longer than a small picture. A process that uses the folder
 * holds a shared lock on it. One that compiles leaves a mark there until it has noted what it compiled. Where
 * the mark of a killed run is found while no other process runs, programs without a line are removed. After a
 * crash there are no sums, so that everything goes. */
#include "device/pocl.h"

#include "base/files.h"
#include "base/sums.h"
#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const unsigned long long ROOM =
    4 << 20; /* bytes: for some programs, and for others' files beside them */

/* Whether a folder can be made there and filled: asked of the nearest one above it that exists. */
static bool can_be_filled(const char *path)
{
    struct stat there;
    struct statvfs disk;
    char above[PATH_MAX];
    if (path[0] != '/' || strlen(path) >= sizeof above)
        return false;
    strcpy(above, path);
    while (stat(above, &there) != 0) {
        char *slash = strrchr(above, '/');
        if (slash == above && !slash[1])
            return false; /* nothing can be asked, not even the root */
        slash[slash == above] = '\0';
    }
    return S_ISDIR(there.st_mode) && faccessat(AT_FDCWD, above, W_OK | X_OK, AT_EACCESS) == 0 &&
           statvfs(above, &disk) == 0 && (unsigned long long)disk.f_bavail * disk.f_frsize >= ROOM;
}

/* The folder in climg's cache. */
static bool find_own_folder(const struct environment *environment, char path[PATH_MAX])
{
    struct error ignored = {.text = ""};
    char *own = cache_path(environment->cache, environment->home, "pocl", &ignored);
    bool found = own && strlen(own) < PATH_MAX && can_be_filled(own);
    if (found)
        strcpy(path, own);
    free(own);
    return found;
}

/* What lies there is run. So the folder must be ours and nobody else's, and nobody may put another in its
 * place: the one above belongs to us or root, and others cannot write there, or it is sticky as /tmp is. */
static bool is_ours(const char *path, const char *above)
{
    struct stat own, outer;
    if (lstat(path, &own) != 0 || stat(above, &outer) != 0)
        return false;
    bool kept = (outer.st_uid == 0 || outer.st_uid == geteuid()) &&
                (!(outer.st_mode & (S_IWGRP | S_IWOTH)) || (outer.st_mode & S_ISVTX));
    return kept && S_ISDIR(own.st_mode) && own.st_uid == geteuid() && !(own.st_mode & (S_IRWXG | S_IRWXO));
}

/* One below TMPDIR for all runs of a user, as compiling takes seconds each time. Somebody else may have made
 * folders of some of these names, but hardly of all. */
static bool find_spare_folder(const char *spool, char path[PATH_MAX])
{
    enum { NAMES = 16 };
    for (int i = 0; i < NAMES && can_be_filled(spool); i++) {
        const int length = snprintf(path, PATH_MAX, "%s/climg-pocl-%ld.%d", spool, (long)geteuid(), i);
        if (length >= PATH_MAX)
            return false;
        mkdir(path, 0700); /* a failure shows in the next line */
        if (is_ours(path, spool) && can_be_filled(path))
            return true;
    }
    return false;
}

/* ---------------------------------------------------------------- what lies in the folder */

enum {
    KEY_DIGITS = 16,
    SUM_DIGITS = 8,
    LINE_START = KEY_DIGITS + SUM_DIGITS + 2,
    MAX_DEPTH = 8,
    NAME_SIZE = 96
};

static const char MARK[] = "compiling-";

/* A program that this process built. */
struct used {
    uint64_t program;
    char name[NAME_SIZE]; /* of its folder */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX], sums_path[PATH_MAX]; /* "": PoCL has no folder of ours */
static char *sums;                                 /* the file; NULL: there is none */
static struct used *used;
static size_t used_count;
static bool quiet;
static bool marked;
static size_t damaged_count, removed_count; /* files that changed; programs */

/* The next line of a program, beginning at `line`; NULL: none. */
static const char *find_line(const char *line, uint64_t program)
{
    char key[KEY_DIGITS + 2];
    snprintf(key, sizeof key, "%016" PRIx64 " ", program);
    while (line && strncmp(line, key, KEY_DIGITS + 1) != 0) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return line;
}

static const char *next_line(const char *line, uint64_t program)
{
    const char *end = strchr(line, '\n');
    return end ? find_line(end + 1, program) : NULL;
}

/* Of several lines for a file the last one counts. `noted` is whether there is one of this program. */
static bool find_sum(uint64_t program, const char *name, uint32_t *sum, bool *noted)
{
    const size_t length = strlen(name);
    bool found = false;
    *noted = false;
    for (const char *line = sums, *end; line && (end = strchr(line, '\n')); line = end + 1)
        if ((size_t)(end - line) == LINE_START + length && strncmp(line + LINE_START, name, length) == 0) {
            *sum = (uint32_t)strtoul(line + KEY_DIGITS + 1, NULL, 16);
            *noted = *noted || find_line(line, program) == line;
            found = true;
        }
    return found;
}

/* Calls `visit` for each file below `path` that is not empty, as marks and locks are; `name` is its path
 * below the folder. */
static void walk(const char *path, int depth, uint64_t program,
                 void (*visit)(uint64_t program, const char *file, const char *name))
{
    char below[PATH_MAX];
    DIR *listing = opendir(path);
    // cppcheck-suppress readdirCalled ; no two threads read one stream, and readdir_r is deprecated
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        struct stat info;
        if (entry->d_name[0] == '.' ||
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= PATH_MAX ||
            lstat(below, &info) != 0)
            continue;
        if (S_ISDIR(info.st_mode) && depth < MAX_DEPTH)
            walk(below, depth + 1, program, visit);
        else if (S_ISREG(info.st_mode) && info.st_size > 0)
            visit(program, below, below + strlen(folder) + 1);
    }
    if (listing)
        closedir(listing);
}

/* Calls `visit` for each program's folder. */
static void each_program(void (*visit)(const char *name, void *context), void *context)
{
    char path[PATH_MAX], name[NAME_SIZE];
    DIR *outer = opendir(folder);
    // cppcheck-suppress readdirCalled
    for (const struct dirent *first; outer && (first = readdir(outer));) {
        const bool outer_name = strlen(first->d_name) == 2 && first->d_name[0] != '.' &&
                                snprintf(path, sizeof path, "%s/%s", folder, first->d_name) < PATH_MAX;
        DIR *inner = outer_name ? opendir(path) : NULL;
        // cppcheck-suppress readdirCalled
        for (const struct dirent *second; inner && (second = readdir(inner));)
            if (second->d_name[0] != '.' &&
                snprintf(name, sizeof name, "%s/%s", first->d_name, second->d_name) < NAME_SIZE)
                visit(name, context);
        if (inner)
            closedir(inner);
    }
    if (outer)
        closedir(outer);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path) == 0 ? 0 : -1;
}

static void remove_program(const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) < PATH_MAX)
        nftw(path, remove_one, MAX_DEPTH, FTW_DEPTH | FTW_PHYS);
    removed_count++;
}

static void remove_unlisted(const char *name, void *context)
{
    char path[NAME_SIZE + 2];
    (void)context;
    snprintf(path, sizeof path, " %s/", name);
    if (!sums || !strstr(sums, path))
        remove_program(name);
}

/* Stands in the folder while this process may have compiled what it did not note yet. */
static void set_mark(bool there)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s%ld", folder, MARK, (long)getpid());
    if (!there)
        unlink(path);
    const int file = there ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file >= 0)
        close(file);
    marked = there;
}

/* Two programs of climg's may be one to PoCL. */
static bool is_used(const char *name)
{
    for (size_t i = 0; i < used_count; i++)
        if (strcmp(used[i].name, name) == 0)
            return true;
    return false;
}

/* Where memory fails, nothing is noted of the program, and the next run compiles it again. */
static void add_used(uint64_t program, const char *name)
{
    struct used *more = realloc(used, (used_count + 1) * sizeof *used);
    if (!more)
        return;
    used = more;
    used[used_count] = (struct used){.program = program};
    snprintf(used[used_count++].name, NAME_SIZE, "%s", name);
}

static bool damaged; /* a file of the program under way is not as it was */

/* Whether the file changed since another process set its mark: two that compile a kernel at once make
 * different files of it. */
static bool is_in_the_making(const char *file)
{
    struct stat info, mark;
    bool found = false;
    DIR *listing = stat(file, &info) == 0 ? opendir(folder) : NULL;
    // cppcheck-suppress readdirCalled
    for (const struct dirent *entry; listing && (entry = readdir(listing));)
        found = found || (strncmp(entry->d_name, MARK, strlen(MARK)) == 0 &&
                          atol(entry->d_name + strlen(MARK)) != (long)getpid() &&
                          fstatat(dirfd(listing), entry->d_name, &mark, 0) == 0 &&
                          info.st_ctim.tv_sec >= mark.st_ctim.tv_sec);
    if (listing)
        closedir(listing);
    return found;
}

/* Whether a process noted the file since this one read the sums. */
static bool is_noted_now(const char *name, uint32_t value)
{
    char *before = sums;
    uint32_t sum;
    size_t size = 0;
    bool noted;
    sums = cache_read(sums_path, &size);
    const bool same = find_sum(0, name, &sum, &noted) && sum == value;
    free(sums);
    sums = before;
    return same;
}

/* A file without a line may be another process's, which notes it when it ends. */
static void check_file(uint64_t program, const char *file, const char *name)
{
    uint32_t value, sum;
    bool noted;
    if (find_sum(program, name, &sum, &noted) && crc_of_file(file, &value) && sum != value &&
        !is_in_the_making(file) && !is_noted_now(name, value)) {
        damaged = true;
        damaged_count++;
    }
}

static void check_folder(uint64_t program, const char *name)
{
    char path[PATH_MAX];
    damaged = false;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) < PATH_MAX)
        walk(path, 0, program, check_file);
    if (damaged)
        remove_program(name);
}

void pocl_check(uint64_t program)
{
    pthread_mutex_lock(&lock);
    const char *line = folder[0] ? find_line(sums, program) : NULL;
    if (folder[0] && !line && !marked)
        set_mark(true);
    for (char last[NAME_SIZE] = "", name[NAME_SIZE]; line; line = next_line(line, program)) {
        if (sscanf(line + LINE_START, "%2[^/\n]%92[^\n]", name, name + 2) != 2 || !strchr(name + 3, '/'))
            continue;
        *strchr(name + 3, '/') = '\0';
        if (strcmp(name, last) == 0)
            continue;
        strcpy(last, name);
        if (!is_used(name))
            check_folder(program, name);
        add_used(program, name);
    }
    pthread_mutex_unlock(&lock);
}

struct since {
    uint64_t program;
    struct timespec time;
};

static void add_touched(const char *name, void *context)
{
    const struct since *since = context;
    char path[PATH_MAX];
    struct stat info;
    if (snprintf(path, sizeof path, "%s/%s/last_accessed", folder, name) < PATH_MAX &&
        stat(path, &info) == 0 &&
        (info.st_mtim.tv_sec > since->time.tv_sec ||
         (info.st_mtim.tv_sec == since->time.tv_sec && info.st_mtim.tv_nsec >= since->time.tv_nsec)))
        add_used(since->program, name);
}

void pocl_built(uint64_t program, const struct timespec *since)
{
    struct since all = {program, *since};
    pthread_mutex_lock(&lock);
    if (folder[0] && !find_line(sums, program))
        each_program(add_touched, &all);
    pthread_mutex_unlock(&lock);
}

static void remember_file(uint64_t program, const char *file, const char *name)
{
    char line[PATH_MAX + LINE_START + 2];
    uint32_t value, sum;
    bool noted;
    if (!crc_of_file(file, &value) || (find_sum(program, name, &sum, &noted) && noted && sum == value))
        return;
    const int length = snprintf(line, sizeof line, "%016" PRIx64 " %08" PRIx32 " %s\n", program, value, name);
    int descriptor = open(sums_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return;
    (void)!write(descriptor, line, (size_t)length); /* in one piece, as others may write, too */
    close(descriptor);
}

/* PoCL leaves a temporary file in each run. True if a run was killed that was compiling. */
static bool remove_temporaries(void)
{
    bool killed = false;
    DIR *listing = opendir(folder);
    // cppcheck-suppress readdirCalled
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        const bool mark = strncmp(entry->d_name, MARK, strlen(MARK)) == 0;
        if (mark || strncmp(entry->d_name, "tempfile", 8) == 0)
            unlinkat(dirfd(listing), entry->d_name, 0);
        killed = killed || mark;
    }
    if (listing)
        closedir(listing);
    return killed;
}

/* The lock lasts as long as the process. */
static void begin_folder(void)
{
    size_t size = 0;
    make_folders_above(folder);
    mkdir(folder, 0700); /* what lies there is run */
    const int locked = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool alone = locked >= 0 && flock(locked, LOCK_EX | LOCK_NB) == 0;
    sums = cache_read(sums_path, &size);
    if (alone && (remove_temporaries() || !sums))
        each_program(remove_unlisted, NULL);
    if (locked >= 0)
        flock(locked, LOCK_SH);
}

static void tell(const char *format, size_t count)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s", folder);
    text_make_visible(name);
    fprintf(stderr, format, name, count);
}

void pocl_prepare(const struct environment *environment, bool verbose, bool be_quiet)
{
    if (environment->pocl)
        return;
    const bool own = find_own_folder(environment, folder);
    if (!own && !find_spare_folder(environment->spool, folder)) {
        folder[0] = '\0';
        setenv("POCL_CACHE_DIR", "/dev/null/none", 1); /* no device is better than what others left in /tmp */
        return;
    }
    if (snprintf(sums_path, sizeof sums_path, "%s/sums", folder) >= PATH_MAX) {
        folder[0] = sums_path[0] = '\0';
        return;
    }
    setenv("POCL_CACHE_DIR", folder, 1);
    quiet = be_quiet;
    begin_folder();
    if (verbose && !own)
        tell("climg: PoCL keeps what it compiles in %s, as it cannot below XDG_CACHE_HOME or HOME\n", 0);
    if (!quiet && removed_count > 0 && !sums)
        tell("climg: %s: emptied, as a run crashed; PoCL compiles its kernels again\n", 0);
}

void pocl_remember(void)
{
    char path[PATH_MAX];
    pthread_mutex_lock(&lock);
    if (!quiet && damaged_count > 0)
        tell("climg: %s: %zu files were damaged; PoCL compiles their kernels again\n", damaged_count);
    for (size_t i = 0; i < used_count; i++)
        if (snprintf(path, sizeof path, "%s/%s", folder, used[i].name) < PATH_MAX)
            walk(path, 0, used[i].program, remember_file);
    if (marked)
        set_mark(false);
    free(used);
    free(sums);
    used = NULL;
    sums = NULL;
    used_count = damaged_count = 0;
    pthread_mutex_unlock(&lock);
}

void pocl_distrust(void)
{
    if (sums_path[0])
        unlink(sums_path);
}
