/* Rotates or mirrors a JPEG, or changes only its metadata, without coding it again: blocks are rotated and
 * moved. That is not possible if an incomplete MCU at the right or bottom edge would become the first one, or
 * if pixels are cut off or added. */
#include "image/jpeg/jpeg.h"

#include <errno.h>
#include <string.h>

enum {
    MEMORY_MAX = 1 << 30, /* bytes of coefficients, if no limit is given */
};

/* Map from the output to the input: rows become columns; the first column or row is the last one. */
struct turn {
    bool on_side, right, bottom;
};

struct turning {
    struct jpeg_session in, out;
    struct turn turn;
    uint32_t width, height; /* of the output */
    uint64_t memory;        /* bytes that it may take; 0: MEMORY_MAX */
    bool is_progressive;    /* the output */
    struct lossless_move *move;
    jvirt_barray_ptr *from; /* NULL: the picture is not one of those */
    jvirt_barray_ptr to[MAX_COMPONENTS];
};

/* Explains in move->obstacle why blocks cannot be moved; leaves it empty if they can. */
static void find_obstacle(const struct jpeg_decompress_struct *in, const struct turning *turning,
                          struct lossless_move *move)
{
    const struct turn turn = turning->turn;
    const uint32_t across = (uint32_t)in->max_h_samp_factor * DCTSIZE,
                   down = (uint32_t)in->max_v_samp_factor * DCTSIZE;
    const uint64_t most = turning->memory > 0 ? turning->memory : MEMORY_MAX; /* of coefficients, twice */
    const uint64_t samples = (uint64_t)in->image_width * in->image_height * (uint64_t)in->num_components;
    const size_t size = sizeof move->obstacle;
    if (in->image_width != (turn.on_side ? turning->height : turning->width) ||
        in->image_height != (turn.on_side ? turning->width : turning->height))
        snprintf(move->obstacle, size, "pixels are cut off or added");
    else if (turn.right && in->image_width % across != 0)
        snprintf(move->obstacle, size, "its width, %u, is no multiple of %u pixels", in->image_width, across);
    else if (turn.bottom && in->image_height % down != 0)
        snprintf(move->obstacle, size, "its height, %u, is no multiple of %u pixels", in->image_height, down);
    else if (in->jpeg_color_space != JCS_GRAYSCALE && in->jpeg_color_space != JCS_YCbCr &&
             in->jpeg_color_space != JCS_RGB)
        snprintf(move->obstacle, size, "its colours are neither gray, YCbCr nor RGB");
    else if (2 * sizeof(JCOEF) * samples > most)
        snprintf(move->obstacle, size, "moving its blocks would take more than %llu MiB of memory",
                 (unsigned long long)(most >> 20));
}

static enum status read_blocks(void *context, struct error *error)
{
    struct turning *turning = context;
    jpeg_read_header(&turning->in.jpeg.in, TRUE);
    find_obstacle(&turning->in.jpeg.in, turning, turning->move);
    if (turning->move->obstacle[0] != '\0')
        return STATUS_OK;
    turning->from = jpeg_read_coefficients(&turning->in.jpeg.in);
    turning->in.complete = turning->in.complete || jpeg_session_has_all_scans(&turning->in);
    return jpeg_session_check_end(&turning->in, error);
}

/* Exchanges horizontal and vertical frequencies. */
static void turn_table(JQUANT_TBL *table)
{
    const JQUANT_TBL before = *table;
    for (int i = 0; i < DCTSIZE2; i++)
        table->quantval[i] = before.quantval[i % DCTSIZE * DCTSIZE + i / DCTSIZE];
}

static void transpose(struct jpeg_compress_struct *out)
{
    const JDIMENSION width = out->image_width;
    out->image_width = out->image_height;
    out->image_height = width;
    for (int i = 0; i < out->num_components; i++) {
        const int across = out->comp_info[i].h_samp_factor;
        out->comp_info[i].h_samp_factor = out->comp_info[i].v_samp_factor;
        out->comp_info[i].v_samp_factor = across;
    }
    for (int i = 0; i < NUM_QUANT_TBLS; i++)
        if (out->quant_tbl_ptrs[i] != NULL)
            turn_table(out->quant_tbl_ptrs[i]);
}

/* Moves the coefficients of a block. Mirroring changes the signs of odd frequencies, as their cosines are odd
 * functions about the middle. */
static void turn_block(const JCOEF *from, JCOEF *to, struct turn turn)
{
    for (int v = 0; v < DCTSIZE; v++)
        for (int u = 0; u < DCTSIZE; u++) {
            const int across = turn.on_side ? v : u, down = turn.on_side ? u : v;
            const bool negative = ((turn.right && across % 2 != 0) != (turn.bottom && down % 2 != 0));
            const JCOEF value = from[down * DCTSIZE + across];
            to[v * DCTSIZE + u] = (JCOEF)(negative ? -value : value);
        }
}

static JBLOCKROW find_row(j_common_ptr jpeg, jvirt_barray_ptr blocks, JDIMENSION row, boolean written)
{
    return (*jpeg->mem->access_virt_barray)(jpeg, blocks, row, 1, written)[0];
}

static void turn_component(struct turning *turning, int component)
{
    const struct turn turn = turning->turn;
    const jpeg_component_info *before = &turning->in.jpeg.in.comp_info[component];
    const JDIMENSION width = before->width_in_blocks, height = before->height_in_blocks;
    const JDIMENSION columns = turn.on_side ? height : width, rows = turn.on_side ? width : height;
    for (JDIMENSION y = 0; y < rows; y++) {
        JBLOCKROW to = find_row(&turning->out.jpeg.common, turning->to[component], y, TRUE);
        for (JDIMENSION x = 0; x < columns; x++) {
            const JDIMENSION across = turn.on_side ? y : x, down = turn.on_side ? x : y;
            JBLOCKROW from = find_row(&turning->in.jpeg.common, turning->from[component],
                                      turn.bottom ? height - 1 - down : down, FALSE);
            turn_block(from[turn.right ? width - 1 - across : across], to[x], turn);
        }
    }
}

/* Room for a component, in whole units. */
static jvirt_barray_ptr request(struct turning *turning, int component)
{
    struct jpeg_compress_struct *out = &turning->out.jpeg.out;
    const jpeg_component_info *before = &turning->in.jpeg.in.comp_info[component],
                              *after = &out->comp_info[component];
    const JDIMENSION across = (JDIMENSION)after->h_samp_factor, down = (JDIMENSION)after->v_samp_factor;
    const JDIMENSION width = turning->turn.on_side ? before->height_in_blocks : before->width_in_blocks;
    const JDIMENSION height = turning->turn.on_side ? before->width_in_blocks : before->height_in_blocks;
    return (*out->mem->request_virt_barray)((j_common_ptr)out, JPOOL_IMAGE, TRUE,
                                            (width - 1) / across * across + across,
                                            (height - 1) / down * down + down, down);
}

static enum status write_blocks(void *context, struct error *error)
{
    (void)error;
    struct turning *turning = context;
    struct jpeg_compress_struct *out = &turning->out.jpeg.out;
    jpeg_copy_critical_parameters(&turning->in.jpeg.in, out);
    if (turning->turn.on_side)
        transpose(out);
#if JPEG_LIB_VERSION >= 70 /* sizes of a scaled picture; version 80 reads these, version 70 leaves them 0 */
    out->jpeg_width = out->image_width;
    out->jpeg_height = out->image_height;
#endif
    out->write_JFIF_header = FALSE;
    out->optimize_coding = TRUE;
    if (turning->is_progressive)
        jpeg_simple_progression(out);
    for (int i = 0; i < out->num_components; i++)
        turning->to[i] = request(turning, i);
    jpeg_write_coefficients(out, turning->to);
    for (int i = 0; i < out->num_components; i++)
        turn_component(turning, i);
    jpeg_finish_compress(out);
    return STATUS_OK;
}

static enum status write_turned(struct turning *turning, struct writer *writer, const struct image_info *info,
                                struct error *error)
{
    FILE *file = writer->output.file;
    turning->is_progressive = writer->options.progressive;
    enum status status =
        jpeg_metadata_write(file, info, turning->in.jpeg.in.jpeg_color_space != JCS_RGB, error);
    if (status == STATUS_OK)
        status = jpeg_session_open_write(&turning->out, file, error);
    return status == STATUS_OK ? jpeg_session_run(&turning->out, write_blocks, turning, error) : status;
}

/* The reader has read the header, and continues after it if nothing is done. */
enum status jpeg_turn(struct reader *reader, struct writer *writer, const struct affine *places,
                      const struct image_info *info, struct lossless_move *move, struct error *error)
{
    struct turning turning = {.turn = {.on_side = affine_is_on_side(places),
                                       .right = places->xx + places->xy < 0,
                                       .bottom = places->yx + places->yy < 0},
                              .width = info->width,
                              .height = info->height,
                              .memory = reader->options.memory,
                              .move = move};
    const off_t here = ftello(reader->file);
    if (here < 0 || fseeko(reader->file, 0, SEEK_SET) != 0) {
        snprintf(move->obstacle, sizeof move->obstacle, "it comes from a pipe");
        return STATUS_OK;
    }
    enum status status = jpeg_session_open_read(&turning.in, NULL, 0, reader->file, error);
    if (status == STATUS_OK)
        status = jpeg_session_run(&turning.in, read_blocks, &turning, error);
    if (status != STATUS_OK && !error->memory) { /* decoding finds it, if pixels are damaged */
        snprintf(move->obstacle, sizeof move->obstacle, "its blocks are damaged");
        status = STATUS_OK;
        turning.from = NULL;
    }
    if (status != STATUS_OK)
        error_name(error, reader->name);
    move->done = status == STATUS_OK && turning.from != NULL;
    if (move->done)
        jpeg_session_warn_of_end(&turning.in, &reader->trailing);
    if (move->done)
        status = write_turned(&turning, writer, info, error);
    else if (status == STATUS_OK && fseeko(reader->file, here, SEEK_SET) != 0)
        status = fail(error, STATUS_FAILED, "cannot read: %s", strerror(errno));
    jpeg_session_close(&turning.in);
    jpeg_session_close(&turning.out);
    return status;
}
