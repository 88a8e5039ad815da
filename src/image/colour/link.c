/* Links: conversions from one colour space to another, as tables for kernels/colour.cl.
 *
 *     curves and matrix on both sides    computed here, in doubles and without libm's pow and exp
 *     other spaces, from RGB             a grid of Little CMS's results
 *     other spaces, from gray            a matrix of ones, then a curve of Little CMS's results per channel
 *
 * Little CMS's results are rounded to 2^-20, as different versions of libm give different last bits.
 *
 * Curves have CURVE_STEPS samples per octave, grids GRID_NODES nodes per axis; the kernel interpolates. */
#include "image/colour/internal.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* An entry of the cache of links. */
struct link_entry {
    struct colour_link link;
    struct colour_endpoint from, to;
    enum colour_intent intent;
    bool blackpoint;
    struct link_entry *next;
};

static struct {
    pthread_mutex_t lock;
    struct link_entry *first;
} links = {.lock = PTHREAD_MUTEX_INITIALIZER};

void colour_links_drop(const struct colour_space *space)
{
    pthread_mutex_lock(&links.lock);
    for (struct link_entry **at = &links.first; *at != NULL;) {
        struct link_entry *entry = *at;
        if (entry->from.space != space && entry->to.space != space) {
            at = &entry->next;
            continue;
        }
        *at = entry->next;
        free(entry->link.floats);
        free(entry);
    }
    pthread_mutex_unlock(&links.lock);
}

/* Appends the tables of a space's curves to link->floats; channels with equal curves share one. */
static enum status add_curves(struct colour_link *link, const struct colour_space *space, bool encodes,
                              int32_t starts[3], struct error *error)
{
    const float *tables[3];
    for (int c = 0; c < space->channels; c++) {
        tables[c] = colour_space_table(space, c, encodes);
        if (tables[c] == NULL)
            return fail_memory(error, "out of memory for a tone curve");
        int same = 0; /* the first channel with this table */
        while (tables[same] != tables[c])
            same++;
        starts[c] = same < c ? starts[same] : (int32_t)link->count;
        if (same < c)
            continue;
        memcpy(link->floats + link->count, tables[c], CURVE_TABLE_SIZE * sizeof *tables[c]);
        link->count += CURVE_TABLE_SIZE;
    }
    return STATUS_OK;
}

/* Appends a table of a function to link->floats. Returns its index. */
static int32_t add_table(struct colour_link *link, bool is_mirrored,
                         double (*function)(const void *context, double v), const void *context)
{
    const int32_t start = (int32_t)link->count;
    curve_fill(link->floats + start, is_mirrored, function, context);
    link->count += CURVE_TABLE_SIZE;
    return start;
}

/* Sets the matrix from the light of the source's channels to that of the target's: the inverse of the
 * target's matrix to XYZ, times the source's. The light of a gray target is Y. */
static enum status set_matrix(struct link_entry *entry, struct error *error)
{
    const struct colour_space *from = entry->from.space, *to = entry->to.space;
    struct colour_link *link = &entry->link;
    const double gain = from->peak / to->peak;
    double from_xyz[3][3] = {{0, 1, 0}}, copy[3][3];
    memcpy(copy, to->to_xyz, sizeof copy);
    if (to->channels == 3 && !matrix_invert(copy, from_xyz))
        return lcms_fail("its primaries are on one line", error);
    for (int o = 0; o < to->channels; o++)
        for (int i = 0; i < from->channels; i++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) {
                const double white_ratio =
                    entry->intent == COLOUR_ABSOLUTE ? from->white[k] / to->white[k] : 1;
                sum += from_xyz[o][k] * white_ratio * from->to_xyz[k][i];
            }
            /* The matrix of a profile is rounded to 16 fractional bits, which would tint gray. */
            if (from->channels == 1 && fabs(sum - 1) < 0.001)
                sum = 1;
            link->matrix[o][i] = (float)(gain * sum);
        }
    return STATUS_OK;
}

/* Rounds to 2^-20; NaN and infinity become 0. */
static float round_value(double v)
{
    return isfinite(v) ? (float)(rint(v * 0x1p20) * 0x1p-20) : 0;
}

/* Opens the transform of Little CMS for a link, from floats to floats. */
static cmsHTRANSFORM open_transform(const struct link_entry *entry, cmsContext context)
{
    static const cmsUInt32Number intents[] = {
        [COLOUR_RELATIVE] = INTENT_RELATIVE_COLORIMETRIC,
        [COLOUR_PERCEPTUAL] = INTENT_PERCEPTUAL,
        [COLOUR_SATURATION] = INTENT_SATURATION,
        [COLOUR_ABSOLUTE] = INTENT_ABSOLUTE_COLORIMETRIC,
    };
    const struct colour_space *from = entry->from.space, *to = entry->to.space;
    cmsHPROFILE source = cmsOpenProfileFromMemTHR(context, from->icc.data, (cmsUInt32Number)from->icc.size),
                target = cmsOpenProfileFromMemTHR(context, to->icc.data, (cmsUInt32Number)to->icc.size);
    cmsHTRANSFORM transform = NULL;
    if (source != NULL && target != NULL)
        transform =
            cmsCreateTransformTHR(context, source, from->channels == 1 ? TYPE_GRAY_FLT : TYPE_RGB_FLT, target,
                                  to->channels == 1 ? TYPE_GRAY_FLT : TYPE_RGB_FLT, intents[entry->intent],
                                  cmsFLAGS_NOOPTIMIZE | cmsFLAGS_NOCACHE |
                                      (entry->blackpoint ? cmsFLAGS_BLACKPOINTCOMPENSATION : 0));
    cmsCloseProfile(source);
    cmsCloseProfile(target);
    return transform;
}

/* Converts a value of a channel to a position in the grid, 0 to 1, and back. Nodes are at equally spaced
 * positions of the source, and store positions of the target:
 *
 *     source value ─▶ link->decode ─▶ position ─▶ grid ─▶ position ─▶ link->encode ─▶ target value
 *
 * Nodes at equal steps of light would be too coarse in the dark. */
struct node_scale {
    const struct tone_curve *curve;
    bool is_srgb_encoded; /* positions are light encoded by sRGB's curve; else the profile's values */
    bool is_linear;       /* the values to convert are light; else the profile's values */
};

/* Returns the position of a value. */
static double position_from_value(const void *context, double v)
{
    const struct node_scale *scale = context;
    const struct tone_curve srgb = curve_srgb();
    if (scale->is_srgb_encoded)
        return curve_encode(&srgb, scale->is_linear ? v : curve_decode(scale->curve, v));
    return scale->is_linear ? curve_encode(scale->curve, v) : v;
}

/* Returns the value at a position. */
static double value_from_position(const void *context, double position)
{
    const struct node_scale *scale = context;
    const struct tone_curve srgb = curve_srgb();
    if (scale->is_srgb_encoded) {
        const double light = curve_decode(&srgb, position);
        return scale->is_linear ? light : curve_encode(scale->curve, light);
    }
    return scale->is_linear ? curve_decode(scale->curve, position) : position;
}

/* Fills link->decode, link->encode and the grid, one row of nodes along the last channel at a time. */
static enum status fill_grid(struct link_entry *entry, cmsHTRANSFORM transform, struct error *error)
{
    struct colour_link *link = &entry->link;
    struct node_scale from[3], to[3];
    for (int c = 0; c < 3; c++) {
        const struct colour_space *source = entry->from.space, *target = entry->to.space;
        from[c] = (struct node_scale){&source->curves[c], source->is_matrix, entry->from.is_linear};
        to[c] = (struct node_scale){&target->curves[c], target->is_matrix, entry->to.is_linear};
    }
    /* No curves if the chain's values are positions. */
    for (int c = 0; c < 3 && (from[0].is_srgb_encoded || from[0].is_linear); c++)
        link->decode[c] = add_table(link, true, position_from_value, &from[c]);
    for (int c = 0; c < link->out_channels && (to[0].is_srgb_encoded || to[0].is_linear); c++)
        link->encode[c] = add_table(link, true, value_from_position, &to[c]);
    link->grid = (int32_t)link->count;
    /* The nodes, by Little CMS, which expects and returns the profiles' values. */
    float axis[3][GRID_NODES];
    for (int c = 0; c < 3; c++) {
        from[c].is_linear = to[c].is_linear = false;
        for (int i = 0; i < GRID_NODES; i++)
            axis[c][i] = (float)value_from_position(&from[c], (double)i / (GRID_NODES - 1));
    }
    const double begin = thread_cpu_seconds();
    for (int row = 0; row < GRID_NODES * GRID_NODES; row++) {
        if (thread_cpu_seconds() - begin > LCMS_SECONDS_MAX)
            return lcms_fail("it takes too long", error);
        float in[GRID_NODES][3], out[GRID_NODES * 3];
        for (int b = 0; b < GRID_NODES; b++) {
            in[b][0] = axis[0][row / GRID_NODES];
            in[b][1] = axis[1][row % GRID_NODES];
            in[b][2] = axis[2][b];
        }
        cmsDoTransform(transform, in, out, GRID_NODES);
        for (int b = 0; b < GRID_NODES; b++, link->count += 4)
            for (int c = 0; c < link->out_channels; c++) {
                const double v = out[b * link->out_channels + c]; /* may be negative */
                link->floats[link->count + (size_t)c] =
                    round_value(copysign(position_from_value(&to[c], fabs(v)), v));
            }
    }
    return STATUS_OK;
}

/* Argument of gray_value. */
struct gray_channel {
    const struct link_entry *entry;
    cmsHTRANSFORM transform;
    int channel;
    double deadline; /* time of thread_cpu_seconds after which gray_value returns 0 and fill_gray fails */
};

/* Returns the value of an output channel for a gray value. */
static double gray_value(const void *context, double v)
{
    const struct gray_channel *gray = context;
    const struct colour_endpoint *from = &gray->entry->from, *to = &gray->entry->to;
    const float in = (float)fmin(from->is_linear ? curve_encode(&from->space->curves[0], v) : v, 1);
    float out[3];
    if (thread_cpu_seconds() > gray->deadline)
        return 0;
    cmsDoTransform(gray->transform, &in, out, 1);
    const double value = round_value(out[gray->channel]);
    return to->is_linear ? curve_decode(&to->space->curves[gray->channel], value) : value;
}

/* Fills a curve from gray to each output channel. Gray above 1 counts as 1. */
static enum status fill_gray(struct link_entry *entry, cmsHTRANSFORM transform, struct error *error)
{
    struct colour_link *link = &entry->link;
    const double deadline = thread_cpu_seconds() + LCMS_SECONDS_MAX;
    for (int c = 0; c < link->out_channels; c++) {
        const struct gray_channel gray = {entry, transform, c, deadline};
        link->matrix[c][0] = 1;
        link->encode[c] = add_table(link, false, gray_value, &gray);
    }
    return thread_cpu_seconds() > deadline ? lcms_fail("it takes too long", error) : STATUS_OK;
}

/* Computes a link, whose floats have room for all tables. */
static enum status compute_link(struct link_entry *entry, struct error *error)
{
    const struct colour_endpoint *from = &entry->from, *to = &entry->to;
    struct colour_link *link = &entry->link;
    enum status status = STATUS_OK;
    /* Curves and a matrix convert exactly if they define both spaces, and black point compensation, if any,
     * changes nothing, as black has no light. Unused curves of gray spaces decode 0 to 0, too. */
    bool has_black = false;
    for (int c = 0; c < 3; c++)
        has_black = has_black || curve_decode(&from->space->curves[c], 0) > 0 ||
                    curve_decode(&to->space->curves[c], 0) > 0;
    if (from->space->is_matrix && to->space->is_matrix && !(entry->blackpoint && has_black)) {
        status = set_matrix(entry, error);
        link->count = 1; /* at least one float: an OpenCL buffer cannot be empty */
        if (status == STATUS_OK && !from->is_linear)
            status = add_curves(link, from->space, false, link->decode, error);
        if (status == STATUS_OK && !to->is_linear)
            status = add_curves(link, to->space, true, link->encode, error);
        return status;
    }
    char message[LCMS_MESSAGE];
    cmsContext context = lcms_open(message, error);
    if (context == NULL)
        return STATUS_FAILED;
    cmsHTRANSFORM transform = open_transform(entry, context);
    if (transform == NULL)
        status = lcms_fail(message, error);
    else
        status = (link->in_channels == 1 ? fill_gray : fill_grid)(entry, transform, error);
    if (transform != NULL)
        cmsDeleteTransform(transform);
    cmsDeleteContext(context);
    return status;
}

enum status colour_link_find(struct colour_endpoint from, struct colour_endpoint to,
                             enum colour_intent intent, bool blackpoint, const struct colour_link **link,
                             struct error *error)
{
    enum { GRID_SIZE = 4 * GRID_NODES * GRID_NODES * GRID_NODES };
    enum status status = STATUS_OK;
    pthread_mutex_lock(&links.lock);
    struct link_entry *entry = links.first;
    while (entry != NULL && !(entry->from.space == from.space && entry->from.is_linear == from.is_linear &&
                              entry->to.space == to.space && entry->to.is_linear == to.is_linear &&
                              entry->intent == intent && entry->blackpoint == blackpoint))
        entry = entry->next;
    if (entry == NULL) {
        entry = allocate_zeroed(1, sizeof *entry, "a colour conversion", error);
        if (entry != NULL) {
            *entry = (struct link_entry){.from = from, .to = to, .intent = intent, .blackpoint = blackpoint};
            entry->link =
                (struct colour_link){.in_channels = from.space->channels,
                                     .out_channels = to.space->channels,
                                     .decode = {-1, -1, -1},
                                     .encode = {-1, -1, -1},
                                     .grid = -1,
                                     .floats = allocate_zeroed(6 * CURVE_TABLE_SIZE + GRID_SIZE,
                                                               sizeof(float), "a colour conversion", error)};
        }
        status = entry == NULL || entry->link.floats == NULL ? STATUS_FAILED : compute_link(entry, error);
        if (status == STATUS_OK) {
            entry->next = links.first;
            links.first = entry;
        } else if (entry != NULL) {
            free(entry->link.floats);
            free(entry);
        }
    }
    pthread_mutex_unlock(&links.lock);
    *link = status == STATUS_OK ? &entry->link : NULL;
    return status;
}
