/* Confines the process (base/confine.h) to the files of a command. */
#ifndef CLIMG_BATCH_RIGHTS_H
#define CLIMG_BATCH_RIGHTS_H

#include "batch/command.h"
#include "batch/files.h"

/* Allows the files of the command and the list, temporary files, caches and what OpenCL drivers need, and
 * applies the rules. The output folder must exist, unless this is a dry run. If OpenCL will be used,
 * pocl_cache_open must have been called. Call it before there are threads. With --verbose prints which
 * restrictions are in force. */
enum status rights_confine(const struct command *command, const struct job_list *list, struct error *error);

#endif
