"""The coefficients that --mosaic shows, against the transform in numpy, and the picture's layout."""
import numpy as np
import pytest
import tifffile

import dualtree
import harness
from harness import MEMORIES, Shape

GAP = 2
TOLERANCE = 1e-5  # of the largest magnitude of a level
SIZES = ((1, 1), (3, 5), (17, 64), (101, 99), (256, 128))


def places(pyramid):
    """(x, y) of each cell [level][band] and of the lowpass: the layout that --help=mosaic describes."""
    cells, x, y = [], 0, 0
    for level, bands in enumerate(pyramid.highpasses, 1):
        h, w = bands.shape[:2]
        order = {0: (0, 0), 1: (1, 0), 2: (2, 0), 5: (0, 1), 4: (1, 1), 3: (2, 1)}
        cells.append([(x + order[b][0] * (w + GAP), y + order[b][1] * (h + GAP)) for b in range(6)])
        if level == 2:
            y += 2 * (h + GAP)
        else:
            x += 3 * (w + GAP)
    return cells, (x, y)


def close(actual, expected, tolerance, context):
    error = np.abs(actual - expected).max()
    assert error <= tolerance, f"off by {error:.3g}, {tolerance:.3g} allowed\n{context}"


def transform(picture, levels):
    return [dualtree.forward(picture[..., c], levels) for c in range(picture.shape[2])]


def shown(values, view, largest):
    """Returns values / largest from the picture: undoes the square root."""
    if view == "magnitude":
        return values**2 * largest
    signed = 2 * values - 1
    return np.sign(signed) * signed**2 * largest


def write_colours(path, samples):
    """No channel is alpha."""
    harness.write_tiff(path, samples, **({"extrasamples": ["unspecified"]} if samples.shape[2] in (2, 4) else {}))


def read_channels(path, channels):
    picture = tifffile.imread(path)
    return picture.reshape(*picture.shape[:2], channels).astype(float)


@pytest.mark.some(5)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("view", ["magnitude", "real", "imaginary"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_coefficients(tmp_path, rng, size, view, memory):
    levels, channels = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    samples = harness.random_samples(rng, Shape(*size, channels, "float32"))
    write_colours(tmp_path / "in.tif", samples)
    context = str(harness.run("--memory", memory, tmp_path / "in.tif", f"--wavelet={levels}", f"--mosaic={view}",
                              tmp_path / "out.tif"))
    picture = read_channels(tmp_path / "out.tif", channels)
    pyramids = transform(samples.astype(float), levels)
    cells, low = places(pyramids[0])
    for level in range(levels):
        largest = max(np.abs(p.highpasses[level]).max() for p in pyramids)
        for band, (x, y) in enumerate(cells[level]):
            for c, pyramid in enumerate(pyramids):
                z = pyramid.highpasses[level][..., band]
                expected = {"magnitude": np.abs(z), "real": z.real, "imaginary": z.imag}[view]
                cell = picture[y:y + z.shape[0], x:x + z.shape[1], c]
                close(shown(cell, view, largest), expected, TOLERANCE * max(largest, 1), context)
    for c, pyramid in enumerate(pyramids):
        expected = pyramid.lowpass / 2 ** (levels - 1)
        cell = picture[low[1]:low[1] + expected.shape[0], low[0]:low[0] + expected.shape[1], c]
        close(cell, expected, TOLERANCE, context)


@pytest.mark.some(4)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("view", ["magnitude", "real", "imaginary", "phase"])
def test_gain_shows_weak_detail(tmp_path, rng, view, memory):
    """The square of the brightness is multiplied, up to 1; the lowpass stays."""
    gain, samples = float(rng.uniform(1.5, 4)), harness.random_samples(rng, Shape(64, 48, 1, "float32"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    pictures = []
    for value in (view, f"{view},gain={gain}"):
        harness.run("--memory", memory, tmp_path / "in.tif", "--wavelet=2", f"--mosaic={value}", tmp_path / "out.tif")
        pictures.append(harness.read_tiff(tmp_path / "out.tif").astype(float))
    (x, y), cells = places(transform(samples.astype(float), 2)[0])[1], slice(0, 3 * 32 + 2 * GAP)
    plain, strong = (picture[:48 + GAP, cells] for picture in pictures)
    signed = view in ("real", "imaginary")
    if signed:
        plain, strong = 2 * plain - 1, 2 * strong - 1
    expected = np.sign(plain) * np.sqrt(np.minimum(gain * plain**2, 1))
    if view == "phase":  # the value of a colour is its largest channel, the others are in proportion
        value = plain.max(axis=2, keepdims=True)
        expected = plain / np.maximum(value, 1e-9) * np.sqrt(np.minimum(gain * value**2, 1))
    if signed:  # the gap between cells is black, which is not gray
        strong, expected = strong[plain > -0.999], expected[plain > -0.999]
    close(strong, expected, 1e-5, view)
    assert np.array_equal(pictures[0][y:y + 24, x:x + 32], pictures[1][y:y + 24, x:x + 32])


@pytest.mark.parametrize("memory", MEMORIES)
def test_phase_is_hue(tmp_path, rng, memory):
    """Full saturation: the smallest channel is 0, the largest sqrt(|z| / largest); the hue is the phase of the mean."""
    samples = harness.random_samples(rng, Shape(64, 48, int(rng.integers(1, 5)), "float32"))
    write_colours(tmp_path / "in.tif", samples)
    harness.run("--memory", memory, tmp_path / "in.tif", "--wavelet=1", "--mosaic=phase", tmp_path / "out.tif")
    picture = harness.read_tiff(tmp_path / "out.tif").astype(float)
    assert picture.shape[2] == 3
    pyramids = transform(samples.astype(float), 1)
    bands = sum(pyramid.highpasses[0] for pyramid in pyramids) / len(pyramids)
    largest = max(np.abs(pyramid.highpasses[0]).max() for pyramid in pyramids)
    for band, (x, y) in enumerate(places(pyramids[0])[0][0]):
        z = bands[..., band]
        cell = picture[y:y + z.shape[0], x:x + z.shape[1]]
        close(cell.max(axis=2), np.sqrt(np.abs(z) / largest), 1e-4, "value")
        turn = np.angle(z) / (2 * np.pi) % 1
        distance = np.abs(turn[..., None] - np.array([0, 1 / 3, 2 / 3]))
        hue = np.clip(2 - 6 * np.minimum(distance, 1 - distance), 0, 1)
        close(cell / cell.max(axis=2, keepdims=True), hue, 1e-3, "hue")


@pytest.mark.parametrize("memory", MEMORIES)
def test_mosaic_is_opaque(tmp_path, rng, memory):
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(33, 20, 4, "uint8")))
    harness.run("--memory", memory, tmp_path / "in.tif", "--wavelet=2", "--mosaic", tmp_path / "out.tif")
    assert (harness.read_tiff(tmp_path / "out.tif")[..., 3] == 255).all()


@pytest.mark.some(1)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("view", ["magnitude", "phase"])
def test_part_of_a_mosaic(tmp_path, rng, view, memory):
    """The next stage needs some rows of the mosaic: they equal the rows of the whole mosaic (invariance)."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(70, 90, 1, "float32")))
    command = ("--memory", memory, tmp_path / "in.tif", "--wavelet=3", f"--mosaic={view}")
    harness.run(*command, tmp_path / "whole.tif")
    whole = harness.read_tiff(tmp_path / "whole.tif")
    top, height = int(rng.integers(1, 40)), int(rng.integers(1, 40))
    harness.run(*command, "--warp", f"1 0 0 0 1 {top},filter=nearest,size={whole.shape[1]}x{height}", tmp_path / "part.tif",
                env={"CLIMG_POISON": "1"})
    assert np.array_equal(harness.read_tiff(tmp_path / "part.tif"), whole[top:top + height])
