/* Runs the experiments of 2011 that climg grew out of on today's device, checks their pixels, and prints each
 * form next to its figure of 2011.
 *
 *     experiments [--size N] [--only NAME] [--kernels FOLDER] [--json FILE] [--markdown FILE]
 *
 * NAME is one of the names in the tables below. Exit status 1 if a form's pixels are wrong. */
#include "lab.h"

#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_UNIT = 64 }; /* the widest group's outputs */

static const struct {
    const char *name;
    void (*run)(struct lab *lab);
} experiments[] = {{"separable", separable_experiments},
                   {"enlarge", enlarge_experiments},
                   {"matrix", matrix_experiments},
                   {"vector", vector_experiments},
                   {"systems", systems_experiments},
                   {"sorting", sorting_experiments},
                   {"recurrence", recurrence_experiments},
                   {"taps", taps_experiments},
                   {"warp", warp_experiments}};

struct settings {
    const char *size, *only, *kernels, *json, *markdown;
};

static const char *verdict_name(const struct cell *cell)
{
    static const char *const names[] = {"measured", "skipped", "WRONG"};
    return names[cell->verdict];
}

/* In a column of `width` characters; printf would count bytes. */
static void print_padded(const char *text, int width)
{
    fputs(text, stdout);
    for (; *text; text++)
        width -= (*text & 0xc0) != 0x80; /* not the rest of a UTF-8 character */
    printf("%*s", width > 0 ? width : 0, "");
}

/* With a heading before the first line of a table. */
static void print_line(const struct lab *lab, const struct cell *cell)
{
    if (cell == lab->cells || strcmp(cell[-1].table, cell->table) != 0)
        printf("\n%s, %d×%d\n%68s%11s%11s%9s%9s%10s%4s\n", cell->table, cell->size, cell->size, "", "us",
               "2011 us", "ratio", "of 1st", "error", "of");
    print_padded(cell->variant, 53);
    print_padded(cell->column, 15);
    if (cell->verdict != SKIPPED)
        printf("%11.1f", 1e6 * cell->now);
    if (cell->verdict != SKIPPED && cell->then > 0)
        printf("%11.1f%9.3f", 1e6 * cell->then, cell->now / cell->then);
    else if (cell->verdict != SKIPPED)
        printf("%11s%9s", "", "");
    if (cell->verdict != SKIPPED && cell->first > 0)
        printf("%9.3f", cell->now / cell->first);
    else if (cell->verdict != SKIPPED)
        printf("%9s", "");
    if (cell->verdict != SKIPPED)
        printf("%10.1e%4d", cell->error, cell->runs);
    if (cell->verdict != MEASURED)
        printf("  %s: %s", verdict_name(cell), cell->note);
    putchar('\n');
}

static const struct cell *find_cell(const struct lab *lab, const char *table, const char *variant,
                                    const char *column)
{
    for (size_t i = 0; i < lab->count; i++)
        if (strcmp(lab->cells[i].table, table) == 0 && strcmp(lab->cells[i].variant, variant) == 0 &&
            strcmp(lab->cells[i].column, column) == 0)
            return &lab->cells[i];
    return NULL;
}

/* True if cell i is the first with a result in its table, row or column. */
static bool is_first(const struct lab *lab, size_t i, bool column)
{
    const struct cell *cell = &lab->cells[i];
    for (size_t k = 0; k < i; k++) {
        const struct cell *other = &lab->cells[k];
        if (strcmp(other->table, cell->table) == 0 &&
            strcmp(column ? other->column : other->variant, column ? cell->column : cell->variant) == 0)
            return false;
    }
    return true;
}

static void write_ratio(FILE *file, const char *before, double now, double then)
{
    fprintf(file, now > 10 * then ? "%s%.0f" : "%s%.2g", before, now / then);
}

/* "3.1 (0.5; 0.07)": microseconds, the ratio to the first row if they are comparable, and the ratio to 2011.
 */
static void write_cell(FILE *file, const struct cell *cell)
{
    fprintf(file, " | ");
    if (!cell)
        return;
    if (cell->verdict == SKIPPED)
        fprintf(file, "—");
    else
        fprintf(file, 1e6 * cell->now < 100 ? "%.1f" : "%.0f", 1e6 * cell->now);
    if (cell->verdict != SKIPPED && cell->first > 0)
        write_ratio(file, " (", cell->now, cell->first);
    if (cell->verdict != SKIPPED && cell->then > 0)
        write_ratio(file, cell->first > 0 ? "; " : " (", cell->now, cell->then);
    if (cell->verdict != SKIPPED && (cell->first > 0 || cell->then > 0))
        fprintf(file, ")");
    if (cell->verdict == WRONG)
        fprintf(file, " **wrong**");
}

static void write_row(FILE *file, const struct lab *lab, const struct cell *row)
{
    double error = 0;
    fprintf(file, "| %s", row->variant);
    for (size_t i = 0; i < lab->count; i++) {
        if (strcmp(lab->cells[i].table, row->table) != 0 || !is_first(lab, i, true))
            continue;
        const struct cell *cell = find_cell(lab, row->table, row->variant, lab->cells[i].column);
        write_cell(file, cell);
        error = cell ? fmax(error, cell->error) : error;
    }
    fprintf(file, " | %.0e |\n", error);
}

static void write_head(FILE *file, const struct lab *lab, const struct cell *first)
{
    fprintf(file, "\n%s, float, %d×%d, µs (%s%s):\n\n| variant", first->table, first->size, first->size,
            first->first > 0 ? "times the first row's" : "times 2011's for as many pixels",
            first->first > 0 && first->then > 0 ? "; times 2011's" : "");
    for (size_t i = 0; i < lab->count; i++)
        if (strcmp(lab->cells[i].table, first->table) == 0 && is_first(lab, i, true))
            fprintf(file, " | %s", lab->cells[i].column);
    fprintf(file, " | error |\n| ---");
    for (size_t i = 0; i < lab->count; i++)
        if (strcmp(lab->cells[i].table, first->table) == 0 && is_first(lab, i, true))
            fprintf(file, " | ---");
    fprintf(file, " | --- |\n");
}

static void write_markdown(FILE *file, const struct lab *lab)
{
    const char *table = "";
    fprintf(file, "### Experiments: %s\n", lab->bench.device.name);
    for (size_t i = 0; i < lab->count; i++) {
        if (!is_first(lab, i, false))
            continue;
        if (strcmp(table, lab->cells[i].table) != 0)
            write_head(file, lab, &lab->cells[i]);
        table = lab->cells[i].table;
        write_row(file, lab, &lab->cells[i]);
    }
}

enum { DIGITS = 17 };

static void write_json(FILE *file, const struct lab *lab)
{
    struct json_writer all = {.out = file};
    json_begin(&all, NULL, '{');
    json_put_string(&all, "device", lab->bench.device.name);
    json_put_string(&all, "driver", lab->bench.device.driver);
    json_begin(&all, "experiments", '[');
    for (size_t i = 0; i < lab->count; i++) {
        const struct cell *cell = &lab->cells[i];
        json_begin(&all, NULL, '{');
        json_put_string(&all, "table", cell->table);
        json_put_string(&all, "variant", cell->variant);
        json_put_string(&all, "column", cell->column);
        json_put_integer(&all, "size", cell->size);
        json_put_string(&all, "verdict", verdict_name(cell));
        json_put_string(&all, "note", cell->note);
        json_put_integer(&all, "runs", cell->runs);
        json_put_number(&all, "seconds", cell->now, DIGITS);
        json_put_number(&all, "seconds_2011", cell->then, DIGITS);
        json_put_number(&all, "error", cell->error, DIGITS);
        json_end(&all, '}');
    }
    json_end(&all, ']');
    json_end(&all, '}');
    fputc('\n', file);
}

static void write_file(const char *path, void (*write)(FILE *, const struct lab *), const struct lab *lab)
{
    if (!path)
        return;
    FILE *file = bench_file(path, "w");
    write(file, lab);
    if (fclose(file) != 0)
        bench_fail("%s could not be written whole", path);
}

static void usage(void)
{
    fprintf(stderr,
            "experiments [--size N] [--only NAME] [--kernels FOLDER] [--json FILE] [--markdown FILE]\n"
            "N is a multiple of %d; NAME is one of",
            SIZE_UNIT);
    for (size_t i = 0; i < sizeof experiments / sizeof *experiments; i++)
        fprintf(stderr, " %s", experiments[i].name);
    fputc('\n', stderr);
    exit(2);
}

static struct settings parse(int argc, char **argv)
{
    struct settings settings = {.only = "", .kernels = "tests/bench/kernels", .size = ""};
    const struct {
        const char *name;
        const char **value;
    } options[] = {{"--size", &settings.size},
                   {"--only", &settings.only},
                   {"--kernels", &settings.kernels},
                   {"--json", &settings.json},
                   {"--markdown", &settings.markdown}};
    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;
        while (k < sizeof options / sizeof *options && strcmp(options[k].name, argv[i]) != 0)
            k++;
        if (k == sizeof options / sizeof *options || i + 1 == argc)
            usage();
        *options[k].value = argv[i + 1];
    }
    if (*settings.size && (atoi(settings.size) <= 0 || atoi(settings.size) % SIZE_UNIT != 0))
        usage();
    return settings;
}

int main(int argc, char **argv)
{
    struct settings settings = parse(argc, argv);
    struct lab lab;
    int wrong = 0;
    lab_open(&lab, settings.kernels, atoi(settings.size));
    lab.report = print_line;
    printf("%s, driver %s\n", lab.bench.device.name, lab.bench.device.driver);
    for (size_t i = 0; i < sizeof experiments / sizeof *experiments; i++)
        if (!*settings.only || strcmp(settings.only, experiments[i].name) == 0)
            experiments[i].run(&lab);
    lab_report(&lab);
    write_file(settings.json, write_json, &lab);
    write_file(settings.markdown, write_markdown, &lab);
    for (size_t i = 0; i < lab.count; i++)
        wrong += lab.cells[i].verdict == WRONG;
    if (wrong)
        fprintf(stderr, "experiments: %d of %zu are wrong\n", wrong, lab.count);
    lab_close(&lab);
    return wrong != 0;
}
