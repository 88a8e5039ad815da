"""Pixels that a damaged file lacks: it fails, or they are what the format says, and never what was in memory before."""

import io
import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

import harness
import pngfile

SIDE = 64  # of most pictures here
ALONE = {"CLIMG_GROUP": "1"}  # so that each picture is decoded to where the one before it was
CCITT_T4, CCITT_T6, OLD_JPEG, JPEG, DEFLATE, WEBP = 3, 4, 6, 7, 8, 50001


def tiff(width, height, compression, strips, rows_per_strip, bits=8, samples=1, tile_width=None):
    """A TIFF of those strips, or tiles, compressed already; for one bit 0 is white."""
    photometric = 6 if compression == OLD_JPEG else 2 if samples == 3 else 0 if bits == 1 else 1
    sizes = [len(strip) for strip in strips]
    values = [(256, [width]), (257, [height]), (258, [bits] * samples), (259, [compression]), (262, [photometric])]
    if tile_width:
        values += [(277, [samples]), (322, [tile_width]), (323, [rows_per_strip]), (324, None), (325, sizes)]
    else:
        values += [(273, None), (277, [samples]), (278, [rows_per_strip]), (279, sizes)]
    if compression == OLD_JPEG:  # offset and size of the whole JPEG file, subsampling
        values += [(513, None), (514, sizes), (530, [2, 2])]
    arrays, entries = b"", b""
    start = 8 + 2 + 12 * len(values) + 4
    offsets = start + np.cumsum([0] + sizes)
    for tag, numbers in values:
        numbers = offsets[:-1].tolist() if numbers is None else numbers
        data = struct.pack(f"<{len(numbers)}I", *numbers)
        at = data if len(data) == 4 else struct.pack("<I", offsets[-1] + len(arrays))
        arrays += data if len(data) > 4 else b""
        entries += struct.pack("<HHI", tag, 4, len(numbers)) + at
    return b"II*\0" + struct.pack("<IH", 8, len(values)) + entries + bytes(4) + b"".join(strips) + arrays


def bits(text):
    """Bytes of a string of 0 and 1, the first one highest."""
    text = text.replace(" ", "")
    text += "0" * (-len(text) % 8)
    return bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))


def encoded(samples, kind, **options):
    file = io.BytesIO()
    Image.fromarray(samples).save(file, kind, **options)
    return file.getvalue()


def noise(rng, height, width, channels=3):
    return rng.integers(0, 256, (height, width, channels), dtype=np.uint8)


WHITE_ROW, EOFB, EOL = "1", "000000000001 000000000001", "000000000001"
SHORT = {
    "T.6 ends after a row": lambda rng: tiff(2064, 99, CCITT_T6, [bits(WHITE_ROW + EOFB)], 99, bits=1),
    "T.4 without runs": lambda rng: tiff(SIDE, SIDE, CCITT_T4, [bits(EOL * 2 * SIDE)], SIDE, bits=1),
    "low JPEG": lambda rng: tiff(SIDE, SIDE, JPEG, [encoded(noise(rng, 8, SIDE)[..., 0], "JPEG")], SIDE),
    "narrow JPEG": lambda rng: tiff(SIDE, SIDE, JPEG, [encoded(noise(rng, SIDE, 8)[..., 0], "JPEG")], SIDE),
    "old-style JPEG that ends early":
        lambda rng: tiff(SIDE, SIDE, OLD_JPEG, [encoded(noise(rng, SIDE, SIDE), "JPEG")[:-999] + b"\xff\xd9"], SIDE, samples=3),
    "low WebP": lambda rng: tiff(SIDE, SIDE, WEBP, [encoded(noise(rng, 8, SIDE), "WEBP", lossless=True)], SIDE, samples=3),
    "short deflate": lambda rng: tiff(SIDE, SIDE, DEFLATE, [zlib.compress(rng.bytes(SIDE * SIDE - 1))], SIDE),
    "deflate with a wrong checksum":
        lambda rng: tiff(SIDE, SIDE, DEFLATE, [zlib.compress(rng.bytes(SIDE * SIDE))[:-4] + b"sum?"], SIDE),
}


@pytest.mark.parametrize("kind", list(SHORT))
def test_missing_pixels_are_damage(tmp_path, rng, kind):
    (tmp_path / "in.tif").write_bytes(SHORT[kind](rng))
    done = harness.run("in.tif", "out.png", cwd=tmp_path, status=1)
    assert done.err.startswith("climg: in.tif: damaged TIFF: ") and done.err.count("\n") == 1
    assert os.listdir(tmp_path) == ["in.tif"]


def test_old_style_jpeg(tmp_path, rng):
    """Whole, it is what any reader of JPEG makes of it, but for rounding and how colour is enlarged."""
    picture = np.repeat(np.repeat(noise(rng, 4, 4), SIDE // 4, axis=0), SIDE // 4, axis=1)
    data = encoded(picture, "JPEG", quality=95)
    (tmp_path / "in.tif").write_bytes(tiff(SIDE, SIDE, OLD_JPEG, [data], SIDE, samples=3))
    harness.run("in.tif", "out.png", cwd=tmp_path)
    expected = np.asarray(Image.open(io.BytesIO(data)), dtype=int)
    assert np.median(np.abs(pngfile.read_png(tmp_path / "out.png").samples - expected)) <= 2


@pytest.mark.parametrize("level", [0, 1, 9])
def test_deflated_strips_with_rows_to_spare(tmp_path, rng, level):
    """Some writers fill up the last strip; stored blocks and long matches then reach over the end of what is wanted."""
    rows = np.repeat(noise(rng, 8, 1, 1), SIDE, axis=1)[..., 0]
    rows[::2] = noise(rng, 4, SIDE, 1)[..., 0]
    data = tiff(SIDE, 3, DEFLATE, [zlib.compress(rows.tobytes(), level)], 8)
    pngfile.write_png(tmp_path / "0.png", noise(rng, 3, SIDE, 1))
    (tmp_path / "1.tif").write_bytes(data)
    harness.run("-j", 1, "0.png", "1.tif", "out", cwd=tmp_path, env=ALONE)
    assert np.array_equal(harness.read_tiff(tmp_path / "out/1.tif")[..., 0], rows[:3])


@pytest.mark.parametrize("tiled", [False, True])
def test_narrow_webp(tmp_path, rng, tiled):
    """libtiff refuses it since 4.6; before, it leaves the rest of each row as it was, in a strip as the last picture, in a
    tile as the last tile. Nothing of these is to be seen then: the rest is black."""
    wide, narrow = noise(rng, SIDE, SIDE), noise(rng, SIDE, SIDE // 2)
    pieces = [encoded(samples, "WEBP", lossless=True) for samples in (wide, narrow)]
    across = 2 if tiled else 1
    data = tiff(SIDE * across, SIDE * 2 // across, WEBP, pieces, SIDE, samples=3, tile_width=SIDE if tiled else None)
    pngfile.write_png(tmp_path / "0.png", noise(rng, SIDE * 2 // across, SIDE * across))
    (tmp_path / "1.tif").write_bytes(data)
    (tmp_path / "2.tif").write_bytes(b"no image, so that some fail in any case")
    harness.run("-j", 1, "--compression", "none", "0.png", "1.tif", "2.tif", "out", cwd=tmp_path, env=ALONE, status=3)
    if "1.tif" in os.listdir(tmp_path / "out"):
        black = np.pad(narrow, ((0, 0), (0, SIDE // 2), (0, 0)))
        assert np.array_equal(harness.read_tiff(tmp_path / "out/1.tif"), np.concatenate([wide, black], 1 if tiled else 0))


def mutants(rng, data, count):
    """Copies with one to four bytes changed."""
    for _ in range(count):
        changed = bytearray(data)
        for at in rng.integers(0, len(data), rng.integers(1, 5)):
            changed[at] = rng.choice([0, 255, changed[at] ^ 1 << int(rng.integers(8)), rng.integers(256)])
        yield bytes(changed)


CODECS = ["group3", "group4", "tiff_ccitt", "tiff_lzw", "packbits", "tiff_adobe_deflate", "jpeg", "webp", "zstd", "lzma"]


@pytest.mark.some(7)
@pytest.mark.parametrize("codec", CODECS + ["png", "interlaced png", "WebP", "lossless WebP"])
def test_memory_does_not_show(tmp_path, rng, codec):
    """The result of a damaged file does not depend on the pictures that were in memory before it: each mutant is decoded
    after one of two others. That both runs are climg's is the point: no bit may differ, whatever libtiff makes of it."""
    channels = 1 if codec in CODECS[:3] else 3
    y, x = np.mgrid[:SIDE, :SIDE]
    waves = 128 + 100 * np.sin(x[..., None] * y[..., None] / 99 + np.arange(channels) + rng.uniform(0, 9))
    picture = Image.fromarray((waves + rng.uniform(-9, 9, waves.shape)).astype(np.uint8).squeeze())
    file = io.BytesIO()
    if "png" in codec:
        picture.save(file, "PNG")
    elif "WebP" in codec:
        picture.save(file, "WEBP", lossless="lossless" in codec)
    elif codec == "webp":  # the libtiff of Pillow's wheels cannot write it
        file.write(tiff(SIDE, SIDE, WEBP, [encoded(np.asarray(picture), "WEBP")], SIDE, samples=3))
    else:
        (picture.convert("1") if channels == 1 else picture).save(file, "TIFF", compression=codec)
    runs = []
    changed = [*mutants(rng, file.getvalue(), 60), b"no image, so that some fail in any case"]
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        for i, data in enumerate(changed):
            pngfile.write_png(tmp_path / run / f"{i:03}-before.png", noise(rng, SIDE, SIDE, channels))
            (tmp_path / run / f"{i:03}-mutant").write_bytes(data)
        names = sorted(os.listdir(tmp_path / run))
        harness.run("-j", 1, "-q", "--strip", "-f", "tiff", *names, tmp_path / f"out-{run}", cwd=tmp_path / run,
                    env=ALONE, status=3)
        runs.append({file.name: file.read_bytes() for file in (tmp_path / f"out-{run}").glob("*mutant*")})
    assert runs[0].keys() == runs[1].keys() and len(runs[0]) < len(changed)
    assert [name for name in runs[0] if runs[0][name] != runs[1][name]] == []
