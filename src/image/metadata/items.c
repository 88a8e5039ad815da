#include "image/metadata/follow.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GDAL writes <Item name="SCALE" sample="0" role="scale">0.1</Item>: a value is scale times the number in the
 * file, plus offset, for each channel ("sample"). */

static bool has_role(const struct text_entry *entry, const char *role)
{
    const char *value = entry->item == NULL ? NULL : attribute_find(entry->item, "role");
    return value != NULL && strncmp(value, role, strlen(role)) == 0 &&
           strchr("\"'", value[strlen(role)]) != NULL;
}

static bool is_calibration(const struct text_entry *entry)
{
    return has_role(entry, "scale") || has_role(entry, "offset");
}

static bool is_statistic(const struct text_entry *entry)
{
    return strncmp(entry->key, "STATISTICS_", strlen("STATISTICS_")) == 0;
}

static bool stays_true(const struct text_entry *entry, const struct change *change)
{
    const bool same_channels = !change->redrawn && change->in_channels == change->out_channels;
    if (is_statistic(entry))
        return !change->worked && !change_maps(change);
    if (entry->item == NULL)
        return true;
    if (attribute_find(entry->item, "domain") != NULL) /* of many kinds */
        return !change->worked && !change_maps(change) && !change_moves(change) && same_channels;
    if (is_calibration(entry) || has_role(entry, "unittype"))
        return same_channels && !change->revalued && !change->expanded;
    return attribute_find(entry->item, "sample") == NULL || same_channels;
}

static void leave_out(struct metadata *metadata, const struct text_entry *entry)
{
    char name[64];
    snprintf(name, sizeof name, "GDAL's item %.40s", entry->key);
    metadata_leave_out(metadata, is_statistic(entry)     ? "GDAL's statistics"
                                 : is_calibration(entry) ? "GDAL's scale and offset"
                                                         : name);
}

/* The item of that role for the same channel as another one. */
static struct text_entry *find_partner(const struct metadata *metadata, const char *item, const char *role)
{
    const char *sample = attribute_find(item, "sample");
    const long channel = sample == NULL ? 0 : strtol(sample, NULL, 10);
    for (size_t i = 0; i < metadata->text_count; i++) {
        struct text_entry *entry = &metadata->texts[i];
        sample = entry->item == NULL ? NULL : attribute_find(entry->item, "sample");
        if (has_role(entry, role) && (sample == NULL ? 0 : strtol(sample, NULL, 10)) == channel)
            return entry;
    }
    return NULL;
}

/* Replaces the item of that role, or adds one. */
static enum status set_number(struct metadata *metadata, long channel, const char *key, const char *role,
                              double value, struct error *error)
{
    char item[64], number[32];
    snprintf(item, sizeof item, " sample=\"%ld\" role=\"%s\"", channel, role);
    snprintf(number, sizeof number, "%.15g", value);
    struct text_entry *known = find_partner(metadata, item, role);
    if (known == NULL) {
        const struct text_entry entry = {.key = (char *)(uintptr_t)key, .value = number, .item = item};
        return metadata_add_text(metadata, &entry, error);
    }
    char *copy = copy_text(number, error);
    if (copy == NULL)
        return STATUS_FAILED;
    free(known->value);
    known->value = copy;
    return STATUS_OK;
}

/* scale (unit n + zero) + offset of the output's number n. */
static enum status follow_channel(struct metadata *metadata, const char *item, const struct change *change,
                                  struct error *error)
{
    const char *sample = attribute_find(item, "sample");
    const struct text_entry *scaled = find_partner(metadata, item, "scale");
    const struct text_entry *moved = find_partner(metadata, item, "offset");
    const long channel = sample == NULL ? 0 : strtol(sample, NULL, 10);
    const double scale = scaled == NULL ? 1 : strtod(scaled->value, NULL);
    const double offset = moved == NULL ? 0 : strtod(moved->value, NULL);
    enum status status = set_number(metadata, channel, "SCALE", "scale", scale * change->unit, error);
    return status == STATUS_OK && (moved != NULL || change->zero != 0)
               ? set_number(metadata, channel, "OFFSET", "offset", offset + scale * change->zero, error)
               : status;
}

enum status items_follow(struct metadata *metadata, const struct change *change, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = metadata->text_count; i-- > 0;)
        if (!stays_true(&metadata->texts[i], change)) {
            leave_out(metadata, &metadata->texts[i]);
            metadata_remove_entry(metadata, i);
        }
    const size_t count = change_maps(change) ? metadata->text_count : 0;
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        const struct text_entry *entry = &metadata->texts[i];
        if (has_role(entry, "scale") ||
            (has_role(entry, "offset") && find_partner(metadata, entry->item, "scale") == NULL))
            status = follow_channel(metadata, entry->item, change, error);
    }
    return status;
}
