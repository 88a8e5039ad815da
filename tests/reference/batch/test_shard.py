"""--shard: every file in exactly one part, the same part everywhere, and what Slurm says."""

import json
import pytest

import harness

NAMES = [f"img_{k:04d}.png" for k in range(300)] + [f"sub/{k}.TIF" for k in range(0, 400, 2)] + ["ä.tiff"]
VARIABLES = ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP",
           "SLURM_ARRAY_TASK_COUNT", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS")


def part_of(name, count):
    """FNV-1a, mixed by MurmurHash3's last step, scaled to 1 ... count."""
    hash = 0xcbf29ce484222325
    for byte in name.encode():
        hash = (hash ^ byte) * 0x100000001b3 % 2**64
    for factor in (0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53):
        hash = (hash ^ hash >> 33) * factor % 2**64
    return 1 + ((hash ^ hash >> 33) * count >> 64)


@pytest.fixture(autouse=True)
def no_slurm(monkeypatch):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shard")
    for name in NAMES:
        (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / name).touch()
    return folder


def names(folder, shard, env=None, source="in"):
    told = harness.run("-n", "-r", "--shard", shard, source, "out", cwd=folder, env=env).out.decode()
    return [line.split(" -> ")[1].removeprefix("out/") for line in told.splitlines()]


def expected(index, count):
    return sorted((name for name in NAMES if part_of(name, count) == index), key=str.encode)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 1000])
def test_parts(folder, count):
    for index in range(1, min(count, 8) + 1):
        part = names(folder, f"{index}/{count}")
        assert part == expected(index, count)
        if count <= 8:
            assert abs(len(part) - len(NAMES) / count) < 5 * (len(NAMES) / count) ** 0.5, "about even"


def test_check_reads_its_part(folder):
    for index, count, status in (1, 3, 3), (7, 100000, 0):
        done = harness.run("--check", "-r", "--shard", f"{index}/{count}", "--report", "-", "in", cwd=folder, status=status)
        lines = [json.loads(line)["input"] for line in done.out.decode().splitlines()]  # all are empty, and fail
        assert sorted(lines) == sorted(f"in/{name}" for name in expected(index, count))


def test_the_way_to_the_folder_does_not_matter(folder):
    assert names(folder, "2/3", source=folder / "in") == names(folder, "2/3", source="./in//") == expected(2, 3)


@pytest.mark.parametrize("shard,env,part", [
    ("auto", dict(SLURM_ARRAY_TASK_ID=2, SLURM_ARRAY_TASK_MIN=0, SLURM_ARRAY_TASK_MAX=3, SLURM_ARRAY_TASK_STEP=1,
                  SLURM_ARRAY_TASK_COUNT=4), (3, 4)),
    ("auto", dict(SLURM_ARRAY_TASK_ID=15, SLURM_ARRAY_TASK_MIN=10, SLURM_ARRAY_TASK_MAX=24,
                  SLURM_ARRAY_TASK_STEP=5, SLURM_ARRAY_TASK_COUNT=3), (2, 3)),
    ("auto/8", dict(SLURM_ARRAY_TASK_ID=5, SLURM_ARRAY_TASK_MIN=5, SLURM_ARRAY_TASK_MAX=5,
                    SLURM_ARRAY_TASK_STEP=1, SLURM_ARRAY_TASK_COUNT=1), (5, 8)),
    ("auto", dict(SLURM_PROCID=2, SLURM_NTASKS=5, SLURM_STEP_NUM_TASKS=5), (3, 5)),
    ("auto", dict(SLURM_PROCID=0, SLURM_STEP_NUM_TASKS=2, SLURM_ARRAY_TASK_ID=4, SLURM_ARRAY_TASK_MIN=1,
                  SLURM_ARRAY_TASK_MAX=4, SLURM_ARRAY_TASK_STEP=1, SLURM_ARRAY_TASK_COUNT=4), (4, 4)),
])
def test_slurm(folder, shard, env, part):
    assert names(folder, shard, {key: str(value) for key, value in env.items()}) == expected(*part)


@pytest.mark.parametrize("shard,env,message", [
    ("0/4", {}, "not I/N"), ("5/4", {}, "not I/N"), ("1", {}, "not I/N"), ("1/0", {}, "not I/N"),
    ("1/", {}, "not I/N"), ("/4", {}, "not I/N"), ("1/4x", {}, "not I/N"), ("autox/4", {}, "not I/N"),
    ("00000000000000001/4", {}, "not I/N"), ("1/99999999999999999999", {}, "not I/N"),
    ("auto", {}, "no Slurm array"),
    ("auto/2", dict(PARALLEL_SEQ=1), "use --shard I/N, such as {#}/N with GNU parallel"),
    ("auto/2", dict(JOB_COMPLETION_INDEX=1, JOB_COMPLETIONS=2), "or $((JOB_COMPLETION_INDEX + 1))/N in a Kubernetes Job"),
    # A batch script runs once, although it has this.
    ("auto", dict(SLURM_PROCID=0, SLURM_NTASKS=4, SLURM_NPROCS=4), "no Slurm array"),
    ("auto", dict(SLURM_PROCID="x", SLURM_STEP_NUM_TASKS=4), "SLURM_PROCID or SLURM_STEP_NUM_TASKS is not a number"),
    ("auto/2", dict(SLURM_PROCID=2, SLURM_STEP_NUM_TASKS=4), "task 3 is outside 1 to 2"),
    ("auto/4", dict(SLURM_ARRAY_TASK_ID=0), "task 0 is outside 1 to 4"),
    ("auto", dict(SLURM_ARRAY_TASK_ID=5, SLURM_ARRAY_TASK_MIN=1, SLURM_ARRAY_TASK_MAX=7, SLURM_ARRAY_TASK_STEP=1,
                  SLURM_ARRAY_TASK_COUNT=3), "not evenly numbered"),
])
def test_errors(folder, shard, env, message):
    result = harness.run("-n", "--shard", shard, "in", "out", cwd=folder, status=2,
                         env={key: str(value) for key, value in env.items()})
    assert result.err.startswith(f"climg: --shard {shard}: ") and message in result.err and result.out == b""


def test_a_part_may_be_empty(folder):
    """With more tasks than files some have nothing to do, which is no failure."""
    empty = next(index for index in range(1, 1000) if not expected(index, 1000))
    result = harness.run("-r", "--shard", f"{empty}/1000", "in", folder / "none", cwd=folder)
    assert result.err == "" and not list((folder / "none").rglob("*"))
    # Its times are an object, and its trace is a list, all the same.
    harness.run("-r", "--shard", f"{empty}/1000", "--timing=json:times", "--trace", "trace", "in", "none", cwd=folder)
    assert json.loads((folder / "times").read_text())["device"] is None and isinstance(json.loads((folder / "trace").read_text()), list)
