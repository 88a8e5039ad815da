"""--stack focus: pictures of different focus, against the same rule in numpy and against the sharp picture."""
import numpy as np
import pytest
import tifffile
from scipy import ndimage

import align_pairs
import focus
import harness


def blurred(rng, sharp, number, noise):
    """Pictures of which each is sharp in some columns, from the left to the right, and the more blurred the further from there."""
    height, width, channels = sharp.shape
    sigmas = np.linspace(0, 8, 25)
    stack = np.stack([ndimage.gaussian_filter(sharp, (sigma, sigma, 0)) for sigma in sigmas])
    x = np.arange(width)
    for place in np.linspace(0, 1, number):
        at = np.clip(np.abs(x / width - place) * (len(sigmas) - 1), 0, len(sigmas) - 1.001)
        low, part = at.astype(int), (at % 1)[:, None]
        picture = stack[low, :, x] * (1 - part[:, None]) + stack[low + 1, :, x] * part[:, None]
        yield picture.swapaxes(0, 1) + rng.normal(0, noise, (height, width, channels))


def write(folder, pictures):
    """Returns the paths of a TIFF of floats for each picture."""
    paths = [folder / f"in{i:02}.tif" for i in range(len(pictures))]
    channels = pictures.shape[-1]
    for path, picture in zip(paths, pictures.astype(np.float32)):
        tifffile.imwrite(path, picture if channels > 1 else picture[..., 0], photometric="rgb" if channels > 2 else "minisblack",
                         planarconfig="contig", extrasamples=["assocalpha"] if channels in (2, 4) else None)
    return paths


def read(path):
    picture = tifffile.imread(path)
    return picture if picture.ndim == 3 else picture[..., None]


def psnr(a, b):
    return -10 * np.log10(np.mean((a - b)[8:-8, 8:-8]**2))


@pytest.mark.some(5)
@pytest.mark.parametrize("width, height, channels, number", [(64, 48, 3, 3), (101, 77, 1, 5), (33, 18, 3, 2), (16, 90, 1, 1), (7, 5, 3, 2)])
@pytest.mark.parametrize("environment", [{}, {"CLIMG_CLASS": "gpu"}, {"CLIMG_SLICE": "13"}], ids=str)
def test_rule(tmp_path, width, height, channels, number, environment):
    rng = np.random.default_rng(number)  # always the same, as the share of the bound without noise depends on the pictures
    pictures = np.stack([ndimage.gaussian_filter(rng.random((height, width, channels)), (s, s, 0)) for s in rng.uniform(0.3, 2, number)])
    paths = write(tmp_path, pictures)
    for noise in (0, 4, 40):
        harness.run(*paths, "--stack", f"focus,noise={noise}", "-y", "-o", tmp_path / "out.tiff", env=environment)
        expected = focus.merged(focus.alike(pictures.astype(np.float32).astype(float)), noise / 255)
        # Without noise rounding decides between energies that are nearly equal, which on a coarse level affects many pixels.
        off = np.abs(read(tmp_path / "out.tiff") - expected) > 2e-5
        assert off.mean() < (0.2 if noise == 0 else 1e-9), (noise, off.mean())


def test_same_bits(tmp_path, rng):
    """Climg compared with itself: slices, kernel variants, kinds of memory, and threads."""
    paths = write(tmp_path, np.stack(list(blurred(rng, rng.random((150, 131, 3)), 4, 0.01))))
    results = []
    for i, (memory, jobs, environment) in enumerate(
            (("buffer", 2, {}), ("image", 1, {}), ("buffer", 5, {"CLIMG_SLICE": "11"}), ("buffer", 1, {"CLIMG_CLASS": "gpu"}),
             ("buffer", 2, {"CLIMG_OWN_MEMORY": "1", "CLIMG_POISON": "1", "CLIMG_SLICE": "40"}))):
        harness.run(*paths, "-m", memory, "--jobs", jobs, "--stack", "focus", tmp_path / f"{i}.tiff", env=environment)
        results.append(read(tmp_path / f"{i}.tiff"))
    assert all(np.array_equal(result, results[0]) for result in results)


@pytest.mark.parametrize("noise, least", [(0, 8), (3, 5)])
@pytest.mark.parametrize("kind", [align_pairs.leaves, align_pairs.texture, align_pairs.mixed], ids=lambda kind: kind.__name__)
def test_sharp_picture_is_found(tmp_path, rng, kind, noise, least):
    """8 bit; much nearer to the sharp picture than the best single one. The noise is estimated."""
    sharp = np.stack([align_pairs.picture(kind, rng, 128)] * 3, axis=2) / 255
    pictures = np.clip(np.rint(255 * np.stack(list(blurred(rng, sharp, 7, noise / 255)))), 0, 255) / 255
    for path, picture in zip(paths := write(tmp_path, pictures), pictures):
        tifffile.imwrite(path, np.rint(255 * picture).astype(np.uint8), photometric="rgb")
    harness.run(*paths, "--stack", "focus", "--depth", "float", tmp_path / "out.tiff")
    gain = psnr(read(tmp_path / "out.tiff"), sharp) - max(psnr(picture, sharp) for picture in pictures)
    assert gain > least, gain


def test_order_does_not_matter(tmp_path, rng):
    """Climg compared with itself: the noise is estimated from the picture with the least detail, wherever it is. The texture of others looks
    like noise, so that the result would be blurred."""
    sharp = 0.5 + 0.02 * rng.normal(size=(128, 128, 3))
    left = np.arange(128)[:, None] < 64
    slight, soft = (ndimage.gaussian_filter(sharp, (sigma, sigma, 0)) for sigma in (0.5, 4))
    pictures = np.stack([np.where(left, sharp, slight), np.where(left, slight, sharp), soft])
    results = []
    for order in (pictures, pictures[::-1]):
        harness.run(*write(tmp_path, order), "--stack", "focus", "-y", "-o", tmp_path / "out.tiff")
        results.append(read(tmp_path / "out.tiff"))
    assert np.abs(results[0] - results[1]).max() < 1e-5
    assert psnr(results[0], sharp) > psnr(pictures[0], sharp) + 10


def test_brightness_is_made_alike(tmp_path, rng):
    """Pictures of a flickering light are merged like pictures of a steady one, and the result has their mean brightness. A picture
    that is darker by far keeps its values."""
    sharp = 0.1 + 0.6 * np.stack([align_pairs.picture(align_pairs.mixed, rng, 128)] * 3, axis=2) / 255
    pictures = np.stack(list(blurred(rng, sharp, 5, 0)))
    gains = np.array([1, 1.1, 0.93, 1.05, 0.97])[:, None, None, None]
    results = []
    for factors in (1, gains):
        harness.run(*write(tmp_path, pictures * factors), "--stack", "focus", "-y", "-o", tmp_path / "out.tiff")
        results.append(read(tmp_path / "out.tiff"))
    assert psnr(results[1] / gains.mean(), results[0]) > 55
    assert psnr(results[1] / gains.mean(), sharp) > psnr(results[0], sharp) - 0.1
    harness.run(*write(tmp_path, np.stack([sharp, 0.2 * sharp])), "--stack", "focus,noise=4", "-y", "-o", tmp_path / "out.tiff")
    assert np.abs(read(tmp_path / "out.tiff") - focus.merged([sharp, 0.2 * sharp], 4 / 255)).max() < 2e-5


def test_uncovered_pixels(tmp_path, rng):
    """Transparent borders add no edges: the result is nearly as sharp as without them."""
    sharp = np.ones((120, 110, 4))
    sharp[..., :3] = ndimage.gaussian_filter(rng.random((120, 110, 3)), (1, 1, 0))
    soft = ndimage.gaussian_filter(sharp, (3, 3, 0))
    left = np.arange(110)[:, None] < 55
    pictures = np.stack([np.where(left, sharp, soft), np.where(left, soft, sharp), soft])
    quality = []
    for borders in ((0, 0, 0), (9, 14, 0)):
        for i, border in enumerate(borders):
            covered = np.zeros((120, 110, 1))
            covered[border:120 - border, border:110 - border] = 1
            pictures[i] *= covered
        harness.run(*write(tmp_path, pictures), "--stack", "focus,noise=0", "-y", "-o", tmp_path / "out.tiff")
        inside = slice(24, -24), slice(24, -24)
        quality.append(psnr(read(tmp_path / "out.tiff")[inside], sharp[inside]))
        assert np.abs(read(tmp_path / "out.tiff")[..., 3] - 1).max() < 1e-3
    assert quality[1] > quality[0] - 1, quality


def test_borders_of_sharp_pictures(tmp_path, rng):
    """Pixels that a picture does not have are taken from its neighbour, here as sharp as itself, and not from the one that has most
    pixels: its blurred ones would look like an edge, at the right of the first picture and at the bottom of the last."""
    sharp = np.stack([align_pairs.picture(align_pairs.mixed, rng, 128)] * 3, axis=2) / 255
    height, width = sharp.shape[:2]
    soft = ndimage.gaussian_filter(sharp, (4, 4, 0))
    pictures = np.stack([sharp, sharp, soft, sharp, sharp])
    pictures[0, :, -50:] = np.nan
    pictures[1, :, -8:] = np.nan
    pictures[3, -8:] = np.nan
    pictures[4, -50:] = np.nan
    harness.run(*write(tmp_path, pictures), "--stack", "focus,noise=0", tmp_path / "out.tiff")
    assert psnr(read(tmp_path / "out.tiff")[:height - 24, :width - 24], sharp[:height - 24, :width - 24]) > 60


def test_scattered_pixels(tmp_path, rng):
    """Each missing pixel is replaced, whatever its distance to the next one."""
    pictures = np.stack([rng.random((40, 700, 1))] * 3)
    for picture in pictures[:2]:
        picture[rng.random(picture.shape) < rng.choice([0, 0.01, 0.03, 0.5], 40)[:, None, None]] = np.nan
    harness.run(*write(tmp_path, pictures), "--stack", "focus", tmp_path / "out.tiff")
    assert np.abs(read(tmp_path / "out.tiff") - pictures[2]).max() < 1e-5
    # As many pixels of both, but others, say nothing of the light.
    pictures[2, :, ::2] *= 0.9
    pictures[:2] = pictures[2]
    pictures[0, :, ::2] = pictures[1, :, 1::2] = np.nan
    harness.run("-y", *write(tmp_path, pictures), "--stack", "focus", tmp_path / "out.tiff")
    assert np.abs(read(tmp_path / "out.tiff") - pictures[2]).max() < 1e-5


def test_crop(tmp_path, rng):
    """To what all pictures cover."""
    pictures = np.concatenate([rng.random((2, 60, 70, 3)), np.ones((2, 60, 70, 1))], axis=3)
    pictures[0, :, :5] = 0
    pictures[1, 50:] = 0
    harness.run(*write(tmp_path, pictures), "--stack", f"focus,edges=crop,depth={tmp_path / 'map.png'}", tmp_path / "out.tiff")
    assert read(tmp_path / "out.tiff").shape == (50, 65, 4)
    assert harness.read_samples(tmp_path / "map.png").shape[:2] == (50, 65)


@pytest.mark.parametrize("environment", [{}, {"CLIMG_CLASS": "gpu"}, {"CLIMG_SLICE": "15"}], ids=str)
def test_depth(tmp_path, rng, environment):
    """The map has the number of the sharpest picture: the focus moves from the left to the right."""
    sharp = np.stack([align_pairs.picture(align_pairs.texture, rng, 100)] * 3, axis=2) / 255
    paths = write(tmp_path, np.stack(list(blurred(rng, sharp, 5, 0.005))))
    harness.run(*paths, "--stack", f"focus,depth={tmp_path / 'map.tif'}", tmp_path / "out.tiff", env=environment)
    found = tifffile.imread(tmp_path / "map.tif")
    assert found.dtype == np.uint16 and set(np.unique(found)) <= {0, 16384, 32768, 49151, 65535}
    assert np.abs(found * (4 / 65535) - np.arange(150) / 150 * 4).mean() < 0.4  # rounding alone gives 0.25


def test_depth_names(tmp_path):
    paths = write(tmp_path, np.zeros((2, 16, 16, 1)))
    for words, message in (("focus,depth=map.txt", "give the map one of their extensions"), ("mean,depth=map.png", "belongs to focus"),
                           ("focus,depth=out.tiff", "would also be written there"), ("mean,noise=2", "belongs to focus")):
        assert message in harness.run(*paths, "--stack", words, "out.tiff", cwd=tmp_path, status=2).err


def test_an_infinite_sample_does_not_count(tmp_path, rng):
    """The transform would spread it over the whole picture."""
    pictures = rng.random((2, 40, 50, 1))
    pictures[0, 20, 20] = np.inf
    harness.run(*write(tmp_path, pictures), "--stack", "focus", tmp_path / "out.tif")
    assert np.isfinite(harness.read_tiff(tmp_path / "out.tif")).all()


@pytest.mark.parametrize("words", ["focus", "focus,noise=0"])
def test_huge_floats(tmp_path, rng, words):
    """Their squares are larger than floats can be; the result is as sharp as with usual values."""
    sharp = align_pairs.picture(align_pairs.texture, rng, 96)[..., None] / 255
    pictures = np.stack(list(blurred(rng, sharp, 4, 0)))
    results = []
    for exponent in (0, 66, 110):
        harness.run(*write(tmp_path, np.ldexp(pictures, exponent)), "--stack", words, "-y", "-o", tmp_path / "out.tif")
        results.append(psnr(np.ldexp(read(tmp_path / "out.tif"), -exponent), sharp))
    assert results[0] > max(psnr(picture, sharp) for picture in pictures) + 5 and min(results) > results[0] - 0.1, results


def test_map_that_cannot_be_written(tmp_path, rng):
    """Is told before anything is merged."""
    paths = write(tmp_path, rng.random((2, 40, 50, 1)))
    for name in ("map.ppm", "map.pbm"):
        assert "does not hold gray pictures" in harness.run(*paths, "--stack", f"focus,depth={name}", "out.tif", cwd=tmp_path, status=2).err
