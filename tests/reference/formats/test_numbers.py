"""Numbers are not changed quietly: what integers cannot hold is counted, --range maps it, signed samples stay signed."""

import re

import numpy as np
import pytest
import scipy.ndimage
import tifffile

import harness
import pngfile

SIGNED = ("int8", "int16", "int32")


def write(path, samples):
    if samples.ndim == 3 and samples.shape[2] == 1:  # versions of tifffile differ in whether a last axis of one is the axis of pages
        samples = samples[..., 0]
    tifffile.imwrite(path, samples, photometric="rgb" if samples.shape[-1] == 3 else "minisblack", metadata=None)


def beyond(samples, full):
    """Counts values that are outside of 0 ... 1 by more than a rounding."""
    return int(((samples < -0.5 / full) | (samples > 1 + 0.5 / full)).sum())


# ---------------------------------------------------------------- what is clipped is counted

@pytest.mark.some(4)
@pytest.mark.parametrize("memory", harness.MEMORIES)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("depth", [8, 16])
def test_clipped_values_are_counted(tmp_path, rng, memory, channels, depth):
    """In several slices, and of a width that is no multiple of a vector's."""
    samples = rng.uniform(-1, 3, (90, int(rng.integers(5, 90)), channels)).astype(np.float32)  # 3 columns would be channels to a reader
    samples.ravel()[:5] = [np.nan, np.inf, -np.inf, 1 + 1e-7, -1e-7]
    write(tmp_path / "in.tif", samples)
    said = harness.run("-m", memory, tmp_path / "in.tif", "--depth", depth, tmp_path / "out.tif", env={"CLIMG_SLICE": "23"}).err
    count = beyond(samples, 2 ** depth - 1)
    assert f"warning: {count} of {samples.size} values" in said and "--range MIN,MAX or --range auto" in said
    assert "NaN became 0 in 1 values" in said
    assert len(said.splitlines()) == 2
    expected = np.rint(np.clip(np.nan_to_num(samples.astype(float), nan=0), 0, 1) * (2 ** depth - 1))
    assert np.abs(harness.read_tiff(tmp_path / "out.tif") - expected).max() <= 1


@pytest.mark.parametrize("stage", [("--scale", "2"), ("--blur", "2"), ("--scale", "2,filter=nearest"), ("--convolve", "1,bias=-1")], ids=lambda s: s[0])
def test_clipped_values_behind_a_stage(tmp_path, rng, stage):
    """Also where the last stage writes samples itself, and where what lies behind a row would be clipped."""
    samples = rng.uniform(-1, 3, (61, 47, 3)).astype(np.float32)
    write(tmp_path / "in.tif", samples)
    harness.run(tmp_path / "in.tif", *stage, tmp_path / "float.tif")
    made = harness.read_tiff(tmp_path / "float.tif").astype(float)
    said = harness.run(tmp_path / "in.tif", *stage, "--depth", "8", tmp_path / "out.tif").err
    told = int(re.search(r"warning: (\d+) of", said)[1])
    assert abs(told - beyond(made, 255)) <= 3  # float against float arithmetic at the bound


def test_one_warning_a_file(tmp_path, rng):
    stack = rng.uniform(-1, 3, (4, 20, 30)).astype(np.float32)
    tifffile.imwrite(tmp_path / "in.tif", stack, photometric="minisblack", metadata=None)
    said = harness.run(tmp_path / "in.tif", "--depth", "8", tmp_path / "out.tif").err
    assert said.count("warning:") == 1 and f"{beyond(stack, 255)} of {stack.size} values" in said
    assert harness.run("-q", tmp_path / "in.tif", "--depth", "8", tmp_path / "out.tif").err == ""


def test_every_file_of_a_group(tmp_path, rng):
    """Small images share launches, but not what is counted."""
    (tmp_path / "in").mkdir()
    expected = {}
    for i in range(9):
        samples = rng.uniform(-1, 1 + i, (16, 17)).astype(np.float32)
        tifffile.imwrite(tmp_path / "in" / f"{i}.tif", samples, photometric="minisblack", metadata=None)
        expected[f"{i}.tif"] = beyond(samples, 255)
    said = harness.run("-v", "--jobs", "1", tmp_path / "in", "--invert", "--invert", "--depth", "8", tmp_path / "out").err
    assert "a group of" in said
    told = {name: int(count) for name, count in re.findall(r"(\d\.tif): warning: (\d+) of", said)}
    assert all(abs(told[name] - count) <= 1 for name, count in expected.items())


def test_floats_inside_are_not_spoken_of(tmp_path, rng):
    write(tmp_path / "in.tif", rng.uniform(0, 1, (20, 30, 3)).astype(np.float32))
    assert harness.run(tmp_path / "in.tif", "--blur", "1", "--depth", "8", tmp_path / "out.tif").err == ""


@pytest.mark.parametrize("order", [1, -1])
def test_pages_of_different_types(tmp_path, order):
    """The floats of one page are clipped, not by stages, whatever the other page is; and only PAM's own types are spoken of."""
    floats = np.full((20, 20), 0.5, np.float32)
    floats[0, 0] = 2
    with tifffile.TiffWriter(tmp_path / "in.tif") as file:
        for samples in [floats, np.zeros((20, 20), np.uint8)][::order]:
            file.write(samples)
    said = harness.run(tmp_path / "in.tif", tmp_path / "out.pam").err
    assert said.count("\n") == 1 and "1 of 400 values (0.25%) are outside the range" in said


def test_range_of_pages_of_different_types(tmp_path):
    """It has the values of each page, not their shares of the first page's full scale."""
    with tifffile.TiffWriter(tmp_path / "in.tif") as file:
        for dtype in (np.uint8, np.uint16, np.int8, np.float32):
            file.write(np.full((4, 4), 50, dtype))
    harness.run(tmp_path / "in.tif", "--range", "0,100", "--depth", "8", tmp_path / "out.tif")
    assert all((page == 128).all() for page in harness.read_pages(tmp_path / "out.tif"))


def test_ringing_of_integers_is_told_with_verbose(tmp_path, rng):
    samples = rng.integers(0, 2, (40, 40, 1)).astype(np.uint8) * 255
    pngfile.write_png(tmp_path / "in.png", samples)
    assert "of the samples were clipped to black or white" in harness.run(tmp_path / "in.png", "--sharpen", "2", tmp_path / "out.png").err  # more than 1%
    samples = np.full((40, 40, 1), 128, np.uint8)
    samples[20, 20] = 255
    pngfile.write_png(tmp_path / "in.png", samples)
    assert harness.run(tmp_path / "in.png", "--sharpen", "2", tmp_path / "out.png").err == ""
    said = harness.run("-v", tmp_path / "in.png", "--sharpen", "2", tmp_path / "out.png").err
    assert "outside the range of 8 bit samples" in said and "--range" not in said


# ---------------------------------------------------------------- --range

@pytest.mark.parametrize("memory", harness.MEMORIES)
def test_range_of_floats(tmp_path, rng, memory):
    samples = rng.uniform(-100, 300, (30, 37, 3)).astype(np.float32)
    write(tmp_path / "in.tif", samples)
    assert harness.run("-m", memory, tmp_path / "in.tif", "--range", "-50,200", "--depth", "16", tmp_path / "out.tif").err == ""
    exact = np.clip((samples.astype(float) + 50) / 250, 0, 1)
    assert np.abs(harness.read_tiff(tmp_path / "out.tif") - exact * 65535).max() < 0.5 + 0.05
    assert '<Item name="Range">-50 to 200</Item>' in harness.tiff_tags(tmp_path / "out.tif")[42112]


def test_range_where_floats_stay_floats(tmp_path, rng):
    """Stages see values from 0 to 1. Without stages nothing changes, which a warning says."""
    samples = rng.uniform(-100, 300, (30, 37, 1)).astype(np.float32)
    write(tmp_path / "in.tif", samples)
    said = harness.run("-v", tmp_path / "in.tif", "--range", "-50,200", tmp_path / "out.tif").err
    assert "values from" not in said
    assert "warning: --range changes nothing where floats stay floats; --depth 8 or --depth 16 makes integers of them" in said
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), samples)
    said = harness.run("-v", tmp_path / "in.tif", "--range", "-50,200", "--invert", tmp_path / "out.tif").err
    assert "values from -50 to 200 become 0 to full scale for the stages, and are restored in the output" in said
    assert "warning" not in said and np.abs(harness.read_tiff(tmp_path / "out.tif") - (150 - samples)).max() < 1e-4


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_range_that_is_found(tmp_path, rng, suffix):
    """Values that are not finite do not count as an end. A pipe is read twice, too."""
    samples = rng.uniform(-100, 300, (30, 37, 1)).astype(np.float32)
    finite = samples.copy()
    samples[3, 4], samples[5, 6] = np.nan, np.inf
    finite[3, 4], finite[5, 6] = finite.min(), finite.max()
    write(tmp_path / "in.tif", samples)
    low, high = (float(f(samples[np.isfinite(samples)])) for f in (np.min, np.max))
    said = harness.run("-v", tmp_path / "in.tif", "--range", "auto", "--depth", "16", tmp_path / f"out{suffix}").err
    assert f"values from {low:.9g} to {high:.9g} become" in said
    made = harness.read_samples(tmp_path / f"out{suffix}").astype(float)
    assert np.abs(made - np.clip((finite - low) / (high - low), 0, 1) * 65535).max() < 0.5 + 0.05
    piped = harness.run("--range", "auto", "--depth", "16", "-f", suffix, stdin=(tmp_path / "in.tif").read_bytes()).out
    assert piped == (tmp_path / f"out{suffix}").read_bytes()


def test_range_of_all_pages(tmp_path, rng):
    stack = rng.uniform(0, 1, (3, 20, 30)).astype(np.float32) * np.array([1, 5, 2])[:, None, None].astype(np.float32)
    tifffile.imwrite(tmp_path / "in.tif", stack, photometric="minisblack", metadata=None)
    harness.run(tmp_path / "in.tif", "--range", "auto", "--depth", "16", tmp_path / "out.tif")
    made = np.stack(harness.read_pages(tmp_path / "out.tif"))[..., 0]
    assert np.abs(made - (stack - stack.min()) / (stack.max() - stack.min()) * 65535).max() < 0.6


def test_range_of_integers_is_in_their_own_numbers(tmp_path, rng):
    """12 bits in 16, with alpha that stays."""
    samples = rng.integers(0, 4096, (30, 37, 2)).astype(np.uint16)
    samples[..., 1] = rng.integers(1, 65536, (30, 37))
    pngfile.write_png(tmp_path / "in.png", samples)
    harness.run(tmp_path / "in.png", "--range", "0,4095", tmp_path / "out.png")
    made = pngfile.read_png(tmp_path / "out.png")
    assert np.abs(made.samples[..., 0] - samples[..., 0] / 4095 * 65535).max() < 0.5 + 0.05
    assert np.array_equal(made.samples[..., 1], samples[..., 1])
    assert made.texts()["Range"] == "0 to 4095"
    # As if they were fractions: nearly all become white.
    assert "were clipped to black or white by --range" in harness.run("in.png", "--range", "0,1", "all.png", cwd=tmp_path).err


def test_floats_get_their_values_back(tmp_path, rng):
    """The chain works from 0 to 1, so that a stage's full scale is the range's; what floats hold is as before."""
    samples = rng.uniform(1000, 3000, (30, 37, 1)).astype(np.float32)
    write(tmp_path / "in.tif", samples)
    harness.run(tmp_path / "in.tif", "--range", "1000,3000", "--invert", tmp_path / "out.tif")
    assert np.abs(harness.read_tiff(tmp_path / "out.tif") - (4000 - samples)).max() < 1e-3


def test_one_value_has_no_range(tmp_path):
    write(tmp_path / "in.tif", np.full((5, 6, 1), 7.5, np.float32))
    harness.run(tmp_path / "in.tif", "--range", "auto", "--depth", "8", tmp_path / "out.png")
    assert not harness.read_samples(tmp_path / "out.png").any()


@pytest.mark.parametrize("value", ["3,1", "1,1", "1", "auto,2", "1,2,3", ",", "nan,1"])
def test_no_range(tmp_path, value):
    said = harness.run("--range", value, tmp_path / "in.tif", tmp_path / "out.tif", status=2).err
    assert "--range" in said and len(said.splitlines()) == 1


# ---------------------------------------------------------------- signed samples

@pytest.mark.some(6)
@pytest.mark.parametrize("memory", harness.MEMORIES)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", SIGNED)
def test_signed_samples_stay_signed(tmp_path, rng, memory, dtype, channels):
    ends = np.iinfo(dtype)
    samples = rng.integers(ends.min, ends.max, (21, 37, channels), endpoint=True).astype(dtype)
    if dtype == "int32":
        samples &= ~np.int32(255)  # 24 bits, which floats hold
    samples.ravel()[:3] = [ends.min, ends.max, -1]
    harness.write_tiff(tmp_path / "in.tif", samples, extrasamples=["unspecified"] if channels % 2 == 0 else [])
    assert harness.run("-m", memory, tmp_path / "in.tif", tmp_path / "out.tif").err == ""
    made = harness.read_tiff(tmp_path / "out.tif")
    assert made.dtype == samples.dtype and np.array_equal(made, samples)


@pytest.mark.parametrize("dtype", SIGNED[:2])
def test_stages_on_signed_samples(tmp_path, rng, dtype):
    """A sample over the largest one is the value; results are clipped at the type's ends."""
    full = np.iinfo(dtype).max
    samples = rng.integers(-full, full, (41, 53, 1), endpoint=True).astype(dtype)
    write(tmp_path / "in.tif", samples)
    harness.run(tmp_path / "in.tif", "--blur", "2", tmp_path / "out.tif")
    exact = scipy.ndimage.gaussian_filter(samples / full, (2, 2, 0), mode="nearest", truncate=8) * full
    assert np.abs(harness.read_tiff(tmp_path / "out.tif") - exact).max() < 0.5 + 0.1
    harness.run(tmp_path / "in.tif", "--depth", "float", tmp_path / "float.tif")
    assert np.allclose(harness.read_tiff(tmp_path / "float.tif"), samples / full, atol=1e-6)
    harness.run(tmp_path / "in.tif", "--invert", tmp_path / "out.tif")
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), -1 - samples)


def test_small_numbers_that_are_lost_are_told(tmp_path):
    """Labels of 32 bits are black in 16 bits of full scale."""
    tifffile.imwrite(tmp_path / "in.tif", np.arange(200, dtype="u4").reshape(10, 20), photometric="minisblack")
    said = harness.run(tmp_path / "in.tif", tmp_path / "out.png").err
    assert "warning: 32 bit samples become 16 bit, as PNG holds no more; --range MIN,MAX or --range auto maps" in said
    for words in (["--depth", "16", "out.png"], ["--range", "auto", "range.png"], ["out.tif"]):
        assert harness.run("-y", "in.tif", *words, cwd=tmp_path).err == ""


def test_signs_that_are_lost_are_told(tmp_path, rng):
    samples = rng.integers(-32768, 32767, (30, 37, 1)).astype(np.int16)
    write(tmp_path / "in.tif", samples)
    said = harness.run(tmp_path / "in.tif", tmp_path / "out.png").err
    assert f"warning: {int((samples < 0).sum())} of {samples.size} values" in said
    assert pngfile.read_png(tmp_path / "out.png").depth == 16


# ---------------------------------------------------------------- more digits than floats have

@pytest.mark.parametrize("order", [1, -1])
def test_rounding_of_one_page_is_told(tmp_path, order):
    with tifffile.TiffWriter(tmp_path / "in.tif") as file:
        for samples in [np.array([[1, 2 ** 24 + 1]], np.uint32), np.zeros((4, 4), np.uint8)][::order]:
            file.write(samples)
    assert "more digits" in harness.run(tmp_path / "in.tif", tmp_path / "out.tif").err


@pytest.mark.parametrize("samples, told", [
    (np.array([[0, 1, 2 ** 24, 2 ** 32 - 1, 2 ** 31]], np.uint32), False), (np.array([[1, 2 ** 24 + 1]], np.uint32), True),
    (np.array([[-2 ** 31, 2 ** 31 - 1, -2 ** 24]], np.int32), False), (np.array([[-2 ** 24 - 1]], np.int32), True),
    (np.array([[0.5, np.nan, np.inf, -3]]), False), (np.array([[0.5, 0.1]]), True), (np.array([[1e300]]), True)])
def test_rounding_to_floats_is_told(tmp_path, samples, told):
    tifffile.imwrite(tmp_path / "in.tif", samples, photometric="minisblack", metadata=None)
    said = harness.run(tmp_path / "in.tif", tmp_path / "out.tif").err
    assert ("warning: has samples with more digits than 32-bit floats hold" in said) == told
    said = harness.run(tmp_path / "in.tif", "--depth", "16", tmp_path / "out.tif").err
    assert "more digits" not in said
