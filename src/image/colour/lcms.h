/* Little CMS, for this folder: contexts whose errors become ours. */
#ifndef CLIMG_IMAGE_COLOUR_LCMS_H
#define CLIMG_IMAGE_COLOUR_LCMS_H

#include "image/colour/curve.h"

#include <lcms2.h>

enum { LCMS_TEXT = 256 /* bytes of a message */ };

/* Opens a context that puts its first error into `text`, which must outlive it. NULL if memory is out. */
cmsContext lcms_open(char text[LCMS_TEXT]);

/* Fails with Little CMS's message. */
enum status lcms_fail(const char *text, struct error *error);

/* Inverts a matrix. False: it is singular. */
bool lcms_invert(double m[3][3], double inverse[3][3]);

/* Frees the links from or to a space; NULL is allowed. The lock of spaces is held. */
void colour_links_drop(const struct colour_space *space);

#endif
