/* Reading of ICC profiles while memory is out: an error, never other curves. The linker replaces climg's
 * malloc and calloc. */
#include "image/colour/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static int allocations_left = -1; /* until one fails; negative: none fails */

static bool fails(void)
{
    return allocations_left >= 0 && allocations_left-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

/* Writes a profile of RGB with these samples of each curve. */
static struct blob profile_of(const uint16_t *samples, unsigned count)
{
    const double *xy = profile_cicp_primaries(1); /* BT.709 */
    const cmsCIExyY white = {xy[0], xy[1], 1};
    const cmsCIExyYTRIPLE primaries = {{xy[2], xy[3], 1}, {xy[4], xy[5], 1}, {xy[6], xy[7], 1}};
    cmsToneCurve *curve = cmsBuildTabulatedToneCurve16(NULL, count, samples),
                 *curves[] = {curve, curve, curve};
    cmsHPROFILE profile = cmsCreateRGBProfile(&white, &primaries, curves);
    struct blob icc = {NULL, 0};
    cmsUInt32Number size = 0;
    assert_true(cmsSaveProfileToMem(profile, NULL, &size));
    icc = (struct blob){malloc(size), size};
    assert_true(cmsSaveProfileToMem(profile, icc.data, &size));
    cmsCloseProfile(profile);
    cmsFreeToneCurve(curve);
    return icc;
}

/* Fails each allocation once, until all of them succeed. */
static void check_allocations(const struct blob *icc, bool is_matrix)
{
    enum status status = STATUS_FAILED;
    int failed = 0;
    for (; status != STATUS_OK; failed++) {
        struct colour_space space = {0};
        struct error error = {.text = ""};
        allocations_left = failed;
        status = profile_read(&space, icc->data, icc->size, &error);
        if (status == STATUS_OK)
            assert_true(allocations_left >= 0 && space.is_matrix == is_matrix &&
                        space.curves[2].kind == TONE_TABLE);
        else
            assert_true(error.is_out_of_memory);
        allocations_left = -1;
        profile_free_curves(&space);
        blob_free(&space.icc);
    }
    assert_in_range(failed, 4, 20);
}

static void missing_memory_is_an_error(void **state)
{
    static const uint16_t rising[] = {0, 9000, 20000, 65535}, falling[] = {0, 40000, 30000, 65535};
    struct blob matrix = profile_of(rising, 4), other = profile_of(falling, 4);
    (void)state;
    check_allocations(&matrix, true);
    check_allocations(&other, false);
    blob_free(&matrix);
    blob_free(&other);
}

/* A curve of 8 bytes or more, but without the number of its samples. */
static void short_curves_are_damaged(void **state)
{
    const unsigned char tag[12] = "curv\0\0\0\0\xff\xff\xff\xff";
    (void)state;
    for (size_t size = 8; size <= sizeof tag; size++) {
        struct tone_curve curve;
        bool is_out_of_memory = false;
        unsigned char *copy = malloc(size); /* so that tools see what is read after it */
        memcpy(copy, tag, size);
        assert_false(curve_parse(copy, size, &curve, &is_out_of_memory));
        assert_false(is_out_of_memory);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(missing_memory_is_an_error),
                                       cmocka_unit_test(short_curves_are_damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
