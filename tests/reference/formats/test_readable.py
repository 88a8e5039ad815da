"""Files that have a fault beside their pixels, or samples that few have, are read."""

import struct
import zlib

import numpy as np
import pytest
import scipy.ndimage
import tifffile
from PIL import Image

import harness
import pngfile
import reference
import tiffbytes


# ---------------------------------------------------------------- faults beside the pixels

def test_tiles_listed_as_strips(tmp_path, rng):
    """StripOffsets and StripByteCounts in the place of TileOffsets and TileByteCounts, as old writers have it."""
    samples = rng.integers(0, 256, (40, 50, 3), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "in.tif", samples, photometric="rgb", tile=(16, 16), metadata=None)
    data = bytearray((tmp_path / "in.tif").read_bytes())
    at = struct.unpack_from("<I", data, 4)[0]
    entries = [bytes(data[at + 2 + 12 * i:at + 14 + 12 * i]) for i in range(struct.unpack_from("<H", data, at)[0])]
    names = {324: 273, 325: 279}
    entries = [struct.pack("<H", names.get(struct.unpack("<H", entry[:2])[0], struct.unpack("<H", entry[:2])[0])) + entry[2:]
               for entry in entries]
    data[at + 2:at + 2 + 12 * len(entries)] = b"".join(sorted(entries, key=lambda entry: struct.unpack("<H", entry[:2])))
    (tmp_path / "in.tif").write_bytes(data)
    harness.run(tmp_path / "in.tif", tmp_path / "out.tif")
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), samples)


def test_damaged_text(tmp_path, rng):
    samples = rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)
    data = pngfile.encode_png(samples, chunks=[pngfile.text_chunk("Author", "Nobody")])
    text = bytearray(pngfile.chunk_bytes(*pngfile.text_chunk("Title", "Boats")))
    text[-1] ^= 1
    (tmp_path / "in.png").write_bytes(data[:33] + text + data[33:])
    said = harness.run(tmp_path / "in.png", tmp_path / "out.png").err
    assert "warning: the chunk tEXt is damaged and left out" in said
    result = pngfile.read_png(tmp_path / "out.png")
    assert np.array_equal(result.samples, samples)
    assert "Title" not in result.texts() and result.texts()["Author"] == "Nobody"


def test_damaged_transparency_is_damage(tmp_path):
    data = pngfile.encode_png(np.zeros((4, 4, 1), np.uint8))
    chunk = bytearray(pngfile.chunk_bytes("tRNS", bytes(2)))
    chunk[-1] ^= 1
    (tmp_path / "in.png").write_bytes(data[:33] + chunk + data[33:])
    assert "tRNS: CRC error" in harness.run(tmp_path / "in.png", tmp_path / "out.png", status=1).err


def test_stack_of_imagej_in_one_directory(tmp_path, rng):
    """Never the first image alone, unless it is asked for."""
    stack = rng.integers(0, 256, (3, 20, 30), dtype=np.uint8)
    described = tiffbytes.gray(stack.reshape(60, 30)[:20], t270="ImageJ=1.54f\nimages=3\nslices=3\n")
    (tmp_path / "in.tif").write_bytes(tiffbytes.make(described))
    said = harness.run(tmp_path / "in.tif", tmp_path / "out.tif", status=1).err
    assert "an ImageJ stack of 3 images in one directory" in said and not (tmp_path / "out.tif").exists()
    harness.run(tmp_path / "in.tif", "--page", "1", tmp_path / "out.tif")
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), stack[0])


# ---------------------------------------------------------------- samples

def test_samples_of_few_bits_are_spoken_of(tmp_path):
    def said(name):
        return harness.run("-v", tmp_path / name, tmp_path / "out.tif").err
    for depth in (1, 2, 4, 8):
        pngfile.write_png(tmp_path / "gray.png", np.zeros((4, 4, 1), np.uint8), depth=depth)
        assert (f"{depth}-bit samples become 8 bit samples" in said("gray.png")) == (depth < 8)
        pngfile.write_png(tmp_path / "palette.png", np.zeros((4, 4, 1), np.uint8), depth=depth, colour_type=pngfile.PALETTE,
                          chunks=[pngfile.palette_chunk([[1, 2, 3], [4, 5, 6]])])
        assert f"{depth}-bit palette indices become 8 bit samples" in said("palette.png")
    tifffile.imwrite(tmp_path / "bits.tif", np.zeros((8, 8), bool), metadata=None)
    assert "1-bit samples become 8 bit samples" in said("bits.tif")
    for maxval, told in ((1, "1-bit samples become 8"), (255, None), (1023, "10-bit samples become 16"), (65535, None)):
        (tmp_path / "in.pgm").write_bytes(b"P5 1 1 %d\n" % maxval + bytes(1 + (maxval > 255)))
        assert told in said("in.pgm") if told else "-bit samples" not in said("in.pgm")


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_half_floats_stay_half_floats(tmp_path, rng, channels, compression):
    """Exactly without stages, and rounded to nearest with one."""
    samples = rng.uniform(-2, 2, (21, 37, channels)).astype(np.float16)
    harness.write_tiff(tmp_path / "in.tif", samples, compression=compression, extrasamples=["unspecified"] if channels % 2 == 0 else [])
    harness.run(tmp_path / "in.tif", "--compression", "none", tmp_path / "same.tif")
    same = harness.read_tiff(tmp_path / "same.tif")
    assert same.dtype == np.float16 and np.array_equal(same, samples)
    harness.run(tmp_path / "in.tif", "--invert", "--compression", "none", tmp_path / "out.tif")
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), (1 - samples.astype(np.float32)).astype(np.float16))
    harness.run(tmp_path / "in.tif", "--depth", "float", "--compression", "none", tmp_path / "float.tif")
    assert np.array_equal(harness.read_tiff(tmp_path / "float.tif"), samples.astype(np.float32))


@pytest.mark.parametrize("channels", [2, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_mask_is_a_channel_like_others(tmp_path, rng, channels, dtype):
    """Colour beside near infrared is not multiplied by it, nor is it called alpha."""
    samples = rng.integers(0, np.iinfo(dtype).max, (41, 53, channels), endpoint=True).astype(dtype)
    harness.write_tiff(tmp_path / "in.tif", samples, extrasamples=["unspecified"])
    harness.run(tmp_path / "in.tif", "--blur", "2", tmp_path / "out.tif")
    made = harness.read_tiff(tmp_path / "out.tif")
    assert made.dtype == dtype and int(harness.tiff_tags(tmp_path / "out.tif")[338][0]) == 0
    exact = scipy.ndimage.gaussian_filter(reference.to_float(samples), (2, 2, 0), mode="nearest", truncate=8)
    assert np.abs(reference.to_float(made) - exact).max() < 1 / np.iinfo(dtype).max + 2e-5
    said = harness.run(tmp_path / "in.tif", tmp_path / "out.png", status=1).err
    assert "PNG holds colour and alpha only, and the last channel of this picture is not alpha" in said and "write TIFF" in said
