/* What a trace is made of. */
#ifndef CLIMG_BASE_TRACE_EVENT_H
#define CLIMG_BASE_TRACE_EVENT_H

/* The rows of the picture, from top to bottom. */
enum trace_row {
    TRACE_START, /* the device being opened, kernels being built */
    TRACE_READER,
    TRACE_UPLOAD,
    TRACE_DEVICE,
    TRACE_DOWNLOAD,
    TRACE_WRITER,
    TRACE_HOST, /* what stages do without the device; left out where there is nothing */
    TRACE_ROW_COUNT
};

enum { TRACE_NAME_SIZE = 48 };

struct trace_event {
    enum trace_row row;
    int slice; /* negative: none */
    double begin, end;
    char name[TRACE_NAME_SIZE]; /* "blur: filter_rows" */
};

#endif
