"""Several files at once, on one device and on all."""

import json
import os
import shutil
import subprocess
import threading

import numpy as np
import pytest
import tifffile

import harness
import pngfile

TWO_DEVICES = {"POCL_DEVICES": "pthread basic", "CLIMG_DEVICE": ""}  # PoCL then offers itself twice


def make_files(folder, rng, count=24):
    """Files of several sizes, one of them broken; {name: what --invert makes of it}."""
    folder.mkdir()
    inverted = {}
    for i in range(count):
        height, width = rng.integers(1, 200, 2)
        samples = rng.integers(0, 256, (height, width), dtype=np.uint8)
        tifffile.imwrite(folder / f"{i:02}.tif", samples, metadata=None)
        inverted[f"{i:02}.tif"] = 255 - samples
    (folder / "broken.tif").write_bytes(b"II*\0nonsense")
    return inverted


def assert_all_done(folder, inverted):
    assert sorted(os.listdir(folder)) == sorted(inverted)
    for name, samples in inverted.items():
        assert np.array_equal(tifffile.imread(folder / name).reshape(samples.shape), samples), name


@pytest.mark.parametrize("jobs", [1, 2, 16])
def test_several_at_once(tmp_path, rng, jobs):
    inverted = make_files(tmp_path / "in", rng)
    done = harness.run("-j", jobs, "--report", "r", "in", "--invert", "out", cwd=tmp_path, status=3)
    assert done.err.startswith("climg: in/broken.tif: ") and done.err.endswith("\nclimg: 1 of 25 files failed\n")
    assert_all_done(tmp_path / "out", inverted)
    lines = [json.loads(line) for line in (tmp_path / "r").read_text().splitlines()]
    assert sorted(line["input"] for line in lines) == sorted(f"in/{name}" for name in [*inverted, "broken.tif"])


def test_all_workers_decode_while_the_device_starts(tmp_path, rng, late_device):
    """Their inputs are pipes, which are read to the end before the device is ready."""
    samples = rng.integers(0, 256, (700, 900, 3), dtype=np.uint8)
    pngfile.write_png(tmp_path / "in.png", samples)
    writers = []
    for name in ("a.png", "b.png", "c.png"):
        os.mkfifo(tmp_path / name)
        writers.append(threading.Thread(target=(tmp_path / name).write_bytes, args=[(tmp_path / "in.png").read_bytes()], daemon=True))
    child = subprocess.Popen([harness.CLIMG, "-j", "3", "a.png", "b.png", "c.png", "--invert", "out/"], cwd=tmp_path,
                             stdin=subprocess.DEVNULL, env={**os.environ, **late_device, "CLIMG_GROUP": "1"})
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(20)
    waiting = [writer.name for writer in writers if writer.is_alive()]
    (tmp_path / "ready").touch()
    assert child.wait(timeout=60) == 0 and waiting == []
    for name in ("a.png", "b.png", "c.png"):
        assert np.array_equal(pngfile.read_png(tmp_path / "out" / name).samples, 255 - samples)


def test_timing_adds_up_all_workers(tmp_path, rng):
    make_files(tmp_path / "in", rng)
    (tmp_path / "in" / "broken.tif").unlink()
    timing = json.loads(harness.run("-j", 3, "--timing=json", "in", "--invert", "out", cwd=tmp_path, env={"CLIMG_GROUP": "1"}).err)
    assert {row["kernel"]: row["launches"] for row in timing["stages"]} == {"unpack": 24, "linear": 24, "pack": 24}


def test_timing_of_workers_that_met_broken_files(tmp_path, rng):
    """Whoever took the broken file, the other one's times are told."""
    for name in ("a", "b"):
        (tmp_path / f"broken-{name}.tif").write_bytes(b"II*\0nonsense")
    make_files(tmp_path / "in", rng, 1)
    done = harness.run("-j", 2, "--timing=json", "broken-a.tif", "in/00.tif", "broken-b.tif", "--invert", "out",
                       cwd=tmp_path, status=3)
    timing = json.loads(next(line for line in done.err.splitlines() if line.startswith("{")))
    assert timing["device"] and {row["kernel"] for row in timing["stages"]} == {"unpack", "linear", "pack"}


def devices():
    listed = subprocess.run([harness.CLIMG, "--list-devices"], env={**os.environ, **TWO_DEVICES}, capture_output=True,
                            check=True).stdout.decode().splitlines()
    return [line.split(": ", 1)[1] for line in listed if line[0].isdigit()]


@pytest.fixture
def two_devices():
    if sum(name.startswith(("basic", "pthread")) for name in devices()) < 2:
        pytest.skip("this PoCL does not offer itself as two devices")


def test_all_devices(tmp_path, rng, two_devices):
    inverted = make_files(tmp_path / "in", rng, 60)
    harness.run("-d", "all", "--report", "r", "in", "--invert", "out", cwd=tmp_path, status=3, env=TWO_DEVICES)
    assert_all_done(tmp_path / "out", inverted)
    used = {json.loads(line)["device"] for line in (tmp_path / "r").read_text().splitlines()} - {None}
    assert len(used) >= 2


def test_devices_of_a_list(tmp_path, rng, two_devices):
    """By number or name; each has a table of its own, in the order of the list."""
    inverted = make_files(tmp_path / "in", rng, 60)
    (tmp_path / "in" / "broken.tif").unlink()
    listed = json.loads(harness.run("--list-devices=json", env=TWO_DEVICES).out)
    assert [device["name"] for device in listed] == devices()
    names = [device["name"] for device in listed if device["name"].startswith(("basic", "pthread"))]
    numbers = [str(device["number"]) for device in listed if device["name"] in names]
    for chosen in (",".join(numbers), ",".join(name.split("-")[0] for name in names)):
        for _ in range(10):  # as in test_a_device_that_fails
            done = harness.run("-d", chosen, "--timing=json", "in", "--invert", "out", cwd=tmp_path, env=TWO_DEVICES)
            assert_all_done(tmp_path / "out", inverted)
            shutil.rmtree(tmp_path / "out")
            times = [json.loads(line) for line in done.err.splitlines()]
            if len(times) == 2:
                break
        assert [time["device"] for time in times] == names
        launches = [row["launches"] for time in times for row in time["stages"] if row["kernel"] == "pack"]
        assert len(launches) == 2 and 0 < launches[0] < 60
    tables = harness.run("-d", "all", "-t", "in", "--invert", "out", cwd=tmp_path, env=TWO_DEVICES).err
    assert 1 <= tables.count("all kernels") <= 2 and tables.count("all kernels") == tables.count("wall clock")


@pytest.mark.parametrize("wanted, message", [
    ("0,99", "no OpenCL device fits \"99\"; see --list-devices"),
    ("0,0", "--device 0,0: device 0 is in it twice"),
    ("0,", "--device 0,: an empty name is in it"),
    ("0,1", "--device 0,1 is for several files; a single file needs one device"),
])
def test_bad_lists(tmp_path, two_devices, wanted, message):
    done = subprocess.run([harness.CLIMG, "-d", wanted, harness.SAMPLES / "scene.png", "--invert", tmp_path / "out.png"],
                          env={**os.environ, **TWO_DEVICES}, capture_output=True, check=False)
    assert done.returncode in (1, 2) and done.stderr.decode() == f"climg: {message}\n"
    assert not (tmp_path / "out.png").exists()


@pytest.mark.parametrize("failing, after", [("basic", 0), ("basic", 7), ("pthread", 5)])
def test_a_device_that_fails(tmp_path, rng, two_devices, failing_calls, failing, after):
    """Its file goes to another device, it is left out, and nothing is lost."""
    inverted = make_files(tmp_path / "in", rng, 40)
    (tmp_path / "in" / "broken.tif").unlink()
    env = {**TWO_DEVICES, **failing_calls("clEnqueueNDRangeKernel", after, always=True, device=failing)}
    for _ in range(10):  # the other device may be so quick that this one never gets as far as its failure
        done = harness.run("-d", "all", "in", "--invert", "out", cwd=tmp_path, env=env)
        assert_all_done(tmp_path / "out", inverted)
        shutil.rmtree(tmp_path / "out")
        if done.err:
            break
    assert done.err.count("the device fails and is left out; the others go on") == 1
    assert done.err.startswith(f"climg: {failing}")


def test_a_device_that_fails_with_a_pipe(tmp_path, rng, two_devices, failing_calls):
    """Its output is lost: no thread waits for it again."""
    samples = rng.integers(0, 256, (20, 30), dtype=np.uint8)
    for name in ("a.pgm", "b.pgm"):
        os.mkfifo(tmp_path / name)
    env = {**os.environ, **TWO_DEVICES, **failing_calls("clEnqueueNDRangeKernel", 0, always=True, device=devices()[0])}
    with subprocess.Popen([harness.CLIMG, "-d", "all", "a.pgm", "b.pgm", "--invert", "out/"], cwd=tmp_path, env=env,
                          stderr=subprocess.PIPE, text=True) as process:
        pipes = [open(tmp_path / name, "wb") for name in ("a.pgm", "b.pgm")]  # each device has one then
        for pipe in pipes:
            pipe.write(b"P5 30 20 255\n" + samples.tobytes())
            pipe.close()
        try:
            said = process.communicate(timeout=20)[1]
        finally:
            process.kill()
    (done,) = (tmp_path / "out").iterdir()
    assert process.returncode == 3 and done.read_bytes().endswith((255 - samples).tobytes())
    assert said.startswith(f"climg: {'b' if done.name == 'a.pgm' else 'a'}.pgm: ")


def test_a_device_that_fails_alone_with_what_was_put_off(tmp_path, rng, two_devices, failing_calls):
    """Files that half of the memory is not enough for wait until nobody else is at work; then the other device does them."""
    (tmp_path / "in").mkdir()
    samples = rng.integers(0, 256, (100, 100), dtype=np.uint8)
    for i in range(4):
        tifffile.imwrite(tmp_path / "in" / f"{i}.tif", samples, metadata=None)
    # Testing a device takes two launches, at most once per file; then each file takes three or more.
    env = {**TWO_DEVICES, "CLIMG_CLASS": "gpu",
           **failing_calls("clEnqueueNDRangeKernel", 8, always=True, device=devices()[0])}
    done = harness.run("-d", "all", "-j", "2", "--memory-limit", "20K", "in", "--invert", "out", cwd=tmp_path, env=env)
    assert_all_done(tmp_path / "out", {f"{i}.tif": 255 - samples for i in range(4)})
    assert done.err.count("the device fails and is left out; the others go on") == 1


def test_the_only_device_fails(tmp_path, rng, failing_calls):
    """Then every file fails, and says so."""
    make_files(tmp_path / "in", rng, 3)
    (tmp_path / "in" / "broken.tif").unlink()
    done = harness.run("in", "--invert", "out", cwd=tmp_path, status=1,
                       env=failing_calls("clEnqueueNDRangeKernel", 0, always=True))
    messages = done.err.splitlines()
    assert messages.pop() == "climg: 3 of 3 files failed"
    assert sorted(message.split(": ")[1] for message in messages) == [f"in/0{i}.tif" for i in range(3)]
    assert all("CL_OUT_OF_RESOURCES" in message and message.count(".tif") == 1 for message in messages)
    assert not (tmp_path / "out").exists()


def test_all_devices_for_one_file(tmp_path):
    done = harness.run("-d", "all", harness.SAMPLES / "scene.png", "--invert", tmp_path / "out.png", status=2)
    assert done.err == "climg: --device all is for several files; a single file needs one device\n"
    assert not (tmp_path / "out.png").exists()


def test_what_may_be_a_folder_for_all_devices(tmp_path):
    (tmp_path / "in").symlink_to("in")
    done = harness.run("-d", "all", "in", "--invert", "out", cwd=tmp_path, status=1)
    assert done.err == "climg: in: cannot open: Too many levels of symbolic links\n"


def test_lines_are_written_whole(tmp_path, rng):
    """Whoever else writes to the same place; a pipe of packets shows what one call wrote."""
    make_files(tmp_path / "in", rng)
    reader, writer = os.pipe2(os.O_DIRECT)
    child = subprocess.Popen([harness.CLIMG, "-v", "-j", "4", "--timing=json", "in", "missing.tif", "--invert", "out"], cwd=tmp_path,
                             stderr=writer)
    os.close(writer)
    packets = list(iter(lambda: os.read(reader, 1 << 16), b""))
    os.close(reader)
    assert child.wait(60) == 3
    assert len(packets) > 50 and all(packet.endswith(b"\n") for packet in packets)
