#include "cli/cli.h"

#include "base/text.h"
#include "image/format.h"
#include "settings/settings.h"

#include <string.h>

/* Takes the first code point of `*text`. Text in the program is valid UTF-8. */
static unsigned long take_code_point(const char **text)
{
    const unsigned char *byte = (const unsigned char *)*text;
    int length = byte[0] < 0x80 ? 1 : byte[0] < 0xE0 ? 2 : byte[0] < 0xF0 ? 3 : 4;
    unsigned long code = length == 1 ? byte[0] : byte[0] & (0x7FU >> length);
    for (int i = 1; i < length; i++)
        code = code << 6 | (byte[i] & 0x3FU);
    *text += length;
    return code;
}

/* Escapes troff's markup, characters that it typesets otherwise ('-', quotes), and what is not ASCII, which
 * needs a preprocessor. */
static void write_character(FILE *file, unsigned long code)
{
    static const struct {
        char character;
        const char *escape;
    } escapes[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"}, {'`', "\\(ga"},
                   {'^', "\\(ha"}, {'~', "\\(ti"}, {'"', "\\(dq"}};
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        if (code == (unsigned char)escapes[i].character) {
            fputs(escapes[i].escape, file);
            return;
        }
    }
    if (code < 0x80)
        putc((int)code, file);
    else
        fprintf(file, "\\[u%04lX]", code);
}

/* A full stop at the beginning of a line is a request; \& prevents that. */
static void write_text(FILE *file, const char *text, size_t size)
{
    const char *end = text + size;
    bool line_begins = true;
    while (text < end) {
        if (line_begins && *text == '.')
            fputs("\\&", file);
        line_begins = *text == '\n';
        write_character(file, take_code_point(&text));
    }
}

static void write_line(FILE *file, const char *text)
{
    write_text(file, text, strlen(text));
    putc('\n', file);
}

/* Writes paragraphs; troff wants a request where the text has a blank line. */
static void write_paragraphs(FILE *file, const char *text)
{
    while (*text != '\0') {
        const char *blank = strstr(text, "\n\n");
        size_t size = blank != NULL ? (size_t)(blank - text) : strlen(text);
        fputs(".PP\n", file);
        write_text(file, text, size);
        putc('\n', file);
        text += size;
        text += strspn(text, "\n");
    }
}

/* Writes a term in bold and its meaning, indented. The text holds no quotes, so it can be one quoted
 * argument. */
static void write_entry(FILE *file, const char *term, const char *meaning)
{
    fputs(".TP\n.B \"", file);
    write_text(file, term, strlen(term));
    fputs("\"\n", file);
    write_line(file, meaning);
}

static void write_examples(FILE *file, const struct example *examples)
{
    for (const struct example *example = examples; example->command != NULL; example++)
        write_entry(file, example->command, example->shows);
}

static void write_options(FILE *file, const struct option *table,
                          struct description (*describe)(const struct option *option))
{
    for (const struct option *option = table; option->type != OPTION_END; option++) {
        if (!option->hidden)
            write_entry(file, describe(option).text, describe_help(option).text);
    }
}

static void write_stage(FILE *file, const struct stage *stage)
{
    struct description synopsis = describe_stage(stage);
    struct description summary = {""};
    text_append(summary.text, sizeof summary.text, "%s (%s)", stage->brief, describe_kinds(stage).text);
    fputs(".SS \"", file);
    write_text(file, synopsis.text, strlen(synopsis.text));
    fputs("\"\n", file);
    write_line(file, summary.text);
    write_options(file, stage->options, describe_parameter);
    write_paragraphs(file, stage->manual);
    write_examples(file, stage->examples);
}

static void write_description(FILE *file)
{
    char known[400] = "";
    text_append(
        known, sizeof known,
        "climg reads and writes %s, by a file's first bytes and by the name of the output or --format.",
        format_names(NULL, "and").text);
    fputs(".SH DESCRIPTION\n", file);
    write_paragraphs(
        file,
        "climg reads an image, runs the stages in the order written on an OpenCL device, and writes the "
        "result. Global options may stand anywhere; -- ends the options.");
    write_paragraphs(file, known);
    write_paragraphs(
        file,
        "Without a file name climg reads standard input and writes standard output. With one file name it "
        "reads that file; of two, the second is the output. - is standard input or output. A run that fails "
        "leaves no partial output.\n\n"

        "Without a stage climg converts. Inside the chain samples are floating-point numbers, with full "
        "scale 1; samples of floating-point files are used as they are. Colour is multiplied by alpha once "
        "on input and divided by it once on output. Results that become integers are clamped and rounded, "
        "half to even.");
}

static void write_batch(FILE *file)
{
    fputs(".SH \"MANY FILES\"\n", file);
    write_paragraphs(
        file,
        "With more than two file names the last is a directory; the output of an input directory is one, "
        "too. "
        "It is made if it does not exist. A single output also goes into a directory if that exists, or if "
        "its "
        "name ends in a slash. Outputs keep the names of their inputs; the extension follows --format. With "
        "--output all file names are inputs. --files-from adds the names in a list: find photos -name "
        "'*.tif' -print0 | climg --files-from - -0 --scale 1/2 small/.\n\n"

        "An existing file that stands before the first stage is taken for an input, as a shell pattern would "
        "put it there. It is overwritten only if it is named last, or by --output, or with --yes. To replace "
        "the inputs themselves use --in-place: each file is replaced once its output is complete.\n\n"

        "A file argument is read whatever its name is. In a directory climg takes regular files that are "
        "images "
        "by their extension or by their first bytes, and skips hidden files and all others. --recursive "
        "includes "
        "the directories below, and the output mirrors them. Links to directories are not followed; an "
        "output "
        "directory that lies inside the input directory is skipped. Files are done in the order of their "
        "names, "
        "byte by byte.\n\n"

        "Before anything is done climg refuses two inputs with the same output, an output that is another "
        "input or a file that a stage reads, and a file of --report, --timing or --trace that is one of "
        "these. "
        "If a file fails, climg reports it and goes on. A failure that all other files would share (no "
        "device, "
        "a full disk, an output directory that cannot be written) is reported once and ends the batch; climg "
        "then says how many files were not tried. An input that is changed while it is read fails. After a "
        "signal finished outputs stay, unfinished ones are removed, and climg says how far it got. The next "
        "run "
        "with the same output directory removes hidden files that a killed run left (those of other machines "
        "after an hour).");
}

static void write_records(FILE *file)
{
    write_paragraphs(
        file,
        "Outputs say in their metadata (Software) how they were made: all stages with their values, and the "
        "options that change pixels, such as --edge. The name of the program that made the input comes "
        "first.\n\n"

        "--resume skips files that are done. It keeps a record in each output directory, the hidden file "
        ".climg-done, with the work, the size and time of each input, and the size, times and checksum of "
        "each "
        "output. A file is done again if the stages, the input or the output changed since. An output "
        "without "
        "a record is skipped if it is not older than its input, says the same stages, and can be read to its "
        "end; with --strip and in formats without texts (netpbm, Y4M) its stages are not known and do not "
        "count.\n\n"

        "--report writes one JSON object a line for each file as it is done: input, output, status (done, "
        "skipped, failed), error, warnings, from and to (width, height, channels of the first page), noise "
        "(of "
        "the first page, if a stage looked for it: for each colour, or for brightness and two colour "
        "differences, a list by wavelet level, finest first, in 8-bit counts), align, bytes_in, bytes_out, "
        "seconds of each part, group (how many images went through the chain together), device. The file is "
        "overwritten, or with --resume continued. --report -, --trace - and --timing=json:- write to "
        "standard "
        "output if no pixels go there. On a terminal a line shows how far the files, or the rows of a large "
        "file, are, how fast, and what takes most of the time; with -v each file has a line instead.\n\n"

        "--shard I/N is for several processes, on one machine or many, that share the files: each does part "
        "I "
        "of N, with I from 1 to N. A file's part follows from a hash of its name below the input directory "
        "(of "
        "a file argument, the last part of its name), so the processes need not communicate. auto takes I "
        "and N "
        "from a Slurm array with evenly numbered tasks, or from srun (SLURM_PROCID and "
        "SLURM_STEP_NUM_TASKS). "
        "auto/N, in an array of tasks 1 to N, allows single tasks to be submitted again.");
}

static void write_stages(FILE *file)
{
    fputs(".SH STAGES\n", file);
    write_paragraphs(
        file,
        "The value of a stage is PRIMARY[,KEY=VALUE]..., as in --scale 4,filter=bilinear. A required value "
        "follows a blank or =, an optional value only =. A pyramid that meets an image stage, or the end of "
        "the "
        "chain, becomes a picture as by --mosaic.");
    for (const struct stage *const *stage = stages; *stage != NULL; stage++)
        write_stage(file, *stage);
}

static void write_exit_status(FILE *file)
{
    fputs(".SH EXIT STATUS\n", file);
    write_entry(file, "0", "done");
    write_entry(file, "1", "failed");
    write_entry(file, "2", "wrong usage; nothing was written");
    write_entry(file, "3", "some of several files failed; the others are done");
}

void man_write(FILE *file)
{
    fprintf(file,
            ".\\\" Made by climg --generate=man; changes belong in its source.\n"
            ".TH CLIMG 1 \"\" \"climg %s\" \"User Commands\"\n"
            ".nh\n.ad l\n", /* broken or spaced names could not be searched for */
            CLIMG_VERSION);
    fputs(".SH NAME\nclimg \\- filter and scale images with OpenCL\n", file);
    fputs(".SH SYNOPSIS\n.B climg\n[\\fIOPTION\\fR]... [\\fIINPUT\\fR]... [\\fISTAGE\\fR]... "
          "[\\fIOUTPUT\\fR]\n",
          file);
    write_description(file);
    write_stages(file);
    write_batch(file);
    write_records(file);
    fputs(".SH OPTIONS\n", file);
    write_options(file, global_options, describe_global);
    write_exit_status(file);
    fputs(".SH ENVIRONMENT\n", file);
    write_options(file, environment_variables, describe_variable);
    fputs(".SH EXAMPLES\n", file);
    write_examples(file, overview_examples);
    fputs(".SH SEE ALSO\n.BR vips (1),\n.BR clinfo (1),\n.BR pngcheck (1),\n.BR tiffinfo (1)\n", file);
}
