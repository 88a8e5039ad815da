"""A device with little memory: workers share it, and what fails all the same is done again alone, in smaller slices. One that
takes small work-groups only, or has little local memory.

The layer of small_device.c stands for such a device. Where nothing else is said, outputs are compared with those of the same
command without it: this tests invariance.
"""

import re

import numpy as np
import pytest
import tifffile

import harness
import reference

FILES = [f"{i}.tif" for i in range(8)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Eight files that take 23 MB each where there is enough, and 27 MB when they are not cut into slices."""
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "in").mkdir()
    rng = harness.generator("small_device")
    for name in FILES:
        tifffile.imwrite(folder / "in" / name, rng.integers(0, 256, (1000, 1500, 3), dtype=np.uint8), metadata=None)
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def rows_at_once(result):
    """Returns the times at which a file was begun."""
    return [int(rows) for rows in re.findall(r"(\d+) rows at once", result.err)]


def test_workers_have_shares(tmp_path, folder, small_device):
    chain = ("in", "--blur", "3")
    harness.run(*chain, tmp_path / "plenty", cwd=folder)
    for jobs in (1, 2, 4, 8):
        out = tmp_path / f"out{jobs}"
        done = harness.run("-v", "-j", jobs, *chain, out, cwd=folder, env=small_device(100_000_000))
        assert len(rows_at_once(done)) == len(FILES), "a file was done again: its worker took more than its share"
        assert contents(out) == contents(tmp_path / "plenty")


def test_what_fails_beside_others_is_done_alone(tmp_path, folder, small_device):
    """One of the files fits, two do, but not four; wrapped edges want to see all of an image."""
    chain = ("in", "--gradient=3", "--edge", "wrap")
    harness.run(*chain, tmp_path / "plenty", cwd=folder)
    done = harness.run("-v", "-j", "4", *chain, tmp_path / "out", cwd=folder, env=small_device(60_000_000))
    assert len(rows_at_once(done)) > len(FILES)
    assert contents(tmp_path / "out") == contents(tmp_path / "plenty")


def test_smaller_and_smaller_slices(tmp_path, folder, small_device):
    """The device has less memory than it says, as when others use it, too."""
    command = ("-v", "in/0.tif", "--blur", "3", "--scale", "2")
    harness.run(*command, tmp_path / "plenty.tif", cwd=folder)
    rows = rows_at_once(harness.run(*command, tmp_path / "out.tif", cwd=folder, env={**small_device(8_000_000), "SMALL_SAID": "1000000000"}))
    assert len(rows) > 1 and rows[-1] < rows[0]
    assert (tmp_path / "out.tif").read_bytes() == (tmp_path / "plenty.tif").read_bytes()


def test_slices_lower_than_their_halo(tmp_path, small_device, rng):
    """Each row of the output needs nearly all of the input, which asks for high slices; the device holds low ones only."""
    tifffile.imwrite(tmp_path / "in.tif", rng.integers(0, 256, (60, 3000, 3), dtype=np.uint8), metadata=None)
    harness.run("in.tif", "--rotate", "33", "plenty.tif", cwd=tmp_path)
    done = harness.run("-v", "in.tif", "--rotate", "33", "out.tif", cwd=tmp_path, env=small_device(24_000_000))
    assert len(rows_at_once(done)) == 1
    assert (tmp_path / "out.tif").read_bytes() == (tmp_path / "plenty.tif").read_bytes()


def test_what_is_too_large_says_so(tmp_path, folder, small_device):
    chain = ("--gradient=3", "--edge", "wrap")
    done = harness.run("-j", "4", "in", *chain, tmp_path / "out", cwd=folder, env=small_device(20_000_000), status=1)
    messages = done.err.splitlines()
    assert messages.pop() == "climg: 8 of 8 files failed"
    for message in messages:
        assert re.fullmatch(r"climg: in/\d\.tif: .* is out of memory: .* it has 19 MiB, at most .*", message)
        assert message.count(".tif") == 1
    assert sorted(message.split(": ")[1] for message in messages) == [f"in/{name}" for name in FILES]
    assert not (tmp_path / "out").exists()


def test_a_pipe_cannot_be_read_again(tmp_path, folder, small_device):
    done = harness.run("-", "--blur", "3", "--scale", "2", tmp_path / "out.tif", cwd=folder, status=1,
                       env={**small_device(8_000_000), "SMALL_SAID": "1000000000"},
                       stdin=(folder / "in" / "0.tif").read_bytes())
    assert re.match("climg: standard input: .*(out of|no) memory", done.err) and done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_small_groups(tmp_path, rng, small_device):
    """A group has fewer work-items than rows where it would have four of each, or than overlap with its neighbours."""
    env, sample = small_device(groups=int(rng.integers(1, 4))), harness.SAMPLES / "scene.png"
    for chain in (("--scale", f"1/{2 ** rng.integers(1, 4)}"), ("--wavelet=2", "--shrink=0.1", "--inverse-wavelet")):
        harness.run(*chain, "-m", "image", sample, tmp_path / "large.png")
        harness.run(*chain, "-m", "image", sample, tmp_path / "small.png", env=env)
        assert (tmp_path / "small.png").read_bytes() == (tmp_path / "large.png").read_bytes()


def test_groups_that_the_device_takes(tmp_path, rng, small_device):
    """The largest group of what is made for GPUs: there and back gives the picture."""
    env = {"CLIMG_CLASS": "gpu", **small_device(groups=128)}
    samples = harness.random_samples(rng, harness.Shape(70, 50, 1, "float32"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run("in.tif", "--wavelet=3", "--inverse-wavelet", "out.tif", cwd=tmp_path, env=env)
    harness.assert_close(harness.read_tiff(tmp_path / "out.tif").astype(float), samples.astype(float))


@pytest.mark.some(1)
@pytest.mark.parametrize("memory", harness.MEMORIES)
@pytest.mark.parametrize("chain, stage", [
    (["--blur=2"], lambda planes: reference.blur(planes, 2)), (["--gradient"], reference.gradient),
    (["--scale=1/64,grid=corners"], lambda planes: reference.scale(planes, "1/64", grid="corners")),
    (["--blur=30,truncate=4"], lambda planes: reference.blur(planes, 30, 4)),
    (["--warp=2.6 2.6 0 -2.6 2.6 40,size=45x45"], lambda planes: reference.warp(planes, (2.6, 2.6, 0, -2.6, 2.6, 40), (45, 45))),
    (["--wavelet=2", "--inverse-wavelet"], lambda planes: planes)], ids=["blur", "gradient", "reduce", "long-blur", "warp", "wavelet"])
def test_little_local_memory(tmp_path, rng, small_device, chain, stage, memory):
    """The usual groups take more local memory than the device has. Compared with numpy."""
    samples = harness.random_samples(rng, harness.Shape(140, 90, 1, "float32"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    env = {"CLIMG_CLASS": "gpu", **small_device(local=16384, kernels=256)}
    harness.run("-m", memory, "in.tif", *chain, "out.tif", cwd=tmp_path, env=env)
    harness.assert_close(harness.read_tiff(tmp_path / "out.tif").astype(float), reference.through(samples, stage))


def test_what_a_device_does_not_tell(tmp_path, small_device):
    command = ("--rank", "8,percent=30,shape=disc", harness.SAMPLES / "scene.png")
    harness.run(*command, tmp_path / "told.png")
    harness.run(*command, tmp_path / "untold.png", env=small_device(groups=0))
    assert (tmp_path / "untold.png").read_bytes() == (tmp_path / "told.png").read_bytes()
