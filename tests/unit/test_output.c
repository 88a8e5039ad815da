/* Outputs: nothing is seen before the commit, nothing is left after a failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "image/output/output.h"
#include "image/writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Each test runs in an empty folder of its own, as its current folder. */
static char folder[] = "/tmp/climg-test-XXXXXX";
static const char folder_pattern[] = "XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    memcpy(folder + sizeof folder - sizeof folder_pattern, folder_pattern, sizeof folder_pattern);
    umask(022);
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int leave_folder(void **state)
{
    (void)state;
    DIR *entries = opendir(".");
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        remove(entry->d_name);
    closedir(entries);
    return chdir("/") != 0 || rmdir(folder) != 0;
}

static int count_entries(void)
{
    int count = 0;
    DIR *entries = opendir(".");
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    return count - 2; /* . and .. */
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_holds(const char *path, const char *text)
{
    char found[64] = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    (void)!fread(found, 1, sizeof found - 1, file);
    fclose(file);
    assert_string_equal(found, text);
}

static mode_t mode_of(const char *path)
{
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    return found.st_mode & 07777;
}

static void write_to(const char *path, const char *text)
{
    struct output output;
    struct error error;
    assert_int_equal(output_open(&output, path, NULL, &error), STATUS_OK);
    fputs(text, output.file);
    assert_int_equal(output_commit(&output, &error), STATUS_OK);
    output_abandon(&output);
}

static void assert_refused(const char *path, const char *message)
{
    struct output output;
    struct error error;
    assert_int_equal(output_open(&output, path, NULL, &error), STATUS_FAILED);
    assert_string_equal(error.text, message);
    output_abandon(&output);
}

static void appears_at_commit(void **state)
{
    (void)state;
    struct output output;
    struct error error;
    put("a", "old");
    assert_int_equal(output_open(&output, "a", NULL, &error), STATUS_OK);
    fputs("new", output.file);
    fflush(output.file);
    assert_holds("a", "old");
    assert_int_equal(count_entries(), 2);
    assert_int_equal(output_commit(&output, &error), STATUS_OK);
    assert_holds("a", "new");
    assert_int_equal(count_entries(), 1);
    output_abandon(&output);
    output_abandon(&output);
    assert_holds("a", "new");
}

static void abandoned_leaves_nothing(void **state)
{
    (void)state;
    struct output output;
    struct error error;
    put("a", "old");
    assert_int_equal(output_open(&output, "a", "/tmp", &error), STATUS_OK);
    fputs("new", output.file);
    output_abandon(&output);
    output_abandon(&output);
    assert_holds("a", "old");
    assert_int_equal(count_entries(), 1);
}

static void temporary_is_hidden_and_beside(void **state)
{
    (void)state;
    struct output output;
    struct error error;
    assert_int_equal(mkdir("d", 0777), 0);
    assert_int_equal(output_open(&output, "d/a.png", NULL, &error), STATUS_OK);
    assert_memory_equal(output.temporary, "d/.a.png.climg-", 15);
    assert_int_equal(access(output.temporary, F_OK), 0);
    output_abandon(&output);
    assert_int_equal(rmdir("d"), 0);
}

/* Too old for a running process, on any machine. */
static void make_old(const char *name)
{
    const struct timespec times[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
    assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void what_killed_processes_left_is_removed(void **state)
{
    (void)state;
    struct output output;
    struct error error;
    int status;
    pid_t child = fork();
    if (child == 0) {
        output_open(&output, "killed", NULL, &error);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(output_open(&output, "alive", NULL, &error), STATUS_OK);
    assert_int_equal(count_entries(), 2);
    make_old(output.temporary);
    temporary_clean("");
    assert_int_equal(count_entries(), 1);
    fputs("whole", output.file);
    assert_int_equal(output_commit(&output, &error), STATUS_OK);
    output_abandon(&output);
    assert_holds("alive", "whole");
    unlink("alive");
}

/* The file is closed before it is renamed, and no one may come in between. */
static void closed_file_is_still_locked(void **state)
{
    (void)state;
    char *name = NULL;
    int descriptor = temporary_create("a", O_RDWR, 0666, &name);
    assert_true(descriptor >= 0);
    close(descriptor);
    temporary_clean("");
    assert_int_equal(access(name, F_OK), 0);
    temporary_remove(name);
    assert_int_equal(count_entries(), 0);
}

/* Locks of another machine may be invisible here, so only its old files are removed. Other names are kept. */
static void what_may_be_alive_stays(void **state)
{
    (void)state;
    static const char *const stay[] = {".a.climg-00000000-1-0.tmp~", "a.climg-00000000-1-0.tmp",
                                       ".a.climg-0000000-1-0.tmp", ".a.climg-00000000--0.tmp"};
    for (int i = 0; i < 4; i++) {
        put(stay[i], "x");
        make_old(stay[i]);
    }
    put(".b.climg-00000000-1-0.tmp", "new");
    put(".c.climg-.climg-00000000-12-345.tmp", "old");
    make_old(".c.climg-.climg-00000000-12-345.tmp");
    put(".d.climg-00000000-1-0.tmp", "locked");
    make_old(".d.climg-00000000-1-0.tmp");
    int locked = open(".d.climg-00000000-1-0.tmp", O_RDONLY);
    assert_int_equal(flock(locked, LOCK_SH), 0);
    assert_int_equal(count_entries(), 7);
    temporary_clean("");
    assert_int_equal(count_entries(), 6);
    assert_int_equal(access(".c.climg-.climg-00000000-12-345.tmp", F_OK), -1);
    close(locked);
    make_old(".b.climg-00000000-1-0.tmp");
    temporary_clean("");
    assert_int_equal(count_entries(), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(unlink(stay[i]), 0);
}

static void new_file_obeys_umask_and_old_one_keeps_its_mode(void **state)
{
    (void)state;
    write_to("new", "x");
    assert_int_equal(mode_of("new"), 0644);
    put("old", "old");
    assert_int_equal(chmod("old", 0660), 0);
    write_to("old", "x");
    assert_int_equal(mode_of("old"), 0660);
    assert_holds("old", "x");
}

static void link_stays_a_link(void **state)
{
    (void)state;
    char text[PATH_MAX] = {0};
    put("file", "old");
    assert_int_equal(symlink("file", "near"), 0);
    assert_int_equal(symlink("near", "far"), 0);
    assert_int_equal(symlink("nothing-yet", "dangling"), 0);
    write_to("far", "new");
    assert_holds("file", "new");
    assert_int_equal(readlink("far", text, sizeof text - 1), 4);
    assert_int_equal(readlink("near", text, sizeof text - 1), 4);
    write_to("dangling", "made");
    assert_holds("nothing-yet", "made");
    assert_int_equal(readlink("dangling", text, sizeof text - 1), 11);
}

/* A link counts from the folder that it is in. */
static void link_in_a_folder_is_followed_from_there(void **state)
{
    (void)state;
    assert_int_equal(mkdir("d", 0777), 0);
    assert_int_equal(symlink("../file", "d/link"), 0);
    write_to("d/link", "new");
    assert_holds("file", "new");
    assert_int_equal(unlink("d/link"), 0);
    assert_int_equal(rmdir("d"), 0);
}

static void longest_name_has_room_for_its_temporary(void **state)
{
    (void)state;
    char name[NAME_MAX + 1];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    write_to(name, "x");
    assert_holds(name, "x");
}

static void impossible_places_are_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir("d", 0777), 0);
    put("file", "x");
    assert_int_equal(symlink("circle", "circle"), 0);
    assert_refused("d", "d: is a directory; name the file to write");
    assert_refused("d/", "d/: is a directory; name the file to write");
    assert_refused("none/a",
                   "none/a: cannot write in folder none/: No such file or directory; make the folder first");
    assert_refused("file/a", "file/a: cannot write: Not a directory");
    assert_refused("circle", "circle: cannot write: Too many levels of symbolic links");
    assert_refused("", ": cannot write: No such file or directory");
    assert_int_equal(count_entries(), 3);
}

static void device_is_written_directly(void **state)
{
    (void)state;
    write_to("/dev/null", "x");
    struct stat found;
    assert_int_equal(stat("/dev/null", &found), 0);
    assert_true(S_ISCHR(found.st_mode));
}

static void full_disk_is_told(void **state)
{
    (void)state;
    for (int seekable = 0; seekable <= 1; seekable++) {
        struct output output;
        struct error error;
        assert_int_equal(output_open(&output, "/dev/full", seekable ? "/tmp" : NULL, &error), STATUS_OK);
        fputs("x", output.file);
        assert_int_equal(output_commit(&output, &error), STATUS_FAILED);
        assert_string_equal(error.text, "/dev/full: cannot write: No space left on device");
        output_abandon(&output);
    }
}

static void *read_pipe(void *found)
{
    FILE *file = fopen("pipe", "rb");
    if (file != NULL && fread(found, 1, 15, file) > 0)
        fclose(file);
    return NULL;
}

static void pipe_gets_what_was_sought_in(void **state)
{
    (void)state;
    char found[16] = {0};
    pthread_t thread;
    struct output output;
    struct error error;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_pipe, found), 0);
    assert_int_equal(output_open(&output, "pipe", "/tmp", &error), STATUS_OK);
    fputs("xello", output.file);
    assert_int_equal(fseek(output.file, 0, SEEK_SET), 0);
    fputs("h", output.file);
    assert_int_equal(output_commit(&output, &error), STATUS_OK);
    output_abandon(&output);
    pthread_join(thread, NULL);
    assert_string_equal(found, "hello");
    assert_int_equal(count_entries(), 1);
}

static void broken_pipe_is_told(void **state)
{
    (void)state;
    int ends[2];
    char path[32];
    struct output output;
    struct error error;
    signal(SIGPIPE, SIG_IGN); /* as main does */
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    assert_int_equal(output_open(&output, path, NULL, &error), STATUS_OK);
    close(ends[0]);
    fputs("x", output.file);
    assert_int_equal(output_commit(&output, &error), STATUS_FAILED);
    assert_non_null(strstr(error.text, ": cannot write: Broken pipe"));
    output_abandon(&output);
    close(ends[1]);
}

static void all_are_abandoned_at_once(void **state)
{
    (void)state;
    struct output outputs[3];
    struct error error;
    assert_int_equal(output_open(&outputs[0], "a", NULL, &error), STATUS_OK);
    assert_int_equal(output_open(&outputs[1], "b", "/tmp", &error), STATUS_OK);
    assert_int_equal(output_open(&outputs[2], "a", NULL, &error), STATUS_OK); /* two of one name */
    assert_int_equal(count_entries(), 3);
    assert_int_equal(output_commit(&outputs[0], &error), STATUS_OK);
    temporary_remove_all();
    assert_int_equal(count_entries(), 1);
    for (int i = 0; i < 3; i++)
        output_abandon(&outputs[i]);
    assert_int_equal(access("a", F_OK), 0);
    /* Another thread may go on for a moment. */
    assert_int_equal(output_open(&outputs[0], "c", NULL, &error), STATUS_FAILED);
    assert_int_equal(count_entries(), 1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(appears_at_commit),
        IN_FOLDER(abandoned_leaves_nothing),
        IN_FOLDER(temporary_is_hidden_and_beside),
        IN_FOLDER(what_killed_processes_left_is_removed),
        IN_FOLDER(closed_file_is_still_locked),
        IN_FOLDER(what_may_be_alive_stays),
        IN_FOLDER(new_file_obeys_umask_and_old_one_keeps_its_mode),
        IN_FOLDER(link_stays_a_link),
        IN_FOLDER(link_in_a_folder_is_followed_from_there),
        IN_FOLDER(longest_name_has_room_for_its_temporary),
        IN_FOLDER(impossible_places_are_refused),
        IN_FOLDER(device_is_written_directly),
        IN_FOLDER(full_disk_is_told),
        IN_FOLDER(pipe_gets_what_was_sought_in),
        IN_FOLDER(broken_pipe_is_told),
        IN_FOLDER(all_are_abandoned_at_once), /* the last one: nothing is created after it */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
