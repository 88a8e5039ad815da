#!/usr/bin/python3
"""--align beside OpenCV's findTransformECC (python3-opencv) on the same pairs: tests/bench/align.py [--pairs N] [--side N]

Pairs are those of tests/reference/align_pairs.py: eight kinds of pictures, shifts up to 10% of the width, turns up to 10
degrees, scales up to 10%, gain 0.7 to 1.3, without noise and with sigma = 10. ECC begins with the identity, as it has no
search of its own, and its correlation stands for a confidence. Prints a table in Markdown."""

import argparse
import concurrent.futures
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


def climg(reference, other):
    with tempfile.TemporaryDirectory() as folder:
        for name, plane in (("reference.pgm", reference), ("other.pgm", other)):
            header = f"P5 {plane.shape[1]} {plane.shape[0]} 255\n".encode()
            pathlib.Path(folder, name).write_bytes(header + plane.tobytes())
        done = subprocess.run([os.environ.get("CLIMG", ROOT / "build/climg"), "other.pgm", "--align",
                               "reference.pgm,confidence=0", "--report", "report", "out.pgm"], cwd=folder, check=True)
        assert done.returncode == 0
        said = json.loads(pathlib.Path(folder, "report").read_text())["align"]
    return said["matrix"], said["confidence"]


def ecc(reference, other):
    criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 200, 1e-7)
    try:
        sure, matrix = cv2.findTransformECC(reference, other, np.eye(2, 3, dtype=np.float32), cv2.MOTION_AFFINE, criteria, None, 5)
    except cv2.error:
        return np.eye(2, 3), 0.0
    return matrix.astype(float), sure


def measure(name, find, noise, pairs, right):
    """A row; `right` is the confidence from which a result is called right."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda each: find(*each[:2]), pairs))
    errors = np.array([align_pairs.corner_error(matrix, truth, *reference.shape[::-1])
                       for (matrix, _), (reference, _, truth) in zip(found, pairs)])
    called = np.array([confidence >= right for _, confidence in found])
    print(f"| {name} | {noise} | {np.median(errors):.4f} | {np.quantile(errors, 0.9):.3f} | {100 * np.mean(errors < 0.5):.1f}% "
          f"| {np.sum(called & (errors >= 0.5))} | {np.sum(~called)} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--side", type=int, default=256)
    options = parser.parse_args()
    rng = np.random.default_rng(15)
    wholes = [align_pairs.picture(kind, rng, options.side) for kind in align_pairs.KINDS]
    print("| | noise | median error | 90% | below 0.5 | wrong, called right | called wrong |\n|---|---|---|---|---|---|---|")
    for noise in (0, 10):
        pairs = [align_pairs.pair(rng, wholes[i % len(wholes)], noise) for i in range(options.pairs)]
        measure("`--align`", climg, noise, pairs, 0.3)
        measure("findTransformECC", ecc, noise, pairs, 0.3)


if __name__ == "__main__":
    main()
