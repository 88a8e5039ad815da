"""The 2-D dual-tree complex wavelet transform in float64 (N. Kingsbury, ACHA 10, 2001), plane by plane.

A pyramid has a lowpass and, finest level first, bands of height x width x 6 complex coefficients, whose directions are
15, 45, 75, -75, -45 and -15 degrees.
"""

import typing

import numpy as np

# Analysis and synthesis lowpass of level 1, symmetric: the first half and the middle tap.
BIORTS = {
    "near_sym_a": (np.array([-1, 5, 12]) / 20, np.array([-3, -15, 73, 170]) / 280),
    "near_sym_b": (np.array([-9, 0, 114, -240, -247, 1520, 2844]) / 5120,
                   np.array([81, 0, -1539, -2160, 8208, 27360, -63816, -59280, 343786, 641600]) / 1146880),
    "legall": (np.array([-1, 2, 6]) / 8, np.array([1, 2]) / 4),
    "antonini": (np.array([0.02674875741081, -0.016864118442875, -0.07822326652899, 0.266864118442875, 0.60294901823636]),
                 np.array([-0.045635881557126, -0.028771763114251, 0.295635881557126, 0.557543526228502])),
}
# Analysis lowpass of tree a on the levels above.
QSHIFTS = {
    "qshift_06": [0.03516383657149474, 0, -0.08832942445107285, 0.23389032060723564, 0.7602723690661257,
                  0.5875182977235605, 0, -0.11430183714424873, 0, 0],
    "qshift_a": [0.051130405283831656, -0.013975370246888838, -0.10983605166597087, 0.26383956105893763,
                 0.7666284677930372, 0.5636557101270515, 0.0008736226952170968, -0.1002312195074762,
                 -0.0016896812725281543, -0.006181881892116438],
    "qshift_b": [0.003253142763653182, -0.00388321199915849, 0.03466034684485349, -0.03887280126882779,
                 -0.11720388769911527, 0.27529538466888204, 0.7561456438925225, 0.5688104207121227, 0.011866092033797,
                 -0.1067118046866654, 0.023825384794920298, 0.01702522388155399, -0.005439475937274115,
                 -0.004556895628475491],
    "qshift_c": [-0.0047616119384559135, -0.00044602278926228516, -7.144197327965012e-05, 0.034914612306842195,
                 -0.03727389579989796, -0.11591145742744076, 0.2763686431330317, 0.7563937651990367, 0.567134484100133,
                 0.01463740596447335, -0.11255888425752203, 0.02228926326692271, 0.018498682724156248,
                 -0.0072026778782583465, -0.0002276522058977718, 0.002430349945148675],
    "qshift_d": [-0.002284127440270531, 0.0012098941630734423, -0.011834794515430786, 0.0012834569993443994,
                 0.044365221606616996, -0.05327610880304726, -0.1133058863621428, 0.2809028632221865,
                 0.7528160380878561, 0.5658080673964587, 0.024550152433666563, -0.12018854471079482,
                 0.018156493945546453, 0.03152637712208465, -0.006628794612430063, -0.0025761743066007948,
                 0.0012775586538069982, 0.002411869456666278],
}
PAIRS = ((0, 5), (2, 3), (1, 4))  # the bands that come of high x low, low x high, high x high (down x across)


class Pyramid(typing.NamedTuple):
    lowpass: np.ndarray
    highpasses: tuple


def modulated(taps):
    """A lowpass's taps with alternating signs, the middle one (of two, the second) as it is or all negated."""
    return taps * (-1.0) ** np.arange(len(taps))


def level_1_taps(biort):
    """(h0, h1, g0, g1)"""
    low, back = (np.concatenate([half, half[-2::-1]]) for half in BIORTS[biort])
    high, back_high = (modulated(taps) * (-1) ** (len(taps) // 2) for taps in (back, low))
    return low, high, back, back_high


def later_taps(qshift):
    """(low, high), each of trees (a, b); synthesis has the trees exchanged."""
    a = np.array(QSHIFTS[qshift], float)
    high_a = modulated(a[::-1])
    return (a, a[::-1]), (high_a, high_a[::-1])


# ---------------------------------------------------------------- along the first axis

def correlate(plane, taps, places):
    """sum over k of taps[k] plane[places - step k], for (first place, step) per output; half-sample symmetric beyond."""
    start, step = places
    total = 0
    for k, tap in enumerate(taps):
        i = (start - step * k) % (2 * len(plane))
        total = total + tap * plane[np.where(i < len(plane), i, 2 * len(plane) - 1 - i)]
    return total


def interleaved(rows):
    return np.stack(rows, axis=1).reshape(-1, rows[0].shape[1])


def undecimated(plane, taps):
    return correlate(plane, taps, (np.arange(len(plane)) + len(taps) // 2, 1))


def down(plane, a, b):
    """Both trees, interleaved: half as many rows, of a number divisible by 4."""
    start = 4 * np.arange(len(plane) // 4) + len(a)
    rows = correlate(plane, a, (start, 2)), correlate(plane, b, (start + 1, 2))
    return interleaved(rows if a @ b > 0 else rows[::-1])


def up(plane, a, b):
    """The transpose of down with the filters reversed: twice as many rows."""
    half = len(a) // 2
    start = 2 * np.arange(len(plane) // 2) + half
    at_a, at_b = (-1, 0) if a @ b > 0 else (0, -1)
    if half % 2:
        rows = (a[0::2], at_a), (b[0::2], at_b), (a[1::2], at_a), (b[1::2], at_b)
    else:
        rows = (a[1::2], at_a - 1), (b[1::2], at_b - 1), (a[0::2], at_a + 1), (b[0::2], at_b + 1)
    return interleaved([correlate(plane, taps, (start + shift, 2)) for taps, shift in rows])


# ---------------------------------------------------------------- planes

def across(function, plane, *taps):
    return function(plane.T, *taps).T


def quads_to_bands(plane):
    """The two complex bands of 2 x 2 blocks [a b; c d]."""
    a, b, c, d = plane[0::2, 0::2], plane[0::2, 1::2], plane[1::2, 0::2], plane[1::2, 1::2]
    p, q = (a + 1j * b) / np.sqrt(2), (d - 1j * c) / np.sqrt(2)
    return p - q, p + q


def bands_to_quads(first, second):
    p, q = (first + second) / np.sqrt(2), (first - second) / np.sqrt(2)
    plane = np.empty((2 * first.shape[0], 2 * first.shape[1]))
    plane[0::2, 0::2], plane[0::2, 1::2], plane[1::2, 0::2], plane[1::2, 1::2] = p.real, p.imag, q.imag, -q.real
    return plane


def forward_each(plane, levels, biort="near_sym_a", qshift="qshift_a", pad_at_end=False):
    """The pyramid of one level, of two, ... of `levels`. Axes that 4 does not divide are padded by a sample on both sides or, so
    that parents lie over their children, by two at the end."""
    low_taps, high_taps = later_taps(qshift)
    h0, h1, _, _ = level_1_taps(biort)
    low = np.pad(plane.astype(float), [(0, size % 2) for size in plane.shape], mode="edge")
    highpasses = []
    for level in range(levels):
        if level == 0:
            function, lows, highs = undecimated, (h0,), (h1,)
        else:
            low = np.pad(low, [np.array([0, 2] if pad_at_end else [1, 1]) * (size % 4 != 0) for size in low.shape], mode="edge")
            function, lows, highs = down, low_taps[::-1], high_taps[::-1]
        columns_low, columns_high = function(low, *lows), function(low, *highs)
        bands = np.empty((columns_low.shape[0] // 2, across(function, columns_low, *lows).shape[1] // 2, 6), complex)
        for pair, columns, taps in zip(PAIRS, (columns_high, columns_low, columns_high), (lows, highs, highs)):
            bands[..., pair[0]], bands[..., pair[1]] = quads_to_bands(across(function, columns, *taps))
        highpasses.append(bands)
        low = across(function, columns_low, *lows)
        yield Pyramid(low, tuple(highpasses))


def forward(plane, levels, biort="near_sym_a", qshift="qshift_a", pad_at_end=False):
    return list(forward_each(plane, levels, biort, qshift, pad_at_end))[-1]


def inverse(pyramid, shape, biort="near_sym_a", qshift="qshift_a", pad_at_end=False, change=None):
    """The plane of `shape` rows and columns that the pyramid was made of. `change`, if given, returns the bands of a level (0 is the
    finest) in place of the pyramid's, from its number and lowpass."""
    low_taps, high_taps = later_taps(qshift)
    _, _, g0, g1 = level_1_taps(biort)
    low = pyramid.lowpass
    for level in reversed(range(len(pyramid.highpasses))):
        bands = change(level, low) if change else pyramid.highpasses[level]
        function, lows, highs = (up, low_taps, high_taps) if level else (undecimated, (g0,), (g1,))
        high_low, low_high, high_high = (bands_to_quads(bands[..., i], bands[..., j]) for i, j in PAIRS)
        low = (across(function, function(low, *lows) + function(high_low, *highs), *lows)
               + across(function, function(low_high, *lows) + function(high_high, *highs), *highs))
        if level:
            finer = [2 * size for size in pyramid.highpasses[level - 1].shape[:2]]
            begins = [int(size != wanted and not pad_at_end) for size, wanted in zip(low.shape, finer)]
            low = low[begins[0]:begins[0] + finer[0], begins[1]:begins[1] + finer[1]]
    return low[:shape[0], :shape[1]]
