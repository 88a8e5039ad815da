"""Programs that --warm keeps: they are what later runs use, where they are whole and of these kernels. That outputs are
compared with those of programs built from their texts is the point: no bit may differ."""

import json
import os
import shutil
import subprocess

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


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    """A folder as `make install` fills it, for the stage that compiles fastest."""
    if POCL not in [device["platform"] for device in json.loads(harness.run("--list-devices=json").out)]:
        pytest.skip("only PoCL's programs are kept")
    folder = tmp_path_factory.mktemp("system")
    done = own_run(folder, folder, "--warm", "--device", POCL, CLIMG_STAGES="extend")
    assert done.returncode == 0 and done.stderr == ""
    return folder


def own_run(cache, system, *words, **env):
    """With PoCL's folder in the cache, as users have it."""
    kept = {name: value for name, value in os.environ.items() if name != "POCL_CACHE_DIR"}
    return subprocess.run([harness.CLIMG, *map(str, words)], capture_output=True, text=True, timeout=300, check=False,
                          env={**kept, "XDG_CACHE_HOME": str(cache), "CLIMG_SYSTEM_CACHE": str(system), "CLIMG_DEVICE": POCL, **env})


def kernels(cache):
    return {path.relative_to(cache) for kind in ("bc", "so") for path in (cache / "climg/pocl").rglob(f"*.{kind}")}


@pytest.mark.some(1)
@pytest.mark.parametrize("dtype, channels", [("uint8", 3), ("uint8", 1), ("uint16", 3)])
def test_first_use_after_installing_compiles_nothing(tmp_path, system, rng, dtype, channels):
    """A user's folder then has copies alone."""
    samples = rng.integers(0, 255, (70, 80, channels)).astype(dtype)
    harness.write_tiff(tmp_path / "in.tif", samples)
    done = own_run(tmp_path / "cache", system, tmp_path / "in.tif", "--extend", "120x90", tmp_path / "out.tif")
    assert (done.returncode, done.stderr) == (0, "")
    assert kernels(tmp_path / "cache") and kernels(tmp_path / "cache") <= kernels(system)
    assert not list((tmp_path / "cache/climg").glob("program-*"))
    again = own_run(tmp_path / "other", "/nonexistent", tmp_path / "in.tif", "--extend", "120x90", tmp_path / "again.tif")
    assert again.returncode == 0 and np.array_equal(harness.read_tiff(tmp_path / "again.tif"), harness.read_tiff(tmp_path / "out.tif"))


def test_what_was_compiled_for_all_crashes(tmp_path, system, rng):
    """At most once: it is not copied again."""
    damaged = tmp_path / "system"
    shutil.copytree(system, damaged)
    for path in (damaged / "climg/pocl").rglob("*.so"):
        path.write_bytes(path.read_bytes()[:4096] + bytes(path.stat().st_size - 4096))
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 255, (70, 80, 3)).astype(np.uint8))
    words = (tmp_path / "in.tif", "--extend", "120x90", tmp_path / "out.tif", "-y")
    assert own_run(tmp_path / "cache", damaged, *words).returncode < 0
    for _ in range(2):
        done = own_run(tmp_path / "cache", damaged, *words)
        assert (done.returncode, done.stderr) == (0, "")
    right = own_run(tmp_path / "other", "/nonexistent", tmp_path / "in.tif", "--extend", "120x90", tmp_path / "right.tif")
    assert right.returncode == 0 and np.array_equal(harness.read_tiff(tmp_path / "out.tif"), harness.read_tiff(tmp_path / "right.tif"))
