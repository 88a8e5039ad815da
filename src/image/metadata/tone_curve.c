/* The curve that leads from samples to light, for --linear.
 *
 * PNG's third edition orders what may tell it: cICP, an ICC profile, sRGB, gAMA. Curves of profiles are read
 * as far as they are power laws or near sRGB's, which nearly all profiles of RGB and gray are; they are
 * compared at 64 places. Sources: ICC.1:2022, 10.6 (curveType) and 10.18 (parametricCurveType), ITU-T H.273,
 * table 3. */
#include "image/metadata/metadata.h"

#include <math.h>
#include <string.h>

enum { PLACES = 64 };

/* Differences of light from 0 to 1 that are ignored: half a step of 8 bits, and the errors of short tables of
 * sRGB's curve. */
static const double ALIKE = 0.005;

/* Reads a big-endian number. */
static uint32_t get_number(const unsigned char *at, size_t size)
{
    uint32_t number = 0;
    for (size_t i = 0; i < size; i++)
        number = number << 8 | at[i];
    return number;
}

/* Reads a curveType at PLACES. False: it is damaged. */
static bool read_table(const unsigned char *curve, size_t size, double *light)
{
    enum { HEAD = 12, ENTRY = 2 };
    const uint32_t count = size >= HEAD ? get_number(curve + 8, 4) : UINT32_MAX;
    if (count > (size - HEAD) / ENTRY)
        return false;
    const double gamma = count == 1 ? get_number(curve + HEAD, 2) / 256.0 : 1;
    for (int i = 0; i < PLACES; i++) {
        const double v = (double)i / (PLACES - 1), at = count > 1 ? v * (count - 1) : 0;
        const uint32_t low = count > 1 && at >= count - 1 ? count - 2 : (uint32_t)at;
        if (count <= 1) {
            light[i] = pow(v, gamma);
            continue;
        }
        const double before = get_number(curve + HEAD + ENTRY * low, 2),
                     after = get_number(curve + HEAD + ENTRY * (low + 1), 2);
        light[i] = (before + (at - low) * (after - before)) / UINT16_MAX;
    }
    return true;
}

/* Reads a parametricCurveType at PLACES. Form 0 is v^g; the others are (a v + b)^g + an offset from some v
 * on, and below it a constant or a line. False: it is damaged. */
static bool read_parameters(const unsigned char *curve, size_t size, double *light)
{
    enum { HEAD = 12, FORMS = 5 };
    static const size_t counts[FORMS] = {1, 3, 4, 5, 7};
    const uint32_t form = size >= HEAD ? get_number(curve + 8, 2) : FORMS;
    double p[7] = {1, 1, 0, 0, 0, 0, 0}; /* g, a, b, c, d, e, f */
    if (form >= FORMS || size < HEAD + 4 * counts[form])
        return false;
    for (size_t i = 0; i < counts[form]; i++)
        p[i] = (int32_t)get_number(curve + HEAD + 4 * i, 4) / 65536.0; /* s15Fixed16Number */
    const double offset = form == 2 ? p[3] : p[5];
    const double from = form == 0 ? 0 : form < 3 ? -p[2] / p[1] : p[4];
    for (int i = 0; i < PLACES; i++) {
        const double v = (double)i / (PLACES - 1), below = form == 2 ? p[3] : form < 3 ? 0 : p[3] * v + p[6];
        light[i] = v >= from ? pow(fmax(p[1] * v + p[2], 0), p[0]) + offset : below;
    }
    return true;
}

/* Reads the curve of a channel by its tag, such as "rTRC". False: missing, or of an unknown type. */
static bool read_curve(const struct blob *icc, const char *tag, double *light)
{
    enum { HEADER = 128, TABLE = HEADER + 4, ENTRY = 12 };
    const uint32_t count = icc->size >= TABLE ? get_number(icc->data + HEADER, 4) : 0;
    for (size_t i = 0; i < count && TABLE + (i + 1) * ENTRY <= icc->size; i++) {
        const unsigned char *entry = icc->data + TABLE + i * ENTRY;
        const size_t at = get_number(entry + 4, 4), size = get_number(entry + 8, 4);
        if (memcmp(entry, tag, 4) != 0)
            continue;
        if (at > icc->size || size > icc->size - at || size < 8)
            return false;
        const unsigned char *curve = icc->data + at;
        return memcmp(curve, "curv", 4) == 0   ? read_table(curve, size, light)
               : memcmp(curve, "para", 4) == 0 ? read_parameters(curve, size, light)
                                               : false;
    }
    return false;
}

/* True if the curve is near the power law, or near sRGB's curve (IEC 61966-2-1) if the exponent is 0. */
static bool is_near(const double *light, double exponent)
{
    for (int i = 0; i < PLACES; i++) {
        const double v = (double)i / (PLACES - 1);
        const double wanted = exponent > 0   ? pow(v, exponent)
                              : v <= 0.04045 ? v / 12.92
                                             : pow((v + 0.055) / 1.055, 2.4);
        if (!(fabs(light[i] - wanted) <= ALIKE)) /* NaN is not near */
            return false;
    }
    return true;
}

/* Finds the curve of a channel. The exponent is taken in the middle and rounded to what profiles have: 1/256.
 */
static struct file_curve classify(const double *light)
{
    enum { MIDDLE = PLACES / 2 };
    const double exponent = round(256 * log(light[MIDDLE]) / log((double)MIDDLE / (PLACES - 1))) / 256;
    if (is_near(light, 0))
        return (struct file_curve){.exponent = 0};
    if (exponent > 0 && is_near(light, exponent))
        return (struct file_curve){.exponent = exponent};
    return (struct file_curve){.unknown = "its ICC profile"};
}

/* Finds the curve of a profile: gray's, or the one that red, green and blue share. */
static struct file_curve profile_curve(const struct blob *icc)
{
    static const char *const tags[] = {"rTRC", "gTRC", "bTRC"};
    const struct file_curve unknown = {.unknown = "its ICC profile"};
    double light[PLACES];
    if (read_curve(icc, "kTRC", light))
        return classify(light);
    struct file_curve first = unknown;
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        const struct file_curve curve = read_curve(icc, tags[i], light) ? classify(light) : unknown;
        if (curve.unknown != NULL || (i > 0 && fabs(curve.exponent - first.exponent) > 0.01))
            return unknown;
        first = i == 0 ? curve : first;
    }
    return first;
}

struct file_curve metadata_tone_curve(const struct metadata *metadata)
{
    enum { UNSPECIFIED = 2, GAMMA_22 = 4, GAMMA_28 = 5, LINEAR = 8, SRGB = 13 };
    const int transfer = metadata->has_cicp ? metadata->cicp[1] : UNSPECIFIED;
    switch (transfer) {
    case SRGB:
        return (struct file_curve){.exponent = 0};
    case LINEAR:
        return (struct file_curve){.exponent = 1};
    case GAMMA_22:
        return (struct file_curve){.exponent = 2.2};
    case GAMMA_28:
        return (struct file_curve){.exponent = 2.8};
    case UNSPECIFIED:
        break;
    default:
        return (struct file_curve){.unknown = "cICP"};
    }
    if (metadata->icc.data != NULL)
        return profile_curve(&metadata->icc);
    return (struct file_curve){.exponent = metadata->gamma > 0 && !metadata->srgb ? 1 / metadata->gamma : 0};
}
