/* A reader and a writer without a file: rows come from a function and go to a function. With them a chain
 * works on rows in memory, or another part of climg sees the rows of files as they pass. */
#ifndef CLIMG_IMAGE_MEMORY_IO_H
#define CLIMG_IMAGE_MEMORY_IO_H

#include "image/reader.h"
#include "image/writer.h"

/* The source of the rows. image/reader.h has the contracts, under the same names. A message
 * without a file's name gets the name that memory_reader was given. */
struct memory_source {
    void *context; /* first argument of the functions */
    enum status (*read)(void *context, void *rows, size_t pitch, uint32_t count, struct error *error);
    /* Sets *info if there is a next page. NULL: there is one page. */
    enum status (*next_page)(void *context, struct image_info *info, bool *more, struct error *error);
};

/* The sink of the rows. image/writer.h has the contracts, under the same names. */
struct memory_sink {
    void *context; /* first argument of the functions */
    enum status (*begin_page)(void *context, const struct image_info *info, struct error *error);
    enum status (*write)(void *context, const void *rows, size_t pitch, uint32_t count, struct error *error);
    enum status (*end_page)(void *context, struct error *error); /* may be NULL */
};

/* The format of such pages. It holds everything. */
extern const struct format memory_io;

/* Opens a reader. `first` describes the first page; its metadata is not used. The caller closes it with
 * reader_close. On failure *reader is NULL. */
enum status memory_reader(const char *name, const struct image_info *first,
                          const struct memory_source *source, struct reader **reader, struct error *error);

/* Sets the metadata of a reader's page to a copy. */
enum status memory_reader_describe(struct reader *reader, const struct metadata *metadata,
                                   struct error *error);

/* Opens a writer that holds any page. The caller closes it with writer_close; there is nothing to commit. On
 * failure *writer is NULL. */
enum status memory_writer(const char *name, const struct memory_sink *sink, struct writer **writer,
                          struct error *error);

#endif
