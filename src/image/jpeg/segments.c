/* Reads the segments of the header as they are read. libjpeg would keep all of them in memory. */
#include "base/text.h"
#include "image/ifd.h"
#include "image/jpeg/jpeg.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PHOTOSHOP_MAX = 16 << 20 /* bytes of all segments; real files have up to some 100 KB */ };

static bool jpeg_begins(const struct jpeg_segments *segments, const char *name, size_t size)
{
    return segments->size >= size && memcmp(segments->data, name, size) == 0;
}

static enum status take_exif(struct jpeg_segments *segments, struct error *error)
{
    struct metadata *metadata = segments->metadata;
    const size_t head = sizeof EXIF_NAME;
    if (metadata->exif.data != NULL) {
        metadata_leave_out(metadata, "a second EXIF");
        return STATUS_OK;
    }
    enum status status =
        metadata_set_blob(&metadata->exif, segments->data + head, segments->size - head, error);
    if (status == STATUS_OK)
        metadata->orientation = exif_orientation(&metadata->exif);
    return status;
}

static enum status take_xmp(const struct jpeg_segments *segments, struct error *error)
{
    const size_t head = sizeof XMP_NAME;
    if (metadata_text(segments->metadata, XMP_KEY) != NULL) {
        metadata_leave_out(segments->metadata, "a second XMP");
        return STATUS_OK;
    }
    return metadata_set_text(segments->metadata, XMP_KEY, (const char *)segments->data + head,
                             segments->size - head, error);
}

static enum status take_icc(struct jpeg_segments *segments, struct error *error)
{
    const int number = segments->data[ICC_HEAD - 2], count = segments->data[ICC_HEAD - 1];
    if (segments->icc_count == 0)
        segments->icc_count = count;
    if (number < 1 || number > count || count != segments->icc_count ||
        segments->icc[number - 1].data != NULL) {
        segments->icc_damaged = true;
        return STATUS_OK;
    }
    return metadata_set_blob(&segments->icc[number - 1], segments->data + ICC_HEAD, segments->size - ICC_HEAD,
                             error);
}

/* Returns the size of a resource's head, or 0 if there is no resource. The head is "8BIM", a number, a name
 * with its length (padded to an even size) and the size of the data. */
static size_t read_resource(const unsigned char *at, size_t left, unsigned *number, size_t *size)
{
    enum { NAME = 6, SIZE = 4 };
    const size_t name = left > NAME ? NAME + (((size_t)at[NAME] + 2) & ~(size_t)1) : 0;
    if (name == 0 || left < name + SIZE || memcmp(at, "8BIM", 4) != 0)
        return 0;
    *number = (unsigned)at[4] << 8 | at[5];
    *size = (size_t)at[name] << 24 | (size_t)at[name + 1] << 16 | (size_t)at[name + 2] << 8 | at[name + 3];
    return *size <= left - name - SIZE ? name + SIZE : 0;
}

/* Resources may be divided between segments anywhere. */
static enum status take_photoshop(struct jpeg_segments *segments, struct error *error)
{
    struct blob *all = &segments->photoshop;
    const size_t head = sizeof PHOTOSHOP_NAME, size = segments->size - head;
    if (all->size + size > PHOTOSHOP_MAX) {
        metadata_leave_out(segments->metadata, "Photoshop's resources");
        return STATUS_OK;
    }
    unsigned char *grown = realloc(all->data, all->size + size + 1);
    if (grown == NULL)
        return fail_memory(error, "out of memory for metadata");
    memcpy(grown + all->size, segments->data + head, size);
    all->data = grown;
    all->size += size;
    return STATUS_OK;
}

/* Keeps IPTC; several resources of it are one list of data sets. Moves them to the front of the buffer, which
 * no later resource needs. */
static enum status read_photoshop(const struct jpeg_segments *segments, struct error *error)
{
    unsigned char *const iptc = segments->photoshop.data, *at = iptc;
    size_t left = segments->photoshop.size, iptc_size = 0, head, size;
    unsigned number;
    while ((head = read_resource(at, left, &number, &size)) > 0) {
        if (number == RESOURCE_IPTC) {
            memmove(iptc + iptc_size, at + head, size);
            iptc_size += size;
        } else {
            metadata_leave_out(segments->metadata, "Photoshop's resources");
        }
        size_t whole = head + size + size % 2;
        if (size % 2 != 0 && left - head - size >= 4 && memcmp(at + head + size, "8BIM", 4) == 0)
            whole--; /* some writers leave the padding out at the end of a segment */
        at += whole < left ? whole : left;
        left -= whole < left ? whole : left;
    }
    return iptc_size > 0 ? metadata_set_tag(segments->metadata, TAG_IPTC, iptc, iptc_size, error) : STATUS_OK;
}

/* ---------------------------------------------------------------- pictures and videos after the first
 * picture */

/* True if an index of MPF (CIPA DC-007) has a picture that is neither the first one nor a preview of it. */
static bool has_further_pictures(const struct blob *index)
{
    enum { MP_ENTRY = 0xb002, ENTRY_SIZE = 16, PREVIEWS = 0x01, PRIMARY = 0x03 };
    struct ifd_source source;
    struct ifd_entry entry;
    uint64_t ifd;
    if (!ifd_source_of_blob(index, &source, &ifd) || !ifd_find(&source, ifd, MP_ENTRY, &entry))
        return false;
    for (uint64_t at = ENTRY_SIZE; at + ENTRY_SIZE <= entry.size; at += ENTRY_SIZE) {
        const unsigned char *attribute = index->data + entry.offset + at;
        const unsigned char kind = attribute[index->data[0] == 'M' ? 1 : 2];
        if (kind != PREVIEWS && kind != PRIMARY)
            return true;
    }
    return false;
}

/* Finds them by what XMP says. Cameras write both properties also with the value 0. */
static void find_in_xmp(struct jpeg_companions *found, const char *xmp)
{
    static const char *const gain_maps[] = {"hdr-gain-map/1.0/", "HDRGainMap/1.0/", "\"GainMap\"",
                                            ">GainMap<"};
    static const char *const videos[] = {"MotionPhoto=\"1\"", "MotionPhoto>1<",  "MicroVideo=\"1\"",
                                         "MicroVideo>1<",     "\"MotionPhoto\"", ">MotionPhoto<"};
    for (size_t i = 0; i < sizeof gain_maps / sizeof gain_maps[0]; i++)
        found->gain_map = found->gain_map || strstr(xmp, gain_maps[i]) != NULL;
    for (size_t i = 0; i < sizeof videos / sizeof videos[0]; i++)
        found->video = found->video || strstr(xmp, videos[i]) != NULL;
}

struct jpeg_companions jpeg_companions_find(const unsigned char *bytes, size_t size)
{
    static const char *const gain_maps[] = {"hdr-gain-map", "hdrgainmap", "HDRGainMap", GAIN_MAP_NAME};
    struct jpeg_companions found = {.gain_map = false};
    size_t at = 0;
    while (at < size && bytes[at] == 0) /* padding */
        at++;
    bytes += at;
    size -= at;
    found.pictures = size >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0;
    for (size_t i = 0; found.pictures && i < sizeof gain_maps / sizeof gain_maps[0]; i++)
        found.gain_map = found.gain_map || memmem(bytes, size, gain_maps[i], strlen(gain_maps[i])) != NULL;
    found.pictures = found.pictures && !found.gain_map;
    found.video = (at >= 3 && size >= 5 && memcmp(bytes + 1, "ftyp", 4) == 0) ||
                  (size >= 8 && memcmp(bytes + 4, "ftyp", 4) == 0) ||
                  memmem(bytes, size, "MotionPhoto_Data", 16) != NULL /* Samsung */;
    return found;
}

void jpeg_companions_warn(const struct jpeg_companions *left_out, struct metadata *metadata)
{
    char text[160] = "";
    if (left_out->gain_map)
        text_append(text, sizeof text, ", the gain map for HDR");
    if (left_out->video)
        text_append(text, sizeof text, ", the video of a motion photo");
    if (left_out->pictures && !left_out->gain_map)
        text_append(text, sizeof text, ", further pictures");
    char line[200];
    snprintf(line, sizeof line, "only its first picture is read; left out: %s", text + 2);
    if (text[0] != '\0')
        metadata_warn(metadata, line);
}

/* Returns the key of PNG with which a comment begins, or NULL. */
static const char *comment_key(const char *text)
{
    static const char *const keys[] = {"Title",    "Author",     "Description", "Copyright", "Creation Time",
                                       "Software", "Disclaimer", "Warning",     "Source"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const size_t length = strlen(keys[i]);
        if (strncmp(text, keys[i], length) == 0 && strncmp(text + length, KEY_END, strlen(KEY_END)) == 0)
            return keys[i];
    }
    return NULL;
}

/* UTF-8, or else Latin-1. */
static enum status take_comment(struct jpeg_segments *segments, struct error *error)
{
    segments->data[segments->size] = '\0';
    char *text = (char *)segments->data, *made = NULL;
    if (!utf8_is_valid(text, strlen(text))) {
        made = utf8_from_latin1(text, strlen(text), error);
        if (made == NULL)
            return STATUS_FAILED;
        text = made;
    }
    const char *key = comment_key(text);
    const struct text_entry entry = {.key = (char *)(uintptr_t)(key == NULL ? COMMENT_KEY : key),
                                     .value = text + (key == NULL ? 0 : strlen(key) + strlen(KEY_END))};
    enum status status = metadata_add_text(segments->metadata, &entry, error);
    free(made);
    return status;
}

/* Names a segment that is not kept: "APP2 (MPF)". */
static void jpeg_leave_out(const struct jpeg_segments *segments, int marker)
{
    enum { SHOWN = 16 };
    char name[SHOWN + 16];
    int length = 0;
    while (length < SHOWN && (size_t)length < segments->size && isgraph(segments->data[length]))
        length++;
    const char *text = (const char *)segments->data;
    if (jpeg_begins(segments, MORE_XMP_NAME, sizeof MORE_XMP_NAME))
        snprintf(name, sizeof name, "XMP beyond 64 KiB");
    else if (length > 0)
        snprintf(name, sizeof name, "APP%d (%.*s)", marker - MARKER_APP0, length, text);
    else
        snprintf(name, sizeof name, "APP%d", marker - MARKER_APP0);
    metadata_leave_out(segments->metadata, name);
}

static enum status take(struct jpeg_segments *segments, int marker, struct error *error)
{
    const bool is_app1 = marker == MARKER_APP0 + 1, is_app2 = marker == MARKER_APP0 + 2;
    if (marker == MARKER_COMMENT)
        return take_comment(segments, error);
    /* Its last byte is 0, but not of all cameras. */
    if (is_app1 && segments->size > sizeof EXIF_NAME &&
        jpeg_begins(segments, EXIF_NAME, sizeof EXIF_NAME - 1))
        return take_exif(segments, error);
    if (is_app1 && jpeg_begins(segments, XMP_NAME, sizeof XMP_NAME))
        return take_xmp(segments, error);
    if (is_app2 && segments->size >= ICC_HEAD && jpeg_begins(segments, ICC_NAME, sizeof ICC_NAME))
        return take_icc(segments, error);
    if (marker == MARKER_APP0 + 13 && jpeg_begins(segments, PHOTOSHOP_NAME, sizeof PHOTOSHOP_NAME))
        return take_photoshop(segments, error);
    if (is_app2 && jpeg_begins(segments, GAIN_MAP_NAME, sizeof GAIN_MAP_NAME))
        segments->left_out.gain_map = true;
    if (is_app2 && jpeg_begins(segments, MPF_NAME, sizeof MPF_NAME)) {
        const struct blob index = {segments->data + sizeof MPF_NAME, segments->size - sizeof MPF_NAME};
        segments->left_out.is_known = true;
        segments->left_out.pictures = has_further_pictures(&index);
    }
    jpeg_leave_out(segments, marker);
    return STATUS_OK;
}

/* libjpeg calls this after a marker. */
static boolean on_segment(j_decompress_ptr in)
{
    struct jpeg_session *session = in->client_data;
    struct jpeg_segments *segments = session->segments;
    const int high = jpeg_session_byte(session), length = high << 8 | jpeg_session_byte(session);
    segments->size = length > 2 ? (size_t)length - 2 : 0;
    for (size_t i = 0; i < segments->size; i++)
        segments->data[i] = (unsigned char)jpeg_session_byte(session);
    if (session->in_header && take(segments, in->unread_marker, session->error) != STATUS_OK)
        jpeg_session_fail(session);
    return TRUE;
}

/* libjpeg itself needs the segments of JFIF (APP0) and Adobe (APP14). */
void jpeg_segments_expect(struct jpeg_session *session, struct jpeg_segments *segments)
{
    session->segments = segments;
    jpeg_set_marker_processor(&session->jpeg.in, MARKER_COMMENT, on_segment);
    for (int n = 1; n < 16; n++)
        if (n != 14)
            jpeg_set_marker_processor(&session->jpeg.in, MARKER_APP0 + n, on_segment);
}

static enum status join_icc(const struct jpeg_segments *segments, struct error *error)
{
    struct metadata *metadata = segments->metadata;
    size_t size = 0;
    bool whole = !segments->icc_damaged;
    for (int i = 0; i < segments->icc_count; i++) {
        whole = whole && segments->icc[i].data != NULL;
        size += segments->icc[i].size;
    }
    if (!whole || size == 0) {
        if (segments->icc_count > 0 || segments->icc_damaged)
            metadata_leave_out(metadata, "the ICC profile, which is damaged");
        return STATUS_OK;
    }
    metadata->icc.data = allocate(size, "an ICC profile", error);
    if (metadata->icc.data == NULL)
        return STATUS_FAILED;
    for (int i = 0; i < segments->icc_count; i++) {
        memcpy(metadata->icc.data + metadata->icc.size, segments->icc[i].data, segments->icc[i].size);
        metadata->icc.size += segments->icc[i].size;
    }
    return STATUS_OK;
}

/* 1:1 without a unit says nothing. */
static void take_resolution(const struct jpeg_decompress_struct *in, struct metadata *metadata)
{
    static const double units[] = {1, 1 / 0.0254, 100}; /* none, an inch, a centimetre: in a metre */
    const int unit = in->density_unit;
    if (!in->saw_JFIF_marker || unit > 2 || in->X_density == 0 || in->Y_density == 0 ||
        (unit == 0 && in->X_density == in->Y_density))
        return;
    metadata->resolution_unit = unit == 0 ? RESOLUTION_RATIO : RESOLUTION_PER_METRE;
    metadata->x_resolution = in->X_density * units[unit];
    metadata->y_resolution = in->Y_density * units[unit];
}

enum status jpeg_segments_take(const struct jpeg_session *session, struct jpeg_segments *segments,
                               struct error *error)
{
    const char *xmp = metadata_text(segments->metadata, XMP_KEY);
    if (xmp != NULL)
        find_in_xmp(&segments->left_out, xmp);
    jpeg_companions_warn(&segments->left_out, segments->metadata);
    take_resolution(&session->jpeg.in, segments->metadata);
    enum status status = read_photoshop(segments, error);
    return status == STATUS_OK ? join_icc(segments, error) : status;
}

void jpeg_segments_close(struct jpeg_segments *segments)
{
    for (int i = 0; i < ICC_PARTS_MAX; i++)
        free(segments->icc[i].data);
    free(segments->photoshop.data);
}
