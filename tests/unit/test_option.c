/* The option tables: every type, what it refuses, and a stage's PRIMARY[,KEY=VALUE]... */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "base/text.h"
#include "settings/option.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fields {
    const char *gains;
    int levels;
    double sigma;
    double offset;
    bool antialias;
    int filter;
    int format;
    uint64_t limit;
    const char *path;
    int custom;
    bool flag;
};

static enum status parse_even(const char *text, void *field, struct error *error)
{
    long long value = 0;
    if (!text_to_integer(text, &value) || value % 2 != 0)
        return fail(error, STATUS_USAGE, "not even");
    *(int *)field = (int)value;
    return STATUS_OK;
}

static const char *needs_nearest(const void *fields)
{
    return ((const struct fields *)fields)->filter == 2 ? NULL : "belongs to filter=nearest";
}

static const struct option table[] = {
    {.type = OPTION_TEXT, .offset = offsetof(struct fields, gains), .value = "GAINS"},
    {.name = "levels",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct fields, levels),
     .fallback = "4",
     .min = 1,
     .max = 16},
    {.name = "sigma",
     .type = OPTION_REAL,
     .offset = offsetof(struct fields, sigma),
     .fallback = "1.5",
     .min = 0.5,
     .max = INFINITY},
    {.name = "offset",
     .type = OPTION_REAL,
     .offset = offsetof(struct fields, offset),
     .unused = needs_nearest},
    {.name = "antialias",
     .type = OPTION_YES_NO,
     .offset = offsetof(struct fields, antialias),
     .fallback = "yes"},
    {.name = "filter",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct fields, filter),
     .fallback = "bilinear",
     .choices = "bicubic|bilinear|nearest"},
    {.name = "format",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct fields, format),
     .choices = "|png|tiff"},
    {.name = "limit", .type = OPTION_SIZE, .offset = offsetof(struct fields, limit), .fallback = "2G"},
    {.name = "path", .type = OPTION_TEXT, .offset = offsetof(struct fields, path)},
    {.name = "even",
     .type = OPTION_CUSTOM,
     .offset = offsetof(struct fields, custom),
     .fallback = "2",
     .parse = parse_even},
    {.name = "flag", .type = OPTION_FLAG, .offset = offsetof(struct fields, flag)},
    {0},
};

/* A stage whose value may be left out, one with keys only, and one without a value. */
static const struct option optional_table[] = {
    {.type = OPTION_INTEGER,
     .offset = offsetof(struct fields, levels),
     .fallback = "4",
     .optional = true,
     .value = "LEVELS"},
    {.name = "path", .type = OPTION_TEXT, .offset = offsetof(struct fields, path)},
    {0},
};
static const struct option keys_table[] = {
    {.name = "path", .type = OPTION_TEXT, .offset = offsetof(struct fields, path)},
    {0},
};
static const struct option empty_table[] = {{0}};

static const struct option *row(const char *name)
{
    const struct option *option = table + 1;
    while (strcmp(option->name, name) != 0)
        option++;
    return option;
}

static struct fields accept(const char *name, const char *text)
{
    struct fields fields = {0};
    struct error error = {.text = ""};
    assert_int_equal(option_parse(row(name), "--x", text, &fields, &error), STATUS_OK);
    assert_string_equal(error.text, "");
    return fields;
}

static void refuse(const char *name, const char *text, const char *message)
{
    struct fields fields = {0}, untouched = {0};
    struct error error = {.text = ""};
    assert_int_equal(option_parse(row(name), "--x", text, &fields, &error), STATUS_USAGE);
    assert_string_equal(error.text, message);
    assert_memory_equal(&fields, &untouched, sizeof fields);
}

static void integers(void **state)
{
    (void)state;
    assert_int_equal(accept("levels", "16").levels, 16);
    assert_int_equal(accept("levels", "+3").levels, 3);
    assert_int_equal(accept("levels", "007").levels, 7);
    refuse("levels", "0", "--x 0: must be from 1 to 16");
    refuse("levels", "-1", "--x -1: must be from 1 to 16");
    refuse("levels", "99999999999999999999", "--x 99999999999999999999: must be from 1 to 16");
    refuse("levels", "1.5", "--x 1.5: not a whole number");
    refuse("levels", "1e1", "--x 1e1: not a whole number");
    refuse("levels", "0x4", "--x 0x4: not a whole number");
    refuse("levels", "4 ", "--x 4 : not a whole number; did you mean 4?");
    refuse("levels", " 4", "--x  4: not a whole number");
    refuse("levels", "-", "--x -: not a whole number");
    refuse("levels", "", "--x \"\": not a whole number");
}

static void integers_do_not_wrap(void **state)
{
    (void)state;
    const struct option any = {.name = "any", .type = OPTION_INTEGER};
    struct error error;
    int value = 7;
    assert_int_equal(option_parse(&any, "--x", "2147483648", &value, &error), STATUS_USAGE);
    assert_string_equal(error.text, "--x 2147483648: too large");
    assert_int_equal(option_parse(&any, "--x", "-2147483649", &value, &error), STATUS_USAGE);
    assert_int_equal(value, 7);
    assert_int_equal(option_parse(&any, "--x", "-2147483648", &value, &error), STATUS_OK);
    assert_int_equal(value, INT_MIN);
}

static void reals(void **state)
{
    (void)state;
    assert_true(accept("offset", "-0.25").offset == -0.25);
    assert_true(accept("offset", ".5").offset == 0.5);
    assert_true(accept("offset", "5.").offset == 5);
    assert_true(accept("offset", "+1e-3").offset == 1e-3);
    assert_true(accept("offset", "1E2").offset == 100);
    assert_true(accept("sigma", "0.5").sigma == 0.5);
    refuse("sigma", "0.49", "--x 0.49: must be at least 0.5");
    refuse("offset", "1,5", "--x 1,5: not a number; decimals follow a dot");
    refuse("offset", "1e999", "--x 1e999: too large");
    refuse("offset", "1e", "--x 1e: not a number; did you mean 1?");
    refuse("offset", "1e+", "--x 1e+: not a number; did you mean 1?");
    refuse("offset", "0x", "--x 0x: not a number; did you mean 0?");
    refuse("offset", "4 ", "--x 4 : not a number; did you mean 4?");
    refuse("offset", "4PX", "--x 4PX: not a number; did you mean 4?");
    refuse("offset", "4.5deg", "--x 4.5deg: not a number alone; did you mean 4.5?");
    static const char *const bad[] = {"0x1p4", "nan", "inf", "-inf",  "",     " 4",
                                      ".",     "-.",  ",5",  "1.5.2", "four", "--1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char message[64] = "--x ";
        text_append(message, sizeof message, "%s: not a number", bad[i][0] != '\0' ? bad[i] : "\"\"");
        refuse("offset", bad[i], message);
    }
}

static void sizes(void **state)
{
    (void)state;
    assert_true(accept("limit", "0").limit == 0);
    assert_true(accept("limit", "3k").limit == 3 * 1024);
    assert_true(accept("limit", "3M").limit == 3 << 20);
    assert_true(accept("limit", "2T").limit == (uint64_t)2 << 40);
    assert_true(accept("limit", "3KB").limit == 3 * 1024);
    assert_true(accept("limit", "3mib").limit == 3 << 20);
    assert_true(accept("limit", "12e6").limit == 12000000);
    assert_true(accept("limit", "1e12").limit == UINT64_C(1000000000000));
    assert_true(accept("limit", "18446744073709551615").limit == UINT64_MAX);
    refuse("limit", "18446744073709551616", "--x 18446744073709551616: too large");
    refuse("limit", "99999999999T", "--x 99999999999T: too large");
    static const char *const bad[] = {"",    "K",    "-1", "+1",   "1.5G", "1KBB", "1x",
                                      "1 K", "0x10", "1e", "1e6K", "1e20", "e6",   "1i"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct fields fields;
        struct error error;
        assert_int_equal(option_parse(row("limit"), "--x", bad[i], &fields, &error), STATUS_USAGE);
    }
}

static void words(void **state)
{
    (void)state;
    assert_int_equal(accept("filter", "bicubic").filter, 0);
    assert_int_equal(accept("filter", "nearest").filter, 2);
    assert_int_equal(accept("format", "png").format, 1);
    assert_true(accept("antialias", "yes").antialias);
    assert_false(accept("antialias", "no").antialias);
    assert_true(accept("flag", NULL).flag);
    assert_string_equal(accept("path", "").path, "");
    refuse("filter", "cubic", "--x cubic: not one of bicubic, bilinear, nearest");
    refuse("filter", "bi", "--x bi: not one of bicubic, bilinear, nearest; did you mean bicubic?");
    refuse("filter", "Nearest", "--x Nearest: not one of bicubic, bilinear, nearest; did you mean nearest?");
    refuse("filter", "sinc", "--x sinc: not one of bicubic, bilinear, nearest");
    refuse("filter", "bicubic|bilinear",
           "--x bicubic|bilinear: not one of bicubic, bilinear, nearest; did you mean bicubic?");
    refuse("format", "", "--x \"\": not one of png, tiff");
    refuse("antialias", "true", "--x true: not yes or no");
    refuse("flag", "yes", "--x takes no value");
    refuse("even", "3", "--x 3: not even");
}

static void defaults(void **state)
{
    (void)state;
    struct fields fields = {0};
    options_set_defaults(table, &fields);
    assert_int_equal(fields.levels, 4);
    assert_true(fields.sigma == 1.5);
    assert_true(fields.antialias);
    assert_int_equal(fields.filter, 1);
    assert_int_equal(fields.format, 0);
    assert_true(fields.limit == (uint64_t)2 << 30);
    assert_int_equal(fields.custom, 2);
    assert_null(fields.path);
}

static void value_with_keys(void **state)
{
    (void)state;
    struct fields fields = {0};
    struct error error;
    char *keep = NULL;
    char text[] = "1:1.5,2:1.2,levels=6,low:0,offset=3,filter=nearest,path=a=b";
    assert_int_equal(options_parse_value(table, "--gain", text, &fields, &keep, &error), STATUS_OK);
    memset(text, 'x', sizeof text - 1); /* nothing points into it */
    assert_string_equal(fields.gains, "1:1.5,2:1.2,low:0");
    assert_string_equal(fields.path, "a=b");
    assert_int_equal(fields.levels, 6);
    assert_int_equal(fields.filter, 2);
    assert_true(fields.sigma == 1.5);
    free(keep);
}

static void value_that_looks_like_a_key(void **state)
{
    (void)state;
    struct fields fields = {0};
    struct error error;
    char *keep = NULL;
    assert_int_equal(options_parse_value(table, "--gain", "@a=b,c", &fields, &keep, &error), STATUS_OK);
    assert_string_equal(fields.gains, "@a=b,c");
    free(keep);
}

static void value_left_out(void **state)
{
    (void)state;
    static const char *const absent[] = {NULL, "", "path=p"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        struct fields fields = {0};
        struct error error;
        char *keep = NULL;
        assert_int_equal(options_parse_value(optional_table, "--w", absent[i], &fields, &keep, &error),
                         STATUS_OK);
        assert_int_equal(fields.levels, 4);
        free(keep);
    }
}

static void refuse_value(const struct option *rows, const char *text, const char *message)
{
    struct fields fields = {0};
    struct error error;
    char *keep = (char *)"not set";
    assert_int_equal(options_parse_value(rows, "--w", text, &fields, &keep, &error), STATUS_USAGE);
    assert_string_equal(error.text, message);
    assert_null(keep);
}

static void bad_values(void **state)
{
    (void)state;
    refuse_value(table, NULL, "--w needs a value: --w GAINS");
    refuse_value(table, "", "--w needs a value: --w GAINS");
    refuse_value(table, "levels=3", "--w needs a value: --w GAINS");
    refuse_value(table, "1,levels=0", "--w levels=0: must be from 1 to 16");
    refuse_value(table, "1,levels=", "--w levels=: not a whole number");
    refuse_value(table, "1,antialias", "--w: antialias wants a value: antialias=yes");
    refuse_value(table, "1,filter", "--w: filter wants a value: filter=bicubic|bilinear|nearest");
    refuse_value(table, "1,levels=3,levels=3", "--w: levels is given twice");
    refuse_value(table, "1,offset=0", "--w: offset= belongs to filter=nearest");
    refuse_value(table, "1,filter=cubic", "--w filter=cubic: not one of bicubic, bilinear, nearest");
    refuse_value(optional_table, "3,biort=x", "--w: unknown key biort; the keys are path");
    refuse_value(optional_table, "3,", "--w 3,: not a whole number; did you mean 3?");
    refuse_value(optional_table, "3,4", "--w 3,4: not a whole number");
    refuse_value(keys_table, "3", "--w: 3 is not KEY=VALUE");
    refuse_value(keys_table, "path=p,", "--w: \"\" is not KEY=VALUE");
    refuse_value(empty_table, "3", "--w takes no value");
}

static void long_values_do_not_overflow_messages(void **state)
{
    (void)state;
    char text[5000];
    struct fields fields = {0};
    struct error error;
    char *keep = NULL;
    memset(text, '7', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(options_parse_value(optional_table, "--w", text, &fields, &keep, &error), STATUS_USAGE);
    memcpy(text, "unknown=", 8);
    assert_int_equal(options_parse_value(optional_table, "--w", text, &fields, &keep, &error), STATUS_USAGE);
    memset(text, 'k', 4000);
    text[4000] = '=';
    assert_int_equal(options_parse_value(optional_table, "--w", text, &fields, &keep, &error), STATUS_USAGE);
}

static void need_of_a_value(void **state)
{
    (void)state;
    assert_true(options_need_value(table));
    assert_false(options_need_value(optional_table));
    assert_false(options_need_value(keys_table));
    assert_false(options_need_value(empty_table));
    assert_null(options_primary(keys_table));
    assert_ptr_equal(options_primary(table), &table[0]);
}

static void lists_of_numbers(void **state)
{
    (void)state;
    const char *cursor = "1.5,-2e1x";
    double value = 0;
    assert_true(text_parse_real(&cursor, &value));
    assert_true(value == 1.5);
    assert_string_equal(cursor, ",-2e1x");
    assert_false(text_parse_real(&cursor, &value));
    cursor++;
    assert_true(text_parse_real(&cursor, &value));
    assert_true(value == -20);
    assert_string_equal(cursor, "x");
}

static void lists_of_words(void **state)
{
    (void)state;
    static const char *const expected[] = {"", "a", "", "bc", ""};
    const char *cursor = "|a||bc|";
    struct word word;
    size_t count = 0;
    while (text_next_word(&cursor, '|', &word))
        assert_true(word_equals(word, expected[count++]));
    assert_int_equal(count, 5);
}

/* An item is in the list only as a whole. */
static void list_of_items_has_each_once(void **state)
{
    char list[64] = "";
    static const char *const items[] = {"12 values", "2 values", "12 values", "", "2 val", "2 values"};
    (void)state;
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++)
        text_add_item(list, sizeof list, "; ", items[i]);
    assert_string_equal(list, "12 values; 2 values; 2 val");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_of_items_has_each_once),
        cmocka_unit_test(integers),
        cmocka_unit_test(integers_do_not_wrap),
        cmocka_unit_test(reals),
        cmocka_unit_test(sizes),
        cmocka_unit_test(words),
        cmocka_unit_test(defaults),
        cmocka_unit_test(value_with_keys),
        cmocka_unit_test(value_that_looks_like_a_key),
        cmocka_unit_test(value_left_out),
        cmocka_unit_test(bad_values),
        cmocka_unit_test(long_values_do_not_overflow_messages),
        cmocka_unit_test(need_of_a_value),
        cmocka_unit_test(lists_of_numbers),
        cmocka_unit_test(lists_of_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
