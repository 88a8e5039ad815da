/* libpng with failures as statuses: the one place that knows of longjmp. */
#ifndef CLIMG_IMAGE_PNG_SESSION_H
#define CLIMG_IMAGE_PNG_SESSION_H

#include "base/error.h"
#include "image/metadata/metadata.h"

#include <png.h>
#include <stdbool.h>
#include <stdio.h>

struct png_session {
    png_structp png;
    png_infop info;
    FILE *file;                /* what libpng reads or writes */
    const char *trouble;       /* what libpng's own messages are put after: "damaged PNG" */
    struct error *error;       /* of the step under way */
    struct metadata *metadata; /* reading: what chunks that libpng does not know are added to */
    char doubted[64];          /* reading: the names of chunks that libpng warned of */
    size_t held, most;         /* bytes that libpng has allocated, and may have; 0: any number */
    bool out_of_memory;
    unsigned char
        header[8]; /* reading: the last eight bytes that were read at once, as a chunk's header is */
};

/* The session must not be moved afterwards. On failure png_session_close_... is still to be called. */
enum status png_session_open_read(struct png_session *session, FILE *file, struct error *error);
enum status png_session_open_write(struct png_session *session, FILE *file, struct error *error);

/* Between these, what the chunks of a file unpack to is bounded in all; what is beyond is left out. */
void png_session_begin_chunks(struct png_session *session);
void png_session_end_chunks(struct png_session *session);

/* Whether libpng warned of a chunk of that name, which it then may have put right, or left out. */
bool png_session_doubts(const struct png_session *session, const char *name);

/* May be called on a session that is all zero. Do not close the file. */
void png_session_close_read(struct png_session *session);
void png_session_close_write(struct png_session *session);

/* In a step, after the header: 16-bit samples are handed over in the host's byte order, not the file's. */
void png_session_set_host_order(struct png_session *session);

/* Runs a step; every call of libpng that can fail is made in one. A step that libpng gives up does not
 * return, so nothing that must be freed may be known to its local variables only. */
typedef enum status (*png_step)(void *context, struct error *error);
enum status png_session_run(struct png_session *session, png_step step, void *context, struct error *error);

#endif
