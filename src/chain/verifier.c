#include "chain/verifier.h"

#include "base/clock.h"
#include "device/open.h"

#include <sys/random.h>

/* xorshift64 (G. Marsaglia, J. Stat. Soft. 8, 2003). */
uint64_t verifier_draw(struct verifier *verifier, uint64_t below)
{
    uint64_t x = verifier->chance;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    verifier->chance = x;
    return (x >> 11) % below;
}

enum status verifier_open(struct verifier *verifier, const struct run *run, const struct device *opened,
                          const struct verify_option *verify, bool force, struct error *error)
{
    *verifier = (struct verifier){.share = verify->share, .elsewhere = verify->device != NULL};
    enum status status = verifier->elsewhere ? device_find(verify->device, opened->environment, force,
                                                           &verifier->device, error)
                                             : device_share(opened, &verifier->device, error);
    if (status != STATUS_OK) {
        device_close(&verifier->device);
        return status;
    }
    verifier->device.profile = &verifier->profile;
    timing_begin(&verifier->timing);
    run_init(&verifier->run, &verifier->device, MEMORY_BUFFER, run->edge);
    verifier->run.device_memory = run->device_memory;
    verifier->run.memory_limit = run->memory_limit;
    if (getrandom(&verifier->chance, sizeof verifier->chance, 0) < 0 || verifier->chance == 0)
        verifier->chance = (uint64_t)(1e9 * clock_seconds()) | 1;
    verifier->open = true;
    return STATUS_OK;
}

void verifier_close(struct verifier *verifier)
{
    if (verifier->open) {
        run_free(&verifier->run);
        profile_free(&verifier->profile);
    }
    device_close(&verifier->device);
    verifier->open = false;
}

/* Images go with kernels for GPUs wherever they are. */
void verifier_choose_way(struct verifier *verifier, const struct run *first, const struct plan *plan)
{
    struct run *run = &verifier->run;
    bool fits = verifier->device.has_images && first->device->class == DEVICE_GROUPED;
    for (size_t i = 0; i <= plan->chain->count; i++)
        fits = fits && (size_t)plan->shapes[i].width <= verifier->device.image_width;
    if (verifier->elsewhere)
        return;
    verifier->device.class = first->device->class;
    run->memory = first->memory == MEMORY_BUFFER && fits ? MEMORY_IMAGE : MEMORY_BUFFER;
    if (first->memory == MEMORY_BUFFER && !fits)
        verifier->device.class = first->device->class == DEVICE_WIDE ? DEVICE_GROUPED : DEVICE_WIDE;
}
