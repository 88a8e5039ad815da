/* Reads tEXt, zTXt and iTXt.
 *
 * PNG had no chunk for EXIF before 2017. ImageMagick, exiv2 and programs that use them write EXIF and XMP as
 * texts of hexadecimal digits, with the keyword "Raw profile type exif", "xmp" or, for either, "APP1":
 *
 *     line feed, "exif", line feed, "     1234", line feed, 2468 digits in lines
 *
 * The data may begin with the identifier that precedes them in a JPEG. Such texts become EXIF and XMP. */
#include "base/text.h"
#include "image/ifd.h"
#include "image/png/png.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char EXIF_HEAD[] = "Exif\0", XMP_HEAD[] = "http://ns.adobe.com/xap/1.0/";

/* Returns the text after "Raw profile type " in the keyword, or NULL. */
static const char *kind_of(const struct text_entry *entry)
{
    static const char prefix[] = "Raw profile type ";
    const size_t length = strlen(prefix);
    return strncmp(entry->key, prefix, length) == 0 ? entry->key + length : NULL;
}

/* Reads `size` zeroed bytes from hexadecimal digits. False: the text has other characters, or more or fewer
 * digits. */
static bool read_digits(const char *text, unsigned char *bytes, size_t size)
{
    size_t done = 0;
    for (; *text != '\0'; text++) {
        if (isspace((unsigned char)*text))
            continue;
        if (!isxdigit((unsigned char)*text) || done == 2 * size)
            return false;
        const int digit =
            isdigit((unsigned char)*text) ? *text - '0' : tolower((unsigned char)*text) - 'a' + 10;
        bytes[done / 2] = (unsigned char)(bytes[done / 2] << 4 | digit);
        done++;
    }
    return done == 2 * size;
}

/* Decodes such a text, and appends a NUL that does not count. bytes->data stays NULL if the text has another
 * form. */
static enum status png_decode(const char *text, struct blob *bytes, struct error *error)
{
    const char *name = text + strspn(text, "\n"), *number = strchr(name, '\n');
    char *digits;
    const unsigned long size = number != NULL ? strtoul(number, &digits, 10) : 0;
    if (size == 0 || size > strlen(digits) / 2)
        return STATUS_OK;
    unsigned char *data = allocate_zeroed(size + 1, 1, "metadata", error);
    if (data == NULL)
        return STATUS_FAILED;
    if (read_digits(digits, data, size))
        *bytes = (struct blob){data, size};
    else
        free(data);
    return STATUS_OK;
}

/* Removes `head` from the start of the bytes; false: they begin otherwise. */
static bool pass_head(struct blob *bytes, const char *head, size_t size)
{
    if (bytes->size < size || memcmp(bytes->data, head, size) != 0)
        return false;
    bytes->data += size;
    bytes->size -= size;
    return true;
}

/* Adds decoded EXIF or XMP, unless the file has it already; *taken: the bytes are one of the two. */
static enum status take_bytes(const struct text_entry *entry, struct blob bytes, struct metadata *metadata,
                              bool *taken, struct error *error)
{
    struct ifd_source source;
    uint64_t ifd;
    const bool is_xmp = pass_head(&bytes, XMP_HEAD, sizeof XMP_HEAD) || strcmp(kind_of(entry), "xmp") == 0;
    pass_head(&bytes, EXIF_HEAD, sizeof EXIF_HEAD);
    *taken = is_xmp || ifd_source_of_blob(&bytes, &source, &ifd);
    if (!*taken)
        return STATUS_OK;
    if (is_xmp ? metadata_text(metadata, XMP_KEY) != NULL : metadata->exif.data != NULL) {
        metadata_leave_out(metadata, is_xmp ? "a second XMP" : "a second EXIF");
        return STATUS_OK;
    }
    const struct text_entry xmp = {
        .key = (char *)(uintptr_t)XMP_KEY, .value = (char *)bytes.data, .compressed = entry->compressed};
    if (is_xmp)
        return metadata_add_text(metadata, &xmp, error);
    enum status status = metadata_set_blob(&metadata->exif, bytes.data, bytes.size, error);
    if (status == STATUS_OK)
        metadata->orientation = exif_orientation(&metadata->exif);
    return status;
}

/* Adds the EXIF or XMP that a text holds; *taken is false if it holds neither. */
static enum status take_profile(const struct text_entry *entry, struct metadata *metadata, bool *taken,
                                struct error *error)
{
    const char *kind = kind_of(entry);
    struct blob bytes = {NULL, 0};
    *taken = false;
    if (kind == NULL || (strcmp(kind, "exif") != 0 && strcmp(kind, "xmp") != 0 && strcmp(kind, "APP1") != 0))
        return STATUS_OK;
    enum status status = png_decode(entry->value, &bytes, error);
    if (bytes.data != NULL)
        status = take_bytes(entry, bytes, metadata, taken, error);
    free(bytes.data);
    return status;
}

/* A chunk's parts. All but the text end in NUL. iTXt alone has a language and a translated keyword. */
struct text_parts {
    const char *key, *language, *translated, *text;
    size_t size; /* of the text */
    bool international, packed;
};

/* Takes the next part, up to its NUL, from the bytes that are left. False: the NUL is missing. */
static bool next_part(const char **left, size_t *size, const char **part)
{
    const size_t length = strnlen(*left, *size);
    if (length == *size)
        return false;
    *part = *left;
    *left += length + 1;
    *size -= length + 1;
    return true;
}

/* Finds the parts of a chunk (ISO/IEC 15948, 11.3.4):
 *
 *     tEXt  keyword NUL text
 *     zTXt  keyword NUL method text
 *     iTXt  keyword NUL packed? method language NUL translated NUL text
 *
 * False: the chunk is damaged. */
static bool take_apart(const png_unknown_chunk *chunk, struct text_parts *parts)
{
    const char *left = (const char *)chunk->data;
    size_t size = chunk->size;
    *parts = (struct text_parts){.international = chunk->name[0] == 'i', .packed = chunk->name[0] == 'z'};
    if (!next_part(&left, &size, &parts->key) || parts->key[0] == '\0')
        return false;
    if (parts->international) {
        if (size < 1 || (unsigned char)left[0] > 1)
            return false;
        parts->packed = left[0] == 1;
        left++, size--;
    }
    if (parts->international || parts->packed) { /* the method of compression: deflate is 0 */
        if (size < 1 || (parts->packed && left[0] != 0))
            return false;
        left++, size--;
    }
    if (parts->international &&
        (!next_part(&left, &size, &parts->language) || !next_part(&left, &size, &parts->translated)))
        return false;
    parts->text = left;
    parts->size = size;
    return true;
}

static const char *unless_empty(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* Adds an unpacked text, converted to UTF-8: an iTXt that is not valid UTF-8 is taken as Latin-1. */
static enum status png_add(struct png_session *session, const struct text_parts *parts, const char *text,
                           struct error *error)
{
    const size_t size = strlen(text);
    struct text_entry entry = {.compressed = parts->packed,
                               .language = (char *)(uintptr_t)unless_empty(parts->language),
                               .translated = (char *)(uintptr_t)unless_empty(parts->translated)};
    if (entry.translated != NULL && !utf8_is_valid(entry.translated, strlen(entry.translated)))
        entry.translated = NULL;
    entry.key = utf8_from_latin1(parts->key, strlen(parts->key), error);
    char *value = NULL;
    if (parts->international && utf8_is_valid(text, size))
        entry.value = (char *)(uintptr_t)text;
    else
        entry.value = value = utf8_from_latin1(text, size, error);
    enum status status = STATUS_FAILED;
    bool taken = false;
    if (entry.key != NULL && entry.value != NULL)
        status = take_profile(&entry, session->metadata, &taken, error);
    if (status == STATUS_OK && !taken)
        status = metadata_add_text(session->metadata, &entry, error);
    free(entry.key);
    free(value);
    return status;
}

enum status png_text_take(struct png_session *session, const png_unknown_chunk *chunk)
{
    struct error *error = session->error;
    struct text_parts parts;
    struct blob text = {NULL, 0};
    enum status status = STATUS_OK;
    if (!png_session_reserve_budget(session, chunk->size))
        return STATUS_OK;
    const bool whole = take_apart(chunk, &parts);
    if (whole && parts.packed)
        status = png_metadata_unpack(session, (const unsigned char *)parts.text, parts.size, &text);
    else if (whole) {
        text.data = (unsigned char *)strndup(parts.text, parts.size);
        status = text.data == NULL ? fail_memory(error, "out of memory for metadata") : STATUS_OK;
    }
    if (text.data != NULL)
        status = png_add(session, &parts, (const char *)text.data, error);
    else if (status == STATUS_OK)
        metadata_leave_out(session->metadata, "texts that are damaged or too many");
    free(text.data);
    return status;
}
