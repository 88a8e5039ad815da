/* Turns a page so that its lines of text are level: --rotate with an angle that is measured
 * (register/page_angle.h).
 *
 * A page without a clear angle, such as an empty one, stays as it is, with a warning: one page of a book
 * should not stop the others. --rotate auto measures the same, but its canvas grows as with any angle. */
#include "filters/warp.h"
#include "register/page_angle.h"

struct deskew {
    double max_degrees; /* largest angle that is tried */
};

static const struct option options[] = {
    {.type = OPTION_REAL,
     .offset = offsetof(struct deskew, max_degrees),
     .fallback = "15",
     .min = 1,
     .max = 45,
     .value = "MAXDEGREES",
     .optional = true,
     .help = "the largest angle that is tried, to either side"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/page.jpg --deskew level.jpg", "a page whose lines become level"},
    {"climg samples/page.jpg --gray --deskew --threshold sauvola,radius=15 page.png",
     "a scan that is level and black on white"},
    {NULL, NULL},
};

/* Replaces the stage by --rotate with the angle. */
static enum status deskew_end(void *context, const void *params, const char *written,
                              struct replacement *replacement, struct error *error)
{
    double degrees;
    (void)written;
    if (page_angle_find(context, ((const struct deskew *)params)->max_degrees, &degrees, replacement,
                        error) != STATUS_OK)
        return STATUS_FAILED;
    snprintf(replacement->value, sizeof replacement->value, "%.3f,crop=same", degrees);
    return STATUS_OK;
}

static const struct measurement deskew_measurement = {.sufficient_side = PAGE_ANGLE_SIDE,
                                                      .usual_stage = "rotate",
                                                      .usual_value = "1,crop=same",
                                                      .size = sizeof(struct page_angle),
                                                      .begin = page_angle_begin,
                                                      .add = page_angle_add,
                                                      .end = deskew_end,
                                                      .release = page_angle_release};

const struct stage stage_deskew = {
    .name = "deskew",
    .brief = "make the lines of a page level",
    .manual =
        "Finds the angle of the lines of text and turns the page by it, to within 0.1 degrees for nearly all "
        "pages. The size stays, and at the border the rule of --edge applies. --rotate auto enlarges the "
        "canvas instead, so that all of the page is kept; --rotate auto,crop=inside cuts the empty corners "
        "off. A page that is level to 0.05 "
        "degrees is not interpolated. -v and --report give the angle.\n\n"
        "A page without clear lines, such as an empty one or a photo, is not turned, and a warning says so. "
        "Text may be dark or light, and the light uneven. A page that is upside down or on its side stays "
        "so.\n\n"
        "The picture is read twice; a pipe is first copied to a temporary file. If --deskew comes first, a "
        "JPEG is decoded at a reduced size to find the angle. Video is refused. By projection profiles: W. "
        "Postl, \"Detection of linear oblique structures and skew scan in digitized documents\", ICPR "
        "(1986).",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct deskew),
    .rows = rows_same,
    .measurement = &deskew_measurement,
    .fixed_caps = {.needs_upright = true, .relative_cost = 6},
    .run = copy_image,
};
