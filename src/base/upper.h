/* The upper halves of the processor's vector registers. */
#ifndef CLIMG_BASE_UPPER_H
#define CLIMG_BASE_UPPER_H

/* Clears them, where there are any. ISA-L 2.30 returns with them in use, and as long as they are, also in
 * threads that are started meanwhile, code for SSE is slow: PNG's row filters took three times as long. */
static inline void clear_upper_halves(void)
{
#if (defined(__x86_64__) || defined(__i386__)) && !defined(__AVX__) /* else there is no such code */
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper" ::: "memory");
#endif
}

#endif
