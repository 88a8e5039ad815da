"""Chunks and tags that only one format has are kept where no stage makes them false, and named where they are lost."""

import resource
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

SOFTWARE, IPTC, NODATA, SCALE, TIE, KEYS = 305, 33723, 42113, 33550, 33922, 34735


def exiftool(path, *tags):
    """{tag: value} of a program that knows nothing of climg."""
    import json
    said = subprocess.run(["exiftool", "-j", "-n", *(f"-{tag}" for tag in tags), path], capture_output=True, check=True)
    return {key: value for key, value in json.loads(said.stdout)[0].items() if key != "SourceFile"}


# ---------------------------------------------------------------- PNG

CICP = [("cICP", bytes([9, 16, 0, 1]))]


@pytest.mark.parametrize("args, output, kept", [([], "out.png", CICP), (["--blur", "1"], "out.png", CICP), (["--strip"], "out.png", CICP),
                                                (["--gray"], "out.png", []), ([], "out.ppm", []), (["--wavelet", "--mosaic"], "out.png", CICP), (["--stack", "mean"], "out.png", CICP),
                                                (["--rotate", "9", "--stack", "max"], "out.png", CICP)])
def test_cicp(tmp_path, args, output, kept):
    """It says how values are shown, and stays while the colours do, also if alpha is added, as by --stack for pixels that no picture
    covers. TIFF, JPEG and WebP get a profile: test_profile.py."""
    pngfile.write_png(tmp_path / "in.png", np.zeros((8, 8, 3), np.uint8), chunks=CICP)
    said = harness.run("-v", tmp_path / "in.png", *args, tmp_path / output).err
    assert ("left out: cICP\n" in said) == (not kept)
    assert not kept or [chunk for chunk in pngfile.read_png(tmp_path / output).chunks if chunk[0] == "cICP"] == kept


def test_texts_keep_their_form(tmp_path):
    """Language, translated keyword, repeated keywords, compression."""
    long = "again and again " * 500
    chunks = [("iTXt", b"Title\0\0\0de\0Titel\0Boote"), ("iTXt", b"Title\0\0\0en\0\0Boats"), pngfile.text_chunk("Comment", "one"),
              pngfile.text_chunk("Comment", "two"), ("zTXt", b"Notes\0\0" + zlib.compress(long.encode())),
              ("iTXt", b"Remarks\0\1\0\0\0" + zlib.compress((long + "→").encode()))]
    pngfile.write_png(tmp_path / "in.png", np.zeros((4, 4, 1), np.uint8), chunks=chunks)
    harness.run(tmp_path / "in.png", "--blur", "1", tmp_path / "out.png")
    made = [chunk for chunk in pngfile.read_png(tmp_path / "out.png").chunks if chunk[0] in ("tEXt", "zTXt", "iTXt")]
    plain = [("iTXt", b"Title\0\0\0de\0Titel\0Boote"), ("iTXt", b"Title\0\0\0en\0\0Boats"), chunks[2], chunks[3]]
    assert [chunk for chunk in made if chunk in plain] == plain
    assert {name for name, data in made if data.startswith((b"Notes", b"Remarks"))} == {"zTXt", "iTXt"}
    assert all(len(data) < 500 for name, data in made)
    with Image.open(tmp_path / "out.png") as image:
        image.load()
        assert image.text["Notes"] == long and image.text["Remarks"] == long + "→"


def test_repeated_texts_by_way_of_tiff(tmp_path):
    chunks = [pngfile.text_chunk("Title", "one"), pngfile.text_chunk("Title", "two"), pngfile.text_chunk("Comment", "three")]
    pngfile.write_png(tmp_path / "in.png", np.zeros((4, 4, 1), np.uint8), chunks=chunks)
    harness.run(tmp_path / "in.png", tmp_path / "middle.tif")
    harness.run(tmp_path / "middle.tif", tmp_path / "out.png")
    made = [chunk for chunk in pngfile.read_png(tmp_path / "out.png").chunks if chunk[0] == "tEXt"]
    assert all(chunk in made for chunk in chunks)


def test_animation_is_said_to_lose_its_frames(tmp_path):
    chunks = [("acTL", struct.pack(">II", 2, 0))]
    pngfile.write_png(tmp_path / "in.png", np.zeros((4, 4, 1), np.uint8), chunks=chunks)
    assert "is an animation" in harness.run(tmp_path / "in.png", tmp_path / "out.png").err
    assert harness.run("-q", tmp_path / "in.png", tmp_path / "out.png").err == ""


@pytest.mark.parametrize("name, lost", [("in.png", "the animation"), ("in.webp", "the other frames")])
def test_animation_is_not_replaced_by_one_picture(tmp_path, name, lost):
    """Its frames are nowhere else. Without a change a WebP is copied whole."""
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
    before = (tmp_path / name).read_bytes()
    done = harness.run(name, "--invert", "--in-place", cwd=tmp_path, status=1)
    assert done.err.startswith(f"climg: {name}: --in-place would lose {lost}; write to another file")
    assert (tmp_path / name).read_bytes() == before
    if name == "in.webp":
        harness.run(name, "--in-place", cwd=tmp_path)
        assert (tmp_path / name).read_bytes() == before


def test_a_png_with_the_name_of_a_jpeg_keeps_its_samples(tmp_path):
    for name, words in (("in.jpg", []), ("in.webp", ["--invert"])):
        pngfile.write_png(tmp_path / name, np.zeros((4, 4, 1), np.uint8))
        before = (tmp_path / name).read_bytes()
        assert "--in-place would lose exact samples" in harness.run(name, "--in-place", *words, cwd=tmp_path, status=1).err
        assert (tmp_path / name).read_bytes() == before
    harness.run("in.webp", "--in-place", "--lossless", cwd=tmp_path)


def test_coefficients_are_not_replaced_by_a_mosaic(tmp_path, rng):
    """A stage that keeps coefficients, and one that the user wrote for a picture of them, do replace the file."""
    Image.fromarray(rng.integers(0, 256, (24, 20), np.uint8)).save(tmp_path / "in.png")
    harness.run("in.png", "--wavelet=2", "w.tif", cwd=tmp_path)
    before = (tmp_path / "w.tif").read_bytes()
    done = harness.run("w.tif", "--blur", "1", "--in-place", cwd=tmp_path, status=1)
    assert done.err.startswith("climg: w.tif: --in-place would lose the coefficients of a transform")
    assert (tmp_path / "w.tif").read_bytes() == before
    harness.run("w.tif", "--gain", "1:2", "--in-place", cwd=tmp_path)
    harness.run("w.tif", "--inverse-wavelet", "--in-place", cwd=tmp_path)
    assert Image.open(tmp_path / "w.tif").size == (20, 24)


def followed(tmp_path, tail):
    """Returns the messages on a PNG that ends in `tail`, as a file and as a pipe. The output is the first picture each time."""
    Image.fromarray(np.arange(48, dtype=np.uint8).reshape(6, 8)).save(tmp_path / "in.png")
    whole = (tmp_path / "in.png").read_bytes()
    (tmp_path / "two.png").write_bytes(whole + tail)
    said = [harness.run("--strip", "two.png", "a.png", cwd=tmp_path).err, harness.run("-f", "png", "-", "b.png", cwd=tmp_path, stdin=whole + tail).err]
    for name in ("a.png", "b.png"):
        assert (np.asarray(Image.open(tmp_path / name)) == np.asarray(Image.open(tmp_path / "in.png"))).all()
    return said


def test_a_second_picture_is_said_to_be_left_out(tmp_path):
    pngfile.write_png(tmp_path / "second.png", np.zeros((4, 4, 3), np.uint8))
    said = followed(tmp_path, (tmp_path / "second.png").read_bytes())
    what = "is followed by another picture, which is left out"
    assert said == [f"climg: two.png: warning: {what}\n", f"climg: standard input: warning: {what}\n"]
    assert harness.run("-q", "two.png", "c.png", cwd=tmp_path).err == ""
    assert "--in-place would lose the picture after the first one" in harness.run("-q", "two.png", "--in-place", cwd=tmp_path, status=1).err
    assert harness.run("two.png", "--wavelet", "d.tif", cwd=tmp_path).err == said[0]  # not an image, but from one


@pytest.mark.parametrize("tail", [b"", b"\n", bytes(4096), b"\x89PN", b"PK\x03\x04 of a program that hides here"])
def test_other_bytes_behind_the_end_are_no_matter(tmp_path, tail):
    assert followed(tmp_path, tail) == ["", ""]


@pytest.mark.parametrize("size, interlace", [(200, False), (4093, False), (4096, True)])  # streams take 4096 bytes of a pipe at once
def test_a_pipe_that_stays_open_is_not_waited_for(tmp_path, size, interlace):
    picture = np.zeros((4, 4, 3), np.uint8)
    bare = pngfile.encode_png(picture, interlace=interlace, chunks=[("tEXt", b"Comment\0")])
    whole = pngfile.encode_png(picture, interlace=interlace, chunks=[("tEXt", b"Comment\0" + b"x" * (size - len(bare)))])
    for tail, warns in (whole[:5], False), (whole, True):
        with subprocess.Popen([harness.CLIMG, "-", tmp_path / "out.png"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            run.stdin.write(whole + tail)
            run.stdin.flush()
            assert run.wait(timeout=60) == 0
            assert (b"is followed by another picture" in run.stderr.read()) == warns


def test_gamma_is_none_of_tiff(tmp_path):
    """TIFF has no gAMA; other than the usual one becomes a profile."""
    pngfile.write_png(tmp_path / "in.png", np.full((4, 4, 3), 100, np.uint8), chunks=[("gAMA", struct.pack(">I", 45455))])
    assert "left out: gAMA" in harness.run("-v", tmp_path / "in.png", tmp_path / "out.tif").err


def maker_note(at, name):
    """EXIF with a maker note of one text, whose offset counts from the start of EXIF (`at` bytes before it) or of the note (at=0)."""
    value = b"Owner of this\0"
    start = 26 + 18  # the note, behind two directories of one entry
    body = struct.pack("<HHHII", 1, 9, 2, len(value), at * start + len(name) + 18) + bytes(4) + value
    note = name + body
    return (b"II*\0" + struct.pack("<IHHHII", 8, 1, 34665, 4, 1, 26) + bytes(4) +
            struct.pack("<HHHII", 1, 37500, 7, len(note), start) + bytes(4) + note)


@pytest.mark.parametrize("at, name, stays", [(1, b"", False), (1, b"SONY DSC \0\0\0", False), (0, b"FUJIFILM\x0c\0\0\0", True), (0, b"Apple iOS\0\0\1II", True)])
def test_maker_notes_that_move(tmp_path, at, name, stays):
    """Offsets that count from the start of the file lead nowhere when EXIF stands elsewhere: such a note is left out, and named."""
    exif = maker_note(at, name)
    pngfile.write_png(tmp_path / "in.png", np.zeros((4, 4, 3), np.uint8), chunks=[("eXIf", exif)])
    harness.run(tmp_path / "in.png", tmp_path / "same.png")
    assert pngfile.read_png(tmp_path / "same.png").chunk("eXIf") == exif
    said = harness.run("-v", tmp_path / "in.png", tmp_path / "out.tif").err
    with Image.open(tmp_path / "out.tif") as image:
        assert image.getexif().get_ifd(34665).get(37500) == (name + exif[44 + len(name):] if stays else None)
    assert ("the maker note" in said) == (not stays)
    if stays:
        harness.run(tmp_path / "out.tif", tmp_path / "back.png")
        assert name + exif[44 + len(name):] in pngfile.read_png(tmp_path / "back.png").chunk("eXIf")


def test_maker_note_of_a_tiff(tmp_path):
    """Its EXIF moves wherever it is written."""
    note = struct.pack("<HHHII", 1, 9, 2, 14, 4000) + bytes(60)
    exif = struct.pack("<HHHII", 1, 37500, 7, len(note), 0) + bytes(4)
    tifffile.imwrite(tmp_path / "in.tif", np.zeros((4, 4), np.uint8), metadata=None, extratags=[(65000, "I", 1, 0xABCDEF, True)])
    data = (tmp_path / "in.tif").read_bytes().replace(struct.pack("<HHI", 65000, 4, 1), struct.pack("<HHI", 34665, 4, 1))  # tifffile of 2025 would not write it
    data += bytes(len(data) % 2)
    exif = exif[:10] + struct.pack("<I", len(data) + len(exif)) + exif[14:]
    (tmp_path / "in.tif").write_bytes(data.replace(struct.pack("<I", 0xABCDEF), struct.pack("<I", len(data))) + exif + note)
    for name in ("out.tif", "out.png"):
        said = harness.run("-v", tmp_path / "in.tif", tmp_path / name).err
        with Image.open(tmp_path / name) as image:
            assert "the maker note" in said and 37500 not in image.getexif().get_ifd(34665)


# ---------------------------------------------------------------- TIFF

IPTC_DATA = b"\x1c\x02\x05\x00\x05Boats\x1c\x02\x50\x00\x06Nobody"
GEO = {SCALE: ("d", (10.0, 20.0, 0.0)), TIE: ("d", (4.0, 8.0, 0.0, 500000.0, 4000000.0, 0.0)),
       KEYS: ("H", (1, 1, 0, 1, 1025, 0, 1, 1)), 34737: ("s", "WGS 84|"), NODATA: ("s", "-9999")}


def write(path, tags, **options):
    extras = [(tag, kind, 0 if kind == "s" else len(value), value, True) for tag, (kind, value) in tags.items()]
    tifffile.imwrite(path, np.zeros((8, 8, 3), np.uint8), photometric="rgb", metadata=None, extratags=extras, **options)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("big", [False, True])
def test_tags_are_kept(tmp_path, order, big):
    tags = {**GEO, 316: ("s", "host")}
    write(tmp_path / "in.tif", tags, byteorder=order, bigtiff=big)
    harness.run(tmp_path / "in.tif", "--blur", "1", tmp_path / "out.tif")
    made = harness.tiff_tags(tmp_path / "out.tif")
    assert {tag: made[tag] for tag in tags} == {tag: value for tag, (_, value) in tags.items()}


@pytest.mark.parametrize("kind", ["B", "I"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_iptc_is_kept(tmp_path, kind, order):
    data = IPTC_DATA + bytes(-len(IPTC_DATA) % 4)
    value = tuple(data) if kind == "B" else struct.unpack(f"{order}{len(data) // 4}I", data)
    write(tmp_path / "in.tif", {IPTC: (kind, value)}, byteorder=order)
    harness.run(tmp_path / "in.tif", "--scale", "1/2", tmp_path / "out.tif")
    assert exiftool(tmp_path / "out.tif", "IPTC:all") == {"ObjectName": "Boats", "By-line": "Nobody"}


@pytest.mark.parametrize("order, kept", [("<", True), (">", False)])
def test_metadata_of_imagej(tmp_path, rng, order, kept):
    """Characters and ranges in it have the byte order of the file: it is kept where that stays, and else named."""
    said = {"Info": "seen", "Labels": ["one", "zwölf", "3"], "Ranges": (0.5, 100.25), "ROI": bytes(range(40)), "Overlays": [b"Iout", b"more"],
            "LUTs": [rng.integers(0, 256, (3, 256)).astype(np.uint8)]}
    tifffile.imwrite(tmp_path / "in.tif", np.zeros((3, 8, 8), np.uint8), imagej=True, byteorder=order, metadata={"axes": "ZYX", **said})
    named = harness.run("-v", tmp_path / "in.tif", "--blur", "1", tmp_path / "out.tif").err
    with tifffile.TiffFile(tmp_path / "in.tif") as before, tifffile.TiffFile(tmp_path / "out.tif") as after:
        was, made = before.imagej_metadata, after.imagej_metadata
        assert all(np.array_equal(made[key], was[key]) for key in said) if kept else not set(said) & set(made)
    assert ("left out: ImageJ's metadata\n" in named) == (not kept)


@pytest.mark.parametrize("said, kept", [(b"Maker\0Editor\0", "Maker\nEditor"), (b"Maker\0", "Maker"), (b"Maker\0\0\0", "Maker"), (b"\0\0", None), (b"A\0", "A"),
                                        (b"Ren\xe9\0B", "Ren\u00e9\nB")])
def test_both_parts_of_a_copyright_are_kept(tmp_path, said, kept):
    """EXIF has the photographer's and the editor's in one tag; in a PNG's eXIf they stay as they are."""
    write(tmp_path / "in.tif", {33432: ("B", said)})
    data = (tmp_path / "in.tif").read_bytes()
    (tmp_path / "in.tif").write_bytes(data.replace(struct.pack("<HH", 33432, 1), struct.pack("<HH", 33432, 2), 1))
    harness.run(tmp_path / "in.tif", tmp_path / "out.png")
    assert pngfile.read_png(tmp_path / "out.png").texts().get("Copyright") == kept
    value = said + bytes(-len(said) % 4)
    entry = struct.pack("<HHI", 33432, 2, len(said)) + (value if len(said) <= 4 else struct.pack("<I", 26))
    exif = b"II*\0\x08\0\0\0\1\0" + entry + bytes(4) + value
    pngfile.write_png(tmp_path / "in.png", np.zeros((4, 4, 3), np.uint8), chunks=[("eXIf", exif)])
    harness.run(tmp_path / "in.png", tmp_path / "out.tif")
    with Image.open(tmp_path / "out.tif") as image:
        assert image.tag_v2.get(33432) == (kept if kept is None or kept.isascii() else said.decode("latin-1").replace("\0", "\n"))


def test_geotiff_is_not_of_a_mosaic(tmp_path):
    write(tmp_path / "in.tif", GEO)
    said = harness.run(tmp_path / "in.tif", "-v", "--wavelet=1", "--mosaic", tmp_path / "out.tif").err
    assert "GeoTIFF" in said.split("left out: ")[1] and "nodata" in said
    assert not set(GEO) & set(harness.tiff_tags(tmp_path / "out.tif"))


def test_nodata_is_of_the_samples(tmp_path):
    write(tmp_path / "in.tif", GEO)
    harness.run(tmp_path / "in.tif", "--depth", "float", tmp_path / "out.tif")
    made = harness.tiff_tags(tmp_path / "out.tif")
    assert NODATA not in made and made[TIE] == GEO[TIE][1]


def test_lost_tags_are_named(tmp_path):
    write(tmp_path / "in.tif", {**GEO, IPTC: ("B", tuple(IPTC_DATA))})
    said = harness.run(tmp_path / "in.tif", "-v", tmp_path / "out.png").err.split("left out: ")[1]
    assert "GeoTIFF" in said and "IPTC" in said and "GDAL's nodata" in said


def test_maker_is_named_beside_climg(tmp_path):
    """Also after a second run; and no tag is written that libtiff's tools do not know."""
    tifffile.imwrite(tmp_path / "in.tif", np.zeros((8, 8), np.uint8), software="Scanner 3", metadata=None)
    harness.run(tmp_path / "in.tif", "--invert", tmp_path / "one.tif")
    harness.run(tmp_path / "one.tif", "--blur", "2", tmp_path / "two.tif")
    made = harness.tiff_tags(tmp_path / "two.tif")
    assert made[SOFTWARE].startswith("Scanner 3; climg ") and "--blur=2" in made[SOFTWARE]
    assert "--invert" not in made[SOFTWARE] and 42112 not in made


def test_what_no_format_keeps_is_named(tmp_path):
    """In TIFF: the page's name, tags by their names or numbers, a profile of other colours."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    profile[16:20] = b"CMYK"
    extras = [(285, "s", 0, "first", True), (65000, "H", 1, 7, True), (286, "f", 1, 1.5, True), (34675, "B", len(profile), tuple(profile), True)]
    tifffile.imwrite(tmp_path / "in.tif", np.zeros((8, 8), np.uint8), metadata=None, extratags=extras)
    said = harness.run(tmp_path / "in.tif", "-v", tmp_path / "out.png").err.split("left out: ")[1]
    assert all(name in said for name in ("the page's name", "tag 65000", "XPosition", "the ICC profile, which is damaged or of other colours"))
    said = harness.run(tmp_path / "in.tif", "-v", tmp_path / "out.tif").err.split("left out: ")[1]
    assert "tag 65000" in said and "XPosition" in said and "name" not in said and "profile" not in said
    tifffile.imwrite(tmp_path / "in.tif", np.zeros((8, 8), np.uint8))
    assert "left out" not in harness.run(tmp_path / "in.tif", "-v", tmp_path / "out.tif").err


def test_keywords_that_png_cannot_write_are_named(tmp_path):
    """Latin-1 of 1 to 79 characters; a long one is not cut off within a character."""
    keys = {"K\xfcnstler": True, "\u043a\u043b\u044e\u0447": False, "k" * 79: True, "k" * 80: False, "\xe9" * 79: True, "\xe9" * 80: False, " ": False,
            "a" + "\u20ac" * 30: False}
    items = "".join(f'<Item name="{key}">{i}</Item>' for i, key in enumerate(keys))
    xml = f"<GDALMetadata>{items}</GDALMetadata>".encode()
    tifffile.imwrite(tmp_path / "in.tif", np.zeros((8, 8), np.uint8), metadata=None, extratags=[(42112, 2, len(xml) + 1, xml + b"\0", True)])
    said = harness.run(tmp_path / "in.tif", "-v", tmp_path / "out.png").err.split("left out: ")[1].splitlines()[0]
    texts = pngfile.read_png(tmp_path / "out.png").texts()
    assert {key: texts.get(key) for key in keys} == {key: str(i) if held else None for i, (key, held) in enumerate(keys.items())}
    shown = [key if len(key.encode()) <= 40 else key.encode()[:40].decode(errors="ignore") + "..." for key, held in keys.items() if not held]
    assert said == ", ".join(f'the text "{key}"' for key in shown)


def test_what_netpbm_does_not_keep_is_named(tmp_path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    exif = Image.Exif()
    exif[274] = 6
    chunks = [("gAMA", struct.pack(">I", 50000)), pngfile.icc_chunk(profile), pngfile.resolution_chunk(1000, 1000), ("eXIf", exif.tobytes()[6:]),
              pngfile.text_chunk("Title", "Boats"), *CICP]
    pngfile.write_png(tmp_path / "in.png", np.zeros((8, 8, 3), np.uint8), chunks=chunks)
    said = harness.run(tmp_path / "in.png", "-v", tmp_path / "out.ppm").err.split("left out: ")[1]
    assert all(name in said for name in ("the ICC profile", "EXIF", "the resolution", "the orientation", "the colour space", "texts", "cICP"))


SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


@pytest.mark.some(3)
@pytest.mark.parametrize("channels, chunk, named", [
    (1, pngfile.icc_chunk(SRGB), "the ICC profile, which is damaged or of other colours"), (3, pngfile.icc_chunk(SRGB), None),
    (3, pngfile.icc_chunk(SRGB[:-7]), "the ICC profile, which is damaged or of other colours"), (3, ("eXIf", b"Exif\0\0MM\0*"), "EXIF, which is damaged"),
    (3, ("pHYs", bytes(8)), "the resolution, which is damaged"), (3, ("sPLT", b"name\0\x08" + bytes(12)), "sPLT"),
    (1, ("zTXt", b"key\0\0garbage"), "texts that are damaged or too many"), (1, ("tEXt", b"key\0value"), None)],
                         ids=lambda value: value[0] if isinstance(value, tuple) else str(value)[:12])  # a profile has the time in it
def test_damaged_chunks_are_named(tmp_path, channels, chunk, named):
    pngfile.write_png(tmp_path / "in.png", np.zeros((8, 8, channels), np.uint8), chunks=[chunk])
    said = harness.run(tmp_path / "in.png", "-v", tmp_path / "out.tif").err
    assert said.split("left out: ")[1].splitlines()[0] == named if named else "left out" not in said


# ---------------------------------------------------------------- bounds

def processor_seconds():
    """Returns the processor time of all child processes that have ended: other load of the machine adds little."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_pointers_that_loop(tmp_path):
    """4,096 entries that all point to a directory of 4,096 entries: each kind of pointer is followed once."""
    count = 4096
    tags = [(256, 4), (257, 4), (258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, 4), (279, 16)]
    fields = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    loops = struct.pack("<HHII", 34665, 4, 1, 24) * (count - len(tags))
    data = b"II*\0" + struct.pack("<I", 24) + bytes(16) + struct.pack("<H", count) + fields + loops + bytes(4)
    (tmp_path / "in.tif").write_bytes(data)
    before = processor_seconds()
    harness.run(tmp_path / "in.tif", tmp_path / "out.png")
    assert processor_seconds() - before < 30 and (tmp_path / "out.png").stat().st_size < 10 * len(data)


def test_many_items(tmp_path):
    """80,000 items took 15 seconds; a thousand texts are kept, and that others are not is said."""
    xml = "<GDALMetadata>" + "".join(f'<Item name="k{i}">v</Item>' for i in range(80000)) + "</GDALMetadata>"
    write(tmp_path / "in.tif", {42112: ("s", xml)})
    before = processor_seconds()
    said = harness.run(tmp_path / "in.tif", "-v", tmp_path / "out.png").err
    assert processor_seconds() - before < 10
    assert "texts beyond the limit" in said
    assert len(pngfile.read_png(tmp_path / "out.png").texts()) in (1024, 1025)


@pytest.mark.parametrize("nodata, expected", [("-1.7976931348623157e+308", "-inf"), ("1e300", "inf"), ("-9999", "-9999"), ("nan", "nan")])
def test_nodata_of_doubles(tmp_path, nodata, expected):
    """Samples beyond the range of floats become infinite, and nodata with them."""
    samples = np.ones((4, 5))
    samples[2, 3] = float(nodata)
    tifffile.imwrite(tmp_path / "in.tif", samples, metadata=None, extratags=[(NODATA, "s", 0, nodata, True)])
    harness.run(tmp_path / "in.tif", tmp_path / "out.tif")
    assert harness.tiff_tags(tmp_path / "out.tif")[NODATA] == expected
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif") == float(expected), samples == float(nodata))


@pytest.mark.parametrize("names", [["a.png"], ["a.png", "b.jpg"]], ids=["one", "several"])
def test_in_place_keeps_the_format_of_the_name(tmp_path, names):
    for name in names:
        Image.new("RGB", (8, 8), "red").save(tmp_path / name)
    before = {name: (tmp_path / name).read_bytes() for name in names}
    done = harness.run(*names, "-f", "jpg", "--in-place", cwd=tmp_path, status=2)
    assert done.err == "climg: a.png: --in-place keeps this name, which is not JPEG's; name an output file or folder instead\n"
    assert {name: (tmp_path / name).read_bytes() for name in names} == before
    harness.run("a.png", "-f", "png", "--invert", "--in-place", cwd=tmp_path)
