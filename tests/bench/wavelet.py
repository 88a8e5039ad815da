#!/usr/bin/python3
"""Forward and inverse dual-tree transform: climg's kernels against python3-dtcwt, alternately, 2048x2048, 4 levels.

    wavelet.py [--runs N] [--size N] [--levels N]

climg's times are the device's own; python3-dtcwt (numpy, float64, in memory) is timed around its call. Only ratios
within one run mean much.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import sys
import time

import numpy as np
import tifffile

try:
    import dtcwt
except ImportError:
    sys.exit(print("python3-dtcwt is not installed: the transform is compared with nothing"))

CLIMG = os.environ.get("CLIMG", str(pathlib.Path(__file__).resolve().parents[2] / "build" / "climg"))


def climg_seconds(folder, levels):
    """(forward, inverse) device seconds, and the device's name."""
    done = subprocess.run([CLIMG, "--timing=json", f"{folder}/in.tif", f"--wavelet={levels}", "--inverse-wavelet",
                           f"{folder}/out.tif"], check=True, capture_output=True)
    report = json.loads(done.stderr.decode().splitlines()[-1])
    stage = lambda name: sum(row["device_seconds"] for row in report["stages"] if row["stage"] == name)
    return stage("wavelet"), stage("inverse-wavelet"), report["device"]


def dtcwt_seconds(picture, levels):
    transform = dtcwt.Transform2d("near_sym_a", "qshift_a")
    start = time.perf_counter()
    pyramid = transform.forward(picture, nlevels=levels)
    middle = time.perf_counter()
    transform.inverse(pyramid)
    return middle - start, time.perf_counter() - middle


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--levels", type=int, default=4)
    options = parser.parse_args()
    picture = np.random.default_rng(1).random((options.size, options.size))
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        tifffile.imwrite(f"{folder}/in.tif", picture.astype(np.float32), metadata=None)
        climg_seconds(folder, options.levels)  # kernels are built here
        for _ in range(options.runs):
            ours.append(climg_seconds(folder, options.levels))
            theirs.append(dtcwt_seconds(picture, options.levels))
    print(f"{ours[0][2]}, {options.size}x{options.size}, one channel, {options.levels} levels, medians of {options.runs}")
    for i, name in enumerate(("forward", "inverse")):
        a, b = (statistics.median(run[i] for run in runs) for runs in (ours, theirs))
        print(f"  {name}: climg {1e3 * a:.1f} ms, python3-dtcwt {1e3 * b:.0f} ms, {b / a:.1f} times as long")


if __name__ == "__main__":
    main()
