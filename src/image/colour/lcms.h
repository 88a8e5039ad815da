/* Private to this folder: contexts of Little CMS whose errors become ours, and small functions that several
 * files use. */
#ifndef CLIMG_IMAGE_COLOUR_LCMS_H
#define CLIMG_IMAGE_COLOUR_LCMS_H

#include "image/colour/curve.h"

#include <lcms2.h>

enum { LCMS_TEXT = 256 /* bytes of a message */ };

/* Opens a context that puts its first error into `text`, which must outlive it. NULL if memory is out, with
 * the error filled in. */
cmsContext lcms_open(char text[LCMS_TEXT], struct error *error);

/* True if multiProcessElements of the profile have more than `most` elements in a tag, or more than 1 MiB.
 * Each may have thousands of segments, elements may share their data, and each is applied to every colour:
 * half a megabyte could take hours. Real profiles have three elements, if any. */
bool lcms_has_many_elements(cmsHPROFILE profile, uint32_t most);

/* Returns seconds of processor time of this thread, and the most that a conversion may take; usual ones take
 * 0.03. */
double lcms_seconds(void);
enum { LCMS_SECONDS_MAX = 10 };

/* Fails with a reason, such as Little CMS's message; if it is empty the profile is damaged. */
enum status lcms_fail(const char *text, struct error *error);

/* Inverts a matrix. False: it is singular. */
bool matrix_invert(double m[3][3], double inverse[3][3]);

/* Frees the links from or to a space; NULL is allowed. The lock of spaces is held. */
void colour_links_drop(const struct colour_space *space);

#endif
