#include "image/metadata/exif.h"

#include "image/tiff/ifd.h"

#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

enum {
    HEADER_SIZE = 8, /* byte order, 42, offset of the first IFD */
    ENTRY_SIZE = 12, /* tag, type, count, value */
};

int exif_orientation(const struct blob *exif)
{
    struct ifd_source source;
    struct ifd_entry entry;
    uint64_t ifd, value;

    if (!ifd_source_of_blob(exif, &source, &ifd) || !ifd_find(&source, ifd, IFD_ORIENTATION, &entry) ||
        !ifd_unsigned(&source, &entry, &value))
        return 0;
    return value >= 1 && value <= 8 ? (int)value : 0;
}

/* Words in the byte order of the blob. */
static void put_half(unsigned char *to, unsigned value, bool big_endian)
{
    to[big_endian ? 1 : 0] = value & 0xff;
    to[big_endian ? 0 : 1] = value >> 8 & 0xff;
}

static void put_single(unsigned char *to, uint32_t value, bool big_endian)
{
    put_half(to + (big_endian ? 2 : 0), value & 0xffff, big_endian);
    put_half(to + (big_endian ? 0 : 2), value >> 16, big_endian);
}

static void put_orientation(unsigned char *entry, int orientation, bool big_endian)
{
    memset(entry, 0, ENTRY_SIZE);
    put_half(entry, IFD_ORIENTATION, big_endian);
    put_half(entry + 2, TIFF_SHORT, big_endian);
    put_single(entry + 4, 1, big_endian);
    put_half(entry + 8, (unsigned)orientation, big_endian);
}

static enum status set_minimal(struct blob *exif, int orientation, struct error *error)
{
    unsigned char data[HEADER_SIZE + 2 + ENTRY_SIZE + 4] = {'M', 'M', 0, 42, 0, 0, 0, HEADER_SIZE, 0, 1};

    put_orientation(data + HEADER_SIZE + 2, orientation, true);
    return metadata_set_blob(exif, data, sizeof data, error);
}

/* Puts a copy of the first IFD with one entry more behind everything else: no value moves, so that offsets
 * inside maker notes, which nobody but their maker understands, stay right. */
static enum status append_ifd(struct blob *exif, const struct ifd_source *source, uint64_t ifd,
                              int orientation, struct error *error)
{
    const bool big_endian = exif->data[0] == 'M';
    const size_t count = ifd_entry_count(source, ifd);
    const size_t start = (exif->size + 1) & ~(size_t)1;
    struct ifd_entry entry;
    size_t before = 0; /* entries are in order of their tags */

    if (start > UINT32_MAX)
        return set_minimal(exif, orientation, error);
    while (before < count && ifd_entry_at(source, ifd, (uint32_t)before, &entry) &&
           entry.tag < IFD_ORIENTATION)
        before++;
    unsigned char *data = allocate_zeroed(start + 2 + (count + 1) * ENTRY_SIZE + 4, 1, "EXIF data", error);
    if (data == NULL)
        return STATUS_FAILED;
    memcpy(data, exif->data, exif->size);
    put_single(data + 4, (uint32_t)start, big_endian);

    const unsigned char *from = exif->data + ifd + 2;
    unsigned char *to = data + start + 2;
    put_half(to - 2, (unsigned)count + 1, big_endian);
    memcpy(to, from, before * ENTRY_SIZE);
    put_orientation(to + before * ENTRY_SIZE, orientation, big_endian);
    memcpy(to + (before + 1) * ENTRY_SIZE, from + before * ENTRY_SIZE, (count - before) * ENTRY_SIZE);
    /* The link to the next IFD (a thumbnail's), where the data is long enough to have it. */
    if (ifd + 2 + count * ENTRY_SIZE + 4 <= exif->size)
        memcpy(to + (count + 1) * ENTRY_SIZE, from + count * ENTRY_SIZE, 4);

    free(exif->data);
    *exif = (struct blob){.data = data, .size = start + 2 + (count + 1) * ENTRY_SIZE + 4};
    return STATUS_OK;
}

enum status exif_set_orientation(struct blob *exif, int orientation, struct error *error)
{
    struct ifd_source source;
    struct ifd_entry entry;
    uint64_t ifd;
    uint32_t count = ifd_source_of_blob(exif, &source, &ifd) ? ifd_entry_count(&source, ifd) : 0;

    if (count == 0 || ifd + 2 + (uint64_t)count * ENTRY_SIZE > exif->size)
        return set_minimal(exif, orientation, error);
    if (!ifd_find(&source, ifd, IFD_ORIENTATION, &entry))
        return append_ifd(exif, &source, ifd, orientation, error);
    put_orientation(exif->data + entry.at, orientation, exif->data[0] == 'M');
    return STATUS_OK;
}

enum status exif_text(const struct blob *exif, uint16_t tag, char **text, struct error *error)
{
    struct ifd_source source;
    struct ifd_entry entry;
    uint64_t ifd;

    *text = NULL;
    if (!ifd_source_of_blob(exif, &source, &ifd) || !ifd_find(&source, ifd, tag, &entry) ||
        entry.type != TIFF_ASCII)
        return STATUS_OK;
    const char *value = (const char *)exif->data + entry.offset;
    size_t length = strnlen(value, (size_t)entry.size);
    if (length == 0)
        return STATUS_OK;
    *text = allocate(length + 1, "EXIF text", error);
    if (*text == NULL)
        return STATUS_FAILED;
    memcpy(*text, value, length);
    (*text)[length] = '\0';
    return STATUS_OK;
}
