/* Subtracts a picture, such as a dark frame: dst = src - operand, for each colour. Colour is premultiplied,
 * so the kernel multiplies the operand by alpha (filters/operand.h). */
#include "filters/operand.h"

static const struct option options[] = {OPERAND_FILE("the picture that is subtracted"), {.type = OPTION_END}};

static const struct example examples[] = {
    {"climg samples/tilted.png --minus samples/scene.tif --depth float difference.tif",
     "the difference of two pictures of one size"},
    {NULL, NULL},
};

const struct stage stage_minus = {
    .name = "minus",
    .brief = "subtract a picture, such as a dark frame",
    .manual = "Subtracts FILE, sample by sample: a dark frame, which has what a sensor adds without light. "
              "FILE has the size of the picture at this point of the chain, and its colours, or gray for all "
              "of them; of several pages the first counts. Samples are compared as shares of full scale, so "
              "that FILE may have another depth; --linear and --range apply to it as to the input, and its "
              "alpha is ignored. Values below black are clipped in integers, and -v counts them; --depth "
              "float keeps them. Before --stack it works on each input, after it on the result. FILE is "
              "turned as its orientation says, unless --stored-orientation is given.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct operand),
    .check = operand_check,
    .prepare = operand_read,
    .release = operand_release,
    .caps = operand_caps,
    .shape = operand_shape,
    .rows = rows_same,
    .run = operand_combine,
};
