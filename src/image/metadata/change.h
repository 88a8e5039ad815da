/* What lies between the file that was read and the one that is written. */
#ifndef CLIMG_IMAGE_METADATA_CHANGE_H
#define CLIMG_IMAGE_METADATA_CHANGE_H

#include "image/image.h"

struct change {
    uint32_t in_width, in_height, out_width, out_height;
    double x, y; /* output pixels per input pixel along both axes: 1 where a part is cut out or turned */
    int in_pages, out_pages;
    int in_channels, out_channels;
    enum sample_type in_type, out_type;
    bool worked;  /* stages ran: samples have other values */
    bool turned;  /* by its Orientation, which it then no longer has */
    bool redrawn; /* the picture is another one: nothing lies where it was */
};

/* Whether pixels are of another size, or there are more or fewer of them. */
bool change_resizes(const struct change *change);

#endif
