"""After --warm no example of the manual builds anything: PoCL's cache has no new program and no new machine code. Drivers of GPUs do
not say what they build."""

import os
import pathlib
import re
import shlex
import subprocess

import pytest

import harness


def climg(cache, *words, **options):
    env = {**os.environ, "POCL_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(cache)}
    return subprocess.run([harness.CLIMG, *map(str, words)], env=env, capture_output=True, text=True, timeout=600, **options)


def built(cache):
    """LLVM's code of programs, machine code of kernels for a size of groups."""
    return {path for kind in ("bc", "so") for path in pathlib.Path(cache).rglob(f"*.{kind}")}


def assert_builds_nothing(cache, command, *options):
    there = built(cache)
    done = climg(cache, *shlex.split(command)[1:], *options, cwd=cache.parent)
    assert (done.returncode, harness.without_clipping(done.stderr)) == (0, "")
    assert there and built(cache) == there, command


@pytest.mark.some(1)
@pytest.mark.parametrize("stage", harness.stages())
def test_examples_build_nothing_after_warm(tmp_path, monkeypatch, stage):
    cache = tmp_path / "cache"
    cache.mkdir()
    (tmp_path / "samples").symlink_to(harness.SAMPLES)
    monkeypatch.setenv("CLIMG_STAGES", stage)
    done = climg(cache, "--warm")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    device, _, *lines, last = done.stdout.splitlines()
    if not built(cache):
        pytest.skip(f"{device}: not PoCL")
    commands = harness.examples(stage)
    assert [re.fullmatch(r"[a-z-]+ +[0-9.]+ s  (.*)", line)[1] for line in lines] == commands
    assert re.fullmatch(rf"[0-9]+ programs, {len(commands)} examples: [0-9.]+ s", last)
    for command in commands:
        assert_builds_nothing(cache, command)
        monkeypatch.setenv("CLIMG_SLICE", "64")  # as larger pictures go
        assert_builds_nothing(cache, command, "-y")
        monkeypatch.delenv("CLIMG_SLICE")


def test_options_that_change_programs_are_handed_on(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    cache.mkdir()
    (tmp_path / "samples").symlink_to(harness.SAMPLES)
    monkeypatch.setenv("CLIMG_STAGES", "extend")
    assert climg(cache, "--warm").returncode == 0
    there = built(cache)
    if not there:
        pytest.skip("not PoCL")
    assert climg(cache, "--warm", "--edge", "wrap").returncode == 0
    assert built(cache) > there
    assert_builds_nothing(cache, harness.examples("extend")[0], "--edge", "wrap")


def test_a_device_that_is_not_there():
    done = harness.run("--warm", "--device", "no such device", status=1)
    assert done.out == b"" and "no OpenCL device fits \"no such device\"" in done.err
