"""What a file says of places and of the size of a pixel is true of the output, whichever way the chain took the pixels.

Inputs are ramps of floats that say of each pixel where it lies, which interpolation does not change: so each output
pixel says itself where it came from, and what is told of it must be what was told of that place."""

import struct

import numpy as np
import pytest
import tifffile
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

import harness
import pngfile

SCALE, TIE, MATRIX, KEYS, X_RESOLUTION, Y_RESOLUTION = 33550, 33922, 34264, 34735, 282, 283
WIDTH, HEIGHT = 61, 41

CHAINS = [["--rotate", "90"], ["--rotate", "180"], ["--rotate", "-90"], ["--rotate", "30"], ["--rotate", "200,size=50x33"],
          ["--resize", "30x30,fit=cover"], ["--resize", "100x90,fit=cover"], ["--resize", "20x13,fit=exact"], ["--resize", "50%"],
          ["--scale", "1/2"], ["--scale", "2", "--rotate", "90"], ["--rotate", "90", "--resize", "80x37,fit=exact"],
          ["--scale", "1/2", "--scale", "2"], ["--warp", "0.5 0.1 3 -0.2 0.25 5,size=100x110"], ["--warp", "0 1 0 -1 0 40"],
          ["--scale", "4,grid=corners"]]


def ramps():
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    return np.stack([x + 0.5, y + 0.5, np.ones_like(x)], axis=-1).astype(np.float32)


def run(folder, chain):
    """The output's tags, a pixel well inside of the picture and the place that it came from, and what a step to the right
    and one down are there."""
    harness.run(folder / "in.tif", *chain, folder / "out.tif")
    made = harness.read_tiff(folder / "out.tif").astype(float)
    place, y, x = made[..., :2], *np.mgrid[:made.shape[0], :made.shape[1]]
    inside = np.abs(place - [WIDTH / 2, HEIGHT / 2]).max(axis=-1)
    inside[0], inside[-1], inside[:, 0], inside[:, -1] = (np.inf,) * 4
    j, i = np.unravel_index(inside.argmin(), inside.shape)
    across, down = (place[j, i + 1] - place[j, i - 1]) / 2, (place[j + 1, i] - place[j - 1, i]) / 2
    return harness.tiff_tags(folder / "out.tif"), (i + 0.5, j + 0.5), place[j, i], across, down


def model(tags, x, y, point):
    """GeoTIFF 1.1: of a place counted from the corner of the picture, by the tags alone."""
    i, j = (x - 0.5, y - 0.5) if point else (x, y)
    if MATRIX in tags:
        return (np.reshape(tags[MATRIX], (4, 4)) @ [i, j, 0, 1])[:2]
    if SCALE in tags:
        a, b, (ti, tj, _, east, north, _) = *tags[SCALE][:2], tags[TIE]
        return np.array([east + (i - ti) * a, north - (j - tj) * b])
    ties = np.reshape(tags[TIE], (-1, 6))  # three points: the plane through them
    return np.linalg.solve(np.c_[ties[:, :2], np.ones(3)], ties[:, 3:5]).T @ [i, j, 1]


GEO = {"scale": [(SCALE, (10.0, 20.0, 0.0)), (TIE, (3.0, 4.0, 0.0, 5e5, 4e6, 0.0))],
       "matrix": [(MATRIX, (10.0, 1, 0, 5e5, 2, -20, 0, 4e6, 0, 0, 1, 7, 0, 0, 0, 1))],
       "ties": [(TIE, (0.0, 0, 0, 5e5, 4e6, 0, 61, 0, 0, 5.1e5, 4.001e6, 0, 0, 41, 0, 5.02e5, 3.99e6, 0))]}


@pytest.mark.some(6)
@pytest.mark.parametrize("chain", CHAINS + [["--auto-orient"]] * 3, ids=lambda chain: " ".join(chain)[2:40])
def test_places_on_earth_and_sizes_of_pixels(tmp_path, rng, chain):
    kind, point, orientation = str(rng.choice(list(GEO))), bool(rng.integers(2)), int(rng.integers(2, 9)) if "--auto-orient" in chain else 1
    tags = [*GEO[kind], (KEYS, (1, 1, 0, 1, 1025, 0, 1, 2 if point else 1)), (274, (orientation,))]
    tifffile.imwrite(tmp_path / "in.tif", ramps(), photometric="rgb", metadata=None, resolution=(300, 200),
                     extratags=[(tag, "H" if tag in (KEYS, 274) else "d", len(numbers), numbers, True) for tag, numbers in tags])
    before = harness.tiff_tags(tmp_path / "in.tif")
    after, at, source, across, down = run(tmp_path, chain)
    # Lanczos' weights leave ripples on a ramp, of fiftieths of a pixel.
    wanted, pixel = model(before, *source, point), np.abs(model(before, *source, point) - model(before, *(source + 1), point))
    assert np.all(np.abs(model(after, *at, point) - wanted) < (0.05 if "--resize" in chain else 0.002) * pixel), (kind, point, orientation)
    told = [after[tag][0] / after[tag][1] for tag in (X_RESOLUTION, Y_RESOLUTION)]
    assert told == pytest.approx([1 / np.hypot(*(step / [300, 200])) for step in (across, down)],
                                 rel=0.03 if "--resize" in chain else 1e-4)
    assert not {SCALE, TIE} & set(after) if MATRIX in after else (SCALE in after) == (kind == "scale")


def test_tie_points_of_a_quarter_turn_become_a_matrix(tmp_path):
    """Whole numbers, without rounding: a pixel to the right is one up in the model."""
    tifffile.imwrite(tmp_path / "in.tif", ramps(), photometric="rgb", metadata=None,
                     extratags=[(tag, "d", len(numbers), numbers, True) for tag, numbers in GEO["scale"]])
    harness.run(tmp_path / "in.tif", "--rotate", "90", tmp_path / "out.tif")
    assert harness.tiff_tags(tmp_path / "out.tif")[MATRIX] == (0, 10, 0, 5e5 - 30, 20, 0, 0, 4e6 + 80 - 20 * 41, 0, 0, 0, 0, 0, 0, 0, 1)


@pytest.mark.parametrize("chain", [["--rotate", "90"], ["--rotate", "180", "--scale", "2"], ["--rotate", "30"], ["--warp", "0.5 0.1 3 -0.2 0.25 5"]], ids=" ".join)
def test_size_of_a_pixel_that_lies_nowhere(tmp_path, chain):
    """Without a tie point nothing is said of places, but of a step to the right and one down."""
    tifffile.imwrite(tmp_path / "in.tif", ramps(), photometric="rgb", metadata=None, extratags=[(SCALE, "d", 3, (10.0, 20.0, 0.0), True)])
    tags, _, _, across, down = run(tmp_path, chain)
    assert tags[SCALE][:2] == pytest.approx([np.hypot(*(step * [10, 20])) for step in (across, down)], rel=1e-4) and MATRIX not in tags


def test_a_line_has_no_places(tmp_path):
    """All output pixels of a row come from one place: that cannot be told."""
    tifffile.imwrite(tmp_path / "in.tif", ramps(), photometric="rgb", metadata=None,
                     extratags=[(tag, "d", len(numbers), numbers, True) for tag, numbers in GEO["scale"]])
    said = harness.run("-v", tmp_path / "in.tif", "--warp", "0 0 5 0 1 0", tmp_path / "out.tif").err
    assert "left out: GeoTIFF" in said and not {SCALE, TIE, MATRIX} & set(harness.tiff_tags(tmp_path / "out.tif"))


# ---------------------------------------------------------------- PNG and EXIF

def exif():
    data = Image.Exif()
    data[256], data[257], data[282], data[283], data[296] = 60, 40, 300.0, 200.0, 2
    data[34665] = {40962: 60, 40963: 40, 41486: IFDRational(7001, 3), 41487: IFDRational(5, 1)}
    return data.tobytes()[6:]


def chunks_of(folder, *chain):
    chunks = [("oFFs", struct.pack(">iiB", 30, -40, 0)), ("sCAL", b"\x010.5\x000.25"), ("eXIf", exif()), pngfile.resolution_chunk(3000, 2000)]
    pngfile.write_png(folder / "in.png", np.zeros((40, 60, 3), np.uint8), chunks=chunks)
    said = harness.run("-v", folder / "in.png", *chain, folder / "out.png").err
    made = pngfile.read_png(folder / "out.png")
    data = Image.Exif()
    data.load(made.chunk("eXIf"))
    folder_of_exif = data.get_ifd(34665)
    told = [data[256], data[257], float(data[282]), float(data[283]), *(float(folder_of_exif[tag]) for tag in (40962, 40963, 41486, 41487))]
    return {name: chunk for name, chunk in made.chunks if name in ("oFFs", "sCAL")}, told, made.resolution(), said


def test_png_turned(tmp_path):
    """A page cannot be turned with the picture on it."""
    chunks, told, resolution, said = chunks_of(tmp_path, "--rotate", "90")
    assert chunks == {"sCAL": b"\x010.25\x000.5"} and "left out: oFFs" in said
    assert told == [40, 60, 200, 300, 40, 60, 5, 7001 / 3] and resolution == (2000, 3000, 1)


def test_png_cut(tmp_path):
    """60x40 becomes 45x30, of which 30x30 are the middle: 7 pixels are cut off on the left."""
    chunks, told, resolution, said = chunks_of(tmp_path, "--resize", "30x30,fit=cover")
    assert chunks["oFFs"] == struct.pack(">iiB", round(30 * 0.75 + 7), -30, 0) and "oFFs" not in said
    assert [float(n) for n in chunks["sCAL"][1:].split(b"\0")] == pytest.approx([0.5 / 0.75, 0.25 / 0.75])
    assert told == pytest.approx([30, 30, 225, 150, 30, 30, 7001 / 4, 3.75], abs=1e-3) and resolution == (2250, 1500, 1)


@pytest.mark.parametrize("resolution", [[pngfile.resolution_chunk(3000, 2000)], []])
def test_position_in_micrometres(tmp_path, resolution):
    """Of a cut it needs to be known how large a pixel is: 7 of 2250 a metre are 3111 micrometres."""
    pngfile.write_png(tmp_path / "in.png", np.zeros((40, 60, 3), np.uint8), chunks=[("oFFs", struct.pack(">iiB", 500, 600, 1)), *resolution])
    said = harness.run("-v", tmp_path / "in.png", "--resize", "30x30,fit=cover", tmp_path / "out.png").err
    made = dict(pngfile.read_png(tmp_path / "out.png").chunks).get("oFFs")
    assert made == (struct.pack(">iiB", 500 + 3111, 600, 1) if resolution else None) and ("left out: oFFs" in said) == (not resolution)
    harness.run(tmp_path / "in.png", "--scale", "2", tmp_path / "out.png")
    assert dict(pngfile.read_png(tmp_path / "out.png").chunks)["oFFs"] == struct.pack(">iiB", 500, 600, 1)


def test_aspect_turned(tmp_path):
    pngfile.write_png(tmp_path / "in.png", np.zeros((8, 8, 1), np.uint8), chunks=[("pHYs", bytes([0, 0, 0, 4, 0, 0, 0, 3, 0]))])
    harness.run(tmp_path / "in.png", "--rotate", "90", "--scale", "2", tmp_path / "out.png")
    assert pngfile.read_png(tmp_path / "out.png").resolution() == (3, 4, 0)


# ---------------------------------------------------------------- descriptions

OME = "{http://www.openmicroscopy.org/Schemas/OME/2016-06}"


def ome(folder, rng, *chain, x=0.25, y=0.5, shape=(41, 60)):
    from xml.etree import ElementTree
    tifffile.imwrite(folder / "in.ome.tif", rng.integers(0, 256, shape, dtype=np.uint8), photometric="minisblack", ome=True,
                     metadata={"axes": "YX", "PhysicalSizeX": x, "PhysicalSizeY": y, "PhysicalSizeXUnit": "µm", "PhysicalSizeYUnit": "nm"})
    said = harness.run("-v", folder / "in.ome.tif", *chain, folder / "out.ome.tif").err
    with tifffile.TiffFile(folder / "out.ome.tif") as tiff:
        made = ElementTree.fromstring(tiff.ome_metadata).find(f".//{OME}Pixels").attrib if tiff.ome_metadata else None
        assert tiff.asarray().shape == tiff.pages[0].shape
    return made, said


def test_ome_turned(tmp_path, rng):
    pixels, _ = ome(tmp_path, rng, "--rotate", "-90", "--scale", "2")
    assert [pixels[name] for name in ("SizeX", "SizeY", "PhysicalSizeX", "PhysicalSizeY", "PhysicalSizeXUnit", "PhysicalSizeYUnit")] == \
        ["82", "120", "0.25", "0.125", "nm", "µm"]


def test_ome_aslant(tmp_path, rng):
    """Pixels that are squares stay as large; others would be no rectangles."""
    pixels, _ = ome(tmp_path, rng, "--rotate", "45", x=0.25, y=0.25)
    assert (pixels["SizeX"], pixels["SizeY"], pixels["PhysicalSizeX"], pixels["PhysicalSizeY"]) == ("72", "72", "0.25", "0.25")
    pixels, said = ome(tmp_path, rng, "--rotate", "45")
    assert pixels is None and "left out: the OME description" in said


def test_ome_cut(tmp_path, rng):
    pixels, _ = ome(tmp_path, rng, "--resize", "30x30,fit=cover", shape=(40, 60))
    assert (pixels["SizeX"], pixels["SizeY"]) == ("30", "30")
    assert [float(pixels[f"PhysicalSize{axis}"]) for axis in "XY"] == pytest.approx([0.25 * 4 / 3, 0.5 * 4 / 3])


def test_imagej_turned(tmp_path, rng):
    """Its calibration is the resolution; where its origin lies, in pixels, is left out."""
    tifffile.imwrite(tmp_path / "in.tif", rng.integers(0, 256, (40, 60), dtype=np.uint8), imagej=True, resolution=(4, 8),
                     metadata={"unit": "um", "xorigin": 5, "yorigin": 6})
    said = harness.run("-v", tmp_path / "in.tif", "--rotate", "90", tmp_path / "out.tif").err
    with tifffile.TiffFile(tmp_path / "out.tif") as tiff:
        assert tiff.asarray().shape == (60, 40) and tiff.imagej_metadata["unit"] == "um" and "xorigin" not in tiff.imagej_metadata
        assert [tiff.pages[0].tags[name].value for name in ("XResolution", "YResolution")] == [(8, 1), (4, 1)]
    assert "left out: ImageJ's origin" in said
