/* JPEG by libjpeg-turbo: gray and YCbCr, 8 bit. Sources: ITU-T T.81 (the format), T.871 (JFIF), CIPA DC-008
 * (EXIF), ICC.1 annex B.4, XMP part 3. */
#ifndef CLIMG_IMAGE_JPEG_JPEG_H
#define CLIMG_IMAGE_JPEG_JPEG_H

#include "base/error.h"
#include "image/codec.h"
#include "image/image.h"

#include <jpeglib.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    MARKER_SOF0 = 0xc0, /* frames; ITU-T T.81, table B.1 */
    MARKER_SOF1 = 0xc1,
    MARKER_RST0 = 0xd0,
    MARKER_RST7 = 0xd7,
    MARKER_SOI = 0xd8,
    MARKER_EOI = 0xd9,
    MARKER_SOS = 0xda,
    MARKER_DRI = 0xdd,
    MARKER_APP0 = 0xe0,
    MARKER_COMMENT = 0xfe,
    JPEG_BUFFER_SIZE = 64 << 10, /* bytes of a file at a time */
};

/* ---------------- session.c: libjpeg with failures as statuses; only this file knows of longjmp */

struct jpeg_segments;

/* All zero: closed. It must not move while it is open. */
struct jpeg_session {
    union {
        struct jpeg_common_struct common;
        struct jpeg_decompress_struct in;
        struct jpeg_compress_struct out;
    } jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    struct jpeg_source_mgr source;
    struct jpeg_destination_mgr sink;
    struct error *error; /* of the step under way */
    jmp_buf failed;
    const unsigned char *start;     /* reading: the first of the bytes in memory */
    FILE *file;                     /* reading: continues the bytes in memory; NULL: there are no more */
    unsigned char *buffer;          /* bytes of the file */
    size_t passed;                  /* writing: bytes of the buffer that are not written: the first marker */
    struct jpeg_segments *segments; /* reading: collects metadata; NULL: it is skipped */
    bool in_header;                 /* reading: the header is not complete; stray bytes in it cost no pixel */
    bool complete;                  /* reading: all pixels are decoded; what follows them is not needed */
    bool ended;                     /* reading: the file ended before its end marker */
    bool has_no_end;                /* reading: complete, but other data are where the end marker belongs */
};

/* Begins to decode `size` bytes at `head` and the rest of the file. The bytes must stay until the first step
 * returns. The file stays open. Call jpeg_session_close also after a failure. */
enum status jpeg_session_open_read(struct jpeg_session *session, const unsigned char *head, size_t size,
                                   FILE *file, struct error *error);

/* Begins to encode to a file to which jpeg_metadata_write has written the first marker: libjpeg's own is left
 * out. */
enum status jpeg_session_open_write(struct jpeg_session *session, FILE *file, struct error *error);

void jpeg_session_close(struct jpeg_session *session);

/* Runs a step. Every call of libjpeg that can fail belongs in one. If libjpeg fails, the step does not
 * return: its local variables must not be the only pointers to allocated memory. */
typedef enum status (*jpeg_step)(void *context, struct error *error);
enum status jpeg_session_run(struct jpeg_session *session, jpeg_step step, void *context,
                             struct error *error);

/* In a step: ends it as a failure of libjpeg would. The caller has filled in the error. */
_Noreturn void jpeg_session_fail(struct jpeg_session *session);

/* In a step: reads the next byte, without libjpeg. */
int jpeg_session_byte(struct jpeg_session *session);

/* STATUS_FAILED if the file ended too early and not all pixels are decoded. libjpeg itself fails only if it
 * needs the missing bytes. */
enum status jpeg_session_check_end(const struct jpeg_session *session, struct error *error);

/* In a step, after all scans of a file of several: true if they hold all bits of all coefficients, so that no
 * scan is missing. */
bool jpeg_session_has_all_scans(const struct jpeg_session *session);

/* Warns if the end marker is missing. */
void jpeg_session_warn_of_end(const struct jpeg_session *session, struct metadata *trailing);

/* ---------------- writer.c
 *
 * libjpeg's quality, 1 to 100, scales two tables of ITU-T T.81, annex K.1. A file has only the scaled tables,
 * from which the quality is estimated. */

/* After the header was read: the quality whose table for brightness (component 0) or colour (1) is nearest to
 * the file's, `preferred` (0: none) if it is as near. 0 if there is no table. */
int jpeg_quality_estimate(const struct jpeg_decompress_struct *in, int component, int preferred);

/* SUBSAMPLING_UNKNOWN: gray, or a subsampling that climg does not write. */
enum subsampling jpeg_subsampling_of(const struct jpeg_decompress_struct *in);

/* ---------------- segments.c, metadata_write.c
 *
 * Metadata of a JPEG, in segments of at most 64 KiB:
 *
 *     APP0  "JFIF"              resolution
 *     APP1  "Exif"              EXIF, one segment
 *     APP1  a namespace         XMP, one segment (what does not fit is in others, which climg leaves out)
 *     APP2  "ICC_PROFILE"       the profile in up to 255 parts
 *     APP2  "MPF"               index of further pictures after the first
 *     APP13 "Photoshop 3.0"     IPTC, among other resources, which may continue in further segments
 *     COM                       a text; those with a key begin with it: "Software: climg 0.2.0" */

/* Names at the start of segments, with the NUL at the end. */
#define EXIF_NAME      "Exif\0"
#define XMP_NAME       "http://ns.adobe.com/xap/1.0/"
#define MORE_XMP_NAME  "http://ns.adobe.com/xmp/extension/"
#define ICC_NAME       "ICC_PROFILE"
#define PHOTOSHOP_NAME "Photoshop 3.0"
#define MPF_NAME       "MPF"
#define GAIN_MAP_NAME  "urn:iso:std:iso:ts:21496:-1"

enum {
    SEGMENT_SIZE_MAX = UINT16_MAX - 2, /* the length includes its own two bytes */
    ICC_HEAD = sizeof ICC_NAME + 2,    /* with the part's number, from 1, and the number of parts */
    ICC_PARTS_MAX = 255,
    RESOURCE_IPTC = 0x0404, /* of Photoshop */
};

/* Behind the key of a comment. */
#define KEY_END     ": "
#define COMMENT_KEY "Comment" /* of a text that has no other */

/* Data of some files in addition to their first picture, which is all that climg reads. */
struct jpeg_companions {
    bool gain_map; /* Ultra HDR, ISO 21496-1, Apple's */
    bool video;    /* motion photos */
    bool pictures; /* MPF: pairs for both eyes, panoramas; not previews */
    bool is_known; /* an index lists the pictures */
};

/* Warns of them, in one line. */
void jpeg_companions_warn(const struct jpeg_companions *left_out, struct metadata *metadata);

/* Finds them in the bytes after the first picture. */
struct jpeg_companions jpeg_companions_find(const unsigned char *bytes, size_t size);

/* The metadata of the segments of a header. */
struct jpeg_segments {
    struct metadata *metadata;
    struct blob photoshop; /* the resources of all segments of Photoshop, one after the other */
    struct jpeg_companions left_out;
    struct blob icc[ICC_PARTS_MAX]; /* parts of the profile */
    int icc_count;                  /* of parts, as the first part says; 0: no part yet */
    bool icc_damaged;
    size_t size; /* of the segment under way */
    unsigned char data[SEGMENT_SIZE_MAX + 1];
};

/* In a step, before the header is read: asks libjpeg for the segments. Segments after the header are skipped.
 */
void jpeg_segments_expect(struct jpeg_session *session, struct jpeg_segments *segments);

/* After the header: puts the parts of the profile together, and takes the resolution. */
enum status jpeg_segments_take(const struct jpeg_session *session, struct jpeg_segments *segments,
                               struct error *error);

/* Frees the parts. */
void jpeg_segments_close(struct jpeg_segments *segments);

/* Writes the first marker of a file and its metadata. Metadata that is too large is left out. JFIF implies
 * gray or YCbCr: a file of RGB must not have it. */
enum status jpeg_metadata_write(FILE *file, const struct image_info *info, bool is_jfif, struct error *error);

/* Members of struct format. */
bool jpeg_metadata_holds(const struct text_entry *text);
bool jpeg_metadata_holds_icc(const struct blob *icc, int channels);
void jpeg_metadata_leave_out(struct image_info *info);

/* ---------------- reader.c, writer.c, turn.c */

extern const struct reader_class jpeg_reader_class;

/* Members of struct format. */
enum status jpeg_turn(struct reader *reader, struct writer *writer, const struct affine *places,
                      const struct image_info *info, struct lossless_move *move, struct error *error);

#endif
