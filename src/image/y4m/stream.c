/* Parses the header line of a Y4M stream, computes the sizes of its planes, and runs the task of
 * a pair of frames. At the end is the format struct. */
#include "base/text.h"
#include "image/y4m/y4m.h"

#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of chroma. `name` is the beginning of the header's word C; parse_chroma_suffix parses the rest of the
 * word. */
static const struct chroma {
    const char *name;
    int parts, across, down; /* as in struct video; of gray streams across and down are 1 */
} chromas[] = {{"420", 2, 2, 2}, {"422", 2, 2, 1},  {"444", 2, 1, 1}, {"440", 2, 1, 2},
               {"411", 2, 4, 1}, {"mono", 1, 1, 1}, {NULL, 0, 0, 0}};

/* Parses decimal digits. False if there are other characters, none, or the number exceeds `max`. */
static bool parse_digits(struct word word, uint64_t max, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < word.length && *number <= max; i++) {
        if (word.start[i] < '0' || word.start[i] > '9')
            return false;
        *number = 10 * *number + (uint64_t)(word.start[i] - '0');
    }
    return word.length > 0 && *number <= max;
}

/* Parses the rest of the word C after the name: nothing, the siting of C420 ("jpeg", "mpeg2", "paldv"), or
 * the bits of a sample ("p10"; of mono "10"). False if it is something else. */
static bool parse_chroma_suffix(struct word rest, const struct chroma *chroma, int *bits)
{
    const bool is_mono = chroma->parts == 1, has_p = rest.length > 0 && rest.start[0] == 'p';
    uint64_t number = 8;
    const bool is_default =
        rest.length == 0 ||
        (strcmp(chroma->name, "420") == 0 &&
         (word_equals(rest, "jpeg") || word_equals(rest, "mpeg2") || word_equals(rest, "paldv")));
    const struct word digits = {rest.start + has_p, rest.length - has_p};
    const bool is_valid = is_default || (has_p == !is_mono && parse_digits(digits, 16, &number) &&
                                         number >= 8); /* only the bits of mono have no p */
    *bits = (int)number;
    return is_valid;
}

/* Parses the word C without its letter. */
static enum status parse_chroma(struct word word, struct y4m *stream, struct error *error)
{
    for (const struct chroma *chroma = chromas; chroma->name != NULL; chroma++) {
        const size_t length = strlen(chroma->name);
        if (word.length < length || memcmp(word.start, chroma->name, length) != 0)
            continue;
        const struct word rest = {word.start + length, word.length - length};
        if (!parse_chroma_suffix(rest, chroma, &stream->bits))
            break;
        /* A chroma sample is in the middle of its samples of Y (C420jpeg, the default, and C440), level with
           the left column of them (C420mpeg2, C422, C411), or at the top left (C420paldv). Source:
           yuv4mpeg(5). */
        const bool left = chroma->down == 1 || word_equals(rest, "mpeg2") || word_equals(rest, "paldv");
        stream->video = (struct video){.parts = chroma->parts,
                                       .across = chroma->across,
                                       .down = chroma->down,
                                       .left = left ? 0 : (chroma->across - 1) / 2.0,
                                       .top = word_equals(rest, "paldv") ? 0 : (chroma->down - 1) / 2.0};
        return STATUS_OK;
    }
    return fail(error, STATUS_FAILED,
                "C%.*s: climg reads C420, C422, C444, C440, C411 and Cmono, of 8 to 16 bits; convert it, as "
                "with ffmpeg -pix_fmt yuv444p",
                (int)word.length, word.start);
}

enum status y4m_parse(const char *header, struct y4m *stream, struct error *error)
{
    struct word word;
    const char *cursor = header;
    bool is_valid = text_next_word(&cursor, ' ', &word) && word_equals(word, "YUV4MPEG2");
    struct video *video = &stream->video;
    /* Without the word C it is C420jpeg. */
    *stream = (struct y4m){.bits = 8, .video = {.parts = 2, .across = 2, .down = 2, .left = 0.5, .top = 0.5}};
    while (is_valid && text_next_word(&cursor, ' ', &word)) {
        if (word.length == 0)
            continue;
        const struct word value = {word.start + 1, word.length - 1};
        if (word.start[0] == 'W' || word.start[0] == 'H') {
            uint64_t number;
            is_valid = parse_digits(value, UINT32_MAX, &number);
            *(word.start[0] == 'W' ? stream->width : stream->height) = (uint32_t)number;
        } else if (word.start[0] == 'C' && parse_chroma(value, stream, error) != STATUS_OK) {
            return STATUS_FAILED;
        }
    }
    if (!is_valid || stream->width[0] == 0 || stream->height[0] == 0)
        return fail(error, STATUS_FAILED, "damaged Y4M: its first line does not say the size of frames");
    stream->width[1] = (stream->width[0] - 1) / (uint32_t)video->across + 1;
    stream->height[1] = (stream->height[0] - 1) / (uint32_t)video->down + 1;
    stream->sample_size = stream->bits > 8 ? 2 : 1;
    for (int part = 0; part < 2; part++)
        stream->plane_size[part] = stream->sample_size * stream->width[part] * stream->height[part];
    stream->frame_size = stream->plane_size[0] + (video->parts > 1 ? 2 * stream->plane_size[1] : 0);
    return STATUS_OK;
}

bool y4m_is_host_layout(const struct y4m *stream)
{
    return stream->bits == 8 || (stream->bits == 16 && BYTE_ORDER == LITTLE_ENDIAN);
}

enum status y4m_frames_open(struct y4m_frames *frames, const struct y4m *stream, void (*run)(void *),
                            void *context, struct error *error)
{
    for (int i = 0; i < 2; i++) {
        frames->frame[i].pages = allocate(stream->frame_size, "a frame", error);
        if (frames->frame[i].pages == NULL)
            return STATUS_FAILED;
    }
    thread_pool_open(&frames->pool, 2); /* one thread, and the one that waits */
    frames->task = (struct task){.run = run, .argument = context};
    frames->is_open = true;
    return STATUS_OK;
}

enum status y4m_frames_wait(struct y4m_frames *frames, struct error *error)
{
    const struct y4m_frame *other = &frames->frame[!frames->current];
    thread_pool_wait(&frames->pool, &frames->task);
    if (other->status != STATUS_OK)
        *error = other->error;
    return other->status;
}

void y4m_frames_close(struct y4m_frames *frames)
{
    if (frames->is_open)
        thread_pool_close(&frames->pool);
    for (int i = 0; i < 2; i++)
        free(frames->frame[i].pages);
}

void y4m_widen_pipe(FILE *file)
{
    enum { PIPE_BYTES = 1 << 20 };
    (void)fcntl(fileno(file), F_SETPIPE_SZ, PIPE_BYTES); /* fails for files that are no pipes */
}

static bool is_y4m(const unsigned char *head, size_t size)
{
    return size >= 8 && memcmp(head, "YUV4MPEG", 8) == 0;
}

const struct format format_y4m = {
    .name = "Y4M",
    .extensions = (const char *const[]){"y4m", NULL},
    .holds = {.types = 1u << SAMPLE_UINT8 | 1u << SAMPLE_UINT16,
              .channels = 1u << 1,
              .pages = true,
              .video = true},
    .recognise = is_y4m,
    .reader = &y4m_reader_class,
    .writer = &y4m_writer_class,
};
