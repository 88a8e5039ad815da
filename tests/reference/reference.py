"""The expected results, in float64 and without climg.

Pictures are arrays of height x width x channels; 2 and 4 channels end in alpha. Inside a chain ("planes")
full scale is 1.0 and colour is multiplied by alpha.
"""

import fractions
import math

import numpy as np
from scipy import ndimage

EDGES = {"clamp": "nearest", "mirror": "reflect", "wrap": "wrap", "zero": "constant"}


# ---------------------------------------------------------------- entry and exit

def has_alpha(picture):
    return picture.shape[2] in (2, 4)


def full_scale(dtype):
    return float(np.iinfo(dtype).max) if np.issubdtype(dtype, np.integer) else 1.0


def to_float(samples):
    return samples.astype(np.float64) / full_scale(samples.dtype)


def to_integers(picture, dtype):
    """Clamped and rounded half to even, as counts of the type; what is a half but for float64 noise is a half."""
    return np.rint(np.round(np.clip(picture, 0, 1) * full_scale(dtype), 9)).astype(dtype)


def srgb_decode(v):
    """Display value to linear light, IEC 61966-2-1."""
    return np.where(v <= 0.04045, v / 12.92, ((np.maximum(v, 0.04045) + 0.055) / 1.055) ** 2.4)


def srgb_encode(v):
    """Linear light to display value, IEC 61966-2-1."""
    return np.where(v <= 0.0031308, v * 12.92, 1.055 * np.maximum(v, 0.0031308) ** (1 / 2.4) - 0.055)


def enter(picture, linear=False):
    """Decodes and multiplies colour by alpha."""
    planes = picture.astype(np.float64)
    colours = picture.shape[2] - has_alpha(picture)
    if linear:
        planes[..., :colours] = srgb_decode(planes[..., :colours])
    if has_alpha(picture):
        planes[..., :-1] *= planes[..., -1:]
    return planes


def leave(planes, linear=False):
    """Divides colour by alpha, 0 where alpha <= 0, and encodes."""
    picture = planes.copy()
    if has_alpha(picture):
        alpha = np.broadcast_to(picture[..., -1:], picture[..., :-1].shape)
        picture[..., :-1] = np.divide(picture[..., :-1], alpha, out=np.zeros(alpha.shape), where=alpha > 0)
    if linear:
        colours = picture.shape[2] - has_alpha(picture)
        picture[..., :colours] = srgb_encode(picture[..., :colours])
    return picture


def through(samples, *stages, linear=False):
    """File samples through stages (functions of planes) to float samples as a file holds them."""
    planes = enter(to_float(samples), linear)
    for stage in stages:
        planes = stage(planes)
    return leave(planes, linear)


# ---------------------------------------------------------------- filters

def each_channel(function, planes):
    return np.dstack([function(planes[..., c]) for c in range(planes.shape[2])])


def keep_alpha(result, planes):
    """Alpha as it was, for stages that do not filter it."""
    if has_alpha(planes):
        result[..., -1] = planes[..., -1]
    return result


def along_axis(length, sigma, edge, order=0, truncate=0):
    """The matrix that filters an axis by the sampled, normalised Gaussian or its derivative, to radius
    floor(truncate sigma + 0.5), 0: to any; numpy extends the axis by the border rule as often as it takes."""
    radius = math.floor((truncate or 9) * sigma + 0.5)
    at = np.arange(-radius, radius + 1)
    taps = np.exp(-0.5 * (at / sigma) ** 2)
    taps = taps / taps.sum() * (at / sigma ** 2 if order else 1)
    border = {"clamp": {"mode": "edge"}, "mirror": {"mode": "symmetric"}, "wrap": {"mode": "wrap"},
              "zero": {"mode": "constant", "constant_values": length}}[edge]
    sources = np.pad(np.arange(length), radius, **border)
    return np.array([np.bincount(sources[i:i + len(at)], taps, length + 1)[:length] for i in range(length)])


def blur(planes, sigma, truncate=0, edge="clamp"):
    """Gaussian, taps exp(-x^2 / 2 sigma^2) to radius floor(truncate sigma + 0.5), 0: to any, normalised."""
    if truncate == 0:
        y, x = (along_axis(length, sigma, edge) for length in planes.shape[:2])
        return np.einsum("ij,jkc,lk->ilc", y, planes, x, optimize=True)
    return each_channel(
        lambda plane: ndimage.gaussian_filter(plane, sigma, truncate=truncate, mode=EDGES[edge]), planes)


def convolve(planes, kernel, normalize=True, bias=0.0, edge="clamp"):
    """Sum of kernel[j, i] x[y + j - h // 2, x + i - w // 2], divided by the kernel's sum unless that is 0;
    the bias is for colour, which is premultiplied."""
    kernel = np.asarray(kernel, np.float64)
    total = kernel.sum()
    zero_sum = abs(total) <= 1e-9 * np.abs(kernel).sum()
    if normalize and not zero_sum:
        kernel = kernel / total
    result = each_channel(lambda plane: ndimage.correlate(plane, kernel, mode=EDGES[edge]), planes)
    result = keep_alpha(result, planes) if zero_sum else result
    if has_alpha(planes):
        result[..., :-1] += bias * result[..., -1:]
    else:
        result += bias
    return result


def sharpen(planes, amount, sigma=1, threshold=0, edge="clamp", truncate=0):
    """Unsharp mask: x + amount (x - blur(x)) where |x - blur(x)| >= threshold."""
    detail = planes - blur(planes, sigma, truncate, edge)
    result = planes + np.where(np.abs(detail) >= threshold, amount * detail, 0)
    return keep_alpha(result, planes)


def footprint(radius, shape="square"):
    y, x = np.mgrid[-radius:radius + 1, -radius:radius + 1]
    return np.full(x.shape, True) if shape == "square" else x * x + y * y <= radius * radius


def rank(planes, radius, percent=50, shape="square", edge="clamp"):
    """scipy extends small pictures by the border rule only once, so numpy extends them here. 50 % is scipy's median: of n
    samples the one with n // 2 before it."""
    border = {"clamp": "edge", "mirror": "symmetric", "wrap": "wrap", "zero": "constant"}[edge]
    mask = footprint(radius, shape)

    def filtered(channel):
        wide = ndimage.percentile_filter(np.pad(channel, radius, border), percent, footprint=mask)
        return wide[radius:-radius, radius:-radius]
    return keep_alpha(each_channel(filtered, planes), planes)


def gradient(planes, sigma=1, edge="clamp", truncate=0):
    """sqrt(gx^2 + gy^2), each the derivative of a Gaussian along one axis and the Gaussian along the other."""
    y, x, dy, dx = (along_axis(length, sigma, edge, order, truncate) for order in (0, 1) for length in planes.shape[:2])
    gx = np.einsum("ij,jkc,lk->ilc", y, planes, dx, optimize=True)
    gy = np.einsum("ij,jkc,lk->ilc", dy, planes, x, optimize=True)
    return keep_alpha(np.hypot(gx, gy), planes)


def window_mean(plane, radius, edge):
    """The mean of the window around each sample, from an integral image in float64."""
    border = {"clamp": "edge", "mirror": "symmetric", "wrap": "wrap", "zero": "constant"}[edge]
    side = 2 * radius + 1
    sums = np.pad(np.pad(plane, radius, border), ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    return (sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]) / side ** 2


def local_limits(planes, method, radius=25, k=0.2, edge="clamp", each=False):
    """The thresholds of Sauvola (R is half of full scale), Niblack and Wolf (R is the largest deviation of all colours, M their smallest
    sample). Integral images lose fewer digits of what is near 0, but zeros beyond the border must stay 0."""
    colours = planes[..., :planes.shape[2] - has_alpha(planes)]
    middles = [0 if edge == "zero" else colours[..., c].mean() for c in range(colours.shape[2])]
    mean = np.dstack([window_mean(colours[..., c] - middle, radius, edge) for c, middle in enumerate(middles)])
    square = np.dstack([window_mean((colours[..., c] - middle) ** 2, radius, edge) for c, middle in enumerate(middles)])
    deviation, mean = np.sqrt(np.maximum(square - mean ** 2, 0)), mean + middles
    if method == "niblack":
        return mean - k * deviation
    if method == "sauvola":
        return mean * (1 + k * (deviation / 0.5 - 1))
    axes = (0, 1) if each else None
    darkest, largest = colours.min(axes), deviation.max(axes)
    return mean - k * (1 - np.divide(deviation, largest, out=np.zeros_like(deviation), where=largest > 0)) * (mean - darkest)


def above_limits(planes, limits):
    """Full scale of each pixel where colour is above its limit, else 0."""
    full = planes[..., -1:] if has_alpha(planes) else np.ones(planes.shape[:2] + (1,))
    colours = planes.shape[2] - has_alpha(planes)
    result = planes.copy()
    result[..., :colours] = np.where(planes[..., :colours] > limits, full, 0)
    return result


def despeckle(planes, smallest, objects="black"):
    """Paints components of less pixels than `smallest`, joined by edges and corners, white or black, colour by colour."""
    full = planes[..., -1] if has_alpha(planes) else np.ones(planes.shape[:2])

    def clean(channel):
        is_object = (channel < 0.5 * full if objects == "black" else channel >= 0.5 * full) & (full > 0)
        labels, _ = ndimage.label(is_object, np.ones((3, 3)))
        small = is_object & (np.bincount(labels.ravel())[labels] < smallest)
        return np.where(small, full if objects == "black" else 0, channel)
    return keep_alpha(each_channel(clean, planes), planes)


def tone_tables(levels, clip, across, down, bins):
    """The tables of --local-contrast by tiles, and the sizes of a tile; levels are bins, -1 where none is."""
    height, width = levels.shape
    extra = width % across > 0 or height % down > 0
    tile = width // across + extra, height // down + extra
    rows, columns = (np.abs(np.arange(n * t)) for n, t in ((down, tile[1]), (across, tile[0])))
    for places, size in ((rows, height), (columns, width)):
        while places.max() >= size:
            places[:] = np.where(places >= size, np.abs(2 * (size - 1) - places), places) if size > 1 else 0
    padded = levels[rows][:, columns]
    tables = np.empty((down, across, bins))
    limit = max(1, int(clip * (tile[0] * tile[1]) / bins)) if clip else np.iinfo(np.int64).max
    for j in range(down):
        for i in range(across):
            part = padded[j * tile[1]:(j + 1) * tile[1], i * tile[0]:(i + 1) * tile[0]]
            counts = np.bincount(part[part >= 0], minlength=bins)
            total = counts.sum()
            most = max(1, limit * int(total) // (tile[0] * tile[1])) if clip else limit
            excess = np.maximum(counts - most, 0).sum()
            counts = np.minimum(counts, most) + excess // bins
            rest = excess % bins
            counts[np.arange(rest) * max(bins // rest, 1) if rest else []] += 1
            sums = np.cumsum(counts).astype(np.float32) * (np.float32(bins - 1) / np.float32(max(total, 1)))  # as OpenCV rounds
            tables[j, i] = np.minimum(np.rint(sums), bins - 1) if total else np.arange(bins)
    return tables, tile


def local_contrast(planes, clip, across, down, bins):
    """CLAHE as OpenCV defines it, of the luma; the change is added to all colours."""
    colours = planes.shape[2] - has_alpha(planes)
    full = planes[..., -1] if has_alpha(planes) else np.ones(planes.shape[:2])
    # Brightness and bins in float32: in the middle between two bins rounding decides.
    single, exact = np.float32, np.float64
    luma = planes[..., 0].astype(single)
    if colours == 3:
        luma = luma * single(0.2126)
        for channel, weight in ((1, 0.7152), (2, 0.0722)):
            luma = (planes[..., channel].astype(single).astype(exact) * exact(single(weight)) + luma).astype(single)
    luma = np.where(full > 0, luma / np.where(full > 0, full, 1).astype(single), single(np.nan))
    finite = np.isfinite(luma)
    places = (np.where(finite, luma, 0).astype(exact) * (bins - 1) + 0.5).astype(single)
    levels = np.where(finite, np.clip(places, 0, bins - 1), -1).astype(int)
    tables, tile = tone_tables(levels, clip, across, down, bins)
    new = 0
    places = [np.arange(size) / t - 0.5 for size, t in zip(levels.shape, tile[::-1])]
    for dy in (0, 1):
        for dx in (0, 1):
            y, x = ((np.floor(p) + d).astype(int) for p, d in zip(places, (dy, dx)))
            weights = [1 - np.abs(p - q) for p, q in zip(places, (y, x))]
            new = new + np.outer(*weights) * tables[np.clip(y, 0, down - 1)[:, None], np.clip(x, 0, across - 1), np.maximum(levels, 0)]
    result = planes.copy()
    result[..., :colours] += (np.where(finite, new - levels, 0) / (bins - 1) * full)[..., None]
    return result


# ---------------------------------------------------------------- scaling

def keys(t):
    """Cubic convolution with a = -0.5 (R. Keys, IEEE Trans. ASSP 29, 1981)."""
    t = abs(t)
    if t < 1:
        return 1.5 * t ** 3 - 2.5 * t ** 2 + 1
    return -0.5 * t ** 3 + 2.5 * t ** 2 - 4 * t + 2 if t < 2 else 0.0


def tent(t):
    return max(0.0, 1 - abs(t))


def cubic_bspline(t):
    """The uniform cubic B-spline, without prefilter: smooth, does not interpolate."""
    t = abs(t)
    if t < 1:
        return 2 / 3 - t ** 2 + t ** 3 / 2
    return (2 - t) ** 3 / 6 if t < 2 else 0.0


def lanczos(t):
    """The sinc windowed by its own middle lobe, three times as wide."""
    return np.sinc(t) * np.sinc(t / 3) if abs(t) < 3 else 0.0


def box(t):
    return 1.0 if -0.5 < t <= 0.5 else 0.0


FILTERS = {"bicubic": (keys, 2), "bilinear": (tent, 1), "bspline": (cubic_bspline, 2), "lanczos": (lanczos, 3)}


def edge_index(i, size, edge):
    """Maps position i, possibly beyond a border, to 0 ... size - 1, or to None for zero."""
    if 0 <= i < size:
        return i
    if edge == "clamp":
        return min(max(i, 0), size - 1)
    if edge == "wrap":
        return i % size
    if edge == "mirror":
        i %= 2 * size
        return i if i < size else 2 * size - 1 - i
    return None


def scale_taps(centre, factor, name, antialias):
    """(index, weight) of the samples that one output sample at `centre` is made of; the weights sum to 1."""
    if name == "nearest":
        return [(math.floor(centre + 0.5), 1.0)]
    function, radius = FILTERS[name]
    stretch = 1 / factor if antialias and factor < 1 else 1
    first, last = math.ceil(centre - radius * stretch), math.floor(centre + radius * stretch)
    taps = [(i, function(float((i - centre) / stretch))) for i in range(first, last + 1)]
    total = sum(weight for _, weight in taps)
    return [(i, weight / total) for i, weight in taps]


def scale_matrix(size, factor, name="bicubic", antialias=True, edge="clamp"):
    """Rows are outputs, columns inputs: src = (dst + 0.5) / factor - 0.5, in exact arithmetic."""
    factor = fractions.Fraction(factor)
    matrix = np.zeros((math.ceil(size * factor), size))
    for dst in range(len(matrix)):
        centre = (dst + fractions.Fraction(1, 2)) / factor - fractions.Fraction(1, 2)
        for i, weight in scale_taps(centre, factor, name, antialias):
            source = edge_index(i, size, edge)
            if source is not None:
                matrix[dst, source] += weight
    return matrix


def corner_matrix(size, reach, name="bicubic", edge="clamp"):
    """Rows are the corners -reach ... size + reach; corner i lies at i - 0.5 of the samples' centres."""
    matrix = np.zeros((size + 1 + 2 * reach, size))
    for corner in range(-reach, size + reach + 1):
        for i, weight in scale_taps(corner - fractions.Fraction(1, 2), 1, name, False):
            source = edge_index(i, size, edge)
            if source is not None:
                matrix[corner + reach, source] += weight
    return matrix


def scale_from_corners_matrix(size, factor, name="bicubic", antialias=True, edge="clamp"):
    """The corners first, also those beyond the border; then output dst from them, at (dst + 0.5) / factor."""
    factor = fractions.Fraction(factor)
    reach = math.ceil((FILTERS[name][1] + 1) / min(factor, 1)) + 2  # the last output may lie beyond the image
    matrix = np.zeros((math.ceil(size * factor), size + 1 + 2 * reach))
    for dst in range(len(matrix)):
        for corner, weight in scale_taps((dst + fractions.Fraction(1, 2)) / factor, factor, name, antialias):
            if weight:
                matrix[dst, corner + reach] += weight
    return matrix @ corner_matrix(size, reach, name, edge)


def scale(planes, factor, filter="bicubic", antialias=True, edge="clamp", grid="centers"):
    matrix = {"centers": scale_matrix, "corners": scale_from_corners_matrix}[grid]
    down, across = (matrix(size, factor, filter, antialias, edge) for size in planes.shape[:2])
    return np.einsum("yj,jic,xi->yxc", down, planes, across, optimize=True)


def resize_matrix(size, wanted, name="lanczos"):
    """Rows are outputs, columns inputs. Sample i reaches from i to i + 1, output d lies at (d + 0.5) size / wanted; what lies beyond
    the border has no weight. The order of operations is Pillow's, as a box may end in the very middle of a sample."""
    function, support = {"lanczos": (lanczos, 3), "bicubic": (keys, 2), "bilinear": (tent, 1), "box": (box, 0.5)}[name]
    scale = size / wanted
    stretch = max(scale, 1)
    matrix = np.zeros((wanted, size))
    for d in range(wanted):
        middle = (d + 0.5) * scale
        first, end = int(max(middle - support * stretch + 0.5, 0)), int(min(middle + support * stretch + 0.5, size))
        matrix[d, first:end] = [function((i - middle + 0.5) * (1 / stretch)) for i in range(first, end)]
    return matrix / matrix.sum(axis=1, keepdims=True)


def resize(planes, width, height, name="lanczos"):
    return np.einsum("yj,jic,xi->yxc", resize_matrix(planes.shape[0], height, name), planes,
                     resize_matrix(planes.shape[1], width, name), optimize=True)


# ---------------------------------------------------------------- warps

def warp(planes, matrix, size, name="bicubic", edge="zero", antialias=True):
    """Output (x, y) is the sum around (a x + b y + tx, c x + d y + ty), one output after the other."""
    a, b, tx, c, d, ty = matrix
    kernel, support = FILTERS[name]

    def axis(position, step, n):
        stretch = max(step, 1) if antialias else 1
        reach = math.ceil(support * stretch) + 1
        indices = range(math.floor(position) - reach, math.floor(position) + reach + 1)
        weights = np.array([kernel((i - position) / stretch) for i in indices])
        held = [edge_index(i, n, edge) for i in indices]
        return [i or 0 for i in held], weights / weights.sum() * [i is not None for i in held]

    out = np.zeros((size[1], size[0], planes.shape[2]))
    for y, x in np.ndindex(size[1], size[0]):
        xs, wx = axis(a * x + b * y + tx, math.hypot(a, b), planes.shape[1])
        ys, wy = axis(c * x + d * y + ty, math.hypot(c, d), planes.shape[0])
        out[y, x] = np.einsum("j,i,jic->c", wy, wx, planes[np.ix_(ys, xs)])
    return out


def rotation(width, height, degrees):
    """Returns the map that turns a picture clockwise around its centre, and the size of the canvas that holds all of it."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    size = (math.ceil(width * abs(cosine) + height * abs(sine) - 1e-3),
            math.ceil(width * abs(sine) + height * abs(cosine) - 1e-3))
    x, y = (size[0] - 1) / 2, (size[1] - 1) / 2
    return (cosine, sine, (width - 1) / 2 - cosine * x - sine * y, -sine, cosine,
            (height - 1) / 2 + sine * x - cosine * y), size


# ---------------------------------------------------------------- film

def negative(planes, base, dark):
    """Density above the film base as a share of the largest, for each colour; values up to 2^-126 count as that."""
    full = planes[..., -1:] if has_alpha(planes) else np.ones(planes.shape[:2] + (1,))
    colours = planes[..., :len(base)]
    smallest = 2.0 ** -126
    base, dark = (np.log(np.maximum(np.asarray(values, float), smallest)) for values in (base, dark))
    light = np.maximum(colours / np.where(full > 0, full, 1), smallest)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(base > dark, (base - np.log(light)) / (base - dark), 0)
    positive = np.where(full > 0, full * np.clip(share, 0, 1), 0)
    return np.concatenate([positive, planes[..., len(base):]], axis=2)
