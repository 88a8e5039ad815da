/* Runs libpng with failures as statuses, and counts the memory that chunks take.
 *
 * libpng reports an error by a callback that must not return. It ends with longjmp to png_session_run, which
 * returns STATUS_FAILED; nothing else in climg knows of longjmp. Memory that a step allocates belongs to
 * structs that are freed later, as its local variables are lost. */
#include "image/png/png.h"

#include <ctype.h>
#include <errno.h>
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
    else if (!session->failed)
        fail(session->error, STATUS_FAILED, "damaged PNG: %s", text);
    png_longjmp(png, 1);
}

bool png_session_reserve_budget(struct png_session *session, size_t size)
{
    if (size <= session->room) {
        session->room -= size;
        return true;
    }
    if (session->short_of_memory) {
        session->failed = true;
        fail_memory(session->error, "its metadata take more than --memory-limit leaves for them; raise it");
    } else
        metadata_leave_out(session->metadata, "chunks beyond the limit");
    return false;
}

/* libpng's warnings about a chunk begin with the chunk's name. An optional chunk that is damaged is left out,
 * but not tRNS, without which the picture would be another one. */
static void on_warning(png_structp png, png_const_charp text)
{
    struct png_session *session = png_get_error_ptr(png);
    const bool transparency = strncmp(text, "tRNS", 4) == 0;
    if (session->metadata == NULL || strlen(text) < 5 || text[4] != ':' || !islower((unsigned char)text[0]))
        return;
    session->damaged = strcmp(text + 4, ": CRC error") == 0;
    if (session->damaged && transparency)
        on_error(png, text);
    if (session->damaged) {
        char what[64];
        snprintf(what, sizeof what, "the chunk %.4s is damaged and left out", text);
        metadata_warn(session->metadata, what);
    } else if (transparency)
        metadata_leave_out(session->metadata, "tRNS");
    else if (!png_session_reserve_budget(session, SIZE_MAX) && session->failed) /* it is too long */
        png_longjmp(png, 1);
}

/* libpng skips chunks for which there is no memory: png_session_run makes that an error. */
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

/* Reads for libpng. Keeps the last eight bytes that were read at once, which may be a chunk's header. */
static void on_read(png_structp png, png_bytep data, size_t size)
{
    FILE *file = png_get_io_ptr(png);
    struct png_session *session = png_get_error_ptr(png);
    /* After the last row a limit applies: reader.c's limit_reading. */
    session->surplus = session->limited && size > session->left;
    if (session->surplus)
        png_longjmp(png, 1);
    session->left -= session->limited ? size : 0;
    if (fread(data, 1, size, file) == size) {
        if (size == sizeof session->header)
            memcpy(session->header, data, size);
        return;
    }
    if (ferror(file)) {
        fail(session->error, STATUS_FAILED, "cannot read: %s", strerror(errno));
        png_longjmp(png, 1);
    }
    png_error(png, "the file ends too early");
}

enum status png_session_open(struct png_session *session, FILE *file, struct error *error)
{
    *session = (struct png_session){.error = error};
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
