/* Rotates by quarter turns or mirrors a JPEG, or changes only its metadata, without decoding pixels:
 *
 *     input ─▶ Huffman decoding ─▶ blocks of 8x8 coefficients ─▶ moved, and each rotated ─▶ Huffman coding
 *
 * A block is rotated in the frequency domain: transposing its pixels transposes its coefficients, and
 * mirroring them changes the sign of odd frequencies. jpegtran does the same, but its code is no part of the
 * library's interface.
 *
 * This is impossible if an incomplete MCU at the right or bottom edge would become the first one, if pixels
 * are cut off or added, if the coefficients of both pictures need too much memory, or if the input is CMYK,
 * damaged or a pipe. Then the caller decodes the pixels. */
#include "image/jpeg/jpeg.h"

#include <stdlib.h>

enum {
    MEMORY_MAX = 1 << 30, /* bytes of coefficients, if no limit is given */
};

/* Maps a position of the output to the input: exchanges x and y (transpose), then counts x from the last
 * column (mirror_x), y from the last row (mirror_y). */
struct transform {
    bool transpose, mirror_x, mirror_y;
};

/* Arguments and results of the steps. */
struct transform_job {
    struct jpeg_session in, out;
    struct transform transform;
    uint64_t memory;               /* limit in bytes; 0: MEMORY_MAX */
    bool is_progressive;           /* the output is progressive */
    const struct image_info *info; /* of the output */
    struct blob exif;              /* of the output; owned */
    struct lossless_move *move;    /* the caller's */
    jvirt_barray_ptr *from;        /* blocks of each component; NULL: they cannot be moved. Belong to `in` */
    jvirt_barray_ptr to[MAX_COMPONENTS]; /* blocks of the output; belong to `out` */
};

/* Step of jpeg_session_run: reads all coefficients of the input; or explains in move->obstacle why blocks
 * cannot be moved. */
static enum status read_blocks(void *context, struct error *error)
{
    struct transform_job *job = context;
    jpeg_read_header(&job->in.jpeg.in, TRUE);
    const struct jpeg_decompress_struct *in = &job->in.jpeg.in;
    struct lossless_move *move = job->move;
    const struct transform transform = job->transform;
    /* T.81, A.2.2: an MCU of one component is one block with any sampling factors. */
    const bool is_gray = in->num_components == 1;
    const uint32_t mcu_width = (is_gray ? 1 : (uint32_t)in->max_h_samp_factor) * DCTSIZE,
                   mcu_height = (is_gray ? 1 : (uint32_t)in->max_v_samp_factor) * DCTSIZE;
    const uint64_t memory_limit = job->memory > 0 ? job->memory : MEMORY_MAX;
    const uint64_t samples = (uint64_t)in->image_width * in->image_height * (uint64_t)in->num_components;
    const size_t size = sizeof move->obstacle;
    if (in->image_width != (transform.transpose ? job->info->height : job->info->width) ||
        in->image_height != (transform.transpose ? job->info->width : job->info->height))
        snprintf(move->obstacle, size, "pixels are cut off or added");
    else if (transform.mirror_x && in->image_width % mcu_width != 0)
        snprintf(move->obstacle, size, "its width, %u, is no multiple of %u pixels", in->image_width,
                 mcu_width);
    else if (transform.mirror_y && in->image_height % mcu_height != 0)
        snprintf(move->obstacle, size, "its height, %u, is no multiple of %u pixels", in->image_height,
                 mcu_height);
    else if (in->jpeg_color_space != JCS_GRAYSCALE && in->jpeg_color_space != JCS_YCbCr &&
             in->jpeg_color_space != JCS_RGB)
        snprintf(move->obstacle, size, "its colours are neither gray, YCbCr nor RGB");
    else if (2 * sizeof(JCOEF) * samples > memory_limit) /* input and output, as if without subsampling */
        snprintf(move->obstacle, size, "moving its blocks would take more than %llu MiB of memory",
                 (unsigned long long)(memory_limit >> 20));
    if (job->move->obstacle[0] != '\0')
        return STATUS_OK;
    job->from = jpeg_read_coefficients(&job->in.jpeg.in);
    job->in.has_all_pixels = job->in.has_all_pixels || jpeg_session_has_all_scans(&job->in);
    return jpeg_session_check_end(&job->in, error);
}

/* Exchanges x and y in the output's header: size, sampling factors, quantisation tables. */
static void transpose_header(struct jpeg_compress_struct *out)
{
    const JDIMENSION width = out->image_width;
    out->image_width = out->image_height;
    out->image_height = width;
    for (int i = 0; i < out->num_components; i++) {
        const int h_samp_factor = out->comp_info[i].h_samp_factor;
        out->comp_info[i].h_samp_factor = out->comp_info[i].v_samp_factor;
        out->comp_info[i].v_samp_factor = h_samp_factor;
    }
    for (int i = 0; i < NUM_QUANT_TBLS; i++) {
        if (out->quant_tbl_ptrs[i] == NULL)
            continue;
        const JQUANT_TBL before = *out->quant_tbl_ptrs[i];
        for (int k = 0; k < DCTSIZE2; k++)
            out->quant_tbl_ptrs[i]->quantval[k] = before.quantval[k % DCTSIZE * DCTSIZE + k / DCTSIZE];
    }
}

/* Returns one row of blocks, valid until the next call for the same array. */
static JBLOCKROW block_row(j_common_ptr jpeg, jvirt_barray_ptr blocks, JDIMENSION row, boolean written)
{
    return (*jpeg->mem->access_virt_barray)(jpeg, blocks, row, 1, written)[0];
}

/* Fills in the output's blocks of one component. Transposes and mirrors blocks, and the coefficients in each.
 * Mirroring negates odd frequencies, as their cosines are odd functions about the middle of the block. */
static void transform_component(struct transform_job *job, int component)
{
    const struct transform transform = job->transform;
    const jpeg_component_info *before = &job->in.jpeg.in.comp_info[component];
    const JDIMENSION width = before->width_in_blocks, height = before->height_in_blocks;
    const JDIMENSION columns = transform.transpose ? height : width,
                     rows = transform.transpose ? width : height;
    for (JDIMENSION y = 0; y < rows; y++) {
        JBLOCKROW to = block_row(&job->out.jpeg.common, job->to[component], y, TRUE);
        for (JDIMENSION x = 0; x < columns; x++) {
            const JDIMENSION from_x = transform.transpose ? y : x, from_y = transform.transpose ? x : y;
            JBLOCKROW from = block_row(&job->in.jpeg.common, job->from[component],
                                       transform.mirror_y ? height - 1 - from_y : from_y, FALSE);
            JCOEF *moved = to[x];
            const JCOEF *block = from[transform.mirror_x ? width - 1 - from_x : from_x];
            for (int v = 0; v < DCTSIZE; v++)
                for (int u = 0; u < DCTSIZE; u++) {
                    const int in_u = transform.transpose ? v : u, in_v = transform.transpose ? u : v;
                    const bool negative =
                        ((transform.mirror_x && in_u % 2 != 0) != (transform.mirror_y && in_v % 2 != 0));
                    const JCOEF value = block[in_v * DCTSIZE + in_u];
                    moved[v * DCTSIZE + u] = (JCOEF)(negative ? -value : value);
                }
        }
    }
}

/* Step of jpeg_session_run: writes the output. */
static enum status write_blocks(void *context, struct error *error)
{
    (void)error;
    struct transform_job *job = context;
    struct jpeg_compress_struct *out = &job->out.jpeg.out;

    /* The header: the input's tables and sampling factors. */
    jpeg_copy_critical_parameters(&job->in.jpeg.in, out);
    if (job->transform.transpose)
        transpose_header(out);
#if JPEG_LIB_VERSION >= 70 /* sizes of a scaled picture; version 80 reads these, version 70 leaves them 0 */
    out->jpeg_width = out->image_width;
    out->jpeg_height = out->image_height;
#endif
    jpeg_set_density(out, &job->info->metadata);
    out->optimize_coding = TRUE;
    if (job->is_progressive)
        jpeg_simple_progression(out);

    /* Blocks, for each component rounded up to whole MCUs. libjpeg allocates them in write_coefficients,
       and reads them only in finish_compress. */
    for (int i = 0; i < out->num_components; i++) {
        const jpeg_component_info *before = &job->in.jpeg.in.comp_info[i], *after = &out->comp_info[i];
        const bool transposed = job->transform.transpose;
        const JDIMENSION width = transposed ? before->height_in_blocks : before->width_in_blocks;
        const JDIMENSION height = transposed ? before->width_in_blocks : before->height_in_blocks;
        const JDIMENSION h = (JDIMENSION)after->h_samp_factor, v = (JDIMENSION)after->v_samp_factor;
        job->to[i] = (*out->mem->request_virt_barray)((j_common_ptr)out, JPOOL_IMAGE, TRUE,
                                                      (width - 1) / h * h + h, (height - 1) / v * v + v, v);
    }
    jpeg_write_coefficients(out, job->to);
    jpeg_metadata_write(out, job->info, &job->exif);
    for (int i = 0; i < out->num_components; i++)
        transform_component(job, i);
    jpeg_finish_compress(out);
    return STATUS_OK;
}

enum status jpeg_transform(struct reader *reader, struct writer *writer, const struct affine *inverse_map,
                           const struct image_info *info, struct lossless_move *move, struct error *error)
{
    /* The matrix has one entry of 1 or -1 in each row, so the sum of a row is its sign. */
    struct transform_job job = {.transform = {.transpose = affine_swaps_axes(inverse_map),
                                              .mirror_x = inverse_map->xx + inverse_map->xy < 0,
                                              .mirror_y = inverse_map->yx + inverse_map->yy < 0},
                                .info = info,
                                .memory = reader->options.memory,
                                .is_progressive = writer->options.progressive,
                                .move = move};

    /* The reader is after the header: read the file from its start in a session of its own. */
    const off_t here = ftello(reader->file);
    if (here < 0 || fseeko(reader->file, 0, SEEK_SET) != 0) {
        snprintf(move->obstacle, sizeof move->obstacle, "it comes from a pipe");
        return STATUS_OK;
    }
    enum status status = jpeg_session_open_read(&job.in, NULL, 0, reader->file, error);
    if (status == STATUS_OK)
        status = jpeg_session_run(&job.in, read_blocks, &job, error);
    if (status != STATUS_OK && !error->is_out_of_memory) { /* decoding will report the damage */
        snprintf(move->obstacle, sizeof move->obstacle, "its blocks are damaged");
        status = STATUS_OK;
        job.from = NULL;
    }
    if (status != STATUS_OK)
        error_prefix_once(error, reader->name);

    /* Write the output, or let the reader continue where it was in the file. */
    move->done = status == STATUS_OK && job.from != NULL;
    if (move->done) {
        jpeg_session_warn_missing_end(&job.in, &reader->trailing);
        jpeg_check_companions(&job.in, (struct jpeg_reader *)reader);
        status = jpeg_make_exif(&info->metadata, &job.exif, error);
        if (status == STATUS_OK)
            status = jpeg_session_open_write(&job.out, writer->output.file, error);
        if (status == STATUS_OK)
            status = jpeg_session_run(&job.out, write_blocks, &job, error);
    } else if (status == STATUS_OK && fseeko(reader->file, here, SEEK_SET) != 0) {
        status = fail_reading(error);
    }
    jpeg_session_close(&job.in);
    jpeg_session_close(&job.out);
    free(job.exif.data);
    return status;
}
