/* A hash that is the same on every machine and in every version: parts of a job are shared out by it. */
#ifndef CLIMG_BASE_HASH_H
#define CLIMG_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* 64-bit FNV-1a of some bytes; `before` is HASH_START, or the hash of what comes before them. */
#define HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t hash_bytes(uint64_t before, const void *bytes, size_t size);

#endif
