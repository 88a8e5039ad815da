#!/usr/bin/python3
"""--align beside OpenCV's findTransformECC (python3-opencv) on the same pairs: tests/bench/align.py [--pairs N] [--side N] [--jobs N]

Pairs are those of tests/reference/align_pairs.py: eight kinds of pictures, shifts up to 10% of the width, turns up to 10
degrees, scales up to 10%, gain 0.7 to 1.3, without noise and with sigma = 10. Each is made of --seed and its number alone, so
that --jobs processes find what one does. ECC has no search of its own: it begins with the identity, and once more with the
truth that is moved by 2 pixels, which tells how exact it is where it converges. Its correlation stands for a confidence. Prints
a table in Markdown."""

import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import cv2
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/reference"))
import align_pairs  # noqa: E402

RIGHT = 0.3  # the confidence from which a result is called right
WRONG = 0.5  # pixels that the worst corner of a right one is off at most


def climg(model, reference, other, _):
    with tempfile.TemporaryDirectory() as folder:
        for name, plane in (("reference.pgm", reference), ("other.pgm", other)):
            header = f"P5 {plane.shape[1]} {plane.shape[0]} 255\n".encode()
            pathlib.Path(folder, name).write_bytes(header + plane.tobytes())
        subprocess.run([os.environ.get("CLIMG", ROOT / "build/climg"), "other.pgm", "--align",
                        f"reference.pgm,model={model},confidence=0", "--report", "report", "out.pgm"], cwd=folder, check=True)
        said = json.loads(pathlib.Path(folder, "report").read_text())["align"]
    return said["matrix"], said["confidence"]


def ecc(begin, reference, other, truth):
    criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 200, 1e-7)
    matrix = np.float32(np.eye(2, 3) if begin == "identity" else truth + [[0, 0, 1.4], [0, 0, -1.4]])
    try:
        sure, matrix = cv2.findTransformECC(reference, other, matrix, cv2.MOTION_AFFINE, criteria, None, 5)
    except cv2.error:
        return matrix, 0.0
    return matrix.astype(float), sure


METHODS = {"`--align`": functools.partial(climg, "similarity"),
           "`--align model=affine`": functools.partial(climg, "affine"),
           "findTransformECC": functools.partial(ecc, "identity"),
           "findTransformECC, begun 2 pixels beside": functools.partial(ecc, "truth")}


@functools.cache
def whole(seed, kind, side):
    return align_pairs.picture(align_pairs.KINDS[kind], np.random.default_rng((seed, kind)), side)


def measure(seed, side, noise, i):
    """Returns each method's error and confidence for pair i."""
    cv2.setNumThreads(1)
    rng = np.random.default_rng((seed, noise, i))
    reference, other, truth = align_pairs.pair(rng, whole(seed, i % len(align_pairs.KINDS), side), noise)
    found = [method(reference, other, truth) for method in METHODS.values()]
    return [(align_pairs.corner_error(matrix, truth, side, side), sure) for matrix, sure in found]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    print("| | noise | median error | 90% | 97% | below 0.5 | wrong, called right | called wrong |\n|---|---|---|---|---|---|---|---|")
    for kind in range(len(align_pairs.KINDS)):
        whole(options.seed, kind, options.side)  # once for all processes, which are forked
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for noise in (0, 10):
            pair = functools.partial(measure, options.seed, options.side, noise)
            found = np.array(list(pool.map(pair, range(options.pairs), chunksize=4)))
            for name, (errors, sure) in zip(METHODS, found.transpose(1, 2, 0)):
                spread = " | ".join(f"{np.quantile(errors, share):.3f}" for share in (0.5, 0.9, 0.97))
                print(f"| {name} | {noise} | {spread} | {100 * np.mean(errors < WRONG):.1f}% "
                      f"| {np.sum((sure >= RIGHT) & (errors >= WRONG))} | {np.sum(sure < RIGHT)} |", flush=True)


if __name__ == "__main__":
    main()
