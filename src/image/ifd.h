/* Reads and copies image file directories (IFDs), the lists of tags in TIFF and EXIF, from a file or a blob,
 * in either byte order and layout (classic, BigTIFF). All bounds are checked.
 *
 * libtiff is not used for this: it drops EXIF tags that it does not know, and reads rationals as floats. */
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
    IFD_EXIF = 34665, /* this one and the next two are offsets of another IFD */
    IFD_GPS = 34853,
    IFD_INTEROP = 40965, /* inside the EXIF IFD */
};

/* A directory in a file or a blob; offsets count from its start. Reading is thread-safe if `read` is. */
struct ifd {
    /* Copies `size` bytes, which are inside the file or blob. False: an I/O error. */
    bool (*read)(const void *context, uint64_t offset, void *to, size_t size);
    const void *context;
    uint64_t size; /* bytes of the file or blob */
    bool swapped;  /* not in the host's byte order */
    bool big;      /* BigTIFF's layout */
    uint64_t at;   /* offset of the directory */
};

/* An entry of an IFD. */
struct ifd_entry {
    uint16_t tag, type; /* TIFFTAG_..., TIFF_SHORT ... */
    uint64_t count;     /* elements of the value */
    uint64_t offset;    /* of the value in the source */
    uint64_t size;      /* bytes of the value, which is inside the source */
    uint64_t at;        /* offset of the entry itself */
};

/* Sets *ifd to the first directory of a blob. False if the blob does not start with a classic TIFF header. */
bool ifd_of_blob(const struct blob *blob, struct ifd *ifd);

/* Sets ifd->at to the first directory, whose offset is in the header. False if it cannot be read. */
bool ifd_first(struct ifd *ifd);

/* Reads the offset of the next directory, which is stored after the directory's entries; 0 after the last
 * directory. False if it cannot be read. */
bool ifd_next(const struct ifd *ifd, uint64_t *next);

/* Sets *sub to the directory to which a tag points, such as IFD_EXIF. False if the tag is missing. */
bool ifd_sub(const struct ifd *ifd, uint16_t tag, struct ifd *sub);

/* Returns the number of entries; 0 if the directory cannot be read or has more than 4096. */
uint32_t ifd_entry_count(const struct ifd *ifd);

/* Read an entry by its index, below ifd_entry_count, or by its tag. False if it is missing, its type is
 * unknown, or its value is not inside the file or blob. */
bool ifd_entry_at(const struct ifd *ifd, uint32_t index, struct ifd_entry *entry);
bool ifd_find(const struct ifd *ifd, uint16_t tag, struct ifd_entry *entry);

/* True if the tag is one of `count` tags. */
static inline bool ifd_tag_is_in(uint64_t tag, const uint16_t *tags, size_t count)
{
    while (count > 0 && tags[count - 1] != tag)
        count--;
    return count > 0;
}

/* Reads the first element of an entry of unsigned integers. False for other types and for empty values. */
bool ifd_unsigned(const struct ifd *ifd, const struct ifd_entry *entry, uint64_t *value);

/* Reads the entry's value, entry->size bytes, in the host's byte order, or if `raw` in the file's. False if
 * it cannot be read. */
bool ifd_read_values(const struct ifd *ifd, const struct ifd_entry *entry, bool raw, void *to);

/* Finds a tag and reads its first unsigned integer. False if it is missing or of another type. */
bool ifd_find_unsigned(const struct ifd *ifd, uint16_t tag, uint64_t *value);

/* Copies the table of a directory without its values: only the entries for which `keep` returns true, in the
 * file's byte order, and a link of 0. `size` is the bytes of the entry's value; 0 if that is not inside the
 * file. The caller frees selected->data. */
enum status ifd_select(const struct ifd *ifd, bool (*keep)(uint16_t tag, uint64_t size),
                       struct blob *selected, struct error *error);

/* A buffer in the host's byte order that will be stored at the offset `base` of a file. Set base and big, and
 * zero the rest. */
struct ifd_sink {
    struct blob bytes; /* the caller frees bytes.data */
    size_t capacity;   /* bytes allocated */
    uint64_t base;     /* even */
    bool big;          /* BigTIFF's layout */
    bool has_sub[3];   /* an EXIF, GPS, interoperability IFD is copied; more of that kind are skipped */
    bool is_damaged;   /* an IFD, or an entry of an IFD that is copied whole, could not be read */
};

/* Appends zeroed bytes at an even offset and returns them. Invalidates earlier pointers into the sink. NULL
 * on failure. */
unsigned char *ifd_sink_grow(struct ifd_sink *sink, size_t size, struct error *error);

/* Appends a copy of an IFD with its values and the IFDs that it points to. `keep` chooses among the tags of
 * the first IFD; NULL: all. Skips entries that cannot be read or would make the copy too long. *offset is the
 * copy's offset in the file; 0 if no entry was copied. */
enum status ifd_copy(const struct ifd *ifd, bool (*keep)(uint16_t tag), struct ifd_sink *sink,
                     uint64_t *offset, struct error *error);

#endif
