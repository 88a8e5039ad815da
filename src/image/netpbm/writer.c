/* Writes PBM, PGM, PPM, PAM and PFM, and several pages as consecutive images. At the end are the formats of
 * this folder.
 *
 * Samples are written raw, 16-bit ones with the high byte first. PFM stores rows from bottom to top: each row
 * is written to its offset, which needs a seekable file (writer_class.seeks). */
#include "image/netpbm/netpbm.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct netpbm_writer {
    struct writer base; /* must be first */

    /* The current page. */
    uint32_t row;      /* PFM: the next row, from the top */
    off_t start;       /* PFM: offset of the first row in the file */
    uint16_t *swapped; /* a row of 16-bit samples in big-endian order, owned; NULL if this machine is
                          big-endian or samples have 8 bits */
};

/* Writes the header. */
static enum status netpbm_begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    static const char *const tuples[] = {"GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA"};
    struct netpbm_writer *writer = (struct netpbm_writer *)base;
    const unsigned maxval = info->type == SAMPLE_UINT16 ? UINT16_MAX : UINT8_MAX;
    FILE *file = base->output.file;
    int printed;
    writer->row = 0;
    free(writer->swapped);
    writer->swapped = NULL;
    if (info->type == SAMPLE_UINT16 && BYTE_ORDER == LITTLE_ENDIAN) {
        writer->swapped = allocate(row_size(info), "a row", error);
        if (writer->swapped == NULL)
            return STATUS_FAILED;
    }
    if (base->options.bilevel)
        printed = fprintf(file, "P4\n%u %u\n", info->width, info->height);
    else if (info->type == SAMPLE_FLOAT)
        printed = fprintf(file, "P%c\n%u %u\n%s\n", info->channels == 3 ? 'F' : 'f', info->width,
                          info->height, BYTE_ORDER == LITTLE_ENDIAN ? "-1.0" : "1.0");
    else if (base->format == &format_pam)
        printed = fprintf(file, "P7\nWIDTH %u\nHEIGHT %u\nDEPTH %d\nMAXVAL %u\nTUPLTYPE %s\nENDHDR\n",
                          info->width, info->height, info->channels, maxval, tuples[info->channels - 1]);
    else
        printed = fprintf(file, "P%c\n%u %u\n%u\n", info->channels == 3 ? '6' : '5', info->width,
                          info->height, maxval);
    if (printed <= 0)
        return fail_writing(error, errno);
    writer->start = ftello(file);
    return STATUS_OK;
}

/* Writes raw rows, by one call if they are adjacent and need no swap. */
static enum status netpbm_write(struct writer *base, const void *rows, size_t pitch, uint32_t count,
                                struct error *error)
{
    const struct netpbm_writer *writer = (const struct netpbm_writer *)base;
    size_t size = writer_row_size(&base->options, &base->info);
    if (writer->swapped == NULL && pitch == size) {
        size *= count;
        count = 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        const void *row = (const unsigned char *)rows + i * pitch;
        if (writer->swapped != NULL)
            sample_swap(row, size, writer->swapped);
        if (fwrite(writer->swapped != NULL ? writer->swapped : row, 1, size, base->output.file) != size)
            return fail_writing(error, errno);
    }
    return STATUS_OK;
}

/* Writes rows to their offsets: a PFM begins with the bottom row. */
static enum status pfm_write(struct writer *base, const void *rows, size_t pitch, uint32_t count,
                             struct error *error)
{
    struct netpbm_writer *writer = (struct netpbm_writer *)base;
    const size_t size = row_size(&base->info);
    for (uint32_t i = 0; i < count; i++, writer->row++) {
        const off_t below = (off_t)(base->info.height - 1 - writer->row);
        if (fseeko(base->output.file, writer->start + below * (off_t)size, SEEK_SET) != 0 ||
            fwrite((const unsigned char *)rows + i * pitch, 1, size, base->output.file) != size)
            return fail_writing(error, errno);
    }
    return STATUS_OK;
}

/* Flushes, so that the program that reads a pipe gets each image as soon as it is complete. */
static enum status netpbm_end_page(struct writer *base, struct error *error)
{
    return fflush(base->output.file) == 0 ? STATUS_OK : fail_writing(error, errno);
}

/* Seeks to the end of the image: the last row that was written is the first in the file. */
static enum status pfm_end_page(struct writer *base, struct error *error)
{
    return fseeko(base->output.file, 0, SEEK_END) == 0 ? STATUS_OK : fail_writing(error, errno);
}

static void netpbm_close(struct writer *base)
{
    free(((struct netpbm_writer *)base)->swapped);
}

static const struct writer_class netpbm_writer_class = {
    .size = sizeof(struct netpbm_writer),
    .black_is_one = true,
    .begin_page = netpbm_begin_page,
    .write = netpbm_write,
    .end_page = netpbm_end_page,
    .close = netpbm_close,
};

static const struct writer_class pfm_writer_class = {
    .size = sizeof(struct netpbm_writer),
    .seeks = true,
    .begin_page = netpbm_begin_page,
    .write = pfm_write,
    .end_page = pfm_end_page,
    .close = netpbm_close,
};

/* ---------------- the formats */

/* True if a file begins with "P", one of the characters in `kinds`, and white space or a comment. */
static bool netpbm_begins(const unsigned char *head, size_t size, const char *kinds)
{
    return size >= 3 && head[0] == 'P' && head[1] != '\0' && strchr(kinds, head[1]) != NULL &&
           (isspace(head[2]) || head[2] == '#');
}

static bool is_pam(const unsigned char *head, size_t size)
{
    return netpbm_begins(head, size, "7") && head[2] == '\n'; /* "P7 332" is a thumbnail made by xv */
}

static bool is_pfm(const unsigned char *head, size_t size)
{
    return netpbm_begins(head, size, "fF");
}

/* True also for PBM, which is read as gray. */
static bool is_pgm(const unsigned char *head, size_t size)
{
    return netpbm_begins(head, size, "1245");
}

static bool is_ppm(const unsigned char *head, size_t size)
{
    return netpbm_begins(head, size, "36");
}

/* Sets of sample types and of numbers of channels, for struct capacity. */
enum {
    INTEGERS = 1u << SAMPLE_UINT8 | 1u << SAMPLE_UINT16,
    FLOATS = 1u << SAMPLE_FLOAT,
    GRAY = 1u << 1 | 1u << 2,
    RGB = 1u << 3 | 1u << 4,
};

const struct format format_pam = {
    .name = "PAM",
    .extensions = (const char *const[]){"pam", NULL},
    .holds = {.types = INTEGERS, .channels = CHANNELS_ALL, .pages = true},
    .recognise = is_pam,
    .reader = &netpbm_reader_class,
    .writer = &netpbm_writer_class,
};

/* Only for outputs, of 1-bit samples. Inputs are recognised as PGM. */
const struct format format_pbm = {
    .name = "PBM",
    .extensions = (const char *const[]){"pbm", NULL},
    .holds = {.channels = 1u << 1, .bits = true, .pages = true},
    .reader = &netpbm_reader_class,
    .writer = &netpbm_writer_class,
};

const struct format format_pfm = {
    .name = "PFM",
    .extensions = (const char *const[]){"pfm", NULL},
    .holds = {.types = FLOATS, .channels = CHANNELS_ALL, .opaque = true, .pages = true},
    .recognise = is_pfm,
    .reader = &netpbm_reader_class,
    .writer = &pfm_writer_class,
};

const struct format format_pgm = {
    .name = "PGM",
    .extensions = (const char *const[]){"pgm", NULL},
    .holds = {.types = INTEGERS, .channels = GRAY, .opaque = true, .pages = true},
    .recognise = is_pgm,
    .reader = &netpbm_reader_class,
    .writer = &netpbm_writer_class,
};

/* Only for outputs: PGM or PPM by the number of channels, or PBM. Inputs are recognised as PGM or PPM. */
const struct format format_pnm = {
    .name = "PNM",
    .extensions = (const char *const[]){"pnm", NULL},
    .holds = {.types = INTEGERS, .channels = CHANNELS_ALL, .bits = true, .opaque = true, .pages = true},
    .reader = &netpbm_reader_class,
    .writer = &netpbm_writer_class,
};

const struct format format_ppm = {
    .name = "PPM",
    .extensions = (const char *const[]){"ppm", NULL},
    .holds = {.types = INTEGERS, .channels = RGB, .opaque = true, .pages = true},
    .recognise = is_ppm,
    .reader = &netpbm_reader_class,
    .writer = &netpbm_writer_class,
};
