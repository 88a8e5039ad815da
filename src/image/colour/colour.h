/* Colour spaces: the meaning of the samples of a file, and conversions between two meanings, by Little CMS.
 *
 *     metadata ─▶ colour_space_of_file ─▶ struct colour_space ─┐
 *     --profile p3, FILE.icc ─▶ colour_space_builtin, _load ───┴─▶ colour_link_find ─▶ tables
 *
 * A space is a curve for each channel and a matrix to CIE XYZ, which are computed here, or tables of an ICC
 * profile, which only Little CMS reads. Equal spaces are one object. docs/colour.md has the rules.
 *
 * Ownership: spaces are counted, colour_space_release ends a use. Links live as long as both of their spaces
 * are in use. Thread safety: any thread may call; spaces and links are read-only. */
#ifndef CLIMG_IMAGE_COLOUR_COLOUR_H
#define CLIMG_IMAGE_COLOUR_COLOUR_H

#include "image/image.h"

/* Floats of a curve's table: 1 if the curve is mirrored below 0, or 0 if it is constant there; its value at
 * 0; CURVE_STEPS values for each factor of two from 2^-24 to 2^8; the value at 2^8 (kernels/curve.h). With
 * 256 steps the kinks of CineonLog profiles were off by 0.004. */
enum { CURVE_STEPS = 1024, CURVE_OCTAVES = 32, CURVE_TABLE_SIZE = 3 + CURVE_OCTAVES * CURVE_STEPS };

/* Nodes along an axis of the table of a link. */
enum { GRID_NODES = 33 };

enum tone_kind {
    TONE_PARAMETERS, /* c v + f for v < d, else (a v + b)^g + e: parametricCurveType of ICC.1:2022, 10.18 */
    TONE_TABLE,      /* equally spaced, in between linear */
    TONE_PQ,         /* SMPTE ST 2084; light 1 is 10000 cd/m2 */
    TONE_HLG,        /* ITU-R BT.2100, without the OOTF: light of the scene */
};

/* An increasing curve from samples (0 to 1) to light; full scale has light 1. */
struct tone_curve {
    enum tone_kind kind;
    double g, a, b, c, d, e, f;
    float *table; /* owned by the space */
    uint32_t count;
};

enum colour_intent { COLOUR_RELATIVE, COLOUR_PERCEPTUAL, COLOUR_SATURATION, COLOUR_ABSOLUTE };

enum colour_builtin { COLOUR_SRGB, COLOUR_P3, COLOUR_ADOBE, COLOUR_GRAY, COLOUR_LINEAR, COLOUR_LINEAR_GRAY };

struct colour_space {
    int channels;                /* 1 gray, 3 RGB, 4 CMYK */
    bool is_matrix;              /* defined by `curves` and `to_xyz`; else only by Little CMS */
    struct tone_curve curves[3]; /* gray: only the first. Without is_matrix: luminance for r = g = b */
    double to_xyz[3][3];         /* [X, Y, Z][channel], for light adapted to D50; gray: its first column */
    double primaries[3][2];      /* of RGB with is_matrix: x and y, before adaptation */
    double luminance[3];         /* weights of the channels' light in the luminance; their sum is 1 */
    double white[3];             /* XYZ of the media, for COLOUR_ABSOLUTE */
    double peak;                 /* light of full scale, in units of white: 1, or more for PQ and HLG */
    double exponent;             /* of the power law of all curves; 0: they are nearly sRGB's; -1: others */
    bool is_srgb;                /* nearly sRGB, or gray with nearly its curve */
    const struct colour_space *gray; /* of RGB: gray with the curve of green; else NULL */
    char name[80];                   /* description of the profile, printable */
    struct blob icc;                 /* an ICC profile of the space; of PQ and HLG an approximation */
};

/* Opens the space that a file's metadata name, in the order of PNG's third edition: cICP, ICC profile, sRGB,
 * gAMA and cHRM. *space is NULL without any of them. Fails if they cannot be read, or do not fit a picture
 * with `colours` channels (1, 3, or 4 of CMYK); a profile of RGB also fits gray, which has the curve of
 * green. The caller releases the space. */
enum status colour_space_of_file(const struct metadata *metadata, int colours,
                                 const struct colour_space **space, struct error *error);

/* Opens the space of an ICC profile in memory. */
enum status colour_space_load(const void *icc, size_t size, const struct colour_space **space,
                              struct error *error);

/* Opens the space of a profile's file. */
enum status colour_space_load_file(const char *path, const struct colour_space **space, struct error *error);

/* Returns a space that is never freed. NULL if memory is out. */
const struct colour_space *colour_space_builtin(enum colour_builtin which);

/* Describes the curves: "sRGB", "a power of 2.2", "PQ". Valid until the next call in this thread. */
const char *colour_space_curve_name(const struct colour_space *space);

/* Ends a use of a space; NULL is allowed. */
void colour_space_release(const struct colour_space *space);

/* A conversion of CMYK or L*a*b* of 8 or 16 bit, four or three samples a pixel, to RGB of the same sample
 * size. */
struct rgb_conversion;

/* Opens a conversion of rows of a file by its profile, which may be absent, to a space of RGB. *opened is
 * closed by the caller also after a failure. */
enum status rgb_conversion_open(const struct image_info *info, const struct colour_space *target,
                                struct rgb_conversion **opened, struct error *error);

/* False: CMYK is converted without its profile, which is missing or damaged. */
bool rgb_conversion_has_profile(const struct rgb_conversion *conversion);

/* Converts a row of `width` pixels; may change `row`. */
void rgb_conversion_apply(const struct rgb_conversion *conversion, unsigned char *row, unsigned char *rgb,
                          uint32_t width);

/* Frees the conversion; NULL is allowed. */
void rgb_conversion_close(struct rgb_conversion *conversion);

/* Returns the table of a curve: from samples to light, or with `encodes` from light to samples. NULL if
 * memory is out. */
const float *colour_space_table(const struct colour_space *space, int channel, bool encodes);

/* Returns the light of a value of a channel, both 1 at full scale. Negative values count as 0. Gray spaces
 * have one curve for all channels. */
double colour_space_light(const struct colour_space *space, int channel, double value);

/* True if two tables of curves are equal. */
bool curve_tables_equal(const float *a, const float *b);

/* An end of a conversion. */
struct colour_end {
    const struct colour_space *space;
    bool is_linear; /* values are light, not samples */
};

/* A conversion for the device: value ─▶ in-curves ─▶ matrix or table ─▶ out-curves. */
struct colour_link {
    int in, out;                  /* channels of colour */
    float matrix[3][3];           /* [out][in] */
    int32_t decode[3], encode[3]; /* start of the curve in `floats`; -1: none */
    /* Start of a table of GRID_NODES^3 nodes of four floats, the last channel fastest; -1: the matrix. */
    int32_t grid;
    float *floats; /* curves, then the grid */
    size_t count;
};

/* Finds or computes a conversion between spaces of one or three channels. `blackpoint`: the source's black
 * becomes the target's. */
enum status colour_link_find(struct colour_end from, struct colour_end to, enum colour_intent intent,
                             bool blackpoint, const struct colour_link **link, struct error *error);

#endif
