"""--trim against numpy: every type, tolerances, alpha, NaN, borders of several colours, and that it is --crop."""

import re

import numpy as np
import pytest

import harness

TYPES = ["uint8", "uint16", "int16", "float32"]


def expected_part(samples, tolerance):
    """Rows and columns that stay, or None."""
    values = samples.astype(float)
    if samples.shape[2] in (2, 4):
        values[..., :-1] *= values[..., -1:]
    with np.errstate(invalid="ignore"):
        differs = [~(np.abs(values - corner) <= tolerance).all(axis=2) for corner in (values[0, 0], values[0, -1], values[-1, 0])]
    rows, columns = np.flatnonzero(differs[0].any(axis=1)), np.flatnonzero(differs[0].any(axis=0))
    right, bottom = np.flatnonzero(differs[1].any(axis=0)), np.flatnonzero(differs[2].any(axis=1))
    if not all(len(places) for places in (rows, columns, right, bottom)) or bottom[-1] < rows[0] or right[-1] < columns[0]:
        return None
    return slice(rows[0], bottom[-1] + 1), slice(columns[0], right[-1] + 1)


def framed(rng, dtype, channels):
    """A picture inside a border, whose sides may have colours of their own, with noise of up to 3 counts."""
    full = 1 if dtype == "float32" else np.iinfo(dtype).max
    height, width = (int(v) for v in rng.integers(1, 60, 2))
    sides = rng.integers(0, 9, 4)
    samples = np.full((height + sides[0] + sides[1], width + sides[2] + sides[3], channels), 0.8)
    samples[sides[0]:sides[0] + height, sides[2]:sides[2] + width] = rng.random((height, width, channels))
    if rng.random() < 0.3:
        samples[samples.shape[0] - sides[1]:] = 0.3
    return (samples * full).astype(dtype) + (rng.integers(0, 4, samples.shape) / 255 * full * 0.9).astype(dtype)


@pytest.mark.some(6)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_against_numpy(tmp_path, rng, dtype, channels):
    full = 1 if dtype == "float32" else np.iinfo(dtype).max
    for percent in (0, 1.5, 4):
        samples = framed(rng, dtype, channels)
        if dtype == "float32" and rng.random() < 0.5:
            samples[tuple(rng.integers(0, size) for size in samples.shape)] = np.nan
        harness.write_tiff(tmp_path / "in.tif", samples)
        value = (samples.astype(float) / full).astype(float)
        part = expected_part(value, percent / 100 + 1e-7)
        done = harness.run("-y", "-v", "in.tif", f"--trim={percent}%", "out.tif", cwd=tmp_path,
                           env={"CLIMG_SLICE": str(rng.choice([3, 1000]))})
        out = harness.read_tiff(tmp_path / "out.tif")
        if part is None:
            assert "is nothing but border" in done.err and out.tobytes() == samples.tobytes()
        else:
            assert out.tobytes() == samples[part].tobytes(), (samples.shape, part, done.err)
            rows, columns = part
            assert f"found: trimmed to {out.shape[1]}x{out.shape[0]}+{columns.start}+{rows.start}\n" in done.err


@pytest.mark.parametrize("dtype, value", [("uint32", 5), ("int32", 5), ("float32", 1e-8)])
def test_small_values(tmp_path, dtype, value):
    """Labels of 32 bits and small floats are less than 1e-7 of full scale, and no border."""
    samples = np.zeros((20, 30, 1), dtype)
    samples[5:9, 7:20] = value
    harness.write_tiff(tmp_path / "in.tif", samples)
    for chain in ([], ["--convolve", "1"], ["--border", "2"], ["--flip", "h"]):
        harness.run("-y", "in.tif", *chain, "--trim=0", "out.tif", cwd=tmp_path)
        assert harness.read_tiff(tmp_path / "out.tif").shape == (4, 13, 1), chain
    for tolerance, shape in ((0.9 * value, (4, 13, 1)), (value, samples.shape)):
        harness.run("-y", "in.tif", f"--trim={tolerance}", "out.tif", cwd=tmp_path)
        assert harness.read_tiff(tmp_path / "out.tif").shape == shape, tolerance


def test_in_the_middle_of_a_chain(tmp_path, rng):
    """What stages before make of the picture is measured; two of them measure one after the other."""
    samples = np.full((90, 80, 1), 255, np.uint8)
    samples[20:50, 30:70] = rng.integers(0, 200, (30, 40, 1))
    harness.write_tiff(tmp_path / "in.tif", samples)
    said = harness.run("-v", "in.tif", "--invert", "--scale", "2", "--trim=0", "--flip", "h", "--trim=0", "out.tif", cwd=tmp_path).err
    first, second = re.search(r"found: trimmed to (\S+); trimmed to (\S+)\n", said).groups()
    assert second.endswith("+0+0") and first.split("+")[0] == second.split("+")[0]
    harness.run("in.tif", "--invert", "--scale", "2", "--crop", first, "--flip", "h", "same.tif", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), harness.read_tiff(tmp_path / "same.tif"))


def test_sample_values_and_orientation(tmp_path):
    """A tolerance without percent counts samples of the input, whatever the output has; positions refer to the picture as it is seen."""
    samples = np.full((30, 50, 1), 100, np.uint8)
    samples[10:20, 5:45], samples[12:15, 20:30] = 109, 200
    harness.write_tiff(tmp_path / "in.tif", samples)
    for tolerance, shape in (("8", (10, 40, 1)), ("9", (3, 10, 1)), ("100", (30, 50, 1))):
        for more in ([], ["--depth", "16"], ["--depth", "float"], ["--range", "50,220", "--depth", "float"], ["--stack", "mean"]):
            harness.run("-y", "in.tif", f"--trim={tolerance}", *more, "-o", "out.tif", cwd=tmp_path)
            assert harness.read_tiff(tmp_path / "out.tif").shape == shape, more
    harness.write_tiff(tmp_path / "float.tif", samples.astype(np.float32))
    harness.run("float.tif", "--range", "0,1000", "--trim=1%", "out.tif", "-y", cwd=tmp_path)
    assert harness.read_tiff(tmp_path / "out.tif").shape == (3, 10, 1)
    harness.write_tiff(tmp_path / "side.tif", samples, extratags=[(274, 3, 1, 6, True)])
    harness.run("-y", "side.tif", "--trim=9", "out.tif", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif")[..., 0], np.rot90(samples[12:15, 20:30, 0], -1))


def test_each_picture_of_a_stack(tmp_path, rng):
    """Each is measured after its own matrix: the page lies elsewhere in every picture, and the stack is the page. One worker does all."""
    page = (rng.random((40, 50)) * 100 + 120).astype(np.uint8)
    (tmp_path / "in").mkdir()
    rows = ["file,xx,xy,x,yx,yy,y,confidence"]
    for i, (x, y) in enumerate([(20, 15), (33, 4), (5, 30)]):
        samples = np.zeros((80, 100, 1), np.uint8)
        samples[y:y + 40, x:x + 50, 0] = page
        harness.write_tiff(tmp_path / "in" / f"{i}.tif", samples)
        rows.append(f'"{i}.tif",1,0,{x - 20},0,1,{y - 15},1')
    (tmp_path / "m.csv").write_text("\n".join(rows) + "\n")
    harness.run("in", "-j", 1, "--warp", "@m.csv,outside=edge", "--trim", "--stack", "mean", "out.tiff", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tiff")[..., 0], page)


def test_linear_light_is_measured_as_samples(tmp_path):
    """The tolerance of 4% is of the output's samples: 0.02 of light is 39 of 255 and no border."""
    samples = np.zeros((60, 80, 1), np.float32)
    samples[10:50, 10:70] = 0.02
    samples[20:40, 20:60] = 0.5
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run("in.tif", "--linear", "--trim", "--depth", "8", "out.tif", cwd=tmp_path)
    assert harness.read_tiff(tmp_path / "out.tif").shape == (40, 60, 1)
