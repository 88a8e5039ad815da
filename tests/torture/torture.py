#!/usr/bin/python3
"""Fails the calls that climg makes of memory, files, threads and OpenCL, one after the other, and judges what it does.

    tests/torture/torture.py                        each way to each call, in every scenario: hours
    tests/torture/torture.py --all                  every call of every scenario: days
    tests/torture/torture.py --tries 200            so many, chosen at random by --seed, in a tenth as many scenarios
    tests/torture/torture.py --only 'group*' --call clCreateBuffer --stack 1f00c0ffee --at 1     one of them again

The first run of a scenario is not failed: it notes the calls with their stacks and gives the outputs that are right. Of the
calls of a function with one stack the first is failed, and one of the others, which --seed chooses. After that every
run must end by itself, with a known exit status and one line on stderr that names its file; its outputs must be whole and
the same or absent, its inputs untouched, nothing left beside them. In a batch the other files are done.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import fnmatch
import functools
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np
import PIL.Image
import PIL.PngImagePlugin
import scipy.ndimage
import tifffile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIMG = os.path.abspath(os.environ.get("CLIMG", ROOT / "build" / "climg"))
ENTRY = struct.Struct("48sQQ")  # struct entry of fail.c
MAX_CALLS = 128
RECORD = struct.Struct("QQ")  # of struct records of stack.c, after their number
MAX_RECORDS = 1 << 20
POCL_CACHE = os.environ.get("POCL_CACHE_DIR") or (os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) + "/pocl/kcache"
TIMEOUT = 60
DIED_IN_LIBRARY = 86  # of fail.c

MEMORY = {"malloc", "calloc", "realloc", "aligned_alloc", "lib_malloc", "open_memstream"}
LISTING = {"opendir", "readdir"}  # a folder that cannot be read is one failure, however many files it holds


@dataclasses.dataclass
class Scenario:
    name: str
    args: list
    batch: bool = False
    env: dict = dataclasses.field(default_factory=dict)
    stdin: str = None
    copies: dict = dataclasses.field(default_factory=dict)  # of inputs, made before each run, by the place of the copy
    varies: bool = False  # what it says holds times, or what a device would not tell


def scenarios():
    """Command lines over the files of `make_inputs`; each writes to out/ or to stdout."""
    one, wide, gray, folder, many = "in/one.png", "in/wide.tif", "in/gray.tif", "in/five", "in/many"
    own, slices = {"CLIMG_OWN_MEMORY": "1"}, {"CLIMG_SLICE": "16"}
    chains = {"blur": ["--blur", "2"], "convolve": ["--convolve", "1 2 1 / 1 0 1"], "sharpen": ["--sharpen", "1"],
              "gradient": ["--gradient"], "halve": ["--scale", "1/2"], "enlarge": ["--scale", "2"],
              "mosaic": ["--wavelet=3"], "denoise": ["--denoise"], "gain": ["--wavelet=2", "--gain", "1:2", "--inverse-wavelet"],
              "invert": ["--invert"], "median": ["--median", "2"], "rank": ["--rank", "4,percent=20"],
              "disc": ["--rank", "2,percent=80,shape=disc"], "resize": ["--resize", "50x80,fit=exact"], "cover": ["--resize", "60x60,fit=cover"],
              "quarter": ["--rotate", "90"], "rotate": ["--rotate", "-20"], "warp": ["--warp", "1 0.2 -3 0 1 2,outside=edge"],
              "cpu": ["--blur", "9"],
              "shrinking": ["--warp", "2.5 0.5 0 -0.5 2.5 10,size=30x30,filter=bilinear"]}
    for name, chain in chains.items():
        for memory in ("buffer", "image"):
            yield Scenario(f"{name}-{memory}", [one, *chain, "-m", memory, "out/one.png"])
    for name in ("blur", "denoise"):
        yield Scenario(f"copies-{name}", [one, *chains[name], "out/one.png"], env=own)
        yield Scenario(f"slices-{name}", [wide, *chains[name], "out/wide.tif"], env=slices)
        yield Scenario(f"copied-slices-{name}", [wide, *chains[name], "out/wide.tif"], env={**own, **slices})
        yield Scenario(f"batch-{name}", [folder, *chains[name], "-j", "2", "out"], batch=True)
        yield Scenario(f"group-{name}", [many, *chains[name], "-j", "2", "out"], batch=True)
        yield Scenario(f"copied-group-{name}", [many, *chains[name], "-j", "2", "out"], batch=True, env=own)
        two = {"POCL_DEVICES": "pthread pthread"}  # PoCL shows its device twice; others know nothing of this variable
        yield Scenario(f"devices-{name}", [folder, *chains[name], "-j", "2", "--device", "all", "out"], batch=True, env=two)
    # The others take programs from climg's cache, which halves the time of a run.
    unkept = {"XDG_CACHE_HOME": "FOLDER/unkept"}
    for memory in ("buffer", "image"):
        yield Scenario(f"built-{memory}", [one, *chains["blur"], "-m", memory, "out/one.png"], env=unkept)
    yield Scenario("built-batch", [folder, *chains["denoise"], "-j", "2", "out"], batch=True, env=unkept)
    yield Scenario("keeping", [one, *chains["blur"], "out/one.png"], env={"XDG_CACHE_HOME": "FOLDER/out/cache", "CLIMG_KEEP": "1"})
    for name in ("median", "rank", "resize", "rotate", "warp", "cpu"):
        yield Scenario(f"slices-{name}", [wide, *chains[name], "out/wide.tif"], env=slices)
    align = ["--align", "in/reference.png"]
    for memory in ("buffer", "image"):
        yield Scenario(f"align-{memory}", ["in/shifted.tif", *align, "-m", memory, "out/shifted.tif"])
    yield Scenario("slices-align", ["in/shifted.tif", *align, "out/shifted.tif"], env=slices)
    yield Scenario("verify", [one, *chains["blur"], "--verify=100", "out/one.png"])
    yield Scenario("verify-slices", [wide, *chains["blur"], "--verify=100", "out/wide.tif"], env=slices)
    yield Scenario("verify-coefficients", [one, "--wavelet=3", "--verify=1", "out/one.tif"])
    yield Scenario("convert", [one, "out/one.tif"])
    yield Scenario("pages", ["in/pages.tif", "--invert", "out/pages.tif"])
    yield Scenario("jpeg", ["in/jpeg.tif", "--invert", "out/jpeg.tif"])
    yield Scenario("photo", ["in/photo.jpg", "--auto-orient", "--invert", "out/photo.jpg"])
    yield Scenario("photo-copied", ["in/photo.jpg", "out/photo.jpg"])
    yield Scenario("photo-piped", ["-", "--invert", "--quality", "50", "-f", "jpeg"], stdin="in/progressive.jpg")
    yield Scenario("webp", ["in/photo.webp", "--auto-orient", "--invert", "out/photo.webp"])
    yield Scenario("webp-piped", ["-", "--invert", "--lossless", "-f", "webp"], stdin="in/photo.webp")
    yield Scenario("photo-threads", ["in/restarts.jpg", "-j", "3", "--invert", "out/restarts.jpg"])
    yield Scenario("deflated", [gray, "--compression", "best", "out/gray.tif"])
    yield Scenario("stdin", ["-", *chains["blur"], "out/one.png"], stdin=one)
    yield Scenario("stdin-tiff", ["-", "--invert", "out/wide.tif"], stdin=wide)
    yield Scenario("stdout", [one, *chains["blur"]])
    yield Scenario("stdout-tiff", [wide, "--invert"])
    yield Scenario("coefficients-out", [one, "--wavelet=3", "out/one.tif"])
    yield Scenario("coefficients-in", ["in/coefficients.tif", "--inverse-wavelet", "out/one.png"])
    yield Scenario("matrix", [one, "--convolve", "@in/matrix.txt", "out/one.png"])
    yield Scenario("report", ["-r", "in/five", "--invert", "--report", "out/report.jsonl", "out/images"], batch=True)
    yield Scenario("resume", [folder, "--invert", "--resume", "out"], batch=True)
    yield Scenario("info", ["in/five", "--info"], batch=True)
    yield Scenario("stdout-pgm", ["in/gray.tif", "--invert", "--format", "pgm"])
    yield Scenario("pgm-in", ["in/gray.pgm", "--blur", "2", "out/gray.png"])
    yield Scenario("upright", ["in/turned.tif", "--auto-orient", "--blur", "2", "out/turned.tif"])
    yield Scenario("places", ["in/places.tif", "--rotate", "90", "--resize", "50%", "out/places.tif"])
    yield Scenario("values", ["in/values.tif", "--range", "auto", "--depth", "16", "out/values.tif"])
    yield Scenario("range", ["in/float.tif", "--range", "auto", "--depth", "8", "out/float.png"])
    yield Scenario("files-from", ["--files-from", "in/list.txt", "--invert", "out"], batch=True)
    yield Scenario("in-place", ["-r", "out/five", "--invert", "-j", "2", "--in-place"], batch=True,
                   copies={f"out/five/five{i}.png": f"in/five/five{i}.png" for i in range(5)})
    yield Scenario("some-pages", ["in/pages.tif", "--page", "2-", "--invert", "--memory-limit", "64M", "out/pages.tif"])
    yield Scenario("linear", [one, "--linear", "--blur", "2", "--edge", "wrap", "--strip", "--compression", "fast", "out/one.png"])
    yield Scenario("pam", [one, "--invert", "--depth", "16", "--format", "pam"])
    yield Scenario("video", ["in/film.y4m", "--denoise=auto,levels=2", "out/film.y4m"])
    yield Scenario("verify-device", [one, *chains["blur"], "--verify=cpu", "out/one.png"])
    yield Scenario("list-devices", ["--list-devices=json"], varies=True)
    yield Scenario("selftest", ["--selftest", "-v"], env={"XDG_CACHE_HOME": "FOLDER/out/cache", "CLIMG_STAGES": "invert,gain"}, varies=True)
    yield Scenario("warm", ["--warm", "--device", "cpu", "--verify"], copies={"out/cache/climg/program-old": "in/list.txt"}, varies=True,
                   env={"XDG_CACHE_HOME": "FOLDER/out/cache", "CLIMG_STAGES": "invert"})
    yield Scenario("trace", [one, "--invert", "--trace", "out/trace.json", "--timing=json:out/timing.json", "out/one.png"])


def make_described(folder, samples):
    """Returns GDAL's description of places and values."""
    xml = b'<GDALMetadata><Item name="SCALE" sample="0" role="scale">0.5</Item><Item name="UNIT" sample="0" role="unittype">m</Item></GDALMetadata>\0'
    tifffile.imwrite(folder / "places.tif", samples, metadata=None, extratags=[
        (33550, "d", 3, (10.0, 20.0, 0.0), True), (33922, "d", 6, (0.0, 0.0, 0.0, 5.0, 6.0, 0.0), True),
        (34735, "H", 8, (1, 1, 0, 1, 1025, 0, 1, 1), True)])
    tifffile.imwrite(folder / "values.tif", samples, metadata=None, extratags=[(42112, 2, len(xml), xml, True), (42113, 2, 5, b"-999\0", True)])


def make_inputs(folder):
    rng = np.random.default_rng(7)

    def picture(width, height, channels=3):
        ramp = np.linspace(20, 200, width)[None, :, None]
        return (rng.integers(0, 40, (height, width, channels)) + ramp).astype(np.uint8).squeeze()

    for name in ("five", "many"):
        (folder / name).mkdir(parents=True)
    PIL.Image.fromarray(picture(97, 61)).save(folder / "one.png")
    PIL.Image.fromarray(picture(97, 61)).save(folder / "wide.tif", compression="tiff_lzw")
    PIL.Image.fromarray(picture(90, 70, 1)).save(folder / "gray.tif", compression="tiff_adobe_deflate")
    PIL.Image.fromarray(picture(64, 64)).save(folder / "jpeg.tif", compression="jpeg")
    said = PIL.Image.Exif()
    said.update({0x010e: "a picture", 0x0112: 6, 0x011a: 300.0})
    PIL.Image.fromarray(picture(60, 40)).save(folder / "photo.jpg", exif=said, icc_profile=rng.bytes(70_000), comment="seen")
    PIL.Image.fromarray(picture(60, 40)).save(folder / "photo.webp", exif=said, icc_profile=rng.bytes(70_000), xmp=b"<x:xmpmeta/>")
    PIL.Image.fromarray(picture(60, 40)).save(folder / "progressive.jpg", progressive=True)
    PIL.Image.fromarray(picture(128, 1500)).save(folder / "restarts.ppm")
    PIL.Image.fromarray(picture(60, 40, 1)).save(folder / "gray.pgm")
    (folder / "film.y4m").write_bytes(b"YUV4MPEG2 W60 H40 F25:1 C420jpeg\n" + 5 * (b"FRAME\n" + rng.integers(0, 256, 3600, np.uint8).tobytes()))
    PIL.Image.fromarray(picture(60, 40)).save(folder / "turned.tif", tiffinfo={274: 6})
    PIL.Image.fromarray(rng.random((40, 50)).astype(np.float32) * 300 - 20).save(folder / "float.tif")
    scene = np.uint8(np.clip(128 + 800 * scipy.ndimage.gaussian_filter(rng.random((80, 120)) - 0.5, 2), 0, 255))
    PIL.Image.fromarray(scene[9:70, 12:109]).save(folder / "reference.png")
    PIL.Image.fromarray(scene[7:68, 15:112]).save(folder / "shifted.tif")
    make_described(folder, picture(60, 40, 1))
    (folder / "list.txt").write_text("in/one.png\nin/gray.tif\nin/pages.tif\n")
    pages = [PIL.Image.fromarray(picture(30 + i, 20)) for i in range(3)]
    pages[0].save(folder / "pages.tif", save_all=True, append_images=pages[1:])
    texts = PIL.PngImagePlugin.PngInfo()
    texts.add_text("Title", "five pictures")
    texts.add_text("Comment", "packed " * 40, zip=True)
    texts.add_itxt("Description", "für alle " * 40, "de", "Beschreibung", zip=True)
    for i in range(5):
        PIL.Image.fromarray(picture(40 + 7 * i, 30 + 5 * i)).save(folder / "five" / f"five{i}.png", pnginfo=texts, exif=b"MM\0*\0\0\0\10" + bytes(6))
    for i in range(12):
        PIL.Image.fromarray(picture(32, 24)).save(folder / "many" / f"many{i:02}.png")
    (folder / "matrix.txt").write_text("1 2 1\n0 1 5\n2 0 1\n")
    subprocess.run([CLIMG, folder / "one.png", "--wavelet=3", folder / "coefficients.tif"], check=True)
    subprocess.run([CLIMG, folder / "restarts.ppm", folder / "restarts.jpg"], check=True)


def digests(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file()}


@dataclasses.dataclass
class Run:
    status: int  # negative: the signal; None: it did not end
    lines: list
    out: dict
    stdout: str
    calls: dict
    failed: int
    stacks: dict  # how often a function was called with a stack


class Place:
    """A folder with inputs and the preloaded library, in which scenarios run one after the other."""

    def __init__(self, folder):
        self.folder, self.log, self.stacks, self.library = folder, folder / "log", folder / "stacks", folder / "fail.so"
        make_inputs(folder / "in")
        self.inputs = digests(folder / "in")
        subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-include", "stdbool.h", "-O2", "-shared", "-fPIC", "-o",
                        self.library, ROOT / "tests" / "torture" / "fail.c", ROOT / "tests" / "torture" / "stack.c", "-ldl"], check=True)

    def run(self, scenario, call="", at=0, **fault):
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        (self.folder / "out").mkdir()
        for to, name in scenario.copies.items():
            (self.folder / to).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.folder / name, self.folder / to)
        self.log.write_bytes(bytes(MAX_CALLS * ENTRY.size))
        env = {**os.environ, "LC_ALL": "C", 
               "XDG_CACHE_HOME": str(self.folder.parent / "kept"), "POCL_CACHE_DIR": POCL_CACHE,
               **{name: value.replace("FOLDER", str(self.folder)) for name, value in scenario.env.items()}, "LD_PRELOAD": str(self.library),
               "FAIL_LOG": str(self.log), "FAIL_CALL": call, "FAIL_AT": str(at), **fault}
        with open(self.folder / scenario.stdin if scenario.stdin else os.devnull, "rb") as stdin:
            child = subprocess.Popen([CLIMG, *scenario.args], cwd=self.folder, env=env, stdin=stdin,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
            try:
                out, err = child.communicate(timeout=TIMEOUT)
                status = child.returncode
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                (out, err), status = child.communicate(), None
        counts = [ENTRY.unpack_from(self.log.read_bytes(), i * ENTRY.size) for i in range(MAX_CALLS)]
        calls = {name.rstrip(b"\0").decode(): number for name, number, _ in counts if number}
        return Run(status, err.decode(errors="replace").splitlines(), digests(self.folder / "out"),
                   hashlib.sha256(out).hexdigest() if out else "", calls, sum(failed for _, _, failed in counts), {})

    def run_recorded(self, scenario):
        """A run that nothing fails, with the stacks of its calls."""
        self.stacks.write_bytes(b"")
        os.truncate(self.stacks, 8 + MAX_RECORDS * RECORD.size)
        run = self.run(scenario, FAIL_STACKS=str(self.stacks))
        names = [ENTRY.unpack_from(self.log.read_bytes(), i * ENTRY.size)[0].rstrip(b"\0").decode() for i in range(MAX_CALLS)]
        with open(self.stacks, "rb") as file:
            used, = struct.unpack("Q", file.read(8))
            assert used <= MAX_RECORDS
            run.stacks = collections.Counter((names[call], stack) for call, stack in RECORD.iter_unpack(file.read(used * RECORD.size)))
        return run


def made(run):
    """Outputs that are images; traces and reports hold times."""
    return {name: digest for name, digest in run.out.items() if name.endswith((".png", ".tif"))}


def judge(scenario, right, run, place, call, once=False):
    """Returns a list of faults of a run."""
    if run.status is None:
        return ["it hangs"]
    if run.status == DIED_IN_LIBRARY and call == "lib_malloc":
        return []  # libtiff uses what it had no memory for: nothing outside of it can mend that
    wrong = []
    if run.status < 0:
        wrong.append(f"it dies of signal {-run.status}")
    elif run.status not in (0, 1, 3):
        wrong.append(f"exit status {run.status}")
    if digests(place.folder / "in") != place.inputs:
        wrong.append("an input was changed")
    if call != "unlink" and any(".climg-" in name and not name.endswith(".climg-done") for name in run.out):  # that is --resume's record
        wrong.append("a temporary file is left")
    outputs, expected = made(run), made(right)
    kept = {to.removeprefix("out/") for to, name in scenario.copies.items() if run.out.get(to.removeprefix("out/")) == place.inputs[name.removeprefix("in/")]}
    wrong += [f"{name} is lost" for name in expected if scenario.copies and name not in outputs]
    outputs = {name: digest for name, digest in outputs.items() if name not in kept}
    different = [name for name in outputs if ".climg-" not in name and outputs[name] != expected.get(name)]
    if different:
        wrong.append(f"another output: {different}")
    missing = [name for name in expected if name not in outputs]
    if run.status == 0:
        if missing:
            wrong.append(f"success without {missing}")
        if run.stdout != right.stdout and not scenario.varies and not expected:
            wrong.append("success with other bytes on stdout")
    else:
        wrong += judge_messages(scenario, run, missing, call)
    # A job that runs out of memory is done again alone, with more of it; --info takes next to none.
    if once and call in MEMORY and scenario.batch and "--info" not in scenario.args and any("in/" in line and "memory" in line for line in run.lines):
        wrong.append("memory ran out once, and the file was not done again")
    wrong += [f"a line that is not climg's: {line}" for line in run.lines
              if not line.startswith("climg: ") and not line.startswith("{")]
    return wrong


@functools.cache
def device_names():
    told = subprocess.run([CLIMG, "--list-devices=json"], stdout=subprocess.PIPE, check=True).stdout
    return tuple(device["name"] for device in json.loads(told))


def judge_messages(scenario, run, missing, call):
    """A failure is told once, with the name of what it is about."""
    names = ("in/", "out/", "out: ", "out of memory", "standard input", "standard output", "trace", "PoCL", "device", "OpenCL", "examples", "samples/",
             "cannot confine the process", "cannot start a thread", "/proc/self/exe", os.path.realpath(CLIMG), *device_names())
    said = [line for line in run.lines if line.startswith("climg: ")]
    if not said:
        return ["it fails without a word"]
    wrong = [f"nameless: {line}" for line in said if "files failed" not in line and not any(n in line for n in names)]
    others = ("report.jsonl: ", "timing.json: ", "trace.json: ", "is left out")
    about_files = [line for line in said if not any(other in line for other in others)]
    if not scenario.batch and len(about_files) > 1:
        wrong.append(f"{len(about_files)} messages for one file")
    # An error of every file is printed once.
    if scenario.batch and run.status == 3 and missing and not 2 <= len(about_files) <= len(missing) + 1 and call not in LISTING:
        wrong.append(f"{len(about_files)} messages for {len(missing)} files")
    return wrong


def ways(call):
    """Once and from then on; reads and writes also cut short."""
    return [{}, {"FAIL_ALWAYS": "1"}] + [{"FAIL_SHORT": "1"}] * (call in ("read", "write", "pread", "pwrite"))


def all_faults(run):
    return [(call, at, way) for call, count in run.calls.items() for at in range(1, count + 1) for way in ways(call)]


def faults(run, rng):
    """Yields the first call of each stack, and one of its later calls."""
    return [(call, at, {"FAIL_STACK": f"{stack:x}", **way}) for (call, stack), count in sorted(run.stacks.items())
            for at in ([1, rng.randint(2, count)] if count > 1 else [1]) for way in ways(call)]


place = None  # this process's


def open_place(folder):
    global place
    place = Place(pathlib.Path(tempfile.mkdtemp(dir=folder)))


def count_calls(scenario):
    """The run that nothing fails, once kernels are compiled; threads meet in another order each time."""
    place.run(scenario, CLIMG_KEEP="1")
    run = place.run_recorded(scenario)
    assert run.status == 0, f"{scenario.name} without a fault: {run.status}, {run.lines}"
    if scenario.batch:
        run.stacks |= place.run_recorded(scenario).stacks
    return run


def attempt(scenario, right, fault):
    """The run and what is wrong with it."""
    call, at, mode = fault
    run = place.run(scenario, call, at, **mode)
    return run, judge(scenario, right, run, place, call, once="FAIL_ALWAYS" not in mode)


def tell(scenario, fault, run, wrong, log):
    call, at, mode = fault
    mode = " ".join(f"{name}={value}" for name, value in mode.items())
    print(f"{scenario.name}: {call} {at} {mode}: status {run.status}: {'; '.join(wrong)}\n    " + "\n    ".join(run.lines[:4]),
          flush=True)
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write(json.dumps({"scenario": scenario.name, "call": call, "at": at, "mode": mode, "status": run.status,
                                   "wrong": wrong, "lines": run.lines}) + "\n")


def new_first(tries):
    """Sorts tries: a stack that was not yet failed in another scenario comes first."""
    met, rounds = collections.Counter(), []
    for try_ in tries:
        call, at, way = try_[2]
        kind = (call, at > 1, *sorted(way.items()))
        rounds.append(met[kind])
        met[kind] += 1
    return [tries[i] for i in sorted(range(len(tries)), key=rounds.__getitem__)]


def walk(pool, options):
    """Returns the number of possible tries, and counts of the results."""
    made = collections.Counter()
    chosen = [scenario for scenario in scenarios() if any(fnmatch.fnmatch(scenario.name, only) for only in options.only.split(","))]
    if options.tries:  # a scenario's first runs take the time of some tries
        chosen = random.Random(options.seed).sample(chosen, min(len(chosen), options.tries // 10 + 1))
    right = list(pool.map(count_calls, chosen))
    tries = [(scenario, run, fault) for scenario, run in zip(chosen, right)
             for fault in (all_faults(run) if options.all else faults(run, random.Random(f"{options.seed} {scenario.name}")))
             if fnmatch.fnmatch(fault[0], options.call) and options.at in (0, fault[1]) and options.stack in ("", fault[2].get("FAIL_STACK"))]
    for run in right:
        run.stacks = {}
    if options.tries:
        random.Random(options.seed).shuffle(tries)
        tries = new_first(tries)[:options.tries]
    for start in range(0, len(tries), 256):  # not all of them at once: they would all be kept
        some = tries[start:start + 256]
        for (scenario, _, fault), (run, wrong) in zip(some, pool.map(attempt, *zip(*some))):
            made["failed" if wrong else "in a library" if run.status == DIED_IN_LIBRARY else "passed" if run.failed else "not met"] += 1
            if wrong:
                tell(scenario, fault, run, wrong, options.log)
    return len(tries), made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", help="scenarios, as patterns with commas")
    parser.add_argument("--call", default="*", help="functions, as a pattern")
    parser.add_argument("--all", action="store_true", help="every call, whatever its stack")
    parser.add_argument("--stack", default="", help="calls with that stack, as a failure tells it")
    parser.add_argument("--at", type=int, default=0, help="which call; 0: each")
    parser.add_argument("--tries", type=int, default=0, help="number of tries; 0: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("CLIMG_TEST_SEED", time.time())))
    parser.add_argument("--log", help="a line of JSON for each try that went wrong")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="climg-torture-") as folder, concurrent.futures.ProcessPoolExecutor(
            options.jobs, initializer=open_place, initargs=[folder]) as pool:
        count, made = walk(pool, options)
    print(f"seed {options.seed}: {sum(made.values())} of {count} tries: {made['passed']} passed, {made['failed']} failed, "
          f"{made['in a library']} ended in libtiff itself, {made['not met']} did not come to the call")
    return 1 if made["failed"] or not made["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
