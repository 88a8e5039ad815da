#include "batch/session.h"

#include "chain/tune.h"

#include <string.h>

void session_init(struct session *session, const struct globals *globals, const struct chain *chain)
{
    *session = (struct session){.globals = globals, .chain = chain};
    timing_begin(&session->timing);
}

/* `auto` is buffers: they are faster on every device measured so far (docs/performance.md). */
static enum memory choose_memory(const struct globals *globals)
{
    return globals->memory == MEMORY_OPTION_IMAGE ? MEMORY_IMAGE : MEMORY_BUFFER;
}

enum status session_open(struct session *session, struct error *error)
{
    if (session->open)
        return STATUS_OK;
    enum phase before = timing_enter(&session->timing, PHASE_START);
    enum status status = device_choose(session->globals->device, &session->device, error);
    if (status == STATUS_OK)
        status = device_open(&session->device, error);
    timing_enter(&session->timing, before);
    if (status != STATUS_OK) {
        device_close(&session->device); /* the next file tries again */
        return status;
    }
    session->device.profile = &session->profile;
    run_init(&session->run, &session->device, choose_memory(session->globals),
             (enum edge)session->globals->edge);
    session->open = true;
    return STATUS_OK;
}

enum status session_tune(const struct globals *globals, FILE *out, struct error *error)
{
    static const struct chain none;
    struct session session;
    session_init(&session, globals, &none);
    enum status status = session_open(&session, error);
    if (status == STATUS_OK)
        status = tune(&session.device, out, error);
    session_close(&session);
    return status;
}

void session_close(struct session *session)
{
    if (session->open)
        run_free(&session->run);
    profile_free(&session->profile);
    device_close(&session->device);
}
