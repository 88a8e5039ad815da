"""The experiments' kernels are right: build/bench/experiments holds each form to a reference in double precision, here at a small size."""

import pathlib
import re
import subprocess

import pytest

import harness

PROGRAM = pathlib.Path(harness.CLIMG).parent / "bench/experiments"
LISTED = re.findall(r'\{"(\w+)", \w+_experiments\}', (harness.ROOT / "tests/bench/experiments.c").read_text())
LONG = {"separable", "enlarge", "matrix"}  # a minute of cold builds


def test_list():
    assert LONG < set(LISTED)


@pytest.mark.some(1)
@pytest.mark.parametrize("name", [name for name in LISTED if name not in LONG])
def test_forms_are_right(name):
    done = subprocess.run([PROGRAM, "--only", name, "--size", "64"], capture_output=True, text=True, cwd=harness.ROOT, check=False)
    assert done.returncode == 0 and " us " in done.stdout, done.stdout + done.stderr
