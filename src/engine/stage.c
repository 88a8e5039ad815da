#include "engine/stage.h"

#include <string.h>

const struct stage *stage_find(const char *name)
{
    for (const struct stage *const *stage = stages; *stage != NULL; stage++) {
        if (strcmp((*stage)->name, name) == 0)
            return *stage;
    }
    return NULL;
}
