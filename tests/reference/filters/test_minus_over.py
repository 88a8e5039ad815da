"""--minus and --over: dark frames and flat fields, against numpy."""
import numpy as np
import pytest
import tifffile
from PIL import Image

import harness
import reference
from harness import check_stage, draw_shapes


def write(path, samples):
    tifffile.imwrite(path, samples, photometric="rgb" if samples.ndim == 3 else "minisblack")


def minus(planes, dark):
    colours = planes.shape[2] - reference.has_alpha(planes)
    result = planes.copy()
    result[..., :colours] -= dark * (planes[..., -1:] if reference.has_alpha(planes) else 1)
    return result


def over(planes, flat):
    colours = planes.shape[2] - reference.has_alpha(planes)
    result = planes.copy()
    factors = np.ones_like(flat)
    np.divide(np.nanmean(flat, (0, 1)), flat, out=factors, where=flat > 0)
    result[..., :colours] *= factors
    return result


@pytest.mark.parametrize("shape", draw_shapes("minus", 8), ids=str)
@pytest.mark.parametrize("stage, expected", [("--minus", minus), ("--over", over)])
@pytest.mark.parametrize("kind", ["gray", "same"])
def test_stage(tmp_path, rng, shape, stage, expected, kind):
    """16-bit operands, gray or with the picture's colours, some of whose pixels are 0; in slices, images and both variants."""
    colours = 1 if kind == "gray" or shape.channels < 3 else 3
    samples = rng.integers(9000, 65535, (shape.height, shape.width, colours), np.uint16)
    samples[rng.random(samples.shape) < 0.1] = 0
    samples[0, 0] = 20000
    write(tmp_path / "operand.tif", samples if colours == 3 else samples[..., 0])
    check_stage(tmp_path, rng, shape, [stage, tmp_path / "operand.tif"], [lambda planes: expected(planes, samples / 65535)])


def test_linear_light(tmp_path, rng):
    """The operand is decoded as the input is."""
    picture, dark = (rng.integers(low, high, (20, 30, 3), np.uint8) for low, high in ((100, 255), (0, 100)))
    Image.fromarray(picture).save(tmp_path / "in.png")
    Image.fromarray(dark).save(tmp_path / "dark.png")
    harness.run(tmp_path / "in.png", "--linear", "--minus", tmp_path / "dark.png", tmp_path / "out.png")
    light = [np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4) for v in (picture / 255, dark / 255)]
    rest = light[0] - light[1]
    expected = np.where(rest <= 0.0031308, 12.92 * rest, 1.055 * np.maximum(rest, 0) ** (1 / 2.4) - 0.055)
    assert np.abs(np.array(Image.open(tmp_path / "out.png")) - 255 * expected).max() < 0.51


@pytest.mark.parametrize("channels", [1, 3])
def test_floats_of_linear_light(tmp_path, rng, channels):
    """A dark frame that --linear has made of 8 bits, as floats: its profile says that they are display values, also with --strip."""
    shape = (20, 30, channels) if channels == 3 else (20, 30)
    picture, *darks = (rng.integers(low, high, shape, np.uint8) for low, high in ((100, 255), (0, 100), (0, 100)))
    for name, samples in (("in", picture), ("dark0", darks[0]), ("dark1", darks[1])):
        Image.fromarray(samples).save(tmp_path / f"{name}.png")
    light = [np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4) for v in (picture / 255, darks[0] / 255, darks[1] / 255)]
    for inputs, stage, dark in ((["dark0.png"], [], light[1]), (["dark0.png"], ["--strip"], light[1]),
                                (["dark0.png", "dark1.png"], ["--stack", "mean"], (light[1] + light[2]) / 2)):
        harness.run("-y", *inputs, "--linear", *stage, "--depth", "float", "dark.tif", cwd=tmp_path)
        harness.run("-y", "in.png", "--linear", "--minus", "dark.tif", "out.png", cwd=tmp_path)
        rest = np.maximum(light[0] - dark, 0)
        expected = np.where(rest <= 0.0031308, 12.92 * rest, 1.055 * rest ** (1 / 2.4) - 0.055)
        assert np.abs(np.array(Image.open(tmp_path / "out.png")) - 255 * expected).max() < 0.52


def test_both_are_turned(tmp_path, rng):
    """A stage that needs the picture upright turns it, and the operand, too."""
    picture, dark = (rng.integers(low, high, (20, 30), np.uint8) for low, high in ((100, 255), (0, 100)))
    for name, samples in (("in", picture), ("dark", dark)):
        tifffile.imwrite(tmp_path / f"{name}.tif", samples, photometric="minisblack", extratags=[(274, "H", 1, 6, True)])
    harness.run(tmp_path / "in.tif", "--minus", tmp_path / "dark.tif", tmp_path / "out.tif")
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), np.rot90(picture - dark, -1))


def test_calibrated_stack(tmp_path, rng):
    """Lights less dark over flat, in a stack and on its result."""
    dark, flat = rng.uniform(0, 0.1, (2, 24, 31)).astype(np.float32)
    flat += 0.5
    lights = rng.uniform(0.2, 0.9, (4, 24, 31)).astype(np.float32)
    for name, samples in (("dark", dark), ("flat", flat), *((f"light{i}", light) for i, light in enumerate(lights))):
        write(tmp_path / f"{name}.tif", samples)
    inputs = [tmp_path / f"light{i}.tif" for i in range(4)]
    calibration = ["--minus", tmp_path / "dark.tif", "--over", tmp_path / "flat.tif"]
    expected = (lights.astype(float) - dark).mean(0) / flat * flat.mean(dtype=float)
    harness.run(*inputs, *calibration, "--stack", "mean", tmp_path / "each.tif")
    harness.run(*inputs, "--stack", "mean", *calibration, tmp_path / "result.tif")
    for name in ("each", "result"):
        assert np.abs(tifffile.imread(tmp_path / f"{name}.tif") - expected).max() < 1e-6


def test_what_is_refused(tmp_path, rng):
    for name, shape in (("small", (20, 20)), ("gray", (20, 30)), ("rgb", (20, 30, 3))):
        write(tmp_path / f"{name}.tif", rng.integers(0, 255, shape, np.uint8))
    write(tmp_path / "black.tif", np.zeros((20, 30), np.uint8))
    for picture, chain, words in (("gray", ["--minus", "small.tif"], "is 30x20 here, but small.tif is 20x20"),
                                  ("gray", ["--over", "rgb.tif"], "is gray, and rgb.tif has colours"),
                                  ("gray", ["--over", "black.tif"], "black.tif: has a mean of 0 or less"),
                                  ("gray", ["--minus", "none.tif"], "none.tif: cannot open")):
        done = harness.run(f"{picture}.tif", *chain, "out.tif", cwd=tmp_path, status=1)
        assert words in done.err
    assert "--minus reads that file" in harness.run("gray.tif", "--minus", "rgb.tif", "rgb.tif", cwd=tmp_path, status=2).err


def test_flat_of_floats(tmp_path, rng):
    """Pixels that are 0, negative, NaN, infinite, or so small that the quotient is infinite, change nothing."""
    samples, flat = rng.uniform(0, 1, (2, 30, 40)).astype(np.float32)
    flat += 0.5
    odd = np.array([0, -1, np.nan, np.inf, 1e-45], np.float32)
    flat[3, :5] = odd
    write(tmp_path / "in.tif", samples)
    write(tmp_path / "flat.tif", flat)
    harness.run("in.tif", "--over", "flat.tif", "out.tif", cwd=tmp_path)
    factors = np.mean(flat[np.isfinite(flat)].astype(float)) / np.where(flat > 0, flat, 1)
    expected = np.where((flat > 1e-30) & np.isfinite(flat), samples * factors, samples)
    found = harness.read_tiff(tmp_path / "out.tif").reshape(samples.shape)
    assert np.allclose(found, expected, rtol=1e-5, atol=0), np.abs(found - expected).max()


@pytest.mark.parametrize("chain, expected", [(["--denoise=10"], 0.4), (["--background", "10,method=divide"], 0.5)])
def test_missing_values_of_a_dark_frame(tmp_path, chain, expected):
    """They make pixels of integers missing, and stages after it leave these out like missing pixels of floats."""
    dark = np.zeros((40, 50, 1), np.float32)
    dark[7, 9], dark[30, 41] = np.nan, np.inf
    harness.write_tiff(tmp_path / "in.tif", np.full((40, 50, 3), 102, np.uint8))
    harness.write_tiff(tmp_path / "dark.tif", dark)
    harness.run("in.tif", "--minus", "dark.tif", *chain, "--depth", "float", "out.tif", cwd=tmp_path)
    result = harness.read_tiff(tmp_path / "out.tif")
    assert np.array_equal(np.isfinite(result), np.broadcast_to(np.isfinite(dark), result.shape))
    assert np.allclose(result[np.isfinite(result)], expected, atol=1e-5)


def test_a_fourth_channel_that_is_not_alpha(tmp_path, rng):
    """It counts like a colour for a gray operand, in both memories; as an operand it is refused."""
    four = rng.integers(40, 200, (20, 30, 4)).astype(np.uint8)
    gray = rng.integers(100, 150, (20, 30)).astype(np.uint8)
    tifffile.imwrite(tmp_path / "four.tif", four, photometric="rgb", extrasamples=["unspecified"])
    write(tmp_path / "three.tif", four[..., :3].copy())
    write(tmp_path / "gray.tif", gray)
    for memory in harness.MEMORIES:
        harness.run("-y", "-m", memory, "four.tif", "--over", "gray.tif", "--depth", "float", "out.tif", cwd=tmp_path)
        expected = four / 255 * gray.mean() / gray[..., None]
        assert np.allclose(harness.read_tiff(tmp_path / "out.tif"), expected, atol=1e-6)
    for inputs, words in (("three.tif", "four.tif"), "four.tif: has a fourth channel"), (("four.tif", "three.tif"), "has a fourth channel that is not alpha, and three.tif is RGB"):
        assert words in harness.run(inputs[0], "--minus", inputs[1], "out.tif", "-y", cwd=tmp_path, status=1).err


def test_a_premultiplied_operand(tmp_path, rng):
    """Its colours are divided by alpha, as the picture's are; without alpha they count as 0."""
    picture, dark = (rng.random((20, 30, 3)).astype(np.float32) for _ in range(2))
    alpha = rng.choice(np.array([0, 0.25, 1], np.float32), (20, 30, 1))
    write(tmp_path / "in.tif", picture)
    tifffile.imwrite(tmp_path / "dark.tif", np.dstack([dark * alpha, alpha]), photometric="rgb", extrasamples=["assocalpha"])
    harness.run("in.tif", "--minus", "dark.tif", "out.tif", cwd=tmp_path)
    assert np.allclose(harness.read_tiff(tmp_path / "out.tif"), picture - dark * (alpha > 0), atol=1e-6)


def test_linear_light_below_black_and_nan(tmp_path, rng):
    """Values below black are decoded as the picture's are; NaN stay missing, and do not count in the mean."""
    picture = rng.integers(100, 255, (20, 30), np.uint8)
    dark, flat = (rng.uniform(low, high, (20, 30)).astype(np.float32) for low, high in ((-0.2, 0.2), (0.4, 0.8)))
    flat[:, 10:] = np.nan
    Image.fromarray(picture).save(tmp_path / "in.png")
    harness.run("in.png", "--linear", "--depth", "float", "profile.tif", cwd=tmp_path)
    with tifffile.TiffFile(tmp_path / "profile.tif") as tiff:
        profile = tiff.pages[0].tags[34675].value
    for name, samples in (("dark", dark), ("flat", flat)):
        tifffile.imwrite(tmp_path / f"{name}.tif", samples, photometric="minisblack", extratags=[(34675, 7, len(profile), profile, True)])

    def decode(v):
        v = np.asarray(v, float)
        return np.sign(v) * np.where(np.abs(v) <= 0.04045, np.abs(v) / 12.92, ((np.abs(v) + 0.055) / 1.055) ** 2.4)

    light = decode(picture / 255)
    factors = np.where(np.isnan(flat), 1, np.nanmean(decode(flat)) / decode(flat))
    for stage, expected in ((["--minus", "dark.tif"], light - decode(dark)), (["--over", "flat.tif"], light * factors)):
        harness.run("-y", "in.png", "--linear", *stage, "--depth", "float", "out.tif", cwd=tmp_path)
        assert np.allclose(decode(harness.read_tiff(tmp_path / "out.tif").reshape(20, 30)), expected, atol=2e-5)


def test_coefficients_of_linear_light(tmp_path, rng):
    """Light and display values are not mixed: coefficients of light need --linear, which decodes the operand."""
    for name, low, high in (("in", 100, 255), ("dark", 0, 100)):
        Image.fromarray(rng.integers(low, high, (20, 30), np.uint8)).save(tmp_path / f"{name}.png")
    harness.run("in.png", "--linear", "--wavelet=2", "light.tif", cwd=tmp_path)
    assert "add --linear" in harness.run("light.tif", "--inverse-wavelet", "--minus", "dark.png", "out.png", cwd=tmp_path, status=1).err
    harness.run("light.tif", "--linear", "--inverse-wavelet", "--minus", "dark.png", "out.png", cwd=tmp_path)
    harness.run("in.png", "--linear", "--minus", "dark.png", "expected.png", cwd=tmp_path)
    found, expected = (np.array(Image.open(tmp_path / f"{name}.png"), int) for name in ("out", "expected"))
    assert np.abs(found - expected).max() <= 1


def test_a_name_with_an_equals_sign(tmp_path, rng):
    samples = harness.random_samples(rng, harness.Shape(9, 7, 3, "uint8"))
    for name in ("in.tif", "t=30.tif"):
        harness.write_tiff(tmp_path / name, samples)
    harness.run("in.tif", "--minus", "t=30.tif", "out.tif", cwd=tmp_path)
    assert not harness.read_tiff(tmp_path / "out.tif").any()
