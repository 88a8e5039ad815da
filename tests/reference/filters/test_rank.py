"""--median and --rank against scipy.ndimage's rank filters, bit for bit."""
import numpy as np
import pytest

import reference
from harness import Shape, draw_shapes, random_samples, read_tiff, run, run_edges, write_tiff

EDGES = {"clamp": "edge", "mirror": "symmetric", "wrap": "wrap", "zero": "constant"}
WAYS = [("cpu", "buffer"), ("gpu", "buffer"), ("gpu", "image")]
RADII = (1, 2, 3, 5, 7, 15, 16, 31, 32, 60, 127)

every_way = pytest.mark.parametrize("form, memory", WAYS, ids=["-".join(way) for way in WAYS])


def ranked_at(picture, places, radius, percent, shape, edge):
    """The same by sorting, at some (row, column): numpy puts NaN last, which scipy leaves anywhere."""
    mask = reference.footprint(radius, shape)
    rank = min(int(mask.sum() * percent / 100), mask.sum() - 1)
    padded = np.pad(picture[..., 0], radius, EDGES[edge])
    side = 2 * radius + 1
    return np.array([np.sort(padded[y:y + side, x:x + side][mask])[rank] for y, x in places])


def filtered(folder, picture, stage, value, way, edge="clamp", more=()):
    form, memory = way
    write_tiff(folder / "in.tif", picture)
    run("--memory", memory, "in.tif", f"--{stage}", value, "--edge", edge, *more, "out.tif", cwd=folder,
        env={"CLIMG_CLASS": form, "CLIMG_POISON": "1"})
    return read_tiff(folder / "out.tif")


def assert_same(actual, expected, context=""):
    """Compares as numbers: -0 is 0, and NaN is NaN."""
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected) if actual.dtype.kind == "f" else False)
    assert same.all(), f"{(~same).mean():.2%} of the samples differ, the first at {np.argwhere(~same)[0]} {context}"


def opaque(shape):
    """Alpha is a case of its own."""
    return Shape(shape.width, shape.height, 3 if shape.channels > 2 else 1, shape.dtype)


@pytest.mark.some(3)
@every_way
@pytest.mark.parametrize("shape", [opaque(shape) for shape in draw_shapes("rank", 8)], ids=str)
def test_median_and_rank(tmp_path, rng, shape, form, memory):
    most = 6 if memory == "image" else 20
    if memory == "image":  # of which CPU devices take each texel apart
        shape = Shape(min(shape.width, 101), min(shape.height, 99), shape.channels, shape.dtype)
    picture = random_samples(rng, shape, low=-0.5)
    for radius in (1, 2, int(rng.integers(3, most))):
        edge, window = str(rng.choice(run_edges())), str(rng.choice(["square", "disc"]))
        actual = filtered(tmp_path, picture, "median", f"{radius},shape={window}", (form, memory), edge)
        assert_same(actual, reference.rank(picture, radius, 50, window, edge), f"{radius} {window} {edge}")
    radius = int(rng.integers(1, 6))
    for percent in (0, 100, np.round(rng.uniform(0, 100), 2)):
        actual = filtered(tmp_path, picture, "rank", f"{radius},percent={percent},shape={window}", (form, memory), edge)
        assert_same(actual, reference.rank(picture, radius, percent, window, edge), f"{radius} {percent} {window} {edge}")


@pytest.mark.some(3)
@pytest.mark.parametrize("radius", RADII)
def test_radii(tmp_path, rng, radius):
    """The picture is smaller than the larger windows. Images are slow on a device without texture units."""
    picture = random_samples(rng, Shape(*map(int, rng.integers(20, 60, 2)), 1, "float32"))
    places = [(0, 0), *np.argwhere(rng.random(picture.shape[:2]) < 0.02), (picture.shape[0] - 1, picture.shape[1] - 1)]
    edge = str(rng.choice(run_edges()))
    for window in ("square", "disc"):
        expected = ranked_at(picture, places, radius, 50, window, edge)
        for way in WAYS[:2] + WAYS[2:] * (radius < 20):
            actual = filtered(tmp_path, picture, "median", f"{radius},shape={window}", way, edge)
            assert_same(np.array([actual[y, x, 0] for y, x in places]), expected, f"{way} {window} {edge}")


def adversaries(rng):
    """Floats that are all equal, in order, of few values, extreme, or no numbers."""
    y, x = np.mgrid[0:19, 0:35]
    limits = np.finfo(np.float32)
    few = [np.nan, np.inf, -np.inf, 0.0, -0.0, limits.max, -limits.max, limits.smallest_subnormal, 1.0]
    return {"equal": np.full(x.shape, 0.25), "along x": x / 35, "along y": -y / 19, "both": x + 35 * y,
            "steps": (x + y) % 2 * 1e30 - (x // 5 % 2), "magnitudes": rng.choice([-1, 1], x.shape) * 10.0 ** rng.integers(-44, 38, x.shape),
            "neighbours": np.nextafter(np.float32(1), np.float32(2)) * (x % 2) + (1 - x % 2),
            "few": rng.choice(few, x.shape), "NaN": np.full(x.shape, np.nan),
            "half NaN": np.where(rng.random(x.shape) < 0.5, rng.choice([np.nan, -np.nan], x.shape), x)}


@pytest.mark.some(5)
@every_way
@pytest.mark.parametrize("name", adversaries(np.random.default_rng(0)))
def test_adversaries(tmp_path, rng, form, memory, name):
    picture = adversaries(rng)[name].astype(np.float32)[..., None]
    for radius, percent, window in ((1, 50, "square"), (2, 50, "square"), (4, 50, "square"), (3, 25, "disc")):
        edge = str(rng.choice(run_edges()))
        actual = filtered(tmp_path, picture, "rank", f"{radius},percent={percent},shape={window}", (form, memory), edge)
        expected = ranked_at(picture, list(np.ndindex(picture.shape[:2])), radius, percent, window, edge)
        assert_same(actual.ravel(), expected, f"{radius} {percent} {window} {edge}")


@every_way
def test_sign_of_zero(tmp_path, form, memory):
    """The output is one of the values, bit for bit: -0 is no 8-bit value."""
    picture = np.full((40, 50, 1), -0.0, np.float32)
    picture[::7, ::5] = 1
    for value in ("1", "2", "5", "6,shape=disc"):
        actual = filtered(tmp_path, picture, "median", value, (form, memory))
        assert (actual == 0).all() and np.signbit(actual).all(), value


@pytest.mark.some(1)
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [1, 3])
def test_samples_as_they_are(tmp_path, rng, dtype, channels):
    """Without planes on CPU devices; the same with a stage behind or another type, where planes are needed."""
    limit = np.iinfo(dtype).max
    picture = rng.choice([0, 1, limit - 1, limit, limit // 2], (70, 301, channels)).astype(dtype)
    for radius in (1, 2):
        for edge in run_edges():
            expected = reference.rank(picture, radius, 50, "square", edge)
            for more in ((), ("--invert", "--invert")):
                assert_same(filtered(tmp_path, picture, "median", str(radius), ("cpu", "buffer"), edge, more), expected,
                            f"{radius} {edge} {more}")
    actual = filtered(tmp_path, picture, "median", "1", ("cpu", "buffer"), more=("--depth", "float"))
    np.testing.assert_allclose(actual, reference.rank(picture, 1) / limit, atol=1e-7)


@pytest.mark.some(3)
@pytest.mark.parametrize("kind", ["samples", "chain", "mixed", "alpha"])
def test_windows_of_bytes(tmp_path, rng, kind):
    """Histograms on CPU devices, in blocks: of samples, of planes of whole 255ths, and beside places that are not."""
    height, width, channels = 300, 1000, 3 if kind == "samples" else 1
    y, x = np.mgrid[0:height, 0:width]
    picture = (128 + 90 * np.sin(x / 70)[..., None] + rng.normal(0, 40, (height, width, channels))).clip(0, 255).astype(np.uint8)
    picture[100:140, 300:700] = 77
    more = ("--invert", "--invert") if kind == "chain" else ()
    if kind == "mixed":
        picture = picture * np.float32(1 / 255)
        picture[rng.random(picture.shape) < 3e-6] = rng.choice([0.3, 2, np.nan, -np.inf])
    if kind == "alpha":
        picture = np.concatenate([picture, np.full_like(picture, 255)], axis=2)
    for radius, percent, window in ((int(rng.integers(3, 16)), 50, "square"), (int(rng.integers(3, 16)), int(rng.integers(1, 100)), "square"),
                                    (int(rng.integers(3, 10)), int(rng.integers(1, 100)), "disc")):
        edge = str(rng.choice(run_edges()))
        actual = filtered(tmp_path, picture, "rank", f"{radius},percent={percent},shape={window}", ("cpu", "buffer"), edge, more)
        places = [(0, 0), (height - 1, width - 1), *np.argwhere(rng.random((height, width)) < 0.003), *zip(y[~np.isfinite(picture[..., 0])], x[~np.isfinite(picture[..., 0])])]
        expected = ranked_at(picture, places, radius, percent, window, edge)
        assert_same(np.array([actual[row, column, 0] for row, column in places]), expected, f"{radius} {percent} {window} {edge}")


def bytes_for_discs(rng, kind):
    """Outputs of neighbours that are close, far, or far with few values; and pictures of less than a vector or a tile."""
    height, width = {"pixel": (1, 1), "row": (1, 77), "column": (70, 1), "narrow": (40, 4)}.get(kind, (75, 97))
    y, x = np.mgrid[0:height, 0:width]
    picture = {"bars": y // 7 % 2 * 255, "ramp": (7 * x + 13 * y) % 256, "edge": rng.integers(0, 9, x.shape) + (x > y) * 240,
               "ends": rng.choice([0, 1, 254, 255], x.shape), "smooth": 128 + 40 * np.sin(x / 20) + rng.normal(0, 5, x.shape)}
    return picture.get(kind, rng.integers(0, 256, x.shape)).astype(np.uint8)[..., None]


@pytest.mark.some(3)
@pytest.mark.parametrize("kind", ["pixel", "row", "column", "narrow", "bars", "ramp", "edge", "ends", "smooth", "noise"])
def test_discs_of_bytes(tmp_path, rng, kind):
    """Outputs next to a row of histograms are found by thresholds, or value by value if they differ much."""
    picture = bytes_for_discs(rng, kind)
    for radius in (1, 2, int(rng.integers(3, 20)), 63, 64, 127):
        edge, percent = str(rng.choice(run_edges())), float(rng.choice([0, 50, 100, np.round(rng.uniform(0, 100), 2)]))
        actual = filtered(tmp_path, picture, "rank", f"{radius},percent={percent},shape=disc", ("cpu", "buffer"), edge)
        places = [(0, 0), (picture.shape[0] - 1, picture.shape[1] - 1), *np.argwhere(rng.random(picture.shape[:2]) < (1 if radius < 20 else 0.1))]
        expected = ranked_at(picture, places, radius, percent, "disc", edge)
        assert_same(np.array([actual[row, column, 0] for row, column in places]), expected, f"{radius} {percent} {edge}")


@pytest.mark.some(3)
@every_way
@pytest.mark.parametrize("percent", [0, 100])
def test_extremes(tmp_path, rng, form, memory, percent):
    """By a pass along each axis; NaN is the largest value, and alpha stays."""
    picture = random_samples(rng, Shape(61, 45, 1, "float32"), low=-1)
    picture[rng.random(picture.shape) < 0.01] = np.nan
    with_alpha = random_samples(rng, Shape(61, 45, 4, "float32"))
    for radius in (1, 2, 9, int(rng.integers(10, 40))):
        edge = str(rng.choice(run_edges()))
        actual = filtered(tmp_path, picture, "rank", f"{radius},percent={percent}", (form, memory), edge)
        expected = ranked_at(picture, list(np.ndindex(picture.shape[:2])), radius, percent, "square", edge)
        assert_same(actual.ravel(), expected, f"{radius} {edge}")
    actual = filtered(tmp_path, with_alpha, "rank", f"4,percent={percent}", (form, memory))
    expected = reference.leave(reference.rank(reference.enter(with_alpha), 4, percent))
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("few", [False, True])
def test_windows_that_move(tmp_path, rng, few):
    """Large enough that work-items have several rows; on GPUs windows move where all values are 255ths."""
    picture = rng.integers(0, 256, (430, 620, 1)).astype(np.uint8)
    if few:
        picture = picture * np.float32(1 / 255)
        picture[rng.random(picture.shape) < 1e-3] = rng.choice([0.3, -0.0, 2, np.inf])
    edge, radius, percent = str(rng.choice(run_edges())), int(rng.integers(2, 6)), int(rng.integers(0, 101))
    actual = filtered(tmp_path, picture, "rank", f"{radius},percent={percent},shape=disc", ("gpu", "buffer"), edge)
    assert_same(actual, reference.rank(picture, radius, percent, "disc", edge), f"{radius} {percent} {edge}")


@pytest.mark.some(3)
@every_way
@pytest.mark.parametrize("channels", [2, 4])
def test_alpha(tmp_path, rng, channels, form, memory):
    """Colour is ranked as it is multiplied by alpha, which stays."""
    picture = random_samples(rng, Shape(53, 31, channels, "float32"))
    entered = reference.enter(picture)
    for radius in (1, 2, 4):
        expected = reference.rank(entered, radius)
        actual = filtered(tmp_path, picture, "median", str(radius), (form, memory))
        np.testing.assert_allclose(actual, reference.leave(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("value, says", [("0", "0"), ("128", "128"), ("1.5", "1.5"), ("2,shape=round", "round"), ("2,percent=50", "percent")])
def test_bad_values(tmp_path, value, says):
    assert says in run("in.png", "--median", value, "out.png", cwd=tmp_path, status=2).err
