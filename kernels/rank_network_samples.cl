/* Medians of small windows on CPU devices: from a file's samples of 8 or 16 bit to samples of the same type. The order of
 * the samples is that of the values that they stand for, so nothing is converted. */
#include "samples.h"
#include "edge.h"

typedef sample key;
typedef raw keys;
#include "rank_network_wide.h"

#ifdef WORDS
#define KEYS_TO_COUNTS(k) convert_uint16(k)
#else
#define KEYS_TO_COUNTS(k) (k)
#endif

static inline key sample_beside(READ_RASTER(sample, raster), int x, int width, int y, int c)
{
    return outside(x, width) ? 0 : PIXEL_AT(raster, edge(x, width), y, 0)[c];
}

/* The samples of row y, which may lie beside the image, that outputs [x, x + SEGMENT) need; `at` says where it is. */
INLINE void fill_samples(key lines[CHANNELS][LINES][2][LINE], int r, READ_RASTER(sample, raster), const struct geometry at,
                         int x, int y)
{
    if (outside(y, at.height)) {
        for (int c = 0; c < CHANNELS; c++)
            for (int i = -PAD; i < SEGMENT / 2 + PAD; i++)
                lines[c][r][0][PAD + i] = lines[c][r][1][PAD + i] = 0;
        return;
    }
    const int row = held_row(at, edge(y, at.height)), end = min(SEGMENT, at.width - x);
    for (int i = 0; i < end; i += 2 * LANES) {
        keys a[CHANNELS], b[CHANNELS];
        split(a, PIXEL_AT(raster, x + i, row, 0));
        split(b, PIXEL_AT(raster, x + i + LANES < at.width ? x + i + LANES : x + i, row, 0));
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            put_keys(lines[c][r], i, a[c], b[c]);
    }
    for (int c = 0; c < CHANNELS; c++)
        for (int i = 1; i <= RADIUS; i++) {
            *key_at(lines[c][r], -i) = sample_beside(GIVE_READ_RASTER(raster), x - i, at.width, row, c);
            *key_at(lines[c][r], end - 1 + i) = sample_beside(GIVE_READ_RASTER(raster), x + end - 1 + i, at.width, row, c);
        }
}

/* `src_at` and `dst_at` say which rows the two rasters hold. */
APART void rank_network_samples_run(READ_RASTER(sample, src), const struct geometry src_at, RASTER(sample, dst),
                                    const struct geometry dst_at, ITEM)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + RUN; item++) {
        const int x = item * SEGMENT, y = item_y * OUTPUTS + dst_at.first_row;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        key lines[CHANNELS][LINES][2][LINE];
        for (int r = 0; r < LINES; r++)
            fill_samples(lines, r, GIVE_READ_RASTER(src), src_at, x, y - RADIUS + r);
        for (int r = 0; r < OUTPUTS && y + r < dst_at.first_row + dst_at.rows; r += 2)
            for (int i = 0; i < SEGMENT && x + i < dst_at.width; i += 2 * LANES) {
                keys out[CHANNELS][4];
#pragma unroll
                for (int c = 0; c < CHANNELS; c++)
                    filter_block(lines[c], r, i, out[c]);
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    counts channel[CHANNELS];
#pragma unroll
                    for (int c = 0; c < CHANNELS; c++)
                        channel[c] = KEYS_TO_COUNTS(out[c][k]);
                    if (x + i + (k & 1) * LANES < dst_at.width && y + r + k / 2 < dst_at.first_row + dst_at.rows)
                        join(PIXEL_AT(dst, x + i + (k & 1) * LANES, y + r + k / 2, 0), channel);
                }
            }
    }
}

__kernel void rank_network_samples(READ_RASTER(sample, src), const struct geometry src_at, RASTER(sample, dst),
                                   const struct geometry dst_at)
{
    rank_network_samples_run(GIVE_READ_RASTER(src), src_at, GIVE_RASTER(dst), dst_at, THIS_ITEM);
}
