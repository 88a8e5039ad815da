/* CMYK and L*a*b* to RGB, row by row on the host, while a file is read: the device has pixels of at most four
 * channels, one of which is alpha.
 *
 * Little CMS converts by the file's profile, relative colorimetric with black point compensation, as
 * programs for print show it. Without a profile CMYK is (1 - C)(1 - K), and so on: far from what a press
 * prints, but black and white are right. L*a*b* has the white D50 (TIFF 6.0, section 23, and Adobe's TIFF
 * Technical Note 4); it becomes floats first, as Little CMS has no type of TIFF's signed a* and b*. */
#include "image/colour/lcms.h"

#include <stdlib.h>
#include <string.h>

struct ink_conversion {
    enum inks inks;
    size_t size; /* bytes of a sample: 1 or 2 */
    char text[LCMS_TEXT];
    cmsContext context;
    cmsHTRANSFORM transform; /* NULL: the simple way */
    float *lab;              /* a row of L*a*b* */
};

/* Opens the profile of the inks, or of L*a*b*. NULL: it has none, or one that cannot be used. */
static cmsHPROFILE open_source(struct ink_conversion *conversion, const struct blob *icc)
{
    if (conversion->inks == INKS_CIELAB || conversion->inks == INKS_ICCLAB)
        return cmsCreateLab4ProfileTHR(conversion->context, NULL);
    cmsHPROFILE profile = icc->data != NULL ? cmsOpenProfileFromMemTHR(conversion->context, icc->data,
                                                                       (cmsUInt32Number)icc->size)
                                            : NULL;
    /* Little CMS samples it in 83,521 colours. */
    if (profile != NULL && cmsGetColorSpace(profile) == cmsSigCmykData && !lcms_has_many_elements(profile, 0))
        return profile;
    if (profile != NULL)
        cmsCloseProfile(profile);
    return NULL;
}

static void open_ink_transform(struct ink_conversion *conversion, const struct blob *icc,
                               const struct colour_space *target)
{
    const bool is_wide = conversion->size == 2;
    const bool is_lab = conversion->inks == INKS_CIELAB || conversion->inks == INKS_ICCLAB;
    cmsHPROFILE from = open_source(conversion, icc);
    cmsHPROFILE to =
        cmsOpenProfileFromMemTHR(conversion->context, target->icc.data, (cmsUInt32Number)target->icc.size);
    const cmsUInt32Number type = is_lab ? TYPE_Lab_FLT : is_wide ? TYPE_CMYK_16 : TYPE_CMYK_8;
    if (from != NULL && to != NULL)
        conversion->transform = cmsCreateTransformTHR(
            conversion->context, from, type, to, is_wide ? TYPE_RGB_16 : TYPE_RGB_8,
            INTENT_RELATIVE_COLORIMETRIC, cmsFLAGS_NOCACHE | cmsFLAGS_BLACKPOINTCOMPENSATION);
    if (from != NULL)
        cmsCloseProfile(from);
    if (to != NULL)
        cmsCloseProfile(to);
}

enum status inks_open(enum inks inks, size_t size, uint32_t width, const struct blob *icc,
                      const struct colour_space *target, struct ink_conversion **opened, struct error *error)
{
    struct ink_conversion *conversion = allocate_zeroed(1, sizeof *conversion, "colours", error);
    *opened = conversion;
    if (conversion == NULL)
        return STATUS_FAILED;
    conversion->inks = inks;
    conversion->size = size;
    conversion->context = lcms_open(conversion->text);
    conversion->lab = allocate((size_t)width * 3 * sizeof(float), "a row of colours", error);
    if (conversion->context != NULL && conversion->lab != NULL)
        open_ink_transform(conversion, icc, target);
    if (conversion->lab == NULL)
        return STATUS_FAILED;
    return conversion->transform == NULL && (inks == INKS_CIELAB || inks == INKS_ICCLAB)
               ? lcms_fail(conversion->text, error)
               : STATUS_OK;
}

bool inks_have_profile(const struct ink_conversion *conversion)
{
    return conversion->transform != NULL;
}

/* Returns sample number i. */
static unsigned ink_sample(const struct ink_conversion *conversion, const unsigned char *row, size_t i)
{
    uint16_t wide;
    if (conversion->size == 1)
        return row[i];
    memcpy(&wide, row + 2 * i, sizeof wide);
    return wide;
}

/* Converts L*a*b* of TIFF to floats. In 8 bit L* has 255 steps, a* and b* are whole numbers; in 16 bit a* and
 * b* have 256 steps each, and L* has 65535, or in ICC's form 65280. */
static void decode_lab(const struct ink_conversion *conversion, const unsigned char *row, uint32_t width)
{
    const bool is_wide = conversion->size == 2, is_icc = conversion->inks == INKS_ICCLAB;
    const double full = is_wide ? (is_icc ? 65280 : 65535) : 255, unit = is_wide ? 256 : 1;
    for (size_t x = 0; x < (size_t)width * 3; x++) {
        const unsigned v = ink_sample(conversion, row, x);
        const int middle = is_wide ? 0x8000 : 0x80,
                  offset = is_icc ? (int)v - middle : (int)(v ^ (unsigned)middle) - middle;
        conversion->lab[x] = (float)(x % 3 == 0 ? v * 100 / full : offset / unit);
    }
}

/* Converts CMYK without a profile. */
static void convert_simply(const struct ink_conversion *conversion, const unsigned char *row,
                           unsigned char *rgb, uint32_t width)
{
    const unsigned full = conversion->size == 2 ? UINT16_MAX : UINT8_MAX;
    for (size_t x = 0; x < width; x++) {
        const uint64_t black = full - ink_sample(conversion, row, 4 * x + 3);
        for (size_t c = 0; c < 3; c++) {
            const uint64_t light = (full - ink_sample(conversion, row, 4 * x + c)) * black;
            const uint16_t value = (uint16_t)((light + full / 2) / full);
            if (conversion->size == 2)
                memcpy(rgb + 6 * x + 2 * c, &value, sizeof value);
            else
                rgb[3 * x + c] = (unsigned char)value;
        }
    }
}

void inks_convert(const struct ink_conversion *conversion, unsigned char *row, unsigned char *rgb,
                  uint32_t width)
{
    if (conversion->inks == INKS_CIELAB || conversion->inks == INKS_ICCLAB) {
        decode_lab(conversion, row, width);
        cmsDoTransform(conversion->transform, conversion->lab, rgb, width);
        return;
    }
    for (size_t i = 0; conversion->inks == INKS_CMYK_INVERTED && i < (size_t)width * 4 * conversion->size;
         i++)
        row[i] ^= 0xff;
    if (conversion->transform != NULL)
        cmsDoTransform(conversion->transform, row, rgb, width);
    else
        convert_simply(conversion, row, rgb, width);
}

void inks_close(struct ink_conversion *conversion)
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
