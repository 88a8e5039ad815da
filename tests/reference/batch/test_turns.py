"""On CPU devices a launch over a larger grid than any before goes alone: PoCL up to 5.0 may abort otherwise.

PoCL 3.1 as Debian builds it does not, so a layer counts (watched_turns.c)."""

import numpy as np
import pytest
import tifffile

import harness


@pytest.mark.parametrize("cold", [False, True])
def test_larger_grids_go_alone(tmp_path, rng, watched_turns, cold):
    (tmp_path / "in").mkdir()
    for i in range(60):
        height, width = 20 + 6 * i + rng.integers(0, 300, 2)
        tifffile.imwrite(tmp_path / "in" / f"{i:02}.tif", rng.integers(0, 256, (height, width), np.uint8), metadata=None)
    (tmp_path / "cache").mkdir()
    env = {**watched_turns, "TURNS": str(tmp_path / "turns"), "CLIMG_CLOSE": "1", **({"POCL_CACHE_DIR": str(tmp_path / "cache")} if cold else {})}
    harness.run("-j", 4, "in", "--blur", "2", "--invert", "out", cwd=tmp_path, env=env)
    launches, alone, together = map(int, (tmp_path / "turns").read_text().split())
    if launches == 0:
        pytest.skip("no CPU device")
    assert launches > 120 and alone >= 3, "sizes that do not grow show nothing"
    assert together == 0


def test_waiting_fails(tmp_path, rng, failing_calls):
    """Memory that may be in use is not freed, and nothing else is launched: a failure, no crash, and no file is left."""
    if harness.device_copies():
        pytest.skip("clFinish is called on CPU devices alone")
    (tmp_path / "in").mkdir()
    for i in range(5):
        tifffile.imwrite(tmp_path / "in" / f"{i}.tif", rng.integers(0, 256, (300 + 50 * i, 400, 3), np.uint8), metadata=None)
    env = {**failing_calls("clFinish", 0, always=True), "POCL_DEVICES": "pthread pthread", "CLIMG_SLICE": "16"}
    for _ in range(8):  # without that care 2 of 3 crashed
        done = harness.run("in", "--resize", "70%", "-j", 2, "--device", "all", "out", cwd=tmp_path, env=env, status=1)
        assert "climg: 5 of 5 files failed\n" in done.err
        assert not (tmp_path / "out").exists()
