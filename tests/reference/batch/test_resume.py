"""What made a file stands in the file, and --resume goes by it."""

import os
import shutil

import numpy as np
import pytest
from PIL import Image

import harness
import pngfile

SOFTWARE, VERSION = 305, harness.run("--version").out.decode().split()[1]
BLUR = f"climg {VERSION} --blur=2,truncate=0 --edge clamp"


def software(path):
    """As Pillow reads it."""
    with Image.open(path) as image:
        return image.info.get("Software") if path.suffix == ".png" else image.tag_v2.get(SOFTWARE)


@pytest.fixture
def folder(tmp_path, rng):
    """in/ with a.png, b.tif and sub/c.png."""
    (tmp_path / "in" / "sub").mkdir(parents=True)
    for name in ("a.png", "sub/c.png"):
        pngfile.write_png(tmp_path / "in" / name, rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    harness.write_tiff(tmp_path / "in" / "b.tif", rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    return tmp_path


def left_to_do(folder, *args):
    """The names that --resume would not skip."""
    told = harness.run("-n", "-r", "--resume", "in", *args, "out", cwd=folder).out.decode().splitlines()
    assert len(told) == 3
    return [line.split(" -> ")[0].removeprefix("in/") for line in told if not line.endswith(": skip (done)")]


def make_older(path, seconds):
    """Moves its time away from now, as nothing here takes a whole second."""
    time = os.stat(path).st_mtime - seconds
    os.utime(path, (time, time))


@pytest.mark.parametrize("name", ["out.png", "out.tif"])
@pytest.mark.parametrize("args,expected", [
    ([], ""),
    (["--blur", "2"], " --blur=2,truncate=0 --edge clamp"),
    (["--blur=2.0", "--linear", "--depth", "16"], " --blur=2,truncate=0 --edge clamp --linear --depth 16"),
    (["--scale", "0.5,filter=nearest", "--edge", "wrap", "--page", "1"],
     " --scale=1/2,filter=nearest,antialias=yes,grid=centers --edge wrap --page 1"),
    (["--convolve", "1 2\t1,bias=0.1"], " --convolve=1 2 1,normalize=yes,bias=0.1 --edge clamp"),
    (["--denoise", "--sharpen", "1e-9"],
     " --denoise=auto,levels=6 --sharpen=1e-09,sigma=1,threshold=0,truncate=0 --edge clamp"),
])
def test_text(tmp_path, rng, name, args, expected):
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (70, 70, 1), dtype=np.uint8), software=False)
    harness.run(tmp_path / "in.tif", *args, tmp_path / name)
    assert software(tmp_path / name) == f"climg {VERSION}{expected}"


@pytest.mark.parametrize("name", ["out.png", "out.tif"])
def test_other_software_is_kept(tmp_path, name):
    pngfile.write_png(tmp_path / "in.png", np.zeros((4, 4, 3), np.uint8),
                      chunks=[pngfile.text_chunk("Software", "Scanner 3"), pngfile.text_chunk("Title", "Boats")])
    harness.run(tmp_path / "in.png", "--blur", "2", tmp_path / name)
    assert software(tmp_path / name) == f"Scanner 3; {BLUR}"
    harness.run(tmp_path / name, "--invert", tmp_path / "again.png")
    texts = pngfile.read_png(tmp_path / "again.png").texts()
    assert texts["Software"] == f"Scanner 3; climg {VERSION} --invert --edge clamp"
    assert texts["Title"] == "Boats"


def test_what_is_done_is_left_alone(folder):
    harness.run("-r", "in", "--blur", "2", "out", cwd=folder)
    assert left_to_do(folder, "--blur", "2") == []
    before = {path: path.stat() for path in (folder / "out").rglob("*.*")}
    (folder / "out" / "b.tif").unlink()
    harness.run("-r", "--resume", "in", "--blur=2.0,truncate=0", "out", cwd=folder)
    same = [path.name for path, stat in before.items() if path.stat().st_ino == stat.st_ino
            and path.stat().st_mtime_ns == stat.st_mtime_ns]
    assert sorted(same) == ["a.png", "c.png"]
    assert harness.read_tiff(folder / "out" / "b.tif").shape == (9, 12, 3)


def test_what_is_not_done(folder):
    harness.run("-r", "in", "--blur", "2", "out", cwd=folder)
    assert left_to_do(folder, "--blur", "2.5") == ["a.png", "b.tif", "sub/c.png"]
    assert left_to_do(folder, "--blur", "2", "--linear") == ["a.png", "b.tif", "sub/c.png"]
    assert left_to_do(folder, "--blur", "2", "--edge", "mirror") == ["a.png", "b.tif", "sub/c.png"]
    assert left_to_do(folder, "--blur", "2", "--compression", "best", "-m", "image") == []
    make_older(folder / "out" / "a.png", 1e6)                          # the input is newer
    shutil.copy(folder / "in" / "b.tif", folder / "out" / "b.tif")     # made by something else
    (folder / "out" / "sub" / "c.png").write_bytes(b"")                # lost in a power cut
    assert left_to_do(folder, "--blur", "2") == ["a.png", "b.tif", "sub/c.png"]


def test_as_new_as_the_input_counts(folder):
    harness.run("-r", "in", "--blur", "2", "out", cwd=folder)
    for name in ("a.png", "b.tif", "sub/c.png"):
        times = os.stat(folder / "in" / name)
        os.utime(folder / "out" / name, ns=(times.st_mtime_ns, times.st_mtime_ns))
    assert left_to_do(folder, "--blur", "2") == []


def test_a_kernel_file_counts_by_what_is_in_it(folder):
    (folder / "kernel.txt").write_text("1 2\n3 5\n")
    harness.run("-r", "in", "--convolve", "@kernel.txt", "out", cwd=folder)
    (folder / "other.txt").write_text("1 2 # the same\n3 5\n")
    assert left_to_do(folder, "--convolve", "@other.txt") == []
    (folder / "kernel.txt").write_text("1 2\n3 4\n")
    assert left_to_do(folder, "--convolve", "@kernel.txt") == ["a.png", "b.tif", "sub/c.png"]


def test_an_update_of_climg_does_not_matter(folder):
    harness.run("-r", "in", "--blur", "2", "out", cwd=folder)
    text = BLUR.replace(VERSION, "0.0.1-older")
    pngfile.write_png(folder / "out" / "a.png", np.zeros((9, 12, 3), np.uint8),
                      chunks=[pngfile.text_chunk("Software", text)])
    assert left_to_do(folder, "--blur", "2") == []
    pngfile.write_png(folder / "out" / "a.png", np.zeros((9, 12, 3), np.uint8),
                      chunks=[pngfile.text_chunk("Software", "other 0.1.0 --blur=2,truncate=0 --edge clamp")])
    assert left_to_do(folder, "--blur", "2") == ["a.png"]


def test_strip_goes_by_time_alone(folder):
    harness.run("-r", "--strip", "in", "--blur", "2", "out", cwd=folder)
    assert software(folder / "out" / "a.png") is None and software(folder / "out" / "b.tif") is None
    assert left_to_do(folder, "--strip", "--blur", "2") == []
    assert left_to_do(folder, "--blur", "2") == ["a.png", "b.tif", "sub/c.png"]
    make_older(folder / "out" / "b.tif", 1e6)
    assert left_to_do(folder, "--strip", "--blur", "2") == ["b.tif"]


def test_formats_without_texts_go_by_time_alone(folder):
    """netpbm's keep none."""
    harness.run("-r", "in", "--blur", "2", "-f", "pam", "out", cwd=folder)
    assert left_to_do(folder, "--blur", "3", "-f", "pam") == []
    make_older(folder / "out" / "b.pam", 1e6)
    assert left_to_do(folder, "--blur", "2", "-f", "pam") == ["b.tif"]
    path = folder / "out" / "a.pam"
    before = path.read_bytes()
    done = harness.run("--resume", "--in-place", path, "--blur", "2", status=2)
    assert "its format cannot say what made it" in done.err and path.read_bytes() == before


def test_in_place(tmp_path, rng):
    """Files that replace themselves are not blurred twice."""
    path = tmp_path / "a.png"
    pngfile.write_png(path, rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    harness.run("--resume", path, "--blur", "2", "--in-place")
    once = path.read_bytes()
    harness.run("--resume", path, "--blur", "2", "--in-place")
    assert path.read_bytes() == once
    harness.run("--resume", "--strip", path, "--blur", "2", "--in-place", status=2)
    assert path.read_bytes() == once
