"""The OpenCL drivers that are loaded, and the device that `auto` chooses: the real drivers, of which climg is to take the CPU's, and an imagined GPU
(imagined_driver.c), which can do nothing: what goes there fails and says so. One processor, so that the expected times are the same anywhere."""

import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

import harness

VENDORS = pathlib.Path("/etc/OpenCL/vendors")
DIRECTING = ("CLIMG_DEVICE", "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OCL_ICD_DEFAULT_PLATFORM", "OCL_ICD_PLATFORM_SORT", "OPENCL_VENDOR_PATH")
ON_GPU = "Imagined GPU: no context"
CPU_ONLY = "climg: only the CPU's OpenCL driver is loaded, "


def fnv(text):
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return state


class Machine:
    """A folder of vendors with an imagined driver in it, and a cache of its own."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.library, self.starts = folder, folder / "libimagined.so", folder / "starts"
        source = harness.ROOT / "tests/reference/imagined_driver.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", self.library, source], check=True)
        shutil.copytree(VENDORS, folder / "vendors")
        (folder / "vendors/imagined.icd").write_text(f"{self.library}\n")
        for name in DIRECTING:
            monkeypatch.delenv(name, raising=False)
        self.env = {"OCL_ICD_VENDORS": f"{folder}/vendors/", "XDG_CACHE_HOME": str(folder / "cache"), "POCL_MAX_PTHREAD_COUNT": "1",
                    "POCL_CACHE_DIR": harness.pocl_cache(), "IMAGINED_STARTS": str(self.starts)}
        harness.write_tiff(folder / "in.tif", np.arange(12, dtype=np.uint8).reshape(3, 4, 1))

    def run(self, *words, status=0, env=None, **options):
        """Returns a command's stderr, and True if it loaded the imagined driver."""
        self.starts.write_text("")
        done = harness.run("-v", *words, cwd=self.folder, status=status, env={**self.env, **(env or {})}, **options)
        return done.err, self.starts.read_text() != ""

    def invert(self, device, status=0, **env):
        said, started = self.run("--device", device, "in.tif", "--invert", "out.tif", status=status, env=env)
        if status == 0:
            assert np.array_equal(harness.read_tiff(self.folder / "out.tif").ravel(), 255 - np.arange(12))
        return said, started


@pytest.fixture
def machine(tmp_path, monkeypatch):
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    yield Machine(tmp_path, monkeypatch)
    os.sched_setaffinity(0, processors)


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_only_the_cpus_is_loaded(machine, device):
    """In the first run, too, and nothing is kept of it."""
    said, started = machine.invert(device)
    assert not started and CPU_ONLY in said
    assert not (machine.folder / "cache").exists()


def test_all_are_loaded(machine):
    said, started = machine.invert("gpu", status=1)
    assert started and CPU_ONLY not in said and ON_GPU in said
    said, started = machine.invert("nonsense", status=1)
    assert started and "no OpenCL device fits \"nonsense\"; see --list-devices" in said
    listed = harness.run("--list-devices", cwd=machine.folder, env=machine.env).out.decode()
    name = next(line.split(": ", 1)[1] for line in listed.splitlines() if re.match(r"\d+: (?!Imagined)", line))
    assert machine.invert(name[:9])[1], "any driver may have a device of that name"
    assert "Imagined GPU" in listed and "CPU" in listed and "no GPU" not in listed


def test_auto_takes_the_gpu_for_much(machine):
    harness.write_tiff(machine.folder / "large.tif", np.zeros((4000, 4000, 1), np.uint8))
    said, started = machine.run("large.tif", "--median", "127,shape=disc", "out.tif", status=1)
    assert started and ON_GPU in said and "climg: on Imagined GPU: about 0.3" in said and "; on the CPU 1.5" in said


@pytest.mark.parametrize("folder", [None, "."])
def test_drivers_write_temporary_files_where_climg_does(machine, monkeypatch, folder):
    """Not below TMP, which a confined process may not write."""
    monkeypatch.setenv("TMP", str(machine.folder))
    monkeypatch.setenv("TMPDIR", folder) if folder else monkeypatch.delenv("TMPDIR", raising=False)
    assert machine.invert("gpu", status=1)[1]
    assert machine.starts.read_text() == f"started with TMPDIR={folder or '/tmp'}\n"


def test_list_of_libraries(machine):
    """OCL_ICD_FILENAMES is narrowed in the same way."""
    (machine.folder / "vendors/pocl.icd").rename(machine.folder / "pocl")
    (machine.folder / "vendors/imagined.icd").unlink()
    pocl = (machine.folder / "pocl").read_text().strip()
    said, started = machine.invert("auto", OCL_ICD_FILENAMES=f"{machine.library}:{pocl}")
    assert not started and f"{CPU_ONLY}{pocl};" in said


def test_library_of_two_files(machine):
    """Its devices are listed once, also with another driver between the two."""
    vendors = machine.folder / "vendors"
    pocl = (vendors / "pocl.icd").read_text()
    shutil.rmtree(vendors)
    vendors.mkdir()
    for name, library in (("a", pocl), ("b", f"{machine.library}\n"), ("c", pocl)):  # in the order of the directory
        (vendors / f"{name}.icd").write_text(library)
    listed = harness.run("--list-devices", cwd=machine.folder, env={**machine.env, "OCL_ICD_PLATFORM_SORT": "none"}).out.decode()
    assert len(re.findall(r"(?m)^\d+: ", listed)) == 2, listed


def test_folder_with_a_pattern_in_its_name(machine):
    (machine.folder / "[v]").mkdir()
    (machine.folder / "vendors").rename(machine.folder / "[v]/vendors")
    said, started = machine.invert("auto", OCL_ICD_VENDORS=f"{machine.folder}/[v]/vendors/")
    assert not started and CPU_ONLY in said


def test_a_library_that_is_not_there(machine):
    """Then all are loaded."""
    (machine.folder / "vendors/a-pocl.icd").write_text("/nowhere/libpocl.so\n")
    said, started = machine.invert("cpu")
    assert started and CPU_ONLY not in said


def test_a_single_driver(machine):
    said, _ = machine.invert("auto", OCL_ICD_VENDORS=f"{machine.folder}/vendors/pocl.icd")
    assert CPU_ONLY not in said
    said, _ = machine.invert("gpu", status=1, OCL_ICD_VENDORS=f"{machine.folder}/vendors/pocl.icd")
    assert "no OpenCL device fits \"gpu\"; a GPU needs its OpenCL driver: nvidia-opencl-icd, " in said


@pytest.mark.parametrize("device, failed", [("auto", True), ("all", True), ("cpu", False)])
def test_warm_takes_both(machine, device, failed):
    """Also where one of them fails."""
    done = harness.run("--warm", "--device", device, cwd=machine.folder, env={**machine.env, "CLIMG_STAGES": "invert"}, status=int(failed))
    assert ("Imagined GPU: no context" in done.err) == failed
    assert b"invert " in done.out and b" 1 examples: " in done.out


def test_auto_counts_the_files(machine):
    harness.write_tiff(machine.folder / "in.tif", np.zeros((100, 1000, 1), np.uint8))
    assert not machine.run("in.tif", "--median", "3,shape=disc", "out.tif")[1]
    (machine.folder / "many").mkdir()
    for i in range(100):
        shutil.copy(machine.folder / "in.tif", machine.folder / f"many/{i}.tif")
    assert ON_GPU in machine.run("many", "--median", "3,shape=disc", "out/", status=1)[0]


@pytest.mark.parametrize("count, gpu", [(1, False), (30, True)])
def test_auto_counts_the_frames(machine, count, gpu):
    """Concatenated pictures, whose number is unknown."""
    (machine.folder / "film.pgm").write_bytes(count * (b"P5 1000 500 255\n" + bytes(500_000)))
    said, started = machine.run("film.pgm", "--median", "3,shape=disc", "-f", "tiff", "out.tif", status=int(gpu))
    assert started == gpu == (ON_GPU in said)


def test_a_pipe_of_video_is_long(machine):
    said, _ = machine.run("-", "--invert", "-f", "y4m", "-", status=1, stdin=b"YUV4MPEG2 W2 H2 F25:1 Cmono\nFRAME\n1234")
    assert ON_GPU in said


def test_auto_leaves_out_what_failed_the_selftest(machine):
    harness.run("--selftest", "--device", "cpu", cwd=machine.folder, env=machine.env)
    (passed,) = (machine.folder / "cache/climg").glob("selftest-*")
    kernels = passed.read_text().splitlines()[0].rpartition(", ")[2]
    header = f"climg selftest-gpu, Imagined, Imagined GPU, OpenCL 1.2 imagined, OpenCL 1.2 imagined, {kernels}\n"
    text = header + "failed --blur 0.5 2026-01-31\n"
    (machine.folder / f"cache/climg/selftest-gpu-{fnv(header):016x}").write_text(f"{text}sum {fnv(text):016x}\n")
    harness.write_tiff(machine.folder / "large.tif", np.zeros((4000, 6000, 1), np.uint8))
    large = ("large.tif", "--median", "3,shape=disc", "out.tif", "-y")
    assert "climg: Imagined GPU is left out, as it gave wrong answers in --selftest\n" in machine.run(*large)[0]
    assert "gave wrong answers in --selftest on 2026-01-31" in machine.run("--device", "gpu", *large, status=1)[0]
    shutil.copy(machine.folder / "in.tif", machine.folder / "two.tif")
    done = harness.run("--device", "0,", "in.tif", "two.tif", "--invert", "out/", cwd=machine.folder, status=2, env=machine.env)
    assert done.err == "climg: --device 0,: an empty name is in it\n", "an empty name is no device, of which nothing is said"
    said, _ = machine.run("--force", *large, status=1)
    assert ON_GPU in said and "left out" not in said
    listed = harness.run("--list-devices", cwd=machine.folder, env=machine.env).out.decode()
    gpu, cpu = sorted(listed.replace("\n   ", "").splitlines(), key=lambda line: "Imagined" not in line)
    assert "auto uses" in cpu and "auto uses" not in gpu

    # A small command usually loads only the driver of the CPU.
    assert not machine.invert("auto")[1]
    text = passed.read_text().replace("\npassed ", "\nfailed ").rpartition("sum ")[0]
    passed.write_text(f"{text}sum {fnv(text):016x}\n")
    next((machine.folder / "cache/climg").glob("selftest-gpu-*")).unlink()
    said, started = machine.invert("auto", status=1)
    assert started and ON_GPU in said and "is left out, as it gave wrong answers in --selftest\n" in said
    for device, words, env in (("auto", (), {"IMAGINED_GONE": "1"}), ("cpu", (), {}), ("auto", ("--force",), {})):
        said, started = machine.run("--device", device, *words, "in.tif", "--invert", "out.tif", "-y", status=int(not words), env=env)
        assert started == bool(env) and ("gave wrong answers in --selftest on " in said) == (not words), (device, words, said)
