/* Parses tEXt, zTXt and iTXt.
 *
 * PNG had no chunk for EXIF before 2017. ImageMagick, exiv2 and programs that use them write EXIF and XMP as
 * raw profiles: texts of hexadecimal digits, with the keyword "Raw profile type exif", "... xmp" or, for
 * either, "... APP1":
 *
 *     line feed, "exif", line feed, "     1234", line feed, 2468 digits in lines
 *
 * The data may begin with the identifier of the segment that they would be in a JPEG. Such texts become EXIF
 * and XMP. */
#include "base/text.h"
#include "image/ifd.h"
#include "image/png/png.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Decodes hexadecimal digits to `size` bytes, which are zero before. False: the text has other characters, or
 * more or fewer digits. */
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

/* Decodes the text of a raw profile, and appends a NUL that bytes->size does not count. bytes->data stays
 * NULL if the text has another form. */
static enum status decode_profile(const char *text, struct blob *bytes, struct error *error)
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

/* Skips the identifier, `size` bytes, at the start of the bytes. False: they begin otherwise. */
static bool skip_identifier(struct blob *bytes, const char *identifier, size_t size)
{
    if (bytes->size < size || memcmp(bytes->data, identifier, size) != 0)
        return false;
    bytes->data += size;
    bytes->size -= size;
    return true;
}

/* Adds the EXIF or XMP of a raw profile, unless the metadata have it already. *is_profile is false if the
 * text contains neither. */
static enum status add_raw_profile(const struct text_entry *entry, struct metadata *metadata,
                                   bool *is_profile, struct error *error)
{
    static const char prefix[] = "Raw profile type ";
    static const char exif_identifier[] = "Exif\0", xmp_identifier[] = "http://ns.adobe.com/xap/1.0/";
    struct ifd ifd;
    *is_profile = false;
    if (strncmp(entry->key, prefix, strlen(prefix)) != 0)
        return STATUS_OK;
    const char *type = entry->key + strlen(prefix);
    if (strcmp(type, "exif") != 0 && strcmp(type, "xmp") != 0 && strcmp(type, "APP1") != 0)
        return STATUS_OK;
    struct blob decoded = {NULL, 0};
    enum status status = decode_profile(entry->value, &decoded, error);
    if (decoded.data == NULL)
        return status;

    struct blob bytes = decoded; /* after the identifier */
    const bool is_xmp =
        skip_identifier(&bytes, xmp_identifier, sizeof xmp_identifier) || strcmp(type, "xmp") == 0;
    skip_identifier(&bytes, exif_identifier, sizeof exif_identifier);
    *is_profile = is_xmp || ifd_of_blob(&bytes, &ifd);
    const struct text_entry xmp = {
        .key = (char *)(uintptr_t)XMP_KEY, .value = (char *)bytes.data, .compressed = entry->compressed};
    if (is_xmp)
        status = metadata_add_text(metadata, &xmp, error);
    else if (*is_profile)
        status = metadata_add_exif(metadata, bytes.data, bytes.size, error);
    free(decoded.data);
    return status;
}

/* A chunk's parts. All but the text end in NUL. iTXt alone has a language and a translated keyword. */
struct text_parts {
    const char *key, *language, *translated, *text;
    size_t size; /* bytes of the text */
    bool is_itxt, is_compressed;
};

/* Returns in *part the next part, up to its NUL, and moves *left past it. False: the NUL is missing. */
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
 *     iTXt  keyword NUL flag method language NUL translated NUL text
 *
 * False: the chunk is damaged. */
static bool split_chunk(const png_unknown_chunk *chunk, struct text_parts *parts)
{
    const char *left = (const char *)chunk->data;
    size_t size = chunk->size;
    *parts = (struct text_parts){.is_itxt = chunk->name[0] == 'i', .is_compressed = chunk->name[0] == 'z'};
    if (!next_part(&left, &size, &parts->key) || parts->key[0] == '\0')
        return false;
    if (parts->is_itxt) {
        if (size < 1 || (unsigned char)left[0] > 1)
            return false;
        parts->is_compressed = left[0] == 1;
        left++, size--;
    }
    if (parts->is_itxt || parts->is_compressed) { /* the compression method; 0: deflate */
        if (size < 1 || (parts->is_compressed && left[0] != 0))
            return false;
        left++, size--;
    }
    if (parts->is_itxt &&
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

/* Adds a text: a tEXt or zTXt is in Latin-1, an iTXt in UTF-8. */
static enum status add_text(struct png_session *session, const struct text_parts *parts, const char *text,
                            struct error *error)
{
    struct text_entry entry = {.compressed = parts->is_compressed,
                               .language = (char *)(uintptr_t)unless_empty(parts->language),
                               .translated = (char *)(uintptr_t)unless_empty(parts->translated)};
    entry.key = utf8_from_latin1(parts->key, strlen(parts->key), error);
    char *value = NULL;
    if (parts->is_itxt)
        entry.value = (char *)(uintptr_t)text;
    else
        entry.value = value = utf8_from_latin1(text, strlen(text), error);
    enum status status = STATUS_FAILED;
    bool is_profile = false;
    if (entry.key != NULL && entry.value != NULL)
        status = add_raw_profile(&entry, session->metadata, &is_profile, error);
    if (status == STATUS_OK && !is_profile)
        status = metadata_add_text(session->metadata, &entry, error);
    free(entry.key);
    free(value);
    return status;
}

enum status png_parse_text(struct png_session *session, const png_unknown_chunk *chunk)
{
    struct error *error = session->error;
    struct text_parts parts;
    struct blob text = {NULL, 0};
    enum status status = STATUS_OK;
    if (!png_session_reserve_budget(session, chunk->size))
        return STATUS_OK;
    const bool is_whole = split_chunk(chunk, &parts);
    if (is_whole && parts.is_compressed)
        status = png_inflate_chunk(session, (const unsigned char *)parts.text, parts.size, &text);
    else if (is_whole) {
        text.data = (unsigned char *)strndup(parts.text, parts.size);
        status = text.data == NULL ? fail_memory(error, "out of memory for metadata") : STATUS_OK;
    }
    if (text.data != NULL)
        status = add_text(session, &parts, (const char *)text.data, error);
    else if (status == STATUS_OK)
        metadata_leave_out(session->metadata, "texts that are damaged or too many");
    free(text.data);
    return status;
}
