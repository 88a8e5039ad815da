"""--auto-orient: pixels lie as the file's orientation says they are to be seen, by Pillow's understanding of it."""

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


@pytest.mark.some(3)
@pytest.mark.parametrize("stages, matters", [
    (["--blur", "1"], False), (["--resize", "50%"], False), (["--rotate", "90"], True), (["--resize", "10x10,fit=cover"], True),
    (["--resize", "9x7,fit=exact"], True), (["--wavelet=1"], True)], ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_what_is_stored_on_its_side_is_said(tmp_path, rng, stages, matters, turned):
    """If the chain depends on the orientation, and the picture is not turned first."""
    write(tmp_path / "in.png", harness.random_samples(rng, harness.Shape(40, 20, 3, "uint8")), 6)
    said = harness.run("-v", *["--auto-orient"] * turned, tmp_path / "in.png", *stages, tmp_path / "out.png").err
    assert ("has orientation 6 and is processed as it is stored" in said and "; --auto-orient turns it first" in said) == (matters and not turned)


def test_stages_work_on_what_is_seen(tmp_path, rng):
    samples = harness.random_samples(rng, harness.Shape(40, 21, 3, "uint8"))
    write(tmp_path / "in.png", samples, 6)
    harness.run(tmp_path / "in.png", "--auto-orient", "--scale", "2,filter=nearest", tmp_path / "out.png")
    expected = upright(samples, 6).repeat(2, axis=0).repeat(2, axis=1)
    assert np.array_equal(harness.read_samples(tmp_path / "out.png"), expected)


@pytest.mark.parametrize("orientation", [1, 5, 6, 8])
def test_left_and_top_are_those_of_what_is_stored_or_seen(tmp_path, rng, orientation):
    """With --auto-orient of what is seen, wherever it stands."""
    samples = harness.random_samples(rng, harness.Shape(40, 21, 3, "uint8"))
    write(tmp_path / "in.png", samples, orientation)
    for picture, before, behind in ((samples, [], []), (upright(samples, orientation), ["--auto-orient"], []),
                                    (upright(samples, orientation), [], ["--auto-orient"])):
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
