#include "chain/transfer.h"

#include <stdio.h>

enum { OPTIONS_SIZE = 160 };

const struct profile_owner UNPACKING = {-1, "(unpack)"}, PACKING = {-2, "(pack)"};

size_t transfer_pitch(int width, int channels, enum sample_type type)
{
    size_t padded = ((size_t)width + PITCH_UNIT - 1) / PITCH_UNIT * PITCH_UNIT;
    return padded * (size_t)channels * sample_size(type);
}

/* For both directions, each of which looks at what it needs: so they share a program, and a build of it. The
 * transfer curve applies to colour that is not multiplied by alpha. */
static void write_options(char *options, const struct conversion *conversion)
{
    bool alpha = conversion->alpha, premultiplied = conversion->premultiplied;
    bool divide_first = alpha && premultiplied && conversion->linear;
    bool multiply = alpha && conversion->multiply && (divide_first || !premultiplied);
    bool divide = alpha && (conversion->multiply || premultiplied);
    snprintf(options, OPTIONS_SIZE, "-DSAMPLE=%d -DCHANNELS=%d -DCOLOURS=%d%s%s%s%s%s", conversion->type,
             conversion->channels, conversion->channels - alpha, divide_first ? " -DDIVIDE_FIRST" : "",
             multiply ? " -DMULTIPLY" : "", divide ? " -DDIVIDE" : "", conversion->linear ? " -DLINEAR" : "",
             conversion->linear && conversion->exponent > 0 ? " -DGAMMA" : "");
}

/* The grid's z counts the images of a stack. */
static struct work make_work(const struct run *run, const char *kernel, const char *options, int channels,
                             const struct planes *planes, const struct samples *samples)
{
    int images = planes->channels / channels;
    return (struct work){.file = "samples",
                         .kernel = kernel,
                         .options = options,
                         .grain = GRAIN_WINDOW,
                         .memory = run->memory,
                         .width = planes->width,
                         .height = planes->rows,
                         .depth = images,
                         .bytes = samples->pitch * (size_t)planes->rows * (size_t)images};
}

static cl_int pitch_in_pixels(const struct conversion *conversion, const struct samples *samples)
{
    return (cl_int)(samples->pitch / sample_size(conversion->type) / (size_t)conversion->channels);
}

enum status unpack_planes(struct run *run, const struct conversion *conversion, const struct samples *samples,
                          const struct planes *planes, struct error *error)
{
    char options[OPTIONS_SIZE];
    cl_int pitch = pitch_in_pixels(conversion, samples), row = samples->first_row, rows = samples->rows;
    cl_float exponent = (cl_float)conversion->exponent;
    write_options(options, conversion);
    struct work work = make_work(run, "unpack", options, conversion->channels, planes, samples);
    return LAUNCH(run->device, &work, error, ARG_MEMORY(samples->memory), ARG(pitch), ARG(row), ARG(rows),
                  ARG_PLANES(planes), ARG(exponent));
}

enum status pack_planes(struct run *run, const struct conversion *conversion, const struct planes *planes,
                        const struct samples *samples, struct error *error)
{
    char options[OPTIONS_SIZE];
    cl_int pitch = pitch_in_pixels(conversion, samples), row = samples->first_row, rows = samples->rows;
    cl_float exponent = (cl_float)conversion->exponent;
    write_options(options, conversion);
    struct work work = make_work(run, "pack", options, conversion->channels, planes, samples);
    return LAUNCH(run->device, &work, error, ARG_PLANES(planes), ARG_MEMORY(samples->memory), ARG(pitch),
                  ARG(row), ARG(rows), ARG(exponent));
}
