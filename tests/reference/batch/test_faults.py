"""Disks that are full and folders that become read-only while a batch is at work. tests/cli has the other faults."""

import os
import shutil
import subprocess
import time

import numpy as np
import pytest

import harness
import pngfile

NOBODY = 65534


def give_away(folder):
    """Puts climg there and gives all to the user as whom it is to run: how subprocess starts it so."""
    shutil.copy(os.path.realpath(harness.CLIMG), folder / "climg")
    user = NOBODY if os.getuid() == 0 else None
    for path in (folder, *folder.rglob("*")):
        if user:
            os.chown(path, user, user)
    return {"user": user, "group": user, "env": {**os.environ, "HOME": str(folder), "POCL_CACHE_DIR": str(folder / "cache")}}


def test_folder_becomes_read_only(open_folder, rng):
    """Nothing is read-only to root, so root's tests become nobody."""
    folder = open_folder
    for name in ("in/a.png", "in/locked/b.png", "in/locked/d.png", "in/z.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pngfile.write_png(folder / name, rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    os.mkfifo(folder / "c.png")
    os.rename(folder / "c.png", folder / "in" / "locked-c.png")  # sorts between a.png and locked/
    (folder / "out").mkdir()
    as_user = give_away(folder)
    child = subprocess.Popen([folder / "climg", "-j", "1", "-r", "in", "in/locked-c.png", "--invert", "out"], cwd=folder,
                             stderr=subprocess.PIPE, text=True, **as_user)
    deadline = time.monotonic() + 60
    while not (folder / "out" / "a.png").exists():
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.01)
    (folder / "out" / "locked").mkdir()
    (folder / "out" / "locked").chmod(0o555)
    (folder / "in" / "locked-c.png").write_bytes((folder / "in" / "a.png").read_bytes())
    messages = child.communicate(timeout=60)[1].splitlines()
    assert messages == [f"climg: out/locked/{name}.png: cannot write in folder out/locked/: Permission denied"
                        for name in "bd"] + ["climg: 2 of 5 files failed"]
    assert child.returncode == 3
    assert sorted(path.name for path in (folder / "out").rglob("*")) == ["a.png", "locked", "locked-c.png", "z.png"]
    for name in ("a.png", "z.png"):
        picture = pngfile.read_png(folder / "in" / name).samples
        assert np.array_equal(pngfile.read_png(folder / "out" / name).samples, 255 - picture)


def test_output_folder_is_read_only(open_folder, rng):
    """An error of all files is printed once, and the rest is not tried."""
    folder = open_folder
    (folder / "in").mkdir()
    for name in "abcd":
        pngfile.write_png(folder / "in" / f"{name}.png", rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    (folder / "out").mkdir()
    as_user = give_away(folder)
    (folder / "out").chmod(0o555)
    done = subprocess.run([folder / "climg", "-j", "1", "in", "--invert", "out"], cwd=folder, capture_output=True, text=True, check=False,
                          **as_user)
    assert done.stderr.splitlines() == [
        "climg: out/a.png: cannot write in folder out/: Permission denied",
        "climg: 1 of 4 files failed, and 3 were not tried, as they would fail in the same way"]
    assert done.returncode == 1


def on_small_disk(folder, script):
    """Runs a script where `disk` is a file system of 300 KB, seen by nobody else."""
    (folder / "disk").mkdir()
    return subprocess.run(["unshare", "-Urm", "bash", "-ec", f"mount -t tmpfs -o size=300k none disk; {script}"], cwd=folder,
                          capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("kind", ["png", "tif", "ppm"])
def test_disk_is_full(tmp_path, rng, kind):
    if on_small_disk(tmp_path, "true").returncode != 0:
        pytest.skip("no file system can be mounted here")
    (tmp_path / "disk").rmdir()
    (tmp_path / "in" / "below").mkdir(parents=True)
    for name, side in (("a", 9), ("b", 400), ("c", 9), ("below/d", 9)):
        pngfile.write_png(tmp_path / "in" / f"{name}.png", rng.integers(0, 256, (side, side, 3), dtype=np.uint8))
    done = on_small_disk(tmp_path, f"{harness.CLIMG} -j 1 -r in --invert -f {kind} disk/ || echo $?; ls -A disk")
    assert done.stdout.split() == ["3", f"a.{kind}"]
    assert done.stderr.splitlines() == [
        f"climg: disk/b.{kind}: cannot write: No space left on device",
        "climg: 1 of 4 files failed, and 2 were not tried, as they would fail in the same way"]


def test_device_fails_in_a_stack(tmp_path, rng, failing_calls):
    """No picture is left out for it: the stack fails."""
    for name in "abc":
        pngfile.write_png(tmp_path / f"{name}.png", rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    run = harness.run("-j", 1, *(f"{name}.png" for name in "abc"), "--blur", 1, "--stack", "mean", "out.png", cwd=tmp_path, status=1,
                      env=failing_calls("clEnqueueNDRangeKernel", 1))
    assert "left out" not in run.err and not (tmp_path / "out.png").exists()
