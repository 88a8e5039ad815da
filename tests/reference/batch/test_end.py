"""How a process ends: at once, when outputs are whole, unless memory and devices are wanted back first."""

import pytest

import harness


@pytest.mark.parametrize("close, released", [("", 0), ("1", 1)])
def test_the_context_is_left_to_the_system(tmp_path, failing_device, close, released):
    env = {**failing_device, "LAUNCHES": str(tmp_path / "calls"), "CLIMG_CLOSE": close}
    harness.run(harness.SAMPLES / "scene.png", "--invert", "out.png", cwd=tmp_path, env=env)
    calls = [line.split()[0] for line in (tmp_path / "calls").read_text().splitlines()]
    assert "invert" in calls and calls.count("clReleaseContext") == released
    assert harness.read_samples(tmp_path / "out.png").shape == (512, 512, 3)
