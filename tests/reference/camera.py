"""A camera, simulated: linear light, a Bayer mosaic, photon and read noise, demosaicing, sRGB, 8 bit, perhaps JPEG.

Pictures are height x width x 3, sRGB, from 0 to 1.
"""

import io

import numpy as np
from PIL import Image
from scipy import ndimage


def to_linear(picture):
    """IEC 61966-2-1."""
    return np.where(picture <= 0.04045, picture / 12.92, ((picture + 0.055) / 1.055)**2.4)


def to_srgb(light):
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light**(1 / 2.4) - 0.055)


def colour_of_places(shape):
    """Returns the colour, 0 to 2, of each sample of an RGGB mosaic."""
    y, x = np.indices(shape)
    return y % 2 + x % 2


def mosaic(light):
    return np.take_along_axis(light, colour_of_places(light.shape[:2])[..., None], axis=2)[..., 0]


def bilinear(samples):
    colour = colour_of_places(samples.shape)
    sparse, dense = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 4, np.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / 4
    return np.stack([ndimage.convolve(samples * (colour == c), dense if c == 1 else sparse, mode="mirror")
                     for c in range(3)], axis=2)


def malvar(samples):
    """H. Malvar, L. He, R. Cutler, "High-quality linear interpolation for demosaicing of Bayer-patterned color images",
    ICASSP 2004."""
    at_other = [[0, 0, -1, 0, 0], [0, 0, 2, 0, 0], [-1, 2, 4, 2, -1], [0, 0, 2, 0, 0], [0, 0, -1, 0, 0]]
    in_row = [[0, 0, 0.5, 0, 0], [0, -1, 0, -1, 0], [-1, 4, 5, 4, -1], [0, -1, 0, -1, 0], [0, 0, 0.5, 0, 0]]
    diagonal = [[0, 0, -1.5, 0, 0], [0, 2, 0, 2, 0], [-1.5, 0, 6, 0, -1.5], [0, 2, 0, 2, 0], [0, 0, -1.5, 0, 0]]
    colour, even = colour_of_places(samples.shape), np.indices(samples.shape)[0] % 2 == 0
    green, row, column, cross = (ndimage.convolve(samples, np.array(k) / 8, mode="mirror")
                                 for k in (at_other, in_row, np.transpose(in_row), diagonal))
    red = np.where(colour == 0, samples, np.where(colour == 2, cross, np.where(even, row, column)))
    blue = np.where(colour == 2, samples, np.where(colour == 0, cross, np.where(even, column, row)))
    return np.stack([red, np.where(colour == 1, samples, green), blue], axis=2)


# The two ISOs of docs/denoising.md: the light of one electron, and the noise of reading, of full scale.
MIDDLE, HIGH = (0.004, 0.015), (0.018, 0.038)


def as_jpeg(picture, quality, subsampling=2):
    """Encodes and decodes a JPEG of that quality; subsampling 0: 4:4:4, 1: 4:2:2, 2: 4:2:0."""
    file = io.BytesIO()
    Image.fromarray(np.uint8(np.rint(picture * 255))).save(file, "JPEG", quality=quality, subsampling=subsampling)
    return np.asarray(Image.open(file)) / 255


def shoot(scene, iso, demosaic, rng, quality=None, balance=(1, 1, 1)):
    """The picture that such a camera makes of a scene, and the one that it would make without noise.

    iso: light of one electron, and standard deviation of the read noise; balance: the gains of red, green and blue that
    undo what the sensor sees less of."""
    electron, read = iso
    light = mosaic(to_linear(scene) / balance)
    noisy = rng.poisson(light / electron) * electron + rng.normal(0, read, light.shape)
    developed = [to_srgb(demosaic(np.maximum(samples, 0)) * balance) for samples in (noisy, light)]
    taken = np.rint(developed[0] * 255) / 255
    return (as_jpeg(taken, quality) if quality else taken), developed[1]
