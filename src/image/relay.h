/* A reader and a writer that are no file's: rows come from functions and go to functions. With them a chain
 * works on what is in memory, or something looks on while it works on files. */
#ifndef CLIMG_IMAGE_RELAY_H
#define CLIMG_IMAGE_RELAY_H

#include "image/reader.h"
#include "image/writer.h"

/* What image/reader.h and image/writer.h say of functions of these names. Messages get the name that was
 * given unless they have one. */
struct relay_source {
    void *context;
    enum status (*read)(void *context, void *rows, size_t pitch, uint32_t count, struct error *error);
    /* Sets what the next page is where there is one; NULL: there is one page. */
    enum status (*next_page)(void *context, struct image_info *info, bool *more, struct error *error);
};

struct relay_sink {
    void *context;
    enum status (*begin_page)(void *context, const struct image_info *info, struct error *error);
    enum status (*write)(void *context, const void *rows, size_t pitch, uint32_t count, struct error *error);
    enum status (*end_page)(void *context, struct error *error);
};

/* `first` is the first page; its metadata is left out. Closed with reader_close. */
enum status relay_reader(const char *name, const struct image_info *first, const struct relay_source *source,
                         struct reader **reader, struct error *error);

/* Takes any page. Closed with writer_close, never committed. */
enum status relay_writer(const char *name, const struct relay_sink *sink, struct writer **writer,
                         struct error *error);

#endif
