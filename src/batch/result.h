/* What became of a job: what is told of it while it goes on, and what is kept when it is over. */
#ifndef CLIMG_BATCH_RESULT_H
#define CLIMG_BATCH_RESULT_H

#include "batch/job.h"

enum { WARNINGS_SIZE = 1024 };

/* What became of a job. Sizes are those of the first page, pixels those of all pages that came in. */
struct result {
    enum status status; /* STATUS_OK unless it failed */
    bool skipped;
    struct error error;
    int width, height, channels;
    int output_width, output_height, output_channels;
    int slice; /* rows that went through the chain at once, where half as many would take less memory; else 0
                */
    int group; /* images that went through the chain together, this one among them; 1: it went by itself */
    uint64_t pixels, bytes_in, bytes_out;
    enum sample_type output_type;
    bool as_floats; /* samples went through 32-bit floats on their way */
    struct clipping clipping;
    float noise[4];               /* of the first page, as estimated: standard deviations in 8-bit counts */
    int noise_count;              /* of colours, alpha having none; 0: no stage estimated it */
    struct alignment alignment;   /* of the first page */
    char warnings[WARNINGS_SIZE]; /* lines for people, each once; "": there is nothing to say */
    struct times times;           /* of what was done for a group each image has its share */
    const char *device;           /* belongs to the worker; NULL: none was needed */
};

/* A line of --verbose: "climg: INPUT: ...". */
void job_tell(const struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a line to the warnings; of several pages that give the same reason it is told once. */
void result_warn(struct result *result, const char *text);

/* Notes the sizes of a page that is about to go through, and with --verbose says what was decided. */
void result_note_page(const struct job *job, const struct worker *worker, const struct page *page,
                      struct result *result);

/* Notes the noise that stages estimated: after a page, or for the image of that number after a group, while
 * the job's input is as it was. */
void result_note_noise(const struct job *job, const struct worker *worker, int image, struct result *result);

/* Notes where --align found the page, also where that was not sure enough. */
void result_note_alignment(const struct job *job, const struct worker *worker, struct result *result);

/* Closes the job. A failure's message gets the file's name here, and nowhere else. */
void job_settle(struct job *job, const struct worker *worker, enum status status, struct result *result);

#endif
