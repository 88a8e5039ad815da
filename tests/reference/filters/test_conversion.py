"""Conversion at entry and exit: sample types, alpha, linear light, clamping and rounding."""

import struct

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

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


@pytest.mark.parametrize("form, memory", [("cpu", "buffer"), ("gpu", "buffer"), ("gpu", "image")])
def test_beyond_half_floats(tmp_path, form, memory):
    """Finite values that become infinite are counted; infinities and NaN of the input are not."""
    samples = np.array([[60000, -60000, 65504, 65519, 30000, np.inf, -np.inf, np.nan]], np.float16)
    tifffile.imwrite(tmp_path / "in.tif", samples)
    for chain, beyond in (("--convolve 1,bias=0", 0), ("--convolve 1.125,normalize=no", 4)):
        done = harness.run("-m", memory, "in.tif", *chain.split(), "out.tif", cwd=tmp_path, env={"CLIMG_CLASS": form})
        assert (f"{beyond} of 8 values (50%) are outside the range of half samples and became infinite" in done.err) == (beyond > 0)
        assert "NaN became" not in done.err and np.isinf(tifffile.imread(tmp_path / "out.tif")).sum() == beyond + 2


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
    samples = harness.random_samples(rng, Shape(137, 39, channels, "float32"), low=-beyond, high=1 + beyond)
    harness.write_tiff(tmp_path / "in.tif", samples, extrasamples=["unspecified"])
    harness.run("-m", memory, tmp_path / "in.tif", *options, tmp_path / "out.tif")
    result = tifffile.imread(tmp_path / "out.tif")
    expected = samples.astype(float)
    if "--range" in options and "--depth" in options:
        expected = (expected - 0.25) / 1.75
    if "--linear" in options:
        expected = 1 - expected  # floats are light already
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
    """Floats are light already, and stay so."""
    expected = reference.through(samples, lambda planes: reference.blur(planes, 1.5), linear=not shape.dtype.startswith("float"))
    result = convert(tmp_path, samples, "-m", memory, "--linear", "--depth=float", "--blur", "1.5")
    harness.assert_close(result.astype(float), expected)


def test_floats_are_light(tmp_path):
    """Returns the samples of sRGB's curve for all integers."""
    light = np.linspace(0, 1, 4096, dtype=np.float32).reshape(64, 64, 1)
    result = convert(tmp_path, light, "--linear", "--convolve", "1", "--depth", "16")
    assert np.abs(result / 65535 - reference.srgb_encode(light.astype(float))).max() < 1e-5


def curve_of(profile, curve):
    """An sRGB profile of littlecms with another curve for red, green and blue."""
    profile = bytearray(profile)
    for i in range(struct.unpack(">I", profile[128:132])[0]):
        if profile[132 + 12 * i:136 + 12 * i] in (b"rTRC", b"gTRC", b"bTRC"):
            profile[136 + 12 * i:144 + 12 * i] = struct.pack(">II", len(profile), len(curve))
    curve += bytes(-len(curve) % 4)
    profile[:4] = struct.pack(">I", len(profile) + len(curve))
    return bytes(profile) + curve


def table(light):
    return b"curv\0\0\0\0" + struct.pack(">I", len(light)) + np.round(np.asarray(light) * 65535).astype(">u2").tobytes()


def parameters(form, *numbers):
    return b"para\0\0\0\0" + struct.pack(">HH", form, 0) + b"".join(struct.pack(">i", round(65536 * number)) for number in numbers)


def gamma(exponent):
    return b"curv\0\0\0\0" + struct.pack(">IH", 1, round(exponent * 256)) + b"\0\0"


RAMP = np.linspace(0, 1, 1024)
TONE_CURVES = {
    "sRGB's parameters": (parameters(3, 2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045), None), "sRGB's table": (table(reference.srgb_decode(RAMP)), None),
    "sRGB's table of 26": (table(reference.srgb_decode(np.linspace(0, 1, 26))), None), "none": (b"curv" + bytes(8), 1), "a table of light": (table(RAMP[::1023]), 1),
    "gamma 1.8": (gamma(1.8), 461 / 256), "Adobe RGB": (gamma(563 / 256), 563 / 256), "gamma 2.4": (parameters(0, 2.4), 2.4), "a table of gamma 1.8": (table(RAMP ** 1.8), 1.8),
    "ProPhoto's parameters": (parameters(3, 1.8, 1, 0, 1 / 16, 1 / 32), 1.8), "L*": (table(np.where(RAMP > 0.08, ((RAMP + 0.16) / 1.16) ** 3, RAMP / 9.033)), "L*"),
    "BT.709": (parameters(3, 1 / 0.45, 1 / 1.099, 0.099 / 1.099, 1 / 4.5, 0.081), "709"), "damaged": (b"curv\0\0\0\0" + struct.pack(">I", 1 << 30) + bytes(8), "?"), "unknown": (b"xxxx" + bytes(12), "?")}


def assert_middle(folder, samples, expected, warning=""):
    """The mean of black and white in light."""
    said = harness.run("--linear", folder / "in.png", "--scale", "1/2,filter=bilinear", "--depth", "float", folder / "out.tif").err
    assert warning in said and bool(warning) == bool(said)
    assert abs(harness.read_samples(folder / "out.tif")[4, 4, 0] - expected) <= 2e-4, expected


@pytest.mark.parametrize("name", TONE_CURVES)
def test_linear_goes_by_the_profile(tmp_path, name):
    """By the profile's own curve, a number here where it is no power; or sRGB's, with a warning, if it cannot be read."""
    curve, exponent = TONE_CURVES[name]
    profile = curve_of(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes(), curve)
    samples = np.repeat(np.indices((16, 16)).sum(0)[..., None] % 2 * 255, 3, axis=2).astype(np.uint8)
    Image.fromarray(samples).save(tmp_path / "in.png", icc_profile=profile)
    expected = {None: reference.srgb_encode(0.5), "?": reference.srgb_encode(0.5), "L*": 1.16 * 0.5 ** (1 / 3) - 0.16,
                "709": 1.099 * 0.5 ** 0.45 - 0.099}[exponent] if exponent in (None, "?", "L*", "709") else 0.5 ** (1 / exponent)
    assert_middle(tmp_path, samples, expected, "is taken for sRGB, as its ICC profile cannot be used" if exponent == "?" else "")


def pq(light):
    """SMPTE ST 2084, equation 5.2."""
    power = light ** (2610 / 16384)
    return ((3424 / 4096 + 2413 / 128 * power) / (1 + 2392 / 128 * power)) ** (2523 / 32)


def hlg(light):
    """ITU-R BT.2100, table 5, of the scene's light from 0 to 1."""
    return np.where(light <= 1 / 12, np.sqrt(3 * light), 0.17883277 * np.log(np.maximum(12 * light - 0.28466892, 1e-9)) + 0.55991073)


@pytest.mark.parametrize("transfer,exponent", [(1, "709"), (2, 1 / 0.6), (4, 2.2), (5, 2.8), (8, 1), (9, "?"), (13, None), (14, "709"), (16, "pq"), (18, "hlg")])
def test_linear_goes_by_cicp(tmp_path, transfer, exponent):
    """Before gAMA, unless it says that it does not know."""
    samples = np.repeat(np.indices((16, 16)).sum(0)[..., None] % 2 * 255, 3, axis=2).astype(np.uint8)
    pngfile.write_png(tmp_path / "in.png", samples, chunks=[("cICP", bytes([1, transfer, 0, 1])), ("gAMA", struct.pack(">I", 60000))])
    expected = {None: reference.srgb_encode(0.5), "?": reference.srgb_encode(0.5), "pq": pq(0.5), "hlg": hlg(0.5),
                "709": 1.099 * 0.5 ** 0.45 - 0.099}[exponent] if isinstance(exponent, (str, type(None))) else 0.5 ** (1 / exponent)
    assert_middle(tmp_path, samples, expected, f"is taken for sRGB, as its cICP 1/{transfer}/0/1 is not supported" if exponent == "?" else "")


@pytest.mark.parametrize("numbers", [(0,) * 8, (31270, 32900) + (64000, 33000) * 3], ids=["zero", "on a line"])
def test_damaged_primaries(tmp_path, numbers):
    """The warning names cHRM: the file has no profile."""
    samples = np.repeat(np.indices((16, 16)).sum(0)[..., None] % 2 * 255, 3, axis=2).astype(np.uint8)
    pngfile.write_png(tmp_path / "in.png", samples, chunks=[("gAMA", struct.pack(">I", 60000)), ("cHRM", struct.pack(">8I", *numbers))])
    assert_middle(tmp_path, samples, reference.srgb_encode(0.5), "is taken for sRGB, as its primaries (cHRM) cannot be used: they are damaged")


@pytest.mark.parametrize("transfer,encode", [(16, pq), (18, hlg)])
def test_linear_light_of_video(tmp_path, rng, transfer, encode):
    """A blur in light by the published formulas."""
    light = rng.uniform(0, 1, (40, 50, 3)) ** 3
    samples = np.rint(encode(light) * 65535).astype(np.uint16)
    grid = encode(np.linspace(0, 1, 200001))
    light = np.interp(samples / 65535, grid, np.linspace(0, 1, 200001))
    pngfile.write_png(tmp_path / "in.png", samples, chunks=[("cICP", bytes([9, transfer, 0, 1]))])
    for env in ({"CLIMG_CLASS": "cpu"}, {"CLIMG_CLASS": "gpu"}):
        harness.run("-y", "--linear", tmp_path / "in.png", "--blur", "2", "--depth", "float", tmp_path / "out.tif", env=env)
        expected = encode(np.clip(reference.blur(light, 2), 0, 1))
        assert np.abs(harness.read_samples(tmp_path / "out.tif") - expected).max() < 1e-3


def test_linear_coefficients_have_the_curve(tmp_path, rng):
    """A transform in light and back: the curve is in the profile of the coefficient file."""
    curve = TONE_CURVES["L*"][0]
    profile = curve_of(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes(), curve)
    samples = rng.integers(0, 256, (24, 31, 3)).astype(np.uint8)
    Image.fromarray(samples).save(tmp_path / "in.png", icc_profile=profile)
    harness.run("--linear", tmp_path / "in.png", "--wavelet=2", tmp_path / "c.tif")
    harness.run(tmp_path / "c.tif", "--inverse-wavelet", tmp_path / "out.png")
    assert np.abs(harness.read_samples(tmp_path / "out.png").astype(int) - samples).max() <= 1
    pngfile.write_png(tmp_path / "pq.png", samples, chunks=[("cICP", bytes([9, 16, 0, 1]))])
    said = harness.run("--linear", tmp_path / "pq.png", "--wavelet=2", tmp_path / "d.tif", status=1).err
    assert "cannot hold; leave --linear out" in said


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


def test_range_of_associated_alpha(tmp_path, rng):
    """Without stages, too: colours are divided by alpha once."""
    alpha = rng.integers(1, 256, (9, 11, 1))
    multiplied = np.rint(rng.integers(0, 256, (9, 11, 3)) * alpha / 255)
    samples = np.concatenate([multiplied, alpha], axis=-1).astype(np.uint8)
    harness.write_tiff(tmp_path / "in.tif", samples, extrasamples=["assocalpha"])
    harness.run(tmp_path / "in.tif", "--range", "0,255", tmp_path / "out.png")
    got = harness.read_samples(tmp_path / "out.png").astype(float)
    assert np.array_equal(got[..., 3:], alpha)
    assert np.abs(got[..., :3] - np.clip(multiplied * 255 / alpha, 0, 255)).max() <= 0.51
