"""Which OpenCL drivers are started: the real ones, of which climg is to take the CPU's, and an imagined GPU (imagined_driver.c)."""

import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import harness

VENDORS = pathlib.Path("/etc/OpenCL/vendors")
DIRECTING = ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OCL_ICD_DEFAULT_PLATFORM", "OCL_ICD_PLATFORM_SORT", "OPENCL_VENDOR_PATH")


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


@pytest.mark.parametrize("change", [updated, another, damaged, cut, hidden], ids=lambda change: change.__name__)
def test_what_changed_is_noticed(machine, change):
    machine.invert("cpu")
    env = change(machine)
    assert machine.invert("cpu", **env)[1], "it should have asked all drivers again"
    assert not machine.invert("cpu", **env)[1]


def test_device_that_is_gone(machine):
    machine.invert("cpu")
    said, _ = machine.invert("gpu", status=1, IMAGINED_GONE="1")
    assert "is not there any more" in said
    said, _ = machine.invert("gpu", status=1, IMAGINED_GONE="1")
    assert "no OpenCL device fits --device gpu" in said


def test_device_that_is_gone_from_auto(machine):
    machine.invert("cpu")
    machine.invert("auto", status=1, IMAGINED_GONE="1")
    assert "only that of" not in machine.invert("auto", IMAGINED_GONE="1")[0]


def test_user_directs_the_loader(machine):
    machine.invert("cpu", OCL_ICD_PLATFORM_SORT="none")
    assert not (machine.folder / "cache").exists() or not list((machine.folder / "cache").rglob("drivers-*"))


def test_no_cache(machine):
    """Then all are started each time."""
    for _ in range(2):
        assert machine.invert("cpu", XDG_CACHE_HOME="/proc/nowhere")[1]
