"""--deskew and --rotate auto: generated pages of known angle, pages without one, and that the rest is --rotate."""

import os
import re

import numpy as np
import pytest
import tifffile
from PIL import Image

import harness
import scanned

# CLIMG_TEST_PAGES=200: all that is claimed in docs/limits.md; takes a quarter of an hour.
PAGES = int(os.environ.get("CLIMG_TEST_PAGES", 10))


def angles(said):
    """{name: degrees}, and the names with a warning."""
    found = {name: float(degrees) for name, degrees in re.findall(r"(\w+)\.\w+: found: turned by (-?[\d.]+) degrees", said)}
    return found, set(re.findall(r"(\w+)\.\w+: warning: has no lines with a clear angle", said))


def test_generated_pages(tmp_path, rng):
    """Within 0.1 degrees on 97%; none wrong by more than 0.3 without a warning."""
    (tmp_path / "in").mkdir()
    truth = {}
    for number in range(PAGES):
        samples, truth[f"p{number}"] = scanned.make_page(rng, dpi=None if PAGES > 10 else int(rng.choice([150, 200])))
        Image.fromarray(samples).save(tmp_path / "in" / f"p{number}.{'jpg' if number % 2 else 'png'}", quality=90)
    done = harness.run("-v", "in", "--deskew", "out", cwd=tmp_path)
    found, unclear = angles(done.err)
    apart = {name: abs(found[name] + degrees) for name, degrees in truth.items() if name in found and name not in unclear}
    assert not {name: (error, truth[name]) for name, error in apart.items() if error > 0.3}
    assert sum(error <= 0.1 for error in apart.values()) >= 0.97 * PAGES - (PAGES < 100), (apart, unclear)


def test_blocks_of_a_jpeg_are_no_lines(tmp_path):
    """Pale text in strong noise, at low quality: the rows of blocks are lines at 0 degrees. Always the same page."""
    rng = np.random.default_rng(3)
    page = scanned.make_page(rng, dpi=150, degrees=9.0)[0].astype(float)
    page = page.mean(axis=2) if page.ndim == 3 else page
    down = np.linspace(0, 1, page.shape[0])[:, None]
    page = 110 + (page - page.mean()) * 0.06 + 70 / (1 + np.exp(-(down - 0.3) * 30)) + rng.normal(0, 8, page.shape)
    Image.fromarray(np.clip(page, 0, 255).astype(np.uint8)).save(tmp_path / "in.jpg", quality=40)
    found, unclear = angles(harness.run("-v", "in.jpg", "--deskew", "out.png", cwd=tmp_path).err)
    assert unclear == {"in"} or abs(found["in"] + 9) < 0.3


@pytest.mark.parametrize("most", [1, 2, 3])
def test_small_limits(tmp_path, rng, most):
    """The angle is judged by all scores up to 15 degrees, as those near the best one are all high. Keys may precede auto."""
    Image.fromarray(scanned.make_page(rng, dpi=100, degrees=0.7)[0]).save(tmp_path / "in.png")
    found, unclear = angles(harness.run("-v", "in.png", f"--deskew={most}", "out.png", cwd=tmp_path).err)
    assert not unclear and abs(found["in"] + 0.7) < 0.1
    found, unclear = angles(harness.run("-v", "in.png", "--rotate", "crop=inside,auto", "out.png", "-y", cwd=tmp_path).err)
    assert not unclear and abs(found["in"] + 0.7) < 0.1


def test_the_rest_is_a_rotation(tmp_path, rng):
    samples, degrees = scanned.make_page(rng, dpi=100, degrees=2.7)
    Image.fromarray(samples).save(tmp_path / "in.png")
    found, _ = angles(harness.run("-v", "in.png", "--deskew", "out.png", cwd=tmp_path).err)
    assert abs(found["in"] + degrees) < 0.1
    for value, same in (("--deskew", f"{found['in']:.3f},crop=same"), ("--rotate=auto", f"{found['in']:.3f}"),
                        ("--rotate=auto,crop=inside,filter=bilinear", f"{found['in']:.3f},crop=inside,filter=bilinear")):
        for slices in ("40", "5000"):
            env = {"CLIMG_SLICE": slices}
            harness.run("-y", "in.png", "--gray", value, "--blur", "1", "a.png", cwd=tmp_path, env=env)
            harness.run("-y", "in.png", "--gray", f"--rotate={same}", "--blur", "1", "b.png", cwd=tmp_path)
            assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")), np.asarray(Image.open(tmp_path / "b.png"))), value


@pytest.mark.some(2)
@pytest.mark.parametrize("edge", ["clamp", "mirror", "zero"])
@pytest.mark.parametrize("shape", [(70, 90, 1), (19, 130, 3), (150, 21, 1)])
def test_same_size_in_slices(tmp_path, rng, shape, edge):
    """Slices change nothing, also where corners are mirrored several times."""
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, shape).astype(np.uint8))
    for degrees in ("3", "-14", "44", "-80", "135"):
        for crop in ("same", "inside"):
            outputs = []
            for slices in ("1", "8", "5000"):
                harness.run("-y", "in.tif", "--edge", edge, f"--rotate={degrees},crop={crop}", "out.tif", cwd=tmp_path,
                            env={"CLIMG_SLICE": slices, "CLIMG_POISON": "1"})
                outputs.append(harness.read_tiff(tmp_path / "out.tif"))
            assert all(np.array_equal(outputs[0], other) for other in outputs), (degrees, crop)
            assert crop == "inside" or outputs[0].shape == shape


def test_pages_without_an_angle_stay(tmp_path, rng):
    (tmp_path / "in").mkdir()
    paper = 220 + 5 * rng.normal(size=(700, 500))
    Image.fromarray(np.clip(paper, 0, 255).astype(np.uint8)).save(tmp_path / "in" / "paper.png")
    Image.fromarray(np.full((300, 200), 90, np.uint8)).save(tmp_path / "in" / "flat.png")
    Image.fromarray(rng.integers(0, 256, (5, 9)).astype(np.uint8)).save(tmp_path / "in" / "tiny.png")
    floats = rng.normal(size=(90, 80, 1)).astype(np.float32)
    floats[10:20], floats[30:40], floats[50:60, ::2], floats[61] = np.nan, np.inf, 3e38, -3e38
    harness.write_tiff(tmp_path / "in" / "huge.tif", floats)
    found, kept = angles(harness.run("-v", "in", "--deskew", "out", cwd=tmp_path).err)
    # The bands of the last picture are level, within a pixel over its width.
    assert kept - {"huge"} == {"paper", "flat", "tiny"} and set(found) <= {"huge"} and abs(found.get("huge", 0)) < 0.8, (found, kept)
    for name in ("paper", "flat", "tiny"):
        assert np.array_equal(np.asarray(Image.open(tmp_path / "out" / f"{name}.png")), np.asarray(Image.open(tmp_path / "in" / f"{name}.png")))


def test_transparent_paper(tmp_path, rng):
    """Black text that is opaque, on transparent paper, without white."""
    samples, degrees = scanned.make_page(rng, dpi=100, degrees=-1.8)
    black = np.zeros((*samples.shape, 4), np.uint8)
    black[..., 3] = 255 - samples
    Image.fromarray(black).save(tmp_path / "in.png")
    found, unclear = angles(harness.run("-v", "in.png", "--deskew", "out.png", cwd=tmp_path).err)
    assert not unclear and abs(found["in"] + degrees) < 0.1


def test_each_page_of_a_file(tmp_path, rng):
    pages = [scanned.make_page(rng, dpi=100, degrees=degrees)[0] for degrees in (1.5, -3.0)]
    with tifffile.TiffWriter(tmp_path / "in.tif") as file:
        for page in pages:
            file.write(page, photometric="minisblack")
    harness.run("in.tif", "--deskew", "out.tif", cwd=tmp_path)
    for number, page in enumerate(pages):
        Image.fromarray(page).save(tmp_path / "one.png")
        harness.run("-y", "one.png", "--deskew", "one.out.png", cwd=tmp_path)
        assert np.array_equal(tifffile.imread(tmp_path / "out.tif", key=number), np.asarray(Image.open(tmp_path / "one.out.png")))


@pytest.mark.parametrize("form", ["jpg", "png", "tif", "webp", "ppm"])
def test_pipes(tmp_path, form):
    """A pipe gives the bytes that the file gives, for each page and with several measured stages."""
    chain = ["--deskew", "--trim=8%"]
    harness.run(harness.ROOT / "samples" / "page.jpg", f"in.{form}", cwd=tmp_path)
    if form == "tif":  # two pages, the second turned by another angle
        with tifffile.TiffWriter(tmp_path / "in.tif") as file:
            for degrees in (0, 2):
                file.write(np.asarray(Image.open(harness.ROOT / "samples" / "page.jpg").rotate(degrees)))
    harness.run(f"in.{form}", *chain, "-f", form, "-o", "file", cwd=tmp_path)
    piped = harness.run("-", *chain, "-f", form, "-o", "-", cwd=tmp_path, stdin=(tmp_path / f"in.{form}").read_bytes())
    assert piped.out == (tmp_path / "file").read_bytes()


def test_video_and_merges_are_refused(tmp_path):
    (tmp_path / "in.y4m").write_bytes(b"YUV4MPEG2 W8 H8 F1:1 C420\nFRAME\n" + bytes(96))
    assert "does not work on video" in harness.run("in.y4m", "--rotate", "auto", "out.y4m", cwd=tmp_path, status=1).err
    harness.run(harness.ROOT / "samples" / "page.jpg", "in.png", cwd=tmp_path)
    said = harness.run("in.png", "in.png", "--stack", "mean", "--deskew", "out.png", cwd=tmp_path, status=1).err
    assert "is no file that can be read twice, as --deskew does" in said


def test_pages_beyond_the_limit_stay(tmp_path):
    """A page that is turned by more than 15 degrees has side lobes below them: of these, one of 19 degrees was turned by 15."""
    page = Image.open(harness.SAMPLES / "page.jpg").convert("L")
    (tmp_path / "in").mkdir()
    for degrees in range(16, 23):
        turned = page.rotate(degrees, Image.BICUBIC, fillcolor=230)
        turned.thumbnail((300, 300))
        turned.save(tmp_path / "in" / f"p{degrees}.png")
    found, unclear = angles(harness.run("-v", "in", "--deskew", "out", cwd=tmp_path).err)
    assert not found and len(unclear) == 7
