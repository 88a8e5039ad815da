/* Finds formats by extension, by first bytes and by what they can hold, and names foreign formats, which
 * climg neither reads nor writes.
 *
 * The Makefile generates the list `formats`. Camera raw files that begin like a TIFF are refused by TIFF's
 * reader. */
#include "image/format.h"

#include "base/text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

const struct format *format_by_extension(const char *extension)
{
    extension += extension[0] == '.';
    for (const struct format *const *format = formats; *format != NULL; format++)
        for (const char *const *own = (*format)->extensions; *own != NULL; own++)
            if (strcasecmp(*own, extension) == 0)
                return *format;
    return NULL;
}

/* Returns the text after the last dot of the file's name; NULL without a dot, or if it is the first
 * character. */
static const char *extension_of(const char *path)
{
    const char *base = name_base(path), *dot = strrchr(base, '.');
    return dot != NULL && dot > base ? dot + 1 : NULL;
}

const struct format *format_by_path(const char *path)
{
    const char *extension = extension_of(path);
    return extension != NULL ? format_by_extension(extension) : NULL;
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
    unsigned char head[RIFF_SIGNATURE_SIZE];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe must not wait for a writer */
    ssize_t size = file < 0 ? -1 : read(file, head, sizeof head);
    if (file >= 0)
        close(file);
    return size > 0 ? format_by_signature(head, (size_t)size) : NULL;
}

const char *format_extensions(void)
{
    static char words[160];
    words[0] = '\0';
    for (const struct format *const *format = formats; *format != NULL; format++)
        for (const char *const *extension = (*format)->extensions; *extension != NULL; extension++)
            text_append(words, sizeof words, "%s%s", words[0] != '\0' ? "|" : "", *extension);
    return words;
}

bool format_set_parse(const char *text, format_set *set)
{
    struct word word;
    *set = 0;
    while (text_next_word(&text, ',', &word)) {
        char name[16]; /* "" for longer words: no format has such an extension */
        snprintf(name, sizeof name, "%.*s", (int)(word.length < sizeof name ? word.length : 0), word.start);
        const struct format *format = format_by_extension(name);
        if (format == NULL)
            return false;
        for (size_t i = 0; formats[i] != NULL; i++)
            if (formats[i] == format || (format->recognise == NULL && formats[i]->reader == format->reader))
                *set |= 1u << i;
    }
    return *set != 0;
}

void format_set_print(FILE *file, format_set set)
{
    const char *comma = "";
    for (size_t i = 0; formats[i] != NULL; i++)
        if ((set & 1u << i) != 0) {
            fprintf(file, "%s%s", comma, formats[i]->extensions[0]);
            comma = ",";
        }
}

bool format_set_accepts(format_set set, const struct format *format)
{
    size_t i = 0;
    while (formats[i] != format)
        i++;
    return set == 0 || (set & 1u << i) != 0;
}

bool format_holds(const struct format *format, const struct capacity *content)
{
    const struct capacity *held = &format->holds;
    return (!content->masks || held->masks) && (content->types & ~held->types) == 0 &&
           (content->channels & ~held->channels) == 0 && held->pages >= content->pages &&
           held->bits >= content->bits && held->video >= content->video && held->texts >= content->texts;
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
    /* int8 becomes uint8; all others uint16 if possible. PFM holds nothing but float, WebP and JPEG only
     * uint8. */
    if (type == SAMPLE_INT8 && (format->holds.types & 1u << SAMPLE_UINT8) != 0)
        return SAMPLE_UINT8;
    if ((format->holds.types & 1u << SAMPLE_UINT16) != 0)
        return SAMPLE_UINT16;
    return (format->holds.types & 1u << SAMPLE_FLOAT) != 0 ? SAMPLE_FLOAT : SAMPLE_UINT8;
}

bool format_holds_icc(const struct format *format, const struct blob *icc, int channels)
{
    return format->holds_icc != NULL ? format->holds_icc(icc, channels) : format->holds.texts;
}

bool format_holds_colours(const struct format *format, const struct metadata *metadata, int channels)
{
    if (metadata->icc.data != NULL)
        return format_holds_icc(format, &metadata->icc, channels);
    if (metadata->has_cicp || metadata->gamma > 0)
        return format->holds.cicp;
    return !metadata->has_chromaticities || format->holds.cicp || format->holds.tags;
}

void format_note_left_out(const struct format *format, struct image_info *info)
{
    struct metadata *metadata = &info->metadata;
    const struct {
        bool is_present;
        const char *name;
    } all[] = {{metadata->icc.data != NULL, "the ICC profile"},
               {metadata->exif.data != NULL, "EXIF"},
               {metadata->resolution_unit != RESOLUTION_ABSENT, "the resolution"},
               {metadata->orientation > 1, "the orientation"},
               {metadata->gamma > 0 || metadata->has_chromaticities, "the colour space"},
               {metadata->text_count > 0, "texts"}};
    for (size_t i = 0; !format->holds.texts && i < sizeof all / sizeof all[0]; i++)
        if (all[i].is_present)
            metadata_note_left_out(metadata, all[i].name);
    if (info->page_name != NULL && (!format->holds.texts || !format->holds.pages))
        metadata_note_left_out(metadata, "the page's name");
    if (format->holds.texts && metadata->icc.data != NULL &&
        !format_holds_icc(format, &metadata->icc, info->channels))
        metadata_note_left_out(metadata, "the ICC profile, which is damaged or of other colours");
    if (format->holds.texts && !format->holds.cicp && !format->holds.tags && metadata->icc.data == NULL &&
        !metadata->srgb && (metadata->gamma > 0 || metadata->has_chromaticities))
        metadata_note_left_out(metadata, "the colour space");
    if (metadata->has_cicp && !format->holds.cicp)
        metadata_note_left_out(metadata, "cICP");
    for (size_t i = 0; i < metadata->tag_count; i++) {
        const struct tiff_tag *tag = &metadata->tags[i];
        const bool is_in_exif =
            format->holds.texts && metadata->exif.data != NULL && exif_shares_tag(tag->number);
        if (!format->holds.tags && !(format->holds.iptc && tag->number == TAG_IPTC) && !is_in_exif)
            metadata_note_left_out(metadata, tiff_tag_name(tag));
    }
    for (size_t i = 0; format->holds_text != NULL && i < metadata->text_count; i++) {
        const char *key = metadata->texts[i].key;
        const size_t length = strlen(key), shown = utf8_fit(key, length, 40);
        char name[80];
        snprintf(name, sizeof name, "the text \"%.*s%s\"", (int)shown, key, shown < length ? "..." : "");
        if (!format->holds_text(&metadata->texts[i]))
            metadata_note_left_out(metadata, name);
    }
    if (format->note_left_out != NULL)
        format->note_left_out(info);
}

void format_warn_surplus(struct metadata *trailing, uint64_t bytes)
{
    char text[64];
    snprintf(text, sizeof text, "has %" PRIu64 " bytes after its end", bytes);
    if (bytes > 0 && trailing->warning[0] == '\0') /* a warning may have said what they are */
        metadata_warn(trailing, text);
}

struct format_names format_names(const struct capacity *content, const char *conjunction)
{
    struct format_names names = {""};
    const struct format *last = NULL;
    for (const struct format *const *format = formats; *format != NULL; format++) {
        if (content != NULL && !format_holds(*format, content))
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

/* ---------------------------------------------------------------- foreign formats */

const char foreign_camera_raw[] = "raw files of cameras";

/* Foreign formats and their signatures. A longer signature comes before a shorter one with the same
 * beginning. */
static const struct {
    size_t offset;            /* of the signature in the file, in bytes */
    const char *bytes, *name; /* bytes: the signature; NULL: only the extension is known */
    const char *extensions;   /* each followed by a space */
} foreign_formats[] = {
    {0, "GIF8", "GIF", "gif "},
    {4, "ftypavif", "AVIF", "avif "},
    {4, "ftyphei", "HEIF", "heic heif "},
    {4, "ftypmif1", "HEIF", ""},
    {0, "\x1a\x45\xdf\xa3", "Matroska video", "mkv webm "},
    {8, "AVI ", "AVI video", "avi "},
    {0, "\xff\x0a", "JPEG XL", "jxl "},
    {4, "JXL \r\n", "JPEG XL", ""},
    {4, "jP  \r\n", "JPEG 2000", "jp2 j2k jpx "},
    {0, "8BPS", "Photoshop PSD", "psd "},
    {0, "%PDF-", "PDF", "pdf "},
    {0, "v/1\x01", "OpenEXR", "exr "},
    {0, "<svg", "SVG", "svg "},
    {0, "BM", "BMP", "bmp dib "},
    {0, "FUJIFILMCCD-RAW", foreign_camera_raw, "raf "},
    {4, "ftypcrx ", foreign_camera_raw, "cr3 "},
    {4, "ftyp", "MPEG-4 video", "mp4 m4v mov "}, /* unless a row above matches */
    {0, "IIRO", foreign_camera_raw, "orf "},
    {0, "IIRS", foreign_camera_raw, ""},
    {0, "MMOR", foreign_camera_raw, ""},
    {0, "IIU", foreign_camera_raw, "rw2 rwl raw "},
    {0, "FOVb", foreign_camera_raw, "x3f "},
    {0, NULL, foreign_camera_raw,
     "3fr arw cr2 crw dcr dng erf fff iiq k25 kdc mef mos mrw nef nrw pef sr2 srf srw "},
};

enum { FOREIGN_COUNT = sizeof foreign_formats / sizeof foreign_formats[0] };

const char *foreign_name(const unsigned char *head, size_t size)
{
    for (size_t i = 0; i < FOREIGN_COUNT; i++) {
        size_t length = foreign_formats[i].bytes == NULL ? 0 : strlen(foreign_formats[i].bytes);
        if (length == 0 || size < foreign_formats[i].offset + length ||
            memcmp(head + foreign_formats[i].offset, foreign_formats[i].bytes, length) != 0)
            continue;
        /* Texts may begin with "BM", too. In a BMP the reserved bytes after the file's size are zero. */
        if (strcmp(foreign_formats[i].name, "BMP") == 0 &&
            (size < 10 || memcmp(head + 6, "\0\0\0\0", 4) != 0))
            continue;
        return foreign_formats[i].name;
    }
    return NULL;
}

const char *foreign_name_by_path(const char *path)
{
    const char *wanted = extension_of(path);
    for (size_t i = 0; wanted != NULL && i < FOREIGN_COUNT; i++) {
        const char *cursor = foreign_formats[i].extensions;
        struct word word;
        while (text_next_word(&cursor, ' ', &word))
            if (word.length > 0 && strlen(wanted) == word.length &&
                strncasecmp(wanted, word.start, word.length) == 0)
                return foreign_formats[i].name;
    }
    return NULL;
}

/* Prints a path, and the path of a PNG next to it, for a command line that is suggested. A path that is
 * long, begins with - or has characters special to a shell becomes FILE, with its extension if that has no
 * such characters. Standard input and output are "-" and "png:-". */
static void name_for_shell(const char *path, char *foreign, char *png, size_t size)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+,@%-";
    const char *end = extension_of(path);
    const size_t length = strlen(path), stem = end != NULL ? (size_t)(end - path) - 1 : length;
    const bool pipe = strcmp(path, "-") == 0;
    const bool shown = length < size - sizeof "-new.png" && strspn(path, safe) == length && path[0] != '-';
    if (pipe) {
        snprintf(foreign, size, "-");
        snprintf(png, size, "png:-");
    } else if (shown) {
        snprintf(foreign, size, "%s", path);
        const char *other = end != NULL && strcmp(end, "png") == 0 ? "-new" : "";
        snprintf(png, size, "%.*s%s.png", (int)stem, path, other);
    } else {
        const bool is_end_safe = end != NULL && strspn(end, safe) == strlen(end);
        snprintf(foreign, size, "FILE%s%s", is_end_safe ? "." : "", is_end_safe ? end : "");
        snprintf(png, size, "FILE.png");
    }
}

struct foreign_hint foreign_hint(const char *name, const char *path, bool writes)
{
    struct foreign_hint hint;
    char foreign[100], png[100];
    const char *verb = writes ? "write" : "read";
    name_for_shell(path, foreign, png, sizeof png);
    if (name == foreign_camera_raw)
        snprintf(hint.text, sizeof hint.text, "climg does not %s %s; %s %s", verb, name,
                 writes ? "write" : "convert it first, as with dcraw: dcraw -T", writes ? png : foreign);
    else if (strstr(name, " video") != NULL)
        snprintf(hint.text, sizeof hint.text,
                 "climg %ss %s through ffmpeg: ffmpeg -i %s -f yuv4mpegpipe - | climg ... | ffmpeg -i - %s",
                 verb, name, writes ? "in.mp4" : foreign, writes ? foreign : "out.mp4");
    else if (writes)
        snprintf(hint.text, sizeof hint.text,
                 "climg does not write %s; write %s and convert that, as with ImageMagick: convert %s %s",
                 name, png, png, foreign);
    else
        snprintf(hint.text, sizeof hint.text,
                 "climg does not read %s; convert it first, as with ImageMagick: convert %s %s", name,
                 foreign, png);
    return hint;
}
