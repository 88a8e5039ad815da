"""Bivariate shrinkage (L. Sendur, I. Selesnick, IEEE Trans. SP 50, 2002) of the dual-tree transform, and the noise by plane
and level that src/filters/noise.h describes, in float64."""

import functools
import itertools
import pathlib
import re

import numpy as np
from scipy import fft, ndimage

import dualtree

OPPONENT = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])
MODELS = pathlib.Path(__file__).parents[2] / "src/filters/noise_model.h"
# White noise has so much larger features of level 1 with near_sym_a.
SHIFTS = {"near_sym_a": np.zeros(2), "near_sym_b": [0.032, 0.009], "legall": [0.498, 0.063], "antonini": [0.037, 0.012]}
PLACES, LEAST, FIRST_BIN = 64, (0.1 / 255)**2 / 4, (127 - 80) * 8


def local_energy(bands, side):
    return ndimage.uniform_filter(np.abs(bands)**2 / 2, (side, side, 1), mode="reflect")


@functools.lru_cache
def white_noise(sigma, levels, biort="near_sym_a"):
    """White noise as it is on each level: the root of the mean energy of the subbands, of an image of zeros and a one."""
    rows = np.eye(1024)
    h0, h1, _, _ = dualtree.level_1_taps(biort)
    low_taps, high_taps = dualtree.later_taps("qshift_a")
    low, high = dualtree.undecimated(rows, h0), dualtree.undecimated(rows, h1)
    factors = []
    for _ in range(min(levels, 5)):
        # Rows in the middle, away from the borders, of both trees.
        a, b = (np.mean((m**2).sum(1)[len(m) // 4:-(len(m) // 4)]) for m in (low, high))
        factors.append(2 * np.sqrt((2 * a * b + b * b) / 3))
        low, high = dualtree.down(low, *low_taps[::-1]), dualtree.down(low, *high_taps[::-1])
    return sigma * np.array(factors + [1] * (levels - len(factors)))


def shrink(pyramid, sigma, found=False):
    """Bivariate shrinkage with the local variance of |y|^2 / 2 over 5x5; noise of a part: sigma / 2. sigma: one number, or one
    for each level. Where it was found, parents whose noise is stronger count less, so that it is as strong."""
    sigmas, shrunk = np.broadcast_to(sigma, len(pyramid.highpasses)), []
    for level, bands in enumerate(pyramid.highpasses):
        noise, energies, result = sigmas[level] / 2, local_energy(bands, 5), np.empty_like(bands)
        for b in range(6):
            y1, y2 = bands[..., b], 0
            if level + 1 < len(pyramid.highpasses):
                parent = pyramid.highpasses[level + 1][..., b]
                y2 = parent.repeat(2, 0).repeat(2, 1)[:y1.shape[0], :y1.shape[1]]
                y2 = y2 * min(sigmas[level] / sigmas[level + 1], 1) if found else y2
            signal = np.sqrt(np.maximum(energies[..., b] - noise**2, 1e-20))
            r = np.sqrt(np.maximum(np.abs(y1)**2 + np.abs(y2)**2, 1e-20))
            result[..., b] = y1 * np.maximum(r - np.sqrt(5) * noise**2 / signal, 0) / r
        shrunk.append(result)
    return dualtree.Pyramid(pyramid.lowpass, tuple(shrunk))


def refine(noisy, pilot, sigma):
    """Wiener shrinkage of the cosines of all 8x8 blocks that begin at even places; `sigma` is one number, or one for each level."""
    sigmas = np.pad(np.atleast_1d(sigma), (0, 2), mode="edge")
    octave = np.maximum.outer(np.arange(8), np.arange(8))
    variance = np.where(octave >= 4, sigmas[0], np.where(octave >= 2, sigmas[1], sigmas[2]))**2
    height, width = noisy.shape
    wide = [np.pad(plane, ((8, 24), (8, 24)), mode="symmetric") for plane in (noisy, pilot)]
    total, weights = np.zeros_like(wide[0]), np.zeros_like(wide[0])
    for y, x in itertools.product(range(0, 8, 2), repeat=2):
        h, w = ((n - start) // 8 * 8 for n, start in zip(total.shape, (y, x)))
        z, p = (fft.dctn(plane[y:y + h, x:x + w].reshape(h // 8, 8, w // 8, 8), axes=(1, 3), norm="ortho") for plane in wide)
        gain = p**2 / (p**2 + 0.8 * variance[:, None, :])
        gain[:, 0, :, 0], z[:, 0, :, 0] = 1, p[:, 0, :, 0]
        weight = 1 / (gain**2).sum(axis=(1, 3), keepdims=True)
        total[y:y + h, x:x + w] += (weight * fft.idctn(gain * z, axes=(1, 3), norm="ortho")).reshape(h, w)
        weights[y:y + h, x:x + w] += np.broadcast_to(weight, gain.shape).reshape(h, w)
    return (0.8 * total / np.where(weights > 0, weights, 1))[8:8 + height, 8:8 + width] + 0.2 * pilot


def denoise(picture, sigma, levels, quality="normal", at_end=True):
    """Three colours as brightness and differences; alpha (of 2 or 4 channels) as it is. No sigma: found for each level. Parents lie
    over their children, as in --denoise, or as --wavelet has them."""
    colours = picture.shape[2] - (picture.shape[2] % 2 == 0)
    planes = picture[..., :colours]
    planes = planes @ OPPONENT.T if colours == 3 else planes
    pyramids = [dualtree.forward(planes[..., c], levels, at_end=at_end) for c in range(colours)]
    sigmas = used_noise(pyramids) if sigma is None else [white_noise(sigma, levels)] * colours
    clean = np.stack([dualtree.inverse(shrink(p, s, sigma is None), picture.shape[:2], at_end=at_end) for p, s in zip(pyramids, sigmas)], axis=2)
    if quality == "high":
        clean = np.stack([refine(planes[..., c], clean[..., c], s) for c, s in enumerate(sigmas)], axis=2)
    clean = clean @ OPPONENT if colours == 3 else clean
    return np.concatenate([clean, picture[..., colours:]], axis=2)


def places(size):
    count = min(size, PLACES)
    return (2 * np.arange(count) + 1) * size // (2 * count)


def bounds(bins):
    return (np.asarray(bins + FIRST_BIN, np.uint32) << np.uint32(20)).view(np.float32).astype(float)


def quantile(values, share):
    """In 8 bins an octave, interpolated within its bin."""
    bins = np.clip((values.astype(np.float32).view(np.uint32) >> 20).astype(int) - FIRST_BIN, 0, 1023)
    counts = np.bincount(bins.ravel(), minlength=1024)
    below = np.cumsum(counts) - counts
    at = min(int(np.argmax(below + counts >= share * values.size)), 1023)
    low, high = bounds(np.array([at, at + 1]))
    return low + (high - low) * (share * values.size - below[at]) / max(counts[at], 1)


def features(pyramid, biort):
    """Logarithms of two quantiles of the energies at some places of each of six levels, the last standing for missing ones."""
    rows = []
    for bands in pyramid.highpasses[:6]:
        energies = local_energy(bands, 7)[np.ix_(places(bands.shape[0]), places(bands.shape[1]))]
        rows.append(np.log([max(quantile(energies, share), LEAST) for share in (0.05, 0.5)]))
    rows[0] = rows[0] + SHIFTS[biort]
    return np.ravel(rows + [rows[-1]] * (6 - len(rows)))


def used_noise(pyramids, biort="near_sym_a"):
    """What pictures are shrunk by: more than the mean in colour, as a camera's noise is stronger in some places."""
    return noise_by_level(pyramids, biort) * (1.03 if len(pyramids) == 3 else 1)


def noise_by_level(pyramids, biort="near_sym_a"):
    """Planes x levels: the strength of white noise that would be as strong there. Three planes are opponent colours."""
    own = np.array([features(p, biort) for p in pyramids])
    models = np.array(re.findall(r"(-?[0-9.]+)f", MODELS.read_text()), float).reshape(3, 6, 25)
    result = []
    for plane, f in enumerate(own):
        others = f if len(own) != 3 else own[1:].mean(0) if plane == 0 else own[0]
        base = (f.mean() + others.mean()) / 2
        model = models[min(plane, 1) if len(own) == 3 else 2]
        v = model @ np.append(np.concatenate([f, others]) - base, 1) + base
        alone = np.exp(-(np.maximum(f[1::2] - f[0::2] - 0.32, 0) / 0.1)**2)  # noise and nothing else
        v += alone * (f[1::2] + 0.015 - v)
        result.append(2 * np.exp(v / 2)[np.minimum(np.arange(len(pyramids[plane].highpasses)), 5)])
    return np.array(result)
