/* The second computation of --verify: its device, the choice of its rows, and the comparison. */
#include "chain/verify.h"

#include <math.h>
#include <string.h>

enum { MIN_ROWS = 16 }; /* least rows to compute again, as their halo is computed, too */

enum status verifier_open(struct verifier *verifier, struct run *run, const struct device *opened,
                          const struct verify_option *verify, bool force, struct error *error)
{
    struct device *device = &verifier->device;
    *verifier = (struct verifier){.is_open = false};
    enum status status = verify->device
                             ? device_open_named(verify->device, opened->environment, force, device, error)
                             : device_share(opened, device, error);
    if (status == STATUS_OK && verify->device && !(device_is_exact(opened) && device_is_exact(device)))
        status = fail(error, STATUS_FAILED,
                      "--verify=%s: results of %s may differ from those of other devices in the last bit",
                      verify->device, device_is_exact(opened) ? device->name : opened->name);
    if (status != STATUS_OK) {
        device_close(device);
        return status;
    }
    if (device->id == opened->id)
        device->variant = opened->variant == VARIANT_CPU ? VARIANT_GPU : VARIANT_CPU;
    device->event_log = &verifier->event_log;
    verifier->event_log.timing = run_timing(run); /* receives the time of compiling */
    run_init(&verifier->run, device, MEMORY_BUFFER, run->edge);
    run->second = &verifier->run;
    run->verified_share = verify->share;
    verifier->is_open = true;
    return STATUS_OK;
}

void verifier_close(struct verifier *verifier)
{
    if (verifier->is_open) {
        run_free(&verifier->run);
        event_log_free(&verifier->event_log);
    }
    device_close(&verifier->device);
    verifier->is_open = false;
}

struct interval verified_rows(const struct run *run, const struct plan *plan, int slice)
{
    const struct interval all = plan_slice(plan, slice);
    const int size = all.end - all.begin;
    if (plan->analysis || !plan->sliceable || (plan->slices == 1 && plan_may_need_analysis(plan)))
        return all;
    /* The share of each slice, but at least MIN_ROWS. If that is more than the share, only slices at equal
     * distances from a random one. */
    const double wanted = run->verified_share * plan->slice_rows;
    const int most = (int)fmin(plan->slice_rows, fmax(ceil(wanted), MIN_ROWS)),
              rows = most < size ? most : size;
    const double step = fmax(wanted / most, 1.0 / plan->slices), start = ldexp(run->random[0] + 0.5, -32);
    if (floor(start + step * slice) == floor(start + step * (slice + 1)))
        return (struct interval){0, 0};
    /* Divide the slice, so that its first and last rows, where halos are, are as likely as others. */
    const int part = (int)(run->random[1] % (uint32_t)ceil_div(size, rows)) * rows,
              begin = all.begin + (part < size - rows ? part : size - rows);
    return (struct interval){begin, begin + rows};
}

enum status verify_rows(const struct run *run, const struct image_info *info, const char *name,
                        struct interval rows, const unsigned char *first, const unsigned char *second,
                        size_t pitch, struct error *error)
{
    static const char *const kernels[] = {
        [VARIANT_CPU] = "kernels for CPUs", [VARIANT_GPU] = "kernels for GPUs"};
    const struct device *device = run->device, *other_device = run->second->device;
    const size_t parts = info->type == SAMPLE_COMPLEX ? 2 : 1, channels = (size_t)info->channels;
    const enum sample_type type = parts == 2 ? SAMPLE_FLOAT : info->type;
    const size_t size = sample_size(type), count = row_size(info) / size;
    for (int y = rows.begin; y < rows.end; y++, first += pitch, second += pitch) {
        for (size_t i = memcmp(first, second, count * size) == 0 ? count : 0; i < count; i++) {
            const double value = sample_value(type, first, i), other = sample_value(type, second, i);
            /* Two NaN are equal: no device promises their bits. */
            if (memcmp(first + i * size, second + i * size, size) == 0 || (isnan(value) && isnan(other)))
                continue;
            return fail(error, STATUS_FAILED,
                        "--verify: %s%srow %d, column %zu, channel %zu is %.9g (%s, %s), and %.9g when it is "
                        "computed again (%s, %s); one of them is wrong: see climg --selftest",
                        name, name[0] == '\0' ? "" : ", ", y, i / parts / channels, i / parts % channels,
                        value * sample_full_scale(type), device->name, kernels[device->variant],
                        other * sample_full_scale(type), other_device->name, kernels[other_device->variant]);
        }
    }
    return STATUS_OK;
}
