/* libFuzzer's target for what becomes of metadata: a file is read, what it says follows a change that the
 * first eight bytes choose, and it is written and read again. */
#include "fuzz.h"
#include "image/reader.h"
#include "image/writer.h"
#include "png_chunks.h"

enum { CHOICES = 8, PATH_SIZE = 64 };

static struct change choose(const uint8_t *choices, const struct image_info *in)
{
    static const struct affine maps[] = {{.xx = 1, .yy = 1},
                                         {.xx = 2, .yy = 0.5},
                                         {.xy = 1, .yx = -1, .y = 100},
                                         {.xx = -1, .x = 9, .yy = 1},
                                         {.xx = 0.6, .xy = 0.8, .x = -3, .yx = -0.8, .yy = 0.6, .y = 4},
                                         {.xx = 0.5, .x = 10, .yy = 0.5, .y = 20},
                                         {.xx = 3.7, .yy = 1e-3},
                                         {.xx = 1e6, .xy = 2, .x = 1e9, .yx = 3, .yy = 1e-6, .y = -1e9}};
    const bool same_size = choices[0] & 4;
    return (struct change){.in_width = in->width,
                           .in_height = in->height,
                           .out_width = same_size ? in->width : 1u + choices[2],
                           .out_height = same_size ? in->height : 1u + choices[3] % 64,
                           .from = maps[choices[1] % (sizeof maps / sizeof maps[0])],
                           .in_pages = 1 + choices[4] % 4,
                           .out_pages = 1 + choices[4] / 4 % 4,
                           .in_channels = in->channels,
                           .out_channels = 1 + choices[5] % 4,
                           .in_type = in->type,
                           .out_type = choices[5] & 64 ? SAMPLE_UINT16 : SAMPLE_UINT8,
                           .processed = choices[6] & 1,
                           .rescaled = choices[6] & 2,
                           .reoriented = choices[6] & 4,
                           .new_geometry = choices[6] & 8};
}

/* Updating metadata twice gives the same as once. */
static void follow_once_more(struct metadata *metadata, const struct change *change)
{
    struct change none = *change;
    struct error error = {.text = ""};
    none.in_width = change->out_width;
    none.in_height = change->out_height;
    none.from = (struct affine){.xx = 1, .yy = 1};
    none.in_pages = change->out_pages;
    none.in_channels = change->out_channels;
    none.in_type = change->out_type;
    none.processed = none.rescaled = none.reoriented = none.new_geometry = false;
    const size_t texts = metadata->text_count, extras = metadata->tag_count, exif = metadata->exif.size;
    insist(metadata_update(metadata, &none, &error) == STATUS_OK, error.text);
    insist(metadata->text_count == texts && metadata->tag_count == extras && metadata->exif.size == exif,
           "what follows nothing changes");
}

/* Black pixels. */
static void write_picture(const char *path, const struct format *format, const struct image_info *info)
{
    const struct writer_options options = {
        .format = format, .compression = COMPRESSION_PRESET_DEFAULT, .jobs = 1};
    struct writer *writer = NULL;
    struct error error = {.text = ""};
    unsigned char *rows = calloc(info->height, row_size(info));
    insist(rows != NULL && writer_open(path, &options, &writer, &error) == STATUS_OK &&
               writer_begin_page(writer, info, &error) == STATUS_OK &&
               writer_write(writer, rows, row_size(info), info->height, &error) == STATUS_OK &&
               writer_end_page(writer, &error) == STATUS_OK && writer_commit(writer, &error) == STATUS_OK,
           error.text);
    writer_close(writer);
    free(rows);
}

/* climg reads what it wrote, and says nothing against it. */
static void read_back(const char *path, const struct image_info *written)
{
    const struct reader_options options = {.max_pixels = 1 << 20, .jobs = 1};
    const struct metadata *said = &written->metadata;
    struct reader *reader = NULL;
    struct error error = {.text = ""};
    insist(reader_open(path, &options, &reader, &error) == STATUS_OK, error.text);
    const struct image_info *info = reader_info(reader);
    insist(info->width == written->width && info->height == written->height &&
               info->channels == written->channels && info->type == written->type,
           "another picture than the one that was written");
    insist(info->metadata.warning[0] == '\0', info->metadata.warning);
    insist(said->icc.data == NULL || info->metadata.icc.data != NULL || strstr(said->left_out, "ICC") != NULL,
           "a profile is lost without a word");
    insist(said->orientation <= 1 || info->metadata.orientation == said->orientation, "another orientation");
    reader_close(reader);
}

static void follow_and_write(const uint8_t *choices, const struct image_info *in)
{
    static char path[PATH_SIZE];
    const struct format *format = format_by_extension(choices[7] & 1 ? "tif" : "png");
    const struct change change = choose(choices, in);
    struct image_info out = *in;
    struct error error = {.text = ""};
    insist(metadata_copy(&out.metadata, &in->metadata, &error) == STATUS_OK, error.text);
    if (choices[7] & 2)
        metadata_strip(&out.metadata);
    out.width = change.out_width;
    out.height = change.out_height;
    out.channels = change.out_channels;
    out.alpha = out.channels % 2 == 0;
    out.premultiplied = false;
    out.type = change.out_type;
    insist(metadata_update(&out.metadata, &change, &error) == STATUS_OK, error.text);
    follow_once_more(&out.metadata, &change);
    format_note_left_out(format, &out);
    snprintf(path, sizeof path, "/dev/shm/climg-fuzz-%d.%s", (int)getpid(), format->extensions[0]);
    write_picture(path, format, &out);
    read_back(path, &out);
    metadata_free(&out.metadata);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_SIZE];
    if (size < CHOICES)
        return 0;
    const int file = fuzz_file(data + CHOICES, size - CHOICES, path);
    const struct reader_options options = {.page = 1, .max_pixels = 1 << 14, .jobs = 1};
    struct reader *reader = NULL;
    struct error error = {.text = ""};
    if (reader_open(path, &options, &reader, &error) == STATUS_OK)
        follow_and_write(data, reader_info(reader));
    reader_close(reader);
    close(file);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    return mutate_file(data, size, room, seed, CHOICES);
}
