/* The folder in which --warm runs the examples: pictures like the samples, and what comes out. */
#ifndef CLIMG_TUNING_WARM_FOLDER_H
#define CLIMG_TUNING_WARM_FOLDER_H

#include "base/error.h"

/* Makes it in `spool`, with the samples. */
enum status warm_folder_make(const char *spool, struct error *error);

/* Its path; "" where there is none. */
const char *warm_folder(void);

/* With all that is in it. Safe where there is none, and while it is being made. */
void warm_folder_remove(void);

#endif
