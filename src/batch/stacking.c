#include "batch/stacking.h"

#include "base/clock.h"

#include <stdlib.h>

/* Room is made for so many at first, then for twice as many as long as they come: pinned memory is dear, and
 * in many folders every image is of another size. */
enum { FIRST_STACK = 4 };

/* CLIMG_GROUP overrides the number of images, for tests and experiments; 1: no groups. */
static int choose_limit(const struct stacking *s)
{
    int forced = s->session->settings->environment.group;
    return forced > 0 && forced < GROUP_IMAGES ? forced : GROUP_IMAGES;
}

void stacking_init(struct stacking *s, struct session *session, const struct list *list)
{
    s->session = session;
    s->list = list;
    s->expected = FIRST_STACK;
}

bool stacking_carry(struct stacking *s)
{
    bool carried = s->odd;
    if (carried)
        s->entries[0] = s->entries[s->count - 1];
    s->count = carried;
    s->odd = false;
    return carried;
}

int stacking_count(const struct stacking *s)
{
    return s->count - s->odd;
}

/* One page and no more, of a file: a pipe might have to be waited for. */
static bool is_one_image(const struct entry *entry)
{
    const struct converting *converting = &entry->converting;
    return entry->item->bytes > 0 && !converting->pyramid &&
           (entry->session->settings->page > 0 || reader_page_count(converting->reader) == 1);
}

/* A device that is not open yet gets its first file alone. */
static int choose_room(struct stacking *s)
{
    const struct session *session = s->session;
    const struct entry *first = &s->entries[0];
    const struct converting *converting = &first->converting;
    struct error ignored;
    struct plan plan;
    if (!session->open || first->settled || !is_one_image(first))
        return 1;
    s->input = converting_shape(converting);
    if (!group_takes(&converting->chain, &s->input, &session->run) ||
        converting_plan(converting, 1, &plan, &ignored) != STATUS_OK)
        return 1;
    int most = group_most(&plan, &session->run);
    s->output = *plan_output(&plan);
    s->from = converting_entry(converting);
    s->type = converting_output_type(converting);
    plan_free(&plan);
    return most < s->expected ? most : s->expected;
}

void stacking_begin(struct stacking *s, size_t share)
{
    struct entry *first = &s->entries[0];
    int limit = choose_limit(s);
    if (!first->begun)
        entry_begin(first);
    s->room = share > 1 && limit > 1 ? choose_room(s) : 1;
    s->room = s->room < limit ? s->room : limit;
    s->room = (size_t)s->room < share ? s->room : (int)share;
}

bool stacking_wants(const struct stacking *s)
{
    return !s->odd && s->count < s->room;
}

static bool is_like_first(const struct stacking *s, const struct entry *entry)
{
    const struct converting *converting = &entry->converting;
    const struct shape input = converting_shape(converting);
    const struct conversion from = converting_entry(converting), *first = &s->from;
    return is_one_image(entry) && input.width == s->input.width && input.height == s->input.height &&
           from.type == first->type && from.channels == first->channels && from.alpha == first->alpha &&
           from.linear == first->linear && from.exponent == first->exponent &&
           converting_output_type(converting) == s->type;
}

static void forget(struct member *image)
{
    metadata_free(&image->description.out.metadata);
    free(image->page_name);
    *image = (struct member){0};
}

static enum status read_rows(struct stacking *s, struct converting *converting, struct error *error)
{
    bool more;
    double since = clock_seconds();
    enum status status = reader_read(converting->reader, group_input(&s->group, s->image_count),
                                     s->group.in.pitch, (uint32_t)s->input.height, error);
    if (status == STATUS_OK)
        status = reader_next_page(converting->reader, &more, error);
    timing_charge(&s->session->timing, PART_DECODE, "decode", -1, since);
    return status;
}

static enum status describe(struct stacking *s, struct entry *entry, struct member *image,
                            struct error *error)
{
    enum status status = converting_describe(&entry->converting, &s->output, &image->description, error);
    if (status != STATUS_OK)
        return status;
    struct image_info *out = &image->description.out;
    image->entry = entry;
    image->page_name = out->page_name ? copy_text(out->page_name, error) : NULL;
    return out->page_name && !image->page_name ? STATUS_FAILED : STATUS_OK;
}

/* Decodes the entry's image behind those that are there. False: it is to be done by itself. */
static bool add_image(struct stacking *s, struct entry *entry)
{
    struct member *image = &s->images[s->image_count];
    struct error ignored;
    struct measured since = measure(s->session);
    enum status status = describe(s, entry, image, &ignored);
    if (status == STATUS_OK)
        status = read_rows(s, &entry->converting, &ignored);
    entry_charge(entry, &since, 1);
    if (status != STATUS_OK) {
        forget(image);
        entry_drop(entry);
        return false;
    }
    image->description.out.page_name = image->page_name;
    converting_close_input(&entry->converting);
    s->image_count++;
    return true;
}

static void close_stack(struct stacking *s)
{
    for (int i = 0; i < s->image_count; i++) {
        if (!s->images[i].entry->settled)
            entry_drop(s->images[i].entry);
        forget(&s->images[i]);
    }
    s->image_count = 0;
    group_close(&s->group);
    plan_free(&s->plan);
}

/* With its first image. False: no group after all. */
static bool open_stack(struct stacking *s)
{
    struct error ignored;
    struct entry *first = &s->entries[0];
    if (converting_plan(&first->converting, s->room, &s->plan, &ignored) != STATUS_OK) {
        s->expected = s->room / 2; /* --memory-limit is too small for so many */
        return false;
    }
    if (group_open(&s->group, &s->session->run, &s->plan, s->room, &ignored) == STATUS_OK &&
        add_image(s, first))
        return true;
    close_stack(s);
    return false;
}

void stacking_take(struct stacking *s, size_t index)
{
    struct entry *entry = &s->entries[s->count++];
    entry_take(entry, s->session, s->list, index);
    if (s->count == 1)
        return;
    s->odd = entry->item->bytes == 0;
    if (s->odd)
        return;
    entry_begin(entry);
    if (entry->settled)
        return;
    s->odd = !is_like_first(s, entry) || (s->group.room == 0 && !open_stack(s));
    if (!s->odd)
        add_image(s, entry);
}

static enum status write_image(const struct stacking *s, int i, struct error *error)
{
    const struct member *image = &s->images[i];
    struct converting *converting = &image->entry->converting;
    const struct image_info *out = &image->description.out;
    double since = clock_seconds();
    enum status status = converting_open_writer(converting, &s->output, out->type, 1, error);
    if (status == STATUS_OK)
        status = writer_begin_page(converting->writer, out, error);
    if (status == STATUS_OK)
        status = writer_write(converting->writer, group_output(&s->group, i), s->group.out.pitch, out->height,
                              error);
    if (status == STATUS_OK)
        status = writer_end_page(converting->writer, error);
    if (status == STATUS_OK)
        status = writer_commit(converting->writer, error);
    timing_charge(&s->session->timing, PART_ENCODE, "encode", -1, since);
    return status;
}

static void write_images(struct stacking *s)
{
    struct error ignored;
    for (int i = 0; i < s->image_count; i++) {
        struct entry *entry = s->images[i].entry;
        struct measured since = measure(s->session);
        enum status status = write_image(s, i, &ignored);
        entry_charge(entry, &since, 1);
        if (status != STATUS_OK)
            continue;
        entry->outcome.group = s->image_count;
        entry_done(entry);
    }
}

/* The images share what the device did. */
static enum status run_chain(struct stacking *s)
{
    const struct description *first = &s->images[0].description;
    struct measured since = measure(s->session);
    struct error ignored;
    plan_set_images(&s->plan, s->image_count);
    for (int i = 0; i < s->image_count; i++)
        converting_note(&s->images[i].entry->converting, &s->plan, &s->images[i].description);
    enum status status = group_run(&s->group, &s->plan, &first->from, &first->to, &ignored);
    for (int i = 0; i < s->image_count; i++)
        entry_charge(s->images[i].entry, &since, s->image_count);
    return status;
}

void stacking_work(struct stacking *s)
{
    if (s->group.room == 0)
        return;
    if (run_chain(s) == STATUS_OK)
        write_images(s);
    if (!s->odd && s->image_count == s->expected && s->expected < GROUP_IMAGES)
        s->expected *= 2;
    else if (s->odd)
        s->expected = s->image_count > 2 ? s->image_count : 2;
    close_stack(s);
    run_trim(&s->session->run);
}
