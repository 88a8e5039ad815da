#include "image/tiff/exif.h"

#include <stdlib.h>
#include <string.h>

/* What EXIF has in its first IFD and nobody else would keep, or cameras' software expects there. */
static bool belongs_to_exif(uint16_t tag)
{
    return tag == IFD_MAKE || tag == IFD_MODEL || tag == IFD_ORIENTATION || tag == IFD_EXIF || tag == IFD_GPS;
}

enum status tiff_exif_read(struct tiff_file *file, struct blob *exif, struct error *error)
{
    const uint16_t magic = 42;
    const uint32_t first = 8;
    struct ifd_sink sink = {.base = 0};
    struct ifd_source source;
    uint64_t ifd, sub, offset;

    tiff_file_ifd(file, &source, &ifd);
    if (!ifd_find_sub(&source, ifd, IFD_EXIF, &sub) && !ifd_find_sub(&source, ifd, IFD_GPS, &sub))
        return STATUS_OK;
    unsigned char *header = ifd_sink_grow(&sink, 8, error);
    if (header == NULL)
        return STATUS_FAILED;
    header[0] = header[1] = TIFFIsBigEndian(file->tiff) != TIFFIsByteSwapped(file->tiff) ? 'M' : 'I';
    memcpy(header + 2, &magic, sizeof magic);
    memcpy(header + 4, &first, sizeof first);
    enum status status = ifd_copy(&source, ifd, belongs_to_exif, &sink, &offset, error);
    if (status == STATUS_OK && offset != 0)
        status = metadata_set_blob(exif, sink.bytes.data, sink.bytes.size, error);
    free(sink.bytes.data);
    return status;
}

static enum status append_sub(struct tiff_file *file, const struct ifd_source *source, uint64_t ifd,
                              uint16_t tag, struct error *error)
{
    /* libtiff puts everything at the end of the file, wherever that is by then. */
    struct ifd_sink sink = {.base = (file->size + 1) & ~(uint64_t)1, .big = TIFFIsBigTIFF(file->tiff)};
    uint64_t from, to;
    enum status status = STATUS_OK;

    if (!ifd_find_sub(source, ifd, tag, &from))
        return STATUS_OK;
    status = ifd_copy(source, from, NULL, &sink, &to, error);
    if (status == STATUS_OK && to != 0 &&
        (!tiff_file_write_at(file, sink.base, sink.bytes.data, sink.bytes.size) ||
         !TIFFSetField(file->tiff, tag, to)))
        status = tiff_file_not_written(file, error);
    free(sink.bytes.data);
    return status;
}

enum status tiff_exif_write(struct tiff_file *file, const struct blob *exif, struct error *error)
{
    struct ifd_source source;
    uint64_t ifd;

    if (!ifd_source_of_blob(exif, &source, &ifd))
        return STATUS_OK;
    enum status status = append_sub(file, &source, ifd, IFD_EXIF, error);
    return status == STATUS_OK ? append_sub(file, &source, ifd, IFD_GPS, error) : status;
}
