/* Converts CMYK and L*a*b* to RGB row by row while a file is read, on the host: pixels on the device have at
 * most three colour channels.
 *
 * Little CMS converts by the file's profile, relative colorimetric with black point compensation, as programs
 * for print do. Without a profile red is (1 - C)(1 - K), and so on: far from what a press prints, but black
 * and white are right.
 *
 * L*a*b* is relative to a reference white, about which sources disagree: TIFF 6.0, section 23, forbids the
 * tag WhitePoint and names no white; Adobe's later note on ICCLab and libtiff read that tag; Photoshop writes
 * D50 without it. climg uses the file's ICC profile of L*a*b*, or else its WhitePoint, or else D50. XYZ under
 * another white is adapted to D50 by Bradford's transform. L*a*b* becomes floats first, as Little CMS has no
 * type with TIFF's signed a* and b*. */
#include "image/colour/internal.h"

#include <stdlib.h>
#include <string.h>

struct rgb_conversion {
    enum colour_model colour_model;
    size_t size;                /* bytes of a sample: 1 or 2 */
    char message[LCMS_MESSAGE]; /* last error of Little CMS */
    cmsContext context;
    cmsHTRANSFORM transform; /* NULL: CMYK without a profile */
    float *lab;              /* a row of L*a*b*, owned */
    bool has_white;          /* L*a*b* is relative to `white` instead of D50 */
    cmsCIEXYZ white;
    double adapt[3][3]; /* from XYZ under `white` to XYZ under D50 */
};

static bool is_lab(const struct rgb_conversion *conversion)
{
    return conversion->colour_model == COLOUR_MODEL_CIELAB || conversion->colour_model == COLOUR_MODEL_ICCLAB;
}

/* Opens the file's profile. NULL: it has none, or it cannot be used. */
static cmsHPROFILE open_source(struct rgb_conversion *conversion, const struct blob *icc)
{
    const cmsColorSpaceSignature wanted = is_lab(conversion) ? cmsSigLabData : cmsSigCmykData;
    cmsHPROFILE profile = icc->data != NULL ? cmsOpenProfileFromMemTHR(conversion->context, icc->data,
                                                                       (cmsUInt32Number)icc->size)
                                            : NULL;
    /* Refuse a profile of many processing elements: Little CMS evaluates them for 17^4 colours to make its
     * table. */
    if (profile != NULL && cmsGetColorSpace(profile) == wanted &&
        cmsGetDeviceClass(profile) != cmsSigLinkClass && !lcms_has_many_elements(profile, 0))
        return profile;
    cmsCloseProfile(profile);
    return NULL;
}

/* Opens the transform from a profile, which may be NULL, and closes the profile. */
static void open_lcms_transform(struct rgb_conversion *conversion, cmsHPROFILE from,
                                const struct colour_space *target)
{
    const bool is_16_bit = conversion->size == 2;
    const cmsUInt32Number type = is_lab(conversion) ? TYPE_Lab_FLT : is_16_bit ? TYPE_CMYK_16 : TYPE_CMYK_8;
    cmsHPROFILE to =
        cmsOpenProfileFromMemTHR(conversion->context, target->icc.data, (cmsUInt32Number)target->icc.size);
    if (from != NULL && to != NULL)
        conversion->transform = cmsCreateTransformTHR(
            conversion->context, from, type, to, is_16_bit ? TYPE_RGB_16 : TYPE_RGB_8,
            INTENT_RELATIVE_COLORIMETRIC, cmsFLAGS_NOCACHE | cmsFLAGS_BLACKPOINTCOMPENSATION);
    cmsCloseProfile(from);
    cmsCloseProfile(to);
}

enum status rgb_conversion_open(const struct image_info *info, const struct colour_space *target,
                                struct rgb_conversion **opened, struct error *error)
{
    struct rgb_conversion *conversion = allocate_zeroed(1, sizeof *conversion, "colours", error);
    *opened = conversion;
    if (conversion == NULL)
        return STATUS_FAILED;
    conversion->colour_model = info->colour_model;
    conversion->size = sample_size(info->type);
    conversion->context = lcms_open(conversion->message, error);
    conversion->lab = allocate((size_t)info->width * 3 * sizeof(float), "a row of colours", error);
    if (conversion->context == NULL || conversion->lab == NULL)
        return STATUS_FAILED;
    open_lcms_transform(conversion, open_source(conversion, &info->metadata.icc), target);
    if (conversion->transform == NULL && is_lab(conversion)) {
        open_lcms_transform(conversion, cmsCreateLab4ProfileTHR(conversion->context, NULL), target);
        conversion->has_white = info->white[0] > 0;
    }
    if (conversion->has_white) {
        const double x = info->white[0], y = info->white[1], xyz[3] = {x / y, 1, (1 - x - y) / y};
        conversion->white = (cmsCIEXYZ){xyz[0], xyz[1], xyz[2]};
        profile_adapt_white(xyz, conversion->adapt);
    }
    return conversion->transform == NULL && is_lab(conversion) ? lcms_fail(conversion->message, error)
                                                               : STATUS_OK;
}

bool rgb_conversion_is_approximate(const struct rgb_conversion *conversion)
{
    return conversion->transform == NULL;
}

/* Returns sample number i. */
static unsigned file_sample(const struct rgb_conversion *conversion, const unsigned char *row, size_t i)
{
    uint16_t sample;
    if (conversion->size == 1)
        return row[i];
    memcpy(&sample, row + 2 * i, sizeof sample);
    return sample;
}

/* Converts a row of L*a*b* to be relative to D50. */
static void adapt_lab(const struct rgb_conversion *conversion, uint32_t width)
{
    for (float *lab = conversion->lab; lab < conversion->lab + (size_t)width * 3; lab += 3) {
        cmsCIELab value = {lab[0], lab[1], lab[2]};
        cmsCIEXYZ xyz;
        cmsLab2XYZ(&conversion->white, &xyz, &value);
        const double v[3] = {xyz.X, xyz.Y, xyz.Z};
        double to[3];
        for (int i = 0; i < 3; i++)
            to[i] = conversion->adapt[i][0] * v[0] + conversion->adapt[i][1] * v[1] +
                    conversion->adapt[i][2] * v[2];
        xyz = (cmsCIEXYZ){to[0], to[1], to[2]};
        cmsXYZ2Lab(NULL, &value, &xyz);
        lab[0] = (float)value.L;
        lab[1] = (float)value.a;
        lab[2] = (float)value.b;
    }
}

void rgb_conversion_apply(const struct rgb_conversion *conversion, unsigned char *row, unsigned char *rgb,
                          uint32_t width)
{
    if (is_lab(conversion)) {
        /* TIFF's L*a*b* to floats. 8 bits: L* of 100 is 255, and a* and b* are integers. 16 bits: L* of 100
         * is 65535, or 65280 in ICC's form, and a* and b* are in units of 1/256. */
        const bool is_16_bit = conversion->size == 2,
                   is_icc = conversion->colour_model == COLOUR_MODEL_ICCLAB;
        const double full = is_16_bit ? (is_icc ? 65280 : 65535) : 255, unit = is_16_bit ? 256 : 1;
        for (size_t x = 0; x < (size_t)width * 3; x++) {
            const unsigned v = file_sample(conversion, row, x);
            const int middle = is_16_bit ? 0x8000 : 0x80,
                      offset = is_icc ? (int)v - middle : (int)(v ^ (unsigned)middle) - middle;
            conversion->lab[x] = (float)(x % 3 == 0 ? v * 100 / full : offset / unit);
        }
        if (conversion->has_white)
            adapt_lab(conversion, width);
        cmsDoTransform(conversion->transform, conversion->lab, rgb, width);
        return;
    }
    if (conversion->colour_model == COLOUR_MODEL_CMYK_INVERTED)
        for (size_t i = 0; i < (size_t)width * 4 * conversion->size; i++)
            row[i] ^= 0xff;
    if (conversion->transform != NULL) {
        cmsDoTransform(conversion->transform, row, rgb, width);
        return;
    }
    /* CMYK without a profile: (1 - C)(1 - K), (1 - M)(1 - K), (1 - Y)(1 - K). */
    const unsigned full = conversion->size == 2 ? UINT16_MAX : UINT8_MAX;
    for (size_t x = 0; x < width; x++) {
        const uint64_t black = full - file_sample(conversion, row, 4 * x + 3);
        for (size_t c = 0; c < 3; c++) {
            const uint64_t light = (full - file_sample(conversion, row, 4 * x + c)) * black;
            const uint16_t value = (uint16_t)((light + full / 2) / full);
            if (conversion->size == 2)
                memcpy(rgb + 6 * x + 2 * c, &value, sizeof value);
            else
                rgb[3 * x + c] = (unsigned char)value;
        }
    }
}

void rgb_conversion_close(struct rgb_conversion *conversion)
{
    if (conversion == NULL)
        return;
    if (conversion->transform != NULL)
        cmsDeleteTransform(conversion->transform);
    if (conversion->context != NULL)
        cmsDeleteContext(conversion->context);
    free(conversion->lab);
    free(conversion);
}
