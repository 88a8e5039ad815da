"""Reading and writing PNG: colour types, bit depths, palette, tRNS, interlace."""

import itertools
import os
import shutil
import struct
import subprocess
import zlib

import numpy as np
import pytest
from PIL import Image

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


def test_large_rows_of_every_filter(tmp_path, rng):
    """More rows than are inflated at once, and slices that begin anywhere in them."""
    for channels, depth in DEPTHS:
        samples = harness.random_samples(rng, Shape(1201, 151, channels, f"uint{depth}"))
        (tmp_path / "in.png").write_bytes(pngfile.encode_png(samples))
        env = {**os.environ, "CLIMG_SLICE": "7"}
        harness.run(tmp_path / "in.png", "--invert", "--invert", tmp_path / "out.tif", env=env)
        if channels % 2:  # alpha is multiplied and divided again
            assert np.array_equal(harness.read_samples(tmp_path / "out.tif"), samples), (channels, depth)
        assert np.array_equal(convert(tmp_path, pngfile.encode_png(samples)), samples), (channels, depth)


def pieces(rng, data):
    """IDAT as encoders may cut it: anywhere, also into nothing."""
    cuts = np.sort(rng.integers(0, len(data) + 1, 12))
    cuts = [0, 0, 1, 1, 2, *cuts[cuts > 2].tolist(), len(data), len(data)]
    return [("IDAT", data[a:b]) for a, b in zip(cuts, cuts[1:])]


def assemble(header, chunks):
    return pngfile.SIGNATURE + b"".join(pngfile.chunk_bytes(*chunk) for chunk in (header, *chunks, ("IEND", b"")))


def test_image_data_in_pieces(tmp_path, rng):
    samples = harness.random_samples(rng, Shape(37, 29, 3, "uint8"))
    chunks = pngfile.split_chunks(pngfile.encode_png(samples))
    header, data = chunks[0], chunks[1][1]
    raw = zlib.decompress(data)
    wrong_adler = data[:-1] + bytes([data[-1] ^ 1])
    text = ("tEXt", b"Comment\0behind")
    for name, chunks in {"pieces": pieces(rng, data), "text behind": [*pieces(rng, data), text],
                         "stored": pieces(rng, zlib.compress(raw, 0)), "too much": [("IDAT", zlib.compress(raw + raw))],
                         "rest": [("IDAT", data + b"rest")],
                         "fixed codes": [("IDAT", zlib.compress(raw, 1))]}.items():
        assert np.array_equal(convert(tmp_path, assemble(header, chunks)), samples), name
    for name, chunks in {"adler": [("IDAT", wrong_adler)], "no adler": [("IDAT", data[:-4])], "too little": [("IDAT", zlib.compress(raw[:-1]))], "none": [("IDAT", b"")],
                         "interrupted": [("IDAT", data[:99]), text, ("IDAT", data[99:])],
                         "method": [("IDAT", b"\x79\x9b" + data[2:])], "header": [("IDAT", b"\x78\x9d" + data[2:])],
                         "dictionary": [("IDAT", b"\x78\xbb" + data[2:])], "block": [("IDAT", b"\x78\x9c\x07")],
                         "filter": [("IDAT", zlib.compress(b"\x05" + raw[1:]))],
                         "broken": [("IDAT", data[:500] + bytes([data[500] ^ 8]) + data[501:600])]}.items():
        (tmp_path / "in.png").write_bytes(assemble(header, chunks))
        done = harness.run(tmp_path / "in.png", tmp_path / "never.tif", status=1)
        assert "damaged PNG: " in done.err and not (tmp_path / "never.tif").exists(), name


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


# ---------------------------------------------------------------- compression in segments, on several threads

SEGMENT = 256 << 10  # filtered bytes, about; the sizes below fall into less than one, one row each, and several
PNG_SIZES = [(1, 1), (1, 1501), (1301, 1), (333, 301), (100003, 4), (97, 5000), (768, 512)]
PNG_LEVELS = ["none", "fast", "default", "2", "6", "best"]
SEGMENTS = [*itertools.product(PNG_SIZES, PNG_LEVELS), *((PNG_SIZES[-1], level) for level in "34578")]
ZLIB = {"none": 0, "fast": 1, "default": 1, "best": 9, **{str(level): level for level in range(2, 9)}}


def make_picture(rng, shape, kind):
    """Noise, a soft wave with a little of it, or flat patches."""
    if kind == "noise":
        return harness.random_samples(rng, shape)
    full = np.iinfo(shape.dtype).max
    y, x, c = np.ogrid[:shape.height, :shape.width, :shape.channels]
    wave = 0.5 + 0.2 * np.sin(x / 90 + c) + 0.2 * np.cos(y / 70 - c)
    if kind == "flat":
        return (np.floor(wave * 8) / 8 * full).astype(shape.dtype)
    return (wave * full + rng.integers(0, 3, (shape.height, shape.width, shape.channels))).astype(shape.dtype)


def expected_stream(samples, level):
    """Returns rows without a filter, or after Paeth's (section 9.2)."""
    rows = samples.astype(samples.dtype.newbyteorder(">")).reshape(len(samples), -1).view(np.uint8).astype(np.int16)
    step = samples.shape[2] * samples.itemsize
    above = np.vstack([np.zeros_like(rows[:1]), rows[:-1]])
    left, corner = (np.hstack([np.zeros((len(rows), step), np.int16), part])[:, :rows.shape[1]]
                    for part in (rows, above))
    kind, guess = (0, 0) if level == "none" else (4, pngfile.paeth(left, above, corner))
    return np.hstack([np.full((len(rows), 1), kind, np.uint8), (rows - guess).astype(np.uint8)]).tobytes()


def sizes_of(data, level, last):
    """Compresses a segment with zlib's strategies that this level may use."""
    strategies = (zlib.Z_RLE, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY) if level in ("fast", "default") else (zlib.Z_FILTERED,)
    packers = [zlib.compressobj(ZLIB[level], zlib.DEFLATED, -15, 8, strategy) for strategy in strategies]
    return [len(packer.compress(data) + packer.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)) for packer in packers]


def write_with_jobs(folder, samples, level, jobs):
    harness.write_tiff(folder / "in.tif", samples)
    output = folder / f"{jobs}.png"
    harness.run(folder / "in.tif", "--compression", level, "--jobs", jobs, output)
    return output.read_bytes()


def image_data(png):
    """The bodies of the IDAT chunks, which stand together."""
    names = "".join("I" if name == "IDAT" else "-" for name, _ in pngfile.split_chunks(png))
    assert "I" in names and "-" not in names.strip("-")
    return [body for name, body in pngfile.split_chunks(png) if name == "IDAT"]


def assert_others_read(folder, samples):
    """pngcheck where it is installed, and Pillow, which reads 8 bit exactly."""
    if shutil.which("pngcheck"):
        done = subprocess.run(["pngcheck", "-q", folder / "1.png"], capture_output=True, check=False)
        assert done.returncode == 0, done.stdout
    with Image.open(folder / "1.png") as image:
        pixels = np.asarray(image)
    if samples.dtype == np.uint8:
        assert np.array_equal(pixels.reshape(samples.shape), samples)


@pytest.mark.some(12)
@pytest.mark.parametrize("size, level", SEGMENTS, ids=str)
def test_segments(tmp_path, rng, size, level):
    """The stream holds the rows as the specification filters them, each segment is as small as zlib makes it, and the number
    of threads does not matter."""
    kind = "flat" if size == PNG_SIZES[-1] else rng.choice(["noise", "wave"])
    shape = Shape(*size, int(rng.integers(1, 5)), str(rng.choice(["uint8", "uint16"])))
    samples = make_picture(rng, shape, kind)
    png = write_with_jobs(tmp_path, samples, level, 1)
    for jobs in (2, 16):
        assert write_with_jobs(tmp_path, samples, level, jobs) == png, f"{jobs} jobs"

    chunks, expected = image_data(png), expected_stream(samples, level)
    rows = max(1, SEGMENT // (len(expected) // len(samples)))
    assert len(chunks) == -(-len(samples) // rows)
    assert zlib.decompress(b"".join(chunks)) == expected
    size = rows * (len(expected) // len(samples))
    for i, chunk in enumerate(chunks):
        first, last = i == 0, i == len(chunks) - 1
        most = 8 if level == "none" else 0  # where stored blocks end depends on zlib's buffers
        assert min(abs(len(chunk) - 2 * first - 4 * last - known) for known in sizes_of(expected[i * size:(i + 1) * size], level, last)) <= most
    assert_others_read(tmp_path, samples)


def test_flat_graphics_are_searched_for_repetitions(tmp_path, rng):
    """Letters on paper, which occur again, shrink by two fifths and more beside run lengths; noise takes as much by codes for bytes alone."""
    letters = rng.integers(0, 2, (6, 12, 8, 3)).astype(np.uint8) * 255
    page = np.full((800, 900, 3), 255, np.uint8)
    for y, x, letter in ((y, x, letters[rng.integers(6)]) for y in range(8, 780, 20) for x in range(8, 880, 12)):
        page[y:y + 12, x:x + 8] = letter
    for name, samples in ("page", page), ("wave", make_picture(rng, Shape(900, 800, 3, "uint8"), "wave")):
        chunks, expected = image_data(write_with_jobs(tmp_path, samples, "default", 2)), expected_stream(samples, "default")
        rle = zlib.compressobj(1, zlib.DEFLATED, 15, 8, zlib.Z_RLE)
        ratio = sum(map(len, chunks)) / len(rle.compress(expected) + rle.flush())
        assert ratio < 0.6 if name == "page" else 0.99 < ratio < 1.01, (name, ratio)


def test_each_depth_in_several_segments(tmp_path, rng):
    for channels, depth in DEPTHS:
        samples = make_picture(rng, Shape(700, 300, channels, f"uint{depth}"), "wave")
        png = write_with_jobs(tmp_path, samples, "fast", 3)
        assert zlib.decompress(b"".join(image_data(png))) == expected_stream(samples, "fast"), (channels, depth)
