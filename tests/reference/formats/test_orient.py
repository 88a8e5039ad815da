"""--auto-orient, and stages that turn a picture first: pixels lie as its orientation says, by Pillow's understanding of that."""

import struct

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageOps

import harness
import pngfile


def upright(samples, orientation):
    """Turns a picture with Pillow, one channel at a time, as it has no 16-bit RGB."""
    def turn(plane):
        image = Image.fromarray(plane.astype(np.int32))
        image.getexif()[274] = orientation
        return np.asarray(ImageOps.exif_transpose(image)).astype(samples.dtype)
    return np.stack([turn(samples[..., c]) for c in range(samples.shape[2])], axis=-1)


def exif(**tags):
    data = Image.Exif()
    for tag, value in tags.items():
        data[int(tag[1:])] = value
    return data.tobytes()[6:]


def write(path, samples, orientation, **options):
    if path.suffix == ".png":
        pngfile.write_png(path, samples, chunks=[("eXIf", exif(t274=orientation))], **options)
    else:
        harness.write_tiff(path, samples, extratags=[(274, "H", 1, orientation, True)], **options)


@pytest.mark.some(8)
@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_orientations(tmp_path, rng, suffix, orientation):
    channels, dtype = int(rng.integers(1, 5)), str(rng.choice(["uint8", "uint16"]))
    samples = harness.random_samples(rng, harness.Shape(int(rng.integers(1, 60)), int(rng.integers(1, 60)), channels, dtype))
    write(tmp_path / f"in{suffix}", samples, orientation)
    harness.run(tmp_path / f"in{suffix}", "--auto-orient", tmp_path / f"out{suffix}", env={"CLIMG_SLICE": "7"})
    assert np.array_equal(harness.read_samples(tmp_path / f"out{suffix}"), upright(samples, orientation))
    if suffix == ".tif":
        assert harness.tiff_tags(tmp_path / "out.tif").get(274, 1) == 1
    else:
        with Image.open(tmp_path / "out.png") as image:
            assert image.getexif().get(274, 1) == 1
    harness.run(tmp_path / f"in{suffix}", tmp_path / f"out{suffix}")
    assert np.array_equal(harness.read_samples(tmp_path / f"out{suffix}"), samples)


@pytest.mark.some(4)
@pytest.mark.parametrize("stages, matters", [
    (["--blur", "1"], False), (["--resize", "50%"], False), (["--scale", "2"], False), (["--rotate", "90"], True), (["--resize", "10x10,fit=cover"], True),
    (["--resize", "9x7,fit=exact"], True), (["--warp", "1 0 2 0 1 0"], True), (["--blur", "1", "--crop", "10x10"], True), (["--wavelet=1"], True)], ids=str)
@pytest.mark.parametrize("option", ["", "--auto-orient", "--stored-orientation"])
def test_stages_that_turn_first(tmp_path, rng, stages, matters, option):
    """If their parameters are meant for what is seen; other chains keep rows and orientation. -v says which."""
    write(tmp_path / "in.png", harness.random_samples(rng, harness.Shape(40, 20, 3, "uint8")), 6)
    said = harness.run("-v", *[option] * (option != ""), tmp_path / "in.png", *stages, tmp_path / "out.png").err
    turns = option == "--auto-orient" or (matters and not option)
    assert ("is turned first, as its orientation is 6" in said) == turns
    assert ("; --stored-orientation takes it as it is stored" in said) == (turns and not option)
    with Image.open(tmp_path / "out.png") as image:
        assert image.getexif().get(274, 1) == (1 if turns else 6)


# Each with the same operation on what Pillow shows.
OPERATIONS = [(["--crop", "9x11+2+3"], lambda image: image.crop((2, 3, 11, 14))),
              (["--flip", "h"], ImageOps.mirror),
              (["--flip", "v", "--rotate", "90"], lambda image: ImageOps.flip(image).transpose(Image.Transpose.ROTATE_270)),
              (["--extend", "50x60+1+2"], lambda image: ImageOps.expand(image, (1, 2, 49 - image.width, 58 - image.height))),
              (["--resize", "17x,filter=bilinear"], lambda image: image.resize((17, (34 * image.height + image.width) // (2 * image.width)), Image.Resampling.BILINEAR)),
              (["--invert", "--resize", "15x25,fit=exact,filter=box"], lambda image: ImageOps.invert(image).resize((15, 25), Image.Resampling.BOX))]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", [".jpg", ".png", ".tif"])
def test_geometry_of_what_is_seen(tmp_path, rng, suffix, orientation):
    """As vips thumbnail, sips and web tools do: EXIF's orientation in JPEG and PNG, and TIFF's tag."""
    samples = harness.random_samples(rng, harness.Shape(40, 32, 3, "uint8"))
    path = tmp_path / f"in{suffix}"
    if suffix == ".jpg":
        Image.fromarray(samples).save(path, quality=95, subsampling=0, exif=b"Exif\0\0" + exif(t274=orientation))
        with Image.open(path) as image:
            seen = ImageOps.exif_transpose(image)
    else:
        write(path, samples, orientation)
        seen = Image.fromarray(upright(samples, orientation))
    for stages, operation in OPERATIONS:
        expected = np.asarray(operation(seen)).astype(int)
        harness.run("-y", path, *stages, tmp_path / "out.png", env={"CLIMG_SLICE": "7"})
        made = harness.read_samples(tmp_path / "out.png")
        assert made.shape == expected.shape, stages
        assert np.abs(made - expected).max() <= ("--resize" in stages), stages
        with Image.open(tmp_path / "out.png") as image:
            assert image.getexif().get(274, 1) == 1


def test_stored_and_seen_exclude_each_other():
    said = harness.run("in.png", "--auto-orient", "--stored-orientation", "out.png", status=2).err
    assert "--auto-orient and --stored-orientation cannot be used together" in said


def test_stages_work_on_what_is_seen(tmp_path, rng):
    samples = harness.random_samples(rng, harness.Shape(40, 21, 3, "uint8"))
    write(tmp_path / "in.png", samples, 6)
    harness.run(tmp_path / "in.png", "--auto-orient", "--scale", "2,filter=nearest", tmp_path / "out.png")
    expected = upright(samples, 6).repeat(2, axis=0).repeat(2, axis=1)
    assert np.array_equal(harness.read_samples(tmp_path / "out.png"), expected)


@pytest.mark.parametrize("orientation", [1, 5, 6, 8])
def test_left_and_top_are_those_of_what_is_stored_or_seen(tmp_path, rng, orientation):
    """Of what is seen, but with --stored-orientation, wherever that is written."""
    samples = harness.random_samples(rng, harness.Shape(40, 21, 3, "uint8"))
    write(tmp_path / "in.png", samples, orientation)
    seen, stored = upright(samples, orientation), ["--stored-orientation"]
    for picture, before, behind in ((samples, stored, []), (samples, [], stored), (seen, ["--auto-orient"], []), (seen, [], [])):
        for stage, expected in ((["--crop", "9x11+2+3"], picture[3:14, 2:11]), (["--flip", "h"], picture[:, ::-1]),
                                (["--extend", "50x60+1+2"], np.pad(picture, ((2, 58 - len(picture)), (1, 49 - picture.shape[1]), (0, 0))))):
            harness.run("-y", tmp_path / "in.png", *before, *stage, *behind, tmp_path / "out.png")
            assert np.array_equal(harness.read_samples(tmp_path / "out.png"), expected), (stage, before, behind)


def test_pages_each_their_own_way(tmp_path, rng):
    pages = [harness.random_samples(rng, harness.Shape(30, 20, 1, "uint8")) for _ in range(3)]
    with tifffile.TiffWriter(tmp_path / "in.tif") as tiff:
        for page, orientation in zip(pages, (1, 6, 3)):
            tiff.write(page[..., 0], photometric="minisblack", metadata=None, extratags=[(274, "H", 1, orientation, True)])
    harness.run(tmp_path / "in.tif", "--auto-orient", tmp_path / "out.tif")
    for made, page, orientation in zip(harness.read_pages(tmp_path / "out.tif"), pages, (1, 6, 3)):
        assert np.array_equal(made, upright(page, orientation))


def test_what_is_said_of_it_turns(tmp_path, rng):
    """Resolutions, and tifffile's shape and places on earth go: these are of the picture as it lay."""
    samples = rng.integers(0, 256, (20, 30), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "in.tif", samples, resolution=(100, 200), extratags=[
        (274, "H", 1, 6, True), (33550, "d", 3, (1.0, 1.0, 0.0), True), (33922, "d", 6, (0.0,) * 6, True)])
    harness.run(tmp_path / "in.tif", "--auto-orient", tmp_path / "out.tif")
    made = tifffile.imread(tmp_path / "out.tif")
    assert np.array_equal(made, upright(samples[..., None], 6)[..., 0])
    tags = harness.tiff_tags(tmp_path / "out.tif")
    assert tags[282][0] / tags[282][1] == 200 and tags[283][0] / tags[283][1] == 100 and tags.get(274, 1) == 1
    assert not {270, 33550, 33922, 34264} & set(tags)


def test_range_and_orientation_together(tmp_path, rng):
    """Both read the file more than once."""
    samples = rng.integers(10, 90, (20, 30, 1)).astype(np.uint8)
    samples[0, 0], samples[1, 1] = 10, 90
    write(tmp_path / "in.png", samples, 6)
    harness.run(tmp_path / "in.png", "--auto-orient", "--range", "auto", tmp_path / "out.png")
    exact = (upright(samples, 6).astype(float) - 10) / 80 * 255
    assert np.abs(harness.read_samples(tmp_path / "out.png") - exact).max() < 0.51


@pytest.mark.parametrize("orientation", [2, 3, 6, 8])
def test_taps_and_tiles_along_x_of_what_is_seen(tmp_path, rng, orientation):
    samples = harness.random_samples(rng, harness.Shape(31, 22, 1, "uint8"))
    write(tmp_path / "in.tif", samples, orientation)
    write(tmp_path / "seen.tif", upright(samples, orientation), 1)
    for stage in (["--convolve", "1 2 5 / 3 1"], ["--local-contrast=3,tiles=2x5"]):
        for name in ("in", "seen"):
            harness.run("-y", f"{name}.tif", *stage, f"{name}.out.tif", cwd=tmp_path)
        assert np.array_equal(harness.read_tiff(tmp_path / "in.out.tif"), harness.read_tiff(tmp_path / "seen.out.tif"))
