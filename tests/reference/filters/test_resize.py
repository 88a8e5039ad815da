"""--resize against Pillow's resize of float pictures (mode F)."""

import os
import subprocess

import numpy as np
import pytest
from PIL import Image

import harness
import pngfile
import reference
from harness import Shape, check_integers, check_stage

FILTERS = {"lanczos": Image.Resampling.LANCZOS, "bicubic": Image.Resampling.BICUBIC,
           "bilinear": Image.Resampling.BILINEAR, "box": Image.Resampling.BOX}
WAYS = [("buffer", "cpu"), ("buffer", "gpu"), ("image", "cpu"), ("image", "gpu")]
PAIRS = 50


def pillow(planes, size, name="lanczos", crop=None):
    """Resized to `size`, of which `crop` (left, top, right, bottom) is left."""
    def resize(plane):
        picture = Image.fromarray(plane.astype(np.float32)).resize(size, FILTERS[name], reducing_gap=None)
        return np.asarray(picture.crop(crop) if crop else picture, np.float64)
    return reference.each_channel(resize, planes)


def box_matrix(samples, outputs):
    """Rows of weights: each sample goes to the output that its centre lies in, or to the one before it where it lies between
    two. Enlarged, an output has the sample that its centre lies in."""
    if outputs > samples:
        owners = [((2 * i + 1) * samples // (2 * outputs), i) for i in range(outputs)]
    else:
        owners = [(k, -(-(2 * k + 1) * outputs // (2 * samples)) - 1) for k in range(samples)]
    matrix = np.zeros((outputs, samples))
    for sample, output in owners:
        matrix[output, sample] = 1
    return matrix / matrix.sum(axis=1, keepdims=True)


def box(planes, size):
    """In integers: Pillow leaves out samples between two outputs where its floats are rounded so."""
    height, width = planes.shape[:2]
    return reference.each_channel(lambda plane: box_matrix(height, size[1]) @ plane @ box_matrix(width, size[0]).T, planes)


def resized(planes, size, name):
    return box(planes, size) if name == "box" else pillow(planes, size, name)


def draw_side(rng):
    """From 1 to 2000, small ones as often as large ones."""
    return int(2000 ** rng.uniform(0, 1))


def draw_sizes(rng):
    """Two sizes of at most 200000 pixels together with what lies between the passes."""
    while True:
        width, height, to_width, to_height = (draw_side(rng) for _ in range(4))
        if max(width, to_width) * max(height, to_height) <= 200000:
            return (width, height), (to_width, to_height)


@pytest.mark.some(6)
@pytest.mark.parametrize("number", range(PAIRS))
def test_pairs_of_sizes(tmp_path, rng, number):
    (width, height), size = draw_sizes(rng)
    shape = Shape(width, height, 1 + number % 4, harness.TYPES[number // 4 % 3])
    samples = harness.random_samples(rng, shape)
    harness.write_tiff(tmp_path / "in.tif", samples)
    memory, form = WAYS[rng.integers(len(WAYS))]
    for name in FILTERS:
        context = harness.run("-m", memory, "--depth", "float", tmp_path / "in.tif", "--resize",
                              f"{size[0]}x{size[1]},fit=exact,filter={name}", "-y", tmp_path / "out.tif",
                              env={"CLIMG_CLASS": form, "CLIMG_POISON": "1"})
        expected = reference.through(samples, lambda planes: resized(planes, size, name))
        harness.assert_close(harness.read_tiff(tmp_path / "out.tif").astype(float), expected,
                             context=f"{shape} in {memory}, {form}\n{context}")


@pytest.mark.some(4)
@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("form", ["cpu", "gpu"])
def test_memories(tmp_path, rng, monkeypatch, name, form):
    monkeypatch.setenv("CLIMG_CLASS", form)
    shape = Shape(*map(int, rng.integers(1, 200, 2)), int(rng.integers(1, 5)), "float32")
    size = tuple(map(int, rng.integers(1, 200, 2)))
    check_stage(tmp_path, rng, shape, ["--resize", f"{size[0]}x{size[1]},filter={name},fit=exact"],
                [lambda planes: resized(planes, size, name)])


@pytest.mark.some(2)
@pytest.mark.parametrize("form", ["cpu", "gpu"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_integers(tmp_path, rng, monkeypatch, dtype, form):
    monkeypatch.setenv("CLIMG_CLASS", form)
    check_integers(tmp_path, rng, Shape(211, 157, int(rng.integers(1, 5)), dtype), ["--resize", "97x,fit=exact"],
                   [lambda planes: pillow(planes, (97, 72))], suffix=".png")


SIZES = [  # of 120x80 pixels, the value, the size before the crop, what is left of it
    ("60x60", (60, 40), None), ("60x30", (45, 30), None), ("240x400", (240, 160), None), ("60x", (60, 40), None),
    ("x20", (30, 20), None), ("50%", (60, 40), None), ("12.5%", (15, 10), None), ("0.1%", (1, 1), None),
    ("130%", (156, 104), None), ("7x", (7, 5), None), ("x7", (11, 7), None), ("1x1000", (1, 1), None),
    ("60x60,fit=cover", (90, 60), (15, 0, 75, 60)), ("61x30,fit=cover", (61, 41), (0, 5, 61, 35)),
    ("200x40,fit=cover", (200, 133), (0, 46, 200, 86)), ("30x,fit=cover", (30, 20), None),
    ("60x60,fit=exact", (60, 60), None), ("x10,fit=exact", (15, 10), None), ("120x80", (120, 80), None),
    ("120x40,fit=cover", (120, 80), (0, 20, 120, 60)), ("120x160,fit=exact", (120, 160), None),
    ("60x60,only=shrink", (60, 40), None), ("60x>", (60, 40), None), ("60x200>", (60, 40), None), ("130x40>", (60, 40), None),
    ("x100,only=shrink", (120, 80), None), ("130%>", (120, 80), None), ("50%,only=shrink", (60, 40), None),
    ("130x100>", (120, 80), None), ("60x160>,fit=exact", (60, 80), None), ("130x40,fit=exact,only=shrink", (120, 40), None),
    ("130x60>,fit=cover", (120, 80), (0, 10, 120, 70)), ("130x100,fit=cover,only=shrink", (120, 80), None)]


@pytest.mark.parametrize("value, size, crop", SIZES)
def test_sizes(tmp_path, rng, value, size, crop):
    samples = harness.random_samples(rng, Shape(120, 80, 3, "uint8"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    context = harness.run("--depth", "float", tmp_path / "in.tif", "--resize", value, tmp_path / "out.tif")
    expected = reference.through(samples, lambda planes: pillow(planes, size, crop=crop))
    harness.assert_close(harness.read_tiff(tmp_path / "out.tif").astype(float), expected, context=context)


@pytest.mark.some(3)
@pytest.mark.parametrize("memory, form", WAYS)
def test_only_shrinks(tmp_path, rng, memory, form):
    """The rule of Pillow's thumbnail() and of ImageMagick's >: a picture that fits keeps its size, and here its samples, too."""
    box = tuple(map(int, rng.integers(40, 60, 2)))
    (tmp_path / "in").mkdir()
    pictures = {}
    for i, (width, height) in enumerate([(9, 9), box, (box[0], 7), (box[0] + 1, 7), (7, box[1] + 1), (90, 80), (20, 100), (130, 20), (9, 9), (9, 9)]):
        pictures[f"{i}.tif"] = harness.random_samples(rng, Shape(width, height, 1 + i % 4, harness.TYPES[i % 3]))
        harness.write_tiff(tmp_path / "in" / f"{i}.tif", pictures[f"{i}.tif"])
    harness.run("-m", memory, "in", "--resize", f"{box[0]}x{box[1]}>", "out", cwd=tmp_path, env={"CLIMG_CLASS": form, "CLIMG_SLICE": "5"})
    for name, samples in pictures.items():
        height, width = samples.shape[:2]
        factor = min(box[0] / width, box[1] / height, 1)
        out = harness.read_tiff(tmp_path / "out" / name)
        assert out.shape[:2] == (max(1, int(factor * height + 0.5)), max(1, int(factor * width + 0.5))), name
        assert factor < 1 or np.allclose(out, samples, rtol=1e-6, atol=0), name


def test_box_between_two_samples(tmp_path, rng):
    """A box that ends at the middle of a sample has no other sample; a sample between two boxes has one of them."""
    for shape, size in ((Shape(3, 4, 4, "float32"), (1, 161)), (Shape(61, 243, 1, "float32"), (54, 14))):
        check_stage(tmp_path, rng, shape, ["--resize", f"{size[0]}x{size[1]},filter=box,fit=exact"],
                    [lambda planes: box(planes, size)])


def test_same_size_changes_nothing(tmp_path, rng):
    samples = harness.random_samples(rng, Shape(41, 30, 3, "uint16"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run(tmp_path / "in.tif", "--resize", "41x30", tmp_path / "out.png")
    assert np.array_equal(pngfile.read_png(tmp_path / "out.png").samples, samples)


def test_border_is_cut_off_whatever_the_edge(tmp_path, rng):
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(41, 30, 1, "uint8")))
    for edge in reference.EDGES:
        harness.run("--edge", edge, tmp_path / "in.tif", "--resize", "13x", tmp_path / f"{edge}.png")
    assert len({pngfile.read_png(tmp_path / f"{edge}.png").samples.tobytes() for edge in reference.EDGES}) == 1


def peak_memory(*args, cwd):
    """Bytes."""
    child = subprocess.Popen([harness.CLIMG, *map(str, args)], cwd=cwd, env={**os.environ, "CLIMG_GROUP": "1"})
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, args
    return 1024 * usage.ru_maxrss


@pytest.mark.long
def test_tables_of_a_batch_are_not_all_kept(tmp_path, rng):
    """Sizes without a limit: 80 widths would take 400 MB."""
    wide = 150000
    for i in range(80):
        for folder, width in (("same", 20), ("all", 20 + i)) if i < 8 else (("all", 20 + i),):
            (tmp_path / folder).mkdir(exist_ok=True)
            harness.write_tiff(tmp_path / folder / f"{i}.tif", harness.random_samples(rng, Shape(width, 1, 1, "float32")))
    chain = "--resize", f"{wide}x1,fit=exact"
    same = peak_memory("-j", 1, "same/", *chain, "same-out/", cwd=tmp_path)
    several = peak_memory("-j", 1, "all/", *chain, "all-out/", cwd=tmp_path)
    assert several < same + 200e6
    for i in (0, 11, 79):
        expected = pillow(harness.read_tiff(tmp_path / "all" / f"{i}.tif"), (wide, 1))
        harness.assert_close(harness.read_tiff(tmp_path / "all-out" / f"{i}.tif").astype(float), expected)


@pytest.mark.parametrize("value", ["", "0x5", "x", "5", "-5x", "5.5x7", "5x7%", "0%", "-3%", "5x7x9", ">", "5>x7", "5x7>>", "5x7,only=", "5x7,only=grow", "1e9x1", "nan%", "infx"])
def test_bad_sizes(tmp_path, rng, value):
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(4, 3, 1, "uint8")))
    result = harness.run(tmp_path / "in.tif", f"--resize={value}", tmp_path / "out.tif", status=2)
    assert "--resize" in result.err and not (tmp_path / "out.tif").exists()


def test_too_large(tmp_path, rng):
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(200, 3, 1, "uint8")))
    result = harness.run(tmp_path / "in.tif", "--resize=1000000%", tmp_path / "out.tif", status=1)
    assert "2000000x30000" in result.err and "1048576" in result.err
