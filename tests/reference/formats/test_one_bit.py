"""--depth 1: bits of PNG, TIFF and PBM as Pillow, tifffile, netpbm and libvips read them."""

import io
import shutil
import subprocess

import numpy as np
import pytest
import tifffile
from PIL import Image

import harness

OUTPUTS = [("out.png", []), ("out.tif", []), ("out.pbm", []), ("out.pnm", []), ("flat.tif", ["--compression", "none"]),
           ("deflate.tif", ["--compression", "6"]), ("best.png", ["--compression", "9"]), ("none.png", ["--compression", "none"])]
FAX = 4  # TIFF's Compression


def black_and_white(rng, width, height):
    """Blobs, so that fax codes have runs of many lengths; True is white."""
    rows = np.repeat(rng.random((height, width // 7 + 1)) < 0.5, 7, axis=1)[:, :width]
    return rows | (rng.random((height, width)) < 0.1)


@pytest.mark.some(3)
@pytest.mark.parametrize("width, height", [(1, 1), (7, 3), (8, 9), (129, 60), (3001, 700)])
def test_readers_see_the_same(tmp_path, rng, width, height):
    picture = black_and_white(rng, width, height)
    harness.write_tiff(tmp_path / "in.tif", picture.astype(np.uint8)[..., None] * 255)
    for name, more in OUTPUTS:
        harness.run("in.tif", "--depth", "1", *more, name, cwd=tmp_path)
        with Image.open(tmp_path / name) as seen:
            assert seen.mode == "1" and np.array_equal(np.asarray(seen), picture), name
        harness.run(name, "back.tif", "-y", cwd=tmp_path)
        assert np.array_equal(harness.read_tiff(tmp_path / "back.tif")[..., 0], picture * np.uint8(255)), name
        if shutil.which("vips"):
            subprocess.run(["vips", "copy", name, "vips.pgm"], cwd=tmp_path, check=True)
            assert np.array_equal(np.asarray(Image.open(tmp_path / "vips.pgm").convert("L")) > 0, picture), name
    assert (tmp_path / "out.pbm").read_bytes() == subprocess.run(
        ["pamtopnm", tmp_path / "out.pbm"], stdout=subprocess.PIPE, check=True).stdout
    # tifffile returns the bits as they are; 0 is white.
    for name in ("flat.tif", "deflate.tif"):
        assert np.array_equal(tifffile.imread(tmp_path / name).reshape(picture.shape) == 0, picture)


def test_fax_page_is_one_strip(tmp_path, rng):
    """As programs that put its codes into a PDF want it."""
    harness.write_tiff(tmp_path / "in.tif", black_and_white(rng, 2480, 3508).astype(np.uint8)[..., None] * 255)
    harness.run("in.tif", "--depth", "1", "out.tif", cwd=tmp_path)
    with tifffile.TiffFile(tmp_path / "out.tif") as file:
        page = file.pages[0]
        assert (page.compression, page.photometric, page.bitspersample, len(page.dataoffsets)) == (FAX, 0, 1, 1)


def test_pages_and_pipes(tmp_path, rng):
    pages = [black_and_white(rng, 61, 40) for _ in range(3)]
    with tifffile.TiffWriter(tmp_path / "in.tif") as file:
        for page in pages:
            file.write(page.astype(np.uint8) * 255, photometric="minisblack")
    harness.run("in.tif", "--depth", "1", "out.tif", cwd=tmp_path)
    harness.run_shell("climg in.tif --depth 1 -f pbm - >out.pbm && climg out.pbm -f tif --depth 1 - >back.tif", cwd=tmp_path)
    for name in ("out.tif", "back.tif"):
        with Image.open(tmp_path / name) as seen:
            assert seen.n_frames == 3
            for number, page in enumerate(pages):
                seen.seek(number)
                assert np.array_equal(np.asarray(seen), page)


def test_pnm_becomes_pbm(tmp_path, rng):
    """A pipe has no name that says PBM."""
    picture = black_and_white(rng, 61, 40)
    for mode, name in (("1", "in.pbm"), ("L", "in.pgm"), ("RGB", "in.ppm")):
        Image.fromarray(picture).convert(mode).save(tmp_path / name)
        done = harness.run(tmp_path / name, *(["--gray"] if mode == "RGB" else []), "--depth", "1", "-")
        assert done.out.startswith(b"P4\n61 40\n") and len(done.out) == 9 + 40 * 8
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(done.out))), picture)


@pytest.mark.parametrize("type", ["uint8", "uint16", "float32"])
def test_every_threshold_in_slices_and_groups(tmp_path, rng, type):
    samples = (rng.random((90, 70, 1)) * (1 if type == "float32" else np.iinfo(type).max)).astype(type)
    (tmp_path / "in").mkdir()
    for name in "ab":
        harness.write_tiff(tmp_path / "in" / f"{name}.tif", samples)
    harness.run("in", "--threshold", "30%", "-f", "png", "--depth", "8", "eight", cwd=tmp_path)
    for slices in ("7", "1000"):
        harness.run("in", "--threshold", "30%", "-f", "png", "--depth", "1", "-y", "one", cwd=tmp_path, env={"CLIMG_SLICE": slices})
        for name in "ab":
            expected = np.asarray(Image.open(tmp_path / "eight" / f"{name}.png"))
            assert np.array_equal(np.asarray(Image.open(tmp_path / "one" / f"{name}.png")), expected > 0)


def test_advice_for_alpha(tmp_path, rng):
    """It works: --gray alone would keep alpha."""
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (9, 11, 4)).astype(np.uint8))
    said = harness.run("in.tif", "--depth", "1", "out.png", cwd=tmp_path, status=1).err
    assert "write PNM first" in said and "--gray" not in said
    harness.run("in.tif", "white.pnm", cwd=tmp_path)
    harness.run("white.pnm", "--gray", "--threshold", "otsu", "--depth", "1", "out.png", cwd=tmp_path)
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (9, 11, 4)).astype(np.uint8), extrasamples=["unspecified"])
    assert "--gray --threshold otsu" in harness.run("in.tif", "--depth", "1", "two.png", cwd=tmp_path, status=1).err
    harness.run("in.tif", "--gray", "--threshold", "otsu", "--depth", "1", "two.png", cwd=tmp_path)
