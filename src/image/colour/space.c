/* Colour spaces: recognised in metadata, read from profiles, found again if equal.
 *
 * Each space is read from an ICC profile. For cICP, for gAMA with cHRM and for built-in spaces Little CMS
 * writes one first; their exact curves then replace those of the profile, whose numbers have 16 bits after
 * the point. A profile with tables (A2B, D2B) is left to Little CMS, as is one whose curves do not increase.
 *
 * Spaces are in a list of counted entries, so that a folder of photos with one profile reads it once. Unused
 * ones are freed once there are more than KEPT_SPACES. */
#include "base/files.h"
#include "image/colour/lcms.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    KEPT_SPACES = 32,
    PROFILE_MAX = 64 << 20, /* bytes: the largest profiles of printers have 10 MB */
    MANY_ELEMENTS = 16,
};

/* A space in the list. */
struct entry {
    struct colour_space space; /* first */
    int uses;
    int curve;           /* number of the exact curve that replaced the profile's; 0: none */
    float *tables[2][3]; /* colour_space_table */
    struct entry *next;
};

static struct {
    pthread_mutex_t lock;
    struct entry *first;
    int count;
    const struct colour_space *builtin[COLOUR_LINEAR_GRAY + 1];
} spaces = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---------------------------------------------------------------- Little CMS */

/* Little CMS reports errors of a context to this function. The first one is kept. */
static void log_error(cmsContext context, cmsUInt32Number code, const char *text)
{
    char *to = cmsGetContextUserData(context);
    (void)code;
    if (to[0] == '\0')
        snprintf(to, LCMS_TEXT, "%s", text);
}

cmsContext lcms_open(char text[LCMS_TEXT])
{
    text[0] = '\0';
    cmsContext context = cmsCreateContext(NULL, text);
    if (context != NULL)
        cmsSetLogErrorHandlerTHR(context, log_error);
    return context;
}

enum status lcms_fail(const char *text, struct error *error)
{
    return fail(error, STATUS_FAILED, "ICC profile cannot be used: %s",
                text[0] != '\0' ? text : "it is damaged or incomplete");
}

bool lcms_has_many_elements(cmsHPROFILE profile, uint32_t most)
{
    static const cmsTagSignature tags[] = {cmsSigDToB0Tag, cmsSigDToB1Tag, cmsSigDToB2Tag, cmsSigDToB3Tag,
                                           cmsSigBToD0Tag, cmsSigBToD1Tag, cmsSigBToD2Tag, cmsSigBToD3Tag};
    enum { HEAD = 16, COUNT_AT = 12, LARGE = 1 << 20 };
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        unsigned char head[HEAD] = {0};
        const cmsUInt32Number size = cmsReadRawTag(profile, tags[i], NULL, 0);
        if (size > 0)
            cmsReadRawTag(profile, tags[i], head, HEAD);
        const uint32_t count = (uint32_t)head[COUNT_AT] << 24 | (uint32_t)head[COUNT_AT + 1] << 16 |
                               (uint32_t)head[COUNT_AT + 2] << 8 | head[COUNT_AT + 3];
        if (size > LARGE || count > most)
            return true;
    }
    return false;
}

double lcms_seconds(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---------------------------------------------------------------- profiles that climg writes */

/* Primaries and white of a space: x and y of white, red, green, blue, as in cHRM. */
typedef double chromaticities[8];

static const chromaticities REC709 = {0.3127, 0.329, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06};

/* Returns the primaries of H.273, table 2, or NULL. */
static const double *primaries_of_cicp(int number)
{
    static const struct {
        int number;
        chromaticities xy;
    } table[] = {{1, {0.3127, 0.329, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06}},
                 {4, {0.31, 0.316, 0.67, 0.33, 0.21, 0.71, 0.14, 0.08}},
                 {5, {0.3127, 0.329, 0.64, 0.33, 0.29, 0.6, 0.15, 0.06}},
                 {6, {0.3127, 0.329, 0.63, 0.34, 0.31, 0.595, 0.155, 0.07}},
                 {7, {0.3127, 0.329, 0.63, 0.34, 0.31, 0.595, 0.155, 0.07}},
                 {8, {0.31, 0.316, 0.681, 0.319, 0.243, 0.692, 0.145, 0.049}},
                 {9, {0.3127, 0.329, 0.708, 0.292, 0.17, 0.797, 0.131, 0.046}},
                 {11, {0.314, 0.351, 0.68, 0.32, 0.265, 0.69, 0.15, 0.06}},
                 {12, {0.3127, 0.329, 0.68, 0.32, 0.265, 0.69, 0.15, 0.06}},
                 {22, {0.3127, 0.329, 0.63, 0.34, 0.295, 0.605, 0.155, 0.077}}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].number == number)
            return table[i].xy;
    return NULL;
}

/* Makes a curve of Little CMS: parameters if there are some, else 4096 samples. Light above 1 is cut off. */
static cmsToneCurve *lcms_curve(cmsContext context, const struct tone_curve *curve, double peak)
{
    enum { SAMPLES = 4096 };
    if (curve->kind == TONE_PARAMETERS) {
        const double p[7] = {curve->g, curve->a, curve->b, curve->c, curve->d, curve->e, curve->f};
        const bool is_power = curve->a == 1 && curve->b == 0 && curve->d == 0;
        return cmsBuildParametricToneCurve(context, is_power ? 1 : curve->e == 0 && curve->f == 0 ? 4 : 5, p);
    }
    cmsUInt16Number *table = malloc(SAMPLES * sizeof *table);
    for (int i = 0; table != NULL && i < SAMPLES; i++)
        table[i] =
            (cmsUInt16Number)rint(65535 * fmin(1, peak * curve_decode(curve, (double)i / (SAMPLES - 1))));
    cmsToneCurve *made = table != NULL ? cmsBuildTabulatedToneCurve16(context, SAMPLES, table) : NULL;
    free(table);
    return made;
}

/* Sets the profile's version, name and copyright. */
static bool set_texts(cmsContext context, cmsHPROFILE profile, const char *name)
{
    cmsMLU *text = cmsMLUalloc(context, 1), *rights = cmsMLUalloc(context, 1);
    cmsSetProfileVersion(profile, 4.3);
    const bool done = text != NULL && rights != NULL && cmsMLUsetASCII(text, "en", "US", name) &&
                      cmsMLUsetASCII(rights, "en", "US", "CC0") &&
                      cmsWriteTag(profile, cmsSigProfileDescriptionTag, text) &&
                      cmsWriteTag(profile, cmsSigCopyrightTag, rights);
    cmsMLUfree(text);
    cmsMLUfree(rights);
    return done;
}

/* Writes a profile of RGB, or of gray without primaries, with the same bytes each time. The caller frees
 * icc->data. */
static enum status write_profile(const char *name, const double *xy, const struct tone_curve *curve,
                                 double peak, struct blob *icc, struct error *error)
{
    enum { DATE_AT = 24, DATE_SIZE = 12 };
    static const unsigned char date[DATE_SIZE] = {0x07, 0xea, 0, 1, 0, 1}; /* 2026-01-01 */
    char text[LCMS_TEXT];
    cmsContext context = lcms_open(text);
    cmsToneCurve *made = context ? lcms_curve(context, curve, peak) : NULL, *curves[] = {made, made, made};
    cmsHPROFILE profile = NULL;
    cmsUInt32Number size = 0;
    *icc = (struct blob){NULL, 0};
    if (made != NULL && xy != NULL) {
        const cmsCIExyY white = {xy[0], xy[1], 1};
        const cmsCIExyYTRIPLE primaries = {{xy[2], xy[3], 1}, {xy[4], xy[5], 1}, {xy[6], xy[7], 1}};
        profile = cmsCreateRGBProfileTHR(context, &white, &primaries, curves);
    } else if (made != NULL) {
        profile = cmsCreateGrayProfileTHR(context, cmsD50_xyY(), made);
    }
    enum status status =
        profile != NULL && set_texts(context, profile, name) && cmsSaveProfileToMem(profile, NULL, &size)
            ? STATUS_OK
            : lcms_fail(text, error);
    if (status == STATUS_OK) {
        *icc = (struct blob){allocate(size, "an ICC profile", error), size};
        status = icc->data == NULL ? STATUS_FAILED
                 : cmsSaveProfileToMem(profile, icc->data, &size) && size > DATE_AT + DATE_SIZE
                     ? STATUS_OK
                     : lcms_fail(text, error);
    }
    if (status == STATUS_OK)
        memcpy(icc->data + DATE_AT, date, DATE_SIZE);
    else
        blob_free(icc);
    if (profile != NULL)
        cmsCloseProfile(profile);
    if (made != NULL)
        cmsFreeToneCurve(made);
    if (context != NULL)
        cmsDeleteContext(context);
    return status;
}

/* ---------------------------------------------------------------- profiles that are read */

/* Reads the curve of a tag. */
static bool read_curve(cmsHPROFILE profile, cmsTagSignature tag, struct tone_curve *curve)
{
    const cmsUInt32Number size = cmsReadRawTag(profile, tag, NULL, 0);
    unsigned char *bytes = size > 0 ? malloc(size) : NULL;
    const bool read =
        bytes != NULL && cmsReadRawTag(profile, tag, bytes, size) == size && curve_parse(bytes, size, curve);
    free(bytes);
    return read;
}

/* Solves a 3x3 system by Cramer's rule. False: the matrix is singular. */
bool lcms_invert(double m[3][3], double inverse[3][3])
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

static const double D50[3] = {0.9642, 1, 0.8249};

/* Sets `product` to a b. */
static void multiply(double a[3][3], double b[3][3], double product[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            product[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
}

/* Computes the linear Bradford transform from a white to D50 (ICC.1:2022, annex E). */
static void adapt_white(const double white[3], double adapt[3][3])
{
    double bradford[3][3] = {{0.8951, 0.2664, -0.1614}, {-0.7502, 1.7135, 0.0367}, {0.0389, -0.0685, 1.0296}};
    double back[3][3], scaled[3][3];
    for (int i = 0; i < 3; i++) {
        double source = 0, target = 0;
        for (int j = 0; j < 3; j++) {
            source += bradford[i][j] * white[j];
            target += bradford[i][j] * D50[j];
        }
        for (int j = 0; j < 3; j++)
            scaled[i][j] = bradford[i][j] * target / source;
    }
    lcms_invert(bradford, back);
    multiply(back, scaled, adapt);
}

/* Sets luminances and primaries by the matrix before its adaptation to D50. */
static void set_native(struct colour_space *space, double native[3][3])
{
    const double white = native[1][0] + native[1][1] + native[1][2];
    for (int c = 0; c < 3; c++) {
        const double sum = native[0][c] + native[1][c] + native[2][c];
        space->luminance[c] = white > 0 ? native[1][c] / white : 1 / 3.0;
        space->primaries[c][0] = sum > 0 ? native[0][c] / sum : 0;
        space->primaries[c][1] = sum > 0 ? native[1][c] / sum : 0;
    }
}

/* Sets the luminance of the channels. XYZ in a profile are adapted to D50. Their luminance is that of the
 * primaries after `chad`, or else Bradford's transform from the white of a version 2 profile, is undone. */
static void set_luminance(struct colour_space *space, cmsHPROFILE profile)
{
    const cmsCIEXYZ *chad = cmsReadTag(profile, cmsSigChromaticAdaptationTag);
    const cmsCIEXYZ *white = cmsReadTag(profile, cmsSigMediaWhitePointTag);
    double adapt[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, back[3][3], native[3][3];
    for (int i = 0; chad != NULL && i < 3; i++) {
        adapt[i][0] = chad[i].X;
        adapt[i][1] = chad[i].Y;
        adapt[i][2] = chad[i].Z;
    }
    if (chad == NULL && white != NULL)
        adapt_white((double[3]){white->X, white->Y, white->Z}, adapt);
    if (lcms_invert(adapt, back))
        multiply(back, space->to_xyz, native);
    else
        memcpy(native, space->to_xyz, sizeof native);
    set_native(space, native);
}

/* Sets matrix and luminance from primaries (SMPTE RP 177), without the rounding of a profile. */
static void set_primaries(struct colour_space *space, const double *xy)
{
    double columns[3][3], back[3][3], adapt[3][3], white[3] = {0};
    for (int c = 0; c < 4; c++) {
        const double x = xy[2 * c], y = xy[2 * c + 1], xyz[3] = {x / y, 1, (1 - x - y) / y};
        for (int i = 0; i < 3; i++)
            *(c == 0 ? &white[i] : &columns[i][c - 1]) = xyz[i];
    }
    if (!lcms_invert(columns, back))
        return;
    for (int c = 0; c < 3; c++) {
        const double light = back[c][0] * white[0] + back[c][1] * white[1] + back[c][2] * white[2];
        for (int i = 0; i < 3; i++)
            columns[i][c] *= light;
    }
    set_native(space, columns);
    adapt_white(white, adapt);
    multiply(adapt, columns, space->to_xyz);
}

/* Sets what is known of curves and primaries: the exponent of power laws, and sRGB. Luminances near
 * BT.709's are replaced by these: profiles of sRGB differ in the third digit, and some are adapted to D50
 * without saying so. */
static void recognise(struct colour_space *space)
{
    static const double xyz[3][3] = {{0.43607, 0.38515, 0.14307},
                                     {0.22249, 0.71687, 0.06061},
                                     {0.01392, 0.09708, 0.71410}},
                        luminance[3] = {0.2126, 0.7152, 0.0722};
    const struct tone_curve srgb = curve_srgb(), *first = &space->curves[0];
    bool has_primaries = space->is_matrix, has_curves = true, is_power = true;
    for (int i = 0; i < 3; i++)
        for (int c = 0; c < 3 && space->channels == 3; c++)
            has_primaries = has_primaries && fabs(space->to_xyz[i][c] - xyz[i][c]) < 0.003;
    if (has_primaries && space->channels == 3)
        memcpy(space->luminance, luminance, sizeof luminance);
    for (int c = 0; c < space->channels; c++) {
        const struct tone_curve *curve = &space->curves[c];
        has_curves = has_curves && curve_is_near(curve, &srgb, 0.005);
        is_power = is_power && curve->kind == TONE_PARAMETERS && curve->a == 1 && curve->b == 0 &&
                   curve->d <= 0 && curve->e == 0 && curve->g == first->g;
    }
    space->is_srgb = has_primaries && has_curves;
    space->exponent = has_curves ? 0 : is_power ? first->g : -1;
}

/* Reads curves and matrix; false: the profile has tables, or other curves than increasing ones. */
static bool read_matrix(struct colour_space *space, cmsHPROFILE profile)
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
        return read_curve(profile, cmsSigGrayTRCTag, &space->curves[0]);
    }
    for (int c = 0; c < 3; c++) {
        const cmsCIEXYZ *xyz = cmsReadTag(profile, columns[c]);
        if (xyz == NULL || !read_curve(profile, curves[c], &space->curves[c]))
            return false;
        space->to_xyz[0][c] = xyz->X;
        space->to_xyz[1][c] = xyz->Y;
        space->to_xyz[2][c] = xyz->Z;
    }
    double inverse[3][3];
    set_luminance(space, profile);
    return lcms_invert(space->to_xyz, inverse);
}

static void free_curves(struct colour_space *space)
{
    for (int c = 0; c < 3; c++) {
        free(space->curves[c].table);
        space->curves[c] = curve_power(1);
    }
}

/* Samples the light of grays, and the luminance of the channels, of a space that only Little CMS reads. */
static enum status sample_light(struct colour_space *space, cmsContext context, cmsHPROFILE profile,
                                const char *text, struct error *error)
{
    enum { SAMPLES = 1024 };
    const cmsUInt32Number type = space->channels == 1 ? TYPE_GRAY_FLT : TYPE_RGB_FLT;
    cmsHPROFILE xyz = cmsCreateXYZProfileTHR(context);
    cmsHTRANSFORM transform = xyz == NULL ? NULL
                                          : cmsCreateTransformTHR(context, profile, type, xyz, TYPE_XYZ_DBL,
                                                                  INTENT_RELATIVE_COLORIMETRIC,
                                                                  cmsFLAGS_NOOPTIMIZE | cmsFLAGS_NOCACHE);
    float *table = malloc(SAMPLES * sizeof *table);
    const double begin = lcms_seconds();
    bool works = transform != NULL && table != NULL;
    for (int i = 0; works && i < SAMPLES; i++) {
        works = lcms_seconds() - begin < LCMS_SECONDS_MAX;
        const float v = (float)i / (SAMPLES - 1), value[3] = {v, v, v};
        cmsCIEXYZ light = {0, 0, 0};
        cmsDoTransform(transform, value, &light, 1);
        const float y = (float)(rint(light.Y * 0x1p20) * 0x1p-20); /* libm's last bits do not matter */
        table[i] = y > 0 && y < 1 ? y : y > 0;
        if (i > 0 && table[i] < table[i - 1])
            table[i] = table[i - 1];
    }
    for (int c = 0; works && c < 3; c++) {
        struct tone_curve *curve = &space->curves[c];
        float value[3] = {0};
        cmsCIEXYZ light = {0, 0, 0};
        value[c] = 1;
        cmsDoTransform(transform, value, &light, 1);
        space->luminance[c] = fmax(rint(light.Y * 0x1p14) * 0x1p-14, 0x1p-14);
        *curve = (struct tone_curve){.kind = TONE_TABLE, .count = SAMPLES};
        curve->table = malloc(SAMPLES * sizeof *table);
        if (curve->table != NULL)
            memcpy(curve->table, table, SAMPLES * sizeof *table);
        else
            *curve = curve_power(1);
    }
    const double sum = space->luminance[0] + space->luminance[1] + space->luminance[2];
    for (int c = 0; works && c < 3; c++)
        space->luminance[c] /= sum;
    free(table);
    if (transform != NULL)
        cmsDeleteTransform(transform);
    if (xyz != NULL)
        cmsCloseProfile(xyz);
    return works ? STATUS_OK : lcms_fail(text, error);
}

/* Copies the profile's description; what is not printable ASCII becomes "?". */
static void read_name(struct colour_space *space, cmsHPROFILE profile)
{
    cmsGetProfileInfoASCII(profile, cmsInfoDescription, "en", "US", space->name, sizeof space->name);
    space->name[sizeof space->name - 1] = '\0';
    for (char *at = space->name; *at != '\0'; at++)
        *at = (char)(*at >= ' ' && *at <= '~' ? *at : '?');
    if (space->name[0] == '\0')
        snprintf(space->name, sizeof space->name, "unnamed");
}

/* Reads a profile into a zeroed space, which then owns memory also on failure. */
static enum status read_profile(struct colour_space *space, const void *icc, size_t size, struct error *error)
{
    char text[LCMS_TEXT];
    if (size > PROFILE_MAX)
        return fail(error, STATUS_FAILED, "ICC profile cannot be used: it has more than 64 MiB");
    cmsContext context = lcms_open(text);
    cmsHPROFILE profile = context ? cmsOpenProfileFromMemTHR(context, icc, (cmsUInt32Number)size) : NULL;
    enum status status = profile != NULL ? STATUS_OK : lcms_fail(text, error);
    if (status == STATUS_OK) {
        const cmsColorSpaceSignature colours = cmsGetColorSpace(profile);
        const cmsProfileClassSignature class = cmsGetDeviceClass(profile);
        const cmsCIEXYZ *white = cmsReadTag(profile, cmsSigMediaWhitePointTag);
        const bool has_white = white != NULL && white->X > 0 && white->Y > 0 && white->Z > 0 &&
                               (class != cmsSigDisplayClass || cmsGetProfileVersion(profile) >= 4);
        const double whites[3] = {has_white ? white->X : D50[0], has_white ? white->Y : D50[1],
                                  has_white ? white->Z : D50[2]};
        memcpy(space->white, whites, sizeof whites);
        space->peak = 1;
        space->channels = colours == cmsSigGrayData   ? 1
                          : colours == cmsSigRgbData  ? 3
                          : colours == cmsSigCmykData ? 4
                                                      : 0;
        read_name(space, profile);
        if (space->channels == 0 || class == cmsSigLinkClass || class == cmsSigAbstractClass ||
            class == cmsSigNamedColorClass)
            status = lcms_fail("it is not of gray, RGB or CMYK", error);
        else if (lcms_has_many_elements(profile, MANY_ELEMENTS))
            status = lcms_fail("it has too many processing elements", error);
        space->is_matrix = status == STATUS_OK && space->channels != 4 && read_matrix(space, profile);
        if (!space->is_matrix)
            free_curves(space);
        if (status == STATUS_OK && !space->is_matrix && space->channels != 4)
            status = sample_light(space, context, profile, text, error);
        if (space->channels != 4)
            recognise(space);
    }
    if (status == STATUS_OK)
        status = metadata_set_blob(&space->icc, icc, size, error);
    if (profile != NULL)
        cmsCloseProfile(profile);
    if (context != NULL)
        cmsDeleteContext(context);
    return status;
}

/* ---------------------------------------------------------------- the list */

/* Frees a space that is in no list; NULL is allowed. */
static void free_entry(struct entry *entry)
{
    if (entry == NULL)
        return;
    free_curves(&entry->space);
    blob_free(&entry->space.icc);
    for (int i = 0; i < 6; i++)
        free(entry->tables[i / 3][i % 3]);
    free(entry);
}

/* Frees unused spaces, if there are many. */
static void free_unused(void)
{
    for (struct entry **at = &spaces.first; spaces.count > KEPT_SPACES && *at != NULL;) {
        struct entry *entry = *at;
        if (entry->uses > 0) {
            at = &entry->next;
            continue;
        }
        colour_links_drop(&entry->space);
        colour_links_drop(entry->space.gray);
        *at = entry->next;
        spaces.count--;
        free_entry((struct entry *)entry->space.gray);
        free_entry(entry);
    }
}

/* Makes the gray space with the green curve. NULL if memory is out. */
static const struct colour_space *make_gray(const struct colour_space *rgb)
{
    struct entry *entry = calloc(1, sizeof *entry);
    struct colour_space *space = &entry->space;
    struct error ignored;
    if (entry == NULL)
        return NULL;
    *space = (struct colour_space){.channels = 1, .is_matrix = true, .luminance = {1}, .peak = rgb->peak};
    memcpy(space->white, D50, sizeof D50);
    for (int i = 0; i < 3; i++)
        space->to_xyz[i][0] = D50[i];
    const struct tone_curve *curve = &rgb->curves[1];
    space->curves[0] = *curve;
    if (curve->kind == TONE_TABLE) {
        space->curves[0].table = malloc(curve->count * sizeof *curve->table);
        if (space->curves[0].table == NULL)
            space->curves[0] = curve_srgb();
        else
            memcpy(space->curves[0].table, curve->table, curve->count * sizeof *curve->table);
    }
    snprintf(space->name, sizeof space->name, "gray of %.60s", rgb->name);
    recognise(space);
    if (write_profile(space->name, NULL, &space->curves[0], space->peak, &space->icc, &ignored) != STATUS_OK)
        space->icc = (struct blob){NULL, 0};
    return space;
}

/* Opens a space: an earlier one of the same bytes, or a new one. `curve` may be NULL; else it replaces those
 * of the profile and has the number `number`, and primaries replace the matrix. */
static enum status open_space(const void *icc, size_t size, const double *xy, const struct tone_curve *curve,
                              int number, double peak, const struct colour_space **space, struct error *error)
{
    enum status status = STATUS_OK;
    *space = NULL;
    pthread_mutex_lock(&spaces.lock);
    struct entry *entry = spaces.first;
    while (entry != NULL && !(entry->curve == number && entry->space.icc.size == size &&
                              memcmp(entry->space.icc.data, icc, size) == 0))
        entry = entry->next;
    if (entry == NULL) {
        entry = allocate_zeroed(1, sizeof *entry, "a colour space", error);
        status = entry == NULL ? STATUS_FAILED : read_profile(&entry->space, icc, size, error);
        if (status == STATUS_OK && curve != NULL && entry->space.is_matrix) {
            free_curves(&entry->space);
            for (int c = 0; c < 3; c++)
                entry->space.curves[c] = *curve;
            if (xy != NULL)
                set_primaries(&entry->space, xy);
            recognise(&entry->space);
        }
        if (status == STATUS_OK) {
            entry->curve = number;
            entry->space.peak = peak;
            entry->space.gray = entry->space.channels == 3 ? make_gray(&entry->space) : NULL;
            free_unused();
            entry->next = spaces.first;
            spaces.first = entry;
            spaces.count++;
        } else if (entry != NULL) {
            free_entry(entry);
            entry = NULL;
        }
    }
    if (entry != NULL) {
        entry->uses++;
        *space = &entry->space;
    }
    pthread_mutex_unlock(&spaces.lock);
    return status;
}

enum status colour_space_load(const void *icc, size_t size, const struct colour_space **space,
                              struct error *error)
{
    return open_space(icc, size, NULL, NULL, 0, 1, space, error);
}

enum status colour_space_load_file(const char *path, const struct colour_space **space, struct error *error)
{
    size_t size = 0;
    void *icc = cache_read(path, &size);
    *space = NULL;
    enum status status = icc != NULL ? colour_space_load(icc, size, space, error)
                                     : fail(error, STATUS_FAILED, "cannot be read as an ICC profile");
    if (status != STATUS_OK)
        error_prefix(error, path);
    free(icc);
    return status;
}

/* Opens a space of primaries (NULL: gray) and a curve. `number` is that of the curve. */
static enum status open_made(const char *name, const double *xy, const struct tone_curve *curve, int number,
                             const struct colour_space **space, struct error *error)
{
    /* White is 203 cd/m2 (ITU-R BT.2408): 0.0203 of PQ's full scale, and 75% of HLG's signal. */
    const double peak = curve->kind == TONE_PQ    ? 10000 / 203.0
                        : curve->kind == TONE_HLG ? 1 / curve_decode(curve, 0.75)
                                                  : 1;
    struct blob icc;
    enum status status = write_profile(name, xy, curve, peak, &icc, error);
    if (status == STATUS_OK)
        status = open_space(icc.data, icc.size, xy, curve, number, peak, space, error);
    blob_free(&icc);
    return status;
}

enum status colour_space_of_file(const struct metadata *metadata, int colours,
                                 const struct colour_space **space, struct error *error)
{
    enum { UNSPECIFIED = 2, BY_GAMMA = 1000 };
    struct tone_curve curve;
    char name[80];
    *space = NULL;
    if (metadata->has_cicp && metadata->cicp[1] != UNSPECIFIED) {
        const double *xy = primaries_of_cicp(metadata->cicp[0]);
        if (!curve_of_cicp(metadata->cicp[1], &curve) || (colours == 3 && xy == NULL) ||
            metadata->cicp[3] == 0)
            return fail(error, STATUS_FAILED, "cICP %d/%d/%d/%d is not supported", metadata->cicp[0],
                        metadata->cicp[1], metadata->cicp[2], metadata->cicp[3]);
        snprintf(name, sizeof name, "cICP %d/%d", metadata->cicp[0], metadata->cicp[1]);
        return open_made(name, colours == 3 ? xy : NULL, &curve, metadata->cicp[1], space, error);
    }
    if (metadata->icc.data != NULL) {
        enum status status = colour_space_load(metadata->icc.data, metadata->icc.size, space, error);
        const bool is_gray_of_rgb = status == STATUS_OK && (*space)->gray != NULL && colours == 1;
        if (status == STATUS_OK && (*space)->channels != colours && !is_gray_of_rgb) {
            colour_space_release(*space);
            *space = NULL;
            return lcms_fail("it is for another number of channels", error);
        }
        return status;
    }
    if (metadata->srgb || (metadata->gamma <= 0 && !metadata->has_chromaticities))
        return STATUS_OK;
    curve = metadata->gamma > 0 ? curve_power(1 / metadata->gamma) : curve_srgb();
    const double *xy = metadata->has_chromaticities ? metadata->chromaticities : REC709;
    snprintf(name, sizeof name, "gAMA %.5f", metadata->gamma);
    return open_made(name, colours == 3 ? xy : NULL, &curve, BY_GAMMA, space, error);
}

const struct colour_space *colour_space_builtin(enum colour_builtin which)
{
    static const struct {
        const char *name;
        chromaticities xy; /* white x 0: gray */
        int curve;         /* 13 sRGB, 8 linear, of H.273; 0: Adobe's gamma */
    } table[] = {
        [COLOUR_SRGB] = {"sRGB", {0.3127, 0.329, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06}, 13},
        [COLOUR_P3] = {"Display P3", {0.3127, 0.329, 0.68, 0.32, 0.265, 0.69, 0.15, 0.06}, 13},
        [COLOUR_ADOBE] = {"Compatible with Adobe RGB (1998)",
                          {0.3127, 0.329, 0.64, 0.33, 0.21, 0.71, 0.15, 0.06},
                          0},
        [COLOUR_GRAY] = {"Gray with the curve of sRGB", {0}, 13},
        [COLOUR_LINEAR] = {"Linear sRGB", {0.3127, 0.329, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06}, 8},
        [COLOUR_LINEAR_GRAY] = {"Linear gray", {0}, 8},
    };
    struct tone_curve curve = curve_power(563 / 256.0); /* Adobe RGB (1998) Color Image Encoding, 4.3.4.2 */
    struct error ignored;
    const struct colour_space *space;
    if (table[which].curve > 0)
        curve_of_cicp(table[which].curve, &curve);
    pthread_mutex_lock(&spaces.lock);
    space = spaces.builtin[which];
    pthread_mutex_unlock(&spaces.lock);
    if (space != NULL || open_made(table[which].name, table[which].xy[0] > 0 ? table[which].xy : NULL, &curve,
                                   table[which].curve + 256, &space, &ignored) != STATUS_OK)
        return space;
    pthread_mutex_lock(&spaces.lock);
    spaces.builtin[which] = space; /* a use that never ends */
    pthread_mutex_unlock(&spaces.lock);
    return space;
}

const char *colour_space_curve_name(const struct colour_space *space)
{
    static _Thread_local char power[48];
    const struct tone_curve *curve = &space->curves[0];
    struct tone_curve video;
    curve_of_cicp(1, &video);
    snprintf(power, sizeof power, "a power of %.5g", space->exponent);
    return space->channels == 4                  ? "of inks"
           : space->exponent == 0                ? "sRGB"
           : space->exponent == 1                ? "linear"
           : space->exponent > 0                 ? power
           : curve->kind == TONE_PQ              ? "PQ"
           : curve->kind == TONE_HLG             ? "HLG"
           : !space->is_matrix                   ? "tables"
           : curve_is_near(curve, &video, 0.001) ? "BT.709"
           : curve->kind == TONE_TABLE           ? "a table"
                                                 : "a power and a line";
}

void colour_space_release(const struct colour_space *space)
{
    if (space == NULL)
        return;
    pthread_mutex_lock(&spaces.lock);
    ((struct entry *)space)->uses--;
    pthread_mutex_unlock(&spaces.lock);
}

double colour_space_light(const struct colour_space *space, int channel, double value)
{
    return curve_decode(&space->curves[space->channels == 1 ? 0 : channel], value);
}

static double table_decode(const void *curve, double v)
{
    return curve_decode(curve, v);
}

static double table_encode(const void *curve, double light)
{
    return curve_encode(curve, light);
}

const float *colour_space_table(const struct colour_space *space, int channel, bool encodes)
{
    struct entry *entry = (struct entry *)space;
    pthread_mutex_lock(&spaces.lock);
    float **table = &entry->tables[encodes][channel];
    if (*table == NULL) {
        *table = malloc(CURVE_TABLE_SIZE * sizeof **table);
        if (*table != NULL)
            curve_fill(*table, space->curves[channel].kind != TONE_TABLE,
                       encodes ? table_encode : table_decode, &space->curves[channel]);
    }
    const float *found = *table;
    pthread_mutex_unlock(&spaces.lock);
    return found;
}
