#include "image/jpeg/jpeg.h"

#include "base/threads.h"

#include <stdlib.h>
#include <string.h>

enum {
    PART_SIZE = 256 << 10, /* bytes of samples, at least */
    PART_UNITS = 16,       /* rows of units, at least: two more may be decoded and not used */
    SLOTS_BESIDE_JOBS = 2, /* one that rows are taken from, one that is filled */
    HEADER_SIZE = 64,      /* of a part, without tables */
};

/* How the picture is divided. A band is one or more rows of units and ends with a restart marker. */
struct division {
    uint32_t height;         /* rows of pixels */
    uint32_t band_rows;      /* rows of pixels */
    uint32_t band_intervals; /* 1 if a band has several rows of units */
    uint32_t bands, part_bands, parts;
    uint32_t context; /* bands that a part has before and behind its own */
    size_t row_size;
};

/* A slot of `ordered`. */
struct piece {
    const struct jpeg_decoder *decoder; /* NULL: not opened */
    struct jpeg_session session;
    bool has_tables;
    unsigned char *data; /* a JPEG without tables */
    size_t size, room;
    size_t *starts; /* of its intervals, and where one more would begin */
    uint32_t first_interval, intervals;
    uint32_t above; /* rows of pixels before the part's own */
    uint32_t first_row, count;
    uint32_t whole; /* rows that were decoded */
    unsigned char *rows;
    enum status status;
    struct error error;
};

struct jpeg_decoder {
    struct jpeg_session *session; /* of the file */
    struct division division;
    struct ordered pool;
    struct piece *current; /* that rows are taken from; NULL: the oldest */
    uint32_t taken;        /* rows of it */
    uint32_t intervals;    /* that were read of the file */
    int marker;            /* behind the last of them; 0: more are to come */
    enum status status;    /* of the file */
    struct error error;
    uint32_t whole;
};

static bool divide(const struct jpeg_decompress_struct *in, struct division *division)
{
    const uint32_t unit_rows = (uint32_t)in->max_v_samp_factor * DCTSIZE, interval = in->restart_interval;
    const uint32_t across = in->comps_in_scan == 1
                                ? in->cur_comp_info[0]->width_in_blocks
                                : (in->image_width - 1) / ((uint32_t)in->max_h_samp_factor * DCTSIZE) + 1;
    if (interval == 0 || (interval % across != 0 && across % interval != 0))
        return false;
    const uint32_t units = interval % across == 0 ? interval / across : 1;
    *division = (struct division){.height = in->image_height,
                                  .band_rows = unit_rows * units,
                                  .band_intervals = interval % across == 0 ? 1 : across / interval,
                                  .row_size = (size_t)in->image_width * (in->num_components == 1 ? 1 : 3)};
    for (int i = 0; i < in->num_components; i++)
        if (in->comp_info[i].v_samp_factor != in->max_v_samp_factor)
            division->context = 1;
    const size_t size = division->row_size * division->band_rows;
    const uint32_t least = (PART_UNITS - 1) / units + 1, wanted = (uint32_t)((PART_SIZE - 1) / size + 1);
    division->part_bands = wanted > least ? wanted : least;
    division->bands = (division->height - 1) / division->band_rows + 1;
    division->parts = (division->bands - 1) / division->part_bands + 1;
    return units <= JPEG_MAX_DIMENSION / unit_rows;
}

/* libjpeg ignores the sampling factors of a single component: a picture that has them is decoded whole. */
bool jpeg_decoder_fits(const struct jpeg_decompress_struct *in)
{
    struct division division;
    return !in->progressive_mode && !in->arith_code && in->comps_in_scan == in->num_components &&
           (in->num_components == 1 ? in->max_v_samp_factor == 1 && in->max_h_samp_factor == 1
                                    : in->num_components == 3) &&
           divide(in, &division) && division.parts > 1;
}

/* Decoded samples, and as much for encoded ones. Only pictures of noise need more. */
static size_t part_memory(const struct division *division)
{
    return 2 * division->row_size * division->band_rows * (division->part_bands + 2 * division->context);
}

static size_t choose_slots(const struct division *division, int jobs, uint64_t most)
{
    const uint64_t wanted = (uint64_t)jobs + SLOTS_BESIDE_JOBS;
    const uint64_t affordable = most == 0 ? wanted : most / part_memory(division);
    uint64_t count = wanted < affordable ? wanted : affordable;
    count = count < division->parts ? count : division->parts;
    return count < 2 ? 2 : (size_t)count; /* a part begins with the end of the one before */
}

uint64_t jpeg_decoder_memory(const struct jpeg_decompress_struct *in, int jobs, uint64_t most)
{
    struct division division;
    return divide(in, &division) ? choose_slots(&division, jobs, most) * part_memory(&division) : 0;
}

/* The file's bytes, on their way into parts. */

static enum status put(struct piece *part, const void *bytes, size_t size, struct error *error)
{
    const struct division *division = &part->decoder->division;
    /* A coefficient takes at most 4 bytes, 8 if each needs a byte of stuffing. */
    const size_t most = HEADER_SIZE + 16 * part_memory(division);
    if (size > most - part->size)
        return fail(error, STATUS_FAILED, "damaged JPEG: more data than its pixels can have");
    if (size > part->room - part->size) {
        const size_t room = 2 * part->room > part->size + size ? 2 * part->room : part->size + size;
        unsigned char *data = realloc(part->data, room);
        if (data == NULL)
            return fail_memory(error, "out of memory for JPEG");
        part->data = data;
        part->room = room;
    }
    memcpy(part->data + part->size, bytes, size);
    part->size += size;
    return STATUS_OK;
}

static enum status put_marker(struct piece *part, int marker, struct error *error)
{
    const unsigned char bytes[] = {0xff, (unsigned char)marker};
    return put(part, bytes, sizeof bytes, error);
}

static unsigned char *put_half(unsigned char *to, unsigned value)
{
    *to++ = (unsigned char)(value >> 8);
    *to++ = (unsigned char)value;
    return to;
}

/* The header of a picture of that height: frame, restart interval, scan (T.81, B.2.2, B.2.3, B.2.4.4). */
static size_t make_header(const struct jpeg_decompress_struct *in, uint32_t height, unsigned char *header)
{
    const int count = in->num_components;
    unsigned char *to = put_half(header, 0xff << 8 | MARKER_SOI);
    to = put_half(put_half(to, 0xff << 8 | MARKER_SOF1), (unsigned)(8 + 3 * count));
    *to++ = 8;
    to = put_half(put_half(to, height), in->image_width);
    *to++ = (unsigned char)count;
    for (int i = 0; i < count; i++) {
        const jpeg_component_info *part = &in->comp_info[i];
        *to++ = (unsigned char)part->component_id;
        *to++ = (unsigned char)(part->h_samp_factor << 4 | part->v_samp_factor);
        *to++ = (unsigned char)part->quant_tbl_no;
    }
    to = put_half(put_half(put_half(to, 0xff << 8 | MARKER_DRI), 4), in->restart_interval);
    to = put_half(put_half(to, 0xff << 8 | MARKER_SOS), (unsigned)(6 + 2 * count));
    *to++ = (unsigned char)count;
    for (int i = 0; i < count; i++) {
        const jpeg_component_info *part = in->cur_comp_info[i];
        *to++ = (unsigned char)part->component_id;
        *to++ = (unsigned char)(part->dc_tbl_no << 4 | part->ac_tbl_no);
    }
    *to++ = 0;
    *to++ = DCTSIZE2 - 1;
    *to++ = 0;
    return (size_t)(to - header);
}

/* Copies an interval that the part before needs, too. */
static enum status copy_interval(struct piece *part, const struct piece *from, uint32_t interval,
                                 struct error *error)
{
    enum { MARKER_SIZE = 2 };
    const size_t *starts = from->starts + (interval - from->first_interval);
    return put(part, from->data + starts[0], starts[1] - starts[0] - MARKER_SIZE, error);
}

/* Reads the next interval of the file, and the marker behind it. */
static enum status read_interval(struct jpeg_decoder *decoder, struct piece *part, struct error *error)
{
    struct jpeg_session *session = decoder->session;
    enum status status = STATUS_OK;
    int marker = 0;
    while (status == STATUS_OK && marker == 0) {
        size_t size;
        const unsigned char *bytes = jpeg_session_bytes(session, &size);
        const unsigned char *end = memchr(bytes, 0xff, size);
        const size_t plain = end == NULL ? size : (size_t)(end - bytes);
        status = put(part, bytes, plain, error);
        jpeg_session_pass(session, plain + (end != NULL));
        if (end == NULL)
            continue;
        do
            marker = jpeg_session_byte(session);
        while (marker == 0xff);
        if (marker == 0 && status == STATUS_OK)
            status = put_marker(part, 0, error); /* a byte of 0xff */
    }
    const bool ends = marker != MARKER_RST0 + (int)(decoder->intervals % RESTARTS);
    decoder->intervals++;
    decoder->marker = ends ? marker : 0;
    return status;
}

/* If the file ends early, or its markers are out of order, the part ends there and fails to decode. */
struct filling {
    struct jpeg_decoder *decoder;
    struct piece *part;
    const struct piece *before;
};

static enum status fill(void *context, struct error *error)
{
    const struct filling *filling = context;
    struct jpeg_decoder *decoder = filling->decoder;
    struct piece *part = filling->part;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < part->intervals; i++) {
        part->starts[i] = part->size;
        if (part->first_interval + i < decoder->intervals)
            status = copy_interval(part, filling->before, part->first_interval + i, error);
        else if (decoder->marker != 0)
            return jpeg_session_check_end(decoder->session, error);
        else
            status = read_interval(decoder, part, error);
        if (status == STATUS_OK)
            status = put_marker(part, MARKER_RST0 + (int)(i % RESTARTS), error);
    }
    part->starts[part->intervals] = part->size;
    return status == STATUS_OK ? jpeg_session_check_end(decoder->session, error) : status;
}

static enum status open_part(const struct jpeg_decoder *decoder, struct piece *part, struct error *error)
{
    const struct division *division = &decoder->division;
    const size_t bands = division->part_bands + 2 * division->context;
    part->decoder = decoder;
    part->starts = allocate((bands * division->band_intervals + 1) * sizeof *part->starts, "JPEG", error);
    part->rows = part->starts == NULL
                     ? NULL
                     : allocate(division->row_size * division->band_rows * division->part_bands,
                                "decoded rows", error);
    part->room = division->row_size * division->band_rows;
    part->data = part->rows == NULL ? NULL : allocate(part->room, "JPEG", error);
    return part->data == NULL ? STATUS_FAILED : jpeg_session_open_read(&part->session, NULL, 0, NULL, error);
}

/* Sets the rows and intervals of the part of this number. */
static void place_part(const struct division *division, uint32_t number, struct piece *part)
{
    const uint32_t first = number * division->part_bands, last = first + division->part_bands;
    const uint32_t end = last < division->bands ? last : division->bands;
    const uint32_t from = first > 0 ? first - division->context : 0;
    const uint32_t to = end < division->bands ? end + division->context : end;
    const uint32_t rows_end = end < division->bands ? end * division->band_rows : division->height;
    part->first_row = first * division->band_rows;
    part->above = (first - from) * division->band_rows;
    part->count = rows_end - part->first_row;
    part->first_interval = from * division->band_intervals;
    part->intervals = (to - from) * division->band_intervals;
    part->whole = 0;
    part->size = 0;
}

static enum status begin_part(struct jpeg_decoder *decoder, struct error *error)
{
    const struct division *division = &decoder->division;
    const size_t number = decoder->pool.submitted;
    struct piece *part = ordered_slot(&decoder->pool, number);
    unsigned char header[HEADER_SIZE];
    enum status status = part->decoder == NULL ? open_part(decoder, part, error) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    place_part(division, (uint32_t)number, part);
    const uint32_t from = part->first_row - part->above;
    const uint32_t to = (part->first_interval + part->intervals) / division->band_intervals;
    const uint32_t end = to < division->bands ? to * division->band_rows : division->height;
    status = put(part, header, make_header(&decoder->session->jpeg.in, end - from, header), error);
    if (status != STATUS_OK)
        return status;
    struct filling filling = {decoder, part, number == 0 ? NULL : ordered_slot(&decoder->pool, number - 1)};
    decoder->status = jpeg_session_run(decoder->session, fill, &filling, &decoder->error);
    if (decoder->status != STATUS_OK)
        decoder->marker = MARKER_EOI;
    if (part->size > 0 && part->data[part->size - 2] == 0xff && part->data[part->size - 1] != 0)
        part->size -= 2; /* the restart marker behind the last interval */
    status = put_marker(part, MARKER_EOI, error);
    if (status == STATUS_OK)
        ordered_submit(&decoder->pool, false);
    return status;
}

/* Decoding. */

static void copy_tables(const struct jpeg_decompress_struct *from, struct jpeg_decompress_struct *to)
{
    j_common_ptr common = (j_common_ptr)to;
    for (int i = 0; i < NUM_QUANT_TBLS; i++)
        if (from->quant_tbl_ptrs[i] != NULL) {
            to->quant_tbl_ptrs[i] = jpeg_alloc_quant_table(common);
            *to->quant_tbl_ptrs[i] = *from->quant_tbl_ptrs[i];
        }
    for (int i = 0; i < NUM_HUFF_TBLS; i++) {
        if (from->dc_huff_tbl_ptrs[i] != NULL) {
            to->dc_huff_tbl_ptrs[i] = jpeg_alloc_huff_table(common);
            *to->dc_huff_tbl_ptrs[i] = *from->dc_huff_tbl_ptrs[i];
        }
        if (from->ac_huff_tbl_ptrs[i] != NULL) {
            to->ac_huff_tbl_ptrs[i] = jpeg_alloc_huff_table(common);
            *to->ac_huff_tbl_ptrs[i] = *from->ac_huff_tbl_ptrs[i];
        }
    }
}

static enum status decode(void *context, struct error *error)
{
    (void)error;
    struct piece *part = context;
    const struct jpeg_decompress_struct *file = &part->decoder->session->jpeg.in;
    struct jpeg_decompress_struct *in = &part->session.jpeg.in;
    if (!part->has_tables)
        copy_tables(file, in);
    part->has_tables = true;
    part->session.in_header = false;
    jpeg_session_set_data(&part->session, part->data, part->size);
    jpeg_read_header(in, TRUE);
    in->jpeg_color_space = file->jpeg_color_space;
    in->out_color_space = file->out_color_space;
    jpeg_start_decompress(in);
    for (uint32_t i = 0; i < part->above + part->count; i++) {
        JSAMPROW row =
            part->rows + (i < part->above ? 0 : i - part->above) * part->decoder->division.row_size;
        jpeg_read_scanlines(in, &row, 1);
        part->whole = i < part->above ? 0 : i - part->above + 1;
    }
    if (in->output_scanline == in->output_height)
        jpeg_finish_decompress(in);
    else
        jpeg_abort_decompress(in);
    return STATUS_OK;
}

static void run_part(void *slot)
{
    struct piece *part = slot;
    part->status = jpeg_session_run(&part->session, decode, part, &part->error);
}

static void close_part(void *slot)
{
    struct piece *part = slot;
    if (part->decoder != NULL)
        jpeg_session_close(&part->session);
    free(part->data);
    free(part->starts);
    free(part->rows);
}

struct jpeg_decoder *jpeg_decoder_open(struct jpeg_session *session, int jobs, uint64_t most,
                                       struct error *error)
{
    struct jpeg_decoder *decoder = allocate_zeroed(1, sizeof *decoder, "JPEG", error);
    if (decoder == NULL)
        return NULL;
    decoder->session = session;
    divide(&session->jpeg.in, &decoder->division);
    if (ordered_open(&decoder->pool, jobs, choose_slots(&decoder->division, jobs, most), sizeof(struct piece),
                     run_part, error) == STATUS_OK)
        return decoder;
    jpeg_decoder_close(decoder);
    return NULL;
}

/* Reports why there are no more rows behind the part (or NULL). The end of the file is a better reason than
 * the place where decoding stopped. */
static enum status tell_failure(const struct jpeg_decoder *decoder, const struct piece *part,
                                struct error *error)
{
    if (decoder->status != STATUS_OK)
        *error = decoder->error;
    else if (part != NULL && part->status != STATUS_OK)
        *error = part->error;
    else
        fail(error, STATUS_FAILED,
             "damaged JPEG: its restart markers are not those that its header tells of");
    return STATUS_FAILED;
}

static enum status take_part(struct jpeg_decoder *decoder, struct error *error)
{
    struct piece *part = ordered_oldest(&decoder->pool);
    decoder->current = part;
    decoder->taken = 0;
    if (part == NULL)
        return tell_failure(decoder, part, error);
    decoder->whole = part->first_row + part->whole;
    const bool last = decoder->whole == decoder->division.height;
    /* Some encoders write a restart marker or comments behind the last row. */
    const bool ends = decoder->status == STATUS_OK && decoder->marker != MARKER_SOS;
    return part->status == STATUS_OK && (!last || ends) ? STATUS_OK : tell_failure(decoder, part, error);
}

/* Whether the file ends before its last row. */
static bool is_broken(const struct jpeg_decoder *decoder)
{
    const struct division *division = &decoder->division;
    return decoder->marker != 0 && decoder->intervals < division->bands * division->band_intervals;
}

/* When all rows of the current part are taken, its slot can be filled again. */
static enum status next_part(struct jpeg_decoder *decoder, struct error *error)
{
    enum status status = STATUS_OK;
    if (decoder->current != NULL)
        ordered_take(&decoder->pool);
    decoder->current = NULL;
    while (status == STATUS_OK && decoder->pool.submitted < decoder->division.parts &&
           !ordered_is_full(&decoder->pool) && !is_broken(decoder))
        status = begin_part(decoder, error);
    return status == STATUS_OK ? take_part(decoder, error) : status;
}

enum status jpeg_decoder_read(struct jpeg_decoder *decoder, void *rows, size_t pitch, uint32_t count,
                              struct error *error)
{
    const size_t size = decoder->division.row_size;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < count; i++) {
        if (decoder->current == NULL || decoder->taken == decoder->current->count)
            status = next_part(decoder, error);
        if (status != STATUS_OK)
            return status;
        memcpy((unsigned char *)rows + i * pitch, decoder->current->rows + decoder->taken++ * size, size);
    }
    return status;
}

uint32_t jpeg_decoder_whole(const struct jpeg_decoder *decoder)
{
    return decoder->whole;
}

void jpeg_decoder_close(struct jpeg_decoder *decoder)
{
    if (decoder == NULL)
        return;
    ordered_close(&decoder->pool, close_part);
    free(decoder);
}
