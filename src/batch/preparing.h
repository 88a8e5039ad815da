/* A line on the terminal while the driver compiles. */
#ifndef CLIMG_BATCH_PREPARING_H
#define CLIMG_BATCH_PREPARING_H

#include <pthread.h>
#include <stdbool.h>

/* A thread that looks from time to time whether a compiler has been at work for so long that the user is to
 * know. */
struct preparing {
    bool started, ended;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*show)(const char *line);
    void (*erase)(void);
};

/* From now on until preparing_end. Where no thread can be started nothing is shown. */
void preparing_begin(struct preparing *preparing, void (*show)(const char *line), void (*erase)(void));
void preparing_end(struct preparing *preparing);

#endif
