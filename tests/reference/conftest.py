"""The run's seed: fresh for every run, the same for all workers, shown where something failed."""

import collections
import os
import pathlib
import random
import subprocess

import pytest

import harness


def pytest_configure(config):
    os.environ.setdefault("CLIMG_TEST_SEED", str(random.SystemRandom().randrange(2 ** 31)))
    config.addinivalue_line("markers", "long: begins before others, so that no process works on it alone in the end")
    config.addinivalue_line("markers", "some(count): as many of the cases in each run, by its seed; all where CLIMG_TEST_ALL is set")


def values_of(item):
    """The values of a case's parameters, by name."""
    return {(name, repr(value)) for name, value in item.callspec.params.items()}


def draw(cases, count, chance):
    """So many of the cases, by chance, but each next one has as many values that none has yet as there are: every value of every
    parameter is met where `count` allows."""
    rest, taken, met = chance.sample(cases, len(cases)), [], set()
    while len(taken) < count and rest:
        best = max(rest, key=lambda case: len(values_of(case) - met))
        rest.remove(best)
        taken.append(best)
        met |= values_of(best)
    return taken


def pytest_collection_modifyitems(config, items):
    """Leaves out what a marker `some` does not want in this run: tests of many like cases, of which each run has others. A test
    that is named on the command line runs whole."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    if os.environ.get("CLIMG_TEST_ALL") or any("::" in argument or argument.endswith(".py") for argument in config.args):
        return
    families = collections.defaultdict(list)
    for item in items:
        if item.get_closest_marker("some") is not None:
            families[item.nodeid.split("[")[0]].append(item)
    left_out = set()
    for name, cases in families.items():
        count, chance = cases[0].get_closest_marker("some").args[0], random.Random(f"{os.environ['CLIMG_TEST_SEED']}/{name}")
        left_out |= set(cases) - set(draw(cases, count, chance))
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def pytest_report_header(config):
    return f"CLIMG_TEST_SEED={os.environ['CLIMG_TEST_SEED']}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        report.sections.append(("repeat with", f"CLIMG_TEST_SEED={os.environ['CLIMG_TEST_SEED']}"))


@pytest.fixture
def rng(request):
    """Random numbers that depend on the run's seed and the test alone, not on the order of tests."""
    return harness.generator(request.node.nodeid.split("::", 1)[1])


def load_layer(name, folder):
    """The environment that puts the layer over OpenCL of NAME.c between climg and the driver."""
    if "libasan" in subprocess.run(["ldd", harness.CLIMG], capture_output=True, check=True).stdout.decode():
        pytest.skip("AddressSanitizer wants to be loaded first")
    source = pathlib.Path(__file__).with_name(name + ".c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "layer.so", source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(folder / "layer.so")}


@pytest.fixture
def failing_device(tmp_path):
    """Fails or notes launches: see failing_device.c."""
    return load_layer("failing_device", tmp_path)


@pytest.fixture
def watched_turns(tmp_path):
    """Watches which launches are under way together: see watched_turns.c."""
    return load_layer("watched_turns", tmp_path)


@pytest.fixture(scope="session")
def small_device(tmp_path_factory):
    """Of bytes, the environment in which devices have as many: see small_device.c."""
    if harness.device_copies():
        pytest.skip("pinned memory would count as the device's")
    env = load_layer("small_device", tmp_path_factory.mktemp("layer"))
    return lambda memory: {**env, "SMALL_MEMORY": str(memory)}


@pytest.fixture
def small_groups(tmp_path):
    """Of a number of work-items, the environment in which devices take groups of so many: see small_device.c."""
    env = load_layer("small_device", tmp_path)
    return lambda most: {**env, "SMALL_GROUPS": str(most)}


@pytest.fixture
def altered_kernels(tmp_path):
    """Builds kernels from another text: see altered_kernels.c."""
    return load_layer("altered_kernels", tmp_path)


@pytest.fixture(scope="session")
def wrong_sample(tmp_path_factory):
    """Makes a sample of an output wrong: see wrong_sample.c."""
    return load_layer("wrong_sample", tmp_path_factory.mktemp("layer"))
