/* Work on samples that climg makes itself: --selftest compares the results with known answers, --warm has
 * programs built. */
#ifndef CLIMG_SELFTEST_SELFTEST_H
#define CLIMG_SELFTEST_SELFTEST_H

#include "batch/command.h"
#include "chain/chain.h"
#include "chain/memory_run.h"
#include "settings/environment.h"
#include "settings/settings.h"

#include <stdio.h>

/* Puts every question to the device that the settings name, in every memory that it has and, where the stage
 * can do without the rest of the image, in slices. Tells on `out` how large the errors are, with --verbose of
 * each question and which kernels ran, and remembers what it found (device/cache.h). STATUS_FAILED where an
 * answer is wrong: the message names the stages. */
enum status selftest(const struct settings *settings, FILE *out, struct error *error);

/* Runs every example of every stage's manual, on samples like those of the files that it names, so that later
 * runs of such commands wait for no compiler: on the device that the settings name, or on both that "auto"
 * chooses from. With --verify it runs them a second time in the way of
 * --verify. PoCL's programs are kept in climg's cache (device/cache.h). Tells on `out` what was built and how
 * long it took. STATUS_FAILED if some examples failed. */
enum status warm(const struct command *command, FILE *out, struct error *error);

/* What --selftest asks: a stage on samples that a formula gives. tests/reference/make_answers.py writes the
 * questions and their answers, in numpy, to answers.txt, which is embedded. */

enum { MAX_ANSWERS = 512, NO_ANSWER = -2147483647 - 1 /* where an error of rounding decides */ };

/* The unit of the answers, of full scale. */
static const double ANSWER_UNIT = 1e-7;

struct test_case {
    char stage[24], value[96]; /* as on the command line; "": no stage, or no value */
    int width, height, channels;
    int alpha;  /* 1: the last channel is alpha, which is 0 in some pixels and else at least a half */
    int levels; /* of a pyramid that goes in; 0: an image does */
    int linear; /* 1: decoded to linear light and encoded again, by a power law unless it is 0 */
    double exponent;
    enum edge edge;
    enum sample_type in, out; /* of images */
    size_t step;              /* the answers are those of every step-th number that comes out */
    int answers[MAX_ANSWERS]; /* of full scale, before samples were rounded */
    size_t count;
};

/* Reads the question at *text and moves *text behind it. False at the end of the text. */
bool test_case_next(const char **text, struct test_case *test_case);

/* The first question: the file answers.txt. */
extern const char selftest_answers[];

/* The sums of what exact devices give, a line of 8 digits for each question: sums.txt. */
extern const char selftest_sums[];

/* Whether CLIMG_ASK names the stage, or is not set. */
bool stage_is_selected(const struct environment *environment, const char *name);

/* The words of enum edge. */
extern const char *const edge_words[];

/* The question's stage as a chain. chain_free is needed also after a failure. */
enum status test_case_chain(const struct test_case *test_case, struct chain *chain, struct error *error);

/* A file that only this process sees, for a stage that reads one: its descriptor, to be closed, or -1. The
 * stage takes it as /proc/self/fd/N. */
int memory_file(const void *bytes, size_t size);

/* How the numbers that came out differ from the answers. */
struct comparison {
    double error; /* the largest, of full scale or of the answer where that is larger; infinite: no number */
    size_t worst; /* its place */
    double got, expected;
    uint32_t sum; /* CRC-32 of what came out */
};

/* Sends the question's samples through the chain as a file's would go, in slices of so many rows (0: at
 * once), and compares what comes out. *sliced says whether there were several slices. STATUS_FAILED: the
 * device could not do it. */
enum status test_case_run(const struct test_case *test_case, const struct chain *chain, struct run *run,
                          struct timing *timing, int slice, bool *sliced, struct comparison *comparison,
                          struct error *error);

#endif
