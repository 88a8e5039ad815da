/* The table of global options, parsers and printers of values that have their own syntax, and checks for
 * options that contradict each other.
 *
 * parse_X stores a value; its message describes only the problem, as option_parse adds "--range 5: " in
 * front. print_X prints the value so that parse_X returns the same. */
#include "settings/settings.h"

#include "base/text.h"
#include "base/threads.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Words for zlib levels; see enum compression_preset of image/format.h. */
static const struct {
    const char *word;
    int level;
} presets[] = {{"none", 0}, {"fast", 1}, {"default", -1}, {"best", 9}};

/* "none", "fast", "default", "best", or a level of zlib */
static enum status parse_compression(const char *text, void *field, struct error *error)
{
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        if (strcmp(text, presets[i].word) == 0) {
            *(int *)field = presets[i].level;
            return STATUS_OK;
        }
    }
    long long level = 0;
    if (!text_to_integer(text, &level) || level < 0 || level > 9)
        return fail(error, STATUS_USAGE, "not one of none, fast, default, best or 0 to 9");
    *(int *)field = (int)level;
    return STATUS_OK;
}

static void print_compression(FILE *file, const void *field)
{
    const int level = *(const int *)field;
    if (level < 0)
        fputs("default", file);
    else
        fprintf(file, "%d", level);
}

static enum status parse_format(const char *text, void *field, struct error *error)
{
    const struct format *format = format_by_extension(text);
    if (format == NULL)
        return fail(error, STATUS_USAGE, "climg writes %s", format_names(NULL, "and").text);
    *(const struct format **)field = format;
    return STATUS_OK;
}

static void print_format(FILE *file, const void *field)
{
    const struct format *format = *(const struct format *const *)field;
    fputs(format != NULL ? format->name : "", file);
}

static enum status parse_only(const char *text, void *field, struct error *error)
{
    return format_set_parse(text, field)
               ? STATUS_OK
               : fail(error, STATUS_USAGE, "not a list of formats, as in png,jpeg; climg reads %s",
                      format_names(NULL, "and").text);
}

static void print_only(FILE *file, const void *field)
{
    format_set_print(file, *(const format_set *)field);
}

static const char *const timing_forms[] = {[TIMING_TABLE] = "table", [TIMING_JSON] = "json"};

/* "table", "json", "table:FILE", "json:FILE" */
static enum status parse_timing(const char *text, void *field, struct error *error)
{
    size_t length = strcspn(text, ":");
    const char *file = text[length] == ':' ? text + length + 1 : NULL;
    if (file != NULL && file[0] == '\0')
        return fail(error, STATUS_USAGE, "a file name must follow the colon");
    for (int form = TIMING_TABLE; form <= TIMING_JSON; form++) {
        if (word_equals((struct word){text, length}, timing_forms[form])) {
            *(struct timing_option *)field = (struct timing_option){form, file};
            return STATUS_OK;
        }
    }
    return fail(error, STATUS_USAGE, "not one of table, json, table:FILE, json:FILE");
}

static void print_timing(FILE *file, const void *field)
{
    const struct timing_option *timing = field;
    if (timing->form != TIMING_ABSENT)
        fputs(timing_forms[timing->form], file);
    if (timing->file != NULL)
        fprintf(file, ":%s", timing->file);
}

/* "5" or "5%", a percentage; or the name of a device: "pocl" */
static enum status parse_verify(const char *text, void *field, struct error *error)
{
    char number[16];
    size_t length = strcspn(text, "%");
    double percent;
    snprintf(number, sizeof number, "%.*s", (int)length, text);

    /* A text that is no percentage is the name of a device, which computes 1% again. */
    if (length >= sizeof number || strcmp(text + length + (text[length] == '%'), "") != 0 ||
        !text_to_real(number, &percent)) {
        *(struct verify_option *)field = (struct verify_option){0.01, text};
        return text[0] ? STATUS_OK : fail(error, STATUS_USAGE, "neither a percentage nor a device");
    }
    if (!(percent > 0 && percent <= 100))
        return fail(error, STATUS_USAGE, "not a percentage above 0 and up to 100");
    *(struct verify_option *)field = (struct verify_option){percent / 100, NULL};
    return STATUS_OK;
}

static void print_verify(FILE *file, const void *field)
{
    const struct verify_option *verify = field;
    if (verify->device != NULL)
        fputs(verify->device, file);
    else if (verify->share > 0)
        print_real(file, 100 * verify->share);
}

/* "auto", "0,4095" */
static enum status parse_range(const char *text, void *field, struct error *error)
{
    struct range range = {.given = true, .automatic = strcmp(text, "auto") == 0};
    const char *comma = strchr(text, ',');
    char low[64] = "";
    if (comma && (size_t)(comma - text) < sizeof low)
        memcpy(low, text, (size_t)(comma - text));
    bool read =
        range.automatic || (comma && text_to_real(low, &range.low) && text_to_real(comma + 1, &range.high));
    if (!read || (!range.automatic && !(range.low < range.high)))
        return fail(error, STATUS_USAGE, "not auto or MIN,MAX with MIN below MAX");
    *(struct range *)field = range;
    return STATUS_OK;
}

static void print_range(FILE *file, const void *field)
{
    const struct range *range = field;
    if (!range->given || range->automatic) {
        fputs(range->given ? "auto" : "", file);
        return;
    }
    print_real(file, range->low);
    fputc(',', file);
    print_real(file, range->high);
}

/* "3", "2-4", "2-" (to the last page), "-3" (from the first) */
static enum status parse_pages(const char *text, void *field, struct error *error)
{
    static const char form[] = "not a page (1 is the first) or pages such as 2-4, 2- or -4";
    struct word piece;
    long long number[2] = {1, INT_MAX};
    int count = 0, given = 0; /* number of pieces between dashes, and of nonempty pieces */
    char digits[16];
    for (const char *cursor = text; text_next_word(&cursor, '-', &piece); count++) {
        snprintf(digits, sizeof digits, "%.*s", (int)piece.length, piece.start);
        if (count == 2 || piece.length >= sizeof digits ||
            (piece.length > 0 && (!text_to_integer(digits, &number[count]) || digits[0] == '+')))
            return fail(error, STATUS_USAGE, form);
        given += piece.length > 0;
    }
    if (count == 1)
        number[1] = number[0];
    if (given == 0 || number[0] < 1 || number[1] < 1 || number[0] > INT_MAX || number[1] > INT_MAX)
        return fail(error, STATUS_USAGE, form);
    if (number[0] > number[1])
        return fail(error, STATUS_USAGE, "the last page comes before the first");
    *(struct page_range *)field = (struct page_range){(int)number[0], (int)number[1]};
    return STATUS_OK;
}

static void print_pages(FILE *file, const void *field)
{
    const struct page_range *pages = field;
    if (pages->first > 0)
        fprintf(file, "%d", pages->first);
    if (pages->last > pages->first)
        fputc('-', file);
    if (pages->last > pages->first && pages->last < INT_MAX)
        fprintf(file, "%d", pages->last);
}

#define FIELD(name)         .offset = offsetof(struct settings, name)
#define COMPARE_FIELD(name) .offset = offsetof(struct compare_option, name)

/* clang-format off */
const struct option compare_options[] = {
    {.type = OPTION_TEXT, COMPARE_FIELD(reference), .value = "REFERENCE",
     .help = "a picture, or a folder in which each input has a picture of its name"},
    {.name = "min-psnr", .type = OPTION_REAL, COMPARE_FIELD(min_psnr), .min = 1, .max = 1000, .value = "DB",
     .help = "pass if the PSNR of no channel is below; otherwise only equal pictures pass"},
    {.name = "peak", .type = OPTION_REAL, COMPARE_FIELD(peak), .min = 1e-6, .max = INFINITY, .value = "N",
     .help = "the largest possible sample, for PSNR and SSIM; by default full scale: 255, 65535, of floats 1"},
    {.name = "diff", .type = OPTION_TEXT, COMPARE_FIELD(diff), .value = "FILE", .writes = true,
     .help = "write a picture of the absolute differences"},
    {.name = "form", .type = OPTION_CHOICE, COMPARE_FIELD(form), .fallback = "text", .choices = "text|json",
     .help = "lines or a table; or an object of JSON in a line for each picture"},
    {0},
};

const struct option global_options[] = {
    {.name = "memory", .letter = 'm', .type = OPTION_CHOICE, FIELD(memory), .fallback = "auto",
     .choices = "auto|buffer|image",
     .modes = MODES_OF_STAGES,
     .help = "device memory for the stages; auto takes the faster kind"},
    {.name = "device", .letter = 'd', .type = OPTION_TEXT, FIELD(device), .fallback = "auto",
     .choices = "auto|gpu|cpu|all", .value = "NAME",
     .modes = MODES_OF_STAGES | MODE_SELFTEST,
     .help = "auto (the device that is expected to finish first), gpu, cpu, all (the files are shared by all GPUs, or by all CPUs if there "
             "is no GPU), a number of --list-devices, or a part of a name; a list such as 0,1 shares the files"},
    {.name = "info", .type = OPTION_CHOICE, FIELD(info), .choices = "|text|json", .optional = true,
     .implied = "text",
     .selects = MODE_INFO | MODE_MEASURE, .modes = MODE_INFO | MODE_MEASURE,
     .help = "show what files are: size, samples, pages, compression, colour, texts, coefficients; needs no device"},
    {.name = "measure", .type = OPTION_FLAG, FIELD(measure),
     .modes = MODE_INFO | MODE_MEASURE,
     .help = "with --info: read the pixels, too, and show noise as --denoise finds it, sharpness, clipped "
             "samples, 16-bit samples of fewer real bits, and with =json histograms; this needs a device"},
    {.name = "check", .type = OPTION_FLAG, FIELD(check),
     .selects = MODE_CHECK, .modes = MODE_CHECK,
     .help = "decode files, compare all checksums that they have, and write nothing; exit status 3 if a file is damaged or cannot be "
             "read; needs no device"},
    {.name = "compare", .type = OPTION_TEXT, FIELD(compare), .value = "REFERENCE[,KEY=VALUE]...",
     .keys = compare_options,
     .selects = MODE_COMPARE, .modes = MODE_COMPARE,
     .help = "show how much pictures differ from a reference: PSNR and SSIM (Wang 2004) of each channel, the "
             "largest difference; exit 0 if equal or good enough, else 4; needs no device"},
    {.name = "list-devices", .type = OPTION_CHOICE, FIELD(list_devices), .choices = "|text|json",
     .optional = true, .implied = "text",
     .selects = MODE_LIST_DEVICES, .modes = MODE_LIST_DEVICES,
     .help = "list the OpenCL devices, their limits, and which one auto prefers for large jobs"},
    {.name = "selftest", .type = OPTION_FLAG, FIELD(selftest),
     .selects = MODE_SELFTEST, .modes = MODE_SELFTEST,
     .help = "check every stage on this device against known answers; a device that fails is not used any more"},
    {.name = "verify", .type = OPTION_CUSTOM, FIELD(verify), .value = "PERCENT|DEVICE", .optional = true,
     .implied = "1", .parse = parse_verify, .print = print_verify,
     .modes = MODE_CONVERT | MODE_WARM,
     .help = "compute this share of every output again by other kernels, or 1% on another device, and compare"},
    {.name = "force", .type = OPTION_FLAG, FIELD(force),
     .modes = MODES_OF_STAGES | MODE_LIST_DEVICES,
     .help = "use a device that failed --selftest"},
    {.name = "warm", .type = OPTION_FLAG, FIELD(warm),
     .selects = MODE_WARM, .modes = MODE_WARM,
     .help = "compile the kernels of all stages for the GPU and the CPU, or for --device, and with --verify those "
             "that it needs, so that no later run waits for a compiler"},
    {.name = "timing", .letter = 't', .type = OPTION_CUSTOM, FIELD(timing), .choices = "table|json",
     .value = "table|json[:FILE]", .optional = true, .implied = "table", .parse = parse_timing,
     .print = print_timing,
     .help = "write the times of all stages, of decoding, transfers and encoding, to stderr or FILE, for each device"},
    {.name = "trace", .type = OPTION_TEXT, FIELD(trace), .value = "FILE", .writes = true,
     .help = "write a timeline for https://ui.perfetto.dev or chrome://tracing; files are then processed one at a "
             "time; - is stdout"},
    {.name = "edge", .type = OPTION_CHOICE, FIELD(edge), .fallback = "clamp",
     .choices = "clamp|mirror|wrap|zero", .effect = EFFECT_STAGES,
     .modes = MODE_CONVERT | MODE_WARM,
     .help = "samples beyond the border, for filters; the wavelet always mirrors"},
    {.name = "linear", .type = OPTION_FLAG, FIELD(linear), .effect = EFFECT_STAGES,
     .help = "work in linear light: decode on input, encode on output, by the file's own curve"},
    {.name = "format", .letter = 'f', .type = OPTION_CUSTOM, FIELD(format), .words = format_extensions,
     .parse = parse_format, .print = print_format,
     .help = "output format; by default from the output's name, else the input's"},
    {.name = "depth", .type = OPTION_CHOICE, FIELD(depth), .choices = "|8|16|float|1", .effect = EFFECT_OUTPUT,
     .help = "output samples; by default as the input (palettes and samples of 1 to 4 bits become 8 bit); 1: one bit for each "
             "pixel, if all are black or white, as after --threshold (PNG, PBM, TIFF as CCITT G4)"},
    {.name = "range", .type = OPTION_CUSTOM, FIELD(range), .choices = "auto", .value = "MIN,MAX|auto",
     .parse = parse_range, .print = print_range, .effect = EFFECT_OUTPUT,
     .help = "the input's values that become black and full scale; auto: its smallest and largest value"},
    {.name = "compression", .type = OPTION_CUSTOM, FIELD(compression), .fallback = "default",
     .choices = "none|fast|default|best", .value = "none|fast|default|best|0..9", .parse = parse_compression,
     .print = print_compression, .modes = MODE_CONVERT | MODE_COMPARE,
     .help = "effort of compression: more takes longer and makes smaller files"},
    {.name = "quality", .type = OPTION_INTEGER, FIELD(quality), .min = 1, .max = 100, .value = "N",
     .effect = EFFECT_OUTPUT,
     .help = "quality of JPEG and WebP; by default the input's if both files are JPEG, else 90 for JPEG and 80 for WebP"},
    {.name = "lossless", .type = OPTION_FLAG, FIELD(lossless), .effect = EFFECT_OUTPUT,
     .help = "write WebP without loss, also the colours of transparent pixels; the default if the input is lossless WebP"},
    {.name = "subsampling", .type = OPTION_CHOICE, FIELD(subsampling), .choices = "|auto|4:4:4|4:2:2|4:2:0",
     .effect = EFFECT_OUTPUT,
     .help = "colour resolution of JPEG: 4:2:0 keeps a quarter, 4:2:2 half, 4:4:4 all; auto: as the input, or if "
             "that is not JPEG 4:4:4 from quality 90 on, 4:2:0 below"},
    {.name = "progressive", .type = OPTION_FLAG, FIELD(progressive), .effect = EFFECT_OUTPUT,
     .help = "write JPEG in scans of more and more detail, as web pages show it; mostly 2 to 8% smaller"},
    {.name = "auto-orient", .type = OPTION_FLAG, FIELD(auto_orient), .effect = EFFECT_OUTPUT,
     .help = "always turn pixels as the file's orientation says, and drop the orientation; otherwise only stages with positions or sizes in "
             "pixels do so (--crop, --rotate, --resize 300x), and others (--resize 50%) keep it"},
    {.name = "stored-orientation", .type = OPTION_FLAG, FIELD(stored_orientation), .effect = EFFECT_OUTPUT,
     .help = "never turn pixels before a stage: positions and sizes apply to the picture as the file stores it"},
    {.name = "strip", .type = OPTION_FLAG, FIELD(strip), .help = "drop EXIF with its GPS position, XMP, IPTC, texts and resolution; the orientation stays; colours of an ICC profile that is not sRGB's are converted to sRGB"},
    {.name = "jobs", .letter = 'j', .type = OPTION_INTEGER, FIELD(jobs), .min = 1, .max = THREADS_MAX,
     .value = "N", .modes = MODES_OF_FILES,
     .help = "threads for decoding, encoding and aligning; by default one for each processor"},
    {.name = "page", .type = OPTION_CUSTOM, FIELD(pages), .value = "N[-M]", .effect = EFFECT_OUTPUT,
     .parse = parse_pages, .print = print_pages,
     .modes = MODES_OF_FILES,
     .help = "one page of a file, or several: 2-4, 2- (to the last), -4 (from the first); a range may end "
             "beyond the last page"},
    {.name = "output", .letter = 'o', .type = OPTION_TEXT, FIELD(output), .value = "PATH", .writes = true,
     .help = "path of the output; all file names are then inputs; a folder if it exists as one, ends in /, or there are several inputs"},
    {.name = "files-from", .type = OPTION_TEXT, FIELD(files_from), .value = "FILE",
     .modes = MODES_OF_FILES,
     .help = "read more inputs from FILE, one name on each line; - is stdin; the outputs go to a folder"},
    {.name = "null", .letter = '0', .type = OPTION_FLAG, FIELD(ends_in_nul),
     .modes = MODES_OF_FILES,
     .help = "the names of --files-from end in NUL, as find -print0 and sort -z write them"},
    {.name = "yes", .letter = 'y', .type = OPTION_FLAG, FIELD(yes),
     .help = "overwrite existing files in commands such as climg a.jpg b.jpg --blur 2 and climg 2023/ 2024/ --blur 2; with --in-place accept folder/ as the last of several names"},
    {.name = "in-place", .type = OPTION_FLAG, FIELD(in_place),
     .help = "replace each input, under its name, once its output is complete; every name is an input and must exist"},
    {.name = "recursive", .letter = 'r', .type = OPTION_FLAG, FIELD(recursive),
     .modes = MODES_OF_FILES,
     .help = "include the folders below an input folder; the output mirrors them"},
    {.name = "resume", .type = OPTION_FLAG, FIELD(resume),
     .help = "skip what an earlier run has done; keeps a list in each output folder, the hidden file "
             ".climg-done"},
    {.name = "shard", .type = OPTION_TEXT, FIELD(shard), .choices = "auto", .value = "I/N",
     .modes = MODES_OF_FILES,
     .help = "process only part I (1 to N) of the files, the same on every machine; auto or auto/N reads I and N, or I, from Slurm"},
    {.name = "report", .type = OPTION_TEXT, FIELD(report), .value = "FILE", .writes = true,
     .modes = MODE_CONVERT | MODE_CHECK,
     .help = "write a line of JSON for each file: status, sizes, times; --resume appends to FILE; - is stdout"},
    {.name = "progress", .type = OPTION_CHOICE, FIELD(progress), .fallback = "auto",
     .choices = "auto|always|never",
     .modes = MODE_CONVERT | MODE_CHECK,
     .help = "show the progress of several files or of a large one, and when the driver compiles; auto: on a terminal"},
    {.name = "dry-run", .letter = 'n', .type = OPTION_CHOICE, FIELD(dry_run), .choices = "|text|json",
     .optional = true, .implied = "text",
     .help = "print the inputs, their outputs and the number of files (json: lines as of --report), and write nothing"},
    {.name = "memory-limit", .type = OPTION_SIZE, FIELD(memory_limit), .min = 1, .max = INFINITY,
     .value = "SIZE",
     .modes = MODE_CONVERT | MODE_MEASURE,
     .help = "limit of climg's memory for pixels, in bytes or as 512M, 2G; the OpenCL driver takes memory in addition"},
    {.name = "only", .type = OPTION_CUSTOM, FIELD(only), .words = format_extensions, .value = "FORMAT[,FORMAT]...",
     .parse = parse_only, .print = print_only,
     .modes = MODES_OF_FILES,
     .help = "accept inputs of these formats alone, as png,jpeg; a file's content decides, not its name"},
    {.name = "no-confine", .type = OPTION_FLAG, FIELD(no_confine),
     .modes = MODES_ALL,
     .help = "keep all rights of the user; without it climg can open only what the command names, drivers and its cache, and "
             "no sockets"},
    {.name = "max-pixels", .type = OPTION_SIZE, FIELD(max_pixels), .fallback = "2G", .min = 1,
     .max = INFINITY, .value = "N", .modes = MODES_OF_FILES,
     .help = "refuse inputs with more pixels; K, M, G and T multiply by powers of 1024"},
    {.name = "quiet", .letter = 'q', .type = OPTION_FLAG, FIELD(quiet), .modes = MODES_ALL,
     .help = "print only errors",
     .hint = "--quality N sets the quality"},
    {.name = "verbose", .letter = 'v', .type = OPTION_FLAG, FIELD(verbose),
     .modes = MODES_ALL,
     .help = "print what is decided and why"},
    {.name = "help", .letter = 'h', .type = OPTION_TEXT, FIELD(help), .choices = "all|json", .value = "STAGE",
     .optional = true, .implied = "",
     .help = "a short introduction; all: all stages and options; json: the whole manual for programs; or the help of one stage or option"},
    {.name = "version", .letter = 'V', .type = OPTION_FLAG, FIELD(version),
     .help = "the versions of climg and its libraries"},
    {.name = "generate", .type = OPTION_CHOICE, FIELD(generate), .choices = "|man", .hidden = true,
     .help = "write the manual page to stdout"},
    {.name = "after", .type = OPTION_TEXT, FIELD(previous_argument), .value = "ARGUMENT", .hidden = true,
     .modes = MODE_COMPLETE,
     .help = "the argument before that of --complete"},
    {.name = "complete", .type = OPTION_TEXT, FIELD(complete), .value = "ARGUMENT", .hidden = true,
     .selects = MODE_COMPLETE, .modes = MODE_COMPLETE,
     .help = "print the completions of this argument"},
    {0},
};
/* clang-format on */

const struct option *global_find(const char *name)
{
    return options_find(global_options, (struct word){name, strlen(name)});
}

const struct option *global_find_letter(char letter)
{
    for (const struct option *option = global_options; option->type != OPTION_END; option++) {
        if (option->letter != 0 && option->letter == letter)
            return option;
    }
    return NULL;
}

enum status settings_init(struct settings *settings, struct error *error)
{
    *settings = (struct settings){0};
    options_set_defaults(global_options, settings);
    enum status status = environment_read(&settings->environment, error);
    if (settings->environment.device != NULL)
        settings->device = settings->environment.device;
    return status;
}

unsigned option_modes(const struct option *option)
{
    return option->modes != 0 ? option->modes : MODE_CONVERT;
}

void settings_note_given(struct settings *settings, const struct option *row)
{
    static_assert(sizeof global_options / sizeof global_options[0] <= 64, "settings.given has 64 bits");
    settings->given |= UINT64_C(1) << (row - global_options);
}

static bool is_given(const struct settings *settings, const struct option *row)
{
    return (settings->given >> (row - global_options) & 1) != 0;
}

const char *mode_name(unsigned mode)
{
    const struct option *row = global_options;
    while (row->type != OPTION_END && (row->selects & mode) == 0)
        row++;
    return row->name;
}

/* Sets the mode. Fails if two options select different modes, or if an option has no effect in the mode. */
static enum status resolve_mode(struct settings *settings, struct error *error)
{
    const char *selector = NULL;
    settings->mode = MODE_CONVERT;
    for (const struct option *row = global_options; row->type != OPTION_END; row++) {
        if (!row->selects || !is_given(settings, row))
            continue;
        if (selector)
            return fail(error, STATUS_USAGE, "--%s and --%s cannot be used together; use one", selector,
                        row->name);
        selector = row->name;
        settings->mode = row->selects;
    }
    if ((settings->mode & MODE_INFO) != 0)
        settings->mode = settings->measure ? MODE_MEASURE : MODE_INFO;
    for (const struct option *row = global_options; row->type != OPTION_END; row++) {
        if (!is_given(settings, row) || (option_modes(row) & settings->mode) != 0)
            continue;
        if (!selector)
            return fail(error, STATUS_USAGE, "--%s requires --%s", row->name, mode_name(option_modes(row)));
        return fail(error, STATUS_USAGE, "--%s has no effect with --%s; leave it out", row->name, selector);
    }
    return STATUS_OK;
}

enum status settings_resolve(struct settings *settings, struct error *error)
{
    if (resolve_mode(settings, error) != STATUS_OK)
        return STATUS_USAGE;

    /* Fail for several devices, a list of numbers or all, in a mode for one device. --warm knows all. */
    const char *device = settings->device;
    const bool is_list = strchr(device, ',') && strspn(device, "0123456789,") == strlen(device),
               is_all = strcasecmp(device, "all") == 0 && settings->mode != MODE_WARM;
    if ((settings->mode & (MODE_MEASURE | MODE_SELFTEST | MODE_WARM)) != 0 && (is_list || is_all))
        return fail(error, STATUS_USAGE, "--device %s: --%s takes one device; run it for each", device,
                    settings->mode == MODE_MEASURE ? "measure" : mode_name(settings->mode));
    if (settings->ends_in_nul && settings->files_from == NULL)
        return fail(error, STATUS_USAGE, "--null requires --files-from");
    if (settings->in_place && settings->output)
        return fail(error, STATUS_USAGE, "--in-place and --output cannot be used together; leave one out");
    if (settings->in_place && settings->pages.first > 0)
        return fail(error, STATUS_USAGE,
                    "--in-place with --page would lose the other pages; write to another file");
    if (settings->auto_orient && settings->stored_orientation)
        return fail(error, STATUS_USAGE,
                    "--auto-orient and --stored-orientation cannot be used together; leave one out");
    if (settings->lossless && settings->quality > 0)
        return fail(error, STATUS_USAGE, "--lossless keeps all; leave --quality out");
    settings->verbose = settings->verbose && !settings->quiet;
    return shard_parse(settings->shard, &settings->part, error);
}

/* Prints " --name value". */
static void print_row(FILE *file, const struct option *row, const void *fields)
{
    fprintf(file, " --%s", row->name);
    if (row->type == OPTION_FLAG)
        return;
    fputc(' ', file);
    option_print(file, row, fields);
}

void settings_print_effects(FILE *file, const struct settings *settings, bool has_stages)
{
    for (const struct option *row = global_options; row->type != OPTION_END; row++)
        if ((row->effect == EFFECT_OUTPUT || (row->effect == EFFECT_STAGES && has_stages)) &&
            (row->fallback || is_given(settings, row)))
            print_row(file, row, settings);
}

/* True if the texts of an option's values in two structs differ, or if out of memory. */
static bool differs(const struct option *option, const void *fields, const void *others)
{
    char *a = option_value_text(option, fields), *b = option_value_text(option, others);
    const bool equal = a != NULL && b != NULL && strcmp(a, b) == 0;
    free(a);
    free(b);
    return !equal;
}

void settings_print(FILE *file, const struct settings *settings)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return;

    /* Print the options and variables that differ from their defaults. */
    struct settings defaults = {0};
    options_set_defaults(global_options, &defaults);
    options_set_defaults(environment_variables, &defaults.environment);
    for (const struct option *row = global_options; row->type != OPTION_END; row++)
        if (strcmp(row->name, "verbose") != 0 && differs(row, settings, &defaults))
            print_row(stream, row, settings);
    for (const struct option *row = environment_variables; row->type != OPTION_END; row++) {
        if (!differs(row, &settings->environment, &defaults.environment))
            continue;
        fprintf(stream, " %s=", row->name);
        option_print(stream, row, &settings->environment);
    }

    /* Print one line, without control characters that values may contain. */
    if (fclose(stream) == 0 && text[0] != '\0') {
        text_make_visible(text);
        fprintf(file, "climg: not default:%s\n", text);
    }
    free(text);
}

int settings_threads(const struct settings *settings)
{
    return settings->jobs > 0 ? settings->jobs : processors_available();
}

enum sample_type settings_type(const struct settings *settings, enum sample_type input)
{
    static const enum sample_type types[] = {[DEPTH_OPTION_1] = SAMPLE_UINT8,
                                             [DEPTH_OPTION_8] = SAMPLE_UINT8,
                                             [DEPTH_OPTION_16] = SAMPLE_UINT16,
                                             [DEPTH_OPTION_FLOAT] = SAMPLE_FLOAT};
    return settings->depth == DEPTH_OPTION_ABSENT ? input : types[settings->depth];
}

struct reader_options settings_reader_options(const struct settings *settings)
{
    return (struct reader_options){.only = settings->only,
                                   .page = settings->pages.first,
                                   .last_page = settings->pages.last,
                                   .max_pixels = settings->max_pixels,
                                   .jobs = settings->jobs,
                                   .spool_folder = settings->environment.spool_folder};
}

bool settings_prints_text(const struct settings *settings)
{
    return settings->help != NULL || settings->version || settings->complete != NULL ||
           settings->generate != GENERATE_OPTION_ABSENT;
}
