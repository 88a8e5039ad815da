/* Image formats that climg does not read, to be named where one is met. */
#ifndef CLIMG_IMAGE_FOREIGN_H
#define CLIMG_IMAGE_FOREIGN_H

#include <stddef.h>

enum { FOREIGN_SIZE = 12 /* the most that is looked at */ };

/* By a file's first bytes; NULL: none that is known. */
const char *foreign_name(const unsigned char *head, size_t size);

#endif
