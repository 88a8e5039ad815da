/* Parser of convolution kernels.
 *
 *   text   kernel_scan() -> one or two lists of numbers -> make_separable()
 *   file   read_text() -> kernel_read_rows() -> split_rank_1() -> make_separable(), or a matrix
 *
 * A matrix of rank 1 becomes two passes, which costs width + height instead of width * height products per
 * sample. The parser rejects everything that is not a finite float; tests/fuzz/pieces.c fuzzes it. */
#include "filters/kernel.h"

#include "base/sums.h"
#include "base/text.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Largest difference between a matrix and its rank-1 approximation that counts as rounding, as a fraction of
 * the largest weight. */
static const double RANK_TOLERANCE = 1e-6;

/* Largest sum that counts as 0, as a fraction of the sum of absolute values: for the division by it, and for
 * is_differential, where weights may be rounded to six digits. */
static const double ZERO_DIVISOR = 1e-9, ZERO_SUM = 1e-6;

/* Largest file in bytes: KERNEL_MAX_SIZE squared numbers of 30 characters. */
enum { FILE_MAX = 32 << 20 };

/* A growing list of numbers; the owner frees `values`. */
struct number_list {
    double *values;
    int count;
};

static bool is_separator(char c)
{
    return c == ' ' || c == '\t' || c == ',' || c == '\r';
}

/* Appends the numbers of a text up to `stop`, '#', a newline or the end. Sets *end to that position. */
static enum status kernel_scan(const char *text, char stop, struct number_list *numbers, const char **end,
                               struct error *error)
{
    while (is_separator(*text))
        text++;
    while (*text && *text != stop && *text != '\n' && *text != '#') {
        const int length = (int)strcspn(text, " \t,\r\n");
        const char *after = text;
        double value;
        if (!text_parse_real(&after, &value) || fabs(value) > FLT_MAX ||
            (*after && !is_separator(*after) && *after != stop && *after != '\n' && *after != '#'))
            /* /, ; and : separate the rows of a matrix in other programs. */
            return fail(error, STATUS_USAGE, "'%.*s' is not a number%s", length, text,
                        strcspn(text, "/;:") < (size_t)length
                            ? "; write a matrix into a file, one row per line, and use @FILE"
                            : "");
        double *grown =
            array_grow(numbers->values, (size_t)numbers->count, sizeof value, "a convolution kernel", error);
        if (!grown)
            return STATUS_FAILED;
        numbers->values = grown;
        numbers->values[numbers->count++] = value;
        for (text = after; is_separator(*text);)
            text++;
    }
    *end = text;
    return STATUS_OK;
}

/* Fails if a kernel is empty or too large. */
static enum status kernel_check_size(int width, int height, struct error *error)
{
    if (width < 1 || height < 1)
        return fail(error, STATUS_USAGE, "no numbers in the kernel");
    if (width > KERNEL_MAX_SIZE || height > KERNEL_MAX_SIZE)
        return fail(error, STATUS_USAGE, "a kernel has at most %d taps along an axis", KERNEL_MAX_SIZE);
    return STATUS_OK;
}

/* Returns the sum of values, or of their absolute values. */
static double sum_of(const double *values, int count, bool absolute)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += absolute ? fabs(values[i]) : values[i];
    return sum;
}

/* Returns the divisor of the weights: their sum, or 1 if it counts as 0 or without `normalize`. */
static double kernel_divisor(double sum, double absolute, bool normalize)
{
    return normalize && fabs(sum) > ZERO_DIVISOR * absolute ? sum : 1;
}

/* Returns values / divisor as floats, which the caller frees; NULL on failure. */
static float *to_floats(const double *values, int count, double divisor, struct error *error)
{
    float *floats = allocate_zeroed((size_t)count, sizeof *floats, "a convolution kernel", error);
    for (int i = 0; floats && i < count; i++)
        floats[i] = (float)(values[i] / divisor);
    return floats;
}

/* Stores a separable kernel. Only the taps along x are divided by the sum of the whole kernel. */
static enum status make_separable(const double *x, int width, const double *y, int height, bool normalize,
                                  struct kernel *kernel, struct error *error)
{
    const double sum = sum_of(x, width, false) * sum_of(y, height, false);
    const double absolute = sum_of(x, width, true) * sum_of(y, height, true);
    const double divisor = kernel_divisor(sum, absolute, normalize);
    for (int i = 0; i < width; i++)
        if (fabs(x[i] / divisor) > FLT_MAX)
            return fail(error, STATUS_USAGE, "the sum of the kernel is too small to divide by");
    *kernel = (struct kernel){.width = width,
                              .height = height,
                              .separable = true,
                              .is_differential = fabs(sum) <= ZERO_SUM * absolute};
    kernel->along_x = to_floats(x, width, divisor, error);
    kernel->along_y = to_floats(y, height, 1, error);
    if (kernel->along_x && kernel->along_y)
        return STATUS_OK;
    kernel_free(kernel);
    return STATUS_FAILED;
}

enum status kernel_parse(const char *text, bool normalize, struct kernel *kernel, struct error *error)
{
    struct number_list x = {0}, y = {0};
    const char *end;
    enum status status = kernel_scan(text, '/', &x, &end, error);
    const bool has_y = status == STATUS_OK && *end == '/';
    if (has_y)
        status = kernel_scan(end + 1, '\0', &y, &end, error);
    if (status == STATUS_OK && *end)
        status = fail(error, STATUS_USAGE, "a list of taps ends before '%s'", *end == '\n' ? "\\n" : "#");
    if (status == STATUS_OK)
        status = kernel_check_size(x.count, has_y ? y.count : x.count, error);
    if (status == STATUS_OK) {
        const struct number_list *along_y = has_y ? &y : &x;
        status = make_separable(x.values, x.count, along_y->values, along_y->count, normalize, kernel, error);
    }
    free(x.values);
    free(y.values);
    return status;
}

/* True if the matrix has rank 1; stores its factors. A rank-1 matrix is determined by any row and column with
 * a nonzero weight in common, so the row and the column of the largest weight are tried. */
static bool split_rank_1(const double *matrix, int width, int height, double *x, double *y)
{
    int largest = 0;
    for (int i = 1; i < width * height; i++)
        if (fabs(matrix[i]) > fabs(matrix[largest]))
            largest = i;
    double pivot = matrix[largest];
    if (pivot == 0)
        return false;
    for (int i = 0; i < width; i++)
        x[i] = matrix[largest / width * width + i];
    for (int j = 0; j < height; j++)
        y[j] = matrix[j * width + largest % width] / pivot;
    for (int i = 0; i < width * height; i++)
        if (fabs(matrix[i] - x[i % width] * y[i / width]) > RANK_TOLERANCE * fabs(pivot))
            return false;
    return true;
}

/* Stores a matrix, or its two factors if it has rank 1. */
static enum status make_kernel(const double *matrix, int width, int height, bool normalize,
                               struct kernel *kernel, struct error *error)
{
    double x[KERNEL_MAX_SIZE], y[KERNEL_MAX_SIZE];
    if (split_rank_1(matrix, width, height, x, y))
        return make_separable(x, width, y, height, normalize, kernel, error);
    const int count = width * height;
    const double sum = sum_of(matrix, count, false), absolute = sum_of(matrix, count, true);
    *kernel = (struct kernel){
        .width = width, .height = height, .is_differential = fabs(sum) <= ZERO_SUM * absolute};
    kernel->matrix = to_floats(matrix, count, kernel_divisor(sum, absolute, normalize), error);
    return kernel->matrix ? STATUS_OK : STATUS_FAILED;
}

/* Parses the lines of a file. Skips empty lines and comments. */
static enum status kernel_read_rows(const char *text, struct number_list *numbers, int *width, int *height,
                                    struct error *error)
{
    enum status status = STATUS_OK;
    *width = *height = 0;
    for (const char *line = text; status == STATUS_OK && *line;
         line += strcspn(line, "\n"), line += *line != 0) {
        int before = numbers->count;
        const char *end;
        status = kernel_scan(line, '\0', numbers, &end, error);
        int found = numbers->count - before;
        if (status != STATUS_OK || found == 0)
            continue;
        ++*height;
        if (*height > 1 && found != *width)
            status = fail(error, STATUS_USAGE, "row %d has %d numbers, the first %d", *height, found, *width);
        *width = found;
        if (status == STATUS_OK)
            status = kernel_check_size(*width, *height, error);
    }
    return status;
}

enum status kernel_read(const char *path, bool normalize, struct kernel *kernel, struct error *error)
{
    struct number_list numbers = {0};
    int width, height;
    FILE *file = fopen(path, "r");
    if (!file)
        return fail(error, STATUS_FAILED, "%s: %s", path, strerror(errno));
    char *text = allocate(FILE_MAX, "a convolution kernel", error);
    enum status status = text ? STATUS_OK : STATUS_FAILED;
    if (status == STATUS_OK) {
        const size_t size = fread(text, 1, FILE_MAX - 1, file);
        text[size] = '\0';
        if (ferror(file))
            status = fail(error, STATUS_FAILED, "%s", strerror(errno));
        else if (size == FILE_MAX - 1 || memchr(text, '\0', size)) /* as for /dev/zero */
            status = fail(error, STATUS_FAILED, "is not a text of at most %d MiB", FILE_MAX >> 20);
    }
    if (status == STATUS_OK)
        status = kernel_read_rows(text, &numbers, &width, &height, error);
    if (status == STATUS_OK)
        status = kernel_check_size(width, height, error);
    if (status == STATUS_OK && numbers.values)
        status = make_kernel(numbers.values, width, height, normalize, kernel, error);
    fclose(file);
    free(text);
    free(numbers.values);
    if (status == STATUS_OK)
        return STATUS_OK;
    error_prefix(error, path);
    return STATUS_FAILED;
}

uint64_t kernel_hash(const struct kernel *kernel)
{
    const size_t width = (size_t)kernel->width, height = (size_t)kernel->height;
    const int sides[] = {kernel->width, kernel->height};
    uint64_t hash = hash_bytes(HASH_START, sides, sizeof sides);
    if (!kernel->separable)
        return hash_bytes(hash, kernel->matrix, width * height * sizeof *kernel->matrix);
    hash = hash_bytes(hash, kernel->along_x, width * sizeof *kernel->along_x);
    return hash_bytes(hash, kernel->along_y, height * sizeof *kernel->along_y);
}

void kernel_free(struct kernel *kernel)
{
    free(kernel->along_x);
    free(kernel->along_y);
    free(kernel->matrix);
    *kernel = (struct kernel){0};
}
