"""Deflated strips as no program should write them, or as few do."""
import zlib

import numpy as np
import pytest
import tifffile

import harness
import tiffbytes


def reverse_bits(data):
    return np.packbits(np.unpackbits(np.frombuffer(data, np.uint8)).reshape(-1, 8)[:, ::-1]).tobytes()


def flip(data, at):
    return data[:at % len(data)] + bytes([data[at] ^ 1]) + data[at % len(data) + 1:]


STREAM = zlib.compress
READ = {  # what becomes of two strips, and the tags beside
    "as it should be": (STREAM, {}),
    "lowest bits first": (lambda rows: reverse_bits(STREAM(rows)), {266: [2]}),
    "filled up to more rows": (lambda rows: STREAM(rows + bytes(1000)), {}),
    "bytes behind the stream": (lambda rows: STREAM(rows) + b"more", {}),
    "stored blocks": (lambda rows: STREAM(rows, 0), {}),
    "the old number": (STREAM, {259: [32946]}),
}
REFUSED = {
    "a wrong checksum": (lambda rows: flip(STREAM(rows), -1), "the checksum of a strip or tile is wrong"),
    "no checksum": (lambda rows: STREAM(rows)[:-4], "ends before its pixels or its checksum"),
    "half a checksum": (lambda rows: STREAM(rows)[:-2], "ends before its pixels or its checksum"),
    "half of the stream": (lambda rows: STREAM(rows)[:len(STREAM(rows)) // 2], "ends before its pixels or its checksum"),
    "nothing": (lambda rows: b"", "ends before its pixels or its checksum"),
    "too few rows": (lambda rows: STREAM(rows[:-1]), "a strip or tile has too few pixels"),
    "no header": (lambda rows: STREAM(rows)[2:], "not deflated as it should be"),
    "a dictionary": (lambda rows: b"\x78\xbb" + bytes(4) + STREAM(rows)[2:], "not deflated as it should be"),
}


def page(samples, pack, tags):
    height, width = samples.shape
    half = height // 2 + 1
    return ({256: width, 257: height, 258: [8], 259: [8], 262: [1], 277: [1], 278: half, **tags},
            [pack(rows.tobytes()) for rows in (samples[:half], samples[half:])])


def draw(rng, width):
    """Wide ones repeat themselves, to be compressed quickly."""
    return np.tile(rng.integers(0, 256, (70, min(width, 512)), dtype=np.uint8), (1, max(1, width // 512)))


WIDTHS = [61, 2 ** 18]  # of strips that are decoded at once, and row by row


@pytest.mark.parametrize("width", WIDTHS)
def test_read(tmp_path, rng, width):
    samples, order = draw(rng, width), str(rng.choice(["<", ">"]))
    for kind, (pack, tags) in READ.items():
        (tmp_path / "in.tif").write_bytes(tiffbytes.make(page(samples, pack, tags), order=order))
        harness.run(tmp_path / "in.tif", "--compression", "none", tmp_path / "out.tif", "-y")
        assert np.array_equal(harness.read_tiff(tmp_path / "out.tif")[..., 0], samples), kind


@pytest.mark.parametrize("width", WIDTHS)
def test_refused(tmp_path, rng, width):
    samples = draw(rng, width)
    for kind, (pack, says) in REFUSED.items():
        (tmp_path / "in.tif").write_bytes(tiffbytes.make(page(samples, pack, {})))
        said = harness.run("in.tif", "out.tif", cwd=tmp_path, status=1).err
        assert said.startswith("climg: in.tif: damaged TIFF: ") and says in said, kind
        assert sorted(each.name for each in tmp_path.iterdir()) == ["in.tif"]


def test_predictor_of_odd_samples(tmp_path, rng):
    samples = rng.integers(0, 256, (70, 61), dtype=np.uint8)
    for tags in ({317: [7]}, {317: [3]}, {317: [2], 258: [4], 256: 122}):
        (tmp_path / "in.tif").write_bytes(tiffbytes.make(page(samples, STREAM, tags)))
        said = harness.run("in.tif", "out.tif", cwd=tmp_path, status=1).err
        assert "does not go with its samples" in said or "Predictor" in said, said


def test_predictor_that_cannot_be_read(tmp_path, rng):
    """A flipped bit in the tag's type, count or value: a failure, or the same samples, as where SHORT becomes BYTE."""
    samples = draw(rng, 61)
    tifffile.imwrite(tmp_path / "whole.tif", samples, compression="zlib", predictor=True)
    data = (tmp_path / "whole.tif").read_bytes()
    with tifffile.TiffFile(tmp_path / "whole.tif") as file:
        entry = file.pages[0].tags[317].offset
    (tmp_path / "in").mkdir()
    for bit in range(16, 80):  # its type and count, and the two bytes of its value
        flipped = bytearray(data)
        flipped[entry + bit // 8] ^= 1 << bit % 8
        (tmp_path / "in" / f"{bit}.tif").write_bytes(flipped)
    harness.run(tmp_path / "in", "--compression", "none", tmp_path / "out", status=3)
    made = sorted((tmp_path / "out").iterdir())
    assert len(made) < 8
    for path in made:
        assert np.array_equal(harness.read_tiff(path)[..., 0], samples), path.name
