/* Reads and copies the directories (IFDs) of TIFF and EXIF, in either byte order, classic or BigTIFF.
 *
 * The data may be hostile: every offset, count and size is checked against the file or blob. A copy follows
 * each kind of pointer once, so that an IFD that points to itself ends. It has at most MAX_COPY bytes, and
 * gets no value that makes it longer than its original by more than IFD_SLACK bytes. */
#include "image/ifd.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

enum {
    /* Limits for hostile files. Cameras write far less: maker notes have some 100 KB. */
    MAX_ENTRIES = 4096,
    MAX_COPY = 16 << 20, /* bytes of a copy */
    IFD_SLACK = 4096,    /* bytes that a copy in another layout may be longer than its source */
};

/* Sizes in bytes of an IFD, classic or BigTIFF: number of entries, an entry, link to the next IFD. */
struct ifd_layout {
    size_t head;  /* size of the number of entries */
    size_t entry; /* size of an entry: tag, type, count, value or its offset */
    size_t word;  /* size of a count, of an offset and of the link */
    size_t value; /* offset of the value in its entry */
};

static struct ifd_layout layout_of(bool big)
{
    return big ? (struct ifd_layout){.head = 8, .entry = 20, .word = 8, .value = 12}
               : (struct ifd_layout){.head = 2, .entry = 12, .word = 4, .value = 8};
}

/* Returns the bytes of an element of a type; 0: unknown. *word is the bytes of each number in it: a rational
 * has two. */
static size_t element_size(uint16_t type, size_t *word)
{
    static const struct {
        unsigned char size, word;
    } types[] = {
        [TIFF_BYTE] = {1, 1},      [TIFF_ASCII] = {1, 1},    [TIFF_SHORT] = {2, 2},
        [TIFF_LONG] = {4, 4},      [TIFF_RATIONAL] = {8, 4}, [TIFF_SBYTE] = {1, 1},
        [TIFF_UNDEFINED] = {1, 1}, [TIFF_SSHORT] = {2, 2},   [TIFF_SLONG] = {4, 4},
        [TIFF_SRATIONAL] = {8, 4}, [TIFF_FLOAT] = {4, 4},    [TIFF_DOUBLE] = {8, 8},
        [TIFF_IFD] = {4, 4},       [TIFF_LONG8] = {8, 8},    [TIFF_SLONG8] = {8, 8},
        [TIFF_IFD8] = {8, 8},
    };

    *word = 1;
    if (type >= sizeof types / sizeof types[0])
        return 0;
    *word = types[type].word;
    return types[type].size;
}

/* Reverses the bytes of each word. */
static void swap_words(unsigned char *bytes, size_t size, size_t word)
{
    for (size_t at = 0; at + word <= size; at += word)
        for (size_t i = 0; i < word / 2; i++) {
            unsigned char low = bytes[at + i];
            bytes[at + i] = bytes[at + word - 1 - i];
            bytes[at + word - 1 - i] = low;
        }
}

/* Writes the low `size` bytes of a value in the host's byte order. */
static void put_word(unsigned char *bytes, size_t size, uint64_t value)
{
    for (size_t i = 0; i < size; i++, value >>= 8)
        bytes[BYTE_ORDER == LITTLE_ENDIAN ? i : size - 1 - i] = (unsigned char)value;
}

static bool ifd_read_bytes(const struct ifd *ifd, uint64_t offset, void *to, size_t size)
{
    return offset <= ifd->size && size <= ifd->size - offset && ifd->read(ifd->context, offset, to, size);
}

/* Reads an unsigned number of 1, 2, 4 or 8 bytes in the byte order of the file. */
static bool read_word(const struct ifd *ifd, uint64_t offset, size_t size, uint64_t *value)
{
    const bool is_little = ifd->swapped != (BYTE_ORDER == LITTLE_ENDIAN);
    unsigned char bytes[8];
    if (!ifd_read_bytes(ifd, offset, bytes, size))
        return false;
    *value = 0;
    for (size_t i = 0; i < size; i++)
        *value = *value << 8 | bytes[is_little ? size - 1 - i : i];
    return true;
}

static bool read_blob(const void *context, uint64_t offset, void *to, size_t size)
{
    const struct blob *blob = context;

    memcpy(to, blob->data + offset, size);
    return true;
}

bool ifd_of_blob(const struct blob *blob, struct ifd *ifd)
{
    uint64_t magic;
    *ifd = (struct ifd){.read = read_blob, .context = blob, .size = blob->size};
    if (blob->data == NULL || blob->size < 8)
        return false;
    if (memcmp(blob->data, "II", 2) != 0 && memcmp(blob->data, "MM", 2) != 0)
        return false;
    ifd->swapped = (blob->data[0] == 'I') != (BYTE_ORDER == LITTLE_ENDIAN);
    return read_word(ifd, 2, 2, &magic) && magic == 42 && ifd_first(ifd);
}

bool ifd_first(struct ifd *ifd)
{
    return ifd->big ? read_word(ifd, 8, 8, &ifd->at) : read_word(ifd, 4, 4, &ifd->at);
}

bool ifd_next(const struct ifd *ifd, uint64_t *next)
{
    const struct ifd_layout layout = layout_of(ifd->big);
    const uint64_t entries = (uint64_t)ifd_entry_count(ifd) * layout.entry;

    return entries > 0 && read_word(ifd, ifd->at + layout.head + entries, layout.word, next);
}

uint32_t ifd_entry_count(const struct ifd *ifd)
{
    const struct ifd_layout layout = layout_of(ifd->big);
    uint64_t count;

    if (ifd->at == 0 || !read_word(ifd, ifd->at, layout.head, &count) || count > MAX_ENTRIES)
        return 0;
    return (uint32_t)count;
}

bool ifd_entry_at(const struct ifd *ifd, uint32_t index, struct ifd_entry *entry)
{
    const struct ifd_layout layout = layout_of(ifd->big);
    uint64_t tag, type;
    size_t word;

    entry->tag = 0;
    entry->at = ifd->at + layout.head + (uint64_t)index * layout.entry;
    if (!read_word(ifd, entry->at, 2, &tag) || !read_word(ifd, entry->at + 2, 2, &type) ||
        !read_word(ifd, entry->at + 4, layout.word, &entry->count))
        return false;
    entry->tag = (uint16_t)tag;
    entry->type = (uint16_t)type;

    /* Checking the count first keeps the product from overflowing. */
    size_t element = element_size(entry->type, &word);
    if (element == 0 || entry->count > ifd->size / element)
        return false;
    entry->size = entry->count * element;
    /* A value that fits is in the entry itself; otherwise the entry has its offset. */
    entry->offset = entry->at + layout.value;
    if (entry->size > layout.word && !read_word(ifd, entry->at + layout.value, layout.word, &entry->offset))
        return false;
    return entry->offset <= ifd->size && entry->size <= ifd->size - entry->offset;
}

bool ifd_find(const struct ifd *ifd, uint16_t tag, struct ifd_entry *entry)
{
    uint32_t count = ifd_entry_count(ifd);

    for (uint32_t i = 0; i < count; i++)
        if (ifd_entry_at(ifd, i, entry) && entry->tag == tag)
            return true;
    return false;
}

bool ifd_unsigned(const struct ifd *ifd, const struct ifd_entry *entry, uint64_t *value)
{
    size_t word;
    size_t element = element_size(entry->type, &word);

    switch (entry->type) {
    case TIFF_BYTE:
    case TIFF_SHORT:
    case TIFF_LONG:
    case TIFF_LONG8:
    case TIFF_IFD:
    case TIFF_IFD8:
        return entry->count > 0 && read_word(ifd, entry->offset, element, value);
    default:
        return false;
    }
}

bool ifd_read_values(const struct ifd *ifd, const struct ifd_entry *entry, bool raw, void *to)
{
    size_t word;
    element_size(entry->type, &word);
    if (!ifd_read_bytes(ifd, entry->offset, to, (size_t)entry->size))
        return false;
    if (ifd->swapped && !raw)
        swap_words(to, (size_t)entry->size, word);
    return true;
}

bool ifd_sub(const struct ifd *ifd, uint16_t tag, struct ifd *sub)
{
    uint64_t at;

    *sub = *ifd;
    if (!ifd_find_unsigned(ifd, tag, &at))
        return false;
    sub->at = at;
    return true;
}

bool ifd_find_unsigned(const struct ifd *ifd, uint16_t tag, uint64_t *value)
{
    struct ifd_entry entry;

    return ifd_find(ifd, tag, &entry) && ifd_unsigned(ifd, &entry, value);
}

enum status ifd_select(const struct ifd *ifd, bool (*keep)(uint16_t tag, uint64_t size),
                       struct blob *selected, struct error *error)
{
    const struct ifd_layout layout = layout_of(ifd->big);
    const uint32_t count = ifd_entry_count(ifd);
    uint64_t kept = 0;

    *selected = (struct blob){.size = layout.head + count * layout.entry + layout.word};
    selected->data = allocate_zeroed(selected->size, 1, "TIFF tags", error);
    if (selected->data == NULL)
        return STATUS_FAILED;
    for (uint32_t i = 0; i < count; i++) {
        struct ifd_entry entry;
        const bool is_inside = ifd_entry_at(ifd, i, &entry);
        if (keep(entry.tag, is_inside ? entry.size : 0) &&
            ifd_read_bytes(ifd, entry.at, selected->data + layout.head + kept * layout.entry, layout.entry))
            kept++;
    }
    memset(selected->data + layout.head + kept * layout.entry, 0, layout.word); /* the link */
    put_word(selected->data, layout.head, kept);
    if (ifd->swapped)
        swap_words(selected->data, layout.head, layout.head);
    return STATUS_OK;
}

unsigned char *ifd_sink_grow(struct ifd_sink *sink, size_t size, struct error *error)
{
    size_t at = (sink->bytes.size + 1) & ~(size_t)1; /* TIFF requires even offsets */

    if (at + size > sink->capacity) {
        size_t capacity = 2 * (at + size) + 256;
        unsigned char *data = realloc(sink->bytes.data, capacity);
        if (data == NULL) {
            fail_memory(error, "out of memory for EXIF data");
            return NULL;
        }
        sink->bytes.data = data;
        sink->capacity = capacity;
    }
    memset(sink->bytes.data + sink->bytes.size, 0, at + size - sink->bytes.size);
    sink->bytes.size = at + size;
    return sink->bytes.data + at;
}

/* Writes an entry at offset `at` in the sink, and appends its value if that does not fit into the entry.
 * *kept is false if the entry is not copied: its value cannot be read, or the copy would be too long. */
static enum status copy_entry(const struct ifd *ifd, const struct ifd_entry *entry, struct ifd_sink *sink,
                              size_t at, bool *kept, struct error *error)
{
    const struct ifd_layout layout = layout_of(sink->big);
    size_t word, size = (size_t)entry->size;
    size_t value_at = at + layout.value;

    element_size(entry->type, &word);
    /* In a hostile file, entries may share bytes, and the copy would be larger than the file. */
    *kept = sink->bytes.size + size <= MAX_COPY && sink->bytes.size + size <= ifd->size + IFD_SLACK;
    if (!*kept)
        return STATUS_OK;
    if (size > layout.word) {
        unsigned char *value = ifd_sink_grow(sink, size, error);
        if (value == NULL)
            return STATUS_FAILED;
        value_at = (size_t)(value - sink->bytes.data);
        put_word(sink->bytes.data + at + layout.value, layout.word, sink->base + value_at);
    }
    put_word(sink->bytes.data + at, 2, entry->tag);
    put_word(sink->bytes.data + at + 2, 2, entry->type);
    put_word(sink->bytes.data + at + 4, layout.word, entry->count);
    *kept = ifd_read_bytes(ifd, entry->offset, sink->bytes.data + value_at, size);
    if (*kept && ifd->swapped)
        swap_words(sink->bytes.data + value_at, size, word);
    return STATUS_OK;
}

/* Returns 0 to 2 if the tag's value is the offset of another IFD, else -1. */
static int pointer_kind(uint16_t tag)
{
    static const uint16_t tags[] = {IFD_EXIF, IFD_GPS, IFD_INTEROP};
    for (int i = 0; i < 3; i++)
        if (tags[i] == tag)
            return i;
    return -1;
}

/* Copies the IFD that an entry points to, and writes an entry that points to the copy. *kept is false if the
 * IFD of this kind was copied before, or cannot be read. */
static enum status copy_sub(const struct ifd *ifd, const struct ifd_entry *entry, struct ifd_sink *sink,
                            size_t at, bool *kept, struct error *error)
{
    const struct ifd_layout layout = layout_of(sink->big);
    struct ifd from = *ifd;
    uint64_t to = 0;

    *kept = false;
    bool *has_sub = &sink->has_sub[pointer_kind(entry->tag)];
    if (*has_sub || !ifd_unsigned(ifd, entry, &from.at))
        return STATUS_OK;
    *has_sub = true;
    enum status status = ifd_copy(&from, NULL, sink, &to, error);
    sink->is_damaged = sink->is_damaged || to == 0;
    if (status != STATUS_OK || to == 0)
        return status;
    put_word(sink->bytes.data + at, 2, entry->tag);
    put_word(sink->bytes.data + at + 2, 2, sink->big ? TIFF_IFD8 : TIFF_LONG);
    put_word(sink->bytes.data + at + 4, layout.word, 1);
    put_word(sink->bytes.data + at + layout.value, layout.word, to);
    *kept = true;
    return STATUS_OK;
}

enum status ifd_copy(const struct ifd *ifd, bool (*keep)(uint16_t tag), struct ifd_sink *sink,
                     uint64_t *offset, struct error *error)
{
    const struct ifd_layout layout = layout_of(sink->big);
    const uint32_t count = ifd_entry_count(ifd);
    const size_t size = layout.head + count * layout.entry + layout.word; /* the link stays 0 */
    uint32_t done = 0;

    *offset = 0;
    if (count == 0 || sink->bytes.size + size > MAX_COPY)
        return STATUS_OK;
    unsigned char *table = ifd_sink_grow(sink, size, error);
    if (table == NULL)
        return STATUS_FAILED;
    const size_t start = (size_t)(table - sink->bytes.data);
    for (uint32_t i = 0; i < count; i++) {
        struct ifd_entry entry;
        bool kept;
        size_t at = start + layout.head + done * layout.entry;

        const bool readable = ifd_entry_at(ifd, i, &entry);
        if (keep != NULL && !keep(entry.tag))
            continue;
        sink->is_damaged = sink->is_damaged || (!readable && keep == NULL);
        if (!readable)
            continue;
        enum status status = STATUS_OK;
        int kind = pointer_kind(entry.tag);
        /* The classic layout lacks BigTIFF's types; no EXIF tag needs them. */
        const bool is_big = entry.type == TIFF_LONG8 || entry.type == TIFF_SLONG8 || entry.type == TIFF_IFD8;
        if (kind >= 0)
            status = copy_sub(ifd, &entry, sink, at, &kept, error);
        else if (sink->big || !is_big)
            status = copy_entry(ifd, &entry, sink, at, &kept, error);
        else
            kept = false;
        if (status != STATUS_OK)
            return status;
        done += kept;
    }
    /* The link: an entry that could not be read may have left bytes there. */
    memset(sink->bytes.data + start + layout.head + done * layout.entry, 0, layout.word);
    put_word(sink->bytes.data + start, layout.head, done);
    *offset = done > 0 ? sink->base + start : 0;
    return STATUS_OK;
}
