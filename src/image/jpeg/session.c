/* Runs libjpeg in steps that return a status: its error handler leaves a step by longjmp.
 *
 *     read     first bytes in memory, then file ─▶ buffer ─▶ libjpeg ─▶ rows
 *     write    rows ─▶ libjpeg ─▶ file
 *
 * libjpeg replaces pixels of damaged data by gray and prints a warning. Here such a warning is an error;
 * warnings that cost no pixel are ignored. If the file ends early, libjpeg receives an end marker (EOI), as
 * all pixels may have been decoded. jpeg_session_check_end fails if they were not.
 *
 * Callbacks have the names of libjpeg's members (libjpeg.txt), and run inside a step. */
#include "image/jpeg/jpeg.h"

#include <errno.h>
#include <jerror.h>
#include <stdlib.h>

/* Interfaces 70 and 80 have no message of this name; libjpeg-turbo's own sources define it the same way. */
#if JPEG_LIB_VERSION >= 70
#define JERR_ARITH_NOTIMPL JERR_NOT_COMPILED
#endif

enum {
    /* Bounds the time: libjpeg visits all coefficients for each scan, so that a small file of many scans
       could take hours. Encoders write about ten scans. */
    SCANS_MAX = 100,
};

/* ---------------------------------------------------------------- errors and warnings */

_Noreturn void jpeg_session_fail(struct jpeg_session *session)
{
    longjmp(session->failed, 1);
}

/* Fills in the error of the step and leaves the step. */
static void error_exit(j_common_ptr jpeg)
{
    struct jpeg_session *session = jpeg->client_data;
    const int code = jpeg->err->msg_code;
    /* The file may be valid, but libjpeg cannot decode it. */
    const bool is_unsupported =
        code == JERR_SOF_UNSUPPORTED || code == JERR_BAD_PRECISION || code == JERR_ARITH_NOTIMPL ||
        code == JERR_CCIR601_NOTIMPL || code == JERR_FRACT_SAMPLE_NOTIMPL || code == JERR_NOT_COMPILED ||
        code == JERR_CONVERSION_NOTIMPL || code == JERR_COMPONENT_COUNT || code == JERR_IMAGE_TOO_BIG;
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    if (code == JERR_FILE_WRITE)
        fail_writing(session->error, errno);
    else if (code == JERR_OUT_OF_MEMORY)
        fail_memory(session->error, "out of memory for JPEG");
    else if (session->file_ended)
        jpeg_session_check_end(session, session->error);
    else
        fail(session->error, STATUS_FAILED, "%s: %s",
             !jpeg->is_decompressor ? "cannot encode as JPEG"
             : is_unsupported       ? "a kind of JPEG that is not supported"
                                    : "damaged JPEG",
             text);
    jpeg_session_fail(session);
}

/* Returns the number of successive zero bytes in the file directly before `end`, which points into the
 * current input. */
static size_t zeros_before(const struct jpeg_session *session, const unsigned char *end)
{
    const unsigned char *first = end;
    while (first > session->start && first[-1] == 0)
        first--;
    return (size_t)(end - first) + (first == session->start ? session->zeros : 0);
}

/* Handles stray bytes (JWRN_EXTRANEOUS_DATA), which belong to no segment and no scan. libjpeg has skipped
 * them and found a marker, to which source.next_input_byte points. Returns true if they cost no pixel:
 * - bytes before the first scan;
 * - zeros, with which cameras pad;
 * - bytes after all pixels, if the file has no EOI after them: some cameras write data of their own in place
 *   of EOI. Sets lacks_end_marker.
 * Other bytes before EOI mean that damage made the entropy decoder stop too early. */
static bool accept_stray_bytes(struct jpeg_session *session)
{
    const struct jpeg_decompress_struct *in = &session->jpeg.in;
    const size_t count = (size_t)session->errors.msg_parm.i[0];
    const bool at_end_marker = session->errors.msg_parm.i[1] == JPEG_EOI && !session->file_ended;
    if (in->input_scan_number == 0)
        return true;
    if (in->input_iMCU_row >= in->total_iMCU_rows && jpeg_session_has_all_scans(session))
        session->has_all_pixels = true;
    if (session->has_all_pixels && !at_end_marker)
        return session->lacks_end_marker = true;
    return !session->file_ended && zeros_before(session, session->source.next_input_byte) >= count;
}

/* Makes an error of a warning that may cost pixels. Level -1 is a warning; others are traces. */
static void emit_message(j_common_ptr jpeg, int level)
{
    const int code = jpeg->err->msg_code;
    const bool harmless = code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM ||
                          code == JWRN_NOT_SEQUENTIAL ||
                          (code == JWRN_EXTRANEOUS_DATA && accept_stray_bytes(jpeg->client_data));
    if (level < 0 && !harmless)
        error_exit(jpeg);
}

/* Refuses files of too many scans. */
static void progress_monitor(j_common_ptr jpeg)
{
    struct jpeg_session *session = jpeg->client_data;
    if (session->jpeg.in.input_scan_number > SCANS_MAX) {
        fail(session->error, STATUS_FAILED,
             "has more than %d scans, which would take too long; rewrite it first: jpegtran IN.jpg > OUT.jpg",
             SCANS_MAX);
        jpeg_session_fail(session);
    }
}

/* ---------------------------------------------------------------- the source of bytes */

/* init_source and term_source have nothing to do. */
static void ignore_source(j_decompress_ptr in)
{
    (void)in;
}

static void set_data(struct jpeg_session *session, const unsigned char *data, size_t size)
{
    session->start = session->source.next_input_byte = data;
    session->source.bytes_in_buffer = size;
}

/* Reads the next bytes of the file, or supplies an end marker after its end. */
static boolean fill_input_buffer(j_decompress_ptr in)
{
    static const unsigned char end[] = {0xff, JPEG_EOI};
    struct jpeg_session *session = in->client_data;
    struct jpeg_source_mgr *source = &session->source;
    session->zeros = zeros_before(session, source->next_input_byte + source->bytes_in_buffer);
    size_t size = fread(session->buffer, 1, JPEG_BUFFER_SIZE, session->file);
    /* The two bytes of a marker must be in one input: accept_stray_bytes needs the marker's position. */
    if (size > 1 && session->buffer[size - 1] == 0xff && ungetc(0xff, session->file) != EOF)
        size--;
    if (size == 0 && ferror(session->file)) {
        fail_reading(session->error);
        jpeg_session_fail(session);
    }
    session->file_ended = size == 0;
    set_data(session, session->file_ended ? end : session->buffer, session->file_ended ? sizeof end : size);
    return TRUE;
}

/* Reads the bytes to be skipped, as a pipe cannot seek. */
static void skip_input_data(j_decompress_ptr in, long count)
{
    struct jpeg_source_mgr *source = in->src;
    size_t left = count > 0 ? (size_t)count : 0;
    for (; left > source->bytes_in_buffer; fill_input_buffer(in))
        left -= source->bytes_in_buffer;
    source->next_input_byte += left;
    source->bytes_in_buffer -= left;
}

int jpeg_session_read_byte(struct jpeg_session *session)
{
    if (session->source.bytes_in_buffer == 0)
        fill_input_buffer(&session->jpeg.in);
    session->source.bytes_in_buffer--;
    return *session->source.next_input_byte++;
}

enum status jpeg_session_check_end(const struct jpeg_session *session, struct error *error)
{
    return session->file_ended && !session->has_all_pixels
               ? fail(error, STATUS_FAILED, "damaged JPEG: the file ends too early")
               : STATUS_OK;
}

void jpeg_session_warn_missing_end(const struct jpeg_session *session, struct metadata *trailing)
{
    if (session->file_ended || session->lacks_end_marker)
        metadata_warn(trailing, "lacks the marker at its end; all of its pixels were read");
}

bool jpeg_session_has_all_scans(const struct jpeg_session *session)
{
    const struct jpeg_decompress_struct *in = &session->jpeg.in;
    /* Not progressive: each component is in one scan, and gets its quantisation table at the beginning of
       that scan. Progressive: coef_bits is the number of low bits that are still missing, -1 if all are. */
    for (int i = 0; i < in->num_components; i++) {
        if (in->coef_bits == NULL && in->comp_info[i].quant_table == NULL)
            return false;
        for (int k = 0; in->coef_bits != NULL && k < DCTSIZE2; k++)
            if (in->coef_bits[i][k] != 0)
                return false;
    }
    return true;
}

/* ---------------------------------------------------------------- begin, run, end */

/* Step of jpeg_session_run: creates the decoder, or the encoder if there is no source. */
static enum status create_object(void *context, struct error *error)
{
    (void)error;
    struct jpeg_session *session = context;
    if (session->source.fill_input_buffer != NULL) {
        jpeg_create_decompress(&session->jpeg.in);
        session->jpeg.in.src = &session->source;
        session->jpeg.in.progress = &session->progress;
    } else {
        jpeg_create_compress(&session->jpeg.out);
        jpeg_stdio_dest(&session->jpeg.out, session->file);
    }
    return STATUS_OK;
}

/* Sets the callbacks of errors and progress, then creates libjpeg's object in a separate step. */
static enum status open_session(struct jpeg_session *session, struct error *error)
{
    session->jpeg.common.err = jpeg_std_error(&session->errors); /* jpeg_create_... keeps both members */
    session->jpeg.common.client_data = session;
    session->errors.error_exit = error_exit;
    session->errors.emit_message = emit_message;
    session->progress.progress_monitor = progress_monitor;
    session->buffer = allocate(JPEG_BUFFER_SIZE, "JPEG", error);
    return session->buffer == NULL ? STATUS_FAILED : jpeg_session_run(session, create_object, session, error);
}

enum status jpeg_session_open_read(struct jpeg_session *session, const unsigned char *head, size_t size,
                                   FILE *file, struct error *error)
{
    *session = (struct jpeg_session){.file = file};
    session->source = (struct jpeg_source_mgr){.init_source = ignore_source,
                                               .fill_input_buffer = fill_input_buffer,
                                               .skip_input_data = skip_input_data,
                                               .resync_to_restart = jpeg_resync_to_restart,
                                               .term_source = ignore_source};
    set_data(session, head, size);
    return open_session(session, error);
}

enum status jpeg_session_open_write(struct jpeg_session *session, FILE *file, struct error *error)
{
    *session = (struct jpeg_session){.file = file};
    return open_session(session, error);
}

void jpeg_session_close(struct jpeg_session *session)
{
    jpeg_destroy(&session->jpeg.common); /* does nothing if nothing was created */
    free(session->buffer);
    *session = (struct jpeg_session){.file = NULL};
}

enum status jpeg_session_run(struct jpeg_session *session, jpeg_step step, void *context, struct error *error)
{
    session->error = error;
    if (setjmp(session->failed) != 0)
        return STATUS_FAILED;
    return step(context, error);
}
