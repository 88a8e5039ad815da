#include "image/netpbm/netpbm.h"

#include <ctype.h>
#include <string.h>

static bool begins(const unsigned char *head, size_t size, const char *kinds)
{
    return size >= 3 && head[0] == 'P' && head[1] != '\0' && strchr(kinds, head[1]) != NULL &&
           (isspace(head[2]) || head[2] == '#');
}

static bool is_pam(const unsigned char *head, size_t size)
{
    return begins(head, size, "7") && head[2] == '\n'; /* "P7 332" is a thumbnail of xv's */
}

static bool is_pfm(const unsigned char *head, size_t size)
{
    return begins(head, size, "fF");
}

/* Bits become gray: climg writes no PBM. */
static bool is_pgm(const unsigned char *head, size_t size)
{
    return begins(head, size, "1245");
}

static bool is_ppm(const unsigned char *head, size_t size)
{
    return begins(head, size, "36");
}

static const char *const pam[] = {"pam", NULL}, *const pfm[] = {"pfm", NULL}, *const pgm[] = {"pgm", NULL},
                         *const pnm[] = {"pnm", NULL}, *const ppm[] = {"ppm", NULL};

enum {
    INTEGERS = 1u << SAMPLE_UINT8 | 1u << SAMPLE_UINT16,
    FLOATS = 1u << SAMPLE_FLOAT,
    GRAY = 1u << 1,
    RGB = 1u << 3,
};

const struct format format_pam = {
    .name = "PAM",
    .extensions = pam,
    .holds = {.types = INTEGERS, .channels = CHANNELS_ALL, .pages = true},
    .recognise = is_pam,
    .reader = &netpbm_reader_class,
    .writer = &netpbm_writer_class,
};

const struct format format_pfm = {
    .name = "PFM",
    .extensions = pfm,
    .holds = {.types = FLOATS, .channels = GRAY | RGB, .pages = true},
    .recognise = is_pfm,
    .reader = &netpbm_reader_class,
    .writer = &pfm_writer_class,
};

const struct format format_pgm = {
    .name = "PGM",
    .extensions = pgm,
    .holds = {.types = INTEGERS, .channels = GRAY, .pages = true},
    .recognise = is_pgm,
    .reader = &netpbm_reader_class,
    .writer = &netpbm_writer_class,
};

/* PGM or PPM. */
const struct format format_pnm = {
    .name = "PNM",
    .extensions = pnm,
    .holds = {.types = INTEGERS, .channels = GRAY | RGB, .pages = true},
    .reader = &netpbm_reader_class,
    .writer = &netpbm_writer_class,
};

const struct format format_ppm = {
    .name = "PPM",
    .extensions = ppm,
    .holds = {.types = INTEGERS, .channels = RGB, .pages = true},
    .recognise = is_ppm,
    .reader = &netpbm_reader_class,
    .writer = &netpbm_writer_class,
};
