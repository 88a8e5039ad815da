"""--memory-limit: what climg keeps of an image stays below it, and without it memory does not grow with the height."""
import os
import re
import struct
import zlib

import numpy as np
import pytest
import tifffile

import harness
import pngfile


@pytest.fixture(autouse=True)
def shared_memory():
    if harness.device_copies():
        pytest.skip("planes are in the device's memory, which the limit is not about")


SLACK = 6 << 20  # allocators, libraries and stacks are not to the byte


def write(path, height, width=2000):
    """Rows of noise, repeated: the sizes matter here."""
    rows = np.random.default_rng(1).integers(0, 256, (50, width, 3), dtype=np.uint8)
    tifffile.imwrite(path, np.tile(rows, (height // 50, 1, 1)), metadata=None)


def peak(*args, status=0):
    """Bytes that were resident at most, with the kernels in the driver's cache."""
    return min(harness.peak_of_run(args, status) for _ in range(2))


def stays_below(most, *args, status=0):
    """True if the peak of memory is below the limit; tries twice, as the first run may have to compile."""
    return harness.peak_of_run(args, status) < most or harness.peak_of_run(args, status) < most


@pytest.mark.long
@pytest.mark.parametrize("chain, limits", [(["--blur", "2"], (2, 3)), (["--gradient=4"], (3, 5)), (["--scale", "2", "--sharpen", "1"], (3, 5))],
                         ids=["blur", "gradient", "scale-sharpen"])
def test_limit_is_kept(tmp_path, chain, limits):
    write(tmp_path / "small.tif", 50, width=100)
    write(tmp_path / "in.tif", 1000)
    base = peak(tmp_path / "small.tif", *chain, tmp_path / "out.tif")
    free = peak(tmp_path / "in.tif", *chain, tmp_path / "whole.tif")
    for limit in limits:
        most = base + (limit << 20) + SLACK // 2
        assert most < free
        assert stays_below(most, tmp_path / "in.tif", "--memory-limit", f"{limit}M", *chain, tmp_path / "limited.tif")
        assert (tmp_path / "limited.tif").read_bytes() == (tmp_path / "whole.tif").read_bytes()


@pytest.mark.some(1)
@pytest.mark.long
@pytest.mark.parametrize("chain", [["--wavelet=3", "--shrink=4", "--inverse-wavelet"], ["--denoise"]], ids=lambda chain: chain[0])
def test_limit_of_a_pyramid_is_kept(tmp_path, chain):
    write(tmp_path / "small.tif", 50, width=100)
    write(tmp_path / "in.tif", 4000)
    limit = 64
    base = peak(tmp_path / "small.tif", *chain, tmp_path / "out.tif")
    free = peak(tmp_path / "in.tif", *chain, tmp_path / "whole.tif")
    most = base + (limit << 20) + SLACK
    assert most < free < base + 500e6 + SLACK
    assert stays_below(most, tmp_path / "in.tif", "--memory-limit", f"{limit}M", *chain, tmp_path / "limited.tif")
    assert (tmp_path / "limited.tif").read_bytes() == (tmp_path / "whole.tif").read_bytes()


@pytest.mark.long
@pytest.mark.parametrize("options, out", [({"rowsperstrip": 440}, "out.tif"), ({"tile": (512, 512)}, "out.png")])
def test_what_threads_hold_counts(tmp_path, options, out):
    """Strips and tiles are decoded ahead by many threads, and rows compressed by as many."""
    write(tmp_path / "small.tif", 50, width=100)
    rows = np.tile(np.random.default_rng(1).integers(0, 256, (40, 6000, 3), dtype=np.uint8), (80, 1, 1))
    tifffile.imwrite(tmp_path / "in.tif", rows, compression="zlib", compressionargs={"level": 1}, **options)
    command, limit = ["-j", 8, "--blur", "2"], 60
    base = peak(tmp_path / "small.tif", *command, tmp_path / out)
    assert stays_below(base + (limit << 20) + SLACK, tmp_path / "in.tif", "--memory-limit", f"{limit}M", *command, tmp_path / f"limited-{out}")
    harness.run(tmp_path / "in.tif", *command, tmp_path / out)
    assert (tmp_path / out).read_bytes() == (tmp_path / f"limited-{out}").read_bytes()


@pytest.mark.parametrize("depth, colour, interlaced", [(16, 6, 0), (16, 6, 1), (1, 3, 0), (8, 2, 1)])
def test_header_alone_takes_no_memory(tmp_path, depth, colour, interlaced):
    """A PNG of a few bytes promises the longest row that there is."""
    chunks = [("IHDR", struct.pack(">IIBBBBB", 1 << 30, 1, depth, colour, 0, 0, interlaced))]
    chunks += [("PLTE", bytes(3))] if colour == 3 else []
    (tmp_path / "in.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(
        pngfile.chunk_bytes(*chunk) for chunk in chunks + [("IDAT", zlib.compress(bytes(9))), ("IEND", b"")]))
    write(tmp_path / "small.tif", 50, width=100)
    command = ["--blur", "2", "--memory-limit", "64M", tmp_path / "out.png"]
    base = peak(tmp_path / "small.tif", *command)
    assert stays_below(base + SLACK, tmp_path / "in.png", *command, status=1)
    done = harness.run("in.png", *command, cwd=tmp_path, status=1)
    assert "in.png: needs " in done.err and "and --memory-limit is 64 MiB" in done.err


def test_refused_before_it_is_decoded(tmp_path):
    """Decoding ahead, while the device is opened, would allocate the whole tile."""
    write(tmp_path / "small.tif", 50, width=100)
    tifffile.imwrite(tmp_path / "in.tif", np.zeros((4096, 4096, 3), np.uint8), tile=(4096, 4096), compression="zlib")
    command = ["--blur", "2", "--memory-limit", "4M", tmp_path / "out.png"]
    assert stays_below(peak(tmp_path / "small.tif", *command) + SLACK, tmp_path / "in.tif", *command, status=1)


def test_memory_does_not_grow_with_the_height(tmp_path):
    write(tmp_path / "in.tif", 2000)
    write(tmp_path / "tall.tif", 8000)
    chain = ["--blur", "3", "--scale", "1/2", tmp_path / "out.tif"]
    assert stays_below(peak(tmp_path / "in.tif", *chain) + SLACK, tmp_path / "tall.tif", *chain)


@pytest.mark.parametrize("chain, needs, why", [
    (["--blur", "2"], "447 KiB", "even in the smallest slices"),
    (["--wavelet", "--inverse-wavelet"], "7523 KiB", "even in the smallest slices"),
    (["--wavelet", "--shrink", "--inverse-wavelet"], "26 MiB", "as the image cannot be processed in slices")])
def test_too_small(tmp_path, rng, chain, needs, why):
    """The limit and what is needed are in the message, nothing is left, and what is needed is enough."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, harness.Shape(300, 400, 3, "uint8")))
    done = harness.run("in.tif", "--memory-limit", "90K", *chain, "out.tif", cwd=tmp_path, status=1)
    assert done.err == f"climg: in.tif: needs {needs} of memory {why}, and --memory-limit is 90 KiB; raise it\n"
    assert os.listdir(tmp_path) == ["in.tif"]
    harness.run("in.tif", "--memory-limit", needs.replace(" ", "")[:-2], *chain, "out.tif", cwd=tmp_path)


@pytest.mark.parametrize("chain", [["--denoise"], ["--denoise", "--verify"], ["--wavelet", "--inverse-wavelet", "--verify"]])
def test_limit_that_is_named_is_enough(tmp_path, rng, chain):
    """Although the writer compresses more blocks at once where there is more memory, and --verify needs its own."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, harness.Shape(768, 512, 3, "uint8")))
    done = harness.run("in.tif", "--memory-limit", "1M", *chain, "out.png", cwd=tmp_path, status=1)
    number, unit = re.search(r"needs (\d+) (.)iB", done.err).groups()
    harness.run("in.tif", "--memory-limit", number + unit, *chain, "out.png", cwd=tmp_path)


@pytest.mark.parametrize("to", ["out.png", "out.tif", "-"])
@pytest.mark.parametrize("limit", ["100K", "700K"])
def test_what_is_decoded_ahead_counts(tmp_path, rng, limit, to):
    """By a limit that is named, with many threads, also where the output is a pipe and nothing can be done again."""
    samples = harness.random_samples(rng, harness.Shape(1800, 900, 3, "uint8"))
    tifffile.imwrite(tmp_path / "in.tif", samples, compression="zlib", rowsperstrip=40)
    words = ["-j", 16, "in.tif", "--memory-limit", limit, "--median", 2, "-f", "tif" if to == "out.tif" else "png", "-o", to]
    said = harness.run(*words, cwd=tmp_path, status=1).err
    words[4] = "".join(re.search(r"needs (\d+) (.)iB", said).groups())
    harness.run(*words, cwd=tmp_path)


@pytest.mark.parametrize("limit, options", [("1", []), ("2K", ["--verify=100"])])
def test_smallest_limits(tmp_path, rng, limit, options):
    """To a pipe, as rows are then decoded ahead by a share of the limit that is named."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, harness.Shape(300, 200, 3, "uint8")))
    words = ["in.tif", "--memory-limit", limit, "--blur", 3, *options, "-f", "ppm", "-o", "-"]
    words[2] = "".join(re.search(r"needs (\d+) (.)iB", harness.run(*words, cwd=tmp_path, status=1).err).groups())
    assert int(words[2][:-1]) < (10 if words[2].endswith("M") else 10000)
    harness.run(*words, cwd=tmp_path)


def test_second_computation_is_in_the_limit(tmp_path, rng):
    """The message names a limit for both computations, which is more than for one."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, harness.Shape(900, 700, 3, "uint8")))
    limits = []
    for options in ([], ["--verify=100"]):
        words = ["in.tif", "--memory-limit", "100K", "--blur", "3", *options, "out.ppm"]
        said = harness.run(*words, cwd=tmp_path, status=1).err
        assert f"of memory{' with --verify' * len(options)} even in the smallest slices, and --memory-limit is 100 KiB;" in said
        limits.append(int(re.search(r"needs (\d+) KiB", said).group(1)))
    assert limits[1] > 1.5 * limits[0]
    harness.run(*words[:2], f"{limits[1]}K", *words[3:], cwd=tmp_path)


def test_pages_leave_no_memory_behind(tmp_path):
    """Each is larger than the one before: what was of use to that one isn't to this."""
    sides = range(200, 600, 16)
    pages = [b"P5 %d %d 255\n" % (side, side) + bytes(side * side) for side in sides]
    (tmp_path / "one.pgm").write_bytes(pages[-1])
    (tmp_path / "all.pgm").write_bytes(b"".join(pages))
    chain = ["--invert", "-f", "pgm"]
    one = harness.peak_of_run([tmp_path / "one.pgm", *chain, tmp_path / "out.pgm"], 0)
    assert stays_below(one + 3 * SLACK, tmp_path / "all.pgm", *chain, tmp_path / "out.pgm")
