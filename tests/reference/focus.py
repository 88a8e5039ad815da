"""The rule of --stack focus in float64, plane by plane."""

import numpy as np
from scipy import ndimage

import dualtree

WINDOW = np.array([1, 5, 1]) / 7
OWN_LEVELS, FINE_LEVELS = 4, 3


def levels_of(height, width):
    """Until the shorter side of the lowpass is about four."""
    return max(2, int(np.log2(min(height, width) / 4)))


def ratio(first, other):
    """Returns the median of the ratios of cells, weighted by the brightness of the darker one; 1 if they are no change of light."""
    ratios, weights = other / first, np.minimum(first, other)
    order = np.argsort(ratios)
    share = np.cumsum(weights[order]) / weights.sum()
    low, middle, high = (ratios[order][np.argmax(share >= quartile - 1e-12)] for quartile in (0.25, 0.5, 0.75))
    return middle if high <= 1.25 * low and 0.5 <= middle <= 2 and abs(middle - 1) > 0.003 else 1


def alike(pictures):
    """Returns opaque pictures, at most 512 high, multiplied by factors that make them equally bright; their mean brightness stays."""
    height, width = pictures[0].shape[:2]
    y, x = np.mgrid[:height, :width]
    cells = (y * 16 // height * 16 + x * 16 // width).ravel()
    used = np.unique(cells)
    means = [(np.bincount(cells, p.sum(2).ravel()) / np.maximum(np.bincount(cells), 1))[used] for p in pictures]
    ratios = np.array([ratio(means[0], mean) for mean in means])
    return [p * (ratios.mean() / own) for p, own in zip(pictures, ratios)]


def window(energy):
    """Returns the weighted mean of 3x3 energies of (picture, y, x, orientation)."""
    for axis in (1, 2):
        energy = ndimage.correlate1d(energy, WINDOW, axis, mode="nearest")
    return energy


def shares(energy, noise):
    """Returns the weights of the pictures."""
    weight = np.exp((energy - energy.max(0)) / (3 * max(noise, 0.1 / 255)**2))
    return weight / weight.sum(0)


def mixed(energy):
    """Returns energies plus the mean of all orientations."""
    return energy + energy.mean(3, keepdims=True)


def halved(energy, height, width):
    """Returns the mean of 2x2 energies and of all orientations, six times. Beyond the border the nearest ones count."""
    energy = energy.mean(3, keepdims=True)
    y, x = np.arange(2 * height).clip(max=energy.shape[1] - 1), np.arange(2 * width).clip(max=energy.shape[2] - 1)
    energy = energy[:, y][:, :, x].reshape(len(energy), height, 2, width, 2, 1).mean((2, 4))
    return np.repeat(energy, 6, axis=3)


def followed(energy, finer):
    """Returns energies plus 2x2 of the next finer level's."""
    height, width = energy.shape[1:3]
    y, x = np.arange(2 * height).clip(max=finer.shape[1] - 1), np.arange(2 * width).clip(max=finer.shape[2] - 1)
    return energy + finer[:, y][:, :, x].reshape(len(finer), height, 2, width, 2, 6).sum((2, 4))


def merged(pictures, noise, levels=None):
    """Returns the weighted mean of subbands, exp(energy / 3 noise^2), and of lowpasses. Energies include the mean of all orientations.
    Levels 2 and 3, unless they are the last, follow the finer ones; from level 5 on they have the energies of level 4.
    The last channel of two or four is alpha."""
    height, width, channels = pictures[0].shape
    levels, colours = levels or levels_of(height, width), 3 if channels > 2 else 1
    pyramids = [[dualtree.forward(picture[..., c], levels, pad_at_end=True) for c in range(channels)] for picture in pictures]
    weights, energy = [], None
    for level in range(levels):
        bright = np.array([sum(planes[c].highpasses[level] for c in range(colours)) for planes in pyramids]) / np.sqrt(colours)
        finer, energy = energy, mixed(np.abs(bright)**2) if level < OWN_LEVELS else halved(energy, *bright.shape[1:3])
        if 0 < level < min(FINE_LEVELS, levels - 1):
            energy = followed(energy, finer)
        weights.append(shares(window(energy), noise))
    lowpass_weight = weights[-1][..., 0] if levels > OWN_LEVELS else shares(window(energy).mean(3), noise)
    lowpass_weight = lowpass_weight.repeat(2, axis=1).repeat(2, axis=2)
    planes_of = []
    for c in range(channels):
        bands = tuple(sum(weight[i] * pyramids[i][c].highpasses[level] for i in range(len(pictures)))
                      for level, weight in enumerate(weights))
        lowpass = sum(weight * planes[c].lowpass for weight, planes in zip(lowpass_weight, pyramids))
        planes_of.append(dualtree.inverse(dualtree.Pyramid(lowpass, bands), (height, width), pad_at_end=True))
    return np.stack(planes_of, axis=2)
