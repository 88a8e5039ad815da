#include "image/tiff/items.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ITEMS_SIZE = 16 << 20 };

static const struct {
    char character;
    const char *entity;
} entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}};

enum { ENTITY_COUNT = sizeof entities / sizeof entities[0] };

/* Replaces the five entities in place; what else begins with '&' stays as it is. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0';) {
        int found = 0;
        while (found < ENTITY_COUNT &&
               strncmp(from, entities[found].entity, strlen(entities[found].entity)) != 0)
            found++;
        *to++ = found < ENTITY_COUNT ? entities[found].character : *from;
        from += found < ENTITY_COUNT ? strlen(entities[found].entity) : 1;
    }
    *to = '\0';
}

static void write_escaped(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        int found = 0;
        while (found < ENTITY_COUNT && entities[found].character != *text)
            found++;
        if (found < ENTITY_COUNT)
            fputs(entities[found].entity, to);
        else
            fputc(*text, to);
    }
}

/* Takes the text apart, writing NULs into it. */
static enum status parse_items(char *xml, struct metadata *metadata, struct error *error)
{
    static const char start[] = "<Item name=\"", end[] = "</Item>";
    enum status status = STATUS_OK;

    while (status == STATUS_OK && (xml = strstr(xml, start)) != NULL) {
        char *key = xml + strlen(start);
        char *quote = strchr(key, '"');
        char *value = quote == NULL ? NULL : strchr(quote, '>');
        if (value == NULL)
            return STATUS_OK;
        if (value[-1] == '/') { /* an item without a value */
            xml = value;
            continue;
        }
        char *stop = strstr(value, end);
        if (stop == NULL)
            return STATUS_OK;
        xml = stop + strlen(end);
        *quote = *value++ = *stop = '\0';
        unescape(key);
        unescape(value);
        const struct text_entry entry = {
            .key = key, .value = value, .item = quote[1] != '\0' ? quote + 1 : NULL};
        if (key[0] != '\0')
            status = metadata_add_text(metadata, &entry, error);
    }
    return status;
}

enum status tiff_items_read(struct tiff_file *file, struct metadata *metadata, struct error *error)
{
    struct ifd_source source;
    struct ifd_entry entry;
    uint64_t ifd;

    tiff_file_ifd(file, &source, &ifd);
    if (!ifd_find(&source, ifd, TIFFTAG_GDAL_METADATA, &entry) || entry.type != TIFF_ASCII ||
        entry.size > MAX_ITEMS_SIZE)
        return STATUS_OK;
    char *xml = allocate((size_t)entry.size + 1, "TIFF texts", error);
    if (xml == NULL)
        return STATUS_FAILED;
    enum status status = STATUS_OK;
    xml[entry.size] = '\0';
    if (tiff_file_read_at(file, entry.offset, xml, (size_t)entry.size))
        status = parse_items(xml, metadata, error);
    free(xml);
    return status;
}

static enum status set_items(TIFF *tiff, const char *xml, struct error *error)
{
    /* libtiff has a number for the tag, but no type. */
    static const TIFFFieldInfo field = {TIFFTAG_GDAL_METADATA, -1, -1, TIFF_ASCII,
                                        FIELD_CUSTOM,          1,  0,  (char *)(uintptr_t) "GDALMetadata"};

    if (TIFFMergeFieldInfo(tiff, &field, 1) != 0 || !TIFFSetField(tiff, TIFFTAG_GDAL_METADATA, xml))
        return fail(error, STATUS_FAILED, "cannot write TIFF: libtiff refuses its texts");
    return STATUS_OK;
}

static bool is_elsewhere(const struct metadata *metadata, size_t i,
                         bool (*has_tag)(const struct text_entry *entry))
{
    const struct text_entry *entry = &metadata->texts[i];
    return has_tag(entry) && metadata_text(metadata, entry->key) == entry->value;
}

enum status tiff_items_write(struct tiff_file *file, const struct metadata *metadata,
                             bool (*has_tag)(const struct text_entry *entry), struct error *error)
{
    char *xml = NULL;
    size_t size = 0;
    bool any = false;

    for (size_t i = 0; i < metadata->text_count; i++)
        any = any || !is_elsewhere(metadata, i, has_tag);
    if (!any)
        return STATUS_OK;
    FILE *stream = open_memstream(&xml, &size);
    if (stream == NULL)
        return fail_memory(error, "out of memory for TIFF texts");
    fputs("<GDALMetadata>\n", stream);
    for (size_t i = 0; i < metadata->text_count; i++) {
        if (is_elsewhere(metadata, i, has_tag))
            continue;
        fputs("  <Item name=\"", stream);
        write_escaped(stream, metadata->texts[i].key);
        fprintf(stream, "\"%s>", metadata->texts[i].item != NULL ? metadata->texts[i].item : "");
        write_escaped(stream, metadata->texts[i].value);
        fputs("</Item>\n", stream);
    }
    fputs("</GDALMetadata>\n", stream);
    bool written = !ferror(stream);
    written = fclose(stream) == 0 && written;
    enum status status =
        written ? set_items(file->tiff, xml, error) : fail_memory(error, "out of memory for TIFF texts");
    free(xml);
    return status;
}
