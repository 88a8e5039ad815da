#include "cli/inform.h"

#include "cli/completion.h"
#include "cli/help.h"
#include "cli/man.h"

#include <errno.h>
#include <string.h>

static enum status write_wanted(FILE *file, const struct settings *settings, struct error *error)
{
    if (settings->help != NULL && settings->help[0] != '\0')
        return help_write_stage(file, settings->help, error);
    if (settings->help != NULL)
        help_write_overview(file);
    else if (settings->version)
        help_write_version(file);
    else if (settings->generate == GENERATE_OPTION_COMPLETION)
        completion_write(file);
    else
        man_write(file);
    return STATUS_OK;
}

enum status inform(FILE *file, const struct settings *settings, struct error *error)
{
    enum status status = write_wanted(file, settings, error);
    if (status == STATUS_OK && (fflush(file) != 0 || ferror(file)))
        return fail(error, STATUS_FAILED, "standard output: cannot write: %s", strerror(errno));
    return status;
}
