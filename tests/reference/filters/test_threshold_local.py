"""--threshold sauvola, niblack and wolf: against float64 and scikit-image; slices, variants and memories; NaN."""

import numpy as np
import pytest
from scipy import ndimage
from skimage import filters

import harness
import reference
from test_levels_threshold import draw_samples, draw_way, every_type, pictures, result, seen
from test_turn import EXACT

METHODS = ("sauvola", "niblack", "wolf")
BORDERS = {"clamp": "edge", "mirror": "symmetric", "wrap": "wrap", "zero": "constant"}


def draw_chain(rng, method, radius=None):
    """Options, and the arguments of reference.local_limits()."""
    radius = radius or int(rng.choice([1, 2, 3, 7, 25, 70, 300]))
    k, edge = round(float(rng.uniform(-0.3, 0.8)), 3), str(rng.choice(list(BORDERS)))
    each = method == "wolf" and bool(rng.random() < 0.5)
    text = f"{method},radius={radius},k={k}" + ",channels=each" * each
    return ["--threshold", text, "--edge", edge], (method, radius, k, edge, each)


def assert_above(out, samples, chosen, context):
    """Samples as near to their threshold as float32 may be wrong count as right, whatever they are; they must be few.
    Where a whole window has one value, niblack's threshold is that value; these are not counted."""
    planes = reference.enter(reference.to_float(samples))
    limits = reference.local_limits(planes, *chosen)
    colours = planes[..., :limits.shape[2]]
    largest = np.abs(colours).max()
    near = np.abs(colours - limits) <= 4e-6 * (largest + np.abs(limits).max())
    expected = reference.above_limits(planes, limits)[..., :limits.shape[2]] > 0
    shown, visible = seen(out)
    values = np.unique(shown[visible])
    assert set(values) <= {0, reference.full_scale(samples.dtype)}, context
    wrong = visible & ~near & ((shown > 0) != expected)
    assert not wrong.any(), f"{np.argwhere(wrong)[:3]}: {colours[wrong][0]} against {limits[wrong][0]}; {context}"
    return (near & (np.abs(colours - limits) > 1e-7 * largest)).mean()


@pytest.mark.some(3)
@every_type
@pytest.mark.parametrize("method", METHODS)
def test_against_float64(tmp_path, rng, dtype, method):
    for samples in pictures(rng, dtype):
        chain, chosen = draw_chain(rng, method)
        out, done = result(tmp_path, rng, samples, *chain)
        near = assert_above(out, samples, chosen, f"{samples.shape} {done}")
        assert near < 0.02 or samples.shape[0] < 20 or samples.shape[1] < 20 or samples.shape[2] in (2, 4), done


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("method", ["sauvola", "niblack"])
def test_against_scikit_image(tmp_path, rng, dtype, method):
    """Its windows are mirrored about the centre of the last pixel, which no --edge does, so the picture is extended before."""
    full = reference.full_scale(np.dtype(dtype))
    for edge, border in BORDERS.items():
        radius, k = int(rng.choice([1, 4, 25])), round(float(rng.uniform(0.05, 0.6)), 2)
        page = np.clip(0.5 + 0.3 * np.sin(np.arange(140) / 30) - 0.3 * (rng.random((111, 140)) < 0.2) + 0.02 * rng.normal(size=(111, 140)), 0, 1)
        samples = (page * full).astype(dtype)[..., None]
        out, done = result(tmp_path, rng, samples, "--threshold", f"{method},radius={radius},k={k}", "--edge", edge)
        wide = np.pad(samples[..., 0].astype(float), radius + 1, border)
        limits = (filters.threshold_sauvola(wide, 2 * radius + 1, k, full / 2) if method == "sauvola"
                  else filters.threshold_niblack(wide, 2 * radius + 1, k))[radius + 1:-radius - 1, radius + 1:-radius - 1]
        wrong = ((out[..., 0] > 0) != (samples[..., 0] > limits)) & (np.abs(samples[..., 0] - limits) > 2e-6 * full)
        assert not wrong.any(), f"{wrong.sum()} {done}"


def outputs(folder, chain, pictures):
    """The outputs of one command by both variants and memories, with and without slices. They are compared with each other only."""
    (folder / "in").mkdir(exist_ok=True)
    for i, samples in enumerate(pictures):
        harness.write_tiff(folder / "in" / f"{i}.tif", samples)
    for way in ({"CLIMG_CLASS": "cpu"}, {"CLIMG_CLASS": "gpu"}, {"CLIMG_CLASS": "cpu", "CLIMG_SLICE": "16"}, {"CLIMG_CLASS": "gpu", "CLIMG_SLICE": "48"},
                {"CLIMG_GROUP": "1"}):
        for memory in harness.MEMORIES:
            done = harness.run("-y", "-m", memory, "in", *chain, "out", cwd=folder, env={**way, "CLIMG_POISON": "1"})
            yield [harness.read_tiff(folder / "out" / f"{i}.tif").tobytes() for i in range(len(pictures))], done


@pytest.mark.some(1)
@pytest.mark.parametrize("method", METHODS)
def test_same_bits(tmp_path, rng, method):
    """Also of many small pictures at once."""
    for channels in (1, 3, 4):
        dtype, chain = str(rng.choice(EXACT)), draw_chain(rng, method)[0]
        for sizes in (rng.integers(60, 200, (1, 2)), [(31, 23)] * 5):
            results = list(outputs(tmp_path, chain, [draw_samples(rng, *map(int, size), channels, dtype) for size in sizes]))
            assert all(out == results[0][0] for out, _ in results), (sizes, [done for _, done in results])


@pytest.mark.some(1)
@pytest.mark.parametrize("method", METHODS)
def test_light_text(tmp_path, rng, method):
    """invert=yes does what --invert before it does."""
    for samples in pictures(rng, str(rng.choice(EXACT))):
        harness.write_tiff(tmp_path / "in.tif", samples)
        (_, text, *edge), _ = draw_chain(rng, method)
        way, memory = draw_way(rng), str(rng.choice(harness.MEMORIES))
        harness.run("-y", "-m", memory, "in.tif", "--threshold", text + ",invert=yes", *edge, "one.tif", cwd=tmp_path, env=way)
        done = harness.run("-y", "-m", memory, "in.tif", "--invert", "--threshold", text, *edge, "two.tif", cwd=tmp_path, env=way)
        assert np.array_equal(harness.read_tiff(tmp_path / "one.tif"), harness.read_tiff(tmp_path / "two.tif")), done


@pytest.mark.parametrize("memory", harness.MEMORIES)
@pytest.mark.parametrize("method", METHODS)
def test_missing_values(tmp_path, rng, method, memory):
    """Pixels whose window has NaN or an infinity are black; all others are what they are without."""
    samples = rng.uniform(0.2, 1, (90, 130, 1)).astype(np.float32)
    samples[0, 0] = 0
    spoilt, missing = samples.copy(), np.zeros((90, 130), bool)
    for value in (np.nan, np.inf, -np.inf):
        y, x = rng.integers(40, 80), rng.integers(5, 125)
        spoilt[y, x], missing[y, x] = value, True
    # The largest deviation must be the same.
    samples[:12, :12] = spoilt[:12, :12] = np.where(np.indices((12, 12)).sum(0) % 2, 0, 3)[..., None]
    reached = ndimage.maximum_filter(missing, 9, mode="constant")
    for form in ("cpu", "gpu"):
        outs = []
        for picture in (samples, spoilt):
            harness.write_tiff(tmp_path / "in.tif", picture)
            harness.run("-y", "-m", memory, "in.tif", "--threshold", f"{method},radius=4", "out.tif", cwd=tmp_path, env={"CLIMG_CLASS": form})
            outs.append(harness.read_tiff(tmp_path / "out.tif")[..., 0])
        assert not outs[1][reached].any() and np.array_equal(outs[0][~reached], outs[1][~reached])


@pytest.mark.some(2)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_one_value(tmp_path, rng, dtype):
    """The deviation is exactly 0: niblack's threshold is the value, which is not above itself; sauvola's is below it."""
    for value in (1, 77, 254):
        samples = np.full((70, 90, 1), value if dtype == "uint8" else value * 257 if dtype == "uint16" else value / 77.7, dtype)
        for text, white in (("niblack", False), ("niblack,radius=3", False), ("wolf", False), ("sauvola", True), ("sauvola,k=-0.1,radius=9", False)):
            out, done = result(tmp_path, rng, samples, "--threshold", text)
            assert (out > 0).all() == white == (out > 0).any(), done


def test_small_deviations(tmp_path, rng):
    """Noise of a few counts of 16 bit on white: differences of squares in float32 would lose it."""
    samples = (65000 + rng.integers(-2, 3, (120, 140, 1))).astype(np.uint16)
    for radius in (2, 25, 200):
        chosen = ("niblack", radius, 0.37, "mirror")
        out, done = result(tmp_path, rng, samples, "--threshold", f"niblack,radius={radius},k=0.37", "--edge", "mirror")
        limits = reference.local_limits(reference.to_float(samples), *chosen)[..., 0]
        wrong = ((out[..., 0] > 0) != (samples[..., 0] / 65535 > limits)) & (np.abs(samples[..., 0] / 65535 - limits) > 6e-7)
        assert not wrong.any(), f"{wrong.sum()} {done}"
