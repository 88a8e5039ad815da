/* --help: a short introduction, or all stages and options, or one stage or option with its manual and
 * examples. The introduction is written here; the rest comes from the tables of stages and options.
 * --help=json is in help_json.c. This file also writes --version and calls the writers of --complete and
 * --generate. */
#include "cli/cli.h"

#include "base/text.h"
#include "image/format.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <isa-l.h>
#include <jansson.h>
#include <jpeglib.h>
#include <lcms2.h>
#include <png.h>
#include <tiffio.h>
#include <webp/decode.h>
#include <zlib.h>

const char help_usage[] = "climg [OPTION]... [INPUT]... [STAGE]... [OUTPUT]";

/* Writes each command and, below it, its purpose. */
static void write_examples(FILE *file, const struct example *examples)
{
    for (const struct example *example = examples; example->command != NULL; example++)
        fprintf(file, "  %s\n      %s\n", example->command, example->shows);
}

/* Groups of stages, in the order of the help. Each name has a blank on both sides, for strstr. The last group
 * has all other stages. */
static const struct {
    const char *title, *names;
} groups[] = {
    {"Size and place", " border crop deskew extend flip resize rotate scale trim warp align "},
    {"Clean and smooth", " denoise blur median rank background despeckle "},
    {"Sharpen and filter", " sharpen gradient convolve "},
    {"Colour", " profile gray levels local-contrast threshold invert negative minus over "},
    {"Many into one", " stack "},
    {"Wavelets", " wavelet mosaic gain shrink inverse-wavelet "},
    {"More", NULL},
};

const char *stage_group(const struct stage *stage)
{
    struct description name = {""};
    size_t i = 0;
    text_append(name.text, sizeof name.text, " %s ", stage->name);
    while (groups[i].names != NULL && strstr(groups[i].names, name.text) == NULL)
        i++;
    return groups[i].title;
}

/* The introduction: twelve lines, which fit on a screen together with the command before. */
static const char introduction[] =
    "Usage: climg [OPTION]... [INPUT]... [STAGE]... [OUTPUT]\n\n"
    "  climg photo.jpg --denoise clean.jpg            remove the noise of a photo\n"
    "  climg photo.jpg --resize 1600x web.jpg         make it 1600 pixels wide\n"
    "  climg scan.tif --rotate 2,crop=inside a.png    straighten a scan, trim corners\n"
    "  climg in.png --wavelet --mosaic=gain=4 w.png   see its wavelet transform\n"
    "  climg -r photos/ --sharpen 0.5 sharper/        every picture of a folder\n\n"
    "Stages run in the order written, on the device expected to finish first.\n"
    "climg --help=all    every stage and option\n"
    "climg --help=blur   one stage or option, with examples (man climg: the manual)\n"
    "Tutorial, recipes:  /usr/local/share/doc/climg, or /usr/share/doc/climg\n";

/* Writes all stages and options, for --help=all. */
static void write_overview(FILE *file)
{
    char summary[400] = "";
    text_append(summary, sizeof summary,
                "Filters, scales and transforms images (%s) with OpenCL. Without INPUT it reads stdin, "
                "without OUTPUT it writes stdout; - means either.",
                format_names(NULL, "and").text);
    fprintf(file, "Usage: %s\n\n", help_usage);
    wrap_paragraphs(file, summary, 0);
    fputs("\nExamples:\n", file);
    write_examples(file, overview_examples);
    fputs("\nStages, run in the order written:\n\n", file);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        bool begun = false; /* the title was written */
        for (const struct stage *const *stage = stages; *stage != NULL; stage++) {
            if (stage_group(*stage) != groups[i].title)
                continue;
            if (!begun)
                fprintf(file, "%s:\n", groups[i].title);
            begun = true;
            wrap_entry(file, describe_stage(*stage).text, (*stage)->brief);
        }
    }
    fputs("\nOptions, anywhere:\n", file);
    for (const struct option *option = global_options; option->type != OPTION_END; option++) {
        if (option->hidden)
            continue;
        /* Align long names, as if each had a letter before it. */
        struct description term = {""};
        const char *before = option->letter != 0 ? "" : "    ";
        text_append(term.text, sizeof term.text, "%s%s", before, describe_global(option).text);
        wrap_entry(file, term.text, describe_help(option).text);
    }
    fputs("\nExit status: 0 done, 1 failed, 2 wrong usage, 3 some of several files failed,\n"
          "4 --compare: pictures differ.\n"
          "'climg --help=NAME' explains a stage or option, 'man climg' is the whole manual.\n",
          file);
}

/* Writes the help of a stage or an option, which `topic` names: "blur", "--blur", "m". */
static enum status write_topic(FILE *file, const char *topic, struct error *error)
{
    const char *name = topic + strspn(topic, "-");
    const struct stage *stage = stage_find(name);
    const struct option *option =
        name[0] != '\0' && name[1] == '\0' ? global_find_letter(name[0]) : global_find(name);
    if (stage == NULL && option == NULL)
        return fail(error, STATUS_USAGE, "--help=%s: unknown stage or option; %s", topic,
                    suggest("--help=", name).text);
    if (stage != NULL) {
        fprintf(file, "%s\n    %s\n", describe_stage(stage).text, stage->brief);
        if (stage->options->type != OPTION_END)
            putc('\n', file);
        for (const struct option *key = stage->options; key->type != OPTION_END; key++)
            if (!key->hidden)
                wrap_entry(file, describe_parameter(key).text, describe_help(key).text);
        putc('\n', file);
        wrap_paragraphs(file, stage->manual, 0);
        if (stage->examples->command != NULL)
            fputs("\nExamples:\n", file);
        write_examples(file, stage->examples);
        return STATUS_OK;
    }
    /* A global option, and below it the keys of its value. */
    wrap_entry(file, describe_global(option).text, describe_global_help(option).text);
    if (option->keys != NULL)
        putc('\n', file);
    for (const struct option *key = option->keys; key != NULL && key->type != OPTION_END; key++)
        wrap_entry(file, describe_parameter(key).text, describe_help(key).text);
    return STATUS_OK;
}

/* The value of a macro as a string. */
#define TEXT_OF_WORD(word) #word
#define TEXT_OF(macro)     TEXT_OF_WORD(macro)

/* Writes the versions of climg and its libraries: of the loaded library if it has a function for that, else
 * of the header at compile time. */
static void write_version(FILE *file)
{
    /* TIFFGetVersion: "LIBTIFF, Version 4.5.0\nCopyright ..." */
    const char *tiff = TIFFGetVersion();
    const char *number = strpbrk(tiff, "0123456789");
    if (number == NULL)
        number = tiff;
    const unsigned webp = (unsigned)WebPGetDecoderVersion(); /* 0x010204 */
    const int lcms = cmsGetEncodedCMMversion();              /* 2140 */
    fprintf(
        file,
        "climg %s\nlibpng %s\nlibjpeg-turbo %s\nlibtiff %.*s\nlibwebp %u.%u.%u\nLittle CMS %d.%d\nzlib %s\n"
        "ISA-L %d.%d.%d\njansson %s\n",
        CLIMG_VERSION, png_get_libpng_ver(NULL), TEXT_OF(LIBJPEG_TURBO_VERSION), (int)strcspn(number, "\n"),
        number, webp >> 16, webp >> 8 & 0xff, webp & 0xff, lcms / 1000, lcms % 1000 / 10, zlibVersion(),
        ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION, ISAL_PATCH_VERSION, JANSSON_VERSION);
}

enum status help_write(FILE *file, const struct settings *settings, struct error *error)
{
    enum status status = STATUS_OK;
    /* --help without a topic is the empty string. */
    if (settings->help != NULL && strcmp(settings->help, "all") == 0)
        write_overview(file);
    else if (settings->help != NULL && strcmp(settings->help, "json") == 0)
        help_write_json(file);
    else if (settings->help != NULL && settings->help[0] != '\0')
        status = write_topic(file, settings->help, error);
    else if (settings->help != NULL)
        fputs(introduction, file);
    else if (settings->version)
        write_version(file);
    else if (settings->complete != NULL)
        completion_write(file, settings->previous_argument, settings->complete);
    else
        man_write(file);
    /* A closed pipe is no failure: in `climg --help | head` the reader has enough. */
    if (status == STATUS_OK && (fflush(file) != 0 || ferror(file)) && errno != EPIPE)
        return fail(error, STATUS_FAILED, "standard output: cannot write: %s", strerror(errno));
    return status;
}
