"""PAM, PGM, PPM and PFM against netpbm's own tools, ffmpeg and numpy: samples, byte orders, streams of pages."""

import os
import subprocess
import threading

import numpy as np
import pytest
import tifffile
from PIL import Image

import harness
from harness import Shape


def tool(*args, stdin=None):
    """Returns the output of a program of netpbm or of ffmpeg."""
    return subprocess.run([str(a) for a in args], input=stdin, stdout=subprocess.PIPE, check=True).stdout


def climg(*args, stdin=None):
    return tool(harness.CLIMG, *args, stdin=stdin)


def samples_of(rng, channels, dtype, width=37, height=23):
    return rng.integers(0, np.iinfo(dtype).max + 1, (height, width, channels)).astype(dtype)


SHAPES = [(channels, dtype) for channels in (1, 2, 3, 4) for dtype in ("uint8", "uint16")]


@pytest.mark.parametrize("channels,dtype", SHAPES)
def test_pam_is_what_netpbm_writes(tmp_path, rng, channels, dtype):
    """Written and read: climg's bytes are those of pngtopam, and of those climg makes the samples again."""
    samples = samples_of(rng, channels, dtype)
    harness.pngfile.write_png(tmp_path / "in.png", samples)
    expected = tool("pngtopam", *(["-alphapam"] if channels in (2, 4) else []), tmp_path / "in.png")
    if channels in (1, 3):
        expected = tool("pamtopam", stdin=expected)
    harness.run("in.png", "out.pam", cwd=tmp_path)
    assert (tmp_path / "out.pam").read_bytes() == expected
    (tmp_path / "theirs.pam").write_bytes(expected)
    harness.run("theirs.pam", "out.png", cwd=tmp_path)
    assert np.array_equal(harness.read_samples(tmp_path / "out.png"), samples)


@pytest.mark.parametrize("suffix", ["pgm", "ppm", "pnm"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_pnm(tmp_path, rng, suffix, dtype):
    samples = samples_of(rng, 1 if suffix == "pgm" else 3, dtype)
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run("in.tif", f"out.{suffix}", cwd=tmp_path)
    written = (tmp_path / f"out.{suffix}").read_bytes()
    assert written == tool("pamtopnm", stdin=written)
    assert written.startswith(b"P5" if suffix == "pgm" else b"P6")
    (tmp_path / "plain").write_bytes(tool("pamtopnm", "-plain", stdin=written))
    for name in (f"out.{suffix}", "plain"):
        harness.run(name, "back.tif", cwd=tmp_path)
        assert np.array_equal(harness.read_tiff(tmp_path / "back.tif"), samples)


@pytest.mark.parametrize("name, dtype", [("ppm", np.uint8), ("ppm", np.uint16), ("pgm", np.uint16), ("pnm", np.uint8), ("pfm", np.float32)])
def test_alpha_on_white(tmp_path, rng, name, dtype):
    """Formats without alpha have the picture on white, with a warning; so in 64 KiB pieces."""
    colours = 1 if name == "pgm" else 3
    full = 1 if dtype == np.float32 else np.iinfo(dtype).max
    samples = (rng.uniform(0, full, (300, 207, colours + 1))).astype(dtype)
    tifffile.imwrite(tmp_path / "in.tif", samples, photometric="rgb" if colours == 3 else "minisblack", extrasamples=["unassalpha"])
    said = harness.run(tmp_path / "in.tif", tmp_path / f"out.{name}").err
    assert f"warning: its alpha is lost, as {name.upper()} has none: the picture is put on white" in said
    v, alpha = samples[..., :-1].astype(float), samples[..., -1:].astype(float) / full
    harness.run(tmp_path / f"out.{name}", tmp_path / "back.tif")
    back = harness.read_tiff(tmp_path / "back.tif").reshape(v.shape)
    assert back.dtype == dtype and np.abs(back - (v * alpha + full * (1 - alpha))).max() <= (1e-6 if dtype == np.float32 else 0.501)


@pytest.mark.parametrize("maxval", [1, 2, 3, 15, 100, 254, 256, 1023, 4095, 65534])
def test_maxvals(tmp_path, rng, maxval):
    """Rescales like pamdepth: to the nearest count of v / maxval. All maxvals: tests/unit/test_netpbm.c."""
    values = rng.integers(0, maxval + 1, (16, 21, 3))
    header = f"P7\nWIDTH 21\nHEIGHT 16\nDEPTH 3\nMAXVAL {maxval}\nTUPLTYPE RGB\nENDHDR\n".encode()
    given = header + values.astype(">u2" if maxval > 255 else "u1").tobytes()
    full = 65535 if maxval > 255 else 255
    result = climg("-", "-f", "pam", "-", stdin=given)
    assert result == tool("pamdepth", str(full), stdin=given)
    shown = np.frombuffer(result[result.index(b"ENDHDR\n") + 7:], ">u2" if full > 255 else "u1").reshape(values.shape)
    assert np.array_equal(shown, (2 * values * full + maxval) // (2 * maxval))


def test_bits(tmp_path, rng):
    """PBM: 1 is black; rows end at whole bytes. In a folder it stays a PBM."""
    picture = Image.fromarray(rng.integers(0, 2, (9, 19)).astype(bool))
    (tmp_path / "in").mkdir()
    picture.save(tmp_path / "in" / "a.pbm")
    (tmp_path / "in" / "b.pbm").write_bytes(tool("pamtopnm", "-plain", tmp_path / "in" / "a.pbm"))
    harness.run("in", "out", cwd=tmp_path)
    harness.run("in", "-f", "pgm", "out", cwd=tmp_path)
    for name in "ab":
        assert (tmp_path / "out" / f"{name}.pbm").read_bytes() == (tmp_path / "in" / "a.pbm").read_bytes()
        result = np.asarray(Image.open(tmp_path / "out" / f"{name}.pgm"))
        assert np.array_equal(result, np.asarray(picture) * 255)


def pfm(samples, order):
    height, width, channels = samples.shape
    header = f"{'PF' if channels == 3 else 'Pf'}\n{width} {height}\n{'-1.0' if order == '<' else '1.0'}\n"
    return header.encode() + samples[::-1].astype(order + "f4").tobytes()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("way", ["file", "pipe"])
def test_pfm_is_read(tmp_path, rng, channels, order, way):
    samples = rng.normal(0, 10, (21, 33, channels)).astype(np.float32)
    (tmp_path / "in.pfm").write_bytes(pfm(samples, order))
    harness.run_shell("climg in.pfm out.tif" if way == "file" else "cat in.pfm | climg - out.tif", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), samples)


@pytest.mark.parametrize("scale, said", [(b"-1.000", False), (b"-0.003922", True)])
def test_scale_of_a_pfm_is_said_to_be_left_out(tmp_path, rng, scale, said):
    """netpbm and OpenCV divide by it, ImageMagick multiplies, libvips does neither."""
    samples = rng.normal(0, 10, (3, 4, 1)).astype(np.float32)
    (tmp_path / "in.pfm").write_bytes(pfm(samples, "<").replace(b"-1.0\n", scale + b"\n", 1))
    told = harness.run("-v", "in.pfm", "out.tif", cwd=tmp_path).err
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), samples) and ("left out: the scale of the samples\n" in told) == said


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("way", ["file", "pipe"])
def test_pfm_is_written(tmp_path, rng, channels, way):
    samples = rng.normal(0, 10, (21, 33, channels)).astype(np.float32)
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run_shell("climg in.tif out.pfm" if way == "file" else "climg in.tif -f pfm - | cat > out.pfm",
                      cwd=tmp_path)
    assert (tmp_path / "out.pfm").read_bytes() == pfm(samples, "<")


@pytest.mark.parametrize("order", ["little", "big"])
def test_pfm_of_netpbm(tmp_path, rng, order):
    counts = samples_of(rng, 3, "uint16")
    harness.write_tiff(tmp_path / "in.tif", counts)
    theirs = tool("pamtopfm", f"-endian={order}", stdin=climg(tmp_path / "in.tif", "-f", "ppm", "-"))
    (tmp_path / "theirs.pfm").write_bytes(theirs)
    harness.run("theirs.pfm", "floats.tif", cwd=tmp_path)
    harness.assert_close(harness.read_tiff(tmp_path / "floats.tif"), counts / 65535, 1e-7)
    harness.run("in.tif", "ours.pfm", cwd=tmp_path)
    back = tool("pfmtopam", tmp_path / "ours.pfm")  # 8 bits: Debian 13's refuses every -maxval
    read = np.frombuffer(back[back.index(b"ENDHDR\n") + 7:], np.uint8).reshape(counts.shape)
    assert np.abs(read - counts / 257).max() < 0.51


def test_pages_of_pfm(tmp_path, rng):
    pages = rng.normal(0, 1, (3, 11, 17)).astype(np.float32)
    given = b"".join(pfm(page[..., None], order) for page, order in zip(pages, "<><"))
    (tmp_path / "in.pfm").write_bytes(given)
    for command in ("climg in.pfm out.tif", "cat in.pfm | climg - out.tif"):
        harness.run_shell(command, cwd=tmp_path)
        assert np.array_equal(np.stack(harness.read_pages(tmp_path / "out.tif"))[..., 0], pages)
    harness.run("out.tif", "back.pfm", cwd=tmp_path)
    assert (tmp_path / "back.pfm").read_bytes() == b"".join(pfm(page[..., None], "<") for page in pages)
    harness.run("in.pfm", "--page", "2", "one.tif", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "one.tif")[..., 0], pages[1])


def test_pages_of_tiff(tmp_path, rng):
    """A TIFF's pages become a stream of images, and the other way round, of an unknown number in a pipe."""
    pages = rng.integers(0, 256, (5, 20, 30, 3), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "in.tif", pages, photometric="rgb", metadata=None)
    stream = climg(tmp_path / "in.tif", "-f", "ppm", "-")
    assert stream == b"".join(b"P6\n30 20\n255\n" + page.tobytes() for page in pages)
    climg("-", tmp_path / "out.tif", stdin=stream)
    assert np.array_equal(np.stack(harness.read_pages(tmp_path / "out.tif")), pages)
    done = subprocess.run([harness.CLIMG, "-", tmp_path / "one.png"], input=stream, capture_output=True, check=False)
    assert done.returncode == 1 and not (tmp_path / "one.png").exists()
    assert done.stderr == (b"climg: standard input: has several pages and PNG holds one; choose it with --page N, or "
                           b"write PAM, PBM, PFM, PGM, PNM, PPM, TIFF or Y4M\n")
    climg("-", "--page", "4", tmp_path / "one.png", stdin=stream)
    assert np.array_equal(harness.read_samples(tmp_path / "one.png"), pages[3])


def test_ffmpeg(tmp_path, rng):
    """Frames through ffmpeg, climg and ffmpeg again, as `ffmpeg -f image2pipe -c:v pam` hands them on."""
    frames = rng.integers(0, 256, (7, 24, 32, 3), dtype=np.uint8)
    raw = ["-f", "rawvideo", "-pixel_format", "rgb24", "-video_size", "32x24"]
    quiet = ["ffmpeg", "-v", "error", "-nostdin"]
    stream = tool(*quiet, *raw, "-i", "-", "-f", "image2pipe", "-c:v", "pam", "-", stdin=frames.tobytes())
    inverted = climg("-", "--invert", "-f", "pam", "-", stdin=stream)
    back = tool(*quiet, "-f", "image2pipe", "-c:v", "pam", "-i", "-", "-f", "rawvideo", "-", stdin=inverted)
    assert np.array_equal(np.frombuffer(back, np.uint8).reshape(frames.shape), 255 - frames)


def test_pipe_of_two(tmp_path, rng):
    """PAM between two commands gives the same result as PNG between them (the manual promises it)."""
    samples = harness.random_samples(rng, Shape(64, 48, 4, "uint8"))
    harness.pngfile.write_png(tmp_path / "a.png", samples)
    for word in ("pam", "png"):
        harness.run_shell(f"climg a.png --blur 2 -f {word} - | climg --scale 1/2 - {word}.png", cwd=tmp_path)
    assert np.array_equal(harness.read_samples(tmp_path / "pam.png"), harness.read_samples(tmp_path / "png.png"))


def run_stream(count, frame):
    """Bytes that come out of a stream of `count` equal frames, and climg's largest memory in KiB."""
    climg_process = subprocess.Popen([harness.CLIMG, "-", "--invert", "-f", "pam", "-"], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE)

    def feed():
        for _ in range(count):
            climg_process.stdin.write(frame)
        climg_process.stdin.close()

    feeder = threading.Thread(target=feed)
    feeder.start()
    size = 0
    while piece := climg_process.stdout.read(1 << 20):
        size += len(piece)
    feeder.join()
    _, status, usage = os.wait4(climg_process.pid, 0)
    climg_process.returncode = os.waitstatus_to_exitcode(status)
    assert climg_process.returncode == 0
    return size, usage.ru_maxrss


def test_stream_in_bounded_memory(rng):
    frame = b"P7\nWIDTH 320\nHEIGHT 240\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n" + rng.bytes(320 * 240 * 3)
    few, few_memory = run_stream(10, frame)
    many, many_memory = run_stream(1000, frame)
    assert (few, many) == (10 * len(frame), 1000 * len(frame))
    assert many_memory < few_memory + 16 * 1024


def test_a_nul_begins_no_image(tmp_path):
    (tmp_path / "in.pgm").write_bytes(b"P5 1 1 255 aP\0 1 1 255 abc")
    assert "unexpected data after the image" in harness.run("in.pgm", "out.pgm", cwd=tmp_path, status=1).err
