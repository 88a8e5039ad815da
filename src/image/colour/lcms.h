/* Private to src/image/colour: contexts of Little CMS that keep their first error, limits on profiles, and
 * functions that several files share. */
#ifndef CLIMG_IMAGE_COLOUR_LCMS_H
#define CLIMG_IMAGE_COLOUR_LCMS_H

#include "image/colour/curve.h"

#include <lcms2.h>

enum { LCMS_TEXT = 256 /* bytes of a message, with its NUL */ };

/* Opens a context that copies its first error to `text`, which must outlive it. NULL on failure. */
cmsContext lcms_open(char text[LCMS_TEXT], struct error *error);

/* True if a tag D2Bx or B2Dx (multiProcessElements) has more than `max_count` elements or 1 MiB. A hostile
 * profile could take hours: each element is evaluated for every colour, may have thousands of segments, and
 * may share its data with others. Real profiles have at most three elements. */
bool lcms_has_many_elements(cmsHPROFILE profile, uint32_t max_count);

/* Returns this thread's processor time in seconds. */
double thread_cpu_seconds(void);

/* Maximum processor time of filling one conversion; usual ones take 0.03 s. */
enum { LCMS_SECONDS_MAX = 10 };

/* Fails with "ICC profile cannot be used: " and a reason, such as Little CMS's message; "": it is damaged. */
enum status lcms_fail(const char *text, struct error *error);

/* Inverts a 3x3 matrix. False: it is singular. */
bool matrix_invert(double (*m)[3], double (*inverse)[3]);

/* Frees the links from or to a space; NULL is allowed. The lock of spaces must not be held. */
void colour_links_drop(const struct colour_space *space);

#endif
