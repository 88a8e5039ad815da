/* Reads metadata from the segments of a JPEG header; jpeg.h shows their layout.
 *
 *     libjpeg ─▶ on_segment: segment in memory ─▶ parse_segment ─▶ metadata, or parts in struct jpeg_segments
 *     end of the header ─▶ jpeg_segments_finish: IPTC from Photoshop's resources, ICC profile from its parts,
 *                          JFIF's resolution, warnings of a gain map or video that XMP announces
 *
 * One segment at a time is in memory; libjpeg's own jpeg_save_markers would keep all of them. A segment that
 * is damaged or not known is left out and noted; the only error is out of memory. */
#include "base/text.h"
#include "image/ifd.h"
#include "image/jpeg/jpeg.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PHOTOSHOP_MAX = 16 << 20 /* bytes of all segments; real files have up to some 100 KB */ };

/* True if the current segment begins with the identifier, `size` bytes. */
static bool has_identifier(const struct jpeg_segments *segments, const char *identifier, size_t size)
{
    return segments->size >= size && memcmp(segments->data, identifier, size) == 0;
}

/* Parses the head of a Photoshop image resource:
 *
 *     "8BIM"   number, 2 bytes   length of the name, the name, padding to an even size   size, 4 bytes   data
 *
 * Returns the size of the head; 0: no complete resource is there. *size: bytes of the data. */
static size_t parse_resource(const unsigned char *at, size_t left, unsigned *number, size_t *size)
{
    enum { NAME_OFFSET = 6, SIZE_BYTES = 4 };
    if (left <= NAME_OFFSET || memcmp(at, "8BIM", 4) != 0)
        return 0;
    /* The length's byte and the name together have an even number of bytes. */
    const size_t size_offset = NAME_OFFSET + (((size_t)at[NAME_OFFSET] + 2) & ~(size_t)1);
    const unsigned char *field = at + size_offset;
    if (left < size_offset + SIZE_BYTES)
        return 0;
    *number = (unsigned)at[4] << 8 | at[5];
    *size = (size_t)field[0] << 24 | (size_t)field[1] << 16 | (size_t)field[2] << 8 | field[3];
    return *size <= left - size_offset - SIZE_BYTES ? size_offset + SIZE_BYTES : 0;
}

/* Appends the segment to Photoshop's resources; a resource may continue in the next segment. */
static enum status parse_photoshop(struct jpeg_segments *segments, struct error *error)
{
    struct blob *all = &segments->photoshop;
    const size_t head = sizeof PHOTOSHOP_IDENTIFIER, size = segments->size - head;
    if (all->size + size > PHOTOSHOP_MAX) {
        metadata_note_left_out(segments->metadata, "Photoshop's resources");
        return STATUS_OK;
    }
    unsigned char *grown = realloc(all->data, all->size + size + 1 /* never 0 bytes */);
    if (grown == NULL)
        return fail_memory(error, "out of memory for metadata");
    memcpy(grown + all->size, segments->data + head, size);
    all->data = grown;
    all->size += size;
    return STATUS_OK;
}

/* After the last segment: copies IPTC of Photoshop's resources to the metadata. Several IPTC resources form
 * one list of data sets. They are joined in place, at the front of the buffer, which was parsed already. */
static enum status extract_iptc(const struct jpeg_segments *segments, struct error *error)
{
    unsigned char *const iptc = segments->photoshop.data, *at = iptc;
    size_t left = segments->photoshop.size, iptc_size = 0, head, size;
    unsigned number;
    while ((head = parse_resource(at, left, &number, &size)) > 0) {
        if (number == RESOURCE_IPTC) {
            memmove(iptc + iptc_size, at + head, size);
            iptc_size += size;
        } else {
            metadata_note_left_out(segments->metadata, "Photoshop's resources");
        }
        size_t whole = head + size + size % 2;
        if (size % 2 != 0 && left - head - size >= 4 && memcmp(at + head + size, "8BIM", 4) == 0)
            whole--; /* some writers omit the padding at the end of a segment; segments are joined */
        at += whole < left ? whole : left;
        left -= whole < left ? whole : left;
    }
    return iptc_size > 0 ? metadata_set_tag(segments->metadata, TAG_IPTC, iptc, iptc_size, error) : STATUS_OK;
}

/* ---------------------------------------------------------------- companions of the first picture */

/* True if an MPF index (CIPA DC-007) lists a picture that is neither the first one nor a preview of it. The
 * kind is in bits 16 to 23 of the attribute, the first 4 bytes of an entry. */
static bool has_further_pictures(const struct blob *index)
{
    enum { MP_ENTRY = 0xb002, ENTRY_SIZE = 16, PREVIEWS = 0x01, PRIMARY = 0x03 };
    struct ifd ifd;
    struct ifd_entry entry;
    if (!ifd_of_blob(index, &ifd) || !ifd_find(&ifd, MP_ENTRY, &entry))
        return false;
    for (uint64_t at = ENTRY_SIZE /* skips the first picture */; at + ENTRY_SIZE <= entry.size;
         at += ENTRY_SIZE) {
        const unsigned char *attribute = index->data + entry.offset + at;
        const bool is_big_endian = index->data[0] == 'M';
        const unsigned char kind = attribute[is_big_endian ? 1 : 2];
        if (kind != PREVIEWS && kind != PRIMARY)
            return true;
    }
    return false;
}

struct jpeg_companions jpeg_companions_find(const unsigned char *bytes, size_t size)
{
    static const char *const gain_maps[] = {"hdr-gain-map", "hdrgainmap", "HDRGainMap", GAIN_MAP_IDENTIFIER};
    struct jpeg_companions found = {.gain_map = false};
    size_t at = 0;
    while (at < size && bytes[at] == 0) /* padding */
        at++;
    bytes += at;
    size -= at;
    /* Another JPEG: a gain map if its metadata says so. */
    const bool is_jpeg = size >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0;
    for (size_t i = 0; is_jpeg && i < sizeof gain_maps / sizeof gain_maps[0]; i++)
        found.gain_map = found.gain_map || memmem(bytes, size, gain_maps[i], strlen(gain_maps[i])) != NULL;
    found.pictures = is_jpeg && !found.gain_map;
    /* An MP4 begins with its size (4 bytes) and "ftyp". The first 3 bytes of the size are usually 0, and were
     * skipped as padding above. */
    found.video = (at >= 3 && size >= 5 && memcmp(bytes + 1, "ftyp", 4) == 0) ||
                  (size >= 8 && memcmp(bytes + 4, "ftyp", 4) == 0) ||
                  memmem(bytes, size, "MotionPhoto_Data", 16) != NULL /* Samsung */;
    return found;
}

void jpeg_companions_warn(const struct jpeg_companions *companions, struct metadata *metadata,
                          const char **unread)
{
    const struct {
        bool is_present;
        const char *name;
    } all[] = {{companions->gain_map, "the gain map for HDR"},
               {companions->video, "the video of a motion photo"},
               /* An MPF index lists the gain map as a picture, too. */
               {companions->pictures && !companions->gain_map, "further pictures"}};
    char line[200] = "";
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!all[i].is_present)
            continue;
        text_append(line, sizeof line, "%s %s",
                    line[0] != '\0' ? "," : "only its first picture is read; left out:", all[i].name);
        *unread = all[i].name;
    }
    if (line[0] != '\0')
        metadata_warn(metadata, line);
}

/* ---------------------------------------------------------------- segments */

/* Adds a comment as a text. T.81 does not specify the encoding. The comment may begin with a PNG keyword, or
 * the key of a TIFF tag, as jpeg_metadata_write writes it. */
static enum status parse_comment(struct jpeg_segments *segments, struct error *error)
{
    static const char *const keys[] = {"Title",         "Author",   "Description", "Copyright",
                                       "Creation Time", "Software", "Disclaimer",  "Warning",
                                       "Source",        "Make",     "Model"};
    char *text = (char *)segments->data;
    struct text_entry entry = {.key = (char *)(uintptr_t)COMMENT_KEY, .value = text};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const size_t length = strlen(keys[i]);
        if (strncmp(text, keys[i], length) != 0 ||
            strncmp(text + length, KEY_SEPARATOR, strlen(KEY_SEPARATOR)) != 0)
            continue;
        entry.key = (char *)(uintptr_t)keys[i];
        entry.value = text + length + strlen(KEY_SEPARATOR);
        break;
    }
    return metadata_add_text(segments->metadata, &entry, error);
}

/* Adds the metadata of one segment. Only the first EXIF and the first XMP count. */
static enum status parse_segment(struct jpeg_segments *segments, int marker, struct error *error)
{
    const bool is_app1 = marker == JPEG_APP0 + 1, is_app2 = marker == JPEG_APP0 + 2;
    struct metadata *metadata = segments->metadata;
    segments->data[segments->size] = '\0';
    if (marker == JPEG_COM)
        return parse_comment(segments, error);

    /* EXIF. The last byte of its identifier is not 0 in files of some cameras. */
    if (is_app1 && segments->size > sizeof EXIF_IDENTIFIER &&
        has_identifier(segments, EXIF_IDENTIFIER, sizeof EXIF_IDENTIFIER - 1))
        return metadata_add_exif(metadata, segments->data + sizeof EXIF_IDENTIFIER,
                                 segments->size - sizeof EXIF_IDENTIFIER, error);
    if (is_app1 && has_identifier(segments, XMP_IDENTIFIER, sizeof XMP_IDENTIFIER)) {
        const struct text_entry xmp = {.key = (char *)(uintptr_t)XMP_KEY,
                                       .value = (char *)segments->data + sizeof XMP_IDENTIFIER};
        return metadata_add_text(metadata, &xmp, error);
    }
    if (is_app2 && segments->size >= ICC_HEADER_SIZE &&
        has_identifier(segments, ICC_IDENTIFIER, sizeof ICC_IDENTIFIER)) {
        /* A part of the ICC profile. Parts may be in any order; a part that is repeated is damage. */
        const int number = segments->data[ICC_HEADER_SIZE - 2], count = segments->data[ICC_HEADER_SIZE - 1];
        if (segments->icc_count == 0)
            segments->icc_count = count;
        if (number < 1 || number > count || count != segments->icc_count ||
            segments->icc[number - 1].data != NULL) {
            segments->icc_damaged = true;
            return STATUS_OK;
        }
        return metadata_set_blob(&segments->icc[number - 1], segments->data + ICC_HEADER_SIZE,
                                 segments->size - ICC_HEADER_SIZE, error);
    }
    if (marker == JPEG_APP0 + 13 &&
        has_identifier(segments, PHOTOSHOP_IDENTIFIER, sizeof PHOTOSHOP_IDENTIFIER))
        return parse_photoshop(segments, error);

    /* All other segments are left out. Two of them announce companions of the first picture. */
    if (is_app2 && has_identifier(segments, GAIN_MAP_IDENTIFIER, sizeof GAIN_MAP_IDENTIFIER))
        segments->companions.gain_map = true;
    if (is_app2 && has_identifier(segments, MPF_IDENTIFIER, sizeof MPF_IDENTIFIER)) {
        const struct blob index = {segments->data + sizeof MPF_IDENTIFIER,
                                   segments->size - sizeof MPF_IDENTIFIER};
        segments->companions.has_index = true;
        segments->companions.pictures = has_further_pictures(&index);
    }
    /* Note the marker and identifier: "APP2 (MPF)". */
    enum { SHOWN = 16 };
    char name[SHOWN + 16];
    int length = 0;
    while (length < SHOWN && (size_t)length < segments->size && isgraph(segments->data[length]))
        length++;
    const char *text = (const char *)segments->data;
    if (has_identifier(segments, EXTENDED_XMP_IDENTIFIER, sizeof EXTENDED_XMP_IDENTIFIER))
        snprintf(name, sizeof name, "XMP beyond 64 KiB");
    else if (length > 0)
        snprintf(name, sizeof name, "APP%d (%.*s)", marker - JPEG_APP0, length, text);
    else
        snprintf(name, sizeof name, "APP%d", marker - JPEG_APP0);
    metadata_note_left_out(segments->metadata, name);
    return STATUS_OK;
}

/* libjpeg calls this after a marker: reads the whole segment, and parses it if it precedes the first scan. */
static boolean on_segment(j_decompress_ptr in)
{
    struct jpeg_session *session = in->client_data;
    struct jpeg_segments *segments = session->segments;
    const int high = jpeg_session_read_byte(session), length = high << 8 | jpeg_session_read_byte(session);
    segments->size = length > 2 ? (size_t)length - 2 : 0;
    for (size_t i = 0; i < segments->size; i++)
        segments->data[i] = (unsigned char)jpeg_session_read_byte(session);
    if (in->input_scan_number == 0 && parse_segment(segments, in->unread_marker, session->error) != STATUS_OK)
        jpeg_session_fail(session);
    return TRUE;
}

/* Leaves APP0 (JFIF) and APP14 (Adobe) to libjpeg, which needs both. */
void jpeg_segments_register(struct jpeg_session *session, struct jpeg_segments *segments)
{
    session->segments = segments;
    jpeg_set_marker_processor(&session->jpeg.in, JPEG_COM, on_segment);
    for (int n = 1; n < 16; n++)
        if (n != 14)
            jpeg_set_marker_processor(&session->jpeg.in, JPEG_APP0 + n, on_segment);
}

enum status jpeg_segments_finish(const struct jpeg_session *session, struct jpeg_segments *segments,
                                 struct error *error)
{
    /* XMP announces companions, too: by a property whose value is 1 (cameras also write 0), or by the kind of
     * an item of a container. */
    static const char *const gain_maps[] = {"hdr-gain-map/1.0/", "HDRGainMap/1.0/", "\"GainMap\"",
                                            ">GainMap<"};
    static const char *const videos[] = {"MotionPhoto=\"1\"", "MotionPhoto>1<",  "MicroVideo=\"1\"",
                                         "MicroVideo>1<",     "\"MotionPhoto\"", ">MotionPhoto<"};
    struct metadata *metadata = segments->metadata;
    struct jpeg_companions *companions = &segments->companions;
    const char *xmp = metadata_text(metadata, XMP_KEY);
    for (size_t i = 0; xmp != NULL && i < sizeof gain_maps / sizeof gain_maps[0]; i++)
        companions->gain_map = companions->gain_map || strstr(xmp, gain_maps[i]) != NULL;
    for (size_t i = 0; xmp != NULL && i < sizeof videos / sizeof videos[0]; i++)
        companions->video = companions->video || strstr(xmp, videos[i]) != NULL;

    /* JFIF's resolution. 1:1 without a unit means that it is unknown. */
    static const double per_metre[] = {1 /* no unit */, 1 / 0.0254 /* inch */, 100 /* centimetre */};
    const struct jpeg_decompress_struct *in = &session->jpeg.in;
    const int unit = in->density_unit;
    if (in->saw_JFIF_marker && unit <= 2 && in->X_density > 0 && in->Y_density > 0 &&
        (unit != 0 || in->X_density != in->Y_density)) {
        metadata->resolution_unit = unit == 0 ? RESOLUTION_RATIO : RESOLUTION_PER_METRE;
        metadata->x_resolution = in->X_density * per_metre[unit];
        metadata->y_resolution = in->Y_density * per_metre[unit];
    }

    /* IPTC; the ICC profile, unless a part is missing or part numbers contradict each other. */
    if (extract_iptc(segments, error) != STATUS_OK)
        return STATUS_FAILED;
    size_t icc_size = 0;
    bool is_whole = !segments->icc_damaged && segments->icc_count > 0;
    for (int i = 0; i < segments->icc_count; i++) {
        is_whole = is_whole && segments->icc[i].data != NULL;
        icc_size += segments->icc[i].size;
    }
    if (is_whole) {
        metadata->icc.data = allocate(icc_size, "an ICC profile", error);
        if (metadata->icc.data == NULL)
            return STATUS_FAILED;
    } else if (segments->icc_count > 0 || segments->icc_damaged) {
        metadata_note_left_out(metadata, "the ICC profile, which is damaged");
    }
    for (int i = 0; is_whole && i < segments->icc_count; i++) {
        memcpy(metadata->icc.data + metadata->icc.size, segments->icc[i].data, segments->icc[i].size);
        metadata->icc.size += segments->icc[i].size;
    }
    return STATUS_OK;
}

void jpeg_segments_close(struct jpeg_segments *segments)
{
    for (int i = 0; i < ICC_PARTS_MAX; i++)
        free(segments->icc[i].data);
    free(segments->photoshop.data);
}
