"""Repeats tries of tests/torture that found faults."""

import subprocess
import sys

import pytest

import harness

FOUND = [("invert-buffer", "stat", 1)]  # climg asked for the folder above the root for ever


@pytest.mark.parametrize("scenario, call, at", FOUND)
def test_once_more(scenario, call, at):
    if "libasan" in subprocess.run(["ldd", harness.CLIMG], capture_output=True, check=True).stdout.decode():
        pytest.skip("AddressSanitizer wants to be loaded first")
    done = subprocess.run([sys.executable, harness.ROOT / "tests/torture/torture.py", "--jobs", "1", "--only", scenario, "--call", call,
                           "--at", str(at)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and " 0 failed" in done.stdout, done.stdout + done.stderr
