#ifndef TORTURE_STACK_H
#define TORTURE_STACK_H

#include <stdbool.h>
#include <stdint.h>

struct range {
    uintptr_t begin, end;
};

/* The calling thread's stack as a number that each run of the same program gives it: a hash of the return
 * addresses of `modules`, relative to where each was loaded. Frames of others, such as drivers and libc, are
 * passed over. */
uint64_t stack_hash(const struct range *modules, int count);

/* The index of the module that is next in the calling thread's stack; -1: none. */
int stack_innermost(const struct range *modules, int count);

/* A record of `call` and `stack` goes to the end of the file that FAIL_STACKS names; nothing without it. */
void stack_open_record(void);
bool stack_is_recorded(void);
void stack_record(uint64_t call, uint64_t stack);

#endif
