/* Colour spaces of files, and conversions between two of them.
 *
 *     metadata ─▶ colour_space_of_file ─▶ struct colour_space ─┐
 *     --profile p3, FILE.icc ─▶ colour_space_builtin, _load ───┴─▶ colour_link_find ─▶ tables
 *
 * Most spaces are a curve for each channel and a matrix to CIE XYZ; climg evaluates these itself. Others are
 * ICC profiles with tables, which Little CMS evaluates. Equal spaces are one object. docs/colour.md has the
 * rules.
 *
 * Ownership: spaces are reference-counted; the caller of a function that opens one calls
 * colour_space_release. A link is valid while its two spaces are in use. Thread safety: all functions may be
 * called by any thread; spaces and links are read-only. */
#ifndef CLIMG_IMAGE_COLOUR_COLOUR_H
#define CLIMG_IMAGE_COLOUR_COLOUR_H

#include "image/image.h"

/* The table of a curve (kernels/curve.h) has CURVE_TABLE_SIZE floats, in this order:
 *
 *     is_mirrored (curve_fill), 0 or 1
 *     the value at 0
 *     CURVE_STEPS values per octave from 2^-24 to 2^16, and the value at 2^16
 *
 * With 256 steps per octave the kinks of CineonLog profiles were off by 0.004. */
enum { CURVE_STEPS = 1024, CURVE_OCTAVES = 40, CURVE_TABLE_SIZE = 3 + CURVE_OCTAVES * CURVE_STEPS };

/* Nodes along each axis of a link's grid. */
enum { GRID_NODES = 33 };

enum tone_kind {
    TONE_PARAMETERS, /* c v + f for v < d, else (a v + b)^g + e: parametricCurveType of ICC.1:2022, 10.18 */
    TONE_TABLE,      /* equally spaced entries, interpolated linearly */
    TONE_PQ,         /* SMPTE ST 2084; light 1 is 10000 cd/m2 */
    TONE_HLG,        /* ITU-R BT.2100 without the OOTF: scene light */
};

/* A curve that does not decrease, from samples (0 to 1) to light; a sample at full scale has light 1. */
struct tone_curve {
    enum tone_kind kind;
    double g, a, b, c, d, e, f;
    float *table;   /* owned by the space; NULL unless TONE_TABLE */
    uint32_t count; /* entries */
};

enum colour_intent { COLOUR_RELATIVE, COLOUR_PERCEPTUAL, COLOUR_SATURATION, COLOUR_ABSOLUTE };

enum colour_builtin { COLOUR_SRGB, COLOUR_P3, COLOUR_ADOBE, COLOUR_GRAY, COLOUR_LINEAR, COLOUR_LINEAR_GRAY };

struct colour_space {
    int channels;   /* 1 gray, 3 RGB, 4 CMYK */
    bool is_matrix; /* `curves` and `to_xyz` define it; else only Little CMS converts it */
    /* Curves of the channels; gray: only the first. Without is_matrix: luminance of neutral colours. */
    struct tone_curve curves[3];
    double to_xyz[3][3];    /* [X, Y, Z][channel], light adapted to D50; gray: only the first column */
    double primaries[3][2]; /* RGB with is_matrix: x and y before the adaptation */
    double luminance[3];    /* weights of the channels in the luminance; their sum is 1 */
    double white[3];        /* XYZ of the media white, for COLOUR_ABSOLUTE */
    double peak;            /* light at full scale relative to white: 1, or more for PQ and HLG */
    double exponent;        /* of all curves if they are power laws; 0: nearly sRGB's curve; -1: others */
    bool is_rec709;         /* nearly the primaries of sRGB; gray: always */
    bool is_srgb;           /* is_rec709 with nearly sRGB's curve */
    const struct colour_space *gray; /* RGB: the gray space with green's curve; else NULL */
    char name[80];                   /* description of the profile, printable ASCII */
    struct blob icc;                 /* the ICC profile; for PQ and HLG an approximation */
};

/* Opens the space that a file's metadata describe: cICP, else the ICC profile, else sRGB, else gAMA with cHRM
 * (PNG, third edition). *space is NULL for sRGB, and without a description. `colours` is the number of the
 * picture's channels without alpha: 1, 3, or 4 for CMYK. An RGB profile also fits a gray picture: the caller
 * uses its curve of green. Fails if the description is damaged, not supported or for other channels. */
enum status colour_space_of_file(const struct metadata *metadata, int colours,
                                 const struct colour_space **space, struct error *error);

/* Opens the space of an ICC profile in memory. */
enum status colour_space_load(const void *icc, size_t size, const struct colour_space **space,
                              struct error *error);

/* Opens the space of a profile's file. */
enum status colour_space_load_file(const char *path, const struct colour_space **space, struct error *error);

/* Returns a space that need not be released. NULL: out of memory. */
const struct colour_space *colour_space_builtin(enum colour_builtin which);

/* True if pictures look right without the space's profile, that is, as sRGB: if it is NULL, nearly sRGB, or
 * has nearly the primaries of sRGB and the power 2.2, which a gAMA of 1/2.2 describes. */
bool colour_space_is_usual(const struct colour_space *space);

/* Returns a name of the curves for messages: "sRGB", "a power of 2.2", "PQ". Valid until the next call in
 * this thread. */
const char *colour_space_curve_name(const struct colour_space *space);

/* Decrements the reference count, but not of a built-in space, which stays. NULL is allowed. */
void colour_space_release(const struct colour_space *space);

/* A conversion of CMYK or L*a*b*, four or three samples of 8 or 16 bits a pixel, to RGB of that type. */
struct rgb_conversion;

/* Opens a conversion from the colour model of a file to an RGB space. The caller closes *opened, also on
 * failure. */
enum status rgb_conversion_open(const struct image_info *info, const struct colour_space *target,
                                struct rgb_conversion **opened, struct error *error);

/* True if CMYK is converted by a simple formula, as its profile is missing or cannot be used. */
bool rgb_conversion_is_approximate(const struct rgb_conversion *conversion);

/* Converts a row of `width` pixels; may overwrite `row`. */
void rgb_conversion_apply(const struct rgb_conversion *conversion, unsigned char *row, unsigned char *rgb,
                          uint32_t width);

/* Frees the conversion; NULL is allowed. */
void rgb_conversion_close(struct rgb_conversion *conversion);

/* Returns the table of a curve from samples to light, or if `encodes` from light to samples. Channels with
 * equal curves have one table. It belongs to the space. NULL: out of memory. */
const float *colour_space_table(const struct colour_space *space, int channel, bool encodes);

/* Converts a value of a channel to light; both are 1 at full scale. As in kernels/curve.h, formulas are
 * mirrored below 0, tables are constant there, and NaN stays NaN. A gray space has one curve for all
 * channels. */
double colour_space_light(const struct colour_space *space, int channel, double value);

/* Converts light to a value of a channel: the inverse of colour_space_light. */
double colour_space_value(const struct colour_space *space, int channel, double light);

/* The source or the target of a conversion. */
struct colour_endpoint {
    const struct colour_space *space;
    bool is_linear; /* values are light instead of samples */
};

/* A conversion for kernels/colour.cl: values ─▶ decode ─▶ matrix or grid ─▶ encode. */
struct colour_link {
    int in_channels, out_channels; /* without alpha */
    float matrix[3][3];            /* [out][in] */
    int32_t decode[3], encode[3];  /* index of a curve's table in `floats`; -1: no curve */
    /* Index of GRID_NODES^3 nodes of four floats, the last channel fastest; -1: `matrix` is used. */
    int32_t grid;
    float *floats; /* tables of curves, then the grid */
    size_t count;  /* of floats */
};

/* Finds or computes the conversion between two spaces of one or three channels. `blackpoint`: the source's
 * black becomes the target's. */
enum status colour_link_find(struct colour_endpoint from, struct colour_endpoint to,
                             enum colour_intent intent, bool blackpoint, const struct colour_link **link,
                             struct error *error);

#endif
