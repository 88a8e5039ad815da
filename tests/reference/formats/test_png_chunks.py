"""Chunks of PNG that are foreign, damaged or made to harm: what becomes of them is the same with every libpng."""

import os
import re
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

import harness
import pngfile
from pngfile import chunk_bytes

SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
KINDS = {"plain": {}, "interlaced": {"interlace": True}, "few bits": {"depth": 4}}
LEFT_OUT = "left out, as it comes after the pixels: "


def with_chunks(folder, chunks, samples=None, behind=False, name="in.png", **options):
    data = pngfile.encode_png(np.zeros((8, 8, 3), np.uint8) if samples is None else samples, **options)
    at = len(data) - 12 if behind else 33
    (folder / name).write_bytes(data[:at] + b"".join(chunk_bytes(*chunk) for chunk in chunks) + data[at:])
    return folder / name


# ---------------------------------------------------------------- behind the pixels

@pytest.mark.parametrize("kind", list(KINDS))
def test_what_stands_behind_the_pixels_is_left_out(tmp_path, rng, kind):
    """It is named, EXIF without -v, too; a file and a pipe are read alike."""
    samples = rng.integers(0, 16, (21, 30, 1)).astype(np.uint8)
    exif = Image.Exif()
    exif[274] = 6
    chunks = [pngfile.text_chunk("Author", "Nobody"), ("zTXt", b"Notes\0\0damaged"), ("eXIf", exif.tobytes()[6:]), ("tIME", bytes(7))]
    path = with_chunks(tmp_path, chunks, samples, behind=True, **KINDS[kind])
    for args, data in ([path, "out.png"], None), (["-", "out.png"], path.read_bytes()):
        said = harness.run("-v", "--auto-orient", *args, cwd=tmp_path, stdin=data).err
        assert LEFT_OUT + "tEXt, zTXt, tIME\n" in said and "warning: has EXIF after its pixels, which is left out" in said
        made = pngfile.read_png(tmp_path / "out.png")
        assert np.array_equal(made.samples, samples * (17 if kind == "few bits" else 1)) and set(made.texts()) == {"Software"}


# ---------------------------------------------------------------- order and number

def test_chunk_before_the_header(tmp_path):
    data = pngfile.encode_png(np.zeros((8, 8, 3), np.uint8))
    for name, content in ("bKGD", bytes(6)), ("sBIT", bytes(3)), ("tEXt", b"k\0v"), ("PLTE", bytes(6)):
        (tmp_path / "in.png").write_bytes(data[:8] + chunk_bytes(name, content) + data[8:])
        assert f"damaged PNG: {name}: missing IHDR" in harness.run(tmp_path / "in.png", tmp_path / "out.png", status=1).err


@pytest.mark.parametrize("depth", [8, 16])
def test_transparent_colour_before_the_palette(tmp_path, rng, depth):
    """In RGB a palette says nothing of the pixels, wherever it stands."""
    samples = rng.integers(0, 3, (12, 19, 3)).astype(np.uint16 if depth == 16 else np.uint8)
    path = with_chunks(tmp_path, [("tRNS", struct.pack(">3H", 1, 2, 0)), pngfile.palette_chunk([[1, 2, 3]] * 4)], samples)
    harness.run(path, tmp_path / "out.tif")
    full = (1 << depth) - 1
    assert np.array_equal(harness.read_samples(tmp_path / "out.tif"), np.dstack([samples, np.where((samples == [1, 2, 0]).all(axis=2), 0, full)]))


@pytest.mark.parametrize("content", [b"", b"\1\2", bytes(3 * 5)], ids=["empty", "cut off", "too long"])
def test_palette_of_wrong_length(tmp_path, rng, content):
    """Values beyond the range of pixels are dropped."""
    samples = rng.integers(0, 4, (9, 9, 1)).astype(np.uint8)
    (tmp_path / "in.png").write_bytes(pngfile.encode_png(samples, depth=2, colour_type=pngfile.PALETTE, chunks=[("PLTE", content)]))
    whole = len(content) == 15
    done = harness.run(tmp_path / "in.png", tmp_path / "out.tif", status=0 if whole else 1)
    assert whole or "damaged PNG: PLTE: invalid length" in done.err


def test_the_first_of_two_counts(tmp_path):
    chunks = [("gAMA", struct.pack(">I", 50000)), pngfile.resolution_chunk(1000, 1000), pngfile.icc_chunk(SRGB), ("cICP", bytes([1, 13, 0, 1])), ("eXIf", b"MM\0*\0\0\0\x08\0\0\0\0\0\0")]
    other = [("gAMA", struct.pack(">I", 1)), pngfile.resolution_chunk(1, 1), pngfile.icc_chunk(SRGB[:-4]), ("cICP", bytes(4)), ("eXIf", b"MM\0*\0\0\0\x09\0\0\0\0\0\0")]
    path = with_chunks(tmp_path, chunks + other)
    said = harness.run("-v", path, tmp_path / "out.png").err
    made = pngfile.read_png(tmp_path / "out.png")
    assert "left out: " + ", ".join(f"a second {name}" for name, _ in chunks) + "\n" in said
    assert made.icc() == SRGB and all([data for name, data in made.chunks if name == chunk[0]] == [chunk[1]] for chunk in chunks if chunk[0] != "iCCP")


def test_other_chunks_are_named(tmp_path):
    """Chunks that show nothing, and cICP of a wrong length."""
    names = ["sCAL", "pCAL", "oFFs", "sPLT", "hIST", "sTER", "abCd", "sBIT", "bKGD", "tIME", "mDCV", "cLLI", "cICP"]
    said = harness.run("-v", with_chunks(tmp_path, [(name, bytes(9)) for name in names]), tmp_path / "out.png").err
    assert "left out: " + ", ".join(names) + "\n" in said and not {name for name, _ in pngfile.read_png(tmp_path / "out.png").chunks} & set(names)


# ---------------------------------------------------------------- profiles

def changed(at, data):
    return SRGB[:at] + data + SRGB[at + len(data):]


TAG = 132
PROFILES = {
    "whole": (SRGB, True), "padded": (SRGB + bytes(3), True), "cut off": (SRGB[:-7], False), "no header": (SRGB[:100], False),
    "longer than it is": (changed(0, struct.pack(">I", len(SRGB) + 4)), False), "shorter than its header": (changed(0, struct.pack(">I", 40)), False),
    "version 4 of odd length": (struct.pack(">I", len(SRGB) + 2) + b"lcms\x04" + SRGB[9:] + bytes(2), False),
    "unknown intent": (changed(64, b"\xff" * 4), False), "intent 65534": (changed(64, b"\0\0\xff\xfe"), True), "intent 65535": (changed(64, b"\0\0\xff\xff"), False),
    "no signature": (changed(36, b"ACSP"), False), "other white": (changed(68, bytes(12)), True), "gray": (changed(16, b"GRAY"), False), "inks": (changed(16, b"CMYK"), False),
    "link of devices": (changed(12, b"link"), False), "abstract": (changed(12, b"abst"), False), "named colours": (changed(12, b"nmcl"), True),
    "Lab": (changed(20, b"Lab "), True), "unknown connection": (changed(20, b"RGB "), False), "too many tags": (changed(128, struct.pack(">I", 99999)), False),
    "tags whose table wraps": (changed(128, struct.pack(">I", 357913942)), False),
    "tag outside": (changed(TAG + 4, struct.pack(">I", len(SRGB) + 1)), False), "tag too long": (changed(TAG + 8, struct.pack(">I", len(SRGB))), False),
    "tag that is not aligned": (changed(TAG + 4, struct.pack(">I", 241)), True)}


def test_profiles(tmp_path):
    """Metadata that libpng 1.6.39 to 1.6.48 rejects is left out and named, from a TIFF and from a PNG. libpng accepts the rest."""
    for name, (profile, _) in PROFILES.items():
        tifffile.imwrite(tmp_path / f"{name}, TIFF.tif", np.zeros((8, 8, 3), np.uint8), photometric="rgb", extratags=[(34675, 7, len(profile), profile, True)])
        with_chunks(tmp_path, [pngfile.icc_chunk(profile)], name=f"{name}, PNG.png")
    said = harness.run("-v", "-f", "png", *sorted(path.name for path in tmp_path.iterdir()), "out/", cwd=tmp_path).err
    for name, (profile, kept) in PROFILES.items():
        for source in f"{name}, TIFF.tif", f"{name}, PNG.png":
            made = tmp_path / "out" / (source[:-4] + ".png")
            assert pngfile.read_png(made).icc() == (profile[:len(SRGB)] if kept else None), source
            assert (f"{source}: metadata left out: the ICC profile, which is damaged or of other colours\n" in said) == (not kept), source
        libpng = subprocess.run(["pngtopnm", made], capture_output=True, check=True).stderr.decode()
        assert not re.search("iCCP: .*(too|length|invalid|not permitted|unexpected (DeviceLink|ICC)|outside profile)", libpng), (name, libpng)


def test_profile_that_cannot_be_unpacked_is_named(tmp_path):
    for content in b"name\0\0garbage", b"name\0\0" + zlib.compress(SRGB)[:-30], b"name\0\1" + zlib.compress(SRGB), b"name", b"":
        said = harness.run("-v", with_chunks(tmp_path, [("iCCP", content)]), tmp_path / "out.tif").err
        assert "left out: the ICC profile, which is damaged or of other colours\n" in said, content


# ---------------------------------------------------------------- texts

def test_texts_of_every_kind(tmp_path):
    """Keywords are corrected as the specification requires; warnings name the keywords that cannot be."""
    long = "once more " * 400
    chunks = [("zTXt", b"Notes\0\0" + zlib.compress(long.encode())), ("iTXt", "Comment\0\0\0de\0Bemerkung ü\0gesehen ÿ".encode()),
              ("iTXt", b"Packed\0\1\0\0\0" + zlib.compress("Łukasz".encode())), pngfile.text_chunk("Gr\xfc\xdfe", "caf\xe9"), pngfile.text_chunk("  two \n  words ", "x"),
              ("tEXt", b"Empty\0")]
    harness.run(with_chunks(tmp_path, chunks), tmp_path / "out.png")
    with Image.open(tmp_path / "out.png") as made:
        assert {key: str(text) for key, text in made.text.items() if key != "Software"} == {
            "Notes": long, "Comment": "gesehen ÿ", "Packed": "Łukasz", "Gr\xfc\xdfe": "caf\xe9", "two words": "x", "Empty": ""}
        assert (made.text["Comment"].lang, made.text["Comment"].tkey) == ("de", "Bemerkung ü")


def test_damaged_texts_are_named(tmp_path):
    for chunk in (("tEXt", b"key"), ("tEXt", b"\0value"), ("zTXt", b"key\0"), ("zTXt", b"key\0\1" + zlib.compress(b"v")), ("zTXt", b"key\0\0garbage"),
                  ("zTXt", b"key\0\0" + zlib.compress(b"value" * 99)[:-9]), ("iTXt", b"key\0\2\0\0\0v"), ("iTXt", b"key\0\1\1\0\0v"), ("iTXt", b"key\0\0\0de\0v")):
        said = harness.run("-v", with_chunks(tmp_path, [chunk, pngfile.text_chunk("Title", "Boats")]), tmp_path / "out.png").err
        assert "left out: texts that are damaged or too many\n" in said, chunk
        assert set(pngfile.read_png(tmp_path / "out.png").texts()) == {"Title", "Software"}, chunk


# ---------------------------------------------------------------- bounds

def bounded(*args):
    """Its status, its largest memory in MiB, and what it said; killed after 8 seconds of processor time. A process that is forked
    counts the memory of what forks it, so another one is in between."""
    script = ("import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], capture_output=True, text=True); "
              "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, done.stderr)")
    done = subprocess.run([sys.executable, "-c", script, "prlimit", "--cpu=8", harness.CLIMG, *args], capture_output=True, check=True, text=True)
    status, mebibytes, said = done.stdout.split(" ", 2)
    return int(status), float(mebibytes), said


def test_texts_are_bounded(tmp_path):
    """120 texts of 15 MiB in a file of 2 MB, 6 keywords of 15 MiB: they took 16 seconds and 2.6 GB."""
    packed = zlib.compress(bytes([65]) * (15 << 20), 9)
    bombs = {"zTXt": [("zTXt", b"k%d\0\0" % i + packed) for i in range(120)], "iCCP": [("iCCP", b"k\0\0" + packed)] * 120,
             "iTXt": [("iTXt", b"k%d\0\0\0de\0" % i + b"k" * (15 << 20) + b"\0v") for i in range(6)]}
    for name, chunks in bombs.items():
        path = with_chunks(tmp_path, chunks, name=f"{name}.png")
        status, mebibytes, said = bounded("-v", path, tmp_path / "out.png")
        assert status == 0 and mebibytes < 300 and "left out: " in said, (name, said, mebibytes)
        assert name == "iCCP" or "chunks beyond the limit" in said
    status, mebibytes, said = bounded("--memory-limit", "64M", tmp_path / "iTXt.png", tmp_path / "out.png")
    assert status == 1 and mebibytes < 100 + os.cpu_count() and "its metadata take more than --memory-limit leaves for them; raise it" in said


def test_texts_within_the_memory_limit_are_kept(tmp_path):
    for i in range(4):
        with_chunks(tmp_path, [pngfile.text_chunk("Comment", "x" * (1 << 20))], name=f"{i}.png")
    harness.run("--memory-limit", "64M", "-j", "4", *(f"{i}.png" for i in range(4)), "out/", cwd=tmp_path)
    assert all(len(pngfile.read_png(tmp_path / "out" / f"{i}.png").texts()["Comment"]) == 1 << 20 for i in range(4))


@pytest.mark.parametrize("kind", list(KINDS))
def test_surplus_image_data(tmp_path, rng, kind):
    """A stream of 32 GB behind the last row is not inflated; the rows are right, and it is said."""
    samples = rng.integers(0, 16, (21, 30, 1)).astype(np.uint8)
    chunks = pngfile.split_chunks(pngfile.encode_png(samples, **KINDS[kind]))
    stream = zlib.compressobj(9)
    data = stream.compress(zlib.decompress(chunks[1][1])) + stream.flush(zlib.Z_FULL_FLUSH)
    zeros = zlib.compressobj(9, zlib.DEFLATED, -15)
    megabytes = zeros.compress(bytes(16 << 20)) + zeros.flush(zlib.Z_FULL_FLUSH)
    (tmp_path / "in.png").write_bytes(pngfile.SIGNATURE + chunk_bytes(*chunks[0]) + chunk_bytes("IDAT", data) + 2000 * chunk_bytes("IDAT", megabytes)
                                      + chunk_bytes("IEND", b""))
    status, _, said = bounded(tmp_path / "in.png", tmp_path / "out.png")
    assert status == 0 and "warning: has more image data than its header says, which is left out" in said
    assert np.array_equal(pngfile.read_png(tmp_path / "out.png").samples, samples * (17 if kind == "few bits" else 1))


@pytest.mark.parametrize("kind", list(KINDS))
def test_chunks_of_one_byte(tmp_path, rng, kind):
    """Rows are right or there is an error: what bounds surplus data must not cut off rows."""
    for height, width in (3, 3000), (60, 3000), (2, 30000):
        samples = rng.integers(0, 16, (height, width, 1)).astype(np.uint8)
        chunks = pngfile.split_chunks(pngfile.encode_png(samples, **KINDS[kind]))
        ones = b"".join(chunk_bytes("IDAT", chunks[1][1][i:i + 1]) for i in range(len(chunks[1][1])))
        (tmp_path / "in.png").write_bytes(pngfile.SIGNATURE + chunk_bytes(*chunks[0]) + ones + chunk_bytes("IEND", b""))
        absurd = width == 30000 and kind != "plain"  # which libpng does not decode
        said = harness.run(tmp_path / "in.png", tmp_path / "out.png", status=int(absurd)).err
        assert "in chunks that are far too small" in said if absurd else said == ""
        if not absurd:
            assert np.array_equal(pngfile.read_png(tmp_path / "out.png").samples, samples * (17 if kind == "few bits" else 1))
