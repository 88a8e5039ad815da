"""What happens at entry and exit: sample types, alpha, linear light, clamping and rounding."""

import numpy as np
import pytest
import tifffile

import harness
import pngfile
import reference
from harness import MEMORIES, Shape, draw_shapes


def convert(tmp_path, samples, *args, output="out.tif", input_name="in.tif"):
    harness.write_tiff(tmp_path / input_name, samples)
    harness.run(tmp_path / input_name, *args, tmp_path / output)
    return harness.read_samples(tmp_path / output)


@pytest.mark.parametrize("shape", draw_shapes("identity"), ids=str)
def test_no_stage_changes_nothing(tmp_path, rng, shape):
    samples = harness.random_samples(rng, shape)
    result = convert(tmp_path, samples, "--memory", str(rng.choice(MEMORIES)))
    assert result.dtype == samples.dtype
    if shape.dtype == "float32":
        harness.assert_close(result.astype(float), samples.astype(float), 1e-6)
    else:
        assert np.array_equal(result, samples)


@pytest.mark.some(4)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("shape", [Shape(9, 7, channels, dtype) for channels, dtype in
                                   ((1, "uint16"), (2, "float32"), (3, "float32"), (4, "uint16"))], ids=str)
def test_depth_8(tmp_path, rng, shape, memory):
    samples = harness.random_samples(rng, shape)
    result = convert(tmp_path, samples, "-m", memory, "--depth", "8", output="out.png")
    assert result.dtype == np.uint8
    harness.assert_counts(result, reference.to_float(samples))


@pytest.mark.parametrize("shape", [Shape(9, 7, 3, "uint8"), Shape(31, 8, 4, "uint8"), Shape(50, 40, 1, "float32")],
                         ids=str)
def test_depth_16(tmp_path, rng, shape):
    samples = harness.random_samples(rng, shape)
    result = convert(tmp_path, samples, "--depth=16", output="out.png")
    assert result.dtype == np.uint16
    harness.assert_counts(result, reference.to_float(samples))


def test_eight_bits_widen_exactly(tmp_path):
    samples = np.arange(256, dtype=np.uint8).reshape(1, 256, 1)
    assert np.array_equal(convert(tmp_path, samples, "--depth=16"), samples.astype(np.uint16) * 257)


def test_sixteen_bits_narrow_by_rounding(tmp_path):
    """Every 16-bit value: 128 is where 0 ends (128 / 257 = 0.498), and nothing is truncated."""
    samples = np.arange(65536, dtype=np.uint16).reshape(256, 256, 1)
    expected = np.rint(samples / 257).astype(np.uint8)
    assert np.array_equal(convert(tmp_path, samples, "--depth=8"), expected)


def test_halves(tmp_path):
    """0.5 is the one float that is exactly between two counts: 127.5 and 32767.5 go to the even one."""
    half = np.full((1, 1, 1), 0.5, np.float32)
    assert convert(tmp_path, half, "--depth=8").item() == 128
    assert convert(tmp_path, half, "--depth=16").item() == 32768
    samples = ((np.arange(255) + 0.5) / 255).astype(np.float32).reshape(1, 255, 1)
    result = convert(tmp_path, samples, "--depth=8").ravel().astype(int)
    assert np.abs(result - np.arange(255) - 0.5).max() == 0.5


@pytest.mark.parametrize("memory", MEMORIES)
def test_float_is_not_clamped(tmp_path, rng, memory):
    samples = harness.random_samples(rng, Shape(33, 17, 3, "float32"), low=-2, high=3)
    result = convert(tmp_path, samples, "--memory", memory)
    assert result.dtype == np.float32
    harness.assert_close(result.astype(float), samples.astype(float), 1e-6)


def test_integers_are_clamped(tmp_path):
    samples = np.array([-1, -0.001, 0, 1, 1.001, 700], np.float32).reshape(1, 6, 1)
    assert convert(tmp_path, samples, "--depth=8").ravel().tolist() == [0, 0, 0, 255, 255, 255]
    assert convert(tmp_path, samples, "--depth=16").ravel().tolist() == [0, 0, 0, 65535, 65535, 65535]


# ---------------------------------------------------------------- alpha

@pytest.mark.some(3)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("channels, dtype", [(2, "uint8"), (4, "uint16"), (4, "float32")])
def test_zero_alpha(tmp_path, rng, memory, channels, dtype):
    """Half of the pixels are transparent: their colour takes no part and comes out 0 where alpha is 0."""
    samples = harness.random_samples(rng, Shape(61, 37, channels, dtype))
    samples[rng.uniform(size=samples.shape[:2]) < 0.5, -1] = 0
    samples[:, :20, -1] = 0
    expected = reference.through(samples, lambda planes: reference.blur(planes, 1))
    result = convert(tmp_path, samples, "--memory", memory, "--depth=float", "--blur", "1")
    harness.assert_close(result.astype(float), expected)
    hidden = expected[..., -1] == 0
    assert hidden.any() and not result[hidden].any()


@pytest.mark.parametrize("memory", MEMORIES)
def test_transparent_red_beside_opaque_blue(tmp_path, memory):
    samples = np.zeros((16, 32, 4), np.uint8)
    samples[:, :16] = (255, 0, 0, 0)
    samples[:, 16:] = (0, 0, 255, 255)
    pngfile.write_png(tmp_path / "in.png", samples)
    harness.run("--memory", memory, tmp_path / "in.png", "--blur", "3", tmp_path / "out.png")
    result = pngfile.read_png(tmp_path / "out.png").samples
    seen = result[..., 3] > 0
    assert (result[seen][:, 0] == 0).all(), "a red fringe"
    assert (result[seen][:, 2] == 255).all(), "the blue became darker"
    assert 1 < len(np.unique(result[..., 3])), "alpha was not blurred"


def test_associated_alpha_is_not_multiplied_again(tmp_path, rng):
    samples = harness.random_samples(rng, Shape(33, 17, 4, "float32"))
    multiplied = samples.copy()
    multiplied[..., :3] *= multiplied[..., 3:]
    harness.write_tiff(tmp_path / "in.tif", multiplied, extrasamples=["assocalpha"])
    harness.run(tmp_path / "in.tif", "--blur", "1", "--depth=float", tmp_path / "out.tif")
    expected = reference.through(samples, lambda planes: reference.blur(planes, 1))
    harness.assert_close(harness.read_tiff(tmp_path / "out.tif").astype(float), expected)


@pytest.mark.some(4)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("channels", [2, 4])
@pytest.mark.parametrize("options", [["--depth", "8"], ["--range", "0.25,2"], ["--range", "0.25,2", "--depth", "16"], ["--linear", "--invert"]],
                         ids=" ".join)
def test_last_channel_that_is_no_alpha(tmp_path, rng, memory, channels, options):
    """A mask or near infrared, as its tag says, is mapped as colour is; it was lost, or left as it came. Floats come back from a range."""
    beyond = 0.1 if "8" in options else 0
    samples = harness.random_samples(rng, Shape(37, 9, channels, "float32"), low=-beyond, high=1 + beyond)
    harness.write_tiff(tmp_path / "in.tif", samples, extrasamples=["unspecified"])
    harness.run("-m", memory, tmp_path / "in.tif", *options, tmp_path / "out.tif")
    result = tifffile.imread(tmp_path / "out.tif")
    expected = samples.astype(float)
    if "--range" in options and "--depth" in options:
        expected = (expected - 0.25) / 1.75
    if "--linear" in options:
        expected = reference.srgb_encode(1 - reference.srgb_decode(expected))
    if "--depth" in options:
        harness.assert_counts(result, np.clip(expected, 0, 1))
    else:
        harness.assert_close(result.astype(float), expected)


# ---------------------------------------------------------------- linear light

@pytest.mark.some(4)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("shape", [Shape(64, 64, 1, "uint8"), Shape(33, 17, 2, "float32"),
                                   Shape(41, 29, 3, "uint16"), Shape(101, 99, 4, "float32")], ids=str)
def test_linear(tmp_path, rng, shape, memory):
    samples = harness.random_samples(rng, shape)
    expected = reference.through(samples, lambda planes: reference.blur(planes, 1.5), linear=True)
    result = convert(tmp_path, samples, "-m", memory, "--linear", "--depth=float", "--blur", "1.5")
    harness.assert_close(result.astype(float), expected)


def test_linear_comes_back(tmp_path):
    """Decoding and encoding alone keep all 16-bit values, the dark ones on the straight piece too."""
    samples = np.arange(65536, dtype=np.uint16).reshape(256, 256, 1)
    result = convert(tmp_path, samples, "--linear", "--convolve", "1")
    assert np.abs(result.astype(int) - samples).max() <= 1


# ---------------------------------------------------------------- 16 bits stay 16 bits

@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_gradient_keeps_its_levels(tmp_path, suffix):
    harness.run(harness.SAMPLES / "gradient16.png", "--blur", "2", tmp_path / f"out{suffix}")
    result = harness.read_samples(tmp_path / f"out{suffix}")
    assert result.dtype == np.uint16
    assert len(np.unique(result)) > 256


def test_sixteen_bit_output_is_exact(tmp_path, rng):
    harness.check_integers(tmp_path, rng, Shape(101, 99, 3, "uint16"), ["--scale", "2"],
                           [lambda planes: reference.scale(planes, 2)], suffix=".png")
