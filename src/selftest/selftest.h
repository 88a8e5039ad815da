/* Two commands that work on generated images: --selftest compares the results with known answers, --warm
 * compiles programs in advance. Both open and close their own devices.
 *
 * answers.txt has the test cases and their answers. tests/reference/make_answers.py writes it with numpy, so
 * that the answers do not depend on climg. sums.txt has checksums of climg's own output on an exact device,
 * which rounds every operation as kernels/exact.h requires. Both files are embedded in the program.
 *
 * Thread safety: one call at a time. */
#ifndef CLIMG_SELFTEST_SELFTEST_H
#define CLIMG_SELFTEST_SELFTEST_H

#include "batch/command.h"
#include "chain/chain.h"
#include "chain/memory_run.h"
#include "settings/environment.h"
#include "settings/settings.h"

#include <stdio.h>

/* --selftest: runs all test cases on the device of the settings, in each kind of memory, unsliced and, if the
 * stage permits, in slices. Prints a summary with the largest error to `out`; with --verbose also the error
 * of each case, and the kernels that ran. Fails if an output is wrong, with the names of the stages as the
 * message, or if a run failed. Stores the result (device/cache.h), but a pass only if all cases ran. */
enum status selftest(const struct settings *settings, FILE *out, struct error *error);

/* --warm: runs the examples of all stages' manuals on images of usual sample types, so that later runs of
 * such commands need not compile. Uses the device of the settings, or for "auto" and "all" a GPU and a CPU.
 * With --verify also compiles the programs of the second computation. Stores PoCL's programs in climg's cache
 * (device/cache.h). Prints the examples and their compilation times to `out`. Fails if an example failed. */
enum status warm(const struct command *command, FILE *out, struct error *error);

/* ---------------------------------------------------------------- test cases */

enum {
    MAX_ANSWERS = 512,          /* maximum number of answers of a test case */
    NO_ANSWER = -2147483647 - 1 /* the value depends on rounding errors and is not compared */
};

/* Unit of the answers, as a fraction of full scale. */
static const double ANSWER_UNIT = 1e-7;

/* A stage, its input samples, given by a formula, and the expected output samples. */
struct test_case {
    char stage[24], value[96];   /* as on the command line; "" means no stage, or no value */
    int width, height, channels; /* of the input image, or of the image that the pyramid represents */
    int alpha;       /* 1: the last channel is alpha, 0 in some pixels and at least a half in others */
    int levels;      /* levels if the input is a pyramid; 0 for an image */
    int linear;      /* 1: as with --linear */
    double exponent; /* of the transfer curve, a power law; 0: sRGB */
    enum edge edge;  /* --edge */
    enum sample_type in, out;
    size_t stride;            /* answers[i] belongs to output value i * stride */
    int answers[MAX_ANSWERS]; /* in ANSWER_UNIT, not rounded to the sample type; or NO_ANSWER */
    size_t count;             /* number of answers */
};

/* Reads the test case at *text and advances *text. Returns false at the end. */
bool test_case_next(const char **text, struct test_case *test_case);

/* The embedded answers.txt and sums.txt. A line of sums.txt is the CRC-32 of a test case's output on exact
 * devices, 8 hexadecimal digits. */
extern const char selftest_answers[], selftest_sums[];

/* True if CLIMG_STAGES is not set or names the stage. */
bool stage_is_selected(const struct environment *environment, const char *name);

/* Names of enum edge. */
extern const char *const edge_words[];

/* Builds the chain of a test case: one stage, or none. Call chain_free also after a failure. */
enum status test_case_chain(const struct test_case *test_case, struct chain *chain, struct error *error);

/* Creates a file in memory, for a stage that reads it as /proc/self/fd/N. Returns the descriptor N, which the
 * caller closes, or -1 on failure. */
int memory_file(const void *bytes, size_t size);

/* Difference between output and answers. */
struct comparison {
    double error; /* largest error beyond rounding to the sample type, relative to full scale or to the
                   * answer if that is larger; infinite for an output of NaN or infinity */
    size_t worst; /* index of the output value with this error */
    double got, expected; /* that value and its answer; full scale is 1 */
    uint32_t sum;         /* CRC-32 of the output */
};

/* Runs a test case through the code that processes files, in slices of `slice` rows (0: unsliced), and
 * compares the output. Sets *sliced to true if there is more than one slice. If `slice` is above 0 and there
 * is only one slice, runs nothing. Fails if the device cannot run the case. */
enum status test_case_run(const struct test_case *test_case, const struct chain *chain, struct run *run,
                          int slice, bool *sliced, struct comparison *comparison, struct error *error);

#endif
