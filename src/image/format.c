#include "image/format.h"

#include "base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool has_extension(const struct format *format, const char *word)
{
    for (const char *const *extension = format->extensions; *extension != NULL; extension++)
        if (strcasecmp(*extension, word) == 0)
            return true;
    return false;
}

const struct format *format_by_word(const char *word)
{
    const struct format *const *format = formats;
    while (*format != NULL && !has_extension(*format, word[0] == '.' ? word + 1 : word))
        format++;
    return *format;
}

const struct format *format_by_path(const char *path)
{
    const char *base = name_base(path), *dot = strrchr(base, '.');
    return dot != NULL && dot > base ? format_by_word(dot) : NULL; /* .png is a hidden file */
}

const struct format *format_by_signature(const unsigned char *head, size_t size)
{
    const struct format *const *format = formats;
    while (*format != NULL && ((*format)->recognise == NULL || !(*format)->recognise(head, size)))
        format++;
    return *format;
}

const struct format *format_by_content(const char *path)
{
    unsigned char head[SIGNATURE_SIZE];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = file < 0 ? -1 : read(file, head, sizeof head);
    if (file >= 0)
        close(file);
    return size > 0 ? format_by_signature(head, (size_t)size) : NULL;
}

const char *format_words(void)
{
    static char words[160];
    words[0] = '\0';
    for (const struct format *const *format = formats; *format != NULL; format++)
        for (const char *const *extension = (*format)->extensions; *extension != NULL; extension++)
            text_append(words, sizeof words, "%s%s", words[0] != '\0' ? "|" : "", *extension);
    return words;
}

bool format_holds(const struct format *format, const struct capacity *wanted)
{
    const struct capacity *held = &format->holds;
    return (!wanted->masks || held->masks) && (wanted->types & ~held->types) == 0 &&
           (wanted->channels & ~held->channels) == 0 && held->pages >= wanted->pages &&
           held->texts >= wanted->texts;
}

bool format_holds_coefficients(const struct format *format)
{
    const struct capacity wanted = {.types = 1u << SAMPLE_COMPLEX, .pages = true, .texts = true};
    return format_holds(format, &wanted);
}

enum sample_type format_sample_type(const struct format *format, enum sample_type type)
{
    if ((format->holds.types & 1u << type) != 0)
        return type;
    if (type == SAMPLE_INT8 && (format->holds.types & 1u << SAMPLE_UINT8) != 0)
        return SAMPLE_UINT8;
    return (format->holds.types & 1u << SAMPLE_UINT16) != 0 ? SAMPLE_UINT16 : SAMPLE_FLOAT;
}

/* For formats with nothing but pixels. */
static void leave_out_all(struct metadata *metadata)
{
    if (metadata->icc.data != NULL)
        metadata_leave_out(metadata, "the ICC profile");
    if (metadata->exif.data != NULL)
        metadata_leave_out(metadata, "EXIF");
    if (metadata->resolution_unit != RESOLUTION_ABSENT)
        metadata_leave_out(metadata, "the resolution");
    if (metadata->orientation > 1)
        metadata_leave_out(metadata, "the orientation");
    if (metadata->gamma > 0 || metadata->has_chromaticities)
        metadata_leave_out(metadata, "the colour space");
    if (metadata->text_count > 0)
        metadata_leave_out(metadata, "texts");
}

/* By its keyword, of which a long one is cut off between two characters of UTF-8. */
static void leave_out_text(struct metadata *metadata, const struct text_entry *text)
{
    enum { SHOWN = 40 };
    char name[SHOWN + 32];
    const bool cut = strlen(text->key) > SHOWN;
    size_t length = cut ? SHOWN : strlen(text->key);
    while (cut && length > 0 && ((unsigned char)text->key[length] & 0xc0) == 0x80)
        length--;
    snprintf(name, sizeof name, "the text \"%.*s%s\"", (int)length, text->key, cut ? "..." : "");
    metadata_leave_out(metadata, name);
}

void format_leave_out(const struct format *format, struct image_info *info)
{
    struct metadata *metadata = &info->metadata;
    const bool chunks = (format->holds.extras & 1u << EXTRA_CHUNK) != 0;
    if (!format->holds.texts)
        leave_out_all(metadata);
    if (info->page_name != NULL && (!format->holds.texts || !format->holds.pages))
        metadata_leave_out(metadata, "the page's name");
    if (format->holds_icc != NULL && metadata->icc.data != NULL &&
        !format->holds_icc(&metadata->icc, info->channels))
        metadata_leave_out(metadata, "the ICC profile, which is damaged or of other colours");
    for (size_t i = 0; i < metadata->extra_count; i++)
        if ((format->holds.extras & 1u << metadata->extras[i].place) == 0)
            metadata_leave_out(metadata, extra_name(&metadata->extras[i]));
    for (size_t i = 0; format->holds_text != NULL && i < metadata->text_count; i++)
        if (!format->holds_text(&metadata->texts[i]))
            leave_out_text(metadata, &metadata->texts[i]);
    if (chunks || !format->holds.texts)
        return;
    for (size_t i = 0; i < metadata->text_count; i++)
        if (metadata->texts[i].language != NULL || metadata->texts[i].translated != NULL)
            metadata_leave_out(metadata, "the languages of texts");
    exif_leave_out(metadata);
}

struct format_names format_names(const struct capacity *wanted, const char *conjunction)
{
    struct format_names names = {""};
    const struct format *last = NULL;
    for (const struct format *const *format = formats; *format != NULL; format++) {
        if (wanted != NULL && !format_holds(*format, wanted))
            continue;
        if (last != NULL)
            text_append(names.text, sizeof names.text, "%s%s", names.text[0] != '\0' ? ", " : "", last->name);
        last = *format;
    }
    if (last != NULL && names.text[0] != '\0')
        text_append(names.text, sizeof names.text, " %s ", conjunction);
    text_append(names.text, sizeof names.text, "%s", last != NULL ? last->name : "nothing");
    return names;
}
