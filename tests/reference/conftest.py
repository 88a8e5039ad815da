"""The run's seed: the same for the same sources and for all workers, shown if something failed."""

import collections
import fcntl
import os
import pathlib
import random
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is loaded: the cores are busy with other tests

import harness

# The programs that most tests need: a few stages, in both memories, for the usual samples.
USUAL_CHAIN = ["--invert", "--blur", "1", "--scale", "2", "--scale", "1/2", "--invert"]
USUAL_SHAPES = [harness.Shape(9, 9, channels, dtype) for channels in (1, 3) for dtype in harness.TYPES]


def is_sanitized():
    return "libasan" in subprocess.run(["ldd", harness.CLIMG], capture_output=True, check=True).stdout.decode()


def build_c(program, *sources_and_options):
    subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-o", program, *sources_and_options, "-ldl"], check=True, cwd=pathlib.Path(__file__).parent)


def lock(folder):
    """A descriptor that holds the folder as long as this process lives; OSError where another one does."""
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise
    return held


def remove_abandoned(folders):
    """Removes folders of killed runs, which no process has locked."""
    for folder in folders:
        try:
            if not os.listdir(folder):
                continue  # it is being made: nobody holds it yet
            held = lock(folder)
        except OSError:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


class KeptPrograms:
    """Programs that are compiled before the tests. --selftest compiles most of them in a minute, as PoCL loads its compiler once; it took
    six minutes of processor time in the tests themselves. Usual ones are also kept in a cache of climg's own, as --warm keeps them: PoCL
    takes 10 ms to find each other one among those that it compiled, in thousands of runs of climg. They come while tests begin."""

    def __init__(self):
        os.environ["POCL_CACHE_DIR"] = harness.pocl_cache()  # it lies below XDG_CACHE_HOME otherwise
        remove_abandoned(pathlib.Path(tempfile.gettempdir()).glob("climg-kept-*"))
        self.folder = tempfile.TemporaryDirectory(prefix="climg-kept-")
        self.held = lock(self.folder.name)
        os.environ["XDG_CACHE_HOME"] = self.folder.name
        for selftest in [subprocess.Popen([harness.CLIMG, "-q", "--selftest"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                          env={**os.environ, "CLIMG_CLASS": kind, "XDG_CACHE_HOME": f"{self.folder.name}/selftest"})
                         for kind in ("cpu", "gpu")]:
            selftest.wait()
        for shape in USUAL_SHAPES:
            harness.write_tiff(f"{self.folder.name}/{shape}.tif", harness.random_samples(harness.generator("kept"), shape))
        self.running = [subprocess.Popen([harness.CLIMG, "-q", "-m", memory, *(f"{shape}.tif" for shape in USUAL_SHAPES), *USUAL_CHAIN,
                                          f"{memory}/"], cwd=self.folder.name, env={**os.environ, "CLIMG_KEEP": "1"},
                                         stderr=subprocess.DEVNULL) for memory in harness.MEMORIES]

    def end(self):
        for run in self.running:
            run.kill()
            run.wait()
        self.folder.cleanup()
        os.close(self.held)


class Starter:
    """A climg that waits with PoCL's libraries loaded, and of which harness.run makes copies: see starter.c."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="climg-starter-")
        here = pathlib.Path(self.folder.name)
        build_c(here / "starter", "starter.c")
        build_c(here / "layer.so", "starter.c", "-DLAYER", "-shared", "-fPIC")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(here / "socket"))
            listening.listen(100)
            self.server = subprocess.Popen([harness.CLIMG], stdin=listening, env={**os.environ, "LD_PRELOAD": str(here / "layer.so")})
        os.environ["CLIMG_TEST_STARTER"] = f"{here}/starter {here}/socket"

    def end(self):
        self.server.kill()
        self.server.wait()
        self.folder.cleanup()


def is_writable(path):
    try:
        os.makedirs(path, exist_ok=True)
    except OSError:
        return False
    return os.access(path, os.W_OK)


def pytest_configure(config):
    os.environ.setdefault("CLIMG_SYSTEM_CACHE", "/nonexistent")  # what an installed climg compiled is not what is tested
    if "CLIMG_TEST_SEED" not in os.environ:
        os.environ["CLIMG_TEST_SEED"] = subprocess.run([harness.ROOT / "tests/seed"], capture_output=True, check=True, text=True).stdout.strip()
    if getattr(config.option, "numprocesses", None) and is_writable(harness.pocl_cache()):  # of many tests, before their processes begin
        config.kept = KeptPrograms()
        if not is_sanitized():
            config.starter = Starter()
    config.addinivalue_line("markers", "long: begins before others, so that no process works on it alone in the end")
    config.addinivalue_line("markers", "some(count): as many of the cases in each run, by its seed; all where CLIMG_TEST_ALL is set")


def pytest_unconfigure(config):
    for name in ("kept", "starter"):
        if hasattr(config, name):
            getattr(config, name).end()


def values_of(item):
    """The values of a case's parameters, by name."""
    return {(name, repr(value)) for name, value in item.callspec.params.items()}


def draw(cases, count, chance):
    """Draws `count` of the cases at random, each next one with as many new values as possible: every value of every
    parameter is met where `count` allows."""
    rest, taken, met = chance.sample(cases, len(cases)), [], set()
    while len(taken) < count and rest:
        best = max(rest, key=lambda case: len(values_of(case) - met))
        rest.remove(best)
        taken.append(best)
        met |= values_of(best)
    return taken


def cases_to_run(cases):
    """Returns the number of cases to run of a test: the number in its marker `some`; without it all, or half if the test has several
    parameters. At least the largest number of values of a parameter, so that each value is met."""
    marker = cases[0].get_closest_marker("some")
    if marker is not None:
        return marker.args[0]
    values = collections.Counter(name for name, _ in set().union(*map(values_of, cases)))
    return len(cases) if len(values) == 1 else max(*values.values(), (len(cases) + 1) // 2)


def pytest_collection_modifyitems(config, items):
    """Leaves out cases of tests that have many like ones, of which each run has others. A test that is named on the command line,
    or by -k, runs whole."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    named = config.option.keyword or any("::" in argument or argument.endswith(".py") for argument in config.args)
    if os.environ.get("CLIMG_TEST_ALL") or named:
        return
    families = collections.defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            families[item.nodeid.split("[")[0]].append(item)
    left_out = set()
    for name, cases in families.items():
        chance = random.Random(f"{os.environ['CLIMG_TEST_SEED']}/{name}")
        left_out |= set(cases) - set(draw(cases, cases_to_run(cases), chance))
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


def repeat_command(report, config):
    path = pathlib.Path(config.rootpath).relative_to(harness.ROOT) / report.nodeid
    return f"CLIMG_TEST_SEED={os.environ['CLIMG_TEST_SEED']} {os.environ.get('PYTHON', sys.executable)} -m pytest {shlex.quote(str(path))}"


def pytest_terminal_summary(terminalreporter, config):
    """Appends lines for tests/results."""
    stats, results = terminalreporter.stats, os.environ.get("CLIMG_RESULTS")
    if results and not hasattr(config, "workerinput"):
        with open(results, "a") as file:
            for report in stats.get("failed", []) + stats.get("error", []):
                print("failed", repeat_command(report, config), file=file)
            for report in stats.get("skipped", []):
                print("skipped", report.longrepr[2].removeprefix("Skipped: "), file=file)


@pytest.fixture
def rng(request):
    """Random numbers that depend on the run's seed and the test alone, not on the order of tests."""
    return harness.generator(request.node.nodeid.split("::", 1)[1])


def load_layer(folder, *sources):
    """The environment that puts a layer of these files between climg and what it calls."""
    if is_sanitized():
        pytest.skip("AddressSanitizer wants to be loaded first")
    build_c(folder / "layer.so", *sources, "-shared", "-fPIC")
    return {"LD_PRELOAD": str(folder / "layer.so")}


@pytest.fixture(scope="session")
def failing_calls(tmp_path_factory):
    """Returns a function from a name and the number of a call, from 0, to the environment in which that call fails: see
    tests/torture/fail.c. `always`: later calls fail, too; `device`: only launches of that device count."""
    env = load_layer(tmp_path_factory.mktemp("layer"), "../torture/fail.c", "../torture/stack.c")

    def fail(call, at, always=False, device="", fault=0):
        return {**env, "FAIL_CALL": call, "FAIL_AT": str(at + 1), **({"FAIL_ALWAYS": "1"} if always else {}), "FAIL_DEVICE": device,
                "FAIL_SIGNAL": str(int(fault))}

    return fail


@pytest.fixture
def watched_turns(tmp_path):
    """Watches which launches are under way together: see watched_turns.c."""
    return load_layer(tmp_path, "watched_turns.c")


@pytest.fixture(scope="session")
def small_device(tmp_path_factory):
    """Returns a function from limits of a device to the environment that enforces them: bytes of memory, work-items of a group, bytes of local memory
    and work-items of a kernel's group. See small_device.c."""
    env = load_layer(tmp_path_factory.mktemp("layer"), "small_device.c")

    def limit(memory=None, groups=None, local=None, kernels=None):
        if memory and harness.device_copies():
            pytest.skip("pinned memory would count as the device's")
        limits = {"SMALL_MEMORY": memory, "SMALL_GROUPS": groups, "SMALL_LOCAL": local, "SMALL_KERNELS": kernels}
        return {**env, **{name: str(most) for name, most in limits.items() if most is not None}}

    return limit


@pytest.fixture
def altered_kernels(tmp_path):
    """Builds kernels from another text: see altered_kernels.c."""
    return load_layer(tmp_path, "altered_kernels.c")


@pytest.fixture
def slow_compiler(tmp_path):
    """Nothing is built before the file tmp_path / "ready" exists: see slow_compiler.c. climg keeps no program of other runs."""
    return load_layer(tmp_path, "slow_compiler.c") | {"XDG_CACHE_HOME": str(tmp_path), "READY": str(tmp_path / "ready")}


@pytest.fixture
def late_device(tmp_path):
    """The device is not ready before the file tmp_path / "ready" exists: see late_device.c."""
    return load_layer(tmp_path, "late_device.c") | {"READY": str(tmp_path / "ready")}


@pytest.fixture(scope="session")
def wrong_sample(tmp_path_factory):
    """Makes a sample of an output wrong: see wrong_sample.c."""
    return load_layer(tmp_path_factory.mktemp("layer"), "wrong_sample.c")


@pytest.fixture
def folders_without_case(tmp_path):
    """Folders without case: see folders_without_case.c."""
    return load_layer(tmp_path, "folders_without_case.c")


@pytest.fixture
def open_folder():
    """A folder that another user may use, unlike pytest's folders."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="climg-test-"))
    yield folder
    for path in folder.rglob("*"):
        path.chmod(0o755)
    shutil.rmtree(folder)
