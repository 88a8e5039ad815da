#!/usr/bin/python3
"""The figures of the README's first screen: three chains against vips and ImageMagick, whole commands, PNG to PNG, in turns.

    tests/bench/front.py                            # on two processors; a quiet machine, please
    CLIMG_DEVICE=gpu tests/bench/front.py --cores 0 # on the GPU and all processors

Prints the rows of a table in Markdown: medians of wall-clock seconds, and in brackets of processor seconds. Warm: kernels are
built and the input was just read. Cold: climg finds no kernel of an earlier run (PoCL's, NVIDIA's and its own cache are
empty folders), and nobody has the input in memory.
"""
import argparse
import importlib.machinery
import importlib.util
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CLIMG = os.environ.get("CLIMG", str(HERE.parents[1] / "build" / "climg"))

# Name, part of the picture that goes in, and each program's words; vips' default ends the Gaussian after 7 taps, climg has 17.
WORKS = [("--blur 2", 1, ["--blur", "2"], ["gaussblur", "IN", "OUT", "2", "--min-ampl", "0.0003"], ["IN", "-blur", "8x2", "OUT"]),
         ("--scale 4", 4, ["--scale", "4"], ["resize", "IN", "OUT", "4", "--kernel", "cubic"],
          ["IN", "-filter", "Catrom", "-resize", "400%", "OUT"]),
         ("--scale 1/2", 1, ["--scale", "1/2"], ["resize", "IN", "OUT", "0.5", "--kernel", "cubic"],
          ["IN", "-filter", "Catrom", "-resize", "50%", "OUT"])]


# Caches of PoCL, climg and NVIDIA.
CACHES = ("POCL_CACHE_DIR", "XDG_CACHE_HOME", "CUDA_CACHE_PATH")


def version(program, *words):
    if not shutil.which(program):
        return ""
    said = subprocess.run([program, *words], capture_output=True, text=True).stdout
    return said.splitlines()[0] if said else ""


def programs():
    """{name: the command without its words}"""
    found = {"climg": [CLIMG]}
    if version("vips", "--version"):
        found["vips"] = ["vips"]
    for name in ("magick", "convert", "convert-im6.q16"):
        if "ImageMagick" in version(name, "-version"):
            found.setdefault("ImageMagick", [name])
    return found


def photo(size, path):
    """compare's picture."""
    loader = importlib.machinery.SourceFileLoader("compare", str(HERE / "compare"))
    compare = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
    loader.exec_module(compare)
    from PIL import Image
    Image.fromarray(compare.photo(size)).save(path, compress_level=1)


def forget(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def once(command, source, cold):
    """Wall-clock and processor seconds."""
    with tempfile.TemporaryDirectory() as empty:
        env = {**os.environ, **({name: empty for name in CACHES} if cold else {})}
        if cold:
            forget(source)
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=env)
        wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(folder, size, runs, work, found):
    """{(program, cold): (wall, processor)}, {program: bytes of its output}"""
    _, part, *words = work
    source, sizes, taken = folder / f"in-{part}.png", {}, {}
    if not source.exists():
        photo(size // part, source)
    for turn in range(runs + 1):  # the first one warms
        for (name, begin), own in zip(found.items(), [words[["climg", "vips", "ImageMagick"].index(name)] for name in found]):
            target = folder / f"{name}.png"
            line = [str(source), *own, str(target)] if name == "climg" else [{"IN": str(source), "OUT": str(target)}.get(w, w) for w in own]
            for cold in (False, True):
                seconds = once([*begin, *line], source, cold)
                if turn > 0:
                    taken.setdefault((name, cold), []).append(seconds)
            sizes[name] = target.stat().st_size
    return {key: tuple(statistics.median(column) for column in zip(*rows)) for key, rows in taken.items()}, sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--cores", type=int, default=2, help="processors that all programs share; 0: all")
    options = parser.parse_args()
    if options.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.cores])
    found = programs()
    for line in (version(CLIMG, "--version"), version("vips", "--version"), version(found.get("ImageMagick", ["-"])[0], "-version")):
        print(line or "(not installed)")
    print(f"load {os.getloadavg()[0]:.1f}, {len(os.sched_getaffinity(0))} processors, {options.size}x{options.size} RGB of 8 bits, {options.runs} runs\n")
    states = [(name, cold) for name in found for cold in (False, True)]
    print("| s (processor s) | " + " | ".join(f"{name}, {'cold' if cold else 'warm'}" for name, cold in states) + " | MB |")
    print("| --- |" + " --- |" * (len(states) + 1))
    with tempfile.TemporaryDirectory() as folder:
        for work in WORKS:
            times, sizes = measure(pathlib.Path(folder), options.size, options.runs, work, found)
            cells = [f"{times[state][0]:.2f} ({times[state][1]:.2f})" for state in states]
            print(f"| `{work[0]}` | " + " | ".join(cells) + " | " + " / ".join(f"{sizes[name] / 1e6:.1f}" for name in found) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
