#include "tuning/examine.h"

#include "device/open.h"
#include "selftest/selftest.h"
#include "tuning/tune.h"

enum status examine_device(const struct settings *settings, FILE *out, struct error *error)
{
    struct device device = {0};
    enum status status = device_find(settings->device, &settings->environment, true, &device, error);
    if (status == STATUS_OK)
        status =
            settings->tune ? tune(&device, out, error) : selftest(&device, settings->verbose, out, error);
    device_close(&device);
    return status;
}
