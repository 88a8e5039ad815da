/* Devices: which one a name means, in what order they count, what is said of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "imagined_opencl.h"

#include "base/text.h"
#include "chain/plan.h"
#include "cli/cli.h"
#include "device/cache.h"
#include "device/choose.h"

#include <unistd.h>

static const char *const platforms[] = {"Portable Computing Language", "Works of Graphics", "Oclgrind"};
static const struct imagined_device devices[] = {
    {.name = "pthread-core", .platform = 0, .type = CL_DEVICE_TYPE_CPU},
    {.name = "Oclgrind Simulator", .platform = 2, .type = CL_DEVICE_TYPE_GPU},
    {.name = "Tensor 1", .platform = 1, .type = CL_DEVICE_TYPE_ACCELERATOR, .no_images = true},
    {.name = "Asleep", .platform = 1, .type = CL_DEVICE_TYPE_GPU, .unavailable = true},
    {.name = "Mute", .platform = 1, .type = CL_DEVICE_TYPE_GPU, .no_compiler = true},
    {.name = "Graphics A", .platform = 1, .type = CL_DEVICE_TYPE_GPU, .own_memory = true},
    {.name = "Graphics B", .platform = 1, .type = CL_DEVICE_TYPE_GPU},
};

static struct environment environment;
static char folder[] = "/tmp/climg-cache-XXXXXX";

static int make_cache(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_cache(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* The machine has `count` of those, from `first`, and all platforms. */
static int install(int first, int count)
{
    memcpy(imagined_platforms, platforms, sizeof platforms);
    memcpy(imagined_devices, devices + first, (size_t)count * sizeof *devices);
    imagined_platform_count = 3;
    imagined_device_count = count;
    environment = (struct environment){.device = NULL};
    return 0;
}

/* In the order of platforms: the CPU is 0, Tensor 1, A 2, B 3, the simulator 4. */
static int install_all(void **state)
{
    (void)state;
    return install(0, (int)(sizeof devices / sizeof *devices));
}

static void means(const char *wanted, const char *name)
{
    struct device device;
    struct error error = {.text = ""};
    assert_int_equal(device_choose(wanted, &environment, &device, &error), STATUS_OK);
    assert_string_equal(device.name, name);
}

static void means_none(const char *wanted, const char *message)
{
    struct device device;
    struct error error = {.text = ""};
    assert_int_equal(device_choose(wanted, &environment, &device, &error), STATUS_FAILED);
    assert_non_null(strstr(error.text, message));
}

static void one_is_chosen_by_kind_number_or_name(void **state)
{
    (void)state;
    means("", "Graphics A");
    means("AUTO", "Graphics A");
    means("gpu", "Graphics A");
    means("cpu", "pthread-core");
    means("1", "Tensor 1");
    means("3", "Graphics B");
    means("4", "Oclgrind Simulator");
    means("graphics b", "Graphics B");
    means("tensor", "Tensor 1");
    means("portable", "pthread-core");
    means("oclgrind", "Oclgrind Simulator");
    imagined_devices[6].name = "Graphics 3080";
    means("3080", "Graphics 3080");
    means_none("3090", "no OpenCL device fits \"3090\"");
    means_none("5", "no OpenCL device fits \"5\"; see --list-devices");
    means_none("asleep", "no OpenCL device fits \"asleep\"");
    means_none("Mute", "no OpenCL device fits \"Mute\"");
    environment.device = "nowhere";
    means_none("nowhere", "no OpenCL device fits \"nowhere\"");
}

/* "auto" compares expected times once the work is known; a device that may not be taken is left out. */
static void expected_times_decide(void **state)
{
    struct settings settings = {.device = "auto", .environment = {.icd_directory = "/nowhere"}};
    struct workload work = {.stage_samples = 1e6, .file_samples = 2e6, .file_bytes = 2e6};
    (void)state;
    device_select_drivers(&settings, &work);
    means("auto", "pthread-core");
    means("gpu", "Graphics A");
    work.stage_samples = 1e12;
    device_select_drivers(&settings, &work);
    means("auto", "Graphics A");
    means("cpu", "pthread-core");
    device_select_drivers(&settings, NULL);
}

static void devices_are_what_they_say(void **state)
{
    struct device device;
    struct error error;
    (void)state;
    assert_int_equal(device_choose("graphics a", &environment, &device, &error), STATUS_OK);
    assert_true(device.variant == VARIANT_GPU && !device.shares_memory && device.has_images &&
                !device.simulator);
    assert_int_equal(device_choose("tensor", &environment, &device, &error), STATUS_OK);
    assert_true(device.variant == VARIANT_GPU && device.shares_memory && !device.has_images);
    assert_int_equal(device_choose("cpu", &environment, &device, &error), STATUS_OK);
    assert_true(device.variant == VARIANT_CPU && device.shares_memory);
    environment.device_class = CLASS_VARIABLE_GPU;
    environment.own_memory = true;
    assert_int_equal(device_choose("cpu", &environment, &device, &error), STATUS_OK);
    assert_true(device.variant == VARIANT_GPU && !device.shares_memory);
}

static void best_that_is_there_is_taken(void **state)
{
    (void)state;
    install(1, 1);
    means("auto", "Oclgrind Simulator");
    install(1, 2);
    means("auto", "Tensor 1");
    install(0, 3);
    means("auto", "pthread-core");
    install(3, 2);
    means_none("auto", "no usable OpenCL device found");
    imagined_platform_count = 0;
    means_none("auto", "no OpenCL platform found");
    install(0, 1);
    imagined_devices[0].silent = true; /* a device without properties is not used */
    means_none("auto", "no usable OpenCL device found");
}

/* "1 2" for numbers, or the message. */
static void numbers_are(const char *wanted, enum status expected, const char *text)
{
    struct error error = {.text = ""};
    int numbers[MAX_DEVICES], count;
    char actual[64] = "";
    assert_int_equal(device_resolve_list(wanted, &environment, numbers, &count, &error), expected);
    for (int i = 0; expected == STATUS_OK && i < count; i++)
        snprintf(actual + strlen(actual), sizeof actual - strlen(actual), "%s%d", i > 0 ? " " : "",
                 numbers[i]);
    assert_string_equal(expected == STATUS_OK ? actual : error.text, text);
}

static void several_are_chosen(void **state)
{
    (void)state;
    numbers_are("all", STATUS_OK, "2 3");
    numbers_are("gpu", STATUS_OK, "2");
    numbers_are("3,0", STATUS_OK, "3 0");
    numbers_are("graphics b,cpu", STATUS_OK, "3 0");
    numbers_are("1,1", STATUS_USAGE, "--device 1,1: device 1 is in it twice");
    numbers_are("1,,2", STATUS_USAGE, "--device 1,,2: an empty name is in it");
    numbers_are("1,9", STATUS_FAILED, "no OpenCL device fits \"9\"; see --list-devices");
    install(0, 3);
    numbers_are("all", STATUS_OK, "0");
    imagined_device_count = 0;
    numbers_are(
        "all", STATUS_FAILED,
        "no usable OpenCL device found; check that `clinfo -l` lists one and that its compiler is there");
}

static char *list(bool json)
{
    struct error error;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(device_list(&environment, json, out, &error), STATUS_OK);
    fclose(out);
    return text;
}

static void assert_listed(bool json, const char *const *parts)
{
    char *text = list(json);
    for (; *parts; parts++)
        if (!strstr(text, *parts)) {
            print_error("not in it: %s\n%s", *parts, text);
            assert_true(false);
        }
    free(text);
}

static void all_are_listed(void **state)
{
    (void)state;
    assert_listed(
        false,
        (const char *const[]){
            "1: Tensor 1\n   accelerator, 4 compute units; Works of Graphics; OpenCL 1.2 imagined, driver ",
            "   memory 4.0 GiB, one allocation 1.0 GiB; no images (--memory buffer only)\n",
            "2: Graphics A\n   GPU, ", "; images up to 16384x16384\n",
            "   --device auto uses this one: the first GPU; small jobs may run on the CPU\n3: Graphics B\n",
            "0: pthread-core\n   CPU, ", "4: Oclgrind Simulator\n   simulator, ",
            "--selftest (optional) was not run", NULL});
    assert_listed(
        true,
        (const char *const[]){
            "[{\"number\":0,\"name\":\"pthread-core\",\"kind\":\"CPU\",",
            "{\"number\":1,\"name\":\"Tensor 1\",\"kind\":\"accelerator\",\"compute_units\":4,",
            "\"memory\":4294967296,\"allocation\":1073741824,\"local_memory\":65536,\"group_size\":256,"
            "\"images\":null,\"exact\":true,\"selftest\":null,\"auto\":null}\n,{\"number\":2,",
            "\"images\":[16384,16384],\"exact\":true,\"selftest\":null,\"auto\":\"the first GPU; ", NULL});
    install(0, 1);
    assert_listed(false,
                  (const char *const[]){
                      "uses this one: it is the only one\nno GPU: a GPU needs its OpenCL driver: ", NULL});
    means_none("gpu", "no OpenCL device fits \"gpu\"; a GPU needs its OpenCL driver: nvidia-opencl-icd, ");
    install(0, 3);
    assert_listed(false, (const char *const[]){"uses this one: no usable GPU is there\n", NULL});
    install(1, 1);
    imagined_devices[1] = imagined_devices[0];
    imagined_device_count = 2;
    assert_listed(false, (const char *const[]){"uses this one: no other device may be used\n", NULL});
}

/* Seconds of whole commands, medians of 7, PoCL 5.0 on 16 cores and an H200 (132 units); 2026-11-26. */
static const struct {
    const char *chain;
    int width, height, channels;
    double images, cpu, gpu;
} measured[] = {
    {"--blur 2", 4096, 4096, 3, 1, 0.08, 0.41},
    {"--denoise=10", 4096, 4096, 3, 1, 0.29, 0.45},
    {"--denoise", 4096, 4096, 3, 1, 0.33, 0.47},
    {"--denoise=10,quality=high", 4096, 4096, 3, 1, 0.58, 0.51},
    {"--median 3", 4096, 4096, 3, 1, 0.46, 0.38},
    {"--blur 50", 4096, 4096, 3, 1, 0.12, 0.50},
    {"--wavelet --inverse-wavelet", 4096, 4096, 3, 1, 0.22, 0.47},
    {"--rotate 33", 4096, 4096, 3, 1, 0.26, 0.53},
    {"--resize 170%", 4096, 4096, 3, 1, 0.13, 0.48},
    {"--background 50", 2048, 2048, 3, 1, 0.08, 0.40},
    {"--align reference.tif", 2048, 2048, 3, 1, 0.20, 0.47},
    {"--sharpen 1", 4096, 4096, 3, 1, 0.26, 0.43},
    {"--blur 2 --denoise --scale 1/2", 4096, 4096, 3, 1, 0.39, 0.46},
    {"--denoise", 1024, 1024, 3, 1, 0.11, 0.36},
    {"--scale 8", 1024, 1024, 3, 1, 0.18, 0.50},
    {"--resize 2000x", 4000, 3000, 3, 1, 0.09, 0.36},
    {"--denoise --resize 2000x", 4000, 3000, 3, 1, 0.31, 0.40},
    {"--denoise --resize 2000x", 4000, 3000, 3, 160, 33.8, 1.7},
    {"--resize 2000x", 4000, 3000, 3, 160, 1.46, 1.45},
    {"--denoise", 4000, 3000, 3, 160, 29.5, 2.5},
    {"--denoise=8", 1920, 1620, 1, 300, 6.1, 0.94}, /* 4:2:0 video: half as many samples of colour */
    {"--blur 1", 1920, 1620, 1, 300, 1.15, 0.75},
};

static struct workload workload_of(size_t row)
{
    const char *argv[16] = {"climg", "in.tif"};
    char text[64];
    int argc = 2;
    struct error error = {.text = ""};
    struct command command;
    snprintf(text, sizeof text, "%s", measured[row].chain);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc++] = "out.tif";
    assert_int_equal(command_parse(argc, argv, &command, &error), STATUS_OK);
    const struct shape shape = {.kind = KIND_IMAGE,
                                .width = measured[row].width,
                                .height = measured[row].height,
                                .channels = measured[row].channels,
                                .images = 1,
                                .full = 255};
    const struct workload work = chain_workload(&command.chain, &shape, 1, measured[row].images);
    command_free(&command);
    return work;
}

static int compare_doubles(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Loading only the CPU's driver, or choosing between both, takes little longer than the faster device. */
static void model_chooses_well(void **state)
{
    enum { COUNT = sizeof measured / sizeof measured[0] };
    double ratios[COUNT];
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        const struct workload work = workload_of(i);
        const bool cpu = cost_is_below_gpu_start(16, &work) ||
                         cost_total(COST_CPU, 16, &work) < cost_total(COST_GPU, 132, &work);
        const double least = measured[i].cpu < measured[i].gpu ? measured[i].cpu : measured[i].gpu;
        ratios[i] = (cpu ? measured[i].cpu : measured[i].gpu) / least;
        if (ratios[i] > 1.25)
            print_error("%s: %s, %.2f s and %.2f s expected\n", measured[i].chain, cpu ? "CPU" : "GPU",
                        cost_total(COST_CPU, 16, &work), cost_total(COST_GPU, 132, &work));
        assert_true(ratios[i] <= 1.25);
    }
    qsort(ratios, COUNT, sizeof ratios[0], compare_doubles);
    assert_true(ratios[COUNT / 2] <= 1.03);
}

/* Few processors load all drivers for work that many would do in time; no work needs no GPU. */
static void model_follows_the_machine(void **state)
{
    const struct workload denoise = workload_of(1), none = {0};
    (void)state;
    assert_true(cost_is_below_gpu_start(16, &denoise));
    assert_false(cost_is_below_gpu_start(2, &denoise));
    assert_true(cost_is_below_gpu_start(1, &none));
    assert_true(cost_total(COST_GPU, 132, &denoise) < cost_total(COST_CPU, 2, &denoise));
    assert_true(cost_total(COST_GPU_SHARED, 24, &none) > cost_total(COST_CPU, 2, &none));
}

static void selftest_results_are_remembered(void **state)
{
    struct device device;
    struct error error;
    struct selftest_result result = {.passed = false, .error = 0.25, .stage = "--blur", .date = "2026-01-31"};
    char *path = NULL;
    (void)state;
    environment.cache = folder;
    assert_int_equal(device_choose("2", &environment, &device, &error), STATUS_OK);
    assert_int_equal(selftest_result_check(&device, &error), STATUS_OK);
    assert_int_equal(selftest_result_save(&device, &result, &path, &error), STATUS_OK);
    assert_int_equal(selftest_result_check(&device, &error), STATUS_FAILED);
    assert_string_equal(
        error.text, "Graphics A gave wrong answers in --selftest on 2026-01-31 (--blur off by 0.25); choose "
                    "another --device, run --selftest again after a driver update, or use --force");
    assert_listed(
        false, (const char *const[]){
                   "   --selftest failed on 2026-01-31 (--blur off by 2.5e-01): not used without --force\n",
                   "   --selftest (optional) was not run with this driver\n", NULL});
    assert_listed(true,
                  (const char *const[]){"\"selftest\":{\"passed\":false,\"date\":\"2026-01-31\"}", NULL});
    free(path);
    result = (struct selftest_result){.passed = true, .error = 3e-7, .date = "2026-02-01"};
    assert_int_equal(selftest_result_save(&device, &result, &path, &error), STATUS_OK);
    assert_int_equal(selftest_result_check(&device, &error), STATUS_OK);
    assert_listed(false,
                  (const char *const[]){"   --selftest passed on 2026-02-01, largest error 3.0e-07\n", NULL});
    FILE *file = fopen(path, "a+");
    assert_true(file && ftruncate(fileno(file), 10) == 0); /* what is damaged is not known */
    fclose(file);
    selftest_result_load(&device, &result);
    assert_false(result.known);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_is_chosen_by_kind_number_or_name, install_all),
        cmocka_unit_test_setup(expected_times_decide, install_all),
        cmocka_unit_test_setup(devices_are_what_they_say, install_all),
        cmocka_unit_test_setup(best_that_is_there_is_taken, install_all),
        cmocka_unit_test_setup(several_are_chosen, install_all),
        cmocka_unit_test_setup(all_are_listed, install_all),
        cmocka_unit_test(model_chooses_well),
        cmocka_unit_test(model_follows_the_machine),
        cmocka_unit_test_setup(selftest_results_are_remembered, install_all),
    };
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
