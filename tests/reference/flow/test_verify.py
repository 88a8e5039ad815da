"""--verify: finds each sample that a layer over OpenCL makes wrong, and finds nothing where nothing is wrong."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

import harness
from harness import Shape

# Blurs on a coarser grid, which no example shows.
WIDE = [pytest.param(chain, id=harness.chain_id(chain)) for chain in (["--blur", "9"], ["--sharpen", "1,sigma=9"], ["--gradient=9"])]
every_chain = pytest.mark.parametrize("chain", harness.stage_chains() + WIDE)
TRIES = 2  # of either kind for each chain: more than 200 in all


@pytest.fixture
def folder(tmp_path):
    os.symlink(harness.SAMPLES, tmp_path / "samples")
    return tmp_path


def write_input(folder, rng, dtype, channels):
    """It is the reference, too, so that --align needs all of it."""
    width, height = map(int, rng.integers(64, 90, 2))
    harness.write_tiff(folder / "in.tif", harness.random_samples(rng, Shape(width, height, channels, dtype)))
    shutil.copy(folder / "in.tif", folder / "reference.tif")


def climg(folder, env, *args, status=0):
    args = [word.replace("samples/scene.tif", "reference.tif") for word in args]
    done = subprocess.run([*harness.climg_with(env), "-y", "in.tif", *args], cwd=folder, env={**os.environ, **env}, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == status, f"{args} {env}\n{done.stderr}"
    return done.stderr


@pytest.mark.some(3)
@every_chain
def test_nothing_is_found_where_nothing_is_wrong(folder, rng, chain):
    """Whatever is rounded in another way: thresholds, roots of nearly nothing, phases, quotients by small alphas."""
    for dtype in ("float32", "uint8"):
        write_input(folder, rng, dtype, int(rng.integers(1, 5)))
        for memory in ("buffer", "image"):
            climg(folder, {"CLIMG_SLICE": str(rng.choice([20, 1000]))}, *chain, f"--verify={rng.choice([30, 100])}", "-m", memory, "out.tif")


@pytest.mark.parametrize("chain", (["--levels", "auto"], ["--negative"], ["--denoise"]), ids=lambda chain: chain[0])
def test_whole_picture_is_analysed_again(folder, rng, chain):
    """The output needs a part of the rows, and the analysis all of them."""
    write_input(folder, rng, "uint8", 3)
    for cut in (["--crop", "40x20+9+30"], ["--warp", "1 0 0 0 1 20"]):
        climg(folder, {}, *chain, *cut, "--verify=100", "out.tif")
        climg(folder, {}, *cut, *chain, "--verify=100", "out.tif")


def count_launches(folder, env, chain, output):
    """Launches that give samples, when nothing is verified and the image is one slice."""
    climg(folder, {**env, "WRONG": "count"}, *chain, output)
    launches = len((folder / "note").read_text())
    (folder / "note").unlink()
    return launches


def check_found(folder, env, chain, output):
    """No output, one line with the place and both values."""
    (folder / output).unlink(missing_ok=True)
    said = climg(folder, env, *chain, "--verify=100", output, status=1)
    assert (folder / "note").read_text() == ".", "the layer made nothing wrong"
    (folder / "note").unlink()
    assert not (folder / output).exists()
    assert re.fullmatch(r"climg: in\.tif: --verify: .*row \d+, column \d+, channel \d is .*\n", said), said


def is_measured(chain):
    """The pass that measures is not verified."""
    return bool({"--deskew", "--trim"} & set(chain)) or (chain[:1] == ["--rotate"] and chain[1].startswith("auto"))


@pytest.mark.some(3)
@pytest.mark.parametrize("chain", [chain for chain in harness.stage_chains() if not is_measured(chain.values[0])])
def test_wrong_sample_is_found(folder, rng, chain, wrong_sample):
    env = {**wrong_sample, "CLIMG_SLICE": "100000", "WRONG_NOTE": str(folder / "note")}
    write_input(folder, rng, "float32", int(rng.choice([1, 3])))
    launches = count_launches(folder, env, chain, "out.tif")
    has_planes = chain[0] not in ("--border", "--crop", "--extend", "--flip", "--median") and not (chain[0] == "--rotate" and chain[1].startswith("90"))
    for _ in range(TRIES if has_planes else 0):
        seed = {"WRONG_SEED": str(rng.integers(2**31)), "WRONG_AT": str(rng.integers(launches))}
        check_found(folder, {**env, **seed, "WRONG": "planes"}, chain, "out.tif")
    write_input(folder, rng, str(rng.choice(["uint8", "uint16"])), int(rng.choice([1, 3])))
    chain = chain[:chain.index("--depth")] if "float" in chain else chain
    launches = count_launches(folder, env, chain, "out.png")
    samples = harness.read_samples(folder / "out.png")
    for _ in range(TRIES):
        seed = {"WRONG_SEED": str(rng.integers(2**31)), "WRONG_AT": str(launches - 1), "WRONG_ROWS": str(samples.shape[0]),
                "WRONG_CHANNELS": str(samples.shape[2]), "WRONG_BYTES": str(samples.itemsize)}
        check_found(folder, {**env, **seed, "WRONG": "raster"}, chain, "out.png")


def test_every_slice_is_verified(folder, rng, wrong_sample):
    """Also the last one, which has fewer rows."""
    write_input(folder, rng, "uint8", 1)
    rows = harness.read_tiff(folder / "in.tif").shape[0] % 20 or 20
    env = {**wrong_sample, "CLIMG_SLICE": "20", "WRONG_NOTE": str(folder / "note"), "WRONG_SEED": str(rng.integers(2**31)),
           "WRONG_ROWS": str(rows), "WRONG_CHANNELS": "1", "WRONG_BYTES": "1"}
    launches = count_launches(folder, env, ["--blur", "2"], "out.png")
    assert launches > 3
    for at in range(2 * launches):  # launches of the second computation, too
        check_found(folder, {**env, "WRONG": "raster", "WRONG_AT": str(at)}, ["--blur", "2"], "out.png")


def test_first_rows_are_verified_as_often(folder, rng, wrong_sample):
    """Of a share of 50%, each row is met in every second run: in none of 20 with a chance of one to a million."""
    harness.write_tiff(folder / "in.tif", harness.random_samples(rng, Shape(9, 2000, 1, "uint8")))
    env = {**os.environ, **wrong_sample, "CLIMG_SLICE": "100000", "WRONG_NOTE": str(folder / "note"), "WRONG_SEED": "1", "WRONG": "raster",
           "WRONG_AT": "0", "WRONG_ROWS": "1", "WRONG_CHANNELS": "1", "WRONG_BYTES": "1"}
    command = [harness.CLIMG, "-y", "in.tif", "--blur", "2", "--verify=50", "out.png"]
    assert any(subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=300).returncode == 1 for _ in range(20))


def test_place_and_values_are_true(folder, rng, wrong_sample):
    env = {**wrong_sample, "CLIMG_SLICE": "100000", "WRONG_NOTE": str(folder / "note"), "WRONG": "planes",
           "WRONG_SEED": str(rng.integers(2**31)), "WRONG_AT": "0"}
    write_input(folder, rng, "float32", 3)
    said = climg(folder, env, "--blur", "2", "--verify=100", "out.tif", status=1)
    climg(folder, env, "--blur", "2", "wrong.tif")
    climg(folder, {}, "--blur", "2", "right.tif")
    wrong, right = (harness.read_tiff(folder / name) for name in ("wrong.tif", "right.tif"))
    place = np.argwhere(wrong != right)
    assert len(place) == 1
    numbers = re.search(r"row (\d+), column (\d+), channel (\d) is (\S+) .*, and (\S+) when", said).groups()
    assert [int(n) for n in numbers[:3]] == place[0].tolist(), said
    assert abs(float(numbers[3]) - wrong[tuple(place[0])]) < 1e-6 and abs(float(numbers[4]) - right[tuple(place[0])]) < 1e-5


def test_batch_goes_on(folder, rng, wrong_sample):
    """The first of two files fails; the other is whole."""
    env = {**wrong_sample, "CLIMG_SLICE": "100000", "WRONG_NOTE": str(folder / "note"), "WRONG": "planes",
           "WRONG_SEED": "1", "WRONG_AT": "0"}
    write_input(folder, rng, "float32", 3)
    harness.write_tiff(folder / "two.tif", harness.read_tiff(folder / "in.tif"))
    climg(folder, env, "-j1", "two.tif", "--gradient", "--verify=100", "out/", status=3)
    climg(folder, {}, "two.tif", "--gradient", "right/")
    assert [path.name for path in (folder / "out").iterdir()] == ["two.tif"]
    assert np.array_equal(harness.read_tiff(folder / "out/two.tif"), harness.read_tiff(folder / "right/two.tif"))


def test_other_device_and_timing(folder, rng):
    write_input(folder, rng, "uint16", 3)
    devices = json.loads(harness.run("--list-devices=json").out)
    said = climg(folder, {}, "--blur", "2", f"--verify={devices[0]['name'][:12]}", "--timing=json", "out.tif")
    assert json.loads(said)["parts"]["verify"] > 0
    assert "verify" not in json.loads(climg(folder, {}, "--blur", "2", "--timing=json", "out.tif"))["parts"]
    assert "no OpenCL device fits" in climg(folder, {}, "--blur", "2", "--verify=nonesuch", "out.tif", status=1)
    (folder / "two.tif").write_bytes((folder / "in.tif").read_bytes())
    said = climg(folder, {}, "two.tif", "-j2", "--blur", "2", "--verify=nonesuch", "out/", status=1)
    assert said.count("no OpenCL device fits") == 1


def test_the_same_device_uses_its_other_kernels(folder, rng, wrong_sample):
    env = {**wrong_sample, "WRONG_NOTE": str(folder / "note"), "WRONG": "planes", "WRONG_SEED": "1", "WRONG_AT": "0"}
    write_input(folder, rng, "float32", 3)
    device = json.loads(harness.run("--list-devices=json").out)[0]["name"]
    said = climg(folder, env, "-d", "0", "--blur", "2", "--edge", "wrap", f"--verify={device}", "out.tif", status=1)
    assert {"kernels for CPUs", "kernels for GPUs"} == set(re.findall(r"kernels for .PUs", said)), said


def test_trace(folder, rng):
    """It is a part of encoding, in the writer's row."""
    write_input(folder, rng, "uint8", 1)
    climg(folder, {"CLIMG_SLICE": "20"}, "--blur", "2", "--verify=100", "--trace", "t.json", "out.tif")
    events = json.loads((folder / "t.json").read_text())
    rows = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    times = {name: [(e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["name"].split(",")[0] == name and
                    rows[e["tid"]] == "writer"] for name in ("verify", "encode")}
    assert times["verify"]
    assert all(any(encode[0] <= verify[0] and verify[1] <= encode[1] + 1 for encode in times["encode"]) for verify in times["verify"])


def test_nan_and_infinity(folder, rng):
    """Both variants spread them to the same pixels: to those whose weights reach them, and to no others."""
    chains = (["--blur", "2"], ["--scale", "1/2"], ["--sharpen", "1"], ["--convolve", "@samples/emboss.txt"],
              ["--wavelet=1", "--inverse-wavelet"], ["--wavelet=3", "--inverse-wavelet"])
    for y, x, value in ((20, 30, np.nan), (40, 10, np.inf), (58, 69, -np.inf)):
        picture = rng.random((60, 70, 1), np.float32)
        picture[y, x] = value
        harness.write_tiff(folder / "in.tif", picture)
        for chain in chains:
            climg(folder, {}, *chain, "--verify=100", "out.tif")


def test_planted_nan_is_found(folder, rng, wrong_sample):
    """A NaN in the input does not explain another one, even next to it."""
    picture = rng.random((400, 60, 1), np.float32)
    picture[200, 10] = np.nan
    harness.write_tiff(folder / "in.tif", picture)
    climg(folder, {}, "--blur", "2", "out.tif")
    right = np.isnan(harness.read_tiff(folder / "out.tif"))
    wrong = []  # The layer's NaN may fall on padding or on another NaN: then it is put elsewhere.
    while len(wrong) == 0:
        env = {**wrong_sample, "CLIMG_SLICE": "100000", "WRONG": "planes", "WRONG_AT": "0", "WRONG_BY": "nan",
               "WRONG_SEED": str(rng.integers(2**31)), "WRONG_NOTE": str(folder / "note")}
        climg(folder, env, "--blur", "2", "out.tif")
        wrong = np.argwhere(np.isnan(harness.read_tiff(folder / "out.tif")) != right)
    row, column = wrong[0][:2]
    said = climg(folder, env, "--blur", "2", "--verify=100", "out.tif", status=1)
    assert f": row {row}, column {column}, channel 0 is " in said, said


def test_progress_is_the_pages_own(tmp_path, rng, monkeypatch):
    """Rows that are computed again are not told: every row that is drawn ends a slice, and none comes after a later one."""
    monkeypatch.setenv("CLIMG_SLICE", "50")
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (600, 800, 3), dtype=np.uint8))
    told = harness.run("--verify=20", "--progress", "always", "in.tif", "--median=12", "out.tif", cwd=tmp_path).err
    drawn = [int(rows) for rows in re.findall(r"([0-9]+) of 600 rows", told)]
    assert drawn and drawn == sorted(drawn) and all(rows % 50 == 0 for rows in drawn), drawn


def test_pictures_of_a_stack_are_verified(tmp_path, rng):
    """The second computation knows that a picture will be merged, and which one it is: missing pixels, and results of --align."""
    scene = harness.read_samples(harness.SAMPLES / "scene.png")
    for i in range(3):
        harness.write_tiff(tmp_path / f"{i}.tif", scene[20 + 2 * i:180 + 2 * i, 30 + 3 * i:230 + 3 * i])
    inputs = [f"{i}.tif" for i in range(3)]
    for chain in (["--align", "first,matrix=m.csv"], ["--align", "previous,matrix=m.csv"], ["--rotate", "3"]):
        results = []
        for verify in ([], ["--verify=100"]):
            done = harness.run(*inputs, *chain, "--stack", "mean", *verify, "-y", "out.tif", cwd=tmp_path)
            assert done.err == "", (chain, done.err)
            matrices = (tmp_path / "m.csv").read_text() if "m.csv" in chain[-1] else ""
            results.append((harness.read_tiff(tmp_path / "out.tif").tobytes(), matrices))
        assert results[0] == results[1], chain


@pytest.mark.parametrize("share", ["0", "200"])
def test_a_wrong_share_gets_no_guess(tmp_path, share):
    """0x would be the name of a device."""
    done = harness.run(f"--verify={share}", "in.png", "--blur", "2", "out.png", cwd=tmp_path, status=2)
    assert done.err == f"climg: --verify {share}: not a percentage above 0 and up to 100\n"
