/* The formats of netpbm: a header in letters, then samples. What each kind is, by its first two bytes:
 *
 *     P1 P4   PBM, a bit for each pixel, 1 is black          plain (decimal numbers), raw
 *     P2 P5   PGM, gray                                      plain, raw
 *     P3 P6   PPM, RGB                                       plain, raw
 *     P7      PAM, 1 to 4 channels                           raw
 *     Pf PF   PFM, floats, gray or RGB, rows from the bottom to the top
 *
 * Raw samples have two bytes, the high one first, where the largest value (maxval) needs them. Images may
 * follow one another: they are the pages. Sources: the manual pages pbm(5), pgm(5), ppm(5), pam(5), pfm(5) of
 * netpbm. */
#ifndef CLIMG_IMAGE_NETPBM_NETPBM_H
#define CLIMG_IMAGE_NETPBM_NETPBM_H

#include "image/codec.h"

extern const struct reader_class netpbm_reader_class;

/* They write raw samples, of the kind that the writer's format says. */
extern const struct writer_class netpbm_writer_class, pfm_writer_class;

extern const struct format format_pam;

#endif
