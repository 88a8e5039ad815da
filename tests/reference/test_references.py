"""The references themselves, against scipy, Pillow, python3-dtcwt and definitions. climg takes no part here."""

import io
import itertools
import pathlib

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

import dualtree
import harness
import pngfile
import reference
from harness import Shape


def plane(rng, width, height):
    return rng.uniform(0, 1, (height, width, 1))


def inner(picture, border):
    return picture[border:-border, border:-border]


@pytest.mark.parametrize("factor, name", [("1/2", "bicubic"), ("1/4", "bicubic"), ("4", "bicubic"),
                                          ("1/2", "bilinear"), ("1/4", "bilinear"), ("2", "bilinear")])
def test_scale_agrees_with_pillow(rng, factor, name):
    """Pillow has the same kernels and grid; it shortens them at the border, so only the interior counts."""
    image = plane(rng, 64, 48)
    scaled = reference.scale(image, factor, name)
    size = scaled.shape[1], scaled.shape[0]
    resample = {"bicubic": Image.BICUBIC, "bilinear": Image.BILINEAR}[name]
    pillow = Image.fromarray(image[..., 0].astype(np.float32), "F").resize(size, resample)
    border = max(2, int(2 * size[0] / 64) + 2)
    assert np.abs(inner(scaled[..., 0], border) - inner(np.asarray(pillow), border)).max() < 1e-6


@pytest.mark.parametrize("factor", [2, 8])
def test_scale_agrees_with_scipy_zoom(rng, factor):
    image = plane(rng, 13, 9)
    zoomed = ndimage.zoom(image[..., 0], factor, order=1, mode="nearest", grid_mode=True)
    assert np.abs(reference.scale(image, factor, "bilinear")[..., 0] - zoomed).max() < 1e-12


def test_bspline_agrees_with_scipy(rng):
    image = plane(rng, 20, 16)
    rows, columns = ((np.arange(n * 2) + 0.5) / 2 - 0.5 for n in (16, 20))
    sampled = ndimage.map_coordinates(image[..., 0], np.meshgrid(rows, columns, indexing="ij"), order=3,
                                      prefilter=False, mode="nearest")
    assert np.abs(inner(reference.scale(image, 2, "bspline")[..., 0] - sampled, 5)).max() < 1e-12


@pytest.mark.parametrize("name", ["lanczos", "bicubic", "bilinear", "box"])
def test_resize_agrees_with_pillow(rng, name):
    image = rng.random((23, 31, 1)).astype(np.float32)
    width, height = map(int, rng.integers(1, 70, 2))
    pillow = Image.fromarray(image[..., 0], "F").resize((width, height), getattr(Image.Resampling, name.upper()))
    assert np.abs(reference.resize(image.astype(float), width, height, name)[..., 0] - np.asarray(pillow)).max() < 1e-5


def test_nearest_picks_samples():
    row = np.arange(10.0).reshape(1, 10, 1)
    assert reference.scale(row, "1/4", "nearest")[0, :, 0].tolist() == [2, 6, 9]
    assert reference.scale(row, 2, "nearest")[0, :5, 0].tolist() == [0, 0, 1, 1, 2]


def test_edge_index():
    assert [reference.edge_index(i, 3, "mirror") for i in range(-4, 8)] == [2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]
    assert [reference.edge_index(i, 3, "wrap") for i in (-1, 3, 7)] == [2, 0, 1]
    assert [reference.edge_index(i, 3, "clamp") for i in (-9, 1, 9)] == [0, 1, 2]
    assert reference.edge_index(-1, 3, "zero") is None


@pytest.mark.parametrize("edge", list(reference.EDGES))
def test_edges_agree_with_scipy(rng, edge):
    """Compares the border rule of scale_matrix with the scipy filters, far beyond the border."""
    image = plane(rng, 5, 3)
    taps = np.outer([0, 0, 0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])  # reaches 1 down, 2 right
    shifted = reference.convolve(image, taps, edge=edge)
    for y in range(3):
        for x in range(5):
            row, column = reference.edge_index(y + 1, 3, edge), reference.edge_index(x + 2, 5, edge)
            assert shifted[y, x, 0] == (0 if None in (row, column) else image[row, column, 0])


def test_blur_is_the_sampled_gaussian(rng):
    """The definition written out, so that a change of scipy's convention would be seen."""
    image, sigma, radius = plane(rng, 30, 1), 1.7, 7
    taps = np.exp(-np.arange(-radius, radius + 1) ** 2 / (2 * sigma ** 2))
    padded = np.pad(image[0, :, 0], radius, mode="edge")
    expected = np.convolve(padded, taps / taps.sum(), mode="valid")
    assert np.abs(reference.blur(image, sigma, truncate=4)[0, :, 0] - expected).max() < 1e-14


def test_gradient_of_a_ramp():
    x, y = np.meshgrid(np.arange(60.0), np.arange(50.0))
    ramp = (0.003 * x + 0.004 * y)[..., None]
    assert np.abs(inner(reference.gradient(ramp, 1.0), 6) - 0.005).max() < 1e-5


def test_even_kernel_centre():
    """The middle of 4 taps is the third: correlation takes x[-2] ... x[1]."""
    row = np.zeros((1, 9, 1))
    row[0, 4] = 1
    filtered = reference.convolve(row, [[1, 2, 3, 4]], normalize=False)
    assert filtered[0, :, 0].tolist() == [0, 0, 0, 4, 3, 2, 1, 0, 0]


def furthest(pyramid, lowpass, highpasses):
    assert len(pyramid.highpasses) == len(highpasses)
    pairs = list(zip((pyramid.lowpass, *pyramid.highpasses), (lowpass, *highpasses)))
    assert all(ours.shape == theirs.shape for ours, theirs in pairs)
    return max(np.abs(ours - theirs).max() for ours, theirs in pairs)


def test_transform_agrees_with_numbers_of_dtcwt():
    """All pairs of filters, with what python3-dtcwt 0.12 gave: make_dualtree_numbers.py."""
    numbers = np.load(pathlib.Path(__file__).with_name("dualtree_numbers.npz"))
    picture, gains = numbers["picture"], numbers["gains"]
    for k, (biort, qshift) in enumerate(itertools.product(dualtree.BIORTS, dualtree.QSHIFTS)):
        pyramid = dualtree.forward(picture, 3, biort, qshift)
        highpasses = numbers["level1"][k // len(dualtree.QSHIFTS)], numbers["level2"][k], numbers["level3"][k]
        assert furthest(pyramid, numbers["lowpass"][k], highpasses) < 1e-13, (biort, qshift)
        gained = pyramid._replace(highpasses=tuple(gain * bands for gain, bands in zip(gains, pyramid.highpasses)))
        back = dualtree.inverse(gained, picture.shape, biort, qshift)
        assert np.abs(back - numbers["inverse"][k]).max() < 1e-13, (biort, qshift)
        assert np.abs(dualtree.inverse(pyramid, picture.shape, biort, qshift) - picture).max() < 1e-13


@pytest.mark.some(5)
@pytest.mark.parametrize("qshift", dualtree.QSHIFTS)
@pytest.mark.parametrize("biort", dualtree.BIORTS)
def test_transform_agrees_with_dtcwt(rng, biort, qshift):
    dtcwt = pytest.importorskip("dtcwt", reason="python3-dtcwt is not installed")
    transform = dtcwt.Transform2d(biort, qshift)
    for shape in ((1, 1), (2, 2), (5, 3), tuple(rng.integers(1, 100, 2))):
        plane, levels = rng.random(shape), int(rng.integers(1, 7))
        expected = transform.forward(plane, nlevels=levels)
        pyramid = dualtree.forward(plane, levels, biort, qshift)
        assert furthest(pyramid, expected.lowpass, expected.highpasses) < 1e-12, (shape, levels)
        bands = tuple(rng.uniform(-1, 1, band.shape) * band for band in expected.highpasses)
        back = transform.inverse(dtcwt.Pyramid(expected.lowpass, bands))[:shape[0], :shape[1]]
        ours = dualtree.inverse(dualtree.Pyramid(expected.lowpass, bands), shape, biort, qshift)
        assert np.abs(ours - back).max() < 1e-12, (shape, levels)


def test_srgb_curve():
    v = np.linspace(0, 1, 1001)
    assert np.abs(reference.srgb_encode(reference.srgb_decode(v)) - v).max() < 1e-7
    assert reference.srgb_decode(np.array([0.5]))[0] == pytest.approx(0.21404114, abs=1e-8)


def test_alpha_goes_in_and_out(rng):
    picture = rng.uniform(0.2, 1, (4, 5, 4))
    assert np.abs(reference.leave(reference.enter(picture)) - picture).max() < 1e-15
    picture[0, 0, 3] = 0
    assert reference.leave(reference.enter(picture))[0, 0].tolist() == [0, 0, 0, 0]


def test_rounding_is_half_to_even():
    halves = np.array([0.5, 1.5, 2.5, -3, 260]) / 255
    assert reference.to_integers(halves, np.uint8).tolist() == [0, 2, 2, 0, 255]


@pytest.mark.parametrize("shape", harness.draw_shapes("files", 12), ids=str)
def test_tiff_files_come_back(tmp_path, rng, shape):
    samples = harness.random_samples(rng, shape)
    for planes in ("contig", "separate"):
        harness.write_tiff(tmp_path / "a.tif", samples, planarconfig=planes)
        assert np.array_equal(harness.read_tiff(tmp_path / "a.tif"), samples)


@pytest.mark.parametrize("interlace", [False, True])
@pytest.mark.parametrize("channels, depth", [(1, 8), (1, 16), (2, 8), (2, 16), (3, 8), (3, 16), (4, 8), (4, 16)])
def test_png_files_come_back(rng, channels, depth, interlace):
    samples = harness.random_samples(rng, Shape(19, 13, channels, f"uint{depth}"))
    data = pngfile.encode_png(samples, interlace=interlace)
    assert np.array_equal(pngfile.decode_png(data).samples, samples)
    if depth == 8:
        pillow = np.asarray(Image.open(io.BytesIO(data)))
        assert np.array_equal(pillow.reshape(samples.shape), samples)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_narrow_png_agrees_with_pillow(rng, depth):
    samples = rng.integers(0, 1 << depth, (11, 21, 1), dtype=np.uint8)
    data = pngfile.encode_png(samples, depth=depth)
    pillow = np.asarray(Image.open(io.BytesIO(data)).convert("L"))
    assert np.array_equal(pillow, samples[..., 0] * (255 // ((1 << depth) - 1)))
    assert np.array_equal(pngfile.decode_png(data).samples, samples)


def test_png_of_pillow_is_read(rng):
    samples = harness.random_samples(rng, Shape(40, 30, 4, "uint8"))
    file = io.BytesIO()
    Image.fromarray(samples).save(file, "png")
    assert np.array_equal(pngfile.decode_png(file.getvalue()).samples, samples)
