"""Which OpenCL drivers are started, and which device `auto` takes: the real ones, of which climg is to take the CPU's, and an imagined GPU
(imagined_driver.c), which can do nothing: what goes there fails and says so."""

import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import harness

VENDORS = pathlib.Path("/etc/OpenCL/vendors")
DIRECTING = ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OCL_ICD_DEFAULT_PLATFORM", "OCL_ICD_PLATFORM_SORT", "OPENCL_VENDOR_PATH")


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
        self.env = {"CLIMG_VENDORS": f"{folder}/vendors/", "XDG_CACHE_HOME": str(folder / "cache"),
                    "POCL_CACHE_DIR": harness.pocl_cache(), "IMAGINED_STARTS": str(self.starts)}
        harness.write_tiff(folder / "in.tif", np.arange(12, dtype=np.uint8).reshape(3, 4, 1))

    def invert(self, device, status=0, **env):
        """What a command says, and whether it started the imagined driver."""
        self.starts.write_text("")
        done = harness.run("-v", "--device", device, "in.tif", "--invert", "out.tif", cwd=self.folder, status=status,
                           env={**self.env, **env})
        if status == 0:
            assert np.array_equal(harness.read_tiff(self.folder / "out.tif").ravel(), 255 - np.arange(12))
        return done.err, self.starts.read_text() != ""

    def recalled(self):
        """Its file of the CPU's times, and what stands in it."""
        (path,) = (path for path in (self.folder / "cache/climg").glob("times-*") if "times-1073741824" not in path.name)
        header, *rows, _ = path.read_text().splitlines()
        return path, header, dict((name, float(seconds)) for name, seconds in map(str.split, rows))

    def remember(self, about=None, **times):
        """Seconds of the CPU, or of the imagined GPU, as climg would have written them."""
        _, header, rows = self.recalled()
        if about:
            header = f"climg {about}, Imagined, Imagined GPU, OpenCL 1.2 imagined, OpenCL 1.2 imagined, {header.rpartition(', ')[2]}"
            rows = {}
        body = "".join(f"{name} {seconds:.3e}\n" for name, seconds in {**rows, **times}.items())
        self.write(header, body)

    def write(self, header, body):
        text, about = f"{header}\n{body}", header.split(",")[0].removeprefix("climg ")
        path = self.folder / f"cache/climg/{about}-{fnv(header + chr(10)):016x}"
        path.write_text(f"{text}sum {fnv(text):016x}\n")
        return path


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch)


def test_only_one_is_started(machine):
    said, started = machine.invert("cpu")
    assert started and "only that of" not in said
    said, started = machine.invert("cpu")
    assert not started and "of the OpenCL drivers only that of" in said
    said, started = machine.invert("gpu", status=1)
    assert started and "only that of Imagined GPU is started" in said and "Imagined GPU: no context" in said
    said, _ = machine.invert("nonsense", status=1)
    assert "no OpenCL device fits --device nonsense" in said
    listed = harness.run("--list-devices", cwd=machine.folder, env=machine.env).out.decode()
    assert "Imagined GPU" in listed and "CPU" in listed


def updated(machine):
    os.utime(machine.library)
    return {}


def another(machine):
    (machine.folder / "vendors/other.icd").write_text("libnothing.so\n")
    return {}


def damaged(machine):
    """In a name, which nothing else contradicts."""
    (path,) = (machine.folder / "cache/climg").glob("drivers-*")
    text = path.read_bytes()
    path.write_bytes(text.replace(b"Imagined", b"Imagjned"))
    return {}


def cut(machine):
    (path,) = (machine.folder / "cache/climg").glob("drivers-*")
    path.write_bytes(path.read_bytes()[:-5])
    return {}


def hidden(_):
    return {"CUDA_VISIBLE_DEVICES": "1"}


def linked_elsewhere(machine):
    """As by an update of a driver whose place is a link."""
    link, other = machine.folder / "link.so", machine.folder / "libother.so"
    shutil.copy(machine.library, other)
    link.unlink()
    link.symlink_to(other)
    return {}


def appears(machine):
    shutil.copy(machine.library, machine.folder / "later.so")
    return {}


@pytest.mark.parametrize("change", [updated, another, damaged, cut, hidden, linked_elsewhere, appears], ids=lambda change: change.__name__)
def test_what_changed_is_noticed(machine, change):
    if change is linked_elsewhere:
        (machine.folder / "link.so").symlink_to(machine.library)
        (machine.folder / "vendors/imagined.icd").write_text(f"{machine.folder}/link.so\n")
    if change is appears:
        (machine.folder / "vendors/later.icd").write_text(f"{machine.folder}/later.so\n")
    machine.invert("cpu")
    env = change(machine)
    assert machine.invert("cpu", **env)[1], "it should have asked all drivers again"
    assert not machine.invert("cpu", **env)[1]


def test_number_of_cores_is_noticed(machine):
    """What is learnt goes by it, and is used."""
    machine.invert("cpu", POCL_MAX_PTHREAD_COUNT="7")
    machine.invert("cpu")
    assert machine.invert("cpu")[1] and not machine.invert("cpu")[1]
    assert "\t7\t" not in next((machine.folder / "cache/climg").glob("drivers-*")).read_text()


def test_device_that_is_gone(machine):
    machine.invert("cpu")
    said, _ = machine.invert("gpu", status=1, IMAGINED_GONE="1")
    assert "is not there any more" in said
    said, _ = machine.invert("gpu", status=1, IMAGINED_GONE="1")
    assert "no OpenCL device fits --device gpu" in said


def test_user_directs_the_loader(machine):
    machine.invert("cpu", OCL_ICD_PLATFORM_SORT="none")
    assert not (machine.folder / "cache").exists() or not list((machine.folder / "cache").rglob("drivers-*"))


def test_no_cache(machine):
    """Then all are started each time."""
    for _ in range(2):
        assert machine.invert("cpu", XDG_CACHE_HOME="/proc/nowhere")[1]


ON_GPU = "Imagined GPU: no context"
SLOW = {"invert": 1.0}  # seconds for a sample: twelve samples are worth any start


@pytest.fixture
def started(machine):
    """Its CPU was started twice: first with all devices, then alone, so that the times of its start are known."""
    machine.invert("cpu")
    assert not list((machine.folder / "cache").rglob("times-*"))
    machine.invert("cpu")
    return machine


@pytest.fixture
def slow(started):
    """The CPU is remembered to be slow, so that the GPU is worth its start."""
    started.remember(**SLOW)
    return started


def test_auto_takes_the_cpu_for_little_and_the_gpu_for_much(machine):
    machine.invert("auto")
    said, started = machine.invert("auto")
    assert not started and "climg: on the CPU: about 0." in said and "; on Imagined GPU 0.25 s, 0.25 of it to start" in said
    harness.write_tiff(machine.folder / "large.tif", np.zeros((4000, 4000, 1), np.uint8))
    done = harness.run("large.tif", "--median", "127", "out.tif", cwd=machine.folder, status=1, env=machine.env)
    assert ON_GPU in done.err


@pytest.mark.parametrize("device, failed", [("auto", True), ("all", True), ("cpu", False)])
def test_warm_takes_both(machine, device, failed):
    """Also where one of them fails."""
    machine.invert("cpu")
    done = harness.run("--warm", "--device", device, cwd=machine.folder, env={**machine.env, "CLIMG_ASK": "invert"}, status=int(failed))
    assert ("Imagined GPU: no context" in done.err) == failed
    assert b"invert " in done.out and b" 1 examples: " in done.out


def test_auto_counts_the_files(started):
    machine = started
    machine.remember(invert=0.002)
    assert not machine.invert("auto")[1]
    (machine.folder / "many").mkdir()
    for i in range(50):
        shutil.copy(machine.folder / "in.tif", machine.folder / f"many/{i}.tif")
    done = harness.run("many", "--invert", "out/", cwd=machine.folder, status=1, env=machine.env)
    assert ON_GPU in done.err


def test_auto_takes_the_same_each_time(slow):
    """As long as it knows the same."""
    for _ in range(3):
        assert ON_GPU in slow.invert("auto", status=1)[0]


@pytest.mark.parametrize("device, status", [("cpu", 0), ("gpu", 1)])
def test_named_devices_are_absolute(slow, device, status):
    slow.remember("times-1073741824", start=100)
    said, _ = slow.invert(device, status=status)
    assert (ON_GPU in said) == (device == "gpu") and "of it to start" not in said


def test_auto_counts_the_frames(started):
    """Of video, and of pictures that follow one another, which do not say how many they are; what is learnt goes by as many."""
    machine = started
    frame = b"P5 1000 1500 255\n" + bytes(1_500_000)
    for count, expected in ((1, False), (30, True)):
        (machine.folder / "film.pgm").write_bytes(count * frame)
        machine.remember(invert=1e-7)
        done = harness.run("film.pgm", "--invert", "-f", "tiff", "out.tif", cwd=machine.folder, status=1 if expected else 0,
                           env=machine.env)
        assert (ON_GPU in done.err) == expected
    for form, expected in (("pgm", False), ("y4m", True)):  # a pipe's, which nobody can count
        machine.remember(invert=2e-9)
        done = harness.run("-", "--invert", "-f", form, "-", cwd=machine.folder, status=1 if expected else 0, env=machine.env,
                           stdin=b"P5 2 2 255\n1234" if form == "pgm" else b"YUV4MPEG2 W2 H2 F25:1 Cmono\nFRAME\n1234")
        assert (ON_GPU in done.err) == expected
    for count in (3, 30):
        (machine.folder / "film.pgm").write_bytes(count * frame)
        machine.remember(invert=1e-4)
        harness.run("--device", "cpu", "film.pgm", "--invert", "out.tif", cwd=machine.folder, env=machine.env)
        assert machine.recalled()[2]["invert"] == pytest.approx(0.625e-4, rel=1e-3), "a quarter, halfway"


def test_times_are_learnt(started):
    machine = started
    assert set(machine.recalled()[2]) == {"start"}, "twelve pixels tell nothing of a stage"
    assert 0.018 < machine.recalled()[2]["start"] <= 0.0751
    harness.write_tiff(machine.folder / "large.tif", np.zeros((2000, 1500, 1), np.uint8))
    for device in ("cpu", "auto"):
        machine.remember(**SLOW, blur=2.0)
        machine.remember("times-1073741824", start=9e2)
        if device == "auto":
            machine.remember(invert=1e-5)
        before = machine.recalled()[2]["invert"]
        harness.run("--device", device, "large.tif", "--invert", "out.tif", cwd=machine.folder, env=machine.env)
        after = machine.recalled()[2]
        assert after["invert"] == pytest.approx(0.625 * before, rel=1e-3), "halfway to a quarter of it"
        assert after["blur"] == 2.0 and after["copies"] == 0


def harm(machine, change):
    path, header, rows = machine.recalled()
    text = path.read_text()
    if change == "digit":
        path.write_text(text.replace("invert 1.0", "invert 2.0"))
    elif change == "cut":
        path.write_text(text[:-9])
    elif change == "foreign":
        other = machine.write(header + "x", "invert 1.0e+00\n")
        other.replace(path)
    else:
        machine.write(header, change)


@pytest.mark.parametrize("change", ["digit", "cut", "foreign", "invert nan\n", "invert 1.0e+00", "invert -1.0e+00\n", "invert\n", "\n"])
def test_damaged_times_are_forgotten(slow, change):
    harm(slow, change)
    assert "climg: on the CPU" in slow.invert("auto")[0]
    _, _, rows = slow.recalled()
    assert set(rows) == {"start"}


def test_driver_that_is_updated(slow):
    """What was known of the old one is no more."""
    slow.remember("times-1073741824", start=100)
    assert "climg: on the CPU" in slow.invert("auto")[0]
    os.utime(slow.library)
    assert ON_GPU in slow.invert("auto", status=1, IMAGINED_VERSION="2")[0]


def test_device_that_is_gone_from_auto(slow):
    said, _ = slow.invert("auto", status=1, IMAGINED_GONE="1")
    assert "is not there any more; run the command again" in said
    assert "on Imagined" not in slow.invert("auto", IMAGINED_GONE="1")[0]


def test_devices_are_hidden(slow):
    said, started = slow.invert("auto", CUDA_VISIBLE_DEVICES="", IMAGINED_GONE="1")
    assert started and "on Imagined" not in said


def test_another_folder_of_vendors(slow):
    said, started = slow.invert("auto", CLIMG_VENDORS=f"{VENDORS}/")
    assert not started and "on Imagined" not in said
    assert ON_GPU in slow.invert("auto", status=1)[0]


@pytest.mark.parametrize("known", [True, False], ids=["known", "first"])
def test_auto_leaves_out_what_failed_the_selftest(slow, known):
    slow.write(f"climg selftest-grouped, Imagined, Imagined GPU, OpenCL 1.2 imagined, OpenCL 1.2 imagined, {slow.recalled()[1].rpartition(', ')[2]}",
               "failed --blur 0.5 2026-01-31\n")
    if not known:
        (path,) = (slow.folder / "cache/climg").glob("drivers-*")
        path.unlink()
    assert "climg: Imagined GPU is left out, as it gave wrong answers in --selftest\n" in slow.invert("auto")[0]
    assert "gave wrong answers in --selftest on 2026-01-31" in slow.invert("gpu", status=1)[0]
    shutil.copy(slow.folder / "in.tif", slow.folder / "two.tif")
    done = harness.run("--device", "0,", "in.tif", "two.tif", "--invert", "out/", cwd=slow.folder, status=2, env=slow.env)
    assert done.err == "climg: --device 0,: an empty name is in it\n", "an empty name is no device, of which nothing is said"
    slow.remember(**SLOW)
    done = harness.run("--force", "in.tif", "--invert", "out.tif", cwd=slow.folder, status=1, env=slow.env)
    assert ON_GPU in done.err and "left out" not in done.err
    said = harness.run("--list-devices", cwd=slow.folder, env=slow.env).out.decode()
    gpu, cpu = sorted(said.replace("\n   ", "").splitlines(), key=lambda line: "Imagined" not in line)
    assert "auto takes" in cpu and "auto takes" not in gpu
