/* Opens colour spaces by a file's metadata or by an ICC profile, and caches them.
 *
 * Each space is read from an ICC profile (profile_read.c). For cICP, gAMA with cHRM, and built-in spaces,
 * Little CMS first writes a profile (profile_write.c). As its curves and primaries have only 16 fractional
 * bits, the exact ones replace them after it was read.
 *
 * The cache is a list of reference-counted entries: for a folder of photos with one profile, it is read once.
 * Unused entries are freed when there are more than KEPT_SPACES. */
#include "base/files.h"
#include "image/colour/internal.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_SPACES = 32 };

/* Values of entry.curve_key, for the exact curve that replaced the profile's:
 *
 *     0                 none
 *     1 to 254          of cICP: number of the transfer function in H.273
 *     KEY_BUILTIN + n   of a built-in space, which is never freed: n as in H.273, -1 for Adobe RGB
 *     KEY_GAMMA         of gAMA; profiles of different exponents differ */
enum { KEY_BUILTIN = 256, KEY_GAMMA = 1000 };

/* An entry of the cache. Two entries may have equal profiles but different exact curves. */
struct entry {
    struct colour_space space; /* must be first */
    int uses;                  /* reference count */
    int curve_key;             /* see KEY_BUILTIN */
    float *tables[2][3]; /* owned, of colour_space_table: [encodes][channel]; NULL before the first use */
    struct entry *next;
};

static struct {
    pthread_mutex_t lock;
    struct entry *first;
    int count;
    const struct colour_space *builtin[COLOUR_LINEAR_GRAY + 1];
} spaces = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---------------------------------------------------------------- cache */

/* Frees an entry that is not in the list; NULL is allowed. */
static void free_entry(struct entry *entry)
{
    if (entry == NULL)
        return;
    profile_free_curves(&entry->space);
    blob_free(&entry->space.icc);
    for (int i = 0; i < 6; i++)
        free(entry->tables[i / 3][i % 3]);
    free(entry);
}

/* Removes unused entries from the list while it has more than KEPT_SPACES, and returns them as a list. */
static struct entry *remove_unused(void)
{
    struct entry *unused = NULL;
    for (struct entry **at = &spaces.first; spaces.count > KEPT_SPACES && *at != NULL;) {
        struct entry *entry = *at;
        if (entry->uses > 0) {
            at = &entry->next;
            continue;
        }
        *at = entry->next;
        spaces.count--;
        entry->next = unused;
        unused = entry;
    }
    return unused;
}

/* Creates the gray space of an RGB space, with the curve of green. Returns NULL if out of memory. */
static const struct colour_space *make_gray(const struct colour_space *rgb)
{
    struct entry *entry = calloc(1, sizeof *entry);
    struct colour_space *space = &entry->space;
    struct error ignored;
    if (entry == NULL)
        return NULL;
    *space = (struct colour_space){.channels = 1, .is_matrix = true, .luminance = {1}, .peak = rgb->peak};
    memcpy(space->white, D50, sizeof D50);
    for (int i = 0; i < 3; i++)
        space->to_xyz[i][0] = D50[i];
    const struct tone_curve *curve = &rgb->curves[1];
    space->curves[0] = *curve;
    if (curve->kind == TONE_TABLE) {
        space->curves[0].table = malloc(curve->count * sizeof *curve->table);
        if (space->curves[0].table == NULL) {
            free(entry);
            return NULL;
        }
        memcpy(space->curves[0].table, curve->table, curve->count * sizeof *curve->table);
    }
    snprintf(space->name, sizeof space->name, "gray of %.60s", rgb->name);
    profile_recognise(space);
    if (profile_write(space->name, NULL, &space->curves[0], space->peak, &space->icc, &ignored) != STATUS_OK)
        space->icc = (struct blob){NULL, 0};
    return space;
}

/* Opens a space: the cached one of the same profile and curve_key, or a new one. `curve` replaces the
 * profile's curves, `xy` its matrix; both may be NULL. */
static enum status open_by_profile(const void *icc, size_t size, const double *xy,
                                   const struct tone_curve *curve, int curve_key, double peak,
                                   const struct colour_space **space, struct error *error)
{
    enum status status = STATUS_OK;
    struct entry *unused = NULL;
    *space = NULL;
    pthread_mutex_lock(&spaces.lock);
    struct entry *entry = spaces.first;
    while (entry != NULL && !(entry->curve_key == curve_key && entry->space.icc.size == size &&
                              memcmp(entry->space.icc.data, icc, size) == 0))
        entry = entry->next;
    if (entry == NULL) {
        entry = allocate_zeroed(1, sizeof *entry, "a colour space", error);
        status = entry == NULL ? STATUS_FAILED : profile_read(&entry->space, icc, size, error);
        if (status == STATUS_OK && curve != NULL && entry->space.is_matrix) {
            profile_free_curves(&entry->space);
            for (int c = 0; c < 3; c++)
                entry->space.curves[c] = *curve;
            if (xy != NULL)
                profile_set_primaries(&entry->space, xy);
            profile_recognise(&entry->space);
        }
        if (status == STATUS_OK) {
            entry->curve_key = curve_key;
            entry->space.peak = peak;
        }
        if (status == STATUS_OK && entry->space.channels == 3) {
            entry->space.gray = make_gray(&entry->space);
            status = entry->space.gray ? STATUS_OK : fail_memory(error, "out of memory for a colour space");
        }
        if (status == STATUS_OK) {
            unused = remove_unused();
            entry->next = spaces.first;
            spaces.first = entry;
            spaces.count++;
        } else if (entry != NULL) {
            free_entry(entry);
            entry = NULL;
        }
    }
    if (entry != NULL) {
        entry->uses++;
        *space = &entry->space;
    }
    pthread_mutex_unlock(&spaces.lock);
    /* After unlocking, as colour_link_find locks spaces while it has locked the links. */
    while (unused != NULL) {
        struct entry *next = unused->next;
        colour_links_drop(&unused->space);
        colour_links_drop(unused->space.gray);
        free_entry((struct entry *)unused->space.gray);
        free_entry(unused);
        unused = next;
    }
    return status;
}

enum status colour_space_load(const void *icc, size_t size, const struct colour_space **space,
                              struct error *error)
{
    return open_by_profile(icc, size, NULL, NULL, 0, 1, space, error);
}

enum status colour_space_load_file(const char *path, const struct colour_space **space, struct error *error)
{
    size_t size = 0;
    void *icc = file_read_whole(path, &size);
    *space = NULL;
    enum status status = icc != NULL ? colour_space_load(icc, size, space, error)
                                     : fail(error, STATUS_FAILED, "cannot be read as an ICC profile");
    if (status != STATUS_OK)
        error_prefix(error, path);
    free(icc);
    return status;
}

/* Opens a space of primaries (NULL: gray) and a curve, which `curve_key` identifies. */
static enum status open_by_primaries(const char *name, const double *xy, const struct tone_curve *curve,
                                     int curve_key, const struct colour_space **space, struct error *error)
{
    /* White is 203 cd/m2 (ITU-R BT.2408): 0.0203 of PQ's full scale, and 75% of HLG's signal. */
    const double peak = curve->kind == TONE_PQ    ? 10000 / 203.0
                        : curve->kind == TONE_HLG ? 1 / curve_decode(curve, 0.75)
                                                  : 1;
    struct blob icc;
    enum status status = profile_write(name, xy, curve, peak, &icc, error);
    if (status == STATUS_OK)
        status = open_by_profile(icc.data, icc.size, xy, curve, curve_key, peak, space, error);
    blob_free(&icc);
    return status;
}

enum status colour_space_of_file(const struct metadata *metadata, int colours,
                                 const struct colour_space **space, struct error *error)
{
    /* Numbers of H.273. `cicp` has four: primaries, transfer function, matrix, full range (0: no). */
    enum { BT709 = 1, UNSPECIFIED = 2 };
    struct tone_curve curve;
    char name[80];
    *space = NULL;
    if (metadata->has_cicp && metadata->cicp[1] != UNSPECIFIED) {
        const double *xy = profile_cicp_primaries(metadata->cicp[0]);
        if (!curve_of_cicp(metadata->cicp[1], &curve) || (colours == 3 && xy == NULL) ||
            metadata->cicp[3] == 0)
            return fail(error, STATUS_FAILED, "cICP %d/%d/%d/%d is not supported", metadata->cicp[0],
                        metadata->cicp[1], metadata->cicp[2], metadata->cicp[3]);
        snprintf(name, sizeof name, "cICP %d/%d", metadata->cicp[0], metadata->cicp[1]);
        return open_by_primaries(name, colours == 3 ? xy : NULL, &curve, metadata->cicp[1], space, error);
    }
    if (metadata->icc.data != NULL) {
        enum status status = colour_space_load(metadata->icc.data, metadata->icc.size, space, error);
        const bool is_gray_of_rgb = status == STATUS_OK && (*space)->gray != NULL && colours == 1;
        if (status == STATUS_OK && (*space)->channels != colours && !is_gray_of_rgb) {
            colour_space_release(*space);
            *space = NULL;
            return lcms_fail("it is for another number of channels", error);
        }
        return status;
    }
    if (metadata->srgb || (metadata->gamma <= 0 && !metadata->has_chromaticities))
        return STATUS_OK;
    curve = metadata->gamma > 0 ? curve_power(1 / metadata->gamma) : curve_srgb();
    const double *xy =
        metadata->has_chromaticities ? metadata->chromaticities : profile_cicp_primaries(BT709);
    snprintf(name, sizeof name, "gAMA %.5f", metadata->gamma);
    const enum status status =
        open_by_primaries(name, colours == 3 ? xy : NULL, &curve, KEY_GAMMA, space, error);
    return status == STATUS_OK || error->is_out_of_memory
               ? status
               : fail(error, STATUS_FAILED, "primaries (cHRM) cannot be used: they are damaged");
}

bool colour_space_is_usual(const struct colour_space *space)
{
    return space == NULL || space->is_srgb || (space->is_rec709 && fabs(space->exponent - 2.2) < 0.01);
}

const struct colour_space *colour_space_builtin(enum colour_builtin which)
{
    enum { GRAY = 0, SRGB = 13, LINEAR = 8, ADOBE = -1 };
    static const chromaticities adobe_primaries = {0.3127, 0.329, 0.64, 0.33, 0.21, 0.71, 0.15, 0.06};
    static const struct {
        const char *name;
        int primaries, curve; /* numbers of H.273, or ADOBE; primaries GRAY: a gray space */
    } table[] = {
        [COLOUR_SRGB] = {"sRGB", 1, SRGB},
        [COLOUR_P3] = {"Display P3", 12, SRGB},
        [COLOUR_ADOBE] = {"Compatible with Adobe RGB (1998)", ADOBE, ADOBE},
        [COLOUR_GRAY] = {"Gray with the curve of sRGB", GRAY, SRGB},
        [COLOUR_LINEAR] = {"Linear sRGB", 1, LINEAR},
        [COLOUR_LINEAR_GRAY] = {"Linear gray", GRAY, LINEAR},
    };
    const int number = table[which].curve;
    const double *xy =
        table[which].primaries == ADOBE ? adobe_primaries : profile_cicp_primaries(table[which].primaries);
    struct tone_curve curve = curve_power(563 / 256.0); /* Adobe RGB (1998) Color Image Encoding, 4.3.4.2 */
    struct error ignored;
    const struct colour_space *space;
    curve_of_cicp(number, &curve); /* does not change the curve of ADOBE, which it does not know */
    pthread_mutex_lock(&spaces.lock);
    space = spaces.builtin[which];
    pthread_mutex_unlock(&spaces.lock);
    if (space != NULL ||
        open_by_primaries(table[which].name, xy, &curve, KEY_BUILTIN + number, &space, &ignored) != STATUS_OK)
        return space;
    pthread_mutex_lock(&spaces.lock);
    spaces.builtin[which] = space; /* never released */
    pthread_mutex_unlock(&spaces.lock);
    return space;
}

const char *colour_space_curve_name(const struct colour_space *space)
{
    static _Thread_local char power[48];
    const struct tone_curve *curve = &space->curves[0];
    struct tone_curve video;
    curve_of_cicp(1, &video);
    snprintf(power, sizeof power, "a power of %.5g", space->exponent);
    return space->channels == 4                  ? "of inks"
           : space->exponent == 0                ? "sRGB"
           : space->exponent == 1                ? "linear"
           : space->exponent > 0                 ? power
           : curve->kind == TONE_PQ              ? "PQ"
           : curve->kind == TONE_HLG             ? "HLG"
           : !space->is_matrix                   ? "tables"
           : curve_is_near(curve, &video, 0.001) ? "BT.709"
           : curve->kind == TONE_TABLE           ? "a table"
                                                 : "a power and a line";
}

void colour_space_release(const struct colour_space *space)
{
    if (space == NULL)
        return;
    struct entry *entry = (struct entry *)space;
    /* The smallest key of a built-in space is Adobe RGB's. */
    const bool is_builtin = entry->curve_key >= KEY_BUILTIN - 1 && entry->curve_key < KEY_GAMMA;
    pthread_mutex_lock(&spaces.lock);
    if (!is_builtin)
        entry->uses--;
    pthread_mutex_unlock(&spaces.lock);
}

double colour_space_light(const struct colour_space *space, int channel, double value)
{
    const struct tone_curve *curve = &space->curves[space->channels == 1 ? 0 : channel];
    if (isnan(value))
        return value;
    return value < 0 && curve->kind != TONE_TABLE ? 2 * curve_decode(curve, 0) - curve_decode(curve, -value)
                                                  : curve_decode(curve, value);
}

double colour_space_value(const struct colour_space *space, int channel, double light)
{
    return curve_encode(&space->curves[space->channels == 1 ? 0 : channel], light);
}

static double table_decode(const void *curve, double v)
{
    return curve_decode(curve, v);
}

static double table_encode(const void *curve, double light)
{
    return curve_encode(curve, light);
}

const float *colour_space_table(const struct colour_space *space, int channel, bool encodes)
{
    struct entry *entry = (struct entry *)space;
    /* Equal curves share a table: filling one takes 2 ms. */
    for (int c = channel; c-- > 0;)
        if (curve_is_equal(&space->curves[c], &space->curves[channel]))
            channel = c;
    pthread_mutex_lock(&spaces.lock);
    float **table = &entry->tables[encodes][channel];
    if (*table == NULL) {
        *table = malloc(CURVE_TABLE_SIZE * sizeof **table);
        if (*table != NULL)
            curve_fill(*table, space->curves[channel].kind != TONE_TABLE,
                       encodes ? table_encode : table_decode, &space->curves[channel]);
    }
    const float *found = *table;
    pthread_mutex_unlock(&spaces.lock);
    return found;
}
