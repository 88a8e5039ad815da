/* What a file is, by its first bytes. */
#ifndef CLIMG_IMAGE_SIGNATURE_H
#define CLIMG_IMAGE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

enum { PNG_SIGNATURE_SIZE = 8, SIGNATURE_MAX = 12 /* the most that any of these functions looks at */ };

bool signature_is_png(const unsigned char *head, size_t size);
bool signature_is_tiff(const unsigned char *head, size_t size);

/* A PNG that was cut short, or that lost bit 7 or had its line ends changed: what its signature is made to
 * show. */
bool signature_is_mangled_png(const unsigned char *head, size_t size);

/* The name of another well-known image format, or NULL. */
const char *signature_name(const unsigned char *head, size_t size);

#endif
