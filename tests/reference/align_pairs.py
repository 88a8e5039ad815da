"""Pictures, and pairs of them that belong together, for --align: by formulas and seeded noise, resampled in float64.

A pair is a window of a picture, the reference, and another of the same size, turned, sized, shifted, brighter or darker and
with noise: scipy.ndimage's splines of order 5."""

import numpy as np
from scipy import ndimage

MODELS = ("shift", "rigid", "similarity", "affine")


def noise_of_power(rng, side, power):
    frequency = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None])
    frequency[0, 0] = 1
    spectrum = np.fft.rfft2(rng.standard_normal((side, side))) * frequency**-power * np.exp(-(frequency / 0.35)**4)
    plane = np.fft.irfft2(spectrum, s=(side, side))
    return (plane - plane.mean()) / plane.std()


def drawn(side, paint):
    """Drawn at twice the size, so that edges are soft."""
    plane = np.full((2 * side, 2 * side), 110.0)
    paint(plane)
    return ndimage.gaussian_filter(plane, 1.4)[::2, ::2]


def clouds(rng, side):
    return 128 + 45 * noise_of_power(rng, side, 1.6)


def texture(rng, side):
    return 128 + 40 * noise_of_power(rng, side, 1.0)


def leaves(rng, side, count=400):
    def paint(plane):
        y, x = np.indices(plane.shape) / 2
        for _ in range(count):
            middle, angle = rng.uniform(-20, side + 20, 2), rng.uniform(0, np.pi)
            radius, narrow = side * 0.02 / rng.uniform(0.05, 1)**0.8 * rng.uniform(0.5, 1.5), rng.uniform(0.4, 1)
            along = (x - middle[0]) * np.cos(angle) + (y - middle[1]) * np.sin(angle)
            across = (y - middle[1]) * np.cos(angle) - (x - middle[0]) * np.sin(angle)
            plane[along**2 + (across / narrow)**2 < radius**2] = rng.uniform(20, 235)
    return drawn(side, paint)


def blocks(rng, side):
    def paint(plane):
        for _ in range(250):
            (x, y), (width, height) = rng.integers(-40, 2 * side, 2), rng.integers(8, side // 2, 2)
            plane[max(y, 0):max(y + height, 0), max(x, 0):max(x + width, 0)] = rng.uniform(20, 235)
    return drawn(side, paint)


def stars(rng, side):
    plane = np.zeros((side, side))
    for _ in range(side * side // 480):
        plane[tuple(rng.integers(0, side, 2))] += rng.uniform(0.2, 1)
    plane = ndimage.gaussian_filter(plane, 2)
    return 20 + 150 * np.minimum(1.3 * plane / plane.max(), 1)


def gratings(rng, side):
    y, x = np.indices((side, side))
    plane = np.zeros((side, side))
    for _ in range(12):
        angle, frequency, middle = rng.uniform(0, np.pi), rng.uniform(0.01, 0.15), rng.uniform(0, side, 2)
        inside = np.exp(-((x - middle[0])**2 + (y - middle[1])**2) / (2 * (side * rng.uniform(0.08, 0.25))**2))
        plane += inside * np.cos(2 * np.pi * frequency * (x * np.cos(angle) + y * np.sin(angle)))
    return 128 + 45 * plane / plane.std()


def strokes(rng, side):
    y, x = np.indices((side, side)).astype(float)
    distance = np.full((side, side), np.inf)
    for _ in range(side * side // 900):
        begin, angle, length = rng.uniform(0, side, 2), rng.uniform(0, 2 * np.pi), rng.uniform(8, 60)
        along = np.clip((x - begin[0]) * np.cos(angle) + (y - begin[1]) * np.sin(angle), 0, length)
        distance = np.minimum(distance, np.hypot(x - begin[0] - along * np.cos(angle), y - begin[1] - along * np.sin(angle)))
    return 190 - 150 / (1 + np.exp(np.minimum((distance - 1.8) * 2.2, 50)))


def mixed(rng, side):
    return 0.5 * clouds(rng, side) + 0.5 * leaves(rng, side, 150)


KINDS = (clouds, texture, leaves, blocks, stars, gratings, strokes, mixed)


def picture(kind, rng, side):
    """Larger than the pairs that are cut out of it, by a half."""
    return np.clip(kind(rng, side * 3 // 2), 0, 255)


def draw_shift(rng, side, covered):
    """One that leaves this share of a square covered: along one axis, along both, or between."""
    across = covered ** rng.uniform(0, 1)
    return (1 - np.array([across, covered / across])) * rng.choice([-1, 1], 2) * side


def draw_matrix(rng, side, model, turn, covered):
    """Matrix from positions (x, y) of the reference to positions of the other window, as --warp takes it."""
    middle = (side - 1) / 2
    angle = 0 if model == "shift" else np.radians(turn + rng.uniform(-10, 10))
    size = rng.uniform(0.9, 1.1) if model in ("similarity", "affine") else 1
    linear = size * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    if model == "affine":
        linear = linear @ [[1 + rng.uniform(-0.05, 0.05), rng.uniform(-0.05, 0.05)], [0, 1]]
    moved = draw_shift(rng, side, covered) if covered else rng.uniform(-0.1, 0.1, 2) * side
    return np.c_[linear, middle + moved - linear @ (middle, middle)]


def pair(rng, whole, noise, model="similarity", turn=0, covered=None):
    """The reference, the other window, both of 8 bit, and the matrix between them. `turn` is in degrees; where `covered` is
    given, shifts are not of up to 10%, but so large that about this share of the reference is seen in the other one."""
    side = whole.shape[0] * 2 // 3
    margin = (whole.shape[0] - side) // 2
    matrix = draw_matrix(rng, side, model, turn, covered)
    back = np.linalg.inv(matrix[:, :2])
    other = ndimage.affine_transform(whole, back[::-1, ::-1], (margin - back @ matrix[:, 2])[::-1], (side, side), order=5,
                                     mode="mirror")
    other = rng.uniform(0.7, 1.3) * (other - 128) + 128 + rng.uniform(-15, 15)
    reference = whole[margin:margin + side, margin:margin + side]
    seen = [np.clip(np.rint(plane + noise * rng.standard_normal(plane.shape)), 0, 255).astype(np.uint8)
            for plane in (reference, other)]
    return *seen, matrix


def corner_error(matrix, truth, width, height):
    """Returns the error of the worst corner, in pixels."""
    corners = np.array([(x, y, 1) for x in (0, width - 1) for y in (0, height - 1)]).T
    return np.hypot(*((np.reshape(matrix, (2, 3)) - truth) @ corners)).max()
