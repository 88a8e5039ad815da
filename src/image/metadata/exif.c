/* Reads and changes EXIF, as PNG's eXIf chunk stores it: a classic TIFF structure of either byte order.
 *
 *     header ─▶ first IFD: orientation, resolution, make ─▶ second IFD: the thumbnail
 *                  └─▶ EXIF IFD: size, exposure, maker note ─▶ interoperability
 *
 * No value ever moves, as offsets inside maker notes, which only their maker understands, must stay right:
 * numbers are changed in place, an entry is removed by moving later entries up, and a longer table, for a new
 * orientation, is appended. */
#include "image/metadata/metadata.h"

#include "base/text.h"
#include "image/ifd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

enum {
    HEADER_SIZE = 8,     /* byte order, the number 42, offset of the first IFD */
    ENTRY_SIZE = 12,     /* tag, type, count, value */
    FIRST_IFD = 4,       /* position of the offset of the first IFD in the header */
    GROWN_MAX = 1 << 30, /* maximum bytes of EXIF to which an entry is added: offsets have 32 bits */
};

bool exif_has_header(const void *data, size_t size)
{
    return size >= 4 && (memcmp(data, "II*\0", 4) == 0 || memcmp(data, "MM\0*", 4) == 0);
}

int exif_orientation(const struct blob *exif)
{
    struct ifd ifd;
    uint64_t value;
    const bool is_present = ifd_of_blob(exif, &ifd) && ifd_find_unsigned(&ifd, IFD_ORIENTATION, &value);
    return is_present && value >= 1 && value <= 8 ? (int)value : 0;
}

/* Read and write a number of up to four bytes in the blob's byte order. The caller checks the bounds. */
static uint32_t read_uint(const struct blob *exif, size_t at, size_t size)
{
    const bool big_endian = exif->data[0] == 'M';
    uint32_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | exif->data[at + (big_endian ? i : size - 1 - i)];
    return value;
}

static void write_uint(struct blob *exif, size_t at, size_t size, uint32_t value)
{
    const bool big_endian = exif->data[0] == 'M';
    for (size_t i = 0; i < size; i++, value >>= 8)
        exif->data[at + (big_endian ? size - 1 - i : i)] = (unsigned char)value;
}

/* Writes an entry of one TIFF_SHORT or TIFF_LONG. */
static void put_entry(struct blob *exif, size_t at, uint16_t tag, uint16_t type, uint32_t value)
{
    write_uint(exif, at, 2, tag);
    write_uint(exif, at + 2, 2, type);
    write_uint(exif, at + 4, 4, 1);
    write_uint(exif, at + 8, 4, 0);
    write_uint(exif, at + 8, type == TIFF_SHORT ? 2 : 4, value);
}

/* True if the IFD has entries, and all are inside the blob. */
static bool has_table(const struct blob *exif, const struct ifd *ifd)
{
    const uint64_t count = ifd_entry_count(ifd);
    return count > 0 && ifd->at + 2 + count * ENTRY_SIZE <= exif->size;
}

enum status exif_set_orientation(struct blob *exif, int orientation, struct error *error)
{
    static const unsigned char minimal[] = {'M', 'M', 0, 42, 0, 0, 0, 8, /* header */
                                            0,   1,   1, 18, 0, 3, 0, 0, 0,
                                            1,   0,   1, 0,  0, 0, 0, 0, 0}; /* IFD */
    struct ifd ifd;
    struct ifd_entry entry;
    const bool is_readable = ifd_of_blob(exif, &ifd) && has_table(exif, &ifd) && exif->size < GROWN_MAX;
    if (!is_readable && metadata_set_blob(exif, minimal, sizeof minimal, error) != STATUS_OK)
        return STATUS_FAILED;
    ifd_of_blob(exif, &ifd);
    if (ifd_find(&ifd, IFD_ORIENTATION, &entry)) {
        put_entry(exif, (size_t)entry.at, IFD_ORIENTATION, TIFF_SHORT, (uint32_t)orientation);
        return STATUS_OK;
    }
    /* Append a copy of the first IFD with one more entry, and make it the first. */
    const size_t count = ifd_entry_count(&ifd), old_table = (size_t)ifd.at + 2,
                 at = (exif->size + 1) & ~(size_t)1, table = at + 2,
                 size = table + (count + 1) * ENTRY_SIZE + 4;
    size_t before = 0; /* bytes of the entries with smaller tags */
    while (before < count * ENTRY_SIZE && read_uint(exif, old_table + before, 2) < IFD_ORIENTATION)
        before += ENTRY_SIZE;
    /* Old data, number of entries, entries before the new one, the new one, the others, link to the
     * thumbnail. */
    struct blob longer = {allocate_zeroed(size, 1, "EXIF data", error), size};
    if (longer.data == NULL)
        return STATUS_FAILED;
    memcpy(longer.data, exif->data, exif->size);
    write_uint(&longer, FIRST_IFD, 4, (uint32_t)at);
    write_uint(&longer, at, 2, (uint32_t)count + 1);
    memcpy(longer.data + table, exif->data + old_table, before);
    put_entry(&longer, table + before, IFD_ORIENTATION, TIFF_SHORT, (uint32_t)orientation);
    memcpy(longer.data + table + before + ENTRY_SIZE, exif->data + old_table + before,
           count * ENTRY_SIZE - before);
    if (old_table + count * ENTRY_SIZE + 4 <= exif->size)
        memcpy(longer.data + size - 4, exif->data + old_table + count * ENTRY_SIZE, 4);
    free(exif->data);
    *exif = longer;
    return STATUS_OK;
}

enum status exif_with_orientation(const struct metadata *metadata, bool copied, struct blob *exif,
                                  struct error *error)
{
    const int upright = 1; /* the default */
    enum status status = STATUS_OK;
    *exif = (struct blob){NULL, 0};
    if (copied && metadata->exif.data != NULL)
        status = metadata_set_blob(exif, metadata->exif.data, metadata->exif.size, error);
    const int stored = exif->data == NULL ? 0 : exif_orientation(exif);
    const int wanted = metadata->orientation == 0 ? stored : metadata->orientation;
    if (status == STATUS_OK && wanted > 0 && wanted != (stored == 0 ? upright : stored))
        status = exif_set_orientation(exif, wanted, error);
    return status;
}

/* Finds a tag in the first IFD (`in` is 0), or in the IFD to which the first one's tag `in` points. */
static bool find_entry(const struct blob *exif, uint16_t in, uint16_t tag, struct ifd_entry *entry)
{
    struct ifd ifd;
    return ifd_of_blob(exif, &ifd) && (in == 0 || ifd_sub(&ifd, in, &ifd)) && ifd_find(&ifd, tag, entry);
}

/* Sets a tag of one number, if it is present, to a TIFF_SHORT or TIFF_LONG. */
static void set_number(struct blob *exif, uint16_t in, uint16_t tag, uint16_t type, uint32_t value)
{
    struct ifd_entry entry;
    /* The last two bytes of an entry may be missing at the end of the data. */
    if (find_entry(exif, in, tag, &entry) && entry.count == 1 && entry.at + ENTRY_SIZE <= exif->size)
        put_entry(exif, (size_t)entry.at, tag, type, value);
}

void exif_set_space(struct blob *exif, bool is_srgb)
{
    enum { SRGB = 1, UNCALIBRATED = 0xffff };
    set_number(exif, IFD_EXIF, EXIFTAG_COLORSPACE, TIFF_SHORT, is_srgb ? SRGB : UNCALIBRATED);
}

/* Reads a tag of one rational, and returns the offset of its numerator, which the denominator follows. 0: it
 * is missing or not a positive number. */
static size_t find_rational(const struct blob *exif, uint16_t in, uint16_t tag, double *value)
{
    struct ifd_entry entry;
    if (!find_entry(exif, in, tag, &entry) || entry.type != TIFF_RATIONAL || entry.count != 1)
        return 0;
    *value = (double)read_uint(exif, (size_t)entry.offset, 4) / read_uint(exif, (size_t)entry.offset + 4, 4);
    return *value > 0 && isfinite(*value) ? (size_t)entry.offset : 0;
}

/* Writes a rational with the denominator 10^6, or a smaller power of 10 if the numerator would not fit. */
static void put_rational(struct blob *exif, size_t at, double value)
{
    double denominator = 1e6;
    while (denominator > 1 && value * denominator > UINT32_MAX)
        denominator /= 10;
    write_uint(exif, at, 4, (uint32_t)fmin(round(value * denominator), UINT32_MAX));
    write_uint(exif, at + 4, 4, (uint32_t)denominator);
}

bool exif_resolution(const struct blob *exif, double *x, double *y, int *unit)
{
    struct ifd ifd;
    struct ifd_entry entry;
    uint64_t number = RESUNIT_INCH;
    if (!ifd_of_blob(exif, &ifd) || find_rational(exif, 0, TIFFTAG_XRESOLUTION, x) == 0 ||
        find_rational(exif, 0, TIFFTAG_YRESOLUTION, y) == 0)
        return false;
    if (ifd_find(&ifd, TIFFTAG_RESOLUTIONUNIT, &entry))
        ifd_unsigned(&ifd, &entry, &number);
    *unit = (int)number;
    return number >= RESUNIT_NONE && number <= RESUNIT_CENTIMETER;
}

/* Updates a pair of resolutions, if both are present. */
static void update_densities(struct blob *exif, uint16_t in, uint16_t x_tag, uint16_t y_tag,
                             const struct change *change)
{
    double x, y;
    const size_t x_at = find_rational(exif, in, x_tag, &x), y_at = find_rational(exif, in, y_tag, &y);
    if (x_at == 0 || y_at == 0)
        return;
    affine_densities(&change->from, &x, &y);
    put_rational(exif, x_at, x);
    put_rational(exif, y_at, y);
}

/* Removes an entry from the EXIF IFD, but not the bytes of its value. True if there was one. */
static bool remove_entry(struct blob *exif, uint16_t tag)
{
    struct ifd ifd;
    struct ifd_entry entry;
    if (!ifd_of_blob(exif, &ifd) || !ifd_sub(&ifd, IFD_EXIF, &ifd) || !ifd_find(&ifd, tag, &entry) ||
        !has_table(exif, &ifd))
        return false;
    const uint32_t count = ifd_entry_count(&ifd);
    const size_t end = (size_t)ifd.at + 2 + (size_t)count * ENTRY_SIZE, next = (size_t)entry.at + ENTRY_SIZE;
    const size_t link_size = exif->size - end < 4 ? exif->size - end : 4;
    memmove(exif->data + entry.at, exif->data + next, end + link_size - next);
    write_uint(exif, (size_t)ifd.at, 2, count - 1);
    return true;
}

void exif_update(struct metadata *metadata, const struct change *change)
{
    struct blob *exif = &metadata->exif;
    set_number(exif, 0, TIFFTAG_IMAGEWIDTH, TIFF_LONG, change->out_width);
    set_number(exif, 0, TIFFTAG_IMAGELENGTH, TIFF_LONG, change->out_height);
    set_number(exif, IFD_EXIF, EXIFTAG_PIXELXDIMENSION, TIFF_LONG, change->out_width);
    set_number(exif, IFD_EXIF, EXIFTAG_PIXELYDIMENSION, TIFF_LONG, change->out_height);
    update_densities(exif, 0, TIFFTAG_XRESOLUTION, TIFFTAG_YRESOLUTION, change);
    update_densities(exif, IFD_EXIF, EXIFTAG_FOCALPLANEXRESOLUTION, EXIFTAG_FOCALPLANEYRESOLUTION, change);
    const bool had_area = remove_entry(exif, EXIFTAG_SUBJECTAREA);
    if (remove_entry(exif, EXIFTAG_SUBJECTLOCATION) || had_area)
        metadata_note_left_out(metadata, "the place of EXIF's subject");
}

void exif_drop_maker_note(struct metadata *metadata)
{
    /* In notes of these makers, offsets count from the note itself, in others from the start of EXIF. Source:
     * ExifTool's MakerNotes.pm, where these have a `Base`. */
    static const struct {
        const char *start;
        size_t size;
    } makers[] = {{"Apple iOS", 9},    {"Nikon\0\2", 7}, {"OLYMPUS\0", 8},
                  {"OM SYSTEM\0", 10}, {"FUJIFILM", 8},  {"PENTAX \0", 8}};
    struct blob *exif = &metadata->exif;
    struct ifd_entry note;
    if (!find_entry(exif, IFD_EXIF, EXIFTAG_MAKERNOTE, &note))
        return;
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        if (note.size >= makers[i].size &&
            memcmp(exif->data + note.offset, makers[i].start, makers[i].size) == 0)
            return;
    if (remove_entry(exif, EXIFTAG_MAKERNOTE))
        metadata_note_left_out(metadata, "the maker note, whose offsets count from the start of the file");
}

/* Overwrites a thumbnail with zeros: if it were only unlinked, its bytes would still show what a stage has
 * blurred. */
struct eraser {
    struct blob *exif;
    uint64_t table, table_end; /* range of the first IFD, which is not overwritten */
    uint64_t left;             /* bytes that may still be overwritten: limits the time if strips overlap */
};

/* Overwrites a range with zeros, if it is outside the first IFD. At the end of the data, cuts it off instead.
 * A range that reaches beyond the data, as of a thumbnail that was cut off, ends there. */
static void erase(struct eraser *eraser, uint64_t start, uint64_t size)
{
    struct blob *exif = eraser->exif;
    if (start < HEADER_SIZE || start > exif->size)
        return;
    if (size > exif->size - start)
        size = exif->size - start;
    if (size > eraser->left || (start < eraser->table_end && start + size > eraser->table))
        return;
    eraser->left -= size;
    memset(exif->data + start, 0, (size_t)size);
    if (start + size == exif->size)
        exif->size = (size_t)start;
}

/* Returns the position of the link to the second IFD, which describes the thumbnail, or 0. */
static size_t thumbnail_link(const struct blob *exif)
{
    struct ifd ifd;
    if (!ifd_of_blob(exif, &ifd) || ifd.at < HEADER_SIZE || ifd_entry_count(&ifd) == 0)
        return 0;
    uint64_t link = ifd.at + 2 + (uint64_t)ifd_entry_count(&ifd) * ENTRY_SIZE;
    const bool is_set = link <= exif->size && exif->size - link >= 4 && read_uint(exif, (size_t)link, 4) != 0;
    return is_set ? (size_t)link : 0;
}

bool exif_has_thumbnail(const struct blob *exif)
{
    return thumbnail_link(exif) != 0;
}

bool exif_shares_tag(uint32_t tag)
{
    enum { RATING = 18246, RATING_PERCENT = 18249, XP_TITLE = 40091, XP_SUBJECT = 40095 };
    return tag == TIFFTAG_HOSTCOMPUTER || tag == RATING || tag == RATING_PERCENT ||
           (tag >= XP_TITLE && tag <= XP_SUBJECT);
}

void exif_to_page(struct metadata *metadata)
{
    /* Tags that need no note: climg writes them, or they describe how pixels are stored. */
    static const uint16_t unnoted[] = {254, 255, 256, 257, 258, 259, 262,   270,   271,  272, 273,
                                       274, 277, 278, 279, 282, 283, 284,   296,   305,  306, 315,
                                       513, 514, 529, 530, 531, 532, 33432, 34665, 34853};
    struct ifd ifd;
    struct ifd_entry entry;
    char name[32];
    exif_drop_maker_note(metadata);
    const uint32_t count = ifd_of_blob(&metadata->exif, &ifd) ? ifd_entry_count(&ifd) : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (ifd_entry_at(&ifd, i, &entry) && exif_shares_tag(entry.tag)) { /* copy it; text ends in NUL */
            struct error ignored;
            const bool is_text = entry.tag == TIFFTAG_HOSTCOMPUTER;
            const uint16_t type = is_text ? TIFF_ASCII : entry.tag < TIFFTAG_EXIFIFD ? TIFF_SHORT : TIFF_BYTE;
            const size_t size = (size_t)entry.size + is_text;
            const bool has_type = entry.type == type || (entry.type == TIFF_UNDEFINED && type == TIFF_BYTE);
            if (metadata_tag(metadata, entry.tag) != NULL) /* the TIFF has it */
                continue;
            unsigned char *data = has_type ? allocate_zeroed(size, 1, "EXIF data", &ignored) : NULL;
            if (data == NULL || !ifd_read_values(&ifd, &entry, false, data) ||
                metadata_set_tag(metadata, entry.tag, data, size, &ignored) != STATUS_OK)
                metadata_note_left_out(metadata, "a part of EXIF");
            free(data);
        } else if (ifd_entry_at(&ifd, i, &entry) &&
                   !ifd_tag_is_in(entry.tag, unnoted, sizeof unnoted / sizeof unnoted[0])) {
            snprintf(name, sizeof name, "EXIF's tag %u", entry.tag);
            metadata_note_left_out(metadata, name);
        }
    }
    if (exif_has_thumbnail(&metadata->exif))
        metadata_note_left_out(metadata, "the EXIF thumbnail");
}

bool exif_drop_thumbnail(struct blob *exif)
{
    struct ifd ifd;
    struct ifd_entry starts, sizes;
    uint64_t jpeg, jpeg_size, start, size;
    const size_t link = thumbnail_link(exif);

    if (link == 0 || !ifd_of_blob(exif, &ifd))
        return false;
    struct eraser eraser = {.exif = exif, .table = ifd.at, .table_end = link + 4, .left = exif->size};
    ifd.at = read_uint(exif, link, 4); /* the thumbnail's */
    write_uint(exif, link, 4, 0);
    const bool is_jpeg = ifd_find_unsigned(&ifd, TIFFTAG_JPEGIFOFFSET, &jpeg) &&
                         ifd_find_unsigned(&ifd, TIFFTAG_JPEGIFBYTECOUNT, &jpeg_size);
    const uint32_t count = ifd_entry_count(&ifd);
    /* The strips of a thumbnail that is not compressed, the IFD, a JPEG. */
    const bool has_strips =
        ifd_find(&ifd, TIFFTAG_STRIPOFFSETS, &starts) && ifd_find(&ifd, TIFFTAG_STRIPBYTECOUNTS, &sizes);
    for (uint64_t i = 0; has_strips && i < starts.count && i < sizes.count; i++) {
        struct ifd_entry strip_start = starts, strip_size = sizes; /* element i of the arrays */
        strip_start.offset += i * (starts.size / starts.count);
        strip_size.offset += i * (sizes.size / sizes.count);
        if (ifd_unsigned(&ifd, &strip_start, &start) && ifd_unsigned(&ifd, &strip_size, &size))
            erase(&eraser, start, size);
    }
    if (count > 0)
        erase(&eraser, ifd.at, 2 + (uint64_t)count * ENTRY_SIZE);
    if (is_jpeg)
        erase(&eraser, jpeg, jpeg_size);
    return true;
}

enum status exif_text(const struct blob *exif, uint16_t tag, char **text, struct error *error)
{
    struct ifd_entry entry;
    *text = NULL;
    if (!find_entry(exif, 0, tag, &entry) || entry.type != TIFF_ASCII)
        return STATUS_OK;
    const char *value = (const char *)exif->data + entry.offset;
    const bool has_two = tag == TIFFTAG_COPYRIGHT; /* the photographer's and the editor's */
    const size_t size = (size_t)entry.size, length = has_two ? size : strnlen(value, size);
    if (length == 0 || value[0] == '\0')
        return STATUS_OK;
    *text = allocate(length + 1, "EXIF text", error);
    if (*text == NULL)
        return STATUS_FAILED;
    memcpy(*text, value, length);
    (*text)[length] = '\0';
    text_join(*text, length + 1);
    return STATUS_OK;
}

/* Appends the text of a tag, after a separator unless `text` is empty. */
static void append_text(const struct blob *exif, uint16_t in, uint16_t tag, const char *separator, char *text,
                        size_t size)
{
    struct ifd_entry entry;
    if (!find_entry(exif, in, tag, &entry) || entry.type != TIFF_ASCII)
        return;
    const char *value = (const char *)exif->data + entry.offset;
    int length = (int)strnlen(value, (size_t)entry.size);
    while (length > 0 && value[length - 1] == ' ') /* makers pad their names */
        length--;
    text_append(text, size, "%s%.*s", text[0] != '\0' && length > 0 ? separator : "", length, value);
}

void exif_describe(const struct blob *exif, char *text, size_t size)
{
    struct ifd ifd;
    struct ifd_entry entry;
    uint64_t iso;
    double value;
    char make[64] = "", model[64] = "";
    text[0] = '\0';
    append_text(exif, 0, TIFFTAG_MAKE, "", make, sizeof make);
    append_text(exif, 0, TIFFTAG_MODEL, "", model, sizeof model);
    /* Many models begin with the make: "Canon" and "Canon EOS R6". */
    const bool is_repeated = strncmp(model, make, strcspn(make, " ")) == 0;
    text_append(text, size, "%s%s%s", is_repeated ? "" : make, is_repeated || model[0] == '\0' ? "" : " ",
                model);
    append_text(exif, IFD_EXIF, EXIFTAG_DATETIMEORIGINAL, ", ", text, size);
    if (find_rational(exif, IFD_EXIF, EXIFTAG_EXPOSURETIME, &value) != 0)
        text_append(text, size, value < 0.3 ? ", 1/%.0f s" : ", %.3g s", value < 0.3 ? 1 / value : value);
    if (find_rational(exif, IFD_EXIF, EXIFTAG_FNUMBER, &value) != 0)
        text_append(text, size, ", f/%.3g", value);
    if (ifd_of_blob(exif, &ifd) && ifd_sub(&ifd, IFD_EXIF, &ifd) &&
        ifd_find_unsigned(&ifd, EXIFTAG_ISOSPEEDRATINGS, &iso))
        text_append(text, size, ", ISO %u", (unsigned)iso);
    if (find_rational(exif, IFD_EXIF, EXIFTAG_FOCALLENGTH, &value) != 0)
        text_append(text, size, ", %.3g mm", value);
    if (find_entry(exif, IFD_GPS, GPSTAG_LATITUDE, &entry))
        text_append(text, size, ", with GPS position");
    if (strncmp(text, ", ", 2) == 0)
        memmove(text, text + 2, strlen(text + 2) + 1);
}
