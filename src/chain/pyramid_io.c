#include "chain/page.h"

#include "base/timing.h"
#include "chain/coefficients.h"
#include "device/profile.h"

/* A page of the file that is being read or written; coefficients_page numbers them by `index`. */
struct leaf {
    int index, width, height;
    char name[PAGE_NAME_SIZE];
    enum sample_type type;
    struct staging *staging;
    size_t pitch, size; /* bytes from row to row, and of all rows */
};

static enum status leaf_open(struct leaf *leaf, const struct page *page, const struct shape *shape, int index,
                             struct error *error)
{
    leaf->index = index;
    leaf->type = index == 0 ? SAMPLE_FLOAT : SAMPLE_COMPLEX;
    coefficients_page(shape, index, &leaf->width, &leaf->height, leaf->name);
    leaf->pitch = transfer_pitch(leaf->width, shape->channels, leaf->type);
    leaf->size = leaf->pitch * (size_t)leaf->height;
    leaf->staging = staging_acquire(&page->run->stagings, leaf->size, error);
    if (!leaf->staging)
        return STATUS_FAILED;
    return staging_wait(leaf->staging, error);
}

static enum status convert_lowpass(struct run *run, const struct leaf *leaf, const struct planes *planes,
                                   bool to_device, struct error *error)
{
    struct conversion plain = {.type = SAMPLE_FLOAT, .channels = planes->channels};
    struct raster raster = conversion_raster(&plain, leaf->staging->object, leaf->pitch, 0);
    return to_device ? unpack_planes(run, &plain, &raster, planes, error)
                     : pack_planes(run, &plain, planes, &raster, error);
}

static enum status launch_subband(struct run *run, const struct leaf *leaf, const struct planes *subbands,
                                  bool to_device, struct error *error)
{
    cl_int subband = (leaf->index - 1) % ORIENTATIONS;
    cl_int pitch = (cl_int)(leaf->pitch / sample_size(SAMPLE_COMPLEX) / (size_t)subbands->channels);
    struct work work = run_work(run, "coefficients", to_device ? "unpack_subband" : "pack_subband", subbands);
    work.grain = GRAIN_SINGLE;
    work.depth = planes_layer_depth(subbands);
    define(&work.defines, "CHANNELS", subbands->channels);
    if (to_device)
        return LAUNCH(run->device, &work, error, ARG_MEMORY(leaf->staging->object), ARG(pitch),
                      ARG_PLANES(subbands), ARG(subband));
    return LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_MEMORY(leaf->staging->object),
                  ARG(pitch), ARG(subband));
}

static enum status check_page(const struct leaf *leaf, const struct page *page, const struct shape *shape,
                              struct error *error)
{
    const struct image_info *info = reader_info(page->reader);
    if ((int)info->width == leaf->width && (int)info->height == leaf->height &&
        info->channels == shape->channels && info->type == leaf->type)
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "damaged coefficient file: page %d should be %dx%d, %s of %d channels",
                leaf->index + 1, leaf->width, leaf->height,
                leaf->type == SAMPLE_COMPLEX ? "complex" : "float", shape->channels);
}

/* Adds a leaf to the checksum, and compares it after the last one. */
static enum status check_sum(const struct leaf *leaf, const struct image_info *info,
                             const struct shape *shape, uint32_t *sum, struct error *error)
{
    if (leaf->index == 0)
        *sum = coefficients_sum_description(&info->metadata);
    *sum = coefficients_sum_rows(*sum, info, leaf->staging->host, leaf->pitch);
    if (leaf->index + 1 < coefficients_page_count(shape))
        return STATUS_OK;
    return coefficients_check(*sum, &info->metadata, error);
}

static enum status read_leaf(const struct page *page, const struct shape *shape, struct leaf *leaf,
                             uint32_t *sum, struct error *error)
{
    double since = clock_seconds();
    enum status status =
        reader_read(page->reader, leaf->staging->host, leaf->pitch, (uint32_t)leaf->height, error);
    if (status == STATUS_OK)
        status = check_sum(leaf, reader_info(page->reader), shape, sum, error);
    timing_charge(page->timing, PART_DECODE, "decode", leaf->index, since);
    return status;
}

/* The planes that belong to a page. */
static struct planes *leaf_planes(struct value *pyramid, int index)
{
    return &pyramid->planes[index == 0 ? 0 : 1 + (index - 1) / ORIENTATIONS];
}

static enum status load_leaf(const struct page *page, struct value *pyramid, struct leaf *leaf, uint32_t *sum,
                             struct error *error)
{
    struct planes *planes = leaf_planes(pyramid, leaf->index);
    if (check_page(leaf, page, &pyramid->shape, error) != STATUS_OK ||
        read_leaf(page, &pyramid->shape, leaf, sum, error) != STATUS_OK)
        return STATUS_FAILED;
    bool first = leaf->index == 0 || leaf->index % ORIENTATIONS == 1;
    if (first && run_planes(page->run, leaf->width, leaf->height, rows_whole(leaf->height),
                            leaf->index == 0 ? 1 : SUBBAND_LAYERS, pyramid->shape.channels, planes,
                            error) != STATUS_OK)
        return STATUS_FAILED;
    enum status status = staging_give(leaf->staging, leaf->size, error);
    if (status == STATUS_OK)
        status = leaf->index == 0 ? convert_lowpass(page->run, leaf, planes, true, error)
                                  : launch_subband(page->run, leaf, planes, true, error);
    return status == STATUS_OK ? staging_take(leaf->staging, 0, error) : status;
}

enum status pyramid_load(const struct page *page, struct value *pyramid, struct error *error)
{
    int pages = coefficients_page_count(&pyramid->shape);
    enum status status = STATUS_OK;
    uint32_t sum = 0;
    page->run->device->profile->owner = UNPACKING;
    for (int i = 0; status == STATUS_OK && i < pages; i++) {
        struct leaf leaf = {.index = i};
        page->run->device->profile->slice = i;
        bool more = true;
        status = leaf_open(&leaf, page, &pyramid->shape, i, error);
        if (status == STATUS_OK)
            status = load_leaf(page, pyramid, &leaf, &sum, error);
        staging_release(&page->run->stagings, leaf.staging);
        if (status == STATUS_OK && i + 1 < pages)
            status = reader_next_page(page->reader, &more, error);
        if (status == STATUS_OK && !more)
            status =
                fail(error, STATUS_FAILED, "damaged coefficient file: %d pages, %d expected", i + 1, pages);
    }
    return status;
}

static enum status write_leaf(const struct page *page, const struct shape *shape, struct leaf *leaf,
                              uint32_t *sum, struct error *error)
{
    const bool last = leaf->index + 1 == coefficients_page_count(shape);
    struct image_info info = leaf->index == 0 ? page->out : (struct image_info){.channels = shape->channels};
    info.width = (uint32_t)leaf->width;
    info.height = (uint32_t)leaf->height;
    info.type = leaf->type;
    info.alpha = info.premultiplied = shape->alpha;
    info.compression = page->out.compression;
    info.page_name = leaf->name;
    double since = clock_seconds();
    if (leaf->index == 0)
        *sum = coefficients_sum_description(&info.metadata);
    *sum = coefficients_sum_rows(*sum, &info, leaf->staging->host, leaf->pitch);
    enum status status = last ? coefficients_seal(*sum, &info.metadata, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = writer_begin_page(page->writer, &info, error);
    if (status == STATUS_OK)
        status = writer_write(page->writer, leaf->staging->host, leaf->pitch, info.height, error);
    if (status == STATUS_OK)
        status = writer_end_page(page->writer, error);
    if (leaf->index != 0) /* that of leaf 0 belongs to the page */
        metadata_free(&info.metadata);
    timing_charge(page->timing, PART_ENCODE, "encode", leaf->index, since);
    return status;
}

/* Has the device write the leaf, and waits for that. */
static enum status fetch_leaf(const struct page *page, const struct planes *planes, struct leaf *leaf,
                              struct error *error)
{
    struct profile *profile = page->run->device->profile;
    enum status status = staging_give(leaf->staging, 0, error);
    if (status == STATUS_OK)
        status = leaf->index == 0 ? convert_lowpass(page->run, leaf, planes, false, error)
                                  : launch_subband(page->run, leaf, planes, false, error);
    if (status == STATUS_OK)
        status = staging_take(leaf->staging, leaf->size, error);
    if (status == STATUS_OK)
        status = staging_wait(leaf->staging, error);
    return status == STATUS_OK ? profile_collect(profile, profile_mark(profile), error) : status;
}

enum status pyramid_store(const struct page *page, const struct value *pyramid, struct error *error)
{
    const struct shape *shape = &pyramid->shape;
    enum status status = STATUS_OK;
    uint32_t sum = 0;
    page->run->device->profile->owner = PACKING;
    for (int i = 0; status == STATUS_OK && i < coefficients_page_count(shape); i++) {
        const struct planes *planes = &pyramid->planes[i == 0 ? 0 : 1 + (i - 1) / ORIENTATIONS];
        struct leaf leaf = {.index = i};
        page->run->device->profile->slice = i;
        status = leaf_open(&leaf, page, shape, i, error);
        if (status == STATUS_OK)
            status = fetch_leaf(page, planes, &leaf, error);
        if (status == STATUS_OK)
            status = write_leaf(page, shape, &leaf, &sum, error);
        staging_release(&page->run->stagings, leaf.staging);
    }
    return status;
}
