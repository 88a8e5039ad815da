"""TIFFs whose tags are unusual: read as other programs read them, or refused with a line that says why."""
import io
import struct

import numpy as np
import pytest
import tifffile
from PIL import Image

import harness
import tiffbytes


def strip_of(picture, **options):
    """The compressed bytes that Pillow makes of a picture, as one strip, and the PhotometricInterpretation."""
    stream = io.BytesIO()
    picture.save(stream, "TIFF", **options)
    data = stream.getvalue()
    with tifffile.TiffFile(io.BytesIO(data)) as tiff:
        page = tiff.pages[0]
        assert len(page.dataoffsets) == 1
        return data[page.dataoffsets[0]:page.dataoffsets[0] + page.databytecounts[0]], page.photometric


def fax(rng, compression):
    """Runs of black and white, and the strip of the picture; True is white."""
    white = (rng.random((40, 200)).cumsum(axis=1) // 5 % 2).astype(bool)
    strip, photometric = strip_of(Image.fromarray(white), compression=compression)
    return white ^ (photometric == 1), strip


def base(width, height, bits, compression, **tags):
    samples = len(bits)
    return {256: width, 257: height, 258: bits, 259: [compression], 277: [samples], 278: height,
            **{int(name[1:]): value for name, value in tags.items()}}


# ---------------------------------------------------------------- no PhotometricInterpretation

@pytest.mark.parametrize("compression, number", [("group3", 3), ("group4", 4), ("tiff_ccitt", 2)])
def test_fax_without_photometric_is_min_is_white(tmp_path, rng, compression, number):
    white, strip = fax(rng, compression)
    (tmp_path / "in.tif").write_bytes(tiffbytes.make((base(200, 40, [1], number), [strip])))
    harness.run(tmp_path / "in.tif", tmp_path / "out.png")
    assert np.array_equal(harness.read_samples(tmp_path / "out.png")[..., 0] == 255, white)


def test_samples_without_photometric(tmp_path, rng):
    """One is gray, three RGB, four RGB with alpha; but four inks are CMYK."""
    for samples in (1, 3, 4):
        pixels = rng.integers(0, 256, (5, 7, samples), dtype=np.uint8)
        (tmp_path / "in.tif").write_bytes(tiffbytes.make((base(7, 5, [8] * samples, 1), [pixels.tobytes()])))
        harness.run(tmp_path / "in.tif", tmp_path / "out.png", "-y")
        assert np.array_equal(harness.read_samples(tmp_path / "out.png"), pixels)
    (tmp_path / "in.tif").write_bytes(tiffbytes.make((base(7, 5, [8] * 4, 1, t332=[1]), [pixels.tobytes()])))
    assert "is CMYK without a profile" in harness.run(tmp_path / "in.tif", tmp_path / "cmyk.png").err
    (tmp_path / "in.tif").write_bytes(tiffbytes.make((base(7, 5, [8] * 4, 1, t332=[1], t338=[2]), [pixels.tobytes()])))
    harness.run(tmp_path / "in.tif", tmp_path / "out.png", "-y")
    assert np.array_equal(harness.read_samples(tmp_path / "out.png"), pixels)


# ---------------------------------------------------------------- refused

GRAY = bytes(range(60)) * 2
REFUSED = {
    "planes in depth": (base(10, 6, [8], 1, t262=[1], t32997=2), GRAY, "pages of 2 layers in depth"),
    "a short palette": (base(10, 6, [8], 1, t262=[3], t320=list(range(3 * 200))), GRAY, "ColorMap does not have 2^8 entries"),
    "a long palette": (base(10, 6, [8], 1, t262=[3], t320=list(range(3 * 300))), GRAY, "ColorMap does not have 2^8 entries"),
    "a palette of nothing": (base(10, 6, [8], 1, t262=[3]), GRAY, "ColorMap does not have 2^8 entries"),
    "a short palette of 4 bits": (base(10, 6, [4], 1, t262=[3], t320=list(range(30))), GRAY, "olor"),
    "a fax of three samples": (base(8, 6, [1] * 3, 4, t262=[2]), GRAY, "fax compression of 3 samples a pixel"),
    "a predictor of nothing": (base(10, 6, [8], 1, t262=[1], t317=[2]), GRAY, "a predictor with this compression"),
    "a predictor of PackBits": (base(10, 6, [8], 32773, t262=[1], t317=[2]), b"\x3b" + GRAY[:60], "a predictor with this compression"),
}


@pytest.mark.parametrize("kind", list(REFUSED))
def test_refused(tmp_path, kind):
    tags, strip, says = REFUSED[kind]
    (tmp_path / "in.tif").write_bytes(tiffbytes.make((tags, [strip])))
    said = harness.run("in.tif", "out.png", cwd=tmp_path, status=1).err
    assert said.startswith("climg: in.tif: ") and said.count("\n") == 1 and says in said, said
    assert [each.name for each in tmp_path.iterdir()] == ["in.tif"]


# ---------------------------------------------------------------- read, as every program does

def pack_bits(rows):
    """Each row by itself, as literals."""
    return b"".join(bytes([len(row) - 1]) + row.tobytes() for row in rows)


@pytest.mark.parametrize("separate", [False, True])
def test_tiles_that_end_with_the_picture(tmp_path, rng, separate):
    """PackBits of GDAL's tests: the lowest tiles have as many rows as the picture has there."""
    height, width, tile = 41, 40, 16
    pixels = rng.integers(0, 256, (height, 48, 3), dtype=np.uint8)
    planes = [pixels[..., i] for i in range(3)] if separate else [pixels.reshape(height, -1)]
    across = tile * (1 if separate else 3)
    tiles = [pack_bits(plane[y:y + tile, x:x + across]) for plane in planes
             for y in range(0, height, tile) for x in range(0, plane.shape[1], across)]
    tags = base(width, height, [8] * 3, 32773, t262=[2], t284=[2 if separate else 1], t322=tile, t323=tile)
    del tags[278]
    (tmp_path / "in.tif").write_bytes(tiffbytes.make((tags, tiles)))
    harness.run(tmp_path / "in.tif", tmp_path / "out.png")
    assert np.array_equal(harness.read_samples(tmp_path / "out.png"), pixels[:, :width])


END_OF_LINE, LINE = "000000000001", "0111" + "10" + "1000"  # two pixels of white, three of black, three of white
BROKEN_LINES = {"too short": "0111" + "10", "too long": "0111" + "10" + "10011", "no code": "0111" + "00000000011" + "1000"}


def fax_of(lines, height=None, strips=1):
    """A file of lines of T.4's codes, eight pixels each."""
    bits = "".join(END_OF_LINE + line for line in lines) + END_OF_LINE
    strip = int(bits.ljust(-(-len(bits) // 8) * 8, "0"), 2).to_bytes(-(-len(bits) // 8), "big")
    height = height or len(lines)
    return tiffbytes.make((base(8, height * strips, [1], 3, t262=[0]) | {278: height}, [strip] * strips))


@pytest.mark.parametrize("kind", list(BROKEN_LINES))
def test_fax_with_a_broken_line(tmp_path, kind):
    """The readable part of the line and its neighbours are kept; a missing line is damage."""
    lines = [LINE] * 5 + [BROKEN_LINES[kind]] + [LINE] * 5
    (tmp_path / "in.tif").write_bytes(fax_of(lines))
    assert "has broken lines of a fax" in harness.run("in.tif", "out.png", cwd=tmp_path).err
    shown = harness.read_samples(tmp_path / "out.png")[..., 0]
    assert all((shown[y] == [255, 255, 0, 0, 0, 255, 255, 255]).all() for y in range(11) if y != 5)
    (tmp_path / "cut.tif").write_bytes(fax_of(lines, height=20))
    assert "damaged TIFF: " in harness.run("cut.tif", "cut.png", cwd=tmp_path, status=1).err


def test_broken_lines_are_told(tmp_path):
    """Several files, and strips that several threads decode."""
    lines = [LINE] * 5 + [BROKEN_LINES["too short"]] + [LINE] * 5
    (tmp_path / "in").mkdir()
    for name in ("a.tif", "b.tif"):
        (tmp_path / "in" / name).write_bytes(fax_of(lines))
    assert harness.run("in", "out/", cwd=tmp_path).err.count("has broken lines of a fax") == 2
    (tmp_path / "large.tif").write_bytes(fax_of(lines * 1000, strips=100))
    for jobs in (1, 3):
        assert "has broken lines of a fax" in harness.run("large.tif", "-j", jobs, "out.png", "-y", cwd=tmp_path).err


def test_geokeys_are_as_many_as_they_say(tmp_path, rng):
    """RasterPixelIsPoint (1025: 2) stands behind the keys that are counted: tie points are of corners."""
    place = {"t33550": (12, [2.0, 2.0, 0.0]), "t33922": (12, [0.0, 0.0, 0.0, 5.0, 6.0, 0.0])}
    for count, corner in ((0, 0.0), (1, 0.5)):
        page = tiffbytes.gray(rng.integers(0, 256, (6, 8), dtype=np.uint8), t34735=[1, 1, 0, count, 1025, 0, 1, 2], **place)
        (tmp_path / "in.tif").write_bytes(tiffbytes.make(page))
        harness.run("in.tif", "--scale", "2", "out.tif", "-y", cwd=tmp_path)
        tags = harness.tiff_tags(tmp_path / "out.tif")
        assert tags[33550][:2] == (1.0, 1.0) and tags[33922] == pytest.approx((corner, corner, 0, 5, 6, 0))


# ---------------------------------------------------------------- written

def test_pages_of_unknown_number_are_a_bigtiff(tmp_path, rng):
    """They may be more than 4 GiB in all."""
    frames = b"".join(b"P6 30 20 255\n" + rng.bytes(1800) for _ in range(3))
    for pages, version in (([], 43), (["--page", "1"], 42), (["--page", "1-2"], 43)):
        harness.run("-", *pages, "out.tif", "-y", stdin=frames, cwd=tmp_path)
        assert struct.unpack_from("<H", (tmp_path / "out.tif").read_bytes(), 2)[0] == version
        assert len(tifffile.TiffFile(tmp_path / "out.tif").pages) == (3 if not pages else len(pages[1].split("-")))


# ---------------------------------------------------------------- raw files of cameras

def raw_file(path, maker, rng):
    """Cameras' layouts: a preview first, and the sensor's data in a SubIFD or in a later directory."""
    sensor, preview = rng.integers(0, 4096, (48, 64), dtype=np.uint16), rng.integers(0, 255, (12, 16, 3), dtype=np.uint8)
    cfa = [(33421, "H", 2, (2, 2), True), (33422, "B", 4, bytes([0, 1, 1, 2]), True)]
    dng = [(50706, "B", 4, bytes([1, 4, 0, 0]), True)]
    with tifffile.TiffWriter(path, byteorder=">" if maker == "PEF" else "<") as tiff:
        if maker == "PEF":  # the sensor first, then previews
            tiff.write(sensor, photometric=32803, metadata=None, extratags=cfa)
            tiff.write(preview, photometric="rgb", subfiletype=1, metadata=None)
        elif maker == "CR2":  # a preview of the whole picture, not marked as one; the sensor in the last directory
            tiff.write(preview, photometric="rgb", metadata=None)
            tiff.write(preview, photometric="rgb", metadata=None)
            tiff.write(sensor, photometric="minisblack", metadata=None, extratags=[(50752, "H", 3, (1, 32, 32), True)])
        elif maker == "chained":
            tiff.write(preview, photometric="rgb", subfiletype=1, metadata=None)
            tiff.write(sensor, photometric=32803, metadata=None, extratags=cfa)
        else:
            tiff.write(preview, photometric="rgb", subfiletype=0 if maker == "ARW" else 1, subifds=1, metadata=None,
                       extratags=dng if "DNG" in maker else [])
            tiff.write(sensor if maker != "linear DNG" else np.dstack([sensor] * 3), metadata=None, extratags=cfa if maker in ("NEF", "DNG", "ARW") else [],
                       photometric={"linear DNG": 34892, "unknown": "minisblack"}.get(maker, 32803), subfiletype=0)
    if maker == "CR2":
        data = bytearray(path.read_bytes())
        first, = struct.unpack("<I", data[4:8])
        data[8:8] = b"CR\2\0" + bytes(4)
        data[4:8] = struct.pack("<I", first + 8)
        path.write_bytes(data)  # its other offsets are 8 bytes off: nothing but the head is looked at
    return preview


@pytest.mark.parametrize("maker", ["NEF", "DNG", "linear DNG", "ARW", "PEF", "CR2", "chained", "unknown"])
def test_raw_files_of_cameras_are_refused(tmp_path, rng, maker):
    """Whatever their name is, as what they show first is a preview. In a folder they are passed over by their names."""
    preview = raw_file(tmp_path / "photo.tif", maker, rng)
    result = harness.run(tmp_path / "photo.tif", tmp_path / "out.png", status=1)
    assert "climg does not read raw files of cameras" in result.err and "dcraw" in result.err and not (tmp_path / "out.png").exists()
    (tmp_path / "photos").mkdir()
    (tmp_path / "photo.tif").rename(tmp_path / "photos" / f"photo.{'nef' if maker in ('unknown', 'chained') else maker[-3:].lower()}")
    Image.fromarray(preview).save(tmp_path / "photos/photo.png")
    result = harness.run("-r", tmp_path / "photos", "--flip", "h", f"{tmp_path}/out/")
    assert "1 file is left out: " in result.err and [path.name for path in (tmp_path / "out").iterdir()] == ["photo.png"]


def test_pyramids_and_thumbnails_are_no_raw_files(tmp_path, rng):
    """A first directory of full size with smaller copies in SubIFDs, and a small first directory without any."""
    pixels = rng.integers(0, 255, (32, 48, 3), dtype=np.uint8)
    with tifffile.TiffWriter(tmp_path / "pyramid.tif") as tiff:
        tiff.write(pixels, photometric="rgb", subifds=1, metadata=None)
        tiff.write(pixels[::2, ::2], photometric="rgb", subfiletype=1, metadata=None)
    with tifffile.TiffWriter(tmp_path / "small.tif") as tiff:
        tiff.write(pixels, photometric="rgb", subfiletype=1, metadata=None)
    for name in ("pyramid", "small"):
        harness.run(tmp_path / f"{name}.tif", tmp_path / f"{name}.png")
        assert np.array_equal(harness.read_samples(tmp_path / f"{name}.png"), pixels)


def test_pictures_that_are_no_pages(tmp_path, rng):
    """Pictures of full size and masks are lost with a warning; smaller copies can be made again. Each warning is printed."""
    pixels = rng.integers(0, 255, (32, 48, 3), dtype=np.uint8)
    with tifffile.TiffWriter(tmp_path / "in.tif") as tiff:
        tiff.write(pixels, photometric="rgb", subifds=2, metadata=None)
        tiff.write(pixels[::2, ::2], photometric="rgb", subfiletype=1, metadata=None)
        tiff.write(pixels[::-1], photometric="rgb", metadata=None)
        tiff.write(pixels[..., 0] > 99, photometric="mask", subfiletype=4, metadata=None)
        tiff.write(pixels, photometric="rgb", subifds=1, metadata=None)
        tiff.write(pixels[::-1], photometric="rgb", metadata=None)
    assert "--in-place would lose the mask of transparency; write to another file" in \
        harness.run("--in-place", tmp_path / "in.tif", "--invert", status=1).err
    said = harness.run("-v", tmp_path / "in.tif", "--invert", tmp_path / "out.tif").err
    assert said.count("warning: has further pictures in SubIFDs, which are left out; has a mask of transparency, which is left out\n") == 1
    assert said.count("warning") == 1  # the second page repeats none
    assert "left out: smaller copies\n" in said
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif", key=[0, 1]), 255 - np.stack([pixels, pixels]))
    with tifffile.TiffWriter(tmp_path / "in.tif") as tiff:
        for subifds in (0, 1, 0, 0):  # the third one is that of the second
            tiff.write(pixels, photometric="rgb", subifds=subifds, metadata=None)
    assert "--in-place would lose the pictures in SubIFDs" in harness.run("--in-place", tmp_path / "in.tif", "--invert", status=1).err
    tifffile.imwrite(tmp_path / "none.tif", pixels, photometric="rgb", extratags=[(330, "I", 1, 0, True)])
    assert harness.run(tmp_path / "none.tif", "--invert", tmp_path / "out.tif").err == ""


@pytest.mark.parametrize("order", "<>")
def test_layers_of_photoshop(tmp_path, rng, order):
    """The flat picture is read. A flat file has other blocks, or no layer in its block."""
    def block(key, data):
        words = [b"8BIM", key] if order == ">" else [b"8BIM"[::-1], key[::-1]]
        return b"".join(words) + struct.pack(order + "I", len(data)) + data + bytes(-len(data) % 4)

    mask, layers = block(b"LMsk", b"12345"), block(b"Layr", struct.pack(order + "h", -2) + bytes(80))
    for data, lost in ((mask + layers, True), (layers, True), (block(b"Lr16", struct.pack(order + "h", 1) + bytes(80)), True),
                       (mask, False), (block(b"Layr", bytes(2)), False), (b"", False), (layers[:8], False), (b"x" * 40, False)):
        data = b"Adobe Photoshop Document Data Block\0" + data
        tifffile.imwrite(tmp_path / "in.tif", rng.integers(0, 255, (8, 9), np.uint8), byteorder=order, extratags=[(37724, 7, len(data), data, True)])
        before, err = (tmp_path / "in.tif").read_bytes(), harness.run("-y", tmp_path / "in.tif", "--invert", tmp_path / "out.tif").err
        assert err == (f"climg: {tmp_path}/in.tif: warning: has layers, which are left out\n" if lost else ""), data
        harness.run("--in-place", tmp_path / "in.tif", "--invert", status=1 if lost else 0)
        assert ((tmp_path / "in.tif").read_bytes() == before) == lost


@pytest.mark.parametrize("head", [b"FUJIFILMCCD-RAW 0201", b"\0\0\0\x18ftypcrx \0\0\0\1", b"IIRO\x08\0\0\0", b"IIU\0\x18\0\0\0", b"FOVb\0\0\3\0"])
def test_raw_files_that_are_no_tiffs(tmp_path, head):
    (tmp_path / "photo").write_bytes(head + bytes(100))
    assert "climg does not read raw files of cameras; convert it first, as with dcraw: dcraw -T" in \
        harness.run(tmp_path / "photo", tmp_path / "out.png", status=1).err


@pytest.mark.parametrize("codec, mode", [("jpeg", "RGB"), ("group3", "1"), ("group4", "1"), ("webp", "RGB")])
def test_no_predictor_is_named(tmp_path, codec, mode):
    """A Predictor of 1 means none, also where the compression cannot have another."""
    image = Image.effect_noise((64, 48), 50).convert(mode)
    image.save(tmp_path / "in.tif", compression=codec)
    data = (tmp_path / "in.tif").read_bytes()
    with tifffile.TiffFile(tmp_path / "in.tif") as tiff:
        page = tiff.pages[0]
        strips = [data[at:at + size] for at, size in zip(page.dataoffsets, page.databytecounts)]
        values = {tag.code: data[tag.valueoffset:tag.valueoffset + tag.valuebytecount] for tag in page.tags.values()}
        tags = {tag.code: (int(tag.dtype), list(struct.unpack(f"<{tag.count}{'HI'[tag.dtype - 3]}", values[tag.code])))
                for tag in page.tags.values() if tag.dtype in (3, 4) and tag.code not in (273, 279)}
    tables = {347: values[347]} if 347 in values else {}
    (tmp_path / "marked.tif").write_bytes(tiffbytes.make((tags | tables | {317: [1]}, strips)))
    for name in ("in", "marked"):
        harness.run(tmp_path / f"{name}.tif", tmp_path / f"{name}.png")
    assert np.array_equal(np.asarray(Image.open(tmp_path / "in.png")), np.asarray(Image.open(tmp_path / "marked.png")))
