"""WebP's pixels against libwebp's own decoding and coding, as Pillow calls it, and its metadata byte for byte."""

import io
import json
import os
import struct
import subprocess

import numpy as np
import pytest
from PIL import Image, ImageCms

import harness
import jpegfile
import pngfile

XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF/></x:xmpmeta>'


def picture(rng, width, height, channels=3):
    y, x = np.mgrid[:height, :width]
    waves = 128 + 90 * np.sin(x[..., None] / 9 + y[..., None] / 7 + np.arange(channels)) + rng.normal(0, 8, (height, width, channels))
    return np.clip(waves, 0, 255).astype(np.uint8)


def encode(samples, **options):
    file = io.BytesIO()
    Image.fromarray(samples).save(file, "WEBP", **options)
    return file.getvalue()


def decode(data):
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image)


def chunks(data):
    """{name: data} of a whole file, the first of each name."""
    assert data[:4] == b"RIFF" and data[8:12] == b"WEBP" and struct.unpack("<I", data[4:8])[0] + 8 == len(data)
    found, at = {}, 12
    while at < len(data):
        name, size = struct.unpack("<4sI", data[at:at + 8])
        found.setdefault(name, data[at + 8:at + 8 + size])
        at += 8 + size + size % 2
    return found


def profile(space="sRGB"):
    return ImageCms.ImageCmsProfile(ImageCms.createProfile(space)).tobytes()


def exif(orientation):
    made = Image.Exif()
    made.update({0x010f: "Maker", 0x0112: orientation})
    return made.tobytes()


def three_bytes(*numbers):
    return b"".join(struct.pack("<I", number)[:3] for number in numbers)


def animation(samples, width, height, left=0, top=0):
    """A file of a single frame, on a canvas."""
    frame = three_bytes(left // 2, top // 2, samples.shape[1] - 1, samples.shape[0] - 1, 100) + b"\0" + encode(samples, lossless=True)[12:]
    body = b"WEBP" + b"".join(name + struct.pack("<I", len(data)) + data for name, data in (
        (b"VP8X", b"\2\0\0\0" + three_bytes(width - 1, height - 1)), (b"ANIM", bytes(6)), (b"ANMF", frame)))
    return b"RIFF" + struct.pack("<I", len(body)) + body


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_lossless_keeps_all(tmp_path, rng, channels):
    """Colours where alpha is 0, too; gray becomes RGB."""
    for width, height in ((1, 1), (7, 1), (97, 61), (300, 257)):
        samples = rng.integers(0, 256, (height, width, channels), np.uint8)
        if channels in (2, 4):
            samples[..., -1] *= rng.integers(0, 2, (height, width), np.uint8)
            samples[0, 0, -1] = 0
        pngfile.write_png(tmp_path / "in.png", samples)
        harness.run(tmp_path / "in.png", "--lossless", tmp_path / "a.webp")
        harness.run(tmp_path / "a.webp", tmp_path / "out.png")
        expected = samples if channels > 2 else np.concatenate([samples[..., [0, 0, 0]], samples[..., 1:]], -1)
        assert np.array_equal(pngfile.read_png(tmp_path / "out.png").samples, expected)
        assert np.array_equal(decode((tmp_path / "a.webp").read_bytes()), expected)


@pytest.mark.parametrize("channels", [3, 4])
def test_coded_as_by_libwebp(tmp_path, rng, channels):
    """The same pixels as Pillow's file has at the same quality; in slices, and however often, the same bytes."""
    samples = picture(rng, 211, 173, channels)
    pngfile.write_png(tmp_path / "in.png", samples)
    for quality in (1, 40, None, 95, 100):
        words = [] if quality is None else ["--quality", quality]
        harness.run(tmp_path / "in.png", *words, tmp_path / "out.webp")
        made = (tmp_path / "out.webp").read_bytes()
        assert np.array_equal(decode(made), decode(encode(samples, quality=quality or 80)))
        harness.run(tmp_path / "in.png", *words, "-j", 3, tmp_path / "again.webp", env={"CLIMG_SLICE": "16"})
        assert (tmp_path / "again.webp").read_bytes() == made
    harness.run(tmp_path / "in.png", "--compression", "best", tmp_path / "best.webp")
    assert np.array_equal(decode((tmp_path / "best.webp").read_bytes()), decode(encode(samples, quality=80, method=6)))


@pytest.mark.parametrize("options", [{"quality": 30}, {"quality": 90, "method": 0}, {"lossless": True}])
@pytest.mark.parametrize("channels", [3, 4])
def test_decoded_as_by_libwebp(tmp_path, rng, options, channels):
    for i, (width, height) in enumerate(((1, 1), (16, 16), (17, 33), (640, 600))):
        data = encode(rng.integers(0, 256, (height, width, channels), np.uint8), **options)
        (tmp_path / "in.webp").write_bytes(data)
        for env in ({}, {"CLIMG_SLICE": "7"}):
            harness.run(tmp_path / "in.webp", tmp_path / "out.ppm" if channels == 3 else tmp_path / "out.png", env=env)
        with Image.open(tmp_path / ("out.ppm" if channels == 3 else "out.png")) as made:
            assert np.array_equal(np.asarray(made), decode(data)), i


def test_lossless_stays_lossless(tmp_path, rng):
    samples = picture(rng, 60, 40)
    (tmp_path / "in.webp").write_bytes(encode(samples, lossless=True))
    harness.run(tmp_path / "in.webp", "--flip", "h", tmp_path / "out.webp")
    assert np.array_equal(decode((tmp_path / "out.webp").read_bytes()), samples[:, ::-1])
    harness.run(tmp_path / "in.webp", "--quality", 50, tmp_path / "lossy.webp")
    kinds = [json.loads(harness.run("--info=json", tmp_path / name).out)["compression"] for name in ("out.webp", "lossy.webp")]
    assert kinds == ["lossless", "lossy"]


def test_what_nothing_changes_is_copied(tmp_path, rng):
    frames = [Image.fromarray(picture(rng, 30, 20)) for _ in range(3)]
    frames[0].save(tmp_path / "in.webp", save_all=True, append_images=frames[1:])
    assert harness.run(tmp_path / "in.webp", tmp_path / "out.webp").err == ""
    assert (tmp_path / "out.webp").read_bytes() == (tmp_path / "in.webp").read_bytes()


def test_metadata_byte_for_byte(tmp_path, rng):
    """Of odd sizes, too; and the file is one that exiftool and file read."""
    icc, said = profile(), exif(1) + b"\0"
    (tmp_path / "in.webp").write_bytes(encode(picture(rng, 31, 21), icc_profile=icc, exif=said, xmp=XMP + b" "))
    for words in (["--lossless"], ["--quality", 70]):
        harness.run(tmp_path / "in.webp", *words, tmp_path / "out.webp")
        found = chunks((tmp_path / "out.webp").read_bytes())
        assert (found[b"ICCP"], found[b"EXIF"], found[b"XMP "]) == (icc, said.removeprefix(b"Exif\0\0"), XMP + b" ")
        assert list(found)[:2] == [b"VP8X", b"ICCP"] and found[b"VP8X"][0] == 0x2c
    words = subprocess.run(["exiftool", "-s3", "-Make", tmp_path / "out.webp"], capture_output=True, text=True, check=True).stdout
    assert words == "Maker\n"
    for name in ("out.png", "out.jpg", "out.tif"):
        harness.run(tmp_path / "out.webp", tmp_path / name)
        harness.run(tmp_path / name, "--lossless", tmp_path / "back.webp")
        back = chunks((tmp_path / "back.webp").read_bytes())
        assert (back[b"ICCP"], back[b"XMP "]) == (icc, XMP + b" "), name
    harness.run(tmp_path / "in.webp", "--strip", tmp_path / "out.webp")
    assert list(chunks((tmp_path / "out.webp").read_bytes())) == [b"VP8X", b"ICCP", b"VP8 "]


@pytest.mark.parametrize("kind, options", [(b"VP8 ", {"quality": 40}), (b"ALPH", {"quality": 40}), (b"VP8L", {"lossless": True})])
def test_strip_keeps_the_coding(tmp_path, rng, kind, options):
    """The chunks of the pixels stay byte for byte, and the orientation; damage is found."""
    whole = encode(picture(rng, 31, 21, 4 if kind == b"ALPH" else 3), exif=exif(6), xmp=XMP, **options)
    (tmp_path / "in.webp").write_bytes(whole + b"surplus")
    said = harness.run("-v", tmp_path / "in.webp", "--strip", tmp_path / "out.webp").err
    before, after = chunks(whole), chunks((tmp_path / "out.webp").read_bytes())
    assert kind in after and all(after.get(name) == before.get(name) for name in (b"VP8 ", b"ALPH", b"VP8L"))
    assert b"XMP " not in after and b"Maker" not in after[b"EXIF"] and "is written without being coded again" in said
    with Image.open(tmp_path / "out.webp") as made:
        assert made.getexif()[0x0112] == 6
    assert "is coded again, as its pixels move" in harness.run("-v", tmp_path / "in.webp", "--flip", "h", tmp_path / "flip.webp").err
    (tmp_path / "in.webp").write_bytes(whole[:len(whole) // 2])
    harness.run(tmp_path / "in.webp", "--strip", tmp_path / "no.webp", status=1)
    assert not (tmp_path / "no.webp").exists()


def test_alpha_with_metadata(tmp_path, rng):
    samples = picture(rng, 31, 21, 4)
    pngfile.write_png(tmp_path / "in.png", samples)
    (tmp_path / "xmp.webp").write_bytes(encode(samples, lossless=True, xmp=XMP))
    for words, name in ((["--lossless"], b"VP8L"), (["--quality", 60], b"ALPH")):
        harness.run(tmp_path / "xmp.webp", *words, tmp_path / "out.webp")
        found = chunks((tmp_path / "out.webp").read_bytes())
        assert name in found and found[b"VP8X"][0] == 0x14 and found[b"XMP "] == XMP
        assert decode((tmp_path / "out.webp").read_bytes()).shape == (21, 31, 4)


def test_orientation(tmp_path, rng):
    """It is kept, followed, and written where the input had no EXIF."""
    samples = picture(rng, 40, 24)
    (tmp_path / "in.webp").write_bytes(encode(samples, lossless=True, exif=exif(6)))
    assert json.loads(harness.run("--info=json", tmp_path / "in.webp").out)["orientation"] == 6
    harness.run(tmp_path / "in.webp", "--auto-orient", tmp_path / "turned.webp")
    with Image.open(tmp_path / "turned.webp") as made:
        assert np.array_equal(np.asarray(made), np.rot90(samples, -1)) and made.getexif().get(0x0112, 1) == 1
    harness.run(tmp_path / "in.webp", "--invert", tmp_path / "kept.webp")
    with Image.open(tmp_path / "kept.webp") as made:
        assert np.array_equal(np.asarray(made), 255 - samples) and made.getexif()[0x0112] == 6
    Image.fromarray(samples).save(tmp_path / "in.tif", tiffinfo={274: 8})
    harness.run(tmp_path / "in.tif", "--lossless", tmp_path / "tiff.webp")
    with Image.open(tmp_path / "tiff.webp") as made:
        assert made.getexif()[0x0112] == 8


def test_what_is_left_out_is_named(tmp_path, rng):
    Image.fromarray(picture(rng, 9, 9)[..., 0]).save(tmp_path / "in.tif", resolution=300, description="seen", icc_profile=profile("LAB"))
    said = harness.run(tmp_path / "in.tif", "-v", tmp_path / "out.webp").err
    assert "left out: the ICC profile, which is damaged or of other colours" in said
    assert 'the text "Description"' in said and "the resolution" in said
    harness.write_tiff(tmp_path / "deep.tif", rng.integers(0, 65536, (9, 9, 3), np.uint16))
    assert "16 bit samples become 8 bit, as WebP holds no more" in harness.run(tmp_path / "deep.tif", tmp_path / "out.webp").err


def test_animation(tmp_path, rng):
    """The first frame, on a transparent canvas if it is smaller."""
    frames = [Image.fromarray(picture(rng, 30, 20)) for _ in range(3)]
    frames[0].save(tmp_path / "in.webp", save_all=True, append_images=frames[1:], lossless=True)
    said = harness.run(tmp_path / "in.webp", tmp_path / "out.png").err
    assert said == f"climg: {tmp_path}/in.webp: warning: is an animation, of which only the first frame is read\n"
    assert np.array_equal(pngfile.read_png(tmp_path / "out.png").samples[..., :3], np.asarray(frames[0]))

    small = picture(rng, 10, 6)
    (tmp_path / "small.webp").write_bytes(animation(small, 30, 20, left=4, top=6))
    for env in ({}, {"CLIMG_SLICE": "5"}):
        harness.run(tmp_path / "small.webp", tmp_path / "out.png", env=env)
        expected = np.zeros((20, 30, 4), np.uint8)
        expected[6:12, 4:14] = np.dstack([small, np.full((6, 10), 255, np.uint8)])
        assert np.array_equal(pngfile.read_png(tmp_path / "out.png").samples, expected)


def test_cut_off(tmp_path, rng):
    """At 200 places. A message says how much was there; rows that are decoded are right."""
    kinds = [encode(picture(rng, 90, 120, channels), lossless=lossless, xmp=XMP, icc_profile=profile()) for channels in (3, 4) for lossless in (False, True)]
    (tmp_path / "in").mkdir()
    for i, size in enumerate(rng.integers(12, [len(kinds[i % 4]) for i in range(200)])):
        (tmp_path / "in" / f"{i:03}.webp").write_bytes(kinds[i % 4][:size])
    said = harness.run(tmp_path / "in", "-f", "png", tmp_path / "out", status=3 if any(tmp_path.glob("out/*")) else 1).err
    lines = [line for line in said.splitlines() if "damaged WebP" in line]
    assert len(lines) == 200 and not list((tmp_path / "out").glob("*"))
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "in").iterdir()}
    assert all(f"are missing in a file of {sizes[line.split(':')[1].split('/')[-1]]} bytes" in line or "are damaged or missing in" in line for line in lines)
    assert sum("; decoded " in line and "; decoded 0 of" not in line for line in lines) > 20


def test_flipped(tmp_path, rng):
    """At 200 places: what is decoded is what libwebp makes of it, in one piece."""
    kinds = [encode(picture(rng, 90, 120, channels), lossless=lossless, xmp=XMP, icc_profile=profile()) for channels in (3, 4) for lossless in (False, True)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "none.webp").write_bytes(b"no picture")
    for i in range(200):
        data = bytearray(kinds[i % 4])
        data[int(rng.integers(12, len(data) if i % 3 else 60))] ^= 1 << int(rng.integers(8))
        (tmp_path / "in" / f"{i:03}.webp").write_bytes(bytes(data))
    harness.run(tmp_path / "in", "-q", "-f", "png", tmp_path / "out", status=3)
    made = list((tmp_path / "out").iterdir())
    assert 50 < len(made)
    for path in made:
        try:
            expected = decode((tmp_path / "in" / f"{path.stem}.webp").read_bytes())
        except (OSError, ValueError, EOFError, RuntimeError):
            continue
        samples = pngfile.read_png(path).samples
        assert np.array_equal(samples[..., :3], expected[..., :3]), path.name


def test_pipes(tmp_path, rng):
    samples = picture(rng, 80, 60)
    data = encode(samples, lossless=True)
    made = harness.run("-", "--invert", "-f", "webp", "-", stdin=data).out
    assert np.array_equal(decode(made), 255 - samples)
    assert np.array_equal(decode(harness.run("-", "-f", "webp", stdin=data).out), samples)  # copied
    piped = subprocess.run([harness.CLIMG, "-", "-f", "webp", "--lossless"], input=harness.run("-", "-f", "png", stdin=data).out, capture_output=True, check=True)
    assert np.array_equal(decode(piped.stdout), samples)


def test_folders(tmp_path, rng):
    """By name and by content, below others, again with --resume, and next to RIFF files that are no pictures."""
    (tmp_path / "in" / "below").mkdir(parents=True)
    for name in ("a.webp", "below/b.WEBP", "no-extension"):
        (tmp_path / "in" / name).write_bytes(encode(picture(rng, 20, 30)))
    (tmp_path / "in" / "sound").write_bytes(b"RIFF\x24\0\0\0WAVEfmt ")
    said = harness.run("-r", tmp_path / "in", "--invert", "--resume", tmp_path / "out").err
    assert "failed" not in said
    assert sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file() and path.name != ".climg-done") == \
        ["a.webp", "below/b.WEBP", "no-extension"]
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.[wW]*")}
    harness.run("-r", tmp_path / "in", "--invert", "--resume", tmp_path / "out")
    assert times == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.[wW]*")}
    harness.run("-r", tmp_path / "in", "-f", "webp", "--scale", "1/2", tmp_path / "small")
    with Image.open(tmp_path / "small" / "no-extension.webp") as made:
        assert (made.format, made.size) == ("WEBP", (10, 15))


def test_limits(tmp_path, rng):
    (tmp_path / "in.webp").write_bytes(encode(picture(rng, 40, 30)))
    harness.run("--max-pixels", 1200, tmp_path / "in.webp", "--invert", tmp_path / "out.webp")
    said = harness.run("--max-pixels", 1199, tmp_path / "in.webp", "--invert", tmp_path / "out.webp", status=1).err
    assert "40x30 pixels are more than the limit of 1199; raise --max-pixels" in said
    (tmp_path / "huge.webp").write_bytes(animation(picture(rng, 4, 4), 65535, 65535))
    assert "raise --max-pixels" in harness.run(tmp_path / "huge.webp", tmp_path / "out.png", status=1).err
    assert "there is no page 2" in harness.run(tmp_path / "in.webp", "--page", 2, tmp_path / "out.png", status=1).err
    noise = encode(rng.integers(0, 256, (700, 700, 3), np.uint8), lossless=True)
    (tmp_path / "noise.webp").write_bytes(noise)
    assert "raise it" in harness.run("--memory-limit", len(noise), tmp_path / "noise.webp", tmp_path / "out.png", status=1).err


def test_longest_sides(tmp_path, rng):
    for width, height in ((16383, 1), (1, 16383)):
        samples = rng.integers(0, 256, (height, width, 3), np.uint8)
        pngfile.write_png(tmp_path / "in.png", samples)
        harness.run(tmp_path / "in.png", "--lossless", tmp_path / "out.webp")
        harness.run(tmp_path / "out.webp", "--invert", tmp_path / "out.png")
        assert np.array_equal(pngfile.read_png(tmp_path / "out.png").samples, 255 - samples)
    pngfile.write_png(tmp_path / "in.png", np.zeros((1, 16384, 3), np.uint8))
    said = harness.run(tmp_path / "in.png", tmp_path / "long.webp", status=1).err
    assert "WebP holds at most 16383 pixels along an axis; write PNG or TIFF" in said
    assert not os.path.exists(tmp_path / "long.webp")


def test_options(tmp_path, rng):
    pngfile.write_png(tmp_path / "in.png", picture(rng, 9, 9))
    for words, name, said in ((["--lossless"], "a.png", "--lossless means nothing in PNG"), (["--lossless"], "a.jpg", "--lossless means nothing in JPEG"),
                              (["--progressive"], "a.webp", "--progressive means nothing in WebP"),
                              (["--subsampling", "4:4:4"], "a.webp", "--subsampling means nothing in WebP"),
                              (["--lossless", "--quality", 9], "a.webp", "--lossless keeps all; leave --quality out"),
                              (["--depth", 16], "a.webp", "WebP does not hold 16 bit samples")):
        assert said in harness.run(tmp_path / "in.png", *words, tmp_path / name, status=2).err
    said = harness.run("--info", tmp_path / "in.png").out
    harness.run(tmp_path / "in.png", "--lossless", tmp_path / "a.webp")
    assert b"compression: lossless" in harness.run("--info", tmp_path / "a.webp").out


@pytest.mark.parametrize("name", ["in.jpg", "in.webp"])
def test_damaged_blobs_do_not_get_into_a_png(tmp_path, rng, name):
    """EXIF without a TIFF's header is left out, as PNG's eXIf is nothing else; XMP in Latin-1 becomes UTF-8, as an iTXt is."""
    xmp = "<x:xmpmeta xmlns:x='adobe:ns:meta/'>caf\xe9</x:xmpmeta>"
    Image.fromarray(picture(rng, 16, 16)).save(tmp_path / name, exif=b"Exif\0\0" + 4 * b"no EXIF ", xmp=xmp.encode("latin-1"))
    if name == "in.jpg":
        segment = (0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp.encode("latin-1"))
        (tmp_path / name).write_bytes(jpegfile.insert((tmp_path / name).read_bytes(), segment))
    assert "left out: EXIF, which is damaged" in harness.run("-v", tmp_path / name, tmp_path / "out.png").err
    chunks = dict(pngfile.split_chunks((tmp_path / "out.png").read_bytes()))
    assert "eXIf" not in chunks and chunks["iTXt"].decode().endswith(xmp)
