"""NaN and infinities reach the pixels inside a filter's support and no others, whatever the form, the memory and the slices."""

import numpy as np
import pytest
from scipy import ndimage

import harness
import reference

MATRIX = np.array([[0, 1, 0, 0, 2], [1, 0, 3, 1, 1], [0, 2, 0, 5, 0]], float)
WAYS = (("cpu", "buffer"), ("gpu", "buffer"), ("gpu", "image"))
MODES = {"clamp": "nearest", "mirror": "reflect", "wrap": "wrap", "zero": "constant"}
PLACES = ((0, 0), (33, 41), (138, 50), (20, 188))

LINEAR = ["--blur 1", "--blur 2", "--blur 8", "--blur 3,truncate=2", "--sharpen 1", "--sharpen 1,sigma=8", "--gradient=1", "--gradient=8",
          "--convolve 1,2,1", "--resize 50%", "--resize 37%", "--resize 170%,filter=bicubic", "--scale 2", "--scale 4", "--scale 1/4",
          "--rotate 30", "--warp 1.3,0.1,0,0,1,2"]

every_way = pytest.mark.parametrize("form, memory", WAYS, ids=["-".join(way) for way in WAYS])


def filtered(folder, picture, chain, form, memory, edge, rows=None):
    harness.write_tiff(folder / "in.tif", picture[..., None].astype(np.float32))
    harness.run("--memory", memory, "in.tif", *chain.split(), "--edge", edge, "out.tif", cwd=folder,
                env={"CLIMG_CLASS": form, **({"CLIMG_SLICE": str(rows)} if rows else {})})
    return harness.read_tiff(folder / "out.tif")[..., 0]


def with_value(picture, value):
    changed = picture.copy()
    for place in PLACES:
        changed[place] = value
    return changed


def equal(a, b):
    return (a == b) | (np.isnan(a) & np.isnan(b))


@pytest.mark.some(8)
@every_way
@pytest.mark.parametrize("chain", LINEAR)
def test_support(tmp_path, rng, chain, form, memory):
    """Compared with itself: what a large change does not reach, NaN and infinities do not, to the last bit, and slices change nothing."""
    edge = str(rng.choice(harness.run_edges()))
    picture = rng.random((139, 190)).astype(np.float32)
    usual = filtered(tmp_path, picture, chain, form, memory, edge)
    support = np.zeros(usual.shape, bool)
    for value in (1e3, 1e36, -1e36):
        support |= filtered(tmp_path, with_value(picture, value), chain, form, memory, edge) != usual
    assert support.any() and not support.all(), edge
    for value in (np.nan, np.inf):
        actual = filtered(tmp_path, with_value(picture, value), chain, form, memory, edge)
        reached = ~equal(actual, usual)
        assert reached.any() and not (reached & ~support).any(), f"{value} {edge}: {(reached & ~support).sum()} more"
        assert equal(actual, filtered(tmp_path, with_value(picture, value), chain, form, memory, edge, rows=16)).all(), f"{value} {edge}"


@every_way
def test_matrix_with_zeros(tmp_path, rng, form, memory):
    """Samples of weight 0 are left out, as scipy.ndimage's filters do."""
    np.savetxt(tmp_path / "matrix.txt", MATRIX)
    picture = rng.random((139, 190)).astype(np.float32)
    for edge in harness.run_edges():
        for value in (np.nan, np.inf):
            changed = with_value(picture, value)
            expected = ndimage.correlate(changed.astype(float), MATRIX / MATRIX.sum(), mode=MODES[edge])
            actual = filtered(tmp_path, changed, "--convolve @matrix.txt", form, memory, edge)
            np.testing.assert_allclose(actual, expected, atol=harness.FLOAT_TOLERANCE, err_msg=f"{value} {edge}")


@every_way
def test_blur_of_scattered_nan(tmp_path, rng, form, memory):
    """Scattered like dead pixels of a sensor: each block of outputs has some, and all other outputs are right."""
    picture = rng.random((150, 210)).astype(np.float32)
    changed = np.where(rng.random(picture.shape) < 0.003, np.nan, picture).astype(np.float32)
    actual = filtered(tmp_path, changed, "--blur 1", form, memory, "clamp")
    assert np.array_equal(np.isnan(actual), ndimage.maximum_filter(np.isnan(changed), 2 * 5 + 1, mode="nearest"))
    expected = reference.blur(picture[..., None].astype(float), 1)[..., 0]
    kept = ~np.isnan(actual)
    np.testing.assert_allclose(actual[kept], expected[kept], atol=harness.FLOAT_TOLERANCE)


def run_stage(folder, picture, chain, form="cpu", memory="buffer", rows=None):
    """The result, and the warning."""
    harness.write_tiff(folder / "in.tif", picture.astype(np.float32))
    done = harness.run("-y", "--memory", memory, "in.tif", *chain.split(), "out.tif", cwd=folder,
                       env={"CLIMG_CLASS": form, **({"CLIMG_SLICE": str(rows)} if rows else {})})
    return harness.read_tiff(folder / "out.tif"), done.err


def spoil(rng, picture, colours):
    """Single values and a hole, in which not all colours are missing."""
    spoilt = picture.copy()
    for value in (np.nan, np.inf, -np.inf, np.nan):
        spoilt[rng.integers(0, picture.shape[0]), rng.integers(0, picture.shape[1]), rng.integers(0, colours)] = value
    spoilt[60:75, 80:100, 0] = np.nan
    return spoilt


def filled(spoilt):
    """Missing values become the mean of the valid values in 7x7, or 0."""
    result = spoilt.copy()
    for y, x, c in np.argwhere(~np.isfinite(spoilt)):
        around = spoilt[max(y - 3, 0):y + 4, max(x - 3, 0):x + 4, c]
        around = around[np.isfinite(around)]
        result[y, x, c] = around.mean() if around.size else 0
    return result


@pytest.mark.some(3)
@every_way
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("chain", ["--denoise", "--denoise=9", "--denoise=9,levels=3", "--denoise=auto,quality=high"])
def test_denoise_leaves_missing_values_out(tmp_path, rng, chain, channels, form, memory):
    """They stay what they are, and the rest is as if they were like their neighbours. Slices change nothing."""
    picture = ndimage.gaussian_filter(rng.random((139, 190, channels)), (4, 4, 0)) * 4 + 0.03 * rng.normal(size=(139, 190, channels)) - 1.5
    spoilt = spoil(rng, picture.astype(np.float32), channels)
    actual, warned = run_stage(tmp_path, spoilt, chain, form, memory)
    expected, _ = run_stage(tmp_path, filled(spoilt), chain, form, memory)
    missing = ~np.isfinite(spoilt)
    count = missing.sum()
    assert f"{count} values are NaN or infinite, and were left out" in warned, warned
    assert np.abs(actual - expected)[~missing].max() <= 1e-5 and equal(actual, spoilt)[missing].all()
    sliced, warned = run_stage(tmp_path, spoilt, chain, form, memory, 16)
    assert f"{count} values are" in warned and equal(actual, sliced).all()


def test_shrink_with_nan(tmp_path, rng):
    """Climg compared with itself: NaN of brightness does not reach colour differences by a factor of 0."""
    picture = rng.random((64, 72, 3)) * [0, 1, 0.4] + 0.3
    picture[20, 30, 0] = np.nan
    results = [run_stage(tmp_path, picture, "--wavelet=2 --shrink --inverse-wavelet", form, memory)[0] for form, memory in
               (("cpu", "buffer"), ("gpu", "buffer"), ("gpu", "image"))]
    assert np.isfinite(results[0]).any() and equal(results[0], results[1]).all() and equal(results[0], results[2]).all()

@every_way
def test_wolf_counts_missing_values(tmp_path, rng, form, memory):
    spoilt = spoil(rng, rng.random((90, 120, 3)).astype(np.float32), 3)
    for slices in (0, 16):
        _, warned = run_stage(tmp_path, spoilt, "--threshold=wolf", form, memory, slices)
        assert f"{(~np.isfinite(spoilt)).sum()} values are NaN or infinite, and were left out" in warned, warned


@every_way
def test_background_leaves_missing_values_out(tmp_path, rng, form, memory):
    picture = ndimage.gaussian_filter(rng.random((139, 190, 1)), (4, 4, 0)) + 0.1
    spoilt = spoil(rng, picture.astype(np.float32), 1)
    there = np.isfinite(spoilt[..., 0])
    blur = [ndimage.gaussian_filter(plane.astype(float), 10, mode="nearest", truncate=8) for plane in (np.where(there, spoilt[..., 0], 0), there)]
    actual, warned = run_stage(tmp_path, spoilt, "--background 10,method=divide", form, memory)
    assert f"{(~there).sum()} values are NaN or infinite" in warned
    assert np.abs(actual[there, 0] - 0.5 * spoilt[there, 0] * blur[1][there] / blur[0][there]).max() <= 1e-4
    assert equal(actual, run_stage(tmp_path, spoilt, "--background 10,method=divide", form, memory, 16)[0]).all()


@every_way
def test_large_areas_stay_missing(tmp_path, rng, form, memory):
    """Beyond the reach of the blur there is no valid value to divide by."""
    picture = rng.random((60, 200, 1)).astype(np.float32) + 0.5
    picture[:, 80:] = np.nan
    picture[40, 170] = np.inf
    out, _ = run_stage(tmp_path, picture, "--background 3,method=divide", form, memory)
    assert equal(out[:, 80:], picture[:, 80:]).all() and np.isfinite(out[:, :80]).all()


@pytest.mark.some(4)
@every_way
@pytest.mark.parametrize("alpha", [False, True])
@pytest.mark.parametrize("chain", ["--levels auto", "--threshold otsu"])
def test_what_is_found_of_all_leaves_missing_values_out(tmp_path, rng, chain, alpha, form, memory):
    """Missing values count like other values of the picture, so a few of them change little; transparent ones do not count."""
    picture = rng.choice(np.linspace(-1, 2, 50), (139, 190, 1)).astype(np.float32)
    spoilt = spoil(rng, picture, 1)
    if alpha:
        spoilt, picture = (np.dstack([p, np.where(np.arange(190) < 90, 0, 1) * np.ones((139, 190))]).astype(np.float32) for p in (spoilt, picture))
    seen = ~np.isfinite(spoilt[..., 0]) & ((spoilt[..., 1] > 0) if alpha else True)
    actual, warned = run_stage(tmp_path, spoilt, chain, form, memory)
    expected, silent = run_stage(tmp_path, picture, chain, form, memory)
    assert f"{seen.sum()} values are NaN or infinite" in warned and "NaN" not in silent
    finite = np.isfinite(spoilt).all(2)
    assert np.abs(actual - expected)[finite].max() <= 1e-5
    assert f"{seen.sum()} values" in run_stage(tmp_path, spoilt, chain, form, memory, 16)[1]


@pytest.mark.parametrize("after", [["--blur", "3"], ["--levels", "auto"], ["--flip", "v", "--blur", "3"]])
def test_missing_values_are_counted_once(tmp_path, rng, after):
    """Slices overlap, and the analysis pass of a later stage repeats them."""
    samples = rng.uniform(0.2, 0.8, (70, 37, 3)).astype(np.float32)
    samples[rng.random(samples.shape) < 0.03] = np.nan
    harness.write_tiff(tmp_path / "in.tif", samples)
    for slices in ({}, {"CLIMG_SLICE": "12"}):
        said = harness.run("in.tif", "--background", "3,method=divide", *after, "out.tif", "-y", cwd=tmp_path, env=slices).err
        assert f"{np.isnan(samples).sum()} values are NaN or infinite" in said
