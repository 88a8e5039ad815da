/* Prints the figures of --compare: lines, a row of a table, or an object of JSON. Differences are printed in
 * the units of the input's samples. */
#include "cli/comparison.h"

#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"

#include <math.h>

enum { DIGITS = 9 }; /* significant digits of numbers in JSON */

/* Converts a difference, a fraction of full scale, to the units of the input's samples. */
static double in_samples(const struct comparison *pair, double value)
{
    return value * sample_full_scale(pair->sides[0].info.type);
}

/* Prints name, size, channels and sample type, as --info does: "photo.png: 640 x 480, RGB, 8 bit". */
static void print_side(FILE *out, const struct side *side)
{
    print_visible(out, side->name);
    fprintf(out, ": %u x %u, %s, %s\n", side->info.width, side->info.height, channels_name(&side->info),
            sample_name(side->info.type));
}

/* Prints a PSNR or SSIM with at least `width` characters: "none" for NaN, "equal" for an infinite PSNR. */
static void print_number(FILE *out, int width, int decimals, double value)
{
    if (isnan(value))
        fprintf(out, "%*s", width, "none");
    else if (isinf(value))
        fprintf(out, "%*s", width, "equal");
    else
        fprintf(out, "%*.*f", width, decimals, value);
}

/* Prints a line with one number for each channel: "  PSNR in dB: red 38.12, green 38.95". */
static void print_channels(FILE *out, const struct comparison *pair, const char *title, int decimals,
                           double (*measure)(const struct difference *))
{
    fprintf(out, "  %s:", title);
    for (int i = 0; i < pair->channel_count; i++) {
        fprintf(out, "%s %s ", i > 0 ? "," : "", channel_name(&pair->sides[0].info, i));
        print_number(out, 0, decimals, measure(&pair->channels[i]));
        if (isinf(measure(&pair->channels[i])) && pair->channels[i].unmatched > 0)
            fputs(" elsewhere", out);
    }
    fputc('\n', out);
}

void comparison_print(FILE *out, const struct comparison *pair, const struct figures *figures)
{
    const struct difference *largest = &pair->channels[figures->largest];
    if (pair->sides[0].info.width == 0) { /* there is nothing to compare it with, so it was not read */
        print_visible(out, pair->sides[0].name);
        fprintf(out, ": %s\n", pair->why);
        return;
    }
    print_side(out, &pair->sides[0]);
    print_side(out, &pair->sides[1]);
    if (pair->why[0] != '\0' || figures->is_equal) {
        fprintf(out, "  %s\n", figures->is_equal ? "all samples are equal" : pair->why);
        return;
    }
    print_channels(out, pair, "PSNR in dB", 2, difference_psnr);
    print_channels(out, pair, "SSIM", 5, difference_ssim);
    if (largest->largest > 0) {
        fprintf(out, "  largest difference: %.6g of %.6g, %s at %u,%u", in_samples(pair, largest->largest),
                sample_full_scale(pair->sides[0].info.type),
                channel_name(&pair->sides[0].info, figures->largest), largest->at.x, largest->at.y);
        if (largest->at.page > 0)
            fprintf(out, " on page %u", largest->at.page + 1);
        fputc('\n', out);
    }
    for (int i = 0; i < pair->channel_count; i++)
        if (pair->channels[i].unmatched > 0)
            fprintf(out, "  NaN or infinite in one only: %llu in %s\n",
                    (unsigned long long)pair->channels[i].unmatched, channel_name(&pair->sides[0].info, i));
}

void comparison_print_row(FILE *out, const struct comparison *pair, const struct figures *figures,
                          bool is_first)
{
    if (is_first)
        fputs(" PSNR dB     SSIM    largest  picture\n", out);
    const double largest = pair->channels[figures->largest].largest;
    if (pair->why[0] != '\0' || largest == 0) { /* 0 without being equal: only NaN and infinity differ */
        fprintf(out, "%-28.28s  ", figures->is_equal ? "   equal" : "differs");
    } else {
        print_number(out, 8, 2, figures->psnr);
        fputc(' ', out);
        print_number(out, 8, 5, figures->ssim);
        fprintf(out, " %10.6g  ", in_samples(pair, largest));
    }
    print_visible(out, pair->sides[0].name);
    fprintf(out, "%s%s\n", pair->why[0] != '\0' ? ": " : "", pair->why);
}

/* Writes one side; its size and samples are null if it was not read. */
static void put_side(struct json_writer *out, const char *key, const struct side *side)
{
    json_begin(out, key, '{');
    json_put_string(out, "file", side->name);
    if (side->info.width > 0) {
        json_put_integer(out, "width", side->info.width);
        json_put_integer(out, "height", side->info.height);
        json_put_integer(out, "channels", side->info.video.parts > 1 ? 3 : side->info.channels);
        json_put_string(out, "samples", sample_name(side->info.type));
    } else {
        json_put_null(out, "width");
        json_put_null(out, "height");
        json_put_null(out, "channels");
        json_put_null(out, "samples");
    }
    json_end(out, '}');
}

/* Writes a list of one number for each channel. */
static void put_channels(struct json_writer *out, const char *key, const struct comparison *pair,
                         double (*measure)(const struct difference *))
{
    json_begin(out, key, '[');
    for (int i = 0; i < pair->channel_count; i++)
        json_put_number(out, NULL, measure(&pair->channels[i]), DIGITS);
    json_end(out, ']');
}

void comparison_print_json(FILE *file, const struct comparison *pair, const struct figures *figures)
{
    const struct difference *largest = &pair->channels[figures->largest];
    struct json_writer out = {.out = file};
    json_begin(&out, NULL, '{');
    put_side(&out, "picture", &pair->sides[0]);
    put_side(&out, "reference", &pair->sides[1]);
    json_put_boolean(&out, "equal", figures->is_equal);
    json_put_boolean(&out, "passes", figures->passes);
    json_put_string(&out, "why", pair->why[0] != '\0' ? pair->why : NULL);
    json_put_number(&out, "psnr", figures->psnr, DIGITS);
    put_channels(&out, "psnr_channels", pair, difference_psnr);
    json_put_number(&out, "ssim", pair->channel_count > 0 ? figures->ssim : (double)NAN, DIGITS);
    put_channels(&out, "ssim_channels", pair, difference_ssim);
    if (largest->largest > 0) {
        json_begin(&out, "largest", '{');
        json_put_number(&out, "difference", in_samples(pair, largest->largest), DIGITS);
        json_put_string(&out, "channel", channel_name(&pair->sides[0].info, figures->largest));
        json_put_integer(&out, "x", largest->at.x);
        json_put_integer(&out, "y", largest->at.y);
        json_put_integer(&out, "page", largest->at.page + 1);
        json_end(&out, '}');
    } else {
        json_put_null(&out, "largest");
    }
    json_begin(&out, "unmatched", '[');
    for (int i = 0; i < pair->channel_count; i++)
        json_put_integer(&out, NULL, (long long)pair->channels[i].unmatched);
    json_end(&out, ']');
    json_end(&out, '}');
    putc('\n', file);
}
