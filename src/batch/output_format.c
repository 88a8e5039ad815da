/* Implements output_format.h. */
#include "batch/output_format.h"

#include "base/text.h"
#include "image/format.h"

#include <string.h>

const struct format *output_format(const struct settings *settings, const char *output)
{
    return settings->format ? settings->format : format_by_path(output);
}

enum status output_format_choose(const struct settings *settings, const char *output,
                                 const struct format *input, const struct format **format,
                                 struct error *error)
{
    const char *base = name_base(output);
    *format = output_format(settings, output);
    if (*format)
        return STATUS_OK;
    *format = input;
    /* For --depth 1 take a format of the same family, that is, with the same reader: PBM instead of PPM. */
    for (size_t i = 0; settings->depth == DEPTH_OPTION_1 && input && !(*format)->holds.bits && formats[i];
         i++)
        if (formats[i]->reader == input->reader && formats[i]->holds.bits)
            *format = formats[i];
    /* No dot, or only a dot at the start of the name: no extension. */
    if (strrchr(base, '.') <= base)
        return STATUS_OK;
    const char *kind = foreign_name_by_path(output);
    if (kind)
        fail(error, STATUS_USAGE, "%s", foreign_hint(kind, output, true).text);
    else
        fail(error, STATUS_USAGE, "climg writes %s; give it one of their extensions, or use --format",
             format_names(NULL, "and").text);
    error_prefix(error, output);
    return STATUS_USAGE;
}

enum status output_format_check_coding(const struct format *format, const struct settings *settings,
                                       struct error *error)
{
    const struct {
        enum coding_option option;
        bool is_given;
        const char *name;
    } options[] = {
        {CODING_QUALITY, settings->quality > 0, "--quality"},
        {CODING_LOSSLESS, settings->lossless, "--lossless"},
        {CODING_SUBSAMPLING, settings->subsampling != SUBSAMPLING_UNKNOWN, "--subsampling"},
        {CODING_PROGRESSIVE, settings->progressive, "--progressive"},
        {CODING_COMPRESSION, settings->compression != COMPRESSION_PRESET_DEFAULT, "--compression"},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (options[i].is_given && (format->coding & options[i].option) == 0)
            return fail(error, STATUS_USAGE, "%s means nothing in %s; leave it out", options[i].name,
                        format->name);
    return STATUS_OK;
}

enum status output_format_check(const struct format *format, const struct settings *settings, bool is_single,
                                struct error *error)
{
    if (is_single && output_format_check_coding(format, settings, error) != STATUS_OK)
        return STATUS_USAGE;
    const enum sample_type type = settings_type(settings, SAMPLE_UINT8);
    const bool is_bilevel = settings->depth == DEPTH_OPTION_1;
    const struct capacity wanted = {.types = is_bilevel ? 0 : 1u << type, .bits = is_bilevel};
    if (settings->depth == DEPTH_OPTION_ABSENT || format_holds(format, &wanted))
        return STATUS_OK;
    return fail(error, STATUS_USAGE, "%s does not hold %s samples; leave --depth out, or write %s",
                format->name, is_bilevel ? "1-bit" : sample_name(type), format_names(&wanted, "or").text);
}
