/* A job by itself: every page through the chain. */
#ifndef CLIMG_BATCH_CONVERT_H
#define CLIMG_BATCH_CONVERT_H

#include "batch/result.h"

/* Finds out whether there is anything to do, and opens the input; fine on a job for which that was done. */
enum status convert_begin(struct worker *worker, struct job *job, struct error *error);

/* Does what is left of the job, whatever it needs, and says what became of it. It uses nothing but the worker
 * and what is constant, and tells nobody (results_take does). Adds to the result's times. */
void convert(struct worker *worker, struct job *job, struct result *result);

#endif
