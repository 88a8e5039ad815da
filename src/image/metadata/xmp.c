/* XMP (ISO 16684-1) repeats what EXIF says of a picture's size and orientation, and may hold small copies of
 * it. Properties are found as toolkits write them, with their usual prefixes:
 *
 *     <rdf:Description tiff:Orientation="6" .../>        or        <tiff:Orientation>6</tiff:Orientation>
 */
#include "image/metadata/follow.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of a property whose name stands at `at`, in what begins with `text`. */
static bool take_value(const char *text, const char *at, size_t name, struct word *value)
{
    const char *start = at + name + 1; /* behind the element's '>', or at the attribute's quote */
    char end = '\0';
    if (at > text && at[-1] == '<' && at[name] == '>')
        end = '<';
    else if (at > text && strchr(" \t\r\n", at[-1]) != NULL && at[name] == '=' &&
             (*start == '"' || *start == '\''))
        end = *start++;
    const char *stop = end != '\0' ? strchr(start, end) : NULL;
    if (stop == NULL)
        return false;
    *value = (struct word){start, (size_t)(stop - start)};
    return true;
}

/* The value of the first property of that name from `text` on. */
static bool find_value(const char *text, const char *name, struct word *value)
{
    const size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += length)
        if (take_value(text, at, length, value))
            return true;
    return false;
}

/* Puts `text` in place of a value, all else staying as it is. */
static enum status replace(struct metadata *metadata, struct word value, const char *text,
                           struct error *error)
{
    const char *xmp = metadata_text(metadata, XMP_KEY);
    const size_t size = strlen(xmp) - value.length + strlen(text);
    char *made = allocate(size + 1, "XMP", error);
    if (made == NULL)
        return STATUS_FAILED;
    snprintf(made, size + 1, "%.*s%s%s", (int)(value.start - xmp), xmp, text, value.start + value.length);
    enum status status = metadata_set_text(metadata, XMP_KEY, made, size, error);
    free(made);
    return status;
}

/* Where the property is there. */
static enum status set_value(struct metadata *metadata, const char *name, const char *text,
                             struct error *error)
{
    struct word value;
    return find_value(metadata_text(metadata, XMP_KEY), name, &value) ? replace(metadata, value, text, error)
                                                                      : STATUS_OK;
}

static enum status follow_sizes(struct metadata *metadata, const struct change *change, struct error *error)
{
    const struct {
        const char *name;
        uint32_t size;
    } sizes[] = {{"tiff:ImageWidth", change->out_width},
                 {"tiff:ImageLength", change->out_height},
                 {"exif:PixelXDimension", change->out_width},
                 {"exif:PixelYDimension", change->out_height}};
    char text[16];
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < sizeof sizes / sizeof sizes[0]; i++) {
        snprintf(text, sizeof text, "%u", (unsigned)sizes[i].size);
        status = set_value(metadata, sizes[i].name, text, error);
    }
    return status;
}

/* Of "720000/10000", in whatever unit; 0: there is none. */
static double find_density(const struct metadata *metadata, const char *name)
{
    struct word value;
    char *end;
    if (!find_value(metadata_text(metadata, XMP_KEY), name, &value))
        return 0;
    const double above = strtod(value.start, &end), below = *end == '/' ? strtod(end + 1, NULL) : 1;
    return below > 0 ? above / below : 0;
}

static enum status set_density(struct metadata *metadata, const char *name, double density,
                               struct error *error)
{
    char text[48];
    snprintf(text, sizeof text, "%.0f/10000", 10000 * density);
    return set_value(metadata, name, text, error);
}

static enum status follow_densities(struct metadata *metadata, const struct change *change,
                                    struct error *error)
{
    static const char along_x[] = "tiff:XResolution", along_y[] = "tiff:YResolution";
    static const double most = 1e9;
    double x = find_density(metadata, along_x), y = find_density(metadata, along_y);
    if (!(x > 0 && x < most && y > 0 && y < most))
        return STATUS_OK;
    change_densities(change, &x, &y);
    enum status status = set_density(metadata, along_x, x, error);
    return status == STATUS_OK ? set_density(metadata, along_y, y, error) : status;
}

/* The pictures in it become nothing. */
static enum status drop_thumbnails(struct metadata *metadata, struct error *error)
{
    char *text = copy_text(metadata_text(metadata, XMP_KEY), error), *to = text;
    bool any = false;
    struct word value;
    if (text == NULL)
        return STATUS_FAILED;
    for (const char *from = text; from != NULL;) {
        const bool found = find_value(from, "xmpGImg:image", &value);
        const size_t kept = found ? (size_t)(value.start - from) : strlen(from) + 1;
        memmove(to, from, kept);
        to += kept;
        any = any || (found && value.length > 0);
        from = found ? value.start + value.length : NULL;
    }
    enum status status = any ? metadata_set_text(metadata, XMP_KEY, text, strlen(text), error) : STATUS_OK;
    if (any)
        metadata_leave_out(metadata, "the XMP thumbnail");
    free(text);
    return status;
}

enum status xmp_follow(struct metadata *metadata, const struct change *change, struct error *error)
{
    enum status status = STATUS_OK;
    if (metadata_text(metadata, XMP_KEY) == NULL)
        return STATUS_OK;
    if (change->turned)
        status = set_value(metadata, "tiff:Orientation", "1", error);
    if (status == STATUS_OK && (change->worked || change->turned))
        status = drop_thumbnails(metadata, error);
    if (status == STATUS_OK && change_moves(change))
        status = follow_sizes(metadata, change, error);
    return status == STATUS_OK && change_moves(change) ? follow_densities(metadata, change, error) : status;
}
