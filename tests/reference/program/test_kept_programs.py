"""Programs that --warm keeps: they are what later runs use, where they are whole and of these kernels. That outputs are
compared with those of programs built from their texts is the point: no bit may differ."""

import json

import numpy as np
import pytest

import harness

POCL = "Portable Computing Language"
WORK = ["in.tif", "--blur", "2", "--depth", "float", "-y"]


@pytest.fixture
def folder(tmp_path, rng):
    if POCL not in [device["platform"] for device in json.loads(harness.run("--list-devices=json").out)]:
        pytest.skip("only PoCL's programs are kept")
    harness.write_tiff(tmp_path / "in.tif", rng.random((40, 50, 3)).astype(np.float32))
    return tmp_path


def blur(folder, status=0, **env):
    env = {"XDG_CACHE_HOME": str(folder / "cache"), "POCL_CACHE_DIR": harness.pocl_cache(), "CLIMG_DEVICE": POCL, **env}
    harness.run(*WORK, "out.tif", cwd=folder, env=env, status=status)
    return harness.read_tiff(folder / "out.tif") if status == 0 else None


def test_kept_programs_are_used(folder, altered_kernels):
    """Under a layer that makes texts say nothing to a compiler: only a program that is not built from its text works."""
    altered = {**altered_kernels, "ALTERED_FROM": "__kernel", "ALTERED_TO": "none"}
    right = blur(folder)
    assert not list((folder / "cache").glob("climg/program-*")), "they are kept when --warm says so"
    blur(folder, status=1, **altered)
    assert np.array_equal(blur(folder, CLIMG_KEEP="1"), right)
    kept = list((folder / "cache/climg").glob("program-*"))
    assert kept and np.array_equal(blur(folder, **altered), right)
    for path in kept:
        check_damage(folder, path, right)


def check_damage(folder, path, right):
    """A file that is cut short or changed is as none."""
    whole = path.read_bytes()
    for damaged in (whole[:-100], whole[:-100] + bytes(100), whole.replace(b"climg program", b"climg progrem", 1), b""):
        path.write_bytes(damaged)
        assert np.array_equal(blur(folder), right)
    path.write_bytes(whole)


def test_warm_removes_those_of_other_kernels(folder):
    blur(folder, CLIMG_KEEP="1")
    kept = sorted((folder / "cache/climg").glob("program-*"))
    other = folder / "cache/climg/program-of-others"
    other.write_bytes(kept[0].read_bytes().replace(b"kernels ", b"kernels 1", 1))
    harness.run("--warm", "--device", "no such device", env={"XDG_CACHE_HOME": str(folder / "cache")}, status=1)
    assert sorted((folder / "cache/climg").glob("program-*")) == kept
