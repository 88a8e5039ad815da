"""tests/layers finds what it is there to find."""

import subprocess
import sys

import pytest

import harness

LAYERS = harness.ROOT / "tests" / "layers"

FAULTS = {
    "up": ({"device/launch.c": ["engine/run.h"], "engine/run.h": []},
           "device/launch.c includes engine/run.h, which is above it"),
    "circle": ({"chain/plan.h": [], "chain/plan.c": ["chain/need.h"], "chain/need.h": ["chain/plan.h"]},
               "chain/need.h and chain/plan.h need each other"),
    "private": ({"batch/job.c": ["image/png/text.h"], "image/png/text.h": []},
                "batch/job.c includes image/png/text.h of another folder"),
    "none": ({"main.c": ["base/error.h"], "base/error.h": [], "base/error.c": ["base/error.h"]}, None),
}


@pytest.mark.parametrize("files, message", FAULTS.values(), ids=FAULTS)
def test_fault(tmp_path, files, message):
    for name, includes in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f'#include "{other}"\n' for other in includes))
    said = subprocess.run([sys.executable, LAYERS, tmp_path], capture_output=True, text=True, check=False).stdout.splitlines()
    assert said == ([message] if message else [])


def test_a_call_of_opencl(tmp_path):
    for folder in ("chain", "device"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "queue.c").write_text("int main(void)\n{\n    return clFinish(queue);\n}\n")
    assert subprocess.run([sys.executable, LAYERS, tmp_path], capture_output=True, text=True, check=False).stdout == \
        "chain/queue.c calls clFinish itself\n"
