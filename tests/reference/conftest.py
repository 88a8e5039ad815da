"""The run's seed: fresh for every run, the same for all workers, shown where something failed."""

import os
import pathlib
import random
import subprocess

import pytest

import harness


def pytest_configure(config):
    os.environ.setdefault("CLIMG_TEST_SEED", str(random.SystemRandom().randrange(2 ** 31)))


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


@pytest.fixture
def failing_device(tmp_path):
    """The environment for a layer over OpenCL that fails or notes launches: see failing_device.c."""
    source = pathlib.Path(__file__).with_name("failing_device.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "layer.so", source, "-ldl"], check=True)
    if "libasan" in subprocess.run(["ldd", harness.CLIMG], capture_output=True, check=True).stdout.decode():
        pytest.skip("AddressSanitizer wants to be loaded first")
    return {"LD_PRELOAD": str(tmp_path / "layer.so")}
