#include "base/trace_svg.h"

#include <math.h>

enum { LEFT = 90, WIDTH = 900, HEIGHT = 22, GAP = 8, PITCH = HEIGHT + GAP };

/* Colours that stay apart for most people who see fewer of them (P. Tol, "Colour schemes", 2021: bright). */
static const char *const colours[TRACE_ROW_COUNT] = {
    [TRACE_START] = "#bbbbbb",  [TRACE_READER] = "#4477aa",   [TRACE_UPLOAD] = "#66ccee",
    [TRACE_DEVICE] = "#228833", [TRACE_DOWNLOAD] = "#ccbb44", [TRACE_WRITER] = "#ee6677",
    [TRACE_HOST] = "#aa3377",
};

/* In seconds since `began`; never 0. */
static double last_end(const struct trace_event *events, size_t count, double began)
{
    double end = began + 1e-6;
    for (size_t i = 0; i < count; i++)
        end = fmax(end, events[i].end);
    return end - began;
}

/* 5, 50, 500 ... ms: at most twenty in `seconds`. */
static double tick(double seconds)
{
    return 0.5 * pow(10, ceil(log10(seconds / 10)));
}

static void draw_ticks(FILE *file, int bottom, double seconds)
{
    const double step = tick(seconds);
    for (int i = 0; i * step <= seconds; i++) {
        const double x = LEFT + WIDTH * i * step / seconds;
        fprintf(file, "<path d=\"M%.1f %dV%d\" stroke=\"#dddddd\"/>\n", x, (int)GAP, bottom);
        fprintf(file, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g ms</text>\n", x, bottom + 16,
                1e3 * i * step);
    }
}

/* Neighbouring slices alternate between two shades, so that they are told apart. */
static void draw_event(FILE *file, const struct trace_event *event, double began, double seconds)
{
    const double length = event->end - event->begin;
    fprintf(
        file,
        "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\" fill-opacity=\"%g\"><title>%s",
        LEFT + WIDTH * (event->begin - began) / seconds, GAP + (int)event->row * PITCH,
        fmax(WIDTH * length / seconds, 0.2), (int)HEIGHT, colours[event->row],
        event->slice > 0 && event->slice % 2 != 0 ? 0.6 : 1.0, event->name);
    if (event->slice >= 0)
        fprintf(file, ", slice %d", event->slice);
    fprintf(file, ": %.2f ms</title></rect>\n", 1e3 * length);
}

void trace_draw(FILE *file, const struct trace_event *events, size_t count, double began, int rows,
                const char *const *row_names)
{
    const int bottom = GAP + rows * PITCH;
    const double seconds = last_end(events, count, began);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
            "font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            LEFT + WIDTH + 40, bottom + 24);
    for (int row = 0; row < rows; row++)
        fprintf(file, "<text x=\"4\" y=\"%d\">%s</text>\n", GAP + row * PITCH + 16, row_names[row]);
    draw_ticks(file, bottom, seconds);
    for (size_t i = 0; i < count; i++)
        draw_event(file, &events[i], began, seconds);
    fputs("</svg>\n", file);
}
