/* Huffman codes as deflate has them (RFC 1951, 3.2.2). */
#ifndef CLIMG_IMAGE_HUFFMAN_H
#define CLIMG_IMAGE_HUFFMAN_H

#include <stdint.h>

enum { HUFFMAN_SYMBOLS_MAX = 288 };

struct huffman_code {
    uint16_t bits;   /* the first one lowest, as they are written */
    uint16_t length; /* 0: the symbol does not occur */
};

/* The shortest code for symbols that occur so often, at most 2^30 times in all, as far as no symbol gets more
 * than `longest` bits, which must be enough to tell them apart. */
void huffman_make(const uint32_t *counts, unsigned symbol_count, unsigned longest,
                  struct huffman_code *codes);

#endif
