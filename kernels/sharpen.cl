/* Unsharp mask: what the blur took away, times amount, where it is at least threshold. */
__kernel void sharpen(SOURCE(src), SOURCE(blurred), TARGET(dst), float amount, float threshold, int keep)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const pixel original = load(GIVE(src), x, y, z);
    const pixel detail = original - load(GIVE(blurred), x, y, z);
    const pixel sharp = original + amount * select((pixel)(0.0f), detail, fabs(detail) >= threshold);
    store(GIVE(dst), x, y, z, keep_channel(sharp, original, z, dst_at.channels, keep));
}
