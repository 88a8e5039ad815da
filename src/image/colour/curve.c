/* Tone curves of ICC profiles, of ITU-T H.273 and of power laws, as functions of doubles.
 *
 * All five forms of parametricCurveType are special cases of the form with seven parameters, which sRGB,
 * BT.709 and power laws use, too. A formula or a binary search inverts a curve: cmsReverseToneCurve samples
 * the inverse, and is off by up to 0.002 near black. Powers are base/exact.h's, so tables have the same bits
 * with every libm. Sources: ICC.1:2022, 10.6 and 10.18; ITU-T H.273 (2021), table 3; SMPTE ST 2084; ITU-R
 * BT.2100, table 5. */
#include "image/colour/internal.h"

#include "base/exact.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads a big-endian number of `size` bytes. */
static uint32_t read_be(const unsigned char *at, size_t size)
{
    uint32_t number = 0;
    for (size_t i = 0; i < size; i++)
        number = number << 8 | at[i];
    return number;
}

struct tone_curve curve_power(double exponent)
{
    return (struct tone_curve){.kind = TONE_PARAMETERS, .g = exponent, .a = 1};
}

struct tone_curve curve_srgb(void)
{
    return (struct tone_curve){
        .kind = TONE_PARAMETERS, .g = 2.4, .a = 1 / 1.055, .b = 0.055 / 1.055, .c = 1 / 12.92, .d = 0.04045};
}

/* Parses a curveType: no number (linear), an exponent, or a table. */
static bool parse_table(const unsigned char *tag, size_t size, struct tone_curve *curve, bool *out_of_memory)
{
    enum { HEADER_SIZE = 12, ENTRY = 2 };
    if (size < HEADER_SIZE)
        return false;
    const uint32_t count = read_be(tag + 8, 4);
    if (count > (size - HEADER_SIZE) / ENTRY)
        return false;
    *curve = curve_power(count == 1 ? read_be(tag + HEADER_SIZE, 2) / 256.0 : 1);
    if (count <= 1)
        return curve->g > 0;
    float *table = malloc(count * sizeof *table);
    *out_of_memory = table == NULL;
    for (uint32_t i = 0; table != NULL && i < count; i++) {
        table[i] = (float)(read_be(tag + HEADER_SIZE + (size_t)ENTRY * i, 2) / 65535.0);
        if (i > 0 && table[i] < table[i - 1]) {
            free(table);
            return false;
        }
    }
    *curve = (struct tone_curve){.kind = TONE_TABLE, .table = table, .count = count};
    return table != NULL;
}

/* Parses a parametricCurveType. Form 0 is v^g. The others are (a v + b)^g [+ e] for v >= d (or -b/a), and a
 * constant or a line below. */
static bool parse_parameters(const unsigned char *tag, size_t size, struct tone_curve *curve)
{
    enum { HEADER_SIZE = 12, FORMS = 5 };
    static const size_t counts[FORMS] = {1, 3, 4, 5, 7};
    const uint32_t form = size >= HEADER_SIZE ? read_be(tag + 8, 2) : FORMS;
    double p[7] = {1, 1, 0, 0, 0, 0, 0}; /* g, a, b, c, d, e, f */
    if (form >= FORMS || size < HEADER_SIZE + 4 * counts[form])
        return false;
    for (size_t i = 0; i < counts[form]; i++)
        p[i] = (int32_t)read_be(tag + HEADER_SIZE + 4 * i, 4) / 65536.0; /* s15Fixed16Number */
    if (!(p[0] > 0) || !(p[1] > 0))
        return false;
    *curve = (struct tone_curve){.kind = TONE_PARAMETERS, .g = p[0], .a = p[1], .b = p[2]};
    if (form == 1 || form == 2)
        curve->d = -p[2] / p[1];
    if (form == 2)
        curve->e = curve->f = p[3];
    if (form > 2) {
        curve->c = p[3];
        curve->d = p[4];
        curve->e = p[5];
        curve->f = p[6];
    }
    /* If the line ends above the rest, the curve decreases at d. 0.001 is more than rounded parameters
     * cause. */
    const double line_end = curve->c * curve->d + curve->f;
    return curve->c >= 0 &&
           (curve->d <= 0 || curve->d > 1 || line_end <= curve_decode(curve, curve->d) + 0.001);
}

bool curve_parse(const unsigned char *tag, size_t size, struct tone_curve *curve, bool *out_of_memory)
{
    return size >= 8 && (memcmp(tag, "curv", 4) == 0   ? parse_table(tag, size, curve, out_of_memory)
                         : memcmp(tag, "para", 4) == 0 ? parse_parameters(tag, size, curve)
                                                       : false);
}

bool curve_of_cicp(int transfer, struct tone_curve *curve)
{
    enum { GAMMA_22 = 4, GAMMA_28 = 5, LINEAR = 8, SRGB = 13, PQ = 16, HLG = 18 };
    switch (transfer) {
    case 1:
    case 6:
    case 14:
    case 15: /* BT.709, BT.601, BT.2020 of 10 and 12 bits */
        *curve = (struct tone_curve){.kind = TONE_PARAMETERS,
                                     .g = 1 / 0.45,
                                     .a = 1 / 1.099,
                                     .b = 0.099 / 1.099,
                                     .c = 1 / 4.5,
                                     .d = 0.081};
        return true;
    case GAMMA_22:
    case GAMMA_28:
    case LINEAR:
        *curve = curve_power(transfer == LINEAR ? 1 : transfer == GAMMA_22 ? 2.2 : 2.8);
        return true;
    case SRGB:
        *curve = curve_srgb();
        return true;
    case PQ:
    case HLG:
        *curve = (struct tone_curve){.kind = transfer == PQ ? TONE_PQ : TONE_HLG};
        return true;
    default:
        return false;
    }
}

/* Constants of SMPTE ST 2084 and of BT.2100's HLG. */
static const double PQ_M1 = 2610 / 16384.0, PQ_M2 = 2523 / 4096.0 * 128, PQ_C1 = 3424 / 4096.0,
                    PQ_C2 = 2413 / 4096.0 * 32, PQ_C3 = 2392 / 4096.0 * 32;
static const double HLG_A = 0.17883277, HLG_B = 0.28466892, HLG_C = 0.55991073;

double curve_decode(const struct tone_curve *curve, double v)
{
    v = v > 0 ? v : 0;
    if (curve->kind == TONE_PARAMETERS) {
        const double base = curve->a * v + curve->b;
        if (v < curve->d)
            return curve->c * v + curve->f;
        return (curve->g == 1 ? base : exact_pow(base > 0 ? base : 0, curve->g)) + curve->e;
    }
    v = v < 1 ? v : 1;
    if (curve->kind == TONE_TABLE) {
        const double at = v * (curve->count - 1);
        const uint32_t low = at >= curve->count - 1 ? curve->count - 2 : (uint32_t)at;
        const double before = curve->table[low], after = curve->table[low + 1];
        return before + (at - low) * (after - before);
    }
    if (curve->kind == TONE_HLG)
        return v <= 0.5 ? v * v / 3 : (exact_exp((v - HLG_C) / HLG_A) + HLG_B) / 12;
    const double n = exact_pow(v, 1 / PQ_M2);
    return exact_pow(n > PQ_C1 ? (n - PQ_C1) / (PQ_C2 - PQ_C3 * n) : 0, 1 / PQ_M1);
}

/* Inverts a table: returns the largest v with curve_decode(v) <= light. */
static double encode_table(const struct tone_curve *curve, double light)
{
    uint32_t low = 0, high = curve->count - 1; /* table[low] <= light, unless all entries are larger */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        *(curve->table[middle] <= light ? &low : &high) = middle;
    }
    const double before = curve->table[low], after = curve->table[low + 1];
    const double fraction = after > before ? (light - before) / (after - before) : light >= after;
    return (low + (fraction < 0 ? 0 : fraction < 1 ? fraction : 1)) / (curve->count - 1);
}

double curve_encode(const struct tone_curve *curve, double light)
{
    light = light > 0 ? light : 0;
    if (curve->kind == TONE_PARAMETERS) {
        const double base = light - curve->e, v = light - curve->f;
        if (light >= curve_decode(curve, curve->d)) {
            const double root = curve->g == 1 ? base : exact_pow(base > 0 ? base : 0, 1 / curve->g);
            return (root - curve->b) / curve->a;
        }
        /* Below d the curve is a line. If it jumps at d, light inside the jump maps to d. */
        return curve->c > 0 && v < curve->c * curve->d ? (v > 0 ? v / curve->c : 0)
                                                       : (curve->d > 0 ? curve->d : 0);
    }
    light = light < 1 ? light : 1;
    if (curve->kind == TONE_TABLE)
        return encode_table(curve, light);
    if (curve->kind == TONE_HLG)
        return light <= 1 / 12.0 ? sqrt(3 * light) : HLG_A * exact_log(12 * light - HLG_B) + HLG_C;
    const double n = exact_pow(light, PQ_M1);
    return exact_pow((PQ_C1 + PQ_C2 * n) / (1 + PQ_C3 * n), PQ_M2);
}

void curve_fill(float *table, bool is_mirrored, double (*function)(const void *context, double v),
                const void *context)
{
    enum { FIRST = -24 };
    table[0] = is_mirrored;
    for (int i = -1; i < CURVE_TABLE_SIZE - 2; i++) {
        const double v =
            i < 0 ? 0 : ldexp(1 + i % CURVE_STEPS / (double)CURVE_STEPS, FIRST + i / CURVE_STEPS);
        /* Exponents of profiles may be up to 32767. Clip to FLT_MAX, as inf - inf in the kernel's
         * interpolation would be NaN. */
        table[2 + i] = (float)fmin(function(context, v), FLT_MAX);
    }
}

bool curve_is_equal(const struct tone_curve *a, const struct tone_curve *b)
{
    if (a->kind == TONE_TABLE && b->kind == TONE_TABLE)
        return a->count == b->count && memcmp(a->table, b->table, a->count * sizeof *a->table) == 0;
    return a->kind == b->kind && a->g == b->g && a->a == b->a && a->b == b->b && a->c == b->c &&
           a->d == b->d && a->e == b->e && a->f == b->f;
}

bool curve_is_near(const struct tone_curve *a, const struct tone_curve *b, double tolerance)
{
    enum { VALUES = 64 };
    for (int i = 0; i < VALUES; i++) {
        const double v = (double)i / (VALUES - 1);
        if (!(fabs(curve_decode(a, v) - curve_decode(b, v)) <= tolerance))
            return false;
    }
    return true;
}
