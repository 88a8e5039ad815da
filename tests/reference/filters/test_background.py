"""--background beside numpy and scipy: rolling.py says what a ball leaves, scipy.ndimage what an opening leaves, reference.py what a
blur is. Of all sample types, alpha, sizes from one pixel on, radii beyond the picture, border rules, memories and kernel forms."""

import numpy as np
import pytest

import harness
import pngfile
import reference
import rolling
from harness import Shape

# On both sides of where the ball's picture shrinks more, of where extrema take another pass, and beyond the pictures.
RADII = {"ball": (1, 2, 3, 9, 10, 11, 30, 31, 100, 101, 400), "tophat": (1, 2, 3, 6, 7, 8, 20, 62, 63, 64, 511, 700),
         "divide": (1, 5, 6, 40)}
SIZES = ((1, 1), (1, 40), (50, 1), (2, 2), (17, 16), (33, 20), (75, 61), (140, 96))
FORMS = (("cpu", "buffer"), ("gpu", "buffer"), ("gpu", "image"), ("cpu", "image"))


def bright_spots(rng, shape):
    """A slow background and what stands on it, whose alpha is not small."""
    y, x = np.mgrid[:shape.height, :shape.width]
    slow = 0.35 + 0.3 * np.sin(x / 40 + rng.uniform(0, 6)) * np.cos(y / 30)
    picture = np.repeat(slow[..., None], shape.channels, axis=2) + rng.normal(0, 0.03, (shape.height, shape.width, shape.channels))
    picture[rng.random(slow.shape) < 0.02] += 0.3
    picture = np.clip(picture, 0.02, 1)
    if shape.channels in (2, 4):
        picture[..., -1] = rng.uniform(0.3, 1, slow.shape)
    return picture.astype(shape.dtype) if shape.dtype.startswith("float") else reference.to_integers(picture, np.dtype(shape.dtype))


def check(folder, rng, shape, method, radius, light, edge, way, counts=255):
    form, memory = way
    samples = bright_spots(rng, shape)
    harness.write_tiff(folder / "in.tif", samples)
    words = f"{radius},method={method},light={'yes' if light else 'no'}" + (f",counts={counts}" if method == "ball" else "")
    done = harness.run("-y", "-m", memory, "--edge", edge, "--depth", "float", "in.tif", "--background", words, "out.tif", cwd=folder,
                       env={"CLIMG_CLASS": form, "CLIMG_POISON": "1"})
    expected = reference.through(samples, lambda planes: rolling.background(planes, radius, method, light, counts, edge))
    out = harness.read_tiff(folder / "out.tif").reshape(expected.shape).astype(float)
    unit = np.ones_like(expected)
    if method == "divide":  # a blur that is off by 1e-5 moves the quotient the more, the larger that and the smaller the blur is
        blurred = reference.blur(reference.enter(reference.to_float(samples)), radius, edge=edge)
        unit[..., :3] = (np.minimum(1, blurred) / np.maximum(1, expected))[..., :3]
        unit = reference.keep_alpha(unit, np.ones_like(unit))
    harness.assert_close(out * unit, expected * unit, 3e-5 if method == "divide" else 3e-6, f"{shape} {done}")


@pytest.mark.some(4)
@pytest.mark.parametrize("way", FORMS, ids="-".join)
@pytest.mark.parametrize("light", [False, True], ids=["dark", "light"])
@pytest.mark.parametrize("method", RADII)
def test_method(tmp_path, rng, method, light, way):
    for size in rng.permutation(SIZES)[:4]:
        shape = Shape(*map(int, size), int(rng.integers(1, 5)), str(rng.choice(["uint8", "uint16", "float32"])))
        counts = float(rng.choice([255, 40, 65535])) if method == "ball" else 255
        check(tmp_path, rng, shape, method, int(rng.choice(RADII[method])), light, str(rng.choice(harness.run_edges())), way, counts)


@pytest.mark.some(8)
@pytest.mark.parametrize("method, radius", [(method, radius) for method in ("ball", "tophat") for radius in RADII[method]])
def test_radius(tmp_path, rng, method, radius):
    """Each that is one side of where something changes."""
    way = FORMS[rng.integers(len(FORMS))]
    check(tmp_path, rng, Shape(90, 71, 1, "float32"), method, radius, bool(rng.integers(2)), str(rng.choice(list(rolling.MODES))), way)


def test_steep_ball(tmp_path, rng):
    """A ball that is far higher than the picture takes no digits from it. Its middle must be in the picture: one beside it touches with its
    flank, whose height is a large number."""
    samples = rng.random((90, 71)).astype(np.float32)
    harness.write_tiff(tmp_path / "in.tif", samples[..., None])
    for radius, way in zip((1, 4, 25), FORMS):
        harness.run("-y", "-m", way[1], "in.tif", "--background", f"{radius},counts=1e-6", "out.tif", cwd=tmp_path, env={"CLIMG_CLASS": way[0]})
        expected = samples - rolling.ball_surface(samples.astype(float), radius, 1e-6)
        inside = (slice(radius + 2, -radius - 2),) * 2
        actual = harness.read_tiff(tmp_path / "out.tif")[..., 0]
        np.testing.assert_allclose(actual[inside], expected[inside], atol=3e-6, err_msg=f"{radius} {way}")


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("method", ["ball", "tophat"])
def test_counts(tmp_path, rng, method, dtype):
    """Integers come out within a count, clamped at black."""
    samples = bright_spots(rng, Shape(70, 50, 3, dtype))
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run("in.tif", "--background", f"12,method={method}", "out.tif", cwd=tmp_path)
    expected = reference.through(samples, lambda planes: rolling.background(planes, 12, method))
    out = harness.read_tiff(tmp_path / "out.tif")
    assert out.dtype == samples.dtype and np.abs(out - np.clip(expected, 0, 1) * reference.full_scale(out.dtype)).max() <= 1
    assert out.max() > 0.1 * reference.full_scale(out.dtype)


def test_white_paper_is_no_warning(tmp_path, rng):
    """Half of an even background is brighter than its blur: clipped as asked for, but told if half of full scale is meant."""
    pngfile.write_png(tmp_path / "in.png", rng.integers(100, 120, (60, 70, 1)).astype(np.uint8))
    done = harness.run("in.png", "--background", "9,method=divide,light=yes", "out.png", cwd=tmp_path)
    assert done.err == "" and (harness.read_samples(tmp_path / "out.png") == 255).mean() > 0.3
    pngfile.write_png(tmp_path / "in.png", np.where(rng.random((60, 70, 1)) < 0.05, 250, 5).astype(np.uint8))
    done = harness.run("in.png", "--background", "9,method=divide", "out.png", cwd=tmp_path)
    assert "of the samples were clipped to black or white" in done.err


def test_tophat_of_floats_is_scipys_to_the_last_bit(tmp_path, rng):
    """Without alpha the only arithmetic is one subtraction."""
    from scipy import ndimage
    samples = rng.normal(size=(60, 83, 1)).astype(np.float32)
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run("in.tif", "--background", "9,method=tophat", "--edge", "mirror", "out.tif", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif")[..., 0], ndimage.white_tophat(samples[..., 0], size=19, mode="reflect"))


@pytest.mark.parametrize("value", ["0", "1001", "2.5", "5,method=paraboloid", "5,counts=0", "5,method=tophat,counts=255", "5,counts=255,method=divide"])
def test_no_background(tmp_path, value):
    harness.run("in.tif", "--background", value, "out.tif", cwd=tmp_path, status=2)


@pytest.mark.some(3)
@pytest.mark.parametrize("edge", ["clamp", "mirror", "zero", "wrap"])
@pytest.mark.parametrize("shape", [(170, 31, 1), (19, 130, 3), (333, 61, 4)])
def test_division_in_slices(tmp_path, rng, edge, shape):
    """The coarse grid of an analysis pass, in parts of any height, has the bits of the grid that the whole picture gives."""
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 65536, shape).astype(np.uint16))
    for chain in (["--background", "6,method=divide"], ["--rotate=3,crop=same", "--background", "25,method=divide,light=yes", "--blur", "2"]):
        outputs = []
        for slices, memory in (("7", "buffer"), ("64", "buffer"), ("64", "image"), ("5000", "buffer")):
            harness.run("-y", "in.tif", "--edge", edge, *chain, "--depth", "float", "-m", memory, "out.tif", cwd=tmp_path,
                        env={"CLIMG_SLICE": slices, "CLIMG_POISON": "1"})
            outputs.append(harness.read_tiff(tmp_path / "out.tif"))
        assert all(np.array_equal(outputs[0], other) for other in outputs), chain


@pytest.mark.parametrize("radius, counts", [(1, 1), (3, 8), (15, 8)])
def test_ball_beside_a_wide_area_of_nan(tmp_path, rng, radius, counts):
    """No ball below the area is limited, so its surface is infinite there, and must not reach valid pixels."""
    samples = rng.uniform(0.5, 0.6, (90, 90, 1)).astype(np.float32)
    samples[10:80, 10:60] = np.nan
    harness.write_tiff(tmp_path / "in.tif", samples)
    for light in ("no", "yes"):
        harness.run("in.tif", "--background", f"{radius},counts={counts},light={light}", "out.tif", "-y", cwd=tmp_path)
        assert np.array_equal(np.isfinite(harness.read_tiff(tmp_path / "out.tif")), np.isfinite(samples))


@pytest.mark.parametrize("memory", ["buffer", "image"])
@pytest.mark.parametrize("radius, counts", [(1, 1), (3, 8), (15, 8)])
def test_ball_beside_infinities(tmp_path, rng, radius, counts, memory):
    """An infinite pixel below the ball does not reach valid ones."""
    samples = rng.uniform(0.5, 0.6, (90, 90, 1)).astype(np.float32)
    samples[40, 50], samples[45, 20] = -np.inf, np.inf
    harness.write_tiff(tmp_path / "in.tif", samples)
    for light in ("no", "yes"):
        harness.run("in.tif", "--background", f"{radius},counts={counts},light={light}", "-m", memory, "out.tif", "-y", cwd=tmp_path)
        assert np.array_equal(np.isfinite(harness.read_tiff(tmp_path / "out.tif")), np.isfinite(samples))
