/* From argv to exit status. */
#include "batch/batch.h"
#include "batch/results.h"
#include "cli/help.h"
#include "cli/parse.h"
#include "device/choose.h"
#include "device/open.h"
#include "image/output/output.h"
#include "tuning/tune.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* One line, whatever file names and values hold. */
static void complain(const struct error *error)
{
    struct error line = *error;
    for (char *c = line.text; *c; c++)
        *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
    fprintf(stderr, "climg: %s\n", line.text);
}

/* Leaves nothing behind, says how far a batch got, then dies of the signal, so that the shell sees what
 * happened. */
static void interrupted(int number)
{
    outputs_abandon();
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

static enum status tune_device(const struct settings *settings, struct error *error)
{
    struct device device = {0};
    enum status status = device_choose(settings->device, &settings->environment, &device, error);
    if (status == STATUS_OK)
        status = device_open(&device, error);
    if (status == STATUS_OK)
        status = tune(&device, stdout, error);
    device_close(&device);
    return status;
}

/* A line is written in one piece, however it is put together: others may write there, too. */
static void write_lines_whole(void)
{
    static char line[1 << 15];
    setvbuf(stderr, line, _IOLBF, sizeof line);
}

int main(int argc, char **argv)
{
    struct command command = {0};
    struct error error = {.text = ""};
    occupy_standard_descriptors();
    install_handlers();
    write_lines_whole();
    enum status status = command_parse(argc, (const char *const *)argv, &command, &error);
    const struct settings *settings = &command.settings;
    if (status == STATUS_OK && settings_want_information(settings))
        status = help_tell(stdout, settings, &error);
    else if (status == STATUS_OK && settings->list_devices)
        status = device_list(&settings->environment, stdout, &error);
    else if (status == STATUS_OK && settings->tune)
        status = tune_device(settings, &error);
    else if (status == STATUS_OK)
        status = batch_run(&command, complain, &error);
    if (status != STATUS_OK)
        complain(&error);
    command_free(&command);
    return (int)status;
}
