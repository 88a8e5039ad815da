/* Converts colours from what the file means by them to another colour space (image/colour/colour.h), whose
 * ICC profile the output gets.
 *
 * The source is the space of the shape, which comes from the file or from an earlier --profile; without one
 * it is sRGB, or linear sRGB for floats. A colour link has all numbers that kernels/colour.cl needs. It is
 * computed once for a pair of spaces, with Little CMS if there are tables. In linear light it has no curves.
 * On CPUs the kernel reads and writes samples of files itself, as unpacking and packing took a tenth of the
 * time of a 4096x4096 picture. */
#include "base/sums.h"
#include "engine/run.h"
#include "image/colour/colour.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct profile {
    const char *target; /* as typed: a word, or a profile's file */
    int intent;         /* enum colour_intent */
    bool blackpoint;
    const struct colour_space *space; /* set by profile_prepare; NULL for AUTO. Owned if it is of a file */
};

static const char *const builtin_words[] = {
    [COLOUR_SRGB] = "srgb", [COLOUR_P3] = "p3", [COLOUR_ADOBE] = "adobe", [COLOUR_GRAY] = "gray"};

/* The target that means sRGB, or for gray pictures gray with the curve of sRGB. --strip uses it, too. */
static const char *const AUTO = "auto";

/* Returns the number of the built-in space, or -1: the target is a file or AUTO. */
static int profile_builtin(const struct profile *profile)
{
    for (int i = 0; i < (int)(sizeof builtin_words / sizeof builtin_words[0]); i++)
        if (strcasecmp(profile->target, builtin_words[i]) == 0)
            return i;
    return -1;
}

/* Prints the word, or of a file a checksum: outputs depend on its content, not on its name. */
static void print_target(FILE *file, const void *params)
{
    const struct profile *profile = params;
    const int builtin = profile_builtin(profile);
    if (builtin >= 0 || profile->space == NULL)
        print_text(file, builtin >= 0                             ? builtin_words[builtin]
                         : strcasecmp(profile->target, AUTO) == 0 ? AUTO
                                                                  : profile->target);
    else
        fprintf(
            file, "@fnv1a:%016llx",
            (unsigned long long)hash_bytes(HASH_START, profile->space->icc.data, profile->space->icc.size));
}

static const struct option options[] = {
    {.type = OPTION_TEXT,
     .offset = offsetof(struct profile, target),
     .choices = "srgb|p3|adobe|gray|auto",
     .value = "srgb|p3|adobe|gray|auto|FILE.icc",
     .help = "sRGB, Display P3, Adobe RGB (1998), gray with sRGB's curve, auto: sRGB or of gray pictures "
             "gray, or a profile of RGB or gray",
     .print_content = print_target},
    {.name = "intent",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct profile, intent),
     .fallback = "relative",
     .choices = "relative|perceptual|saturation|absolute",
     .help = "ICC's rendering intent, for profiles that have several tables"},
    {.name = "blackpoint",
     .type = OPTION_YES_NO,
     .offset = offsetof(struct profile, blackpoint),
     .fallback = "no",
     .help = "black becomes the darkest colour of the profile"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/valley.jpg --profile p3 wide.jpg", "for displays that show Display P3"},
    {"climg samples/scene.png --profile gray gray.png", "gray as bright as the colours of any profile"},
    {"climg samples/valley.jpg --profile srgb --resize 400x300 web.jpg", "sRGB for the web"},
    {NULL, NULL},
};

/* Loads the target. */
static enum status profile_prepare(void *params, const struct settings *settings, struct error *error)
{
    struct profile *profile = params;
    const int builtin = profile_builtin(profile);
    (void)settings;
    if (strcasecmp(profile->target, AUTO) == 0)
        return STATUS_OK;
    if (builtin < 0) {
        if (access(profile->target, F_OK) != 0 && errno == ENOENT)
            return fail(error, STATUS_FAILED,
                        "%s: no such file; the built-in profiles are srgb, p3, adobe, gray and auto",
                        profile->target);
        if (colour_space_load_file(profile->target, &profile->space, error) != STATUS_OK)
            return STATUS_FAILED;
        if (profile->space->channels == 4)
            return fail(error, STATUS_FAILED, "%s: is a profile of CMYK, which climg does not write",
                        profile->target);
        return STATUS_OK;
    }
    profile->space = colour_space_builtin((enum colour_builtin)builtin);
    return profile->space ? STATUS_OK : fail_memory(error, "out of memory for a colour space");
}

static void profile_release(void *params)
{
    struct profile *profile = params;
    if (profile->space != NULL && profile_builtin(profile) < 0)
        colour_space_release(profile->space);
}

/* Returns the space to which such a picture is converted; NULL if memory is out. */
static const struct colour_space *profile_space(const struct profile *profile, const struct shape *in)
{
    return profile->space != NULL ? profile->space
                                  : colour_space_builtin(shape_is_colour(in) ? COLOUR_SRGB : COLOUR_GRAY);
}

/* Returns the link for such a picture; NULL on failure. */
static const struct colour_link *profile_link(const struct profile *profile, const struct shape *in,
                                              struct error *error)
{
    const struct colour_endpoint from = {shape_space(in), in->linear},
                                 to = {profile_space(profile, in), in->linear};
    const struct colour_link *link = NULL;
    if (from.space == NULL || to.space == NULL)
        fail_memory(error, "out of memory for a colour space");
    else
        colour_link_find(from, to, (enum colour_intent)profile->intent, profile->blackpoint, &link, error);
    return link;
}

/* Sets the space and its channels. */
static enum status profile_shape(const void *params, const struct shape *in, struct shape *out,
                                 struct error *error)
{
    if ((in->channels - in->alpha) % 2 == 0)
        return fail(error, STATUS_FAILED, "--profile: the last channel of the picture is not alpha");
    const struct colour_link *link = profile_link(params, in, error);
    if (link == NULL)
        return STATUS_FAILED;
    out->space = profile_space(params, in);
    out->channels = link->out_channels + in->alpha;
    return STATUS_OK;
}

/* Enqueues the conversion, from planes or a raster to planes or a raster. If there is a raster, the
 * kernel has arguments for a raster and for planes on both sides, and ignores arguments without memory. */
static enum status run_profile(struct run *run, const void *params, const struct value *in, struct value *out,
                               struct error *error)
{
    const struct colour_link *link = profile_link(params, &in->shape, error);
    cl_mem floats;
    if (link == NULL || (!out->raster && run_output(run, out, error) != STATUS_OK) ||
        run_constants(run, link->floats, link->count, &floats, error) != STATUS_OK)
        return STATUS_FAILED;
    struct { /* the same layout as struct conversion of kernels/colour.cl */
        cl_int in, out, alpha, decode[3], encode[3], grid;
        cl_float matrix[9];
    } conversion = {
        .in = link->in_channels, .out = link->out_channels, .alpha = in->shape.alpha, .grid = link->grid};
    for (int c = 0; c < 3; c++) {
        conversion.decode[c] = link->decode[c];
        conversion.encode[c] = link->encode[c];
        for (int i = 0; i < 3; i++)
            conversion.matrix[3 * c + i] = link->matrix[c][i];
    }
    const struct planes src = value_planes(in), dst = value_planes(out);
    struct kernel_launch work = run_work(run, "colour", "convert", &dst);
    work.vector_width = VECTOR_WINDOW;
    work.calls_noinline = true;
    work.depth = in->shape.images;
    if (!in->raster && !out->raster)
        return LAUNCH(run->device, &work, error, ARG_PLANES(&src), ARG_PLANES(&dst), ARG_MEMORY(floats),
                      ARG(conversion));
    const struct raster none = {0}, *read = in->raster ? in->raster : &none,
                        *write = out->raster ? out->raster : &none;
    const struct geometry from = planes_geometry(&src), to = planes_geometry(&dst);
    work.bytes = raster_bytes(read, src.rows) + raster_bytes(write, dst.rows) +
                 (in->raster ? 0 : planes_bytes(&src)) + (out->raster ? 0 : planes_bytes(&dst));
    define(&work.defines, "SAMPLE", out->raster ? write->sample : read->sample);
    if (in->raster && out->raster && read->sample != write->sample)
        define(&work.defines, "READ_SAMPLE", read->sample);
    return LAUNCH(run->device, &work, error, ARGS_READ_RASTER(read), ARG_MEMORY(src.object), ARG(from),
                  ARGS_WRITE_RASTER(write), ARG_MEMORY(dst.object), ARG(to), ARG_MEMORY(floats),
                  ARG(conversion));
}

/* A CMYK file is read in the target space, if that is RGB: climg writes no CMYK. */
static struct stage_caps profile_caps(const void *params)
{
    const struct profile *profile = params;
    const bool is_file = profile_builtin(profile) < 0 && strcasecmp(profile->target, AUTO) != 0;
    return (struct stage_caps){
        .file = is_file ? profile->target : NULL,
        .groups = true,
        .reads_samples = true,
        .writes_samples = true,
        .needs_colour_space = true,
        .rgb_space = profile->space != NULL && profile->space->channels == 3 ? profile->space : NULL,
        .new_values = true};
}

const struct stage stage_profile = {
    .name = "profile",
    .brief = "convert colours to another profile",
    .manual = "Converts colours from what the file means by them, so that the picture looks the same, and "
              "embeds the new profile. A file's meaning is its ICC profile; else PNG's cICP; else PNG's gAMA "
              "and cHRM; else sRGB, or linear sRGB if samples are floats. Light of PQ and HLG above 203 "
              "cd/m2 is brighter than white.\n\n"
              "srgb is for everything that ignores profiles; p3 is Display P3, which phones and new screens "
              "show; adobe is compatible with Adobe RGB (1998); gray has sRGB's curve; auto is srgb, or gray "
              "of gray pictures. FILE.icc is a profile of RGB or gray; a gray one makes a gray picture, one "
              "of RGB three channels. Alpha is unchanged.\n\n"
              "Profiles of curves and a matrix are converted exactly. All others are a table of 33x33x33 "
              "colours, which Little CMS computes; values beyond 0 and full scale are clipped there. intent= "
              "and blackpoint=yes mean what they mean in Little CMS, and change nothing between the four "
              "built-in profiles. Colours that the new profile cannot hold are clipped when they are written "
              "as integers. A NaN makes all colours of its pixel NaN.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct profile),
    .prepare = profile_prepare,
    .release = profile_release,
    .shape = profile_shape,
    .rows = rows_same,
    .caps = profile_caps,
    .run = run_profile,
};
