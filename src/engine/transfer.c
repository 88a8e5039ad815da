/* Launches of kernels/samples.cl.
 *
 * The usual sample types (8 and 16 bit, float) have a short program each. The others share one program, whose
 * branches take less time than compiling a program for each. The steps of a conversion are arguments, except
 * the transfer curve, whose code is long. A conversion without any step has a program of its own (PLAIN). */
#include "engine/transfer.h"

#include "image/colour/colour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pairs of clipping counters of an image. Row y uses pair y % CLIP_COUNTERS: atomic additions to a single
 * pair would wait for each other. */
enum { CLIP_COUNTERS = 64 };

/* Largest float that does not become an infinite half, less the 0.5 that kernels allow for rounding to
 * integers (count_clipped of kernels/raster.h). */
static const cl_float LARGEST_HALF = 65520 - 0x1p-8F - 0.5F;

const struct event_owner UNPACKING = {-1, "(unpack)"}, PACKING = {-2, "(pack)"};

size_t transfer_pitch(int width, int channels, enum sample_type type)
{
    size_t padded = ((size_t)width + PITCH_UNIT - 1) / PITCH_UNIT * PITCH_UNIT;
    return padded * (size_t)channels * sample_size(type);
}

/* Arguments of the kernels: struct curve and struct conversion of kernels/samples.cl, which explains them. */
struct curve {
    cl_float toe, toe_back, slope, offset, scale, exponent;
};

struct sample_conversion {
    cl_int type, channels, colours, divide, multiply, flushes_tiny_alpha, opponent, has_range;
    cl_float low, gain, unit, lowest, highest, first_rounding;
    struct curve curve;
    cl_int table_step; /* floats from the table of one channel to the next table */
};

/* Returns the arguments that both directions share: the range of the samples, and of the values.
 * `first_rounding` makes the kernel round 8-bit samples to multiples of 2^-12 first (1.5 * 2^23 * 2^-12), so
 * that exact halves stay exact (ROUND_SHORT). */
static struct sample_conversion describe_conversion(const struct conversion *conversion)
{
    const enum sample_type type = conversion->type;
    const double span = conversion->high - conversion->low, full = sample_full_scale(type);
    const struct curve srgb = {0.04045F, 0.0031308F, 12.92F, 0.055F, 1.055F, 2.4F}, /* IEC 61966-2-1 */
        power = {-1, -1, 1, 0, 1, (cl_float)conversion->exponent};                  /* without a linear toe */
    const bool is_half = type == SAMPLE_HALF;
    return (struct sample_conversion){.type = (cl_int)type,
                                      .unit = (cl_float)full,
                                      .lowest = is_half                  ? -LARGEST_HALF
                                                : sample_is_signed(type) ? (cl_float)(-full - 1)
                                                                         : 0,
                                      .highest = is_half ? LARGEST_HALF : (cl_float)full,
                                      .first_rounding =
                                          type == SAMPLE_UINT8 || type == SAMPLE_INT8 ? 0x1.8p11F : 0,
                                      .channels = conversion->channels,
                                      .colours = conversion->channels - conversion->alpha,
                                      .has_range = conversion->has_range,
                                      .low = (cl_float)conversion->low,
                                      .gain = (cl_float)(span > 0 ? 1 / span : 1),
                                      .curve = conversion->exponent > 0 ? power : srgb,
                                      .table_step = CURVE_TABLE_SIZE};
}

void conversion_set_curves(struct conversion *conversion, const struct shape *shape)
{
    const struct colour_space *space = shape->space != NULL ? shape_space(shape) : NULL;
    conversion->exponent = space != NULL ? space->exponent : 0;
    conversion->space = conversion->exponent < 0 ? space : NULL;
}

/* Uploads the tables of the transfer curves, one for each colour channel, or one if they are equal. *memory
 * is NULL if the conversion needs none. `encodes`: from values to samples. */
static enum status upload_curves(struct run *run, const struct conversion *conversion, bool encodes,
                                 struct sample_conversion *arguments, cl_mem *memory, struct error *error)
{
    const struct colour_space *space = conversion->space;
    *memory = NULL;
    if (!conversion->linear || space == NULL)
        return STATUS_OK;
    float *tables =
        allocate((size_t)space->channels * CURVE_TABLE_SIZE * sizeof *tables, "tone curves", error);
    if (tables == NULL)
        return STATUS_FAILED;
    bool are_equal = true;
    enum status status = STATUS_OK;
    for (int c = 0; status == STATUS_OK && c < space->channels; c++) {
        const float *table = colour_space_table(space, c, encodes);
        if (table == NULL)
            status = fail_memory(error, "out of memory for a tone curve");
        else
            memcpy(tables + c * CURVE_TABLE_SIZE, table, CURVE_TABLE_SIZE * sizeof *table);
        are_equal = are_equal && table == colour_space_table(space, 0, encodes);
    }
    arguments->table_step = are_equal ? 0 : CURVE_TABLE_SIZE;
    if (status == STATUS_OK)
        status = run_constants(run, tables, (size_t)(are_equal ? 1 : space->channels) * CURVE_TABLE_SIZE,
                               memory, error);
    free(tables);
    return status;
}

struct range_text conversion_range(const struct conversion *conversion)
{
    const double unit = sample_full_scale(conversion->type);
    struct range_text range;
    snprintf(range.text, sizeof range.text, "%.9g to %.9g", conversion->low * unit, conversion->high * unit);
    return range;
}

bool transfer_clips(enum sample_type in, enum sample_type out, bool amplifies)
{
    bool may_clip = amplifies || sample_is_float(in) || (sample_is_signed(in) && !sample_is_signed(out));
    return may_clip && (out == SAMPLE_HALF || !sample_is_float(out)) && out != SAMPLE_COMPLEX;
}

bool conversion_allows_raw_samples(const struct run *run, const struct conversion *conversion)
{
    return run->memory == MEMORY_BUFFER && run->device->variant == VARIANT_CPU && !conversion->alpha &&
           !conversion->linear && !conversion->has_range &&
           (conversion->type == SAMPLE_UINT8 || conversion->type == SAMPLE_UINT16);
}

bool conversion_keeps_samples(const struct conversion *from, const struct conversion *to)
{
    return from->type == to->type && from->has_range == to->has_range &&
           !(from->alpha && from->premultiplied);
}

enum status clipping_begin(const struct run *run, const struct conversion *to, int images, cl_mem *counters,
                           struct error *error)
{
    *counters = NULL;
    if (!to->counts_clipping)
        return STATUS_OK;
    return counters_create(run->device, (size_t)images * CLIP_COUNTERS * 2, counters, error);
}

enum status clipping_read(const struct run *run, cl_mem counters, int images, struct clipping *clippings,
                          struct error *error)
{
    cl_uint counts[CLIP_COUNTERS][2];
    enum status status = STATUS_OK;
    for (int i = 0; counters && status == STATUS_OK && i < images; i++) {
        const size_t size = sizeof counts / sizeof(cl_uint);
        status = words_read(run->device, counters, (size_t)i * size, size, counts, true, error);
        for (int y = 0; status == STATUS_OK && y < CLIP_COUNTERS; y++) {
            clippings[i].beyond += counts[y][0];
            clippings[i].not_numbers += counts[y][1];
        }
    }
    return status;
}

/* Returns the launch of a kernel of samples.cl over all pixels. The grid's z is the image of a group. */
static struct kernel_launch make_work(const struct run *run, const char *kernel,
                                      const struct conversion *conversion, const struct raster *raster,
                                      const struct planes *planes)
{
    int images = planes->channels / conversion->channels;
    struct kernel_launch work = run_work(run, "samples", kernel, planes);
    const enum sample_type type = conversion->type;
    if (type == SAMPLE_UINT8 || type == SAMPLE_UINT16 || type == SAMPLE_FLOAT) /* a program of its own */
        define(&work.defines, "SAMPLE", type);
    /* Values are samples times a factor, in both directions: the kernels have no other step. */
    if (!conversion->alpha && !conversion->linear && !conversion->has_range && !conversion->counts_clipping &&
        !conversion->opponent_in && !conversion->opponent_out)
        define(&work.defines, "PLAIN", 1);
    if (conversion->linear)
        define(&work.defines, "CURVE", conversion->space != NULL ? 2 /* tables */ : 1 /* a formula */);
    work.vector_width = VECTOR_WINDOW;
    work.depth = images;
    work.calls_noinline = true;
    work.bytes = raster_bytes(raster, planes->rows * images);
    return work;
}

/* The transfer curve and the range apply to colour that is not multiplied by alpha, so premultiplied colour
 * is divided first:
 *
 *     the file's colour   curve or range   steps
 *     premultiplied       yes              divide, multiply
 *     premultiplied       no               none
 *     not premultiplied   yes or no        multiply
 *
 * Colour is multiplied only if the chain needs it (conversion->multiply). */
enum status unpack_columns(struct run *run, const struct raster *raster, int column,
                           const struct planes *planes, struct error *error)
{
    const struct conversion *conversion = raster->conversion;
    struct sample_conversion arguments = describe_conversion(conversion);
    arguments.unit = 1 / arguments.unit; /* `unpack` multiplies samples by it, `pack` values */
    arguments.divide =
        conversion->alpha && conversion->premultiplied && (conversion->linear || conversion->has_range);
    arguments.multiply =
        arguments.divide || (conversion->alpha && conversion->multiply && !conversion->premultiplied);
    arguments.opponent = conversion->opponent_in;
    const cl_int bytes_per_pixel = (cl_int)raster->pixel, first = column;
    struct event_owner *owner = &run->device->event_log->owner;
    const struct event_owner caller = *owner;
    cl_mem curves;
    if (upload_curves(run, conversion, false, &arguments, &curves, error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work = make_work(run, "unpack", conversion, raster, planes);
    *owner = UNPACKING;
    enum status status = LAUNCH(run->device, &work, error, ARGS_READ_RASTER(raster), ARG_PLANES(planes),
                                ARG(arguments), ARG(bytes_per_pixel), ARG(first), ARG_MEMORY(curves));
    *owner = caller;
    return status;
}

enum status pack_columns(struct run *run, const struct planes *planes, struct columns columns,
                         const struct raster *raster, struct error *error)
{
    const struct conversion *conversion = raster->conversion;
    struct sample_conversion arguments = describe_conversion(conversion);
    arguments.divide = conversion->alpha && (conversion->multiply || conversion->premultiplied);
    arguments.flushes_tiny_alpha = conversion->alpha && conversion->flushes_tiny_alpha;
    arguments.opponent = conversion->opponent_out;
    const cl_int bytes_per_pixel = (cl_int)raster->pixel;
    struct event_owner *owner = &run->device->event_log->owner;
    const struct event_owner caller = *owner;
    cl_mem curves;
    if (upload_curves(run, conversion, true, &arguments, &curves, error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work = make_work(run, "pack", conversion, raster, planes);
    work.width = columns.count;
    *owner = PACKING;
    enum status status = LAUNCH(run->device, &work, error, ARG_PLANES(planes), ARGS_WRITE_RASTER(raster),
                                ARG(arguments), ARG(bytes_per_pixel), ARG(columns), ARG_MEMORY(curves));
    *owner = caller;
    return status;
}

struct raster conversion_raster(const struct conversion *conversion, cl_mem memory, size_t pitch,
                                int first_row)
{
    size_t bytes_per_pixel = sample_size(conversion->type) * (size_t)conversion->channels;
    return (struct raster){.memory = memory,
                           .conversion = conversion,
                           .pitch = (cl_int)(pitch / bytes_per_pixel), /* bytes to pixels */
                           .first_row = first_row,
                           .pixel = bytes_per_pixel,
                           .sample = (int)conversion->type,
                           .black = conversion->has_range ? conversion->low : 0,
                           .white = conversion->has_range ? conversion->high : 1};
}
