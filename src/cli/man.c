#include "cli/man.h"

#include "base/text.h"
#include "cli/describe.h"
#include "image/format.h"
#include "settings/settings.h"

#include <string.h>

/* The code point that `*text` begins with; moves past it. Text in the program is valid UTF-8. */
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

/* What troff would take for markup or typeset as another character (a hyphen for '-', quotes), and what is
 * not ASCII, which it does not read without a preprocessor. */
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

/* A full stop at the beginning of a line would be a request: \& keeps it from that. */
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

/* Paragraphs separated by blank lines, in whose place troff wants a request. */
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

/* A term in bold and what it means, indented. No quote is left in a text, so it can be quoted as one
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
        "result. Global options may stand anywhere. -- ends the options.");
    write_paragraphs(file, known);
    write_paragraphs(
        file, "Without a file name it reads standard input and writes standard output; with one it "
              "reads that file; of two the second is the output. - is standard input or output. A failed run "
              "leaves no partial output.\n\n"

              "Without a stage it converts. Inside the chain samples are floating-point numbers with full "
              "scale 1; those of floating-point files are taken as they are. Colour is multiplied by alpha "
              "once on entry and divided once on exit. Results are clamped and rounded half to even when "
              "they become integers.");
}

static void write_batch(FILE *file)
{
    fputs(".SH \"MANY FILES\"\n", file);
    write_paragraphs(
        file,
        "Of more than two file names the last is a directory, and so is the output of an input directory; it "
        "is made when it does not exist. An existing directory, or a name that ends in a slash, takes a "
        "single "
        "output as well. Names are kept, and the extension follows --format. With --output all file names "
        "are inputs. --files-from adds those of a list, whose outputs go to a directory, too: find photos "
        "-name "
        "'*.tif' -print0 | climg --files-from - -0 --scale 1/2 small/.\n\n"

        "A file that exists and stands before the first stage is taken for an input, as a shell's pattern "
        "puts it there: it is not overwritten unless it is named last, by --output, or with --yes. An output "
        "that is its own input wants --in-place, which replaces each of the files named, or all of a "
        "directory, once its output is whole.\n\n"

        "File arguments are taken whatever they are. Of a directory climg takes regular files whose names "
        "end as those of images do, and others that begin as an image does, whose output is named after what "
        "they are; hidden files and all other files are left alone. --recursive looks into the directories "
        "in it too and mirrors them; links to directories are not followed, and the output directory, where "
        "it lies inside, is passed over. Files are done in the order of the bytes of their names.\n\n"

        "Two inputs that would make one output, an output that is another file's input or a file that a "
        "stage reads, and a --report, --timing or --trace that is one of these, are refused before anything "
        "is done. A file that fails is "
        "reported and the others go on; but what would fail alike with each (no device, no room, an output "
        "directory that "
        "cannot be written) is said once and ends the batch, which says how many files were not tried. After "
        "a signal what is done stays, what was under way leaves "
        "nothing, and climg says how far it got. Hidden files that a killed run left are removed by the next "
        "run with that output directory (those of other machines after an hour).\n\n"

        "Outputs say in their metadata (Software) what made them: the stages with all their values, and the "
        "options that decide about pixels, such as --edge. The name of a program that was there before "
        "stands "
        "before it. --resume leaves out a file whose output is at least as new and says the "
        "same, whatever the version of climg; with --strip, which writes no such text, and in formats that "
        "keep none (netpbm's), the time alone counts.\n\n"

        "--report writes a JSON object a line as each file is done: input, output, status (done, skipped, "
        "failed), error, from and to (width, height, channels of the first page), noise (of the first page, "
        "where a stage estimated it: standard deviations in 8-bit counts of each colour, or of brightness "
        "and two colour differences), bytes_in, bytes_out, "
        "seconds of each part, group (how many images went through the chain together), device. It is begun "
        "anew, with --resume it goes on. --report -, --trace - and --timing=json:- write standard output, "
        "where no "
        "pixels go there. On a terminal a line tells how far several files are, or the rows of a large one, "
        "at what rate, "
        "and what most of the time goes into; with -v there is a line a file instead.\n\n"

        "--shard I/N shares the files out among N processes, on as many machines, without a word between "
        "them: which part a file is in follows from a hash of its name below the input directory (of a "
        "file argument, the last part). I goes from 1 to N. auto asks the environment: in a Slurm array "
        "which task of how many, where the tasks are evenly numbered; in a task of srun SLURM_PROCID and "
        "SLURM_NTASKS; "
        "in a Kubernetes Indexed Job "
        "JOB_COMPLETION_INDEX and under GNU parallel PARALLEL_SEQ, with N from auto/N, CLIMG_SHARD_COUNT "
        "or (Kubernetes) JOB_COMPLETIONS. auto/N in a Slurm array of tasks 1 to N lets single tasks be "
        "submitted again.");
}

static void write_stages(FILE *file)
{
    fputs(".SH STAGES\n", file);
    write_paragraphs(
        file,
        "The value of a stage is PRIMARY[,KEY=VALUE]..., as in --scale 4,filter=bilinear. A value that is "
        "needed stands after a blank or after =, one that may be left out only after =. A pyramid that "
        "meets an image stage, or the end of the chain, becomes a picture as if --mosaic stood there.");
    for (const struct stage *const *stage = stages; *stage != NULL; stage++)
        write_stage(file, *stage);
}

static void write_exit_status(FILE *file)
{
    fputs(".SH EXIT STATUS\n", file);
    write_entry(file, "0", "done");
    write_entry(file, "1", "failed");
    write_entry(file, "2", "wrong usage: nothing was opened or written");
    write_entry(file, "3", "some of several files failed, the others are done");
}

void man_write(FILE *file)
{
    fprintf(file,
            ".\\\" Made by climg --generate=man; changes belong in its source.\n"
            ".TH CLIMG 1 \"\" \"climg %s\" \"User Commands\"\n"
            ".nh\n.ad l\n", /* names that are broken or spaced out are not found again */
            CLIMG_VERSION);
    fputs(".SH NAME\nclimg \\- filter and scale images with OpenCL\n", file);
    fputs(".SH SYNOPSIS\n.B climg\n[\\fIOPTION\\fR]... [\\fIINPUT\\fR]... [\\fISTAGE\\fR]... "
          "[\\fIOUTPUT\\fR]\n",
          file);
    write_description(file);
    write_stages(file);
    write_batch(file);
    fputs(".SH OPTIONS\n", file);
    write_options(file, global_options, describe_global);
    write_exit_status(file);
    fputs(".SH ENVIRONMENT\n", file);
    write_options(file, environment_variables, describe_variable);
    fputs(".SH EXAMPLES\n", file);
    write_examples(file, overview_examples);
    fputs(".SH SEE ALSO\n.BR vips (1),\n.BR clinfo (1),\n.BR pngcheck (1),\n.BR tiffinfo (1)\n", file);
}
