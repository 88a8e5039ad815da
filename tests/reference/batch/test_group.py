"""Small images of one shape go through the chain together, and each gets the bits that it would get alone."""

import collections
import json
import os
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
import tifffile
from PIL import Image
from scipy import ndimage

import harness
import pngfile
import reference

ALONE = {"CLIMG_GROUP": "1"}
WAYS = {"plain": {}, "gpu": {"CLIMG_CLASS": "gpu"}, "cpu": {"CLIMG_CLASS": "cpu"},
        "copies": {"CLIMG_OWN_MEMORY": "1", "CLIMG_POISON": "1"}}


@pytest.fixture
def ways(rng):
    """Two of: as the device is, as others would be, and with memory that holds nothing by chance."""
    return [WAYS[name] for name in rng.choice(list(WAYS), 2, replace=False)]


def write_pictures(folder, rng, names, shape):
    """{name: samples}: as many pictures of one shape as there are names, PNG or TIFF."""
    pictures = {}
    for name in names:
        pictures[name] = harness.random_samples(rng, shape)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (pngfile.write_png if name.endswith(".png") else harness.write_tiff)(folder / name, pictures[name])
    return pictures


def numbered(count, suffix=".tif", prefix=""):
    return [f"{prefix}{i:03}{suffix}" for i in range(count)]


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and path.name != ".climg-done"}


def groups(path):
    """{input: how many images went through the chain with it}, of the files that were done."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["input"]: line["group"] for line in lines if line["status"] == "done"}


def launches(error):
    timing = json.loads(next(line for line in error.splitlines() if line.startswith("{")))
    return collections.Counter({row["kernel"]: row["launches"] for row in timing["stages"]})


def count_runs(numbers):
    """Returns the number of runs of the chain; a group shares one."""
    return round(sum(1 / n for n in numbers))


@pytest.mark.some(2)
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_kernels_run_once_for_all(tmp_path, rng, jobs, suffix):
    chain = ["--invert", "--blur", "2", "--invert"]  # between stages that need planes
    pictures = write_pictures(tmp_path / "in", rng, numbered(60, suffix), harness.Shape(37, 23, 3, "uint8"))
    done = harness.run("-j", jobs, "--timing=json", "--report", "r", "in", *chain, "out", cwd=tmp_path)
    alone = harness.run("-j", jobs, "--timing=json", "in", *chain, "alone", cwd=tmp_path, env=ALONE)
    together, number = launches(done.err), groups(tmp_path / "r")
    assert set(launches(alone.err).values()) == {60}
    assert set(together.values()) == {count_runs(number.values())} and together["unpack"] <= 8 * jobs
    assert max(number.values()) > 60 / jobs / 4
    assert files_of(tmp_path / "out") == files_of(tmp_path / "alone")
    for name, samples in pictures.items():
        exact = reference.through(samples, lambda planes: reference.blur(planes, 2))
        harness.assert_counts(harness.read_samples(tmp_path / "out" / name), exact, name, fraction=0.01)


# In addition to those of test_matrix.py.
CHAINS = [
    [],
    ["--depth", "16", "--invert"],
    ["--blur", "3", "--edge", "wrap", "--linear"],
    ["--convolve", "@kernel.txt,bias=0.5", "--edge", "zero"],
    ["--sharpen", "0.8,threshold=0.01", "--gradient"],
    ["--scale", "2", "--scale", "1/2,antialias=no"],
    ["--scale", "1/4", "--invert", "--depth", "float", "--format", "tiff"],
    ["--wavelet=3", "--shrink=5", "--gain", "1:1.3,low:0.9", "--inverse-wavelet"],
    ["--wavelet=2,biort=legall", "--shrink", "--inverse-wavelet", "--sharpen", "1"],
    ["--denoise=6,levels=4", "--scale", "2"],
]


@pytest.mark.some(3)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("chain", CHAINS, ids=harness.chain_id)
def test_same_bits_as_alone(tmp_path, rng, chain, channels, ways):
    """In a run without groups, and by itself."""
    (tmp_path / "kernel.txt").write_text("0 1 2\n-3 4 5\n1 0 -2\n")
    dtype = rng.choice(["uint8", "uint16", "float32"])
    names = numbered(9, ".tif" if dtype == "float32" else ".png")
    width, height = map(int, rng.integers(33, 70, 2))
    write_pictures(tmp_path / "in", rng, names, harness.Shape(width, height, channels, str(dtype)))
    for env in ways:
        for folder, settings in (("together", {}), ("alone", ALONE)):
            shutil.rmtree(tmp_path / folder, ignore_errors=True)
            harness.run("-j", 1, "--report", folder + ".jsonl", "in", *chain, folder, cwd=tmp_path, env={**env, **settings})
        assert set(groups(tmp_path / "alone.jsonl").values()) == {1}
        assert sorted(groups(tmp_path / "together.jsonl").values()) == [1, 4, 4, 4, 4, 4, 4, 4, 4]
        assert files_of(tmp_path / "together") == files_of(tmp_path / "alone")
        written = sorted(os.listdir(tmp_path / "together"))
        one = int(rng.integers(9))
        harness.run(f"in/{names[one]}", *chain, written[one], cwd=tmp_path, env=env)
        assert (tmp_path / written[one]).read_bytes() == (tmp_path / "together" / written[one]).read_bytes()


def test_against_scipy(tmp_path, rng):
    """Each image is its own picture's, not a neighbour's."""
    pictures = write_pictures(tmp_path / "in", rng, numbered(30), harness.Shape(65, 48, 1, "float32"))
    harness.run("-j", 1, "--report", "r", "in", "--blur", "2.5", "--scale", "1/2,filter=nearest", "out", cwd=tmp_path)
    assert max(groups(tmp_path / "r").values()) >= 8
    for name, samples in pictures.items():
        exact = ndimage.gaussian_filter(samples[..., 0].astype(float), 2.5, truncate=8, mode="nearest")
        exact = reference.scale(exact[..., None], 0.5, "nearest")
        harness.assert_close(harness.read_tiff(tmp_path / "out" / name).astype(float), exact, context=name)


@pytest.mark.some(1)
@pytest.mark.parametrize("chain", [["--denoise=levels=2"], ["--denoise=9,levels=2"], ["--denoise=9,quality=high"]], ids=harness.chain_id)
def test_many_planes(tmp_path, rng, chain, ways):
    """Noise is each plane's own, of 32 images of three colours."""
    write_pictures(tmp_path / "in", rng, numbered(62, ".png"), harness.Shape(40, 28, 3, "uint8"))
    for env in ways:
        for folder, settings in (("together", {}), ("alone", ALONE)):
            shutil.rmtree(tmp_path / folder, ignore_errors=True)
            harness.run("-j", 1, "--report", "r", "in", *chain, folder, cwd=tmp_path, env={**env, **settings})
            assert max(groups(tmp_path / "r").values()) == (32 if folder == "together" else 1)
        assert files_of(tmp_path / "together") == files_of(tmp_path / "alone")


def make_mixture(folder, rng):
    """Runs of pictures of one shape among others: sizes, types, alpha, pages, both formats, interlaced."""
    gray, colour = harness.Shape(40, 30, 1, "uint8"), harness.Shape(40, 30, 3, "uint8")
    write_pictures(folder, rng, numbered(7, ".png", "a"), gray)
    write_pictures(folder, rng, numbered(5, ".tif", "a"), gray)
    write_pictures(folder, rng, numbered(6, ".png", "b"), colour)
    write_pictures(folder, rng, numbered(5, ".png", "c"), harness.Shape(40, 30, 4, "uint8"))
    write_pictures(folder, rng, numbered(5, ".tif", "d"), harness.Shape(40, 30, 2, "uint16"))
    write_pictures(folder, rng, numbered(5, ".tif", "e"), harness.Shape(40, 30, 1, "uint16"))
    write_pictures(folder, rng, numbered(6, ".png", "f"), harness.Shape(30, 40, 1, "uint8"))
    write_pictures(folder, rng, numbered(3, ".tif", "g"), harness.Shape(900, 700, 1, "uint8"))
    for i in range(6):
        samples = rng.integers(0, 256, (3 if i == 2 else 1, 30, 40), dtype=np.uint8)
        tifffile.imwrite(folder / f"h{i}.tif", samples, metadata=None, photometric="minisblack", planarconfig=None)
        sides = rng.integers(1, 60, 2)
        write_pictures(folder, rng, [f"i{i}.png"], harness.Shape(*map(int, sides), 1, "uint8"))
    write_pictures(folder, rng, numbered(5, ".png", "l"), harness.Shape(40, 31, 1, "uint8"))
    for i, gamma in enumerate((0.5, 0.5, 0.5, 0.45, 0.45, 0.45)):
        pngfile.write_png(folder / f"j{i}.png", rng.integers(0, 256, (30, 40, 1), dtype=np.uint8),
                          chunks=[("gAMA", int(1e5 * gamma).to_bytes(4, "big"))])
    for i in range(5):
        pngfile.write_png(folder / f"k{i}.png", rng.integers(0, 256, (30, 40, 1), dtype=np.uint8), interlace=True)


@pytest.mark.some(3)
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("chain", [["--blur", "2", "--linear"], ["--denoise=levels=2"], []], ids=harness.chain_id)
def test_mixture(tmp_path, rng, jobs, chain):
    """Pictures that cannot be grouped are right, too."""
    make_mixture(tmp_path / "in", rng)
    for path in (tmp_path / "in").glob("i*.png"):  # too small for two levels
        if chain[:1] == ["--denoise=levels=2"] and min(pngfile.read_png(path).samples.shape[:2]) < 8:
            path.unlink()
    harness.run("-j", jobs, "--report", "r", "in", *chain, "out", cwd=tmp_path)
    harness.run("-j", jobs, "in", *chain, "alone", cwd=tmp_path, env=ALONE)
    number = {name[3:]: count for name, count in groups(tmp_path / "r").items()}
    assert all(number[name] == 1 for name in number if name[0] in "cdg" or name == "h2.tif")
    assert jobs > 1 or {name[0] for name in number if number[name] > 1} >= set("abefjkl")
    assert files_of(tmp_path / "out") == files_of(tmp_path / "alone")


def test_what_a_file_says_stays_its_own(tmp_path, rng):
    (tmp_path / "in").mkdir()
    for i in range(8):
        samples = rng.integers(0, 256, (20, 20), dtype=np.uint8)
        pngfile.write_png(tmp_path / "in" / f"{i}.png", samples[..., None],
                          chunks=[pngfile.text_chunk("Title", f"picture {i}")])
        tifffile.imwrite(tmp_path / "in" / f"page{i}.tif", samples, description=f"picture {i}", metadata=None,
                         extratags=[(285, "s", 0, f"page {i}", True)])
    harness.run("-j", 1, "--report", "r", "in", "--blur", "1", "out", cwd=tmp_path)
    assert max(groups(tmp_path / "r").values()) > 1
    for i in range(8):
        assert pngfile.read_png(tmp_path / "out" / f"{i}.png").texts()["Title"] == f"picture {i}"
        tags = Image.open(tmp_path / "out" / f"page{i}.tif").tag_v2
        assert (tags[270], tags[285]) == (f"picture {i}", f"page {i}")


def test_a_turn_without_encoding_among_them(tmp_path, rng):
    """A JPEG whose shape is its neighbours' is turned as it is alone: no sample changes."""
    write_pictures(tmp_path / "in", rng, numbered(5, ".png"), harness.Shape(64, 48, 3, "uint8"))
    Image.fromarray(rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)).save(tmp_path / "in" / "002x.jpg")
    harness.run("-j", 1, "in", "--rotate", "90", "out", cwd=tmp_path)
    harness.run("in/002x.jpg", "--rotate", "90", "alone.jpg", cwd=tmp_path)
    assert (tmp_path / "out" / "002x.jpg").read_bytes() == (tmp_path / "alone.jpg").read_bytes()


def test_warnings_of_what_follows_the_pixels(tmp_path, rng):
    write_pictures(tmp_path / "in", rng, numbered(6, ".png"), harness.Shape(33, 21, 3, "uint8"))
    with open(tmp_path / "in" / "003.png", "ab") as file:
        file.write((tmp_path / "in" / "004.png").read_bytes())
    done = harness.run("-j", 1, "--report", "r", "in", "--invert", "out", cwd=tmp_path)
    assert groups(tmp_path / "r")["in/003.png"] > 1
    assert done.err == "climg: in/003.png: warning: is followed by another picture, which is left out\n"


@pytest.mark.parametrize("jobs", [1, 2])
def test_broken_files_among_them(tmp_path, rng, jobs):
    """Cut off, a wrong byte in the pixels, no image at all, empty, and an output that cannot be written: each has
    the message that it would have alone, and takes no other with it."""
    names = numbered(40, ".png")
    write_pictures(tmp_path / "in", rng, names, harness.Shape(50, 40, 1, "uint8"))
    path = {i: tmp_path / "in" / names[i] for i in range(40)}
    path[6].write_bytes(path[6].read_bytes()[:-60])
    data = bytearray(path[11].read_bytes())
    data[data.index(b"IDAT") + 8] ^= 0xff
    path[11].write_bytes(data)
    path[12].write_text("not an image")
    path[20].write_bytes(b"")
    for out in ("out", "alone"):
        (tmp_path / out / names[25]).mkdir(parents=True)
    broken = [names[i] for i in (6, 11, 12, 20, 25)]
    args = ["--blur", "1"]
    done = harness.run("-j", jobs, "--report", "r", "in", *args, "out", cwd=tmp_path, status=3)
    messages = sorted(done.err.splitlines())
    assert messages.pop(0) == "climg: 5 of 40 files failed"
    assert [message.split(": ")[1].split("/")[1] for message in messages] == broken
    assert messages.pop() == f"climg: out/{broken.pop()}: is a directory; name the file to write"
    for name, message in zip(broken, messages):
        alone = harness.run("-j", 1, f"in/{name}", *args, f"out/{name}", cwd=tmp_path, status=1).err
        assert message + "\n" == alone
    harness.run("in", *args, "alone", cwd=tmp_path, status=3, env=ALONE)
    assert files_of(tmp_path / "out") == files_of(tmp_path / "alone") and len(files_of(tmp_path / "out")) == 35
    number = groups(tmp_path / "r")
    assert count_runs(number.values()) <= 8 * jobs


def test_messages_come_in_the_order_of_the_files(tmp_path, rng):
    names = numbered(30)
    write_pictures(tmp_path / "in", rng, names, harness.Shape(20, 20, 1, "uint8"))
    for i in (3, 7, 8, 21):  # the pixels of some, the header of others
        path = tmp_path / "in" / names[i]
        path.write_bytes(path.read_bytes()[:300 if i % 2 else 6])
    done = harness.run("-j", 1, "in", "--invert", "out", cwd=tmp_path, status=3)
    alone = harness.run("-j", 1, "in", "--invert", "alone", cwd=tmp_path, status=3, env=ALONE)
    assert done.err.replace("out/", "") == alone.err.replace("alone/", "") and done.err.count("\n") == 5


def test_times_are_shared_out(tmp_path, rng):
    """The times of the files add up to the total."""
    write_pictures(tmp_path / "in", rng, numbered(30, ".png"), harness.Shape(64, 64, 1, "uint8"))
    done = harness.run("-j", 1, "--timing=json", "--report", "r", "in", "--blur", "3", "out", cwd=tmp_path)
    lines = [json.loads(line)["seconds"] for line in (tmp_path / "r").read_text().splitlines()]
    timing = json.loads(done.err)
    for part in ("decode", "stages", "encode"):
        assert min(line[part] for line in lines) > 0
        assert sum(line[part] for line in lines) == pytest.approx(timing["parts"][part], rel=0.02, abs=1e-4)
    assert sum(line["total"] for line in lines) < timing["total"]


def test_image_memory_is_not_gpu(tmp_path, rng):
    write_pictures(tmp_path / "in", rng, numbered(12), harness.Shape(30, 20, 3, "uint8"))
    done = harness.run("-m", "image", "--timing=json", "in", "--blur", "1", "out", cwd=tmp_path)
    assert set(launches(done.err).values()) == {12}


def test_at_most(tmp_path, rng):
    write_pictures(tmp_path / "in", rng, numbered(40), harness.Shape(30, 20, 1, "uint8"))
    for most in (1, 2, 3, 1000):
        harness.run("-j", 1, "--report", "r", "in", "--blur", "1", "out", cwd=tmp_path, env={"CLIMG_GROUP": str(most)})
        assert max(groups(tmp_path / "r").values()) == min(most, 16)  # of 40: 1, 4, 8, 16 and the rest


def test_the_last_files_are_shared_out(tmp_path, rng):
    """No worker takes more than its part of what is left."""
    write_pictures(tmp_path / "in", rng, numbered(12), harness.Shape(30, 20, 1, "uint8"))
    harness.run("-j", 4, "--report", "r", "in", "--blur", "1", "out", cwd=tmp_path)
    assert max(groups(tmp_path / "r").values()) <= 3


def test_large_images_are_not_gpu(tmp_path, rng):
    write_pictures(tmp_path / "in", rng, numbered(5), harness.Shape(600, 500, 1, "uint8"))
    harness.run("--report", "r", "in", "--blur", "1", "out", cwd=tmp_path)
    assert set(groups(tmp_path / "r").values()) == {1}


def test_memory_limit(tmp_path, rng):
    """Fewer at once, or each by itself; and what is too large alone says so."""
    write_pictures(tmp_path / "in", rng, numbered(20), harness.Shape(200, 200, 1, "uint8"))
    chain = ["--denoise=5,levels=3"]
    harness.run("-j", 1, "in", *chain, "alone", cwd=tmp_path, env=ALONE)
    largest = {}
    for limit in ("64M", "8M", "4M"):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        harness.run("-j", 1, "--memory-limit", limit, "--report", "r", "in", *chain, "out", cwd=tmp_path)
        largest[limit] = max(groups(tmp_path / "r").values())
        assert files_of(tmp_path / "out") == files_of(tmp_path / "alone")
    if not harness.device_copies():
        assert largest["64M"] > largest["4M"] == 1
        done = harness.run("-j", 1, "--memory-limit", "200K", "in", *chain, "out", cwd=tmp_path, status=1)
        assert done.err.count("--memory-limit is 200 KiB") == 20


def test_memory_limit_counts_every_raster(tmp_path, rng):
    """Float samples: 4 bytes per pixel at the input, at the output, and in between."""
    if harness.device_copies():
        pytest.skip("planes are in the device's memory, which the limit is not about")
    write_pictures(tmp_path / "in", rng, numbered(12), harness.Shape(200, 200, 1, "float32"))
    harness.run("-j", 1, "--memory-limit", "1200K", "--report", "r", "in", "out", cwd=tmp_path)
    assert max(groups(tmp_path / "r").values()) == 2


def test_a_pipe_is_not_waited_for(tmp_path, rng):
    """Jobs that were taken before it are done first."""
    write_pictures(tmp_path / "in", rng, ["a", "b", "c"], harness.Shape(20, 20, 1, "uint8"))
    os.mkfifo(tmp_path / "d")
    child = subprocess.Popen([harness.CLIMG, "-j", "1", "in/a", "in/b", "in/c", "d", "--invert", "out"], cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "out" / "c").exists():
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.01)
    (tmp_path / "d").write_bytes((tmp_path / "in" / "a").read_bytes())
    assert child.wait(60) == 0
    assert (tmp_path / "out" / "d").read_bytes() == (tmp_path / "out" / "a").read_bytes()


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_resume_after_a_kill(tmp_path, rng, stop):
    names = numbered(300, ".png")
    write_pictures(tmp_path / "in", rng, names, harness.Shape(64, 48, 1, "uint8"))
    harness.run("in", "--blur", "1", "alone", cwd=tmp_path, env=ALONE)
    os.mkfifo(tmp_path / "last.png")  # nobody writes to it: a batch that is fast does not end before it is killed
    command = [*harness.KILLABLE, "-j", "2", "--resume", "--report", "r", "in", "last.png", "--blur", "1", "out"]
    for reached in (1, 30, 90, 200):
        child = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
        while child.poll() is None and len(list((tmp_path / "out").glob("*.png"))) < reached:
            time.sleep(0.001)
        child.send_signal(stop)
        assert child.wait(60) == -stop
        for path in (tmp_path / "out").glob("*.png"):  # nothing is there that is not whole
            assert path.read_bytes() == (tmp_path / "alone" / path.name).read_bytes()
    harness.run("-j", 2, "--resume", "--report", "r", "in", "--blur", "1", "out", cwd=tmp_path)
    assert files_of(tmp_path / "out") == files_of(tmp_path / "alone")
    assert len(files_of(tmp_path / "out")) == 300  # no temporaries
    assert set(groups(tmp_path / "r")) <= {f"in/{name}" for name in names}


@pytest.mark.parametrize("after, singles", [(4, 1 + 4 + 1), (9, 1 + 8 + 1), (15, 1 + 16 + 1)])  # of 1, 4, 8, 16, 1
def test_a_group_that_fails_is_done_one_by_one(tmp_path, rng, failing_calls, after, singles):
    """The device's memory is enough for each image, but not for all."""
    write_pictures(tmp_path / "in", rng, numbered(30), harness.Shape(64, 48, 1, "uint8"))
    env = failing_calls("clEnqueueNDRangeKernel", after)
    harness.run("-j", 1, "--report", "r", "in", "--invert", "--invert", "out", cwd=tmp_path, env=env)
    harness.run("in", "--invert", "--invert", "alone", cwd=tmp_path, env=ALONE)
    assert files_of(tmp_path / "out") == files_of(tmp_path / "alone")
    assert list(groups(tmp_path / "r").values()).count(1) == singles


@pytest.mark.parametrize("after, left", [(5, 29), (14, 17)])
def test_the_only_device_fails_for_good(tmp_path, rng, failing_calls, after, left):
    write_pictures(tmp_path / "in", rng, numbered(30), harness.Shape(64, 48, 1, "uint8"))
    env = failing_calls("clEnqueueNDRangeKernel", after, always=True)
    done = harness.run("-j", 1, "in", "--invert", "--invert", "out", cwd=tmp_path, env=env, status=3)
    assert len(os.listdir(tmp_path / "out")) == 30 - left and done.err.count("CL_OUT_OF_RESOURCES") == left
    assert done.err.endswith(f"climg: {left} of 30 files failed\n")


@pytest.mark.parametrize("failing, after", [("basic", 0), ("basic", 7), ("pthread", 11)])
def test_a_device_of_several_fails(tmp_path, rng, failing_calls, failing, after):
    """It hands back all that it had taken."""
    devices = {"POCL_DEVICES": "pthread basic", "CLIMG_DEVICE": ""}
    listed = subprocess.run([harness.CLIMG, "--list-devices"], env={**os.environ, **devices}, capture_output=True,
                            check=True).stdout.decode()
    if listed.count(": basic") + listed.count(": pthread") < 2:
        pytest.skip("this PoCL does not offer itself as two devices")
    write_pictures(tmp_path / "in", rng, numbered(80), harness.Shape(64, 48, 1, "uint8"))
    harness.run("in", "--invert", "--invert", "alone", cwd=tmp_path, env={**ALONE, **devices, "CLIMG_DEVICE": "pthread"})
    env = {**devices, **failing_calls("clEnqueueNDRangeKernel", after, always=True, device=failing)}
    for _ in range(10):  # the other device may be so quick that this one never gets as far as its failure
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        done = harness.run("-d", "all", "--report", "r", "in", "--invert", "--invert", "out", cwd=tmp_path, env=env)
        assert files_of(tmp_path / "out") == files_of(tmp_path / "alone")
        assert len(groups(tmp_path / "r")) == len((tmp_path / "r").read_text().splitlines()) == 80
        if done.err:
            break
    assert done.err.count("the device fails and is left out; the others go on") == 1
