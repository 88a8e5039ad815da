"""--rotate by quarters: every sample as it was, in its place by numpy.rot90, by itself and among other stages."""

import numpy as np
import pytest

import harness
import reference
from harness import Shape

WAYS = {"cpu": {"CLIMG_CLASS": "cpu"}, "gpu": {"CLIMG_CLASS": "gpu"}, "copies": {"CLIMG_OWN_MEMORY": "1"}}
EXACT = ("uint8", "uint16", "uint32", "int16", "float16", "float32")
# Bits that arithmetic would change: quiet and signalling NaN, infinities, -0, a denormal, beyond full scale.
SPECIAL = np.array([0x7fc01234, 0x7f801234, 0xffc00001, 0x7f800000, 0xff800000, 0x80000000, 0x00000001, 0x501502f9], np.uint32)

quarter = pytest.mark.parametrize("degrees", [90, 180, 270, -90, 450, -900])


@pytest.fixture
def way(rng):
    return {"CLIMG_POISON": "1", **WAYS[str(rng.choice(list(WAYS)))]}


def draw_samples(rng, width, height, channels, dtype):
    """Samples of the whole type's range; some alpha is 0."""
    shape = (height, width, channels)
    if dtype == "float32":
        return np.where(rng.random(shape) < 0.2, rng.choice(SPECIAL, shape).view(np.float32), rng.normal(size=shape).astype(np.float32))
    if dtype == "float16":
        return rng.normal(size=shape).astype(np.float16)
    limits = np.iinfo(dtype)
    return rng.choice([limits.min, limits.max, 0, 1, *rng.integers(limits.min, limits.max, 99, endpoint=True)], shape).astype(dtype)


def draw_sizes(rng):
    """A pixel, a row, a column, a part of a tile, some tiles and a part."""
    sides = [int(side) for side in rng.integers(2, 200, 8)]
    return [(1, 1), (sides[0], 1), (1, sides[1]), (sides[2] % 9 + 2, sides[3] % 9 + 2), (64, 128),
            (sides[4] + 64, sides[5]), (sides[6], sides[7] + 64)]


def assert_turned(path, samples, degrees, context=""):
    turned = harness.read_tiff(path)
    expected = np.ascontiguousarray(np.rot90(samples, -degrees // 90))
    assert turned.dtype == expected.dtype and turned.shape == expected.shape, f"{turned.shape} {context}"
    assert np.ascontiguousarray(turned).tobytes() == expected.tobytes(), f"{samples.shape} {samples.dtype} {context}"


def turn_all(folder, pictures, degrees, *args, env):
    """Processes {name: samples} in one command."""
    (folder / "in").mkdir()
    for name, samples in pictures.items():
        harness.write_tiff(folder / "in" / name, samples)
    context = harness.run(*args, "in", "--rotate", degrees, "out", cwd=folder, env=env)
    assert "rounded" not in context.err, context
    for name, samples in pictures.items():
        assert_turned(folder / "out" / name, samples, degrees, context)


@pytest.mark.some(3)
@pytest.mark.parametrize("memory", harness.MEMORIES)
@pytest.mark.parametrize("form", WAYS)
@quarter
def test_every_bit(tmp_path, rng, degrees, form, memory):
    """All sizes of a pixel. Each size in bytes needs a program, so each run draws a few."""
    kinds = [(int(rng.integers(1, 5)), str(rng.choice(EXACT))) for _ in range(3)]
    pictures = {f"{i}-{j}.tif": draw_samples(rng, *size, channels, dtype)
                for i, size in enumerate(draw_sizes(rng)) for j, (channels, dtype) in enumerate(kinds)}
    turn_all(tmp_path, pictures, degrees, "-m", memory, env={"CLIMG_POISON": "1", **WAYS[form]})


@pytest.mark.some(4)
@pytest.mark.parametrize("slice", [1, 7, 64, 100])
@quarter
def test_slices_are_made_of_all_that_was_read(tmp_path, rng, way, degrees, slice):
    samples = draw_samples(rng, *map(int, rng.integers(100, 160, 2)), int(rng.integers(1, 5)), "uint8")
    turn_all(tmp_path, {"in.tif": samples}, degrees, env={**way, "CLIMG_SLICE": str(slice)})


@pytest.mark.some(2)
@quarter
def test_groups(tmp_path, rng, way, degrees):
    """Together too; 32 bits are more than planes hold."""
    size, dtype = map(int, rng.integers(1, 90, 2)), str(rng.choice(["uint8", "uint32"]))
    width, height = size
    pictures = {f"{i}.tif": draw_samples(rng, width, height, int(rng.choice([1, 3])) if i == 9 else 3, dtype) for i in range(10)}
    turn_all(tmp_path, pictures, degrees, "-j", 1, env=way)


def test_large_picture(tmp_path, rng):
    """In slices that the plan chooses: what goes in stays, what comes out need not be there at once."""
    samples = draw_samples(rng, 1700, 1300, 3, "uint16")
    harness.write_tiff(tmp_path / "in.tif", samples)
    said = harness.run("-v", tmp_path / "in.tif", "--rotate", 270, tmp_path / "out.tif").err
    assert "rows at once" in said and "1700 rows at once" not in said
    assert_turned(tmp_path / "out.tif", samples, 270)
    harness.run("--memory-limit", f"{samples.nbytes * 5 // 4 >> 10}K", tmp_path / "in.tif", "--rotate", 90, tmp_path / "limited.tif")
    assert_turned(tmp_path / "limited.tif", samples, 90)
    done = harness.run("--memory-limit", f"{samples.nbytes * 3 // 4 >> 10}K", tmp_path / "in.tif", "--rotate", 90, tmp_path / "none.tif", status=1)
    assert "even in the smallest slices" in done.err


# ---------------------------------------------------------------- among other stages

def blur(planes):
    return reference.blur(planes, 2)


def turn(planes):
    return np.rot90(planes, -1)


@pytest.mark.some(3)
@pytest.mark.parametrize("slice", ["", "20"])
@pytest.mark.parametrize("chain, stages", [("--rotate 90 --blur 2", (turn, blur)), ("--blur 2 --rotate 90", (blur, turn)),
                                           ("--rotate 90 --blur 2 --rotate 90", (turn, blur, turn)),
                                           ("--rotate 90 --rotate 90", (turn, turn))])
def test_before_and_after_others(tmp_path, rng, monkeypatch, way, chain, stages, slice):
    for name, value in {**way, "CLIMG_SLICE": slice}.items():
        monkeypatch.setenv(name, value)
    shape = Shape(*map(int, rng.integers(1, 90, 2)), int(rng.integers(1, 5)), str(rng.choice(harness.TYPES)))
    harness.check_stage(tmp_path, rng, shape, chain.split(), stages)


@pytest.mark.parametrize("chain", [["--rotate", "90", "--invert"], ["--rotate", "90", "--median", "1", "--invert"]])
def test_groups_with_others(tmp_path, rng, way, chain):
    samples = [draw_samples(rng, 40, 31, 3, "uint8") for _ in range(6)]
    (tmp_path / "in").mkdir()
    for i, picture in enumerate(samples):
        harness.write_tiff(tmp_path / "in" / f"{i}.tif", picture)
    harness.run("-j", 1, "in", *chain, "out", cwd=tmp_path, env=way)
    for i, picture in enumerate(samples):
        expected = np.rot90(picture, -1)
        if "--median" in chain:
            expected = reference.to_integers(reference.rank(reference.to_float(expected), 1, 50, "square", "clamp"), np.dtype(np.uint8))
        assert np.array_equal(harness.read_tiff(tmp_path / "out" / f"{i}.tif"), 255 - expected)


def test_what_is_asked_of_samples_is_done(tmp_path, rng, way):
    """If the output has other samples than the input, a turn converts them."""
    samples = draw_samples(rng, 50, 37, 4, "uint8")
    turned = np.rot90(samples, -1)
    harness.write_tiff(tmp_path / "in.tif", samples[..., :3])
    harness.run(tmp_path / "in.tif", "--depth", "16", "--rotate", 90, tmp_path / "deep.tif", env=way)
    assert np.array_equal(harness.read_tiff(tmp_path / "deep.tif"), turned[..., :3].astype(np.uint16) * 257)
    harness.run(tmp_path / "in.tif", "--range", "51,102", "--rotate", 90, tmp_path / "range.tif", env=way)
    assert np.abs(harness.read_tiff(tmp_path / "range.tif") - np.clip((turned[..., :3].astype(float) - 51) * 5, 0, 255)).max() <= 0.5
    associated = samples.copy()
    associated[..., :3] = samples[..., :3] * (samples[..., 3:] / 255)
    harness.write_tiff(tmp_path / "in.tif", associated, extrasamples=["assocalpha"])
    harness.run(tmp_path / "in.tif", "--rotate", 90, tmp_path / "out.tif", env=way)
    alpha = np.rot90(associated, -1)[..., 3:].astype(float)
    colour = np.divide(np.rot90(associated, -1)[..., :3] * 255.0, alpha, out=np.zeros(alpha.shape[:2] + (3,)), where=alpha > 0)
    got = harness.read_tiff(tmp_path / "out.tif").astype(float)
    assert np.array_equal(got[..., 3:], alpha) and np.abs(got[..., :3] - np.clip(colour, 0, 255)).max() <= 0.51
