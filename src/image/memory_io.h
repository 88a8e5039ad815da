/* A reader and a writer without a file: callbacks supply and receive the rows. With them a chain works on
 * rows in memory or in a temporary file. */
#ifndef CLIMG_IMAGE_MEMORY_IO_H
#define CLIMG_IMAGE_MEMORY_IO_H

#include "image/reader.h"
#include "image/writer.h"

/* Callbacks that supply rows. image/reader.h has their contracts under the same names. */
struct memory_source {
    void *context; /* first argument of the callbacks */
    enum status (*read)(void *context, void *rows, size_t pitch, uint32_t count, struct error *error);
    /* Sets *info if there is a next page. NULL: one page. */
    enum status (*next_page)(void *context, struct image_info *info, bool *more, struct error *error);
};

/* Callbacks that receive rows. image/writer.h has their contracts under the same names. */
struct memory_sink {
    void *context; /* first argument of the callbacks */
    enum status (*begin_page)(void *context, const struct image_info *info, struct error *error);
    enum status (*write)(void *context, const void *rows, size_t pitch, uint32_t count, struct error *error);
    enum status (*end_page)(void *context, struct error *error); /* may be NULL */
};

/* The format of such pages; it can hold everything. Not in `formats`, as no file has it. */
extern const struct format memory_io;

/* Opens a reader. `first` describes the first page; its metadata is ignored. `name` is for messages. The
 * caller calls reader_close. On failure *reader is NULL. */
enum status memory_reader(const char *name, const struct image_info *first,
                          const struct memory_source *source, struct reader **reader, struct error *error);

/* Sets the metadata of a memory reader's page to a copy. */
enum status memory_reader_describe(struct reader *reader, const struct metadata *metadata,
                                   struct error *error);

/* Opens a writer. The caller calls writer_close; writer_commit is not needed. On failure *writer is NULL. */
enum status memory_writer(const char *name, const struct memory_sink *sink, struct writer **writer,
                          struct error *error);

#endif
