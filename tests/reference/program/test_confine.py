"""A confined process: what code in a decoder may do, and what climg itself opens."""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from conftest import load_layer
from harness import CLIMG, ROOT, run

LANDLOCK = ctypes.CDLL(None).syscall(444, None, 0, 1)  # landlock_create_ruleset: its version
FILES = {"read", "list", "read system", "read process", "create", "append", "truncate", "folder", "link", "device", "rename", "remove", "execute"}

needs_landlock = pytest.mark.skipif(LANDLOCK < 2, reason="the kernel has no Landlock of version 2")


@pytest.fixture
def home(tmp_path):
    """A home that is not below the temporary folder, which climg may use. It has a cache, as PoCL is slow without one."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="climg-home-", dir="/var/tmp"))
    (folder / "secret").write_text("secret")
    (folder / "removed").write_text("")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def layer(tmp_path_factory):
    return load_layer(tmp_path_factory.mktemp("layer"), "attack.c")


def attacks(said):
    return dict(re.findall(r"^attack ([a-z0-9 ]+): (.*)$", said, re.M))


COMMANDS = {
    "png": ["scene.png", "--blur", "2"],
    "jpeg": ["photo.jpg", "--crop", "9x9"],
    "tiff": ["scene.tif", "--invert"],
    "--align": ["tilted.png", "--align", str(ROOT / "samples/scene.tif")],
    "--range auto": ["scene.png", "--range", "auto"],
    "--info": ["photo.jpg", "--info"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_attack_in_a_decoder_is_refused(home, tmp_path, layer, command):
    """Each thing that works without confinement is refused by the kernel."""
    args = [ROOT / "samples" / COMMANDS[command][0], *COMMANDS[command][1:], *(["-o", tmp_path / "out.png"] if command != "--info" else [])]
    env = {**layer, "HOME": str(home)}
    confined = attacks(run(*args, env=env).err)
    assert sorted(os.listdir(home)) == sorted({"secret", "removed"} | set(os.listdir(home)) & {".cache", ".nv"})  # caches of the drivers
    assert (home / "secret").read_text() == "secret"
    free = attacks(run(*args, "--no-confine", env=env).err)
    assert free["read"] == free["create"] == free["execute"] == free["internet"] == free["user"] == free["signal"] == "done"
    works = {name for name, answer in confined.items() if answer == "done"}
    assert works <= (FILES if LANDLOCK < 2 else set()) | ({"signal"} if LANDLOCK < 6 else set()), confined
    assert confined.keys() == free.keys() and len(confined) > 30


@needs_landlock
@pytest.mark.parametrize("version", range(7))
def test_older_kernels(home, tmp_path, layer, version):
    """What the kernel has is used, -v says what, and PoCL works."""
    shutil.copy(ROOT / "samples/scene.png", home / "in.png")
    env = {**layer, "HOME": str(home), "ATTACK_LANDLOCK": str(version), "ATTACK_INPUT": str(home / "in.png")}
    said = run(home / "in.png", "-v", "--blur", "2", tmp_path / "a.png", env=env).err
    used = version if version >= 2 else None
    assert (f"files by Landlock {used}, system calls by seccomp" if used else "files not, as Landlock is not available; system calls by seccomp") in said
    works = {name for name, answer in attacks(said).items() if answer == "done"}
    assert not works & {"internet", "user", "trace", "truncate", "truncate input", "truncate input without reading"}
    if used:
        assert works <= ({"signal"} if used < 6 else set())
    else:
        assert {"read", "create", "execute"} <= works


@needs_landlock
@pytest.mark.parametrize("args, where", [(["in.png", "--report", "../report/done.jsonl", "--invert", "../out/"], {"report", "out"}),
                                         (["in.png", "--invert", "--in-place"], {"."})])
def test_named_folders_can_be_written(home, layer, args, where):
    """The named outputs' folders, and no other ones."""
    for name in ("work", "report", "out"):
        (home / name).mkdir()
    shutil.copy(ROOT / "samples/scene.png", home / "work/in.png")
    for name in ("secret", "removed"):
        (home / "work" / name).write_text("")
    done = attacks(run(*args, env={**layer, "HOME": str(home / "work"), "XDG_CACHE_HOME": str(home / "cache")}, cwd=home / "work").err)
    assert (done["create"] == "done") == ("." in where)
    assert done["execute"] != "done" and done["internet"] != "done"


@needs_landlock
@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "tif"])
def test_folder_of_a_single_output_cannot_be_read(home, layer, suffix):
    """Even if it is the home. TIFFs are read while they are written."""
    env = {**layer, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    args = [ROOT / "samples/scene.png", "--crop", "9x9", "--report", "done.jsonl", f"out.{suffix}"]
    done = attacks(run(*args, cwd=home, env=env).err)
    assert done["create"] == "done"
    assert (done["read"] == "done") == (done["list"] == "done") == (suffix == "tif")


def test_further_files(home):
    """Each in a folder of its own, which no input or output names; new and existing folders."""
    for name in ("shots", "read", "map", "difference", "drift", "tmp", "out", "links", "reports"):
        (home / name).mkdir()
    for i in (1, 2):
        shutil.copy(ROOT / f"samples/shots/{i}.jpg", home / "shots")
    shutil.copy(ROOT / "samples/shots/1.jpg", home / "read/one.jpg")
    (home / "kernel").mkdir()
    (home / "kernel/taps.txt").write_text("1 2 1")
    (home / "links/report").symlink_to("../reports/r.jsonl")
    env = {"TMPDIR": str(home / "tmp")}
    for _ in range(2):
        run("shots/1.jpg", "--invert", "--report", "links/report", "-y", "-o", "out/1.png", cwd=home, env=env)
        run("shots", "--align", "first,matrix=drift/m.csv", "--stack", "focus,noise=2,depth=map/d.png", "-y", "-o", "out.png", cwd=home, env=env)
        run("shots", "--warp", "@drift/m.csv", "--convolve", "@kernel/taps.txt", "--stack", "mean", "-y", "-o", "again.png", cwd=home, env=env)
        run("shots/1.jpg", "--minus", "read/one.jpg", "--over", "read/one.jpg", "-y", "-o", "minus.png", cwd=home, env=env)
        run("shots/1.jpg", "--compare", "read/one.jpg,diff=difference/d.png", cwd=home, env=env)
    assert (home / "reports/r.jsonl").exists() and (home / "map/d.png").exists() and (home / "difference/d.png").exists()


@needs_landlock
def test_driver_that_cannot_be_read(home, tmp_path, monkeypatch):
    """It is not left out silently."""
    monkeypatch.delenv("OCL_ICD_FILENAMES", raising=False)  # it comes before the folder
    (home / "vendors").mkdir()
    (home / "library").mkdir()
    (home / "library/libdriver.so").symlink_to("../secret")
    (home / "vendors/some.icd").write_text(str(home / "library/libdriver.so"))
    said = run(ROOT / "samples/photo.jpg", "--invert", tmp_path / "a.png", status=1, env={"OCL_ICD_VENDORS": str(home / "vendors")}).err
    assert str(home / "library/libdriver.so") in said and "Permission denied" in said and "--no-confine" in said


@needs_landlock
def test_opened_files(home, tmp_path):
    """Everything that climg and the linker open is in the list, also when PoCL compiles."""
    folder = home / "pictures"
    folder.mkdir()
    shutil.copy(ROOT / "samples/scene.png", folder / "a.png")
    env = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "TMPDIR": str(home / "tmp")}
    env.pop("POCL_CACHE_DIR", None)
    (home / "tmp").mkdir()
    subprocess.run(["strace", "-f", "-o", tmp_path / "trace", "-e", "trace=open,openat,execve,landlock_restrict_self", CLIMG, folder, "--invert",
                    home / "out"], check=True, env=env)
    trace = (tmp_path / "trace").read_text().split("landlock_restrict_self")[-1]
    opened = set(re.findall(r'open(?:at)?\([^"]*"([^"]+)"[^\n]*\) = \d', trace))
    allowed = ("/usr/", "/lib", "/opt", "/sys", "/proc/", "/etc/", "/dev/", str(folder), str(home / "cache"), str(home / "out"), str(home / "tmp"),
               str(home / ".nv"))  # NVIDIA's cache
    assert not {path for path in opened if not os.path.realpath(path).startswith(allowed) and not path.startswith(allowed)}
    assert {os.path.realpath(path) for path in re.findall(r'execve\("([^"]+)"', trace)} <= {os.path.realpath("/usr/bin/ld"), os.path.realpath("/usr/bin/ld.lld")}


@needs_landlock
def test_caches_are_allowed(home, tmp_path):
    """They are made if they are missing, except in the home of nobody."""
    (home / "vendors").mkdir()
    for name in ("libamdocl64.so", "libnvidia-opencl.so", "libigdrcl.so", "libRusticlOpenCL.so"):
        (home / f"vendors/{name}.icd").write_text(f"{home}/{name}\n")
    pocl = str(tmp_path / "kernels")
    env = {"HOME": str(home), "OCL_ICD_VENDORS": str(home / "vendors"), "POCL_CACHE_DIR": pocl, "LD_LIBRARY_PATH": f"{home}/a;{home}/b"}
    command = ["strace", "-f", "-o", tmp_path / "trace", "-e", "trace=openat,mkdir", CLIMG, ROOT / "samples/scene.png", "--invert", tmp_path / "o.png"]
    present = {name: value for name, value in os.environ.items() if name != "OCL_ICD_FILENAMES"}  # it would replace the folder's drivers
    subprocess.run(command, check=False, env={**present, "XDG_CACHE_HOME": "", **env})
    made = {"climg", "comgr", "neo_compiler_cache", "mesa_shader_cache", "mesa_shader_cache_db"}
    assert made <= set(os.listdir(home / ".cache")) and (home / ".nv").is_dir()
    opened = re.findall(r'openat\(AT_FDCWD, "([^"]+)", O_[^\n]*O_PATH', (tmp_path / "trace").read_text())
    assert {f"{home}/a", f"{home}/b"} <= set(opened)
    without = {name: value for name, value in {**present, **env}.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    subprocess.run(command, check=False, env=without)
    assert "/.nv" not in (tmp_path / "trace").read_text()
