"""Many small files, with and without groups of them, alternately: medians of whole commands.

    CLIMG_DEVICE=gpu python3 tests/bench/groups.py                  # what is in docs/performance.md
    python3 tests/bench/groups.py --files 128:2000 --jobs 1 -- --denoise

Smooth gray 8-bit PNG, made in memory (--folder: /dev/shm). Needs nothing but Python.
"""

import argparse
import json
import math
import os
import pathlib
import random
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib

CLIMG = pathlib.Path(__file__).resolve().parents[2] / "build" / "climg"
CHAINS = [["--blur", "2"], ["--wavelet=3", "--shrink=5", "--inverse-wavelet"]]


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def write_picture(path, size, chance):
    """A wave along x whose brightness follows another along y."""
    wave = [chance.uniform(1, 6) / size for _ in range(2)]
    line = bytes(round(80 + 60 * math.sin(2 * math.pi * wave[0] * x)) for x in range(size))
    rows = []
    for y in range(size):
        more = round(40 + 40 * math.sin(2 * math.pi * wave[1] * y))
        rows.append(b"\0" + line.translate(bytes(min(v + more, 255) for v in range(256))))
    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(rows), 1)) +
                     chunk(b"IEND", b""))


def run(folder, jobs, chain, group):
    """Wall-clock and processor seconds."""
    command = [CLIMG, "-q", *(["-j", str(jobs)] if jobs else []), "in", *chain, "out"]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, cwd=folder, env={**os.environ, "CLIMG_GROUP": str(group)})
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["rm", "-r", folder / "out"], check=True)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(folder, options, chain):
    times = {1: [], options.most: []}
    for group in times:
        run(folder, options.jobs, chain, group)
    for _ in range(options.runs):
        for group, taken in times.items():
            taken.append(run(folder, options.jobs, chain, group))
    alone, together = ([statistics.median(column) for column in zip(*taken)] for taken in times.values())
    return {"alone_s": alone[0], "together_s": together[0], "ratio": together[0] / alone[0],
            "alone_cpu_s": alone[1], "together_cpu_s": together[1], "cpu_ratio": together[1] / alone[1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", default=["128:2000", "256:1000", "512:500"], metavar="SIZE:COUNT")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--jobs", type=int, help="climg's --jobs")
    parser.add_argument("--most", type=int, default=32, help="images of a group")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("chain", nargs="*", help="instead of a blur and a wavelet chain")
    options = parser.parse_args()
    for size, count in (map(int, item.split(":")) for item in options.files):
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            folder, chance = pathlib.Path(name), random.Random(size)
            (folder / "in").mkdir()
            for i in range(count):
                write_picture(folder / "in" / f"{i:05}.png", size, chance)
            for chain in [options.chain] if options.chain else CHAINS:
                found = {key: round(value, 4) for key, value in measure(folder, options, chain).items()}
                print(json.dumps({"size": size, "files": count, "chain": " ".join(chain), **found}))
                sys.stdout.flush()


if __name__ == "__main__":
    main()
