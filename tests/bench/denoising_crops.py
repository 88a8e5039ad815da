#!/usr/bin/env python3
"""Draws docs/pictures/denoising-crops.jpg: parts of pictures at 1:1, before and after --denoise, G'MIC and BM3D, and without noise.
Prints PSNR in dB, also of a real pair, which is not ours to show.

    denoising_crops.py FOLDER OUT.jpg

FOLDER/pairs has the real pairs, as for cameras.py; the simulated cameras see our samples. G'MIC's smooth has the strength with the highest PSNR of 20, 40 and 80; BM3D (PyPI's bm3d) takes the median of
the finest diagonal Haar coefficients for its sigma. All programs get the same 256 x 256 pixels. climg is $CLIMG.
"""
import pathlib
import subprocess
import sys
import tempfile

import bm3d
import numpy as np
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cameras  # noqa: E402

SIDE, SHOWN = 256, 160
SAMPLES = pathlib.Path(__file__).parents[2] / "samples"
# A real pair or a simulated camera, the picture, and the first row and column.
CHOSEN = (("CC", "5dmark3_iso3200_1", 128, 128), ("A", "scene.png", 256, 20), ("B", "scene.png", 40, 20), ("D", "scene.png", 220, 200))


def load(folder, name, picture, y, x):
    if name == "CC":
        both = [cameras.read(folder / "pairs" / f"{picture}_{kind}.png") for kind in ("real", "mean")]
    else:
        both = cameras.take(name, cameras.read(SAMPLES / picture), cameras.ISOS[name][1], np.random.default_rng(101))
    return [np.clip(picture[y:y + SIDE, x:x + SIDE], 0, 1) for picture in both]


def gmic(noisy, clean):
    found = []
    with tempfile.TemporaryDirectory() as folder:
        Image.fromarray(np.uint8(np.rint(noisy * 255))).save(f"{folder}/in.png")
        for strength in (20, 40, 80):
            subprocess.run(["gmic", "-v", "-", f"{folder}/in.png", "smooth", str(strength), "cut", "0,255", "-o", f"{folder}/out.png"], check=True)
            found.append(np.asarray(Image.open(f"{folder}/out.png").convert("RGB")) / 255)
    return max(found, key=lambda result: cameras.psnr([result], [clean])[0])


def by_bm3d(noisy):
    luma = noisy.mean(2)
    diagonal = (luma[::2, ::2] - luma[::2, 1::2] - luma[1::2, ::2] + luma[1::2, 1::2]) / 2
    return np.clip(bm3d.bm3d_rgb(noisy, np.sqrt(3) * np.median(np.abs(diagonal)) / 0.6745), 0, 1)


def main():
    folder, rows = pathlib.Path(sys.argv[1]), []
    for name, picture, y, x in CHOSEN:
        noisy, clean = load(folder, name, picture, y, x)
        results = [noisy, cameras.climg([noisy], "--denoise")[0][0], gmic(noisy, clean), by_bm3d(noisy), clean]
        print(name, picture, np.round(cameras.psnr(results[:-1], [clean] * 4), 2), flush=True)
        begin = (SIDE - SHOWN) // 2
        if name == "CC":
            continue
        rows.append(np.concatenate([result[begin:begin + SHOWN, begin:begin + SHOWN] for result in results], axis=1))
    Image.fromarray(np.uint8(np.rint(np.concatenate(rows) * 255))).save(sys.argv[2], quality=88, subsampling=0)


if __name__ == "__main__":
    main()
