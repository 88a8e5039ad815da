"""--negative next to numpy: given and found ends, alpha, types, slices, memories and both variants; a roll with one base."""

import json
import re

import numpy as np
import pytest
import tifffile

import harness
import pngfile
import reference

GIVEN = "90%,80%,70%,20%,15%,10%"


def ends(text):
    numbers = [float(word) / 100 for word in text.replace("%", "").split(",")]
    return numbers[:3], numbers[3:]


@pytest.mark.parametrize("dtype", harness.TYPES)
@pytest.mark.parametrize("channels", [3, 4])
def test_given_values(tmp_path, rng, channels, dtype):
    base, dark = ends(GIVEN)
    harness.check_stage(tmp_path, rng, harness.Shape(70, 90, channels, dtype), [f"--negative={GIVEN}"],
                        [lambda planes: reference.negative(planes, base, dark)])


@pytest.mark.parametrize("value, base, dark", [("80%,10%", 0.8, 0.1), ("204,51", 0.8, 0.2), ("10%,80%", 0.1, 0.8)])
def test_gray_and_one_pair_for_all(tmp_path, rng, value, base, dark):
    """A densest value above the base is no range: black."""
    for channels in (1, 2, 3):
        colours = channels - (channels == 2)
        harness.check_stage(tmp_path, rng, harness.Shape(33, 40, channels, "uint8"), [f"--negative={value}"],
                            [lambda planes, n=colours: reference.negative(planes, [base] * n, [dark] * n)])


def test_gray_with_numbers_of_colours(tmp_path, rng):
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (9, 9, 1)).astype(np.uint8))
    for value, told in (("231,150,107", True), ("231,150", False), (GIVEN, True)):
        assert ("the picture is gray" in harness.run("in.tif", f"--negative={value}", "out.tif", cwd=tmp_path).err) == told


@pytest.mark.parametrize("env", [{}, {"CLIMG_SLICE": "16"}, {"CLIMG_CLASS": "gpu"}, {"CLIMG_CLASS": "gpu", "CLIMG_SLICE": "16"}])
def test_found_values(tmp_path, rng, env):
    """The same bits in every way: 0.1% of each channel's samples are beyond either end, as numpy's order of them says."""
    samples = (rng.beta(2, 3, (120, 100, 3)) * 65535).astype(np.uint16)
    samples[0, :30] = [0, 65535, 7]
    harness.write_tiff(tmp_path / "in.tif", samples)
    done = harness.run("-v", "in.tif", "--negative", "--depth", "float", "out.tif", cwd=tmp_path, env=env)
    order = np.sort(samples.reshape(-1, 3), axis=0)
    cut = len(order) // 1000
    base, dark = order[-1 - cut], np.maximum(order[cut], 1)
    assert f"found: --negative={','.join(f'{v:.6g}' for v in [*base, *dark])}\n" in done.err
    expected = reference.negative(samples / 65535, base / 65535, dark / 65535)
    out = harness.read_tiff(tmp_path / "out.tif")
    assert np.abs(out - expected).max() < harness.FLOAT_TOLERANCE * 2  # the ends are floats
    harness.run("in.tif", f"--negative={','.join(map(str, [*base, *dark]))}", "--depth", "float", "again.tif", cwd=tmp_path)
    assert np.array_equal(out, harness.read_tiff(tmp_path / "again.tif"))


def test_gamma_of_the_scan_cancels(tmp_path, rng):
    light = rng.uniform(0.02, 0.9, (50, 60, 3))
    for name, gamma in (("linear", 1), ("curved", 2.2)):
        harness.write_tiff(tmp_path / f"{name}.tif", (light ** (1 / gamma)).astype(np.float32))
        harness.run(f"{name}.tif", "--negative=1,0.01" if gamma == 1 else f"--negative=1,{0.01 ** (1 / gamma)}", f"{name}-out.tif", cwd=tmp_path)
    assert np.allclose(*(harness.read_tiff(tmp_path / f"{name}-out.tif") for name in ("linear", "curved")), atol=1e-5)


def test_what_is_found_can_be_given(tmp_path, rng):
    """The option that -v reports gives the same bits. With two colours there is none."""
    for channels in (1, 3):
        harness.write_tiff(tmp_path / "in.tif", rng.integers(20, 240, (9, 11, channels), np.uint8))
        said = harness.run("-v", "-y", "in.tif", "--negative", "found.tif", cwd=tmp_path).err
        given = next(word for word in said.split() if word.startswith("--negative="))
        harness.run("-y", "in.tif", given, "given.tif", cwd=tmp_path)
        assert np.array_equal(harness.read_tiff(tmp_path / "found.tif"), harness.read_tiff(tmp_path / "given.tif"))
    tifffile.imwrite(tmp_path / "two.tif", rng.integers(20, 240, (9, 11, 2), np.uint8), photometric="minisblack", planarconfig="contig", extrasamples=[0])
    assert "found: --negative" not in harness.run("-v", "two.tif", "--negative", "out.tif", cwd=tmp_path).err


def test_a_roll_gets_one_base(tmp_path, rng):
    """A base that is given stays; only the densest values are found in each frame."""
    for i, low in enumerate((20, 60)):
        pngfile.write_png(tmp_path / f"{i}.png", rng.integers(low, 200, (40, 40, 3), dtype=np.uint8))
    harness.run("0.png", "1.png", "--negative=230,150,107", "--report", "r.jsonl", "out/", cwd=tmp_path)
    found = [json.loads(line)["found"] for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert all(text.startswith("--negative=230,150,107,") for text in found) and found[0] != found[1]
    for i, text in enumerate(sorted(found, key=lambda text: int(text.split(",")[3]))):
        dark = [int(number) for number in text.split(",")[3:]]
        assert max(dark) <= (20, 60)[i] + 2
        expected = reference.to_integers(reference.negative(pngfile.read_png(tmp_path / f"{i}.png").samples / 255, np.array([230, 150, 107]) / 255,
                                                            np.array(dark) / 255), np.uint8)
        assert np.abs(pngfile.read_png(tmp_path / "out" / f"{i}.png").samples.astype(int) - expected).max() <= 1


def test_odd_samples(tmp_path):
    """NaN stays; 0 and less are the densest, but no end; a value of all pixels has no range."""
    samples = np.array([np.nan, np.inf, -1, 0, 1e-3, 0.5, 1, 2], np.float32).reshape(1, 8, 1)
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run("in.tif", "--negative=1,0.001", "out.tif", cwd=tmp_path)
    out = harness.read_tiff(tmp_path / "out.tif").ravel()
    assert np.isnan(out[0]) and np.allclose(out[1:], [0, 1, 1, 1, np.log10(2) / 3, 0, 0], atol=1e-6)
    harness.write_tiff(tmp_path / "zeros.tif", np.concatenate([np.zeros((20, 40, 1)), np.full((20, 40, 1), 0.5)]).astype(np.float32))
    assert "found: --negative=0.5,7.62939e-06\n" in harness.run("-v", "zeros.tif", "--negative", "out.tif", cwd=tmp_path).err
    pngfile.write_png(tmp_path / "flat.png", np.full((5, 6, 3), 90, np.uint8))
    harness.run("flat.png", "--negative", "black.png", cwd=tmp_path)
    assert not pngfile.read_png(tmp_path / "black.png").samples.any()


@pytest.mark.parametrize("value", ["1,2,3,4", "1,2,3,4,5", "1,2,3,4,5,6,7", "0", "-3", "x", "1,", "auto,1", "1,2,3,0,1,2"])
def test_wrong_values(value):
    assert re.search(r"expected auto, BASE or BASE,DARK", harness.run("a.png", f"--negative={value}", "b.png", status=2).err)


def test_the_sample_becomes_the_scene(tmp_path):
    """The positive of samples/negative.jpg has the brightness of the scene that was put on it."""
    harness.run(harness.SAMPLES / "negative.jpg", "--negative=231,150,107", "--crop", "360x256+12+0", tmp_path / "a.png")
    harness.run(harness.SAMPLES / "scene.png", "--crop", "360x256+108+40", tmp_path / "b.png")
    a, b = (pngfile.read_png(tmp_path / f"{name}.png").samples.reshape(-1, 3).astype(float) for name in "ab")
    for c in range(3):
        assert np.corrcoef(a[:, c], b[:, c])[0, 1] > 0.9
