"""Backgrounds in numpy: a ball that rolls below a picture as ImageJ's "Subtract Background" has it without smoothing, by its
definition and with loops over the ball; scipy's openings; the blur of reference.py."""

import numpy as np
from scipy import ndimage

import reference

MODES = {"clamp": "nearest", "mirror": "reflect", "wrap": "wrap", "zero": "constant"}


def patch(radius, counts):
    """(factor of the small picture, heights of the part of the ball that rolls below it)"""
    factor, percent = next((s, p) for most, s, p in ((10, 1, 24), (30, 2, 24), (100, 4, 32), (np.inf, 8, 40)) if radius <= most)
    small = max(radius / factor, 1)
    half = int(np.floor(small - int(percent * small) // 100 + 0.5))
    y, x = np.mgrid[-half:half + 1, -half:half + 1]
    return factor, np.sqrt(np.maximum(small**2 - x**2 - y**2, 0)) / counts


def opened_by(picture, heights):
    """The upper edge of all balls that lie nowhere above the picture, also of those whose middles lie beside it."""
    half = len(heights) // 2
    h, w = picture.shape
    wide = np.pad(picture, 2 * half, constant_values=np.inf)
    middles = np.full((h + 2 * half, w + 2 * half), np.inf)
    for (j, i), height in np.ndenumerate(heights):
        middles = np.minimum(middles, wide[j:j + h + 2 * half, i:i + w + 2 * half] - height)
    surface = np.full((h, w), -np.inf)
    for (j, i), height in np.ndenumerate(heights):
        surface = np.maximum(surface, middles[2 * half - j:2 * half - j + h, 2 * half - i:2 * half - i + w] + height)
    return surface


def interpolation(n, small, factor):
    """n x small: linear between the middles of blocks, and beyond the first and the last of them."""
    matrix = np.zeros((n, small))
    for i in range(n):
        if small == 1:
            matrix[i, 0] = 1
            continue
        first = min(max(int((i - factor // 2) / factor), 0), small - 2)
        weight = 1 - ((i + 0.5) / factor - (first + 0.5))
        matrix[i, first], matrix[i, first + 1] = weight, 1 - weight
    return matrix


def ball_surface(picture, radius, counts):
    factor, heights = patch(radius, counts)
    h, w = picture.shape
    small_h, small_w = -(-h // factor), -(-w // factor)
    wide = np.pad(picture, ((0, small_h * factor - h), (0, small_w * factor - w)), constant_values=np.inf)
    small = wide.reshape(small_h, factor, small_w, factor).min(axis=(1, 3))
    return interpolation(h, small_h, factor) @ opened_by(small, heights) @ interpolation(w, small_w, factor).T


def background(planes, radius, method="ball", light=False, counts=255, edge="clamp"):
    """--background of planes with premultiplied colour."""
    white = planes[..., -1:] if reference.has_alpha(planes) else 1.0
    if method == "divide":
        blurred = reference.blur(planes, radius, edge=edge)
        back = blurred / (blurred[..., -1:] if reference.has_alpha(planes) else 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            result = np.where(blurred == 0, 0, (1 if light else 0.5) * planes / back)
    elif method == "tophat":
        tophat = ndimage.black_tophat if light else ndimage.white_tophat
        result = reference.each_channel(lambda plane: tophat(plane, size=2 * radius + 1, mode=MODES[edge]), planes)
        result = white - result if light else result
    elif light:
        result = white + planes + reference.each_channel(lambda plane: ball_surface(-plane, radius, counts), planes)
    else:
        result = planes - reference.each_channel(lambda plane: ball_surface(plane, radius, counts), planes)
    return reference.keep_alpha(result, planes)
