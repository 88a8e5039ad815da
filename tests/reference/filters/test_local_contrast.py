"""--local-contrast against OpenCV's CLAHE and against numpy: tiles that do not divide, alpha, NaN."""

import cv2
import numpy as np
import pytest

import harness
import reference

WAYS = [("cpu", "buffer", "1000"), ("cpu", "buffer", "5"), ("gpu", "buffer", "50"), ("gpu", "image", "9"), ("cpu", "image", "1000")]


def draw_case(rng, dtype):
    """A picture and the options."""
    height, width = (int(v) for v in rng.integers(1, 260, 2))
    waves = 0.5 + 0.3 * np.sin(np.arange(width) / 30) * np.cos(np.arange(height) / 40)[:, None] + 0.05 * rng.normal(size=(height, width))
    clip = round(float(rng.choice([0, 1, 2, 4, 40]) * rng.uniform(0.5, 1)), 2)
    return (np.clip(waves, 0, 1) * np.iinfo(dtype).max).astype(dtype), clip, tuple(int(v) for v in rng.integers(1, 12, 2))


def result(folder, samples, clip, tiles, way, *more):
    harness.write_tiff(folder / "in.tif", samples)
    env = {"CLIMG_CLASS": way[0], "CLIMG_SLICE": way[2]}
    harness.run("-y", "in.tif", "-m", way[1], f"--local-contrast={clip},tiles={tiles[0]}x{tiles[1]}", *more, "out.tif", cwd=folder, env=env)
    return harness.read_tiff(folder / "out.tif")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_within_a_count_of_opencv(tmp_path, rng, dtype):
    for way in WAYS:
        picture, clip, tiles = draw_case(rng, dtype)
        expected = cv2.createCLAHE(clip, tiles).apply(picture)
        actual = result(tmp_path, picture[..., None], clip, tiles, way)[..., 0]
        assert np.abs(actual.astype(int) - expected).max() <= 1, f"{picture.shape} {clip} {tiles} {way}"


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_against_numpy(tmp_path, rng, dtype, channels):
    way = WAYS[int(rng.integers(len(WAYS)))]
    picture, clip, tiles = draw_case(rng, dtype)
    samples = np.dstack([picture] + [np.roll(picture, 7 * c, axis=1) // 2 for c in range(1, channels)])
    if channels in (2, 4):
        samples[..., -1] = rng.choice([0, 128, 255], picture.shape) / 255 * np.iinfo(dtype).max
    full = np.float32(np.iinfo(dtype).max)
    planes = reference.enter((samples.astype(np.float32) * (1 / full)).astype(float))  # as kernels/samples.cl: the bins are by the last bit
    expected = reference.local_contrast(planes, clip, *tiles, 256 if dtype == np.uint8 else 65536)
    actual = reference.enter(result(tmp_path, samples, clip, tiles, way, "--depth", "float").astype(float))
    wrong = np.abs(actual - expected).max(axis=2) > 2e-6
    few = 0.2 if channels == 4 else 0.002  # a bin more or less moves all that is clipped in a tile
    assert wrong.mean() < few or wrong.sum() < 3, f"{samples.shape} {clip} {tiles} {way}"


def test_missing_values_and_flat_tiles(tmp_path, rng):
    """NaN and infinities stay, and the rest is as without them; a tile without a value changes nothing."""
    samples = rng.random((60, 80, 1)).astype(np.float32)
    samples[:30, :40] = np.nan
    samples[50, 70], samples[51, 71] = np.inf, -np.inf
    planes = reference.enter(samples)
    with np.errstate(invalid="ignore"):
        expected = reference.local_contrast(planes, 3, 2, 2, 65536)
    for way in WAYS:
        actual = result(tmp_path, samples, 3, (2, 2), way)
        assert np.array_equal(np.isnan(actual), np.isnan(samples)) and actual[50, 70] == np.inf and actual[51, 71] == -np.inf
        finite = np.isfinite(samples)
        assert (np.abs(actual[finite] - expected[finite]) > 2e-6).mean() < 0.01


@pytest.mark.parametrize("channels", [2, 4])
def test_a_last_channel_that_is_not_alpha(tmp_path, rng, channels):
    """It is copied; the others are as without it. In every memory, variant and slice."""
    samples = rng.integers(40, 200, (37, 70, channels)).astype(np.uint16) * 256
    harness.write_tiff(tmp_path / "all.tif", samples, extrasamples=["unspecified"])
    harness.write_tiff(tmp_path / "colours.tif", samples[..., :-1].copy())
    harness.run("colours.tif", "--local-contrast", "expected.tif", cwd=tmp_path)
    for way in ({}, {"CLIMG_CLASS": "gpu"}, {"CLIMG_SLICE": "17"}):
        for memory in harness.MEMORIES:
            harness.run("-y", "-m", memory, "all.tif", "--local-contrast", "out.tif", cwd=tmp_path, env=way)
            out = harness.read_tiff(tmp_path / "out.tif")
            assert np.array_equal(out[..., :-1], harness.read_tiff(tmp_path / "expected.tif")) and np.array_equal(out[..., -1], samples[..., -1])
