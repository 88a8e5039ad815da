"""--wavelet and --inverse-wavelet: perfect reconstruction, and the size of the picture of a pyramid."""

import numpy as np
import pytest

import harness
from harness import MEMORIES, Shape, draw_shapes

SIZES = ((1, 1), (1, 7), (3, 5), (101, 99), (512, 512), (1023, 640))
RECONSTRUCTION = 2e-6  # of full scale


def round_trip(tmp_path, samples, levels, memory):
    harness.write_tiff(tmp_path / "in.tif", samples)
    context = harness.run("--memory", memory, tmp_path / "in.tif", f"--wavelet={levels}", "--inverse-wavelet",
                          "--depth", "float", tmp_path / "out.tif")
    result = harness.read_tiff(tmp_path / "out.tif")
    assert result.dtype == np.float32
    harness.assert_close(result.astype(float), samples / harness.reference.full_scale(samples.dtype),
                         RECONSTRUCTION, str(context))


@pytest.mark.some(6)
@pytest.mark.parametrize("levels", range(1, 7))
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_round_trip(tmp_path, rng, size, levels):
    channels, dtype = int(rng.choice([1, 3])), str(rng.choice(harness.TYPES))
    memory = MEMORIES[(levels + SIZES.index(size)) % 2]
    round_trip(tmp_path, harness.random_samples(rng, Shape(*size, channels, dtype)), levels, memory)


@pytest.mark.some(4)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("shape", draw_shapes("wavelet", 4), ids=str)
def test_round_trip_of_every_channel_count(tmp_path, rng, shape, memory):
    round_trip(tmp_path, harness.random_samples(rng, shape), int(rng.integers(2, 6)), memory)


def test_round_trip_of_several_strips(tmp_path, rng):
    """CPUs transform 16 MiB at a time: src/wavelet/dtcwt.c."""
    round_trip(tmp_path, harness.random_samples(rng, Shape(4099, 600, 1, "uint8")), 2, "buffer")


@pytest.mark.parametrize("memory", MEMORIES)
def test_scaled_mosaic_is_four_times_the_mosaic(tmp_path, memory):
    sizes = []
    for name, scale in (("plain.tif", ()), ("scaled.tif", ("--scale", "4"))):
        harness.run("-m", memory, harness.SAMPLES / "scene.png", "--wavelet", "--mosaic", *scale, tmp_path / name)
        sizes.append(harness.read_samples(tmp_path / name).shape)
    assert sizes[1] == (4 * sizes[0][0], 4 * sizes[0][1], sizes[0][2])
