"""Bivariate shrinkage (L. Sendur, I. Selesnick, IEEE Trans. SP 50, 2002) of the dual-tree transform, in float64."""

import numpy as np
from scipy import ndimage, optimize, special

import dualtree

OPPONENT = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])


def shrink(pyramid, sigma):
    """Bivariate shrinkage with the local variance of |y|^2 / 2 over 7x7; noise of a part: sigma / 2."""
    noise, shrunk = sigma / 2, []
    for level, bands in enumerate(pyramid.highpasses):
        result = np.empty_like(bands)
        for b in range(6):
            y1, y2 = bands[..., b], 0
            if level + 1 < len(pyramid.highpasses):
                parent = pyramid.highpasses[level + 1][..., b]
                y2 = parent.repeat(2, 0).repeat(2, 1)[:y1.shape[0], :y1.shape[1]]
            energy = ndimage.uniform_filter(np.abs(y1)**2 / 2, 7, mode="reflect")
            signal = np.sqrt(np.maximum(energy - noise**2, 1e-20))
            r = np.sqrt(np.maximum(np.abs(y1)**2 + np.abs(y2)**2, 1e-20))
            result[..., b] = y1 * np.maximum(r - np.sqrt(5) * noise**2 / signal, 0) / r
        shrunk.append(result)
    return dualtree.Pyramid(pyramid.lowpass, tuple(shrunk))


def denoise_plane(plane, sigma, levels):
    pyramid = dualtree.forward(plane, levels)
    return dualtree.inverse(shrink(pyramid, estimate_noise(pyramid) if sigma is None else sigma), plane.shape)


def denoise(picture, sigma, levels):
    """Three colours as brightness and differences; alpha (of 2 or 4 channels) as it is. No sigma: estimated for each."""
    colours = picture.shape[2] - (picture.shape[2] % 2 == 0)
    planes = picture[..., :colours]
    planes = planes @ OPPONENT.T if colours == 3 else planes
    clean = np.stack([denoise_plane(planes[..., c], sigma, levels) for c in range(colours)], axis=2)
    clean = clean @ OPPONENT if colours == 3 else clean
    return np.concatenate([clean, picture[..., colours:]], axis=2)


def noise_unit(biort):
    """The median magnitude of the parts of level 1's diagonal coefficients, for white noise of strength 1. They are
    Gaussian, half of them with variance e^2 + r^2 and half with e^2 - r^2: e is the energy of h1, r its first lag."""
    h1 = dualtree.level_1_taps(biort)[1]
    e, r = h1 @ h1, h1[:-1] @ h1[1:]
    wide, narrow = np.sqrt(2 * (e * e + r * r)), np.sqrt(2 * (e * e - r * r))
    return optimize.brentq(lambda m: special.erf(m / wide) + special.erf(m / narrow) - 1, 0, 4 * wide, xtol=1e-14)


def estimate_noise(pyramid, biort="near_sym_a"):
    """From the median of those parts, found in 16 bins an octave and interpolated within its bin."""
    bands = pyramid.highpasses[0][..., [1, 4]]
    parts = np.abs(np.concatenate([bands.real.ravel(), bands.imag.ravel()])).astype(np.float32)
    bins = parts.view(np.uint32) >> 19
    counts = np.bincount(bins)
    before = np.cumsum(counts) - counts
    middle = int(np.argmax(before + counts >= len(parts) - len(parts) // 2))
    low, high = np.array([middle << 19, (middle + 1) << 19], np.uint32).view(np.float32).astype(float)
    return (low + (high - low) * (0.5 * len(parts) - before[middle]) / counts[middle]) / noise_unit(biort)
