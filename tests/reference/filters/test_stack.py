"""--stack: many pictures in one, against numpy."""
import json
import pathlib
import subprocess
import warnings

import numpy as np
import pytest
import tifffile
from PIL import Image

import harness
import pngfile

METHODS = ("mean", "median", "max", "min", "sum", "sigma=1.5")


def sigma_mean(values, sigma):
    """The mean of what two rounds leave. Missing values are NaN."""
    values = values.copy()
    for _ in range(2):
        far = np.abs(values - np.nanmedian(values, 0)) > sigma * np.nanstd(values, 0)
        values[far & ((~np.isnan(values)).sum(0) > 2)] = np.nan
    return np.nanmean(values, 0)


def merged(pictures, method):
    """Merges planes (number x height x width x channels), 1 for full scale, alpha not multiplied; NaN where nothing counts, or zeros
    where there is alpha."""
    values = pictures.astype(float)
    alpha = values.shape[-1] in (2, 4)
    if alpha:
        values[..., :-1] *= values[..., -1:]
    missing = np.isnan(values).any(-1) | (alpha and ~(values[..., -1] > 0))
    values[missing] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of no values
        if method.startswith("sigma"):
            result = sigma_mean(values, float(method[6:]))
        else:
            result = getattr(np, f"nan{method}")(values, 0)
        if alpha and method == "sum":
            result[..., -1] = np.nanmean(values[..., -1], 0)
        if alpha:
            result[..., :-1] /= result[..., -1:]
    result[missing.all(0)] = 0 if alpha else np.nan
    return result


def make_pictures(rng, number, height, width, channels, dtype):
    """Random samples; of floats some are NaN, and of alpha some are 0, at one pixel all."""
    shape = (number, height, width, channels)
    if np.issubdtype(dtype, np.floating):
        samples = rng.normal(0.5, 0.3, shape).astype(dtype)
        samples[rng.random(shape) < 0.05] = np.nan
        samples[:, 0, 0] = np.nan
        full = 1
    else:
        kind = np.iinfo(dtype)
        samples = rng.integers(kind.min, kind.max, shape, dtype, endpoint=True)
        full = kind.max
    if channels in (2, 4):
        alpha = np.clip(rng.random(shape[:3]), 0.05, 1) * (rng.random(shape[:3]) > 0.2)
        alpha[:, 0, 0] = 0
        samples[..., -1] = (alpha * full).astype(dtype)
    return samples, samples / np.float64(full)


def write(folder, samples):
    """Returns the paths of a TIFF for each picture."""
    paths = [folder / f"in{i:03}.tif" for i in range(len(samples))]
    channels = samples.shape[-1]
    for path, picture in zip(paths, samples):
        tifffile.imwrite(path, picture if channels > 1 else picture[..., 0], photometric="rgb" if channels > 2 else "minisblack",
                         planarconfig="contig", extrasamples=["unassalpha"] if channels in (2, 4) else None)
    return paths


def read(path):
    picture = tifffile.imread(path)
    return picture if picture.ndim == 3 else picture[..., None]


def assert_close(got, expected, tolerance=1e-5, ties=0):
    """`ties`: share of samples that may differ, as a sample is just as far from the median as is rejected."""
    assert got.shape == expected.shape
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    wrong = ~np.isnan(expected) & (np.abs(got - expected) > tolerance * (1 + np.abs(expected)))
    assert wrong.mean() <= ties


CASES = [(number, channels, dtype) for number, channels, dtype in
         zip((2, 3, 20, 5, 2, 7, 4, 12), (3, 4, 1, 2, 1, 4, 3, 3),
             ("uint8", "uint16", "float32", "uint8", "int16", "float16", "uint32", "int8"))]


@pytest.mark.parametrize("number, channels, dtype", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_methods(tmp_path, rng, method, number, channels, dtype):
    samples, pictures = make_pictures(rng, number, 19, 23, channels, np.dtype(dtype))
    harness.run(*write(tmp_path, samples), "--stack", method, "--depth", "float", tmp_path / "out.tiff")
    assert_close(read(tmp_path / "out.tiff"), merged(pictures, method), ties=5e-3 * ("sigma" in method))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("environment", [{}, {"CLIMG_CLASS": "gpu"}, {"CLIMG_SLICE": "5"}], ids=str)
def test_between_stages(tmp_path, rng, method, environment):
    """Stages before it work on each picture, stages after it on the result."""
    samples, pictures = make_pictures(rng, 5, 40, 33, 3, np.dtype("uint8"))
    harness.run(*write(tmp_path, samples), "--invert", "--stack", method, "--flip", "h", "--depth", "float", tmp_path / "out.tiff",
                env=environment)
    assert_close(read(tmp_path / "out.tiff"), merged(1 - pictures, method)[:, ::-1], ties=2e-3 * ("sigma" in method))


@pytest.mark.parametrize("method", METHODS)
def test_same_bits(tmp_path, rng, method):
    """Climg compared with itself: slices of any height, and one thread or several."""
    samples, _ = make_pictures(rng, 6, 50, 31, 4, np.dtype("float32"))
    paths = write(tmp_path, samples)
    results = []
    for i, (rows, jobs) in enumerate(((500, 2), (1, 1), (7, 1), (16, 5))):
        harness.run(*paths, "--stack", method, "--jobs", jobs, tmp_path / f"{i}.tiff", env={"CLIMG_SLICE": str(rows)})
        results.append(read(tmp_path / f"{i}.tiff"))
    assert all(np.array_equal(result, results[0], equal_nan=True) for result in results)


@pytest.mark.parametrize("channels, dtype", [(1, "uint8"), (3, "uint16"), (4, "uint8"), (3, "uint32"), (1, "float32")])
def test_some_are_turned(tmp_path, rng, channels, dtype):
    """By their orientation, whichever is the first; the samples of the others are those of their files."""
    upright, _ = make_pictures(rng, 3, 21, 34, channels, np.dtype(dtype))
    stored = [upright[0], np.rot90(upright[1]), upright[2][::-1, ::-1]]  # orientation 6: to be turned by 90 degrees clockwise
    for order in ((0, 1, 2), (1, 0, 2)):
        paths = []
        for i in order:
            paths.append(tmp_path / f"in{i}.tif")
            tifffile.imwrite(paths[-1], stored[i] if channels > 1 else stored[i][..., 0], photometric="rgb" if channels > 2 else "minisblack",
                             planarconfig="contig", extrasamples=["unassalpha"] if channels == 4 else None,
                             extratags=[(274, 3, 1, (1, 6, 3)[i], True)])
        harness.run(*paths, "--stack", "max", "--depth", "float", tmp_path / "out.tiff")
        assert_close(read(tmp_path / "out.tiff"), merged(upright / (1 if dtype == "float32" else np.float64(np.iinfo(dtype).max)), "max"))


def test_integers_are_rounded(tmp_path, rng):
    """8 bits of 8 bits: the mean to half a count, the median of an odd number exactly."""
    samples, _ = make_pictures(rng, 5, 21, 34, 3, np.dtype("uint8"))
    paths = write(tmp_path, samples)
    harness.run(*paths, "--stack", "mean", tmp_path / "mean.tiff")
    assert np.abs(read(tmp_path / "mean.tiff") - samples.astype(float).mean(0)).max() <= 0.5 + 1e-4
    harness.run(*paths, "--stack", "median", tmp_path / "median.tiff")
    assert np.array_equal(read(tmp_path / "median.tiff"), np.median(samples, 0).astype(np.uint8))


def test_light_is_merged_with_linear(tmp_path):
    samples = np.array([0, 255], np.uint8)[:, None, None, None] * np.ones((1, 8, 8, 1), np.uint8)
    harness.run(*write(tmp_path, samples), "--linear", "--stack", "mean", tmp_path / "out.tiff")
    assert np.all(read(tmp_path / "out.tiff") == 188)  # of half the light, by sRGB's curve


def test_one_bit_for_each_pixel(tmp_path, rng):
    """--depth 1 is for the result: the stages after --stack make it black and white, or each input was before."""
    samples, pictures = make_pictures(rng, 3, 21, 34, 1, np.dtype("uint8"))
    paths = write(tmp_path, samples)
    for chain, expected in ((["--stack", "mean", "--threshold", "50%"], pictures.mean(0) > 0.5),
                            (["--threshold", "50%", "--stack", "max"], (pictures > 0.5).any(0))):
        for name in ("out.png", "out.tif", "out.pbm"):
            harness.run(*paths, *chain, "--depth", "1", tmp_path / name, "-y")
            with Image.open(tmp_path / name) as out:
                assert out.mode == "1" and np.array_equal(np.asarray(out), expected[..., 0])


def test_pages(tmp_path, rng):
    samples, pictures = make_pictures(rng, 7, 12, 14, 1, np.dtype("uint16"))
    tifffile.imwrite(tmp_path / "in.tif", samples[..., 0], photometric="minisblack")
    harness.run(tmp_path / "in.tif", "--stack", "median,pages=yes", tmp_path / "out.tiff")
    assert np.array_equal(read(tmp_path / "out.tiff"), np.median(samples, 0).astype(np.uint16))
    harness.run(tmp_path / "in.tif", "--page", "2-4", "--stack", "mean,pages=yes", "--depth", "float", tmp_path / "some.tiff")
    assert_close(read(tmp_path / "some.tiff"), pictures[1:4].mean(0))
    harness.run(tmp_path / "in.tif", "--stack", "mean,pages=yes", "--depth", "8", "--quality", "80", tmp_path / "out.jpg")
    for align, message in (("previous", "registers the first page of each file"), ("first,matrix=m.csv", "a line for each file")):
        done = harness.run(tmp_path / "in.tif", "--align", align, "--stack", "mean,pages=yes", tmp_path / "no.tif", status=2, cwd=tmp_path)
        assert message in done.err


@pytest.mark.parametrize("method", ["mean", "median"])
def test_edges(tmp_path, rng, method):
    """What no picture covers is transparent or cut off; each pixel is merged from the pictures that cover it."""
    samples, _ = make_pictures(rng, 3, 30, 40, 4, np.dtype("uint8"))
    samples[..., -1] = 0
    for i in range(3):
        samples[i, 4 + i:25, 3:30 + 2 * i, -1] = 255
    paths = write(tmp_path, samples)
    expected = merged(samples / 255, method)
    harness.run(*paths, "--stack", method, "--depth", "float", tmp_path / "fill.tiff")
    assert_close(read(tmp_path / "fill.tiff"), expected)
    harness.run(*paths, "--stack", f"{method},edges=crop", "--depth", "float", tmp_path / "crop.tiff")
    assert_close(read(tmp_path / "crop.tiff"), expected[6:25, 3:34])


def scene(rng, height, width):
    """A function of positions with detail of four pixels and more, so that interpolation keeps it."""
    waves = [(rng.uniform(-1.4, 1.4), rng.uniform(-1.4, 1.4), rng.uniform(0, 6.3)) for _ in range(60)]
    waves = [wave for wave in waves if wave[0] ** 2 + wave[1] ** 2 < 2]
    blobs = [(rng.uniform(0, width), rng.uniform(0, height), rng.uniform(3, 12)) for _ in range(120)]

    def light(x, y):
        value = sum(np.sin(u * x + v * y + phase) for u, v, phase in waves) / 80
        return 0.4 + value + sum(0.4 * np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (2 * size ** 2)) for cx, cy, size in blobs) / 2
    return light


@pytest.mark.parametrize("reference, motion", [("first", 6), ("middle", 6), ("previous", 2)])
def test_aligned_series(tmp_path, rng, reference, motion):
    """Shifted and noisy frames: the mean of the aligned ones is as near the scene as that of frames that were never shifted, and
    the CSV has the shifts. A frame of another scene is left out. Where no frame is, there is no value."""
    height, width, number, noise = 150, 180, 9, 0.05
    light = scene(rng, height, width)
    y, x = np.mgrid[:height, :width].astype(float)
    steps = rng.uniform(-motion, motion, (number, 2))
    shifts = np.cumsum(steps, 0) if reference == "previous" else steps
    shifts -= shifts[(number - 1) // 2 if reference == "middle" else 0]
    for i, (dx, dy) in enumerate(shifts):
        frame = light(x - dx, y - dy) + rng.normal(0, noise, (height, width))
        tifffile.imwrite(tmp_path / f"in{i}.tif", frame.astype(np.float32))
    tifffile.imwrite(tmp_path / "in7a.tif", rng.random((height, width), np.float32))
    done = harness.run(tmp_path, "--align", f"{reference},model=shift,matrix={tmp_path / 'drift.csv'}", "--stack", "mean",
                       tmp_path / "out.tif")
    assert "in7a.tif: cannot be aligned" in done.err and done.err.count("\n") == 1
    assert ("try --align middle" in done.err) == (reference == "first")
    lines = [line.split(",") for line in (tmp_path / "drift.csv").read_text().splitlines()[1:]]
    found = np.array([[float(line[3]), float(line[6])] for line in lines if line[1]])
    assert len(lines) == number + 1 and np.abs(found - shifts).max() < 0.1
    got = read(tmp_path / "out.tif")[20:-20, 20:-20, 0]
    error = got - light(x, y)[20:-20, 20:-20]
    assert np.sqrt(np.mean(error ** 2)) < 1.035 * noise / np.sqrt(number)  # 0.3 dB


def test_drift_of_another_channel(tmp_path, rng):
    """--warp @FILE moves the inputs of another stack as --align moved the first stack; what was left out stays out."""
    light = scene(rng, 120, 140)
    y, x = np.mgrid[:120, :140].astype(float)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    for i, (dx, dy) in enumerate(((0, 0), (3.25, -2), (5, 4.5))):
        for name, gain in (("a", 1), ("b", 0.5)):
            tifffile.imwrite(tmp_path / name / f"in{i}.tif", (gain * light(x - dx, y - dy)).astype(np.float32))
    for name in ("a", "b"):
        tifffile.imwrite(tmp_path / name / "in1a.tif", rng.random((120, 140), np.float32))
    harness.run("a", "--align", "first,model=shift,matrix=drift.csv", "--stack", "mean", "a.tif", cwd=tmp_path)
    done = harness.run("b", "--warp", "@drift.csv,antialias=no", "--stack", "mean", "b.tif", cwd=tmp_path)
    assert done.err == "climg: b/in1a.tif: has no matrix in drift.csv; left out\n"
    a, b = (read(tmp_path / f"{name}.tif") for name in "ab")
    assert_close(b, a / 2, 1e-6)
    assert "4 matrices, and there are 1 inputs" in harness.run("a/in0.tif", "--warp", "@drift.csv", "--stack", "mean", "c.tif",
                                                              cwd=tmp_path, status=2).err
    assert "must come later" in harness.run("a/in0.tif", "--warp", "@drift.csv", "c.tif", cwd=tmp_path, status=2).err


@pytest.mark.parametrize("variant", [{}, {"CLIMG_CLASS": "gpu"}, {"CLIMG_SLICE": "7"}], ids=str)
@pytest.mark.parametrize("chain, covered", [(["--warp", "1 0 5 0 1 -3"], np.s_[3:, :-5]), (["--warp", "2 0 0 0 2 0"], np.s_[:15, :20]),
                                            (["--warp", "1 0 5 0 1 -3,filter=nearest"], np.s_[3:, :-5])])
def test_pixels_beyond_a_warped_picture(tmp_path, rng, chain, covered, variant):
    """They are missing: transparent, as nothing else covers them. Those inside are not mixed with them."""
    samples = np.full((2, 30, 40, 3), 200, np.uint8)
    harness.run(*write(tmp_path, samples), *chain, "--stack", "mean", tmp_path / "out.tiff", env=variant)
    expected = np.zeros((30, 40, 4), np.uint8)
    expected[covered] = 200, 200, 200, 255
    assert np.array_equal(read(tmp_path / "out.tiff"), expected)


def test_damaged_inputs_are_left_out(tmp_path, rng):
    """Also one that fails after half of its rows: none of them counts."""
    samples, pictures = make_pictures(rng, 4, 64, 64, 3, np.dtype("uint8"))
    paths = write(tmp_path, samples)
    damaged = tmp_path / "damaged.png"
    harness.run(paths[0], damaged)
    damaged.write_bytes(damaged.read_bytes()[:-3000])
    report = tmp_path / "report.jsonl"
    command = [harness.CLIMG, paths[0], damaged, *paths[1:], "--stack", "mean", "--depth", "float", "--report", report,
               tmp_path / "out.tiff"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "damaged.png" in done.stderr and "left out" in done.stderr
    assert_close(read(tmp_path / "out.tiff"), pictures.mean(0))
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert len(lines) == 6 and lines[-1]["input"] is None and lines[-1]["found"] == "4 pictures merged, 1 of 5 files left out"
    failed, = (line for line in lines if line["status"] == "failed")
    assert pathlib.Path(failed["input"]) == damaged
    command[command.index("mean")] = "mean,strict=yes"
    command[-1] = tmp_path / "strict.tiff"
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1 and not command[-1].exists()


@pytest.mark.some(4)
@pytest.mark.parametrize("channels, dtype", [(3, "uint16"), (1, "uint8")])
@pytest.mark.parametrize("method", METHODS)
def test_uncompressed_files(tmp_path, rng, method, channels, dtype):
    """They are read some rows at a time, of both byte orders and with strips of any height. Others among them are compressed, or
    turned, and one lacks its last row."""
    samples, pictures = make_pictures(rng, 8, 611, 1100, channels, np.dtype(dtype))
    paths = [tmp_path / f"{i}.tif" for i in range(8)]
    for i, (path, picture) in enumerate(zip(paths, samples)):
        stored = picture[::-1, ::-1] if i == 5 else picture
        tifffile.imwrite(path, stored if channels > 1 else stored[..., 0], photometric="rgb" if channels > 1 else "minisblack",
                         byteorder="<>"[i % 2], compression="deflate" if i in (1, 4) else None, rowsperstrip=(611, 1, 16, 100)[i % 4],
                         extratags=[(274, 3, 1, 3, True)] if i == 5 else [])
    cut = tmp_path / "cut.tif"
    cut.write_bytes(paths[0].read_bytes()[:-samples[0, 0].nbytes])
    done = harness.run(*paths[:3], cut, *paths[3:], "--stack", method, "--depth", "float", tmp_path / "out.tiff")
    assert "cut.tif" in done.err and "left out" in done.err and done.err.count("\n") == 1
    assert_close(read(tmp_path / "out.tiff"), merged(pictures, method), ties=1e-5 * ("sigma" in method))


@pytest.mark.long
def test_many(tmp_path, rng):
    """More pictures than are opened at a time."""
    samples, pictures = make_pictures(rng, 300, 15, 17, 1, np.dtype("uint8"))
    paths = write(tmp_path, samples)
    for method in METHODS:
        harness.run(*paths, "--stack", method, "--depth", "float", "-y", "-o", tmp_path / "out.tiff")
        assert_close(read(tmp_path / "out.tiff"), merged(pictures, method))


def test_colour_spaces_must_be_equal(tmp_path):
    """Grays are the same in Display P3 as in sRGB, so the mean is known."""
    chunks = {"plain": [], "usual": [("gAMA", (45455).to_bytes(4, "big"))], "wide": [("cICP", bytes((12, 13, 0, 1)))]}
    for value, (name, own) in zip((60, 100, 160), chunks.items()):
        pngfile.write_png(tmp_path / f"{name}.png", np.full((4, 5, 3), value, np.uint8), chunks=own)
    harness.run("plain.png", "usual.png", "--stack", "mean", "out.png", cwd=tmp_path)
    assert (pngfile.read_png(tmp_path / "out.png").samples == 80).all()
    said = harness.run("plain.png", "wide.png", "--stack", "mean", "out.png", "-y", cwd=tmp_path, status=1).err
    assert "wide.png: has another colour space than the first picture" in said
    harness.run("wide.png", "plain.png", "--profile", "srgb", "--stack", "mean", "out.png", "-y", cwd=tmp_path)
    assert (pngfile.read_png(tmp_path / "out.png").samples == 110).all()


def test_a_pass_rejects_no_pixel_whole(tmp_path):
    """Two values, twice each, are one standard deviation from the median, and rounding must not put all of them beyond it."""
    for i, value in enumerate((14, 14, 197, 197)):
        pngfile.write_png(tmp_path / f"{i}.png", np.full((2, 3, 1), value, np.uint8))
    harness.run(*(f"{i}.png" for i in range(4)), "--stack", "sigma=1", "out.png", cwd=tmp_path)
    assert (pngfile.read_png(tmp_path / "out.png").samples == 106).all()


def test_no_alpha_beside_a_last_channel_that_is_none(tmp_path, rng):
    """Uncovered pixels would need a fifth channel."""
    for name in ("a.tif", "b.tif"):
        tifffile.imwrite(tmp_path / name, rng.integers(0, 255, (40, 50, 4)).astype(np.uint8), photometric="rgb", extrasamples=["unspecified"])
    said = harness.run("a.tif", "b.tif", "--rotate", "10", "--stack", "mean", "out.tif", cwd=tmp_path, status=1).err
    assert "the last channel is not alpha; edges=crop" in said


def test_coefficients_of_linear_light(tmp_path, rng):
    """Without --linear their display values are merged, also with those of pictures that were not transformed in light."""
    Image.fromarray(rng.integers(0, 256, (40, 48, 3), np.uint8)).save(tmp_path / "in.png")
    harness.run("in.png", "--linear", "--wavelet=2", "light.tif", cwd=tmp_path)
    harness.run("in.png", "--wavelet=2", "display.tif", cwd=tmp_path)
    for inputs, options in ((["light.tif", "light.tif"], []), (["light.tif", "display.tif"], []), (["light.tif", "light.tif"], ["--linear"])):
        harness.run("-y", *inputs, *options, "--inverse-wavelet", "--stack", "mean", "out.png", cwd=tmp_path)
        assert np.array_equal(np.array(Image.open(tmp_path / "out.png")), np.array(Image.open(tmp_path / "in.png")))


def test_a_warning_belongs_to_its_input(tmp_path, rng):
    """The first input's warning is not repeated for the result, which is RGB."""
    for i in range(2):
        Image.fromarray(rng.integers(0, 256, (20, 30, 4), np.uint8), "CMYK").save(tmp_path / f"{i}.tif")
    lines = harness.run("0.tif", "1.tif", "--stack", "mean", "out.tif", cwd=tmp_path).err.splitlines()
    assert sorted(line.split(": warning: is CMYK")[0] for line in lines) == ["climg: 0.tif", "climg: 1.tif"], lines


@pytest.mark.parametrize("value, covered", [("180,size=50x40", np.s_[5:-5, 5:-5]), ("90,size=40x40", np.s_[:, 5:-5])])
def test_pixels_beyond_quarter_turns(tmp_path, value, covered):
    """They are missing, as with other angles, and not black."""
    samples = np.full((2, 30, 40, 3), 200, np.uint8)
    harness.run(*write(tmp_path, samples), "--rotate", value, "--stack", "mean", tmp_path / "out.tiff")
    out = read(tmp_path / "out.tiff")
    expected = np.zeros((40, out.shape[1], 4), np.uint8)
    expected[covered] = 200, 200, 200, 255
    assert np.array_equal(out, expected)
