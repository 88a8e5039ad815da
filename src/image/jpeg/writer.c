/* Writes JPEGs with libjpeg, on the writer's thread alone: with several files, other workers use the other
 * processors.
 *
 *     rows ─▶ libjpeg: YCbCr, subsampling, DCT, quantisation ─▶ coefficients ─▶ Huffman coding ─▶ file
 *
 * Huffman tables are optimised for the picture: files are 2 to 10% smaller than with the standard tables.
 * libjpeg keeps all coefficients in memory for that, 2 bytes each. If they would take too much memory, the
 * picture is encoded with the standard tables, for which libjpeg keeps a few rows. Rows have no alpha, as
 * image/writer.c has blended them with white.
 *
 * Tried and lost: restart markers, between which several threads could encode. Files become 1 to 3% larger,
 * and no other program decodes them in parallel.
 *
 * Here is also the estimate of the quality of files that are read, and the format's struct. */
#include "image/jpeg/jpeg.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    QUALITY_DEFAULT = 90,
    /* Bytes of coefficients: 89 megapixels of 4:2:0. 200 megapixels took 3.2 s with coefficients in memory
       and 0.8 s without, as the system clears fresh memory. */
    COEFFICIENTS_MAX = 256 << 20
};

/* ---------------------------------------------------------------- quality and subsampling */

/* Returns the sum of the standard quantisation table for luma (0) or chroma (1), scaled to the quality and
 * clipped as jpeg_set_quality does for baseline files. */
static long table_sum(int quality, int component)
{
    static const unsigned char tables[2][DCTSIZE2] = {
        {16, 11,  10,  16, 24, 40, 51, 61, 12,  12,  14,  19,  26, 58, 60, 55,  14,  13,  16,  24, 40, 57,
         69, 56,  14,  17, 22, 29, 51, 87, 80,  62,  18,  22,  37, 56, 68, 109, 103, 77,  24,  35, 55, 64,
         81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98,  112, 100, 103, 99},
        {17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99,
         99, 99, 47, 66, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
         99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99}};
    const unsigned char *base = tables[component];
    const long scale = jpeg_quality_scaling(quality);
    long sum = 0;
    for (int i = 0; i < DCTSIZE2; i++) {
        const long value = (base[i] * scale + 50) / 100;
        sum += value < 1 ? 1 : value > 255 ? 255 : value;
    }
    return sum;
}

int jpeg_quality_estimate(const struct jpeg_decompress_struct *in, int component, int preferred)
{
    /* The number of the table comes from the file, and libjpeg checks it only when it decodes. */
    const int number = in->comp_info[component].quant_tbl_no;
    const JQUANT_TBL *table = number >= 0 && number < NUM_QUANT_TBLS ? in->quant_tbl_ptrs[number] : NULL;
    int best = preferred;
    long sum = 0, least = LONG_MAX;
    if (table == NULL)
        return 0;
    for (int i = 0; i < DCTSIZE2; i++)
        sum += table->quantval[i];
    if (preferred > 0)
        least = labs(table_sum(preferred, component) - sum);
    for (int quality = 1; quality <= 100; quality++) {
        const long difference = labs(table_sum(quality, component) - sum);
        if (difference < least || (difference == least && preferred == 0)) {
            best = quality;
            least = difference;
        }
    }
    return best;
}

enum subsampling jpeg_subsampling_of(const struct jpeg_decompress_struct *in)
{
    const jpeg_component_info *y = &in->comp_info[0], *cb = &in->comp_info[1], *cr = &in->comp_info[2];
    if (in->num_components != 3 || cb->h_samp_factor != cr->h_samp_factor ||
        cb->v_samp_factor != cr->v_samp_factor)
        return SUBSAMPLING_UNKNOWN;
    const bool half_width = y->h_samp_factor == 2 * cb->h_samp_factor;
    const bool half_height = y->v_samp_factor == 2 * cb->v_samp_factor;
    if (y->h_samp_factor == cb->h_samp_factor && y->v_samp_factor == cb->v_samp_factor)
        return SUBSAMPLING_444;
    if (half_width && half_height)
        return SUBSAMPLING_420;
    return half_width && y->v_samp_factor == cb->v_samp_factor ? SUBSAMPLING_422 : SUBSAMPLING_UNKNOWN;
}

/* Returns the requested quality, or else the input's, or else the default. 0: not requested, unknown. */
static int choose_quality(int requested, int input)
{
    return requested > 0 ? requested : input > 0 ? input : QUALITY_DEFAULT;
}

/* ---------------------------------------------------------------- the writer */

struct jpeg_writer {
    struct writer base; /* must be first */
    struct jpeg_session session;

    /* Parameters of the picture. */
    struct coding {
        int channels;                 /* without alpha: 1 or 3 */
        int quality, colour_quality;  /* of the tables for luma and chroma, 1 to 100 */
        enum subsampling subsampling; /* SUBSAMPLING_444, _422 or _420 */
        uint64_t coefficient_bytes;
        bool is_optimised; /* keeps all coefficients and optimises the Huffman tables */
    } coding;

    /* libjpeg's arrays of coefficients, for which encode_start asks for huge pages. */
    jvirt_barray_ptr arrays[MAX_COMPONENTS];
    size_t array_sizes[MAX_COMPONENTS]; /* bytes */
    int array_count;
    /* libjpeg's request_virt_barray, which request_array replaces. */
    jvirt_barray_ptr (*request)(j_common_ptr, int, boolean, JDIMENSION, JDIMENSION, JDIMENSION);

    /* Arguments of the step that encodes rows. */
    const unsigned char *rows;
    size_t pitch;   /* bytes from row to row */
    uint32_t count; /* rows */

    struct blob exif; /* owned */
};

/* Returns the parameters of a picture. Needs no writer, as the planner asks before one is open. */
static struct coding choose_coding(const struct writer_options *options, const struct image_info *info)
{
    const int quality = choose_quality(options->quality, info->quality);
    struct coding coding = {
        .channels = info->channels - info->alpha,
        .quality = quality,
        .colour_quality = choose_quality(options->quality, info->colour_quality),
    };

    /* Requested, or the input's, or the default of libvips and ImageMagick. */
    if (options->subsampling > SUBSAMPLING_AUTO)
        coding.subsampling = (enum subsampling)options->subsampling;
    else if (info->subsampling > SUBSAMPLING_AUTO)
        coding.subsampling = info->subsampling;
    else
        coding.subsampling = quality < QUALITY_DEFAULT ? SUBSAMPLING_420 : SUBSAMPLING_444;

    /* Bytes of the coefficients. */
    const uint64_t luma = (uint64_t)(info->width + DCTSIZE) * (info->height + DCTSIZE) * sizeof(JCOEF);
    const uint64_t chroma = coding.channels == 1                    ? 0
                            : coding.subsampling == SUBSAMPLING_444 ? 2 * luma
                            : coding.subsampling == SUBSAMPLING_422 ? luma
                                                                    : luma / 2;
    coding.coefficient_bytes = luma + chroma;
    const uint64_t limit =
        options->memory > 0 && options->memory < COEFFICIENTS_MAX ? options->memory : COEFFICIENTS_MAX;
    /* A progressive file needs all coefficients, also beyond the limit. */
    coding.is_optimised = coding.coefficient_bytes <= limit || options->progressive;
    return coding;
}

static uint64_t jpeg_memory(const struct writer_options *options, const struct image_info *info)
{
    const struct coding coding = choose_coding(options, info);
    return coding.is_optimised ? coding.coefficient_bytes : 0;
}

/* Replaces libjpeg's request_virt_barray: calls it, and remembers the array and its size. */
static jvirt_barray_ptr request_array(j_common_ptr jpeg, int pool, boolean zeroed, JDIMENSION width,
                                      JDIMENSION height, JDIMENSION rows_at_once)
{
    struct jpeg_session *session = jpeg->client_data;
    struct jpeg_writer *writer =
        (struct jpeg_writer *)((char *)session - offsetof(struct jpeg_writer, session));
    jvirt_barray_ptr array = writer->request(jpeg, pool, zeroed, width, height, rows_at_once);
    if (writer->array_count < MAX_COMPONENTS) {
        writer->array_sizes[writer->array_count] = sizeof(JBLOCK) * width * height;
        writer->arrays[writer->array_count++] = array;
    }
    return array;
}

/* Step of jpeg_session_run: sets libjpeg's parameters, and writes the metadata. */
static enum status encode_start(void *context, struct error *error)
{
    struct jpeg_writer *writer = context;
    const struct coding *coding = &writer->coding;
    struct jpeg_compress_struct *out = &writer->session.jpeg.out;
    (void)error;
    out->image_width = writer->base.info.width;
    out->image_height = writer->base.info.height;
    out->input_components = coding->channels;
    out->in_color_space = coding->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(out);
    /* jpeg_set_quality sets both tables: keep table 1 (chroma) of the first call, table 0 of the second. */
    jpeg_set_quality(out, coding->colour_quality, TRUE);
    const JQUANT_TBL chroma = *out->quant_tbl_ptrs[1];
    jpeg_set_quality(out, coding->quality, TRUE);
    memcpy(out->quant_tbl_ptrs[1]->quantval, chroma.quantval, sizeof chroma.quantval);
    if (coding->channels == 3) {
        out->comp_info[0].h_samp_factor = coding->subsampling != SUBSAMPLING_444 ? 2 : 1;
        out->comp_info[0].v_samp_factor = coding->subsampling == SUBSAMPLING_420 ? 2 : 1;
    }
    jpeg_set_density(out, &writer->base.info.metadata);
    out->optimize_coding = coding->is_optimised;
    if (writer->base.options.progressive)
        jpeg_simple_progression(out);
    writer->request = out->mem->request_virt_barray;
    out->mem->request_virt_barray = request_array;
    jpeg_start_compress(out, TRUE);
    jpeg_metadata_write(out, &writer->base.info, &writer->exif);
    /* Ask for huge pages in the arrays of coefficients, before they are written: clearing small pages took a
     * third of the time of encoding. libjpeg allocates the rows of an array together, up to 1 GB; beyond, the
     * advice has no effect. */
    enum { PAGE = 4096 }; /* madvise needs an address that is a multiple of it */
    j_common_ptr jpeg = &writer->session.jpeg.common;
    for (int i = 0; i < writer->array_count; i++) {
        char *first = (char *)jpeg->mem->access_virt_barray(jpeg, writer->arrays[i], 0, 1, TRUE)[0];
        const size_t before = -(uintptr_t)first % PAGE;
        if (writer->array_sizes[i] > before)
            madvise(first + before, writer->array_sizes[i] - before, MADV_HUGEPAGE);
    }
    return STATUS_OK;
}

/* Step of jpeg_session_run: encodes writer->count rows. */
static enum status encode_rows(void *context, struct error *error)
{
    struct jpeg_writer *writer = context;
    (void)error;
    for (uint32_t i = 0; i < writer->count; i++) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(writer->rows + i * writer->pitch); /* drops const */
        jpeg_write_scanlines(&writer->session.jpeg.out, &row, 1);
    }
    return STATUS_OK;
}

/* Step of jpeg_session_run: ends the file after the last row. If the Huffman tables are optimised, this
 * encodes the picture. */
static enum status encode_finish(void *context, struct error *error)
{
    struct jpeg_writer *writer = context;
    (void)error;
    jpeg_finish_compress(&writer->session.jpeg.out);
    return STATUS_OK;
}

static enum status jpeg_begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    struct jpeg_writer *writer = (struct jpeg_writer *)base;
    if (info->width > JPEG_MAX_DIMENSION || info->height > JPEG_MAX_DIMENSION)
        return fail(error, STATUS_FAILED, "JPEG holds at most %ld pixels along an axis; write PNG or TIFF",
                    (long)JPEG_MAX_DIMENSION);
    writer->coding = choose_coding(&base->options, info);
    enum status status = jpeg_make_exif(&info->metadata, &writer->exif, error);
    if (status == STATUS_OK)
        status = jpeg_session_open_write(&writer->session, base->output.file, error);
    return status == STATUS_OK ? jpeg_session_run(&writer->session, encode_start, writer, error) : status;
}

static enum status jpeg_write(struct writer *base, const void *rows, size_t pitch, uint32_t count,
                              struct error *error)
{
    struct jpeg_writer *writer = (struct jpeg_writer *)base;
    writer->rows = rows;
    writer->pitch = pitch;
    writer->count = count;
    return jpeg_session_run(&writer->session, encode_rows, writer, error);
}

static enum status jpeg_end_page(struct writer *base, struct error *error)
{
    struct jpeg_writer *writer = (struct jpeg_writer *)base;
    return jpeg_session_run(&writer->session, encode_finish, writer, error);
}

static void jpeg_close_writer(struct writer *base)
{
    struct jpeg_writer *writer = (struct jpeg_writer *)base;
    jpeg_session_close(&writer->session);
    free(writer->exif.data);
}

static const struct writer_class jpeg_writer_class = {
    .memory = jpeg_memory,
    .size = sizeof(struct jpeg_writer),
    .begin_page = jpeg_begin_page,
    .write = jpeg_write,
    .end_page = jpeg_end_page,
    .close = jpeg_close_writer,
};

/* ---------------------------------------------------------------- the format */

static bool jpeg_recognise(const unsigned char *head, size_t size)
{
    return size >= 3 && memcmp(head, "\xff\xd8\xff", 3) == 0;
}

/* Reads up to the end marker (EOI) of a picture; skips segments by their length. In the data of a scan, 0xff
 * is followed by 0 or the number of a restart marker. False if the file ends before. */
static bool find_end_marker(FILE *file)
{
    enum { TEM = 0x01, RST0 = 0xd0, SOI = 0xd8 };
    int byte, marker = 0;
    while (marker != JPEG_EOI && (byte = getc_unlocked(file)) != EOF) {
        if (byte != 0xff)
            continue;
        do
            marker = getc_unlocked(file);
        while (marker == 0xff); /* fill bytes */
        if (marker <= TEM || (marker >= RST0 && marker <= SOI) || marker == JPEG_EOI)
            continue;
        const int high = getc_unlocked(file), length = high << 8 | getc_unlocked(file);
        if (length < 2 || fseeko(file, length - 2, SEEK_CUR) != 0)
            return false;
    }
    return marker == JPEG_EOI;
}

/* Warns of bytes after the picture and after further pictures that follow it, except zeros, with which
 * cameras pad. Each round skips a picture, and then looks for the start of another one. */
static enum status jpeg_examine(FILE *file, struct metadata *trailing, struct error *error)
{
    enum { START = 0xffd8ff }; /* of a picture */
    uint64_t surplus = 0;   /* number of bytes after the last end marker, up to the last one that is not 0 */
    uint32_t first = START; /* after an end marker: the first three bytes, without leading zeros */
    (void)error;
    while (first == START && find_end_marker(file)) {
        int byte;
        first = 0;
        surplus = 0;
        for (uint64_t at = 1; first != START && (byte = getc_unlocked(file)) != EOF; at++) {
            surplus = byte != 0 ? at : surplus;
            first = first <= UINT16_MAX ? first << 8 | (uint32_t)byte : first;
        }
        ungetc(first & 0xff, file); /* START ends with the first byte of a marker */
    }
    format_warn_surplus(trailing, surplus);
    return STATUS_OK;
}

const struct format format_jpeg = {
    .lossy = true,
    .name = "JPEG",
    .extensions = (const char *const[]){"jpg", "jpeg", "jpe", "jfif", NULL},
    .coding = CODING_QUALITY | CODING_SUBSAMPLING | CODING_PROGRESSIVE,
    .holds =
        {.types = 1u << SAMPLE_UINT8, .channels = CHANNELS_ALL, .opaque = true, .texts = true, .iptc = true},
    .recognise = jpeg_recognise,
    .examine = jpeg_examine,
    .holds_text = jpeg_holds_text,
    .holds_icc = jpeg_holds_icc,
    .note_left_out = jpeg_note_left_out,
    .transform = jpeg_transform,
    .reader = &jpeg_reader_class,
    .writer = &jpeg_writer_class,
};
