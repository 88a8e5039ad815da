/* Image file directories (IFDs) as bytes: the tag lists of TIFF, of which EXIF is made too. Read from a file
 * or a blob in either byte order and either layout (classic, BigTIFF), bounds-checked, and copied into new
 * ones.
 *
 * libtiff is not used for this because it only passes on the EXIF tags it knows, and their rationals as
 * floats. */
#ifndef CLIMG_IMAGE_IFD_H
#define CLIMG_IMAGE_IFD_H

#include "base/error.h"
#include "image/metadata/metadata.h"

#include <stdbool.h>
#include <stdint.h>

enum ifd_tag {
    IFD_MAKE = 271,
    IFD_MODEL = 272,
    IFD_ORIENTATION = 274,
    IFD_EXIF = 34665, /* these three: where another IFD is */
    IFD_GPS = 34853,
    IFD_INTEROP = 40965, /* inside the EXIF IFD */
};

struct ifd_source {
    bool (*read)(const void *context, uint64_t offset, void *to, size_t size);
    const void *context;
    uint64_t size; /* bytes */
    bool swapped;  /* not in the host's byte order */
    bool big;      /* BigTIFF's layout */
};

struct ifd_entry {
    uint16_t tag, type;
    uint64_t count;  /* elements */
    uint64_t offset; /* of the value in the source */
    uint64_t size;   /* bytes of the value, which lie inside the source */
    uint64_t at;     /* offset of the entry itself */
};

/* A source on a blob that starts with a classic TIFF header; false when it does not. The blob must stay. */
bool ifd_source_of_blob(const struct blob *blob, struct ifd_source *source, uint64_t *first_ifd);

/* How many entries the IFD has; 0 when it is not readable. */
uint32_t ifd_entry_count(const struct ifd_source *source, uint64_t ifd);

/* False for an entry whose type is unknown or whose value is not inside the source. */
bool ifd_entry_at(const struct ifd_source *source, uint64_t ifd, uint32_t index, struct ifd_entry *entry);
bool ifd_find(const struct ifd_source *source, uint64_t ifd, uint16_t tag, struct ifd_entry *entry);

/* The first element of an unsigned integer entry; false for other types and no elements. */
bool ifd_unsigned(const struct ifd_source *source, const struct ifd_entry *entry, uint64_t *value);

/* The entry's values, of entry->size bytes, in the host's order (`raw`: in the file's). False: not readable.
 */
bool ifd_read_values(const struct ifd_source *source, const struct ifd_entry *entry, bool raw, void *to);

/* Turns the bytes of each word round; of 1 byte: nothing is to do. */
void ifd_swap_words(unsigned char *bytes, size_t size, size_t word);

/* Where the IFD is that the entry of this tag points to; false if there is none. */
bool ifd_find_sub(const struct ifd_source *source, uint64_t ifd, uint16_t tag, uint64_t *sub);

/* Bytes in the host's order, to be placed at `base` of some file. */
struct ifd_sink {
    struct blob bytes;
    size_t capacity;
    uint64_t base; /* even */
    bool big;
    bool followed[3]; /* the kinds of pointers that were followed: each is, once */
};

/* Appends zeroed bytes at an even place; NULL on failure. Earlier pointers into the sink become invalid. */
unsigned char *ifd_sink_grow(struct ifd_sink *sink, size_t size, struct error *error);

/* Copies an IFD with all that hangs from it, but at its top only the tags that `keep` wants (NULL: all). What
 * is not readable is left out. *offset is where it will be in the file; 0 when no entry was left to copy. */
enum status ifd_copy(const struct ifd_source *source, uint64_t ifd, bool (*keep)(uint16_t tag),
                     struct ifd_sink *sink, uint64_t *offset, struct error *error);

#endif
