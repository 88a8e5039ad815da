"""Reading and writing PNG: colour types, bit depths, palette, tRNS, interlace."""

import struct

import numpy as np
import pytest

import harness
import pngfile
from harness import Shape
from pngfile import GRAY, PALETTE, RGB

DEPTHS = [(1, 8), (1, 16), (2, 8), (2, 16), (3, 8), (3, 16), (4, 8), (4, 16)]


def convert(tmp_path, png_bytes, suffix=".tif"):
    """The samples that climg makes of a PNG."""
    (tmp_path / "in.png").write_bytes(png_bytes)
    harness.run(tmp_path / "in.png", tmp_path / f"out{suffix}")
    return harness.read_samples(tmp_path / f"out{suffix}")


@pytest.mark.parametrize("interlace", [False, True], ids=["plain", "interlaced"])
@pytest.mark.parametrize("channels, depth", DEPTHS)
def test_colour_types(tmp_path, rng, channels, depth, interlace):
    width, height = rng.integers(1, 40, 2).tolist()
    samples = harness.random_samples(rng, Shape(width, height, channels, f"uint{depth}"))
    data = pngfile.encode_png(samples, interlace=interlace)
    result = convert(tmp_path, data, str(rng.choice([".png", ".tif"])))
    assert result.dtype == samples.dtype
    assert np.array_equal(result, samples)


@pytest.mark.parametrize("interlace", [False, True], ids=["plain", "interlaced"])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_narrow_gray(tmp_path, rng, depth, interlace):
    samples = rng.integers(0, 1 << depth, (17, 21, 1), dtype=np.uint8)
    result = convert(tmp_path, pngfile.encode_png(samples, depth=depth, interlace=interlace))
    assert result.dtype == np.uint8
    assert np.array_equal(result, samples * (255 // ((1 << depth) - 1)))


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
@pytest.mark.parametrize("transparent", [False, True], ids=["opaque", "tRNS"])
def test_palette(tmp_path, rng, depth, transparent):
    colours = rng.integers(0, 256, (1 << depth, 3), dtype=np.uint8)
    samples = rng.integers(0, 1 << depth, (9, 23, 1), dtype=np.uint8)
    chunks, expected = [pngfile.palette_chunk(colours)], colours[samples[..., 0]]
    if transparent:
        alphas = rng.integers(60, 256, (1 << depth) - 1, dtype=np.uint8)  # the last entry stays opaque
        chunks.append(("tRNS", alphas.tobytes()))
        expected = np.dstack([expected, np.append(alphas, 255).astype(np.uint8)[samples[..., 0]]])
    data = pngfile.encode_png(samples, depth=depth, colour_type=PALETTE, chunks=chunks)
    assert np.array_equal(convert(tmp_path, data), expected)


@pytest.mark.parametrize("colour_type, depth", [(GRAY, 2), (GRAY, 8), (GRAY, 16), (RGB, 8), (RGB, 16)])
def test_transparent_colour(tmp_path, rng, colour_type, depth):
    """tRNS of gray and RGB names one colour; pixels of exactly that colour become transparent."""
    channels, dtype = pngfile.CHANNELS[colour_type], np.uint16 if depth == 16 else np.uint8
    samples = rng.integers(0, 1 << depth, (12, 19, channels)).astype(dtype)
    key = samples[5, 7].copy()
    chunk = ("tRNS", struct.pack(f">{channels}H", *key.tolist()))
    result = convert(tmp_path, pngfile.encode_png(samples, depth=depth, chunks=[chunk]))
    hit = (samples == key).all(axis=-1)
    full = 65535 if depth == 16 else 255
    widened = samples * (255 // ((1 << depth) - 1)) if depth < 8 else samples
    assert result.dtype == dtype and result.shape[2] == channels + 1
    assert np.array_equal(result[..., -1], np.where(hit, 0, full))
    assert np.array_equal(result[..., :-1][~hit], widened[~hit])


@pytest.mark.parametrize("channels, depth", DEPTHS)
def test_output_has_the_input_type(tmp_path, rng, channels, depth):
    samples = harness.random_samples(rng, Shape(8, 5, channels, f"uint{depth}"))
    pngfile.write_png(tmp_path / "in.png", samples)
    harness.run(tmp_path / "in.png", "--blur", "1", tmp_path / "out.png")
    result = pngfile.read_png(tmp_path / "out.png")
    assert (result.depth, result.colour_type) == (depth, pngfile.COLOUR_TYPE[channels])


def test_float_to_png_of_16_bits(tmp_path, rng):
    samples = harness.random_samples(rng, Shape(8, 5, 3, "float32"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run(tmp_path / "in.tif", "--depth", "16", tmp_path / "out.png")
    result = pngfile.read_png(tmp_path / "out.png")
    assert result.depth == 16
    harness.assert_counts(result.samples, samples.astype(float))


@pytest.mark.parametrize("level", ["none", "fast", "default", "best", "0", "5", "9"])
def test_compression(tmp_path, level):
    source = harness.SAMPLES / "soft-alpha.png"
    harness.run(source, "--compression", level, tmp_path / "out.png")
    result, original = (pngfile.read_png(path).samples for path in (tmp_path / "out.png", source))
    visible = original[..., 3] > 0
    assert np.array_equal(result[visible], original[visible])
    assert np.array_equal(result[..., 3], original[..., 3])


def test_format_is_what_the_file_says_not_its_name(tmp_path, rng):
    samples = harness.random_samples(rng, Shape(8, 5, 3, "uint8"))
    harness.write_tiff(tmp_path / "liar.png", samples)
    harness.run(tmp_path / "liar.png", "--format", "png", tmp_path / "out.dat")
    assert np.array_equal(pngfile.decode_png((tmp_path / "out.dat").read_bytes()).samples, samples)
