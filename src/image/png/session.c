/* Runs libpng in steps that return a status, and limits the memory of chunks.
 *
 * libpng reports an error by a callback that must not return. Here the callback leaves the step by longjmp,
 * and png_session_run returns STATUS_FAILED. As the local variables of the step are lost, a step stores the
 * memory that it allocates in structs that are freed later. */
#include "image/png/png.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Fills in the error, unless a callback has done so, and leaves libpng. */
static _Noreturn void on_error(png_structp png, png_const_charp text)
{
    struct png_session *session = png_get_error_ptr(png);
    if (session->out_of_memory)
        fail_memory(session->error, "out of memory for PNG");
    else if (!session->has_error)
        fail(session->error, STATUS_FAILED, "damaged PNG: %s", text);
    png_longjmp(png, 1);
}

bool png_session_reserve_budget(struct png_session *session, size_t size)
{
    if (size <= session->budget) {
        session->budget -= size;
        return true;
    }
    if (session->has_memory_limit) {
        session->has_error = true;
        fail_memory(session->error, "its metadata take more than --memory-limit leaves for them; raise it");
    } else
        metadata_note_left_out(session->metadata, "chunks beyond the limit");
    return false;
}

/* Handles libpng's warnings about an optional chunk, which begin with the chunk's name. libpng leaves the
 * chunk out:
 *
 *     the CRC is wrong                    warn; for tRNS fail, as the picture looks different without it
 *     tRNS does not fit the picture       note that it is left out
 *     the chunk is too long               as png_session_reserve_budget does */
static void on_warning(png_structp png, png_const_charp text)
{
    struct png_session *session = png_get_error_ptr(png);
    const bool is_trns = strncmp(text, "tRNS", 4) == 0;
    if (strlen(text) < 5 || text[4] != ':' || !islower((unsigned char)text[0]))
        return;
    session->has_wrong_crc = strcmp(text + 4, ": CRC error") == 0;
    if (session->has_wrong_crc && is_trns)
        on_error(png, text);
    if (session->has_wrong_crc) {
        char what[64];
        snprintf(what, sizeof what, "the chunk %.4s is damaged and left out", text);
        metadata_warn(session->metadata, what);
    } else if (is_trns)
        metadata_note_left_out(session->metadata, "tRNS");
    else if (!png_session_reserve_budget(session, SIZE_MAX) && session->has_error)
        png_longjmp(png, 1);
}

/* Allocates for libpng, which skips a chunk if this fails: png_session_run makes that an error. */
static png_voidp on_allocate(png_structp png, png_alloc_size_t size)
{
    struct png_session *session = png_get_mem_ptr(png);
    void *memory = malloc(size);
    session->out_of_memory = session->out_of_memory || memory == NULL;
    return memory;
}

static void on_free(png_structp png, png_voidp memory)
{
    (void)png;
    free(memory);
}

/* Reads for libpng. Keeps a copy of the last read of eight bytes: libpng reads chunk headers at once. */
static void on_read(png_structp png, png_bytep data, size_t size)
{
    FILE *file = png_get_io_ptr(png);
    struct png_session *session = png_get_error_ptr(png);
    session->is_beyond_limit = size > session->read_limit;
    if (session->is_beyond_limit)
        png_longjmp(png, 1);
    session->read_limit -= size;
    if (fread(data, 1, size, file) == size) {
        if (size == sizeof session->last_header)
            memcpy(session->last_header, data, size);
        return;
    }
    if (ferror(file)) {
        fail_reading(session->error);
        png_longjmp(png, 1);
    }
    png_error(png, "the file ends too early");
}

enum status png_session_open(struct png_session *session, FILE *file, struct error *error)
{
    *session = (struct png_session){.error = error, .read_limit = SIZE_MAX};
    session->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, session, on_error, on_warning, session,
                                            on_allocate, on_free);
    if (session->png != NULL)
        session->info = png_create_info_struct(session->png);
    if (session->info == NULL)
        return fail_memory(error, "out of memory for PNG");
    /* libpng would refuse more than a million pixels a row. The reader checks the number of pixels. */
    png_set_user_limits(session->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_benign_errors(session->png, 1);
    png_set_read_fn(session->png, file, on_read);
    png_set_crc_action(session->png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
    return STATUS_OK;
}

void png_session_close(struct png_session *session)
{
    png_destroy_read_struct(&session->png, &session->info, NULL);
}

enum status png_session_run(struct png_session *session, png_step step, void *context, struct error *error)
{
    session->error = error;
    if (setjmp(png_jmpbuf(session->png)) != 0)
        return STATUS_FAILED;
    enum status status = step(context, error);
    if (status == STATUS_OK && session->out_of_memory)
        return fail_memory(error, "out of memory for PNG");
    return status;
}
