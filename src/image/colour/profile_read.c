/* Reads ICC profiles into struct colour_space. A profile of curves and a matrix is read completely. Other
 * profiles (with tables: A2B, D2B; or with a curve that decreases) are converted by Little CMS. Of these only
 * the luminance of grays and of each channel is sampled, for stages that need brightness. */
#include "image/colour/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROFILE_MAX = 64 << 20, /* bytes; the largest printer profiles have 10 MB */
    ELEMENTS_MAX = 16       /* in a multiProcessElements tag (internal.h) */
};

/* Reads the curve of a tag. False: it is missing or curve_parse refuses it, or out of memory. */
static bool read_curve(cmsHPROFILE profile, cmsTagSignature tag, struct tone_curve *curve,
                       bool *out_of_memory)
{
    const cmsUInt32Number size = cmsReadRawTag(profile, tag, NULL, 0);
    unsigned char *bytes = size > 0 ? malloc(size) : NULL;
    const bool is_read = bytes != NULL && cmsReadRawTag(profile, tag, bytes, size) == size &&
                         curve_parse(bytes, size, curve, out_of_memory);
    *out_of_memory = *out_of_memory || (size > 0 && bytes == NULL);
    free(bytes);
    return is_read;
}

bool matrix_invert(double (*m)[3], double (*inverse)[3])
{
    double cofactor[3][3], determinant = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            cofactor[i][j] = m[a][c] * m[b][d] - m[a][d] * m[b][c];
        }
    for (int j = 0; j < 3; j++)
        determinant += m[0][j] * cofactor[0][j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            inverse[i][j] = cofactor[j][i] / determinant;
    return fabs(determinant) > 1e-9;
}

const double D50[3] = {0.9642, 1, 0.8249};

/* Sets `product` to a times b. */
static void multiply(double (*a)[3], double (*b)[3], double (*product)[3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            product[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
}

void profile_adapt_white(const double white[3], double adapt[3][3])
{
    double bradford[3][3] = {{0.8951, 0.2664, -0.1614}, {-0.7502, 1.7135, 0.0367}, {0.0389, -0.0685, 1.0296}};
    double inverse[3][3], scaled[3][3];
    for (int i = 0; i < 3; i++) {
        double source = 0, target = 0;
        for (int j = 0; j < 3; j++) {
            source += bradford[i][j] * white[j];
            target += bradford[i][j] * D50[j];
        }
        for (int j = 0; j < 3; j++)
            scaled[i][j] = bradford[i][j] * target / source;
    }
    matrix_invert(bradford, inverse);
    multiply(inverse, scaled, adapt);
}

/* Sets luminances and primaries from a matrix to XYZ that is not adapted to D50. */
static void set_primaries_from_matrix(struct colour_space *space, double unadapted[3][3])
{
    const double white = unadapted[1][0] + unadapted[1][1] + unadapted[1][2];
    for (int c = 0; c < 3; c++) {
        const double sum = unadapted[0][c] + unadapted[1][c] + unadapted[2][c];
        space->luminance[c] = white > 0 ? unadapted[1][c] / white : 1 / 3.0;
        space->primaries[c][0] = sum > 0 ? unadapted[0][c] / sum : 0;
        space->primaries[c][1] = sum > 0 ? unadapted[1][c] / sum : 0;
    }
}

/* Sets luminances and primaries from to_xyz after undoing its adaptation to D50: by the tag chad or, in
 * profiles of version 2, by Bradford's transform from the profile's white. */
static void set_primaries_from_profile(struct colour_space *space, cmsHPROFILE profile)
{
    const cmsCIEXYZ *chad = cmsReadTag(profile, cmsSigChromaticAdaptationTag);
    const cmsCIEXYZ *white = cmsReadTag(profile, cmsSigMediaWhitePointTag);
    double adapt[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, inverse[3][3], unadapted[3][3];
    for (int i = 0; chad != NULL && i < 3; i++) {
        adapt[i][0] = chad[i].X;
        adapt[i][1] = chad[i].Y;
        adapt[i][2] = chad[i].Z;
    }
    if (chad == NULL && white != NULL)
        profile_adapt_white((double[3]){white->X, white->Y, white->Z}, adapt);
    if (matrix_invert(adapt, inverse))
        multiply(inverse, space->to_xyz, unadapted);
    else
        memcpy(unadapted, space->to_xyz, sizeof unadapted);
    set_primaries_from_matrix(space, unadapted);
}

void profile_set_primaries(struct colour_space *space, const double *xy)
{
    double columns[3][3], inverse[3][3], adapt[3][3], white[3] = {0};
    for (int c = 0; c < 4; c++) {
        const double x = xy[2 * c], y = xy[2 * c + 1], xyz[3] = {x / y, 1, (1 - x - y) / y};
        for (int i = 0; i < 3; i++)
            *(c == 0 ? &white[i] : &columns[i][c - 1]) = xyz[i];
    }
    if (!matrix_invert(columns, inverse))
        return;
    for (int c = 0; c < 3; c++) {
        const double light = inverse[c][0] * white[0] + inverse[c][1] * white[1] + inverse[c][2] * white[2];
        for (int i = 0; i < 3; i++)
            columns[i][c] *= light;
    }
    set_primaries_from_matrix(space, columns);
    profile_adapt_white(white, adapt);
    multiply(adapt, columns, space->to_xyz);
}

void profile_recognise(struct colour_space *space)
{
    static const double xyz[3][3] = {{0.43607, 0.38515, 0.14307},
                                     {0.22249, 0.71687, 0.06061},
                                     {0.01392, 0.09708, 0.71410}},
                        luminance[3] = {0.2126, 0.7152, 0.0722};
    const struct tone_curve srgb = curve_srgb(), *first = &space->curves[0];
    const bool is_gray = space->is_matrix && space->channels == 1;
    bool is_rec709 = space->is_matrix && space->channels == 3, has_srgb_curves = true, is_power = true;
    for (int i = 0; i < 3; i++)
        for (int c = 0; c < 3; c++)
            is_rec709 = is_rec709 && fabs(space->to_xyz[i][c] - xyz[i][c]) < 0.003;
    if (is_rec709)
        memcpy(space->luminance, luminance, sizeof luminance);
    for (int c = 0; c < space->channels; c++) {
        const struct tone_curve *curve = &space->curves[c];
        has_srgb_curves = has_srgb_curves && curve_is_near(curve, &srgb, 0.005);
        is_power = is_power && curve->kind == TONE_PARAMETERS && curve->a == 1 && curve->b == 0 &&
                   curve->d <= 0 && curve->e == 0 && curve->g == first->g;
    }
    space->is_rec709 = is_rec709 || is_gray;
    space->is_srgb = space->is_rec709 && has_srgb_curves;
    space->exponent = has_srgb_curves ? 0 : is_power ? first->g : -1;
}

/* Reads curves and matrix. False: Little CMS must convert, or out of memory. */
static bool read_matrix(struct colour_space *space, cmsHPROFILE profile, bool *out_of_memory)
{
    static const cmsTagSignature tables[] = {cmsSigAToB0Tag, cmsSigAToB1Tag, cmsSigAToB2Tag, cmsSigBToA0Tag,
                                             cmsSigBToA1Tag, cmsSigBToA2Tag, cmsSigDToB0Tag, cmsSigDToB1Tag,
                                             cmsSigDToB2Tag, cmsSigDToB3Tag, cmsSigBToD0Tag, cmsSigBToD1Tag,
                                             cmsSigBToD2Tag, cmsSigBToD3Tag};
    static const cmsTagSignature curves[] = {cmsSigRedTRCTag, cmsSigGreenTRCTag, cmsSigBlueTRCTag},
                                 columns[] = {cmsSigRedColorantTag, cmsSigGreenColorantTag,
                                              cmsSigBlueColorantTag};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (cmsIsTag(profile, tables[i]))
            return false;
    if (cmsGetPCS(profile) != cmsSigXYZData)
        return false;
    if (space->channels == 1) {
        for (int i = 0; i < 3; i++)
            space->to_xyz[i][0] = D50[i];
        space->luminance[0] = 1;
        return read_curve(profile, cmsSigGrayTRCTag, &space->curves[0], out_of_memory);
    }
    for (int c = 0; c < 3; c++) {
        const cmsCIEXYZ *xyz = cmsReadTag(profile, columns[c]);
        if (xyz == NULL || !read_curve(profile, curves[c], &space->curves[c], out_of_memory))
            return false;
        space->to_xyz[0][c] = xyz->X;
        space->to_xyz[1][c] = xyz->Y;
        space->to_xyz[2][c] = xyz->Z;
    }
    double inverse[3][3];
    set_primaries_from_profile(space, profile);
    return matrix_invert(space->to_xyz, inverse);
}

void profile_free_curves(struct colour_space *space)
{
    for (int c = 0; c < 3; c++) {
        free(space->curves[c].table);
        space->curves[c] = curve_power(1);
    }
}

/* Samples a space that only Little CMS converts: the luminance of grays, as the curve of all channels, and
 * the luminance of each channel at full scale. */
static enum status sample_luminance(struct colour_space *space, cmsContext context, cmsHPROFILE profile,
                                    const char *message, struct error *error)
{
    enum { SAMPLES = 1024 };
    const cmsUInt32Number type = space->channels == 1 ? TYPE_GRAY_FLT : TYPE_RGB_FLT;
    float *table = allocate(SAMPLES * sizeof *table, "a tone curve", error);
    if (table == NULL)
        return STATUS_FAILED;
    cmsHPROFILE xyz = cmsCreateXYZProfileTHR(context);
    cmsHTRANSFORM transform = xyz == NULL ? NULL
                                          : cmsCreateTransformTHR(context, profile, type, xyz, TYPE_XYZ_DBL,
                                                                  INTENT_RELATIVE_COLORIMETRIC,
                                                                  cmsFLAGS_NOOPTIMIZE | cmsFLAGS_NOCACHE);
    const double begin = thread_cpu_seconds();
    enum status status = transform != NULL ? STATUS_OK : lcms_fail(message, error);
    for (int i = 0; status == STATUS_OK && i < SAMPLES; i++) {
        if (thread_cpu_seconds() - begin > LCMS_SECONDS_MAX)
            status = lcms_fail("it takes too long", error);
        const float v = (float)i / (SAMPLES - 1), value[3] = {v, v, v};
        cmsCIEXYZ light = {0, 0, 0};
        cmsDoTransform(transform, value, &light, 1);
        /* Round, so that libm does not matter, and clip to 0..1. NaN becomes 0. */
        const float y = (float)(rint(light.Y * 0x1p20) * 0x1p-20);
        table[i] = y > 0 ? fminf(y, 1) : 0;
        if (i > 0 && table[i] < table[i - 1])
            table[i] = table[i - 1];
    }
    double sum = 0;
    for (int c = 0; status == STATUS_OK && c < space->channels; c++) {
        struct tone_curve *curve = &space->curves[c];
        float value[3] = {0};
        cmsCIEXYZ light = {0, 0, 0};
        value[c] = 1;
        cmsDoTransform(transform, value, &light, 1);
        space->luminance[c] = fmax(rint(light.Y * 0x1p14) * 0x1p-14, 0x1p-14);
        sum += space->luminance[c];
        *curve = (struct tone_curve){.kind = TONE_TABLE, .count = SAMPLES};
        curve->table = allocate(SAMPLES * sizeof *table, "a tone curve", error);
        if (curve->table != NULL)
            memcpy(curve->table, table, SAMPLES * sizeof *table);
        else
            status = STATUS_FAILED;
    }
    for (int c = 0; status == STATUS_OK && c < space->channels; c++)
        space->luminance[c] /= sum;
    free(table);
    if (transform != NULL)
        cmsDeleteTransform(transform);
    cmsCloseProfile(xyz);
    return status;
}

enum status profile_read(struct colour_space *space, const void *icc, size_t size, struct error *error)
{
    char message[LCMS_MESSAGE];
    if (size > PROFILE_MAX)
        return fail(error, STATUS_FAILED, "ICC profile cannot be used: it has more than 64 MiB");
    cmsContext context = lcms_open(message, error);
    if (context == NULL)
        return STATUS_FAILED;
    cmsHPROFILE profile = cmsOpenProfileFromMemTHR(context, icc, (cmsUInt32Number)size);
    enum status status = profile != NULL ? STATUS_OK : lcms_fail(message, error);
    if (status == STATUS_OK) {
        const cmsColorSpaceSignature colours = cmsGetColorSpace(profile);
        const cmsProfileClassSignature class = cmsGetDeviceClass(profile);
        const cmsCIEXYZ *media = cmsReadTag(profile, cmsSigMediaWhitePointTag);
        /* Display profiles of version 2 have the monitor's white, which absolute colorimetry ignores, as in
           Little CMS. */
        const bool has_white = media != NULL && media->X > 0 && media->Y > 0 && media->Z > 0 &&
                               (class != cmsSigDisplayClass || cmsGetProfileVersion(profile) >= 4);
        const double white[3] = {has_white ? media->X : D50[0], has_white ? media->Y : D50[1],
                                 has_white ? media->Z : D50[2]};
        bool out_of_memory = false;
        memcpy(space->white, white, sizeof white);
        space->peak = 1;
        space->channels = colours == cmsSigGrayData   ? 1
                          : colours == cmsSigRgbData  ? 3
                          : colours == cmsSigCmykData ? 4
                                                      : 0;
        /* The profile's description; other characters than printable ASCII become "?". */
        cmsGetProfileInfoASCII(profile, cmsInfoDescription, "en", "US", space->name, sizeof space->name);
        space->name[sizeof space->name - 1] = '\0';
        for (char *at = space->name; *at != '\0'; at++)
            *at = (char)(*at >= ' ' && *at <= '~' ? *at : '?');
        if (space->name[0] == '\0')
            snprintf(space->name, sizeof space->name, "unnamed");
        if (space->channels == 0 || class == cmsSigLinkClass || class == cmsSigAbstractClass ||
            class == cmsSigNamedColorClass)
            status = lcms_fail("it is not a profile of a gray, RGB or CMYK device", error);
        else if (lcms_has_many_elements(profile, ELEMENTS_MAX))
            status = lcms_fail("it has too many processing elements", error);
        space->is_matrix =
            status == STATUS_OK && space->channels != 4 && read_matrix(space, profile, &out_of_memory);
        if (out_of_memory)
            status = fail_memory(error, "out of memory for a tone curve");
        if (!space->is_matrix)
            profile_free_curves(space);
        if (status == STATUS_OK && !space->is_matrix && space->channels != 4)
            status = sample_luminance(space, context, profile, message, error);
        if (status == STATUS_OK && space->channels != 4)
            profile_recognise(space);
    }
    if (status == STATUS_OK)
        status = metadata_set_blob(&space->icc, icc, size, error);
    cmsCloseProfile(profile);
    cmsDeleteContext(context);
    return status;
}
