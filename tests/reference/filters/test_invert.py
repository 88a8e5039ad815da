"""--invert: full scale minus colour; alpha stays."""
import numpy as np
import pytest
import tifffile

import harness

import reference
from harness import check_stage, draw_shapes


def inverted(planes):
    colours = planes.shape[2] - reference.has_alpha(planes)
    result = planes.copy()
    result[..., :colours] = (planes[..., -1:] if reference.has_alpha(planes) else 1) - planes[..., :colours]
    return result


@pytest.mark.parametrize("shape", draw_shapes("invert", 8), ids=str)
def test_invert(tmp_path, rng, shape):
    check_stage(tmp_path, rng, shape, ["--invert"], [inverted])


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("device", [[], ["-m", "image"]])
def test_signed_samples(tmp_path, dtype, device):
    """The bits that are not: -1 - v. Nothing is clipped, and twice gives the samples again."""
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    samples = np.arange(least, most + 1, dtype=dtype).reshape(16, -1)
    tifffile.imwrite(tmp_path / "in.tif", samples)
    harness.run("-v", *device, tmp_path / "in.tif", "--invert", tmp_path / "out.tif")
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), ~samples)
    harness.run(tmp_path / "in.tif", "--invert", "--invert", tmp_path / "out.tif", "-y")
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), samples)


def test_signed_samples_of_a_range(tmp_path):
    """Black of --range becomes its white, and the other way round."""
    samples = np.arange(-1000, 1001, dtype=np.int16).reshape(3, -1)
    tifffile.imwrite(tmp_path / "in.tif", samples)
    harness.run(tmp_path / "in.tif", "--range", "-1000,1000", "--invert", "--depth", "16", tmp_path / "out.tif")
    assert np.abs(tifffile.imread(tmp_path / "out.tif") - (1000.0 - samples) / 2000 * 65535).max() <= 0.51
