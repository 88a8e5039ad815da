"""--warp and --rotate (by quarters: test_turn.py) against scipy.ndimage.affine_transform, and against the filters' formulas."""

import math

import numpy as np
import pytest
from scipy import ndimage

import harness
import pngfile
import reference
from harness import Shape, check_integers, check_stage

# Zero beyond the picture, or by --edge, as scipy names it.
OUTSIDE = {"zero": "grid-constant", "clamp": "nearest", "mirror": "reflect", "wrap": "grid-wrap"}
WAYS = pytest.mark.parametrize("form", ["cpu", "gpu"])
MODES = ["zero", *(edge for edge in harness.run_edges() if edge != "zero")]
UNCHANGED = (1, 0, 0, 0, 1, 0)


def spline(planes, matrix, size, order, mode):
    """scipy's: bilinear, and the cubic B-spline without prefilter."""
    a, b, tx, c, d, ty = matrix
    return reference.each_channel(
        lambda plane: ndimage.affine_transform(plane, [[d, c], [b, a]], [ty, tx], size[::-1], order=order, mode=mode,
                                               prefilter=False), planes)


def text(matrix):
    return " ".join(repr(float(number)) for number in matrix)


def draw_matrix(rng, size, low=0.2, high=1.0):
    """Turned, stretched and sheared, about the middle of a picture of that size, and moved by a part of it."""
    linear = rng.uniform(low, high) * np.array(((math.cos(t := rng.uniform(0, 2 * math.pi)), math.sin(t)),
                                                (-math.sin(t), math.cos(t)))) @ [[1, rng.uniform(-0.3, 0.3)], [0, 1]]
    middle = (np.array(size) - 1) / 2
    tx, ty = middle - linear @ middle + rng.uniform(-0.3, 0.3, 2) * size
    return (*linear[0], tx, *linear[1], ty)


def outside_options(mode):
    return (["--edge", "clamp"], "") if mode == "zero" else (["--edge", mode], ",outside=edge")


@pytest.mark.some(4)
@WAYS
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name, order", [("bilinear", 1), ("bspline", 3)])
def test_scipy(tmp_path, rng, monkeypatch, name, order, mode, form):
    """Without antialiasing, whatever the matrix."""
    monkeypatch.setenv("CLIMG_CLASS", form)
    shape = Shape(*map(int, rng.integers(1, 120, 2)), int(rng.integers(1, 5)), str(rng.choice(harness.TYPES)))
    size = tuple(map(int, rng.integers(1, 120, 2)))
    matrix = draw_matrix(rng, (shape.width, shape.height), 0.2, 3)
    edge, outside = outside_options(mode)
    check_stage(tmp_path, rng, shape, [*edge, "--warp", f"{text(matrix)},size={size[0]}x{size[1]},filter={name},"
                                       f"antialias=no{outside}"],
                [lambda planes: spline(planes, matrix, size, order, OUTSIDE[mode])])


def test_ten_turns_keep_the_picture(tmp_path):
    """By 36 degrees each, in the middle: what interpolation takes away adds up. The prefiltered cubic spline is scipy's."""
    scene = harness.SAMPLES / "scene.tif"
    splined = original = harness.read_tiff(scene) / 65535.0
    (a, b, _, c, d, _), _ = reference.rotation(256, 256, 36)
    for _ in range(10):
        splined = reference.each_channel(lambda plane: ndimage.affine_transform(
            plane, [[d, c], [b, a]], [127.5 * (1 - c - d), 127.5 * (1 - a - b)], mode="nearest"), splined)

    def left(picture):
        return -10 * np.log10(np.mean((picture - original)[64:192, 64:192] ** 2))

    found = {}
    for name in ("bspline", "bicubic", "lanczos"):
        turns = [f"--rotate=36,size=256x256,outside=edge,filter={name}"] * 10
        harness.run(scene, *turns, "--depth=float", "--compression=none", tmp_path / "out.tif")
        found[name] = left(harness.read_tiff(tmp_path / "out.tif"))
    assert found["bspline"] + 3 < found["bicubic"] < found["lanczos"] - 2 and left(splined) < found["lanczos"]


@pytest.mark.some(6)
@WAYS
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", reference.FILTERS)
@pytest.mark.parametrize("high", [1, 4])
def test_antialias(tmp_path, rng, monkeypatch, name, mode, high, form):
    """The filter is stretched where the picture shrinks, and there alone."""
    monkeypatch.setenv("CLIMG_CLASS", form)
    shape = Shape(*map(int, rng.integers(1, 60, 2)), int(rng.integers(1, 5)), str(rng.choice(harness.TYPES)))
    size = tuple(map(int, rng.integers(1, 30, 2)))
    matrix = draw_matrix(rng, (shape.width, shape.height), high / 2, high)
    edge, outside = outside_options(mode)
    check_stage(tmp_path, rng, shape, [*edge, "--warp", f"{text(matrix)},size={size[0]}x{size[1]},filter={name}{outside}"],
                [lambda planes: reference.warp(planes, matrix, size, name, mode)])


@WAYS
def test_large_reduction(tmp_path, rng, monkeypatch, form):
    """An output far from the picture costs nothing: reading each window of 600 x 600 zeros took minutes."""
    monkeypatch.setenv("CLIMG_CLASS", form)
    samples = harness.random_samples(rng, Shape(150, 100, 1, "uint8"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    matrix = (100, 0, -1e4, 0, 100, -1e4)
    harness.run("in.tif", "--warp", f"{text(matrix)},size=500x500,filter=lanczos", "out.tif", cwd=tmp_path)
    expected = np.zeros((500, 500, 1))
    expected[96:106, 96:106] = reference.warp(samples / 255, (100, 0, -400, 0, 100, -400), (10, 10), "lanczos")
    assert np.abs(harness.read_tiff(tmp_path / "out.tif") - 255 * expected.clip(0, 1)).max() <= 0.51


@pytest.mark.some(1)
@WAYS
def test_not_a_number_where_the_weight_is_zero(tmp_path, rng, monkeypatch, form):
    """Samples at the very end of a stretched triangle count for nothing, along both axes."""
    monkeypatch.setenv("CLIMG_CLASS", form)
    samples = harness.random_samples(rng, Shape(41, 41, 1, "float32"))
    samples[20, 20] = np.nan
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run(tmp_path / "in.tif", "--warp", "2 0 0 0 2 0,size=20x20,filter=bilinear", tmp_path / "out.tif")
    assert np.argwhere(np.isnan(harness.read_tiff(tmp_path / "out.tif")[..., 0])).tolist() == [[10, 10]]


@WAYS
@pytest.mark.some(3)
@pytest.mark.parametrize("degrees", [0.3, -2, 10, -30])
def test_rows_that_nearly_follow_the_source(tmp_path, rng, monkeypatch, degrees, form):
    """A sample that is missing reaches the outputs whose window contains it, and no others."""
    monkeypatch.setenv("CLIMG_CLASS", form)
    monkeypatch.setenv("CLIMG_POISON", "1")
    for width, height in (1, 1), (1, 19), (33, 1), (16, 16), (75, 23):
        name, taps = [("bilinear", 2), ("bicubic", 4), ("lanczos", 6)][int(rng.integers(3))]
        samples = harness.random_samples(rng, Shape(width, height, 1, "float32"))
        missing = rng.random((height, width)) < 0.01
        matrix = reference.rotation(width, height, degrees)[0]
        given = samples.copy()
        given[missing] = rng.choice([np.nan, np.inf])
        harness.write_tiff(tmp_path / "in.tif", given)
        harness.run(tmp_path / "in.tif", "--warp", f"{text(matrix)},size={width}x{height},filter={name},outside=edge",
                    tmp_path / "out.tif")
        result = harness.read_tiff(tmp_path / "out.tif").reshape(height, width)
        y, x = np.mgrid[:height, :width]
        columns, rows = (np.floor(m[0] * x + m[1] * y + m[2]).astype(int) for m in (matrix[:3], matrix[3:]))
        reached = np.zeros_like(missing)
        for i in range(1 - taps // 2, taps // 2 + 1):
            for j in range(1 - taps // 2, taps // 2 + 1):
                reached |= missing[np.clip(rows + j, 0, height - 1), np.clip(columns + i, 0, width - 1)]
        expected = reference.warp(samples.reshape(height, width, 1).astype(float), matrix, (width, height), name, "clamp")[..., 0]
        assert (np.isfinite(result) == ~reached).all()
        assert np.abs(result - expected)[~reached].max(initial=0) < 1e-5


@WAYS
def test_nearest(tmp_path, rng, monkeypatch, form):
    monkeypatch.setenv("CLIMG_CLASS", form)
    matrix = (0.3712347, 0.2134517, -3.31, -0.4123457, 0.9123451, 5.13)  # nothing halfway between two pixels
    check_stage(tmp_path, rng, Shape(50, 40, 3, "uint16"), ["--warp", f"{text(matrix)},filter=nearest"],
                [lambda planes: spline(planes, matrix, (50, 40), 0, "grid-constant")])


@pytest.mark.parametrize("name", [*reference.FILTERS, "nearest"])
def test_far_into_a_large_picture(tmp_path, rng, name):
    """Positions are as exact there as anywhere: a ramp shows them."""
    width, shift = 60000, 0.123456
    ramp = np.broadcast_to(np.arange(width, dtype=np.float32)[:, None] % 2, (2, width, 1)).copy()
    harness.write_tiff(tmp_path / "in.tif", ramp)
    harness.run(tmp_path / "in.tif", "--warp", f"1.00001 0 {shift} 0 1 0,filter={name},antialias=no,outside=edge",
                tmp_path / "out.tif")
    at = 1.00001 * np.arange(3, width - 10) + shift
    parts = np.mod(at, 2)
    expected = {"bilinear": np.minimum(parts, 2 - parts), "nearest": np.rint(parts) % 2}.get(name)
    if expected is None:
        function, support = reference.FILTERS[name]
        near = np.floor(at)[:, None] + np.arange(1 - support, 1 + support)
        weights = np.vectorize(function)(at[:, None] - near)
        expected = (weights * (near % 2)).sum(axis=1) / weights.sum(axis=1)
    harness.assert_close(harness.read_tiff(tmp_path / "out.tif")[:1, 3:3 + at.size].astype(float), expected[None, :, None])


@pytest.mark.parametrize("name", ["bicubic", "bilinear", "nearest", "lanczos"])
def test_no_warp_changes_nothing(tmp_path, rng, name):
    samples = harness.random_samples(rng, Shape(41, 30, 3, "uint16"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run(tmp_path / "in.tif", "--warp", f"{text(UNCHANGED)},filter={name}", tmp_path / "out.png")
    assert np.array_equal(pngfile.read_png(tmp_path / "out.png").samples, samples)


def test_transparent_outside(tmp_path):
    """Nothing of the colour bleeds, and half of a pixel beyond the picture is half transparent."""
    samples = np.full((4, 4, 4), 255, np.uint8)
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run(tmp_path / "in.tif", "--warp", "1 0 -1.5 0 1 0,filter=bilinear", tmp_path / "out.png")
    assert pngfile.read_png(tmp_path / "out.png").samples[0].tolist() == [[0] * 4, [255, 255, 255, 128], [255] * 4,
                                                                          [255] * 4]


# ---------------------------------------------------------------- rotate

@pytest.mark.parametrize("degrees", [7, -3.5, 45, 123, 200.25, 359])
def test_angles(tmp_path, rng, degrees):
    """Around the centres of the picture and of the smallest canvas that holds it; scipy gives the values."""
    width, height = map(int, rng.integers(20, 90, 2))
    matrix, size = reference.rotation(width, height, degrees)
    check_stage(tmp_path, rng, Shape(width, height, int(rng.integers(1, 5)), "uint8"),
                ["--rotate", f"{degrees},filter=bilinear"],
                [lambda planes: spline(planes, matrix, size, 1, "grid-constant")])


def largest_inside(width, height, degrees):
    """The largest area of a rectangle inside the rotated picture, by search: of each width the height that its bounding box,
    seen from the picture, allows."""
    c, s = abs(math.cos(math.radians(degrees))), abs(math.sin(math.radians(degrees)))
    w = np.linspace(0, math.hypot(width, height), 200001)
    with np.errstate(divide="ignore", invalid="ignore"):
        h = np.fmin((width - w * c) / s, (height - w * s) / c)
    return np.max(w * h)


def inside(width, height, degrees, size):
    """The map whose centres meet, for that size."""
    (a, b, _, c, d, _), _ = reference.rotation(width, height, degrees)
    x, y = (size[0] - 1) / 2, (size[1] - 1) / 2
    return a, b, (width - 1) / 2 - a * x - b * y, c, d, (height - 1) / 2 - c * x - d * y


ANGLES = [3.2, -0.4, 7, -38, 44.9999, 45, 45.0001, 61, 90.01, 123, 179.5, 200.25, -275, 359]


@pytest.mark.parametrize("degrees", ANGLES)
def test_crop_inside_is_the_largest_rectangle(tmp_path, rng, degrees):
    (tmp_path / "in").mkdir()
    sizes = [(200, 200), (300, 40), (40, 300), (190, 211), *map(tuple, rng.integers(30, 400, (4, 2)).tolist())]
    for i, (width, height) in enumerate(sizes):
        harness.write_tiff(tmp_path / "in" / f"{i}.tif", np.ones((height, width, 1), np.uint8))
    harness.run("in", "--rotate", f"{degrees},crop=inside", "out", cwd=tmp_path)
    for i, (width, height) in enumerate(sizes):
        high, wide = harness.read_tiff(tmp_path / "out" / f"{i}.tif").shape[:2]
        a, b, tx, c, d, ty = inside(width, height, degrees, (wide, high))
        for x in (-0.5, wide - 0.5):
            for y in (-0.5, high - 0.5):  # the corners of the corner pixels
                assert -0.502 < a * x + b * y + tx < width - 0.498 and -0.502 < c * x + d * y + ty < height - 0.498
        most = largest_inside(width, height, degrees)
        assert most - (wide + high + 1) < wide * high < most * 1.0001 + 1


@WAYS
@pytest.mark.some(4)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("degrees", [5, -70])
def test_crop_inside(tmp_path, rng, monkeypatch, degrees, channels, form):
    """No pixel is empty, not even by a part, and all of it is what scipy interpolates."""
    monkeypatch.setenv("CLIMG_CLASS", form)
    shape = Shape(*map(int, rng.integers(30, 90, 2)), channels, str(rng.choice(harness.TYPES)))
    harness.write_tiff(tmp_path / "size.tif", np.ones((shape.height, shape.width, 1), np.uint8))
    harness.run(tmp_path / "size.tif", "--rotate", f"{degrees},crop=inside", tmp_path / "size.png")
    high, wide, _ = pngfile.read_png(tmp_path / "size.png").samples.shape
    assert np.all(pngfile.read_png(tmp_path / "size.png").samples == 1)
    check_stage(tmp_path, rng, shape, ["--rotate", f"{degrees},crop=inside,filter=bilinear"],
                [lambda planes: spline(planes, inside(shape.width, shape.height, degrees, (wide, high)), (wide, high), 1, "nearest")])


@pytest.mark.parametrize("degrees", [0, 90, -90, 180])
def test_crop_inside_of_quarters_cuts_nothing(tmp_path, rng, degrees):
    samples = harness.random_samples(rng, Shape(31, 20, 3, "uint16"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run(tmp_path / "in.tif", "--rotate", f"{degrees},crop=inside", tmp_path / "out.tif")
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), np.rot90(samples, -degrees // 90))


@pytest.mark.parametrize("form", ["cpu", "gpu"])
@pytest.mark.parametrize("height, width", [(40, 60), (61, 33), (30, 30)])
def test_crop_same_of_quarters_repeats_the_border(tmp_path, rng, height, width, form):
    """A picture turned by 90 degrees does not cover its old size: the border's pixels do, also for samples of files."""
    picture = rng.integers(0, 256, (height, width, 3), np.uint8)
    harness.write_tiff(tmp_path / "in.tif", picture)
    middle_y, middle_x = (height - 1) / 2, (width - 1) / 2
    y, x = np.mgrid[:height, :width].astype(float) - np.array([middle_y, middle_x])[:, None, None]
    for degrees, (from_x, from_y) in {90: (y, -x), 180: (-x, -y), 270: (-y, x)}.items():
        harness.run("in.tif", "--rotate", f"{degrees},crop=same,filter=nearest", "-y", "out.tif", cwd=tmp_path, env={"CLIMG_CLASS": form})
        row, column = np.floor(from_y + middle_y + 0.5).astype(int), np.floor(from_x + middle_x + 0.5).astype(int)
        expected = picture[row.clip(0, height - 1), column.clip(0, width - 1)]
        assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), expected), degrees


def test_angle_is_clockwise(tmp_path):
    """A point 15 to the right of the centre goes down by 9 and back by 3."""
    samples = np.zeros((41, 41, 1), np.uint8)
    samples[20, 35] = 255
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run(tmp_path / "in.tif", "--rotate", "36.8698976,size=41x41", tmp_path / "out.tif")
    row, column = np.unravel_index(np.argmax(harness.read_tiff(tmp_path / "out.tif")), (41, 41, 1))[:2]
    assert (row - 20, column - 20) == (9, 12)


@pytest.mark.parametrize("size", [(20, 30), (21, 30), (90, 91)])
def test_quarter_of_another_size(tmp_path, rng, size):
    """The middle; where the centres do not meet it is interpolated."""
    matrix = (0, 1, 19.5 - (size[1] - 1) / 2, -1, 0, 24.5 + (size[0] - 1) / 2)
    check_stage(tmp_path, rng, Shape(40, 50, 3, "uint8"), ["--rotate", f"90,size={size[0]}x{size[1]},filter=bilinear"],
                [lambda planes: spline(planes, matrix, size, 1, "grid-constant")])


@WAYS
def test_integers(tmp_path, rng, monkeypatch, form):
    monkeypatch.setenv("CLIMG_CLASS", form)
    matrix = (0.9, 0.2, -5.3, -0.1, 1.0, 3.7)
    check_integers(tmp_path, rng, Shape(111, 97, 3, "uint8"), ["--warp", f"{text(matrix)},filter=bilinear,antialias=no"],
                   [lambda planes: spline(planes, matrix, (111, 97), 1, "grid-constant")], suffix=".png")


# 40x30 covers 20x40 as 53x40, of which 33 columns are cut off.
@pytest.mark.parametrize("args, across, down", [(["--rotate", 90], 1, 1), (["--rotate", 10], 1, 1),
                                                (["--warp", "1 0 0 0 1 0,size=5x90"], 1, 1),
                                                (["--resize", "20x40,fit=cover"], 53 / 40, 40 / 30)])
def test_pixels_measure_what_they_did(tmp_path, rng, args, across, down):
    """If the picture is turned or cropped, its size does not follow from them."""
    samples = harness.random_samples(rng, Shape(40, 30, 1, "uint8"))
    geo = [(33550, "d", 3, (1.0, 1.0, 0.0), True), (33922, "d", 6, (0.0, 0.0, 0.0, 5.0, 6.0, 0.0), True)]  # the scale, a tie point
    harness.write_tiff(tmp_path / "in.tif", samples, resolution=(300, 300), resolutionunit=2, extratags=geo)
    harness.run(tmp_path / "in.tif", *args, tmp_path / "out.tif")
    tags = harness.tiff_tags(tmp_path / "out.tif")
    assert [tags[tag][0] / tags[tag][1] for tag in (282, 283)] == pytest.approx([300 * across, 300 * down])
    if args[0] == "--rotate":
        assert not {33550, 33922} & set(tags)  # docs/metadata.md: GeoTIFF stays where the picture stays upright
    else:
        assert tags[33550][:2] == pytest.approx([1 / across, 1 / down])


@pytest.mark.parametrize("option", ["--warp=1 0 0 0 1", "--warp=1 0 0 0 1 0 0", "--warp=1 0 nan 0 1 0", "--warp=a b c d e f",
                                    "--warp=1 0 0 0 1 0,size=5", "--warp=1 0 0 0 1 0,size=0x4", "--rotate=x", "--rotate=", "--rotate=5,crop=", "--rotate=5,crop=inside,size=9x9",
                                    "--crop=inside"])
def test_bad_values(tmp_path, rng, option):
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(4, 3, 1, "uint8")))
    result = harness.run(tmp_path / "in.tif", option, tmp_path / "out.tif", status=2)
    assert option.split("=")[0] in result.err and not (tmp_path / "out.tif").exists()


def test_too_far(tmp_path, rng):
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(4, 3, 1, "uint8")))
    result = harness.run(tmp_path / "in.tif", "--warp", "1 0 1e7 0 1 0", tmp_path / "out.tif", status=1)
    assert "4194304" in result.err


@WAYS
def test_steps_of_a_million_pixels(tmp_path, rng, monkeypatch, form):
    """Sixteen such steps exceed the integers of positions; the output has two."""
    monkeypatch.setenv("CLIMG_CLASS", form)
    samples = harness.random_samples(rng, Shape(9, 2, 1, "uint8"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run("-m", "buffer", tmp_path / "in.tif", "--warp", "1118481.07 0 0 0 1 0,size=2x2,antialias=no,outside=edge",
                tmp_path / "out.tif")
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), samples[:, [0, -1]])


@WAYS
@pytest.mark.parametrize("name", ["bicubic", "bilinear", "lanczos"])
def test_whole_steps_copy(tmp_path, rng, monkeypatch, name, form):
    """NaN and infinite samples move and do not spread."""
    monkeypatch.setenv("CLIMG_CLASS", form)
    samples = harness.random_samples(rng, Shape(41, 33, 1, "float32"))
    samples[20, 20], samples[9, 30] = np.nan, np.inf
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run("in.tif", "--warp", f"1 0 2 0 1 -3,filter={name}", "out.tif", cwd=tmp_path)
    expected = np.zeros_like(samples)
    expected[3:, :-2] = samples[:-3, 2:]
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), expected, equal_nan=True)


@pytest.mark.parametrize("option", ["--warp=1.0.0,0,0,1,0", "--warp=1 0 0-5 0 1", "--warp=0x1 0 0 0 1 0", "--scale=0x2", "--scale=1/0x2", "--resize=0x10%"])
def test_numbers_that_run_together(tmp_path, rng, option):
    """A missing separator is no separator, and hexadecimal numbers are none."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(9, 8, 1, "uint8")))
    assert option.split("=")[0] in harness.run("in.tif", option, "out.tif", cwd=tmp_path, status=2).err
