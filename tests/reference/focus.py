"""The rule of --stack focus in float64, plane by plane."""

import numpy as np
from scipy import ndimage

import dualtree

WINDOW = np.array([1, 3, 1]) / 5


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


def merged(pictures, noise, levels=None):
    """Returns the weighted mean of subbands, exp(energy / noise^2), and the mean lowpass. The last channel of two or four is alpha."""
    height, width, channels = pictures[0].shape
    levels, colours = levels or levels_of(height, width), 3 if channels > 2 else 1
    pyramids = [[dualtree.forward(picture[..., c], levels, at_end=True) for c in range(channels)] for picture in pictures]
    weights = []
    for level in range(levels):
        bright = np.array([sum(planes[c].highpasses[level] for c in range(colours)) for planes in pyramids]) / np.sqrt(colours)
        energy = np.abs(bright)**2
        for axis in (1, 2):
            energy = ndimage.correlate1d(energy, WINDOW, axis, mode="nearest")
        weight = np.exp((energy - energy.max(0)) / max(noise, 0.1 / 255)**2)
        weights.append(weight / weight.sum(0))
    planes = []
    for c in range(channels):
        bands = tuple(sum(weight[i] * pyramids[i][c].highpasses[level] for i in range(len(pictures)))
                      for level, weight in enumerate(weights))
        planes.append(dualtree.inverse(dualtree.Pyramid(sum(planes[c].lowpass for planes in pyramids) / len(pictures), bands),
                                       (height, width), at_end=True))
    return np.stack(planes, axis=2)
