/* WebP by libwebp: RGB with or without alpha, 8 bit, at most 16383 pixels along an axis. Source: RFC 9649.
 *
 *     file ─▶ memory ─▶ demultiplexer ─▶ metadata; pixels, in pieces ─▶ decoder ─▶ canvas ─▶ rows
 *     rows ─▶ picture ─▶ after the last row: encoder ─▶ multiplexer, metadata ─▶ file
 *
 * EXIF and XMP follow the pixels, so webp_open reads the whole file. The decoder gets the pixels in pieces:
 * stages begin before the last row is decoded, and the message of a damaged file has the number of decoded
 * rows. VP8 (lossy) has no checksum: a flipped bit mostly changes pixels. The encoder runs on one thread, so
 * that files are the same on every machine. */
#include "base/text.h"
#include "image/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>
#include <webp/mux.h>

enum {
    METADATA_COPIES = 3,       /* the reader's, the output's, and one while the output's is changed */
    PIECE_SIZE_MIN = 64 << 10, /* bytes that are decoded at a time */
    PIECES_MAX = 64,           /* per picture: libwebp parses some headers again for each piece */
};

struct webp_reader {
    struct reader base;       /* must be first */
    unsigned char *data;      /* the whole file; owned */
    size_t size;              /* bytes of `data` */
    WebPDemuxer *demuxer;     /* of `data` */
    WebPIterator frame;       /* the picture, or the first frame of an animation, in `data` */
    WebPIDecoder *decoder;    /* decodes the frame to the canvas */
    unsigned char *canvas;    /* all rows; owned; NULL before the first one is read */
    size_t decoded;           /* bytes of the frame that the decoder has received */
    uint32_t next_row, ready; /* of the canvas: the next row to read, the number of decoded rows */
};

/* Fails: "damaged WebP: data are missing in a file of 90 bytes; decoded 3 of 10 rows". */
static enum status webp_fail_damaged(const struct webp_reader *reader, const char *what, struct error *error)
{
    fail(error, STATUS_FAILED, "damaged WebP: %s in a file of %zu bytes", what, reader->size);
    if (reader->canvas != NULL)
        text_append(error->text, sizeof error->text, "; decoded %u of %u rows", (unsigned)reader->ready,
                    (unsigned)reader->base.info.height);
    return STATUS_FAILED;
}

/* Returns the first chunk of that name, which is in reader->data; no bytes if it is missing. */
static WebPData find_chunk(struct webp_reader *reader, const char *name)
{
    WebPChunkIterator chunk;
    if (!WebPDemuxGetChunk(reader->demuxer, name, 1, &chunk))
        return (WebPData){NULL, 0};
    WebPDemuxReleaseChunkIterator(&chunk);
    reader->base.memory += METADATA_COPIES * chunk.chunk.size;
    return chunk.chunk;
}

static enum status webp_open(struct reader *base, struct error *error)
{
    static const char exif_name[] = "Exif\0"; /* precedes EXIF in a JPEG; some programs copy it to a WebP */
    struct webp_reader *reader = (struct webp_reader *)base;
    struct image_info *info = &base->info;
    const WebPIterator *frame = &reader->frame;
    WebPDemuxState state;
    struct stat file_stat;
    if (fstat(fileno(base->file), &file_stat) != 0)
        return fail_reading(error);
    if (base->options.memory > 0 && (uint64_t)file_stat.st_size > base->options.memory)
        return fail_memory(error, "the file is larger than what --memory-limit leaves for it; raise it");
    reader->data = allocate((size_t)file_stat.st_size, "WebP", error);
    if (reader->data == NULL)
        return STATUS_FAILED;
    reader->size = fread(reader->data, 1, (size_t)file_stat.st_size, base->file);
    if (ferror(base->file))
        return fail_reading(error);
    reader->demuxer = WebPDemuxPartial(&(WebPData){reader->data, reader->size}, &state);
    if (reader->demuxer == NULL || !WebPDemuxGetFrame(reader->demuxer, 1, &reader->frame) ||
        frame->width == 0 || (frame->complete && state != WEBP_DEMUX_DONE /* EXIF may be missing */))
        return webp_fail_damaged(reader, "chunks are damaged or missing", error);

    /* A frame of an animation may be smaller than the canvas, which then is transparent around the frame. */
    info->width = WebPDemuxGetI(reader->demuxer, WEBP_FF_CANVAS_WIDTH);
    info->height = WebPDemuxGetI(reader->demuxer, WEBP_FF_CANVAS_HEIGHT);
    info->lossless = frame->fragment.size > 4 && memcmp(frame->fragment.bytes, "VP8L", 4) == 0;
    snprintf(info->coding, sizeof info->coding, "%s", info->lossless ? "lossless" : "lossy");
    info->alpha =
        frame->has_alpha || (uint32_t)frame->width < info->width || (uint32_t)frame->height < info->height;
    info->channels = 3 + info->alpha; /* WebP has no gray */
    info->type = SAMPLE_UINT8;
    base->unread = WebPDemuxGetI(reader->demuxer, WEBP_FF_FRAME_COUNT) > 1 ? "the other frames" : NULL;
    if (base->unread != NULL)
        metadata_warn(&info->metadata, "is an animation, of which only the first frame is read");
    /* For lossless pictures and alpha, libwebp also keeps the pixels as words of 4 bytes. */
    base->memory = reader->size + row_size(info) * info->height * (info->alpha || info->lossless ? 3 : 1);
    const WebPData icc = find_chunk(reader, "ICCP"), xmp = find_chunk(reader, "XMP ");
    WebPData exif = find_chunk(reader, "EXIF");
    if (exif.size > sizeof exif_name && memcmp(exif.bytes, exif_name, sizeof exif_name) == 0)
        exif = (WebPData){exif.bytes + sizeof exif_name, exif.size - sizeof exif_name};
    if (check_image_size(info->width, info->height, base->options.max_pixels, error) != STATUS_OK ||
        metadata_set_blob(&info->metadata.icc, icc.bytes, icc.size, error) != STATUS_OK ||
        (exif.size > 0 && metadata_add_exif(&info->metadata, exif.bytes, exif.size, error) != STATUS_OK) ||
        metadata_set_text(&info->metadata, XMP_KEY, (const char *)xmp.bytes, xmp.size, error) != STATUS_OK)
        return STATUS_FAILED;
    return STATUS_OK;
}

/* Returns the size of a file from its first eight bytes, the RIFF header. */
static uint64_t riff_size(const unsigned char *head)
{
    const uint64_t size = 8 + (head[4] | head[5] << 8 | head[6] << 16 | (uint64_t)head[7] << 24);
    return size + size % 2;
}

/* Decodes the next piece of the frame. Allocates the canvas before the first piece. */
static enum status decode_piece(struct webp_reader *reader, struct error *error)
{
    const struct image_info *info = &reader->base.info;
    const WebPIterator *frame = &reader->frame;
    if (reader->canvas == NULL) {
        /* The demultiplexer has checked that the frame is inside the canvas. */
        const size_t row = row_size(info), all = row * info->height,
                     offset = (size_t)frame->y_offset * row + (size_t)frame->x_offset * pixel_size(info);
        reader->canvas = allocate_zeroed(all, 1, "WebP", error);
        if (reader->canvas == NULL)
            return STATUS_FAILED;
        reader->decoder =
            WebPINewRGB(info->alpha ? MODE_RGBA : MODE_RGB, reader->canvas + offset, all - offset, (int)row);
    }
    const size_t size = frame->fragment.size, left = size - reader->decoded;
    const size_t piece = size / PIECES_MAX > PIECE_SIZE_MIN ? size / PIECES_MAX : PIECE_SIZE_MIN;
    if (left == 0) /* the decoder waits for more */
        return webp_fail_damaged(reader, "data are missing", error);
    reader->decoded += left < piece ? left : piece;
    const VP8StatusCode code = WebPIUpdate(reader->decoder, frame->fragment.bytes, reader->decoded);
    int rows = 0; /* of the frame */
    WebPIDecGetRGB(reader->decoder, &rows, NULL, NULL, NULL);
    reader->ready =
        code == VP8_STATUS_OK || rows >= frame->height ? info->height : (uint32_t)(frame->y_offset + rows);
    if (code == VP8_STATUS_OK || code == VP8_STATUS_SUSPENDED)
        return STATUS_OK;
    return reader->decoder == NULL || code == VP8_STATUS_OUT_OF_MEMORY
               ? fail_memory(error, "out of memory for WebP")
               : webp_fail_damaged(reader, "data of pixels are invalid", error);
}

/* Decodes the first `count` rows, or more, unless that was done. */
static enum status decode_rows(struct webp_reader *reader, uint32_t count, struct error *error)
{
    while (reader->ready < count)
        if (decode_piece(reader, error) != STATUS_OK)
            return STATUS_FAILED;
    /* The decoder does not need the last bytes of some lossy pictures. Only a padding byte may be missing. */
    if (count == reader->base.info.height && !reader->frame.complete &&
        reader->size + 1 < riff_size(reader->data))
        return webp_fail_damaged(reader, "data are missing", error);
    return STATUS_OK;
}

static enum status webp_read(struct reader *base, void *rows, size_t pitch, uint32_t count,
                             struct error *error)
{
    struct webp_reader *reader = (struct webp_reader *)base;
    if (decode_rows(reader, reader->next_row + count, error) != STATUS_OK)
        return STATUS_FAILED;
    for (uint32_t i = 0; i < count; i++, reader->next_row++)
        memcpy((unsigned char *)rows + i * pitch, reader->canvas + reader->next_row * row_size(&base->info),
               row_size(&base->info));
    return STATUS_OK;
}

static void webp_close_reader(struct reader *base)
{
    struct webp_reader *reader = (struct webp_reader *)base;
    WebPIDelete(reader->decoder);
    WebPDemuxReleaseIterator(&reader->frame);
    WebPDemuxDelete(reader->demuxer);
    free(reader->canvas);
    free(reader->data);
}

static const struct reader_class webp_reader_class = {
    .size = sizeof(struct webp_reader),
    .seeks = true, /* so that the size is known before memory is allocated */
    .open = webp_open,
    .read = webp_read,
    .close = webp_close_reader,
};

enum { QUALITY_DEFAULT = 80, LOSSLESS_LEVEL_DEFAULT = 6 /* of 0 to 9; libwebp's own */ };

struct webp_writer {
    struct writer base;  /* must be first */
    WebPPicture picture; /* all rows so far */
    uint32_t next_row;   /* index of the next row */
};

/* True if requested, or if the input is lossless and no quality is requested. */
static bool is_lossless(const struct writer_options *options, const struct image_info *info)
{
    return options->lossless || (options->quality == 0 && info->lossless);
}

/* Returns the encoder's memory, as measured for noise. Lossy photographs take a quarter of it, lossless ones
 * two thirds. */
static uint64_t webp_memory(const struct writer_options *options, const struct image_info *info)
{
    enum { LOSSY = 36, LOSSLESS = 56 };
    return (uint64_t)info->width * info->height * (is_lossless(options, info) ? LOSSLESS : LOSSY);
}

static enum status webp_begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    WebPPicture *picture = &((struct webp_writer *)base)->picture;
    if (info->width > WEBP_MAX_DIMENSION || info->height > WEBP_MAX_DIMENSION)
        return fail(error, STATUS_FAILED, "WebP holds at most 16383 pixels along an axis; write PNG or TIFF");
    const bool is_initialised =
        WebPPictureInit(picture); /* false: headers of another version than the library */
    picture->width = (int)info->width;
    picture->height = (int)info->height;
    picture->use_argb = 1; /* one word per pixel; the encoder converts them to YUV */
    return is_initialised && WebPPictureAlloc(picture) ? STATUS_OK
                                                       : fail_memory(error, "out of memory for WebP");
}

/* Copies rows to the picture, as words of alpha, red, green and blue. Gray becomes RGB. */
static enum status webp_write(struct writer *base, const void *rows, size_t pitch, uint32_t count,
                              struct error *error)
{
    struct webp_writer *writer = (struct webp_writer *)base;
    const int channels = base->info.channels, green = channels > 2 ? 1 : 0, blue = 2 * green;
    (void)error;
    for (uint32_t i = 0; i < count; i++, writer->next_row++) {
        const unsigned char *from = (const unsigned char *)rows + i * pitch;
        uint32_t *to = writer->picture.argb + (size_t)writer->next_row * (size_t)writer->picture.argb_stride;
        for (uint32_t x = 0; x < base->info.width; x++, from += channels)
            to[x] = (base->info.alpha ? (uint32_t)from[channels - 1] : UINT8_MAX) << 24 |
                    (uint32_t)from[0] << 16 | (uint32_t)from[green] << 8 | from[blue];
    }
    return STATUS_OK;
}

/* Encodes the picture to a file in memory, without metadata. The default method is libwebp's. */
static enum status encode(struct webp_writer *writer, WebPMemoryWriter *memory, struct error *error)
{
    const struct writer_options *options = &writer->base.options;
    WebPPicture *picture = &writer->picture;
    const int level = options->compression;
    WebPConfig config;
    WebPConfigInit(&config); /* would fail as WebPPictureInit does */
    config.quality = (float)(options->quality > 0 ? options->quality : QUALITY_DEFAULT);
    config.method = level < 0 ? config.method : 2 * level / 3; /* 0 to 6 */
    /* A partition has at most 16 MiB: 8 megapixels of noise at quality 100. 3 means eight partitions. */
    config.partitions = picture->height > (4 << 20) / picture->width ? 3 : 0;
    config.exact = is_lossless(options, &writer->base.info); /* keeps colours where alpha is 0 */
    if (config.exact)
        WebPConfigLosslessPreset(&config, level < 0 ? LOSSLESS_LEVEL_DEFAULT : level);
    picture->writer = WebPMemoryWrite;
    picture->custom_ptr = memory; /* argument of WebPMemoryWrite */
    /* libwebp 1.2.4 returns success with half a file if memory runs out at the end of lossless coding: decode
     * it. */
    const bool encoded = WebPEncode(&config, picture);
    uint8_t *decoded = encoded && config.exact ? WebPDecodeRGB(memory->mem, memory->size, NULL, NULL) : NULL;
    WebPFree(decoded);
    if (encoded && (!config.exact || decoded != NULL))
        return STATUS_OK;
    const WebPEncodingError code = picture->error_code;
    if (encoded || code == VP8_ENC_ERROR_OUT_OF_MEMORY || code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY ||
        code == VP8_ENC_ERROR_BAD_WRITE /* to memory */)
        return fail_memory(error, "out of memory for WebP");
    return fail(error, STATUS_FAILED, "has more detail than WebP holds; lower --quality, or write PNG");
}

/* False for gray pictures: their profile is for gray, and their pixels become RGB. */
static bool webp_holds_icc(const struct blob *icc, int channels)
{
    return channels > 2 && icc_is_for(icc, channels);
}

/* Adds a chunk, unless it is empty. False: out of memory. */
static bool put_chunk(WebPMux *mux, const char *name, const void *data, size_t size)
{
    return size == 0 || WebPMuxSetChunk(mux, name, &(WebPData){data, size}, 0) == WEBP_MUX_OK;
}

/* Writes a file of coded pixels, which are a WebP without metadata, and of metadata. */
static enum status write_file(FILE *file, WebPData coded, const struct image_info *info, struct error *error)
{
    const struct metadata *metadata = &info->metadata;
    const size_t icc_size = webp_holds_icc(&metadata->icc, info->channels) ? metadata->icc.size : 0;
    const char *xmp = metadata_text(metadata, XMP_KEY);
    struct blob exif;
    WebPData all = {NULL, 0}; /* with metadata */
    enum status status = exif_with_orientation(metadata, true, &exif, error);
    WebPMux *mux = status == STATUS_OK ? WebPMuxCreate(&coded, 0) : NULL;
    const bool is_complete = mux != NULL && put_chunk(mux, "ICCP", metadata->icc.data, icc_size) &&
                             put_chunk(mux, "EXIF", exif.data, exif.size) &&
                             put_chunk(mux, "XMP ", xmp, xmp == NULL ? 0 : strlen(xmp)) &&
                             WebPMuxAssemble(mux, &all) == WEBP_MUX_OK;
    if (status == STATUS_OK && !is_complete)
        status = fail_memory(error, "out of memory for WebP");
    if (is_complete && fwrite(all.bytes, 1, all.size, file) != all.size)
        status = fail_writing(error, errno);
    WebPMuxDelete(mux);
    WebPDataClear(&all);
    free(exif.data);
    return status;
}

/* Encodes the picture, adds metadata, and writes the file. */
static enum status webp_end_page(struct writer *base, struct error *error)
{
    WebPMemoryWriter encoded;
    WebPMemoryWriterInit(&encoded);
    enum status status = encode((struct webp_writer *)base, &encoded, error);
    if (status == STATUS_OK)
        status = write_file(base->output.file, (WebPData){encoded.mem, encoded.size}, &base->info, error);
    WebPMemoryWriterClear(&encoded);
    return status;
}

/* For other metadata: copies the coded pixels, after decoding them to find damage. Blocks of WebP cannot be
 * moved. */
static enum status webp_transform(struct reader *base, struct writer *writer,
                                  const struct affine *inverse_map, const struct image_info *info,
                                  struct lossless_move *move, struct error *error)
{
    struct webp_reader *reader = (struct webp_reader *)base;
    const struct affine *map = inverse_map;
    WebPMuxFrameInfo frame = {.bitstream = {NULL, 0}};
    if (map->xx != 1 || map->yy != 1 || map->x != 0 || map->y != 0 || info->width != base->info.width ||
        info->height != base->info.height || (uint32_t)reader->frame.width != info->width ||
        (uint32_t)reader->frame.height != info->height) {
        snprintf(move->obstacle, sizeof move->obstacle, "its pixels move");
        return STATUS_OK;
    }
    if (decode_rows(reader, info->height, error) != STATUS_OK)
        return STATUS_FAILED;
    /* libwebpmux refuses bytes after the end. */
    const uint64_t end = riff_size(reader->data);
    WebPMux *mux = WebPMuxCreate(&(WebPData){reader->data, end < reader->size ? end : reader->size}, 0);
    move->done = mux != NULL && WebPMuxGetFrame(mux, 1, &frame) == WEBP_MUX_OK;
    enum status status = STATUS_OK;
    if (move->done)
        status = write_file(writer->output.file, frame.bitstream, info, error);
    else
        snprintf(move->obstacle, sizeof move->obstacle, "its chunks cannot be separated");
    WebPDataClear(&frame.bitstream);
    WebPMuxDelete(mux);
    return status;
}

static void webp_close_writer(struct writer *base)
{
    WebPPictureFree(&((struct webp_writer *)base)->picture);
}

static const struct writer_class webp_writer_class = {
    .memory = webp_memory,
    .size = sizeof(struct webp_writer),
    .begin_page = webp_begin_page,
    .write = webp_write,
    .end_page = webp_end_page,
    .close = webp_close_writer,
};

static bool webp_recognise(const unsigned char *head, size_t size)
{
    return size >= RIFF_SIGNATURE_SIZE && memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WEBP", 4) == 0;
}

/* True for XMP, the only text of a WebP. */
static bool webp_holds_text(const struct text_entry *text)
{
    return text->item == NULL && strcmp(text->key, XMP_KEY) == 0;
}

static void webp_note_left_out(struct image_info *info)
{
    struct metadata *metadata = &info->metadata;
    double x, y;
    int unit;
    if (metadata->resolution_unit != RESOLUTION_ABSENT && !exif_resolution(&metadata->exif, &x, &y, &unit))
        metadata_note_left_out(metadata, "the resolution");
}

/* Compares the file's size with the size in the RIFF header. */
static enum status webp_examine(FILE *file, struct metadata *trailing, struct error *error)
{
    unsigned char head[8];
    if (fread(head, 1, sizeof head, file) != sizeof head || fseeko(file, 0, SEEK_END) != 0)
        return fail_reading(error);
    const uint64_t expected = riff_size(head), actual = (uint64_t)ftello(file);
    format_warn_surplus(trailing, actual > expected ? actual - expected : 0);
    return STATUS_OK;
}

const struct format format_webp = {
    .name = "WebP",
    .extensions = (const char *const[]){"webp", NULL},
    .lossy = true, /* also for lossless files: a file that nothing changes is copied */
    .coding = CODING_QUALITY | CODING_LOSSLESS | CODING_COMPRESSION,
    .holds = {.types = 1u << SAMPLE_UINT8,
              .channels = CHANNELS_ALL,
              .texts = true}, /* gray is written as RGB */
    .recognise = webp_recognise,
    .examine = webp_examine,
    .holds_text = webp_holds_text,
    .holds_icc = webp_holds_icc,
    .note_left_out = webp_note_left_out,
    .transform = webp_transform,
    .reader = &webp_reader_class,
    .writer = &webp_writer_class,
};
