"""--scale against weights written out in exact arithmetic."""

import numpy as np
import pytest

import harness
import reference
from harness import Shape, check_integers, check_stage, draw_shapes, pair

FACTORS = {"2": "2", "4": "4", "8": "8", "1/2": "1/2", "1/4": "1/4", "0.25": "1/4", "1/8": "1/8", "0.5": "1/2"}


def small(shape, text):
    """Keeps what is enlarged 4 or 8 times small."""
    if text in ("4", "8") and shape.width > 101:
        return Shape(67, 59, shape.channels, shape.dtype)
    return shape


def cases(name, variants, count=8):
    drawn = [(text, small(shape, text)) for text, shape in pair(name, variants, count)]
    return pytest.mark.parametrize("text, shape", drawn, ids=lambda v: str(v).replace("/", "div"))


def check(tmp_path, rng, shape, text, option="", args=(), **options):
    check_stage(tmp_path, rng, shape, [*args, f"--scale={text}{option}"],
                [lambda planes: reference.scale(planes, FACTORS[text], **options)])


@cases("bicubic", tuple(FACTORS))
def test_bicubic(tmp_path, rng, text, shape):
    check(tmp_path, rng, shape, text)


@cases("bilinear", ("2", "1/2", "4", "1/8"), 4)
def test_bilinear(tmp_path, rng, text, shape):
    check(tmp_path, rng, shape, text, ",filter=bilinear", filter="bilinear")


@cases("bspline", ("2", "1/2", "8", "1/4"), 4)
def test_bspline(tmp_path, rng, text, shape):
    check(tmp_path, rng, shape, text, ",filter=bspline", filter="bspline")


@pytest.mark.some(4)
@pytest.mark.parametrize("grid", ["centers", "corners"])
@pytest.mark.parametrize("text", ["2", "8", "1/2", "1/4"])
def test_lanczos(tmp_path, rng, text, grid):
    shape = Shape(*rng.integers(1, 60, 2).tolist(), int(rng.integers(1, 5)), str(rng.choice(harness.TYPES)))
    edge = str(rng.choice(harness.run_edges()))
    check(tmp_path, rng, shape, text, f",filter=lanczos,grid={grid}", ["--edge", edge], filter="lanczos", grid=grid, edge=edge)


@cases("nearest", ("2", "1/2", "8", "1/4"), 4)
def test_nearest(tmp_path, rng, text, shape):
    check(tmp_path, rng, shape, text, ",filter=nearest", filter="nearest")


@pytest.mark.parametrize("form", ["gpu", "cpu"])
def test_nearest_by_every_factor(tmp_path, rng, form):
    samples = harness.random_samples(rng, Shape(*rng.integers(1, 20, 2).tolist(), 1, "float32"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    for factor in (2 ** i for i in range(7)):
        harness.run(tmp_path / "in.tif", "--scale", f"{factor},filter=nearest", "--compression=none", tmp_path / "out.tif",
                    env={"CLIMG_CLASS": form})
        assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), samples.repeat(factor, 0).repeat(factor, 1)), factor


@pytest.mark.parametrize("name", ["bicubic", "bilinear", "bspline"])
def test_without_antialias(tmp_path, rng, name):
    shape = draw_shapes(f"aliased {name}")[0]
    check(tmp_path, rng, shape, "1/4", f",filter={name},antialias=no", filter=name, antialias=False)


@pytest.mark.some(3)
@pytest.mark.parametrize("edge", ["mirror", "wrap", "zero"])
@pytest.mark.parametrize("text", ["2", "1/4"])
def test_edges(tmp_path, rng, edge, text):
    shape = Shape(*rng.integers(1, 50, 2).tolist(), int(rng.choice([1, 3])), "float32")
    check(tmp_path, rng, shape, text, args=["--edge", edge], edge=edge)


CORNERS = [(name, text) for name in ("bicubic", "bilinear", "bspline")
           for text in ("1", "2", "4", "8", "16", "64", "1/2", "1/4", "1/8", "1/64")]


def corner_cases():
    """Every filter and factor, with each edge, size and number of channels in turn."""
    edges, shapes = harness.run_edges(), draw_shapes("corners", len(CORNERS))
    for i, ((name, text), shape) in enumerate(zip(CORNERS, shapes)):
        largest = {"8": 101, "16": 33, "64": 7}.get(text, 300)
        shape = Shape(min(shape.width, largest), min(shape.height, largest), shape.channels, shape.dtype)
        yield pytest.param(name, text, edges[(i + i // len(edges)) % len(edges)], shape, id=f"{name}-{text}-{shape}".replace("/", "div"))


@pytest.mark.some(10)
@pytest.mark.parametrize("form", ["gpu", "cpu"])
@pytest.mark.parametrize("name, text, edge, shape", list(corner_cases()))
def test_corners(tmp_path, rng, monkeypatch, name, text, edge, shape, form):
    monkeypatch.setenv("CLIMG_CLASS", form)
    check_stage(tmp_path, rng, shape, ["--edge", edge, f"--scale={text},grid=corners,filter={name}"],
                [lambda planes: reference.scale(planes, text, name, edge=edge, grid="corners")])


@pytest.mark.some(3)
@pytest.mark.parametrize("text", ["1/2", "1/8"])
@pytest.mark.parametrize("name", ["bicubic", "bilinear", "bspline"])
def test_corners_without_antialias(tmp_path, rng, name, text):
    shape = draw_shapes(f"aliased corners {name}")[0]
    check_stage(tmp_path, rng, shape, [f"--scale={text},grid=corners,filter={name},antialias=no"],
                [lambda planes: reference.scale(planes, text, name, antialias=False, grid="corners")])


@pytest.mark.parametrize("text", ["2", "1/2"])
def test_eight_bits(tmp_path, rng, text):
    check_integers(tmp_path, rng, Shape(211, 157, 3, "uint8"), ["--scale", text],
                   [lambda planes: reference.scale(planes, FACTORS[text])], suffix=".png")


@pytest.mark.parametrize("size", [(1, 1), (5, 3), (8, 9), (17, 1)])
def test_size_going_down_is_rounded_up(tmp_path, rng, size):
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(*size, 1, "uint8")))
    harness.run(tmp_path / "in.tif", "--scale", "1/4", tmp_path / "out.tif")
    assert harness.read_tiff(tmp_path / "out.tif").shape[:2] == (-(-size[1] // 4), -(-size[0] // 4))


@pytest.mark.parametrize("width, factor", [(17, "16"), (20, "64"), (25, "32")])
def test_narrow_pictures_that_wrap(tmp_path, rng, width, factor):
    """Some outputs need all of a row, and their neighbours a few samples of it."""
    check_stage(tmp_path, rng, Shape(width, 5, 1, "float32"), ["--edge", "wrap", "--scale", factor],
                [lambda planes: reference.scale(planes, factor, edge="wrap")])
