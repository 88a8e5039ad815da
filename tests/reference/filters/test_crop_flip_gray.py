"""--crop, --flip and --gray beside numpy: by themselves and among other stages, of every type, in slices, groups and memories."""

import numpy as np
import pytest
import tifffile

import harness
import reference
from harness import Shape
from test_turn import EXACT, WAYS, draw_samples, draw_sizes

FLIPS = {"h": lambda samples: samples[:, ::-1], "v": lambda samples: samples[::-1]}
GRAVITIES = {"center": (0.5, 0.5), "north": (0.5, 0), "northeast": (1, 0), "east": (1, 0.5), "southeast": (1, 1),
             "south": (0.5, 1), "southwest": (0, 1), "west": (0, 0.5), "northwest": (0, 0)}
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])  # ITU-R BT.709, 3.2
WEIGHTS = {"rec709": LUMINANCE, "mean": np.full(3, 1 / 3), "R": np.eye(3)[0], "G": np.eye(3)[1], "B": np.eye(3)[2]}


def draw_way(rng):
    way = dict(WAYS[str(rng.choice(list(WAYS)))], CLIMG_POISON="1")
    if rng.random() < 0.5:
        way["CLIMG_SLICE"] = str(rng.integers(1, 80))
    return way


def check_moved(folder, rng, samples, args, expected):
    """Every bit, whatever goes before or follows."""
    harness.write_tiff(folder / "in.tif", samples)
    memory = str(rng.choice(harness.MEMORIES))
    done = harness.run("-y", "-m", memory, "in.tif", *args, "out.tif", cwd=folder, env=draw_way(rng))
    moved = harness.read_tiff(folder / "out.tif")
    assert moved.shape == expected.shape and moved.dtype == expected.dtype, done
    assert np.ascontiguousarray(moved).tobytes() == np.ascontiguousarray(expected).tobytes(), (samples.shape, samples.dtype, done)


@pytest.mark.some(4)
@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("axis", FLIPS)
def test_flip(tmp_path, rng, axis, dtype):
    for width, height in draw_sizes(rng):
        samples = draw_samples(rng, width, height, int(rng.integers(1, 5)), dtype)
        check_moved(tmp_path, rng, samples, ["--flip", axis], FLIPS[axis](samples))


def draw_box(rng, width, height):
    w, h = int(rng.integers(1, width + 1)), int(rng.integers(1, height + 1))
    return w, h, int(rng.integers(0, width - w + 1)), int(rng.integers(0, height - h + 1))


@pytest.mark.some(3)
@pytest.mark.parametrize("dtype", EXACT)
def test_crop(tmp_path, rng, dtype):
    for width, height in draw_sizes(rng):
        w, h, x, y = draw_box(rng, width, height)
        samples = draw_samples(rng, width, height, int(rng.integers(1, 5)), dtype)
        check_moved(tmp_path, rng, samples, ["--crop", f"{w}x{h}+{x}+{y}"], samples[y:y + h, x:x + w])


def test_ratio(tmp_path, rng):
    """The largest part whose sides are like W to H, in the middle; and the smallest canvas."""
    for width, height, ratio in ((320, 200, (16, 9)), (100, 400, (16, 9)), (61, 97, (1, 1)), (97, 61, (1.91, 1)), (3, 900, (1, 1000)), (1, 1, (7, 5))):
        samples = draw_samples(rng, width, height, 3, np.uint8)
        text, quotient = f"{ratio[0]}:{ratio[1]}", ratio[0] / ratio[1]
        fitting, needed = np.rint(height * quotient), np.rint(width / quotient)
        w, h = (int(max(fitting, 1)), height) if height * quotient < width else (width, int(max(needed, 1)))
        x, y = (width - w) // 2, (height - h) // 2
        check_moved(tmp_path, rng, samples, ["--crop", text], samples[y:y + h, x:x + w])
        w, h = (int(fitting), height) if height * quotient > width else (width, int(needed))
        x, y = (w - width) // 2, (h - height) // 2
        canvas = np.zeros((h, w, 3), np.uint8)
        canvas[y:y + height, x:x + width] = samples
        check_moved(tmp_path, rng, samples, ["--extend", text], canvas)


@pytest.mark.some(3)
@pytest.mark.parametrize("gravity", GRAVITIES)
def test_gravity(tmp_path, rng, gravity):
    across, down = GRAVITIES[gravity]
    for width, height in draw_sizes(rng)[3:]:
        w, h, _, _ = draw_box(rng, width, height)
        x, y = int(across * (width - w)), int(down * (height - h))
        samples = draw_samples(rng, width, height, 3, "uint8")
        check_moved(tmp_path, rng, samples, ["--crop", f"{w}x{h},gravity={gravity}"], samples[y:y + h, x:x + w])


def test_percent(tmp_path, rng):
    samples = draw_samples(rng, 41, 30, 1, "uint16")
    check_moved(tmp_path, rng, samples, ["--crop", "50%"], samples[7:22, 10:31])  # 20.5 pixels are 21
    check_moved(tmp_path, rng, samples, ["--crop", "10%x6+1+2"], samples[2:8, 1:5])
    check_moved(tmp_path, rng, samples, ["--crop", "100%"], samples)


@pytest.mark.parametrize("box, message", [("42x30", "the picture is 41x30, which does not hold 42x30 from"),
                                          ("40x30+2+0", "does not hold 40x30 from +2+0"), ("41x1+0+30", "does not hold")])
def test_beyond(tmp_path, rng, box, message):
    harness.write_tiff(tmp_path / "in.tif", draw_samples(rng, 41, 30, 1, "uint8"))
    done = harness.run("in.tif", "--crop", box, "out.tif", cwd=tmp_path, status=1)
    assert message in done.err and not (tmp_path / "out.tif").exists()


@pytest.mark.parametrize("box", ["", "0x4", "0x10x20", " 4x4", "4", "4x", "4x5+1", "4x5+1+", "4x5-1-1", "101%", "1.5x2", "-3x4", "4x5+1+2x", "nanx4", "4x5+1+2,gravity=center"])
def test_no_part(tmp_path, rng, box):
    harness.write_tiff(tmp_path / "in.tif", draw_samples(rng, 41, 30, 1, "uint8"))
    harness.run("in.tif", "--crop", box, "out.tif", cwd=tmp_path, status=2)


@pytest.mark.parametrize("layout", ["ppm", "pfm", "strips", "tiles", "deflate"])
def test_only_the_rows_that_are_needed_are_read(tmp_path, rng, layout):
    """The others may be damaged: above the part, or below it where the file is cut off."""
    samples = rng.integers(0, 256, (320, 60, 3)).astype("float32" if layout == "pfm" else "uint8")
    path = tmp_path / ("in.tif" if layout in ("strips", "tiles", "deflate") else f"in.{layout}")
    if layout in ("ppm", "pfm"):
        head = b"P6 60 320 255\n" if layout == "ppm" else b"PF 60 320 -1\n"
        path.write_bytes(head + (samples if layout == "ppm" else samples[::-1].astype("<f4")).tobytes())
    else:
        tifffile.imwrite(path, samples, photometric="rgb", metadata=None,
                         **{"strips": {"rowsperstrip": 16}, "tiles": {"tile": (16, 16)},
                            "deflate": {"rowsperstrip": 16, "compression": "zlib"}}[layout])
    data = bytearray(path.read_bytes())
    if layout == "deflate":
        first, last = (tifffile.TiffFile(path).pages[0].dataoffsets[i] for i in (1, 18))
        data[first + 2:first + 40] = data[last + 2:last + 40] = bytes(38)
    elif layout in ("ppm", "strips"):
        del data[-60 * 3 * 20:]
    path.write_bytes(data)
    for stages, expected in (([], samples[100:180, 5:45]), (["--flip", "v"], samples[100:180, 5:45][::-1])):
        harness.run("-j", "3", path.name, "--crop", "40x80+5+100", *stages, "-y", "out.tif", cwd=tmp_path, env={"CLIMG_SLICE": "32"})
        assert harness.read_tiff(tmp_path / "out.tif").tobytes() == expected.tobytes()


@pytest.mark.parametrize("memory", harness.MEMORIES)
def test_among_other_stages(tmp_path, rng, memory):
    """First, where samples are moved, and later, where planes are; the halo of the blur reaches beyond the part where it comes before."""
    for _ in range(6):
        shape = Shape(*map(int, rng.integers(30, 150, 2)), int(rng.choice([1, 3])), "float32")
        samples = harness.random_samples(rng, shape)
        w, h, x, y = draw_box(rng, shape.width, shape.height)
        axis = str(rng.choice(list(FLIPS)))
        harness.write_tiff(tmp_path / "in.tif", samples)
        for args, expected in (
                (["--crop", f"{w}x{h}+{x}+{y}", "--blur", "1"], reference.blur(samples[y:y + h, x:x + w], 1)),
                (["--blur", "1", "--crop", f"{w}x{h}+{x}+{y}"], reference.blur(samples, 1)[y:y + h, x:x + w]),
                (["--flip", axis, "--blur", "1"], FLIPS[axis](reference.blur(samples, 1))),
                (["--blur", "1", "--flip", axis], FLIPS[axis](reference.blur(samples, 1)))):
            done = harness.run("-y", "-m", memory, "in.tif", *args, "out.tif", cwd=tmp_path, env=draw_way(rng))
            out = harness.read_tiff(tmp_path / "out.tif").reshape(expected.shape)
            assert np.allclose(out, expected, atol=2e-6), done


def expected_gray(samples, what):
    """Computes gray from float64 samples. Alpha, if any, is the last channel and stays."""
    colours = samples[..., :3] if samples.shape[2] > 2 else samples[..., :1]
    alpha = samples[..., samples.shape[2] - 1:] if samples.shape[2] in (2, 4) else samples[..., :0]
    if what == "A":
        return alpha
    gray = colours @ WEIGHTS[what] if colours.shape[2] == 3 else colours[..., 0]
    return np.concatenate([gray[..., None], alpha], axis=2)


@pytest.mark.some(4)
@pytest.mark.parametrize("memory", harness.MEMORIES)
@pytest.mark.parametrize("what", [*WEIGHTS, "A"])
def test_gray(tmp_path, rng, what, memory):
    for width, height in draw_sizes(rng):
        channels = int(rng.choice([2, 4])) if what == "A" else int(rng.integers(1, 5))
        samples = harness.random_samples(rng, Shape(width, height, channels, "float32"))
        if channels in (2, 4):  # what is wholly transparent has no colour
            samples[..., -1] = 0.1 + 0.9 * samples[..., -1]
        harness.write_tiff(tmp_path / "in.tif", samples)
        done = harness.run("-y", "-m", memory, "in.tif", f"--gray={what}", "out.tif", cwd=tmp_path, env=draw_way(rng))
        expected = expected_gray(samples.astype(float), what)
        out = harness.read_tiff(tmp_path / "out.tif").reshape(expected.shape)
        assert np.allclose(out, expected, atol=2e-6), done


@pytest.mark.parametrize("memory", harness.MEMORIES)
@pytest.mark.parametrize("what", "RGBA")
def test_gray_of_one_channel_ignores_missing_values_of_the_others(tmp_path, rng, what, memory):
    samples = harness.random_samples(rng, Shape(21, 9, 4, "float32"))
    samples[..., 3] = 1
    taken = samples[..., "RGBA".index(what)].copy()
    for c, value in enumerate((np.nan, np.inf, -np.inf)):
        if c != "RGBA".index(what):
            samples[2 + c, 5, c] = value
    harness.write_tiff(tmp_path / "in.tif", samples)
    done = harness.run("-y", "-m", memory, "in.tif", f"--gray={what}", "out.tif", cwd=tmp_path, env=draw_way(rng))
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif")[..., 0], taken), done


def test_gray_in_linear_light(tmp_path, rng):
    """The true luminance."""
    samples = harness.random_samples(rng, Shape(40, 30, 3, "uint16"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run("--linear", "in.tif", "--gray", "out.tif", cwd=tmp_path)
    light = reference.srgb_decode(reference.to_float(samples)) @ LUMINANCE
    assert np.abs(reference.srgb_decode(reference.to_float(harness.read_tiff(tmp_path / "out.tif")))[..., 0] - light).max() < 1e-4


def test_gray_needs_alpha(tmp_path, rng):
    harness.write_tiff(tmp_path / "in.tif", draw_samples(rng, 4, 3, 3, "uint8"))
    assert "the picture has no alpha" in harness.run("in.tif", "--gray=A", "out.tif", cwd=tmp_path, status=1).err


@pytest.mark.parametrize("channels", [2, 4])
@pytest.mark.parametrize("last", ["unassalpha", "unspecified"])
def test_gray_says_that_a_channel_is_dropped(tmp_path, rng, channels, last):
    harness.write_tiff(tmp_path / "in.tif", draw_samples(rng, 4, 3, channels, "uint8"), extrasamples=[last])
    done = harness.run("in.tif", "--gray", "out.tif", cwd=tmp_path)
    assert ("drops the last channel" in done.err) == (last == "unspecified"), done


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "float32"])
def test_moves_in_succession(tmp_path, rng, dtype):
    """Every bit, also of colours where alpha is small or 0, and what is added."""
    full = 1 if dtype == "float32" else np.iinfo(dtype).max
    samples = (full * rng.random((13, 19, 4))).astype(dtype)
    samples[3:6, :, 3] = 0
    part = FLIPS["h"](samples)[2:9, 3:12]
    check_moved(tmp_path, rng, samples, ["--flip", "h", "--crop", "9x7+3+2"], part)
    framed = np.full((9, 11, 4), full, dtype)
    framed[1:-1, 1:-1] = part
    check_moved(tmp_path, rng, samples, ["--flip", "h", "--crop", "9x7+3+2", "--border", "1,color=white"], framed)
    check_moved(tmp_path, rng, samples, ["--crop", "9x7+7+2", "--rotate", "90", "--flip", "v", "--rotate", "-90"], FLIPS["h"](samples[2:9, 7:16]))
