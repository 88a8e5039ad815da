/* JPEG by libjpeg-turbo: gray and YCbCr, 8 bit. Sources: ITU-T T.81 (the format), T.871 (JFIF), CIPA DC-008
 * (EXIF), ICC.1 annex B.4, XMP part 3.
 *
 *     session.c          runs libjpeg on a FILE; the other files call libjpeg only in its steps
 *     reader.c           reads the header and rows     segments.c        reads metadata
 *     writer.c           writes; estimates quality     metadata_write.c  writes metadata
 *     transform.c        moves and rotates blocks without decoding
 *
 * Private to src/image/jpeg; the Makefile collects format_jpeg (image/format.h). No state is shared: each
 * session, reader and writer belongs to one thread at a time. */
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
    JPEG_BUFFER_SIZE = 64 << 10, /* bytes that are read at a time */
};

/* ---------------- session.c
 *
 * libjpeg reports an error by calling error_exit, which must not return. Here it leaves the current step by
 * longjmp, and jpeg_session_run returns STATUS_FAILED; no other file calls longjmp. A warning that may cost
 * pixels is an error, too. */

struct jpeg_segments;

/* A libjpeg object with its callbacks. All zero: closed. The struct must not move while it is open, as
 * libjpeg and setjmp keep its address. */
struct jpeg_session {
    union {
        struct jpeg_common_struct common; /* the members that `in` and `out` share */
        struct jpeg_decompress_struct in;
        struct jpeg_compress_struct out;
    } jpeg; /* its client_data is the session */
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    struct error *error;   /* of the current step; callbacks fill it in */
    jmp_buf failed;        /* set by the current jpeg_session_run */
    FILE *file;            /* the caller's */
    unsigned char *buffer; /* JPEG_BUFFER_SIZE bytes of the file; owned */

    /* Reading. */
    struct jpeg_source_mgr source;
    const unsigned char *start;     /* first byte of the current input: bytes in memory, or the buffer */
    size_t zeros;                   /* number of successive zero bytes in the file directly before `start` */
    struct jpeg_segments *segments; /* collects metadata; may be NULL */
    bool has_all_pixels;            /* all pixels are decoded; later bytes are not needed */
    bool file_ended;                /* the file ended before its end marker (EOI) */
    bool lacks_end_marker;          /* has_all_pixels, but other data are in place of the end marker */
};

/* Begins to decode `size` bytes at `head` and then the rest of the file. The bytes must stay valid until the
 * step that reads the header has returned. The file stays the caller's, who closes the session, also after a
 * failure. */
enum status jpeg_session_open_read(struct jpeg_session *session, const unsigned char *head, size_t size,
                                   FILE *file, struct error *error);

/* Begins to encode to a file. The caller closes the session, also after a failure. */
enum status jpeg_session_open_write(struct jpeg_session *session, FILE *file, struct error *error);

/* Frees everything but the file. A zeroed session is allowed. */
void jpeg_session_close(struct jpeg_session *session);

/* Runs a step and returns its status. Every call of libjpeg that can fail belongs in a step. If libjpeg
 * fails, the step does not return: its local variables must not be the only pointers to allocated memory. */
typedef enum status (*jpeg_step)(void *context, struct error *error);
enum status jpeg_session_run(struct jpeg_session *session, jpeg_step step, void *context,
                             struct error *error);

/* Only in a step: leaves the step, whose jpeg_session_run returns STATUS_FAILED. The caller has filled in
 * session->error. */
_Noreturn void jpeg_session_fail(struct jpeg_session *session);

/* Only in a step: reads the next byte of the file, 0 to 255. After the end of the file, returns 0xff and
 * 0xd9, an end marker, alternately. */
int jpeg_session_read_byte(struct jpeg_session *session);

/* STATUS_FAILED if the file ended too early and not all pixels are decoded. libjpeg itself fails only if it
 * needs the missing bytes. */
enum status jpeg_session_check_end(const struct jpeg_session *session, struct error *error);

/* True if the scans so far, including the current one, have all bits of all coefficients. */
bool jpeg_session_has_all_scans(const struct jpeg_session *session);

/* After the last row: warns in `trailing` if the end marker is missing. */
void jpeg_session_warn_missing_end(const struct jpeg_session *session, struct metadata *trailing);

/* ---------------- writer.c
 *
 * libjpeg's quality, 1 to 100, scales two quantisation tables of ITU-T T.81, annex K.1. A file contains only
 * the scaled tables, from which the quality is estimated. */

/* After the header was read: estimates the quality of luma (component 0) or chroma (1), by the sum of the
 * file's quantisation table. If several qualities have the nearest sum, returns `preferred` if it is among
 * them, else the lowest, or the highest if `preferred` is 0. Returns 0 if the component has no table. */
int jpeg_quality_estimate(const struct jpeg_decompress_struct *in, int component, int preferred);

/* After the header was read: returns the chroma subsampling; SUBSAMPLING_UNKNOWN for gray, and for ratios
 * that climg does not write. */
enum subsampling jpeg_subsampling_of(const struct jpeg_decompress_struct *in);

/* ---------------- segments.c, metadata_write.c
 *
 * Metadata of a JPEG, in segments: 0xff, the marker, a length of 2 bytes (high byte first; it counts itself),
 * and at most 65533 bytes, which begin with an identifier:
 *
 *     APP0  "JFIF"              resolution
 *     APP1  "Exif"              EXIF, one segment
 *     APP1  a namespace         XMP, one segment (climg leaves out extended XMP, in further segments)
 *     APP2  "ICC_PROFILE"       the profile in up to 255 parts
 *     APP2  "MPF"               index of further pictures after the first
 *     APP13 "Photoshop 3.0"     IPTC, among other resources, which may continue in further segments
 *     COM                       a text; a text with a key begins with it: "Software: climg 0.2.0" */

/* Identifiers at the start of segments. sizeof counts the NUL that ends each of them in the file, too. */
#define EXIF_IDENTIFIER         "Exif\0"
#define XMP_IDENTIFIER          "http://ns.adobe.com/xap/1.0/"
#define EXTENDED_XMP_IDENTIFIER "http://ns.adobe.com/xmp/extension/"
#define ICC_IDENTIFIER          "ICC_PROFILE"
#define PHOTOSHOP_IDENTIFIER    "Photoshop 3.0"
#define MPF_IDENTIFIER          "MPF"
#define GAIN_MAP_IDENTIFIER     "urn:iso:std:iso:ts:21496:-1"

enum {
    SEGMENT_SIZE_MAX = UINT16_MAX - 2, /* bytes after the length, which counts its own two bytes */
    ICC_HEADER_SIZE =
        sizeof ICC_IDENTIFIER + 2, /* bytes: the name, the part's number from 1, the number of parts */
    ICC_PARTS_MAX = 255,
    RESOURCE_IPTC = 0x0404, /* a Photoshop image resource */
};

/* A comment with a key is the key, KEY_SEPARATOR and the text. COMMENT_KEY is the key of all other comments,
 * and is not written. */
#define KEY_SEPARATOR ": "
#define COMMENT_KEY   "Comment"

/* Data in a file in addition to the first picture. climg reads only the first picture. */
struct jpeg_companions {
    bool gain_map;  /* Ultra HDR, ISO 21496-1, Apple's */
    bool video;     /* motion photos */
    bool pictures;  /* MPF: stereo pairs, panoramas; not previews */
    bool has_index; /* an MPF index lists the pictures, so `pictures` is certain */
};

/* Adds a warning to the metadata that names all companions, and sets *unread to one of them. Does nothing if
 * there are none. */
void jpeg_companions_warn(const struct jpeg_companions *companions, struct metadata *metadata,
                          const char **unread);

/* Searches the bytes after the end marker of the first picture for companions. */
struct jpeg_companions jpeg_companions_find(const unsigned char *bytes, size_t size);

/* Collects the segments of a header. Zero it and set `metadata` before the header is read. */
struct jpeg_segments {
    struct metadata *metadata;         /* the reader's; filled in as segments are read */
    struct blob photoshop;             /* resources of all Photoshop segments, concatenated */
    struct jpeg_companions companions; /* as the header announces them */
    struct blob icc[ICC_PARTS_MAX];    /* parts of the profile, by number */
    int icc_count;                     /* number of parts, as the first part says; 0: no part yet */
    bool icc_damaged;
    size_t size;                              /* bytes of the current segment */
    unsigned char data[SEGMENT_SIZE_MAX + 1]; /* the current segment, with room for a NUL */
};

/* Only in a step, before the header is read: makes libjpeg pass the segments of the header to segments.c.
 * `segments` must stay valid as long as the session reads. */
void jpeg_segments_register(struct jpeg_session *session, struct jpeg_segments *segments);

/* After the header was read: completes the metadata with the resolution, IPTC and the ICC profile, and the
 * companions with those that XMP announces. */
enum status jpeg_segments_finish(const struct jpeg_session *session, struct jpeg_segments *segments,
                                 struct error *error);

/* Frees the collected parts, but not the metadata. A zeroed struct is allowed. */
void jpeg_segments_close(struct jpeg_segments *segments);

/* Before jpeg_start_compress or jpeg_write_coefficients: sets the resolution in JFIF's units. */
void jpeg_set_density(j_compress_ptr out, const struct metadata *metadata);

/* Creates the EXIF of a file, with the metadata's orientation, as JPEG has no other place for it. The caller
 * frees exif->data, which may be NULL. */
enum status jpeg_make_exif(const struct metadata *metadata, struct blob *exif, struct error *error);

/* Only in a step, before the first row or directly after jpeg_write_coefficients: writes all metadata after
 * libjpeg's own JFIF. Metadata that is too large is left out. */
void jpeg_metadata_write(j_compress_ptr out, const struct image_info *info, const struct blob *exif);

/* Members of struct format: see image/format.h. */
bool jpeg_holds_text(const struct text_entry *text);
bool jpeg_holds_icc(const struct blob *icc, int channels);
void jpeg_note_left_out(struct image_info *info);

/* ---------------- reader.c, transform.c */

struct jpeg_reader {
    struct reader base; /* must be first */
    struct jpeg_session session;
    struct jpeg_segments segments;
};

/* Searches the bytes after the end marker for companions, and warns in the reader's `trailing` of companions
 * that the header does not announce. `session` has read the first picture of the reader's file. Reads up to
 * JPEG_BUFFER_SIZE bytes of a regular file. Of a pipe it uses only the bytes in the buffer, as the writing
 * process may keep the pipe open. */
void jpeg_check_companions(struct jpeg_session *session, struct jpeg_reader *reader);

extern const struct reader_class jpeg_reader_class;

/* Member of struct format: moves the coefficients of the input to the output. `inverse_map` maps positions of
 * the output to the input. If that is impossible, sets move->obstacle, and the reader can decode as before.
 */
enum status jpeg_transform(struct reader *reader, struct writer *writer, const struct affine *inverse_map,
                           const struct image_info *info, struct lossless_move *move, struct error *error);

#endif
