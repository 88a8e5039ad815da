/* Contexts of Little CMS, and ICC profiles that climg makes: of built-in spaces, cICP, gAMA with cHRM, and of
 * the grays of an RGB space. */
#include "image/colour/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Error handler of a context: copies the first message. */
static void log_error(cmsContext context, cmsUInt32Number code, const char *text)
{
    char *to = cmsGetContextUserData(context);
    (void)code;
    if (to[0] == '\0')
        snprintf(to, LCMS_MESSAGE, "%s", text);
}

cmsContext lcms_open(char message[LCMS_MESSAGE], struct error *error)
{
    message[0] = '\0';
    cmsContext context = cmsCreateContext(NULL, message);
    if (context != NULL)
        cmsSetLogErrorHandlerTHR(context, log_error);
    else
        fail_memory(error, "out of memory for Little CMS");
    return context;
}

enum status lcms_fail(const char *reason, struct error *error)
{
    return fail(error, STATUS_FAILED, "ICC profile cannot be used: %s",
                reason[0] != '\0' ? reason : "it is damaged or incomplete");
}

bool lcms_has_many_elements(cmsHPROFILE profile, uint32_t max_count)
{
    static const cmsTagSignature tags[] = {cmsSigDToB0Tag, cmsSigDToB1Tag, cmsSigDToB2Tag, cmsSigDToB3Tag,
                                           cmsSigBToD0Tag, cmsSigBToD1Tag, cmsSigBToD2Tag, cmsSigBToD3Tag};
    /* multiProcessElementsType: signature, 4 zeros, numbers of channels, number of elements at byte 12. */
    enum { HEAD = 16, COUNT_AT = 12, LARGE = 1 << 20 };
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        unsigned char head[HEAD] = {0};
        const cmsUInt32Number size = cmsReadRawTag(profile, tags[i], NULL, 0);
        if (size > 0)
            cmsReadRawTag(profile, tags[i], head, HEAD);
        const uint32_t count = (uint32_t)head[COUNT_AT] << 24 | (uint32_t)head[COUNT_AT + 1] << 16 |
                               (uint32_t)head[COUNT_AT + 2] << 8 | head[COUNT_AT + 3];
        if (size > LARGE || count > max_count)
            return true;
    }
    return false;
}

double thread_cpu_seconds(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---------------------------------------------------------------- profiles that climg writes */

const double *profile_cicp_primaries(int number)
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

/* Creates a curve of Little CMS: a parametric one, whose `peak` must be 1, if possible; else 4096 samples of
 * `peak` times the light, clipped at 1. */
static cmsToneCurve *make_curve(cmsContext context, const struct tone_curve *curve, double peak)
{
    enum { SAMPLES = 4096 };
    if (curve->kind == TONE_PARAMETERS) {
        const double p[7] = {curve->g, curve->a, curve->b, curve->c, curve->d, curve->e, curve->f};
        const bool is_power = curve->a == 1 && curve->b == 0 && curve->d == 0 && curve->e == 0;
        return cmsBuildParametricToneCurve(context, is_power ? 1 : curve->e == 0 && curve->f == 0 ? 4 : 5, p);
    }
    cmsUInt16Number *table = malloc(SAMPLES * sizeof *table);
    for (int i = 0; table != NULL && i < SAMPLES; i++)
        table[i] =
            (cmsUInt16Number)rint(65535 * fmin(1, peak * curve_decode(curve, (double)i / (SAMPLES - 1))));
    cmsToneCurve *sampled = table != NULL ? cmsBuildTabulatedToneCurve16(context, SAMPLES, table) : NULL;
    free(table);
    return sampled;
}

/* Sets version, name and copyright of a profile. False: out of memory. */
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

enum status profile_write(const char *name, const double *xy, const struct tone_curve *curve, double peak,
                          struct blob *icc, struct error *error)
{
    enum { DATE_AT = 24, DATE_SIZE = 12 };
    /* 2026-01-01 replaces the current time, so that equal arguments give equal bytes. */
    static const unsigned char date[DATE_SIZE] = {0x07, 0xea, 0, 1, 0, 1};
    char message[LCMS_MESSAGE];
    *icc = (struct blob){NULL, 0};
    cmsContext context = lcms_open(message, error);
    if (context == NULL)
        return STATUS_FAILED;
    cmsToneCurve *tone = make_curve(context, curve, peak), *curves[] = {tone, tone, tone};
    cmsHPROFILE profile = NULL;
    cmsUInt32Number size = 0;
    if (tone != NULL && xy != NULL) {
        const cmsCIExyY white = {xy[0], xy[1], 1};
        const cmsCIExyYTRIPLE primaries = {{xy[2], xy[3], 1}, {xy[4], xy[5], 1}, {xy[6], xy[7], 1}};
        profile = cmsCreateRGBProfileTHR(context, &white, &primaries, curves);
    } else if (tone != NULL) {
        profile = cmsCreateGrayProfileTHR(context, cmsD50_xyY(), tone);
    }
    enum status status = STATUS_OK;
    if (tone == NULL || (profile != NULL && !set_texts(context, profile, name)))
        status = fail_memory(error, "out of memory for an ICC profile");
    else if (profile == NULL || !cmsSaveProfileToMem(profile, NULL, &size))
        status = lcms_fail(message, error);
    if (status == STATUS_OK) {
        *icc = (struct blob){allocate(size, "an ICC profile", error), size};
        status = icc->data == NULL ? STATUS_FAILED
                 : cmsSaveProfileToMem(profile, icc->data, &size) && size > DATE_AT + DATE_SIZE
                     ? STATUS_OK
                     : lcms_fail(message, error);
    }
    if (status == STATUS_OK)
        memcpy(icc->data + DATE_AT, date, DATE_SIZE);
    else
        blob_free(icc);
    cmsCloseProfile(profile);
    if (tone != NULL)
        cmsFreeToneCurve(tone);
    cmsDeleteContext(context);
    return status;
}
