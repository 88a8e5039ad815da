/* The format of an output, and the options that it must fit. Opens no file.
 *
 * Thread safety: any thread may call. */
#ifndef CLIMG_BATCH_OUTPUT_FORMAT_H
#define CLIMG_BATCH_OUTPUT_FORMAT_H

#include "settings/settings.h"

/* Returns --format; without it, the format of the output's name; NULL if the name has none. */
const struct format *output_format(const struct settings *settings, const char *output);

/* Sets *format to output_format, or if the name has no extension to `input`, with --depth 1 to PBM instead of
 * another format of netpbm. `input` may be NULL. Fails with STATUS_USAGE if the extension belongs to no
 * format. */
enum status output_format_choose(const struct settings *settings, const char *output,
                                 const struct format *input, const struct format **format,
                                 struct error *error);

/* Fails with STATUS_USAGE if a coding option, such as --quality, is given and the format ignores it. */
enum status output_format_check_coding(const struct format *format, const struct settings *settings,
                                       struct error *error);

/* Fails with STATUS_USAGE if the format does not hold --depth, or if it ignores a coding option and the
 * output `is_single`: in a batch the option may be for other files. */
enum status output_format_check(const struct format *format, const struct settings *settings, bool is_single,
                                struct error *error);

#endif
