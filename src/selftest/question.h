/* What --selftest asks and what the answers are: made by tests/reference/make_answers.py, in numpy. */
#ifndef CLIMG_SELFTEST_QUESTION_H
#define CLIMG_SELFTEST_QUESTION_H

#include "engine/shape.h"
#include "image/image.h"

/* A stage by itself, on samples that a formula gives (question_sample). */
struct question {
    const char *stage, *value; /* as on the command line; no stage: samples go in and out */
    int width, height, channels;
    bool alpha;  /* the last channel is alpha, which is 0 in some pixels and else at least a half */
    int levels;  /* of a pyramid that goes in; 0: an image does */
    bool linear; /* decoded to linear light and encoded again, by a power law unless it is 0 */
    double exponent;
    enum edge edge;
    enum sample_type in, out; /* of images */
    size_t step;              /* every so manieth sample that comes out is known */
    const int *answers;       /* in ANSWER_UNITs of full scale, before samples were rounded */
    size_t count;
};

/* Of the samples of all pages, one after the other. */
extern const struct question questions[];
extern const size_t question_count;

/* What `--convolve @matrix` reads. */
extern const char question_matrix[];

static const double ANSWER_UNIT = 1e-7;
enum { NO_ANSWER = -2147483647 - 1 /* where an error of rounding decides */ };

/* The samples that go in, `count` of them from number `first` on, as rows hold them. */
void question_write(const struct question *question, enum sample_type type, size_t first, size_t count,
                    void *samples);

#endif
