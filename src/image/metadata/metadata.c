/* Stores, copies and frees metadata. Number and size of texts and tags are limited. Texts and tags beyond a
 * limit are dropped and named in left_out, which becomes a warning. */
#include "image/metadata/metadata.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Limits for hostile files; real ones stay far below. */
    TEXTS_MAX = 1024,
    TAGS_MAX = 64,
    BYTES_MAX = 32 << 20, /* of all texts and tags */
};

static void free_text(struct text_entry *entry)
{
    free(entry->key);
    free(entry->value);
    free(entry->language);
    free(entry->translated);
    free(entry->item);
}

void metadata_free(struct metadata *metadata)
{
    free(metadata->icc.data);
    free(metadata->exif.data);
    for (size_t i = 0; i < metadata->text_count; i++)
        free_text(&metadata->texts[i]);
    free(metadata->texts);
    for (size_t i = 0; i < metadata->tag_count; i++)
        free(metadata->tags[i].data.data);
    free(metadata->tags);
    *metadata = (struct metadata){0};
}

enum status metadata_copy(struct metadata *to, const struct metadata *from, struct error *error)
{
    enum status status = STATUS_OK;
    /* Copy the members without pointers; the others are copied below. */
    *to = *from;
    to->icc = (struct blob){0};
    to->exif = (struct blob){0};
    to->texts = NULL;
    to->text_count = to->bytes = 0;
    to->tags = NULL;
    to->tag_count = 0;

    if (from->icc.data != NULL)
        status = metadata_set_blob(&to->icc, from->icc.data, from->icc.size, error);
    if (status == STATUS_OK && from->exif.data != NULL)
        status = metadata_set_blob(&to->exif, from->exif.data, from->exif.size, error);
    for (size_t i = 0; status == STATUS_OK && i < from->text_count; i++)
        status = metadata_add_text(to, &from->texts[i], error);
    for (size_t i = 0; status == STATUS_OK && i < from->tag_count; i++) {
        const struct tiff_tag *found = &from->tags[i];
        status = metadata_set_tag(to, found->number, found->data.data, found->data.size, error);
    }
    if (status != STATUS_OK)
        metadata_free(to);
    return status;
}

void blob_free(struct blob *blob)
{
    free(blob->data);
    *blob = (struct blob){NULL, 0};
}

/* The header names the colour space at byte 16 (ICC.1, 7.2.6), and "acsp" at byte 36 marks a profile. */
bool icc_is_for(const struct blob *icc, int channels)
{
    enum { HEADER = 128, COLOURS = 16, SIGNATURE = 36 };
    return icc->size >= HEADER && memcmp(icc->data + SIGNATURE, "acsp", 4) == 0 &&
           memcmp(icc->data + COLOURS, channels <= 2 ? "GRAY" : "RGB ", 4) == 0;
}

enum status metadata_set_blob(struct blob *blob, const void *data, size_t size, struct error *error)
{
    unsigned char *copy = NULL;
    if (size > 0) {
        copy = allocate(size, "metadata", error);
        if (copy == NULL)
            return STATUS_FAILED;
        memcpy(copy, data, size);
    }
    free(blob->data);
    *blob = (struct blob){copy, size};
    return STATUS_OK;
}

enum status metadata_add_exif(struct metadata *metadata, const void *data, size_t size, struct error *error)
{
    if (metadata->exif.data != NULL || !exif_has_header(data, size)) {
        metadata_note_left_out(metadata,
                               metadata->exif.data != NULL ? "a second EXIF" : "EXIF, which is damaged");
        return STATUS_OK;
    }
    enum status status = metadata_set_blob(&metadata->exif, data, size, error);
    if (status == STATUS_OK)
        metadata->orientation = exif_orientation(&metadata->exif);
    return status;
}

struct text_entry *metadata_find_text(const struct metadata *metadata, const char *key)
{
    for (size_t i = 0; i < metadata->text_count; i++)
        if (metadata->texts[i].item == NULL && strcmp(metadata->texts[i].key, key) == 0)
            return &metadata->texts[i];
    return NULL;
}

char *text_to_utf8(const char *text, struct error *error)
{
    const size_t size = strlen(text);
    return utf8_is_valid(text, size) ? copy_text(text, error) : utf8_from_latin1(text, size, error);
}

enum status metadata_add_text(struct metadata *metadata, const struct text_entry *entry, struct error *error)
{
    struct text_entry copy = {.compressed = entry->compressed};
    const struct {
        const char *from; /* may be NULL */
        char **to;
    } fields[] = {{entry->key, &copy.key},
                  {entry->value, &copy.value},
                  {entry->language, &copy.language},
                  {entry->translated, &copy.translated},
                  {entry->item, &copy.item}};
    size_t size = 0;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        size += fields[i].from == NULL ? 0 : strlen(fields[i].from);
    const bool is_xmp = entry->item == NULL && strcmp(entry->key, XMP_KEY) == 0;
    if (is_xmp && entry->value[0] == '\0')
        return STATUS_OK;
    if (is_xmp && metadata_find_text(metadata, XMP_KEY) != NULL) {
        metadata_note_left_out(metadata, "a second XMP");
        return STATUS_OK;
    }
    if (metadata->text_count == TEXTS_MAX || size > BYTES_MAX - metadata->bytes) {
        metadata_note_left_out(metadata, "texts beyond the limit");
        return STATUS_OK;
    }
    struct text_entry *texts =
        array_grow(metadata->texts, metadata->text_count, sizeof *texts, "metadata", error);
    if (texts == NULL)
        return STATUS_FAILED;
    metadata->texts = texts;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        *fields[i].to = fields[i].from == NULL ? NULL : text_to_utf8(fields[i].from, error);
        if (fields[i].from != NULL && *fields[i].to == NULL) {
            free_text(&copy);
            return STATUS_FAILED;
        }
    }
    texts[metadata->text_count++] = copy;
    metadata->bytes += size;
    return STATUS_OK;
}

enum status metadata_set_text(struct metadata *metadata, const char *key, const char *value, size_t size,
                              struct error *error)
{
    char *copy = allocate(size + 1, "text", error);
    if (copy == NULL)
        return STATUS_FAILED;
    if (size > 0)
        memcpy(copy, value, size);
    copy[size] = '\0';

    struct text_entry *existing = metadata_find_text(metadata, key);
    if (existing == NULL) {
        const struct text_entry entry = {.key = (char *)(uintptr_t)key, .value = copy};
        enum status status = metadata_add_text(metadata, &entry, error);
        free(copy);
        return status;
    }
    free(existing->value);
    existing->value = copy;
    return STATUS_OK;
}

const char *metadata_text(const struct metadata *metadata, const char *key)
{
    const struct text_entry *text = metadata_find_text(metadata, key);
    return text == NULL ? NULL : text->value;
}

void metadata_remove_entry(struct metadata *metadata, size_t index)
{
    free_text(&metadata->texts[index]);
    metadata->text_count--;
    memmove(metadata->texts + index, metadata->texts + index + 1,
            (metadata->text_count - index) * sizeof *metadata->texts);
}

void metadata_remove_text(struct metadata *metadata, const char *key)
{
    for (size_t i = metadata->text_count; i-- > 0;)
        if (metadata->texts[i].item == NULL && strcmp(metadata->texts[i].key, key) == 0)
            metadata_remove_entry(metadata, i);
}

struct blob *metadata_tag(const struct metadata *metadata, uint32_t number)
{
    for (size_t i = 0; i < metadata->tag_count; i++)
        if (metadata->tags[i].number == number)
            return &metadata->tags[i].data;
    return NULL;
}

enum status metadata_set_tag(struct metadata *metadata, uint32_t number, const void *data, size_t size,
                             struct error *error)
{
    struct blob *existing = metadata_tag(metadata, number);
    if (size == 0)
        return STATUS_OK;
    if (size > BYTES_MAX - metadata->bytes || (existing == NULL && metadata->tag_count == TAGS_MAX)) {
        metadata_note_left_out(metadata, "TIFF tags beyond the limit");
        return STATUS_OK;
    }
    metadata->bytes += size;
    if (existing != NULL)
        return metadata_set_blob(existing, data, size, error);
    struct tiff_tag *tags = array_grow(metadata->tags, metadata->tag_count, sizeof *tags, "metadata", error);
    if (tags == NULL)
        return STATUS_FAILED;
    metadata->tags = tags;
    tags[metadata->tag_count] = (struct tiff_tag){.number = number};
    enum status status = metadata_set_blob(&tags[metadata->tag_count].data, data, size, error);
    metadata->tag_count += status == STATUS_OK;
    return status;
}

void metadata_remove_tag(struct metadata *metadata, uint32_t number)
{
    struct tiff_tag *tags = metadata->tags;
    size_t i = 0;
    while (i < metadata->tag_count && tags[i].number != number)
        i++;
    if (i == metadata->tag_count)
        return;
    free(tags[i].data.data);
    metadata->tag_count--;
    memmove(tags + i, tags + i + 1, (metadata->tag_count - i) * sizeof *tags);
}

void metadata_note_left_out(struct metadata *metadata, const char *name)
{
    text_add_item(metadata->left_out, sizeof metadata->left_out, ", ", name);
}

void metadata_note_languages(struct metadata *metadata)
{
    for (size_t i = 0; i < metadata->text_count; i++)
        if (metadata->texts[i].language != NULL || metadata->texts[i].translated != NULL)
            metadata_note_left_out(metadata, "the languages of texts");
}

void metadata_warn(struct metadata *metadata, const char *what)
{
    text_add_item(metadata->warning, sizeof metadata->warning, "; ", what);
}
