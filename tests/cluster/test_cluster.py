"""A folder shared out by real engines, as docs/cluster.md tells: every output once and whole, whatever is killed."""

import collections
import json
import os
import shlex
import subprocess

import numpy as np
import pytest
from PIL import Image

import harness
import pngfile
import slurm

PARTS = 4
CHAIN = ("--invert", "--scale", "2,filter=nearest")  # exact, so that numpy says what must come out
NAMES = [f"{folder}{k:02d}{ending}" for folder in ("", "one/", "one/two/") for k in range(8)
         for ending in (".png", ".tif")]
VICTIM = 2  # the part whose task is killed


def parts(folder):
    """{part: its names}, for the names under in/."""
    told = {part: harness.run("-n", "-r", "--shard", f"{part}/{PARTS}", "in", "out", cwd=folder).out.decode()
            for part in range(1, PARTS + 1)}
    return {part: [line.split(" -> ")[0].removeprefix("in/") for line in text.splitlines()]
            for part, text in told.items()}


@pytest.fixture
def folder(tmp_path):
    for name in NAMES:
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).touch()
    (tmp_path / "reports").mkdir()
    return tmp_path


def fill(folder, rng, size_of):
    for name in NAMES:
        size = size_of(name)
        picture = rng.integers(0, 256, (size, size, 3), dtype=np.uint8)
        write = pngfile.write_png if name.endswith(".png") else harness.write_tiff
        write(folder / "in" / name, picture)


def samples(path):
    """Pillow reads 8-bit RGB of both formats, and large ones much faster than the tests' own PNG reader."""
    with Image.open(path) as image:
        return np.array(image)


def check_outputs(folder):
    """All there, right in every pixel, and nothing else."""
    found = [str(path.relative_to(folder / "out")) for path in (folder / "out").rglob("*")
             if path.is_file() and path.name != ".climg-done"]
    assert sorted(found) == sorted(NAMES)
    for name in NAMES:
        picture = samples(folder / "in" / name)
        expected = (255 - picture).repeat(2, axis=0).repeat(2, axis=1)
        assert np.array_equal(samples(folder / "out" / name), expected), name


def statuses(folder):
    """{name: the status of each of its lines}, of all reports."""
    found = collections.defaultdict(list)
    for path in (folder / "reports").iterdir():
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            found[entry["input"].removeprefix("in/")].append(entry["status"])
    return found


def command(part, report):
    return f"{shlex.quote(harness.CLIMG)} -r in {' '.join(CHAIN)} out --shard {part} --resume --report {report}"


def write_job(folder):
    (folder / "job.sh").write_text(f"""#!/bin/bash
#SBATCH --array=1-{PARTS}
#SBATCH --open-mode=append
#SBATCH --output=%a.txt
exec srun {command(f"auto/{PARTS}", 'reports/"$SLURM_ARRAY_TASK_ID".jsonl')}
""")


def done_of(folder, names):
    return [name for name in names if (folder / "out" / name).exists()]


@pytest.fixture
def engine():
    """A Slurm that runs. Where it cannot, the test says why it skips, but in CI it fails."""
    try:
        with slurm.Slurm() as running:
            yield running
    except slurm.Unusable as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no Slurm here: {reason}")


def test_slurm(folder, rng, engine):
    victims = parts(folder)[VICTIM]
    assert len(victims) >= 6
    # The large ones last long enough to be killed among: noise does not compress.
    fill(folder, rng, lambda name: 900 if name in victims else 20)
    write_job(folder)
    job = engine.run("sbatch", "--parsable", "job.sh", cwd=folder).strip()
    slurm.wait_until(lambda: len(done_of(folder, victims)) >= 2, "the first outputs", log=engine.log)
    engine.run("scancel", "--signal=KILL", "--full", f"{job}_{VICTIM}")
    engine.wait_for_jobs()
    killed_after = done_of(folder, victims)
    assert 2 <= len(killed_after) < len(victims), "the kill came too late to show anything"
    assert "CANCELLED" in engine.run("scontrol", "show", "job", f"{job}_{VICTIM}") or \
           "FAILED" in engine.run("scontrol", "show", "job", f"{job}_{VICTIM}")
    others = [name for name in NAMES if name not in victims]
    assert done_of(folder, others) == others, "the other tasks are not harmed"

    engine.run("sbatch", f"--array={VICTIM}", "job.sh", cwd=folder)
    engine.wait_for_jobs()
    messages = {path.name: path.read_text() for path in folder.glob("*.txt")}
    check_outputs(folder)
    found = statuses(folder)
    assert sorted(found) == sorted(NAMES), messages
    for name, lines in found.items():
        # Between the renaming and the line of the report is a moment, too.
        assert lines == ["done"] or (name in killed_after and lines in (["done", "skipped"], ["skipped"])), \
            (name, lines, messages)


def test_srun(folder, rng, engine):
    """Without an array: each task of the step takes its part, the batch script's own climg refuses."""
    fill(folder, rng, lambda name: 20)
    auto = command("auto", 'reports/"$SLURM_PROCID".jsonl')
    (folder / "step.sh").write_text(f"#!/bin/bash\nsrun bash -c {shlex.quote(auto)}\n{auto} -n\n")
    engine.run("sbatch", "--nodes=2", "--ntasks=2", "--output=step.txt", "step.sh", cwd=folder)
    engine.wait_for_jobs()
    check_outputs(folder)
    assert sorted(statuses(folder)) == sorted(NAMES)
    assert "no Slurm array" in (folder / "step.txt").read_text()


@pytest.mark.parametrize("line", [
    f"seq {PARTS} | parallel --will-cite -j 2 " + command("{#}/" + str(PARTS), "reports/{}.jsonl"),
    f"seq {PARTS} | parallel --will-cite -j 2 " + command("{}/" + str(PARTS), "reports/{}.jsonl"),
])
def test_parallel(folder, rng, line):
    fill(folder, rng, lambda name: 20)
    for expected in ("done", "skipped"):
        done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=folder, capture_output=True, text=True,
                              timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        check_outputs(folder)
        assert {name: lines[-1] for name, lines in statuses(folder).items()} == dict.fromkeys(NAMES, expected)
    assert all(lines == ["done", "skipped"] for lines in statuses(folder).values())
