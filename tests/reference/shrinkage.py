"""Bivariate shrinkage (L. Sendur, I. Selesnick, IEEE Trans. SP 50, 2002) of the dual-tree transform, and the noise by plane
and level that src/wavelet/noise.h describes, in float64."""

import functools
import itertools
import pathlib
import re

import numpy as np
from scipy import fft, ndimage

import dualtree

OPPONENT = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])
MODELS = pathlib.Path(__file__).parents[2] / "src/wavelet/noise_model.h"
# White noise has so much larger features of level 1 with near_sym_a.
SHIFTS = {"near_sym_a": np.zeros(3), "near_sym_b": [0.032, 0.009, -0.004], "legall": [0.498, 0.063, -0.012],
          "antonini": [0.037, 0.012, -0.001]}
SHARES = (0.05, 0.5, 0.85)
# Colour pictures with found noise: factors of the noise, and the weight of energies of brightness in energies of colour differences.
BRIGHTNESS_FACTOR, COLOUR_FACTOR, GUIDE = 1.28, 1.42, 0.04
TONES, PLACES, LEAST, FIRST_BIN, BINS = 8, 64, (0.1 / 255)**2 / 4, (127 - 32) * 8, 768


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


def factor_of(pyramid, first):
    return 1 if first is None else BRIGHTNESS_FACTOR if pyramid is first[0] else COLOUR_FACTOR


def shrink_level(pyramid, sigmas, level, found, factors=1, first=None):
    bands, noise = pyramid.highpasses[level], sigmas[level] / 2 * factors * factor_of(pyramid, first)
    energies, result = local_energy(bands, 5), np.empty_like(bands)
    if first and pyramid is not first[0] and first[1][level] > 0:
        energies += GUIDE * (sigmas[level] / first[1][level])**2 * local_energy(first[0].highpasses[level], 5)
    for b in range(6):
        y1, y2 = bands[..., b], 0
        if level + 1 < len(pyramid.highpasses):
            parent = pyramid.highpasses[level + 1][..., b]
            y2 = parent.repeat(2, 0).repeat(2, 1)[:y1.shape[0], :y1.shape[1]]
            y2 = y2 * min(sigmas[level] / sigmas[level + 1], 1) if found and sigmas[level + 1] > 0 else y2
        signal = np.sqrt(np.maximum(energies[..., b] - (0 if first else noise**2), 1e-20))
        r = np.sqrt(np.maximum(np.abs(y1)**2 + np.abs(y2)**2, 1e-20))
        result[..., b] = y1 * np.maximum(r - np.sqrt(5) * noise**2 / signal, 0) / r
    return result


def shrink(pyramid, sigma, found=False, first=None):
    """Bivariate shrinkage with the local variance of |y|^2 / 2 over 5x5; noise of a part: sigma / 2. sigma: one number, or one
    for each level. Where it was found, parents whose noise is stronger count less, so that it is as strong. `first`: pyramid and noise of
    brightness for planes of opponent colours whose noise was found, their own for red, green and blue; then it is not subtracted from the local variance."""
    sigmas = np.broadcast_to(sigma, len(pyramid.highpasses))
    return dualtree.Pyramid(pyramid.lowpass, tuple(shrink_level(pyramid, sigmas, level, found, first=first) for level in range(len(sigmas))))


def factor_at(brightness, curve):
    """Factors of the noise, from the factors in the middle of eight ranges of brightness."""
    return np.interp(brightness, (np.arange(TONES) + 0.5) / TONES, curve)


def shrink_by_tone(pyramids, noise, curve, shape, pad_at_end):
    """Planes of opponent colours, shrunk and inverted from the coarsest level on. The brightness of a coefficient is that of four samples
    of its level's denoised lowpass."""
    factors, planes = {}, []
    for pyramid, sigmas in zip(pyramids, noise):
        def change(level, low):
            if level not in factors:
                blocks = low[0::2, 0::2] + low[0::2, 1::2] + low[1::2, 0::2] + low[1::2, 1::2]
                factors[level] = factor_at(blocks / (4 * 2**level * np.sqrt(3)), curve)
            return shrink_level(pyramid, sigmas, level, True, factors[level], (pyramids[0], noise[0]))
        planes.append(dualtree.inverse(pyramid, shape, pad_at_end=pad_at_end, change=change))
    return planes


def refine(noisy, pilot, sigma, found, brightness, curve):
    """Wiener shrinkage of the cosines of all 8x8 blocks that begin at even places; `sigma` has a number for each level. If it was found,
    it is interpolated between levels, but at least that of the frequency's octave, and depends on the brightness of a block."""
    sigmas = np.atleast_1d(sigma)
    if sigmas[0] == 0:
        return pilot
    octave = sigmas[np.minimum([3, 3, 2, 2, 1, 1, 1, 1], len(sigmas)) - 1]
    between = np.exp(np.interp([3.5, 3.5, 2.5, 1.915, 1.5, 1.178, 1, 1], 1 + np.arange(len(sigmas)), np.log(sigmas)))
    variances = (np.maximum(between, octave) if found else octave)**2
    variance = variances[np.maximum.outer(np.arange(8), np.arange(8))]
    height, width = noisy.shape
    wide = [np.pad(plane, ((8, 24), (8, 24)), mode="symmetric") for plane in (noisy, pilot, brightness)]
    total, weights = np.zeros_like(wide[0]), np.zeros_like(wide[0])
    for y, x in itertools.product(range(0, 8, 2), repeat=2):
        h, w = ((n - start) // 8 * 8 for n, start in zip(total.shape, (y, x)))
        z, p, light = (plane[y:y + h, x:x + w].reshape(h // 8, 8, w // 8, 8) for plane in wide)
        z, p = (fft.dctn(plane, axes=(1, 3), norm="ortho") for plane in (z, p))
        factor = factor_at(light[:, [2, 5]].mean(axis=(1, 3), keepdims=True), curve)**2
        gain = p**2 / (p**2 + 0.8 * factor * variance[:, None, :])
        gain[:, 0, :, 0], z[:, 0, :, 0] = 1, p[:, 0, :, 0]
        weight = 1 / (gain**2).sum(axis=(1, 3), keepdims=True)
        total[y:y + h, x:x + w] += (weight * fft.idctn(gain * z, axes=(1, 3), norm="ortho")).reshape(h, w)
        weights[y:y + h, x:x + w] += np.broadcast_to(weight, gain.shape).reshape(h, w)
    return (0.8 * total / np.where(weights > 0, weights, 1))[8:8 + height, 8:8 + width] + 0.2 * pilot


def denoise(picture, sigma, levels, quality="normal", pad_at_end=True):
    """Three colours as brightness and differences, or each by itself; alpha (of 2 or 4 channels) as it is. No sigma: found for each level.
    Parents lie over their children, as in --denoise, or as --wavelet has them."""
    colours = picture.shape[2] - (picture.shape[2] % 2 == 0)
    own, planes = picture[..., :colours], picture[..., :colours]
    planes = planes @ OPPONENT.T if colours == 3 else planes
    pyramids = [dualtree.forward(planes[..., c], levels, pad_at_end=pad_at_end) for c in range(colours)]
    separate, curve = False, np.ones(TONES)
    if sigma is None:
        sigmas, separate = noise_by_level(pyramids, picture=own if pad_at_end else None)
        curve = tone_curve(pyramids, own, sigmas) if pad_at_end and colours == 3 and not separate else curve
    else:
        sigmas = [white_noise(sigma, levels)] * colours
    if separate:
        planes, pyramids = own, [dualtree.forward(own[..., c], levels, pad_at_end=pad_at_end) for c in range(colours)]
    first = [(pyramids[c if separate else 0], sigmas[c if separate else 0]) if colours == 3 and sigma is None else None for c in range(colours)]
    if (curve != 1).any():
        clean = np.stack(shrink_by_tone(pyramids, sigmas, curve, picture.shape[:2], pad_at_end), axis=2)
    else:
        clean = np.stack([dualtree.inverse(shrink(p, s, sigma is None, f), picture.shape[:2], pad_at_end=pad_at_end)
                          for p, s, f in zip(pyramids, sigmas, first)], axis=2)
    if quality == "high":
        clean = np.stack([refine(planes[..., c], clean[..., c], factor_of(pyramids[c], first[c]) * np.array(s), sigma is None,
                                 clean[..., 0] / np.sqrt(3), curve) for c, s in enumerate(sigmas)], axis=2)
    clean = clean @ OPPONENT if colours == 3 and not separate else clean
    return np.concatenate([clean, picture[..., colours:]], axis=2)


def places(size):
    count = min(size, PLACES)
    return (2 * np.arange(count) + 1) * size // (2 * count)


def bounds(bins):
    return (np.asarray(bins + FIRST_BIN, np.uint32) << np.uint32(20)).view(np.float32).astype(float)


def quantile(values, share):
    """In 8 bins an octave, interpolated within its bin."""
    bins = np.clip((values.astype(np.float32).view(np.uint32) >> 20).astype(int) - FIRST_BIN, 0, BINS - 1)
    counts = np.bincount(bins.ravel(), minlength=BINS)
    below = np.cumsum(counts) - counts
    at = min(int(np.argmax(below + counts >= share * values.size)), BINS - 1)
    low, high = bounds(np.array([at, at + 1]))
    return low + (high - low) * (share * values.size - below[at]) / max(counts[at], 1)


def live_cells(picture, levels):
    """For each level, of the colours and of all together, how live the 2^l x 2^l pixels below a coefficient are, 0 to 252. Dead ones are
    clipped at 0 or 1, or all colours are the same in six neighbours of a row. The first of four rows stands for all."""
    height, width, colours = picture.shape
    y = np.minimum(2 * np.arange(-(-height // 2)) // 4 * 4, height - 1)
    x = 2 * np.arange(-(-width // 2))
    moved = [picture[y][:, np.clip(x + k, 0, width - 1)] for k in range(-2, 4)]
    same = np.all([(a == b).all(2) for a, b in zip(moved, moved[1:])], axis=0)
    clipped = [(np.abs(v) <= 1e-6) | (np.abs(v - 1) <= 1e-6) for v in moved[2:4]]
    dead = same[..., None] | (clipped[0] & clipped[1])
    cells = 252 * ~np.concatenate([dead, dead.all(2, keepdims=True)], axis=2).astype(bool)
    result = [cells]
    for _ in range(levels - 1):
        cells = np.pad(cells, ((0, cells.shape[0] % 2), (0, cells.shape[1] % 2), (0, 0)), mode="edge")
        cells = (cells[::2, ::2] + cells[::2, 1::2] + cells[1::2, ::2] + cells[1::2, 1::2] + 2) // 4
        result.append(cells)
    return result


def windows(plane, side):
    return np.lib.stride_tricks.sliding_window_view(plane, (side, side), axis=(0, 1))


def live_energies(bands, cells, every):
    """The mean energies of live 7x7 neighbours, and their number. cells None: neighbours that are not 0 are live."""
    height, width = bands.shape[:2]
    where = np.ix_(places(height)[::every], places(width)[::every])
    energy = np.pad(np.abs(bands)**2, ((3, 3), (3, 3), (0, 0)), mode="symmetric")
    if cells is None:
        live = energy > 1e-11
    else:
        live = windows(np.pad(cells, 4, mode="edge"), 3).sum((-1, -2)) >= 2041
        live = np.repeat(live[..., None], 6, axis=2)
    count = windows(live, 7)[where].sum((-1, -2))
    return windows(energy * live, 7)[where].sum((-1, -2)) / (2 * np.maximum(count, 1)), count


def features(highpasses, biort, cells, every=1):
    """Logarithms of three quantiles of the energies at some places of each of six levels, an earlier level standing for missing ones, and
    whether there was anything to be seen on the first. Where less than 8 of 10 of its places are entirely live, coarser levels exceed
    an earlier one by no more than is typical."""
    rows, shift, scattered = [], np.array(SHIFTS[biort]), False
    for level, bands in enumerate(highpasses[:6]):
        energies, live = live_energies(bands, cells and cells[level], every)
        most, some, count = energies[live >= 47], energies[live >= 24], live[..., 0].size
        wanted = 6 * max(count // 100, min((count + 1) // 2, 12))
        values = most if most.size >= wanted else some
        enough = values.size >= wanted
        row = np.log([max(quantile(values, share), LEAST) if enough else LEAST for share in SHARES])
        if level == 0:
            found = enough and (most.size >= wanted or row[1] - row[0] < 1.5)
            scattered = most.size < 0.8 * 6 * count
        else:
            bound, excess = rows[-1], max(rows[-1][1] - rows[-1][0] - 0.32, 0)
            if scattered:
                bound = bound + [1.4 * min(excess, 2), 1.7 * (1 - np.exp(-excess / 0.6)), 1.6 * (1 - np.exp(-excess / 0.15))]
            row = bound if not enough else np.minimum(row, bound) if scattered else row
        rows.append(row)
    rows += [rows[-1]] * (6 - len(rows))
    rows[0] = rows[0] + shift
    return np.ravel(rows), found


def model_noise(model, own, found, others, levels):
    models = np.array(re.findall(r"(-?[0-9.]+)f", MODELS.read_text()), float).reshape(3, 6, 37)
    base = (own.mean() + others.mean()) / 2
    v = models[model] @ np.append(np.concatenate([own, others]) - base, 1) + base
    alone = np.exp(-(np.maximum(own[1::3] - own[0::3] - 0.32, 0) / 0.1)**2)  # noise and nothing else
    v += alone * (own[1::3] + 0.015 - v)
    if model < 2:  # white noise: no level has less than the first
        v += np.exp(-(max(own[3] - own[0], 0) / 0.2)**2) * np.maximum(own[0] + 0.335 - v, 0)
    return found * 2 * np.exp(v / 2)[np.minimum(np.arange(levels), 5)]


def noise_by_level(pyramids, biort="near_sym_a", picture=None):
    """Planes x levels: the strength of white noise that would be as strong there, and whether it is that of red, green and blue, as it is very
    different there. Three planes are opponent colours. Without a picture, places of one colour are those where coefficients are 0."""
    levels, colour = len(pyramids[0].highpasses), len(pyramids) == 3
    cells = live_cells(picture, min(levels, 6)) if picture is not None else None
    def of(c):
        return cells and [level[..., c] for level in cells]
    own = [features(p.highpasses, biort, of(3 if colour else c)) for c, p in enumerate(pyramids)]
    if not colour:
        return np.array([model_noise(2, f, found, f, levels) for f, found in own]), False
    primary = [[np.tensordot(np.stack([p.highpasses[level] for p in pyramids], axis=3), OPPONENT[:, c], 1) for level in range(levels)] for c in range(3)]
    primary = [features(bands, biort, of(c), 2) for c, bands in enumerate(primary)]
    apart = np.array([model_noise(2, f, found, f, levels) for f, found in primary])
    strength = np.exp(np.log(np.maximum(apart[:, :3], 0.5 / 255)).mean(1))
    empty = sum(not found or f[1] <= np.log(LEAST) + 0.5 for f, found in primary)
    if empty in (1, 2) or strength.max() > 4 * strength.min():
        return apart, True
    others = [(own[1][0] + own[2][0]) / 2, own[0][0], own[0][0]]
    noise = np.array([model_noise(min(c, 1), *own[c], others[c], levels) for c in range(3)])
    if levels >= 3 and noise.all():
        white, strength = whiteness(noise)
        share = white * np.exp(-((2 * np.log(max(noise[0, 0], 0.5 / 255) / strength)) / 1.5)**2)
        noise[0] = noise[0]**(1 - share) * strength**share
    return noise, False


def whiteness(noise):
    """The probability that noise (planes x levels) is white: that colour differences have the same on levels 1 to 3, and both as much.
    And the strength that brightness has then."""
    logs = np.log(noise)
    strengths = np.maximum(logs[1:, :3], np.log(0.5 / 255)).mean(1)
    away = np.append(np.diff(logs[1:, :3]).sum(0), 2 * (strengths[0] - strengths[1]))
    return np.exp(-np.sum((away / 0.4)**2)), np.exp(strengths.mean())


def tone_curve(pyramids, picture, noise):
    """Factors of the noise in eight ranges of brightness: by the 5% quantiles of the energies of brightness on level 1, where all is live."""
    if len(pyramids[0].highpasses) < 3 or not noise.all():
        return np.ones(TONES)
    bands = pyramids[0].highpasses[0]
    energies, live = live_energies(bands, live_cells(picture, 1)[0][..., 3], 1)
    y, x = (2 * (places(n)[:, None] + np.arange(-3, 4)) for n in bands.shape[:2])
    mirrored = [np.pad(np.arange(n), 8, mode="symmetric")[at + 8] for n, at in zip(picture.shape, (y, x))]
    light = picture.mean(2)[mirrored[0][:, None, :, None], mirrored[1][None, :, None, :]].mean((2, 3))
    tones = np.clip((light * TONES).astype(int), 0, TONES - 1)
    found = [energies[tones == k][live[tones == k] >= 47] for k in range(TONES)]
    known = [k for k in range(TONES) if found[k].size >= 6 * 8]
    quantiles = {k: max(quantile(found[k], 0.05), LEAST) for k in known}
    mean = sum(found[k].size * quantiles[k] for k in known) / max(sum(found[k].size for k in known), 1)
    logs = np.array([np.log(quantiles[k] / mean) * found[k].size / (found[k].size + 600) if k in known else 0 for k in range(TONES)])
    return np.exp((1 - whiteness(noise)[0]) * np.clip(logs, np.log(0.4), np.log(2.5)) / 2)

