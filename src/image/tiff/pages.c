#include "image/tiff/tiff.h"

#include <limits.h>
#include <stdlib.h>

/* The directories in the order of their links. */
struct chain {
    uint64_t *offsets;
    size_t count, room;
    size_t mark; /* each new offset is compared with this one, which moves on at 1, 3, 7, ... (Brent's cycle
                    detection) */
};

static enum status append(struct chain *chain, uint64_t offset, struct error *error)
{
    if (chain->count == chain->room) {
        const size_t room = 2 * chain->room + 16;
        uint64_t *offsets = realloc(chain->offsets, room * sizeof *offsets);
        if (offsets == NULL)
            return fail_memory(error, "out of memory for the pages of a TIFF");
        chain->offsets = offsets;
        chain->room = room;
    }
    if (chain->count == 2 * chain->mark + 1)
        chain->mark = chain->count;
    chain->offsets[chain->count++] = offset;
    return STATUS_OK;
}

/* The number of different offsets, when the next one would be the mark's again. */
static size_t count_different(const struct chain *chain)
{
    const size_t round = chain->count - chain->mark;
    size_t first = 0;

    while (first < chain->mark && chain->offsets[first] != chain->offsets[first + round])
        first++;
    return first + round;
}

/* The last link is 0. A link is broken if it leads to no readable directory, or back to an earlier one. */
static enum status follow_links(const struct ifd_source *source, struct chain *chain, bool *broken,
                                struct error *error)
{
    uint64_t offset = 0, next = 0;

    *broken = !ifd_first(source, &offset);
    while (!*broken && offset != 0) {
        const bool back = chain->count > 0 && offset == chain->offsets[chain->mark];
        *broken = back || !ifd_next(source, offset, &next);
        if (back)
            chain->count = count_different(chain);
        else if (!*broken && append(chain, offset, error) != STATUS_OK)
            return STATUS_FAILED;
        offset = next;
    }
    return STATUS_OK;
}

/* FILETYPE_ bits of a directory that is no page; 0 for a page. */
static uint32_t other_kind(const struct ifd_source *source, uint64_t directory)
{
    struct ifd_entry entry;
    uint64_t kind = 0;

    if (ifd_find(source, directory, TIFFTAG_SUBFILETYPE, &entry) && ifd_unsigned(source, &entry, &kind))
        return (uint32_t)kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK);
    if (ifd_find(source, directory, TIFFTAG_OSUBFILETYPE, &entry) && ifd_unsigned(source, &entry, &kind))
        return kind == OFILETYPE_REDUCEDIMAGE ? FILETYPE_REDUCEDIMAGE : 0;
    return 0;
}

/* The first directory is always a page, as every program shows it. */
static void keep_pages(const struct ifd_source *source, const struct chain *chain, struct tiff_pages *pages)
{
    for (size_t i = 0; i < chain->count; i++) {
        const uint32_t kind = i == 0 ? 0 : other_kind(source, chain->offsets[i]);
        pages->others |= kind;
        if (kind == 0)
            pages->directories[pages->count++] = chain->offsets[i];
    }
}

enum status tiff_pages_find(struct tiff_file *file, struct tiff_pages *pages, struct error *error)
{
    struct ifd_source source;
    struct chain chain = {.offsets = NULL};
    uint64_t none;

    tiff_file_ifd(file, &source, &none);
    enum status status = follow_links(&source, &chain, &pages->broken, error);
    pages->directories = chain.offsets;
    if (status == STATUS_OK)
        status = tiff_file_trouble(file, error);
    if (status != STATUS_OK)
        return status;
    if (chain.count == 0 || chain.count > INT_MAX)
        return fail(error, STATUS_FAILED, "damaged TIFF: its first directory cannot be read");
    keep_pages(&source, &chain, pages);
    return tiff_file_trouble(file, error);
}

enum status tiff_pages_check(const struct tiff_pages *pages, int last, struct error *error)
{
    if (!pages->broken || last <= pages->count)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "damaged TIFF: the link behind page %d leads to no page, as where a file lost its end; "
                "--page 1-%d reads what is before it",
                pages->count, pages->count);
}

void tiff_pages_free(struct tiff_pages *pages)
{
    free(pages->directories);
    pages->directories = NULL;
}
