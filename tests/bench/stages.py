#!/usr/bin/python3
"""Device time of every kernel: median of several runs, and the rate at which it moves its planes.

    stages.py [--runs N] [--size N] [--memory buffer|image] [CHAIN]...

CHAIN is what would stand on the command line, such as '--blur 2 --scale 1/2'. The picture is seeded noise over a
ramp, 8-bit RGB, size x size. Wall-clock times are alternated with vips where that is installed.
"""
import argparse
import collections
import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time

import numpy as np
import tifffile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIMG = os.environ.get("CLIMG", str(ROOT / "build" / "climg"))
CHAINS = ["--blur 2", "--convolve '1 4 6 4 1'", "--sharpen 1", "--gradient", "--scale 2", "--scale 1/2",
          "--wavelet --inverse-wavelet"]
VIPS = {"--blur 2": ["gaussblur", "2", "--min-ampl", "0.0003"],
        "--scale 2": ["resize", "2", "--kernel", "cubic"],
        "--scale 1/2": ["resize", "0.5", "--kernel", "cubic"]}


def picture(path, size):
    rng = np.random.default_rng(1)
    ramp = np.add.outer(np.arange(size), np.arange(size))[..., None] * 255 // (2 * size)
    tifffile.imwrite(path, np.clip(ramp + rng.normal(0, 8, (size, size, 3)), 0, 255).astype(np.uint8), metadata=None)


def timed(command):
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start, done.stderr


def measure(chain, folder, options):
    command = [CLIMG, "--memory", options.memory, "--timing=json", f"{folder}/in.tif", *shlex.split(chain),
               f"{folder}/out.tif"]
    vips = VIPS.get(chain) if shutil.which("vips") else None
    kernels, walls, others = collections.OrderedDict(), [], []
    timed(command)  # kernels are built here
    for _ in range(options.runs):
        wall, stderr = timed(command)
        walls.append(wall)
        report = json.loads(stderr.decode().splitlines()[-1])
        for row in report["stages"]:
            kernels.setdefault((row["stage"], row["kernel"]), []).append((row["device_seconds"], row["bytes"]))
        if vips:
            others.append(timed(["vips", vips[0], f"{folder}/in.tif", f"{folder}/vips.tif", *vips[1:]])[0])
    return report["device"], kernels, walls, others


def show(chain, kernels, walls, others):
    print(f"\n{chain}")
    total = 0
    for (stage, kernel), rows in kernels.items():
        seconds, size = statistics.median(r[0] for r in rows), rows[0][1]
        total += seconds
        print(f"  {stage:<18}{kernel:<20}{1e3 * seconds:10.3f} ms{1e-9 * size / seconds:10.1f} GB/s")
    wall = statistics.median(walls)
    line = f"  {'all kernels':<38}{1e3 * total:10.3f} ms    whole command {1e3 * wall:.0f} ms"
    if others:
        other = statistics.median(others)
        line += f", vips {1e3 * other:.0f} ms, ratio {wall / other:.2f}"
    print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--memory", default="buffer", choices=["buffer", "image"])
    parser.add_argument("chains", nargs="*", default=CHAINS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        picture(f"{folder}/in.tif", options.size)
        for i, chain in enumerate(options.chains):
            device, kernels, walls, others = measure(chain, folder, options)
            if i == 0:
                print(f"{device}, {options.memory} memory, {options.size}x{options.size} RGB, 8-bit TIFF to TIFF, "
                      f"medians of {options.runs}")
            show(chain, kernels, walls, others)


if __name__ == "__main__":
    main()
