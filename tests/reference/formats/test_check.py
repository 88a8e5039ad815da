"""--check names files with flipped bits, and no whole ones. Which bytes a checksum covers is known here from the formats' own readers."""

import io
import json
import random
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image

from harness import ROOT, generator, run, some
from pngfile import encode_png, resolution_chunk, text_chunk

COPIES = some(150, 1500)


def png(**options):
    samples = generator("check").integers(0, 256, (23, 31, 3)).astype(options.pop("type", np.uint8))
    return encode_png(samples, **options)


def deflate_tiff(**options):
    file = io.BytesIO()
    samples = generator("check").integers(0, 256, (50, 64, 3)).astype(np.uint8) // 16
    tifffile.imwrite(file, samples, compression="zlib", photometric="rgb", metadata=None, **options)
    return file.getvalue()


def strips(data):
    """Offsets of all bytes of strips or tiles."""
    with tifffile.TiffFile(io.BytesIO(data)) as tiff:
        return [at + i for page in tiff.pages for at, size in zip(page.dataoffsets, page.databytecounts) for i in range(size)]


def zlib_accepts(data, flipped):
    """True if zlib finds every strip complete and its Adler-32 right: nothing that is read has changed, or a checksum of 32 bits
    happens to be the same, as of one flip in some 3000 of these strips."""
    with tifffile.TiffFile(io.BytesIO(data)) as tiff:
        places = list(zip(tiff.pages[0].dataoffsets, tiff.pages[0].databytecounts))
    for at, size in places:
        stream = zlib.decompressobj()
        try:
            made = stream.decompress(flipped[at:at + size])
        except zlib.error:
            return False
        if not stream.eof or len(made) != len(zlib.decompress(data[at:at + size])):
            return False
    return True


def check_flips(folder, name, data, places, harmless=None):
    """Flips a bit in each of some copies. All are reported, except where `harmless` excuses a change."""
    chance = random.Random(str(generator("flips", name).integers(1 << 30)))
    stem, suffix = name.split(".")
    (folder / "in").mkdir()
    (folder / "in" / f"whole.{suffix}").write_bytes(data)
    copies = {}
    for i in range(COPIES):
        flipped = bytearray(data)
        flipped[chance.choice(places)] ^= 1 << chance.randrange(8)
        copies[f"{i}.{suffix}"] = bytes(flipped)
        (folder / "in" / f"{i}.{suffix}").write_bytes(flipped)
    run("--check", "-q", folder / "in", "--report", folder / "report", status=3)
    lines = [json.loads(line) for line in (folder / "report").read_text().splitlines()]
    passed = {line["input"].rsplit("/", 1)[1] for line in lines if line["status"] == "whole"}
    assert len(lines) == COPIES + 1
    assert f"whole.{suffix}" in passed
    missed = {copy for copy in passed - {f"whole.{suffix}"} if harmless is None or not harmless(copies[copy])}
    assert not missed, (stem, len(missed))
    assert not {line["input"] for line in lines if line["status"] == "decoded"}


@pytest.mark.parametrize("options", [{}, {"type": np.uint16, "depth": 16}, {"interlace": True},
                                     {"chunks": (text_chunk("Comment", "words"), resolution_chunk(100, 100))}], ids=str)
def test_every_bit_of_a_png_counts(tmp_path, options):
    """The checksums of chunks cover all but lengths and the signature, which are checked by themselves."""
    data = png(**options)
    check_flips(tmp_path, "a.png", data, range(len(data)))


@pytest.mark.parametrize("options", [{}, {"tile": (16, 32)}, {"predictor": 2}, {"rowsperstrip": 7}], ids=str)
def test_strips_of_deflate_count(tmp_path, options):
    data = deflate_tiff(**options)
    check_flips(tmp_path, "a.tif", data, strips(data), lambda flipped: zlib_accepts(data, flipped))


def test_coefficients_count(tmp_path):
    Image.fromarray(generator("check").integers(0, 256, (40, 50)).astype(np.uint8)).save(tmp_path / "a.png")
    run(tmp_path / "a.png", "--wavelet=2", tmp_path / "w.tif")
    data = (tmp_path / "w.tif").read_bytes()
    check_flips(tmp_path, "w.tif", data, strips(data))


def test_whole_files_pass(tmp_path):
    """The samples, and these in other forms."""
    run("--check", "-r", ROOT / "samples")
    for suffix in ("png", "tif", "jpg", "webp", "ppm", "pam", "pfm"):
        run(ROOT / "samples/photo.jpg", *(["--depth", "float"] if suffix == "pfm" else []), tmp_path / f"a.{suffix}")
    run(ROOT / "samples/photo.jpg", "--wavelet=2", "--compression", "best", tmp_path / "w.tif")
    said = run("--check", tmp_path).out.decode()
    assert said.count("\n") == 8 and "warning" not in said
    assert "w.tif: whole (Adler-32, CRC-32 of coefficients)" in said


def test_writes_nothing(tmp_path):
    (tmp_path / "a.png").write_bytes(png())
    run("--check", "a.png", cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_frames_and_missing_sums(tmp_path):
    """A frame of video counts once. A checksum that cannot be found was not compared."""
    (tmp_path / "film.y4m").write_bytes(b"YUV4MPEG2 W6 H4 F25:1 C420jpeg\n" + 5 * (b"FRAME\n" + bytes(36)))
    assert json.loads(run("--check", "film.y4m", "--report", "-", cwd=tmp_path).out)["pages"] == 5
    (tmp_path / "a.png").write_bytes(png())
    run("a.png", "--wavelet=2", "w.tif", cwd=tmp_path)
    data = (tmp_path / "w.tif").read_bytes()
    assert data.count(b"checksum of dual") == 1
    (tmp_path / "d.tif").write_bytes(data.replace(b"checksum of dual", b"checksum of Dual"))
    assert "CRC-32 of coefficients" in run("--check", "w.tif", cwd=tmp_path).out.decode()
    assert "CRC-32 of coefficients" not in run("--check", "d.tif", cwd=tmp_path).out.decode()


def test_bytes_after_a_jpeg(tmp_path):
    """They are counted up to the last one that is not 0. Further pictures belong to the file, and a thumbnail has an end marker, too."""
    picture, thumbnail = io.BytesIO(), io.BytesIO()
    image = Image.fromarray(generator("check").integers(0, 256, (23, 31, 3)).astype(np.uint8))
    image.resize((9, 7)).save(thumbnail, "JPEG")
    image.save(picture, "JPEG", exif=b"Exif\0\0" + thumbnail.getvalue())
    whole, noise = picture.getvalue(), generator("tail").integers(1, 256, 70000).astype(np.uint8).tobytes()
    tails = {"none": (b"", 0), "zeros": (bytes(70000), 0), "five": (b"abcde", 5), "many": (noise, 70000), "padded": (b"\0\0" + noise + bytes(9), 70002),
             "second": (bytes(7) + whole, 0), "second_and_more": (whole + noise + b"\0", 70000), "ends": (b"\xff\xd9" + bytes(66000) + b"\xff\xd9", 66004)}
    for name, (tail, _) in tails.items():
        (tmp_path / f"{name}.jpg").write_bytes(whole + tail)
    lines = run("--check", tmp_path).out.decode().splitlines()
    said = {line.rsplit("/", 1)[1].split(".")[0]: line for line in lines}
    for name, (_, count) in tails.items():
        assert ("bytes after its end" in said[name]) == (count > 0 and name != "second_and_more"), said[name]
        assert f"has {count} bytes after its end" in said[name] or count == 0 or name == "second_and_more"
        assert ("left out: further pictures" in said[name]) == name.startswith("second")
