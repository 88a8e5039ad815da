/* Text and EXIF may stand behind the pixels, but who writes row after row needs them before. So they are
 * copied from the end of the file into a small PNG of their own, which libpng then reads as it does any
 * other:
 *
 *     signature, IHDR, PLTE, IDAT, IDAT, IDAT, tEXt, eXIf, IEND      the file
 *     signature, IHDR (of one pixel), tEXt, eXIf, IDAT (begun)       what is read here
 */
#include "image/format.h"
#include "image/png/metadata.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NAME_SIZE = 4,
    HEADER_SIZE = 8, /* of a chunk: length and name */
    CRC_SIZE = 4,
    AHEAD_SIZE_MAX = 16 << 20,
};

static const unsigned char beginning[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0,    0,    0,
                                          13,   'I', 'H', 'D', 'R',  0,    0,    0,    1,    0,    0,
                                          0,    1,   8,   0,   0,    0,    0,    0x3a, 0x7e, 0x9b, 0x55};
static const unsigned char end[] = {0, 0, 0, 0, 'I', 'D', 'A', 'T'};

void png_metadata_judge_end(const unsigned char *after, struct metadata *metadata)
{
    if (memcmp(after, beginning, SIGNATURE_SIZE) == 0)
        metadata_warn(metadata, "is followed by another picture, which is left out");
}

static bool is_wanted(const unsigned char *name)
{
    static const char wanted[][NAME_SIZE + 1] = {"tEXt", "zTXt", "iTXt", "eXIf", "tIME"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (memcmp(name, wanted[i], NAME_SIZE) == 0)
            return true;
    return false;
}

bool png_metadata_is_late(const unsigned char *name, uint32_t size, const struct blob *behind)
{
    return behind != NULL && is_wanted(name) && size <= AHEAD_SIZE_MAX - HEADER_SIZE - CRC_SIZE &&
           behind->size <= AHEAD_SIZE_MAX - HEADER_SIZE - CRC_SIZE - size;
}

enum status png_metadata_append(struct blob *behind, const void *bytes, size_t size, struct error *error)
{
    unsigned char *grown = realloc(behind->data, behind->size + size + 1 /* so that it is not NULL */);
    if (grown == NULL)
        return fail_memory(error, "out of memory for metadata");
    memcpy(grown + behind->size, bytes, size);
    behind->data = grown;
    behind->size += size;
    return STATUS_OK;
}

/* Nothing is appended where the file does not hold all of it. */
static enum status append_from_file(struct blob *blob, int descriptor, off_t offset, size_t size,
                                    struct error *error)
{
    unsigned char *grown = realloc(blob->data, blob->size + size);
    if (grown == NULL)
        return fail_memory(error, "out of memory for metadata");
    blob->data = grown;
    if (pread(descriptor, grown + blob->size, size, offset) == (ssize_t)size)
        blob->size += size;
    return STATUS_OK;
}

static void look_after_end(int descriptor, off_t offset, struct metadata *metadata)
{
    unsigned char after[SIGNATURE_SIZE];
    if (pread(descriptor, after, sizeof after, offset) == (ssize_t)sizeof after)
        png_metadata_judge_end(after, metadata);
}

/* Collects the wanted chunks behind the first IDAT, and looks at what follows IEND. A file that ends too
 * early ends the search: whoever reads the pixels comes across it and says so. */
static enum status collect(int descriptor, off_t offset, struct blob *chunks, struct metadata *metadata,
                           struct error *error)
{
    unsigned char header[HEADER_SIZE];
    bool behind_pixels = false;
    enum status status = STATUS_OK;
    while (status == STATUS_OK &&
           pread(descriptor, header, sizeof header, offset) == (ssize_t)sizeof header) {
        const unsigned char *name = header + NAME_SIZE;
        size_t size = (size_t)png_get_uint_32(header) + HEADER_SIZE + CRC_SIZE;
        if (memcmp(name, "IEND", NAME_SIZE) == 0) {
            look_after_end(descriptor, offset + (off_t)size, metadata);
            break;
        }
        if (memcmp(name, "IDAT", NAME_SIZE) == 0)
            behind_pixels = true;
        else if (behind_pixels && is_wanted(name) && size <= AHEAD_SIZE_MAX - chunks->size)
            status = append_from_file(chunks, descriptor, offset, size, error);
        offset += (off_t)size;
    }
    return status;
}

struct ahead {
    struct png_session session;
    struct metadata *metadata;
};

static enum status read_chunks(void *context, struct error *error)
{
    struct ahead *ahead = context;
    png_metadata_expect(&ahead->session, ahead->metadata);
    png_session_begin_chunks(&ahead->session);
    png_read_info(ahead->session.png, ahead->session.info);
    return png_metadata_take(&ahead->session, ahead->metadata, error);
}

enum status png_metadata_read_late(const struct blob *chunks, struct metadata *metadata, struct error *error)
{
    size_t size = sizeof beginning + chunks->size + sizeof end;
    unsigned char *png = allocate(size, "metadata", error);
    if (png == NULL)
        return STATUS_FAILED;
    memcpy(png, beginning, sizeof beginning);
    memcpy(png + sizeof beginning, chunks->data, chunks->size);
    memcpy(png + sizeof beginning + chunks->size, end, sizeof end);

    struct ahead ahead = {.metadata = metadata};
    enum status status = STATUS_FAILED;
    FILE *file = fmemopen(png, size, "rb");
    if (file == NULL)
        fail_memory(error, "out of memory for metadata");
    else
        status = png_session_open_read(&ahead.session, file, error);
    if (status == STATUS_OK)
        status = png_session_run(&ahead.session, read_chunks, &ahead, error);
    png_session_close_read(&ahead.session);
    if (file != NULL)
        fclose(file);
    free(png);
    return status;
}

enum status png_metadata_look_ahead(FILE *file, off_t offset, struct metadata *metadata, struct error *error)
{
    struct blob chunks = {NULL, 0};
    if (offset < 0)
        return STATUS_OK;
    enum status status = collect(fileno(file), offset, &chunks, metadata, error);
    if (status == STATUS_OK && chunks.size > 0)
        status = png_metadata_read_late(&chunks, metadata, error);
    free(chunks.data);
    return status;
}
