/* One input on its way to one output: opened, and what it is to become. */
#ifndef CLIMG_BATCH_CONVERTING_H
#define CLIMG_BATCH_CONVERTING_H

#include "batch/session.h"
#include "chain/coefficients.h"
#include "chain/plan.h"
#include "chain/transfer.h"
#include "image/reader.h"
#include "image/writer.h"

struct converting {
    struct session *session;
    const char *name; /* of the input, for messages */
    const char *output;
    struct reader *reader;
    struct writer *writer; /* opened with the first page's plan */
    struct writer_options options;
    struct chain chain; /* as it runs on this input */
    bool pyramid;       /* the input is a coefficient file, described by */
    struct coefficients coefficients;
    struct converted made; /* filled in as far as it gets */
};

/* What the output says about itself, and how samples become values and back. */
struct description {
    struct conversion from, to;
    struct image_info out; /* its metadata is a copy of its own; page_name is the reader's */
};

/* Opens the input, reads its header, and checks that the command can be done with it. Needs no device.
 * Messages name the file they are about, here and below. converting_close is needed also after a failure. */
enum status converting_open(struct converting *converting, struct session *session, const char *input,
                            const char *output, struct error *error);

/* Whether an input with another page than the first can become this output. The message does not name it. */
enum status converting_check_more(const struct converting *converting, struct error *error);

/* How the samples of the reader's current page become values. */
struct conversion converting_entry(const struct converting *converting);

/* The samples that the output gets for that page. */
enum sample_type converting_output_type(const struct converting *converting);

struct shape converting_shape(const struct converting *converting);

/* The plan for that page, or for a group of so many of its shape. The session must be open. */
enum status converting_plan(const struct converting *converting, int images, struct plan *plan,
                            struct error *error);

/* `shape`: what comes out of the chain. metadata_free(&description->out.metadata) is needed only where it
 * succeeded. */
enum status converting_describe(const struct converting *converting, const struct shape *shape,
                                struct description *description, struct error *error);

/* Begins the output, of so many pages like this one. */
enum status converting_open_writer(struct converting *converting, const struct shape *shape,
                                   enum sample_type type, int pages, struct error *error);

/* Notes the sizes of a page that is about to go through, and with --verbose says what was decided. */
void converting_note(struct converting *converting, const struct plan *plan,
                     const struct description *description);

/* The input only: the page was read. */
void converting_close_input(struct converting *converting);

/* Closes everything; what was not committed is removed. Safe twice, and on a zeroed one. */
void converting_close(struct converting *converting);

#endif
