"""Batches that are killed at random moments and taken up again with --resume, by one climg or two at the same time: what
has its name is whole and as it would have been, and in the end nothing else is left. CLIMG_TEST_KILLS says how many
kills; that the outputs are compared with those of a batch in peace is the point: no bit may differ."""

import collections
import hashlib
import os
import signal
import subprocess
import time

import numpy as np
import pytest
import tifffile

import harness
import pngfile

KILLS = int(os.environ.get("CLIMG_TEST_KILLS") or harness.some(8, 40))
SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
COMMAND = ["-r", "in", "--blur", "2", "--scale", "2", "-j", "2", "--resume", "out"]


def digests(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*") if path.is_file() and path.name != ".climg-done"}


def make_inputs(folder, rng):
    """Groups of small ones, some that are larger, in folders and as both formats."""
    for i in range(24):
        side = 60 if i % 3 else int(rng.integers(200, 500))
        picture = rng.integers(0, 256, (side, side, 3), dtype="uint8")
        (folder / f"{i % 2}").mkdir(parents=True, exist_ok=True)
        if i % 5:
            pngfile.write_png(folder / f"{i % 2}" / f"{i}.png", picture)
        else:
            harness.write_tiff(folder / f"{i % 2}" / f"{i}.tif", picture)


def start(folder):
    return subprocess.Popen([*harness.KILLABLE, *COMMAND], cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def judge(folder, expected):
    """Outputs are right; gives their names, and those of hidden files beside them."""
    found = digests(folder / "out")
    hidden = {name for name in found if os.path.basename(name).startswith(".")}
    assert all(expected.get(name) == found[name] for name in found.keys() - hidden)
    return found.keys() - hidden, hidden


@pytest.mark.long
def test_killed_batches(tmp_path, rng):
    make_inputs(tmp_path / "in", rng)
    harness.run(*COMMAND, cwd=tmp_path)  # compiles
    began = time.monotonic()
    expected = digests(tmp_path / "out")
    harness.run_shell("rm -r out && climg " + " ".join(COMMAND), tmp_path)
    whole = time.monotonic() - began
    assert len(expected) == 24 and digests(tmp_path / "out") == expected
    told, kills, batches = collections.Counter(), 0, 0
    while kills < KILLS:
        harness.run_shell("rm -r out", tmp_path)
        batches += 1
        hidden = set()
        for _ in range(int(rng.integers(1, 8))):
            children, left = [start(tmp_path) for _ in range(int(rng.integers(1, 3)))], False
            time.sleep(float(rng.uniform(0, whole)))
            for child in children:
                kind = SIGNALS[rng.integers(len(SIGNALS))]
                ended = child.poll() is not None
                child.send_signal(kind)
                err = child.communicate(timeout=60)[1]
                assert ended or child.returncode in (0, -kind), f"{kind}: {child.returncode}: {err}"
                said = [line for line in err.splitlines() if line.startswith("climg: ")]  # compilers say something, too
                assert all(line.startswith("climg: stopped by ") for line in said), err
                left = left or child.returncode == -signal.SIGKILL
                told[kind.name if child.returncode else "done before"] += 1
                kills += child.returncode != 0
            harness.run_shell("mkdir -p out", tmp_path)
            before, hidden = hidden, judge(tmp_path, expected)[1]
            assert left or hidden <= before, "only a kill leaves something"
        harness.run(*COMMAND, cwd=tmp_path)
        assert judge(tmp_path, expected) == (expected.keys(), set())
    print(f"{kills} kills in {batches} batches: {dict(told)}")


# Calls of each thread, after the output was begun: the reader's, the writer's, the main one, which works alone, and one of
# several workers.
THREADS = {"reader": ("a.tif", "pread", 20), "writer": ("a.tif", "pwrite", 7), "alone": ("a.tif", "clEnqueueNDRangeKernel", 7),
           "worker": ("in", "clEnqueueNDRangeKernel", 20)}


@pytest.mark.parametrize("fault", [signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT])
@pytest.mark.parametrize("thread", THREADS)
def test_a_crash_leaves_no_temporary_file(tmp_path, rng, failing_calls, thread, fault):
    """A fault in any thread: the signal is the exit status, and of the pictures that were under way nothing is left. These are large
    enough for threads that read and write."""
    source, call, at = THREADS[thread]
    (tmp_path / "in").mkdir()
    picture = rng.integers(0, 256, (2048, 2048, 3), np.uint8)
    for name in ["a.tif"] if source == "a.tif" else ["in/b.tif", "in/c.tif", "in/d.tif"]:
        tifffile.imwrite(tmp_path / name, picture, metadata=None)
    env = {**os.environ, **failing_calls(call, at, fault=fault), "XDG_CACHE_HOME": str(tmp_path / "cache"),
           "CLIMG_SLICE": "128"}
    command = [harness.CLIMG, source, "--blur", "2", "-j", "2", "out/"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == -fault, done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")] == []
