/* From argv to exit status.
 *
 * Signals: one thread waits for all that end the program, so that temporary files are removed by ordinary
 * code. A crash (SIGSEGV and its like) is handled in the thread that made it. The process ends by _exit:
 * closing a device takes longer than letting the system end it. */
#include "base/text.h"
#include "base/threads.h"
#include "batch/command.h"
#include "batch/report.h"
#include "cli/cli.h"
#include "device/choose.h"
#include "device/device.h"
#include "device/pocl.h"
#include "image/output/output.h"
#include "selftest/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool ending; /* set on a fatal signal; later errors are not printed */
static atomic_bool returned;

/* Prints one line; control characters become visible. */
static void complain(const struct error *error)
{
    struct error line = *error;
    if (atomic_load(&ending))
        return;
    text_make_visible(line.text);
    fprintf(stderr, "climg: %s\n", line.text);
}

/* Removes temporary files, prints how far a batch got, then dies of the signal, so that the shell sees it. Is
 * called by the thread that waits for signals, and by the handler of a crash in any thread: it calls only
 * functions that a signal handler may. */
static void interrupted(int number)
{
    sigset_t one;
    atomic_store(&ending, true);
    if (!crashes_include(number))
        pocl_end();
    outputs_abandon();
    progress_interrupted(number);
    signal(number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    raise(number);
}

static sigset_t awaited;

static void *await_signals(void *context)
{
    int number = 0;
    (void)context;
    while (sigwait(&awaited, &number) != 0 || number == PROGRESS_SIGNAL)
        if (number == PROGRESS_SIGNAL)
            progress_show_compiling();
    interrupted(number);
    return NULL;
}

/* Chooses the signals that end the program: those that were not ignored (nohup: SIGHUP) or blocked when it
 * started. */
static void choose_awaited(void)
{
    static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
    sigset_t blocked;
    sigemptyset(&awaited);
    pthread_sigmask(SIG_BLOCK, &awaited, &blocked);
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) {
        struct sigaction before;
        if (sigaction(deadly[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN &&
            sigismember(&blocked, deadly[i]) == 0)
            sigaddset(&awaited, deadly[i]);
    }
    sigaddset(&awaited, PROGRESS_SIGNAL);
}

/* Starts a thread that waits for signals, which are blocked in all others. Handlers are used only if it
 * cannot be started: LLVM, in OpenCL drivers, replaces them, and the first SIGQUIT or SIGXCPU would be lost.
 */
static void handle_signals(void)
{
    struct sigaction action = {.sa_handler = interrupted};
    struct error ignored;
    pthread_t thread;
    choose_awaited();
    action.sa_mask = awaited;
    crashes_handle(interrupted, &awaited);
    signal(SIGPIPE, SIG_IGN); /* writing then fails with EPIPE, which is handled */
    signal(SIGXFSZ, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &awaited, NULL);
    if (thread_start(&thread, await_signals, NULL, &ignored) == STATUS_OK) {
        pthread_detach(thread);
        return;
    }
    sigdelset(&awaited, PROGRESS_SIGNAL); /* it stays blocked, and no line is shown */
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&awaited, number) == 1)
            sigaction(number, &action, NULL);
    pthread_sigmask(SIG_UNBLOCK, &awaited, NULL);
}

/* Prints why the program ended: LLVM calls exit if it cannot write to the driver's cache. */
static void at_exit(void)
{
    static const char text[] = "climg: the OpenCL driver ended the program; its message is above\n";
    if (!atomic_load(&returned) && !atomic_load(&ending))
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
}

/* Opens closed standard descriptors, so that no file becomes stdin, stdout or stderr. Using them still fails.
 */
static void occupy_standard_descriptors(void)
{
    for (int descriptor = 0; descriptor <= 2; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) < 0)
            return;
}

/* Fails if standard output could not be written. */
static enum status written(enum status status, struct error *error)
{
    if (status == STATUS_OK && (fflush(stdout) != 0 || ferror(stdout)))
        return fail(error, STATUS_FAILED, "standard output: cannot write: %s", strerror(errno));
    return status;
}

/* Writes each line of stderr in one piece, as other processes may write there, too. */
static void write_lines_whole(void)
{
    static char line[1 << 15];
    setvbuf(stderr, line, _IOLBF, sizeof line);
}

/* Before the first OpenCL call. batch_run decides about drivers when it knows its files; --info needs a
 * device for one picture. */
static void start_drivers(const struct settings *settings)
{
    static const struct workload none;
    pocl_start(&settings->environment, settings->verbose && !settings->quiet, settings->quiet);
    if (settings->list_devices || settings->selftest || settings->warm || settings->info != INFO_ABSENT)
        device_start(settings, settings->info != INFO_ABSENT ? &none : NULL);
}

int main(int argc, char **argv)
{
    struct command command = {0};
    struct error error = {.text = ""};
    occupy_standard_descriptors();
    handle_signals();
    atexit(at_exit);
    write_lines_whole();
    enum status status = command_parse(argc, (const char *const *)argv, &command, &error);
    const struct settings *settings = &command.settings;
    if (status == STATUS_OK && !settings_want_information(settings) && !settings->dry_run)
        start_drivers(settings);
    if (status == STATUS_OK && settings_want_information(settings))
        status = help_write(stdout, settings, &error);
    else if (status == STATUS_OK && settings->info != INFO_ABSENT)
        status = written(info_write(&command, stdout, complain, &error), &error);
    else if (status == STATUS_OK && settings->list_devices)
        status = written(
            device_list(&settings->environment, settings->list_devices == LIST_JSON, stdout, &error), &error);
    else if (status == STATUS_OK && settings->selftest)
        status = written(selftest(settings, stdout, &error), &error);
    else if (status == STATUS_OK && settings->warm)
        status = written(warm(&command, stdout, &error), &error);
    else if (status == STATUS_OK)
        status = batch_run(&command, complain, &error);
    if (status != STATUS_OK)
        complain(&error);
    const bool close = environment_closes(&settings->environment);
    command_free(&command);
    pocl_end();
    while (atomic_load(&ending)) /* the signal's thread ends the program */
        pause();
    atomic_store(&returned, true);
    if (close)
        return (int)status;
    fflush(NULL);
    _exit((int)status); /* closing a device takes longer than letting the system end the process */
}
