"""Hundreds of files of every kind in one run, and a run that is killed again and again."""

import json
import random
import signal
import subprocess
import time

import numpy as np
import pytest

import harness
import pngfile
import reference

COUNT, BROKEN = 400, 5
KILLS = harness.some(10, 50)


def make_pictures(folder, rng, count, sizes):
    """{name: samples}: PNG and TIFF, 1 to 4 channels, 8 and 16 bit in turn, in two folders."""
    pictures = {}
    for k in range(count):
        suffix, channels, dtype = (".png", ".tif")[k % 2], k // 2 % 4 + 1, ("uint8", "uint16")[k // 8 % 2]
        name = f"{'sub/' if k // 16 % 2 else ''}{k:03d}-{channels}-{dtype}{suffix}"
        shape = harness.Shape(*map(int, rng.integers(*sizes, 2)), channels, dtype)
        pictures[name] = harness.random_samples(rng, shape)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write = pngfile.write_png if suffix == ".png" else harness.write_tiff
        write(folder / name, pictures[name])
    return pictures


def break_files(folder, names):
    """Cut off, empty, not an image, a byte of the pixels changed, no image behind the header; {name: message}."""
    png, tif = [[name for name in names if name.endswith(suffix)] for suffix in (".png", ".tif")]
    (folder / png[0]).write_bytes((folder / png[0]).read_bytes()[:-20])
    (folder / tif[0]).write_bytes(b"")
    (folder / png[1]).write_text("not an image")
    data = bytearray((folder / png[2]).read_bytes())
    data[data.index(b"IDAT") + 8] ^= 0xff
    (folder / png[2]).write_bytes(data)
    (folder / tif[1]).write_bytes((folder / tif[1]).read_bytes()[:8])
    return [png[0], tif[0], png[1], png[2], tif[1]]


@pytest.mark.long
def test_many_files(tmp_path, rng):
    pictures = make_pictures(tmp_path / "in", rng, COUNT, (3, 30))
    broken = break_files(tmp_path / "in", list(rng.permutation(list(pictures))))
    report = tmp_path / "report.jsonl"
    result = harness.run("-r", "--report", report, "in", "--blur", "1", "out", cwd=tmp_path, status=3)

    messages = result.err.splitlines()
    assert messages.pop() == f"climg: {BROKEN} of {COUNT} files failed"
    assert sorted(message.split(": ")[1] for message in messages) == sorted(f"in/{name}" for name in broken)
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert len(lines) == COUNT
    assert {line["input"] for line in lines if line["status"] == "failed"} == {f"in/{name}" for name in broken}

    good = sorted(set(pictures) - set(broken))
    written = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert written == set(good)
    off, total = dict.fromkeys(("uint8", "uint16"), 0), dict.fromkeys(("uint8", "uint16"), 0)
    for name in good:
        exact = reference.through(pictures[name], lambda planes: reference.blur(planes, 1))
        samples = harness.read_samples(tmp_path / "out" / name)
        assert samples.dtype == pictures[name].dtype, name
        # Single files are too small for its limits on how many samples may be off by one count.
        harness.assert_counts(samples, exact, name, fraction=1)
        off[samples.dtype.name] += np.count_nonzero(samples != reference.to_integers(exact, samples.dtype))
        total[samples.dtype.name] += samples.size
    assert off["uint8"] < 0.001 * total["uint8"] and off["uint16"] < 0.02 * total["uint16"], (off, total)
    for name in rng.choice(good, 6, replace=False):
        alone = tmp_path / f"alone{name[-4:]}"
        harness.run(tmp_path / "in" / name, "--blur", "1", alone)
        assert alone.read_bytes() == (tmp_path / "out" / name).read_bytes(), name


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and path.name != ".climg-done"}


def is_hidden(name):
    return name.split("/")[-1].startswith(".")


@pytest.mark.long
def test_killed_at_random(tmp_path, rng):
    """At no moment is there half an output; what is left to do is done by the next run, and no file is left over."""
    make_pictures(tmp_path / "in", rng, 16, (60, 120))
    chain = ("--scale", "2", "--compression", "best")
    for _ in range(2):  # the first may have to compile
        began = time.monotonic()
        harness.run("-r", "in", *chain, "whole", cwd=tmp_path)
        longest = time.monotonic() - began
    whole = files_of(tmp_path / "whole")
    chance = random.Random(f"{harness.seed_text()}/kill")
    command = [harness.CLIMG, "-r", "--resume", "--report", "report.jsonl", "in", *chain, "out"]
    kills = caught = 0
    deadline = time.monotonic() + 60 + 60 * longest
    while kills < KILLS or caught == 0:
        assert time.monotonic() < deadline, "no kill left a temporary file: this test has not tested that" if kills >= KILLS else ""
        run = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
        try:
            run.wait(chance.uniform(0.1, 1) * longest)
        except subprocess.TimeoutExpired:
            run.kill()
            kills += run.wait() == -signal.SIGKILL
        found = files_of(tmp_path / "out") if (tmp_path / "out").exists() else {}
        caught += any(map(is_hidden, found))
        assert {name: data for name, data in found.items() if not is_hidden(name)}.items() <= whole.items()
        if run.returncode == 0:
            assert found == whole
            for name in chance.sample(sorted(whole), len(whole) // 2):  # so that there is work again
                (tmp_path / "out" / name).unlink()
    harness.run(*command[1:], cwd=tmp_path)
    assert files_of(tmp_path / "out") == whole
    for line in (tmp_path / "report.jsonl").read_text().splitlines():
        assert json.loads(line)["status"] in ("done", "skipped")


@pytest.mark.parametrize("names,clash", [
    (["A.png", "a.png", "a.PNG"], ("A.png", "a.PNG", "a.PNG")), (["x/b.png", "X/b.png"], ("X/b.png", "x/b.png", "x/b.png")),
    (["Ä.png", "ä.png"], None), (["a.png", "b.png", "ä.png"], None)])
def test_folder_without_case(tmp_path, rng, folders_without_case, names, clash):
    """Refused before anything is done; the layer folds ASCII alone."""
    for name in names:
        (tmp_path / "caseless").mkdir(exist_ok=True)
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        pngfile.write_png(tmp_path / "in" / name, rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    for shard in ([], ["--shard", "1/4"]) if clash else ([],):
        done = harness.run("-r", "in", "--invert", *shard, "caseless", cwd=tmp_path, env=folders_without_case, status=2 if clash else 0)
        assert sorted(str(path.relative_to(tmp_path / "caseless")) for path in (tmp_path / "caseless").rglob("*.*")) == (
            [] if clash else sorted(names))
        assert not clash or done.err == (
            f"climg: in/{clash[0]} and in/{clash[1]} would both become caseless/{clash[2]}, as this folder does not distinguish "
            "upper and lower case; rename one, or use two output folders\n")
    harness.run("-r", "in", "--invert", "folder", cwd=tmp_path, env=folders_without_case)
    assert len(list((tmp_path / "folder").rglob("*.*"))) == len(names)


def test_long_names_that_differ_late(tmp_path, rng):
    """Names of temporary files are cut, but not before the letter whose case is tried."""
    names = ["a" * 210 + "B.png", "a" * 210 + "b.png"]
    (tmp_path / "in").mkdir()
    for name in names:
        pngfile.write_png(tmp_path / "in" / name, rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    harness.run("in", "--invert", "out", cwd=tmp_path)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
