#include "image/metadata/metadata.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void free_texts(struct metadata *metadata)
{
    for (size_t i = 0; i < metadata->text_count; i++) {
        free(metadata->texts[i].key);
        free(metadata->texts[i].value);
    }
    free(metadata->texts);
}

void metadata_free(struct metadata *metadata)
{
    free(metadata->icc.data);
    free(metadata->exif.data);
    free_texts(metadata);
    *metadata = (struct metadata){0};
}

enum status metadata_copy(struct metadata *to, const struct metadata *from, struct error *error)
{
    enum status status = STATUS_OK;
    *to = *from;
    to->icc = (struct blob){0};
    to->exif = (struct blob){0};
    to->texts = NULL;
    to->text_count = 0;

    if (from->icc.data != NULL)
        status = metadata_set_blob(&to->icc, from->icc.data, from->icc.size, error);
    if (status == STATUS_OK && from->exif.data != NULL)
        status = metadata_set_blob(&to->exif, from->exif.data, from->exif.size, error);
    for (size_t i = 0; status == STATUS_OK && i < from->text_count; i++) {
        const struct text_entry *text = &from->texts[i];
        status = metadata_set_text(to, text->key, text->value, strlen(text->value), error);
    }
    if (status != STATUS_OK)
        metadata_free(to);
    return status;
}

enum status metadata_set_blob(struct blob *blob, const void *data, size_t size, struct error *error)
{
    unsigned char *copy = allocate(size, "metadata", error);
    if (copy == NULL)
        return STATUS_FAILED;
    if (size > 0)
        memcpy(copy, data, size);
    free(blob->data);
    *blob = (struct blob){copy, size};
    return STATUS_OK;
}

static struct text_entry *find_text(const struct metadata *metadata, const char *key)
{
    for (size_t i = 0; i < metadata->text_count; i++)
        if (strcmp(metadata->texts[i].key, key) == 0)
            return &metadata->texts[i];
    return NULL;
}

/* Takes ownership of the value, on failure too. */
static enum status append_text(struct metadata *metadata, const char *key, char *value, struct error *error)
{
    size_t count = metadata->text_count;
    char *key_copy = copy_text(key, error);
    struct text_entry *texts = realloc(metadata->texts, (count + 1) * sizeof *texts);
    if (texts != NULL)
        metadata->texts = texts;
    if (key_copy == NULL || texts == NULL) {
        free(key_copy);
        free(value);
        return fail(error, STATUS_FAILED, "out of memory for text");
    }
    texts[count] = (struct text_entry){key_copy, value};
    metadata->text_count = count + 1;
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

    struct text_entry *known = find_text(metadata, key);
    if (known == NULL)
        return append_text(metadata, key, copy, error);
    free(known->value);
    known->value = copy;
    return STATUS_OK;
}

const char *metadata_text(const struct metadata *metadata, const char *key)
{
    const struct text_entry *text = find_text(metadata, key);
    return text == NULL ? NULL : text->value;
}

void metadata_remove_text(struct metadata *metadata, const char *key)
{
    for (size_t i = 0; i < metadata->text_count; i++) {
        if (strcmp(metadata->texts[i].key, key) != 0)
            continue;
        free(metadata->texts[i].key);
        free(metadata->texts[i].value);
        metadata->texts[i] = metadata->texts[--metadata->text_count];
        return;
    }
}

void metadata_leave_out(struct metadata *metadata, const char *name)
{
    char *known = metadata->left_out;
    if (strstr(known, name) == NULL)
        text_append(known, sizeof metadata->left_out, "%s%s", known[0] != '\0' ? ", " : "", name);
}
