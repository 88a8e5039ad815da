"""--despeckle beside scipy.ndimage.label, to the last pixel: noise near the density at which everything hangs together, long thin
objects across slices, and pictures of all sizes and types."""

import numpy as np
import pytest

import harness
import reference
from test_levels_threshold import draw_samples, draw_way, every_type, result
from test_turn import draw_sizes

STRENGTHS = (1, 2, 3, 5, 9, 30, 200, 1000)


def assert_cleaned(folder, rng, black, objects="black", counts=STRENGTHS, channels=1):
    """`black`: True where there is ink, a plane for each colour."""
    full = rng.choice([1, 255])
    samples = np.where(black if objects == "black" else ~black, 0, full).astype(np.float32 if full == 1 else np.uint8)
    for smallest in rng.choice(counts, 2, replace=False):
        out, done = result(folder, rng, samples, "--despeckle", f"{smallest},objects={objects}")
        expected = reference.despeckle(samples / full, smallest, objects) * full
        assert np.array_equal(out, expected), f"{np.argwhere(out != expected)[:4]} {samples.shape} {done}"


@pytest.mark.parametrize("objects", ["black", "white"])
def test_noise(tmp_path, rng, objects):
    """Corners join, so everything hangs together from a density of about 0.41 on."""
    for width, height in draw_sizes(rng):
        channels = int(rng.choice([1, 3]))
        assert_cleaned(tmp_path, rng, rng.random((height, width, channels)) < rng.uniform(0.2, 0.7), objects)


def comb(rng, height, width):
    """Teeth that are joined at one end, one of them loose."""
    black = np.zeros((height, width), bool)
    black[:, ::2] = True
    black[0 if rng.random() < 0.5 else -1] = True
    black[1:-1, 4] = rng.random() < 0.5
    return black


def spiral(height, width):
    """One object, as long as the picture has room for, with a gap of a pixel between its turns."""
    black = np.zeros((height, width), bool)
    top, left, bottom, right = 0, 0, height - 1, width - 1
    while top <= bottom and left <= right:
        black[top, max(left - 2, 0):right + 1] = True
        black[top:bottom + 1, right] = True
        if bottom > top + 1:
            black[bottom, left:right + 1] = True
        if right > left + 1 and bottom > top + 2:
            black[top + 2:bottom + 1, left] = True
        top, left, bottom, right = top + 2, left + 2, bottom - 2, right - 2
    return black


def test_shapes(tmp_path, rng):
    height, width = map(int, rng.integers(60, 160, 2))
    y, x = np.mgrid[0:height, 0:width]
    for black in (comb(rng, height, width), comb(rng, width, height).T, spiral(height, width), (x + y) % 2 == 0, (x - y) % 17 == 0,
                  (x + y) % 23 == 0, y % 7 == 0, np.ones((height, width), bool), np.zeros((height, width), bool),
                  (abs(x - width // 2) == y) & (y < width // 2)):
        for objects in ("black", "white"):
            assert_cleaned(tmp_path, rng, black[..., None], objects, (2, 3, 40, height - 1, height, height + 1))


@pytest.mark.some(4)
@every_type
def test_types(tmp_path, rng, dtype):
    """What is black is below half of full scale; what stays is unchanged."""
    for width, height in draw_sizes(rng):
        channels, objects = int(rng.choice([1, 2, 3, 4])), str(rng.choice(["black", "white"]))
        samples = draw_samples(rng, width, height, channels, dtype)
        if channels in (1, 3):
            out, done = result(tmp_path, rng, samples, "--despeckle", f"7,objects={objects}")
            planes = reference.to_float(samples)
            expected = reference.despeckle(planes, 7, objects)
            near = np.abs(planes - 0.5) < 1e-6
            painted = expected != planes
            expected = np.where(painted, expected * reference.full_scale(samples.dtype), samples)
            rounding = 256 if dtype == "uint32" else 0  # the device's floats have 24 bits
            assert near.any() or (np.abs(out - expected) <= rounding).all(), done
        else:
            out, done = result(tmp_path, rng, samples, "--threshold", "50%", "--despeckle", f"7,objects={objects}")
            before, _ = result(tmp_path, rng, samples, "--threshold", "50%")
            planes = reference.enter(reference.to_float(before))
            expected = reference.leave(reference.despeckle(planes, 7, objects))
            assert np.array_equal(out > 0, expected > 0), done


@pytest.mark.parametrize("form, memory", [("cpu", "buffer"), ("gpu", "buffer"), ("gpu", "image"), ("cpu", "image")])
def test_slices_and_groups(tmp_path, rng, form, memory):
    (tmp_path / "in").mkdir()
    planes = {}
    for i in range(5):
        planes[i] = (rng.random((211, 47, 3)) >= 0.4).astype(float)
        harness.write_tiff(tmp_path / "in" / f"{i}.tif", (planes[i] * 255).astype(np.uint8))
    for env in ({"CLIMG_SLICE": "1"}, {"CLIMG_SLICE": "32"}, {}, {"CLIMG_GROUP": "1"}):
        done = harness.run("-y", "-m", memory, "in", "--despeckle", "40", "out", cwd=tmp_path, env={**env, "CLIMG_CLASS": form, "CLIMG_POISON": "1"})
        for i in planes:
            assert np.array_equal(harness.read_tiff(tmp_path / "out" / f"{i}.tif") > 0, reference.despeckle(planes[i], 40) > 0.5), done


def test_missing_values(tmp_path, rng):
    """NaN is of no object."""
    samples = (rng.random((60, 50, 1)) >= 0.4).astype(np.float32)
    samples[rng.random(samples.shape) < 0.1] = np.nan
    for objects in ("black", "white"):
        out, done = result(tmp_path, rng, samples, "--despeckle", f"6,objects={objects}")
        expected = reference.despeckle(samples.astype(float), 6, objects)
        assert np.array_equal(out, expected, equal_nan=True), done


@pytest.mark.parametrize("text", ["", "0", "1001", "1.5", "x", "5,objects=gray", "-3"])
def test_no_number_given(tmp_path, rng, text):
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, harness.Shape(4, 3, 1, "uint8")))
    harness.run("in.tif", "--despeckle", text, "out.tif", cwd=tmp_path, status=2)
