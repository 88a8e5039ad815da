/* Y4M, the streams of raw video that ffmpeg (-f yuv4mpegpipe), mjpegtools and vspipe write: a line of text,
 *
 *     YUV4MPEG2 W1920 H1080 F25:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED
 *
 * then for each frame a line (FRAME and perhaps parameters) and the planes Y, Cb and Cr, rows from top to
 * bottom, without padding. Samples of more than 8 bits have two bytes, the low one first. Source: mjpegtools'
 * yuv4mpeg(5), and what these programs do.
 *
 * A frame becomes a page of one channel, Y, and unless it is gray a page of two, Cb and Cr interleaved, which
 * may be smaller (struct video of image.h). Samples of 9 to 15 bits are scaled to 16. Other words of the
 * stream's line are copied.
 *
 *     file:  Y Y Y Y ...   Cb Cb ...   Cr Cr ...        pages:  Y Y Y Y ...   Cb Cr Cb Cr ...
 *
 *     thread: file ─▶ frames ─▶ reader: pages ─▶ ... ─▶ writer: pages ─▶ frames ─▶ thread: file
 *
 * One thread reads whole frames before their pages are asked for, another one writes them after their pages
 * are complete; both also convert between planes and pages. Each has a ring of Y4M_FRAMES frames.
 *
 * Private to src/image/y4m; the Makefile collects format_y4m (image/format.h). */
#ifndef CLIMG_IMAGE_Y4M_Y4M_H
#define CLIMG_IMAGE_Y4M_Y4M_H

#include "base/threads.h"
#include "image/codec.h"

enum {
    Y4M_HEADER = 1024, /* bytes of the stream's line, with the NUL */
    Y4M_LINE = 256,    /* bytes of a frame's line, with the NUL */
    Y4M_FRAMES = 3     /* of a ring: one in the thread, one whose pages are processed, one waiting */
};

/* Planes as the stream's line describes them. */
struct y4m {
    uint32_t width, height; /* of Y, samples */
    int bits;               /* of a sample, 8 to 16 */
    int parts;              /* pages of a frame: 1 without colour, else 2 */
    int across, down;       /* samples of Y for one of Cb and of Cr; 1 without colour */
    double left, top; /* position of the first sample of Cb and Cr relative to the first of Y, samples of Y */
};

/* Parses the stream's line without its newline. Fails for kinds of chroma that climg does not read. */
enum status y4m_parse(const char *header, struct y4m *stream, struct error *error);

/* Prints the stream's line for frames of another size: the other words of `header` stay. */
enum status y4m_print(const char *header, uint32_t width, uint32_t height, char text[Y4M_HEADER],
                      struct error *error);

/* Prints the stream's line for pages that are gray pictures. */
void y4m_print_gray(const struct image_info *info, char text[Y4M_HEADER]);

/* Return the size of a plane in samples, rounded up. `part` is the page of the frame: 0 is Y, 1 Cb and Cr. */
uint32_t y4m_width(const struct y4m *stream, int part);
uint32_t y4m_height(const struct y4m *stream, int part);

/* Return bytes in the file: of a sample, of one plane of a part, of a frame without its line. */
size_t y4m_sample(const struct y4m *stream);
size_t y4m_plane(const struct y4m *stream, int part);
size_t y4m_size(const struct y4m *stream);

/* True if a row of Y has the same bytes in the file and in a page: 8 bits, or 16 in the host's byte order. */
bool y4m_is_plain(const struct y4m *stream);

struct y4m_frame {
    char line[Y4M_LINE];  /* before the frame, without its newline */
    unsigned char *pages; /* samples of all pages as struct image_info describes them, adjacent; owned */
    enum status status;   /* of reading the frame */
    struct error error;
};

/* Frames that circulate between a thread and the pages. All zero: closed. A frame belongs to whoever popped
 * it from a queue. */
struct y4m_ring {
    struct y4m_frame frames[Y4M_FRAMES];
    struct queue idle;  /* frames without content */
    struct queue ready; /* frames with content, in their order */
    pthread_t thread;
    bool open;    /* the queues are initialised */
    bool running; /* the thread was started and not joined */
};

/* Allocates the frames, puts them into `idle`, and starts a thread with work(context). The caller ends or
 * stops the queues, joins and frees, also after a failure. */
enum status y4m_ring_open(struct y4m_ring *ring, const struct y4m *stream, void *(*work)(void *),
                          void *context, struct error *error);

/* Waits until the thread has returned. Does nothing if it is not running. */
void y4m_ring_join(struct y4m_ring *ring);

/* Frees the frames and queues, after y4m_ring_join. A closed ring is allowed. */
void y4m_ring_free(struct y4m_ring *ring);

/* Enlarges a pipe's buffer from 64 KiB to 1 MiB, so that both programs wait less often. Does nothing for
 * other files. */
void y4m_widen_pipe(FILE *file);

extern const struct reader_class y4m_reader_class;
extern const struct writer_class y4m_writer_class;

#endif
