/* Y4M, the raw video streams of ffmpeg (-f yuv4mpegpipe), mjpegtools and vspipe: a header line,
 *
 *     YUV4MPEG2 W1920 H1080 F25:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED
 *
 * then for each frame a frame line (FRAME and perhaps parameters) and the planes Y, Cb and Cr, rows from top
 * to bottom, without padding. Samples of more than 8 bits have two bytes, the low one first. Sources:
 * mjpegtools' yuv4mpeg(5), and the behaviour of these programs.
 *
 * A frame becomes a page of one channel, Y, and unless the stream is gray a page of two channels, Cb and Cr
 * interleaved, which may be smaller (struct video of image.h). Samples of 9 to 15 bits are scaled to 16.
 * Words of the header line other than the size are copied.
 *
 *     file:  Y Y Y Y ...   Cb Cb ...   Cr Cr ...        pages:  Y Y Y Y ...   Cb Cr Cb Cr ...
 *
 *     thread: file ─▶ frames ─▶ reader: pages ─▶ ... ─▶ writer: pages ─▶ frames ─▶ thread: file
 *
 * One thread reads the next frame, another one writes the last one, while the frame between them is
 * processed. Both also convert between planes and pages. Without the reading thread, a film that ffmpeg
 * decodes into a pipe took 20% longer.
 *
 * Private to src/image/y4m; the Makefile collects format_y4m (image/format.h). */
#ifndef CLIMG_IMAGE_Y4M_Y4M_H
#define CLIMG_IMAGE_Y4M_Y4M_H

#include "base/threads.h"
#include "image/codec.h"

enum {
    Y4M_HEADER = 1024, /* bytes of the header line, with the NUL */
    Y4M_LINE = 256,    /* bytes of a frame line, with the NUL */
};

/* The planes of a stream, by its header line. Arrays have an element for each part, that is, page of a frame:
 * 0 for Y, 1 for Cb and Cr. */
struct y4m {
    int bits;                     /* of a sample, 8 to 16 */
    uint32_t width[2], height[2]; /* samples of a plane */
    size_t sample_size;           /* bytes of a sample in the file and in a page */
    size_t plane_size[2];         /* bytes of a plane in the file */
    size_t frame_size;            /* bytes of all planes of a frame */
    struct video video;           /* all members but header, frame and part, which are 0 */
};

/* Parses the header line without its newline. Fails without a size, and for kinds of chroma that climg does
 * not read. */
enum status y4m_parse(const char *header, struct y4m *stream, struct error *error);

/* True if rows of Y have the same bytes in the file and in a page: 8 bits, or 16 in the host's byte order. */
bool y4m_is_host_layout(const struct y4m *stream);

struct y4m_frame {
    char line[Y4M_LINE];  /* the frame line, without its newline */
    unsigned char *pages; /* samples of its pages, adjacent; owned */
    bool is_end;          /* of reading: there is no further frame */
    enum status status;   /* of reading or writing the frame */
    struct error error;
};

/* Two frames: the caller uses frame[current], while `task` reads or writes the other one in a thread. Zeroed,
 * it is closed. */
struct y4m_frames {
    struct y4m_frame frame[2];
    int current;
    struct thread_pool pool;
    struct task task;
    bool is_open; /* the pool is open */
};

/* Allocates the pages of both frames. y4m_frames_close must be called also after a failure. */
enum status y4m_frames_open(struct y4m_frames *frames, const struct y4m *stream, void (*run)(void *),
                            void *context, struct error *error);

/* Waits for the task. Returns the status of the frame that is not current. */
enum status y4m_frames_wait(struct y4m_frames *frames, struct error *error);

/* Frees the frames. If the task is running, waits for it; a task that was not started is dropped. */
void y4m_frames_close(struct y4m_frames *frames);

/* Enlarges a pipe's buffer from 64 KiB to 1 MiB, so that both programs wait less often. Does nothing for
 * other files. */
void y4m_widen_pipe(FILE *file);

extern const struct reader_class y4m_reader_class;
extern const struct writer_class y4m_writer_class;

#endif
