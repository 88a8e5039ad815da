/* Every call that can fail fails, within one process and on a device that computes nothing: each command line
 * is run once to see from where it calls what, and then once more for each stack that no line before it had,
 * with that call failing, or all calls of the function from there on. What must hold is
 * that climg comes back, says what failed and of which file, leaves nothing, and gives everything back:
 * memory, descriptors, objects of OpenCL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "failing_calls.h"
#include "imagined_opencl.h"

#include "base/json.h"
#include "batch/command.h"
#include "cli/cli.h"
#include "device/choose.h"
#include "selftest/selftest.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <tiffio.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the inputs */

static char folder[] = "/tmp/climg-faults-XXXXXX";

static void write_netpbm(const char *name, const char *kind, int width, int height, int channels)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    fprintf(file, "%s\n%d %d\n255\n", kind, width, height);
    for (int i = 0; i < width * height * channels; i++)
        fputc(20 + (i * 37 + i / 7) % 200, file);
    assert_int_equal(fclose(file), 0);
}

/* Frames of 4:2:0, of 10 bits. */
static void write_y4m(const char *name, int frames)
{
    enum { WIDTH = 22, HEIGHT = 18, SAMPLES = WIDTH * HEIGHT * 3 / 2 };
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    fprintf(file, "YUV4MPEG2 W%d H%d F25:1 C420p10\n", WIDTH, HEIGHT);
    for (int frame = 0; frame < frames; frame++) {
        fputs("FRAME\n", file);
        for (int i = 0; i < SAMPLES; i++) {
            fputc((i * 37 + i / 7 + frame) % 256, file);
            fputc(i % 4, file);
        }
    }
    assert_int_equal(fclose(file), 0);
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Pages of 8 bit gray with a description, in strips of few rows. */
static void write_tiff(const char *name, int pages, uint16_t compression)
{
    unsigned char row[48];
    TIFF *tiff = TIFFOpen(name, "w");
    assert_non_null(tiff);
    for (int page = 0; page < pages; page++) {
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, (uint32_t)sizeof row);
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, (uint32_t)40);
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
        TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        TIFFSetField(tiff, TIFFTAG_COMPRESSION, compression);
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, (uint32_t)8);
        TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_RIGHTTOP);
        TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, "ImageJ=1.53\nimages=2\nslices=2\nmin=0.0\nmax=255.0\n");
        TIFFSetField(tiff, TIFFTAG_ARTIST, "a test");
        for (uint32_t y = 0; y < 40; y++) {
            memset(row, (int)(y * 5), sizeof row);
            assert_int_equal(TIFFWriteScanline(tiff, row, y, 0), 1);
        }
        assert_int_equal(TIFFWriteDirectory(tiff), 1);
    }
    TIFFClose(tiff);
}

/* Metadata of every kind that passes through a chain. */
static void write_said(const char *name)
{
    static const char gdal[] =
        "<GDALMetadata>\n<Item name=\"AREA\">1</Item>\n<Item name=\"SCALE\" sample=\"0\" "
        "role=\"scale\">2</Item>\n</GDALMetadata>",
                      xmp[] = "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"/>",
                      profile[132] = "\0\0\0\204test\2\0\0\0mntrGRAYXYZ ";
    static const double scale[] = {2, 3, 0}, tie[] = {0, 0, 0, 5, 6, 0};
    static const TIFFFieldInfo fields[] = {
        {33550, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"ModelPixelScaleTag"},
        {33922, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"ModelTiepointTag"},
        {42112, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, (char *)"GDALMetadata"}};
    unsigned char row[32];
    uint64_t exif = 0;
    TIFF *tiff = TIFFOpen(name, "w");
    assert_non_null(tiff);
    TIFFMergeFieldInfo(tiff, fields, 3);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, (uint32_t)sizeof row);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, (uint32_t)sizeof row);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, (uint32_t)sizeof row);
    TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_RIGHTTOP);
    TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, RESUNIT_INCH);
    TIFFSetField(tiff, TIFFTAG_XRESOLUTION, 300.0);
    TIFFSetField(tiff, TIFFTAG_YRESOLUTION, 300.0);
    TIFFSetField(tiff, TIFFTAG_ICCPROFILE, (uint32_t)sizeof profile, profile);
    TIFFSetField(tiff, TIFFTAG_XMLPACKET, (uint32_t)strlen(xmp), xmp);
    TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION,
                 "<OME><Pixels SizeX=\"32\" SizeY=\"32\" Type=\"uint8\"/></OME>");
    TIFFSetField(tiff, 33550, (uint16_t)3, scale);
    TIFFSetField(tiff, 33922, (uint16_t)6, tie);
    TIFFSetField(tiff, 42112, gdal);
    for (uint32_t y = 0; y < sizeof row; y++) {
        memset(row, (int)(y * 7), sizeof row);
        assert_int_equal(TIFFWriteScanline(tiff, row, y, 0), 1);
    }
    assert_int_equal(TIFFWriteDirectory(tiff), 1);
    assert_int_equal(TIFFCreateEXIFDirectory(tiff), 0);
    TIFFSetField(tiff, EXIFTAG_PIXELXDIMENSION, (uint32_t)sizeof row);
    TIFFSetField(tiff, EXIFTAG_PIXELYDIMENSION, (uint32_t)sizeof row);
    TIFFSetField(tiff, EXIFTAG_FOCALPLANEXRESOLUTION, 1000.0);
    assert_int_equal(TIFFWriteCustomDirectory(tiff, &exif), 1);
    assert_int_equal(TIFFSetDirectory(tiff, 0), 1);
    TIFFSetField(tiff, TIFFTAG_EXIFIFD, exif);
    assert_int_equal(TIFFRewriteDirectory(tiff), 1);
    TIFFClose(tiff);
}

/* ---------------------------------------------------------------- a command line */

static FILE *sink; /* for what goes to standard output */
static int complaints;
static char nameless[1024];

/* A message says what it is about. */
static void judge_message(const char *text)
{
    static const char *const names[] = {"in/",
                                        "out/",
                                        "out: ",
                                        "out of memory",
                                        "no memory for a file",
                                        "/proc/self/exe",
                                        "standard",
                                        "trace",
                                        "device",
                                        "Thought",
                                        "OpenCL",
                                        "TMPDIR",
                                        "files failed",
                                        "pthread",
                                        "list.txt",
                                        "--selftest",
                                        "examples",
                                        "samples/",
                                        "/test_faults: cannot be started"};
    bool named = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        named = named || strstr(text, names[i]);
    if (!named)
        snprintf(nameless, sizeof nameless, "%s", text[0] ? text : "no word");
}

static void report_error(const struct error *error)
{
    complaints++;
    judge_message(error->text);
}

/* A descriptor becomes a file; returns what it was. */
static int redirect(int descriptor, const char *path)
{
    int before = dup(descriptor),
        file = open(path, descriptor == 0 ? O_RDONLY : O_RDWR | O_CREAT | O_TRUNC, 0666);
    assert_true(before >= 0 && file >= 0 && dup2(file, descriptor) == descriptor);
    close(file);
    return before;
}

/* A pipe that holds a small file. */
static int redirect_pipe(const char *path)
{
    static char data[1 << 15];
    int ends[2], before = dup(0), file = open(path, O_RDONLY);
    ssize_t size = read(file, data, sizeof data);
    assert_true(before >= 0 && size > 0 && size < (ssize_t)sizeof data && pipe(ends) == 0);
    assert_true(write(ends[1], data, (size_t)size) == size && dup2(ends[0], 0) == 0);
    close(file);
    close(ends[0]);
    close(ends[1]);
    return before;
}

static void restore(int descriptor, int before)
{
    if (before < 0)
        return;
    dup2(before, descriptor);
    close(before);
}

/* The words of a line are arguments; NAME=VALUE is put into the environment, <FILE and >FILE are standard
 * input and output, and |FILE is a pipe with what is in the file. */
struct line {
    char text[512];
    const char *argv[32];
    int argc, in, out;
    const char *variables[4];
    int variable_count;
};

static void open_line(struct line *line, const char *text)
{
    *line = (struct line){.argv = {"climg"}, .argc = 1, .in = -1, .out = -1};
    snprintf(line->text, sizeof line->text, "%s", text);
    for (char *rest, *word = strtok_r(line->text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (word[0] == '<') {
            line->in = redirect(0, word + 1);
        } else if (word[0] == '|') {
            line->in = redirect_pipe(word + 1);
        } else if (word[0] == '>') {
            line->out = redirect(1, word + 1);
        } else if (value && word[0] >= 'A' && word[0] <= 'Z') {
            *value = '\0';
            setenv(word, value + 1, 1);
            line->variables[line->variable_count++] = word;
        } else {
            line->argv[line->argc++] = word;
        }
    }
}

static void close_line(struct line *line)
{
    restore(0, line->in);
    restore(1, line->out);
    for (int i = 0; i < line->variable_count; i++)
        unsetenv(line->variables[i]);
}

static enum status run(const char *text, struct error *error)
{
    struct command command = {0};
    struct line line;
    int mode = faults.mode;
    faults.mode = IDLE;
    open_line(&line, text);
    clearerr(sink); /* each command is a process with a stdout of its own */
    imagined_devices[0].name =
        strstr(text, "--tune") ? "as oclgrind" : "Thought"; /* small pictures do there */
    faults.mode = mode;
    enum status status = command_parse(line.argc, line.argv, &command, error);
    if (status == STATUS_OK && command.settings.info != INFO_ABSENT)
        status = info_write(&command, sink, report_error, error);
    else if (status == STATUS_OK && command.settings.compare != NULL)
        status = compare_write(&command, sink, report_error, error);
    else if (status == STATUS_OK && command.settings.list_devices)
        status = device_list(&command.settings.environment, command.settings.list_devices == LIST_JSON, sink,
                             error);
    else if (status == STATUS_OK && command.settings.selftest)
        status = selftest(&command.settings, sink, error);
    else if (status == STATUS_OK && command.settings.warm)
        status = warm(&command, sink, error);
    else if (status == STATUS_OK)
        status = batch_run(&command, report_error, error);
    command_free(&command);
    faults.mode = IDLE;
    close_line(&line);
    return status;
}

static int count_descriptors(void)
{
    int count = 0;
    for (int i = 0; i < 64; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* Removes what is in a folder; whether a temporary was among it. */
static bool clear_outputs(const char *outputs)
{
    bool temporary = false;
    char path[PATH_MAX];
    DIR *listing = opendir(outputs);
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing));) {
        bool itself = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        temporary |= strstr(entry->d_name, ".tmp") != NULL;
        snprintf(path, sizeof path, "%s/%s", outputs, entry->d_name);
        if (!itself && unlink(path) != 0) {
            temporary |= clear_outputs(path);
            rmdir(path);
        }
    }
    closedir(listing);
    return temporary;
}

static int wrong_count;

static void wrong(const char *line, const char *what, const char *text)
{
    print_error("climg %s: %s fails%s: %s%s\n", line, faults.fault.call,
                faults.always ? " from there on" : "", what, text);
    wrong_count++;
}

/* With the fault that is set. */
static void judge(const char *line)
{
    struct error error = {.text = ""};
    int memory = faults.live_count, descriptors = count_descriptors();
    complaints = 0;
    nameless[0] = '\0';
    atomic_store(&faults.met, 0);
    memset(faults.counts, 0, sizeof faults.counts);
    faults.mode = faults.fault.number != 0 ? FAILING : RECORDING;
    enum status status = run(line, &error);
    faults.mode = IDLE;
    bool may_fail = faults.fault.number != 0 && (status == STATUS_FAILED || status == STATUS_PARTIAL);
    bool computed = !strstr(line, "--selftest"); /* nothing is, on this device */
    if (status != STATUS_OK && !may_fail && computed)
        wrong(line, "another status: ", error.text);
    if (status != STATUS_OK)
        judge_message(error.text);
    if (nameless[0])
        wrong(line, "nameless: ", nameless);
    if (faults.live_count != memory)
        wrong(line, "memory is not freed: ", error.text);
    if (count_descriptors() != descriptors)
        wrong(line, "a descriptor is not closed: ", error.text);
    if (imagined_objects != 0)
        wrong(line, "objects of OpenCL are not released: ", error.text);
    imagined_objects = 0;
    faults.live_count = memory;
    if (clear_outputs("out") && strcmp(faults.fault.call, "unlink") != 0)
        wrong(line, "a temporary file is left: ", error.text);
}

/* Fails each call of a command line with a new call stack, once or from then on, chosen by the seed; both if
 * all are tried. Returns the number of tries. */
static int walk(const char *line)
{
    const bool all = getenv("CLIMG_TEST_ALL");
    int tries = 0;
    faults.fault = (struct site){"nothing", 0};
    faults.fresh_count = 0;
    judge(line);
    for (int i = 0; i < faults.fresh_count; i++)
        for (int way = all ? 0 : rand() % 2, end = all ? 1 : way; way <= end; way++) {
            faults.fault = faults.fresh[i];
            faults.always = way;
            judge(line);
            tries++;
        }
    return tries;
}

static bool breaks_launch(void)
{
    return is_fault("kernel");
}

static int enter(void **state)
{
    static const char *const made[] = {"in/color.ppm in/color.png",
                                       "in/gray.pgm in/gray.png",
                                       "in/color.ppm --depth 16 in/deep.png",
                                       "in/color.ppm --depth float in/float.tif",
                                       "in/color.ppm --wavelet=2 in/coefficients.tif",
                                       "in/said.tif in/said.png",
                                       "in/said.tif in/said.jpg",
                                       "in/tall.ppm in/tall.jpg",
                                       "in/said.jpg --auto-orient --invert in/said.webp"};
    void *frames[4];
    struct error error;
    (void)state;
    backtrace(frames, 4); /* loads what it needs */
    sink = fopen("/dev/null", "w");
    imagined_break = breaks_launch;
    imagined_memory = __real_calloc;
    imagined_free = __real_free;
    if (mkdtemp(folder) == NULL || chdir(folder) != 0 || mkdir("in", 0777) != 0 || mkdir("out", 0777) != 0 ||
        mkdir("in/many", 0777) != 0)
        return 1;
    setenv("HOME", folder, 1);
    setenv("TMPDIR", folder, 1);
    setenv("CLIMG_CLOSE", "1", 1);
    unsetenv("CLIMG_DEVICE");
    unsetenv("XDG_CACHE_HOME");
    write_netpbm("in/color.ppm", "P6", 30, 26, 3);
    write_netpbm("in/gray.pgm", "P5", 20, 17, 1);
    write_netpbm("in/tall.ppm", "P6", 128, 1500, 3); /* of several parts in JPEG */
    write_y4m("in/film.y4m", 4);
    write_text("in/matrix.txt", "1 2 1\n0 1 5\n2 0 1\n");
    write_text("in/list.txt", "in/color.png\nin/gray.png\n");
    write_said("in/said.tif");
    write_tiff("in/pages.tif", 2, COMPRESSION_LZW);
    write_tiff("in/deflated.tif", 2, COMPRESSION_ADOBE_DEFLATE);
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        if (run(made[i], &error) != STATUS_OK)
            return print_error("%s: %s\n", made[i], error.text), 1;
    for (int i = 0; i < 5; i++) {
        char line[64];
        snprintf(line, sizeof line, "in/gray.png in/many/%d.png", i);
        if (run(line, &error) != STATUS_OK)
            return print_error("%s: %s\n", line, error.text), 1;
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") != 0 || nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0;
}

static void each_call_fails(void **state)
{
    static const char *const lines[] = {
        "in/many --invert out/new", /* first: what others look at in these places is no folder */
        "in/color.png --invert out/color.png",
        "in/color.png out/color.tif",
        "in/pages.tif --blur 2 out/pages.tif",
        "in/color.png --convolve @in/matrix.txt -m image out/color.png",
        "in/color.png --sharpen 1 --verify=100 out/color.png",
        "CLIMG_SLICE=4 in/color.png --blur 1 --verify=100 out/color.tif",
        "in/color.png --wavelet=2 --verify=100 out/color.tif",
        "in/color.png --gradient -m image out/color.tif",
        "in/color.png --gradient out/color.tif",
        "in/color.png --scale 1/2 out/color.ppm",
        "in/color.png --scale 2 out/color.png",
        "in/color.png --wavelet=3 out/color.tif",
        "in/color.png --wavelet=3 out/color.png",
        "in/color.png --denoise out/color.png",
        "CLIMG_CLASS=gpu in/color.png --denoise out/color.png",
        "CLIMG_CLASS=gpu in/color.png --blur 2 --scale 4 --median 1 out/color.png",
        "in/color.png --denoise -m image out/color.png",
        "in/color.png --wavelet=2 --gain 1:2 --shrink=0.1 --inverse-wavelet out/color.png",
        "in/coefficients.tif --inverse-wavelet out/color.png",
        "in/coefficients.tif --inverse-wavelet --memory-limit 64M --verify=100 out/color.png",
        "in/color.png --wavelet=2 --memory-limit 64M out/color.tif",
        "in/color.png --median 2 out/color.png",
        "in/color.png --median 2 -m image out/color.png",
        "in/color.png --rank 4,percent=20,shape=disc out/color.png",
        "in/color.png --resize 50x80,fit=exact out/color.png",
        "in/color.png --resize 60x60,fit=cover -m image out/color.png",
        "in/color.png --rotate 90 out/color.png",
        "in/color.png --rotate -20 out/color.png",
        "in/deep.png --warp 1,0.2,-3,0,1,2,outside=edge out/deep.png",
        "in/color.png --align in/color.png,confidence=0 out/color.png",
        "in/many --blur 2 -j 2 out",
        "in/many --denoise -j 2 out",
        "CLIMG_OWN_MEMORY=1 in/many --invert -j 2 out",
        "CLIMG_OWN_MEMORY=1 CLIMG_SLICE=8 in/color.png --blur 2 out/color.png",
        "CLIMG_OWN_MEMORY=1 CLIMG_SLICE=8 CLIMG_POISON=1 in/deflated.tif --blur 2 -m image out/deflated.tif",
        "CLIMG_SLICE=8 in/deflated.tif --denoise out/deflated.tif",
        "in/pages.tif in/color.png in/gray.png --invert --report out/report.jsonl --resume -j 1 out",
        "in/many in/pages.tif --info",
        "in/many in/pages.tif --info=json",
        "in/float.tif --range auto --depth 8 out/float.png",
        "in/deflated.tif --auto-orient --strip out/deflated.tif",
        "--files-from in/list.txt --invert out",
        "in/color.png --invert --trace out/trace.json --timing=json:out/timing.json out/color.png",
        "- --invert <in/color.png >out/stdout",
        "- --invert <in/deflated.tif >out/stdout",
        "- --invert --format ppm <in/color.ppm >out/stdout",
        "CLIMG_KEEP=1 in/color.png --blur 3 out/color.png",
        "in/said.tif --auto-orient --scale 1/2 out/said.tif",
        "in/said.png --auto-orient --scale 1/2 --depth 16 out/said.png",
        "in/said.png --rotate 10 out/said.tif",
        "in/said.tif --linear --invert out/said.png",
        "in/said.tif in/said.png --info",
        "in/said.tif in/pages.tif --info --measure",
        "in/color.png --compare in/color.png,diff=out/difference.png",
        "in/color.png in/color.ppm --compare in,form=json",
        "in/said.jpg --auto-orient --invert out/said.jpg",
        "in/said.jpg out/copy.jpg",
        "in/said.webp --invert out/said.webp",
        "in/said.jpg --lossless out/exact.webp",
        "- --format webp |in/said.webp >out/stdout",
        "in/tall.jpg --invert -j 2 out/tall.jpg",
        "- --format jpeg |in/said.jpg >out/stdout",
        "- --invert |in/said.tif >out/stdout",
        "- --invert --format tiff |in/color.png >out/stdout",
        "--list-devices",
        "--list-devices=json",
        "XDG_CACHE_HOME=/dev/null/none CLIMG_STAGES=shrink --selftest -v",
        "CLIMG_OWN_MEMORY=1 XDG_CACHE_HOME=/dev/null/none CLIMG_STAGES=convolve --selftest",
        "CLIMG_STAGES=invert --warm --memory buffer",
        "CLIMG_STAGES=invert XDG_CACHE_HOME=out --warm --verify",
        "in/color.png --invert --dry-run out/color.png >out/stdout",
        "in/gray.pgm --blur 1 --compression best out/gray.tif",
        "in/film.y4m --denoise=auto,levels=1 out/film.y4m",
        "in/film.y4m --page 2-3 --blur 1 --crop 12x10+4+4 out/film.y4m",
        "- --flip h --format y4m <in/film.y4m >out/stdout",
    };
    const char *only = getenv("CLIMG_TEST_LINE"); /* to look for what is wrong with it */
    const char *seed_text = getenv("CLIMG_TEST_SEED");
    const unsigned seed = seed_text ? (unsigned)strtoul(seed_text, NULL, 10) : 1;
    int tries = 0;
    (void)state;
    srand(seed);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (only && strcmp(only, lines[i]) != 0)
            continue;
        int made = walk(lines[i]);
        print_message("%5d tries: %s\n", made, lines[i]);
        tries += made;
    }
    print_message("CLIMG_TEST_SEED=%u: %d tries, %d wrong\n", seed, tries, wrong_count);
    assert_int_equal(wrong_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_call_fails)};
    return cmocka_run_group_tests(tests, enter, leave);
}
