/* XMP (ISO 16684-1): removes properties by name if they are not true of the output. The rest of the text
 * stays.
 *
 * A property is an attribute, ` tiff:Orientation="6"`, or an element,
 * `<tiff:Orientation>6</tiff:Orientation>`, which may have other elements inside. Its prefix stands for a
 * namespace: xmlns:tiff="http://ns.adobe.com/tiff/1.0/". */
#include "image/metadata/metadata.h"

#include <math.h>
#include <string.h>

/* The changes after which a property is removed. */
enum xmp_reason {
    XMP_ALWAYS,     /* any: it is not true of any output */
    XMP_REORIENTED, /* pixels were turned by the orientation */
    XMP_MOVED,      /* pixels moved */
    XMP_REFRAMED,   /* positions as fractions of width and height changed: not by --resize alone */
    XMP_RECOLOURED, /* colours were converted, or became gray */
    XMP_PROCESSED,  /* stages changed the picture */
};

static const struct xmp_property {
    const char *namespace; /* URI */
    const char *prefix;    /* the usual one; XMP may declare another */
    const char *name;      /* of the property; * at its end matches any characters */
    const char *label;     /* name for messages */
    enum xmp_reason reason;
} xmp_properties[] = {
    {"http://ns.adobe.com/tiff/1.0/", "tiff", "Orientation", "XMP's orientation", XMP_REORIENTED},
    {"http://ns.adobe.com/tiff/1.0/", "tiff", "ImageWidth", "XMP's size", XMP_MOVED},
    {"http://ns.adobe.com/tiff/1.0/", "tiff", "ImageLength", "XMP's size", XMP_MOVED},
    {"http://ns.adobe.com/tiff/1.0/", "tiff", "XResolution", "XMP's resolution", XMP_MOVED},
    {"http://ns.adobe.com/tiff/1.0/", "tiff", "YResolution", "XMP's resolution", XMP_MOVED},
    {"http://ns.adobe.com/exif/1.0/", "exif", "PixelXDimension", "XMP's size", XMP_MOVED},
    {"http://ns.adobe.com/exif/1.0/", "exif", "PixelYDimension", "XMP's size", XMP_MOVED},
    {"http://ns.adobe.com/exif/1.0/", "exif", "SubjectArea", "the place of XMP's subject", XMP_MOVED},
    {"http://ns.adobe.com/exif/1.0/", "exif", "SubjectLocation", "the place of XMP's subject", XMP_MOVED},
    /* Faces of Lightroom, digiKam and Picasa, of Windows, and regions of IPTC and ACDSee. */
    {"http://www.metadataworkinggroup.com/schemas/regions/", "mwg-rs", "Regions", "XMP's regions",
     XMP_REFRAMED},
    {"http://ns.microsoft.com/photo/1.2/", "MP", "RegionInfo", "XMP's regions", XMP_REFRAMED},
    {"http://iptc.org/std/Iptc4xmpExt/2008-02-29/", "Iptc4xmpExt", "ImageRegion", "XMP's regions",
     XMP_REFRAMED},
    {"http://ns.acdsee.com/regions/", "acdsee-rs", "Regions", "XMP's regions", XMP_REFRAMED},
    /* The place of the picture on the sphere, in pixels of the original. */
    {"http://ns.google.com/photos/1.0/panorama/", "GPano", "*", "XMP's panorama", XMP_REFRAMED},
    {"http://ns.adobe.com/exif/1.0/", "exif", "ColorSpace", "XMP's colour space", XMP_RECOLOURED},
    {"http://ns.adobe.com/photoshop/1.0/", "photoshop", "ICCProfile", "XMP's colour space", XMP_RECOLOURED},
    {"http://ns.adobe.com/xap/1.0/g/img/", "xmpGImg", "image", "the XMP thumbnail", XMP_PROCESSED},
    /* Outputs have no second picture, no video and no extended XMP. */
    {"http://ns.adobe.com/hdr-gain-map/1.0/", "hdrgm", "*", "XMP's gain map", XMP_ALWAYS},
    {"http://ns.apple.com/HDRGainMap/1.0/", "HDRGainMap", "*", "XMP's gain map", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/container/", "Container", "*", "XMP's list of pictures", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/container/item/", "Item", "*", "XMP's list of pictures", XMP_ALWAYS},
    {"http://ns.google.com/photos/dd/1.0/container/", "Container", "*", "XMP's list of pictures", XMP_ALWAYS},
    {"http://ns.google.com/photos/dd/1.0/item/", "Item", "*", "XMP's list of pictures", XMP_ALWAYS},
    {"http://ns.google.com/photos/dd/1.0/device/", "Device", "*", "XMP's list of pictures", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/camera/", "GCamera", "MicroVideo*", "XMP's video", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/camera/", "GCamera", "MotionPhoto*", "XMP's video", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/depthmap/", "GDepth", "*", "XMP's depth map", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/image/", "GImage", "*", "XMP's pictures", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/audio/", "GAudio", "*", "XMP's sound", XMP_ALWAYS},
    {"http://ns.adobe.com/xmp/note/", "xmpNote", "HasExtendedXMP", "XMP's extension", XMP_ALWAYS},
};

static const char XML_SPACE[] = " \t\r\n";

static bool is_name_character(char c)
{
    return c != '\0' && strchr("=/> \t\r\n\"'<", c) == NULL;
}

/* Returns the end of the property whose name begins at `name` and has `length` bytes; NULL if it does not
 * end. */
static char *property_end(char *name, size_t length)
{
    char *end = name + length;
    if (name[-1] != '<') { /* an attribute: name, =, quote */
        end += strspn(end, "= \t\r\n");
        end = *end == '"' || *end == '\'' ? strchr(end + 1, *end) : NULL;
        return end == NULL ? NULL : end + 1;
    }
    /* An element: an empty one, or text and other elements up to the end tag. */
    end = strchr(end, '>');
    if (end == NULL || end[-1] == '/')
        return end == NULL ? NULL : end + 1;
    while ((end = strstr(end, "</")) != NULL) {
        end += 2;
        if (strncmp(end, name, length) != 0)
            continue;
        end += length + strspn(end + length, XML_SPACE);
        if (*end == '>')
            return end + 1;
    }
    return NULL;
}

/* Removes all properties of that prefix and name, which may end with *. True if there were any. Stops at one
 * that does not end: searching on could take quadratic time. */
static bool cut_properties(char *xmp, const char *prefix, const char *name)
{
    const bool is_pattern = name[strlen(name) - 1] == '*';
    const size_t name_length = strlen(name) - is_pattern, prefix_length = strlen(prefix);
    /* Bytes before `to` are final; bytes from `from` on are moved there; `at` finds colons. */
    char *to = xmp, *from = xmp, *at = xmp;
    while ((at = strchr(at, ':')) != NULL) {
        const bool has_room = (size_t)(at - from) > prefix_length;
        char *start = has_room ? at - prefix_length : at;
        at++;
        if (!has_room || strncmp(start, prefix, prefix_length) != 0 ||
            strchr("< \t\r\n", start[-1]) == NULL || strncmp(at, name, name_length) != 0)
            continue;
        size_t length = prefix_length + 1 + name_length;
        while (is_pattern && is_name_character(start[length]))
            length++;
        if (is_name_character(start[length]) ||
            (start[-1] != '<' && start[length + strspn(start + length, XML_SPACE)] != '=')) /* prose */
            continue;
        char *end = property_end(start, length);
        if (end == NULL)
            break;
        memmove(to, from, (size_t)(start - 1 - from));
        to += start - 1 - from;
        from = at = end;
    }
    const bool has_cut = from > xmp;
    memmove(to, from, strlen(from) + 1);
    return has_cut;
}

/* Copies PREFIX of xmlns:PREFIX="NAMESPACE"; `value` is at NAMESPACE. False: another attribute, or a prefix
 * that is too long. */
static bool copy_prefix(const char *xmp, const char *value, const char *namespace, char *prefix, size_t size)
{
    static const char declaration[] = "xmlns:";
    const size_t declared = strlen(declaration);
    const char *end = value - 1, *start;
    if (end <= xmp || (*end != '"' && *end != '\'') || value[strlen(namespace)] != *end)
        return false;
    while (end > xmp && strchr("= \t\r\n", end[-1]) != NULL)
        end--;
    for (start = end; start > xmp && start[-1] != ':' && is_name_character(start[-1]);)
        start--;
    const size_t length = (size_t)(end - start);
    if ((size_t)(start - xmp) < declared || strncmp(start - declared, declaration, declared) != 0 ||
        length == 0 || length >= size)
        return false;
    memcpy(prefix, start, length);
    prefix[length] = '\0';
    return true;
}

/* Removes a property with any prefix of its namespace. True if there was one. With the name * the
 * declarations of the namespace are removed, too. */
static bool cut_property(char *xmp, const struct xmp_property *property)
{
    enum { DECLARATIONS_MAX = 16 }; /* limits the time; real files have one; each may be found twice */
    bool has_cut = cut_properties(xmp, property->prefix, property->name);
    char *value = xmp, prefix[64];
    for (int i = 0; i < DECLARATIONS_MAX && (value = strstr(value, property->namespace)) != NULL; i++) {
        if (!copy_prefix(xmp, value++, property->namespace, prefix, sizeof prefix))
            continue;
        bool has_moved = cut_properties(xmp, prefix, property->name);
        has_cut = has_cut || has_moved;
        if (has_cut && strcmp(property->name, "*") == 0)
            has_moved = cut_properties(xmp, "xmlns", prefix) || has_moved;
        value = has_moved ? xmp : value;
    }
    return has_cut;
}

void xmp_update(struct metadata *metadata, const struct change *change)
{
    /* The picture was turned, or a side lost or got more than one output pixel. */
    const struct affine *from = &change->from;
    const bool is_reframed = change->new_geometry || !affine_is_upright(from) || fabs(from->x) > from->xx ||
                             fabs(from->y) > from->yy ||
                             fabs(from->x + from->xx * change->out_width - change->in_width) > from->xx ||
                             fabs(from->y + from->yy * change->out_height - change->in_height) > from->yy;
    /* A profile of RGB became one of gray (update_colours). */
    const bool has_new_profile =
        metadata->icc.data != NULL && (change->in_channels <= 2) != (change->out_channels <= 2);
    const bool is_untrue[] = {[XMP_ALWAYS] = true,
                              [XMP_REORIENTED] = change->reoriented,
                              [XMP_MOVED] = change_moves(change),
                              [XMP_REFRAMED] = is_reframed,
                              [XMP_RECOLOURED] = change->recoloured || has_new_profile,
                              [XMP_PROCESSED] = change->processed};
    const struct text_entry *xmp = metadata_find_text(metadata, XMP_KEY);
    for (size_t i = 0; xmp != NULL && i < sizeof xmp_properties / sizeof xmp_properties[0]; i++)
        if (is_untrue[xmp_properties[i].reason] && cut_property(xmp->value, &xmp_properties[i]))
            metadata_note_left_out(metadata, xmp_properties[i].label);
    if (xmp != NULL && xmp->value[0] == '\0')
        metadata_remove_text(metadata, XMP_KEY);
}
