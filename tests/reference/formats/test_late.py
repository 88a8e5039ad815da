"""A PNG from a pipe is read row after row, and what it says behind its pixels is kept all the same, behind those of the output."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

import harness
import pngfile

KINDS = {"plain": {}, "interlaced": {"interlace": True}, "few bits": {"depth": 4}}
TEXT = "once more " * 400


def exif(orientation=6):
    data = Image.Exif()
    data[274], data[271] = orientation, "Maker"
    return data.tobytes()[6:]


def late_png(rng, kind, chunks):
    samples = rng.integers(0, 16, (21, 30, 1)).astype(np.uint8)
    front = [pngfile.text_chunk("Title", "Boats"), pngfile.text_chunk("Software", "Painter 1")]
    data = pngfile.encode_png(samples, chunks=front, **KINDS[kind])
    behind = b"".join(pngfile.chunk_bytes(*chunk) for chunk in chunks)
    return samples * (17 if kind == "few bits" else 1), data[:-12] + behind + data[-12:]


LATE = [pngfile.text_chunk("Author", "Nobody"), ("iTXt", b"Comment\0\0\0de\0\0gesehen"), ("zTXt", b"Notes\0\0" + zlib.compress(TEXT.encode())),
        ("eXIf", exif()), ("tIME", struct.pack(">H5B", 2020, 2, 29, 12, 34, 56))]


@pytest.mark.parametrize("kind", list(KINDS))
def test_png_to_png(tmp_path, rng, kind):
    samples, data = late_png(rng, kind, LATE)
    made = pngfile.decode_png(harness.run(stdin=data).out)
    assert np.array_equal(made.samples, samples)
    texts = made.texts()
    assert texts["Title"] == "Boats" and texts["Author"] == "Nobody" and texts["Comment"] == "gesehen" and texts["Notes"] == TEXT
    assert made.chunk("eXIf") == exif() and made.chunk("tIME") == LATE[-1][1]
    (tmp_path / "in.png").write_bytes(data)
    with Image.open(tmp_path / "in.png") as image:
        image.load()
        assert image.getexif()[274] == 6  # others find it there, too


@pytest.mark.parametrize("kind", list(KINDS))
def test_png_to_tiff(tmp_path, rng, kind):
    samples, data = late_png(rng, kind, LATE)
    harness.run("-", tmp_path / "out.tif", stdin=data)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), samples)
    tags = harness.tiff_tags(tmp_path / "out.tif")
    assert tags[274] == 6 and tags[315] == "Nobody" and tags[269] == "Boats" and "gesehen" in tags[42112] and TEXT in tags[42112]
    assert tags[305].startswith("Painter 1; climg") and tags[271] == "Maker"


def test_stages_change_what_is_said_late(rng):
    """The time of the last change is not kept, the thumbnail neither; of one that stands in front nothing is said twice."""
    samples, data = late_png(rng, "plain", LATE)
    done = harness.run("-v", "--blur", "1", stdin=data)
    made = pngfile.decode_png(done.out)
    assert made.chunk("tIME") is None and made.chunk("eXIf") == exif() and "of what stands behind its pixels: tIME" in done.err
    front = data[:33] + pngfile.chunk_bytes("eXIf", exif(3)) + data[33:]
    made = pngfile.decode_png(harness.run(stdin=front).out)
    assert [chunk for chunk in made.chunks if chunk[0] == "eXIf"] == [("eXIf", exif(3))]


def test_what_cannot_be_kept_is_named(rng):
    samples, data = late_png(rng, "plain", LATE)
    said = harness.run("-v", "-f", "pgm", stdin=data).err.split("of what stands behind its pixels: ")[1]
    assert all(name in said for name in ("EXIF", "the orientation", "texts", "tIME"))
    plain = pngfile.decode_png(harness.run("--strip", stdin=data).out)
    assert not plain.chunks or [name for name, _ in plain.chunks] == ["tEXt"]  # what climg says of itself


def test_damaged_text_behind_the_pixels(rng):
    samples, data = late_png(rng, "plain", LATE[:1])
    data = bytearray(data)
    data[-13] ^= 1  # the CRC of the chunk before IEND
    done = harness.run(stdin=bytes(data))
    assert "warning: the chunk tEXt is damaged and left out" in done.err
    assert "Author" not in pngfile.decode_png(done.out).texts()


def test_much_is_not_kept(rng):
    """More than 16 MiB behind the pixels are passed over."""
    samples, data = late_png(rng, "plain", [pngfile.text_chunk(f"k{i}", "x" * (5 << 20)) for i in range(4)])
    assert 2 <= len(pngfile.decode_png(harness.run(stdin=data).out).texts()) - 2 <= 3
