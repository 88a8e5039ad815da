#include "image/deflate_runs.h"

#include "image/huffman.h"

#include <endian.h>
#include <string.h>

enum {
    RUN_MIN = 3,
    RUN_MAX = 258,
    LENGTH_SYMBOLS = 29,
    END_OF_BLOCK = 256,
    SYMBOLS = END_OF_BLOCK + 1 + LENGTH_SYMBOLS,
    CODE_MAX = 15,       /* bits */
    LENGTH_CODES = 19,   /* symbols that the code lengths are written in */
    LENGTH_CODE_MAX = 7, /* bits */
    HEADER_MAX = 512,    /* bytes; of a block */
};

/* Bits go from the lowest to the highest of each byte. */
struct bits {
    uint64_t value;
    unsigned count; /* below 8 after each flush */
    unsigned char *at;
};

/* At most 56 bits between two flushes. */
static inline void put(struct bits *bits, uint32_t value, unsigned count)
{
    bits->value |= (uint64_t)value << bits->count;
    bits->count += count;
}

static inline void flush(struct bits *bits)
{
    const uint64_t value = htole64(bits->value);
    memcpy(bits->at, &value, sizeof value);
    bits->at += bits->count / 8;
    bits->value >>= bits->count & ~7u;
    bits->count %= 8;
}

static inline void put_code(struct bits *bits, struct huffman_code code)
{
    put(bits, code.bits, code.length);
}

/* RFC 1951, 3.2.5: the lengths from 3 in groups of 1, 2, 4 ... 32 for each four symbols (the first eight are
 * alone); 258 has a symbol of its own. */
static unsigned length_symbol(unsigned length, unsigned *extra_bits, unsigned *extra)
{
    unsigned from_min = length - RUN_MIN;
    *extra_bits = *extra = 0;
    if (length == RUN_MAX)
        return END_OF_BLOCK + LENGTH_SYMBOLS;
    if (from_min < 8)
        return END_OF_BLOCK + 1 + from_min;
    unsigned top = 31 - (unsigned)__builtin_clz(from_min);
    *extra_bits = top - 2;
    *extra = from_min & ((1u << *extra_bits) - 1);
    return END_OF_BLOCK + 1 + 4 * (top - 1) + (from_min >> *extra_bits & 3);
}

static size_t run_at(const unsigned char *bytes, size_t left)
{
    size_t length = 0;
    while (length < left && length < RUN_MAX && bytes[length] == bytes[-1])
        length++;
    return length;
}

static uint64_t load(const unsigned char *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return le64toh(value);
}

/* How many of eight bytes are in front of the first run; looks at two more behind them. A run begins where
 * three bytes in a row equal the ones before them: where three differences, put above each other, have a byte
 * that is zero in all. */
static inline unsigned bytes_before_run(const unsigned char *bytes)
{
    const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    const uint64_t a = load(bytes - 1), b = load(bytes), c = load(bytes + 1), d = load(bytes + 2);
    const uint64_t differences = (a ^ b) | (b ^ c) | (c ^ d);
    const uint64_t zeros = (differences - ones) & ~differences & tops; /* right up to the lowest */
    return zeros == 0 ? 8 : (unsigned)__builtin_ctzll(zeros) / 8;
}

struct block {
    uint32_t counts[4][256]; /* of literals, in four tables, as one cannot count the same byte twice in a row
                                fast */
    uint32_t symbols[SYMBOLS];
    size_t size; /* bytes */
};

static inline void count_literals(struct block *block, const unsigned char *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        block->counts[i % 4][bytes[i]]++;
}

static void add_run(struct deflate_runs *work, struct block *block, size_t literals, size_t length)
{
    unsigned extra_bits, extra;
    work->runs[work->run_count++] = (struct deflate_run){(uint16_t)literals, (uint16_t)length};
    block->symbols[length_symbol((unsigned)length, &extra_bits, &extra)]++;
}

/* Finds the runs of the block at `bytes` and counts its symbols. `begins`: there is no byte before. */
static void scan(struct deflate_runs *work, const unsigned char *bytes, size_t size, bool begins,
                 struct block *block)
{
    size_t at = 0, literals = 0, symbols = 0;
    memset(block, 0, sizeof *block);
    work->run_count = 0;
    if (begins) {
        block->counts[0][bytes[0]]++;
        at = literals = symbols = 1;
    }
    while (at < size && symbols + 9 <= RUNS_SYMBOLS_MAX) {
        unsigned clear = at + 10 <= size ? bytes_before_run(bytes + at) : 0;
        size_t length = clear == 8 ? 0 : run_at(bytes + at + clear, size - at - clear);
        if (clear == 0 && length < RUN_MIN)
            clear = 1; /* near the end */
        count_literals(block, bytes + at, clear);
        at += clear;
        literals += clear;
        symbols += clear;
        if (length < RUN_MIN)
            continue;
        add_run(work, block, literals, length);
        literals = 0;
        at += length;
        symbols++;
    }
    block->size = at;
    for (int i = 0; i < 256; i++)
        block->symbols[i] =
            block->counts[0][i] + block->counts[1][i] + block->counts[2][i] + block->counts[3][i];
    block->symbols[END_OF_BLOCK] = 1;
}

static const unsigned char *put_literals(struct bits *bits, const struct huffman_code *codes,
                                         const unsigned char *bytes, size_t count)
{
    for (; count >= 3; count -= 3, bytes += 3) {
        put_code(bits, codes[bytes[0]]);
        put_code(bits, codes[bytes[1]]);
        put_code(bits, codes[bytes[2]]);
        flush(bits);
    }
    for (; count > 0; count--) {
        put_code(bits, codes[*bytes++]);
        flush(bits);
    }
    return bytes;
}

static void put_symbols(struct bits *bits, const struct deflate_runs *work, const struct huffman_code *codes,
                        const unsigned char *bytes, size_t size)
{
    const unsigned char *end = bytes + size;
    for (size_t i = 0; i < work->run_count; i++) {
        const struct deflate_run *run = &work->runs[i];
        unsigned extra_bits, extra;
        bytes = put_literals(bits, codes, bytes, run->literals);
        put_code(bits, codes[length_symbol(run->length, &extra_bits, &extra)]);
        put(bits, extra, extra_bits);
        put(bits, 0, 1); /* the only distance, 1, has the code 0 */
        flush(bits);
        bytes += run->length;
    }
    put_literals(bits, codes, bytes, (size_t)(end - bytes));
    put_code(bits, codes[END_OF_BLOCK]);
    flush(bits);
}

/* Code lengths, shortened: 0 to 15 are themselves, 16 is the one before 3 to 6 times, 17 and 18 are zeros. */
struct lengths {
    uint32_t counts[LENGTH_CODES];
    struct {
        unsigned char symbol, extra_bits, extra;
    } items[SYMBOLS + 1];
    size_t count;
};

static void add_item(struct lengths *lengths, unsigned symbol, unsigned extra_bits, unsigned extra)
{
    lengths->counts[symbol]++;
    lengths->items[lengths->count].symbol = (unsigned char)symbol;
    lengths->items[lengths->count].extra_bits = (unsigned char)extra_bits;
    lengths->items[lengths->count++].extra = (unsigned char)extra;
}

static size_t add_zeros(struct lengths *lengths, size_t repeats)
{
    size_t some = repeats;
    if (some > 138)
        some = 138;
    if (some < 11)
        add_item(lengths, 17, 3, (unsigned)some - 3);
    else
        add_item(lengths, 18, 7, (unsigned)some - 11);
    return some;
}

static void shorten(struct lengths *lengths, const unsigned char *values, size_t count)
{
    *lengths = (struct lengths){.count = 0};
    for (size_t i = 0; i < count;) {
        size_t repeats = 1;
        while (i + repeats < count && values[i + repeats] == values[i])
            repeats++;
        if (values[i] == 0 && repeats >= 3) {
            i += add_zeros(lengths, repeats);
            continue;
        }
        add_item(lengths, values[i++], 0, 0);
        for (size_t left = repeats - 1; left >= 3 && values[i - 1] != 0;) {
            size_t some = left < 6 ? left : 6;
            add_item(lengths, 16, 2, (unsigned)some - 3);
            left -= some;
            i += some;
        }
    }
}

/* RFC 1951, 3.2.7. */
static void put_header(struct bits *bits, const struct huffman_code *codes)
{
    static const unsigned char order[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
    unsigned char values[SYMBOLS + 1];
    struct huffman_code length_codes[LENGTH_CODES];
    struct lengths lengths;
    unsigned count = SYMBOLS, length_count = LENGTH_CODES;
    while (codes[count - 1].length == 0)
        count--;
    for (unsigned i = 0; i < count; i++)
        values[i] = codes[i].length;
    values[count] = 1; /* of the one distance */
    shorten(&lengths, values, count + 1);
    huffman_make(lengths.counts, LENGTH_CODES, LENGTH_CODE_MAX, length_codes);
    while (length_count > 4 && length_codes[order[length_count - 1]].length == 0)
        length_count--;

    put(bits, 2 << 1, 3); /* not the last block; codes of its own */
    put(bits, count - (END_OF_BLOCK + 1), 5);
    put(bits, 0, 5);
    put(bits, length_count - 4, 4);
    flush(bits);
    for (unsigned i = 0; i < length_count; i++) {
        put(bits, length_codes[order[i]].length, 3);
        flush(bits);
    }
    for (size_t i = 0; i < lengths.count; i++) {
        put_code(bits, length_codes[lengths.items[i].symbol]);
        put(bits, lengths.items[i].extra, lengths.items[i].extra_bits);
        flush(bits);
    }
}

/* An empty block: as a last one, or stored, which ends at a whole byte. */
static void put_end(struct bits *bits, bool last)
{
    put(bits, last ? 1 | 1 << 1 : 0, last ? 10 : 3);
    put(bits, 0, 7); /* fills the byte; what is too much is dropped */
    flush(bits);
    if (last)
        return;
    memcpy(bits->at, "\0\0\xff\xff", 4);
    bits->at += 4;
}

size_t deflate_runs_bound(size_t size)
{
    /* Codes of 8 bits for most literals and 9 for the others would do; what flush stores beyond the end is in
     * the headers' share. */
    size_t blocks = size / (RUNS_SYMBOLS_MAX - 9) + 2;
    return size + size / 16 + blocks * HEADER_MAX;
}

size_t deflate_runs(struct deflate_runs *work, const unsigned char *bytes, size_t size, bool last,
                    unsigned char *to)
{
    struct bits bits = {.at = to};
    struct block block;
    struct huffman_code codes[SYMBOLS];
    for (size_t at = 0; at < size; at += block.size) {
        scan(work, bytes + at, size - at, at == 0, &block);
        huffman_make(block.symbols, SYMBOLS, CODE_MAX, codes);
        put_header(&bits, codes);
        put_symbols(&bits, work, codes, bytes + at, block.size);
    }
    put_end(&bits, last);
    return (size_t)(bits.at - to);
}
