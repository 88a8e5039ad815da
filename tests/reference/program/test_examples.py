"""Every example of every stage's manual runs as it stands, and makes a picture."""
import shlex
import shutil
import subprocess

import numpy as np
import pytest
import tifffile
from PIL import Image

import harness


def pixels(path):
    return tifffile.imread(path) if path.suffix == ".tif" else np.array(Image.open(path))


def test_stages_are_listed():
    assert {"blur", "scale", "wavelet", "invert"} <= set(harness.stages())
    assert all(harness.examples(stage) for stage in harness.stages())


@pytest.mark.parametrize("command", [e for stage in harness.stages() for e in harness.examples(stage)])
def test_example(tmp_path, command):
    shutil.copytree(harness.ROOT / "samples", tmp_path / "samples")
    words = shlex.split(command)
    done = subprocess.run([*harness.climg_with(), *words[1:]], cwd=tmp_path, capture_output=True, timeout=120)
    assert (done.returncode, harness.without_clipping(done.stderr.decode())) == (0, "")
    assert np.ptp(pixels(tmp_path / words[-1]).astype(float)) > 0, "the picture has one colour"
