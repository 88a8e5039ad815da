/* climg --tune and --selftest: the device that is meant, opened and put to work. */
#ifndef CLIMG_TUNING_EXAMINE_H
#define CLIMG_TUNING_EXAMINE_H

#include "settings/settings.h"

/* Does the one that the settings ask for, and tells on `out` what it found. */
enum status examine_device(const struct settings *settings, FILE *out, struct error *error);

#endif
