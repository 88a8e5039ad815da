/* Aligns a picture to a reference, so that its pixels can be compared or averaged with the reference's.
 *
 *   prepare   read the reference -> brightness -> pyramid of resolutions (struct levels)
 *   run       download the picture's brightness -> registration_find() on the host's threads (src/register)
 *             -> confidence check -> warp on the device
 *
 * The reference is read once, before the first picture, and shared by all workers read-only. Registration
 * runs on the host, so `run` waits for the device, unlike other stages. The whole picture must be on the
 * device, without slices, and pictures have no groups. The output has the reference's size.
 *
 * The reference may be one of the inputs (prepare_series). With `previous`, in a stack, all files are read
 * before the first picture is processed. Each is registered to an earlier one, the key, and the maps are
 * chained:
 *
 *     first ◀─┬─ map of 2 ─ second
 *     (key)   └─ map of 3 ─ third ◀─── map of 4 to 3 ─ fourth        map of 4 = map of 4 to 3 after map of 3
 *                          (next key)
 *
 * The first key is the first input. A picture that does not match the key well is also registered to the
 * picture before it. If that match is better, the picture before becomes the key. A picture that matches
 * neither is left out, and no later one is registered to it. Registering each picture to the one before it
 * added up errors: of 300 frames of 320x240 that drift by 120 pixels, the last ones were 1.7 pixels off, with
 * keys 0.1.
 *
 * Registration compares display values, also with --linear. The warp then moves the chain's values.
 *
 * Nearly all time is the host's: a further picture of 12 MP takes 0.32 s on 16 cores, of which the kernels of
 * an H100 take 0.6 ms. The phases of dual-tree coefficients (H. Chen and N. Kingsbury, 2012) are not needed:
 * intensities reach a few hundredths of a pixel. Tried and lost: refining the matches with large rotations on
 * all levels; the coarsest level is enough to judge them (find_candidates of src/register/registration.c). */
#include "base/exact.h"
#include "base/files.h"
#include "base/sums.h"
#include "base/text.h"
#include "filters/warp.h"
#include "register/registration.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

struct align {
    struct warp_options options;
    const char *path;   /* of the reference; or one of reference_words */
    const char *matrix; /* path to which the matrix is written; may be NULL */
    int model;          /* enum model */
    double confidence;  /* 0 to 1; pictures with less fail */

    /* Set by align_prepare(). */
    int width, height;     /* of the reference in pixels */
    int reduction;         /* factor by which the reference is reduced before registration */
    uint64_t hash;         /* of the reference's brightness */
    bool linear;           /* pictures are in linear light */
    struct levels *levels; /* pyramid of the reference; owned. NULL with `previous` */

    /* Set by align_prepare_series(). */
    char *reference;                    /* path of the reference; owned */
    struct registration *registrations; /* of each input of a stack; owned. Confidence -1: not registered */
};

/* Words that choose a reference among the inputs; PREVIOUS only in a stack. */
static const char *const reference_words[] = {"first", "middle", "previous"};
enum { FIRST, MIDDLE, PREVIOUS, REFERENCE_WORDS };

/* Returns the index of the word that names the reference, or REFERENCE_WORDS for a path. */
static int reference_word(const struct align *align)
{
    int i = 0;
    while (i < REFERENCE_WORDS && strcasecmp(align->path, reference_words[i]) != 0)
        i++;
    return i;
}

/* Prints the word, or for files a checksum: an output depends on the reference's content, not on its name. In
 * a stack the word is enough, as all inputs determine the output. */
static void print_reference(FILE *file, const void *params)
{
    const struct align *align = params;
    const int word = reference_word(align);
    if (word < REFERENCE_WORDS && (!align->levels || align->registrations))
        fputs(reference_words[word], file);
    else
        fprintf(file, "fnv1a:%016llx", (unsigned long long)align->hash);
}

static const struct option options[] = {
    {.type = OPTION_TEXT,
     .offset = offsetof(struct align, path),
     .value = "REFERENCE",
     .choices = "first|middle|previous",
     .help = "the picture whose grid the result has: a file, or an input: first, middle; before --stack also "
             "previous",
     .print_content = print_reference},
    {.name = "model",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct align, model),
     .fallback = "similarity",
     .choices = MODEL_CHOICES,
     .help = "how the pictures may differ: shift; also rotation; also scale; also shear"},
    {.name = "confidence",
     .type = OPTION_REAL,
     .offset = offsetof(struct align, confidence),
     .fallback = "0.3",
     .max = 1,
     .value = "C",
     .help = "files with less confidence fail"},
    {.name = "matrix",
     .type = OPTION_TEXT,
     .offset = offsetof(struct align, matrix),
     .value = "FILE",
     .writes = true,
     .help = "writes the matrix that was found, which --warp @FILE reads; before --stack those of all "
             "inputs, as CSV"},
    WARP_OPTIONS_BUT_SIZE(NULL),
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/tilted.png --align samples/scene.tif straight.png", "turned, shifted and sized back"},
    {"climg samples/tilted.png --align samples/scene.tif,model=affine,outside=edge straight.png",
     "with shear, and no black corners"},
    {"climg samples/shots --align first --stack mean calm.png", "five shaken shots in one"},
    {NULL, NULL},
};

/* Fails for stdin, which could be read only once. */
static enum status align_check(void *params, struct error *error)
{
    const struct align *align = params;
    if (align->path[0] != '\0' && strcmp(align->path, "-") != 0)
        return STATUS_OK;
    return fail(error, STATUS_USAGE, "wants the name of a file");
}

/* Returns the page by which inputs are registered: the first one that is merged. */
static int series_page(const struct settings *settings)
{
    return settings->pages.first > 0 ? settings->pages.first : 1;
}

/* Reads a page of the reference's file and computes its pyramid. */
static enum status read_reference(struct align *align, const char *path, int page,
                                  const struct settings *settings, struct error *error)
{
    struct gray_plane gray = {.width = 0};
    struct thread_pool workers;
    thread_pool_open(&workers, settings_threads(settings));
    align->reference = copy_text(path, error);
    align->levels = allocate_zeroed(1, sizeof *align->levels, "a reference", error);
    enum status status = align->reference && align->levels ? STATUS_OK : STATUS_FAILED;
    if (status == STATUS_OK)
        status = brightness_read(path, page, settings, &gray, &align->reduction, &align->width,
                                 &align->height, error);
    if (status == STATUS_OK && (align->width < MIN_SIDE || align->height < MIN_SIDE))
        status = fail(error, STATUS_FAILED, "%s: is %dx%d; nothing can be aligned to less than %dx%d pixels",
                      path, align->width, align->height, MIN_SIDE, MIN_SIDE);
    if (status == STATUS_OK) {
        /* Values and weights are adjacent. */
        align->hash = hash_bytes(HASH_START, gray.values,
                                 2 * (size_t)gray.width * (size_t)gray.height * sizeof *gray.values);
        status = levels_make(&workers, align->levels, &gray, align->reduction, NULL, error);
    }
    gray_plane_free(&gray);
    thread_pool_close(&workers);
    return status;
}

/* Reads the reference if it is a file. align_prepare_series reads one that is an input. */
static enum status align_prepare(void *params, const struct settings *settings, struct error *error)
{
    struct align *align = params;
    align->linear = settings->linear;
    if (reference_word(align) < REFERENCE_WORDS)
        return STATUS_OK;
    if (access(align->path, F_OK) != 0 && errno == ENOENT)
        return fail(error, STATUS_FAILED,
                    "%s: no such file; it may also be first or middle, or before --stack previous",
                    align->path);
    return read_reference(align, align->path, 1, settings, error);
}

/* The pictures to which the next input of a series is registered. Their grid is the first picture's. */
struct series_keys {
    struct levels key;      /* pyramid of the key */
    struct affine key_map;  /* from the series' grid to the key */
    struct gray_plane last; /* the last picture that matched; of width 0 if it is the key */
    struct affine last_map; /* from the series' grid to `last` */
};

/* With less confidence in the match with the key, the last picture is tried as a new key. */
static const double KEY_CONFIDENCE = 0.6;

/* Registers a picture to a reference. `map` leads from the series' grid to the reference, and the result from
 * the grid to the picture. */
static enum status register_to(const struct align *align, struct thread_pool *workers,
                               const struct levels *reference, const struct affine *map,
                               const struct gray_plane *gray, struct registration *found, struct error *error)
{
    const enum status status =
        registration_find(NULL, workers, (enum model)align->model, reference, gray, found, error);
    if (status == STATUS_OK)
        found->affine = affine_then(map, &found->affine);
    return status;
}

/* Registers a picture to the key, or if they do not match well, to the last picture. If that match is better,
 * the last picture becomes the key. */
static enum status register_to_keys(const struct align *align, struct thread_pool *workers,
                                    struct series_keys *keys, const struct gray_plane *gray,
                                    struct registration *found, struct error *error)
{
    struct levels last_levels = {.count = 0};
    struct registration by_last = {.confidence = 0};
    enum status status = register_to(align, workers, &keys->key, &keys->key_map, gray, found, error);
    if (status != STATUS_OK || found->confidence >= KEY_CONFIDENCE || keys->last.width == 0)
        return status;
    status = levels_make(workers, &last_levels, &keys->last, align->reduction, NULL, error);
    if (status == STATUS_OK)
        status = register_to(align, workers, &last_levels, &keys->last_map, gray, &by_last, error);
    if (status == STATUS_OK && by_last.confidence > found->confidence &&
        by_last.confidence >= align->confidence) {
        *found = by_last;
        levels_free(&keys->key);
        keys->key = last_levels;
        keys->key_map = keys->last_map;
        return STATUS_OK;
    }
    levels_free(&last_levels);
    return status;
}

/* Fails if an input can be read only once: stdin or a pipe. */
static enum status check_read_twice(const char *path, struct error *error)
{
    struct stat info;
    const bool is_stdin = strcmp(path, "-") == 0;
    if (!is_stdin && (stat(path, &info) != 0 || S_ISREG(info.st_mode)))
        return STATUS_OK;
    return fail(error, STATUS_USAGE, "%s cannot be read twice; name a file",
                is_stdin ? "standard input" : path);
}

/* Registers the next file of a series. The first one that can be read is the first key. *found becomes the
 * map from the series' grid to the file. It is unchanged if the file cannot be read or needs another
 * reduction than the first one. */
static enum status register_next(struct align *align, const char *path, const struct settings *settings,
                                 struct thread_pool *workers, struct series_keys *keys,
                                 struct registration *found, struct error *error)
{
    struct gray_plane gray = {.width = 0};
    int reduction, width, height;
    enum status status =
        brightness_read(path, series_page(settings), settings, &gray, &reduction, &width, &height, error);
    if (status == STATUS_OK && (width < MIN_SIDE || height < MIN_SIDE))
        status = fail(error, STATUS_FAILED, "is too small");
    if (status == STATUS_OK && keys->key.count == 0) {
        align->width = width;
        align->height = height;
        align->reduction = reduction;
        *found = (struct registration){.affine = keys->key_map, .confidence = 1};
        status = levels_make(workers, &keys->key, &gray, reduction, NULL, error);
    } else if (status == STATUS_OK && reduction == align->reduction) {
        status = register_to_keys(align, workers, keys, &gray, found, error);
        if (status == STATUS_OK && found->confidence >= align->confidence) {
            gray_plane_free(&keys->last);
            keys->last = gray;
            keys->last_map = found->affine;
            return STATUS_OK;
        }
    }
    gray_plane_free(&gray);
    return status;
}

/* Registers the inputs one after the other. The error of a file is dropped unless memory ran out or the file
 * has coefficients: others fail again when the stack opens the file. */
static enum status register_series(struct align *align, const struct settings *settings,
                                   const struct input_series *inputs, struct error *error)
{
    struct series_keys keys = {.key_map = {.xx = 1, .yy = 1}};
    struct thread_pool workers;
    enum status status = STATUS_OK;
    thread_pool_open(&workers, settings_threads(settings));
    for (size_t i = 0; i < inputs->count; i++) {
        struct error file_error = {.text = ""};
        status = check_read_twice(inputs->paths[i], error);
        if (status != STATUS_OK)
            break;
        status = register_next(align, inputs->paths[i], settings, &workers, &keys, &align->registrations[i],
                               &file_error);
        if (status != STATUS_OK && (file_error.is_out_of_memory || file_error.scope != SCOPE_FILE)) {
            *error = file_error;
            break;
        }
        status = STATUS_OK;
    }
    levels_free(&keys.key);
    gray_plane_free(&keys.last);
    thread_pool_close(&workers);
    return status;
}

/* Reads the reference among the inputs, or with `previous` registers all inputs. */
static enum status align_prepare_series(void *params, const struct settings *settings,
                                        const struct input_series *series, struct error *error)
{
    struct align *align = params;
    const int word = reference_word(align);
    if (!series && word < REFERENCE_WORDS)
        return fail(error, STATUS_USAGE,
                    "%s: that is an input of --stack, which must come later; ./%s is a file",
                    reference_words[word], reference_words[word]);
    if (!series)
        return STATUS_OK;
    if (word == PREVIOUS && !series->is_merged)
        return fail(error, STATUS_USAGE, "previous needs --stack after it; without a stack use first");
    if (word == PREVIOUS && series->has_pages)
        return fail(error, STATUS_USAGE,
                    "previous registers the first page of each file, and pages=yes merges all; use first");
    if (word == PREVIOUS && series->is_moved)
        return fail(error, STATUS_USAGE,
                    "previous registers the files, and a stage before it moves their pixels; put that after "
                    "--align, or use first");
    if (align->matrix && series->has_pages)
        return fail(error, STATUS_USAGE,
                    "matrix=FILE has a line for each file, and pages=yes merges all pages; leave one out");
    if (series->is_merged) {
        align->registrations =
            allocate_zeroed(series->count, sizeof *align->registrations, "a series", error);
        if (!align->registrations)
            return STATUS_FAILED;
        for (size_t i = 0; i < series->count; i++)
            align->registrations[i].confidence = -1;
    }
    if (word == PREVIOUS)
        return register_series(align, settings, series, error);
    const char *path =
        word < REFERENCE_WORDS ? series->paths[word == FIRST ? 0 : (series->count - 1) / 2] : NULL;
    if (path && check_read_twice(path, error) != STATUS_OK)
        return STATUS_USAGE;
    /* A run that goes on after another one would read the changed file, and do all files again. */
    if (path && settings->in_place && (series->count > 1 || settings->resume))
        return fail(error, STATUS_USAGE,
                    "--in-place would replace %s, the reference; align to a copy of it, or write to a folder",
                    path);
    const enum status status =
        path ? read_reference(align, path, series_page(settings), settings, error) : STATUS_OK;
    if (status != STATUS_OK && !error->is_out_of_memory) {
        text_append(error->text, sizeof error->text, "; it is the reference of --align %s",
                    reference_words[word]);
        error->has_name = true;
    }
    return status;
}

static void align_release(void *params)
{
    struct align *align = params;
    if (align->levels)
        levels_free(align->levels);
    free(align->levels);
    free(align->reference);
    free(align->registrations);
}

/* Sets the reference's size. Fails for a picture that is too small to be registered. */
static enum status align_shape(const void *params, const struct shape *in, struct shape *out,
                               struct error *error)
{
    const struct align *align = params;
    if (in->width < MIN_SIDE || in->height < MIN_SIDE)
        return fail(error, STATUS_FAILED, "is %dx%d; --align wants %dx%d pixels at least", in->width,
                    in->height, MIN_SIDE, MIN_SIDE);
    if (align->width > 0) { /* 0 without a reference, as in --warm */
        out->width = align->width;
        out->height = align->height;
    }
    return STATUS_OK;
}

/* The output has the reference's geometry, not the picture's. */
static struct stage_caps align_caps(const void *params)
{
    const struct align *align = params;
    return (struct stage_caps){.file = reference_word(align) < REFERENCE_WORDS ? NULL : align->path,
                               .output_file = align->matrix,
                               .needs_upright = true,
                               .leaves_missing = align->options.outside == OUTSIDE_ZERO,
                               .new_geometry = true,
                               .relative_cost = 6};
}

/* A map that moves no pixel farther than this is the identity, so that the reference, when it is an input,
 * keeps its samples. Pictures of 64x64 pixels were found up to 0.0003 pixels off themselves, of 16x16 0.001;
 * the accuracy is a few hundredths. */
static const double NEAREST_MOVE = 0.002;

/* Downloads the picture's brightness and registers it. With `previous` returns the map that was found in
 * advance. In a dry run, or without a reference, returns the identity. */
static enum status align_find(struct run *run, const struct align *align, const struct value *in,
                              struct registration *found, struct error *error)
{
    struct gray_plane gray = {.width = 0};
    struct thread_pool workers;
    *found = (struct registration){.affine = {.xx = 1, .yy = 1}, .confidence = 1};
    if (align->registrations && reference_word(align) == PREVIOUS && !device_is_dry_run(run->device))
        *found = align->registrations[run->input];
    if (!align->levels)
        return STATUS_OK;
    thread_pool_open(&workers, run->jobs);
    enum status status = brightness_fetch(run, &workers, in, align->reduction, align->linear, &gray, error);
    if (status == STATUS_OK && !device_is_dry_run(run->device))
        status =
            registration_find(run, &workers, (enum model)align->model, align->levels, &gray, found, error);
    const struct affine *map = &found->affine;
    const double width = align->width, height = align->height;
    if (fabs(map->xx - 1) * width + fabs(map->xy) * height + fabs(map->x) <= NEAREST_MOVE &&
        fabs(map->yx) * width + fabs(map->yy - 1) * height + fabs(map->y) <= NEAREST_MOVE)
        found->affine = affine_scaling(1, 1);
    gray_plane_free(&gray);
    thread_pool_close(&workers);
    return status;
}

/* Writes the matrices of a series: a line for each input, without numbers if it was left out. */
static enum status align_end_series(const void *params, const struct input_series *series,
                                    struct error *error)
{
    const struct align *align = params;
    FILE *file = align->matrix ? aux_open(align->matrix, "the matrices", error) : NULL;
    if (!file)
        return align->matrix ? STATUS_FAILED : STATUS_OK;
    fputs("file,a,b,tx,c,d,ty,confidence\n", file);
    for (size_t i = 0; i < series->count; i++) {
        const struct affine *map = &align->registrations[i].affine;
        fputc('"', file);
        for (const char *c = series->paths[i]; *c; c++)
            fputs(*c == '"' ? "\"\"" : (const char[]){*c, '\0'}, file);
        fputc('"', file);
        if (align->registrations[i].confidence >= align->confidence)
            fprintf(file, ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.4g\n", map->xx, map->xy, map->x, map->yx,
                    map->yy, map->y, align->registrations[i].confidence);
        else
            fprintf(file, ",,,,,,,%.4g\n", fmax(align->registrations[i].confidence, 0));
    }
    return aux_close(file, align->matrix, "the matrices", error);
}

/* Registers the picture and enqueues the warp. Fails if the confidence is too low. */
static enum status run_align(struct run *run, const void *params, const struct value *in, struct value *out,
                             struct error *error)
{
    const struct align *align = params;
    struct registration found;
    enum status status = align_find(run, align, in, &found, error);
    if (status != STATUS_OK)
        return status;
    if (align->registrations && !device_is_dry_run(run->device))
        align->registrations[run->input] = found;
    if (!run->results.alignment.found) /* the first page's, for -v and --report */
        run->results.alignment = (struct alignment){found.affine, found.confidence, .found = true};
    if (found.confidence < 0)
        return fail(
            error, STATUS_FAILED,
            "is much larger or smaller than the first picture, so previous cannot align it; use first");
    if (!(found.confidence >= align->confidence))
        return fail(error, STATUS_FAILED,
                    "cannot be aligned to %s: the pictures do not match (confidence %.2f, needed %.2g)%s",
                    align->reference ? align->reference : "the picture before it", found.confidence,
                    align->confidence,
                    align->registrations && reference_word(align) == FIRST ? "; try --align middle" : "");
    /* Antialiasing that widens the filter by less than a tenth hardly changes the result, and takes several
     * times as long. */
    const struct affine *affine = &found.affine;
    struct warp_options warping = align->options;
    if (exact_hypot(affine->xx, affine->xy) < 1.1 && exact_hypot(affine->yx, affine->yy) < 1.1)
        warping.antialias = false;
    status = warp_check("--align", affine, &warping, &out->shape, error);
    if (status == STATUS_OK && align->matrix && !align->registrations && !device_is_dry_run(run->device)) {
        /* All digits, so that --warp @FILE gives the same samples. */
        FILE *file = aux_open(align->matrix, "the matrix", error);
        if (!file)
            return STATUS_FAILED;
        fprintf(file, "%.17g %.17g %.17g\n%.17g %.17g %.17g\n", affine->xx, affine->xy, affine->x, affine->yx,
                affine->yy, affine->y);
        status = aux_close(file, align->matrix, "the matrix", error);
    }
    return status == STATUS_OK ? warp_image(run, affine, &warping, in, out, error) : status;
}

const struct stage stage_align = {
    .name = "align",
    .brief = "line up with a reference picture (shift, rotation, scale)",
    .manual =
        "Moves, turns and scales the picture so that it lies on the reference. The result has the "
        "reference's size. model says how the two may differ: a shift; shift and rotation (rigid); these "
        "and a scale (similarity); these and shear (affine). climg finds all rotations, scales from 0.75 to "
        "1.35, and shifts up to half of the reference. Exposure, contrast and noise of the two may "
        "differ.\n\n"
        "The confidence, from 0 to 1, says how well the two match: it is the share of blocks of the picture "
        "that agree. Pictures of one scene mostly have more than 0.8, or more than 0.4 if a third of the "
        "scene moved. Different scenes have less than 0.2. Repeated patterns and strong noise lower the "
        "confidence. A file below confidence=C fails, and nothing is written.\n\n"
        "-v and --report give the matrix and the confidence. matrix=FILE writes the matrix, of the last "
        "page if there are several. --warp @FILE applies it to other pictures. To get the samples that "
        "--align gives, add antialias=no, unless the picture shrinks by more than a tenth. Add size=WxH if "
        "the reference has another size than these pictures.\n\n"
        "The reference is a file, of which the first page is used, or one of the inputs: first, or middle "
        "(of their order). An input is read from its file (with --page, that page of it), without the "
        "stages before --align. So --align first puts all pages of a file onto its first page. A map that "
        "moves no pixel by more than 0.002 pixels counts as none, so the reference itself keeps its "
        "samples, except with filter=bspline. --in-place refuses one of several inputs as the reference, "
        "which it would replace.\n\n"
        "Before --stack, inputs below the confidence are left out, and pixels that an input does not have "
        "do not count. matrix=FILE then writes a CSV with a line for each input. The reference may also be "
        "previous, for series that drift or change slowly: each input is aligned to the first one, or if "
        "they no longer match well, to the one before it. The result has the first one's grid. previous "
        "reads all inputs without the stages before --align, so these must not move pixels.\n\n"
        "The result is exact to a few hundredths of a pixel. Things that moved, hot pixels and cosmic rays "
        "have little influence. Display values are compared, also with --linear. All this runs on the "
        "host's threads (--jobs); --timing shows it as registration.\n\n"
        "filter, outside and antialias work as in --warp, but nothing is antialiased if the picture shrinks "
        "by less than a tenth. Picture and reference are first turned as their orientations say, unless "
        "--stored-orientation is given.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct align),
    .check = align_check,
    .prepare = align_prepare,
    .prepare_series = align_prepare_series,
    .end_series = align_end_series,
    .release = align_release,
    .shape = align_shape,
    .rows = rows_all,
    .caps = align_caps,
    .run = run_align,
};
