#!/usr/bin/python3
"""Writes src/selftest/answers.txt: what --selftest asks, and the answers in float64. Usage: make answers

A question is a stage by itself on samples that a formula gives (src/selftest/test_case.c). Of what comes out every
so manieth sample is kept, and of those the ones that a change of all inputs by rounding moves much are left open:
quotients by small alphas, roots of what is nearly 0, values at a threshold.
"""

import dataclasses
import itertools
import pathlib
import re
import sys

import numpy as np

import dualtree
import focus
import reference
import rolling
import shrinkage

TYPES = {"8": ("8 bit", np.uint8), "16": ("16 bit", np.uint16), "32": ("32 bit", np.uint32), "int16": ("signed 16 bit", np.int16),
         "half": ("half", np.float16), "float": ("float", np.float32)}  # words of sample_name and types of numpy
HOLES = 11
UNIT = 1e-7
NO_ANSWER = -2**31
ROUNDING, MOST_MOVED = 3e-7, 3e-6  # inputs are moved by the first, answers by the second at most
KEPT = 150                         # samples of an output, about
MATRIX = np.array([[1, 2, 3, 4, 5], [-1, 0, 2, 0, 1], [0, 1, 0, 3, -2]], float)
GAP = 2


# ---------------------------------------------------------------- what is asked

@dataclasses.dataclass(frozen=True)
class Question:
    stage: str | None
    value: str | None
    width: int
    height: int
    channels: int = 3
    entry: str = "float"   # sample types, keys of TYPES
    exit: str = "float"
    edge: str = "clamp"
    levels: int = 0        # of a pyramid that goes in
    linear: bool = False
    exponent: float = 0.0

    @property
    def alpha(self):
        return self.channels in (2, 4) and not self.levels


def ask():
    """Each stage with each of its kernels: odd sizes, alpha, one to four channels, samples of 8 and 16 bit where stages
    read or write them themselves. A driver takes its time for each program, also one that it built before: those of a
    stage are shared where that can be, and each border rule is asked of two stages at least."""
    yield Question(None, None, 33, 9, 3, "8", "8")
    yield Question(None, None, 33, 5, 1, "16", "16")
    yield Question(None, None, 17, 5, 4, linear=True)
    yield Question(None, None, 21, 9, 3, "16", "16", linear=True, exponent=2.2)
    yield Question(None, None, 33, 5, 2, "32", "32")
    yield Question(None, None, 19, 5, 1, "half", "half")
    yield Question(None, None, 19, 5, 3, "int16", "int16")
    yield Question("invert", None, 35, 11, 4)
    sizes = ((67, 41), (19, 13), (5, 3), (35, 23))
    for edge, (width, height), channels in zip(("clamp", "mirror", "wrap", "zero"), sizes, (3, 4, 1, 4)):
        yield Question("blur", "2", width, height, channels, edge=edge)
    for (width, height), channels in zip(sizes[:2], (3, 4)):
        yield Question("sharpen", "1.5,sigma=1,threshold=0.02", width, height, channels)
        yield Question("gradient", "1", width, height, channels)
        yield Question("convolve", "@matrix", width, height, channels)
        for factor in ("2", "4", "1/2"):
            yield Question("scale", factor, width, height, channels)
    yield Question("blur", "12,truncate=4", 150, 19, 1)
    yield Question("blur", "12", 150, 67, 1, edge="wrap")
    yield Question("blur", "7", 67, 45, 3, "8", "8")
    yield Question("blur", "1.3,truncate=3", 67, 29, 3, "8", "8")
    yield Question("blur", "0.6", 35, 17, 1, "16", "16")
    yield Question("sharpen", "0.8,sigma=12,truncate=4", 90, 17, 1)
    yield Question("gradient", "11,truncate=4", 90, 17, 1)
    yield Question("gradient", "9", 90, 37, 4, edge="mirror")
    yield Question("convolve", "-1 0 1 / 1 2 1,bias=0.5", 37, 21, 4)
    yield Question("scale", "16,filter=bspline", 7, 5, 1)
    yield Question("scale", "2,filter=bilinear", 35, 13, 3, "8", "8")
    yield Question("scale", "4", 21, 9, 1, "16", "16")
    yield Question("scale", "4,filter=nearest", 21, 9, 3, "8", "8")
    yield Question("scale", "2,filter=nearest", 19, 11, 4)
    yield Question("scale", "1/2,filter=nearest", 39, 21, 1)
    yield Question("scale", "1/8", 101, 67, 3)
    yield Question("scale", "1/4,antialias=no", 67, 35, 4)
    yield Question("scale", "4,grid=corners", 19, 11, 3)
    yield Question("scale", "1/2,grid=corners", 37, 21, 1)
    yield Question("resize", "23x50,fit=exact", 67, 29, 3)
    yield Question("resize", "90x11,fit=exact,filter=bicubic", 35, 23, 4)
    yield Question("median", "1", 35, 23, 3)
    yield Question("median", "2", 19, 13, 4, edge="mirror")
    yield Question("median", "2", 35, 17, 3, "8", "8", edge="wrap")
    yield Question("rank", "3,percent=20", 39, 23, 4)
    yield Question("rank", "2,percent=80,shape=disc", 35, 11, 1)
    yield Question("rotate", "90", 23, 14, 3)
    yield Question("rotate", "-90", 70, 67, 3, "8", "8")
    yield Question("rotate", "-20", 23, 14, 4)
    yield Question("flip", "h", 23, 14, 3)
    yield Question("flip", "v", 40, 31, 1, "16", "16")
    yield Question("crop", "17x9+4+3", 23, 14, 3)
    yield Question("extend", "40x31+9+5,color=#ff8001", 23, 14, 3, "8", "8")
    yield Question("extend", "40x31+9+5,color=edge", 23, 14, 3, edge="mirror")
    yield Question("border", "9x5,color=#ff8001", 23, 14, 3, "8", "8")
    yield Question("background", "12,counts=40", 53, 31, 3)
    yield Question("background", "4,light=yes", 37, 17, 1)
    yield Question("background", "9,method=tophat", 53, 31, 3, edge="zero")
    yield Question("background", "6,method=divide", 53, 31, 3)
    yield Question("gray", None, 35, 11, 3)
    yield Question("gray", "G", 35, 11, 3)
    yield Question("profile", "p3", 35, 11, 4, "8")
    yield Question("profile", "adobe", 35, 11, 3, "16")
    yield Question("profile", "gray", 35, 11, 3)
    yield Question("profile", "@xyz", 35, 11, 4, "8")
    yield Question("levels", "10%,80%,gamma=1.7", 35, 11, 4)
    yield Question("levels", "auto,clip=5,channels=each", 37, 21, 3, "8")
    yield Question("negative", "90%,80%,70%,20%,15%,10%", 35, 11, 4)
    yield Question("negative", None, 37, 21, 3, "8")
    yield Question("threshold", "40%", 35, 11, 4)
    yield Question("threshold", "otsu", 37, 21, 3, "8")
    yield Question("threshold", "otsu", 37, 21, 1, "half")
    yield Question("threshold", "sauvola,radius=5,k=0.3", 37, 21, 3)
    yield Question("threshold", "niblack,radius=9", 21, 17, 1, edge="mirror")
    yield Question("threshold", "wolf,radius=3,k=0.5,channels=each", 37, 21, 4)
    yield Question("despeckle", "9", 37, 21, 3)
    yield Question("despeckle", "4,objects=white", 37, 21, 4)
    yield Question("deskew", None, 35, 11, 3)  # by themselves, not measured, they move nothing
    yield Question("trim", None, 35, 11, 3)
    yield Question("local-contrast", "3,tiles=4x3", 37, 21, 1, "8")
    yield Question("local-contrast", "2,tiles=2x2", 37, 21, 3, "8")
    yield Question("warp", "0.7 0.3 -3.3 -0.4 0.8 5.1,filter=bilinear,outside=edge", 21, 17, 1, edge="mirror")
    yield Question("warp", "2.3 0.4 -3.3 -0.5 1.9 5.1", 37, 29, 3)
    yield Question("warp", "0.8 0.3 -3.3 -0.4 0.7 5.1,filter=lanczos", 21, 17, 3)
    yield Question("align", "@picture", 37, 29, 1, "8")
    yield Question("stack", "mean", 35, 11, 4)
    yield Question("stack", "focus,noise=20", 37, 29, 3)
    yield Question("minus", "@picture", 35, 11, 3)
    yield Question("over", "@picture", 35, 11, 3)
    yield Question("wavelet", "3", 37, 29, 3)
    yield Question("wavelet", "4,biort=near_sym_b,qshift=qshift_b", 45, 50, 3)
    yield Question("inverse-wavelet", None, 37, 29, 3, levels=3)
    yield Question("inverse-wavelet", None, 9, 21, 3, levels=4)
    yield Question("shrink", "40", 37, 29, 3, levels=3)
    yield Question("shrink", None, 29, 23, 3, levels=2)
    yield Question("gain", "1:1.5,3:0,low:0.25", 21, 17, 3, levels=3)
    yield Question("mosaic", "magnitude", 21, 17, 3, levels=3)
    yield Question("mosaic", "phase", 19, 17, 3, levels=3)
    yield Question("denoise", "20,levels=3", 37, 29, 3)
    yield Question("denoise", "auto,levels=4", 45, 37, 1)
    yield Question("denoise", "20,levels=2,quality=high", 27, 21, 3)
    yield Question("denoise", "auto,levels=3,quality=high", 37, 45, 3)


# ---------------------------------------------------------------- samples

def mix(number):
    """test_case.c's, on an array of uint32."""
    number = (number ^ number >> 16) * np.uint32(0x85ebca6b)
    number = (number ^ number >> 13) * np.uint32(0xc2b2ae35)
    return number ^ number >> 16


def real_numbers(bits, pyramid):
    values = (bits >> 8).astype(np.float32) * np.float32(2**-24)
    values = values * values * (values * values) if pyramid else values
    return np.where(bits & 31, values, (bits >> 10).view(np.float32))


def samples(question, entry, first, height, width):
    """Rows of samples of a page, the sample number `first` being the first."""
    if entry == "complex":
        bits = mix(np.arange(2 * first, 2 * (first + height * width * question.channels), dtype=np.uint32) + np.uint32(1))
        parts = real_numbers(bits, True).astype(float)
        return (parts[0::2] + 1j * parts[1::2]).reshape(height, width, question.channels)
    bits = mix(np.arange(first, first + height * width * question.channels, dtype=np.uint32) + np.uint32(1))
    bits = bits.reshape(height, width, question.channels)
    if question.alpha:
        bits[..., -1] |= 0x80000001
    dtype = TYPES[entry][1]
    if entry == "float":
        values = real_numbers(bits, question.levels > 0)
    elif entry == "half":
        values = (0x3800 | bits >> 22).astype(np.uint16).view(np.float16)
    else:
        values = (bits >> (32 - 8 * dtype().itemsize)).astype(f"u{dtype().itemsize}").view(dtype)
    if question.alpha:
        values.reshape(-1, question.channels)[HOLES - 1::HOLES, -1] = 0
    return values


def entered(question):
    """Returns the input, 1 for full scale: a picture, or a list of pages."""
    if not question.levels:
        return [reference.to_float(samples(question, question.entry, 0, question.height, question.width))]
    shapes = dualtree.forward(np.zeros((question.height, question.width)), question.levels)
    pages = [samples(question, "float", 0, *shapes.lowpass.shape).astype(float)]
    for bands in shapes.highpasses:
        for _ in range(6):
            pages.append(samples(question, "complex", sum(page.size for page in pages), *bands.shape[:2]))
    return pages


# ---------------------------------------------------------------- answers

def to_pyramids(pages):
    """A pyramid for each channel."""
    return [dualtree.Pyramid(pages[0][..., c], tuple(np.stack([page[..., c] for page in pages[i:i + 6]], axis=2)
                                                     for i in range(1, len(pages), 6)))
            for c in range(pages[0].shape[2])]


def to_pages(pyramids):
    pages = [np.stack([p.lowpass for p in pyramids], axis=2)]
    for level in range(len(pyramids[0].highpasses)):
        pages += [np.stack([p.highpasses[level][..., band] for p in pyramids], axis=2) for band in range(6)]
    return pages


def mixed(pyramids, matrix):
    """The subbands' channels by a matrix; lowpasses as they are."""
    return [dualtree.Pyramid(pyramid.lowpass, tuple(sum(m * other.highpasses[level] for m, other in zip(row, pyramids))
                                                    for level in range(len(pyramid.highpasses))))
            for pyramid, row in zip(pyramids, matrix)]


def shrink(pyramids, sigma):
    colour = shrinkage.OPPONENT if len(pyramids) == 3 else np.eye(len(pyramids))
    opponent = mixed(pyramids, colour)
    if sigma is None:
        sigmas, separate = shrinkage.noise_by_level(opponent)
        assert not separate
    else:
        sigmas = [shrinkage.white_noise(sigma, len(p.highpasses)) for p in pyramids]
    first = (opponent[0], sigmas[0]) if sigma is None and len(pyramids) == 3 else None
    shrunk = [shrinkage.shrink(p, s, sigma is None, first) for p, s in zip(opponent, sigmas)]
    return [dualtree.Pyramid(p.lowpass, s.highpasses) for p, s in zip(pyramids, mixed(shrunk, colour.T))]


def gain(pyramids, low, **factors):
    return [dualtree.Pyramid(low * p.lowpass, tuple(factors.get(f"level{i}", 1) * h for i, h in enumerate(p.highpasses, 1)))
            for p in pyramids]


def cells(pyramid):
    """(x, y) of each cell [level][band] and of the lowpass: the layout that --help=mosaic describes."""
    places, x, y = [], 0, 0
    for level, bands in enumerate(pyramid.highpasses, 1):
        h, w = bands.shape[:2]
        order = {0: (0, 0), 1: (1, 0), 2: (2, 0), 5: (0, 1), 4: (1, 1), 3: (2, 1)}
        places.append([(x + order[b][0] * (w + GAP), y + order[b][1] * (h + GAP)) for b in range(6)])
        if level == 2:
            y += 2 * (h + GAP)
        else:
            x += 3 * (w + GAP)
    return places, (x, y)


def shown(z, view, largest):
    """Maps coefficients (height x width x channels) to display values."""
    if view == "magnitude":
        return np.sqrt(np.abs(z) / largest)
    if view in ("real", "imaginary"):
        part = z.real if view == "real" else z.imag
        return 0.5 + 0.5 * np.sign(part) * np.sqrt(np.abs(part) / largest)
    z = z.mean(axis=2)
    distance = np.abs((np.angle(z) / (2 * np.pi) % 1)[..., None] - np.array([0, 1 / 3, 2 / 3]))
    return (np.sqrt(np.abs(z) / largest)[..., None]
            * np.clip(2 - 6 * np.minimum(distance, 1 - distance), 0, 1))


def mosaic(pyramids, view):
    places, low = cells(pyramids[0])
    pictures = {low: np.stack([p.lowpass for p in pyramids], axis=2) / 2 ** (len(places) - 1)}
    if view == "phase":
        pictures[low] = pictures[low].mean(axis=2, keepdims=True).repeat(3, 2)
    for level, bands in enumerate(places):
        largest = max(np.abs(p.highpasses[level]).max() for p in pyramids)
        for band, place in enumerate(bands):
            pictures[place] = shown(np.stack([p.highpasses[level][..., band] for p in pyramids], axis=2), view, largest)
    width, height = (max(place[axis] + part.shape[1 - axis] for place, part in pictures.items()) for axis in (0, 1))
    result = np.zeros((height, width, next(iter(pictures.values())).shape[2]))
    for (x, y), part in pictures.items():
        result[y:y + part.shape[0], x:x + part.shape[1]] = part
    return result


def parameters(value):
    """(primary, {key: text}) of a stage's value."""
    words = (value or "").split(",")
    pairs = {word.split("=")[0]: word.split("=")[1] for word in words if "=" in word}
    return ",".join(word for word in words if "=" not in word), pairs


def numbers(pairs, *names):
    return {name: float(pairs[name]) for name in names if name in pairs}


def convolve(planes, primary, pairs, edge):
    if primary == "@matrix":
        return reference.convolve(planes, MATRIX, edge=edge)
    x_taps, y_taps = (np.array(part.split(), float) for part in primary.split("/"))
    return reference.convolve(planes, np.outer(y_taps, x_taps), edge=edge, **numbers(pairs, "bias"))


def invert(planes):
    alpha = reference.has_alpha(planes)
    return reference.keep_alpha((planes[..., -1:] if alpha else 1) - planes, planes)


def sigma_of(primary):
    return None if primary in ("", "auto") else float(primary) / 255


def wavelet(planes, primary, pairs):
    return to_pages([dualtree.forward(planes[..., c], int(primary), **pairs) for c in range(planes.shape[2])])


def scale(planes, primary, pairs, edge):
    words = {**pairs, **({"antialias": pairs["antialias"] == "yes"} if "antialias" in pairs else {})}
    return reference.scale(planes, primary, edge=edge, **words)


def resize(planes, primary, pairs, edge):
    width, height = map(int, primary.split("x"))
    return reference.resize(planes, width, height, pairs.get("filter", "lanczos"))


def rank(planes, primary, pairs, edge):
    return reference.rank(planes, int(primary), float(pairs.get("percent", 50)), pairs.get("shape", "square"), edge)


def rotate(planes, primary, pairs, edge):
    if float(primary) % 90 == 0:
        return np.rot90(planes, -int(primary) // 90)
    return reference.warp(planes, *reference.rotation(planes.shape[1], planes.shape[0], float(primary)))


def crop(planes, primary, pairs, edge):
    width, height, x, y = map(int, re.match(r"(\d+)x(\d+)\+(\d+)\+(\d+)", primary).groups())
    return planes[y:y + height, x:x + width]


def extend(planes, primary, pairs, edge):
    width, height, x, y = map(int, re.match(r"(\d+)x(\d+)\+(\d+)\+(\d+)", primary).groups())
    if pairs["color"] == "edge":
        rows, columns = ([reference.edge_index(i - at, size, edge) for i in range(whole)]
                         for whole, at, size in ((height, y, planes.shape[0]), (width, x, planes.shape[1])))
        return planes[rows][:, columns]
    canvas = np.empty((height, width, 3))
    canvas[:] = [int(pairs["color"][i:i + 2], 16) / 255 for i in (1, 3, 5)]
    canvas[y:y + planes.shape[0], x:x + planes.shape[1]] = planes
    return canvas


def border(planes, primary, pairs, edge):
    across, down = map(int, primary.split("x"))
    return extend(planes, f"{planes.shape[1] + 2 * across}x{planes.shape[0] + 2 * down}+{across}+{down}", pairs, edge)


def background(planes, primary, pairs, edge):
    return rolling.background(planes, int(primary), pairs.get("method", "ball"), pairs.get("light") == "yes",
                              float(pairs.get("counts", 255)), edge)


def gray(planes, primary, pairs, edge):
    weights = np.array([0.2126, 0.7152, 0.0722]) if not primary else np.eye(3)["RGB".index(primary)]  # ITU-R BT.709, 3.2
    return np.concatenate([(planes[..., :3] @ weights)[..., None], planes[..., 3:]], axis=2)


# CIE XYZ of red, green and blue, white D65: IEC 61966-2-1, SMPTE EG 432-1, Adobe RGB (1998).
PRIMARIES = {"srgb": ((0.64, 0.33), (0.3, 0.6), (0.15, 0.06)), "p3": ((0.68, 0.32), (0.265, 0.69), (0.15, 0.06)),
             "adobe": ((0.64, 0.33), (0.21, 0.71), (0.15, 0.06))}


def to_xyz(name):
    columns = np.array([(x / y, 1, (1 - x - y) / y) for x, y in PRIMARIES[name]]).T
    return columns * np.linalg.solve(columns, (0.3127 / 0.329, 1, 0.3583 / 0.329))


CONES = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
BRADFORD = np.linalg.solve(CONES, np.diag((CONES @ (0.9642, 1, 0.8249)) / (CONES @ to_xyz("srgb").sum(axis=1))) @ CONES)


def in_grid(colour, nodes=33):
    """XYZ of sRGB, half of it, by tetrahedra: along the axis with the largest part first."""
    axis = np.linspace(0, 1, nodes)
    grid = reference.srgb_decode(np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)) @ (BRADFORD @ to_xyz("srgb")).T / (1 + 32767 / 32768)
    at = np.clip(colour, 0, 1) * (nodes - 1)
    cell = np.minimum(at.astype(int), nodes - 2)
    parts = at - cell
    order = np.argsort(-parts, axis=-1, kind="stable")
    result, node = grid[tuple(np.moveaxis(cell, -1, 0))], cell.copy()
    for i in range(3):
        before = grid[tuple(np.moveaxis(node, -1, 0))]
        np.put_along_axis(node, order[..., i:i + 1], np.take_along_axis(node, order[..., i:i + 1], -1) + 1, -1)
        result = result + np.take_along_axis(parts, order[..., i:i + 1], -1) * (grid[tuple(np.moveaxis(node, -1, 0))] - before)
    return result


def profile(planes, primary, question):
    """Of integers, which are sRGB, or of floats, which are its light. A gray picture has the luminance after adaptation to D50."""
    full = planes[..., 3:] if question.alpha else np.ones(planes.shape[:2] + (1,))
    colour = planes[..., :3] / np.where(full, full, 1)
    light = colour if question.entry == "float" else reference.srgb_decode(colour)
    if primary == "@xyz":
        return np.concatenate([in_grid(colour) * full, planes[..., 3:]], axis=2)
    if primary == "gray":
        light = light @ (BRADFORD @ to_xyz("srgb"))[1][:, None]
    else:
        light = light @ np.linalg.solve(to_xyz(primary), to_xyz("srgb")).T
    encoded = np.sign(light) * np.abs(light) ** (256 / 563) if primary == "adobe" else reference.srgb_encode(light)
    return np.concatenate([encoded * full, planes[..., 3:]], axis=2)


def levels(planes, primary, pairs, edge):
    """auto of opaque samples of 8 bit."""
    full = planes[..., -1:] if reference.has_alpha(planes) else np.ones(planes.shape[:2] + (1,))
    if primary == "auto":
        values = np.sort(planes.reshape(-1, planes.shape[2]), axis=0)
        cut = int(len(values) * float(pairs["clip"]) / 100)
        black, white = values[cut], values[-1 - cut]
    else:
        black, white = (float(word.strip("%")) / 100 for word in primary.split(","))
    part = np.clip((planes / np.where(full, full, 1) - black) / (white - black), 0, 1)
    return reference.keep_alpha(full * part ** (1 / float(pairs.get("gamma", 1))), planes)


def negative(planes, primary, pairs, edge):
    """Numbers in percent; auto of opaque samples, of which 0.1% are less than one."""
    colours = planes.shape[2] - reference.has_alpha(planes)
    if primary:
        numbers = [float(word.strip("%")) / 100 for word in primary.split(",")]
        base, dark = numbers[:3], numbers[3:]
    else:
        base, dark = planes.max(axis=(0, 1)), np.maximum(planes.min(axis=(0, 1)), 1 / 255)
    return reference.negative(planes, base[:colours], dark[:colours])


def otsu(values):
    """The middle between the values next to each other that part the two classes best."""
    values = np.sort(values.ravel())
    below, places = np.cumsum(values), np.arange(1, len(values))
    apart = below[:-1] / places - (below[-1] - below[:-1]) / places[::-1]
    best = np.argmax(np.where(values[1:] > values[:-1], places * places[::-1] * apart ** 2, 0))
    return (values[best] + values[best + 1]) / 2


def threshold(planes, primary, pairs, edge):
    if "radius" in pairs:
        limits = reference.local_limits(planes, primary, int(pairs["radius"]), float(pairs.get("k", 0.2)), edge, pairs.get("channels") == "each")
        return reference.above_limits(planes, limits)
    full = planes[..., -1:] if reference.has_alpha(planes) else np.ones(planes.shape[:2] + (1,))
    limit = otsu(planes) if primary == "otsu" else float(primary.strip("%")) / 100
    return reference.keep_alpha(np.where(planes > limit * full, full, 0), planes)


def warp(planes, primary, pairs, edge):
    return reference.warp(planes, tuple(map(float, primary.split())), planes.shape[1::-1], pairs.get("filter", "bicubic"),
                          edge if pairs.get("outside") == "edge" else "zero")


def second_picture(planes):
    """@picture: 8 bit and gray, of the same size."""
    height, width = planes.shape[:2]
    return (mix(np.arange(height * width, dtype=np.uint32) + np.uint32(1)) >> 24).reshape(height, width, 1) / 255


def over(planes):
    flat = second_picture(planes)
    return planes * np.divide(flat.mean(), flat, out=np.ones_like(flat), where=flat > 0)


# Of an image: (planes, primary, pairs, edge) to planes or pages. Of a pyramid: (pyramids, primary, question).
IMAGE_STAGES = {
    "invert": lambda planes, primary, pairs, edge: invert(planes),
    "stack": lambda planes, primary, pairs, edge: planes if primary == "mean" else focus.merged([planes, planes / 2], 20 / 255, 5),
    "minus": lambda planes, primary, pairs, edge: planes - second_picture(planes),
    "over": lambda planes, primary, pairs, edge: over(planes),
    "blur": lambda planes, primary, pairs, edge: reference.blur(planes, float(primary), edge=edge,
                                                                **numbers(pairs, "truncate")),
    "sharpen": lambda planes, primary, pairs, edge: reference.sharpen(planes, float(primary), edge=edge,
                                                                      **numbers(pairs, "sigma", "threshold", "truncate")),
    "gradient": lambda planes, primary, pairs, edge: reference.gradient(planes, float(primary), edge,
                                                                        **numbers(pairs, "truncate")),
    "convolve": convolve,
    "scale": scale,
    "resize": resize,
    "median": rank,
    "rank": rank,
    "rotate": rotate,
    "flip": lambda planes, primary, pairs, edge: planes[:, ::-1] if primary == "h" else planes[::-1],
    "background": background,
    "crop": crop,
    "extend": extend,
    "border": border,
    "gray": gray,
    "levels": levels,
    "negative": negative,
    "threshold": threshold,
    "despeckle": lambda planes, primary, pairs, edge: reference.despeckle(planes, int(primary), pairs.get("objects", "black")),
    "deskew": lambda planes, primary, pairs, edge: planes,
    "trim": lambda planes, primary, pairs, edge: planes,
    "local-contrast": lambda planes, primary, pairs, edge: reference.local_contrast(planes, float(primary), *map(int, pairs["tiles"].split("x")), 256),
    "warp": warp,
    "align": lambda planes, primary, pairs, edge: planes,
    "wavelet": lambda planes, primary, pairs, edge: wavelet(planes, primary, pairs),
    "denoise": lambda planes, primary, pairs, edge: shrinkage.denoise(planes, sigma_of(primary), int(pairs["levels"]), pairs.get("quality", "normal")),
}
PYRAMID_STAGES = {
    "inverse-wavelet": lambda pyramids, primary, question: np.stack(
        [dualtree.inverse(p, (question.height, question.width)) for p in pyramids], axis=2),
    "shrink": lambda pyramids, primary, question: to_pages(shrink(pyramids, sigma_of(primary))),
    "gain": lambda pyramids, primary, question: to_pages(gain(pyramids, low=0.25, level1=1.5, level3=0)),
    "mosaic": lambda pyramids, primary, question: mosaic(pyramids, primary),
}


def curves(question):
    """(decode, encode) of a linear question."""
    if question.exponent:
        return (lambda v: v ** question.exponent), (lambda v: np.sign(v) * np.abs(v) ** (1 / question.exponent))
    return reference.srgb_decode, reference.srgb_encode


def work(question, picture):
    """An image through the stage: its pages, or the picture that leaves."""
    planes, colours = picture.copy(), question.channels - question.alpha
    decode, encode = curves(question)
    primary, pairs = parameters(question.value)
    if question.linear:
        planes[..., :colours] = decode(planes[..., :colours])
    if question.alpha and question.stage:
        planes[..., :-1] *= planes[..., -1:]
    if question.stage == "profile":
        planes = profile(planes, primary, question)
    elif question.stage:
        planes = IMAGE_STAGES[question.stage](planes, primary, pairs, question.edge)
    if isinstance(planes, list):
        return planes
    planes = reference.leave(planes) if question.stage else planes
    if question.linear:
        planes[..., :colours] = encode(planes[..., :colours])
    return planes


def answer(question, pages):
    """The samples of all pages that come out, the parts of complex ones apart."""
    if question.levels:
        result = PYRAMID_STAGES[question.stage](to_pyramids(pages), parameters(question.value)[0], question)
    else:
        result = work(question, pages[0])
    out = []
    for page in result if isinstance(result, list) else [result]:
        parts = np.stack([page.real, page.imag], axis=-1) if np.iscomplexobj(page) else page
        out.append(parts.ravel())
    values = np.concatenate(out)
    low = -np.inf if question.exit == "float" else -1 - 2**-15 if question.exit == "int16" else 0
    return np.clip(values, low, np.inf if question.exit == "float" else 1)


def moved(question, page, rng):
    """By rounding. Zeros are exact, such as alpha's, but where alpha goes through a transform and back."""
    change = ROUNDING * rng.choice([-1.0, 1.0], page.shape)
    if np.iscomplexobj(page):
        change = change + 1j * ROUNDING * rng.choice([-1.0, 1.0], page.shape)
    return np.where((page == 0) & (question.stage != "denoise"), page, page + change)


def choose_step(question, size):
    """Odd, and sharing no factor with a row's pixels or the channels, so that every place in a vector is met."""
    step = max(1, size // KEPT)
    while step > 1 and np.gcd(step, 2 * question.width * question.channels) != 1:
        step += 1
    return step


def known(question):
    """(step, answers as integers)"""
    pages = entered(question)
    exact = answer(question, pages)
    step = choose_step(question, exact.size)
    rng = np.random.default_rng(1)
    change = np.zeros(exact.shape)
    with np.errstate(invalid="ignore"):
        for _ in range(6):
            change = np.maximum(change, np.abs(answer(question, [moved(question, page, rng) for page in pages]) - exact))
    assert exact.std() > 0.001, f"nothing to be seen: {question}"
    open_ = ~(change <= MOST_MOVED * np.maximum(1, np.abs(exact)))
    return step, np.where(open_, NO_ANSWER, np.rint(np.where(open_, 0, exact) / UNIT)).astype(np.int64)[::step]


# ---------------------------------------------------------------- the file

def line_of(question, step):
    """Writes the format that test_case_next of src/selftest/test_case.c reads."""
    q = question
    return "\t".join(map(str, (q.stage or "-", q.value or "-", q.width, q.height, q.channels, int(q.alpha), q.levels, int(q.linear),
                               f"{q.exponent:g}", q.edge, TYPES[q.entry][0], TYPES[q.exit][0], step)))


def questions():
    """By stage: what fails is told in a row."""
    asked = list(ask())
    stages = list(dict.fromkeys(question.stage for question in asked))
    return sorted(asked, key=lambda question: stages.index(question.stage))


def main(path):
    with open(path, "w", encoding="ascii") as file:
        for question in questions():
            step, values = known(question)
            words = ["x" if value == NO_ANSWER else str(value) for value in values.tolist()]
            file.write(f"{line_of(question, step)}\n{' '.join(words)}\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "src/selftest/answers.txt")
