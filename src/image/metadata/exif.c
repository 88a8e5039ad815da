/* EXIF data as PNG's eXIf chunk holds it: a small classic TIFF structure of either byte order. */
#include "image/metadata/follow.h"

#include "base/text.h"
#include "image/ifd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

enum {
    HEADER_SIZE = 8, /* byte order, 42, offset of the first IFD */
    ENTRY_SIZE = 12, /* tag, type, count, value */
    FIRST_IFD = 4,   /* where the header says where the first IFD is */
    GAMMA = 42240,   /* EXIF 2.21; 1 / gAMA. libtiff has no name for it */
    GROWN_MAX = 1 << 30,
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

static bool is_big_endian(const struct blob *exif)
{
    return exif->data[0] == 'M';
}

static unsigned get_half(const struct blob *exif, size_t at)
{
    const unsigned char *from = exif->data + at;
    return is_big_endian(exif) ? (unsigned)from[0] << 8 | from[1] : (unsigned)from[1] << 8 | from[0];
}

static uint32_t get_single(const struct blob *exif, size_t at)
{
    const unsigned char *from = exif->data + at;
    if (is_big_endian(exif))
        return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
    return (uint32_t)from[3] << 24 | (uint32_t)from[2] << 16 | (uint32_t)from[1] << 8 | from[0];
}

/* An entry of one element, whose value or offset is `value`. */
struct new_entry {
    uint16_t tag, type;
    uint32_t value;
};

static void put_entry(unsigned char *to, struct new_entry entry, bool big_endian)
{
    memset(to, 0, ENTRY_SIZE);
    put_half(to, entry.tag, big_endian);
    put_half(to + 2, entry.type, big_endian);
    put_single(to + 4, 1, big_endian);
    if (entry.type == TIFF_SHORT)
        put_half(to + 8, entry.value, big_endian);
    else
        put_single(to + 8, entry.value, big_endian);
}

/* Whether the table of an IFD lies in the blob; an offset of 0 is an IFD without entries. */
static bool has_table(const struct blob *exif, const struct ifd_source *source, uint64_t ifd)
{
    return ifd == 0 || ifd + 2 + (uint64_t)ifd_entry_count(source, ifd) * ENTRY_SIZE <= exif->size;
}

/* Absent or unreadable data becomes data without entries. */
static enum status make_readable(struct blob *exif, struct error *error)
{
    static const unsigned char blank[HEADER_SIZE] = {'M', 'M', 0, 42};
    struct ifd_source source;
    uint64_t ifd;
    if (ifd_source_of_blob(exif, &source, &ifd) && ifd_entry_count(&source, ifd) > 0 &&
        has_table(exif, &source, ifd) && exif->size < GROWN_MAX)
        return STATUS_OK;
    return metadata_set_blob(exif, blank, sizeof blank, error);
}

/* Zeroed bytes behind all others, at the even offset *at. */
static enum status append(struct blob *exif, size_t size, size_t *at, struct error *error)
{
    *at = (exif->size + 1) & ~(size_t)1;
    unsigned char *data = allocate_zeroed(*at + size, 1, "EXIF data", error);
    if (data == NULL)
        return STATUS_FAILED;
    memcpy(data, exif->data, exif->size);
    free(exif->data);
    *exif = (struct blob){.data = data, .size = *at + size};
    return STATUS_OK;
}

/* Puts a copy of an IFD with one entry more behind everything else, and its offset where `pointer` is: no
 * value moves, so that offsets inside maker notes, which nobody but their maker understands, stay right. */
static enum status insert(struct blob *exif, size_t pointer, struct new_entry entry, struct error *error)
{
    const bool big_endian = is_big_endian(exif);
    const uint64_t ifd = get_single(exif, pointer);
    struct ifd_source source;
    struct ifd_entry there;
    uint64_t first;
    size_t at, before = 0; /* entries are in order of their tags */

    ifd_source_of_blob(exif, &source, &first);
    const size_t count = has_table(exif, &source, ifd) ? ifd_entry_count(&source, ifd) : 0;
    while (before < count && ifd_entry_at(&source, ifd, (uint32_t)before, &there) && there.tag < entry.tag)
        before++;
    if (append(exif, 2 + (count + 1) * ENTRY_SIZE + 4, &at, error) != STATUS_OK)
        return STATUS_FAILED;

    const unsigned char *from = exif->data + ifd + 2;
    unsigned char *to = exif->data + at + 2;
    put_half(to - 2, (unsigned)count + 1, big_endian);
    put_entry(to + before * ENTRY_SIZE, entry, big_endian);
    if (count > 0) {
        memcpy(to, from, before * ENTRY_SIZE);
        memcpy(to + (before + 1) * ENTRY_SIZE, from + before * ENTRY_SIZE, (count - before) * ENTRY_SIZE);
        /* The link to the next IFD (a thumbnail's), where the data is long enough to have it. */
        if (ifd + 2 + count * ENTRY_SIZE + 4 <= at)
            memcpy(to + (count + 1) * ENTRY_SIZE, from + count * ENTRY_SIZE, 4);
    }
    put_single(exif->data + pointer, (uint32_t)at, big_endian);
    return STATUS_OK;
}

enum status exif_set_orientation(struct blob *exif, int orientation, struct error *error)
{
    const struct new_entry entry = {IFD_ORIENTATION, TIFF_SHORT, (uint32_t)orientation};
    struct ifd_source source;
    struct ifd_entry there;
    uint64_t ifd;

    if (make_readable(exif, error) != STATUS_OK)
        return STATUS_FAILED;
    ifd_source_of_blob(exif, &source, &ifd);
    if (!ifd_find(&source, ifd, IFD_ORIENTATION, &there))
        return insert(exif, FIRST_IFD, entry, error);
    put_entry(exif->data + there.at, entry, is_big_endian(exif));
    return STATUS_OK;
}

/* The entry of this tag in the first IFD, or in the IFD that the first one's entry `in` points to. */
static bool find(const struct blob *exif, uint16_t in, uint16_t tag, struct ifd_entry *entry)
{
    struct ifd_source source;
    uint64_t ifd;
    return ifd_source_of_blob(exif, &source, &ifd) && (in == 0 || ifd_find_sub(&source, ifd, in, &ifd)) &&
           ifd_find(&source, ifd, tag, entry);
}

double exif_gamma(const struct blob *exif)
{
    struct ifd_entry entry;
    if (!find(exif, IFD_EXIF, GAMMA, &entry) || entry.type != TIFF_RATIONAL || entry.count != 1)
        return 0;
    double above = get_single(exif, (size_t)entry.offset), below = get_single(exif, (size_t)entry.offset + 4);
    return above > 0 ? below / above : 0;
}

enum status exif_set_gamma(struct blob *exif, double gamma, struct error *error)
{
    const uint32_t unit = 100000; /* PNG's */
    struct ifd_entry entry, there;
    size_t at;

    if (make_readable(exif, error) != STATUS_OK)
        return STATUS_FAILED;
    if (!find(exif, 0, IFD_EXIF, &entry) &&
        insert(exif, FIRST_IFD, (struct new_entry){IFD_EXIF, TIFF_LONG, 0}, error) != STATUS_OK)
        return STATUS_FAILED;
    bool known = find(exif, IFD_EXIF, GAMMA, &there) && there.type == TIFF_RATIONAL && there.count == 1;
    if (known)
        at = (size_t)there.offset;
    else if (append(exif, 8, &at, error) != STATUS_OK)
        return STATUS_FAILED;
    put_single(exif->data + at, unit, is_big_endian(exif));
    put_single(exif->data + at + 4, (uint32_t)fmin(fmax(round(gamma * unit), 1), UINT32_MAX),
               is_big_endian(exif));
    if (known || !find(exif, 0, IFD_EXIF, &entry))
        return STATUS_OK;
    return insert(exif, (size_t)entry.at + 8, (struct new_entry){GAMMA, TIFF_RATIONAL, (uint32_t)at}, error);
}

static void set_number(struct blob *exif, uint16_t in, uint16_t tag, uint32_t value)
{
    struct ifd_entry entry;
    /* A value of two bytes may be the last thing in the data. */
    if (find(exif, in, tag, &entry) && entry.count == 1 && entry.at + ENTRY_SIZE <= exif->size)
        put_entry(exif->data + entry.at, (struct new_entry){tag, TIFF_LONG, value}, is_big_endian(exif));
}

/* Exactly, where one of its numbers can take the factor. */
static void scale_rational(struct blob *exif, uint16_t in, uint16_t tag, double factor)
{
    struct ifd_entry entry;
    if (!find(exif, in, tag, &entry) || entry.type != TIFF_RATIONAL || entry.count != 1)
        return;
    const double largest = UINT32_MAX, fine = 1000;
    double above = get_single(exif, (size_t)entry.offset), below = get_single(exif, (size_t)entry.offset + 4);
    if (above * factor == floor(above * factor) && above * factor <= largest)
        above *= factor;
    else if (below / factor == floor(below / factor) && below / factor <= largest)
        below /= factor;
    else if (below > 0) {
        above = fmin(round(above / below * factor * fine), largest);
        below = fine;
    }
    put_single(exif->data + entry.offset, (uint32_t)above, is_big_endian(exif));
    put_single(exif->data + entry.offset + 4, (uint32_t)below, is_big_endian(exif));
}

/* Where a rational of that tag is; 0: there is none. */
static size_t find_rational(const struct blob *exif, uint16_t in, uint16_t tag, double *value)
{
    struct ifd_entry entry;
    if (!find(exif, in, tag, &entry) || entry.type != TIFF_RATIONAL || entry.count != 1)
        return 0;
    *value = (double)get_single(exif, (size_t)entry.offset) / get_single(exif, (size_t)entry.offset + 4);
    return (size_t)entry.offset;
}

bool exif_resolution(const struct blob *exif, double *x, double *y, int *unit)
{
    struct ifd_source source;
    struct ifd_entry entry;
    uint64_t ifd, said = RESUNIT_INCH;
    *x = *y = 0;
    if (!ifd_source_of_blob(exif, &source, &ifd) || !find_rational(exif, 0, TIFFTAG_XRESOLUTION, x) ||
        !find_rational(exif, 0, TIFFTAG_YRESOLUTION, y))
        return false;
    if (ifd_find(&source, ifd, TIFFTAG_RESOLUTIONUNIT, &entry))
        ifd_unsigned(&source, &entry, &said);
    *unit = (int)said;
    return *x > 0 && *y > 0 && isfinite(*x) && isfinite(*y) && said >= RESUNIT_NONE &&
           said <= RESUNIT_CENTIMETER;
}

/* A picture that is turned on its side has them the other way round. */
static void follow_densities(struct blob *exif, uint16_t in, uint16_t x_tag, uint16_t y_tag,
                             const struct change *change)
{
    enum { SIZE = 8 };
    double x = NAN, y = NAN;
    const size_t x_at = find_rational(exif, in, x_tag, &x), y_at = find_rational(exif, in, y_tag, &y);
    const bool on_side = affine_is_on_side(&change->from);
    if (!(x > 0) || !(y > 0) || isinf(x) || isinf(y))
        return;
    if (on_side && x_at != y_at) {
        unsigned char kept[SIZE];
        memcpy(kept, exif->data + x_at, SIZE);
        memcpy(exif->data + x_at, exif->data + y_at, SIZE);
        memcpy(exif->data + y_at, kept, SIZE);
    }
    double along_x = x, along_y = y;
    change_densities(change, &along_x, &along_y);
    scale_rational(exif, in, x_tag, along_x / (on_side ? y : x));
    scale_rational(exif, in, y_tag, along_y / (on_side ? x : y));
}

/* Takes an entry out of the EXIF IFD. */
static void remove_entry(struct blob *exif, const struct ifd_entry *entry)
{
    struct ifd_source source;
    uint64_t ifd;
    if (!ifd_source_of_blob(exif, &source, &ifd) || !ifd_find_sub(&source, ifd, IFD_EXIF, &ifd) ||
        !has_table(exif, &source, ifd))
        return;
    const uint32_t count = ifd_entry_count(&source, ifd);
    const size_t end = (size_t)ifd + 2 + (size_t)count * ENTRY_SIZE, behind = (size_t)entry->at + ENTRY_SIZE;
    const size_t link = exif->size - end < 4 ? exif->size - end : 4; /* to a next IFD */
    memmove(exif->data + entry->at, exif->data + behind, end + link - behind);
    put_half(exif->data + ifd, count - 1, is_big_endian(exif));
}

/* Where the main subject is: the place of its centre, then perhaps a diameter, or a width and a height. One
 * that was cut off is nowhere. */
static void follow_subject(struct blob *exif, uint16_t tag, const struct change *change)
{
    enum { X, Y, WIDTH, HEIGHT, MOST };
    struct ifd_entry entry;
    double n[MOST] = {0}, across = 1, down = 1; /* pixels of the output for one of the input */
    if (!find(exif, IFD_EXIF, tag, &entry) || entry.type != TIFF_SHORT || entry.count < 2 ||
        entry.count > MOST)
        return;
    for (size_t i = 0; i < entry.count; i++)
        n[i] = get_half(exif, (size_t)entry.offset + 2 * i);
    const bool on_side = affine_is_on_side(&change->from), is_round = entry.count == 3;
    const double width = n[WIDTH], height = is_round ? width : n[HEIGHT];
    change_densities(change, &across, &down);
    if (!affine_back(&change->from, &n[X], &n[Y]) || change->redrawn ||
        !(n[X] >= 0 && n[X] <= change->out_width && n[Y] >= 0 && n[Y] <= change->out_height)) {
        remove_entry(exif, &entry);
        return;
    }
    n[WIDTH] = is_round ? width * sqrt(across * down) : (on_side ? height : width) * across;
    n[HEIGHT] = (on_side ? width : height) * down;
    for (size_t i = 0; i < entry.count; i++)
        put_half(exif->data + entry.offset + 2 * i, (unsigned)fmin(round(n[i]), UINT16_MAX),
                 is_big_endian(exif));
}

void exif_follow(struct blob *exif, const struct change *change)
{
    follow_subject(exif, EXIFTAG_SUBJECTAREA, change);
    follow_subject(exif, EXIFTAG_SUBJECTLOCATION, change);
    set_number(exif, 0, TIFFTAG_IMAGEWIDTH, change->out_width);
    set_number(exif, 0, TIFFTAG_IMAGELENGTH, change->out_height);
    set_number(exif, IFD_EXIF, EXIFTAG_PIXELXDIMENSION, change->out_width);
    set_number(exif, IFD_EXIF, EXIFTAG_PIXELYDIMENSION, change->out_height);
    follow_densities(exif, 0, TIFFTAG_XRESOLUTION, TIFFTAG_YRESOLUTION, change);
    follow_densities(exif, IFD_EXIF, EXIFTAG_FOCALPLANEXRESOLUTION, EXIFTAG_FOCALPLANEYRESOLUTION, change);
}

/* What overwrites a thumbnail: a picture that was blurred must not be seen in what is left. */
struct eraser {
    struct blob *exif;
    uint64_t table, table_end; /* of the first IFD, which stays */
    uint64_t left;             /* bytes: honest strips do not overlap */
};

static void erase(struct eraser *eraser, uint64_t start, uint64_t size)
{
    struct blob *exif = eraser->exif;
    if (start < HEADER_SIZE || start > exif->size || size > exif->size - start || size > eraser->left ||
        (start < eraser->table_end && start + size > eraser->table))
        return;
    eraser->left -= size;
    memset(exif->data + start, 0, (size_t)size);
    if (start + size == exif->size)
        exif->size = (size_t)start;
}

/* One of an entry's elements. */
static bool get_element(const struct ifd_source *source, const struct ifd_entry *array, uint64_t index,
                        uint64_t *value)
{
    struct ifd_entry element = *array;
    element.offset += index * (array->size / array->count);
    return ifd_unsigned(source, &element, value);
}

/* Of a thumbnail that is not compressed. */
static void erase_strips(struct eraser *eraser, const struct ifd_source *source, uint64_t ifd)
{
    struct ifd_entry starts, sizes;
    uint64_t start, size;
    if (!ifd_find(source, ifd, TIFFTAG_STRIPOFFSETS, &starts) ||
        !ifd_find(source, ifd, TIFFTAG_STRIPBYTECOUNTS, &sizes))
        return;
    for (uint64_t i = 0; i < starts.count && i < sizes.count; i++)
        if (get_element(source, &starts, i, &start) && get_element(source, &sizes, i, &size))
            erase(eraser, start, size);
}

/* Where the link to the second IFD is, which is a thumbnail's; 0: there is none. */
static size_t thumbnail_link(const struct blob *exif)
{
    struct ifd_source source;
    uint64_t ifd;
    if (!ifd_source_of_blob(exif, &source, &ifd) || ifd < HEADER_SIZE || ifd_entry_count(&source, ifd) == 0)
        return 0;
    uint64_t link = ifd + 2 + (uint64_t)ifd_entry_count(&source, ifd) * ENTRY_SIZE;
    bool is_there = link <= exif->size && exif->size - link >= 4 && get_single(exif, (size_t)link) != 0;
    return is_there ? (size_t)link : 0;
}

bool exif_has_thumbnail(const struct blob *exif)
{
    return thumbnail_link(exif) != 0;
}

/* Of the first IFD: those that a TIFF has a place for, or that tell of the picture that EXIF came with. */
static bool is_for_tiff(uint16_t tag)
{
    static const uint16_t tags[] = {254, 255, 256, 257, 258, 259, 262,   270,   271,  272, 273,
                                    274, 277, 278, 279, 282, 283, 284,   296,   305,  306, 315,
                                    513, 514, 529, 530, 531, 532, 33432, 34665, 34853};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (tags[i] == tag)
            return true;
    return false;
}

void exif_leave_out(struct metadata *metadata)
{
    struct ifd_source source;
    struct ifd_entry entry;
    uint64_t ifd;
    char name[32];
    const uint32_t count =
        ifd_source_of_blob(&metadata->exif, &source, &ifd) ? ifd_entry_count(&source, ifd) : 0;
    for (uint32_t i = 0; i < count; i++)
        if (ifd_entry_at(&source, ifd, i, &entry) && !is_for_tiff(entry.tag)) {
            snprintf(name, sizeof name, "EXIF's tag %u", entry.tag);
            metadata_leave_out(metadata, name);
        }
    if (exif_has_thumbnail(&metadata->exif))
        metadata_leave_out(metadata, "the EXIF thumbnail");
}

bool exif_drop_thumbnail(struct blob *exif)
{
    struct ifd_source source;
    uint64_t ifd, start, size;
    const size_t link = thumbnail_link(exif);

    if (link == 0 || !ifd_source_of_blob(exif, &source, &ifd))
        return false;
    const uint64_t thumbnail = get_single(exif, link);
    struct eraser eraser = {.exif = exif, .table = ifd, .table_end = link + 4, .left = exif->size};
    put_single(exif->data + link, 0, is_big_endian(exif));
    bool is_jpeg = ifd_find_sub(&source, thumbnail, TIFFTAG_JPEGIFOFFSET, &start) &&
                   ifd_find_sub(&source, thumbnail, TIFFTAG_JPEGIFBYTECOUNT, &size);
    uint32_t count = ifd_entry_count(&source, thumbnail);
    erase_strips(&eraser, &source, thumbnail);
    if (count > 0)
        erase(&eraser, thumbnail, 2 + (uint64_t)count * ENTRY_SIZE);
    if (is_jpeg)
        erase(&eraser, start, size);
    return true;
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
    const bool several = tag == TIFFTAG_COPYRIGHT; /* the photographer's and the editor's */
    const size_t size = (size_t)entry.size, length = several ? size : strnlen(value, size);
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
