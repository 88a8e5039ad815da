"""Metadata on the values of samples (GDAL's scale, offset, statistics and other items of channels) is dropped where
--range, --depth or a stage makes it untrue."""

import os
import subprocess
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


@pytest.mark.some(5)
@pytest.mark.parametrize("said", [("scale", "offset"), ("scale",), ("offset",)], ids=" ".join)
@pytest.mark.parametrize("dtype, options, kept", [
    ("uint8", ["--depth", "16"], False), ("uint16", ["--range", "1000,30000"], False), ("uint8", ["--depth", "float"], False),
    ("int16", ["--depth", "float"], False), ("float32", ["--range", "-1,3", "--depth", "16"], False),
    ("float32", ["--range", "auto", "--depth", "8"], False), ("float32", ["--range", "-1,3"], True), ("uint8", ["--blur", "0.05"], True)], ids=str)
def test_scale_and_offset(tmp_path, rng, dtype, options, kept, said):
    """They stay while the numbers of the output, scaled and moved, are the values of the input, and are named where they go."""
    low, high = (-1, 3) if dtype == "float32" else (1000, 30000) if "int16" in dtype else (0, 255)
    samples = rng.uniform(low, high, (20, 30, 3)).astype(dtype)
    items = [(f'name="{role.upper()}" sample="{c}" role="{role}"', repr(float(rng.uniform(0.01, 5)))) for c in range(3) for role in said]
    write(tmp_path / "in.tif", samples, items)
    named = harness.run("-v", tmp_path / "in.tif", *options, tmp_path / "out.tif").err
    told = [item for item in items_of(tmp_path / "out.tif") if "role" in item[0]]
    assert told == (items_of(tmp_path / "in.tif") if kept else [])
    assert all((f"GDAL's item {role.upper()}" in named) == (not kept) for role in said)
    if kept:
        made = harness.read_tiff(tmp_path / "out.tif").astype(float)
        assert np.abs(made - samples.astype(float)).max() <= (0.51 if dtype == "uint8" else 1e-6)


def test_where_0_is_white(tmp_path, rng):
    """The numbers are turned round."""
    xml = b'<GDALMetadata><Item name="SCALE" sample="0" role="scale">0.25</Item></GDALMetadata>'
    tifffile.imwrite(tmp_path / "in.tif", rng.integers(0, 256, (20, 30), dtype=np.uint8), photometric="miniswhite", metadata=None,
                     extratags=[(42112, 2, len(xml) + 1, xml + b"\0", True), (42113, 2, 4, b"255\0", True)])
    said = harness.run("-v", tmp_path / "in.tif", tmp_path / "out.tif").err
    assert "GDAL's item SCALE" in said and "GDAL's nodata" in said and not {42112, 42113} & set(harness.tiff_tags(tmp_path / "out.tif"))


def test_control_characters(tmp_path, rng):
    """XML forbids them. A parser, such as GDAL's, would refuse all items because of one."""
    text = "".join(map(chr, range(1, 128))) + "\x85 end"
    pngfile.write_png(tmp_path / "in.png", rng.integers(0, 256, (4, 5, 1), dtype=np.uint8), chunks=[pngfile.international_text_chunk("Notes", text)])
    harness.run(tmp_path / "in.png", tmp_path / "out.tif")
    expected = "".join(c if c >= " " or c in "\t\n\r" else " " for c in text)
    assert items_of(tmp_path / "out.tif") == [({"name": "Notes"}, expected)]
    harness.run(tmp_path / "out.tif", tmp_path / "back.png")
    assert pngfile.read_png(tmp_path / "back.png").texts()["Notes"] == expected


def test_many_large_items(tmp_path, rng):
    """1,024 items of 16 KB: each is looked at once, not once for each other one."""
    write(tmp_path / "in.tif", rng.integers(0, 256, (8, 8), dtype=np.uint8),
          [(f'name="SCALE" sample="{i}" {"x" * 16000}="" role="scale"', "2") for i in range(1000)])
    subprocess.run(["bash", "-c", 'ulimit -t 5 && exec "$@"', "", harness.CLIMG, tmp_path / "in.tif", "--depth", "16", tmp_path / "out.tif"], check=True,
                   env={**os.environ, "ASAN_OPTIONS": "intercept_strstr=0"})  # which looks at the whole text each time


OTHERS = [('name="AREA_OR_POINT"', "Area"), ('name="STATISTICS_MEAN" sample="0"', "12.5"), ('name="DESCRIPTION" sample="0" role="description"', "red &amp; near"),
          ('name="UNITTYPE" sample="0" role="unittype"', "metre"), ('name="SCALE" sample="0" role="scale"', "0.1"), ('name="LINE_OFF" domain="RPC"', "7"),
          ('name="Description"', "not TIFF's tag"), ('name="empty" sample="0"', "")]


GONE = {"STATISTICS_MEAN", "LINE_OFF", "SCALE", "UNITTYPE", "DESCRIPTION", "empty"}  # where numbers mean other values


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
    (["--invert"], GONE), (["--gradient"], GONE),
    (["--convolve", "1 2 1"], {"STATISTICS_MEAN", "LINE_OFF"}), (["--convolve", "1 0 -1"], GONE),
    (["--convolve", "1 2 1,bias=0.1"], GONE),
    (["--wavelet=1", "--gain", "low:2", "--inverse-wavelet"], GONE),
    (["--wavelet=1", "--gain", "1:2", "--inverse-wavelet"], {"STATISTICS_MEAN", "LINE_OFF"}),
    (["--wavelet=1", "--mosaic"], GONE),
    (["--depth", "16"], GONE)], ids=lambda value: " ".join(value)[2:] if isinstance(value, list) else "")
def test_items_that_are_no_longer_true(tmp_path, rng, stages, lost):
    """They are named; and so is all that PNG has no place for."""
    write(tmp_path / "in.tif", rng.integers(0, 256, (8, 8), dtype=np.uint8), OTHERS)
    said = harness.run("-v", tmp_path / "in.tif", *stages, tmp_path / "out.tif").err.split("left out: ")[1]
    assert names(items_of(tmp_path / "in.tif")) - names(items_of(tmp_path / "out.tif")) == lost | {"Description"}
    assert "GDAL's statistics" in said and "GDAL's item LINE_OFF" in said
    assert ("GDAL's item SCALE" in said and "GDAL's item UNITTYPE" in said) == ("SCALE" in lost)


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
