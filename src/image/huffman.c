#include "image/huffman.h"

#include <stdbool.h>
#include <stdlib.h>

enum { DEPTH_MAX = 64 };

struct leaf {
    uint32_t count;
    unsigned symbol;
};

static int compare(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return (int)x->symbol - (int)y->symbol;
}

/* How many leaves of a Huffman tree are how deep. The leaves are sorted; so are the inner nodes as they are
 * made, and the two least of all are always the next of one row or the other (van Leeuwen, 1976). */
static void measure_depths(const struct leaf *leaves, unsigned leaf_count, unsigned depths[DEPTH_MAX])
{
    uint32_t counts[2 * HUFFMAN_SYMBOLS_MAX];
    unsigned parents[2 * HUFFMAN_SYMBOLS_MAX] = {0}, depth[2 * HUFFMAN_SYMBOLS_MAX];
    unsigned leaf = 0, inner = leaf_count, root = 2 * leaf_count - 2;
    for (unsigned i = 0; i < leaf_count; i++)
        counts[i] = leaves[i].count;
    for (unsigned node = leaf_count; node <= root; node++) {
        counts[node] = 0;
        for (int child = 0; child < 2; child++) {
            bool take_leaf = leaf < leaf_count && (inner == node || counts[leaf] <= counts[inner]);
            unsigned least = take_leaf ? leaf++ : inner++;
            counts[node] += counts[least];
            parents[least] = node;
        }
    }
    depth[root] = 0;
    for (unsigned node = root; node-- > 0;) {
        depth[node] = depth[parents[node]] + 1;
        if (node < leaf_count)
            depths[depth[node]]++;
    }
}

/* Leaves that are too deep go up to `longest`, where there are too many then. For each too many, one of the
 * deepest that are above goes down one level and takes one of them beside itself. */
static void limit_depths(unsigned depths[DEPTH_MAX], unsigned longest)
{
    uint32_t used = 0;
    for (unsigned i = longest + 1; i < DEPTH_MAX; i++) {
        depths[longest] += depths[i];
        depths[i] = 0;
    }
    for (unsigned i = 1; i <= longest; i++)
        used += (uint32_t)depths[i] << (longest - i);
    for (; used > 1u << longest; used--) {
        unsigned above = longest - 1;
        while (depths[above] == 0)
            above--;
        depths[longest]--;
        depths[above]--;
        depths[above + 1] += 2;
    }
}

static uint16_t reversed(unsigned bits, unsigned length)
{
    unsigned result = 0;
    for (unsigned i = 0; i < length; i++)
        result |= (bits >> i & 1) << (length - 1 - i);
    return (uint16_t)result;
}

/* Codes of one length follow each other in the order of the symbols. */
static void number_codes(const unsigned depths[DEPTH_MAX], unsigned symbol_count, unsigned longest,
                         struct huffman_code *codes)
{
    unsigned next[DEPTH_MAX] = {0};
    for (unsigned length = 1; length < longest; length++)
        next[length + 1] = (next[length] + depths[length]) << 1;
    for (unsigned i = 0; i < symbol_count; i++)
        codes[i].bits = reversed(next[codes[i].length]++, codes[i].length);
}

void huffman_make(const uint32_t *counts, unsigned symbol_count, unsigned longest, struct huffman_code *codes)
{
    struct leaf leaves[HUFFMAN_SYMBOLS_MAX] = {{0, 0}};
    unsigned leaf_count = 0, depths[DEPTH_MAX] = {0};
    for (unsigned i = 0; i < symbol_count; i++) {
        codes[i] = (struct huffman_code){0, 0};
        if (counts[i] > 0)
            leaves[leaf_count++] = (struct leaf){counts[i], i};
    }
    if (leaf_count < 2) {
        depths[1] = leaf_count; /* one bit, although there is nothing to tell apart */
    } else {
        qsort(leaves, leaf_count, sizeof leaves[0], compare);
        measure_depths(leaves, leaf_count, depths);
        limit_depths(depths, longest);
    }
    unsigned leaf = leaf_count;
    for (unsigned length = 1; length <= longest; length++)
        for (unsigned i = 0; i < depths[length]; i++)
            codes[leaves[--leaf].symbol].length = (uint16_t)length;
    number_codes(depths, symbol_count, longest, codes);
}
