"""Every example of every stage's manual runs as it stands, and makes a picture."""
import re
import shlex
import shutil
import subprocess

import numpy as np
import pytest
import tifffile
from PIL import Image

import harness

STAGES = re.findall(r"^  --([a-z-]+)", harness.run("--help").out.decode().split("Options, anywhere")[0], re.M)


def examples(stage):
    text = harness.run(f"--help={stage}").out.decode().split("Examples:")[1]
    return [line.strip() for line in text.splitlines() if line.startswith("  climg ")]


def pixels(path):
    return tifffile.imread(path) if path.suffix == ".tif" else np.array(Image.open(path))


def test_stages_are_listed():
    assert {"blur", "scale", "wavelet", "invert"} <= set(STAGES)


@pytest.mark.parametrize("command", [e for stage in STAGES for e in examples(stage)])
def test_example(tmp_path, command):
    shutil.copytree(harness.ROOT / "samples", tmp_path / "samples")
    words = shlex.split(command)
    done = subprocess.run([harness.CLIMG, *words[1:]], cwd=tmp_path, capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
    assert np.ptp(pixels(tmp_path / words[-1]).astype(float)) > 0, "the picture has one colour"
