"""ICC, EXIF, text, resolution and orientation go from format to format, and --strip drops all but the first and the last."""

import struct

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

import harness
import pngfile

PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
TEXTS = {"Title": "Boats", "Author": "Nobody", "Description": "Three boats, one of them red",
         "Copyright": "Public domain"}
DOTS_PER_METRE = (11811, 5906)  # 300 and 150 dpi
MAKE, ORIENTATION, EXIF_FOLDER, TAKEN, ICC, DESCRIPTION, SOFTWARE = 271, 274, 34665, 36867, 34675, 270, 305
TAKEN_AT = "2020:02:29 12:34:56"


def exif_bytes(orientation):
    """EXIF with a tag in the first folder and one in the EXIF folder, as PNG's eXIf holds it."""
    exif = Image.Exif()
    exif[MAKE] = "Maker"
    exif[ORIENTATION] = orientation
    exif[EXIF_FOLDER] = {TAKEN: TAKEN_AT}
    data = exif.tobytes()
    return data[6:] if data.startswith(b"Exif\0\0") else data


def parsed_exif(data):
    exif = Image.Exif()
    exif.load(data)
    return exif


@pytest.fixture
def png(tmp_path, rng):
    """A PNG with every kind of metadata."""
    chunks = [pngfile.icc_chunk(PROFILE), pngfile.resolution_chunk(*DOTS_PER_METRE),
              *(pngfile.text_chunk(*text) for text in TEXTS.items()), ("eXIf", exif_bytes(6))]
    samples = rng.integers(0, 256, (12, 15, 3), dtype=np.uint8)
    pngfile.write_png(tmp_path / "in.png", samples, chunks=chunks)
    return tmp_path / "in.png"


def check_all(result):
    assert result.icc() == PROFILE
    x, y, unit = result.resolution()
    assert unit == 1 and abs(x - DOTS_PER_METRE[0]) <= 1 and abs(y - DOTS_PER_METRE[1]) <= 1
    assert {key: result.texts().get(key) for key in TEXTS} == TEXTS
    exif = parsed_exif(result.chunk("eXIf"))
    assert exif[ORIENTATION] == 6
    assert exif.get_ifd(EXIF_FOLDER)[TAKEN] == TAKEN_AT
    assert exif[MAKE] == "Maker"


def test_png_to_png(tmp_path, png):
    harness.run(png, "--blur", "1", tmp_path / "out.png")
    check_all(pngfile.read_png(tmp_path / "out.png"))


def test_png_to_tiff(tmp_path, png):
    harness.run(png, tmp_path / "out.tif")
    tags = harness.tiff_tags(tmp_path / "out.tif")
    assert bytes(tags[ICC]) == PROFILE
    assert tags[DESCRIPTION] == TEXTS["Description"]
    assert int(tags[ORIENTATION]) == 6
    per_metre = {2: 0.0254, 3: 0.01}[int(tags[296])]
    for tag, expected in zip((282, 283), DOTS_PER_METRE):
        assert tags[tag][0] / tags[tag][1] / per_metre == pytest.approx(expected, abs=1)


def test_png_to_tiff_to_png(tmp_path, png):
    harness.run(png, tmp_path / "middle.tif")
    harness.run(tmp_path / "middle.tif", tmp_path / "out.png")
    check_all(pngfile.read_png(tmp_path / "out.png"))


def test_every_page_keeps_its_own(tmp_path, rng):
    with tifffile.TiffWriter(tmp_path / "in.tif") as tiff:
        for name in ("first", "second"):
            tiff.write(rng.integers(0, 256, (9, 9, 3), dtype=np.uint8), photometric="rgb", description=name,
                       metadata=None)
    harness.run(tmp_path / "in.tif", tmp_path / "out.tif")
    assert [harness.tiff_tags(tmp_path / "out.tif", k)[DESCRIPTION] for k in (0, 1)] == ["first", "second"]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_from_tiff(tmp_path, orientation):
    pixels = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    harness.write_tiff(tmp_path / "in.tif", pixels, extratags=[(ORIENTATION, "H", 1, orientation, True)])
    harness.run(tmp_path / "in.tif", tmp_path / "out.tif")
    assert int(harness.tiff_tags(tmp_path / "out.tif")[ORIENTATION]) == orientation
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), pixels), "pixels stay where they are"


def test_tiff_from_pillow(tmp_path):
    """Another writer's file: ICC, resolution and description of Pillow."""
    image = Image.new("RGB", (9, 7), (40, 50, 60))
    image.save(tmp_path / "in.tif", icc_profile=PROFILE, dpi=(96, 96), description="From elsewhere")
    harness.run(tmp_path / "in.tif", tmp_path / "out.png")
    result = pngfile.read_png(tmp_path / "out.png")
    assert result.icc() == PROFILE
    assert result.texts()["Description"] == "From elsewhere"
    assert result.resolution() == (3780, 3780, 1)


@pytest.mark.parametrize("name", ["out.png", "out.tif"])
def test_strip(tmp_path, png, name):
    """Metadata on the appearance stays: without its profile a picture has other colours, without its orientation it lies on its side."""
    harness.run(png, "--strip", tmp_path / name)
    data = (tmp_path / name).read_bytes()
    for trace in (b"Nobody", b"Boats", b"Maker", TAKEN_AT.encode()):
        assert trace not in data
    with Image.open(tmp_path / name) as image:
        assert image.info["icc_profile"] == PROFILE and image.getexif()[ORIENTATION] == 6
    if name.endswith(".png"):
        names = {chunk for chunk, _ in pngfile.read_png(tmp_path / name).chunks}
        assert not names & {"tEXt", "zTXt", "iTXt", "pHYs"}
    else:
        assert not {SOFTWARE, DESCRIPTION, EXIF_FOLDER, 282, 700} & set(harness.tiff_tags(tmp_path / name))


def test_strip_keeps_other_chunks_of_colour(tmp_path):
    chunks = [("cICP", bytes([9, 16, 0, 1])), ("gAMA", struct.pack(">I", 45455)), pngfile.text_chunk("Title", "Boats")]
    pngfile.write_png(tmp_path / "in.png", np.zeros((2, 2, 3), np.uint8), chunks=chunks)
    harness.run(tmp_path / "in.png", "--strip", tmp_path / "out.png")
    assert sorted(pngfile.read_png(tmp_path / "out.png").chunks) == sorted(chunks[:2])


def test_gray_profile_is_not_of_colours(tmp_path):
    """A mosaic of phases is RGB: the profile of the gray picture would be refused by all who read it."""
    profile = PROFILE[:16] + b"GRAY" + PROFILE[20:]
    tifffile.imwrite(tmp_path / "in.tif", np.zeros((16, 16), np.uint8), metadata=None, extratags=[(ICC, "B", len(profile), profile, True)])
    for view, kept in (("magnitude", True), ("phase", False)):
        said = harness.run("-v", tmp_path / "in.tif", "--wavelet=1", f"--mosaic={view}", tmp_path / "out.tif").err
        tags = harness.tiff_tags(tmp_path / "out.tif")
        assert tags[277] == (1 if kept else 3) and (ICC in tags) == kept and ("left out: the ICC profile" in said) == (not kept)


def test_empty_xmp_is_none(tmp_path):
    """TIFF has no tag of no bytes."""
    pngfile.write_png(tmp_path / "in.png", np.zeros((2, 2, 3), np.uint8), chunks=[pngfile.international_text_chunk("XML:com.adobe.xmp", "")])
    for name in ("out.tif", "out.png"):
        harness.run(tmp_path / "in.png", tmp_path / name)
    assert 700 not in harness.tiff_tags(tmp_path / "out.tif") and set(pngfile.read_png(tmp_path / "out.png").texts()) == {"Software"}


def test_unicode_text(tmp_path):
    text = "Größe – 大きさ"
    pngfile.write_png(tmp_path / "in.png", np.zeros((2, 2, 1), np.uint8),
                      chunks=[pngfile.international_text_chunk("Description", text)])
    harness.run(tmp_path / "in.png", tmp_path / "out.png")
    assert pngfile.read_png(tmp_path / "out.png").texts()["Description"] == text


def test_colour_chunks(tmp_path):
    """gAMA, cHRM and sRGB without a profile go from PNG to PNG."""
    chromaticities = struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)
    chunks = [("gAMA", struct.pack(">I", 45455)), ("cHRM", chromaticities), ("sRGB", b"\0")]
    pngfile.write_png(tmp_path / "in.png", np.zeros((2, 2, 3), np.uint8), chunks=chunks)
    harness.run(tmp_path / "in.png", tmp_path / "out.png")
    result = pngfile.read_png(tmp_path / "out.png")
    assert {name: result.chunk(name) for name, _ in chunks} == dict(chunks)


def test_gray_output_has_no_rgb_profile(tmp_path):
    """A gray picture whose file carries no profile gets none."""
    harness.run(harness.SAMPLES / "zoneplate.png", tmp_path / "out.png")
    assert pngfile.read_png(tmp_path / "out.png").icc() is None


@pytest.mark.parametrize("said, is_tag", [("2020:02:29 12:34:56", True), ("Sun, 06 Nov 1994 08:49:37 GMT", False), ("2020-02-29 12:34:56", False),
                                          ("2020:02:29 12:34:56 UTC", False)])
def test_time_in_words_is_no_tag(tmp_path, said, is_tag):
    """TIFF's DateTime has one form; what PNG says in another is a text like others, and comes back."""
    pngfile.write_png(tmp_path / "in.png", np.zeros((4, 4, 1), np.uint8), chunks=[pngfile.text_chunk("Creation Time", said)])
    harness.run(tmp_path / "in.png", tmp_path / "out.tif")
    tags = harness.tiff_tags(tmp_path / "out.tif")
    assert tags.get(306) == (said if is_tag else None) and (said in tags.get(42112, "")) == (not is_tag)
    harness.run(tmp_path / "out.tif", tmp_path / "back.png")
    assert pngfile.read_png(tmp_path / "back.png").texts()["Creation Time"] == said


def test_resolution_beyond_a_rational(tmp_path):
    """Per inch it would take more than 32 bits, which libtiff writes as a division by 0."""
    tifffile.imwrite(tmp_path / "in.tif", np.zeros((4, 4), np.uint8), resolution=(4_000_000_000, 300), resolutionunit=3)
    harness.run(tmp_path / "in.tif", tmp_path / "out.tif")
    with tifffile.TiffFile(tmp_path / "out.tif") as image:
        (x, of), y = (image.pages[0].tags[name].value for name in ("XResolution", "YResolution"))
    assert of == 1 and x > 4_294_000_000 and y == (762, 1)


def test_resolution_below_a_pixel_per_metre(tmp_path):
    """As of maps: PNG holds whole numbers, so only the ratio is kept."""
    tifffile.imwrite(tmp_path / "in.tif", np.zeros((4, 4), np.uint8), resolution=(0.001, 0.0025), resolutionunit=3)
    said = harness.run("-v", tmp_path / "in.tif", tmp_path / "out.png").err
    assert "left out: the resolution but for its ratio" in said
    with Image.open(tmp_path / "out.png") as image:
        image.load()
        assert image.info.get("aspect") == (1000, 2500) and "dpi" not in image.info


@pytest.mark.parametrize("stages, dots", [([], 300), (["--scale", "1/2"], 150)])
def test_resolution_that_only_exif_says(tmp_path, stages, dots):
    """A PNG as Pillow writes it; other EXIF items outside of its directories are named if TIFF has no tag for them."""
    exif = Image.Exif()
    exif[282], exif[283], exif[296], exif[316], exif[271], exif[18247] = 300.0, 600.0, 2, "host", "Maker", "other"
    Image.new("RGB", (8, 8)).save(tmp_path / "in.png", exif=exif)
    said = harness.run(tmp_path / "in.png", "-v", *stages, tmp_path / "out.tif").err
    with Image.open(tmp_path / "out.tif") as image:
        assert [float(n) for n in image.info["dpi"]] == [dots, 2 * dots] and image.tag_v2[MAKE] == "Maker" and image.tag_v2[316] == "host"
    assert said.split("left out: ")[1].splitlines()[0] == "EXIF's tag 18247"
