/* The formats of netpbm: a header of text, then samples. The first two bytes name the kind:
 *
 *     P1 P4   PBM, a bit per pixel, 1 is black               plain (decimal numbers), raw
 *     P2 P5   PGM, gray                                      plain, raw
 *     P3 P6   PPM, RGB                                       plain, raw
 *     P7      PAM, 1 to 4 channels                           raw
 *     Pf PF   PFM, floats, gray or RGB, rows from the bottom to the top
 *
 * Width, height and the largest sample value (maxval) follow. PBM has no maxval; PFM has a scale instead,
 * whose sign is the byte order. PAM's header has lines of keys and values:
 *
 *     P6 640 480 255 <samples>                   P7\nWIDTH 640\nHEIGHT 480\nDEPTH 3\nMAXVAL 255\n
 *     PF 640 480 -1.0 <floats, little-endian>    TUPLTYPE RGB\nENDHDR\n <samples>
 *
 * Raw samples have two bytes, the high one first, if maxval is above 255. Consecutive images in a file are
 * pages. "Plain" is netpbm's word for samples in decimal digits. Sources: netpbm's manual pages pbm(5),
 * pgm(5), ppm(5), pam(5), pfm(5).
 *
 * Private to src/image/netpbm. The Makefile collects the format structs (image/format.h). */
#ifndef CLIMG_IMAGE_NETPBM_NETPBM_H
#define CLIMG_IMAGE_NETPBM_NETPBM_H

#include "image/codec.h"

extern const struct reader_class netpbm_reader_class; /* of all formats of this folder */

extern const struct format format_pam;

#endif
