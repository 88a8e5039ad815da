#include "chain/transfer.h"

#include <stdio.h>
#include <string.h>

enum { COUNTED_ROWS = 64 }; /* pairs of counters for each image, which its rows take in turn */

const struct profile_owner UNPACKING = {-1, "(unpack)"}, PACKING = {-2, "(pack)"};

size_t transfer_pitch(int width, int channels, enum sample_type type)
{
    size_t padded = ((size_t)width + PITCH_UNIT - 1) / PITCH_UNIT * PITCH_UNIT;
    return padded * (size_t)channels * sample_size(type);
}

/* For both directions, each of which looks at what it needs: so they share a program, and a build of it. The
 * transfer curve applies to colour that is not multiplied by alpha. */
static void define_conversion(struct defines *defines, const struct conversion *conversion)
{
    bool alpha = conversion->alpha, premultiplied = conversion->premultiplied;
    bool divide_first = alpha && premultiplied && (conversion->linear || conversion->ranged);
    bool multiply = alpha && conversion->multiply && (divide_first || !premultiplied);
    bool divide = alpha && (conversion->multiply || premultiplied);
    define(defines, "SAMPLE", conversion->type);
    define(defines, "CHANNELS", conversion->channels);
    define(defines, "COLOURS", conversion->channels - alpha);
    if (divide_first)
        define(defines, "DIVIDE_FIRST", 1);
    if (multiply)
        define(defines, "MULTIPLY", 1);
    if (divide)
        define(defines, "DIVIDE", 1);
    if (alpha && conversion->rounded)
        define(defines, "ROUNDED", 1);
    if (conversion->linear)
        define(defines, "LINEAR", 1);
    if (conversion->linear && conversion->exponent > 0)
        define(defines, "GAMMA", 1);
    if (conversion->ranged)
        define(defines, "RANGE", 1);
    if (conversion->counted) {
        define(defines, "COUNT", 1);
        define(defines, "COUNTED_ROWS", COUNTED_ROWS);
    }
    if (conversion->opponent_in)
        define(defines, "OPPONENT_IN", 1);
    if (conversion->opponent_out)
        define(defines, "OPPONENT_OUT", 1);
}

struct range_text conversion_range(const struct conversion *conversion)
{
    const double unit = sample_full_scale(conversion->type);
    struct range_text range;
    snprintf(range.text, sizeof range.text, "%.9g to %.9g", conversion->low * unit, conversion->high * unit);
    return range;
}

bool transfer_clips(enum sample_type in, enum sample_type out)
{
    bool lossy = sample_is_float(in) || (sample_is_signed(in) && !sample_is_signed(out));
    return lossy && !sample_is_float(out) && out != SAMPLE_COMPLEX;
}

bool conversion_is_plain(const struct run *run, const struct conversion *conversion)
{
    return run->memory == MEMORY_BUFFER && run->device->class == DEVICE_WIDE && !conversion->alpha &&
           !conversion->linear && !conversion->ranged &&
           (conversion->type == SAMPLE_UINT8 || conversion->type == SAMPLE_UINT16);
}

enum status clipping_begin(const struct run *run, const struct conversion *to, int images, cl_mem *counters,
                           struct error *error)
{
    *counters = NULL;
    if (!to->counted)
        return STATUS_OK;
    return counters_acquire(run->device, (size_t)images * COUNTED_ROWS * 2, counters, error);
}

enum status clipping_read(const struct run *run, cl_mem counters, int images, struct clipping *clippings,
                          struct error *error)
{
    cl_uint counts[COUNTED_ROWS][2];
    enum status status = STATUS_OK;
    for (int i = 0; counters && status == STATUS_OK && i < images; i++) {
        const size_t size = sizeof counts / sizeof(cl_uint);
        status = counters_read(run->device, counters, (size_t)i * size, size, &counts[0][0], error);
        for (int y = 0; status == STATUS_OK && y < COUNTED_ROWS; y++) {
            clippings[i].beyond += counts[y][0];
            clippings[i].not_numbers += counts[y][1];
        }
    }
    return status;
}

struct raster conversion_raster(const struct conversion *conversion, cl_mem memory, size_t pitch,
                                int first_row)
{
    size_t pixel = sample_size(conversion->type) * (size_t)conversion->channels;
    struct raster raster = {
        .memory = memory, .pitch = (cl_int)(pitch / pixel), .first_row = first_row, .pixel = pixel};
    define_conversion(&raster.defines, conversion);
    return raster;
}

/* The grid's z counts the images of a group. */
static struct work make_work(const struct run *run, const char *kernel, const struct raster *raster,
                             int channels, const struct planes *planes)
{
    int images = planes->channels / channels;
    struct work work = run_work(run, "samples", kernel, planes);
    work.defines = raster->defines;
    work.grain = GRAIN_WINDOW;
    work.depth = images;
    work.bytes = raster_bytes(raster, planes->rows * images);
    return work;
}

/* The lowest value, and what the values above it are multiplied by; values that are all one become 0. */
static cl_float2 range_of(const struct conversion *conversion)
{
    double span = conversion->high - conversion->low;
    return (cl_float2){.s = {(cl_float)conversion->low, (cl_float)(span > 0 ? 1 / span : 1)}};
}

enum status unpack_planes(struct run *run, const struct conversion *conversion, const struct raster *raster,
                          const struct planes *planes, struct error *error)
{
    cl_float exponent = (cl_float)conversion->exponent;
    cl_float2 range = range_of(conversion);
    struct work work = make_work(run, "unpack", raster, conversion->channels, planes);
    return LAUNCH(run->device, &work, error, ARGS_READ_RASTER(raster), ARG_PLANES(planes), ARG(exponent),
                  ARG(range));
}

enum status pack_planes(struct run *run, const struct conversion *conversion, const struct planes *planes,
                        const struct raster *raster, struct error *error)
{
    cl_float exponent = (cl_float)conversion->exponent;
    cl_float2 range = range_of(conversion);
    struct work work = make_work(run, "pack", raster, conversion->channels, planes);
    return LAUNCH(run->device, &work, error, ARG_PLANES(planes), ARGS_RASTER(raster), ARG(exponent),
                  ARG(range));
}

static enum status carry(struct run *run, struct staging *staging, struct planes *planes, struct error *error)
{
    const struct conversion plain = {.type = SAMPLE_UINT8, .channels = 1};
    size_t size = transfer_pitch(1, 1, SAMPLE_UINT8);
    struct raster raster = conversion_raster(&plain, staging->object, size, 0);
    enum status status = run_planes(run, 1, 1, rows_whole(1), 1, 1, planes, error);
    if (status == STATUS_OK)
        status = staging_give(staging, size, error);
    if (status == STATUS_OK)
        status = unpack_planes(run, &plain, &raster, planes, error);
    if (status == STATUS_OK)
        status = staging_take(staging, 0, error);
    if (status == STATUS_OK)
        status = staging_wait(staging, error);
    if (status != STATUS_OK)
        return status;
    memset(staging->host, 0, size);
    status = staging_give(staging, size, error);
    if (status == STATUS_OK)
        status = pack_planes(run, &plain, planes, &raster, error);
    if (status == STATUS_OK)
        status = staging_take(staging, size, error);
    return status == STATUS_OK ? staging_wait(staging, error) : status;
}

bool transfer_works(struct run *run)
{
    enum { VALUE = 165 };
    struct error ignored;
    struct planes planes = {.memory = run->memory};
    struct staging *staging = staging_acquire(&run->stagings, transfer_pitch(1, 1, SAMPLE_UINT8), &ignored);
    if (!staging)
        return false;
    unsigned char *pixel = staging->host;
    *pixel = VALUE;
    bool works =
        carry(run, staging, &planes, &ignored) == STATUS_OK && *(unsigned char *)staging->host == VALUE;
    planes_release(&run->pool, &planes);
    staging_release(&run->stagings, staging);
    return works;
}
