/* After ImageJ's classes ij.io.TiffEncoder and TiffDecoder:
 *
 *     "IJIJ", then kind and number of each kind of value         words of 32 bits
 *     the values, kind after kind, each of so many bytes         as the tag of counts says; its first is the
 *                                                                header's
 *
 * Words, characters (UTF-16) and ranges (doubles) have the file's byte order, all else is bytes. */
#include "image/tiff/imagej.h"

#include "image/ifd.h"

#include <string.h>

enum { WORD = 4, KIND = 2 * WORD };

static const uint32_t MAGIC = CHUNK_NAME('I', 'J', 'I', 'J');

static uint32_t get_word(const struct blob *blob, size_t at)
{
    uint32_t word;
    memcpy(&word, blob->data + at, sizeof word);
    return word;
}

/* Bytes of what has a byte order in a value of that kind. */
static size_t element_size(uint32_t kind)
{
    switch (kind) {
    case CHUNK_NAME('i', 'n', 'f', 'o'):
    case CHUNK_NAME('l', 'a', 'b', 'l'):
    case CHUNK_NAME('p', 'r', 'o', 'p'):
        return 2;
    case CHUNK_NAME('r', 'a', 'n', 'g'):
        return 8;
    default:
        return 1;
    }
}

/* False: it is something else. */
static bool swap(struct blob *data, const struct blob *counts)
{
    const size_t header = counts->size < WORD ? 0 : get_word(counts, 0);
    size_t next = WORD, value = header; /* places in both */
    if (header < WORD || header > data->size || header % KIND != WORD)
        return false;
    ifd_swap_words(data->data, header, WORD);
    for (size_t at = WORD; at < header; at += KIND)
        for (uint32_t left = get_word(data, at + WORD); left > 0; left--, next += WORD) {
            const size_t size = next + WORD > counts->size ? SIZE_MAX : get_word(counts, next);
            if (size > data->size - value)
                return false;
            ifd_swap_words(data->data + value, size, element_size(get_word(data, at)));
            value += size;
        }
    return get_word(data, 0) == MAGIC;
}

void tiff_imagej_swap(struct metadata *metadata)
{
    struct blob *data = metadata_extra(metadata, EXTRA_TAG, EXTRA_IMAGEJ);
    const struct blob *counts = metadata_extra(metadata, EXTRA_TAG, EXTRA_IMAGEJ_COUNTS);
    if (data == NULL || (counts != NULL && swap(data, counts)))
        return;
    metadata_leave_out(metadata, "ImageJ's metadata");
    metadata_remove_extra(metadata, EXTRA_TAG, EXTRA_IMAGEJ);
    metadata_remove_extra(metadata, EXTRA_TAG, EXTRA_IMAGEJ_COUNTS);
}
