/* A two-dimensional correlation with a WIDTH x HEIGHT matrix whose centre is (CENTRE_X, CENTRE_Y):
 *
 *     dst[x, y] = sum over (i, j) of weights[j * WIDTH + i] * src[x + i - CENTRE_X, y + j - CENTRE_Y]
 *
 * `keep` names a channel that is copied from src (-1: none). */
static inline pixel add_row(pixel sum, SOURCE(src), WEIGHTS const float *weights, int x0, int y, int z)
{
#if LANES > 1
    if (x0 < 0 || x0 + LANES + WIDTH > src_at.width) {
        float line[LANES + WIDTH];
        fill_line(line, LANES + WIDTH, GIVE(src), x0, y, z);
        for (int i = 0; i < WIDTH; i++)
            sum = mad(VLOAD(line + i), weights[i], sum);
        return sum;
    }
#else
    if (x0 < 0 || x0 + WIDTH > src_at.width) {
        for (int i = 0; i < WIDTH; i++)
            sum = mad(load_column(GIVE(src), x0 + i, y, z), weights[i], sum);
        return sum;
    }
#endif
    for (int i = 0; i < WIDTH; i++)
        sum = mad(load(GIVE(src), x0 + i, y, z), weights[i], sum);
    return sum;
}

__kernel void convolve(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, int keep)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    pixel sum = 0.0f;
    for (int j = 0; j < HEIGHT; j++) {
        const int row = y + j - CENTRE_Y;
        if (!outside(row, src_at.height))
            sum = add_row(sum, GIVE(src), weights + j * WIDTH, x - CENTRE_X, edge(row, src_at.height), z);
    }
    const pixel other = keep >= 0 ? load(GIVE(src), x, y, z) : sum;
    store(GIVE(dst), x, y, z, keep_channel(sum, other, z, src_at.channels, keep));
}
