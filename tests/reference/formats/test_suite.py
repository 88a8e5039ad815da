"""Every kind of PNG and TIFF that there is, made anew, comes through a chain of no stage with exact pixels; what climg does
not read is refused in one line that says what to do."""

import itertools
import struct
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image

import harness
import pngfile

DEPTHS = {pngfile.GRAY: (1, 2, 4, 8, 16), pngfile.RGB: (8, 16), pngfile.PALETTE: (1, 2, 4, 8), pngfile.GRAY_ALPHA: (8, 16),
          pngfile.RGB_ALPHA: (8, 16)}


def convert_all(folder, files, suffix):
    """Writes {name: bytes}, converts the folder in one run; {name: samples}."""
    (folder / "in").mkdir()
    for name, data in files.items():
        (folder / "in" / name).write_bytes(data)
    harness.run("--format", suffix, folder / "in", folder / "out")
    return {name: harness.read_samples(folder / "out" / f"{name.rsplit('.', 1)[0]}.{suffix}") for name in files}


def assert_all(made, expected):
    wrong = {name: (made[name].shape, made[name].dtype, expected[name].shape, expected[name].dtype) for name in expected
             if made[name].dtype != expected[name].dtype or not np.array_equal(made[name], expected[name])}
    assert not wrong, f"{len(wrong)} of {len(expected)}: {dict(list(wrong.items())[:5])}"


# ---------------------------------------------------------------- PNG

def png_pixels(samples, depth, colour_type, palette, transparent):
    """Returns the pixels of stored samples: whole bytes, RGB of a palette, alpha of tRNS."""
    full = 2 ** depth - 1
    if colour_type == pngfile.PALETTE:
        alpha = np.full(256, 255, np.uint8)
        alpha[:len(transparent or b"")] = list(transparent or b"")
        planes = [palette[samples[..., 0]]] + ([alpha[samples]] if transparent else [])
        return np.concatenate(planes, axis=-1)
    dtype = np.uint16 if depth == 16 else np.uint8
    pixels = (samples.astype(int) * (np.iinfo(dtype).max // full)).astype(dtype)
    if transparent is None:
        return pixels
    opaque = (samples != np.frombuffer(transparent, ">u2")).any(axis=-1, keepdims=True)
    return np.concatenate([pixels, opaque.astype(dtype) * np.iinfo(dtype).max], axis=-1)


def draw_png(rng, colour_type, depth, size, transparency, **options):
    """A file's bytes and its pixels."""
    width, height = size
    channels = pngfile.CHANNELS[colour_type]
    palette, chunks, transparent = None, [], None
    if colour_type == pngfile.PALETTE:
        palette = rng.integers(0, 256, (2 ** depth, 3)).astype(np.uint8)
        chunks.append(pngfile.palette_chunk(palette))
    samples = rng.integers(0, 2 ** depth, (height, width, channels)).astype(np.uint16 if depth == 16 else np.uint8)
    if transparency and colour_type == pngfile.PALETTE:
        transparent = rng.integers(0, 256, int(rng.integers(1, 2 ** depth + 1))).astype(np.uint8).tobytes()
    elif transparency and colour_type in (pngfile.GRAY, pngfile.RGB):
        transparent = samples[-1, -1].astype(">u2").tobytes()
    if transparent:
        chunks.append(("tRNS", transparent))
    data = pngfile.encode_png(samples, depth=depth, colour_type=colour_type, chunks=chunks, **options)
    return data, png_pixels(samples, depth, colour_type, palette, transparent)


def resplit(data, sizes):
    """The IDAT chunks cut anew, to pieces of these sizes and the rest."""
    chunks = pngfile.split_chunks(data)
    stream = b"".join(body for name, body in chunks if name == "IDAT")
    before = [chunk for chunk in chunks if chunk[0] not in ("IDAT", "IEND")]
    pieces = []
    for size in sizes:
        pieces.append(("IDAT", stream[:size]))
        stream = stream[size:]
    pieces.append(("IDAT", stream))
    return pngfile.SIGNATURE + b"".join(pngfile.chunk_bytes(*piece) for piece in [*before, *pieces, ("IEND", b"")])


def test_every_kind_of_png(tmp_path, rng):
    """Colour types, depths, interlace, transparency, sizes from 1x1 to 32x32."""
    files, expected = {}, {}
    for colour_type, depths in DEPTHS.items():
        for depth, interlace, transparency, i in itertools.product(depths, (False, True), (False, True), range(6)):
            size = tuple(rng.integers(1, 33, 2).tolist())
            name = f"c{colour_type}d{depth}i{int(interlace)}t{int(transparency)}-{i}-{size[0]}x{size[1]}.png"
            files[name], expected[name] = draw_png(rng, colour_type, depth, size, transparency, interlace=interlace)
    assert_all(convert_all(tmp_path, files, "png"), expected)


def test_every_size_of_png(tmp_path, rng):
    files, expected = {}, {}
    for side, interlace in itertools.product(range(1, 33), (False, True)):
        for size in ((side, side), (side, 1), (1, side)):
            colour_type = int(rng.choice(list(DEPTHS)))
            name = f"{size[0]}x{size[1]}-{int(interlace)}.png"
            files[name], expected[name] = draw_png(rng, colour_type, int(rng.choice(DEPTHS[colour_type])), size, False, interlace=interlace)
    assert_all(convert_all(tmp_path, files, "png"), expected)


def test_every_split_of_idat(tmp_path, rng):
    """Into bytes, and with chunks of no bytes before, between and behind."""
    files, expected = {}, {}
    splits = {"bytes": [1] * 300, "empty first": [0], "empty ones": [0, 0, 3, 0, 1, 0, 0, 20, 0], "header apart": [2], "one": [1]}
    for (kind, sizes), interlace, depth in itertools.product(splits.items(), (False, True), (4, 8, 16)):
        data, pixels = draw_png(rng, pngfile.GRAY, depth, (23, 17), False, interlace=interlace)
        name = f"{kind}-{int(interlace)}-{depth}.png".replace(" ", "_")
        files[name], expected[name] = resplit(data, sizes), pixels
    data, pixels = draw_png(rng, pngfile.RGB, 8, (9, 9), False)
    files["last.png"], expected["last.png"] = data[:-12] + pngfile.chunk_bytes("IDAT", b"") + data[-12:], pixels
    assert_all(convert_all(tmp_path, files, "png"), expected)


def test_every_filter_and_stream(tmp_path, rng):
    """One filter in all rows; every level and strategy of zlib, and windows as small as it has."""
    files, expected = {}, {}
    for colour_type, depths in DEPTHS.items():
        for depth, kind in itertools.product(depths, range(5)):
            samples = rng.integers(0, 2 ** depth, (13, 21, pngfile.CHANNELS[colour_type])).astype(np.uint16 if depth == 16 else np.uint8)
            step = max(1, samples.shape[2] * depth // 8)
            rows = [pngfile.pack_row(row.ravel(), depth) for row in samples]
            stream = b"".join(pngfile.filter_row(kind, row, above, step) for row, above in zip(rows, [bytes(len(rows[0])), *rows]))
            palette = rng.integers(0, 256, (2 ** min(depth, 8), 3)).astype(np.uint8)
            chunks = [pngfile.palette_chunk(palette)] if colour_type == pngfile.PALETTE else []
            level, strategy, window = int(rng.integers(0, 10)), int(rng.integers(0, 5)), int(rng.integers(9, 16))
            deflate = zlib.compressobj(level, zlib.DEFLATED, window, int(rng.integers(1, 10)), strategy)
            pieces = [("IHDR", struct.pack(">IIBBBBB", 21, 13, depth, colour_type, 0, 0, 0)), *chunks,
                      ("IDAT", deflate.compress(stream) + deflate.flush()), ("IEND", b"")]
            name = f"c{colour_type}d{depth}f{kind}-{level}-{strategy}-{window}.png"
            files[name] = pngfile.SIGNATURE + b"".join(pngfile.chunk_bytes(*piece) for piece in pieces)
            expected[name] = png_pixels(samples, depth, colour_type, palette, None)
    assert_all(convert_all(tmp_path, files, "png"), expected)


def header(**fields):
    values = {"width": 4, "height": 4, "depth": 8, "colour_type": 0, "compression": 0, "filter": 0, "interlace": 0, **fields}
    return pngfile.chunk_bytes("IHDR", struct.pack(">IIBBBBB", *values.values()))


BODY = pngfile.chunk_bytes("IDAT", zlib.compress(bytes(20)))
END = pngfile.chunk_bytes("IEND", b"")
BROKEN_PNGS = {
    "no width": header(width=0) + BODY + END, "no height": header(height=0) + BODY + END, "colour type 1": header(colour_type=1) + BODY + END,
    "depth 99": header(depth=99) + BODY + END, "depth 3": header(depth=3) + BODY + END, "depth of RGB": header(colour_type=2, depth=4) + BODY + END,
    "interlace 2": header(interlace=2) + BODY + END, "no IDAT": header() + END, "no PLTE": header(colour_type=3) + BODY + END,
    "wrong CRC": header() + BODY[:-1] + bytes([BODY[-1] ^ 1]) + END, "wrong CRC of IHDR": header()[:-1] + b"x" + BODY + END,
    "cut off": header() + BODY[:-9], "no IEND": header() + BODY, "too few rows": header(height=5) + BODY + END, "no IHDR": BODY + END,
    "unknown filter": header() + pngfile.chunk_bytes("IDAT", zlib.compress(b"\5" + bytes(19))) + END,
    "unknown critical chunk behind": header() + BODY + pngfile.chunk_bytes("ABCD", b"") + END,
    "unknown critical chunk": header() + pngfile.chunk_bytes("ABCD", b"") + BODY + END,
    "no zlib": header() + pngfile.chunk_bytes("IDAT", b"\x99" * 20) + END,
    "wrong Adler-32": header() + pngfile.chunk_bytes("IDAT", zlib.compress(bytes(20))[:-1] + b"x") + END,
}


@pytest.mark.parametrize("kind", list(BROKEN_PNGS))
def test_broken_png_is_refused(tmp_path, kind):
    (tmp_path / "in.png").write_bytes(pngfile.SIGNATURE + BROKEN_PNGS[kind])
    said = harness.run("in.png", "out.png", cwd=tmp_path, status=1).err
    assert said.startswith("climg: in.png: ") and said.count("\n") == 1 and not (tmp_path / "out.png").exists()


# ---------------------------------------------------------------- TIFF, written by tifffile and Pillow

TYPES = ("uint8", "uint16", "uint32", "int8", "int16", "int32", "float16", "float32", "float64")
LAYOUTS = {"strip": {}, "strips": {"rowsperstrip": 3}, "tiles": {"tile": (16, 16)}, "tall tiles": {"tile": (32, 16)}}


def draw(rng, shape, dtype):
    """Samples that 32-bit floats hold."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.uniform(-2, 2, shape).astype(np.float16).astype(kind)
    ends = np.iinfo(kind)
    samples = rng.integers(ends.min, ends.max, shape, endpoint=True).astype(kind)
    return samples & ~kind.type(255) if kind.itemsize == 4 else samples


def kept_type(samples):
    return samples.astype(np.float32) if samples.dtype == np.float64 else samples


@pytest.mark.long
@pytest.mark.some(2)
@pytest.mark.parametrize("byteorder", "<>")
@pytest.mark.parametrize("bigtiff", [False, True])
def test_every_kind_of_tiff(tmp_path, rng, byteorder, bigtiff):
    """Sample types, layouts, planes, compressions with and without predictor."""
    (tmp_path / "in").mkdir()
    expected = {}
    for dtype, (layout, options), planar, compression in itertools.product(
            TYPES, LAYOUTS.items(), ("contig", "separate"), (None, "zlib", "zlib predictor", "lzma")):
        channels, size = int(rng.integers(2, 5) if planar == "separate" else rng.integers(1, 5)), rng.integers(1, 41, 2).tolist()
        predictor = compression == "zlib predictor"
        if predictor and np.dtype(dtype).kind == "f":
            continue  # tifffile needs another package for that
        samples = draw(rng, (*size, channels), dtype)
        name = f"{dtype}-{layout}-{planar}-{compression}-{channels}.tif".replace(" ", "_")
        harness.write_tiff(tmp_path / "in" / name, samples, byteorder=byteorder, bigtiff=bigtiff, planarconfig=planar,
                           compression=compression and compression.split()[0], predictor=predictor, **options,
                           **({"extrasamples": ["unspecified"]} if channels % 2 == 0 else {}))
        expected[name] = kept_type(samples)
    harness.run("--compression", "none", tmp_path / "in", tmp_path / "out")
    assert_all({name: harness.read_tiff(tmp_path / "out" / name) for name in expected}, expected)


MODES = {"1": ("group3", "group4", "tiff_ccitt", "packbits"), "L": ("packbits", "tiff_lzw", "tiff_adobe_deflate", "zstd", "lzma"),
         "LA": ("tiff_lzw",), "P": ("packbits", "tiff_lzw", "tiff_adobe_deflate"), "I;16": ("tiff_lzw", "tiff_adobe_deflate", "zstd"),
         "RGB": ("packbits", "tiff_lzw", "tiff_adobe_deflate", "zstd", "lzma"), "RGBA": ("tiff_lzw", "zstd"), "F": ("tiff_adobe_deflate",)}


def test_every_mode_of_pillow(tmp_path, rng):
    (tmp_path / "in").mkdir()
    expected = {}
    for mode, codecs in MODES.items():
        for codec, i in itertools.product((None, *codecs), range(3)):
            width, height = rng.integers(1, 41, 2).tolist()
            if mode == "P":
                image = Image.fromarray(rng.integers(0, 256, (height, width)).astype(np.uint8), "P")
                image.putpalette(rng.integers(0, 256, 768).astype(np.uint8).tobytes())
                pixels = np.asarray(image.convert("RGB"))
            elif mode in ("I;16", "F"):
                pixels = draw(rng, (height, width), "uint16" if mode == "I;16" else "float32")
                image = Image.fromarray(pixels)
            else:
                image = Image.fromarray(rng.integers(0, 256, (height, width, 4)).astype(np.uint8)).convert(mode)
                pixels = np.asarray(image.convert("L") if mode == "1" else image)
            name = f"{mode}-{codec}-{i}.tif".replace(";", "")
            image.save(tmp_path / "in" / name, compression=codec)
            expected[name] = pixels.reshape(height, width, -1)
    harness.run("--compression", "none", tmp_path / "in", tmp_path / "out")
    made = {}
    for name in expected:
        with tifffile.TiffFile(tmp_path / "out" / name) as tiff:
            page = tiff.pages[0]
            made[name] = page.asarray().reshape(page.imagelength, page.imagewidth, -1)
    assert_all(made, expected)


# ---------------------------------------------------------------- TIFF, a writer for what those two do not write

def pack_bits(samples, bits):
    """Rows of samples of so many bits, the highest first, each row at a whole byte."""
    spread = (samples.reshape(len(samples), -1, 1).astype(int) >> np.arange(bits - 1, -1, -1)) & 1
    return np.packbits(spread.reshape(len(samples), -1).astype(np.uint8), axis=1).tobytes()


def reverse_bits(data):
    return np.packbits(np.unpackbits(np.frombuffer(data, np.uint8)).reshape(-1, 8)[:, ::-1]).tobytes()


def tiff(width, height, tags, strip):
    """A little-endian file of one strip; tags are {number: number or list of 16-bit ones}."""
    fields = {256: width, 257: height, 259: 1, 277: 1, 278: height, 279: len(strip), **tags}
    fields[273] = 8
    lists, at = b"", 8 + len(strip) + len(strip) % 2
    entries = b""
    for tag, value in sorted(fields.items()):
        values = value if isinstance(value, list) else [value]
        if len(values) <= 2 and isinstance(value, list):
            entries += struct.pack("<HHI", tag, 3, len(values)) + struct.pack("<2H", *values, *[0] * (2 - len(values)))
        elif isinstance(value, list):
            entries += struct.pack("<HHII", tag, 3, len(values), at + len(lists))
            lists += struct.pack(f"<{len(values)}H", *values)
        else:
            entries += struct.pack("<HHII", tag, 4, 1, value)
    return (b"II*\0" + struct.pack("<I", at + len(lists)) + strip + bytes(len(strip) % 2) + lists +
            struct.pack("<H", len(fields)) + entries + bytes(4))


def stretched(samples, bits):
    """To 8 or 16 bits, the largest value becoming the largest."""
    full = 255 if bits <= 8 else 65535
    return ((samples.astype(np.int64) * full + (2 ** bits - 1) // 2) // (2 ** bits - 1)).astype(np.uint8 if bits <= 8 else np.uint16)


def test_every_number_of_bits(tmp_path, rng):
    """Gray both ways round, RGB, palettes; both fill orders."""
    files, expected = {}, {}
    for bits, order in itertools.product((*range(1, 9), 10, 12, 14, 16), (1, 2)):
        width, height = rng.integers(1, 33, 2).tolist()
        for kind, channels in (("black", 1), ("white", 1), ("rgb", 3), ("palette", 1)):
            samples = rng.integers(0, 2 ** bits, (height, width, channels))
            if bits == 16:
                strip = samples.astype("<u2").tobytes()
            else:
                strip = pack_bits(samples, bits)
            tags = {258: [bits] * channels, 277: channels, 262: {"black": 1, "white": 0, "rgb": 2, "palette": 3}[kind], 266: order}
            pixels = stretched(samples, bits)
            if kind == "white":
                pixels = np.iinfo(pixels.dtype).max - pixels
            if kind == "palette":
                colours = rng.integers(0, 256, (2 ** bits, 3))
                tags[320] = (colours.T.ravel() * 257).tolist()
                pixels = colours[samples[..., 0]].astype(np.uint8)
            name = f"{kind}-{bits}-{order}.tif"
            files[name] = tiff(width, height, tags, strip if order == 1 else reverse_bits(strip))
            expected[name] = pixels
    assert_all(convert_all(tmp_path, files, "tif"), expected)


def test_jpeg_in_tiff(tmp_path, rng):
    """The pixels are libjpeg's, by way of Pillow."""
    waves = 128 + 90 * np.sin(np.mgrid[:40, :50].sum(axis=0)[..., None] / 9 + np.arange(3))
    for mode in ("L", "RGB"):
        Image.fromarray(waves.astype(np.uint8)).convert(mode).save(tmp_path / "in.tif", compression="jpeg", quality=90)
        harness.run(tmp_path / "in.tif", tmp_path / "out.png")
        with Image.open(tmp_path / "in.tif") as image:
            expected = np.asarray(image.convert(mode)).reshape(40, 50, -1).astype(int)
        assert np.abs(harness.read_samples(tmp_path / "out.png") - expected).max() <= 1, mode


@pytest.mark.parametrize("lossless", [False, True])
def test_webp_in_tiff(tmp_path, rng, lossless):
    """The pixels are libwebp's, by way of Pillow. The libtiff of Pillow's wheels cannot write such a TIFF."""
    pixels = rng.integers(0, 256, (30, 41, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "in.webp", lossless=lossless)
    tags = {258: [8] * 3, 259: 50001, 262: 2, 277: 3}
    (tmp_path / "in.tif").write_bytes(tiff(41, 30, tags, (tmp_path / "in.webp").read_bytes()))
    harness.run(tmp_path / "in.tif", tmp_path / "out.png")
    made = harness.read_samples(tmp_path / "out.png")
    with Image.open(tmp_path / "in.webp") as image:
        assert np.array_equal(made, np.asarray(image))
    assert np.array_equal(made, pixels) == lossless


REFUSED = {
    "five channels": ({258: [8] * 5, 277: 5, 262: 2}, 5), "gray and two more": ({258: [8] * 3, 277: 3, 262: 1}, 3),
    "24 bits": ({258: [24], 262: 1}, 3), "64-bit integers": ({258: [64], 262: 1}, 8), "24-bit floats": ({258: [24], 262: 1, 339: [3]}, 3),
    "complex of integers": ({258: [32], 262: 1, 339: [5]}, 4), "signed of 4 bits": ({258: [4], 262: 1, 339: [2]}, 1),
    "CMYK of 32 bits": ({258: [32] * 4, 277: 4, 262: 5}, 16), "ITU's L*a*b*": ({258: [8] * 3, 277: 3, 262: 10}, 3), "raw sensor": ({258: [16], 262: 32803}, 2),
    "YCbCr of 16 bits": ({258: [16] * 3, 277: 3, 262: 6}, 6), "YCbCr that is not JPEG": ({258: [8] * 3, 277: 3, 262: 6}, 3), "unknown colour": ({258: [8], 262: 999}, 1),
    "unknown compression": ({258: [8], 262: 1, 259: 60000}, 1), "inks that are not CMYK": ({258: [8] * 4, 277: 4, 262: 5, 332: 2}, 4),
}


@pytest.mark.parametrize("kind", list(REFUSED))
def test_refusal_names_what_to_do(tmp_path, kind):
    tags, size = REFUSED[kind]
    (tmp_path / "in.tif").write_bytes(tiff(6, 6, tags, bytes(36 * size)))
    said = harness.run("in.tif", "out.png", cwd=tmp_path, status=1).err
    assert said.startswith("climg: in.tif: ") and said.count("\n") == 1
    assert any(word in said for word in ("; convert it", "; develop it", "; keep", "; recompress it", "; convert them")), said
