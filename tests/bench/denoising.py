#!/usr/bin/env python3
"""The tables of docs/denoising.md: climg's --denoise beside other programs, on public sets of pictures.

    denoising.py FOLDER [--take N] [--alone] [--bm3d] > tables.md

FOLDER has Kodak24, CBSD68, BSD68 and Set12 (clean pictures), and PolyU with pairs *Real.JPG and *mean.JPG of real cameras; what
is missing is left out. White noise is given its strength, not rounded and not clipped, the same for every program. Of noise of
cameras, simulated (camera.py) or real, no program is told anything. PSNR in dB and SSIM, means over the pictures; seconds a
megapixel are the whole call, of climg less what an empty chain takes. climg is $CLIMG, its device $CLIMG_DEVICE. --bm3d: BM3D,
too (PyPI's bm3d), which takes a minute a megapixel.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import cv2
import numpy as np
import tifffile
from PIL import Image
from skimage import metrics, restoration

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "reference"))
import camera  # noqa: E402

CLIMG = os.environ.get("CLIMG", "climg")
SIGMAS = (15, 25, 50)


def read(path, colour=True):
    return np.asarray(Image.open(path).convert("RGB" if colour else "L")) / 255


def climg(pictures, *stages):
    """All in one command, and the seconds that the stages add to it."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "in").mkdir()
        for i, picture in enumerate(pictures):
            tifffile.imwrite(f"{folder}/in/{i}.tif", picture.astype(np.float32), metadata=None,
                             photometric="rgb" if picture.ndim == 3 else "minisblack")
        seconds = []
        for chain in (["--invert"], stages, ["--invert"], stages):  # the first two wait for compilers
            start = time.monotonic()
            subprocess.run([CLIMG, "-q", f"{folder}/in", *chain, "-y", "-o", f"{folder}/out/"], check=True)
            seconds.append(time.monotonic() - start)
        return [tifffile.imread(f"{folder}/out/{i}.tif") for i in range(len(pictures))], max(seconds[3] - seconds[2], 0)


def one_by_one(function):
    def run(pictures, sigma):
        start = time.monotonic()
        return [function(picture, sigma) for picture in pictures], time.monotonic() - start
    return run


def nlm(picture, sigma):
    """OpenCV's, of 8 bit; the strength is the noise's, in colour as its authors advise."""
    samples = np.uint8(np.rint(np.clip(picture, 0, 1) * 255))
    found = sigma or 255 * float(np.mean(restoration.estimate_sigma(picture, channel_axis=-1 if picture.ndim == 3 else None)))
    if picture.ndim == 3:
        return cv2.fastNlMeansDenoisingColored(samples, None, found * 0.6, found * 0.6, 7, 21) / 255
    return cv2.fastNlMeansDenoising(samples, None, found * 0.8, 7, 21) / 255


def bayes(picture, sigma):
    return restoration.denoise_wavelet(picture, sigma=sigma and sigma / 255, channel_axis=-1 if picture.ndim == 3 else None,
                                       convert2ycbcr=picture.ndim == 3, rescale_sigma=True)


def bm3d(picture, sigma):
    import bm3d as package
    found = sigma / 255 if sigma else float(np.mean(restoration.estimate_sigma(picture, channel_axis=-1)))
    return (package.bm3d_rgb if picture.ndim == 3 else package.bm3d)(picture, found)


def methods(options):
    yield "climg", lambda pictures, sigma: climg(pictures, f"--denoise={sigma}" if sigma else "--denoise")
    yield "climg, quality=high", lambda pictures, sigma: climg(pictures, f"--denoise={sigma or 'auto'},quality=high")
    if options.alone:
        return
    yield "NLM (OpenCV)", one_by_one(nlm)
    yield "BayesShrink (scikit-image)", one_by_one(bayes)
    if options.bm3d:
        yield "BM3D", one_by_one(bm3d)


def quality(done, clean):
    done = [np.clip(picture, 0, 1) for picture in done]
    psnr = [metrics.peak_signal_noise_ratio(c, d, data_range=1) for c, d in zip(clean, done)]
    ssim = [metrics.structural_similarity(c, d, data_range=1, channel_axis=-1 if c.ndim == 3 else None)
            for c, d in zip(clean, done)]
    return np.mean(psnr), np.mean(ssim)


def row(title, noisy, clean, sigma, options):
    megapixels = sum(picture.shape[0] * picture.shape[1] for picture in clean) / 1e6
    cells = ["{:.2f}, {:.3f}".format(*quality(noisy, clean))]
    for _, method in methods(options):
        done, seconds = method(noisy, sigma)
        cells.append("{:.2f}, {:.3f}; {:.3f} s".format(*quality(done, clean), seconds / megapixels))
    print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


def paths(options, name, pattern="*"):
    folder = pathlib.Path(options.folder) / name
    found = sorted(folder.glob(pattern)) if folder.is_dir() else []
    return found[::max(1, len(found) // options.take)] if options.take else found


def white(options):
    for name in ("BSD68", "Set12", "CBSD68", "Kodak24"):
        clean = [read(path, name in ("CBSD68", "Kodak24")) for path in paths(options, name)]
        for sigma in SIGMAS if clean else ():
            rng = np.random.default_rng(sigma)
            noisy = [picture + rng.normal(0, sigma / 255, picture.shape) for picture in clean]
            row(f"{name}, sigma {sigma}", noisy, clean, sigma, options)


def cameras(options):
    scenes = [read(path) for path in paths(options, "Kodak24")]
    for title, demosaic, iso, jpeg in (("bilinear demosaicing, middle ISO", camera.bilinear, camera.MIDDLE, None),
                                       ("Malvar demosaicing, middle ISO", camera.malvar, camera.MIDDLE, None),
                                       ("the same as JPEG, quality 90", camera.malvar, camera.MIDDLE, 90),
                                       ("Malvar, high ISO", camera.malvar, camera.HIGH, None),
                                       ("the same as JPEG, quality 90", camera.malvar, camera.HIGH, 90)):
        rng = np.random.default_rng(1)
        taken = [camera.shoot(scene, iso, demosaic, rng, jpeg) for scene in scenes]
        if taken:
            row(title, *zip(*taken), None, options)
    if scenes:
        rng = np.random.default_rng(15)
        row("white, sigma 15", [scene + rng.normal(0, 15 / 255, scene.shape) for scene in scenes], scenes, None, options)
        row("no noise", scenes, scenes, None, options)
    real = paths(options, "PolyU", "*[rR]eal.JPG")
    clean = [next(p for p in path.parent.iterdir() if p.name.lower() == path.name.lower().replace("real", "mean")) for path in real]
    if real:
        row("PolyU, real cameras", [read(p) for p in real], [read(p) for p in clean], None, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--take", type=int, help="so many pictures of each set")
    parser.add_argument("--alone", action="store_true", help="climg, no other program")
    parser.add_argument("--bm3d", action="store_true")
    options = parser.parse_args()
    head = "| noisy | " + " | ".join(name for name, _ in methods(options)) + " |"
    for title, part in (("strength given", white), ("nothing given", cameras)):
        print(f"| {title} {head}\n|{' --- |' * (head.count('|'))}", flush=True)
        part(options)
        print()


if __name__ == "__main__":
    main()
