/* Reads Y4M. While the pages of a frame are processed, a thread reads the next frame and converts it to
 * pages: it scales samples of more than 8 bits to 16, and interleaves Cb and Cr.
 *
 * The first frame is read when its first row is asked for, so that --info reads no frame. */
#include "image/y4m/y4m.h"

#include <stdlib.h>
#include <string.h>

struct y4m_reader {
    struct reader base; /* must be first */

    struct y4m stream;
    char header[Y4M_HEADER]; /* the header line */
    uint32_t row;            /* the current page's next row to read */
    struct y4m_frames frames;

    /* Used only by the thread while it reads. */
    int number;         /* number of frames whose line was read */
    unsigned char *raw; /* owned: planes as they are in the file */
};

/* Reads the rest of a line without its newline, and appends it to the *size bytes in `text`. False if the
 * file ends, the line has a NUL, or does not fit `room` bytes. */
static bool y4m_read_line(FILE *file, char *text, size_t room, size_t *size)
{
    int byte = getc_unlocked(file);
    while (byte != EOF && byte != '\n' && byte != '\0' && *size + 1 < room) {
        text[(*size)++] = (char)byte;
        byte = getc_unlocked(file);
    }
    text[*size] = '\0';
    return byte == '\n';
}

/* Reads a frame line, and counts the frame. *more is false after the last requested frame and at the end of
 * the file. */
static enum status read_frame_line(struct y4m_reader *reader, char line[Y4M_LINE], bool *more,
                                   struct error *error)
{
    static const char frame[] = "FRAME";
    size_t size = 0;
    *more = reader->number < reader_last_page(&reader->base);
    if (!*more)
        return STATUS_OK;
    const bool is_whole = y4m_read_line(reader->base.file, line, Y4M_LINE, &size);
    *more = is_whole || size > 0 || ferror(reader->base.file) || !feof(reader->base.file);
    if (!*more)
        return STATUS_OK;
    if (!is_whole && feof(reader->base.file))
        return fail_damaged(&reader->base, "the last frame is cut off", error);
    if (strncmp(line, frame, sizeof frame - 1) != 0 || (size > 5 && line[5] != ' '))
        return fail_damaged(&reader->base, "a frame does not begin with FRAME", error);
    if (!is_whole)
        return fail_damaged(&reader->base, "the line of a frame has a NUL, or more than 255 bytes", error);
    reader->number++;
    return STATUS_OK;
}

static enum status y4m_read_bytes(struct y4m_reader *reader, void *to, size_t size, struct error *error)
{
    const size_t read = fread(to, 1, size, reader->base.file);
    return read == size ? STATUS_OK : fail_damaged(&reader->base, "the last frame is cut off", error);
}

/* Copies the samples of a plane to `to`, `step` samples apart. Samples of more than 8 bits, low byte first,
 * are scaled to 16 bits. False if a sample has more bits than the header says. */
static bool y4m_read_samples(const struct y4m_reader *reader, const unsigned char *from, size_t count,
                             unsigned char *to, size_t step)
{
    const unsigned max_sample = (1u << reader->stream.bits) - 1;
    const double scale = UINT16_MAX / (double)max_sample;
    unsigned beyond = 0;
    if (reader->stream.bits == 8)
        for (size_t i = 0; i < count; i++)
            to[i * step] = from[i];
    else
        for (size_t i = 0; i < count; i++) {
            const unsigned sample = from[2 * i] | (unsigned)from[2 * i + 1] << 8;
            const uint16_t value = (uint16_t)((sample & max_sample) * scale + 0.5);
            memcpy(to + 2 * i * step, &value, sizeof value);
            beyond |= sample & ~max_sample;
        }
    return beyond == 0;
}

/* Reads the planes of a page from the file and converts them to the page at `to`. */
static enum status read_part(struct y4m_reader *reader, int part, unsigned char *to, struct error *error)
{
    const struct y4m *stream = &reader->stream;
    const size_t plane = stream->plane_size[part], sample = stream->sample_size, count = plane / sample;
    const bool is_direct = part == 0 && y4m_is_host_layout(stream);
    enum status status =
        y4m_read_bytes(reader, is_direct ? to : reader->raw, part == 0 ? plane : 2 * plane, error);
    if (status != STATUS_OK || is_direct)
        return status;
    const bool fits = part == 0 ? y4m_read_samples(reader, reader->raw, count, to, 1)
                                : y4m_read_samples(reader, reader->raw, count, to, 2) &&
                                      y4m_read_samples(reader, reader->raw + plane, count, to + sample, 2);
    return fits ? STATUS_OK
                : fail(error, STATUS_FAILED, "damaged Y4M: a sample has more than %d bits", stream->bits);
}

/* Reads the planes of a frame and converts them to its pages. */
static enum status read_pages(struct y4m_reader *reader, struct y4m_frame *frame, struct error *error)
{
    enum status status = read_part(reader, 0, frame->pages, error);
    if (status == STATUS_OK && reader->stream.video.parts > 1)
        status = read_part(reader, 1, frame->pages + reader->stream.plane_size[0], error);
    return status;
}

/* Task: reads the frame after the current one. */
static void read_next_frame(void *context)
{
    struct y4m_reader *reader = context;
    struct y4m_frame *frame = &reader->frames.frame[!reader->frames.current];
    bool more;
    frame->status = read_frame_line(reader, frame->line, &more, &frame->error);
    frame->is_end = !more;
    if (frame->status == STATUS_OK && more)
        frame->status = read_pages(reader, frame, &frame->error);
}

/* At the first call: allocates memory, reads the first frame, and begins to read the next one. */
static enum status open_first_frame(struct y4m_reader *reader, struct error *error)
{
    struct y4m_frames *frames = &reader->frames;
    if (frames->is_open)
        return STATUS_OK;
    reader->raw = allocate(reader->stream.frame_size, "a frame", error);
    if (reader->raw == NULL ||
        y4m_frames_open(frames, &reader->stream, read_next_frame, reader, error) != STATUS_OK ||
        read_pages(reader, &frames->frame[0], error) != STATUS_OK)
        return STATUS_FAILED;
    thread_pool_submit(&frames->pool, &frames->task);
    return STATUS_OK;
}

/* Begins a page of the current frame. */
static void y4m_describe(struct y4m_reader *reader, int part)
{
    const struct y4m *stream = &reader->stream;
    struct image_info *info = &reader->base.info;
    info->width = stream->width[part];
    info->height = stream->height[part];
    info->channels = part == 0 ? 1 : 2;
    info->type = stream->bits > 8 ? SAMPLE_UINT16 : SAMPLE_UINT8;
    info->bits = stream->bits > 8 && stream->bits < 16 ? stream->bits : 0;
    info->video = stream->video;
    info->video.header = reader->header;
    info->video.frame = reader->frames.frame[reader->frames.current].line;
    info->video.part = part;
    reader->row = 0;
}

/* Copies rows of the current frame's page. */
static enum status y4m_read(struct reader *base, void *rows, size_t pitch, uint32_t count,
                            struct error *error)
{
    struct y4m_reader *reader = (struct y4m_reader *)base;
    enum status status = open_first_frame(reader, error);
    if (status != STATUS_OK)
        return status;
    const size_t row = row_size(&base->info),
                 at = base->info.video.part == 0 ? 0 : reader->stream.plane_size[0];
    const unsigned char *from = reader->frames.frame[reader->frames.current].pages + at + reader->row * row;
    reader->row += count;
    for (uint32_t i = 0; i < count; i++)
        memcpy((unsigned char *)rows + i * pitch, from + i * row, row);
    return STATUS_OK;
}

/* Begins the next page of the frame; or after its last page, the first page of the next frame. */
static enum status y4m_next_page(struct reader *base, bool *more, struct error *error)
{
    struct y4m_reader *reader = (struct y4m_reader *)base;
    struct y4m_frames *frames = &reader->frames;
    const int next = base->info.video.part + 1;
    *more = next < reader->stream.video.parts;
    if (*more) {
        y4m_describe(reader, next);
        return STATUS_OK;
    }
    if (open_first_frame(reader, error) != STATUS_OK || y4m_frames_wait(frames, error) != STATUS_OK)
        return STATUS_FAILED;
    frames->current = !frames->current;
    *more = !frames->frame[frames->current].is_end;
    if (*more) {
        y4m_describe(reader, 0);
        thread_pool_submit(&frames->pool, &frames->task);
    }
    return STATUS_OK;
}

/* Reads up to the line of the first requested frame. Earlier frames are read and dropped, as a pipe cannot
 * seek. */
static enum status find_frame(struct y4m_reader *reader, struct error *error)
{
    const int first = reader->base.options.page > 0 ? reader->base.options.page : 1;
    const size_t size = reader->stream.frame_size;
    char *line = reader->frames.frame[0].line;
    bool more = true;
    enum status status = read_frame_line(reader, line, &more, error);
    while (status == STATUS_OK && more && reader->number < first) {
        unsigned char *bytes = allocate(size, "a frame that is skipped", error);
        status = bytes != NULL ? y4m_read_bytes(reader, bytes, size, error) : STATUS_FAILED;
        free(bytes);
        if (status == STATUS_OK)
            status = read_frame_line(reader, line, &more, error);
    }
    if (status == STATUS_OK && !more && reader->number == 0)
        return fail(error, STATUS_FAILED, "holds no frame");
    if (status == STATUS_OK && !more)
        return fail(error, STATUS_FAILED, "there is no page %d; the file has %d", first, reader->number);
    return status;
}

/* Updates XLENGTH=<number of frames>, which vspipe writes, to the number of requested frames. Removes it if
 * the first requested frame is beyond that number. */
static void update_length(struct y4m_reader *reader)
{
    static const char key[] = " XLENGTH=";
    const struct reader_options *options = &reader->base.options;
    char *at = strstr(reader->header, key);
    if (at == NULL || options->page == 0)
        return;
    char *number = at + strlen(key), *rest;
    const long long frames = strtoll(number, &rest, 10), last = reader_last_page(&reader->base);
    const long long count = (last < frames ? last : frames) - options->page + 1;
    char text[32];
    /* A smaller number has no more digits, so the header does not grow. */
    const int length = count > 0 ? snprintf(text, sizeof text, "%lld", count) : 0;
    if (length > 0 && length <= rest - number) {
        memcpy(number, text, (size_t)length);
        at = number + length;
    }
    memmove(at, rest, strlen(rest) + 1);
}

/* Parses the header line and finds the first requested frame, without reading its planes. */
static enum status y4m_open(struct reader *base, struct error *error)
{
    struct y4m_reader *reader = (struct y4m_reader *)base;
    size_t size = base->head_size;
    y4m_widen_pipe(base->file);
    memcpy(reader->header, base->head, size);
    if (!y4m_read_line(base->file, reader->header, sizeof reader->header, &size))
        return fail_damaged(&reader->base, "its first line has no end", error);
    enum status status = y4m_parse(reader->header, &reader->stream, error);
    if (status == STATUS_OK)
        status = check_image_size(reader->stream.width[0], reader->stream.height[0], base->options.max_pixels,
                                  error);
    if (status == STATUS_OK)
        status = find_frame(reader, error);
    if (status != STATUS_OK)
        return status;
    update_length(reader);
    base->page_count = 0; /* unknown */
    base->uncompressed = true;
    base->memory = 3 * (uint64_t)reader->stream.frame_size; /* two frames, and `raw` */
    y4m_describe(reader, 0);
    return STATUS_OK;
}

static void y4m_close(struct reader *base)
{
    struct y4m_reader *reader = (struct y4m_reader *)base;
    y4m_frames_close(&reader->frames);
    free(reader->raw);
}

const struct reader_class y4m_reader_class = {
    .size = sizeof(struct y4m_reader),
    .open = y4m_open,
    .read = y4m_read,
    .next_page = y4m_next_page,
    .close = y4m_close,
};
