/* Descriptions in which programs keep what their files hold: ImageJ's lines, tifffile's JSON, OME's XML. */
#include "image/metadata/follow.h"

#include "base/json_read.h"
#include "base/text.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char KEY[] = "Description";
enum { DIMENSIONS_MAX = 16 };

static enum status set(struct metadata *metadata, const char *text, struct error *error)
{
    return metadata_set_text(metadata, KEY, text, strlen(text), error);
}

static void drop(struct metadata *metadata, const char *name)
{
    metadata_remove_text(metadata, KEY);
    metadata_leave_out(metadata, name);
}

/* ---------------------------------------------------------------- ImageJ: "ImageJ=1.53\nslices=5\n..." */

bool description_is_imagej(const struct metadata *metadata)
{
    const char *text = metadata_text(metadata, KEY);
    return text != NULL && strncmp(text, "ImageJ=", strlen("ImageJ=")) == 0;
}

bool description_is_stack(const struct metadata *metadata)
{
    static const char *const dimensions[] = {"\nchannels=", "\nslices=", "\nframes="};
    if (!description_is_imagej(metadata))
        return false;
    for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++)
        if (strstr(metadata_text(metadata, KEY), dimensions[i]) != NULL)
            return true;
    return false;
}

int description_image_count(const struct metadata *metadata)
{
    static const char key[] = "\nimages=";
    const char *line = description_is_imagej(metadata) ? strstr(metadata_text(metadata, KEY), key) : NULL;
    long count = line == NULL ? 0 : strtol(line + strlen(key), NULL, 10);
    return count > 0 && count < INT_MAX ? (int)count : 0;
}

static bool line_is_of(const char *line, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        if (strncmp(line, *keys, strlen(*keys)) == 0 && line[strlen(*keys)] == '=')
            return true;
    return false;
}

/* Whether there were any. */
static bool remove_lines(char *text, const char *const *keys)
{
    const char *const begin = text;
    char *to = text;
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        length += text[length] == '\n';
        if (!line_is_of(text, keys)) {
            memmove(to, text, length);
            to += length;
        }
        text += length;
    }
    const bool removed = begin + strlen(begin) != to;
    *to = '\0';
    return removed;
}

/* ImageJ takes images=N for N images that follow the first one without a gap, which they do not here; it
 * finds them by their directories. */
static enum status follow_imagej(struct metadata *metadata, const struct change *change, struct error *error)
{
    static const char *const count[] = {"images", NULL};
    static const char *const stack[] = {"images", "channels", "slices", "frames", "hyperstack", NULL};
    static const char *const range[] = {"min", "max", NULL};
    static const char *const origin[] = {"xorigin", "yorigin", NULL}; /* in pixels */
    const int images = description_image_count(metadata);
    char *text = copy_text(metadata_text(metadata, KEY), error);
    if (text == NULL)
        return STATUS_FAILED;
    if (change->in_pages != change->out_pages || (images > 0 && images != change->out_pages) ||
        change->in_channels != change->out_channels)
        remove_lines(text, stack);
    else if (change->out_pages > 1)
        remove_lines(text, count);
    if (change->in_type != change->out_type)
        remove_lines(text, range);
    if (change_moves(change) && remove_lines(text, origin))
        metadata_leave_out(metadata, "ImageJ's origin");
    enum status status = set(metadata, text, error);
    free(text);
    return status;
}

/* ---------------------------------------------------------------- tifffile: {"shape": [5, 64, 64], ...} */

struct lengths {
    long long of[DIMENSIONS_MAX + 1]; /* 0: it is no number; one more for channels that are added */
    size_t count;
};

static struct lengths read_shape(const struct json *array)
{
    struct lengths shape = {.count = json_length(array)};
    for (size_t i = 0; i < shape.count && i < DIMENSIONS_MAX; i++)
        json_get_whole(json_item(array, i), &shape.of[i]);
    return shape;
}

/* How many of the array's last numbers are those of one page, which tifffile writes as height, width and
 * samples, or as samples, height and width where they are separate. 0: none. */
static size_t page_dimensions(const struct lengths *shape, const struct change *change)
{
    const long long height = change->in_height, width = change->in_width, samples = change->in_channels;
    const size_t count = shape->count <= DIMENSIONS_MAX ? shape->count : 0;
    const long long *end = shape->of + count;
    if (count >= 3 && end[-3] == height && end[-2] == width && end[-1] == samples)
        return 3;
    if (samples > 1)
        return count >= 3 && end[-3] == samples && end[-2] == height && end[-1] == width ? 3 : 0;
    return count >= 2 && end[-2] == height && end[-1] == width ? 2 : 0;
}

/* The shape of what is written; without dimensions: none can be told. */
static struct lengths new_shape(const struct lengths *shape, const struct change *change)
{
    const size_t page = page_dimensions(shape, change);
    const long long limit = 1 << 30;
    struct lengths made = {.count = 0};
    long long pages = 1;
    if (page == 0)
        return made;
    for (size_t i = 0; i < shape->count - page && pages > 0; i++) {
        const long long length = shape->of[i];
        pages = length > 0 && length < limit / pages ? pages * length : 0;
        made.of[made.count++] = length;
    }
    if (pages != change->out_pages)
        return (struct lengths){.count = 0};
    made.of[made.count++] = change->out_height;
    made.of[made.count++] = change->out_width;
    if (change->out_channels > 1 || page == 3)
        made.of[made.count++] = change->out_channels;
    return made;
}

/* Separate samples become interleaved ones, and their axis the last. */
static bool axes_stay(const struct lengths *from, const struct lengths *to, const struct change *change)
{
    return to->count > 0 && from->count == to->count &&
           (page_dimensions(from, change) < 3 || from->of[from->count - 1] == change->in_channels);
}

static bool set_shape(struct json *root, const struct lengths *shape)
{
    char text[DIMENSIONS_MAX * 24 + 3] = "[";
    for (size_t i = 0; i < shape->count; i++)
        text_append(text, sizeof text, "%s%lld", i > 0 ? ", " : "", shape->of[i]);
    text_append(text, sizeof text, "]");
    return json_replace(root, "shape", shape->count > 0 ? text : NULL);
}

/* Where nothing is left of it, or it cannot be written, it goes. */
static enum status rewrite_shaped(struct metadata *metadata, struct json *root, const struct lengths *from,
                                  const struct lengths *made, const struct change *change,
                                  struct error *error)
{
    bool whole = axes_stay(from, made, change) || json_replace(root, "axes", NULL);
    whole = set_shape(root, made) && whole;
    char *text = whole && json_length(root) > 0 ? json_print(root) : NULL;
    enum status status = STATUS_OK;
    if (text != NULL)
        status = set(metadata, text, error);
    else
        drop(metadata, "tifffile's shape");
    free(text);
    return status;
}

/* Without looking at it: samples of several channels may become interleaved. */
static bool shape_stays(const struct change *change)
{
    return change->in_width == change->out_width && change->in_height == change->out_height &&
           change->in_pages == change->out_pages && change->in_channels == 1 && change->out_channels == 1;
}

static enum status follow_shaped(struct metadata *metadata, const struct change *change, struct error *error)
{
    struct json *root = NULL;
    struct error ignored;
    if (json_check("this", &ignored) != STATUS_OK) {
        if (!shape_stays(change))
            drop(metadata, "tifffile's shape");
        return STATUS_OK;
    }
    enum status status = json_read(metadata_text(metadata, KEY), &root, error);
    const struct json *array = json_member(root, "shape");
    if (json_is_list(array)) {
        const struct lengths shape = read_shape(array), made = new_shape(&shape, change);
        if (made.count == 0 || made.count != shape.count ||
            memcmp(made.of, shape.of, made.count * sizeof made.of[0]) != 0)
            status = rewrite_shaped(metadata, root, &shape, &made, change, error);
    }
    json_free(root);
    return status;
}

/* ---------------------------------------------------------------- OME: <Pixels SizeX="64" ...> */

static bool is_ome(const char *text)
{
    const char *root = strstr(text, "OME");
    return text[0] == '<' && root != NULL && root > text && (root[-1] == '<' || root[-1] == ':') &&
           strstr(text, "Pixels") != NULL;
}

static const char *ome_type(enum sample_type type)
{
    static const char *const names[] = {"uint8",   "uint16", "uint32", "float", "float",
                                        "complex", "int8",   "int16",  "int32"};
    return names[type];
}

const char *attribute_find(const char *text, const char *name)
{
    const size_t length = strlen(name);
    const char *const begin = text;
    while ((text = strstr(text, name)) != NULL) {
        const bool whole = text > begin && strchr(" \t\r\n", text[-1]) != NULL && text[length] == '=' &&
                           text[length + 1] != '\0';
        text += length;
        if (whole)
            return text + 2;
    }
    return NULL;
}

/* Whether all images of the file have that many pixels along an axis. */
static bool all_have(const char *text, const char *name, uint32_t pixels)
{
    while ((text = attribute_find(text, name)) != NULL)
        if (strtoul(text, NULL, 10) != pixels)
            return false;
    return true;
}

/* Sizes of other images, of which a part was cut out, and of pixels that are no squares, which stand aslant,
 * would need another description. */
static bool can_follow(const char *text, const struct change *change)
{
    const struct affine *from = &change->from;
    const bool scaled = affine_is_upright(from) && from->x == 0 && from->y == 0;
    const bool straight = (from->xy == 0 && from->yx == 0) || affine_is_on_side(from);
    const char *x = attribute_find(text, "PhysicalSizeX"), *y = attribute_find(text, "PhysicalSizeY");
    if (!scaled &&
        (!all_have(text, "SizeX", change->in_width) || !all_have(text, "SizeY", change->in_height)))
        return false;
    return straight || (x == NULL && y == NULL) ||
           (x != NULL && y != NULL && strtod(x, NULL) == strtod(y, NULL));
}

enum { OME_SIZE, OME_PHYSICAL_SIZE, OME_UNIT, OME_KINDS };

static const char *const ome_names[OME_KINDS][2] = {
    {"SizeX", "SizeY"}, {"PhysicalSizeX", "PhysicalSizeY"}, {"PhysicalSizeXUnit", "PhysicalSizeYUnit"}};

/* Of an axis, which may be the other one in the output. */
static void print_axis(FILE *to, int kind, int axis, struct word value, char quote,
                       const struct change *change)
{
    const struct affine *from = &change->from;
    const int out = affine_is_on_side(from) ? !axis : axis;
    const double steps[] = {hypot(from->xx, from->yx), hypot(from->xy, from->yy)};
    const uint32_t in_size[] = {change->in_width, change->in_height};
    const uint32_t out_size[] = {change->out_width, change->out_height};
    fprintf(to, "%s=%c", ome_names[kind][out], quote);
    if (kind == OME_PHYSICAL_SIZE) {
        fprintf(to, "%.12g", strtod(value.start, NULL) * steps[out]);
    } else if (kind == OME_SIZE) { /* other images of the file have sizes of their own */
        const unsigned long old = strtoul(value.start, NULL, 10);
        const bool known = old == in_size[axis];
        fprintf(to, "%lu", known ? out_size[out] : (unsigned long)ceil((double)old / steps[out]));
    } else {
        fwrite(value.start, 1, value.length, to);
    }
    fputc(quote, to);
}

static void print_attribute(FILE *to, struct word name, struct word value, char quote,
                            const struct change *change)
{
    for (int kind = 0; kind < OME_KINDS; kind++)
        for (int axis = 0; axis < 2; axis++)
            if (word_equals(name, ome_names[kind][axis])) {
                print_axis(to, kind, axis, value, quote, change);
                return;
            }
    const bool other_type = change->in_type != change->out_type;
    const bool retyped = word_equals(name, "Type") && other_type;
    if (other_type && word_equals(name, "SignificantBits")) /* those of the input's numbers */
        return;
    fprintf(to, "%.*s=%c", (int)name.length, name.start, quote);
    if (retyped)
        fputs(ome_type(change->out_type), to);
    else
        fwrite(value.start, 1, value.length, to);
    fputc(quote, to);
}

/* The attributes of one start tag; returns where it ends. */
static const char *print_tag(FILE *to, const char *text, const struct change *change)
{
    while (*text != '\0' && *text != '>') {
        size_t name = strcspn(text, "=\"'>"), space = strspn(text, " \t\r\n");
        char quote = text[name] == '=' ? text[name + 1] : '\0';
        const char *value = text + name + 2;
        const char *end = quote == '"' || quote == '\'' ? strchr(value, quote) : NULL;
        if (end == NULL)
            break;
        fwrite(text, 1, space, to);
        print_attribute(to, (struct word){text + space, name - space},
                        (struct word){value, (size_t)(end - value)}, quote, change);
        text = end + 1;
    }
    return text;
}

static enum status rewrite_ome(struct metadata *metadata, const struct change *change, struct error *error)
{
    static const char element[] = "Pixels ";
    const char *text = metadata_text(metadata, KEY), *found;
    char *made = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&made, &size);
    if (to == NULL)
        return fail_memory(error, "out of memory for a description");
    while ((found = strstr(text, element)) != NULL) {
        bool starts = found > text && (found[-1] == '<' || found[-1] == ':');
        found += strlen(element) - 1;
        fwrite(text, 1, (size_t)(found - text), to);
        text = starts ? print_tag(to, found, change) : found;
    }
    fputs(text, to);
    bool written = !ferror(to);
    written = fclose(to) == 0 && written;
    enum status status =
        written ? set(metadata, made, error) : fail_memory(error, "out of memory for a description");
    free(made);
    return status;
}

/* Regions are in pixels too, in more ways than are rewritten here. */
static enum status follow_ome(struct metadata *metadata, const struct change *change, struct error *error)
{
    const char *text = metadata_text(metadata, KEY);
    const bool moved = change_moves(change);
    if (change->in_pages != change->out_pages || change->in_channels != change->out_channels ||
        (moved && !can_follow(text, change)) ||
        ((moved || change->redrawn) && strstr(text, "<ROI") != NULL)) {
        drop(metadata, "the OME description");
        return STATUS_OK;
    }
    if (!moved && change->in_type == change->out_type)
        return STATUS_OK;
    return rewrite_ome(metadata, change, error);
}

enum status description_follow(struct metadata *metadata, const struct change *change, struct error *error)
{
    const char *text = metadata_text(metadata, KEY);
    if (text == NULL)
        return STATUS_OK;
    if (description_is_imagej(metadata))
        return follow_imagej(metadata, change, error);
    if (text[0] == '{' && strstr(text, "\"shape\":") != NULL)
        return follow_shaped(metadata, change, error);
    return is_ome(text) ? follow_ome(metadata, change, error) : STATUS_OK;
}
