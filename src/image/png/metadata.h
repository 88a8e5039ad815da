/* Between PNG's chunks and struct metadata. */
#ifndef CLIMG_IMAGE_PNG_METADATA_H
#define CLIMG_IMAGE_PNG_METADATA_H

#include "image/image.h"
#include "image/png/session.h"

/* In a step before png_read_info. `metadata` must stay where it is until the file is read. */
void png_metadata_expect(struct png_session *session, struct metadata *metadata);

/* In a step after png_read_info: adds what the chunks so far say. */
enum status png_metadata_take(struct png_session *session, struct metadata *metadata, struct error *error);

/* Adds the texts and EXIF that stand behind the pixels, which a reader of rows meets too late, where the file
 * can be looked ahead in. `offset` is that of the first chunk, negative where the file is a pipe; the file's
 * position stays. */
enum status png_metadata_look_ahead(FILE *file, off_t offset, struct metadata *metadata, struct error *error);

/* Warns where the SIGNATURE_SIZE bytes behind a PNG's end begin another one, as of `cat a.png b.png`. Other
 * bytes are not looked at: no program reads them, and many cameras and editors leave some. */
void png_metadata_judge_end(const unsigned char *after, struct metadata *metadata);

/* Whether a chunk behind the pixels, of so many bytes, is to be added to those that were found there; never
 * where there is no place for them. */
bool png_metadata_is_late(const unsigned char *name, uint32_t size, const struct blob *behind);
enum status png_metadata_append(struct blob *behind, const void *bytes, size_t size, struct error *error);

/* What such chunks say. */
enum status png_metadata_read_late(const struct blob *behind, struct metadata *metadata, struct error *error);

/* In a step after png_read_end: the texts and EXIF that it read; png_metadata_forget is called before it, so
 * that these are all. */
void png_metadata_forget(struct png_session *session, struct metadata *late);
enum status png_metadata_take_late(struct png_session *session, struct metadata *late, struct error *error);

/* Whether PNG has a place for a text: its keyword is 1 to 79 characters of Latin-1. */
bool png_metadata_holds(const struct text_entry *text);

/* Whether libpng writes a profile into a PNG of so many channels. */
bool png_metadata_holds_icc(const struct blob *icc, int channels);

/* Not in a step, after png_set_IHDR: what png_write_info is to write. */
enum status png_metadata_give(struct png_session *session, const struct image_info *info,
                              struct error *error);

/* In a step between png_write_info_before_PLTE and png_write_info: the chunks that libpng is not asked to
 * write. */
void png_metadata_write_chunks(struct png_session *session, const struct image_info *info);

#endif
