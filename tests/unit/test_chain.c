/* Chains: what is put into them, and how images and pyramids meet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "base/text.h"
#include "chain/chain.h"

#include <stdlib.h>
#include <string.h>

/* Adds the stages of "wavelet scale=4". */
static struct chain make_chain(const char *names)
{
    struct chain chain = {0};
    const char *cursor = names;
    struct word word;
    while (text_next_word(&cursor, ' ', &word)) {
        char name[64] = "";
        struct error error;
        text_append(name, sizeof name, "%.*s", (int)word.length, word.start);
        char *value = strchr(name, '=');
        if (value != NULL)
            *value++ = '\0';
        assert_non_null(stage_find(name));
        assert_int_equal(chain_add(&chain, stage_find(name), value, &error), STATUS_OK);
    }
    return chain;
}

static void assert_chain(const struct chain *chain, const char *names)
{
    char actual[256] = "";
    for (size_t i = 0; i < chain->count; i++)
        text_append(actual, sizeof actual, "%s%s", i > 0 ? " " : "", chain->steps[i].stage->name);
    assert_string_equal(actual, names);
}

static void becomes(const char *names, bool keep_pyramid, const char *expected)
{
    struct chain chain = make_chain(names), resolved;
    struct error error;
    assert_int_equal(chain_resolve(&chain, KIND_IMAGE, keep_pyramid, &resolved, &error), STATUS_OK);
    assert_chain(&resolved, expected);
    assert_int_equal(chain_prepare(&resolved, NULL, &error), STATUS_OK);
    chain_free(&resolved);
    chain_free(&chain);
}

static void chains_that_fit(void **state)
{
    (void)state;
    struct chain empty = {0};
    struct error error;
    struct chain resolved;
    assert_int_equal(chain_resolve(&empty, KIND_IMAGE, false, &resolved, &error), STATUS_OK);
    assert_int_equal(resolved.count, 0);
    chain_free(&resolved);
    becomes("blur=2", false, "blur");
    becomes("blur=2 scale=4 blur=1,truncate=3", false, "blur scale blur");
    becomes("wavelet inverse-wavelet", false, "wavelet inverse-wavelet");
    becomes("wavelet=3 mosaic=phase", false, "wavelet mosaic");
}

static void pyramids_become_mosaics(void **state)
{
    (void)state;
    becomes("wavelet", false, "wavelet mosaic");
    becomes("wavelet", true, "wavelet");
    becomes("wavelet scale=4", false, "wavelet mosaic scale");
    becomes("wavelet scale=4", true, "wavelet mosaic scale");
    becomes("wavelet wavelet blur=1", false, "wavelet mosaic wavelet mosaic blur");
}

static void images_do_not_become_pyramids(void **state)
{
    (void)state;
    static const char *const chains[] = {"inverse-wavelet", "blur=1 inverse-wavelet",
                                         "wavelet inverse-wavelet inverse-wavelet"};
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        struct chain chain = make_chain(chains[i]), resolved;
        struct error error;
        assert_int_equal(chain_resolve(&chain, KIND_IMAGE, false, &resolved, &error), STATUS_USAGE);
        assert_string_equal(error.text,
                            "--inverse-wavelet needs a wavelet transform: put --wavelet before it, or read "
                            "the TIFF that --wavelet wrote; a PNG or JPEG is only a picture of it");
        chain_free(&chain);
    }
}

static void pyramids_can_be_read(void **state)
{
    static const struct {
        const char *written, *resolved;
    } cases[] = {{"inverse-wavelet", "inverse-wavelet"}, {"scale=2", "mosaic scale"}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct chain chain = make_chain(cases[i].written), resolved;
        struct error error;
        assert_int_equal(chain_resolve(&chain, KIND_PYRAMID, false, &resolved, &error), STATUS_OK);
        assert_chain(&resolved, cases[i].resolved);
        assert_int_equal(chain_output(&resolved, KIND_PYRAMID), KIND_IMAGE);
        chain_free(&resolved);
        chain_free(&chain);
    }
}

static void refused_steps_leave_the_chain(void **state)
{
    (void)state;
    struct chain chain = make_chain("blur=1");
    struct error error;
    assert_int_equal(chain_add(&chain, stage_find("blur"), NULL, &error), STATUS_USAGE);
    assert_string_equal(error.text, "--blur needs a value: --blur SIGMA");
    assert_int_equal(chain_add(&chain, stage_find("blur"), "-1", &error), STATUS_USAGE);
    assert_int_equal(strncmp(error.text, "--blur -1: ", 11), 0);
    assert_int_equal(chain_add(&chain, stage_find("inverse-wavelet"), "1", &error), STATUS_USAGE);
    assert_int_equal(chain_add(&chain, stage_find("scale"), "3", &error), STATUS_USAGE);
    assert_int_equal(strncmp(error.text, "--scale 3: ", 11), 0);
    assert_chain(&chain, "blur");
    chain_free(&chain);
}

static void freeing_twice(void **state)
{
    (void)state;
    struct chain chain = make_chain("blur=1 wavelet");
    chain_free(&chain);
    assert_null(chain.steps);
    chain_free(&chain);
}

/* A stage of this test's own: its check and its prepare fail for one value each. */
struct probe {
    int value;
    char *memory;
};

static enum status probe_check(void *params, struct error *error)
{
    struct probe *probe = params;
    probe->memory = copy_text("x", error);
    if (probe->value == 13)
        return fail(error, STATUS_USAGE, "is unlucky");
    return STATUS_OK;
}

static enum status probe_prepare(void *params, const struct settings *settings, struct error *error)
{
    (void)settings;
    struct probe *probe = params;
    return probe->value == 7 ? fail(error, STATUS_FAILED, "cannot prepare") : STATUS_OK;
}

/* Without it the address sanitizer finds what check allocated. */
static void probe_release(void *params)
{
    struct probe *probe = params;
    free(probe->memory);
}

static const struct option probe_options[] = {
    {.type = OPTION_INTEGER, .offset = offsetof(struct probe, value), .value = "N"},
    {0},
};

static const struct stage probe_stage = {
    .name = "probe",
    .options = probe_options,
    .params_size = sizeof(struct probe),
    .rows = rows_same,
    .check = probe_check,
    .prepare = probe_prepare,
    .release = probe_release,
};

static void failing_check(void **state)
{
    (void)state;
    struct chain chain = {0};
    struct error error;
    assert_int_equal(chain_add(&chain, &probe_stage, "13", &error), STATUS_USAGE);
    assert_string_equal(error.text, "--probe 13: is unlucky");
    assert_int_equal(chain.count, 0);
    chain_free(&chain);
}

static void rows_are_not_forgotten(void **state)
{
    (void)state;
    struct stage forgetful = probe_stage;
    struct chain chain = {0};
    struct error error;
    forgetful.rows = NULL;
    assert_int_equal(chain_add(&chain, &forgetful, "1", &error), STATUS_FAILED);
    assert_string_equal(error.text, "--probe does not say which rows it needs");
    assert_int_equal(chain.count, 0);
    for (const struct stage *const *stage = stages; *stage; stage++)
        assert_non_null((*stage)->rows);
}

static void failing_prepare(void **state)
{
    (void)state;
    struct chain chain = {0};
    struct error error;
    assert_int_equal(chain_add(&chain, &probe_stage, "1", &error), STATUS_OK);
    assert_int_equal(chain_prepare(&chain, NULL, &error), STATUS_OK);
    assert_int_equal(chain_add(&chain, &probe_stage, "7", &error), STATUS_OK);
    assert_int_equal(chain_prepare(&chain, NULL, &error), STATUS_FAILED);
    assert_string_equal(error.text, "--probe: cannot prepare");
    chain_free(&chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_that_fit),
        cmocka_unit_test(pyramids_become_mosaics),
        cmocka_unit_test(images_do_not_become_pyramids),
        cmocka_unit_test(pyramids_can_be_read),
        cmocka_unit_test(refused_steps_leave_the_chain),
        cmocka_unit_test(freeing_twice),
        cmocka_unit_test(failing_check),
        cmocka_unit_test(rows_are_not_forgotten),
        cmocka_unit_test(failing_prepare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
