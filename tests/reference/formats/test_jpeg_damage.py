"""JPEGs that are cut off, flipped, or made to cost much: a failure, or the pixels that libjpeg-turbo itself finds."""

import io
import re
import struct
import subprocess

import numpy as np
import pytest
from PIL import Image

import harness
import jpegfile
import pngfile

FILES = 200


def damage(rng, data):
    """Cut off, or some bits of it flipped; most of them behind the header."""
    if rng.integers(3) == 0:
        return data[:int(rng.integers(2, len(data)))]
    made = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        first = len(data) - len(jpegfile.segments(data)[1]) if rng.integers(4) else 2
        made[int(rng.integers(first, len(data)))] ^= 1 << int(rng.integers(8))
    return bytes(made)


def by_libjpeg(data):
    """Returns Pillow's pixels, or None."""
    try:
        return jpegfile.decode(data)
    except (OSError, SyntaxError, ValueError, struct.error):
        return None


def test_damaged_files(tmp_path, rng):
    kinds = [jpegfile.encode(jpegfile.picture(rng, 60, 70, channels), progressive=progressive, quality=60)
             for channels in (1, 3) for progressive in (False, True)]
    (tmp_path / "in").mkdir()
    for i in range(FILES):
        (tmp_path / "in" / f"{i}.jpg").write_bytes(damage(rng, kinds[i % len(kinds)]))
    said = harness.run(tmp_path / "in", "-f", "png", tmp_path / "out", status=3).err
    made = list((tmp_path / "out").iterdir())
    assert f"{FILES - len(made)} of {FILES} files failed" in said and len(made) < FILES
    for path in made:
        data = (tmp_path / "in" / f"{path.stem}.jpg").read_bytes()
        expected = by_libjpeg(data)
        if expected is None:  # only the marker at the end is missing, or another
            expected = by_libjpeg((data[:-2] if data[-2] == 0xFF else data) + b"\xff\xd9")
        assert expected is not None and np.array_equal(pngfile.read_png(path).samples, expected), path.name


def test_damaged_restart_markers(tmp_path, rng):
    """One that is missing, or has another in its place, and a file that ends at one."""
    plain = jpegfile.encode(jpegfile.picture(rng, 900, 1500))
    data = subprocess.run(["jpegtran", "-restart", "94B"], input=plain, stdout=subprocess.PIPE, check=True).stdout
    (tmp_path / "whole.jpg").write_bytes(data)
    whole = jpegfile.decode(data)
    markers = [found.start() for found in re.finditer(rb"\xff[\xd0-\xd7]", data)]
    at = markers[int(rng.integers(len(markers)))]
    for damaged in (data[:int(rng.integers(markers[0], len(data)))], data[:at] + data[at + 2:], data[:at + 1] + b"\xd1\xff\xd1" + data[at + 2:],
                    data[:at]):
        (tmp_path / "in.jpg").write_bytes(damaged)
        said = harness.run(tmp_path / "in.jpg", tmp_path / "out.png", status=1).err
        assert int(re.search(r"decoded (\d+) of 900 rows", said)[1]) <= 900
    harness.run(tmp_path / "whole.jpg", tmp_path / "out.png")
    assert np.array_equal(pngfile.read_png(tmp_path / "out.png").samples, whole)


def test_rows_that_were_whole_are_told(tmp_path, rng):
    """Counts the rows that equal rows of the whole file; 0 for a progressive one, whose last scan is missing."""
    picture = jpegfile.picture(rng, 200, 90)
    for progressive, part in ((False, 0.3), (False, 0.6), (False, 0.95), (True, 0.95)):
        data = jpegfile.encode(picture, progressive=progressive)
        cut = data[:int(part * len(data))]
        (tmp_path / "cut.jpg").write_bytes(cut)
        said = harness.run(tmp_path / "cut.jpg", tmp_path / "out.png", status=1).err
        rows = int(re.search(r"the file ends too early; decoded (\d+) of 200 rows", said)[1])
        if progressive:
            assert rows == 0
            continue
        filled = np.asarray(Image.open(io.BytesIO(cut + b"\xff\xd9")))
        same = int(np.argmin(np.append((filled == jpegfile.decode(data)).all(axis=(1, 2)), False)))
        assert same - 17 <= rows <= same, (part, rows, same)
    assert not (tmp_path / "out.png").exists()


def test_padding_is_no_damage(tmp_path, rng):
    """Zeros before the end's marker, as some cameras write them; but not what may be pixels. How many of these bytes libjpeg
    has taken as data depends on the picture."""
    for side in range(40, 60, 2):
        data = jpegfile.encode(jpegfile.picture(rng, side, 50))
        for bytes_between, status in ((bytes(5), 0), (b"\x12\x34\x56\x78\x9a\xbc", 1), (b"\x12\0\0\0", 1), (b"\0\0\0\x12", 1)):
            (tmp_path / "in.jpg").write_bytes(data[:-2] + bytes(8) + bytes_between + b"\xff\xd9")
            harness.run(tmp_path / "in.jpg", tmp_path / "out.png", status=status)
        assert np.array_equal(pngfile.read_png(tmp_path / "out.png").samples, jpegfile.decode(data))


BUFFER = 1 << 16  # bytes that climg reads at a time, after a head of a few bytes


def test_long_padding_is_no_damage(tmp_path, rng):
    """Zeros and the marker after them at all positions relative to the end of a buffer, and zeros that fill whole buffers."""
    data = jpegfile.encode(jpegfile.picture(rng, 40, 50))
    tails = [(bytes(100) + b"\xff\xd9", True), (bytes(100) + b"\x12\0\xff\xd9", False)]
    (tmp_path / "in").mkdir()
    good = set()
    for size in range(BUFFER, BUFFER + 125):
        for i, (tail, is_good) in enumerate([*tails, (bytes(size) + b"\xff\xd9", True)] if size % 20 == 0 else tails):
            texts = [(0xFE, b"x" * 500), (0xFE, b"x" * (size - len(data) - min(len(tail), 1000) - 506))]
            (tmp_path / "in" / f"{size}-{i}.jpg").write_bytes(jpegfile.insert(data, *texts)[:-2] + tail)
            good |= {f"{size}-{i}"} if is_good else set()
    harness.run(tmp_path / "in", "-f", "png", tmp_path / "out", status=3)
    assert {path.stem for path in (tmp_path / "out").iterdir()} == good
    for path in (tmp_path / "out").iterdir():
        assert np.array_equal(pngfile.read_png(path).samples, jpegfile.decode(data)), path


TRAILER = b"SEFH" + bytes(range(1, 200)) * 20


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
def test_missing_end_marker(tmp_path, rng, channels, progressive):
    """Some cameras write nothing or other data in its place. All pixels are read, with a warning, also if the picture
    is only turned or copied. In a progressive file only the end marker may follow."""
    data = jpegfile.encode(jpegfile.picture(rng, 64, 80, channels), progressive=progressive)
    whole = jpegfile.decode(data)
    tails = [b"", TRAILER] + ([] if progressive else [data[:400], b"\xff\xe1\0\4ab", b"\xff\xda\0\2", TRAILER + b"\xff\x01\xff\xd8\xff"])
    for tail in tails:
        (tmp_path / "in.jpg").write_bytes(data[:-2] + tail)
        said = harness.run(tmp_path / "in.jpg", tmp_path / "out.png", "-y").err
        assert said == f"climg: {tmp_path}/in.jpg: warning: lacks the marker at its end; all of its pixels were read\n", tail[:9]
        assert np.array_equal(pngfile.read_png(tmp_path / "out.png").samples.reshape(whole.shape), whole)
        said = harness.run("-v", tmp_path / "in.jpg", "--rotate", "90", tmp_path / "turned.jpg", "-y").err
        assert "lacks the marker at its end" in said
        assert np.abs(jpegfile.decode((tmp_path / "turned.jpg").read_bytes()).astype(int) - np.rot90(whole, -1)).max() <= 12
        assert "lacks the marker at its end" in harness.run(tmp_path / "in.jpg", tmp_path / "copy.jpg", "-y").err
    for left in (30, 100, len(data) // 2):
        (tmp_path / "in.jpg").write_bytes(data[:-left])
        assert "the file ends too early; decoded" in harness.run(tmp_path / "in.jpg", tmp_path / "out.png", "-y", status=1).err


@pytest.mark.parametrize("scans", ["0; 1 2;", "0 1; 2;", "2; 0; 1;", "0 1 2;"])
def test_missing_end_marker_of_sequential_scans(tmp_path, rng, scans):
    """Any scans of a sequential picture; if one of them is missing, that is an error."""
    (tmp_path / "scans.txt").write_text(scans)
    plain = jpegfile.encode(jpegfile.picture(rng, 64, 80))
    data = subprocess.run(["jpegtran", "-scans", tmp_path / "scans.txt"], input=plain, stdout=subprocess.PIPE, check=True).stdout
    for tail in (b"", TRAILER):
        (tmp_path / "in.jpg").write_bytes(data[:-2] + tail)
        said = harness.run(tmp_path / "in.jpg", tmp_path / "out.png", "-y").err
        assert said == f"climg: {tmp_path}/in.jpg: warning: lacks the marker at its end; all of its pixels were read\n"
        assert np.array_equal(pngfile.read_png(tmp_path / "out.png").samples, jpegfile.decode(data))
    for found in list(re.finditer(rb"\xff\xda", data))[1:]:
        (tmp_path / "in.jpg").write_bytes(data[:found.start()])
        assert "the file ends too early" in harness.run(tmp_path / "in.jpg", tmp_path / "out.png", "-y", status=1).err


def test_missing_scans_are_an_error(tmp_path, rng):
    """A progressive picture that ends between two scans."""
    data = jpegfile.encode(jpegfile.picture(rng, 64, 80), progressive=True)
    scans = [found.start() for found in re.finditer(rb"\xff\xda", data)]
    for end in scans[1:]:
        (tmp_path / "in.jpg").write_bytes(data[:end])
        assert "the file ends too early" in harness.run(tmp_path / "in.jpg", tmp_path / "out.png", status=1).err


def many_scans(side, scans):
    """A gray progressive picture, black, each coefficient of which has two scans of its own."""
    def segment(marker, payload):
        return b"\xff" + bytes([marker]) + struct.pack(">H", len(payload) + 2) + payload

    def scan(coefficient, before, after):
        size = (side // 8) ** 2
        return segment(0xDA, bytes([1, 1, 0, coefficient, coefficient, before << 4 | after])) + bytes(size // 8)
    code = bytes([1] + 15 * [0] + [0])  # one symbol, 0, of one bit: no difference, the end of a block
    data = b"\xff\xd8" + segment(0xDB, bytes([0] + 64 * [1])) + segment(0xC2, struct.pack(">BHHB", 8, side, side, 1) + bytes([1, 0x11, 0]))
    data += segment(0xC4, b"\x00" + code + b"\x10" + code)
    orders = [(0, 0, 1), (0, 1, 0)] + [(k, 0, 1) for k in range(1, 64)] + [(k, 1, 0) for k in range(1, 64)]
    for order in orders[:scans]:
        data += scan(*order)
    return data + b"\xff\xd9"


def test_progressive_bombs(tmp_path):
    """A hundred scans are read, more are refused; and so is a frame of which the coefficients are beyond the limit."""
    harness.run("-f", "png", "-o", tmp_path / "out.png", stdin=many_scans(64, 100))
    assert (pngfile.read_png(tmp_path / "out.png").samples == 128).all()
    said = harness.run("-f", "png", stdin=many_scans(64, 101), status=1).err
    assert "has more than 100 scans, which would take too long" in said
    (tmp_path / "large.jpg").write_bytes(many_scans(16384, 1)[:2000])
    said = harness.run("--memory-limit", "256M", tmp_path / "large.jpg", "--scale", "1/2", tmp_path / "out.png", status=1).err
    assert "of memory" in said and "--memory-limit is 256 MiB" in said


@pytest.mark.parametrize("stage", [["--rotate", "90"], ["--flip", "h"], ["--strip"]])
def test_lossless_moves_find_damage(tmp_path, rng, stage):
    """Bytes after the last scan that may be pixels are an error, also if blocks are only moved; bytes in the header are not."""
    data = jpegfile.encode(jpegfile.picture(rng, 64, 80))
    (tmp_path / "in.jpg").write_bytes(data[:-2] + bytes(range(1, 40)) + data[-2:])
    assert "extraneous bytes before marker 0xd9" in harness.run(tmp_path / "in.jpg", *stage, tmp_path / "out.jpg", status=1).err
    behind = 4 + int.from_bytes(data[4:6], "big")  # the first segment
    (tmp_path / "in.jpg").write_bytes(data[:behind] + bytes(range(1, 40)) + data[behind:])
    assert "written without being coded again" in harness.run("-v", tmp_path / "in.jpg", *stage, tmp_path / "out.jpg").err
