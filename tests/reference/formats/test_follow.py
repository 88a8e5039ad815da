"""Metadata on sizes, pages and places is true of the output of a chain."""

import os
import struct
import subprocess
import sys
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.ndimage
import tifffile
from PIL import Image

import harness
import pngfile

DESCRIPTION, EXIF_FOLDER, WIDTH_OF_EXIF, HEIGHT_OF_EXIF = 270, 34665, 40962, 40963


def noise(rng, *shape, dtype=np.uint8):
    return rng.integers(0, 256, shape).astype(dtype)


# ---------------------------------------------------------------- descriptions

@pytest.mark.parametrize("photometric, shape", [
    ("minisblack", (40, 60)), ("minisblack", (5, 40, 60)), ("minisblack", (2, 3, 40, 60)), ("rgb", (40, 60, 3)),
    ("rgb", (2, 40, 60, 3))])
@pytest.mark.parametrize("factor", ["1/2", "1"])
def test_shape_of_tifffile(tmp_path, rng, photometric, shape, factor):
    """It stays where it is true. Where it is not, tifffile.imread finds the pages by themselves: an axis of pages may become one."""
    tifffile.imwrite(tmp_path / "in.tif", noise(rng, *shape), photometric=photometric)
    said = harness.run("-v", tmp_path / "in.tif", *(["--blur", "1"] if factor == "1" else ["--scale", factor]), tmp_path / "out.tif").err
    made, pages = tifffile.imread(tmp_path / "out.tif"), np.stack(harness.read_pages(tmp_path / "out.tif"))
    assert np.array_equal(made.ravel(), pages.ravel())
    assert made.shape == shape if factor == "1" else made.shape == np.squeeze(pages).shape
    assert ("left out: tifffile's description" in said) == (factor != "1") == (DESCRIPTION not in harness.tiff_tags(tmp_path / "out.tif"))


def test_shape_of_separate_planes(tmp_path, rng):
    """climg interleaves samples, so the shape that tifffile wrote for planes is another."""
    samples = noise(rng, 3, 40, 60)
    tifffile.imwrite(tmp_path / "in.tif", samples, photometric="rgb", planarconfig="separate", metadata={"axes": "CYX"})
    harness.run(tmp_path / "in.tif", tmp_path / "out.tif")
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), np.moveaxis(samples, 0, 2))


@pytest.mark.parametrize("photometric, shape", [("separated", (3, 40, 60, 4)), ("palette", (3, 40, 60))])
def test_shape_of_other_channels(tmp_path, rng, photometric, shape):
    """CMYK and indices become RGB: by the shape of the input tifffile would find one page of three."""
    tables = {"colormap": rng.integers(0, 65536, (3, 256)).astype(np.uint16)} if photometric == "palette" else {}
    tifffile.imwrite(tmp_path / "in.tif", noise(rng, *shape), photometric=photometric, **tables)
    harness.run(tmp_path / "in.tif", tmp_path / "out.tif")
    assert DESCRIPTION not in harness.tiff_tags(tmp_path / "out.tif")
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), np.stack(harness.read_pages(tmp_path / "out.tif")))


def test_shape_of_one_page_of_many(tmp_path, rng):
    stack = noise(rng, 5, 40, 60)
    tifffile.imwrite(tmp_path / "in.tif", stack, photometric="minisblack", metadata={"name": "cells"})
    harness.run(tmp_path / "in.tif", "--page", "1", tmp_path / "out.tif")
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), stack[0])
    assert DESCRIPTION not in harness.tiff_tags(tmp_path / "out.tif")


def test_shape_that_is_very_long(tmp_path, rng):
    """A list of millions of numbers takes no memory for each."""
    text = '{"shape": [' + "1," * 7500000 + "40, 60]}"
    harness.write_tiff(tmp_path / "in.tif", noise(rng, 40, 60, 1), extratags=[(DESCRIPTION, "s", 0, text, True)])
    script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    said = subprocess.run([sys.executable, "-c", script, harness.CLIMG, tmp_path / "in.tif", tmp_path / "out.tif"], capture_output=True, check=True, text=True)
    assert int(said.stdout) < 350_000


def test_shape_that_stays_is_not_rewritten(tmp_path, rng):
    tifffile.imwrite(tmp_path / "in.tif", noise(rng, 40, 60), photometric="minisblack")
    harness.run(tmp_path / "in.tif", "--blur", "1", tmp_path / "out.tif")
    assert harness.tiff_tags(tmp_path / "out.tif")[DESCRIPTION] == harness.tiff_tags(tmp_path / "in.tif")[DESCRIPTION]


@pytest.mark.parametrize("shape", [(1, 1, 2), (5, 1, 1), (2, 3, 2)])
@pytest.mark.parametrize("stages", [[], ["--scale", "1/2"]])
def test_imagej(tmp_path, rng, shape, stages):
    """Axes and calibration survive: a pixel keeps what it measures, so there are half as many in a micrometre."""
    stack = noise(rng, *shape, 40, 60)
    tifffile.imwrite(tmp_path / "in.tif", stack, imagej=True, resolution=(4, 4),
                     metadata={"axes": "TZCYX", "unit": "um", "spacing": 3, "min": 1, "max": 200})
    harness.run(tmp_path / "in.tif", *stages, tmp_path / "out.tif")
    size = (20, 30) if stages else (40, 60)
    pages = np.stack(harness.read_pages(tmp_path / "out.tif"))
    made = tifffile.imread(tmp_path / "out.tif")
    assert made.shape == tuple(n for n in shape if n > 1) + size
    assert np.array_equal(made.ravel(), pages.ravel())
    with tifffile.TiffFile(tmp_path / "out.tif") as tiff:
        assert tiff.imagej_metadata["unit"] == "um" and tiff.imagej_metadata["spacing"] == 3
        assert tiff.pages[0].tags["XResolution"].value == ((2, 1) if stages else (4, 1))


def test_imagej_page_of_a_stack(tmp_path, rng):
    stack = noise(rng, 3, 40, 60)
    tifffile.imwrite(tmp_path / "in.tif", stack, imagej=True, metadata={"axes": "ZYX", "unit": "um"})
    harness.run(tmp_path / "in.tif", "--page", "1", "--depth", "16", tmp_path / "out.tif")
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), stack[0] * np.uint16(257))
    with tifffile.TiffFile(tmp_path / "out.tif") as tiff:
        assert tiff.imagej_metadata["unit"] == "um"
        assert not {"images", "slices", "hyperstack"} & set(tiff.imagej_metadata)


COMMENT = "<!-- Warning: this comment is an OME-XML metadata block, which contains crucial dimensional parameters -->"


@pytest.mark.some(4)
@pytest.mark.parametrize("comment", ["", COMMENT])
@pytest.mark.parametrize("options, stays", [
    ([], True), (["--blur", "1"], True), (["--scale", "1/2"], False), (["--rotate", "90"], False), (["--resize", "30x30,fit=cover"], False),
    (["--depth", "16"], False), (["--page", "1"], False), (["--wavelet=1", "--mosaic"], False)], ids=str)
def test_ome(tmp_path, rng, comment, options, stays):
    """Its sizes, types and numbers of pages match the file, or it is dropped. Bio-Formats has a comment before the root."""
    stack = noise(rng, 3, 40, 60)
    tifffile.imwrite(tmp_path / "plain.ome.tif", stack, photometric="minisblack", ome=True, metadata={"axes": "ZYX", "PhysicalSizeX": 0.25})
    said = harness.tiff_tags(tmp_path / "plain.ome.tif")[DESCRIPTION]
    text = said.replace("?>", "?>" + comment, 1).encode()
    with tifffile.TiffWriter(tmp_path / "in.ome.tif") as tiff:
        for k, page in enumerate(stack):
            tiff.write(page, photometric="minisblack", metadata=None, description=text if k == 0 else None)
    named = harness.run("-v", tmp_path / "in.ome.tif", *options, tmp_path / "out.ome.tif").err
    assert ("left out: the OME description" in named) == ("warning: loses its OME description" in named) == (not stays)
    tags = harness.tiff_tags(tmp_path / "out.ome.tif")
    assert (DESCRIPTION in tags) == stays
    if stays:
        assert tags[DESCRIPTION].encode() == text and tifffile.imread(tmp_path / "out.ome.tif").shape == stack.shape


# ---------------------------------------------------------------- resolution

@pytest.mark.parametrize("name", ["out.png", "out.tif"])
def test_print_size_is_kept(tmp_path, name):
    """300 dots an inch are 150 where there are half as many."""
    Image.new("RGB", (60, 40)).save(tmp_path / "in.tif", dpi=(300, 300))
    harness.run(tmp_path / "in.tif", "--scale", "1/2", tmp_path / name)
    with Image.open(tmp_path / name) as image:
        assert [round(float(n)) for n in image.info["dpi"]] == [150, 150]


def test_aspect_stays_an_aspect(tmp_path):
    pngfile.write_png(tmp_path / "in.png", np.zeros((8, 8, 1), np.uint8), chunks=[("pHYs", bytes([0, 0, 0, 4, 0, 0, 0, 3, 0]))])
    harness.run(tmp_path / "in.png", "--scale", "2", tmp_path / "out.png")
    assert pngfile.read_png(tmp_path / "out.png").resolution() == (4, 3, 0)


# ---------------------------------------------------------------- EXIF

def exif_with_thumbnail(thumbnail, tags=(513, 514)):
    """EXIF of a 60 by 40 picture of 300 dots an inch; `tags` say where the thumbnail lies and how long it is."""
    exif = Image.Exif()
    exif[256], exif[257], exif[271], exif[282], exif[283], exif[296] = 60, 40, "Maker", 300.0, 300.0, 2
    exif[EXIF_FOLDER] = {WIDTH_OF_EXIF: 60, HEIGHT_OF_EXIF: 40, 36867: "2020:02:29 12:34:56"}
    data = exif.tobytes()[6:]
    # Pillow 9 writes no second directory: it is put behind, and the first one's link set to it.
    at, end = int.from_bytes(data[4:8], "big"), len(data) + len(data) % 2
    link = at + 2 + 12 * int.from_bytes(data[at:at + 2], "big")
    assert data[:2] == b"MM"
    entries = [(tags[0], 4, end + 2 + 2 * 12 + 4), (tags[1], 4, len(thumbnail))]
    table = b"".join(tag.to_bytes(2, "big") + kind.to_bytes(2, "big") + (1).to_bytes(4, "big") +
                     value.to_bytes(4, "big") for tag, kind, value in entries)
    return (data[:link] + end.to_bytes(4, "big") + data[link + 4:] + b"\0" * (len(data) % 2) +
            (2).to_bytes(2, "big") + table + bytes(4) + thumbnail)


def thumbnail_of(path):
    """Returns exiftool's tags."""
    return subprocess.run(["exiftool", "-b", "-ThumbnailImage", path], capture_output=True, check=True).stdout


@pytest.fixture
def photo(tmp_path):
    thumbnail = b"\xff\xd8\xff\xdb" + bytes(range(200)) + b"\xff\xd9"
    pngfile.write_png(tmp_path / "in.png", np.zeros((40, 60, 3), np.uint8), chunks=[("eXIf", exif_with_thumbnail(thumbnail))])
    assert thumbnail_of(tmp_path / "in.png") == thumbnail
    return tmp_path / "in.png", thumbnail


def test_thumbnail_is_kept_without_stages(tmp_path, photo):
    path, thumbnail = photo
    harness.run(path, tmp_path / "out.png")
    assert thumbnail_of(tmp_path / "out.png") == thumbnail


def test_thumbnail_does_not_survive_a_stage(tmp_path, photo):
    """A face that was blurred must not be seen in the thumbnail; nor in bytes that nothing points to."""
    path, thumbnail = photo
    said = harness.run(path, "-v", "--blur", "2", tmp_path / "out.png").err
    assert said.split("left out: ")[1].splitlines()[0] == "the EXIF thumbnail"
    said = harness.run(path, "-v", "--blur", "2", tmp_path / "out.ppm").err
    assert "EXIF" in said.split("left out: ")[1].splitlines()[0].split(", ")  # not the thumbnail alone
    assert thumbnail_of(tmp_path / "out.png") == b""
    assert thumbnail[8:100] not in (tmp_path / "out.png").read_bytes()
    exif = Image.Exif()
    exif.load(pngfile.read_png(tmp_path / "out.png").chunk("eXIf"))
    assert exif[271] == "Maker" and exif.get_ifd(EXIF_FOLDER)[WIDTH_OF_EXIF] == 60


def test_thumbnail_that_is_not_compressed(tmp_path, rng):
    """Its strips are overwritten, too."""
    pixels = rng.integers(0, 256, 300).astype(np.uint8).tobytes()
    pngfile.write_png(tmp_path / "in.png", np.zeros((40, 60, 3), np.uint8), chunks=[("eXIf", exif_with_thumbnail(pixels, (273, 279)))])
    harness.run(tmp_path / "in.png", "--blur", "2", tmp_path / "out.png")
    exif = pngfile.read_png(tmp_path / "out.png").chunk("eXIf")
    assert b"Maker" in exif and not any(pixels[i:i + 8] in exif for i in range(len(pixels) - 8))


def test_exif_sizes_follow(tmp_path, photo):
    harness.run(photo[0], "--scale", "1/2", tmp_path / "out.png")
    exif = Image.Exif()
    exif.load(pngfile.read_png(tmp_path / "out.png").chunk("eXIf"))
    folder = exif.get_ifd(EXIF_FOLDER)
    assert (exif[256], exif[257], float(exif[282]), float(exif[283])) == (30, 20, 150, 150)
    assert (folder[WIDTH_OF_EXIF], folder[HEIGHT_OF_EXIF]) == (30, 20)
    assert folder[36867] == "2020:02:29 12:34:56"


@pytest.mark.parametrize("stages, kept", [(["--blur", "1"], True), (["--scale", "1/2"], False), (["--rotate", "90"], False), (["--align", "moved.png"], False)], ids=str)
@pytest.mark.parametrize("order", ["MM", "II"])
def test_place_of_the_subject(tmp_path, monkeypatch, rng, order, stages, kept):
    """Cameras say it in pixels. What stands beside it stays. --align moves pixels also if the size stays."""
    monkeypatch.chdir(tmp_path)
    scene = scipy.ndimage.gaussian_filter(noise(rng, 50, 70, 1), 2)
    scene = (scene - scene.min()) * (255 // (scene.max() - scene.min()))
    pngfile.write_png(tmp_path / "moved.png", scene[5:45, 3:63])
    exif = Image.Exif()
    exif.endian = ">" if order == "MM" else "<"
    exif[EXIF_FOLDER] = {36867: "2020:02:29 12:34:56", 37396: (48, 10, 20, 8), 41492: (48, 10), 42036: "lens"}
    pngfile.write_png(tmp_path / "in.png", scene[:40, :60], chunks=[("eXIf", exif.tobytes()[6:])])
    said = harness.run("-v", tmp_path / "in.png", *stages, tmp_path / "out.png").err
    exif = Image.Exif()
    exif.load(pngfile.read_png(tmp_path / "out.png").chunk("eXIf"))
    folder = exif.get_ifd(EXIF_FOLDER)
    assert (37396 in folder, 41492 in folder, "the place of EXIF's subject" not in said) == (kept,) * 3
    assert folder[36867] == "2020:02:29 12:34:56" and folder[42036] == "lens"


def test_resolutions_that_share_bytes(tmp_path):
    """Damaged EXIF: the vertical resolution begins within the horizontal one. Nothing is copied onto itself."""
    entries = b"".join(struct.pack(">HHII", tag, 5, 1, at) for tag, at in ((282, 38), (283, 42)))
    exif = b"MM\0*" + struct.pack(">IH", 8, 2) + entries + bytes(4) + struct.pack(">3I", 300, 1, 200)
    for folder in (["--rotate", "90"], ["--scale", "1/2"]):
        pngfile.write_png(tmp_path / "in.png", np.zeros((4, 4, 3), np.uint8), chunks=[("eXIf", exif)])
        harness.run(tmp_path / "in.png", *folder, tmp_path / "out.png")
        assert len(pngfile.read_png(tmp_path / "out.png").chunk("eXIf")) == len(exif)


# ---------------------------------------------------------------- XMP

XMP_NAMES = {"tiff": "http://ns.adobe.com/tiff/1.0/", "exif": "http://ns.adobe.com/exif/1.0/", "xmpGImg": "http://ns.adobe.com/xap/1.0/g/img/",
             "dc": "http://purl.org/dc/elements/1.1/"}
XMP_SAID = {"tiff:Orientation": "6", "tiff:ImageWidth": "60", "tiff:ImageLength": "40", "exif:PixelXDimension": "60", "exif:PixelYDimension": "40",
            "tiff:XResolution": "720000/10000", "tiff:YResolution": "300/2", "xmpGImg:image": "/9j/4AAQ", "dc:format": "image/tiff"}


def make_xmp(form):
    """The two forms that toolkits write."""
    names = " ".join(f'xmlns:{prefix}="{name}"' for prefix, name in XMP_NAMES.items())
    attributes = " ".join(f'{name}="{value}"' for name, value in XMP_SAID.items()) if form == "attributes" else ""
    elements = "".join(f"<{name}>{value}</{name}>" for name, value in XMP_SAID.items()) if form == "elements" else ""
    return ('<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
            f'<rdf:Description rdf:about="" {names} {attributes}>{elements}</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>')


def read_xmp(text):
    description = ElementTree.fromstring(text[text.index("<x:"):text.index("<?xpacket end")])[0][0]
    prefixes = {name: prefix for prefix, name in XMP_NAMES.items()}
    said = {**description.attrib, **{child.tag: child.text or "" for child in description}}
    return {f"{prefixes[name[1:].split('}')[0]]}:{name.split('}')[1]}": value for name, value in said.items() if name[1:].split("}")[0] in prefixes}


SIZES = {"tiff:ImageWidth", "tiff:ImageLength", "exif:PixelXDimension", "exif:PixelYDimension", "tiff:XResolution", "tiff:YResolution"}


@pytest.mark.some(4)
@pytest.mark.parametrize("form", ["attributes", "elements"])
@pytest.mark.parametrize("options, lost", [
    ([], set()), (["--auto-orient"], {"tiff:Orientation", "xmpGImg:image", *SIZES}), (["--blur", "1"], {"xmpGImg:image"}),
    (["--scale", "1/2"], {"xmpGImg:image", *SIZES})], ids=["as it is", "upright", "blurred", "halved"])
def test_xmp(tmp_path, rng, form, options, lost):
    """Programs that know XMP believe it before EXIF; and a face that was blurred must not be seen in it."""
    xmp = make_xmp(form)
    harness.write_tiff(tmp_path / "in.tif", noise(rng, 40, 60, 3), extratags=[(274, "H", 1, 6, True), (700, "B", len(xmp), xmp.encode(), True)])
    said = harness.run(tmp_path / "in.tif", "-v", *options, tmp_path / "out.tif").err
    made = read_xmp(harness.tiff_tags(tmp_path / "out.tif")[700].decode())
    assert made == {name: value for name, value in XMP_SAID.items() if name not in lost}
    for people, names in (("the XMP thumbnail", {"xmpGImg:image"}), ("XMP's size", SIZES), ("XMP's resolution", SIZES), ("XMP's orientation", {"tiff:Orientation"})):
        assert (people in said) == bool(names & lost)


PLACES = {"mwg-rs:Regions": "http://www.metadataworkinggroup.com/schemas/regions/", "MP:RegionInfo": "http://ns.microsoft.com/photo/1.2/",
          "Iptc4xmpExt:ImageRegion": "http://iptc.org/std/Iptc4xmpExt/2008-02-29/", "acdsee-rs:Regions": "http://ns.acdsee.com/regions/",
          "GPano:ProjectionType": "http://ns.google.com/photos/1.0/panorama/"}


@pytest.mark.some(4)
@pytest.mark.parametrize("options, loses_regions", [
    (["--blur", "1"], False), (["--scale", "1/2"], False), (["--resize", "33x"], False), (["--resize", "7x50,fit=exact"], False), (["--crop", "20x20"], True),
    (["--flip", "h"], True), (["--rotate", "180"], True), (["--border", "9"], True), (["--border", "-9"], True), (["--auto-orient"], True), (["--stack", "max", "--crop", "59x30"], True)])
def test_regions_of_xmp(tmp_path, rng, options, loses_regions):
    """Regions are fractions of width and height; the place of EXIF's subject is in pixels. Other properties of the same namespaces stay."""
    regions = "".join(f'<{name} xmlns:{name.split(":")[0]}="{space}"><rdf:Bag><rdf:li>Bob</rdf:li></rdf:Bag></{name}>' for name, space in PLACES.items())
    xmp = make_xmp("elements").replace("</rdf:Description>", f"{regions}<Iptc4xmpExt:PersonInImage xmlns:Iptc4xmpExt='{PLACES['Iptc4xmpExt:ImageRegion']}'>Bob</Iptc4xmpExt:PersonInImage>"
                                       "<exif:SubjectArea>9</exif:SubjectArea></rdf:Description>")
    orientation = 6 if "--auto-orient" in options else 1
    harness.write_tiff(tmp_path / "in.tif", noise(rng, 41, 61, 3), extratags=[(274, "H", 1, orientation, True), (700, "B", len(xmp), xmp.encode(), True)])
    said = harness.run(tmp_path / "in.tif", "-v", *options, tmp_path / "out.tif").err
    made = harness.tiff_tags(tmp_path / "out.tif")[700].decode()
    ElementTree.fromstring(made[made.index("<x:"):made.index("<?xpacket end")])
    for name in PLACES:
        assert (f"<{name}" in made) != loses_regions, name
    assert ("XMP's regions" in said) == ("XMP's panorama" in said) == loses_regions and made.count("Bob") == (1 if loses_regions else 6)
    assert ("SubjectArea" in made) == ("--blur" in options)


def test_xmp_with_two_prefixes(tmp_path, rng):
    """Each Description may declare its own prefix of one namespace."""
    xmp = "<x>" + "".join(f'<r xmlns:{prefix}="{XMP_NAMES["tiff"]}" {prefix}:ImageWidth="60" {prefix}:Make="us"/>' for prefix in ("tiff", "t", "u")) + "</x>"
    harness.write_tiff(tmp_path / "in.tif", noise(rng, 4, 60, 1), extratags=[(700, "B", len(xmp), xmp.encode(), True)])
    harness.run(tmp_path / "in.tif", "--scale", "2", tmp_path / "out.tif")
    made = harness.tiff_tags(tmp_path / "out.tif")[700].decode()
    assert "ImageWidth" not in made and made.count(':Make="us"') == made.count(XMP_NAMES["tiff"]) == 3


def test_xmp_of_cmyk(tmp_path, rng):
    """Its profile is of inks; the output's is sRGB's."""
    xmp = make_xmp("attributes").replace("xmlns:tiff", 'xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" photoshop:ICCProfile="FOGRA39" xmlns:tiff')
    tifffile.imwrite(tmp_path / "in.tif", noise(rng, 4, 6, 4), photometric="separated", extratags=[(700, "B", len(xmp), xmp.encode(), True)])
    said = harness.run("-v", tmp_path / "in.tif", tmp_path / "out.tif").err
    made = harness.tiff_tags(tmp_path / "out.tif")[700].decode()
    assert "FOGRA39" not in made and read_xmp(made) == XMP_SAID and "XMP's colour space" in said


@pytest.mark.parametrize("text", ["<tiff:ImageWidth>60" * 200000, "<tiff:ImageWidth " * 200000, ' tiff:ImageWidth="60' * 200001, "<tiff:ImageWidth/>" * 200000,
                                  "tiff:ImageWidth" * 200000, "<tiff:ImageWidth>60</x>" * 200000], ids=lambda text: text[:30])
def test_xmp_that_is_odd(tmp_path, rng, text):
    """An element without an end stays unchanged, and is not searched again and again."""
    harness.write_tiff(tmp_path / "in.tif", noise(rng, 4, 4, 1), extratags=[(700, "B", len(text), text.encode(), True)])
    subprocess.run(["bash", "-c", 'ulimit -t 20 && exec "$@"', "", harness.CLIMG, tmp_path / "in.tif", "--scale", "2", tmp_path / "out.tif"], check=True,
                   env={**os.environ, "ASAN_OPTIONS": "intercept_strstr=0"})  # which looks at the whole text each time


def test_photoshop_is_of_the_picture_as_it_lies(tmp_path, rng):
    """Its resources have a thumbnail, too."""
    resources = b"8BIM\x04\x0c\0\0\0\0\0\x08thumbnai"
    harness.write_tiff(tmp_path / "in.tif", noise(rng, 8, 9, 3), extratags=[(274, "H", 1, 6, True), (34377, "B", len(resources), resources, True)])
    harness.run(tmp_path / "in.tif", tmp_path / "out.tif")
    assert harness.tiff_tags(tmp_path / "out.tif")[34377] == resources
    said = harness.run(tmp_path / "in.tif", "-v", "--auto-orient", tmp_path / "out.tif").err
    assert 34377 not in harness.tiff_tags(tmp_path / "out.tif") and "left out: Photoshop's resources" in said


# ---------------------------------------------------------------- texts of ImageMagick, exiv2 and others, which say it in their ways

def raw_profile(kind, data, wrong=0):
    """Returns a compressed text as ImageMagick's coders/png.c and exiv2 write it: a name, the number of bytes, the bytes in hexadecimal."""
    lines = "\n".join(data.hex()[i:i + 72] for i in range(0, 2 * len(data), 72))
    text = f"\n{kind}\n{len(data) + wrong:8}\n{lines}\n"
    return "zTXt", f"Raw profile type {kind}".encode() + b"\0\0" + zlib.compress(text.encode())


@pytest.mark.parametrize("kind, head", [("exif", b"Exif\0\0"), ("exif", b""), ("APP1", b"Exif\0\0")])
def test_exif_in_a_text(tmp_path, kind, head):
    """It becomes eXIf, follows, and loses the picture that was blurred."""
    thumbnail = b"\xff\xd8\xff\xdb" + bytes(range(200)) + b"\xff\xd9"
    chunks = [raw_profile(kind, head + exif_with_thumbnail(thumbnail))]
    pngfile.write_png(tmp_path / "in.png", np.zeros((40, 60, 3), np.uint8), chunks=chunks)
    harness.run(tmp_path / "in.png", "--rotate", "90", tmp_path / "out.png")
    made, exif = pngfile.read_png(tmp_path / "out.png"), Image.Exif()
    exif.load(made.chunk("eXIf"))
    assert exif[271] == "Maker" and exif.get_ifd(EXIF_FOLDER)[WIDTH_OF_EXIF] == 40
    assert set(made.texts()) == {"Software"} and thumbnail[8:100] not in made.chunk("eXIf")


@pytest.mark.parametrize("kind, head", [("xmp", b""), ("APP1", b"http://ns.adobe.com/xap/1.0/\0")])
def test_xmp_in_a_text(tmp_path, kind, head):
    chunks = [raw_profile(kind, head + make_xmp("elements").encode())]
    pngfile.write_png(tmp_path / "in.png", np.zeros((40, 60, 3), np.uint8), chunks=chunks)
    harness.run(tmp_path / "in.png", "--rotate", "90", tmp_path / "out.png")
    texts = pngfile.read_png(tmp_path / "out.png").texts()
    made = read_xmp(texts.pop("XML:com.adobe.xmp"))
    assert not {"xmpGImg:image", *SIZES} & set(made) and made["dc:format"] == "image/tiff" and set(texts) == {"Software"}


@pytest.mark.parametrize("chunks", [
    [raw_profile("exif", b"Exif\0\0MM\0*", wrong=1)], [raw_profile("exif", b"Exif\0\0MM\0*", wrong=-1)], [raw_profile("exif", b"something else")],
    [pngfile.text_chunk("Raw profile type exif", "")], [pngfile.text_chunk("Raw profile type exif", "\nexif\n  99999999999999999999\nff\n")],
    [pngfile.text_chunk("Raw profile type exif", "\nexif\n 2\nfx0g\n")], [raw_profile("iptc", b"8BIM")]], ids=lambda chunks: str(chunks)[10:50])
def test_other_texts_stay_texts(tmp_path, chunks):
    pngfile.write_png(tmp_path / "in.png", np.zeros((4, 4, 3), np.uint8), chunks=chunks)
    harness.run(tmp_path / "in.png", tmp_path / "out.png")
    made = pngfile.read_png(tmp_path / "out.png")
    assert made.chunk("eXIf") is None and made.texts().items() >= dict([pngfile.parse_text(*chunks[0])]).items()


@pytest.mark.parametrize("reverse", [False, True])
def test_what_two_chunks_say(tmp_path, reverse):
    """eXIf is EXIF's place, in any order; of the same in a text it is said that it is left out."""
    exif = Image.Exif()
    exif[271] = "Second"
    first, second = exif_with_thumbnail(bytes(9)), exif.tobytes()[6:]
    chunks = [("eXIf", first), raw_profile("exif", b"Exif\0\0" + second)]
    pngfile.write_png(tmp_path / "in.png", np.zeros((4, 4, 3), np.uint8), chunks=chunks[::-1] if reverse else chunks)
    said = harness.run("-v", tmp_path / "in.png", tmp_path / "out.png").err
    assert "left out: a second EXIF\n" in said and pngfile.read_png(tmp_path / "out.png").chunk("eXIf") == first


@pytest.mark.parametrize("name", ["out.png", "out.jpg", "out.tif"])
def test_two_of_xmp(tmp_path, name):
    """The first follows, the second is left out: its size would stay."""
    xmp = make_xmp("attributes").encode()
    chunk = ("iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp)
    pngfile.write_png(tmp_path / "in.png", np.zeros((40, 60, 3), np.uint8), chunks=[chunk, raw_profile("xmp", xmp), chunk])
    said = harness.run("-v", tmp_path / "in.png", "--rotate", "90", tmp_path / name).err
    made = (tmp_path / name).read_bytes()
    assert "a second XMP" in said and made.count(b"<x:xmpmeta") == 1 and b"ImageWidth" not in made


REPEATED = {"exif:PixelXDimension", "tiff:ImageWidth", "EXIF:Orientation", "exif:Make"}


@pytest.mark.parametrize("options, lost", [
    ([], set()), (["--rotate", "90"], {*REPEATED, "Raw profile type 8bim"}), (["--invert"], {"Raw profile type 8bim"}),
    (["--auto-orient"], {*REPEATED, "Raw profile type 8bim"})],
    ids=["nothing", "turned", "inverted", "upright"])
def test_texts_that_repeat_exif(tmp_path, options, lost):
    """They go together where pixels move."""
    texts = {"exif:PixelXDimension": "60", "tiff:ImageWidth": "60", "EXIF:Orientation": "6", "exif:Make": "Maker", "Author": "exif:ImageWidth"}
    exif = Image.Exif()
    exif[274] = 6
    chunks = [("eXIf", exif.tobytes()[6:]), raw_profile("8bim", b"8BIM\4\14"), *(pngfile.text_chunk(*item) for item in texts.items())]
    pngfile.write_png(tmp_path / "in.png", np.zeros((40, 60, 3), np.uint8), chunks=chunks)
    said = harness.run("-v", *options, tmp_path / "in.png", tmp_path / "out.png").err
    made = set(pngfile.read_png(tmp_path / "out.png").texts()) - {"Software"}
    assert made == (set(texts) | {"Raw profile type 8bim"}) - lost
    assert ("texts that repeat EXIF" in said) == bool(REPEATED & lost)


@pytest.mark.parametrize("unit", ["cm", "um"])
@pytest.mark.parametrize("stages, dots", [([], 120), (["--scale", "1/2"], 60)])
def test_imagej_in_centimetres(tmp_path, rng, unit, stages, dots):
    """ImageJ takes the unit of its description for the unit of the number in the tag."""
    tifffile.imwrite(tmp_path / "in.tif", noise(rng, 3, 40, 60), imagej=True, resolution=(120, 120), resolutionunit=3,
                     metadata={"axes": "ZYX", "unit": unit})
    harness.run(tmp_path / "in.tif", *stages, tmp_path / "out.tif")
    with tifffile.TiffFile(tmp_path / "out.tif") as tiff:
        tags = tiff.pages[0].tags
        assert tiff.imagej_metadata["unit"] == unit
        assert (tags["XResolution"].value, int(tags["ResolutionUnit"].value)) == ((dots, 1), 3)


@pytest.mark.parametrize("dtype", ["float64", "bool", "float32"])
def test_ome_of_converted_samples(tmp_path, rng, dtype):
    """Doubles become floats, and bits bytes: the type in the description is no longer true."""
    stack = noise(rng, 3, 40, 64).astype(dtype)
    tifffile.imwrite(tmp_path / "in.ome.tif", stack, photometric="minisblack", ome=True, metadata={"axes": "ZYX"})
    harness.run(tmp_path / "in.ome.tif", tmp_path / "out.ome.tif")
    assert (DESCRIPTION in harness.tiff_tags(tmp_path / "out.ome.tif")) == (dtype == "float32")


@pytest.mark.parametrize("photometric, shape", [("separated", (40, 60, 4)), ("palette", (3, 40, 60))])
def test_ome_of_other_channels(tmp_path, rng, photometric, shape):
    """CMYK and indices become RGB: the number of samples in the description is no longer true, nor the type of indices of 16 bits."""
    tables = {"colormap": rng.integers(0, 65536, (3, 256)).astype(np.uint16)} if photometric == "palette" else {}
    tifffile.imwrite(tmp_path / "in.ome.tif", noise(rng, *shape), photometric=photometric, ome=True, **tables)
    assert "left out: the OME description" in harness.run("-v", tmp_path / "in.ome.tif", tmp_path / "out.ome.tif").err
    assert DESCRIPTION not in harness.tiff_tags(tmp_path / "out.ome.tif")
    assert tifffile.imread(tmp_path / "out.ome.tif").shape == (*shape[:len(shape) - (photometric == "separated")], 3)
