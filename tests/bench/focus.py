#!/usr/bin/python3
"""--stack focus and other rules on stacks whose sharp picture is known: tests/bench/focus.py [--noise N]... [--size N]

Five pictures of scikit-image, each at three kinds of depth (a ramp, steps with a disc, hills), become seven pictures that are blurred
by up to 8 pixels, with noise of N counts. Prints a table in Markdown: the mean and the worst PSNR in dB. Needs python3-opencv.

    tests/bench/focus.py --crops OTHER.jpg OUT.png SHOT...

shows parts of a real series at 1:1 instead: the middle shot, climg's result after --align, and that of another program."""

import argparse
import os
import pathlib
import subprocess
import tempfile

import cv2
import numpy as np
import tifffile
from PIL import Image
from scipy import ndimage
from skimage import data

CLIMG = os.environ.get("CLIMG", pathlib.Path(__file__).resolve().parents[2] / "build/climg")
CROPS = ((360, 1000), (1300, 780), (1700, 560), (60, 620))  # left, top
WIDE, HIGH = 340, 230


def depth_of(kind, side, rng):
    y, x = np.mgrid[:side, :side] / side
    if kind == "ramp":
        return x
    if kind == "steps":
        return np.floor(4 * x) / 4 + 0.1 * (np.hypot(x - 0.5, y - 0.5) < 0.25)
    hills = ndimage.gaussian_filter(rng.random((side, side)), side / 12)
    return (hills - hills.min()) / np.ptp(hills)


def stack_of(sharp, kind, noise, rng, number=7, most=8.0):
    """Pictures of 16 bit; blurred by `most` where the depth is 1 away from the focus."""
    sigmas = np.linspace(0, most, 40)
    blurred = np.stack([ndimage.gaussian_filter(sharp, (sigma, sigma, 0)) for sigma in sigmas])
    depth = depth_of(kind, len(sharp), rng)
    y, x = np.indices(depth.shape)
    for focus in np.linspace(0, 1, number):
        at = np.minimum(np.abs(depth - focus) * (len(sigmas) - 1), len(sigmas) - 1.001)
        low, part = at.astype(int), (at % 1)[..., None]
        picture = blurred[low, y, x] * (1 - part) + blurred[low + 1, y, x] * part + rng.normal(0, noise, sharp.shape)
        yield np.clip(np.rint(257 * picture), 0, 65535).astype(np.uint16)


def bright(picture):
    return picture @ np.float32([0.299, 0.587, 0.114])


def chosen(pictures, energies):
    return np.take_along_axis(pictures, energies.argmax(0)[None, ..., None], 0)[0]


def sharpest_pixel(pictures):
    return chosen(pictures, np.stack([cv2.GaussianBlur(cv2.Laplacian(bright(p), cv2.CV_32F)**2, (0, 0), 3) for p in pictures]))


def laplacian_pyramid(pictures, levels=6):
    lowpasses, merged = list(pictures), []
    for _ in range(levels):
        smaller = [cv2.pyrDown(p) for p in lowpasses]
        details = np.stack([p - cv2.pyrUp(s, dstsize=p.shape[1::-1]) for p, s in zip(lowpasses, smaller)])
        merged.append(chosen(details, np.stack([cv2.blur(bright(d)**2, (5, 5)) for d in details])))
        lowpasses = smaller
    result = np.mean(lowpasses, 0)
    for detail in reversed(merged):
        result = cv2.pyrUp(result, dstsize=detail.shape[1::-1]) + detail
    return result


def climg(pictures):
    with tempfile.TemporaryDirectory() as folder:
        for i, picture in enumerate(pictures):
            tifffile.imwrite(f"{folder}/{i}.tif", np.rint(257 * picture).astype(np.uint16), photometric="rgb")
        subprocess.run([CLIMG, "-q", *(f"{folder}/{i}.tif" for i in range(len(pictures))), "--stack", "focus", "--depth", "float",
                        f"{folder}/out.tif"], check=True)
        return 255 * tifffile.imread(f"{folder}/out.tif")


METHODS = {"sharpest pixel, Gaussian window of 3 pixels": sharpest_pixel, "Laplacian pyramid, 5x5": laplacian_pyramid,
           "`--stack focus`": climg}


def psnr(a, b):
    return 10 * np.log10(255**2 / np.mean((a - b)[8:-8, 8:-8]**2))


def measure(noises, side):
    retina = data.retina()
    sources = [data.chelsea(), data.astronaut()[:, 100:], data.coffee()[:, 200:], data.rocket()[100:, 200:], retina[500:, 500:]]
    rows = {}
    for noise in noises:
        for source in sources:
            sharp = source[:side, :side].astype(float)
            for kind in ("ramp", "steps", "hills"):
                stack = np.stack(list(stack_of(sharp, kind, noise, np.random.default_rng(7)))).astype(np.float32) / 257
                results = {"best picture": max(psnr(p, sharp) for p in stack)}
                results |= {name: psnr(method(stack), sharp) for name, method in METHODS.items()}
                for name, value in results.items():
                    rows.setdefault(name, {}).setdefault(noise, []).append(value)
    print("| | " + " | ".join(f"noise {noise}" for noise in noises) + " |\n| --- |" + " --- |" * len(noises))
    for name, columns in rows.items():
        print(f"| {name} | " + " | ".join(f"{np.mean(v):.1f}, at least {np.min(v):.1f}" for v in columns.values()) + " |")


def show(other, out, shots):
    middle = shots[len(shots) // 2]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([CLIMG, "-q", *shots, "--align", "middle", "--stack", "focus", f"{folder}/out.png"], check=True)
        pictures = [Image.open(path).convert("RGB") for path in (middle, f"{folder}/out.png", other)]
    sheet = Image.new("RGB", (3 * (WIDE + 6) - 6, len(CROPS) * (HIGH + 6) - 6), "white")
    for row, (left, top) in enumerate(CROPS):
        for column, picture in enumerate(pictures):
            sheet.paste(picture.crop((left, top, left + WIDE, top + HIGH)), (column * (WIDE + 6), row * (HIGH + 6)))
    sheet.save(out, quality=88)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noise", type=float, nargs="*", default=[0, 3])
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--crops", nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.crops:
        show(arguments.crops[0], arguments.crops[1], arguments.crops[2:])
    else:
        measure(arguments.noise, arguments.size)


if __name__ == "__main__":
    main()
