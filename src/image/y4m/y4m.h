/* Y4M, the streams of raw video that ffmpeg (-f yuv4mpegpipe), mjpegtools and vspipe write: a line of text,
 *
 *     YUV4MPEG2 W1920 H1080 F25:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED
 *
 * then for each frame a line (FRAME and perhaps parameters) and the planes Y, Cb and Cr, rows from top to
 * bottom, without padding. Samples of more than 8 bits have two bytes, the low one first. Source: mjpegtools'
 * yuv4mpeg(5), and what these programs do.
 *
 * A frame becomes a page of one channel, Y, and one of two, Cb and Cr, which may be smaller (struct video of
 * image.h). Samples of 9 to 15 bits are spread over 16. Other words of the stream's line are copied.
 *
 *     thread: file ─▶ frames ─▶ pages ─▶ pages ─▶ frames ─▶ thread: file
 *
 * A few whole frames are read before the pages and written after them, in a ring of memory. The
 * threads convert planes to pages and back, too. */
#ifndef CLIMG_IMAGE_Y4M_Y4M_H
#define CLIMG_IMAGE_Y4M_Y4M_H

#include "base/threads.h"
#include "image/codec.h"

/* Bytes of the stream's line and of a frame's, with the NUL; frames under way on either side. */
enum { Y4M_HEADER = 1024, Y4M_LINE = 256, Y4M_FRAMES = 3 };

/* Planes as the stream's line describes them. */
struct y4m {
    uint32_t width, height; /* of Y */
    int bits;               /* of a sample, 8 to 16 */
    int parts;              /* pages of a frame: 1 without colour, else 2 */
    int across, down;       /* samples of Y for one of Cb and of Cr; 1 without colour */
    double left,
        top; /* position of the first sample of Cb and Cr, in samples of Y right of and below its first */
};

/* Parses a line without its end. */
enum status y4m_parse(const char *header, struct y4m *stream, struct error *error);

/* The same line for frames of another size. */
enum status y4m_print(const char *header, uint32_t width, uint32_t height, char text[Y4M_HEADER],
                      struct error *error);

/* The stream's line for a gray picture. */
void y4m_print_gray(const struct image_info *info, char text[Y4M_HEADER]);

/* The size of a plane of a part: 0 is Y, 1 are Cb and Cr. */
uint32_t y4m_width(const struct y4m *stream, int part);
uint32_t y4m_height(const struct y4m *stream, int part);

/* Bytes of a sample, of a plane of that part, of a frame. */
size_t y4m_sample(const struct y4m *stream);
size_t y4m_plane(const struct y4m *stream, int part);
size_t y4m_size(const struct y4m *stream);

/* True if a row of Y is the same in the file and in a page. */
bool y4m_is_plain(const struct y4m *stream);

struct y4m_frame {
    char line[Y4M_LINE];  /* the line before it, without its end */
    unsigned char *pages; /* as pages have them, one after the other */
    enum status status;
    struct error error; /* why it could not be read */
};

/* Memory for frames that go round between a thread and the pages. Zeroed it is closed. */
struct y4m_ring {
    struct y4m_frame frames[Y4M_FRAMES];
    struct queue idle, ready;
    pthread_t thread;
    bool open, running;
};

/* Allocates the frames, and starts the thread, which takes frames from one queue and puts them into the
 * other. */
enum status y4m_ring_open(struct y4m_ring *ring, const struct y4m *stream, void *(*work)(void *),
                          void *context, struct error *error);
void y4m_ring_join(struct y4m_ring *ring);

/* After the thread was joined, or where none was started. */
void y4m_ring_free(struct y4m_ring *ring);

/* A pipe holds 64 KiB, unless it is asked for more. */
void y4m_widen_pipe(FILE *file);

extern const struct reader_class y4m_reader_class;
extern const struct writer_class y4m_writer_class;

#endif
