"""--levels and --threshold beside numpy and Pillow: by themselves and among other stages, of every type, in slices, groups and
memories; what `auto` and `otsu` find, from numpy's order of all samples."""

import json
import re

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageOps

import harness
import reference
from harness import Shape
from test_turn import EXACT, WAYS, draw_sizes

SHORT = ("uint8", "uint16", "int16", "float16")  # which the device's floats hold exactly
CHANNELS = (1, 2, 3, 4)

every_type = pytest.mark.parametrize("dtype", EXACT)


def draw_samples(rng, width, height, channels, dtype):
    """Samples from a part of the type's range, so that there is something to stretch; its ends, and alpha of 0 and full scale, are among them.
    A float's full scale is 1, but files have others."""
    shape = (height, width, channels)
    if dtype.startswith("float"):
        samples = rng.uniform(*sorted(rng.uniform(-2, 900, 2)), shape)
        alpha = rng.choice([0, 0.25, 1], shape[:2])
    else:
        limits = np.iinfo(dtype)
        samples = rng.integers(*sorted(rng.integers(limits.min, limits.max, 2)), shape, endpoint=True)
        # Not in the middle between two counts of 16 bit, where floats may round to either.
        if dtype == "uint32":
            samples = np.clip(samples // 65537 * 65537 + rng.integers(-20000, 20000, shape), 0, limits.max)
        if dtype == "int16":
            samples = np.where(np.abs(np.abs(samples) - 16384) < 2000, samples // 2, samples)
        samples = np.where(rng.random(shape) < 0.02, rng.choice([limits.min, limits.max, 0], shape), samples)
        alpha = rng.choice([0, limits.max // 4 + 1, limits.max], shape[:2])  # 24 bits
    if channels in (2, 4):
        samples[..., -1] = alpha
    return samples.astype(dtype)


def draw_way(rng):
    way = dict(WAYS[str(rng.choice(list(WAYS)))], CLIMG_POISON="1")
    if rng.random() < 0.5:
        way["CLIMG_SLICE"] = str(rng.integers(1, 80))
    return way


def pictures(rng, dtype):
    for width, height in draw_sizes(rng):
        yield draw_samples(rng, width, height, int(rng.choice(CHANNELS)), dtype)


def result(folder, rng, samples, *args):
    harness.write_tiff(folder / "in.tif", samples)
    memory = str(rng.choice(harness.MEMORIES))
    done = harness.run("-y", "-m", memory, "in.tif", *args, "out.tif", cwd=folder, env=draw_way(rng))
    out = harness.read_tiff(folder / "out.tif")
    assert out.shape == samples.shape and out.dtype == samples.dtype, done
    if reference.has_alpha(samples):
        assert np.array_equal(out[..., -1], samples[..., -1]), done
    return out, done


def seen(samples):
    """The colours, and where there are any."""
    if not reference.has_alpha(samples):
        return samples, np.ones(samples.shape, bool)
    return samples[..., :-1], np.broadcast_to(samples[..., -1:] > 0, samples[..., :-1].shape)


def assert_levels(out, samples, black, white, gamma=1, context="", fineness=0):
    """Between two numbers, which may be one for each colour, and may be off by `fineness`. The device's floats have 24 bits, and
    what they round is stretched."""
    colours, there = seen(samples)
    black, white = np.broadcast_to(black, colours.shape[2:]).astype(float), np.broadcast_to(white, colours.shape[2:]).astype(float)
    full = reference.full_scale(samples.dtype)
    exact = np.clip((colours - black) / (white - black), 0, 1)
    slack = (4e-7 * (1 + np.maximum(np.maximum(np.abs(colours), full), np.abs(black)) / np.abs(white - black)) +
             2 * fineness / np.abs(white - black))
    low, high = (np.clip(exact + sign * slack, 0, 1) ** (1 / gamma) for sign in (-1, 1))
    rounding = 0.5 / full if full > 1 else 1e-3 if samples.dtype == np.float16 else 1e-6
    values = seen(out)[0] / full
    wrong = there & ((values < low - rounding - 1e-6) | (values > high + rounding + 1e-6))
    assert not wrong.any(), f"{np.argwhere(wrong)[0]}: {colours[wrong][0]} is {values[wrong][0]}, not {exact[wrong][0]}; {context}"


@pytest.mark.some(2)
@every_type
def test_levels(tmp_path, rng, dtype):
    """Numbers as the samples have them, percent of full scale, the one below the other and the other way round."""
    full = reference.full_scale(np.dtype(dtype))
    for samples in pictures(rng, dtype):
        low, high = np.sort(rng.uniform(samples.min(), samples.max(), 2)) if samples.min() < samples.max() else (0, full)
        low, high = (round(low), round(high)) if full > 1 else (float(low), float(high))
        ways = ((f"{low},{high + 1}", low, high + 1, 1), (f"{high + 1},{low}", high + 1, low, 1),
                ("7.5%,80%", 0.075 * full, 0.8 * full, 1), (f"0,{high + 1},gamma=1.7", 0, high + 1, 1.7),
                ("0%,90%,gamma=0.6", 0, 0.9 * full, 0.6))
        for args, black, white, gamma in (ways[i] for i in rng.choice(len(ways), 2, replace=False)):
            out, done = result(tmp_path, rng, samples, "--levels", args)
            assert_levels(out, samples, black, white, gamma, done)


def as_counted(values, dtype):
    """Integers as 16 bit, as numbers of samples. Floats stay: tests allow FINENESS of the values' range instead."""
    if np.issubdtype(dtype, np.floating):
        return values.astype(float)
    full = reference.full_scale(dtype)
    return np.floor(values / full * 65535 + 0.5) / 65535 * full


FINENESS = 2.0 ** -11  # distances from a sample are rounded to 11 bits


def groups_of(samples, each):
    """The values that are looked at together."""
    colours, there = seen(samples)
    if each:
        return [as_counted(colours[..., c][there[..., c]], samples.dtype) for c in range(colours.shape[2])]
    return [as_counted(colours[there], samples.dtype)]


def fineness_of(samples):
    """Distances are measured from a sample of the first row, or from 0 if that sample is transparent."""
    colours, there = seen(samples)
    is_float = np.issubdtype(samples.dtype, np.floating) and there.any()
    values = colours[there].astype(float)
    return FINENESS * np.ptp(values if there[0].any() else np.append(values, 0)) if is_float else 0


def find_ends(values, percent):
    cut = int(len(values) * percent / 100)
    return np.partition(values, (cut, len(values) - 1 - cut))[[cut, len(values) - 1 - cut]] if len(values) else (0, 0)


@pytest.mark.some(2)
@every_type
def test_auto(tmp_path, rng, dtype):
    for samples in pictures(rng, dtype):
        percent, each = float(rng.choice([0, 0.1, 3, 20])), bool(rng.random() < 0.5)
        ends = np.array([find_ends(values, percent) for values in groups_of(samples, each)])
        full = reference.full_scale(samples.dtype)
        ends[ends[:, 0] == ends[:, 1]] = 0, full
        keys = (f"clip={percent}" + "%" * int(rng.integers(2))) if percent != 0.1 else ""
        out, done = result(tmp_path, rng, samples, "--levels", ",".join(filter(None, ["auto", keys, "channels=each" if each else ""])))
        assert_levels(out, samples, ends[:, 0], ends[:, 1], 1, f"{percent} {each} {done}", fineness_of(samples))


@pytest.mark.parametrize("cutoff", [0, 0.5, 10])
def test_autocontrast(tmp_path, rng, cutoff):
    """Pillow cuts decimals off where climg rounds: ours is its answer or one more."""
    samples = np.clip(rng.normal(100, 25, (67, 45, 3)), 3, 240).astype(np.uint8)
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run("in.tif", "--levels", f"auto,channels=each,clip={cutoff}%", "out.tif", cwd=tmp_path)
    ours = harness.read_tiff(tmp_path / "out.tif").astype(int)
    pillows = np.asarray(ImageOps.autocontrast(Image.fromarray(samples), cutoff)).astype(int)
    assert set(np.unique(ours - pillows)) == {0, 1}


def test_nothing_to_stretch(tmp_path, rng):
    """Pictures of one value, and fully transparent pictures, do not change."""
    for dtype, value in (("uint8", 77), ("uint16", 65535), ("float32", 0.3)):
        samples = np.full((20, 30, 3), value, dtype)
        assert np.array_equal(result(tmp_path, rng, samples, "--levels", "auto")[0], samples)
        assert not result(tmp_path, rng, samples, "--threshold", "otsu")[0].any()
    hidden = harness.random_samples(rng, Shape(9, 8, 4, "uint8"))
    hidden[..., -1] = 0
    assert not result(tmp_path, rng, hidden, "--levels", "auto")[0][..., -1].any()


def above(samples, limit):
    """White and black of the type, alpha as it is; what is transparent has no colour."""
    colours, there = seen(samples)
    out = samples.copy()
    full = reference.full_scale(samples.dtype)
    out[..., :colours.shape[2]] = np.where((colours > limit) & there, full, 0).astype(samples.dtype)
    return out


@pytest.mark.some(2)
@pytest.mark.parametrize("dtype", SHORT)
def test_threshold(tmp_path, rng, dtype):
    """To the sample, also at V and beside it."""
    full = reference.full_scale(np.dtype(dtype))
    for samples in pictures(rng, dtype):
        colours = seen(samples)[0]
        for limit in (rng.choice(colours.ravel()), rng.choice([colours.max(), colours.min(), 0])):
            text = repr(float(limit)) if full == 1 else str(int(limit))
            out, done = result(tmp_path, rng, samples, "--threshold", text)
            assert np.array_equal(out, above(samples, limit)), (limit, done)
        limit = 0.4 * full + 0.3 * (full > 1)  # no number of a sample
        out, done = result(tmp_path, rng, samples, "--threshold", f"{100 * limit / full}%")
        assert np.array_equal(out, above(samples, np.float32(limit) if full == 1 else limit)), done


def separation(values, limits):
    """The variance between what is above and what is not, of each limit."""
    values = np.sort(values)
    sums = np.concatenate([[0], np.cumsum(values)])
    below = np.searchsorted(values, limits, "right")
    with np.errstate(invalid="ignore"):
        means = sums[below] / below, (sums[-1] - sums[below]) / (len(values) - below)
    return np.nan_to_num(below * (len(values) - below) * (means[0] - means[1]) ** 2)


@pytest.mark.some(2)
@every_type
def test_otsu(tmp_path, rng, dtype):
    """No other limit separates the two classes better."""
    for samples in pictures(rng, dtype):
        each = bool(rng.random() < 0.5)
        out, done = result(tmp_path, rng, samples, "--threshold", "otsu" + ",channels=each" * each)
        colours, there = seen(samples)
        white = seen(out)[0] > 0
        assert set(np.unique(out[..., :colours.shape[2]])) <= {0, samples.dtype.type(reference.full_scale(samples.dtype))}
        for c in range(colours.shape[2]) if each else [slice(None)]:
            which = there[..., c]
            values = as_counted(colours[..., c][which], samples.dtype)
            chosen = white[..., c][which]
            assert_otsu(values, chosen, np.issubdtype(samples.dtype, np.floating), done)


def assert_otsu(values, chosen, floats, context):
    if len(np.unique(values)) < 2:
        assert not chosen.any(), context
        return
    limit = values[~chosen].max()
    assert limit < values[chosen].min(), context
    best = separation(values, np.unique(values)[:-1]).max()
    # Two values of one bin cannot be told apart: one sample more or less on a side.
    assert separation(values, [limit])[0] >= best * (1 - 1e-9 - floats * FINENESS * (1 + 20 / len(values))), (limit, context)


NARROW = ((618.94, 619.28), (1e-12, 3e-12), (-1000001.5, -1000000.5), (1e20, 1.01e20), (-1e-30, 1e-30))


@pytest.mark.parametrize("memory", harness.MEMORIES)
def test_narrow_floats(tmp_path, rng, memory):
    """Floats that are near to each other, however large; far outliers do not count where they are clipped."""
    for i, (low, high) in enumerate(NARROW):
        samples = np.where(rng.random((40, 33, 3)) < 0.3, rng.uniform(0, 0.4, (40, 33, 3)), rng.uniform(0.5, 1, (40, 33, 3)))
        samples = (low + (high - low) * samples).astype(np.float32)
        harness.write_tiff(tmp_path / "in.tif", samples)
        done = harness.run("-y", "-m", memory, "in.tif", "--threshold", "otsu", "out.tif", cwd=tmp_path, env=draw_way(rng))
        white = harness.read_tiff(tmp_path / "out.tif") > 0
        assert_otsu(samples.astype(float).ravel(), white.ravel(), True, done)
        outliers = np.array([0, 1, 2, 2 * high], np.float32)
        samples[rng.random(samples.shape) < 0.002] = outliers[i % 4]
        harness.write_tiff(tmp_path / "in.tif", samples)
        ends = find_ends(samples.astype(float).ravel(), 2)
        done = harness.run("-y", "-m", memory, "in.tif", "--levels", "auto,clip=2%", "out.tif", cwd=tmp_path, env=draw_way(rng))
        assert_levels(harness.read_tiff(tmp_path / "out.tif"), samples, *ends, 1, done, FINENESS * (high - low))


def test_sample_at_the_limit(tmp_path):
    """Otsu's limit between two neighbouring values of the histogram may be a sample itself."""
    values = np.linspace(1, 1 + 2.0 ** -8, 2 ** 15, dtype=np.float32)
    harness.write_tiff(tmp_path / "in.tif", np.tile(values, (3, 1))[..., None])
    done = harness.run("-v", "in.tif", "--threshold", "otsu", "out.tif", cwd=tmp_path)
    white = harness.read_tiff(tmp_path / "out.tif")[0, :, 0] > 0
    assert_otsu(values.astype(float), white, True, done)
    samples = np.float32([[0, 1, 2, 3, 4, 5, 6, 7]])[..., None]
    for sign in (1, -1):
        harness.write_tiff(tmp_path / "in.tif", sign * samples)
        harness.run("-y", "in.tif", "--threshold", "otsu", "out.tif", cwd=tmp_path)
        assert (harness.read_tiff(tmp_path / "out.tif") > 0).sum() == 4


def test_otsu_of_256_bins(tmp_path, rng):
    """Otsu's threshold as in scikit-image's threshold_otsu for 8 bit: sums from both ends of a histogram, the first of the largest variances."""
    samples = np.clip(np.where(rng.random((90, 70)) < 0.3, rng.normal(60, 15, (90, 70)), rng.normal(170, 25, (90, 70))), 0, 255)
    samples = samples.astype(np.uint8)[..., None]
    counts, centers = np.bincount(samples.ravel(), minlength=256).astype(float), np.arange(256)
    with np.errstate(invalid="ignore"):
        below, over = np.cumsum(counts), np.cumsum(counts[::-1])[::-1]
        mean_below, mean_over = np.cumsum(counts * centers) / below, (np.cumsum((counts * centers)[::-1]) / over[::-1])[::-1]
    limit = np.nanargmax(below[:-1] * over[1:] * (mean_below[:-1] - mean_over[1:]) ** 2)
    assert np.array_equal(result(tmp_path, rng, samples, "--threshold", "otsu")[0], above(samples, limit))


@pytest.mark.parametrize("memory", harness.MEMORIES)
def test_no_numbers(tmp_path, rng, memory):
    """NaN and infinities are not counted; NaN stays with --levels, and is above nothing."""
    samples = rng.uniform(2, 5, (40, 33, 3)).astype(np.float32)
    samples[0, 0], samples[1, :, 1], samples[5, 5] = np.nan, np.inf, -np.inf
    harness.write_tiff(tmp_path / "in.tif", samples)
    finite = as_counted(samples[np.isfinite(samples)], samples.dtype)
    with np.errstate(invalid="ignore"):
        stretched = np.clip((samples - finite.min()) / (finite.max() - finite.min()), 0, 1)
        white = (samples > 3).astype(np.float32)
    for args, expected in ((["--levels", "auto,clip=0"], stretched), (["--threshold", "3"], white)):
        done = harness.run("-y", "-m", memory, "in.tif", *args, "out.tif", cwd=tmp_path, env=draw_way(rng))
        assert np.allclose(harness.read_tiff(tmp_path / "out.tif"), expected, atol=FINENESS, equal_nan=True), done


def test_groups(tmp_path, rng):
    """Small pictures go together, and each has its own answer."""
    (tmp_path / "in").mkdir()
    samples = {f"{i}.tif": draw_samples(rng, 31, 22, 3, "uint8") for i in range(7)}
    for name, picture in samples.items():
        harness.write_tiff(tmp_path / "in" / name, picture)
    for args in (["--threshold", "100"], ["--levels", "20,150"], ["--levels", "auto,clip=2"]):
        done = harness.run("-y", "in", *args, "out", cwd=tmp_path)
        for name, picture in samples.items():
            out = harness.read_tiff(tmp_path / "out" / name)
            if args[0] == "--threshold":
                assert np.array_equal(out, above(picture, 100)), done
            else:
                ends = (20, 150) if "auto" not in args[1] else find_ends(picture.ravel(), 2)
                assert_levels(out, picture, *ends, 1, done)


def test_numbers_of_range(tmp_path, rng):
    """With --range numbers stay the samples' own, and percent are of the range."""
    samples = rng.integers(0, 4096, (40, 30, 1)).astype(np.uint16)
    harness.write_tiff(tmp_path / "in.tif", samples)
    for values in ("1000,3000", f"{100 * 1000 / 4095}%,{100 * 3000 / 4095}%"):
        harness.run("-y", "--range", "0,4095", "in.tif", "--levels", values, "out.tif", cwd=tmp_path)
        expected = np.clip((samples - 1000.0) / 2000, 0, 1) * 65535
        assert np.abs(harness.read_tiff(tmp_path / "out.tif") - expected).max() < 0.6
    harness.run("-y", "--range", "100,4000", "--depth", "8", "in.tif", "--threshold", "2000.5", "out.tif", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif") == 255, samples > 2000)


def test_values_far_above_full_scale(tmp_path, rng):
    """Samples beyond --range, and sums of pictures, are found to 11 bits."""
    def assert_found(low, high, *args):
        done = harness.run("-y", "-v", *args, "--levels", "auto,clip=0", "out.tif", cwd=tmp_path, env=draw_way(rng))
        found = [float(number) for number in re.search(r"found: --levels (\S+)", done.err)[1].split(",")]
        assert np.allclose(found, (low, high), rtol=2.0 ** -11), done
    for dtype, signs in (("uint16", (1, 1)), ("float32", (1, 1)), ("float32", (-1, 1))):
        samples = np.repeat(np.array([300 * signs[0], 30000], dtype), 600).reshape(40, 30, 1)
        harness.write_tiff(tmp_path / "in.tif", samples)
        assert_found(samples.min(), samples.max(), "--range", "100,1000" if signs[0] > 0 else "0,100", "in.tif")
    for number in range(6):
        harness.write_tiff(tmp_path / f"{number}.tif", np.repeat(np.array([40, 200], "uint8"), 600).reshape(40, 30, 1))
    assert_found(240, 1200, *(f"{number}.tif" for number in range(6)), "--stack", "sum")


def test_in_linear_light(tmp_path, rng):
    samples = harness.random_samples(rng, Shape(40, 30, 3, "uint8"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run("--linear", "in.tif", "--threshold", "50%", "out.tif", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif") == 255, reference.srgb_decode(samples / 255) > 0.5)


def test_gray_at_the_limit(tmp_path, rng):
    """Equal colours are as bright as each of them, and not above it."""
    samples = np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(1, 256, 3)
    harness.write_tiff(tmp_path / "in.tif", samples)
    for limit in rng.choice(256, 12, replace=False):
        harness.run("-y", "in.tif", str(rng.choice(["--gray", "--gray=mean"])), "--threshold", limit, "out.tif", cwd=tmp_path)
        assert np.array_equal(harness.read_tiff(tmp_path / "out.tif")[..., 0] == 255, samples[..., 0] > limit)


@pytest.mark.parametrize("memory", harness.MEMORIES)
def test_among_other_stages(tmp_path, rng, memory):
    """The search covers the whole input of the stage, even if only a part of its output is used."""
    for _ in range(3):
        samples = harness.random_samples(rng, Shape(*map(int, rng.integers(40, 150, 2)), 3, "float32"))
        harness.write_tiff(tmp_path / "in.tif", samples)
        blurred = reference.blur(samples, 1)
        low, high = as_counted(blurred, samples.dtype).min(), as_counted(blurred, samples.dtype).max()
        expected = np.clip((blurred - low) / (high - low), 0, 1)[7:30, 5:25]
        done = harness.run("-y", "-m", memory, "in.tif", "--blur", "1", "--levels", "auto,clip=0", "--crop", "20x23+5+7", "out.tif",
                           cwd=tmp_path, env=draw_way(rng))
        assert np.allclose(harness.read_tiff(tmp_path / "out.tif"), expected, atol=2e-3), done


@pytest.mark.parametrize("args", [["--levels", text] for text in ("", "5", "5,", "5,5", "5%,5%", "a,b", "auto,", "5,9,7", "5,9,gamma=0",
                                                                  "auto,clip=50", "auto,clip=-1", "1,2%%", "nan,3", "-1e300,1e300", "0,1e-50", "1e20,1.000000001e20", "0,255,clip=1%", "0,255,channels=each")]
                         + [["--threshold", text] for text in ("", "5,6", "half", "5%%", "otsu,7", "inf", "1e39", "50%,channels=together", "50%,k=1", "otsu,radius=9", "otsu,invert=yes", "sauvola,channels=each", "niblack,channels=together", "wolf,radius=0",
                                                                "sauvola,radius=1001", "sauvola,k=nan", "sauvola,k=11", "Sauvola")], ids=" ".join)
def test_no_numbers_given(tmp_path, rng, args):
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(4, 3, 1, "uint8")))
    harness.run("in.tif", *args, "out.tif", cwd=tmp_path, status=2)


def test_what_an_output_says_of_itself_is_a_command(tmp_path, rng):
    """Also where keys mean nothing beside the other values, as clip= beside numbers."""
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (30, 40, 1), dtype=np.uint8))
    stages = ["--crop", "30x20+3+2", "--background", "2,method=tophat", "--levels", "3,200", "--extend", "50x40+9+5", "--threshold", "90"]
    harness.run("in.tif", *stages, "out.tif", cwd=tmp_path)
    with tifffile.TiffFile(tmp_path / "out.tif") as tiff:
        words = tiff.pages[0].tags["Software"].value.split("; ")[-1].split()
    assert words[:1] == ["climg"] and [word.split("=")[0] for word in words[2:7]] == stages[::2]
    harness.run("in.tif", *words[2:], "again.tif", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), harness.read_tiff(tmp_path / "again.tif"))


@pytest.mark.parametrize("slices", ["", "16"])
def test_what_was_found_is_told(tmp_path, rng, slices):
    """In the samples' numbers: by -v and the report, once, whatever the slices."""
    samples = rng.integers(20, 230, (60, 40, 3), dtype=np.uint8)
    samples[0, 0], samples[-1, -1] = 10, 240
    harness.write_tiff(tmp_path / "in.tif", samples)
    env = {"CLIMG_SLICE": slices} if slices else {}
    done = harness.run("-v", "in.tif", "--levels", "auto,clip=0%", "--threshold", "otsu", "--report", "report", "out.tif", cwd=tmp_path, env=env)
    told, = re.findall(r"in.tif: found: (.*)", done.err)
    levels, threshold = re.fullmatch(r"--levels (.*); --threshold (.*)", told).groups()
    assert [float(end) for end in levels.split(",")] == pytest.approx([10, 240])
    shown = (samples.astype(float) - 10) / 230 * 255
    out = harness.read_tiff(tmp_path / "out.tif")
    assert np.array_equal(out > 0, shown > float(threshold)) and 0 < out.mean() < 255
    assert json.loads((tmp_path / "report").read_text())["found"] == told


@pytest.mark.parametrize("stage", [["--levels", "80%,10%"], ["--levels", "10%,80%,gamma=2"], ["--threshold", "20%"]], ids=str)
def test_colour_where_interpolated_alpha_is_below_0(tmp_path, stage):
    """Nobody sees it, nor does a filter that follows: one command gives what two give with a file between them."""
    y, x = np.mgrid[0:40, 0:60]
    samples = np.stack([np.full((40, 60), 9830), 65535 * ((x > 20) & (x < 44) & (y > 8) & (y < 30))], axis=2).astype(np.uint16)
    harness.write_tiff(tmp_path / "in.tif", samples)
    first = ["--rotate", "30,filter=lanczos", *stage]
    harness.run("in.tif", *first, "--blur", "1.5", "--depth", "float", "one.tif", cwd=tmp_path)
    harness.run("in.tif", *first, "--depth", "float", "half.tif", cwd=tmp_path)
    harness.run("half.tif", "--blur", "1.5", "two.tif", cwd=tmp_path)
    one, half, two = (harness.read_tiff(tmp_path / name) for name in ("one.tif", "half.tif", "two.tif"))
    assert half[..., 1].min() < 0 and np.abs(one - two)[one[..., 1] > 0.1].max() <= 1e-3


def test_many_findings_are_whole(tmp_path, rng):
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (30, 40, 3), dtype=np.uint8))
    harness.run("in.tif", *6 * ["--levels", "auto,channels=each", "--blur", "1"], "--report", "report", "out.tif", cwd=tmp_path)
    found = json.loads((tmp_path / "report").read_text())["found"].split("; ")
    assert [item.count(",") for item in found] == 6 * [5]


def test_numbers_of_the_bits_of_the_file(tmp_path):
    """Samples of 10 bits are scaled to 16: numbers of 10 bits make nearly everything black or white."""
    (tmp_path / "in.pgm").write_bytes(b"P5 6 1 1023\n" + np.array([0, 200, 400, 511, 600, 1023], ">u2").tobytes())
    for words in ("--threshold 512", "--levels 100,900", "--negative=900,100", "--range 0,1023"):
        said = harness.run("in.pgm", *words.split(), "out.tif", "-y", cwd=tmp_path).err
        assert "takes sample values from 0 to 65535" in said, words
    for words in ("--threshold 50%", "--threshold 32768", "--range auto", "--range 0,65535"):
        assert harness.run("in.pgm", *words.split(), "out.tif", "-y", cwd=tmp_path).err == "", words
