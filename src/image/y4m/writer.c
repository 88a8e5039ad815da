/* Writes Y4M. Pages are collected in a frame. While the next one is collected, a thread separates Cb and Cr,
 * scales samples to the bits of the stream, and writes the frame. If that fails, the end of the next frame
 * returns the error. */
#include "image/y4m/y4m.h"

#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct y4m_writer {
    struct writer base; /* must be first */
    struct y4m stream;

    /* The current page. */
    int part;     /* page of the frame, 0: luma, 1: chroma */
    uint32_t row; /* the next to be written */

    struct y4m_frames frames;
    unsigned char *raw; /* planes as they are in the file; for the thread */
};

/* Copies a header line and changes its width and height. Fails if it does not fit. */
static enum status y4m_print(const char *header, uint32_t width, uint32_t height, char text[Y4M_HEADER],
                             struct error *error)
{
    struct word word;
    const char *blank = "";
    size_t at = 0;
    text[0] = '\0';
    for (const char *cursor = header; text_next_word(&cursor, ' ', &word); blank = " ") {
        const char tag = word.length > 0 ? word.start[0] : '\0';
        const size_t room = Y4M_HEADER - at;
        int length;
        if (tag == 'W' || tag == 'H')
            length = snprintf(text + at, room, "%s%c%u", blank, tag, tag == 'W' ? width : height);
        else
            length = snprintf(text + at, room, "%s%.*s", blank, (int)word.length, word.start);
        if (length < 0 || (size_t)length >= room)
            return fail(error, STATUS_FAILED, "the first line of a Y4M has at most %d bytes", Y4M_HEADER - 1);
        at += (size_t)length;
    }
    return STATUS_OK;
}

/* Packs `count` samples, `step` samples apart in `from`, as a plane of the file. Samples of more than 8 bits
 * are scaled from 16 bits to the bits of the stream and stored little-endian. */
static void y4m_pack_samples(const struct y4m *stream, const unsigned char *from, size_t step,
                             unsigned char *to, size_t count)
{
    const uint32_t max_sample = (1u << stream->bits) - 1;
    if (stream->bits == 8)
        for (size_t i = 0; i < count; i++)
            to[i] = from[i * step];
    else
        for (size_t i = 0; i < count; i++) {
            uint16_t value;
            memcpy(&value, from + 2 * i * step, sizeof value);
            const uint32_t sample = ((uint32_t)value * max_sample + UINT16_MAX / 2) / UINT16_MAX;
            to[2 * i] = (unsigned char)sample;
            to[2 * i + 1] = (unsigned char)(sample >> 8);
        }
}

/* Writes the planes of a page to the file. False: an error, in errno. */
static bool write_part(struct y4m_writer *writer, int part, const unsigned char *page)
{
    const struct y4m *stream = &writer->stream;
    const size_t plane = stream->plane_size[part], sample = stream->sample_size, count = plane / sample,
                 size = part == 0 ? plane : 2 * plane;
    const bool is_direct = part == 0 && y4m_is_host_layout(stream);
    if (!is_direct)
        y4m_pack_samples(stream, page, part == 0 ? 1 : 2, writer->raw, count);
    if (part > 0)
        y4m_pack_samples(stream, page + sample, 2, writer->raw + plane, count);
    return fwrite(is_direct ? page : writer->raw, 1, size, writer->base.output.file) == size;
}

/* Task: writes the frame before the current one. Flushes, so that the program that reads a pipe gets each
 * frame as soon as it is complete. */
static void write_frame(void *context)
{
    struct y4m_writer *writer = context;
    struct y4m_frame *frame = &writer->frames.frame[!writer->frames.current];
    FILE *file = writer->base.output.file;
    if (fprintf(file, "%s\n", frame->line) < 0 || !write_part(writer, 0, frame->pages) ||
        (writer->stream.video.parts > 1 &&
         !write_part(writer, 1, frame->pages + writer->stream.plane_size[0])) ||
        fflush(file) != 0)
        frame->status = fail_writing(&frame->error, errno);
}

/* Call before the first page. Writes the header line, that is, the input's line with the new size, and
 * allocates memory. */
static enum status begin_stream(struct y4m_writer *writer, const struct image_info *info, struct error *error)
{
    char header[Y4M_HEADER];
    FILE *file = writer->base.output.file;
    const char *original = info->video.header != NULL    ? info->video.header
                           : info->type == SAMPLE_UINT16 ? "YUV4MPEG2 W H F25:1 Ip A1:1 Cmono16"
                                                         : "YUV4MPEG2 W H F25:1 Ip A1:1 Cmono";
    enum status status = y4m_print(original, info->width, info->height, header, error);
    if (status == STATUS_OK)
        status = y4m_parse(header, &writer->stream, error);
    if (status != STATUS_OK)
        return status;
    y4m_widen_pipe(file);
    if (fprintf(file, "%s\n", header) < 0)
        return fail_writing(error, errno);
    writer->raw = allocate(writer->stream.frame_size, "a frame", error);
    if (writer->raw == NULL)
        return STATUS_FAILED;
    return y4m_frames_open(&writer->frames, &writer->stream, write_frame, writer, error);
}

/* Fails if the page does not fit the stream. If luma had an odd size, enlarged chroma may have more samples
 * than the enlarged luma needs: samples at the right and bottom are not written. */
static enum status y4m_check_page(const struct y4m_writer *writer, const struct image_info *info,
                                  struct error *error)
{
    const struct y4m *stream = &writer->stream;
    const int part = info->video.part, bits = info->bits > 0 ? info->bits : 8 * (int)sample_size(info->type);
    const uint32_t width = stream->width[part], height = stream->height[part];
    if (sample_size(info->type) != stream->sample_size ||
        (info->video.header != NULL && bits != stream->bits))
        return fail(error, STATUS_FAILED, "a Y4M keeps the %d bits of its samples; leave --depth out",
                    stream->bits);
    if (part == 0 && (info->width != width || info->height != height))
        return fail(error, STATUS_FAILED,
                    "all frames of a Y4M have one size; this one has %ux%u, the first has %ux%u", info->width,
                    info->height, width, height);
    if (info->width < width || info->height < height)
        return fail(
            error, STATUS_FAILED,
            "chroma has %ux%u samples now, but a Y4M of this form needs %ux%u; convert it first, as with "
            "ffmpeg -pix_fmt yuv444p",
            info->width, info->height, width, height);
    return STATUS_OK;
}

/* Before the first page, begins the stream; before the first page of a frame, begins the frame. */
static enum status y4m_begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    struct y4m_writer *writer = (struct y4m_writer *)base;
    enum status status = STATUS_OK;
    if (!writer->frames.is_open)
        status = begin_stream(writer, info, error);
    if (status == STATUS_OK)
        status = y4m_check_page(writer, info, error);
    if (status != STATUS_OK)
        return status;
    if (info->video.part == 0)
        snprintf(writer->frames.frame[writer->frames.current].line, Y4M_LINE, "%s",
                 info->video.header != NULL ? info->video.frame : "FRAME");
    writer->part = info->video.part;
    writer->row = 0;
    return status;
}

/* Copies rows to the frame, except the chroma samples that y4m_check_page allows beyond its size. */
static enum status y4m_write(struct writer *base, const void *rows, size_t pitch, uint32_t count,
                             struct error *error)
{
    struct y4m_writer *writer = (struct y4m_writer *)base;
    const struct y4m *stream = &writer->stream;
    const size_t row = stream->sample_size * stream->width[writer->part] * (writer->part == 0 ? 1 : 2);
    unsigned char *to =
        writer->frames.frame[writer->frames.current].pages + (writer->part == 0 ? 0 : stream->plane_size[0]);
    (void)error;
    for (uint32_t i = 0; i < count && writer->row < stream->height[writer->part]; i++, writer->row++)
        memcpy(to + writer->row * row, (const unsigned char *)rows + i * pitch, row);
    return STATUS_OK;
}

/* Waits until all complete frames are written. */
static enum status y4m_finish(struct writer *base, struct error *error)
{
    struct y4m_writer *writer = (struct y4m_writer *)base;
    return writer->frames.is_open ? y4m_frames_wait(&writer->frames, error) : STATUS_OK;
}

/* After the last page of a frame: waits for the frame before, and begins to write this one. */
static enum status y4m_end_page(struct writer *base, struct error *error)
{
    struct y4m_writer *writer = (struct y4m_writer *)base;
    struct y4m_frames *frames = &writer->frames;
    if (writer->part + 1 < writer->stream.video.parts)
        return STATUS_OK;
    if (y4m_finish(base, error) != STATUS_OK)
        return STATUS_FAILED;
    frames->current = !frames->current;
    thread_pool_submit(&frames->pool, &frames->task);
    return STATUS_OK;
}

static void y4m_close(struct writer *base)
{
    struct y4m_writer *writer = (struct y4m_writer *)base;
    struct error ignored;       /* the caller has it from an earlier call */
    y4m_finish(base, &ignored); /* after an error of the reader, the frames before it are written */
    y4m_frames_close(&writer->frames);
    free(writer->raw);
}

/* Returns an upper bound of the bytes of two frames and of `raw`. `info` describes the luma or
 * the chroma page of a frame. A frame has at most three times its bytes: luma in 4:4:4, chroma in 4:2:0. */
static uint64_t y4m_memory(const struct writer_options *options, const struct image_info *info)
{
    (void)options;
    return UINT64_C(3) * 3 * row_size(info) * info->height;
}

const struct writer_class y4m_writer_class = {
    .memory = y4m_memory,
    .size = sizeof(struct y4m_writer),
    .begin_page = y4m_begin_page,
    .write = y4m_write,
    .end_page = y4m_end_page,
    .finish = y4m_finish,
    .close = y4m_close,
};
