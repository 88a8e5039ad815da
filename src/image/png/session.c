#include "image/png/session.h"

#include "base/text.h"

#include <endian.h>
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* A chunk unpacks to at most this many bytes, and at most this many are kept, so that a small file cannot
     * unpack to much. The largest real ones are ICC profiles and XMP of a few megabytes. */
    CHUNK_SIZE_MAX = 16 << 20,
    CHUNK_COUNT_MAX = 128,
    CHUNKS_SIZE_MAX = 96 << 20, /* of all together */
};

static _Noreturn void on_error(png_structp png, png_const_charp text)
{
    struct png_session *session = png_get_error_ptr(png);
    if (session->out_of_memory)
        fail_memory(session->error, "out of memory for PNG");
    else
        fail(session->error, STATUS_FAILED, "%s: %s", session->trouble, text);
    png_longjmp(png, 1);
}

/* A chunk that is damaged costs no more than itself; but without tRNS pixels would be others. "iCCP: ..." of
 * another chunk may be about what was put right. */
static void on_warning(png_structp png, png_const_charp text)
{
    static const char damage[] = ": CRC error";
    struct png_session *session = png_get_error_ptr(png);
    char what[64];
    if (session->metadata == NULL || strlen(text) < strlen(damage))
        return;
    if (strcmp(text + strlen(text) - strlen(damage), damage) != 0) {
        text_append(session->doubted, sizeof session->doubted, "%.5s", text);
        return;
    }
    if (strncmp(text, "tRNS", 4) == 0)
        on_error(png, text);
    snprintf(what, sizeof what, "the chunk %.4s is damaged and left out", text);
    metadata_warn(session->metadata, what);
}

/* libpng leaves out the metadata for which there is no memory, with a warning; this remembers that it did. */
static png_voidp on_allocate(png_structp png, png_alloc_size_t size)
{
    struct png_session *session = png_get_mem_ptr(png);
    if (session->most > 0 && (session->held > session->most || size > session->most - session->held)) {
        if (session->metadata != NULL)
            metadata_leave_out(session->metadata, "chunks beyond the limit");
        png_set_chunk_cache_max(png, 1); /* libpng passes over the texts to come */
        return NULL;
    }
    void *memory = malloc(size);
    if (memory == NULL)
        session->out_of_memory = true;
    session->held += memory == NULL ? 0 : malloc_usable_size(memory);
    return memory;
}

static void on_free(png_structp png, png_voidp memory)
{
    struct png_session *session = png_get_mem_ptr(png);
    session->held -= memory == NULL ? 0 : malloc_usable_size(memory);
    free(memory);
}

static void on_read(png_structp png, png_bytep data, size_t size)
{
    FILE *file = png_get_io_ptr(png);
    struct png_session *session = png_get_error_ptr(png);
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

static void on_write(png_structp png, png_bytep data, size_t size)
{
    FILE *file = png_get_io_ptr(png);
    if (fwrite(data, 1, size, file) == size)
        return;
    fail_writing(((struct png_session *)png_get_error_ptr(png))->error, errno);
    png_longjmp(png, 1);
}

static void on_flush(png_structp png)
{
    (void)png; /* the file is flushed when it is complete */
}

/* Whether both structs are there; then the limits are set. */
static enum status prepare(struct png_session *session, struct error *error)
{
    if (session->png != NULL)
        session->info = png_create_info_struct(session->png);
    if (session->info == NULL)
        return fail_memory(error, "out of memory for PNG");
    /* libpng would refuse more than a million pixels a row. The number of pixels is checked by the reader. */
    png_set_user_limits(session->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(session->png, CHUNK_SIZE_MAX);
    png_set_chunk_cache_max(session->png, CHUNK_COUNT_MAX);
    png_set_benign_errors(session->png, 1);
    return STATUS_OK;
}

enum status png_session_open_read(struct png_session *session, FILE *file, struct error *error)
{
    *session = (struct png_session){.file = file, .trouble = "damaged PNG", .error = error};
    session->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, session, on_error, on_warning, session,
                                            on_allocate, on_free);
    enum status status = prepare(session, error);
    if (status == STATUS_OK)
        png_set_read_fn(session->png, file, on_read);
    if (status == STATUS_OK)
        png_set_crc_action(session->png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
    return status;
}

enum status png_session_open_write(struct png_session *session, FILE *file, struct error *error)
{
    *session = (struct png_session){.file = file, .trouble = "cannot encode as PNG", .error = error};
    session->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, session, on_error, on_warning, session,
                                             on_allocate, on_free);
    enum status status = prepare(session, error);
    if (status == STATUS_OK)
        png_set_write_fn(session->png, file, on_write, on_flush);
    return status;
}

bool png_session_doubts(const struct png_session *session, const char *name)
{
    return strstr(session->doubted, name) != NULL;
}

void png_session_begin_chunks(struct png_session *session)
{
    session->most = CHUNKS_SIZE_MAX;
}

void png_session_end_chunks(struct png_session *session)
{
    session->most = 0;
}

void png_session_close_read(struct png_session *session)
{
    png_destroy_read_struct(&session->png, &session->info, NULL);
}

void png_session_close_write(struct png_session *session)
{
    png_destroy_write_struct(&session->png, &session->info);
}

void png_session_set_host_order(struct png_session *session)
{
    if (BYTE_ORDER == LITTLE_ENDIAN && png_get_bit_depth(session->png, session->info) == 16)
        png_set_swap(session->png);
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
