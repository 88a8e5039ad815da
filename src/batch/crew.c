#include "batch/crew.h"

#include "base/thread.h"
#include "base/workers.h"
#include "batch/stacking.h"
#include "device/choose.h"

#include <stdlib.h>
#include <strings.h>

enum { MAX_WORKERS = 256, NUMBER_SIZE = 12 };

struct crew {
    const struct list *list;
    struct results *results;
    pthread_mutex_t lock; /* of everything below, and of the results */
    size_t next;          /* item nobody has taken yet */
    size_t *returned;     /* items that failed with their device, to be done elsewhere */
    size_t returned_count;
    int devices;  /* that still work */
    bool several; /* there was more than one to begin with */
    struct worker *workers;
    int count;
};

struct worker {
    struct crew *crew;
    struct session own, *session; /* the first worker's is the command's */
    struct session *leader;       /* of its device */
    bool *dropped;                /* its device's */
    struct stacking stacking;     /* the items that it has taken */
    pthread_t thread;
    bool started;
};

/* Items that came back go first. False: nothing is left for this worker. */
static bool take_item(struct worker *worker, size_t *index)
{
    struct crew *crew = worker->crew;
    pthread_mutex_lock(&crew->lock);
    bool found = true;
    if (*worker->dropped)
        found = false;
    else if (crew->returned_count > 0)
        *index = crew->returned[--crew->returned_count];
    else if (crew->next < crew->list->count)
        *index = crew->next++;
    else
        found = false;
    pthread_mutex_unlock(&crew->lock);
    return found;
}

/* What a group may take, so that there is as much for every worker at the end of the list, too. */
static size_t fair_share(struct worker *worker)
{
    struct crew *crew = worker->crew;
    pthread_mutex_lock(&crew->lock);
    size_t left = crew->returned_count + crew->list->count - crew->next;
    pthread_mutex_unlock(&crew->lock);
    return 1 + left / (size_t)crew->count;
}

/* The next item, and those after it that go through the chain with it. False: nothing is left. */
static bool gather(struct worker *worker)
{
    struct stacking *stacking = &worker->stacking;
    size_t index = 0;
    if (!stacking_carry(stacking)) {
        if (!take_item(worker, &index))
            return false;
        stacking_take(stacking, index);
    }
    stacking_begin(stacking, fair_share(worker));
    while (stacking_wants(stacking) && take_item(worker, &index))
        stacking_take(stacking, index);
    return true;
}

/* Locked. */
static void drop_device(struct worker *worker)
{
    struct crew *crew = worker->crew;
    struct error left = {""};
    if (*worker->dropped)
        return;
    crew->devices--;
    fail(&left, STATUS_FAILED, "%s: the device fails and is left out; the others go on",
         worker->session->device.name[0] ? worker->session->device.name : worker->session->wanted);
    results_warn(crew->results, &left);
    *worker->dropped = true;
}

/* A file that failed on a device that no longer works goes back, unless there is no other device: then the
 * message stands. So does one that was taken with it, without being tried. */
static bool give_back(struct worker *worker, const struct entry *entry)
{
    struct crew *crew = worker->crew;
    bool failed = entry->settled && entry->outcome.kind == OUTCOME_FAILED;
    if (!crew->several || (failed && session_device_works(worker->session)))
        return false;
    pthread_mutex_lock(&crew->lock);
    bool goes = *worker->dropped ? failed || !entry->settled : failed && crew->devices > 1;
    if (goes) {
        drop_device(worker);
        crew->returned[crew->returned_count++] = entry->index;
    }
    pthread_mutex_unlock(&crew->lock);
    return goes;
}

static void finish_entry(struct worker *worker, struct entry *entry)
{
    struct crew *crew = worker->crew;
    if (!entry->settled && give_back(worker, entry)) {
        entry_drop(entry);
        return;
    }
    entry_finish(entry);
    if (give_back(worker, entry))
        return;
    pthread_mutex_lock(&crew->lock);
    results_take(crew->results, entry->item, &entry->outcome);
    pthread_mutex_unlock(&crew->lock);
}

static void *work(void *context)
{
    struct worker *worker = context;
    while (gather(worker)) {
        stacking_work(&worker->stacking);
        for (int i = 0; i < stacking_count(&worker->stacking); i++)
            finish_entry(worker, &worker->stacking.entries[i]);
    }
    return NULL;
}

/* The devices to work on, as --device takes them: one, or with "all" every one of the best kind. */
struct choice {
    char (*names)[NUMBER_SIZE];
    int count;
};

static enum status choose_devices(const struct session *session, const struct list *list,
                                  struct choice *choice, struct error *error)
{
    int *numbers = NULL;
    *choice = (struct choice){.count = 1};
    if (strcasecmp(session->settings->device, "all") != 0)
        return STATUS_OK;
    if (!list->output_is_directory)
        return fail(error, STATUS_USAGE,
                    "--device all shares several files out; a single one needs one device");
    enum status status = device_numbers(&session->settings->environment, &numbers, &choice->count, error);
    if (status == STATUS_OK)
        choice->names =
            allocate_zeroed((size_t)choice->count, sizeof *choice->names, "the list of devices", error);
    if (status == STATUS_OK && !choice->names)
        status = STATUS_FAILED;
    for (int i = 0; status == STATUS_OK && i < choice->count; i++)
        snprintf(choice->names[i], NUMBER_SIZE, "%d", numbers[i]);
    free(numbers);
    return status;
}

/* As many as there are threads to decode and encode with, which they share out among them; a trace shows one.
 */
static int choose_count(const struct session *session, const struct list *list, int devices)
{
    int count = session->settings->jobs > 0 ? session->settings->jobs : workers_available();
    if (session->settings->trace)
        return 1;
    count = count > devices ? count : devices;
    return list->count < (size_t)count ? (int)list->count : count;
}

static void set_shares(struct session *session, int count)
{
    int jobs = session->settings->jobs > 0 ? session->settings->jobs : workers_available();
    session->jobs = jobs > count ? jobs / count : 1;
    session->memory_limit = session->settings->memory_limit / (uint64_t)count;
}

/* Worker i is on device i modulo their number; the first on each leads. */
static void set_up(struct crew *crew, struct session *session, const struct choice *choice, bool *dropped)
{
    for (int i = 0; i < crew->count; i++) {
        struct worker *worker = &crew->workers[i];
        int device = i % choice->count;
        *worker = (struct worker){.crew = crew, .dropped = &dropped[device]};
        worker->session = i == 0 ? session : &worker->own;
        worker->leader = device == i ? NULL : crew->workers[device].session;
        if (worker->leader) {
            session_follow(worker->session, worker->leader);
        } else if (i > 0) {
            session_init(worker->session, session->settings, session->chain);
            worker->session->provenance = session->provenance;
        }
        if (choice->names && !worker->leader)
            worker->session->wanted = choice->names[device];
        set_shares(worker->session, crew->count);
        stacking_init(&worker->stacking, worker->session, crew->list);
    }
}

static void start(struct crew *crew)
{
    for (int i = 1; i < crew->count; i++) {
        struct worker *worker = &crew->workers[i];
        struct error ignored = {""}; /* the others do its work */
        worker->started = thread_start(&worker->thread, work, worker, &ignored) == STATUS_OK;
    }
}

/* Items may come back when some workers have gone already. */
static void finish(struct crew *crew)
{
    for (int i = 1; i < crew->count; i++)
        if (crew->workers[i].started)
            pthread_join(crew->workers[i].thread, NULL);
    for (int i = 0; i < crew->count && crew->returned_count > 0; i++)
        work(&crew->workers[i]);
}

static enum status clean_up(struct crew *crew, struct session *session, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = crew->count - 1; i > 0; i--) {
        if (session_add(session, crew->workers[i].session, error) != STATUS_OK)
            status = STATUS_FAILED;
        session_close(crew->workers[i].session);
    }
    return status;
}

static enum status work_together(struct crew *crew, struct session *session, const struct choice *choice,
                                 struct error *error)
{
    crew->count = choose_count(session, crew->list, choice->count);
    crew->devices = choice->count < crew->count ? choice->count : crew->count;
    crew->several = crew->devices > 1;
    crew->workers = allocate_zeroed((size_t)crew->count + 1, sizeof *crew->workers, "the workers", error);
    crew->returned = allocate_zeroed(crew->list->count + 1, sizeof *crew->returned, "the workers", error);
    bool *dropped = allocate_zeroed((size_t)choice->count, sizeof *dropped, "the list of devices", error);
    enum status status = crew->workers && crew->returned && dropped ? STATUS_OK : STATUS_FAILED;
    if (status == STATUS_OK && crew->count > 0) {
        set_up(crew, session, choice, dropped);
        start(crew);
        work(&crew->workers[0]);
        finish(crew);
        status = clean_up(crew, session, error);
    }
    free(crew->workers);
    free(crew->returned);
    free(dropped);
    return status;
}

enum status crew_work(struct session *session, const struct list *list, struct results *results,
                      struct error *error)
{
    struct crew crew = {.list = list, .results = results};
    struct choice choice;
    pthread_mutex_init(&crew.lock, NULL);
    enum status status = choose_devices(session, list, &choice, error);
    if (status == STATUS_OK)
        status = work_together(&crew, session, &choice, error);
    session->wanted = session->settings->device;
    free(choice.names);
    pthread_mutex_destroy(&crew.lock);
    return status;
}
