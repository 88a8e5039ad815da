/* From argv to exit status: parses the command and calls the module that executes it.
 *
 * A thread waits for SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGXCPU, except those that the parent process
 * ignores or blocks. All other threads block them. Crashes (SIGSEGV, SIGABRT and similar) are handled in the
 * thread that caused them. For both, temporary files are removed, a batch's progress is printed, and the
 * process ends by the same signal, so that the shell sees it.
 *
 * main ends with _exit, without closing the device: the system frees everything faster. */
#include "base/files.h"
#include "base/text.h"
#include "base/threads.h"
#include "batch/command.h"
#include "batch/progress.h"
#include "batch/rights.h"
#include "cli/cli.h"
#include "device/choose.h"
#include "device/device.h"
#include "device/pocl.h"
#include "image/output/output.h"
#include "selftest/selftest.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_bool is_ending;    /* a fatal signal arrived; later errors are not printed */
static atomic_bool has_returned; /* main has finished: no driver called exit() */
static sigset_t waited_signals;  /* signals that await_signals waits for; set before there are threads */

/* Prints an error as one line, without control characters. */
static void report_error(const struct error *error)
{
    struct error line = *error;
    if (atomic_load(&is_ending))
        return;
    text_make_visible(line.text);
    fprintf(stderr, "climg: %s\n", line.text);
}

/* Removes temporary files, prints the progress of a batch, and ends the process by the signal. Called by the
 * thread that waits for signals. Also the signal handler for crashes in any thread: it calls only
 * async-signal-safe functions. */
static void end_by_signal(int number)
{
    sigset_t one;
    atomic_store(&is_ending, true);
    if (!is_crash_signal(number)) /* after a crash the marker stays, and the next run empties PoCL's cache */
        pocl_cache_close();
    temporary_remove_all();
    progress_interrupted(number);
    signal(number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    raise(number);
}

static void *await_signals(void *context)
{
    static const struct timespec interval = {.tv_nsec = 100000000};
    int number;
    (void)context;
    while ((number = sigtimedwait(&waited_signals, NULL, &interval)) < 0)
        progress_poll();
    end_by_signal(number);
    return NULL;
}

/* Installs the handlers of crashes and blocks the signals that await_signals will wait for. */
static void prepare_signals(void)
{
    static const int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
    sigset_t blocked;

    /* Leave out signals that the parent process ignores (nohup: SIGHUP) or blocks. */
    sigemptyset(&waited_signals);
    pthread_sigmask(SIG_BLOCK, &waited_signals, &blocked);
    for (size_t i = 0; i < sizeof fatal_signals / sizeof fatal_signals[0]; i++) {
        struct sigaction before;
        if (sigaction(fatal_signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN &&
            sigismember(&blocked, fatal_signals[i]) == 0)
            sigaddset(&waited_signals, fatal_signals[i]);
    }
    crashes_handle(end_by_signal, &waited_signals);
    pthread_sigmask(SIG_BLOCK, &waited_signals, NULL);
}

/* An exit handler: prints why the program ends if a driver called exit(), as LLVM does if it cannot write to
 * the driver's cache. */
static void at_exit(void)
{
    static const char text[] = "climg: the OpenCL driver ended the program; its message is above\n";
    if (!atomic_load(&has_returned) && !atomic_load(&is_ending))
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
}

/* Flushes stdout unless the command failed as a whole. Returns `status`, or STATUS_FAILED if stdout cannot be
 * written. */
static enum status check_stdout(enum status status, struct error *error)
{
    const bool has_output = status != STATUS_FAILED && status != STATUS_USAGE;
    return has_output && text_flush(stdout, error) != STATUS_OK ? STATUS_FAILED : status;
}

/* Blocks the signals, prepares the OpenCL drivers, confines the process to the files of `list`, and starts
 * the thread that waits for signals. Until prepare_signals, signals end the process at once, as it has no
 * temporary files yet. `list` is NULL for commands without files, such as --selftest, which are not confined.
 */
static enum status prepare_process(const struct command *command, const struct job_list *list,
                                   struct error *error)
{
    static const struct workload none;
    const struct settings *settings = &command->settings;
    prepare_signals();
    const bool uses_device = !settings->dry_run && (settings->mode & MODES_OF_DEVICES) != 0;
    if (uses_device)
        pocl_cache_open(&settings->environment, settings->verbose, settings->quiet);
    enum status status = list && !settings->no_confine ? rights_confine(command, list, error) : STATUS_OK;
    /* Start the thread that waits for signals. Handlers would not do: LLVM, in OpenCL drivers, replaces them,
     * and the first SIGQUIT or SIGXCPU would be lost. */
    pthread_t thread;
    if (status == STATUS_OK)
        status = thread_start(&thread, await_signals, NULL, error);
    if (status == STATUS_OK)
        pthread_detach(thread);
    /* Only batch_run estimates its work, and then calls device_select_drivers itself. --info --measure
     * has little work, so count it as none. The work of --list-devices, --selftest and --warm is unknown. */
    if (status == STATUS_OK && uses_device && settings->mode != MODE_CONVERT)
        device_select_drivers(settings, list ? &none : NULL);
    return status;
}

static enum status execute(struct command *command, struct error *error)
{
    const struct settings *settings = &command->settings;
    if (settings_prints_text(settings))
        return help_write(stdout, settings, error);
    switch (settings->mode) {
    case MODE_CONVERT:
        return batch_run(command, report_error, error);
    case MODE_INFO:
    case MODE_MEASURE:
        return check_stdout(info_write(command, stdout, report_error, error), error);
    case MODE_CHECK:
        return check_stdout(check_run(command, stdout, report_error, error), error);
    case MODE_COMPARE:
        return check_stdout(compare_write(command, stdout, report_error, error), error);
    default:
        break;
    }
    enum status status = prepare_process(command, NULL, error);
    if (status != STATUS_OK)
        return status;
    if (settings->mode == MODE_LIST_DEVICES)
        status = device_list(&settings->environment, settings->list_devices == LIST_JSON, stdout, error);
    else
        status = settings->mode == MODE_SELFTEST ? selftest(settings, stdout, error)
                                                 : warm(command, stdout, error);
    return check_stdout(status, error);
}

int main(int argc, char **argv)
{
    static char line[1 << 15];
    struct command command = {0};
    struct error error = {.text = ""};

    /* Open closed standard descriptors, so that no file becomes stdin, stdout or stderr. Reading and writing
     * them still fails: stdin is opened for writing, the others for reading. */
    for (int i = 0, opened = 0; i <= 2 && opened >= 0; i++)
        if (fcntl(i, F_GETFD) < 0)
            opened = open("/dev/null", i == 0 ? O_WRONLY : O_RDONLY);
    atexit(at_exit);

    /* Writing to a closed pipe, or beyond the limit of a file's size, then fails with EPIPE or EFBIG. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);

    /* Write each line of stderr with one write(), as other processes may write there, too. */
    setvbuf(stderr, line, _IOLBF, sizeof line);

    enum status status = command_parse(argc, (const char *const *)argv, &command, &error);
    command.prepare_process = prepare_process;
    if (status == STATUS_OK)
        status = execute(&command, &error);
    if (status != STATUS_OK)
        report_error(&error);

    /* If a fatal signal arrived, await_signals ends the program. CLIMG_CLOSE frees the rest, for tests. */
    const bool close = environment_closes(&command.settings.environment);
    command_free(&command);
    pocl_cache_close();
    while (atomic_load(&is_ending))
        pause();
    atomic_store(&has_returned, true);
    if (close)
        return (int)status;
    fflush(NULL);
    _exit((int)status);
}
