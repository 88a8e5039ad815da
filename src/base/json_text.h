/* File names and texts of files as JSON strings. */
#ifndef CLIMG_BASE_JSON_TEXT_H
#define CLIMG_BASE_JSON_TEXT_H

#include <jansson.h>

/* JSON is UTF-8, names are bytes: those that are no UTF-8 are taken for Latin-1. */
json_t *json_text(const char *bytes);

#endif
