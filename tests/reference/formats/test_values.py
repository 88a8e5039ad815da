"""What a file says of the values of its samples stays true where --range, --depth or a stage changes them: GDAL's scale and
offset, statistics and other items of channels, PNG's pCAL and bKGD."""

import struct
from xml.etree import ElementTree

import numpy as np
import pytest
import tifffile

import harness
import pngfile


def write(path, samples, items):
    xml = ("<GDALMetadata>\n" + "".join(f"  <Item {attributes}>{value}</Item>\n" for attributes, value in items) + "</GDALMetadata>\n").encode()
    tifffile.imwrite(path, samples, photometric="rgb" if samples.ndim == 3 else "minisblack", metadata=None,
                     extratags=[(42112, 2, len(xml) + 1, xml + b"\0", True), (42113, 2, 5, b"-999\0", True)])


def items_of(path):
    tags = harness.tiff_tags(path)
    return [(dict(item.attrib), item.text) for item in ElementTree.fromstring(tags.get(42112, "<GDALMetadata/>"))]


def calibration(items, channel):
    """(scale, offset) as GDAL has it: 1 and 0 where nothing is said."""
    found = {item["role"]: float(text) for item, text in items if item.get("sample") == str(channel) and "role" in item}
    return found.get("scale", 1), found.get("offset", 0)


@pytest.mark.some(5)
@pytest.mark.parametrize("said", [("scale", "offset"), ("scale",), ("offset",)], ids=" ".join)
@pytest.mark.parametrize("dtype, options", [
    ("uint8", ["--depth", "16"]), ("uint16", ["--range", "1000,30000"]), ("uint8", ["--depth", "float"]), ("int16", ["--depth", "float"]),
    ("float32", ["--range", "-1,3", "--depth", "16"]), ("float32", ["--range", "auto", "--depth", "8"]), ("float32", ["--range", "-1,3"]),
    ("uint8", ["--blur", "0.05"])], ids=str)
def test_scale_and_offset(tmp_path, rng, dtype, options, said):
    """The numbers of the output, scaled and moved as the output says, are those of the input as that says."""
    low, high = (-1, 3) if dtype == "float32" else (1000, 30000) if "int16" in dtype else (0, 255)
    samples = rng.uniform(low, high, (20, 30, 3)).astype(dtype)
    items = [(f'name="{role.upper()}" sample="{c}" role="{role}"', repr(float(rng.uniform(0.01, 5)))) for c in range(3) for role in said]
    write(tmp_path / "in.tif", samples, items)
    harness.run(tmp_path / "in.tif", *options, tmp_path / "out.tif")
    made, told = harness.read_tiff(tmp_path / "out.tif").astype(float), items_of(tmp_path / "out.tif")
    for c in range(3):
        (a, b), (scale, offset) = calibration(items_of(tmp_path / "in.tif"), c), calibration(told, c)
        step = scale if not made.dtype == np.float32 and made.max() > 4 else 1e-5 * scale
        assert np.abs((made[..., c] * scale + offset) - (samples[..., c].astype(float) * a + b)).max() <= 0.51 * abs(step) + 1e-6


@pytest.mark.parametrize("dtype, options", [("uint8", []), ("uint16", []), ("uint8", ["--depth", "16"]), ("uint16", ["--range", "1000,30000"])], ids=str)
def test_where_0_is_white(tmp_path, rng, dtype, options):
    """The numbers are turned round, and with them what is said of them."""
    samples = rng.integers(1000 if options[:1] == ["--range"] else 0, 30000 if dtype == "uint16" else 256, (20, 30)).astype(dtype)
    if options[:1] == ["--range"]:
        samples = np.iinfo(dtype).max - samples  # it is of values as they are shown
    xml = b'<GDALMetadata><Item name="SCALE" sample="0" role="scale">0.25</Item><Item name="OFFSET" sample="0" role="offset">-3</Item></GDALMetadata>'
    tifffile.imwrite(tmp_path / "in.tif", samples, photometric="miniswhite", metadata=None,
                     extratags=[(42112, 2, len(xml) + 1, xml + b"\0", True), (42113, 2, 4, b"255\0", True)])
    said = harness.run("-v", *options, tmp_path / "in.tif", tmp_path / "out.tif").err
    made, (scale, offset) = harness.read_tiff(tmp_path / "out.tif").squeeze().astype(float), calibration(items_of(tmp_path / "out.tif"), 0)
    assert scale < 0 and np.abs(made * scale + offset - (samples * 0.25 - 3)).max() <= 0.51 * abs(scale) + 1e-6
    assert "GDAL's nodata" in said and 42113 not in harness.tiff_tags(tmp_path / "out.tif")


OTHERS = [('name="AREA_OR_POINT"', "Area"), ('name="STATISTICS_MEAN" sample="0"', "12.5"), ('name="DESCRIPTION" sample="0" role="description"', "red &amp; near"),
          ('name="UNITTYPE" sample="0" role="unittype"', "metre"), ('name="SCALE" sample="0" role="scale"', "0.1"), ('name="LINE_OFF" domain="RPC"', "7"),
          ('name="Description"', "not TIFF's tag"), ('name="empty" sample="0"', "")]


def names(items):
    return {item["name"] for item, _ in items}


def test_items_are_kept_as_they_are(tmp_path, rng):
    write(tmp_path / "in.tif", rng.integers(0, 256, (8, 8), dtype=np.uint8), OTHERS)
    said = harness.run("-v", tmp_path / "in.tif", tmp_path / "out.tif").err
    assert "left out" not in said
    # TIFF has a tag for a description of all.
    assert items_of(tmp_path / "out.tif") == [(item, text) for item, text in items_of(tmp_path / "in.tif") if item["name"] != "Description"]
    assert harness.tiff_tags(tmp_path / "out.tif")[270] == "not TIFF's tag"


@pytest.mark.some(3)
@pytest.mark.parametrize("stages, lost", [
    (["--blur", "1"], {"STATISTICS_MEAN", "LINE_OFF"}), (["--rotate", "90"], {"STATISTICS_MEAN", "LINE_OFF"}),
    (["--invert"], {"STATISTICS_MEAN", "LINE_OFF", "SCALE", "UNITTYPE"}), (["--gradient"], {"STATISTICS_MEAN", "LINE_OFF", "SCALE", "UNITTYPE"}),
    (["--convolve", "1 2 1"], {"STATISTICS_MEAN", "LINE_OFF"}), (["--convolve", "1 0 -1"], {"STATISTICS_MEAN", "LINE_OFF", "SCALE", "UNITTYPE"}),
    (["--convolve", "1 2 1,bias=0.1"], {"STATISTICS_MEAN", "LINE_OFF", "SCALE", "UNITTYPE"}),
    (["--wavelet=1", "--gain", "low:2", "--inverse-wavelet"], {"STATISTICS_MEAN", "LINE_OFF", "SCALE", "UNITTYPE"}),
    (["--wavelet=1", "--gain", "1:2", "--inverse-wavelet"], {"STATISTICS_MEAN", "LINE_OFF"}),
    (["--wavelet=1", "--mosaic"], {"STATISTICS_MEAN", "LINE_OFF", "SCALE", "UNITTYPE", "DESCRIPTION", "empty"}),
    (["--depth", "16"], {"STATISTICS_MEAN", "LINE_OFF"})], ids=lambda value: " ".join(value)[2:] if isinstance(value, list) else "")
def test_items_that_are_no_longer_true(tmp_path, rng, stages, lost):
    """They are named; and so is all that PNG has no place for."""
    write(tmp_path / "in.tif", rng.integers(0, 256, (8, 8), dtype=np.uint8), OTHERS)
    said = harness.run("-v", tmp_path / "in.tif", *stages, tmp_path / "out.tif").err.split("left out: ")[1]
    assert names(items_of(tmp_path / "in.tif")) - names(items_of(tmp_path / "out.tif")) == lost | {"Description"}
    assert "GDAL's statistics" in said and "GDAL's item LINE_OFF" in said
    assert ("GDAL's scale and offset" in said and "GDAL's item UNITTYPE" in said) == ("SCALE" in lost)


def test_items_of_channels_are_none_of_png(tmp_path, rng):
    write(tmp_path / "in.tif", rng.integers(0, 256, (8, 8), dtype=np.uint8), OTHERS)
    said = harness.run("-v", tmp_path / "in.tif", tmp_path / "out.png").err.split("left out: ")[1]
    texts = pngfile.read_png(tmp_path / "out.png").texts()
    assert {key: texts[key] for key in texts if key != "Software"} == {"AREA_OR_POINT": "Area", "Description": "not TIFF's tag"}
    assert all(f'the text "{name}"' in said for name in ("STATISTICS_MEAN", "UNITTYPE", "SCALE", "LINE_OFF", "DESCRIPTION"))


def test_nodata_and_range(tmp_path, rng):
    write(tmp_path / "in.tif", rng.integers(0, 60000, (8, 8), dtype=np.uint16), [])
    harness.run(tmp_path / "in.tif", "--blur", "1", tmp_path / "out.tif")
    assert harness.tiff_tags(tmp_path / "out.tif")[42113] == "-999"
    said = harness.run("-v", tmp_path / "in.tif", "--range", "100,3000", tmp_path / "out.tif").err
    assert 42113 not in harness.tiff_tags(tmp_path / "out.tif") and "left out: GDAL's nodata" in said


@pytest.mark.parametrize("options, lost", [([], ""), (["--depth", "16"], ""), (["--range", "10,200"], "pCAL, bKGD"), (["--invert"], "pCAL, bKGD"),
                                           (["--blur", "1"], "pCAL")], ids=str)
def test_calibration_of_png(tmp_path, rng, options, lost):
    """pCAL maps 0 and full scale of any depth, so that another depth leaves it true (PNG 1.2 extensions, 5.6)."""
    chunks = [("pCAL", b"x\0" + struct.pack(">iiBB", 0, 255, 0, 2) + b"m\x000\x001"), ("bKGD", struct.pack(">3H", 10, 20, 30))]
    pngfile.write_png(tmp_path / "in.png", rng.integers(0, 256, (8, 8, 3), dtype=np.uint8), chunks=chunks)
    said = harness.run("-v", tmp_path / "in.png", *options, tmp_path / "out.png").err
    made = {name for name, _ in pngfile.read_png(tmp_path / "out.png").chunks}
    for name, _ in chunks:
        assert (name in made) == (name not in lost) and (name in said) == (name in lost)
