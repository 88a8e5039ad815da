/* Runs a fuzzer's target on the files that it is given, without libFuzzer: what was interesting or wrong once
 * is tried again by every `make check`, by any compiler. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

/* libFuzzer has it; nothing is mutated here. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room)
{
    (void)data;
    (void)room;
    return size;
}

int main(int count, char **names)
{
    static uint8_t data[1 << 20];
    for (int i = 1; i < count; i++) {
        fprintf(stderr, "%s\n", names[i]); /* the last name is the one that failed */
        FILE *file = fopen(names[i], "rb");
        if (!file) {
            fprintf(stderr, "cannot be read\n");
            return EXIT_FAILURE;
        }
        size_t size = fread(data, 1, sizeof data, file);
        fclose(file);
        LLVMFuzzerTestOneInput(data, size);
    }
    printf("%d files\n", count - 1);
    return count > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
