/* JSON as it is written; how it is read, the tests of coefficient files and descriptions know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "base/json.h"

#include <math.h>
#include <stdlib.h>

static char text[400];

static void write_values(FILE *out)
{
    struct json_writer writer = {.out = out};
    json_begin(&writer, NULL, '{');
    json_put_string(&writer, "a\"b", "tab\tline\nback\\slash\x7f\xc2\x9b");
    json_put_string(&writer, "utf8", "\xc3\xbc\xf0\x9f\x8e\x88");
    json_put_string(&writer, "latin1", "\xfcml");
    json_put_string(&writer, "none", NULL);
    json_begin(&writer, "list", '[');
    json_end(&writer, ']');
    json_begin(&writer, "more", '[');
    json_put_integer(&writer, NULL, -9007199254740993);
    json_put_boolean(&writer, NULL, true);
    json_begin(&writer, NULL, '{');
    json_put_number(&writer, "third", 1.0 / 3, 10);
    json_put_number(&writer, "two", 2, 10);
    json_put_number(&writer, "small", -1e-7, 10);
    json_put_number(&writer, "nan", (double)NAN, 10);
    json_end(&writer, '}');
    json_put_null(&writer, NULL);
    json_end(&writer, ']');
    json_put_boolean(&writer, "last", false);
    json_end(&writer, '}');
}

static const char *written(void)
{
    FILE *out = fmemopen(text, sizeof text, "w");
    assert_non_null(out);
    write_values(out);
    fclose(out);
    return text;
}

static void values(void **state)
{
    (void)state;
    assert_string_equal(
        written(),
        "{\"a\\\"b\":\"tab\\u0009line\\nback\\\\slash\\u007f\\u009b\",\"utf8\":\"\xc3\xbc\xf0\x9f\x8e\x88\","
        "\"latin1\":\"\\u00fcml\",\"none\":null,\"list\":[],\"more\":[-9007199254740993,true,{\"third\":"
        "0.3333333333,\"two\":2.0,\"small\":-1e-07,\"nan\":null},null],\"last\":false}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
