/* From argv to exit status. */
#include "batch/batch.h"
#include "batch/report.h"
#include "batch/results.h"
#include "cli/inform.h"
#include "cli/parse.h"
#include "device/choose.h"
#include "image/writer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One line, whatever file names and values hold. */
static void complain(const struct error *error)
{
    fputs("climg: ", stderr);
    for (const char *c = error->text; *c; c++)
        fputc((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c, stderr);
    fputc('\n', stderr);
}

/* Leaves nothing behind, says how far a batch got, then dies of the signal, so that the shell sees what
 * happened. */
static void interrupted(int number)
{
    writers_abandon();
    results_interrupted(number);
    signal(number, SIG_DFL);
    raise(number);
}

static void install_handlers(void)
{
    static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGABRT}; /* drivers may abort */
    struct sigaction action = {.sa_handler = interrupted};
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) {
        struct sigaction before;
        if (sigaction(deadly[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) /* nohup ignores SIGHUP */
            sigaction(deadly[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN); /* writing then fails with EPIPE, which is reported and cleaned up after */
    signal(SIGXFSZ, SIG_IGN);
}

/* A file that is opened later must not become stdin, stdout or stderr; using a closed one must still fail. */
static void occupy_standard_descriptors(void)
{
    for (int descriptor = 0; descriptor <= 2; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) < 0)
            return;
}

/* A trace that cannot be written is a failure, but not one that hides files that failed. */
static enum status write_trace(struct session *session, enum status status, struct error *error)
{
    struct error trouble = {""};
    if (trace_write(&session->trace, session->settings->trace, &trouble) == STATUS_OK)
        return status;
    if (status != STATUS_OK)
        complain(&trouble);
    else
        *error = trouble;
    return status == STATUS_OK ? STATUS_FAILED : status;
}

static enum status run(const struct command *command, struct error *error)
{
    struct session session;
    session_init(&session, &command->settings, &command->chain);
    if (command->settings.verbose && !command->settings.quiet)
        settings_print(stderr, &command->settings);
    enum status status = batch_run(&session, command, complain, error);
    bool report = session.measured && (status == STATUS_OK || status == STATUS_PARTIAL);
    if (report && command->settings.timing == TIMING_OPTION_TABLE)
        report_table(stderr, &session);
    if (report && command->settings.timing == TIMING_OPTION_JSON)
        report_json(stderr, &session);
    if (report && command->settings.trace)
        status = write_trace(&session, status, error);
    session_close(&session);
    return status;
}

static enum status perform(struct command *command, struct error *error)
{
    if (settings_want_information(&command->settings))
        return inform(stdout, &command->settings, error);
    if (command->settings.list_devices)
        return device_list(&command->settings.environment, stdout, error);
    if (command->settings.tune)
        return session_tune(&command->settings, stdout, error);
    enum status status = chain_prepare(&command->chain, error);
    return status == STATUS_OK ? run(command, error) : status;
}

int main(int argc, char **argv)
{
    struct command command = {0};
    struct error error = {""};
    occupy_standard_descriptors();
    install_handlers();
    enum status status = command_parse(argc, (const char *const *)argv, &command, &error);
    if (status == STATUS_OK)
        status = perform(&command, &error);
    if (status != STATUS_OK)
        complain(&error);
    command_free(&command);
    return (int)status;
}
