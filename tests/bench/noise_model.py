#!/usr/bin/env python3
"""Fits the colour models of src/wavelet/noise_model.h: the noise of a photograph, by the statistics of its wavelet coefficients.

    noise_model.py FOLDER --cache FOLDER --start START.h > noise_model.h

FOLDER has clean colour pictures (clean/) and real pairs (pairs/), as for cameras.py. Each picture is seen by simulated cameras with
random settings, with white noise and without noise. Measuring takes about a minute a picture and is kept in the cache, the fit seconds.

The features of a plane are the logarithms of three quantiles of the mean energy over 7x7 coefficients, at each of six levels, and those
of the other colours. A linear model gives the logarithm of the noise's energy at each level. It only uses ratios.

The fit climbs the mean PSNR. `measure` stores the squared error of the denoised picture for eight strengths of each level of each plane,
while all others have the true noise. The sum of these changes is nearly the change of the whole. Weights are drawn to those of the present
START.h, an earlier noise_model.h, and losses against it count more on white noise, simple cameras and clean pictures. Seeds, the order of
pictures and the single thread are fixed, so each run with the same folder and START.h gives the same file.
"""

import argparse
import os
import pathlib
import re
import sys
import zlib

for library in ("OMP", "OPENBLAS", "MKL"):  # before numpy loads them: the order of sums depends on the number of threads
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
from scipy.interpolate import CubicSpline  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "reference"))
import camera  # noqa: E402
import cameras  # noqa: E402
import dualtree  # noqa: E402
from shrinkage import MODELS, OPPONENT, features, live_cells, shrink  # noqa: E402

LEVELS, SIDE, COUNT = 6, 448, 255
LEAST = 0.5 / COUNT                           # true noise below counts as so much
USUAL = np.array([-2, -1, -0.5, 0, 0.5, 1, 1.5])  # strengths: powers of 2 times the true noise, and 0
CLEAN = np.array([-1, 0, 1, 2, 3, 4, 5])      # for clean pictures: of LEAST
FINE = np.arange(-5, 6.01, 0.05)
WEIGHTS = {"A": 1, "B": 1.2, "C": 1.2, "D": 2.5, "E": 1.5, "R": 4, "M": 1, "W": 2, "N": 0.8}


def variants(scene, rng):
    """Names of kinds, noisy and clean pictures."""
    for name, isos in cameras.ISOS.items():
        for electron, read in isos:
            how = {"quality": int(rng.integers(80, 97)), "balance": (1 + rng.random(), 1, 1 + rng.random()),
                   "sharpen": rng.uniform(0.3, 1.6), "radius": rng.uniform(0.6, 1.8), "scale": rng.choice([1.5, 2, 2, 2.5]),
                   "strength": float(rng.uniform(2, 12)), "banding": rng.uniform(0.1, 0.8)}
            iso = electron * 1.5**rng.uniform(-1, 1), read * 1.4**rng.uniform(-1, 1)
            yield name, *cameras.take(name, scene, iso, rng, how)
    for demosaic, iso, quality in ((camera.malvar, camera.MIDDLE, None), (camera.bilinear, camera.MIDDLE, None),
                                   (camera.malvar, camera.MIDDLE, 90), (camera.malvar, camera.HIGH, 85)):
        yield "M", *camera.shoot(scene, iso, demosaic, rng, quality)
    for sigma in (2.5, 5, 10, 15, 30):
        yield "W", np.clip(scene + rng.normal(0, sigma / COUNT, scene.shape), 0, 1), scene
    yield "W", np.clip(scene + rng.normal(0, 1, scene.shape) * (8 / COUNT * 3**rng.uniform(-1, 1, 3)) @ OPPONENT, 0, 1), scene
    yield "N", scene, scene


def contributions(pyramid, noise, first, shape):
    """The picture as a sum of its lowpass and its shrunk levels. `first`: pyramid and noise of brightness."""
    shrunk = shrink(pyramid, np.maximum(noise, 1e-9), True, first).highpasses
    return [level_alone(shrunk, level, shape) for level in range(LEVELS)]


def level_alone(bands, level, shape):
    """Inverts one level, as if all other coefficients were 0."""
    coarsest = bands[-1].shape[:2]
    alone = tuple(b if i == level else np.zeros_like(b) for i, b in enumerate(bands))
    return dualtree.inverse(dualtree.Pyramid(np.zeros((2 * coarsest[0], 2 * coarsest[1])), alone), shape, pad_at_end=True)


def measure(noisy, clean):
    """Features of planes, logarithm of the true noise, changes of the mean squared error by plane, level and strength, and the error."""
    noisy = np.rint(noisy * COUNT) / COUNT
    planes, right = (np.moveaxis(picture @ OPPONENT.T, 2, 0) for picture in (noisy, clean))
    true = cameras.true_noise(noisy, clean)
    without = not true.any()
    base = np.maximum(true, LEAST) * (1 if without else 1.15)
    powers = np.maximum(true, LEAST)[..., None] * np.append(0, 2.0**(CLEAN if without else USUAL))
    cells = live_cells(noisy, LEVELS)
    found, changes, errors = [], np.zeros((3, LEVELS, 8)), np.zeros(3)
    pyramids = [dualtree.forward(plane, LEVELS, pad_at_end=True) for plane in planes]
    first = pyramids[0], base[0]
    for p, (plane, pyramid, aim) in enumerate(zip(planes, pyramids, right)):
        found.append(features(pyramid.highpasses, "near_sym_a", [c[..., 3] for c in cells])[0])
        parts = contributions(pyramid, base[p], first, plane.shape)
        nothing = tuple(np.zeros_like(b) for b in pyramid.highpasses)
        rest = dualtree.inverse(dualtree.Pyramid(pyramid.lowpass, nothing), plane.shape, pad_at_end=True) + sum(parts) - aim
        errors[p] = np.mean(rest**2)
        for level, k in np.ndindex(LEVELS, 8):
            noise = base[p].copy()
            noise[level] = powers[p, level, k]
            changed = level_alone(shrink(pyramid, np.maximum(noise, 1e-9), True, first).highpasses, level, plane.shape)
            changes[p, level, k] = np.mean((rest - parts[level] + changed)**2) - errors[p]
    return np.array(found), np.log(np.maximum(true, LEAST)), changes, errors.sum(), without


def gather(folder, cache):
    """Returns the measurements of all pictures as (kind, measure())."""
    cache.mkdir(exist_ok=True)
    for path in sorted((folder / "pairs").glob("*_real.png")):
        kept = cache / f"R_{path.stem}.npz"
        if not kept.exists():
            np.savez(kept, *measure(cameras.read(path), cameras.read(str(path).replace("_real", "_mean"))))
        yield "R", list(np.load(kept).values())
    for path in sorted((folder / "clean").glob("*.*"), key=lambda path: path.name):
        scene = cameras.read(path)[:SIDE, :SIDE]
        scene = scene[:scene.shape[0] // 4 * 4, :scene.shape[1] // 4 * 4]
        for i, (kind, noisy, clean) in enumerate(variants(scene, np.random.default_rng(zlib.crc32(path.stem.encode())))):
            kept = cache / f"{kind}{i}_{path.stem}.npz"
            if not kept.exists():
                np.savez(kept, *measure(noisy, clean))
            yield kind, list(np.load(kept).values())


class Pictures:
    """Measurements as arrays, with the curves of the error on a fine scale of strengths."""

    def __init__(self, rows):
        self.kinds = np.array([kind for kind, _ in rows])
        found, self.true, changes, self.errors, without = (np.array(column) for column in zip(*(row for _, row in rows)))
        others = np.stack([(found[:, 1] + found[:, 2]) / 2, found[:, 0], found[:, 0]], axis=1)
        everything = np.concatenate([found, others], axis=2)
        self.base = everything.mean(axis=2)
        self.x = everything - self.base[..., None]
        low, self.middle = found[..., 0::3], found[..., 1::3] + 0.015
        self.alone = np.exp(-(np.maximum(found[..., 1::3] - low - 0.32, 0) / 0.1)**2)
        rise = np.maximum(found[..., 3] - found[..., 0], 0) / 0.2
        self.white, self.flat = np.exp(-rise**2)[..., None], found[..., :1] + 0.335
        self.floor = np.where(self.kinds == "N", 3e-6, 3e-5)
        self.curves = np.empty(changes.shape[:3] + FINE.shape)
        for flag, powers, most in ((False, USUAL, 4), (True, CLEAN, 6.5)):
            e = changes[without == flag]
            near, end = (0.18, 1.5) if not flag else (0.18, 1.5)
            e = np.concatenate([e[..., :1], e[..., :1] + near * (e[..., 1:2] - e[..., :1]), e[..., 1:],
                                e[..., -1:] + end * (e[..., -1:] - e[..., -2:-1])], axis=3)
            at = np.concatenate([[-6, powers[0] - 1.5], powers, [most]])
            if len(e):
                self.curves[without == flag] = CubicSpline(at, e, axis=3)(np.minimum(FINE, most))

    def noise(self, models):
        """Logarithms of the strengths that models give, and their derivative by the model's output."""
        v = np.stack([self.x[:, c] @ models[min(c, 1)][:, :-1].T + models[min(c, 1)][:, -1] + self.base[:, c, None]
                      for c in range(3)], axis=1)
        v += self.alone * (self.middle - v)
        raised = self.white * (self.flat > v)
        return np.log(2) + (v + raised * (self.flat - v)) / 2, (1 - self.alone) * (1 - raised) / 2

    def psnr(self, strengths):
        """PSNR of each picture, and its derivative by the logarithm of each strength."""
        u = (strengths - self.true) / np.log(2)
        k = (np.clip(u, FINE[0], FINE[-1] - 1e-6) - FINE[0]) / 0.05
        i = np.minimum(k.astype(int), len(FINE) - 2)
        a, b = (np.take_along_axis(self.curves, (i + n)[..., None], 3)[..., 0] for n in (0, 1))
        slope = (b - a) / 0.05 / np.log(2)
        slope = np.where(u > FINE[-1], np.maximum(slope, 0), slope)
        total = np.maximum((a + (b - a) * (k - i)).sum((1, 2)) + self.errors, 0) + self.floor
        return -10 * np.log10(total / 3), -10 / np.log(10) * slope / total[:, None, None]


def fit(pictures, start, steps=600, ridge=0.1, rate=0.01):
    """Adam, with jitter of the features against overfitting."""
    rng, models = np.random.default_rng(0), start.copy()
    before = pictures.psnr(pictures.noise(start)[0])[0]
    weights = sum((pictures.kinds == kind) * weight / max((pictures.kinds == kind).sum(), 1) for kind, weight in WEIGHTS.items())
    weights /= weights.sum()
    kept, clean, x = np.isin(pictures.kinds, list("AMW")), pictures.kinds == "N", pictures.x
    first, second = np.zeros_like(models), np.zeros_like(models)
    for step in range(steps):
        pictures.x = x + rng.normal(0, 0.03, x.shape)
        strengths, inner = pictures.noise(models)
        psnr, slope = pictures.psnr(strengths)
        weight = weights * np.where(kept, np.where(psnr < before + 0.02, 4, 1), np.where(clean, np.where(psnr < before - 0.4, 3, 0.1), 1))
        g = -weight[:, None, None] * slope * inner
        gradient = np.zeros_like(models)
        for c in range(3):
            gradient[min(c, 1)] += np.concatenate([g[:, c].T @ pictures.x[:, c], g[:, c].sum(0)[:, None]], axis=1)
        gradient[..., :-1] += 2 * ridge * (models - start)[..., :-1]
        first, second = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        speed = rate * min(1, (step + 1) / 50) * (0.5 * (1 + np.cos(np.pi * step / steps)) + 0.01)
        models = models - speed * first / (1 - 0.9**(step + 1)) / (np.sqrt(second / (1 - 0.99**(step + 1))) + 1e-7)
    pictures.x = x
    for kind in WEIGHTS:
        print(kind, np.round((pictures.psnr(pictures.noise(models)[0])[0] - before)[pictures.kinds == kind].mean(), 2), file=sys.stderr)
    return models


def write(models):
    print("/* Weights of the noise model for brightness, colour differences and single planes. For each level: 18 for the\n"
          " * plane's own features (six levels of three quantiles), 18 for the mean of the other two colours' features (0\n"
          " * for single planes), and a constant. apply_model() in noise_estimate.c reads them. Generated by\n"
          " * tests/bench/noise_model.py. */")
    print("static const float noise_models[3][NOISE_LEVELS][NOISE_WEIGHTS] = {")
    for levels in models:
        print("    {")
        for weights in levels:
            numbers = [f"{w:.4f}f" for w in weights]
            print("        {" + ",\n         ".join(", ".join(numbers[i:i + 9]) for i in range(0, len(numbers), 9)) + "},")
        print("    },")
    print("};")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("--start", type=pathlib.Path, default=MODELS, help="the noise_model.h to begin with, by default the present one")
    options = parser.parse_args()
    models = np.array(re.findall(r"(-?[0-9.]+)f", options.start.read_text()), float).reshape(3, LEVELS, -1)
    models[:2] = fit(Pictures(list(gather(options.folder, options.cache))), models[:2])
    write(models)


if __name__ == "__main__":
    main()
