/* Image formats that climg neither reads nor writes, to be named where one is met. */
#ifndef CLIMG_IMAGE_FOREIGN_H
#define CLIMG_IMAGE_FOREIGN_H

#include <stddef.h>

enum { FOREIGN_SIZE = 12 /* the most that is looked at */ };

/* By a file's first bytes, or by the ending of its name; NULL: none that is known. */
const char *foreign_name(const unsigned char *head, size_t size);
const char *foreign_name_by_path(const char *path);

struct foreign_hint {
    char text[400];
};

/* With the command that converts it: "climg does not read JPEG; convert it first, as with ImageMagick:
 * convert a.jpg a.png". The path may be "-". */
struct foreign_hint foreign_reading(const char *kind, const char *path);

/* The same of an output: "climg does not write JPEG; write out.png and convert that, as with ...". */
struct foreign_hint foreign_writing(const char *kind, const char *path);

#endif
