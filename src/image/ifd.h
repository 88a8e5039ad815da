/* Image file directories (IFDs), the lists of tags in TIFF and EXIF: reads them from a file or a blob, in
 * either byte order and layout (classic, BigTIFF), with all bounds checked, and copies them.
 *
 * libtiff would only pass on the EXIF tags that it knows, and rationals as floats. */
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
    IFD_EXIF = 34665, /* this tag and the next two point to another IFD */
    IFD_GPS = 34853,
    IFD_INTEROP = 40965, /* inside the EXIF IFD */
};

/* A file or a blob in which offsets count from its start. Reading is thread-safe if `read` is. */
struct ifd_source {
    /* Copies bytes that are inside the source. False: they cannot be read. */
    bool (*read)(const void *context, uint64_t offset, void *to, size_t size);
    const void *context;
    uint64_t size; /* bytes */
    bool swapped;  /* not in the host's byte order */
    bool big;      /* BigTIFF's layout */
};

/* An entry whose value is inside the source. */
struct ifd_entry {
    uint16_t tag, type; /* TIFF's numbers */
    uint64_t count;     /* elements of the value */
    uint64_t offset;    /* of the value in the source */
    uint64_t size;      /* bytes of the value; all are inside the source */
    uint64_t at;        /* offset of the entry itself */
};

/* Makes a source of a blob, which must stay. False if it does not start with a classic TIFF header. */
bool ifd_source_of_blob(const struct blob *blob, struct ifd_source *source, uint64_t *first_ifd);

/* Read the offset of the first IFD, from the header, and of the next IFD, from the link after an IFD; 0: no
 * IFD follows. False if the offset cannot be read. */
bool ifd_first(const struct ifd_source *source, uint64_t *ifd);
bool ifd_next(const struct ifd_source *source, uint64_t ifd, uint64_t *next);

/* Returns the number of entries; 0 if the IFD cannot be read or has more entries than any honest file. */
uint32_t ifd_entry_count(const struct ifd_source *source, uint64_t ifd);

/* Read an entry by its index or its tag. False if it is missing, its type is unknown, or its value is not
 * inside the source. */
bool ifd_entry_at(const struct ifd_source *source, uint64_t ifd, uint32_t index, struct ifd_entry *entry);
bool ifd_find(const struct ifd_source *source, uint64_t ifd, uint16_t tag, struct ifd_entry *entry);

/* Reads the first element of an entry of unsigned integers. False for other types and for no elements. */
bool ifd_unsigned(const struct ifd_source *source, const struct ifd_entry *entry, uint64_t *value);

/* Reads the entry's value, entry->size bytes, in the host's byte order (`raw`: in the file's). False if it
 * cannot be read. */
bool ifd_read_values(const struct ifd_source *source, const struct ifd_entry *entry, bool raw, void *to);

/* Reads the number in an entry of unsigned integers, such as the offset of the IFD that it points to. False
 * if the entry is missing. */
bool ifd_find_unsigned(const struct ifd_source *source, uint64_t ifd, uint16_t tag, uint64_t *sub);

/* Makes an IFD, in the source's byte order and without a link, of the entries for which `keep` returns true.
 * `size` is the bytes of the entry's value; 0 if that is not inside the source. The caller frees
 * selected->data. */
enum status ifd_select(const struct ifd_source *source, uint64_t ifd,
                       bool (*keep)(uint16_t tag, uint64_t size), struct blob *selected, struct error *error);

/* Bytes in the host's order that will be stored at the offset `base` of a file. Zeroed but for base and big,
 * it is empty. */
struct ifd_sink {
    struct blob bytes; /* the caller frees bytes.data */
    size_t capacity;   /* bytes allocated */
    uint64_t base;     /* even */
    bool big;          /* BigTIFF's layout */
    bool followed[3];  /* by kind of pointer: it was followed, which is done once */
};

/* Appends zeroed bytes at an even offset and returns them; NULL on failure. Earlier pointers into the sink
 * become invalid. */
unsigned char *ifd_sink_grow(struct ifd_sink *sink, size_t size, struct error *error);

/* Appends a copy of an IFD and of the IFDs that it points to. `keep` chooses among the tags of the first;
 * NULL: all. Entries that cannot be read are left out. *offset is the copy's offset in the file; 0 if it has
 * no entries. */
enum status ifd_copy(const struct ifd_source *source, uint64_t ifd, bool (*keep)(uint16_t tag),
                     struct ifd_sink *sink, uint64_t *offset, struct error *error);

#endif
