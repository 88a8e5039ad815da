/* Reduces the rows of a page to a gray picture in which skew.c finds the angle. The factor is whole, so the
 * longer side of a large page becomes 1200 to 2400 pixels. */
#include "register/page_angle.h"

#include "register/skew.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status page_angle_begin(void *context, const void *params, const struct shape *shape,
                             const struct image_info *info, struct error *error)
{
    struct page_angle *state = context;
    const uint32_t longer = info->width > info->height ? info->width : info->height;
    (void)params;
    (void)shape;
    state->info = *info;
    state->factor = longer / PAGE_ANGLE_SIDE > 1 ? (int)(longer / PAGE_ANGLE_SIDE) : 1;
    state->width = (int)info->width / state->factor;
    state->height = (int)info->height / state->factor;
    const size_t size = (size_t)state->width * (size_t)state->height;
    state->gray = allocate((size + 1) * sizeof *state->gray, "a page", error);
    state->values =
        allocate((size_t)info->width * (size_t)info->channels * sizeof *state->values, "a row", error);
    return state->gray && state->values ? STATUS_OK : STATUS_FAILED;
}

/* Adds colours, on white paper if they are transparent, to the pixels of `gray`. Missing and huge values
 * count as 0. A row is zeroed when its first pixels come: memory that is zero when it is allocated, and read
 * before it is written, faults twice, and the second fault interrupts all cores (30 ms for a page). */
void page_angle_add(void *context, const void *rows, size_t pitch, uint32_t count)
{
    struct page_angle *state = context;
    const size_t channels = (size_t)state->info.channels, colours = channels - state->info.alpha;
    for (uint32_t i = 0; i < count; i++, state->row++) {
        const int y = (int)state->row / state->factor;
        if (y >= state->height)
            return;
        float *to = state->gray + (size_t)y * (size_t)state->width;
        if ((int)state->row % state->factor == 0)
            memset(to, 0, (size_t)state->width * sizeof *to);
        sample_values(state->info.type, (const unsigned char *)rows + i * pitch, 0,
                      (size_t)state->width * (size_t)state->factor * channels, state->values);
        const double *value = state->values;
        for (int x = 0; x < state->width; x++) {
            double sum = 0;
            for (int k = 0; k < state->factor; k++, value += channels) {
                const double alpha = colours < channels ? value[colours] : 1;
                for (size_t c = 0; c < colours; c++)
                    sum += alpha * value[c] + (1 - alpha);
            }
            to[x] += fabs(sum) < 1e20 ? (float)sum : 0;
        }
    }
}

enum status page_angle_find(const struct page_angle *state, double most, double *degrees,
                            struct replacement *replacement, struct error *error)
{
    /* Smallest angle in degrees that is worth an interpolation: a pixel in 1100. */
    static const double MIN_ANGLE = 0.05;
    struct skew skew;
    if (skew_find(state->gray, state->width, state->height, most, &skew, error) != STATUS_OK)
        return STATUS_FAILED;
    *degrees = skew.is_clear && fabs(skew.degrees) >= MIN_ANGLE ? -skew.degrees : 0;
    if (skew.is_clear)
        snprintf(replacement->found, sizeof replacement->found, "turned by %.3f degrees", *degrees + 0.0);
    else
        snprintf(replacement->warning, sizeof replacement->warning,
                 "has no lines with a clear angle of at most %.3g degrees, and is not turned", most);
    replacement->stage = "rotate";
    return STATUS_OK;
}

void page_angle_release(void *context)
{
    struct page_angle *state = context;
    free(state->gray);
    free(state->values);
}
