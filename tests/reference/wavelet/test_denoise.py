"""--shrink, --denoise and --gain against the formulas in numpy, and against the papers' figures."""
import json
import re

import numpy as np
import pytest
import pywt.data
import tifffile
from PIL import Image
from scipy import ndimage

import camera
import dualtree
import harness
from harness import MEMORIES, Shape
from shrinkage import OPPONENT, denoise, noise_by_level, shrink, tone_curve

SIGMAS = (10, 15, 20, 25, 30)
# PSNR in dB that the method reaches with known noise, by the picture's name and mean brightness: PyWavelets 1.1 and 1.4 have
# two pictures called camera. The row of the second is what denoise_plane, below, reaches with one seed.
TABLE = {"camera": {118: (36.38, 34.27, 32.81, 31.69, 30.79), 129: (33.68, 31.40, 30.06, 29.10, 28.46)},
         "ascent": {87: (34.48, 32.13, 30.54, 29.35, 28.39)}, "aero": {159: (32.84, 31.07, 29.85, 28.93, 28.19)}}
FULL_SCALE_TOLERANCE = 1e-5


def noisy_scene(rng, width, height, channels, sigma):
    """Smooth blobs and edges under noise, alpha from 0.2 to 1."""
    smooth = ndimage.gaussian_filter(rng.random((height, width, channels)), (4, 4, 0), mode="wrap")
    picture = np.where(smooth > 0.5, 0.7, 0.3) + sigma * rng.normal(size=smooth.shape)
    if channels % 2 == 0:
        picture[..., -1] = rng.uniform(0.2, 1, (height, width))
    return picture.astype(np.float32)


@pytest.mark.some(5)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("size, kernels", [((1, 1), ""), ((7, 1), ""), ((33, 17), ""), ((101, 99), ""), ((45, 39), "gpu"),
                                           ((61, 210), "slices"), ((331, 150), "tiles")], ids=str)  # the device's own kernels, and those for GPUs
def test_known_noise(tmp_path, rng, monkeypatch, size, channels, memory, kernels):
    if kernels:
        monkeypatch.setenv(*("CLIMG_SLICE", "64") if kernels in ("slices", "tiles") else ("CLIMG_CLASS", kernels))
    if kernels == "tiles":
        monkeypatch.setenv("CLIMG_TILE", "64")
    picture = noisy_scene(rng, *size, channels, 0.08)
    harness.write_tiff(tmp_path / "in.tif", picture)
    levels = int(rng.integers(1, 7))
    context = str(harness.run("-m", memory, tmp_path / "in.tif", f"--denoise={0.08 * 255},levels={levels}",
                              tmp_path / "out.tif"))
    harness.run("-m", memory, tmp_path / "in.tif", f"--wavelet={levels}", f"--shrink={0.08 * 255}",
                "--inverse-wavelet", tmp_path / "long.tif")
    for name, pad_at_end in (("out.tif", True), ("long.tif", False)):
        expected = harness.reference.leave(denoise(harness.reference.enter(picture.astype(float)), 0.08, levels, pad_at_end=pad_at_end))
        error = np.abs(harness.read_tiff(tmp_path / name).reshape(expected.shape) - expected).max()
        assert error <= FULL_SCALE_TOLERANCE * (5 if channels % 2 == 0 else 1), f"{name} is off by {error:.3g}\n{context}"


@pytest.mark.some(4)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("size, kernels", [((1, 1), ""), ((9, 1), ""), ((6, 33), ""), ((101, 99), ""), ((45, 39), "gpu")], ids=str)
def test_high_quality(tmp_path, rng, monkeypatch, size, channels, memory, kernels):
    """Given and estimated noise."""
    monkeypatch.setenv("CLIMG_CLASS", kernels) if kernels else None
    picture = noisy_scene(rng, *size, channels, 0.08)
    harness.write_tiff(tmp_path / "in.tif", picture)
    levels = int(rng.integers(1, 7))
    for name, sigma in ((f"{0.08 * 255}", 0.08), ("auto", None)):
        context = str(harness.run("-m", memory, tmp_path / "in.tif", f"--denoise={name},levels={levels},quality=high", "-y", tmp_path / "out.tif"))
        expected = harness.reference.leave(denoise(harness.reference.enter(picture.astype(float)), sigma, levels, "high"))
        error = np.abs(harness.read_tiff(tmp_path / "out.tif").reshape(expected.shape) - expected).max()
        assert error <= FULL_SCALE_TOLERANCE * (5 if channels % 2 == 0 else 1), f"off by {error:.3g}\n{context}"


def coloured_noise(rng, height, width):
    """Blobs under noise that is strong in the dark and coarse, more so in colour, as a camera's."""
    smooth = np.repeat(ndimage.gaussian_filter(rng.random((height, width, 1)), (12, 12, 0), mode="wrap"), 3, axis=2)
    smooth = 0.1 + 0.8 * (smooth - smooth.min()) / np.ptp(smooth)
    noise = ndimage.gaussian_filter(rng.normal(size=smooth.shape), (0.7, 0.7, 0)) + ndimage.gaussian_filter(rng.normal(size=smooth.shape), (1.5, 1.5, 0))
    return smooth, np.float32(smooth + noise * np.where(smooth.mean(2, keepdims=True) < 0.4, 0.12, 0.03))


@pytest.mark.some(4)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("quality", ["normal", "high"])
@pytest.mark.parametrize("size, kernels", [((201, 333), ""), ((190, 150), "gpu"), ((150, 210), "slices"), ((331, 150), "tiles")], ids=str)
def test_noise_by_brightness(tmp_path, monkeypatch, size, kernels, quality, memory):
    """Always the same pictures: where a coefficient is nearly at the threshold, a float error of the noise counts ten times."""
    rng = np.random.default_rng(size)
    if kernels:
        monkeypatch.setenv(*("CLIMG_SLICE", "64") if kernels in ("slices", "tiles") else ("CLIMG_CLASS", kernels))
    if kernels == "tiles":
        monkeypatch.setenv("CLIMG_TILE", "64")
    _, picture = coloured_noise(rng, *size)
    harness.write_tiff(tmp_path / "in.tif", picture)
    context = str(harness.run("-m", memory, tmp_path / "in.tif", f"--denoise=quality={quality}", tmp_path / "out.tif"))
    pyramids = [dualtree.forward(plane, 6, pad_at_end=True) for plane in np.moveaxis(picture @ OPPONENT.T, 2, 0)]
    curve = tone_curve(pyramids, picture, noise_by_level(pyramids, picture=picture)[0])
    assert max(curve) > 1.5 * min(curve), curve
    error = np.abs(harness.read_tiff(tmp_path / "out.tif").reshape(picture.shape) - denoise(picture.astype(float), None, 6, quality)).max()
    assert error <= FULL_SCALE_TOLERANCE, f"off by {error:.3g}\n{context}"


def test_high_quality_is_higher(tmp_path, rng):
    """White noise, two photographs."""
    for name in ("ascent", "camera"):
        clean = getattr(pywt.data, name)().astype(float)
        tifffile.imwrite(tmp_path / "in.tif", ((clean + 25 * rng.normal(size=clean.shape)) / 255).astype(np.float32), metadata=None)
        reached = []
        for quality in ("normal", "high"):
            harness.run(tmp_path / "in.tif", f"--denoise=25,quality={quality}", "-y", tmp_path / "out.tif")
            reached.append(psnr(255.0 * harness.read_tiff(tmp_path / "out.tif").reshape(clean.shape), clean))
        print(name, reached)
        assert reached[1] >= reached[0] + 0.1, reached


def test_its_filters_are_its_own(tmp_path, rng):
    """Whichever another transform had before it in the chain."""
    harness.write_tiff(tmp_path / "in.tif", noisy_scene(rng, 45, 39, 1, 0.08))
    there_and_back = ["--wavelet=1,biort=near_sym_b,qshift=qshift_d", "--inverse-wavelet"]
    harness.run(tmp_path / "in.tif", "--denoise=20,levels=3", tmp_path / "first.tif")
    harness.run(tmp_path / "in.tif", *there_and_back, "--denoise=20,levels=3", tmp_path / "second.tif")
    first, second = (harness.read_tiff(tmp_path / name) for name in ("first.tif", "second.tif"))
    assert np.abs(first - second).max() <= FULL_SCALE_TOLERANCE


@pytest.mark.some(4)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("channels", [2, 4])
@pytest.mark.parametrize("chain", [["--denoise=30"], ["--wavelet=6", "--shrink=30", "--inverse-wavelet"]],
                         ids=lambda chain: chain[0])
@pytest.mark.parametrize("kernels", ["", "gpu"])
def test_what_is_transparent_stays_so(tmp_path, rng, monkeypatch, kernels, chain, channels, memory):
    """Alpha that was 0 is 0, not what rounding leaves of it, and colour there is 0: none is divided by next to nothing."""
    if kernels:
        monkeypatch.setenv("CLIMG_CLASS", kernels)
    picture = noisy_scene(rng, 150, 130, channels, 0.1)
    holes = ndimage.gaussian_filter(rng.random(picture.shape[:2]), 5, mode="wrap") > 0.5
    picture[holes, -1] = 0
    harness.write_tiff(tmp_path / "in.tif", picture)
    harness.run("-m", memory, tmp_path / "in.tif", *chain, tmp_path / "out.tif")
    result = harness.read_tiff(tmp_path / "out.tif")
    assert (result[holes] == 0).all(), np.abs(result[holes]).max(axis=0)
    assert np.abs(result[..., -1] - picture[..., -1]).max() <= 1e-6


def psnr(a, b):
    return 10 * np.log10(255**2 / np.mean((a - b)**2))


@pytest.mark.some(1)
@pytest.mark.parametrize("name", TABLE)
def test_published_figures(tmp_path, rng, name):
    """Float TIFF in 8-bit counts / 255, noise not clipped; all strengths in one command each way."""
    image = getattr(pywt.data, name)().astype(float)
    for sigma in SIGMAS:
        noisy = image + sigma * rng.normal(size=image.shape)
        tifffile.imwrite(tmp_path / f"{sigma}.tif", (noisy / 255).astype(np.float32), metadata=None)
    harness.run(*(f"{sigma}.tif" for sigma in SIGMAS), "--denoise", "estimated/", cwd=tmp_path)
    for sigma, known in zip(SIGMAS, TABLE[name][round(image.mean())]):
        harness.run(f"{sigma}.tif", f"--denoise={sigma}", "known.tif", cwd=tmp_path)
        reached = psnr(harness.read_tiff(tmp_path / "known.tif").reshape(image.shape) * 255.0, image)
        estimated = psnr(harness.read_tiff(tmp_path / "estimated" / f"{sigma}.tif").reshape(image.shape) * 255.0, image)
        print(f"{name} {sigma}: {reached:.2f} {estimated:.2f}")
        assert reached >= known - 0.1, f"known noise {sigma}: {reached:.2f} dB, {known} expected"
        assert estimated >= known - 0.3, f"estimated noise {sigma}: {estimated:.2f} dB, {known} expected"


def test_floats_of_any_scale(tmp_path, rng):
    """Estimates follow the scale. Values so small or large that the noise is not measured are warned of, and --range auto helps."""
    y, x = np.mgrid[:256, :256]
    clean = 0.5 + 0.3 * np.sin(x / 9) * np.cos(y / 11)
    noisy = clean + 0.05 * rng.normal(size=clean.shape)
    for exponent, warns, arguments in ((0, False, ()), (-6, False, ()), (17, False, ()), (27, False, ()), (-14, True, ()), (50, True, ()),
                                       (-14, False, ("--range", "auto")), (50, False, ("--range", "auto"))):
        tifffile.imwrite(tmp_path / "in.tif", np.ldexp(noisy, exponent).astype(np.float32))
        done = harness.run("in.tif", "--denoise", *arguments, "out.tif", cwd=tmp_path)
        error = np.ldexp(tifffile.imread(tmp_path / "out.tif").astype(float), -exponent) - clean
        assert ("the noise cannot be measured" in done.err) == warns, exponent
        assert warns or error.std() < 0.01, (exponent, error.std())


@pytest.mark.some(2)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("kernels", ["cpu", "gpu"])
def test_huge_floats(tmp_path, rng, kernels, memory):
    """Strong edges stay: their squares, and the products of these, are larger than floats can be."""
    clean = np.repeat(np.where(np.indices((96, 128)).sum(0) // 24 % 2, 0.8, 0.2)[..., None], 3, 2)
    noisy = (clean + 0.05 * rng.normal(size=clean.shape)).astype(np.float32)
    for exponent, chain in ((33, "--denoise=9"), (66, "--denoise=9"), (115, "--denoise=9"), (115, "--denoise=9,quality=high"),
                            (33, "--denoise"), (66, "--denoise"), (115, "--denoise=auto,quality=high")):
        tifffile.imwrite(tmp_path / "in.tif", np.ldexp(noisy, exponent), photometric="rgb")
        done = harness.run("in.tif", "-m", memory, "-y", *chain.split(), "out.tif", cwd=tmp_path, env={"CLIMG_CLASS": kernels})
        result = np.ldexp(tifffile.imread(tmp_path / "out.tif"), -exponent)
        if "auto" in chain or chain == "--denoise":
            assert "the noise cannot be measured" in done.err and (result - clean).std() < 0.06
        else:  # the noise of 9 of 255 is nothing next to the picture
            assert np.abs(result - noisy).max() < 1e-5, (exponent, chain)


def test_huge_noise(tmp_path, rng):
    """Climg compared with itself: noise of 10^8 is removed as noise of 10^4 is."""
    noisy = np.where(np.indices((128, 160)).sum(0) // 24 % 2, 0.8, 0.2) + 0.05 * rng.normal(size=(128, 160))
    results = []
    for exponent in (17, 31):
        tifffile.imwrite(tmp_path / "in.tif", np.ldexp(noisy, exponent).astype(np.float32))
        harness.run("in.tif", "-y", "--denoise", "out.tif", cwd=tmp_path)
        results.append(np.ldexp(tifffile.imread(tmp_path / "out.tif"), -exponent))
    assert np.abs(results[1] - results[0]).max() < 1e-5

@pytest.mark.some(4)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("biort", ["near_sym_a", "near_sym_b", "legall", "antonini"])
def test_noise_is_estimated(tmp_path, rng, biort, memory):
    """Pure noise, of another strength in each opponent colour: nearly all of it goes, whatever the filters."""
    strength = np.array([0.02, 0.005, 0.01])
    noise = (rng.normal(size=(256, 256, 3)) * strength) @ OPPONENT
    tifffile.imwrite(tmp_path / "in.tif", (0.5 + noise).astype(np.float32), metadata=None, photometric="rgb")
    harness.run("-m", memory, tmp_path / "in.tif", f"--wavelet=5,biort={biort}", "--shrink", "--inverse-wavelet",
                tmp_path / "out.tif")
    left = (harness.read_tiff(tmp_path / "out.tif") - 0.5).reshape(-1, 3) @ OPPONENT.T
    # All but 1 / 16^2 of white noise's energy lies above the lowpass of five levels.
    assert (left.std(axis=0) <= 0.25 * strength).all(), left.std(axis=0) / strength


def estimates(picture, levels, pad_at_end):
    """Returns the noise of each colour or opponent colour, by level, in 8-bit counts, as shrinkage.py estimates it."""
    colours = picture.shape[2] - (picture.shape[2] % 2 == 0)
    own = harness.reference.enter(picture.astype(float))[..., :colours]
    planes = own @ OPPONENT.T if colours == 3 else own
    pyramids = [dualtree.forward(planes[..., c], levels, pad_at_end=pad_at_end) for c in range(colours)]
    return 255 * noise_by_level(pyramids, picture=own if pad_at_end else None)[0]


@pytest.mark.some(2)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("chain, levels", [(["--denoise"], 6), (["--denoise=auto,levels=7"], 7),
                                           (["--wavelet=3", "--shrink", "--inverse-wavelet"], 3)], ids=["6", "7", "3"])
def test_noise_that_was_found_is_told(tmp_path, rng, chain, levels, memory):
    """By --report and by -v, of files that go alone and of groups, with noise of several strengths."""
    (tmp_path / "in").mkdir()
    expected = {}
    for i, channels in enumerate([3, 3, 3, 1, 1, 1, 4, 2]):
        picture = noisy_scene(rng, 90, 70, channels, 0.01 * (i + 1))
        harness.write_tiff(tmp_path / "in" / f"{i}.tif", picture)
        expected[f"in/{i}.tif"] = estimates(picture, levels, chain[0].startswith("--denoise"))[:, :6]
    told = harness.run("-v", "-j", 1, "-m", memory, "--report", "r", "in", *chain, "out", cwd=tmp_path).err
    lines = [json.loads(line) for line in (tmp_path / "r").read_text().splitlines()]
    assert len(lines) == len(expected) and (memory == "image" or max(line["group"] for line in lines) > 1)
    for line in lines:
        noise = expected[line["input"]]
        assert np.allclose(line["noise"], noise, rtol=2e-3), (line["input"], line["noise"], noise)
        text = re.search(rf"^climg: {line['input']}: noise: about .* strong white noise: (.*)", told, re.M)[1]
        told_noise = [[float(value) for value in re.findall(r"[0-9.]+", colour)] for colour in text.split(";")]
        assert np.allclose(told_noise, line["noise"], rtol=0, atol=0.0056), told


def test_known_noise_is_not_told(tmp_path):
    done = harness.run("-v", "--report", tmp_path / "r", harness.SAMPLES / "scene.png", "--denoise=3", tmp_path / "out.png")
    assert "noise:" not in done.err and json.loads((tmp_path / "r").read_text())["noise"] is None


@pytest.mark.some(4)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_gain(tmp_path, rng, channels, memory):
    samples = harness.random_samples(rng, Shape(40, 31, channels, "float32"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run("-m", memory, tmp_path / "in.tif", "--wavelet=4", "--gain=1:1.5,3:0,low:0.25", "--inverse-wavelet",
                tmp_path / "out.tif")
    factors, planes = (1.5, 1, 0, 1), harness.reference.enter(samples.astype(float))
    for c in range(channels - (channels % 2 == 0)):
        pyramid = dualtree.forward(planes[..., c], 4)
        bands = tuple(f * h for f, h in zip(factors, pyramid.highpasses))
        planes[..., c] = dualtree.inverse(dualtree.Pyramid(0.25 * pyramid.lowpass, bands), planes.shape[:2])
    expected = harness.reference.leave(planes)
    error = np.abs(harness.read_tiff(tmp_path / "out.tif").reshape(expected.shape) - expected).max()
    assert error <= 5 * FULL_SCALE_TOLERANCE, f"off by {error:.3g}"


CAMERAS = {"bilinear": (camera.bilinear, camera.MIDDLE, None), "malvar": (camera.malvar, camera.MIDDLE, None),
           "malvar, high ISO": (camera.malvar, camera.HIGH, None), "JPEG": (camera.malvar, camera.MIDDLE, 90)}


def told(noisy, clean):
    """Shrinks a colour picture with known noise in each plane and level."""
    planes = []
    for plane, error in zip(np.moveaxis(noisy @ OPPONENT.T, 2, 0), np.moveaxis((noisy - clean) @ OPPONENT.T, 2, 0)):
        strengths = [np.sqrt(2 * np.mean(np.abs(bands)**2)) for bands in dualtree.forward(error, 6, pad_at_end=True).highpasses]
        planes.append(dualtree.inverse(shrink(dualtree.forward(plane, 6, pad_at_end=True), strengths), plane.shape, pad_at_end=True))
    return np.stack(planes, axis=2) @ OPPONENT


@pytest.mark.some(2)
@pytest.mark.parametrize("name", CAMERAS)
def test_noise_of_a_camera(tmp_path, rng, name):
    """Demosaicing and JPEG leave little noise at the finest level, which once was taken for all of it: then 3 dB were missing. By
    ten seeds of each camera it is 0.4 to 1.1 dB that knowing the noise would give more."""
    demosaic, iso, quality = CAMERAS[name]
    scene = np.asarray(Image.open(harness.SAMPLES / "scene.png").convert("RGB"))[:384, :384] / 255
    noisy, clean = camera.shoot(ndimage.gaussian_filter(scene, (0.8, 0.8, 0)), iso, demosaic, rng, quality)
    Image.fromarray(np.uint8(np.rint(noisy * 255))).save(tmp_path / "in.png")
    harness.run(tmp_path / "in.png", "--denoise", tmp_path / "out.png")
    done = np.asarray(Image.open(tmp_path / "out.png")) / 255
    before, after, best = (psnr(255 * picture, 255 * clean) for picture in (noisy, done, told(noisy, clean)))
    assert after >= best - 1.4, f"{before:.2f} to {after:.2f} dB, {best:.2f} if it is told"


def test_a_picture_without_noise_stays(tmp_path):
    """Photographs of PyWavelets and scipy, reduced, so that their own noise is small."""
    for name in ("ascent", "aero"):
        picture = getattr(pywt.data, name)().astype(float)
        reduced = np.uint8(np.rint(picture.reshape(256, 2, 256, 2).mean((1, 3))))
        Image.fromarray(reduced).save(tmp_path / "in.png")
        harness.run(tmp_path / "in.png", "--denoise", tmp_path / "out.png")
        kept = psnr(np.asarray(Image.open(tmp_path / "out.png")).astype(float), reduced)
        assert kept >= 38, f"{name}: {kept:.2f} dB"


def with_silence(kind, clean, noisy, share, rng):
    """A noisy picture, a share of which says nothing of its noise, and the mask of the rest, some pixels away from it."""
    height, width = clean.shape[:2]
    silent = np.zeros((height, width), bool)
    rows, columns = round(share * height), round(share * width)
    if kind in ("black", "white", "grey", "transparent"):
        silent[:rows] = True
    elif kind == "bars":
        silent[:rows // 2], silent[height - rows // 2:] = True, True
    elif kind == "border":
        y, x = (round((1 - (1 - share)**0.5) / 2 * n) for n in (height, width))
        silent[:] = True
        silent[y:height - y, x:width - x] = False
    else:
        blobs = ndimage.gaussian_filter(rng.random((height, width)), 3 if kind == "spots" else 8)
        silent = blobs > np.quantile(blobs, 1 - share)
    noisy = noisy.copy()
    if kind == "transparent":
        noisy = np.dstack([noisy, np.where(silent, 0, 255)])
    else:
        noisy[silent] = {"black": 0, "grey": 119, "white": 255, "highlights": 255, "spots": 255}.get(kind, 0)
    return noisy, ~ndimage.binary_dilation(silent, iterations=4)


@pytest.mark.some(6)
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("kind", ["black", "white", "grey", "bars", "border", "highlights", "spots", "transparent"])
@pytest.mark.parametrize("name", ["ascent", "scene"])
def test_what_says_nothing_of_noise_is_left_out(tmp_path, rng, name, kind, share):
    """Areas that are clipped, transparent or of one colour, large ones or spots of about ten pixels: with them the rest is denoised as
    well as by the true strength. Seed 1082823897 misses it by 0.4 dB (ascent, 2% spots): a share of positions is next to MOSTLY_LIVE."""
    clean = pywt.data.ascent().astype(float) if name == "ascent" else np.asarray(Image.open(harness.SAMPLES / "scene.png").convert("RGB"), float)
    clean = clean[:384, :384] * 0.9 + 12
    noisy, rest = with_silence(kind, clean, np.clip(np.rint(clean + rng.normal(0, 10, clean.shape)), 0, 255), share, rng)
    Image.fromarray(np.uint8(noisy)).save(tmp_path / "in.png")
    reached = []
    for arguments in ("--denoise", "--denoise=10"):
        harness.run(tmp_path / "in.png", arguments, "-y", tmp_path / "out.png")
        out = np.asarray(Image.open(tmp_path / "out.png"), float)
        reached.append(psnr(out[..., :3][rest] if clean.ndim == 3 else (out[..., 0] if out.ndim == 3 else out)[rest], clean[rest]))
    assert reached[0] >= reached[1] - 0.55, reached


def test_frame_that_says_nothing_keeps_the_noise(tmp_path, rng):
    """The first frame of a film, and the one whose noise would be found anew."""
    clean = pywt.data.ascent()[:96, :128].astype(float)
    frames = [np.clip(np.rint(clean + rng.normal(0, 10, clean.shape)), 0, 255).astype(np.uint8) for _ in range(27)]
    frames[0], frames[24] = np.full_like(frames[0], 16), np.full_like(frames[0], 235)
    (tmp_path / "in.y4m").write_bytes(b"YUV4MPEG2 W128 H96 F25:1 Ip A1:1 Cmono\n" + b"".join(b"FRAME\n" + frame.tobytes() for frame in frames))
    harness.run(tmp_path / "in.y4m", "--denoise", tmp_path / "out.y4m")
    done = (tmp_path / "out.y4m").read_bytes().split(b"FRAME\n", 27)[1:]
    reached = [psnr(np.frombuffer(frame, np.uint8)[:96 * 128].reshape(96, 128).astype(float), clean) for frame in done]
    assert min(reached[1:24] + reached[25:]) >= 30, np.round(reached, 1)  # 28 without


@pytest.mark.some(4)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("arguments", ["--denoise", "--denoise=10", "--denoise=auto,quality=high"])
@pytest.mark.parametrize("empty", [(0,), (1,), (0, 2)], ids=str)
@pytest.mark.parametrize("value", [0, 255, 90])
def test_constant_colour_stays(tmp_path, rng, monkeypatch, memory, arguments, empty, value):
    """The same bits whole and in slices, alone and in a group with a picture in full colour (invariance)."""
    clean = np.stack([pywt.data.ascent()[:160, :130], pywt.data.ascent()[100:260, 90:220], pywt.data.ascent()[200:360, 5:135]], axis=2) * 0.8 + 20
    noisy = np.uint8(np.clip(np.rint(clean + rng.normal(0, 10, clean.shape)), 0, 255))
    (tmp_path / "in").mkdir()
    Image.fromarray(noisy).save(tmp_path / "in/full.png")
    noisy = noisy.copy()
    noisy[..., list(empty)] = value
    Image.fromarray(noisy).save(tmp_path / "in/part.png")
    harness.run("-m", memory, "in", arguments, "--depth", "float", "-f", "tiff", "group", cwd=tmp_path)
    harness.run("-m", memory, "in/part.png", arguments, "--depth", "float", "alone.tif", cwd=tmp_path)
    monkeypatch.setenv("CLIMG_SLICE", "48")
    harness.run("-m", memory, "in/part.png", arguments, "--depth", "float", "sliced.tif", cwd=tmp_path)
    alone, sliced, group = (harness.read_tiff(tmp_path / name) for name in ("alone.tif", "sliced.tif", "group/part.tif"))
    assert np.array_equal(alone, sliced) and np.array_equal(alone, group)
    assert np.abs(255 * alone[..., list(empty)] - value).max() <= 1e-3
    others = [c for c in range(3) if c not in empty]
    before, after = (psnr(picture[..., others], clean[..., others]) for picture in (noisy.astype(float), 255.0 * alone))
    assert after >= before + 1, (before, after)


def test_colours_of_very_different_noise(tmp_path, rng):
    """No colour becomes worse than it was, as each is denoised by itself."""
    clean = np.stack([pywt.data.ascent()[:384, :384], pywt.data.ascent()[100:484, 90:474], pywt.data.ascent()[128:, 128:]], axis=2) * 0.8 + 20
    noisy = np.uint8(np.clip(np.rint(clean + rng.normal(0, 1, clean.shape) * (3, 8, 24)), 0, 255))
    Image.fromarray(noisy).save(tmp_path / "in.png")
    said = harness.run("-v", tmp_path / "in.png", "--denoise", tmp_path / "out.png").err
    done = np.asarray(Image.open(tmp_path / "out.png"), float)
    before, after = ([psnr(picture[..., c], clean[..., c]) for c in range(3)] for picture in (noisy.astype(float), done))
    assert re.search("red [23]\\.", said) and all(a >= b for a, b in zip(after, before)) and after[2] >= before[2] + 5, (said, before, after)
