/* What of an ICC profile (ICC.1:2010, section 7) must be right for a PNG. These are the errors of
 * libpng 1.6.39 to 1.6.48 (png_icc_check_header and png_icc_check_tag_table): older versions refuse such a
 * profile when it is written, newer ones, and all programs built on libpng, when it is read. */
#include "image/png/png.h"

enum {
    HEADER_SIZE = 132, /* with the number of tags, which is last */
    TAG_SIZE = 12,     /* its name, where its data begin, their size */
    VERSION_AT = 8,
    CLASS_AT = 12,
    COLOUR_AT = 16,
    CONNECTION_AT = 20,
    SIGNATURE_AT = 36,
    INTENT_AT = 64,
    TAGS_AT = 128,
    INTENT_MAX = 0xfffe,
};

static uint32_t number_at(const struct blob *icc, size_t at)
{
    return png_get_uint_32(icc->data + at);
}

size_t png_icc_size(const struct blob *icc)
{
    const size_t said = icc->size >= HEADER_SIZE ? number_at(icc, 0) : 0;
    return said >= HEADER_SIZE && said < icc->size ? said : icc->size;
}

/* Every tag lies within the profile. */
static bool has_whole_tags(const struct blob *icc, size_t size)
{
    const size_t count = number_at(icc, TAGS_AT);
    if (count > (size - HEADER_SIZE) / TAG_SIZE)
        return false;
    for (size_t at = HEADER_SIZE; at < HEADER_SIZE + count * TAG_SIZE; at += TAG_SIZE) {
        const size_t start = number_at(icc, at + 4), length = number_at(icc, at + 8);
        if (start > size || length > size - start)
            return false;
    }
    return true;
}

/* A profile that turns the file's colours into others that are known. */
static bool is_of_picture(const struct blob *icc, int channels)
{
    const uint32_t class = number_at(icc, CLASS_AT), colour = number_at(icc, COLOUR_AT),
                   connection = number_at(icc, CONNECTION_AT);
    return class != CHUNK_NAME('a', 'b', 's', 't') && class != CHUNK_NAME('l', 'i', 'n', 'k') &&
           colour == (channels <= 2 ? CHUNK_NAME('G', 'R', 'A', 'Y') : CHUNK_NAME('R', 'G', 'B', ' ')) &&
           (connection == CHUNK_NAME('X', 'Y', 'Z', ' ') || connection == CHUNK_NAME('L', 'a', 'b', ' '));
}

bool png_icc_is_valid(const struct blob *icc, int channels)
{
    const size_t size = png_icc_size(icc);
    return size >= HEADER_SIZE && size <= PNG_UINT_31_MAX && number_at(icc, 0) == size &&
           (icc->data[VERSION_AT] <= 3 || size % 4 == 0) && number_at(icc, INTENT_AT) <= INTENT_MAX &&
           number_at(icc, SIGNATURE_AT) == CHUNK_NAME('a', 'c', 's', 'p') && has_whole_tags(icc, size) &&
           is_of_picture(icc, channels);
}
