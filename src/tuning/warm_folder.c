#include "tuning/warm_folder.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What the examples read: of the kinds that the samples have, as small as all of it still happens. */
enum { WIDTH = 192, HEIGHT = 160 };

static const struct {
    const char *name;
    int channels, largest;
} samples[] = {
    {"scene.png", 3, 255},     {"scene.tif", 3, 65535}, {"soft-alpha.png", 4, 255},
    {"zoneplate.png", 1, 255}, {"tilted.png", 3, 255},  {"gradient16.png", 1, 65535},
};

static const char matrix[] = "-2 -1 0\n-1 1 1\n0 1 2\n"; /* samples/emboss.txt */

static char folder[PATH_MAX]; /* "": none */

const char *warm_folder(void)
{
    return folder;
}

/* Whatever becomes of one: two threads may be at it. */
static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    remove(path);
    return 0;
}

void warm_folder_remove(void)
{
    if (folder[0])
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A smooth texture, so that there is something to estimate, to align and to see, as a PAM: climg goes by a
 * file's first bytes. */
static void write_picture(FILE *file, int channels, int largest)
{
    static const char *const types[] = {"GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA"};
    fprintf(file, "P7\nWIDTH %d\nHEIGHT %d\nDEPTH %d\nMAXVAL %d\nTUPLTYPE %s\nENDHDR\n", WIDTH, HEIGHT,
            channels, largest, types[channels - 1]);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < channels; c++) {
                /* The same in 8 and in 16 bits: one is aligned to the other. */
                int value = (x * x + 3 * y * y + x * y + 40 * c) / 16 % 256 * (largest / 255);
                if (largest > 255)
                    fputc(value >> 8, file);
                fputc(value & 255, file);
            }
}

static enum status cannot_write(const char *path, struct error *error)
{
    return fail(error, STATUS_FAILED, "%s: cannot write: %s", path, strerror(errno));
}

static enum status finish_file(FILE *file, const char *path, struct error *error)
{
    bool bad = ferror(file) != 0;
    return fclose(file) != 0 || bad ? cannot_write(path, error) : STATUS_OK;
}

static enum status write_samples(struct error *error)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/samples", folder);
    if (mkdir(path, 0777) != 0)
        return cannot_write(path, error);
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < sizeof samples / sizeof samples[0]; i++) {
        snprintf(path, sizeof path, "%s/samples/%s", folder, samples[i].name);
        FILE *file = fopen(path, "wb");
        if (!file)
            return cannot_write(path, error);
        write_picture(file, samples[i].channels, samples[i].largest);
        status = finish_file(file, path, error);
    }
    snprintf(path, sizeof path, "%s/samples/emboss.txt", folder);
    FILE *file = status == STATUS_OK ? fopen(path, "w") : NULL;
    if (status == STATUS_OK && !file)
        return cannot_write(path, error);
    if (file)
        fputs(matrix, file);
    return file ? finish_file(file, path, error) : status;
}

enum status warm_folder_make(const char *spool, struct error *error)
{
    snprintf(folder, sizeof folder, "%s/climg-warm-XXXXXX", spool);
    if (mkdtemp(folder))
        return write_samples(error);
    enum status status =
        fail(error, STATUS_FAILED, "%s: cannot make a folder in it: %s", spool, strerror(errno));
    folder[0] = '\0';
    return status;
}
