/* A trace as a picture. */
#ifndef CLIMG_BASE_TRACE_SVG_H
#define CLIMG_BASE_TRACE_SVG_H

#include "base/trace_event.h"

#include <stddef.h>
#include <stdio.h>

/* SVG: a line for each of the first rows with its name, along it a box for each event, milliseconds since
 * `began` below. A browser shows an event's name and time under the pointer. */
void trace_draw(FILE *file, const struct trace_event *events, size_t count, double began, int rows,
                const char *const *row_names);

#endif
