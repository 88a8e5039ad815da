/* Memory for pixels that host and device share. */
#ifndef CLIMG_BASE_PAGES_H
#define CLIMG_BASE_PAGES_H

#include <stddef.h>

/* At least `size` bytes on page boundaries, in huge pages where the system has them and the size warrants it;
 * NULL where memory is out. */
void *allocate_pages(size_t size);

/* Of that size. NULL is fine. */
void free_pages(void *memory, size_t size);

#endif
