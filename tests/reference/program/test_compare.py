"""--compare: PSNR and SSIM as scikit-image computes them, the largest difference, diff=FILE, folders, exit statuses."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest
import tifffile
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

import harness
import pngfile

FULL = {"uint8": 255, "uint16": 65535, "float32": 1}


def compare(*args, status=0, cwd=None):
    names, option = args[:-1], f"{args[-1]},form=json"
    done = harness.run(*names, "--compare", option, cwd=cwd, status=status)
    return [json.loads(line) for line in done.out.splitlines()]


def pair(rng, shape):
    """A smooth picture with noise, and the same one a little changed."""
    rough = rng.uniform(0, 1, (shape.height // 4 + 2, shape.width // 4 + 2, shape.channels))
    a = np.kron(rough, np.ones((4, 4, 1)))[:shape.height, :shape.width] * 0.8 + rng.uniform(0, 0.2, (shape.height, shape.width, shape.channels))
    b = a * rng.uniform(0.7, 1) + rng.normal(0, rng.choice([0.001, 0.02, 0.2]), a.shape)
    full = FULL[shape.dtype]
    return [(np.clip(v, 0, 1) * full).round().astype(shape.dtype) if full > 1 else v.astype(np.float32) for v in (a, b)]


def test_hundred_pairs_agree_with_scikit_image(tmp_path, rng):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    pairs = {}
    for i in range(100):
        width, height = rng.integers(11, 70, 2)
        if i < 4:
            width, height = [(11, 11), (12, 40), (40, 11), (600, 13)][i]
        shape = harness.Shape(int(width), int(height), int(rng.integers(1, 5)), list(FULL)[i % 3])
        pairs[f"{i:03}.tif"] = samples = pair(rng, shape)
        for name, each in zip("ab", samples):
            harness.write_tiff(tmp_path / name / f"{i:03}.tif", each)
    found = compare("a/", "b", cwd=tmp_path, status=4)
    assert [line["picture"]["file"] for line in found] == [f"a/{name}" for name in pairs]
    for line, (a, b) in zip(found, pairs.values()):
        full, (a, b) = FULL[a.dtype.name], (a.astype(float), b.astype(float))
        psnr = [peak_signal_noise_ratio(a[..., c], b[..., c], data_range=full) for c in range(a.shape[2])]
        ssim = [structural_similarity(a[..., c], b[..., c], data_range=full, gaussian_weights=True, sigma=1.5, use_sample_covariance=False)
                for c in range(a.shape[2])]
        assert np.allclose(line["psnr_channels"], psnr, rtol=0, atol=1e-4) and np.isclose(line["psnr"], min(psnr), atol=1e-4)
        assert np.allclose(line["ssim_channels"], ssim, rtol=0, atol=1e-4) and np.isclose(line["ssim"], np.mean(ssim), atol=1e-4)
        difference = np.abs(a - b)
        largest = line["largest"]
        names = ["gray", "alpha"] if a.shape[2] < 3 else ["red", "green", "blue", "alpha"]
        where = (largest["y"], largest["x"], names.index(largest["channel"]))
        assert np.isclose(largest["difference"], difference.max(), rtol=1e-6) and difference[where] == difference.max()
        assert not line["equal"] and not line["passes"] and largest["page"] == 1


def test_sizes_below_a_window_have_no_ssim(tmp_path, rng):
    for name in ("a.png", "b.png"):
        pngfile.write_png(tmp_path / name, rng.integers(0, 256, (10, 50, 1), dtype=np.uint8))
    line, = compare("a.png", "b.png", cwd=tmp_path, status=4)
    assert line["ssim"] is None and line["ssim_channels"] == [None] and line["psnr"] > 0


def test_exit_statuses(tmp_path, rng):
    a = rng.integers(0, 200, (40, 30, 3), dtype=np.uint8)
    b = a.copy()
    b[7, 9, 2] += 30
    pngfile.write_png(tmp_path / "a.png", a)
    pngfile.write_png(tmp_path / "b.png", b)
    pngfile.write_png(tmp_path / "gray.png", a[..., :1])
    pngfile.write_png(tmp_path / "small.png", a[:, :20])
    harness.write_tiff(tmp_path / "deep.tif", a.astype(np.uint16) * 257)
    (tmp_path / "broken.png").write_bytes(b"broken")
    psnr = peak_signal_noise_ratio(a[..., 2], b[..., 2])
    for name, value, status, message in (
            ("a.png", "a.png", 0, ""), ("a.png", "deep.tif", 0, ""), ("a.png", "b.png", 4, "a.png and b.png differ\n"),
            ("a.png", f"b.png,min-psnr={psnr - 0.01}", 0, ""),
            ("a.png", f"b.png,min-psnr={psnr + 0.01}", 4, "a.png and b.png differ by more than min-psnr allows\n"),
            ("a.png", "gray.png,min-psnr=1", 4, "a.png and gray.png differ: the channels differ: RGB and gray\n"),
            ("a.png", "small.png,min-psnr=1", 4, "a.png and small.png differ: the sizes differ: 30 x 40 and 20 x 40\n"),
            ("a.png", "none.png", 1, "none.png: cannot open: No such file or directory\n"), ("broken.png", "a.png", 1, None),
            ("a.png", "a.png,min-psnr=x", 2, None)):
        done = harness.run(name, "--compare", value, cwd=tmp_path, status=status)
        assert message is None or done.err == (f"climg: {message}" if message else "")
    done = harness.run("a.png", "--compare", "b.png", cwd=tmp_path, status=4)
    assert done.out.decode().splitlines() == [
        "a.png: 30 x 40, RGB, 8 bit", "b.png: 30 x 40, RGB, 8 bit", f"  PSNR in dB: red equal, green equal, blue {psnr:.2f}",
        done.out.decode().splitlines()[3], "  largest difference: 30 of 255, blue at 9,7"]
    assert harness.run("-q", "a.png", "--compare", "b.png", cwd=tmp_path, status=4).out == b""
    for words in (("a.png", "--compare", "b.png", "--blur", "2"), ("a.png", "--compare", "b.png", "-o", "c.png"),
                  ("a.png", "--compare", "b.png", "--info"), ("a.png", "--compare", "b.png,diff=a.png"),
                  ("a.png", "--compare", "b.png,diff=b.png"), ("a.png", "b.png", "--compare", "b.png,diff=c.png"),
                  ("a.png", "--compare", "b.png,diff=c.gif")):
        harness.run(*words, cwd=tmp_path, status=2)
    assert np.array_equal(pngfile.read_png(tmp_path / "a.png").samples, a) and not (tmp_path / "c.png").exists()


@pytest.mark.parametrize("dtype", FULL)
def test_picture_of_the_differences(tmp_path, rng, dtype):
    a, b = pair(rng, harness.Shape(50, 400, 4, dtype))
    harness.write_tiff(tmp_path / "a.tif", a)
    harness.write_tiff(tmp_path / "b.tif", b)
    harness.run("a.tif", "--compare", "b.tif,diff=d.tif", cwd=tmp_path, status=4)
    expected = np.abs(a.astype(float) - b.astype(float))[..., :3]
    found = harness.read_tiff(tmp_path / "d.tif")
    assert found.dtype == a.dtype and np.allclose(found, expected, rtol=1e-6, atol=0)
    harness.run("a.tif", "--compare", "b.tif,diff=d.pfm", cwd=tmp_path, status=4)  # samples with more bytes than the input's
    harness.run("d.pfm", "--compare", "d.tif,min-psnr=120", cwd=tmp_path)


def test_floats_that_are_no_numbers(tmp_path, rng):
    a = rng.uniform(0, 4095, (40, 50, 1)).astype(np.float32)
    a[3, 4], a[5, 6] = np.nan, np.inf
    harness.write_tiff(tmp_path / "a.tif", a)
    assert compare("a.tif", "a.tif", cwd=tmp_path)[0]["equal"]
    b = a.copy()
    b[7, 8], b[20, 20] = np.nan, b[20, 20] + 10
    harness.write_tiff(tmp_path / "b.tif", b)
    line, = compare("a.tif", "b.tif,min-psnr=1,peak=4095", cwd=tmp_path, status=4)
    assert line["unmatched"] == [1] and np.isclose(line["largest"]["difference"], 10, rtol=1e-4)
    only = np.where(np.isfinite(a), a, 0)
    harness.write_tiff(tmp_path / "c.tif", only)
    done = harness.run("a.tif", "--compare", "c.tif", cwd=tmp_path, status=4).out.decode().splitlines()
    assert done[2:] == ["  PSNR in dB: gray equal elsewhere", done[3], "  NaN or infinite in one only: 2 in gray"]
    done = harness.run("a.tif", "c.tif", "--compare", "c.tif", cwd=tmp_path, status=4).out.decode().splitlines()
    assert done[1:] == ["differs                       a.tif", "   equal                      c.tif"]
    rest = np.isfinite(b)
    assert np.isclose(line["psnr"], 10 * np.log10(4095**2 * (a.size - 1) / np.square(a[rest].astype(float) - b[rest]).sum()), atol=1e-4)


def test_standard_input_as_the_reference(tmp_path):
    """It has a name in messages, and is read once."""
    for name, value in ("a.png", 1), ("b.png", 2):
        pngfile.write_png(tmp_path / name, np.full((4, 4, 1), value, np.uint8))
    data = (tmp_path / "a.png").read_bytes()
    assert b"\nstandard input: 4 x 4" in harness.run("a.png", "--compare", "-", stdin=data, cwd=tmp_path).out
    run = harness.run("b.png", "--compare", "-", stdin=data, cwd=tmp_path, status=4)
    assert "b.png and standard input differ" in run.err
    for inputs in ["a.png", "b.png"], ["-"], ["--files-from", "-"]:
        run = harness.run(*inputs, "--compare", "-", stdin=b"a.png", cwd=tmp_path, status=2)
        assert "stdin can be read only once" in run.err


def test_folder_of_links(tmp_path, rng):
    """Links in the reference folder may lead to other folders, although climg is confined."""
    for name in "in", "elsewhere", "reference", "tmp":
        (tmp_path / name).mkdir()
    pngfile.write_png(tmp_path / "in/a.png", rng.integers(0, 256, (4, 4, 1), dtype=np.uint8))
    shutil.copy(tmp_path / "in/a.png", tmp_path / "elsewhere")
    os.symlink("../elsewhere/a.png", tmp_path / "reference/a.png")
    harness.run("in", "--compare", "reference", cwd=tmp_path, env={"TMPDIR": str(tmp_path / "tmp")})


def test_doubles_are_compared_as_floats(tmp_path, rng):
    """A warning says so: they may differ although climg sees no difference."""
    a = rng.uniform(0.5, 1, (20, 30)).astype(np.float32).astype(float) + 1e-9  # far from where floats are rounded up
    tifffile.imwrite(tmp_path / "a.tif", a)
    tifffile.imwrite(tmp_path / "b.tif", a + 1e-12)
    run = harness.run("a.tif", "--compare", "b.tif", cwd=tmp_path)
    assert run.err.splitlines() == [f"climg: {name}.tif: warning: has samples with more digits than 32-bit floats hold; they were rounded"
                                    for name in "ab"]


def test_pages(tmp_path, rng):
    pages = rng.integers(0, 256, (3, 20, 30), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", pages, photometric="minisblack")
    changed = pages.copy()
    changed[2, 5, 7] ^= 128
    tifffile.imwrite(tmp_path / "b.tif", changed, photometric="minisblack")
    tifffile.imwrite(tmp_path / "c.tif", pages[:2], photometric="minisblack")
    line, = compare("a.tif", "b.tif", cwd=tmp_path, status=4)
    assert line["largest"] == {"difference": 128.0, "channel": "gray", "x": 7, "y": 5, "page": 3}
    assert np.isclose(line["psnr"], peak_signal_noise_ratio(pages, changed))
    assert compare("a.tif", "c.tif", cwd=tmp_path, status=4)[0]["why"] == "the input has more pages"
    assert compare("--page", "1-2", "a.tif", "b.tif", cwd=tmp_path)[0]["equal"]


def test_small_pictures_and_strange_names(tmp_path):
    for folder, value in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        pngfile.write_png(tmp_path / folder / "4.png", np.full((4, 4, 1), value, np.uint8))  # no SSIM: the window has 11 pixels
    name = "x\033[31m" + "\u00e9" * 70 + ".png"
    pngfile.write_png(tmp_path / "a" / name, np.full((4, 4, 1), 1, np.uint8))
    done = harness.run("a/", "--compare", "b", cwd=tmp_path, status=4).out.decode()
    assert done.splitlines()[1] == f"{20 * np.log10(255):8.2f}     none          1  a/4.png" and "\033" not in done
    line = json.loads(harness.run("a/" + name, "--compare", "b,form=json", cwd=tmp_path, status=4).out)
    assert line["picture"] == {"file": "a/" + name, "width": None, "height": None, "channels": None, "samples": None}
    assert line["why"] == "is not in the reference folder"
    done = harness.run("a/" + name, "--compare", "b/", cwd=tmp_path, status=4)
    shown = "a/" + name.replace("\033", "?") + ": is not in the reference folder\n"
    assert done.out.decode() == shown and done.err == "climg: " + shown
    assert "b/4.png: 4 x 4, gray" in harness.run("a/4.png", "--compare", "b/", cwd=tmp_path, status=4).out.decode()


def test_video(tmp_path, rng):
    frames = [rng.integers(0, 256, 8 * 6 + 2 * 4 * 3, dtype=np.uint8) for _ in range(2)]
    for name, change in (("a.y4m", 0), ("b.y4m", 1)):
        frames[1][8 * 6 + 4 * 3 + 5] ^= 64 * change  # of Cr
        (tmp_path / name).write_bytes(b"YUV4MPEG2 W8 H6 F25:1 C420jpeg\n" + b"".join(b"FRAME\n" + frame.tobytes() for frame in frames))
    line, = compare("a.y4m", "b.y4m", cwd=tmp_path, status=4)
    assert line["largest"] == {"difference": 64.0, "channel": "Cr", "x": 1, "y": 1, "page": 2}
    assert line["psnr_channels"][:2] == [None, None] and line["picture"]["channels"] == 3


def test_folders(tmp_path, rng):
    for folder, names in (("a", "123"), ("b", "234")):
        (tmp_path / folder / "more").mkdir(parents=True)
        for name in names:
            pngfile.write_png(tmp_path / folder / f"{name}.png", np.full((12, 12, 1), int(name), np.uint8))
    pngfile.write_png(tmp_path / "b" / "3.png", np.full((12, 12, 1), 9, np.uint8))
    (tmp_path / "a" / "2.jpg").write_bytes(b"broken")
    (tmp_path / "b" / "2.jpg").write_bytes(b"broken")
    done = harness.run("a/", "--compare", "b", cwd=tmp_path, status=3)
    assert done.out.decode().splitlines() == [
        " PSNR dB     SSIM    largest  picture", "differs                       a/1.png: is not in the reference folder", "   equal                      a/2.png",
        f"{10 * np.log10(255**2 / 36):8.2f} {(2 * 27 + 6.5025) / (90 + 6.5025):8.5f} {6:10}  a/3.png",
        "differs                       4.png: is only in the reference folder"]
    left_out = "climg: 1 sub-folder is left out; --recursive (-r) includes it"
    assert done.err.splitlines() == [left_out, "climg: a/2.jpg: is not JPEG, PAM, PBM, PFM, PGM, PNM, PPM, PNG, TIFF, WebP or Y4M", "climg: 1 of 4 files failed"]
    found = compare("a/", "b", cwd=tmp_path, status=3)
    assert [line["picture"]["file"] for line in found] == ["a/1.png", "a/2.jpg", "a/2.png", "a/3.png", "4.png"]
    assert found[1].keys() == found[2].keys() and not found[1]["passes"] and "is not JPEG" in found[1]["why"]
    (tmp_path / "a" / "2.jpg").unlink()
    (tmp_path / "b" / "2.jpg").unlink()
    assert harness.run("a/", "--compare", "b", cwd=tmp_path, status=4).err.splitlines() == [left_out, "climg: 3 of 4 pictures differ"]
    harness.run("a/2.png", "--compare", "b", cwd=tmp_path)
    harness.run("a/", "--compare", "a/2.png,min-psnr=40", cwd=tmp_path)


def test_formats_that_lose_nothing_are_equal(tmp_path):
    for name in ("scene.png", "gradient16.png", "soft-alpha.png"):
        harness.run(harness.SAMPLES / name, "-f", "tiff", "-o", tmp_path / "copy.tif")
        assert compare(harness.SAMPLES / name, tmp_path / "copy.tif")[0]["equal"]


def test_differences_of_signed_samples(tmp_path):
    """They reach twice full scale."""
    a = np.full((9, 9), 30000, np.int16)
    tifffile.imwrite(tmp_path / "a.tif", a)
    tifffile.imwrite(tmp_path / "b.tif", -a)
    harness.run("a.tif", "--compare", "b.tif,diff=d.tif", cwd=tmp_path, status=4)
    found = tifffile.imread(tmp_path / "d.tif")
    assert found.dtype == np.uint16 and (found == 60000).all()


def test_channels_are_named_by_the_page_with_most(tmp_path, rng):
    for name in ("a.tif", "b.tif"):
        with tifffile.TiffWriter(tmp_path / name) as file:
            file.write(rng.integers(0, 255, (9, 11, 3)).astype(np.uint8), photometric="rgb")
            file.write(rng.integers(0, 255, (9, 11, 4)).astype(np.uint8), photometric="rgb", extrasamples=["unassalpha"])
    out = harness.run("a.tif", "--compare", "b.tif", cwd=tmp_path, status=4).out.decode()
    assert "null" not in out and re.search(r"PSNR in dB: red [\d.]+, green [\d.]+, blue [\d.]+, alpha [\d.]+\n", out)


def test_standard_input_is_not_overwritten(tmp_path, rng):
    pngfile.write_png(tmp_path / "a.png", rng.integers(0, 255, (9, 11, 3)).astype(np.uint8))
    data = (tmp_path / "a.png").read_bytes()
    (tmp_path / "list").write_text("a.png\n")
    for command in ("climg - --compare a.png,diff=a.png < a.png", "climg --files-from - --invert out/ --report list < list"):
        done = subprocess.run(["bash", "-c", command.replace("climg", harness.CLIMG)], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 2, done
    assert (tmp_path / "a.png").read_bytes() == data and (tmp_path / "list").read_text() == "a.png\n"
    (tmp_path / "all").write_text("before")
    subprocess.run(["bash", "-c", f"{harness.CLIMG} a.png --invert -f png -o /dev/stdout >> all"], cwd=tmp_path, check=True)
    assert (tmp_path / "all").read_bytes().startswith(b"before\x89PNG")
