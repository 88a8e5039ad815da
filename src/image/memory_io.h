/* A reader and a writer without a file: rows come from a function and go to a function. With them a chain
 * works on rows in memory, or another part of climg sees the rows of files as they pass. */
#ifndef CLIMG_IMAGE_MEMORY_IO_H
#define CLIMG_IMAGE_MEMORY_IO_H

#include "image/reader.h"
#include "image/writer.h"

/* See the functions of these names in image/reader.h and image/writer.h. Messages without a name get the
 * given one. */
struct memory_source {
    void *context;
    enum status (*read)(void *context, void *rows, size_t pitch, uint32_t count, struct error *error);
    /* Sets *info if there is a next page. NULL: there is one page. */
    enum status (*next_page)(void *context, struct image_info *info, bool *more, struct error *error);
};

struct memory_sink {
    void *context;
    enum status (*begin_page)(void *context, const struct image_info *info, struct error *error);
    enum status (*write)(void *context, const void *rows, size_t pitch, uint32_t count, struct error *error);
    enum status (*end_page)(void *context, struct error *error);
};

/* `first` is the first page, whose metadata is not used. Close it with reader_close. */
enum status memory_reader(const char *name, const struct image_info *first,
                          const struct memory_source *source, struct reader **reader, struct error *error);

/* Takes any page. Close it with writer_close; there is nothing to commit. */
enum status memory_writer(const char *name, const struct memory_sink *sink, struct writer **writer,
                          struct error *error);

#endif
