/* Magnitude of the derivative-of-Gaussian gradient in two passes: along x both the smoothed and the derived
 * value of each sample (two layers), then along y both components at once. Weights: TAPS of the Gaussian, then
 * TAPS of its derivative. */
#define RADIUS ((TAPS - 1) / 2)

#define ACCUMULATE(sample)                                                                                             \
    for (int k = 0; k < TAPS; k++) {                                                                                   \
        const pixel v = sample;                                                                                        \
        smooth = mad(v, weights[k], smooth);                                                                           \
        slope = mad(v, weights[TAPS + k], slope);                                                                      \
    }

__kernel void gradient_rows(SOURCE(src), TARGET(dst), __constant const float *weights)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const int x0 = x - RADIUS;
    pixel smooth = 0.0f, slope = 0.0f;
    if (x0 >= 0 && x0 + LANES + TAPS <= src_at.width)
        ACCUMULATE(load(GIVE(src), x0 + k, y, z))
    else {
#if LANES > 1
        float line[LANES + TAPS];
        fill_line(line, LANES + TAPS, GIVE(src), x0, y, z);
        ACCUMULATE(VLOAD(line + k))
#else
        ACCUMULATE(load_column(GIVE(src), x0 + k, y, z))
#endif
    }
    store(GIVE(dst), x, y, LAYER(0, z, dst_at.channels), smooth);
    store(GIVE(dst), x, y, LAYER(1, z, dst_at.channels), slope);
}

__kernel void gradient_columns(SOURCE(src), TARGET(dst), SOURCE(original), __constant const float *weights, int keep)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const int smooth = LAYER(0, z, dst_at.channels), slope = LAYER(1, z, dst_at.channels);
    pixel along_x = 0.0f, along_y = 0.0f;
    for (int k = 0; k < TAPS; k++) {
        along_y = mad(load_row(GIVE(src), x, y - RADIUS + k, smooth), weights[TAPS + k], along_y);
        along_x = mad(load_row(GIVE(src), x, y - RADIUS + k, slope), weights[k], along_x);
    }
    pixel magnitude = sqrt(along_x * along_x + along_y * along_y);
    if (keep >= 0)
        magnitude = keep_channel(magnitude, load(GIVE(original), x, y, z), z, dst_at.channels, keep);
    store(GIVE(dst), x, y, z, magnitude);
}
