"""JPEGs that --resize and --scale read at 1/2, 1/4 or 1/8, against Pillow: all pixels decoded, reduced to means of blocks."""

import itertools
import json

import numpy as np
import pytest
import scipy.ndimage
import tifffile
from PIL import Image, ImageOps

import harness
import jpegfile
import pngfile

FILTERS = {"lanczos": Image.Resampling.LANCZOS, "bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}
CODINGS = ({"subsampling": 0}, {"subsampling": 1}, {"subsampling": 2}, {"progressive": True, "subsampling": 2})
SIZES = ((331, 443), (400, 640), (257, 514), (409, 333))  # height, width


def picture(rng, height, width, channels=3):
    """Detail of all sizes, with noise."""
    made = sum(scipy.ndimage.gaussian_filter(rng.normal(0, 1, (height, width, channels)), (s, s, 0)) * s * 60 for s in (1.5, 6, 20))
    return np.clip(128 + made / 2 + rng.normal(0, 8, made.shape), 0, 255).astype(np.uint8)


def blocks(samples, by):
    """Means of blocks. Pixels beyond the border repeat the last ones, as encoders pad."""
    height, width = samples.shape[:2]
    padded = np.pad(samples.astype(float), ((0, -height % by), (0, -width % by), (0, 0)), "edge")
    return padded.reshape(padded.shape[0] // by, by, padded.shape[1] // by, by, -1).mean(axis=(1, 3))


def resized(samples, size, name="lanczos", by=1, mirrored=(False, False)):
    """Resized to `size` (width, height) by way of blocks. `mirrored` along x and y: blocks are counted from the other end."""
    turn = (slice(None, None, -1 if mirrored[1] else 1), slice(None, None, -1 if mirrored[0] else 1))
    means, sides = blocks(samples[turn], by)[turn], (samples.shape[1] / by, samples.shape[0] / by)
    start = [means.shape[1 - i] - sides[i] if mirrored[i] else 0 for i in (0, 1)]
    box = (*start, start[0] + sides[0], start[1] + sides[1])
    return np.stack([np.asarray(Image.fromarray(means[..., c].astype(np.float32)).resize(size, FILTERS[name], box=box))
                     for c in range(means.shape[2])], axis=-1)


def psnr(a, b):
    return 10 * np.log10(255 ** 2 / np.mean((a - b) ** 2))


def shift(a, b):
    """Pixels along y and x by which b is shifted against a: the slope of the phases of low frequencies."""
    a, b = a.mean(axis=2), b.mean(axis=2)
    window = np.outer(*map(np.hanning, a.shape))
    cross = np.fft.fft2((a - a.mean()) * window) * np.conj(np.fft.fft2((b - b.mean()) * window))
    y, x = np.meshgrid(*map(np.fft.fftfreq, a.shape), indexing="ij")
    weights, slopes = np.sqrt(np.abs(cross) * (np.hypot(y, x) < 0.2)).ravel(), 2 * np.pi * np.stack([y.ravel(), x.ravel()], axis=1)
    return np.linalg.lstsq(slopes * weights[:, None], np.angle(cross).ravel() * weights, rcond=None)[0]


def read(path):
    return pngfile.read_png(path).samples.astype(float)


# libjpeg reduces chroma of 4:2:2 to twice as wide pixels and interpolates them.
LEAST = 42


def assert_like(made, samples, name="lanczos", by=1, context="", **options):
    """The result has the pixels of the reduced picture, and the pixels of the full one at 40 dB. Returns its shift."""
    size = (made.shape[1], made.shape[0])
    whole, reduced = resized(samples, size, name), resized(samples, size, name, by, **options)
    assert psnr(made, np.clip(reduced, 0, 255)) > LEAST, (context, psnr(made, reduced))
    assert psnr(made, np.clip(whole, 0, 255)) > 40, (context, psnr(made, whole))
    return shift(whole, made)


def make(folder, rng):
    """Every coding of gray and colour, in sizes with and without partial blocks: {file: its pixels as Pillow decodes them}."""
    folder.mkdir()
    made, sizes = {}, itertools.cycle(SIZES)
    for i, (options, channels) in enumerate(itertools.product(CODINGS, (1, 3))):
        data = jpegfile.encode(picture(rng, *next(sizes), channels), quality=90, **options)
        (folder / f"{i}.jpg").write_bytes(data)
        made[f"{i}"] = jpegfile.decode(data)
    (folder / "rgb.jpg").write_bytes(jpegfile.as_rgb(jpegfile.encode(picture(rng, 401, 399), subsampling=0)))
    made["rgb"] = jpegfile.decode((folder / "rgb.jpg").read_bytes())
    return made


def reduction(samples, size):
    """The largest one that leaves at least twice the size (height, width)."""
    factor = min(samples.shape[0] / size[0], samples.shape[1] / size[1])
    return max(by for by in (1, 2, 4, 8) if by == 1 or factor >= 2 * by)


@pytest.mark.some(4)
@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("percent", [26, 25, 17, 12.5, 9, 6.25, 5])
def test_resize(tmp_path, rng, name, percent):
    files = make(tmp_path / "in", rng)
    said = harness.run(tmp_path / "in", "-r", "-f", "tiff", "--depth", "float", "-v", "--resize", f"{percent}%,filter={name}", tmp_path / "out").err
    shifts = []
    for file, samples in files.items():
        made = np.clip(255 * np.atleast_3d(tifffile.imread(tmp_path / "out" / f"{file}.tif")), 0, 255)
        size = tuple(int(n * percent / 100 + 0.5) for n in samples.shape[:2])
        by = reduction(samples, size)
        assert made.shape[:2] == size
        assert (f"{file}.jpg: is decoded at 1/{by}," in said) == (by > 1), (file, by, said)
        shifts.append(assert_like(made, samples, name, by, (file, percent, by)))
    assert np.abs(np.mean(shifts, axis=0)).max() < 0.01 and np.abs(shifts).max() < 0.04, shifts


@pytest.mark.some(2)
@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("factor, by", [(4, 2), (8, 4), (16, 8), (32, 8)])
def test_scale(tmp_path, rng, name, factor, by):
    """Borders apart, which follow --edge, and sizes that are no multiples, which are rounded up."""
    files = make(tmp_path / "in", rng)
    harness.run(tmp_path / "in", "-r", "-f", "png", "--scale", f"1/{factor},filter={name}", tmp_path / "out")
    for file, samples in files.items():
        made = read(tmp_path / "out" / f"{file}.png")
        size = tuple(-(-n // factor) for n in samples.shape[:2])
        assert made.shape[:2] == size
        padded = blocks(samples, 1)
        padded = np.pad(padded, ((0, -samples.shape[0] % factor), (0, -samples.shape[1] % factor), (0, 0)), "edge")
        inner = (slice(3, max(size[0] - 3, 4)), slice(3, max(size[1] - 3, 4)))
        expected = np.clip(resized(padded, size[::-1], name, by), 0, 255)
        assert psnr(made[inner], expected[inner]) > LEAST, (file, factor)
        assert psnr(made[inner], np.clip(resized(padded, size[::-1], name), 0, 255)[inner]) > 40, (file, factor)


@pytest.mark.parametrize("orientation", range(2, 9))
def test_turned_first(tmp_path, rng, orientation):
    """The picture is turned after it was reduced, so that the partial blocks are on the other sides."""
    exif = Image.Exif()
    exif[274] = orientation
    data = jpegfile.encode(picture(rng, 331, 443), quality=92, subsampling=0, exif=exif.tobytes())
    (tmp_path / "in.jpg").write_bytes(data)
    image = Image.fromarray(jpegfile.decode(data))
    image.getexif()[274] = orientation
    samples = np.asarray(ImageOps.exif_transpose(image))
    # TIFF 6.0: the first row is at the top (1, 2), at the bottom (3, 4), left (5, 8) or right (6, 7).
    mirrored = {2: (True, False), 3: (True, True), 4: (False, True), 5: (False, False), 6: (True, False), 7: (True, True),
                8: (False, True)}[orientation]
    said = harness.run(tmp_path / "in.jpg", "-v", "--resize", "53x53", tmp_path / "out.png").err
    assert "is decoded at 1/4" in said and "image of 443x331" in said
    made = read(tmp_path / "out.png")
    assert sorted(made.shape[:2]) == [40, 53] and (made.shape[0] > made.shape[1]) == (samples.shape[0] > samples.shape[1])
    assert np.abs(assert_like(made, samples, by=4, mirrored=mirrored)).max() < 0.02


@pytest.mark.some(4)
@pytest.mark.parametrize("orientation", [1, 3, 6])
@pytest.mark.parametrize("crop", [(301, 211, 37, 45), (320, 208, 32, 48), (100, 160, 0, 113), (237, 330, 206, 1), (64, 64, 77, 99)])
def test_cropped_first(tmp_path, rng, crop, orientation):
    """The part has every pixel that it touches, and begins within the first one. Its border mixes in what is beyond."""
    width, height, left, top = crop
    exif = Image.Exif()
    exif[274] = orientation
    data = jpegfile.encode(picture(rng, *((443, 331) if orientation == 6 else (331, 443))), quality=92, subsampling=0, exif=exif.tobytes())
    (tmp_path / "in.jpg").write_bytes(data)
    image = Image.fromarray(jpegfile.decode(data))
    image.getexif()[274] = orientation
    samples = np.asarray(ImageOps.exif_transpose(image))[top:top + height, left:left + width]
    size = (round(width / 8), round(height / 8))
    said = harness.run(tmp_path / "in.jpg", "-v", "--crop", f"{width}x{height}+{left}+{top}", "--resize", "{}x{},fit=exact".format(*size),
                       tmp_path / "out.png").err
    assert "is decoded at 1/" in said, said
    made, whole = read(tmp_path / "out.png"), np.clip(resized(samples, size), 0, 255)
    assert made.shape[:2] == size[::-1]
    assert psnr(made, whole) > 36 and psnr(made[1:-1, 1:-1], whole[1:-1, 1:-1]) > 40, (psnr(made, whole), psnr(made[1:-1, 1:-1], whole[1:-1, 1:-1]))
    # Phase correlation of 8 x 8 noisy pixels is off by up to 0.1 itself.
    assert np.abs(shift(whole, made)).max() < (0.15 if size == (8, 8) else 0.04)


@pytest.mark.some(2)
@pytest.mark.parametrize("words", [("--resize", "40x40,fit=cover"), ("--resize", "60x20,fit=exact"), ("--scale", "1/8,filter=lanczos"),
                                   ("--crop", "71%x53%+21+17", "--resize", "20x20")])
def test_same_bits(tmp_path, rng, words):
    """On kernels for CPUs and GPUs, in buffers and images, in slices and groups; --verify agrees."""
    files = make(tmp_path / "in", rng)
    ways = {f"{m}-{c}": (["-m", m], {"CLIMG_CLASS": c}) for m in ("buffer", "image") for c in ("cpu", "gpu")}
    ways |= {"slices": ([], {"CLIMG_SLICE": "3", "CLIMG_GROUP": "1"}), "verify": (["--verify=100%"], {})}
    for way, (options, env) in ways.items():
        harness.run(tmp_path / "in", "-r", "-f", "png", *words, *options, tmp_path / way, env=env)
    for file, way in itertools.product(files, ways):
        assert np.array_equal(read(tmp_path / way / f"{file}.png"), read(tmp_path / "buffer-cpu" / f"{file}.png")), (file, way)


def test_group_of_different_sizes(tmp_path, rng):
    """Pictures that have the same size only when they are reduced are not in one group."""
    files = {}
    (tmp_path / "in").mkdir()
    for i, size in enumerate([(161, 121), (164, 124), (161, 121), (163, 122)] * 3):
        data = jpegfile.encode(picture(rng, *size), quality=90)
        (tmp_path / "in" / f"{i}.jpg").write_bytes(data)
        files[f"{i}"] = jpegfile.decode(data)
    harness.run(tmp_path / "in", "-r", "-f", "png", "--resize", "20x20,fit=exact", tmp_path / "out")
    for file, samples in files.items():
        assert_like(read(tmp_path / "out" / f"{file}.png"), samples, by=4, context=file)


@pytest.mark.parametrize("words", [
    ("--resize", "20x20,full=yes"), ("--scale", "1/16,full=yes"), ("--resize", "20x20,filter=box"), ("--linear", "--resize", "20x20"),
    ("--range", "10,200", "--resize", "20x20"), ("--blur", "1", "--resize", "20x20"), ("--resize", "150x150"),
    ("--scale", "1/8,filter=nearest"), ("--scale", "1/8,antialias=no"), ("--scale", "1/8,grid=corners"), ("--scale", "1/8,filter=bspline"),
    ("--crop", "300x300+20+20", "--resize", "160x160"), ("--crop", "300x300+20+20", "--blur", "1", "--resize", "20x20"),
    ("--crop", "300x300+20+20")])
def test_decodes_all(tmp_path, rng, words):
    """The same samples as of a PNG, which is never reduced."""
    (tmp_path / "in.jpg").write_bytes(jpegfile.encode(picture(rng, 401, 399), subsampling=2))
    harness.run(tmp_path / "in.jpg", tmp_path / "in.png")
    harness.run(tmp_path / "in.png", *words, tmp_path / "expected.png")
    said = harness.run(tmp_path / "in.jpg", "-v", *words, tmp_path / "out.png").err
    assert "is decoded at" not in said
    assert np.array_equal(read(tmp_path / "out.png"), read(tmp_path / "expected.png"))


def test_says_the_size_of_the_file(tmp_path, rng):
    """-v, --report, resolution, limits and messages are about the full picture."""
    data = jpegfile.encode(picture(rng, 331, 443), dpi=(300, 300))
    (tmp_path / "in.jpg").write_bytes(data)
    words = [tmp_path / "in.jpg", "--resize", "40x40"]
    said = harness.run(*words, "-v", "--report", tmp_path / "report.jsonl", tmp_path / "out.jpg").err
    assert "image of 443x331" in said and "is decoded at 1/4" in said
    row = json.loads((tmp_path / "report.jsonl").read_text())
    assert row["from"] == {"width": 443, "height": 331, "channels": 3} and row["to"]["width"] == 40
    harness.run(tmp_path / "in.jpg", "--resize", "40x40,full=yes", tmp_path / "full.jpg")
    with Image.open(tmp_path / "out.jpg") as made, Image.open(tmp_path / "full.jpg") as full:
        assert made.size == full.size == (40, 30) and made.info["dpi"] == full.info["dpi"]
    said = harness.run(*words, "--max-pixels", "146632", tmp_path / "none.jpg", status=1).err
    assert "443x331 pixels are more than the limit" in said
    (tmp_path / "in.jpg").write_bytes(data[:len(data) // 2])
    said = harness.run(*words, tmp_path / "none.jpg", status=1).err
    assert "the file ends too early; decoded" in said and said.endswith("of 331 rows\n"), said
    (tmp_path / "in.jpg").write_bytes(data[:-2] + b"12345" * 20 + data[-2:])
    assert "decoded 331 of 331 rows" in harness.run(*words, tmp_path / "none.jpg", status=1).err
    (tmp_path / "in.jpg").write_bytes(data[:-2])
    assert "lacks the marker at its end" in harness.run(*words, tmp_path / "out.jpg", "-y").err


@pytest.mark.parametrize("edge", ["wrap", "zero"])
def test_borders_without_padding(tmp_path, rng, edge):
    """Rules that do not repeat the last pixels begin at the last pixel, not at the end of its block."""
    (tmp_path / "in.jpg").write_bytes(jpegfile.encode(picture(rng, 115, 203), subsampling=0))
    harness.run("in.jpg", "--scale", "1/8", "--edge", edge, "out.png", cwd=tmp_path)
    harness.run("in.jpg", "--scale", "1/8,full=yes", "--edge", edge, "whole.png", cwd=tmp_path)
    assert np.abs(read(tmp_path / "out.png") - read(tmp_path / "whole.png")).max() <= 3
