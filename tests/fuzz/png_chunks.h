/* A mutator that knows PNG's chunks: it moves, doubles, drops, adds and renames them, so that every order of
 * them is met, and mends their checksums, so that the code after their check is reached. In other files it
 * changes bytes. */
#ifndef CLIMG_FUZZ_PNG_CHUNKS_H
#define CLIMG_FUZZ_PNG_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { SIGNATURE = 8, CHUNK_HEAD = 8, CHUNK_BARE = 12, CHUNKS_MAX = 64, CHUNK_ADDED_MAX = 40 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

struct chunk {
    uint8_t *at;
    size_t size; /* with length, name and checksum */
};

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put_big_endian(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Returns the number of chunks of a PNG that begins at `data`; 0 if it is not a PNG. */
static size_t find_chunks(uint8_t *data, size_t size, struct chunk chunks[CHUNKS_MAX])
{
    static const uint8_t signature[SIGNATURE] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    size_t count = 0;
    if (size < SIGNATURE || memcmp(data, signature, SIGNATURE) != 0)
        return 0;
    for (size_t at = SIGNATURE; size - at >= CHUNK_BARE && count < CHUNKS_MAX; at += chunks[count++].size) {
        const size_t length = big_endian(data + at);
        if (length > size - at - CHUNK_BARE)
            break;
        chunks[count] = (struct chunk){data + at, length + CHUNK_BARE};
    }
    return count;
}

static void mend_checksums(uint8_t *data, size_t size)
{
    struct chunk chunks[CHUNKS_MAX];
    const size_t count = find_chunks(data, size, chunks);
    for (size_t i = 0; i < count; i++) {
        const uInt named = (uInt)(chunks[i].size - CHUNK_HEAD);
        put_big_endian(chunks[i].at + CHUNK_HEAD - 4 + named, (uint32_t)crc32(0, chunks[i].at + 4, named));
    }
}

/* Puts `added` bytes, of a chunk that another one is a copy of, where `to` begins. */
static void insert(uint8_t *data, size_t size, uint8_t *to, const uint8_t *chunk, size_t added)
{
    memmove(to + added, to, size - (size_t)(to - data));
    memcpy(to, chunk, added);
}

static size_t cut(uint8_t *data, size_t size, const struct chunk *chunk)
{
    memmove(chunk->at, chunk->at + chunk->size, size - (size_t)(chunk->at - data) - chunk->size);
    return size - chunk->size;
}

/* One change of the chunks of a PNG that begins at `data`; returns the new size. */
static size_t change_chunks(uint8_t *data, size_t size, size_t room)
{
    static const char names[] =
        "IHDRPLTEIDATIENDtRNSgAMAcHRMsRGBiCCPtEXtzTXtiTXtbKGDhISTpHYssBITsPLTtIMEeXIfacTLfcTLfdAT"
        "cICPmDCVcLLIoFFssCALpCALsTERprVtCRIT";
    struct chunk chunks[CHUNKS_MAX];
    const size_t count = find_chunks(data, size, chunks);
    if (count == 0)
        return LLVMFuzzerMutate(data, size, room);
    const struct chunk *one = &chunks[(size_t)rand() % count], *other = &chunks[(size_t)rand() % count];
    const char *name = names + 4 * ((size_t)rand() % (sizeof names / 4));
    uint8_t made[CHUNK_BARE + CHUNK_ADDED_MAX] = {0};
    uint8_t *copy = NULL;
    switch (rand() % 5) {
    case 0:
    case 1: /* doubles one, and so moves it where another hit cuts the first */
        copy = size + one->size <= room ? malloc(one->size) : NULL;
        if (copy == NULL)
            return size;
        memcpy(copy, one->at, one->size);
        insert(data, size, other->at, copy, one->size);
        free(copy);
        return size + one->size;
    case 2:
        return cut(data, size, one);
    case 3:
        memcpy(one->at + 4, name, 4);
        return size;
    default: {
        const size_t length = (size_t)rand() % CHUNK_ADDED_MAX, added = length + CHUNK_BARE;
        if (size + added > room)
            return size;
        put_big_endian(made, (uint32_t)length);
        memcpy(made + 4, name, 4);
        for (size_t i = 0; i < length; i++)
            made[CHUNK_HEAD + i] = (uint8_t)(rand() % 3 != 0 ? rand() % 4 : rand());
        insert(data, size, other->at, made, added);
        return size + added;
    }
    }
}

/* For a target whose files begin `before` bytes after the start of its data. */
static size_t mutate_file(uint8_t *data, size_t size, size_t room, unsigned seed, size_t before)
{
    srand(seed);
    if (size < before || rand() % 4 == 0)
        size = LLVMFuzzerMutate(data, size, room);
    else
        size = before + change_chunks(data + before, size - before, room - before);
    if (seed % 8 != 0 && size > before) /* a wrong checksum must be met, too */
        mend_checksums(data + before, size - before);
    return size;
}

#endif
