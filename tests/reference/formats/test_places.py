"""Metadata on places and pixel sizes is true of the output for every path of the pixels.

Inputs are ramps of floats that say of each pixel where it lies, which interpolation does not change: so each output
pixel says itself where it came from, and what is told of it must be what was told of that place."""

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
          ["--scale", "4,grid=corners"], ["--crop", "40x30+11+4"], ["--extend", "90x80+11+20"],
          ["--resize", "50%", "--extend", "80x70,gravity=southeast"]]


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


def is_upright(chain):
    return "--rotate" not in chain and "--auto-orient" not in chain and "--warp" not in chain


@pytest.mark.some(6)
@pytest.mark.parametrize("chain", CHAINS + [["--auto-orient"]] * 3, ids=lambda chain: " ".join(chain)[2:40])
def test_places_on_earth_and_sizes_of_pixels(tmp_path, rng, chain):
    """A pixel's size and its tie point follow where the grid stays upright; else, and in the other forms, GeoTIFF is left out."""
    kind, point, orientation = str(rng.choice(list(GEO))), bool(rng.integers(2)), int(rng.integers(2, 9)) if "--auto-orient" in chain else 1
    tags = [*GEO[kind], (KEYS, (1, 1, 0, 1, 1025, 0, 1, 2 if point else 1)), (274, (orientation,))]
    tifffile.imwrite(tmp_path / "in.tif", ramps(), photometric="rgb", metadata=None, resolution=(300, 200),
                     extratags=[(tag, "H" if tag in (KEYS, 274) else "d", len(numbers), numbers, True) for tag, numbers in tags])
    before = harness.tiff_tags(tmp_path / "in.tif")
    after, at, source, across, down = run(tmp_path, chain)
    told = [after[tag][0] / after[tag][1] for tag in (X_RESOLUTION, Y_RESOLUTION)]
    assert told == pytest.approx([1 / np.hypot(*(step / [300, 200])) for step in (across, down)],
                                 rel=0.03 if "--resize" in chain else 1e-4)
    if kind != "scale" or not is_upright(chain):
        unmoved = kind == "matrix" and after.get(MATRIX) == before[MATRIX] or kind == "ties" and after.get(TIE) == before[TIE]
        assert not {SCALE, TIE, MATRIX, KEYS} & set(after) or (unmoved and chain == ["--scale", "1/2", "--scale", "2"])
        return
    # Lanczos' weights leave ripples on a ramp, of fiftieths of a pixel.
    wanted, pixel = model(before, *source, point), np.abs(model(before, *source, point) - model(before, *(source + 1), point))
    assert np.all(np.abs(model(after, *at, point) - wanted) < (0.05 if "--resize" in chain else 0.002) * pixel), (kind, point, orientation)
    assert after[SCALE][2:] == before[SCALE][2:] and after[KEYS] == before[KEYS]


@pytest.mark.parametrize("chain", [["--rotate", "90"], ["--warp", "0 0 5 0 1 0"], ["--wavelet=1", "--mosaic"]], ids=" ".join)
def test_geotiff_that_is_left_out_is_named(tmp_path, chain):
    tifffile.imwrite(tmp_path / "in.tif", ramps(), photometric="rgb", metadata=None,
                     extratags=[(tag, "d", len(numbers), numbers, True) for tag, numbers in GEO["scale"]])
    said = harness.run("-v", tmp_path / "in.tif", *chain, tmp_path / "out.tif").err
    assert "left out: GeoTIFF" in said and not {SCALE, TIE, MATRIX} & set(harness.tiff_tags(tmp_path / "out.tif"))


# ---------------------------------------------------------------- PNG and EXIF

@pytest.mark.parametrize("chain, told, resolution", [
    (["--rotate", "90"], [40, 60, 200, 300, 40, 60, 5, 7001 / 3], (2000, 3000, 1)),
    (["--resize", "30x30,fit=cover"], [30, 30, 225, 150, 30, 30, 7001 / 4, 3.75], (2250, 1500, 1))], ids=["turned", "cut"])
def test_exif(tmp_path, chain, told, resolution):
    """60x40 becomes 45x30, of which 30x30 are the middle."""
    data = Image.Exif()
    data[256], data[257], data[282], data[283], data[296] = 60, 40, 300.0, 200.0, 2
    data[34665] = {40962: 60, 40963: 40, 41486: IFDRational(7001, 3), 41487: IFDRational(5, 1)}
    chunks = [("eXIf", data.tobytes()[6:]), pngfile.resolution_chunk(3000, 2000)]
    pngfile.write_png(tmp_path / "in.png", np.zeros((40, 60, 3), np.uint8), chunks=chunks)
    harness.run(tmp_path / "in.png", *chain, tmp_path / "out.png")
    made, data = pngfile.read_png(tmp_path / "out.png"), Image.Exif()
    data.load(made.chunk("eXIf"))
    folder = data.get_ifd(34665)
    numbers = [data[256], data[257], float(data[282]), float(data[283]), *(float(folder[tag]) for tag in (40962, 40963, 41486, 41487))]
    assert numbers == pytest.approx(told, abs=1e-3) and made.resolution() == resolution


def test_aspect_turned(tmp_path):
    pngfile.write_png(tmp_path / "in.png", np.zeros((8, 8, 1), np.uint8), chunks=[("pHYs", bytes([0, 0, 0, 4, 0, 0, 0, 3, 0]))])
    harness.run(tmp_path / "in.png", "--rotate", "90", "--scale", "2", tmp_path / "out.png")
    assert pngfile.read_png(tmp_path / "out.png").resolution() == (3, 4, 0)


# ---------------------------------------------------------------- descriptions

def test_imagej_turned(tmp_path, rng):
    """Its calibration is the resolution; where its origin lies, in pixels, is left out."""
    tifffile.imwrite(tmp_path / "in.tif", rng.integers(0, 256, (40, 60), dtype=np.uint8), imagej=True, resolution=(4, 8),
                     metadata={"unit": "um", "xorigin": 5, "yorigin": 6})
    said = harness.run("-v", tmp_path / "in.tif", "--rotate", "90", tmp_path / "out.tif").err
    with tifffile.TiffFile(tmp_path / "out.tif") as tiff:
        assert tiff.asarray().shape == (60, 40) and tiff.imagej_metadata["unit"] == "um" and "xorigin" not in tiff.imagej_metadata
        assert [tiff.pages[0].tags[name].value for name in ("XResolution", "YResolution")] == [(8, 1), (4, 1)]
    assert "left out: ImageJ's origin" in said
