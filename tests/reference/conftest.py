"""The run's seed: fresh for every run, the same for all workers, shown where something failed."""

import os
import random

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
