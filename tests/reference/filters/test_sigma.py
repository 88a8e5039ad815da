"""Gaussians of every width against the sampled Gaussian that nothing is cut off from, in float64."""

import numpy as np
import pytest

import harness
import reference

TOLERANCE = 1e-5
SIDES = (1, 2, 7, 40, 131, 260)


def any_sigma(rng):
    return float(f"{np.exp(rng.uniform(np.log(0.3), np.log(1000))):.4g}")


def picture(rng, height, width, channels):
    """Noise, black and white noise, or corners: what is cut off a filter shows there the most."""
    kind = rng.integers(3)
    if kind == 2:
        corner = (np.arange(height) > height // 2)[:, None] ^ (np.arange(width) > width // 3)
        return np.repeat(corner[..., None], channels, axis=2).astype(np.float32)
    noise = rng.random((height, width, channels), np.float32)
    return noise if kind else np.rint(noise)


STAGES = {
    "blur": (lambda sigma: ["--blur", str(sigma)], reference.blur),
    "sharpen": (lambda sigma: ["--sharpen", f"1,sigma={sigma}"],
                lambda planes, sigma, edge: reference.sharpen(planes, 1, sigma, edge=edge)),
    "gradient": (lambda sigma: [f"--gradient={sigma}"], reference.gradient),
}


def check(tmp_path, rng, monkeypatch, stage, edge, form, sigma, shape):
    """In both memories and in slices; of the gradient full scale is 0.4 / sigma, but small ones are small."""
    arguments, expect = STAGES[stage]
    monkeypatch.setenv("CLIMG_CLASS", form)
    monkeypatch.setenv("CLIMG_POISON", "1")
    samples = picture(rng, *shape)
    harness.write_tiff(tmp_path / "in.tif", samples)
    planes = reference.enter(samples)
    expected = reference.leave(expect(planes, sigma, edge=edge))
    tolerance = TOLERANCE * (max(1, 0.4 / sigma) if stage == "gradient" else 1)
    for memory in harness.MEMORIES:
        command = ["--edge", edge, "--memory", memory, tmp_path / "in.tif", *arguments(sigma), tmp_path / "out.tif"]
        context = harness.run("--yes", *command)
        whole = harness.read_tiff(tmp_path / "out.tif")
        harness.assert_close(whole.astype(float), expected, tolerance, f"{shape}\n{context}")
        monkeypatch.setenv("CLIMG_SLICE", str(rng.integers(1, shape[0] + 1)))
        harness.run("--yes", *command)
        monkeypatch.delenv("CLIMG_SLICE")
        assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), whole), f"slices of {shape}\n{context}"


@pytest.mark.some(4)
@pytest.mark.parametrize("form", ["cpu", "gpu"])
@pytest.mark.parametrize("edge", harness.run_edges())
@pytest.mark.parametrize("stage", STAGES)
def test_any_sigma(tmp_path, rng, monkeypatch, stage, edge, form):
    shape = (*(int(side) for side in rng.choice(SIDES, 2)), int(rng.choice([1, 3])))
    check(tmp_path, rng, monkeypatch, stage, edge, form, any_sigma(rng), shape)


def test_windows_as_long_as_an_axis_that_wraps(tmp_path, rng):
    """On a coarse grid of ten samples windows are nine or ten long: either all of them cross its ends, or none."""
    height, width = (int(side) for side in rng.integers(109, 121, 2))
    samples = rng.random((height, width, 1), np.float32)
    harness.write_tiff(tmp_path / "in.tif", samples)
    context = harness.run("--edge", "wrap", tmp_path / "in.tif", "--blur", 24, tmp_path / "out.tif")
    expected = reference.leave(reference.blur(reference.enter(samples), 24, edge="wrap"))
    harness.assert_close(harness.read_tiff(tmp_path / "out.tif").astype(float), expected, TOLERANCE,
                         f"{width}x{height}\n{context}")


@pytest.mark.some(1)
@pytest.mark.parametrize("memory", harness.MEMORIES)
@pytest.mark.parametrize("stage", ["blur", "gradient"])
def test_an_end_of_what_wraps(tmp_path, rng, stage, memory):
    """Alone it needs rows of the other end all the same."""
    sigma, top = round(float(rng.uniform(8, 16)), 2), int(rng.choice([0, 250]))
    samples = rng.random((260, 9, 1), np.float32)
    harness.write_tiff(tmp_path / "in.tif", samples)
    context = harness.run("-m", memory, "--edge", "wrap", tmp_path / "in.tif", *STAGES[stage][0](sigma), "--warp",
                          f"1 0 0 0 1 {top},size=9x10,filter=nearest", tmp_path / "out.tif", env={"CLIMG_POISON": "1"})
    expected = STAGES[stage][1](samples.astype(float), sigma, edge="wrap")[top:top + 10]
    harness.assert_close(harness.read_tiff(tmp_path / "out.tif").astype(float), expected, TOLERANCE, context)


def test_flat_pictures_stay_flat(tmp_path, rng):
    """Rounding does not add up over thousands of pixels."""
    value = np.float32(rng.uniform(0.5, 1))
    harness.write_tiff(tmp_path / "in.tif", np.full((50, 700, 1), value))
    for sigma in (5, 60, 1000):
        harness.run("--yes", "--edge", "mirror", tmp_path / "in.tif", "--blur", sigma, tmp_path / "out.tif")
        assert np.abs(harness.read_tiff(tmp_path / "out.tif") - value).max() < 1e-6


@pytest.mark.parametrize("sigma, truncate", [(9, 4), (30, 2.5), (70, 4)])
def test_truncate_asks_for_the_filter_itself(tmp_path, rng, sigma, truncate):
    shape = harness.Shape(60, 90, 3, "float32")
    harness.check_stage(tmp_path, rng, shape, ["--blur", f"{sigma},truncate={truncate}"],
                        [lambda planes: reference.blur(planes, sigma, truncate)])


def test_filters_that_are_too_long(tmp_path):
    """Their tables of weights have a bound."""
    harness.write_tiff(tmp_path / "in.tif", np.zeros((3, 12000, 1), np.uint8))
    done = harness.run(tmp_path / "in.tif", "--blur", "1000,truncate=12", tmp_path / "out.tif", status=1)
    assert "the weights of a filter of 24001 taps along 12000 pixels take more than 512 MiB" in done.err
    harness.run(tmp_path / "in.tif", "--blur", "1000,truncate=2", tmp_path / "out.tif")
