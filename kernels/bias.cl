/* Adds a constant to colour. With alpha (channel `alpha`, -1: none) colour is premultiplied, so bias times alpha is
 * added; alpha stays. */
__kernel void add_bias(SOURCE(src), TARGET(dst), float bias, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const pixel v = load(GIVE(src), x, y, z);
#ifdef IMAGES
    const pixel white = alpha < 0 ? 1.0f : alpha == 1 ? v.y : v.w;
#else
    const pixel white = alpha < 0 ? 1.0f : load(GIVE(src), x, y, alpha);
#endif
    store(GIVE(dst), x, y, z, keep_channel(v + bias * white, v, z, dst_at.channels, alpha));
}
