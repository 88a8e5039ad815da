#!/usr/bin/python3
"""Writes dualtree_numbers.npz, which test_references.py holds dualtree.py to; needs python3-dtcwt (0.12 made it).

Both extents of the picture are odd, so that every rule of padding is met in three levels. Level 1 depends on the first
filter alone. `inverse` is of the pyramid with each band multiplied by its gain.
"""

import pathlib

import dtcwt
import numpy as np

import dualtree

LEVELS = 3


def main():
    picture = np.random.default_rng(1).random((9, 5))
    gains = np.random.default_rng(2).uniform(-1, 1, (LEVELS, 6))
    numbers = {"level1": [], "level2": [], "level3": [], "lowpass": [], "inverse": []}
    for biort in dualtree.BIORTS:
        for qshift in dualtree.QSHIFTS:
            transform = dtcwt.Transform2d(biort, qshift)
            pyramid = transform.forward(picture, nlevels=LEVELS)
            bands = tuple(gain * band for gain, band in zip(gains, pyramid.highpasses))
            for level in range(1, LEVELS):
                numbers[f"level{level + 1}"].append(pyramid.highpasses[level])
            numbers["lowpass"].append(pyramid.lowpass)
            numbers["inverse"].append(transform.inverse(dtcwt.Pyramid(pyramid.lowpass, bands))[:9, :5])
        numbers["level1"].append(pyramid.highpasses[0])
    np.savez_compressed(pathlib.Path(__file__).with_name("dualtree_numbers.npz"), picture=picture, gains=gains,
                        **{name: np.array(values) for name, values in numbers.items()})


if __name__ == "__main__":
    main()
