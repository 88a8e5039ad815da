"""--timing's bars: in a terminal that writes UTF-8, as long as the share that stands before them."""
import os
import pty
import re
import subprocess

import numpy as np
import pytest
from PIL import Image

import harness

COLUMNS = 24
BAR = re.compile(r"^(kernel build .*\)|.{36}) +([\d.]+) +([\d.]+)(?:  (\x1b\[36m)?([▏▎▍▌▋▊▉█]*)(\x1b\[0m)?)?$", re.M)


def timing(folder, **environment):
    """What a terminal gets."""
    Image.fromarray(np.zeros((40, 50), np.uint8)).save(folder / "in.png")
    leader, follower = pty.openpty()
    variables = {key: value for key, value in os.environ.items() if not key.startswith("LC_") and key not in ("LANG", "NO_COLOR")}
    subprocess.run([harness.CLIMG, "in.png", "--invert", "out.png", "--timing"], cwd=folder, check=True, stderr=follower,
                   env=variables | environment)
    os.close(follower)
    text = b""
    while chunk := read(leader):
        text += chunk
    return BAR.findall(text.decode().replace("\r", ""))


def read(leader):
    try:
        return os.read(leader, 4096)
    except OSError:  # the other end is closed and all is read
        return b""


@pytest.mark.parametrize("coloured", [True, False])
def test_bars_are_as_long_as_shares(tmp_path, coloured):
    rows = timing(tmp_path, LC_ALL="C.UTF-8", **({} if coloured else {"NO_COLOR": "1"}))
    assert len(rows) == 7
    for _, _, share, on, bar, off in rows:
        eighths = sum(8 if block == "█" else " ▏▎▍▌▋▊▉".index(block) for block in bar)
        assert abs(eighths / 8 / COLUMNS - min(float(share) / 100, 1)) <= 0.5 / 8 / COLUMNS + 0.0005
        assert (on, off) == (("\x1b[36m", "\x1b[0m") if coloured else ("", ""))


def test_no_bars_without_utf8(tmp_path):
    rows = timing(tmp_path, LC_ALL="C")
    assert len(rows) == 7 and not any(row[4] for row in rows)
