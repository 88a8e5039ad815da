/*     line feed, "exif", line feed, "     1234", line feed, 2468 digits in lines
 *
 * Both may have before them what they have in a JPEG, where "APP1" is either. */
#include "image/png/profile.h"

#include "image/ifd.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char EXIF_HEAD[] = "Exif\0", XMP_HEAD[] = "http://ns.adobe.com/xap/1.0/";

/* NULL: it is no profile. */
static const char *kind_of(const struct text_entry *entry)
{
    static const char prefix[] = "Raw profile type ";
    const size_t length = strlen(prefix);
    return strncmp(entry->key, prefix, length) == 0 ? entry->key + length : NULL;
}

static int digit_value(char digit)
{
    return isdigit((unsigned char)digit) ? digit - '0' : tolower((unsigned char)digit) - 'a' + 10;
}

/* False: these are not so many bytes. */
static bool read_digits(const char *text, unsigned char *bytes, size_t size)
{
    size_t done = 0;
    for (; *text != '\0'; text++) {
        if (isspace((unsigned char)*text))
            continue;
        if (!isxdigit((unsigned char)*text) || done == 2 * size)
            return false;
        bytes[done / 2] = (unsigned char)(bytes[done / 2] << 4 | digit_value(*text));
        done++;
    }
    return done == 2 * size;
}

/* With a NUL behind the bytes; their data stays NULL where the text is none of this form. */
static enum status decode(const char *text, struct blob *bytes, struct error *error)
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

/* Passes over what the bytes begin with, its NUL too; false: it is something else. */
static bool pass_head(struct blob *bytes, const char *head, size_t size)
{
    if (bytes->size < size || memcmp(bytes->data, head, size) != 0)
        return false;
    bytes->data += size;
    bytes->size -= size;
    return true;
}

static enum status take(const struct text_entry *entry, struct blob bytes, struct metadata *metadata,
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

enum status png_profile_take(const struct text_entry *entry, struct metadata *metadata, bool *taken,
                             struct error *error)
{
    const char *kind = kind_of(entry);
    struct blob bytes = {NULL, 0};
    *taken = false;
    if (kind == NULL || (strcmp(kind, "exif") != 0 && strcmp(kind, "xmp") != 0 && strcmp(kind, "APP1") != 0))
        return STATUS_OK;
    enum status status = decode(entry->value, &bytes, error);
    if (bytes.data != NULL)
        status = take(entry, bytes, metadata, taken, error);
    free(bytes.data);
    return status;
}
