/* The formats of netpbm: a header of text, then samples. The first two bytes say which kind it is:
 *
 *     P1 P4   PBM, a bit for each pixel, 1 is black          plain (decimal numbers), raw
 *     P2 P5   PGM, gray                                      plain, raw
 *     P3 P6   PPM, RGB                                       plain, raw
 *     P7      PAM, 1 to 4 channels                           raw
 *     Pf PF   PFM, floats, gray or RGB, rows from the bottom to the top
 *
 * Raw samples have two bytes, the high one first, if the largest value (maxval) is above 255. Images that
 * follow one another are pages. Sources: netpbm's manual pages pbm(5), pgm(5), ppm(5), pam(5), pfm(5). */
#ifndef CLIMG_IMAGE_NETPBM_NETPBM_H
#define CLIMG_IMAGE_NETPBM_NETPBM_H

#include "image/codec.h"

extern const struct reader_class netpbm_reader_class;

extern const struct format format_pam;

#endif
