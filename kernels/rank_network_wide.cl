/* Medians of small windows on CPU devices: planes. */
#include "rank.h"

typedef uint key;
typedef uint16 keys;
#include "rank_network_wide.h"

static inline keys load_keys(SOURCE(src), int x, int y, int z)
{
    const float16 v = load(GIVE(src), x, y, z);
    return (as_uint16(v) ^ as_uint16(as_int16(v) >> 31 & 0x7fffffff)) + RANK_BASE;
}

static inline float16 keys_to_floats(keys k)
{
    const int16 bits = as_int16(k - RANK_BASE);
    return as_float16(bits ^ (bits >> 31 & 0x7fffffff));
}

static inline uint key_beside(SOURCE(src), int x, int y, int z)
{
    return outside(x, src_at.width) ? to_key(0.0f) : to_key(src[offset(src_at, edge(x, src_at.width), y, z)]);
}

/* The keys that outputs [x, x + SEGMENT) need of row y, which may lie beside the image. */
INLINE void fill_keys(key line[2][LINE], SOURCE(src), int x, int y, int z)
{
    if (outside(y, src_at.height)) {
        for (int i = -PAD; i < SEGMENT / 2 + PAD; i++)
            line[0][PAD + i] = line[1][PAD + i] = to_key(0.0f);
        return;
    }
    const int row = held_row(src_at, edge(y, src_at.height)), end = min(SEGMENT, src_at.width - x);
    for (int i = 0; i < end; i += 2 * LANES) {
        const keys a = load_keys(GIVE(src), x + i, row, z);
        put_keys(line, i, a, x + i + LANES < src_at.width ? load_keys(GIVE(src), x + i + LANES, row, z) : a);
    }
    for (int i = 1; i <= RADIUS; i++) {
        *key_at(line, -i) = key_beside(GIVE(src), x - i, row, z);
        *key_at(line, end - 1 + i) = key_beside(GIVE(src), x + end - 1 + i, row, z);
    }
}

static inline void copy_rows(SOURCE(src), TARGET(dst), int x, int y, int z)
{
    for (int r = y; r < min(y + OUTPUTS, dst_at.first_row + dst_at.rows); r++)
        for (int i = x; i < min(x + SEGMENT, dst_at.width); i += LANES)
            store(GIVE(dst), i, r, z, load(GIVE(src), i, r, z));
}

APART void rank_network_run(SOURCE(src), TARGET(dst), int keep, ITEM)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + RUN; item++) {
        const int x = item * SEGMENT, y = item_y * OUTPUTS + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        if (keep >= 0 && z % dst_at.channels == keep) {
            copy_rows(GIVE(src), GIVE(dst), x, y, z);
            continue;
        }
        key lines[LINES][2][LINE];
        for (int r = 0; r < LINES; r++)
            fill_keys(lines[r], GIVE(src), x, y - RADIUS + r, z);
        for (int r = 0; r < OUTPUTS && y + r < dst_at.first_row + dst_at.rows; r += 2)
            for (int i = 0; i < SEGMENT && x + i < dst_at.width; i += 2 * LANES) {
                keys out[4];
                filter_block(lines, r, i, out);
                for (int k = 0; k < 4; k++)
                    if (x + i + (k & 1) * LANES < dst_at.width && y + r + k / 2 < dst_at.first_row + dst_at.rows)
                        store(GIVE(dst), x + i + (k & 1) * LANES, y + r + k / 2, z, keys_to_floats(out[k]));
            }
    }
}

__kernel void rank_network(SOURCE(src), TARGET(dst), int keep)
{
    rank_network_run(GIVE(src), GIVE(dst), keep, THIS_ITEM);
}
