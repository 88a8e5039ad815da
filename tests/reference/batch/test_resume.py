"""The command is recorded in the output, and --resume compares it."""

import fcntl
import os
import shutil
import subprocess
import time

import numpy as np
import pytest
from PIL import Image

import harness
import pngfile

SOFTWARE, VERSION = 305, harness.run("--version").out.decode().split()[1]
BLUR = f"climg {VERSION} --blur=2,truncate=0 --edge clamp"


def software(path):
    """Returns the Software text, as Pillow reads it."""
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
     " --scale=1/2,filter=nearest,antialias=yes,grid=centers,full=no --edge wrap --page 1"),
    (["--convolve", "1 2\t1,bias=0.1"], " --convolve=1 2 1,normalize=yes,bias=0.1 --edge clamp"),
    (["--rotate", "90", "--resize", "7x"],  # size= and only= are not given and have no text
     " --rotate=90,filter=bicubic,outside=zero,antialias=yes --resize=7x,filter=lanczos,fit=inside,full=no --edge clamp"),
    (["--denoise", "--sharpen", "1e-9"],
     " --denoise=auto,levels=6,strength=1,quality=normal --sharpen=1e-09,sigma=1,threshold=0,truncate=0 --edge clamp"),
])
def test_text(tmp_path, rng, name, args, expected):
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (70, 70, 1), dtype=np.uint8), software=False)
    harness.run(tmp_path / "in.tif", *args, tmp_path / name)
    assert software(tmp_path / name) == f"climg {VERSION}{expected}"


@pytest.mark.parametrize("before", ["; ", "; x", "; climg 0.1 --blur=1", "x; ", ""])
def test_software_that_begins_oddly(tmp_path, before):
    """Text before climg's own part stays, and "; " at the start is not searched for ever."""
    pngfile.write_png(tmp_path / "in.png", np.zeros((4, 4, 1), np.uint8), chunks=[pngfile.text_chunk("Software", before)])
    harness.run(tmp_path / "in.png", tmp_path / "out.png")
    kept = before.partition("climg")[0]
    assert software(tmp_path / "out.png") == kept + ("; " if kept and kept == before else "") + f"climg {VERSION}"


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


def test_strip_repeats_what_names_a_program(folder):
    """An output with a Software text was not made with --strip, so that of other stages is not taken for its own."""
    harness.run("-r", "in", "--invert", "out", cwd=folder)
    assert left_to_do(folder, "--strip", "--blur", "2") == ["a.png", "b.tif", "sub/c.png"]
    assert left_to_do(folder, "--strip", "--invert") == ["a.png", "b.tif", "sub/c.png"]


def test_formats_without_texts_go_by_time_alone(folder):
    """netpbm's keep none."""
    harness.run("-r", "in", "--blur", "2", "-f", "pam", "out", cwd=folder)
    assert left_to_do(folder, "--blur", "3", "-f", "pam") == []
    make_older(folder / "out" / "b.pam", 1e6)
    assert left_to_do(folder, "--blur", "2", "-f", "pam") == ["b.tif"]
    path = folder / "out" / "a.pam"
    before = path.read_bytes()
    done = harness.run("--resume", "--in-place", path, "--blur", "2", status=2)
    assert "its format cannot store how it was made" in done.err and path.read_bytes() == before


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


def cut(path):
    os.truncate(path, path.stat().st_size - 12)


def clear(path):
    """Zeros in the middle and the times as they were, as after a power cut."""
    times, size = path.stat(), path.stat().st_size
    with open(path, "r+b") as file:
        file.seek(size // 2)
        file.write(bytes(size // 4))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def overwrite(path):
    path.write_bytes(bytes(path.stat().st_size))


def copy(path):
    """Like cp -r: the times are new."""
    shutil.copyfile(path, path.with_name("copy"))
    os.rename(path.with_name("copy"), path)


@pytest.mark.parametrize("options", [["-f", "png"], ["-f", "tif", "--compression", "none"], ["-f", "pam"], ["--strip"]], ids="_".join)
def test_damaged_outputs_are_not_done(folder, rng, options):
    args = [*options, "--blur", "2"]
    harness.run("-r", "--resume", "in", *args, "out", cwd=folder)
    outputs = sorted(path for path in (folder / "out").rglob("*") if path.is_file() and path.name[0] != ".")
    inputs = ["a.png", "b.tif", "sub/c.png"]
    assert len(outputs) == 3 and left_to_do(folder, *args) == []
    whole = {path: path.read_bytes() for path in outputs}
    for damage in (cut, clear, overwrite):
        damage(outputs[2])
        assert left_to_do(folder, *args) == inputs[2:], damage
        harness.run("-r", "--resume", "in", *args, "out", cwd=folder)
        assert {path: path.read_bytes() for path in outputs} == whole and left_to_do(folder, *args) == []
    copy(outputs[0])
    assert left_to_do(folder, *args) == []
    (folder / "elsewhere").mkdir()
    os.rename(folder / "out", folder / "elsewhere" / "out")
    os.rename(folder / "elsewhere" / "out", folder / "out")
    assert left_to_do(folder, *args) == []
    pngfile.write_png(folder / "in" / "a.png", rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    make_older(folder / "in" / "a.png", 1e6)
    assert left_to_do(folder, *args) == inputs[:1], "another input, with an older time: mv, cp -p, rsync -a"
    assert left_to_do(folder, *options, "--blur", "3") == inputs


def test_another_input_of_the_same_size_and_time(folder, rng):
    """By another name, or under the same one: the checksum decides. What was only copied with its time is not done again."""
    pictures = [rng.integers(0, 256, (9, 12, 3), dtype=np.uint8) for _ in range(2)]
    for name, picture in zip(("x.tif", "y.tif"), pictures):
        harness.write_tiff(folder / name, picture)
        os.utime(folder / name, (10**9, 10**9))
    assert (folder / "x.tif").stat().st_size == (folder / "y.tif").stat().st_size

    def makes(name, picture, skipped):
        told = harness.run("-n", "--resume", name, "--invert", "out.tif", cwd=folder).out
        assert told.endswith(b": skip (done)\n") == skipped
        harness.run("--resume", name, "--invert", "out.tif", cwd=folder)
        assert np.array_equal(harness.read_tiff(folder / "out.tif"), 255 - picture)

    makes("x.tif", pictures[0], False)
    makes("x.tif", pictures[0], True)
    makes("y.tif", pictures[1], False)
    makes("y.tif", pictures[1], True)
    shutil.copy2(folder / "x.tif", folder / "y.tif")
    makes("y.tif", pictures[0], False)
    shutil.copy2(folder / "y.tif", folder / "z.tif")
    os.replace(folder / "z.tif", folder / "y.tif")
    makes("y.tif", pictures[0], True)
    lines = (folder / ".climg-done").read_text().splitlines()
    makes("y.tif", pictures[0], True)
    assert len(lines) == 4 and (folder / ".climg-done").read_text().splitlines() == lines, "the new inode is noted, once"
    os.utime(folder / "y.tif")
    makes("y.tif", pictures[0], False)


def test_a_change_in_the_middle_of_a_large_input(folder, rng):
    picture = rng.integers(0, 256, (1500, 1000, 3), dtype=np.uint8)
    command = ["--resume", "in.tif", "--invert", "out.tif"]
    for _ in range(2):
        harness.write_tiff(folder / "in.tif", picture)
        harness.run(*command, cwd=folder)
        assert np.array_equal(harness.read_tiff(folder / "out.tif"), 255 - picture)
        picture[750] ^= 255


def test_what_has_no_line_is_read_to_its_end(folder):
    harness.run("-r", "--resume", "in", "--blur", "2", "--compression", "none", "out", cwd=folder)
    records = list((folder / "out").rglob(".climg-done"))
    assert sorted(record.parent.name for record in records) == ["out", "sub"]
    records[0].write_text("".join(line[:-9] for line in records[0].read_text().splitlines(True)))  # lines that were cut off
    records[1].unlink()
    assert left_to_do(folder, "--blur", "2") == []
    clear(folder / "out" / "a.png")
    cut(folder / "out" / "b.tif")
    assert left_to_do(folder, "--blur", "2") == ["a.png", "b.tif"]
    harness.run("-r", "--resume", "in", "--blur", "2", "out", cwd=folder)
    assert sorted((folder / "out").rglob(".climg-done")) == sorted(records), "they are written again"
    assert len((folder / "out" / "sub" / ".climg-done").read_text().splitlines()) == 1


def test_names_that_begin_with_a_blank(folder, rng):
    """Their records are found: without one, the copy of the input would count as done, as it is newer."""
    pngfile.write_png(folder / "in" / " b.png", rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    command = ["--resume", "--strip", "in/ b.png", "--blur", "2", "out/"]
    harness.run(*command, cwd=folder)
    shutil.copyfile(folder / "in" / " b.png", folder / "out" / " b.png")
    assert not harness.run("-n", *command, cwd=folder).out.endswith(b": skip (done)\n")


def test_a_done_list_that_is_a_pipe(folder):
    """It is not waited for."""
    os.mkfifo(folder / "in" / ".climg-done")
    harness.run("--resume", "in/a.png", "--blur", "2", "in/out.png", cwd=folder)
    assert software(folder / "in" / "out.png") == BLUR


def test_an_output_that_is_a_pipe_has_no_record(folder):
    os.mkfifo(folder / "fifo.ppm")
    child = subprocess.Popen([harness.CLIMG, "--resume", "in/a.png", "--invert", "fifo.ppm"], cwd=folder, stdin=subprocess.DEVNULL)
    assert len((folder / "fifo.ppm").read_bytes()) > 9 * 12 * 3
    assert child.wait(timeout=20) == 0 and not (folder / ".climg-done").exists()


def test_an_output_that_cannot_be_sought_in(folder, failing_calls):
    harness.run("-r", "in", "--blur", "2", "-f", "tif", "out", cwd=folder)
    for count in range(4):
        (folder / "out" / "sub" / "c.tif").unlink()
        harness.run("-r", "-j", 1, "--resume", "in", "--blur", "2", "-f", "tif", "out", cwd=folder,
                    env=failing_calls("fseeko", count))
        assert left_to_do(folder, "--blur", "2", "-f", "tif") == []


@pytest.mark.parametrize("forget", [False, True])
def test_another_format_under_the_same_name(folder, forget):
    """Without an extension only the output's content says which format it has."""
    for kind, name in ("png", "PNG"), ("tif", "TIFF"), ("pnm", "PPM"), ("ppm", "PPM"):
        command = ["--resume", "in/a.png", "-f", kind, "out"]
        harness.run(*command, cwd=folder)
        assert harness.run("--info", "out", cwd=folder).out.decode().startswith(f"out: {name},")
        if forget:
            (folder / ".climg-done").unlink()
        assert harness.run("-n", *command, cwd=folder).out.endswith(b": skip (done)\n")


def replace(path):
    shutil.copy(path, path.with_name("new"))
    os.rename(path.with_name("new"), path)


def write_later(path):
    """The same bytes once more; the clock of files goes in steps of some milliseconds."""
    time.sleep(0.02)
    path.write_bytes(path.read_bytes())


def grow(path):
    with open(path, "ab") as file:
        file.write(b"more")


class SlowReader:
    """Takes climg's output from a FIFO: `change` is called after the first byte, when its input is being read, and before the rest, for
    which the FIFO has no room."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path, self.fifo = path, os.open(path, os.O_RDWR)
        fcntl.fcntl(self.fifo, fcntl.F_SETPIPE_SZ, 4096)

    def read(self, change):
        os.read(self.fifo, 1)
        change()
        with open(self.path, "rb") as fifo:
            os.close(self.fifo)
            fifo.read()


@pytest.mark.parametrize("name,change,status", [
    ("in.png", replace, 1), ("in.png", write_later, 1), ("in.png", grow, 1), ("in.png", os.unlink, 0), ("in.png", os.stat, 0),
    ("-", write_later, 1), ("-", grow, 1), ("-", os.stat, 0)])
def test_inputs_that_change_while_they_are_read(tmp_path, rng, name, change, status):
    path = tmp_path / "in.png"
    pngfile.write_png(path, rng.integers(0, 256, (90, 120, 3), dtype=np.uint8))
    reader = SlowReader(tmp_path / "out.ppm")
    with open(path, "rb") as stdin:
        child = subprocess.Popen([harness.CLIMG, name, "--invert", "out.ppm"], cwd=tmp_path, stdin=stdin, stderr=subprocess.PIPE, text=True)
    reader.read(lambda: change(path))
    err = child.communicate(timeout=60)[1]
    told = "standard input" if name == "-" else name
    said = f"climg: {told}: was changed while it was read; run again when nothing writes to it\n"
    assert (child.returncode, err) == (status, status * said)


def test_a_changed_file_ends_its_stack(tmp_path, rng):
    """Uncompressed files are read while the result is written."""
    for name in ("a.tif", "b.tif"):
        harness.write_tiff(tmp_path / name, rng.integers(0, 256, (90, 120, 3), dtype=np.uint8))
    reader = SlowReader(tmp_path / "out.ppm")
    child = subprocess.Popen([harness.CLIMG, "a.tif", "b.tif", "--stack", "mean", "out.ppm"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    reader.read(lambda: write_later(tmp_path / "b.tif"))
    err = child.communicate(timeout=60)[1]
    assert (child.returncode, err) == (1, "climg: b.tif: was changed while it was read; run again when nothing writes to it\n")


def test_a_changed_input_is_done_again(folder, rng):
    """With others in a batch: they are done, and it is with the next run."""
    path, fifo = folder / "in" / "b.tif", folder / "out" / "b.ppm"
    harness.write_tiff(path, rng.integers(0, 256, (90, 120, 3), dtype=np.uint8))
    fifo.parent.mkdir()
    reader = SlowReader(fifo)
    command = ["-r", "in", "--blur", "2", "-f", "ppm", "--resume", "-j", "1", "out"]
    child = subprocess.Popen([harness.CLIMG, *command], cwd=folder, env={**os.environ, "CLIMG_GROUP": "1"},
                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    reader.read(lambda: write_later(path))
    err = child.communicate(timeout=60)[1].splitlines()
    assert (child.returncode, err) == (3, ["climg: in/b.tif: was changed while it was read; run again when nothing writes to it",
                                           "climg: 1 of 3 files failed"])
    fifo.unlink()
    assert left_to_do(folder, "--blur", "2", "-f", "ppm") == ["b.tif"]


def test_matrix_that_is_gone(tmp_path, rng):
    """A picture is not done if the file of --align …,matrix=FILE is missing."""
    pngfile.write_png(tmp_path / "in.png", rng.integers(0, 256, (64, 64, 1), dtype=np.uint8))
    command = ["in.png", "--align", "in.png,matrix=found.txt", "out.png", "--resume"]
    harness.run(*command, cwd=tmp_path)
    first = (tmp_path / "found.txt").read_text()
    assert harness.run(*command, "-n", cwd=tmp_path).out == b"in.png -> out.png: skip (done)\n"
    (tmp_path / "found.txt").unlink()
    harness.run(*command, cwd=tmp_path)
    assert (tmp_path / "found.txt").read_text() == first
