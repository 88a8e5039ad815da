#!/usr/bin/env python3
"""Automatic --denoise with five simulated cameras, real pairs, white noise and clean pictures: the table and the figure of docs/denoising.md.

    cameras.py FOLDER [--take N] [--cache FOLDER] [--isos 0 1 2] [--short] [--figure FILE.png] [--before CLIMG]

FOLDER has clean colour pictures (clean/) and pairs of real ones (pairs/NAME_real.png, NAME_mean.png). Of each picture the 512 x 512
pixels in the middle are taken. PSNR in dB, means over the pictures, at the middle ISO unless --isos says others. climg is $CLIMG. The best
single SIGMA is another one for each picture.

    A   VNG demosaicing, JPEG                D   denoised in camera by non-local means, JPEG
    B   edge-aware demosaicing, sharpened,   E   Malvar demosaicing, rows and columns with an offset each (banding)
        JPEG                                 CC  real pairs
    C   enlarged twice                       "true": shrunk by the true noise of each level, in numpy

--figure draws the found noise over the true noise, by level, also as found by the climg of --before (needs matplotlib). --cache keeps the
shrinkage by the true noise, which is slow. --short leaves that out, and all but what climg does by itself.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import cv2
import numpy as np
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "reference"))
import camera  # noqa: E402
import dualtree  # noqa: E402
from shrinkage import OPPONENT, shrink  # noqa: E402

CLIMG = os.environ.get("CLIMG", "climg")
SIDE, LEVELS, NUMBERS = 512, 6, (3, 5, 7, 10, 14, 20, 28, 40)
# Light of one electron and read noise, of full scale, by camera: low, middle and high ISO.
ISOS = {"A": ((0.001, 0.005), (0.003, 0.010), (0.010, 0.025)), "B": ((0.002, 0.008), (0.007, 0.022), (0.012, 0.03)),
        "C": ((0.001, 0.004), (0.003, 0.010), (0.012, 0.03)), "D": ((0.003, 0.010), (0.006, 0.018), (0.016, 0.033)),
        "E": ((0.0005, 0.004), (0.0015, 0.008), (0.008, 0.022))}
USUAL = {"sharpen": 1.0, "radius": 1.0, "quality": 90, "strength": 6, "scale": 2, "banding": 0.5, "balance": (1.6, 1, 1.4)}


def photograph(scene, iso, rng, balance, banding=0.0):
    """Returns the mosaic of linear light with noise, and without."""
    electron, read = iso
    light = camera.mosaic(camera.to_linear(scene) / balance)
    noise = rng.poisson(light / electron) * electron - light + rng.normal(0, read, light.shape)
    noise += banding * read * (rng.normal(0, 1, (light.shape[0], 1)) + rng.normal(0, 0.5, (1, light.shape[1])))
    return np.maximum(light + noise, 0), light


def by_opencv(samples, code, depth):
    """Demosaics with OpenCV. Its name of the pattern is that of the second row's second and third pixels."""
    whole = 2**(8 * np.dtype(depth).itemsize) - 1
    return cv2.cvtColor(np.rint(np.clip(samples, 0, 1) * whole).astype(depth), code) / whole


def gained(samples, balance):
    """White balance in the mosaic."""
    return samples * np.take(balance, camera.colour_of_places(samples.shape))


def take(name, scene, iso, rng, how=None):
    """The picture that a camera makes of a scene (0 to 1, 8 bit), and the one that it would make without noise."""
    how = {**USUAL, **(how or {})}
    balance = how["balance"]
    jpeg = (lambda picture: camera.as_jpeg(picture, how["quality"]) if how["quality"] else np.rint(picture * 255) / 255)
    if name == "C":
        height, width = (int(n / how["scale"]) // 2 * 2 for n in scene.shape[:2])
        scene = cv2.resize(scene, (width, height), interpolation=cv2.INTER_AREA)
    both = photograph(scene, iso, rng, balance, how["banding"] if name == "E" else 0)
    if name == "A":
        both = [by_opencv(camera.to_srgb(gained(m, balance)), cv2.COLOR_BayerBG2RGB_VNG, np.uint8) for m in both]
    elif name == "B":
        both = [camera.to_srgb(by_opencv(gained(m, balance) / 2, cv2.COLOR_BayerBG2RGB_EA, np.uint16) * 2) for m in both]
        both = [np.clip(p + how["sharpen"] * (p - cv2.GaussianBlur(p, (0, 0), how["radius"])), 0, 1) for p in both]
    else:
        both = [camera.to_srgb(camera.malvar(m) * balance) for m in both]
    noisy, clean = both
    if name == "C":
        wide = tuple(int(n * how["scale"]) for n in noisy.shape[1::-1])
        noisy, clean = (np.clip(cv2.resize(p, wide, interpolation=cv2.INTER_CUBIC), 0, 1) for p in both)
        return np.rint(noisy * 255) / 255, clean
    if name == "D":
        samples = np.ascontiguousarray(np.uint8(np.rint(noisy * 255))[..., ::-1])
        noisy = cv2.fastNlMeansDenoisingColored(samples, None, how["strength"], how["strength"], 5, 13)[..., ::-1] / 255
    return (np.rint(noisy * 255) / 255 if name == "E" else jpeg(noisy)), clean


def read(path):
    picture = np.asarray(Image.open(path).convert("RGB"))
    y, x = (max(0, (n - SIDE) // 2) for n in picture.shape[:2])
    return picture[y:y + SIDE, x:x + SIDE] / 255


def sets(options):
    """Title, noisy and clean pictures."""
    paths = sorted((options.folder / "clean").iterdir())
    scenes = [read(path) for path in (paths[::max(1, len(paths) // options.take)] if options.take else paths)]
    scenes = [scene[:scene.shape[0] // 4 * 4, :scene.shape[1] // 4 * 4] for scene in scenes]
    for name, isos in ISOS.items():
        for which in options.isos:
            rng = np.random.default_rng(100 + which)
            yield name + ("-", "", "+")[which], [take(name, scene, isos[which], rng) for scene in scenes]
    real = sorted((options.folder / "pairs").glob("*_real.png"))
    yield "CC", [(read(path), read(str(path).replace("_real", "_mean"))) for path in real]
    for sigma in (5, 15, 30):
        rng = np.random.default_rng(sigma)
        yield f"white, {sigma}", [(np.clip(np.rint(s * 255 + rng.normal(0, sigma, s.shape)), 0, 255) / 255, s) for s in scenes]
    yield "clean", [(scene, scene) for scene in scenes]


def climg(pictures, stage, program=None):
    """Returns the results, and the noise of each picture: planes x levels, of full scale."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "in").mkdir()
        for i, picture in enumerate(pictures):
            Image.fromarray(np.uint8(np.rint(picture * 255))).save(f"{folder}/in/{i:03}.png")
        subprocess.run([program or CLIMG, "-q", "-j", "1", "in", stage, "--report", "report", "-o", "out/"], check=True, cwd=folder)
        lines = [json.loads(line) for line in (pathlib.Path(folder) / "report").read_text().splitlines()]
        noise = {line["input"]: np.array(line["noise"]) / 255 for line in lines if line["noise"]}
        return ([np.asarray(Image.open(f"{folder}/out/{i:03}.png")) / 255 for i in range(len(pictures))],
                [noise.get(f"in/{i:03}.png") for i in range(len(pictures))])


def true_noise(noisy, clean):
    """Planes x levels."""
    return np.array([[np.sqrt(2 * np.mean(np.abs(bands)**2)) for bands in dualtree.forward(plane, LEVELS, pad_at_end=True).highpasses]
                     for plane in np.moveaxis((noisy - clean) @ OPPONENT.T, 2, 0)])


def shrunk(noisy, noise):
    pyramids = [dualtree.forward(plane, LEVELS, pad_at_end=True) for plane in np.moveaxis(noisy @ OPPONENT.T, 2, 0)]
    planes = [dualtree.inverse(shrink(pyramid, sigmas, True, (pyramids[0], noise[0])), noisy.shape[:2], pad_at_end=True)
              for pyramid, sigmas in zip(pyramids, noise)]
    return np.clip(np.stack(planes, axis=2) @ OPPONENT, 0, 1)


def cached(options, noisy, clean, function):
    """Returns function() of a pair, an array, from the cache if it is there."""
    if not options.cache:
        return function()
    name = hashlib.sha256(noisy.tobytes() + clean.tobytes()).hexdigest()[:24]
    path = options.cache / f"{name}.npy"
    if not path.exists():
        options.cache.mkdir(exist_ok=True)
        np.save(path, function())
    return np.load(path)


def psnr(pictures, clean):
    return np.array([-10 * np.log10(max(np.mean((p - c)**2), 1e-10)) for p, c in zip(pictures, clean)])


def decibels(found, true):
    """Found noise over true noise: planes x levels, of the pictures whose colours were kept together."""
    return np.mean([20 * np.log10(f / t) for f, t in zip(found, true) if f is not None and f.min() > 0], axis=0)


def figure(options):
    """Draws brightness and the mean of both colour differences, for each camera."""
    from matplotlib import pyplot
    chosen = [(title, pairs) for title, pairs in sets(options) if title in [*ISOS, "CC", "white, 15"]]
    plot, axes = pyplot.subplots(2, len(chosen), figsize=(1.55 * len(chosen), 4.2), sharex=True, sharey=True)
    for column, (title, pairs) in enumerate(chosen):
        noisy, clean = zip(*pairs)
        true = [cached(options, n, c, lambda: true_noise(n, c)) for n, c in pairs]
        for name, colour in ((options.before, "#b0b0b0"), (CLIMG, "#2f6db3")):
            if name:
                found = decibels(climg(noisy, "--denoise", name)[1], true)
                for row_of, values in enumerate((found[0], found[1:].mean(0))):
                    axes[row_of, column].plot(range(1, LEVELS + 1), values, "o-", color=colour, markersize=3)
        for row_of in (0, 1):
            axes[row_of, column].axhline(0, color="black", linewidth=0.8)
            axes[row_of, column].grid(alpha=0.3)
        axes[0, column].set_title(title, fontsize=10)
        axes[1, column].set_xlabel("level", fontsize=9)
    axes[0, 0].set_ylabel("brightness, dB")
    axes[1, 0].set_ylabel("colour, dB")
    plot.tight_layout()
    plot.savefig(options.figure, dpi=90)


def row(title, pairs, options):
    noisy, clean = zip(*pairs)
    auto, found = climg(noisy, "--denoise")
    cells = [psnr(noisy, clean), psnr(auto, clean), psnr(climg(noisy, "--denoise=auto,quality=high")[0], clean)]
    ratios = None
    if title != "clean" and not options.short:
        true = [cached(options, n, c, lambda: true_noise(n, c)) for n, c in pairs]
        best = [psnr([cached(options, n, t, lambda: shrunk(n, t))], [c])[0] for (n, c), t in zip(pairs, true)]
        single = np.max([psnr(climg(noisy, f"--denoise={number}")[0], clean) for number in NUMBERS], axis=0)
        cells += [psnr(climg(noisy, "--denoise=auto,strength=1.3")[0], clean), single, np.array(best)]
        ratios = decibels(found, true)
    print(f"| {title} | " + " | ".join(f"{np.mean(cell):.2f}" for cell in cells) + " |", flush=True)
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--take", type=int, help="so many clean pictures")
    parser.add_argument("--isos", type=int, nargs="+", default=[1], choices=(0, 1, 2), help="0 low, 1 middle, 2 high")
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--figure", type=pathlib.Path)
    parser.add_argument("--short", action="store_true", help="only what climg does by itself")
    parser.add_argument("--before", help="another climg, for the figure")
    options = parser.parse_args()
    if options.figure:
        figure(options)
        return
    print("| | noisy | `--denoise` | `quality=high` | `strength=1.3` | best SIGMA | true noise |\n" + "|" + " --- |" * 7)
    found = {title: row(title, pairs, options) for title, pairs in sets(options)}
    for title, ratios in found.items():
        if ratios is not None:
            print(title, np.round(ratios, 1).tolist(), file=sys.stderr)


if __name__ == "__main__":
    main()
