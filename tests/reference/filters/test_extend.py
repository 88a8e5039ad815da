"""--extend beside numpy: every bit of the picture in its place, and around it the colour or the border rule; by itself and among other
stages, of every type, in slices, groups and memories. And a JPEG that is cut or extended is not the whole one."""

import struct

import numpy as np
import pytest
from PIL import Image

import harness
import pngfile
import reference
from test_crop_flip_gray import GRAVITIES, LUMINANCE, check_moved, draw_way
from harness import Shape
from test_turn import EXACT, draw_samples, draw_sizes

EDGES = ("clamp", "mirror", "wrap", "zero")
COLOURS = {"black": (0, 0, 0), "white": (1, 1, 1), "#ff8001": (1, 128 / 255, 1 / 255), "#3c3C3c": (60 / 255,) * 3}


def in_type(value, dtype):
    return value.astype(dtype) if dtype.startswith("float") else reference.to_integers(value, np.dtype(dtype))


def fill_pixel(color, channels, dtype):
    """The pixel around the picture: 1 gray, 2 gray and alpha, 3 colours, 4 and alpha."""
    if color in ("zero", "transparent"):
        return np.zeros(channels, dtype)
    rgb = np.array(COLOURS[color])
    colours = rgb if channels > 2 else [rgb @ LUMINANCE]
    return in_type(np.array([*colours, 1.0][:channels]), dtype)


def extended(samples, width, height, x, y, pixel):
    canvas = np.empty((height, width, samples.shape[2]), samples.dtype)
    canvas[:] = pixel
    part = samples[max(-y, 0):, max(-x, 0):][:height, :width] # negative: cut off
    canvas[max(y, 0):, max(x, 0):][:part.shape[0], :part.shape[1]] = part
    return canvas


def extended_by_rule(samples, width, height, x, y, edge):
    """Samples beyond the border are zero where the rule says so."""
    rows, columns = (np.array([reference.edge_index(i - at, size, edge) for i in range(whole)])
                     for whole, at, size in ((height, y, samples.shape[0]), (width, x, samples.shape[1])))
    if edge == "zero":
        return extended(samples, width, height, x, y, 0)
    return samples[rows][:, columns]


def draw_canvas(rng, width, height):
    w, h = width + int(rng.integers(0, 150)), height + int(rng.integers(0, 150))
    return w, h, int(rng.integers(0, w - width + 1)), int(rng.integers(0, h - height + 1))


@pytest.mark.some(2)
@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("color", ["zero", "transparent", *COLOURS])
def test_color(tmp_path, rng, color, dtype):
    for width, height in draw_sizes(rng):
        w, h, x, y = draw_canvas(rng, width, height)
        channels = int(rng.choice([2, 4])) if color == "transparent" else int(rng.integers(1, 5))
        samples = draw_samples(rng, width, height, channels, dtype)
        expected = extended(samples, w, h, x, y, fill_pixel(color, channels, dtype))
        check_moved(tmp_path, rng, samples, ["--extend", f"{w}x{h}+{x}+{y},color={color}"], expected)


@pytest.mark.some(2)
@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("edge", EDGES)
def test_edge(tmp_path, rng, edge, dtype):
    for width, height in draw_sizes(rng):
        w, h, x, y = draw_canvas(rng, width, height)
        samples = draw_samples(rng, width, height, int(rng.integers(1, 5)), dtype)
        expected = extended_by_rule(samples, w, h, x, y, edge)
        check_moved(tmp_path, rng, samples, ["--extend", f"{w}x{h}+{x}+{y},color=edge", "--edge", edge], expected)


@pytest.mark.some(2)
@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("color", ["zero", "edge", "#ff8001"])
def test_border(tmp_path, rng, color, dtype):
    for width, height in draw_sizes(rng):
        left, top, both = (int(rng.integers(-((side - 1) // 2), 70)) for side in (width, height, min(width, height)))
        channels, edge = int(rng.integers(1, 5)), str(rng.choice(EDGES))
        samples = draw_samples(rng, width, height, channels, dtype)
        for value, x, y in ((f"{left}x{top}", left, top), (f"{both}", both, both)):
            size = width + 2 * x, height + 2 * y
            expected = (extended_by_rule(samples, *size, x, y, edge) if color == "edge" else
                        extended(samples, *size, x, y, fill_pixel(color, channels, dtype)))
            check_moved(tmp_path, rng, samples, ["--border", f"{value},color={color}", "--edge", edge], expected)


@pytest.mark.some(3)
@pytest.mark.parametrize("memory", harness.MEMORIES)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_border_among_other_stages(tmp_path, rng, channels, memory):
    samples = harness.random_samples(rng, Shape(61, 47, channels, "float32"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    pixel = fill_pixel("#ff8001", channels, "float64")
    done = harness.run("-m", memory, "in.tif", "--blur", "1", "--border", "9x30,color=#ff8001", "out.tif", cwd=tmp_path, env=draw_way(rng))
    expected = reference.through(samples, lambda planes: reference.blur(planes, 1), lambda planes: extended(planes, 79, 107, 9, 30, pixel))
    harness.assert_close(harness.read_tiff(tmp_path / "out.tif").astype(float), expected, context=done)


@pytest.mark.parametrize("value, status, message", [
    ("20x", 2, "expected the pixels on every side"), ("5%", 2, "--extend takes percent"), ("-15", 1, "--border leaves nothing of the picture, which is 41x30"), ("2000000", 2, "expected"),
    ("3+4", 2, "expected"), ("", 2, "needs a value"), ("9,gravity=north", 2, "unknown key gravity"),
    ("524288", 1, "--border would make 1048617x1048606 pixels"), ("5,color=transparent", 1, "--border color=transparent: the picture has no alpha")])
def test_borders_that_fail(tmp_path, rng, value, status, message):
    harness.write_tiff(tmp_path / "in.tif", draw_samples(rng, 41, 30, 1, "uint8"))
    done = harness.run("in.tif", f"--border={value}", "out.tif", cwd=tmp_path, status=status)
    assert message in done.err and not (tmp_path / "out.tif").exists()


@pytest.mark.some(2)
@pytest.mark.parametrize("dtype", ["float16", "uint16", "uint32", "int16", "int8"])
def test_every_shade(tmp_path, rng, dtype):
    """Rounded as numpy rounds."""
    shades = rng.choice(256, 12, replace=False)
    harness.write_tiff(tmp_path / "in.tif", np.zeros((1, 1, 1), dtype))
    for shade in shades:
        harness.run("-y", "in.tif", "--extend", f"2x1+0+0,color=#{3 * f'{shade:02x}'}", "out.tif", cwd=tmp_path)
        assert harness.read_tiff(tmp_path / "out.tif")[0, 1, 0] == in_type(np.array(shade / 255), dtype), shade


@pytest.mark.some(3)
@pytest.mark.parametrize("gravity", GRAVITIES)
def test_gravity(tmp_path, rng, gravity):
    across, down = GRAVITIES[gravity]
    width, height = 31, 22
    w, h, _, _ = draw_canvas(rng, width, height)
    samples = draw_samples(rng, width, height, 3, "uint8")
    expected = extended(samples, w, h, int(across * (w - width)), int(down * (h - height)), 0)
    check_moved(tmp_path, rng, samples, ["--extend", f"{w}x{h},gravity={gravity}"], expected)


def test_percent(tmp_path, rng):
    samples = draw_samples(rng, 41, 30, 1, "uint16")
    check_moved(tmp_path, rng, samples, ["--extend", "150%"], extended(samples, 62, 45, 10, 7, 0))  # 61.5 pixels are 62
    check_moved(tmp_path, rng, samples, ["--extend", "100%x40+0+3,color=white"], extended(samples, 41, 40, 0, 3, 65535))
    check_moved(tmp_path, rng, samples, ["--extend", "100%"], samples)


@pytest.mark.parametrize("box, status, message", [
    ("40x60", 1, "the picture of 41x30 at +0+15 does not fit on the canvas of 40x60; --crop cuts"),
    ("50x40+10+0", 1, "the picture of 41x30 at +10+0 does not fit on the canvas of 50x40"),
    ("50x40,color=transparent", 1, "the picture has no alpha"), ("3000000%x40", 2, "expected WxH"), ("2000000x40", 2, "expected WxH"),
    ("100%x100%,color=#12345", 2, "or #rrggbb"), ("100%,color=#1234567", 2, "or #rrggbb"),
    ("100%,color=#+12345", 2, "or #rrggbb"), ("1000000%", 0, ""), ("3000000%", 2, "expected WxH"),
    ("50x40+1+2,gravity=north", 2, "gravity= and +X+Y both say where")])
def test_what_does_not_fit(tmp_path, rng, box, status, message):
    width = 2 if status == 0 else 41
    harness.write_tiff(tmp_path / "in.tif", draw_samples(rng, width, 30 if status else 1, 1, "uint8"))
    done = harness.run("in.tif", "--extend", box, "-n" if status == 0 else "-q", "out.tif", cwd=tmp_path, status=status)
    assert message in done.err and not (tmp_path / "out.tif").exists()


@pytest.mark.some(2)
@pytest.mark.parametrize("memory", harness.MEMORIES)
@pytest.mark.parametrize("color", ["zero", "edge", "#ff8001"])
def test_among_other_stages(tmp_path, rng, color, memory):
    """First, where samples are moved, and later, where planes are."""
    for channels in (1, 2, 3, 4):
        shape = Shape(*map(int, rng.integers(30, 150, 2)), channels, "float32")
        samples, edge = harness.random_samples(rng, shape), str(rng.choice(EDGES))
        w, h, x, y = draw_canvas(rng, shape.width, shape.height)
        pixel = fill_pixel(color, channels, "float64") if color != "edge" else None
        extend = (lambda planes: extended_by_rule(planes, w, h, x, y, edge)) if color == "edge" else (
            lambda planes: extended(planes, w, h, x, y, pixel))
        blur = lambda planes: reference.blur(planes, 1, edge=edge)
        harness.write_tiff(tmp_path / "in.tif", samples)
        words = ["--extend", f"{w}x{h}+{x}+{y},color={color}"]
        for args, stages in ((words + ["--blur", "1"], (extend, blur)), (["--blur", "1"] + words, (blur, extend))):
            done = harness.run("-y", "-m", memory, "--edge", edge, "in.tif", *args, "out.tif", cwd=tmp_path, env=draw_way(rng))
            expected = reference.through(samples, *stages)
            out = harness.read_tiff(tmp_path / "out.tif").reshape(expected.shape)
            seen = (expected[..., -1:] > 0.01) | (channels in (1, 3))  # what is next to transparent has any colour
            assert np.allclose(out * seen, expected * seen, atol=5e-6), done
            assert np.allclose(out[..., -1], expected[..., -1], atol=5e-6), done


@pytest.mark.some(2)
@pytest.mark.parametrize("first", [True, False])
def test_groups(tmp_path, rng, first):
    """Small pictures go through together."""
    (tmp_path / "in").mkdir()
    pictures = {f"{i}.tif": draw_samples(rng, 23, 17, 3, "uint8") for i in range(5)}
    for name, samples in pictures.items():
        harness.write_tiff(tmp_path / "in" / name, samples)
    harness.run("-j", 1, "in", *([] if first else ["--invert"]), "--extend", "40x30+9+8,color=#ff8001", "out", cwd=tmp_path, env=draw_way(rng))
    for name, samples in pictures.items():
        expected = extended(samples if first else 255 - samples, 40, 30, 9, 8, fill_pixel("#ff8001", 3, "uint8"))
        assert np.array_equal(harness.read_tiff(tmp_path / "out" / name), expected), name


@pytest.mark.parametrize("chain", [[], ["--invert"], ["--stack", "mean"]])
def test_linear_light(tmp_path, rng, chain):
    """The colour is the one that stands in the file, whatever the chain works in."""
    harness.write_tiff(tmp_path / "in.tif", draw_samples(rng, 9, 7, 3, "uint8"))
    harness.run("in.tif", *chain, "--extend", "30x30,color=#ff8001", "--linear", "out.tif", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif")[0, 0], [255, 128, 1])


def color_around(tmp_path, samples, chain, *words):
    """What --linear --extend puts around a PNG with the curve of gamma 1.8."""
    pngfile.write_png(tmp_path / "in.png", samples, chunks=[("gAMA", struct.pack(">I", round(1e5 / 1.8)))])
    harness.run("-y", "in.png", *chain, *words, "--linear", "out.png", cwd=tmp_path)
    return np.array(Image.open(tmp_path / "out.png"))[0, 0]


@pytest.mark.parametrize("chain", [[], ["--invert"], ["--extend", "20x20"], ["--stack", "mean"]])
def test_linear_light_of_other_curves(tmp_path, rng, chain):
    """The colour is the one that stands in the file, whatever its curve. Gray is the luminance, as --gray computes it."""
    words = ["--extend", "30x30,color=#ff8001"]
    assert np.array_equal(color_around(tmp_path, draw_samples(rng, 9, 7, 3, "uint8"), chain, *words), [255, 128, 1])
    light = (np.array([255, 128, 1]) / 255) ** 1.8 @ LUMINANCE
    assert color_around(tmp_path, draw_samples(rng, 9, 7, 1, "uint8"), chain, *words) == np.rint(255 * light ** (1 / 1.8))


def srgb_light(value):
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


@pytest.mark.parametrize("chain", [[], ["--invert"]])
def test_floats_are_light(tmp_path, rng, chain):
    """Floats without a profile hold light with --linear, in files as on the device."""
    harness.write_tiff(tmp_path / "in.tif", draw_samples(rng, 9, 7, 3, "float32"))
    for name, words, expected in (("plain.tif", [], 128 / 255), ("light.tif", ["--linear"], srgb_light(128 / 255))):
        harness.run("in.tif", *chain, "--extend", "30x30,color=#808080", *words, name, cwd=tmp_path)
        assert np.allclose(harness.read_tiff(tmp_path / name)[0, 0], expected, atol=1e-6), name


@pytest.mark.parametrize("chain", [[], ["--invert"]])
def test_gray_of_light(tmp_path, rng, chain):
    """In a gray picture the colour is as bright as --gray makes it: luminance with --linear, otherwise luma."""
    harness.write_tiff(tmp_path / "gray.tif", draw_samples(rng, 9, 7, 1, "uint8"))
    harness.write_tiff(tmp_path / "red.tif", np.full((7, 9, 3), [255, 0, 0], np.uint8))
    for words, expected in (([], 54), (["--linear"], 127)):
        harness.run("-y", "gray.tif", *chain, "--extend", "30x30,color=#ff0000", *words, "out.tif", cwd=tmp_path)
        harness.run("-y", "red.tif", "--gray", *words, "red_gray.tif", cwd=tmp_path)
        assert harness.read_tiff(tmp_path / "out.tif").flat[0] == expected == harness.read_tiff(tmp_path / "red_gray.tif").flat[0]


@pytest.mark.parametrize("chain", [["--invert", "--extend"], ["--extend"]])
def test_range(tmp_path, rng, chain):
    """White is what --range makes white."""
    harness.write_tiff(tmp_path / "in.tif", rng.uniform(-3, 7, (9, 8, 1)).astype(np.float32))
    harness.run("in.tif", *chain, "20x20,color=#808080", "--range", "-3,7", "--depth", "8", "out.tif", cwd=tmp_path)
    assert harness.read_tiff(tmp_path / "out.tif")[0, 0, 0] == 128


@pytest.mark.parametrize("stage, box, expected", [("--crop", "48x32+16+8", (48, 32)), ("--extend", "96x80", (96, 80))])
def test_jpeg_is_not_moved_by_blocks(tmp_path, rng, stage, box, expected):
    """A change of size encodes again."""
    Image.fromarray(draw_samples(rng, 64, 48, 3, "uint8")).save(tmp_path / "in.jpg")
    harness.run("in.jpg", stage, box, "out.jpg", cwd=tmp_path)
    assert Image.open(tmp_path / "out.jpg").size == expected


def test_a_fourth_channel_that_is_not_alpha(tmp_path, rng):
    """White is white, and the fourth channel 0."""
    samples = draw_samples(rng, 8, 6, 4, "uint8")
    harness.write_tiff(tmp_path / "in.tif", samples, extrasamples=["unspecified"])
    for value in ("12x12,color=white", "4:1,color=white"):
        harness.run("in.tif", "--extend", value, "out.tif", "-y", cwd=tmp_path)
        assert harness.read_tiff(tmp_path / "out.tif")[0, 0].tolist() == [255, 255, 255, 0]


def test_ratio_that_is_too_large(tmp_path):
    (tmp_path / "in.pgm").write_bytes(b"P5 1 3000000 255\n" + bytes(3000000))
    assert "a side is at most 1048576" in harness.run("in.pgm", "--extend", "1000:1", "out.pgm", cwd=tmp_path, status=1).err
