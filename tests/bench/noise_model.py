#!/usr/bin/env python3
"""Fits src/wavelet/noise_model.h: what the noise of a photograph is, by what its wavelet coefficients are.

    noise_model.py FOLDER... [--real FOLDER] > src/wavelet/noise_model.h

FOLDER has clean colour pictures, of which noisy ones are made by simulated cameras (Kodak24, McMaster, CBSD68); --real has
pairs *Real.JPG and *mean.JPG of real ones (PolyU). Every second file is taken; the others are left for denoising.py.

The features of a plane are the logarithms of two quantiles of the mean energy over 7x7 coefficients, at each of six levels: the
lower one is what flat places have, the middle one tells texture from noise. Those of the other colours are beside them. A
linear model gives the logarithm of the noise's energy at each level. Features and answer are taken relative to the features'
mean, so a picture of twice the contrast has twice the noise.
"""

import argparse
import pathlib
import sys

import numpy as np
from PIL import Image
from scipy import ndimage



sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "reference"))
import camera  # noqa: E402
import dualtree  # noqa: E402
from shrinkage import OPPONENT  # noqa: E402

LEVELS, QUANTILES, SIDE = 6, (0.05, 0.5), 448
FLOOR = (0.1 / 255)**2 / 4  # of an energy: a tenth of a count
LEAST = (0.5 / 255)**2 / 4  # noise that is looked for
RIDGE = 50
# The mean of a logarithm is too low where what a picture loses by too much noise is less than what it loses by too little. So
# much more of the finest luminance and of fine colour gives the highest PSNR (Kodak24, PolyU).
MORE = np.ones((3, LEVELS))
MORE[0, 0], MORE[1, :3] = 1.15, (1.15, 1.2, 1.15)
WEIGHTS = {"clean": 1, "white": 2, "camera": 1, "real": 4}


def features(planes):
    """Logarithms of the quantiles: planes x (levels x quantiles)."""
    rows = []
    for plane in planes:
        energies = [ndimage.uniform_filter(np.abs(bands)**2 / 2, (7, 7, 1), mode="reflect")
                    for bands in dualtree.forward(plane, LEVELS).highpasses]
        rows.append(np.log(np.maximum([np.quantile(energy, QUANTILES) for energy in energies], FLOOR)).ravel())
    return np.array(rows)


def noise(planes):
    """Logarithms of the mean energy: planes x levels."""
    return np.log(np.maximum([[np.mean(np.abs(bands)**2) / 2 for bands in dualtree.forward(plane, LEVELS).highpasses]
                              for plane in planes], LEAST))


def rows_of(kind, noisy, clean):
    """Returns the three models' estimates for a pair: luminance, a colour difference, a gray picture."""
    planes, errors = (np.moveaxis(picture @ OPPONENT.T, 2, 0) for picture in (noisy, noisy - clean))
    found, true, strength = features(planes), noise(errors), np.sqrt(np.mean((noisy - clean)**2)) * 255
    weight = WEIGHTS[kind] * (1 if kind == "clean" else np.clip(strength / 8, 0.3, 3)**0.5)
    gray = [planes[0] / 3**0.5], [errors[0] / 3**0.5]
    yield 0, found[0], (found[1] + found[2]) / 2, true[0], weight
    yield 1, found[1], found[0], true[1], weight
    yield 1, found[2], found[0], true[2], weight
    # Gray pictures are those of scanners and microscopes, too, whose noise is white.
    yield 2, features(gray[0])[0], None, noise(gray[1])[0], weight * (20 if kind == "white" else 1)


def simulated(scene, rng):
    """Noisy and clean pictures of a scene."""
    for i in range(10):
        demosaic = (camera.bilinear, camera.malvar)[i % 2]
        electron = 0.0008 * 40**rng.random()
        iso = electron, 0.004 + 0.03 * rng.random() * np.sqrt(electron / 0.02)
        balance = (1, 1, 1) if i < 5 else (1 + rng.random(), 1, 1 + rng.random())
        yield "camera", *camera.shoot(scene, iso, demosaic, rng, (None, None, 95, 90, 80)[rng.integers(5)], balance)
    for i, sigma in enumerate((4, 10, 15, 25, 50, 8, 20)):  # the last two out of focus, and with more of some colours
        strengths = sigma / 255 * (4**rng.uniform(-1, 1, 3) if i >= 5 else np.ones(3))
        sharp = ndimage.gaussian_filter(scene, (5, 5, 0)) if i >= 5 else scene
        yield "white", sharp + rng.normal(0, 1, scene.shape) * strengths @ OPPONENT, sharp
    yield "clean", scene, scene
    yield "clean", camera.as_jpeg(scene, int(rng.integers(80, 97))), scene


def pairs(folders, real, rng):
    for folder in folders:
        for path in sorted(pathlib.Path(folder).iterdir())[::2]:
            yield from simulated(np.asarray(Image.open(path).convert("RGB"))[:SIDE, :SIDE] / 255, rng)
    for path in sorted(pathlib.Path(real).glob("*[rR]eal.JPG"))[::2] if real else []:
        clean = next(p for p in path.parent.iterdir() if p.name.lower() == path.name.lower().replace("real", "mean"))
        yield "real", *(np.asarray(Image.open(p))[:SIDE, :SIDE] / 255 for p in (path, clean))


def fit(rows):
    """Weights of own features, of other features and the constant, by level."""
    a, b, weights = [], [], []
    for own, other, true, weight in rows:
        all_features = own if other is None else np.concatenate([own, other])
        base = all_features.mean()
        a.append(np.append(all_features - base, 1))
        b.append(true - base)
        weights.append(weight)
    a, b, weights = np.array(a), np.array(b), np.array(weights)[:, None]
    ridge = RIDGE * np.diag([1.0] * (a.shape[1] - 1) + [0])
    solution = np.linalg.solve(a.T @ (weights * a) + ridge, a.T @ (weights * b)).T
    missing = 4 * LEVELS + 1 - solution.shape[1]
    return np.concatenate([solution[:, :-1], np.zeros((LEVELS, missing)), solution[:, -1:]], axis=1)


def write(models):
    print("/* Weights of the noise model for brightness, colour differences and single planes: for each level 24 features\n"
          " * and a constant, as apply_model() in noise.c reads them. Generated by tests/bench/noise_model.py. */")
    print("static const float noise_models[3][NOISE_LEVELS][NOISE_FEATURES] = {")
    for levels in models:
        print("    {")
        for weights in levels:
            numbers = [f"{w:.4f}f" for w in weights]
            print("        {" + ",\n         ".join(", ".join(numbers[i:i + 9]) for i in range(0, len(numbers), 9)) + "},")
        print("    },")
    print("};")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--real")
    options = parser.parse_args()
    rows = [], [], []
    for kind, noisy, clean in pairs(options.folders, options.real, np.random.default_rng(1)):
        for model, *row in rows_of(kind, noisy, clean):
            rows[model].append(row)
    models = np.array([fit(model) for model in rows])
    models[:, :, -1] += 2 * np.log(MORE)
    write(models)


if __name__ == "__main__":
    main()
