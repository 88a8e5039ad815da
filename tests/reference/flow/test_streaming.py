"""Reader, device and writer at work at the same time: the same files, messages and exit status as one after the other."""
import json
import os
import subprocess


import numpy as np
import PIL.Image
import pytest
import tifffile

import harness
from harness import Shape

SLICED = {"CLIMG_SLICE": "5"}
WAYS = [SLICED, {**SLICED, "CLIMG_OWN_MEMORY": "1"}]
ROWS = {"start-up", "reader", "upload", "device", "download", "writer"}


@pytest.fixture(params=WAYS, ids=["shared", "own"])
def way(request):
    return request.param


def copies(way):
    """True if samples are copied to the device and back."""
    return "CLIMG_OWN_MEMORY" in {**os.environ, **way} or harness.device_copies()


def blur_kernel(kernels):
    """GPUs have one of their own for short filters."""
    return "filter_both" if "filter_both" in kernels else "product"


def picture(path, rng, height=200, **options):
    samples = harness.random_samples(rng, Shape(120, height, 3, "uint8"))
    tifffile.imwrite(path, samples, metadata=None, **options)
    return samples


@pytest.mark.parametrize("memory", harness.MEMORIES)
def test_device_with_its_own_memory(tmp_path, rng, memory):
    """Images, pages and pyramids go through copies as they go through shared memory."""
    samples = [harness.random_samples(rng, Shape(60, height, 4, "uint16")) for height in (90, 40, 170)]
    with tifffile.TiffWriter(tmp_path / "in.tif") as tiff:
        for page in samples:
            tiff.write(page, photometric="rgb", extrasamples=["unassalpha"], metadata=None)
    chains = {"pages": ["in.tif", "--blur", "2", "--scale", "2"], "pyramid": ["--page", "1", "in.tif", "--wavelet=3"],
              "back": ["shared-pyramid.tif", "--inverse-wavelet", "--sharpen", "1"]}
    for name, chain in chains.items():
        for way, env in (("shared", {}), ("own", {"CLIMG_OWN_MEMORY": "1", "CLIMG_SLICE": "16"})):
            harness.run("-m", memory, *chain, f"{way}-{name}.tif", cwd=tmp_path, env={**env, "CLIMG_POISON": "1"})
        one, other = ((tmp_path / f"{way}-{name}.tif").read_bytes() for way in ("shared", "own"))
        assert one == other, name


def test_truncated_input(tmp_path, rng, way):
    """The slices before the damage are on their way when it is found; nothing is left of them."""
    picture(tmp_path / "whole.tif", rng)
    whole = (tmp_path / "whole.tif").read_bytes()
    (tmp_path / "cut.tif").write_bytes(whole[:len(whole) * 2 // 3])
    done = harness.run("cut.tif", "--blur", "2", "out.tif", cwd=tmp_path, status=1, env=way)
    assert done.err == "climg: cut.tif: damaged TIFF: the file ends before its pixels do\n"
    assert sorted(os.listdir(tmp_path)) == ["cut.tif", "whole.tif"]


def test_damage_below_the_last_rows_that_are_needed(tmp_path, rng, way):
    """`--scale 1/8,filter=nearest` needs none of the last rows, yet a file that lacks them is damaged."""
    picture(tmp_path / "whole.tif", rng)
    whole = (tmp_path / "whole.tif").read_bytes()
    (tmp_path / "cut.tif").write_bytes(whole[:-10])
    done = harness.run("cut.tif", "--scale", "1/8,filter=nearest", "out.tif", cwd=tmp_path, status=1, env=way)
    assert done.err == "climg: cut.tif: damaged TIFF: the file ends before its pixels do\n"
    assert sorted(os.listdir(tmp_path)) == ["cut.tif", "whole.tif"]


def test_output_that_cannot_be_written(tmp_path, rng, way):
    """The writer's failure stops the others, and goes before a damage that comes later in the file."""
    samples = np.tile(picture(tmp_path / "small.tif", rng), (20, 20, 1))
    tifffile.imwrite(tmp_path / "whole.tif", samples, metadata=None)
    whole = (tmp_path / "whole.tif").read_bytes()
    (tmp_path / "cut.tif").write_bytes(whole[:-10])
    for name in ("whole.tif", "cut.tif"):
        done = harness.run(name, "--invert", "--format", "png", "/dev/full", cwd=tmp_path, status=1, env=way)
        assert done.err == "climg: /dev/full: cannot write: No space left on device\n"


@pytest.mark.parametrize("sink", ["full disk", "closed pipe"])
def test_writer_that_fails_while_the_reader_waits(tmp_path, rng, sink):
    """If the first stage reads samples itself, the reader gets its memory back only after the failure is known. Memory
    that was still mapped on the device crashed a third of all tries, so there are many tries."""
    samples = harness.random_samples(rng, Shape(600, 4000, 3, "uint8"))
    tifffile.imwrite(tmp_path / "in.tif", samples, metadata=None)
    command = [harness.CLIMG, "in.tif", "--blur", "2", "-f", "png"]
    message = "No space left on device" if sink == "full disk" else "Broken pipe"
    for _ in range(15):
        if sink == "full disk":
            out = open("/dev/full", "wb")
        else:
            reading, writing = os.pipe()
            os.close(reading)
            out = open(writing, "wb")
        with out:
            done = subprocess.run(command, cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, text=True, timeout=60,
                                  env={**os.environ, "CLIMG_SLICE": "16"})
        assert (done.returncode, done.stderr) == (1, f"climg: standard output: cannot write: {message}\n")
    assert os.listdir(tmp_path) == ["in.tif"]


def test_slow_input_through_a_pipe(tmp_path, rng, way):
    PIL.Image.fromarray(harness.random_samples(rng, Shape(300, 257, 3, "uint8"))).save(tmp_path / "in.png")
    command = f"(head -c 9000 in.png; sleep 0.3; tail -c +9001 in.png) | {harness.CLIMG} --blur 2 >out.png"
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, env={**os.environ, **way}, timeout=60)
    harness.run("in.png", "--blur", "2", "whole.png", cwd=tmp_path)
    assert (tmp_path / "out.png").read_bytes() == (tmp_path / "whole.png").read_bytes()


def report(tmp_path, env, *extra):
    done = harness.run("in.tif", "--linear", "--blur", "2", "out.tif", "--timing=json", *extra, cwd=tmp_path, env=env)
    return json.loads(done.err)


def test_timing(tmp_path, rng, way):
    """The parts by name; each is busy at most as long as the whole takes, and the copies are there or not."""
    picture(tmp_path / "in.tif", rng, height=900)
    parts = (timing := report(tmp_path, way))["parts"]
    assert list(parts) == ["start_up", "build", "decode", "upload", "stages", "download", "encode"]
    assert all(0 <= seconds <= timing["total"] for seconds in parts.values())
    assert all(parts[name] > 0 for name in ("start_up", "build", "decode", "stages", "encode"))
    assert (parts["upload"] > 0) == (parts["download"] > 0) == copies(way)
    kernels = {row["kernel"]: row["launches"] for row in timing["stages"]}
    assert kernels == {name: 180 for name in ["unpack", blur_kernel(kernels), "pack"]}
    assert sum(row["device_seconds"] for row in timing["stages"]) == pytest.approx(parts["stages"], rel=1e-3, abs=1e-6)


def read_trace(path):
    """{row: [(begin, end, name)]} in microseconds, in the file's order."""
    events = json.loads(path.read_text())
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert set(names.values()) == ROWS
    rows = {name: [] for name in names.values()}
    for event in events:
        if event["ph"] == "X":
            rows[names[event["tid"]]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
    return rows


def test_trace(tmp_path, rng, way):
    """Every slice's steps are there, on one clock: in a row nothing overlaps, and what depends on what comes later."""
    picture(tmp_path / "in.tif", rng, height=400)
    timing = report(tmp_path, way, "--trace", "trace.json")
    rows = read_trace(tmp_path / "trace.json")
    blur = f"blur: {blur_kernel({row['kernel'] for row in timing['stages']})}"
    steps = [("reader", "decode"), ("device", "(unpack): unpack"), ("device", blur), ("device", "(pack): pack"), ("writer", "encode")]
    if copies(way):
        steps[1:1] = [("upload", "upload")]
        steps[-1:-1] = [("download", "download")]
    else:
        assert not rows["upload"] and not rows["download"]
    for row in rows.values():
        assert all(0 <= begin <= end <= 1e6 * timing["total"] + 1e3 for begin, end, _ in row)
        assert all(one[1] <= other[0] + 1 for one, other in zip(row, row[1:]))  # a microsecond of rounding
    slack = 50  # microseconds: how well the device's clock is known on the host's
    for number in range(80):
        times = [[e for e in rows[row] if e[2] == f"{name}, slice {number}"] for row, name in steps]
        assert all(len(found) == 1 for found in times), number
        for (one,), (other,) in zip(times, times[1:]):
            assert one[1] <= other[0] + slack, (number, one, other)
    assert not [name for row in rows.values() for _, _, name in row if "skip" in name]


def test_trace_of_skipped_rows(tmp_path, rng):
    """Rows above and below what --crop keeps; the latter belong to no slice."""
    picture(tmp_path / "in.tif", rng, height=400)
    harness.run("in.tif", "--crop", "10x20+3+100", "--trace", "t.json", "out.tif", cwd=tmp_path)
    names = [name for _, _, name in read_trace(tmp_path / "t.json")["reader"]]
    assert [name for name in names if "skip" in name or "decode" in name] == ["skip, slice 0", "decode, slice 0", "skip"]


def test_columns_overlap(tmp_path, rng):
    """Each column is at work while each other one is: the point of it all. A busy machine may need a few runs to show it."""
    samples = np.tile(picture(tmp_path / "small.tif", rng), (8, 8, 1))
    PIL.Image.fromarray(samples).save(tmp_path / "in.png")
    missing = {("reader", "device"), ("device", "writer"), ("reader", "writer")}
    for _ in range(8):
        harness.run("in.png", "--blur", "3", "out.png", "--trace", "t.json", cwd=tmp_path, env={"CLIMG_SLICE": "64"})
        rows = read_trace(tmp_path / "t.json")
        missing = {(row, other) for row, other in missing
                   if not any(max(a[0], b[0]) < min(a[1], b[1]) for a in rows[row] for b in rows[other])}
        if not missing:
            return
    assert not missing


def test_trace_is_no_picture(tmp_path, rng):
    """It was one once, where its name ended so."""
    picture(tmp_path / "in.tif", rng)
    done = harness.run("in.tif", "out.tif", "--trace", "t.svg", cwd=tmp_path, status=2)
    assert done.err == "climg: --trace t.svg: a trace is JSON for https://ui.perfetto.dev; name it t.json\n"


@pytest.mark.parametrize("dtype, args, megabytes", [
    ("uint8", ["--blur", "1"], 2.1), ("uint8", ["--sharpen", "1"], 2.1), ("uint8", ["--blur", "1", "--invert"], 5.2),
    ("uint8", ["--invert", "--blur", "1"], 5.2), ("uint8", ["--invert", "--blur", "1", "--invert"], 8.4), ("float32", ["--blur", "1"], 8.4),
    ("float32", ["--sharpen", "1"], 8.4), ("float32", ["--sharpen", "1,sigma=20"], 13)])
def test_moved_bytes(tmp_path, dtype, args, megabytes):
    """--timing counts each plane and each raster that a product reads or writes once. A wide blur has a coarse grid."""
    harness.write_tiff(tmp_path / "in.tif", np.zeros((1024, 1024, 1), dtype))
    environment = {"CLIMG_CLASS": "cpu", "CLIMG_SLICE": "1024"}
    done = harness.run("-m", "buffer", "in.tif", *args, "out.tif", "--timing=json", cwd=tmp_path, env=environment)
    moved = [row["bytes"] for row in json.loads(done.err)["stages"] if row["kernel"] == "product"]
    assert moved == [pytest.approx(1e6 * megabytes, rel=0.03)], done.err


@pytest.mark.parametrize("option, path, what", [("--trace=", "no/t.json", "the trace"), ("--timing=json:", "no/t.json", "the times"),
                                                ("--align=in.tif,matrix=", "no/m.txt", "the matrix"), ("--trace=", "old", "the trace")])
def test_file_that_cannot_be_written(tmp_path, rng, option, path, what):
    """Is an error before the work."""
    picture(tmp_path / "in.tif", rng)
    (tmp_path / "old").mkdir()
    done = harness.run("in.tif", f"{option}{path}", "out.tif", cwd=tmp_path, status=1)
    why = "Is a directory" if path == "old" else "No such file or directory"
    assert done.err == f"climg: {path}: cannot write {what}: {why}\n"
    assert not (tmp_path / "out.tif").exists()


def test_trace_of_an_analysis(tmp_path, rng):
    """Has the times of its last parts, although no writer waits for them."""
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (900, 700, 1)).astype(np.uint8))
    harness.run("in.tif", "--median", "20", "--threshold", "otsu", "--trace", "t.json", "out.tif", cwd=tmp_path, env={"CLIMG_SLICE": "300"})
    assert min(begin for row in read_trace(tmp_path / "t.json").values() for begin, _, _ in row) >= 0


def test_decoding_starts_before_the_device_is_ready(tmp_path, rng):
    """An image large enough for that: its pixels, its damage, and a device that is not there, which is told first."""
    samples = harness.random_samples(rng, Shape(1100, 1000, 3, "uint8"))
    PIL.Image.fromarray(samples).save(tmp_path / "in.png", compress_level=1)
    with tifffile.TiffWriter(tmp_path / "in.tif") as tiff:
        for page in (samples, samples[::-1], samples[:50]):
            tiff.write(page, compression="deflate", metadata=None)
    for name, extra in (("in.png", ()), ("in.tif", ()), ("in.png", ("--memory-limit", "3M"))):
        harness.run(name, *extra, "--trace", "t.json", "--invert", "out.tif", cwd=tmp_path)
        pages = tifffile.TiffFile(tmp_path / "out.tif").pages
        assert np.array_equal(pages[0].asarray(), 255 - samples)
        assert len(pages) == 1 or np.array_equal(pages[1].asarray(), 255 - samples[::-1])
        rows = read_trace(tmp_path / "t.json")
        began = min(begin for begin, _, name in rows["reader"] if name == "decode ahead")
        opened = max(end for _, end, name in rows["start-up"] if name == "open the device")
        assert began < opened
    # A measurement of the file's own rows needs no device.
    harness.run("in.png", "--trace", "t.json", "--deskew", "out.tif", cwd=tmp_path)
    rows = read_trace(tmp_path / "t.json")
    assert min(begin for begin, _, name in rows["reader"] if name == "measure") < \
        max(end for _, end, name in rows["start-up"] if name == "open the device")
    whole = (tmp_path / "in.png").read_bytes()
    for size, name in ((60000, "early.png"), (len(whole) - 2000, "late.png")):
        (tmp_path / name).write_bytes(whole[:size])
        done = harness.run(name, "--invert", "none.png", cwd=tmp_path, status=1)
        assert done.err == f"climg: {name}: damaged PNG: the file ends too early\n"
    done = harness.run("--device", "nothing", "early.png", "--invert", "none.png", cwd=tmp_path, status=1)
    assert done.err == "climg: no OpenCL device fits \"nothing\"; see --list-devices\n"
    assert not (tmp_path / "none.png").exists()
