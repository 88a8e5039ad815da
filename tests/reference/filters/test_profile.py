"""--profile against Little CMS itself and Pillow's ImageCms: profiles of random primaries and curves, gray, tables; PNG's gAMA, cHRM
and cICP; alpha, floats, both kernel variants."""

import ctypes
import glob
import io
import json
import pathlib
import subprocess
import zlib

import numpy as np
import pytest
import skimage.color
from PIL import Image, ImageCms

import harness
import iccfile

lcms = ctypes.CDLL("liblcms2.so.2")
for function in ("cmsOpenProfileFromMem", "cmsCreateTransform", "cmsCreateLab4Profile"):
    getattr(lcms, function).restype = ctypes.c_void_p
PROPHOTO = ((0.7977, 0.288, 0), (0.1352, 0.7119, 0), (0.0313, 0.0001, 0.8249))  # XYZ
INTENTS = {"perceptual": 0, "relative": 1, "saturation": 2, "absolute": 3}
NO_SHORTCUTS, BLACK = 0x140, 0x2000  # cmsFLAGS_NOOPTIMIZE | NOCACHE; BLACKPOINTCOMPENSATION
WAYS = [{"CLIMG_CLASS": "cpu"}, {"CLIMG_CLASS": "gpu"}, {"CLIMG_CLASS": "gpu", "CLIMG_SLICE": "16"}]


def opened(icc):
    handle = lcms.cmsOpenProfileFromMem(icc, len(icc))
    assert handle
    return ctypes.c_void_p(handle)


def pixel_type(channels):
    return 1 << 22 | (4 if channels == 3 else 3) << 16 | channels << 3 | 4  # floats of PT_RGB or PT_GRAY


def converted(picture, source, target, out_channels, intent="relative", flags=0):
    """By Little CMS, in floats."""
    picture = np.ascontiguousarray(picture, np.float32)
    out = np.empty((*picture.shape[:2], out_channels), np.float32)
    transform = lcms.cmsCreateTransform(opened(source), pixel_type(picture.shape[2]), opened(target), pixel_type(out_channels),
                                        INTENTS[intent], NO_SHORTCUTS | flags)
    assert transform
    lcms.cmsDoTransform(ctypes.c_void_p(transform), picture.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p),
                        picture.shape[0] * picture.shape[1])
    return out


def draw_curve(rng, version):
    way = rng.integers(6 if version >= 4 else 3)
    gamma = rng.uniform(1, 2.8)
    if way == 0:
        return iccfile.curve(gamma)
    if way == 1:
        return iccfile.curve(*(np.linspace(0, 1, int(rng.choice([256, 1024, 4096]))) ** gamma))
    if way == 2:
        return iccfile.curve()
    if way == 3:
        return iccfile.parametric(0, gamma)
    if way == 4:
        return iccfile.parametric(3, *iccfile.SRGB)
    offset, slope = rng.uniform(0.02, 0.1), 0.0
    scale = 1 / (1 + offset)
    join = offset / (gamma - 1) if gamma > 1.1 else 0.0
    slope = (scale * join + scale * offset) ** gamma / join if join else 0.0
    return iccfile.parametric(3, gamma, scale, scale * offset, slope, join) if join else iccfile.parametric(0, gamma)


def draw_columns(rng):
    """Red, green and blue whose sum is D50."""
    xy = np.array([[0.64, 0.33], [0.28, 0.62], [0.15, 0.06]]) + rng.uniform(-0.05, 0.05, (3, 2))
    columns = np.stack([xy[:, 0] / xy[:, 1], np.ones(3), (1 - xy.sum(axis=1)) / xy[:, 1]], axis=1)
    return columns * np.linalg.solve(columns.T, iccfile.D50)[:, None]


def draw_matrix(rng):
    version = int(rng.choice([2, 4]))
    same = draw_curve(rng, version)
    return iccfile.rgb(version, draw_columns(rng), [same if rng.random() < 0.7 else draw_curve(rng, version) for _ in range(3)])


def draw_picture(rng, channels, width=67, height=41, dull=1):
    """Noise of all brightnesses, and ramps of gray."""
    picture = rng.uniform(0, 1, (height, width, channels)) ** rng.choice([1, 1, 3], (height, width, 1))
    picture[0] = np.linspace(0, 1, width)[:, None]
    if dull < 1:
        picture = 0.2 + 0.6 * (picture.mean(axis=2, keepdims=True) * (1 - dull) + dull * picture)
    return picture


def write(path, picture, icc, bits=8):
    """A TIFF with a profile, of integers or (bits 32) floats."""
    dtype = {8: np.uint8, 16: np.uint16, 32: np.float32}[bits]
    samples = picture.astype(dtype) if bits == 32 else np.rint(picture * (2 ** bits - 1)).astype(dtype)
    harness.tifffile.imwrite(path, samples if samples.shape[2] > 1 else samples[..., 0], extratags=[(34675, 7, len(icc), icc, True)] if icc else [],
                             photometric="rgb" if samples.shape[2] > 1 else "minisblack")
    return samples / (1 if bits == 32 else 2 ** bits - 1)


def light(picture, icc):
    columns = [(0.436, 0.222, 0.014), (0.385, 0.717, 0.097), (0.1432, 0.061, 0.7139)]
    linear = iccfile.gray(4, iccfile.curve()) if picture.shape[2] == 1 else iccfile.rgb(4, columns, [iccfile.curve()] * 3)
    return converted(picture, icc, linear, picture.shape[2])


def rounding(picture, icc):
    """The largest change of light if each channel is off by half a count of 8 bits."""
    total = 0
    for channel in np.eye(picture.shape[2]) / 510:
        total = total + np.maximum(*(np.abs(light(np.clip(picture + step, 0, 1), icc) - light(picture, icc)) for step in (channel, -channel)))
    return total


def check(folder, rng, source, target, intent="relative", black="no", channels=3, out_channels=3, tolerance=0.0015, counts=1, dull=1):
    """Floats and 8 bit, all ways with the same bits."""
    (folder / "target.icc").write_bytes(target)
    for bits in (32, 16, 8):
        given = write(folder / "in.tif", draw_picture(rng, channels, dull=dull), source, bits)
        expected = converted(given, source, target, out_channels, intent, BLACK if black == "yes" else 0)
        outs = []
        for env in WAYS[:3 if bits == 32 else 1]:
            done = harness.run("-y", "in.tif", "--profile", f"target.icc,intent={intent},blackpoint={black}", *(["--depth", "float"] if bits != 8 else []),
                               "out.tif", cwd=folder, env=env)
            outs.append(harness.read_tiff(folder / "out.tif").reshape(expected.shape))
            assert np.array_equal(outs[0], outs[-1]), done
        out, expected = np.clip(outs[0] / (255 if bits == 8 else 1), 0, 1), np.clip(expected, 0, 1)
        far = np.abs(out - expected) > (tolerance if bits != 8 else (counts + 0.01) / 255)
        # Little CMS inverts tables by 4096 samples, which is coarse in the dark: there the light is compared. Of 8 bits each channel is
        # rounded by half a count, and a channel of light has shares of all of them.
        allowed = 2e-4 + (rounding(out, target) if bits == 8 else 0)
        assert not (far & (np.abs(light(out, target) - light(expected, target)) > allowed)).any(), (bits, np.abs(out - expected).max(), done)
        with harness.tifffile.TiffFile(folder / "out.tif") as tiff:
            assert tiff.pages[0].tags["InterColorProfile"].value == target


@pytest.mark.parametrize("number", range(harness.some(6, 200)))
def test_matrices(tmp_path, rng, number):
    check(tmp_path, rng, draw_matrix(rng), draw_matrix(rng), intent=str(rng.choice(list(INTENTS))), black=str(rng.choice(["yes", "no"])))


def test_absolute(tmp_path, rng):
    """White of the media of scanners: of monitors of version 2 it is ignored."""
    curves = [iccfile.curve(1.8)] * 3
    for kind in ("mntr", "scnr"):
        source = iccfile.rgb(2, draw_columns(rng), curves, kind=kind, wtpt=iccfile.xyz(0.8, 0.84, 0.66))
        check(tmp_path, rng, source, draw_matrix(rng), intent="absolute")


@pytest.mark.parametrize("version", [2, 4])
def test_gray(tmp_path, rng, version):
    gray, colour = iccfile.gray(version, draw_curve(rng, version)), draw_matrix(rng)
    check(tmp_path, rng, gray, colour, channels=1)
    check(tmp_path, rng, colour, gray, out_channels=1)
    check(tmp_path, rng, gray, iccfile.gray(version, iccfile.curve(1.8)), channels=1, out_channels=1)
    lightness = iccfile.gray(version, iccfile.curve(), "Lab ")
    check(tmp_path, rng, lightness, colour, channels=1, tolerance=0.008, counts=2)


@pytest.mark.parametrize("intent", harness.some(["relative"], list(INTENTS)))
def test_tables(tmp_path, rng, intent):
    """Colours that both sides hold: at the border of a gamut a table of 33 nodes is as far off as Little CMS's own."""
    printer, wide = iccfile.printer(33), iccfile.rgb(2, PROPHOTO, [draw_curve(rng, 2)] * 3)
    for black in ("no", "yes"):
        check(tmp_path, rng, printer, wide, intent, black, tolerance=0.008, counts=2)
        check(tmp_path, rng, iccfile.rgb(2, draw_columns(rng), [draw_curve(rng, 2)] * 3), printer, intent, black, tolerance=0.008, counts=2, dull=0.25)


FREE = sorted(path for path in glob.glob("/usr/share/color/icc/**/*.ic[cm]", recursive=True)
              if pathlib.Path(path).read_bytes()[16:20] in (b"RGB ", b"GRAY") and pathlib.Path(path).read_bytes()[12:16] in (b"mntr", b"scnr", b"prtr", b"spac"))


@pytest.mark.some(10)
@pytest.mark.parametrize("path", FREE)
def test_free_profiles(tmp_path, rng, path):
    icc = pathlib.Path(path).read_bytes()
    channels = 3 if icc[16:20] == b"RGB " else 1
    check(tmp_path, rng, icc, draw_matrix(rng), channels=channels, tolerance=0.008, counts=2)


def test_pillow(tmp_path, rng):
    """Pillow's ImageCms, 8 bit: in a PNG and a JPEG."""
    source, target = draw_matrix(rng), ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    picture = Image.fromarray(np.rint(draw_picture(rng, 3) * 255).astype(np.uint8))
    expected = ImageCms.profileToProfile(picture, ImageCms.ImageCmsProfile(io.BytesIO(source)), ImageCms.ImageCmsProfile(io.BytesIO(target)),
                                         renderingIntent=1, flags=NO_SHORTCUTS)
    picture.save(tmp_path / "in.png", icc_profile=source)
    harness.run("in.png", "--profile", "srgb", "out.png", cwd=tmp_path)
    with Image.open(tmp_path / "out.png") as out:
        assert np.abs(np.asarray(out).astype(int) - np.asarray(expected)).max() <= 1
        name = ImageCms.getProfileDescription(ImageCms.ImageCmsProfile(io.BytesIO(out.info["icc_profile"])))
        assert name.strip() == "sRGB"


# xy of white and primaries, and exponents: the standards' numbers.
BUILTIN = {"srgb": (((0.3127, 0.329), (0.64, 0.33), (0.3, 0.6), (0.15, 0.06)), None),
           "p3": (((0.3127, 0.329), (0.68, 0.32), (0.265, 0.69), (0.15, 0.06)), None),
           "adobe": (((0.3127, 0.329), (0.64, 0.33), (0.21, 0.71), (0.15, 0.06)), 563 / 256)}


def to_xyz(places):
    columns = np.array([(x / y, 1, (1 - x - y) / y) for x, y in places[1:]]).T
    x, y = places[0]
    return columns * np.linalg.solve(columns, (x / y, 1, (1 - x - y) / y))


def decode(v, exponent):
    return v ** exponent if exponent else np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def encode(v, exponent):
    v = np.clip(v, 0, None)
    return v ** (1 / exponent) if exponent else np.where(v <= 0.0031308, v * 12.92, 1.055 * v ** (1 / 2.4) - 0.055)


@pytest.mark.parametrize("word", BUILTIN)
def test_builtin(tmp_path, rng, word):
    """A picture that says nothing is sRGB, floats are its light; alpha stays, and colour is what it is without alpha."""
    places, exponent = BUILTIN[word]
    matrix = np.linalg.solve(to_xyz(places), to_xyz(BUILTIN["srgb"][0]))
    for bits in (8, 16, 32):
        picture = draw_picture(rng, 4)
        picture[..., 3] = rng.uniform(0.2, 1, picture.shape[:2])
        dtype = {8: np.uint8, 16: np.uint16, 32: np.float32}[bits]
        full = 1 if bits == 32 else 2 ** bits - 1
        samples = (picture if bits == 32 else np.rint(picture * full)).astype(dtype)
        harness.tifffile.imwrite(tmp_path / "in.tif", samples, photometric="rgb", extrasamples=["unassalpha"])
        light = samples[..., :3] / full if bits == 32 else decode(samples[..., :3] / full, None)
        expected = light @ matrix.T
        harness.run("-y", "in.tif", "--profile", word, "--depth", "float", "out.tif", cwd=tmp_path)
        out = harness.read_tiff(tmp_path / "out.tif")
        assert np.abs(decode(np.clip(out[..., :3], 0, None), exponent) - np.clip(expected, 0, None)).max() < 5e-5
        assert np.abs(out[..., 3] - samples[..., 3] / full).max() < 1e-6


@pytest.mark.parametrize("icc", ["matrix", "printer"])
def test_linear(tmp_path, rng, icc):
    """In linear light the same colours, also of a folder whose small pictures are done together."""
    (tmp_path / "in").mkdir()
    for i in range(4):
        write(tmp_path / "in" / f"{i}.tif", draw_picture(rng, 3), draw_matrix(np.random.default_rng(i // 2)) if icc == "matrix" else iccfile.printer(), 16)
    results = []
    for words in ("", "--linear"):
        harness.run("-y", *words.split(), "in", "--profile", "p3", "--depth", "float", f"out{words}", cwd=tmp_path)
        results.append([harness.read_tiff(tmp_path / f"out{words}" / f"{i}.tif") for i in range(4)])
    assert np.abs(np.clip(results, 0, 1)[0] - np.clip(results, 0, 1)[1]).max() < (1e-4 if icc == "matrix" else 2e-3)


@pytest.mark.parametrize("target", ["p3", "gray", "lightness.icc"])
def test_linear_lightness(tmp_path, rng, target):
    """A gray profile whose samples are L*: without and with --linear what the formula of L* says, in both directions."""
    (tmp_path / "lightness.icc").write_bytes(iccfile.gray(4, iccfile.curve(), "Lab "))
    source = iccfile.gray(2, iccfile.curve(1.8), "Lab ")
    given = write(tmp_path / "in.tif", draw_picture(rng, 1), source, 16)
    lightness = 100 * given ** (round(1.8 * 256) / 256)
    f = (lightness + 16) / 116
    expected = lightness / 100 if target == "lightness.icc" else encode(np.where(lightness > 8, f ** 3, lightness * 27 / 24389), None)
    for words in ([], ["--linear"]):
        harness.run("-y", *words, "in.tif", "--profile", target, "--depth", "float", "out.tif", cwd=tmp_path)
        out = harness.read_tiff(tmp_path / "out.tif").reshape(*given.shape[:2], -1)
        assert np.abs(out - expected).max() < 1.5e-3, words


def test_bright_light(tmp_path):
    """Light of floats far above white. Infinite light becomes no number: infinity, or NaN after the matrix (infinity - infinity)."""
    light = np.array([[0.5, 100, 255, 300, 5000, 65000, -300, np.inf, -np.inf]], np.float32)
    harness.write_tiff(tmp_path / "in.tif", np.repeat(light[..., None], 3, 2))
    expected = np.copysign(1.055 * np.abs(light.astype(float)) ** (1 / 2.4) - 0.055, light)
    for form in ("cpu", "gpu"):
        harness.run("in.tif", "--profile", "srgb", "out.tif", cwd=tmp_path, env={"CLIMG_CLASS": form})
        out = harness.read_tiff(tmp_path / "out.tif")
        np.testing.assert_allclose(out[:, :7], np.repeat(expected[:, :7, None], 3, 2), rtol=1e-5)
        assert not np.isfinite(out[:, 7:]).any()


def test_nan(tmp_path):
    picture = np.full((3, 5, 3), 0.5, np.float32)
    picture[1, 2, 1] = np.nan
    picture[2, 0] = np.inf
    for target in ("p3", "printer.icc"):
        (tmp_path / "printer.icc").write_bytes(iccfile.printer())
        write(tmp_path / "in.tif", picture, None, 32)
        harness.run("-y", "in.tif", "--profile", target, "out.tif", cwd=tmp_path)
        out = harness.read_tiff(tmp_path / "out.tif")
        assert np.isnan(out[1, 2]).all() and np.isfinite(out[1, 1]).all() and np.isnan(out).sum() <= 6


@pytest.mark.parametrize("version", [2, 4])
def test_png_chunks(tmp_path, rng, version):
    """gAMA with cHRM, and cICP; all are gone afterwards."""
    samples = np.rint(draw_picture(rng, 3) * 255).astype(np.uint8)
    png = io.BytesIO()
    Image.fromarray(samples).save(png, "PNG")
    places = np.array([[0.3127, 0.329], [0.63, 0.34], [0.29, 0.61], [0.155, 0.07]])
    if version == 2:
        chunks = [(b"gAMA", (55556).to_bytes(4, "big")), (b"cHRM", b"".join(round(v * 1e5).to_bytes(4, "big") for v in places.ravel()))]
        exponent = 1 / 0.55556
    else:
        chunks, places, exponent = [(b"cICP", bytes((12, 13, 0, 1)))], BUILTIN["p3"][0], None
    (tmp_path / "in.png").write_bytes(with_chunks(png.getvalue(), chunks))
    expected = encode(decode(samples / 255, exponent) @ np.linalg.solve(to_xyz(BUILTIN["srgb"][0]), to_xyz(places)).T, None)
    harness.run("in.png", "--profile", "srgb", "out.png", cwd=tmp_path)
    with Image.open(tmp_path / "out.png") as out:
        assert np.abs(np.asarray(out) / 255 - np.clip(expected, 0, 1)).max() < 1.01 / 255
    assert not any(name in (tmp_path / "out.png").read_bytes() for name in (b"gAMA", b"cHRM", b"cICP", b"sRGB\0\0\0"))


def with_chunks(png, chunks):
    added = b"".join(len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big") for name, data in chunks)
    return png[:33] + added + png[33:]

def gamma_chunk(exponent):
    return b"gAMA", round(1e5 / exponent).to_bytes(4, "big")


P3 = (b"cICP", bytes((12, 13, 0, 1)))
P3_PRIMARIES = (b"cHRM", b"".join(round(v * 1e5).to_bytes(4, "big") for v in np.ravel(BUILTIN["p3"][0])))


@pytest.mark.parametrize("chunk, places, exponent, suffix, most", [
    (*colours, suffix, most) for suffix, most in (("tif", 1.5), ("webp", 1.5), ("jpg", 6))
    for colours in ((gamma_chunk(1), BUILTIN["srgb"][0], 1), (P3, BUILTIN["p3"][0], None), (P3_PRIMARIES, BUILTIN["p3"][0], None))
    if (suffix, colours[0]) != ("tif", P3_PRIMARIES)])  # a TIFF has tags for primaries
def test_formats_without_chunks_of_colour_get_a_profile(chunk, places, exponent, suffix, most, rng, tmp_path):
    """The samples stay; Pillow, which follows the profile alone, shows the colours that the chunk meant."""
    ramp = np.linspace(0.35, 0.65, 40)
    picture = np.stack(np.broadcast_arrays(ramp[:, None], ramp, 0.5), axis=2)
    samples = np.rint(picture * 255).astype(np.uint8)
    png = io.BytesIO()
    Image.fromarray(samples).save(png, "PNG")
    (tmp_path / "in.png").write_bytes(with_chunks(png.getvalue(), [chunk]))
    lossless = [] if suffix == "tif" else ["--lossless"] if suffix == "webp" else ["--quality", "100"]
    harness.run("in.png", *lossless, "out." + suffix, cwd=tmp_path)
    light = decode(samples / 255, exponent) @ np.linalg.solve(to_xyz(BUILTIN["srgb"][0]), to_xyz(places)).T
    expected = encode(np.clip(light, 0, 1), None)
    with Image.open(tmp_path / ("out." + suffix)) as out:
        assert np.abs(np.asarray(out, int) - samples).max() <= (0 if suffix != "jpg" else 6)
        profile = ImageCms.ImageCmsProfile(io.BytesIO(out.info["icc_profile"]))
        shown = ImageCms.profileToProfile(out, profile, ImageCms.createProfile("sRGB"), outputMode="RGB")
    assert np.abs(np.asarray(shown) / 255 - expected).max() < most / 255


def test_formats_without_a_place_for_colours_say_so(tmp_path):
    png = io.BytesIO()
    Image.fromarray(np.full((4, 5, 3), 99, np.uint8)).save(png, "PNG")
    gray = io.BytesIO()
    Image.fromarray(np.full((4, 5), 99, np.uint8)).save(gray, "PNG")
    light, usual = gamma_chunk(1), gamma_chunk(2.2)
    for name, data, chunk in (("p3", png, P3), ("light", gray, light), ("usual", png, usual), ("usualgray", gray, usual)):
        (tmp_path / f"{name}.png").write_bytes(with_chunks(data.getvalue(), [chunk]))
    for name, suffix in (("p3", "ppm"), ("light", "pgm"), ("light", "webp"), ("light", "y4m")):
        said = harness.run(f"{name}.png", f"out.{suffix}", "-y", cwd=tmp_path).err
        assert f"loses its colour space, {'cICP 12/13' if name == 'p3' else 'gAMA 1.00000'}, which " in said
        assert "--profile auto" in said
        harness.run(f"{name}.png", "--profile", "auto", f"out.{suffix}", "-y", cwd=tmp_path)
    for name, suffix in (("usual", "ppm"), ("usual", "webp"), ("usual", "jpg"), ("usualgray", "pgm"), ("usualgray", "webp")):
        assert harness.run(f"{name}.png", f"out.{suffix}", "-y", cwd=tmp_path).err == ""
        assert b"ICC" not in (tmp_path / f"out.{suffix}").read_bytes()



def test_damaged_source(tmp_path, rng):
    """A profile that cannot be used is a warning, and sRGB."""
    icc = bytearray(draw_matrix(rng))
    icc[128:132] = (1 << 30).to_bytes(4, "big")
    write(tmp_path / "in.tif", draw_picture(rng, 3), bytes(icc))
    done = harness.run("in.tif", "--profile", "p3", "out.tif", cwd=tmp_path)
    assert "is taken for sRGB, as its ICC profile cannot be used" in done.err


@pytest.mark.parametrize("target", ["nothing.icc", "cmyk.icc", "noise.icc"])
def test_wrong_target(tmp_path, rng, target):
    (tmp_path / "cmyk.icc").write_bytes(iccfile.printer(5, "CMYK"))
    (tmp_path / "noise.icc").write_bytes(rng.bytes(3000))
    write(tmp_path / "in.tif", draw_picture(rng, 3), None)
    done = harness.run("in.tif", "--profile", target, "out.tif", cwd=tmp_path, status=1)
    assert target in done.err and not (tmp_path / "out.tif").exists()


def test_gray_weighs_by_primaries(tmp_path, rng):
    """The luminance of Display P3 and of a version 2 profile, whose white is D65: their matrices are adapted to D50."""
    cones = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
    for word in ("p3", "adobe"):
        matrix = to_xyz(BUILTIN[word][0])
        white = matrix.sum(axis=1)
        adapted = np.linalg.solve(cones, np.diag((cones @ iccfile.D50) / (cones @ white)) @ cones) @ matrix
        icc = iccfile.rgb(2, adapted.T, [iccfile.curve(2.2)] * 3, wtpt=iccfile.xyz(*white))
        given = write(tmp_path / "in.tif", draw_picture(rng, 3), icc, 16)
        harness.run("-y", "in.tif", "--gray", "--depth", "float", "out.tif", cwd=tmp_path)
        assert np.abs(harness.read_tiff(tmp_path / "out.tif").reshape(given.shape[:2]) - given @ matrix[1]).max() < 1e-4


def icc_of(path):
    with Image.open(path) as image:
        return image.info["icc_profile"]


def shown(path):
    """8 bit of sRGB, as a viewer with Little CMS shows a file."""
    srgb = ImageCms.createProfile("sRGB")
    with Image.open(path) as image:
        source = ImageCms.ImageCmsProfile(io.BytesIO(image.info["icc_profile"]))
        return np.asarray(ImageCms.profileToProfile(image, source, srgb, renderingIntent=1, outputMode="RGB", flags=NO_SHORTCUTS)).astype(int)


@pytest.mark.parametrize("name", ["out.png", "out.tif", "out.jpg"])
@pytest.mark.parametrize("kind", ["matrix", "printer"])
def test_gray_looks_as_bright(tmp_path, rng, kind, name):
    """Grays of a picture of RGB look the same after --gray: a profile of gray has their curve."""
    curve = draw_curve(rng, 4)
    icc = iccfile.printer() if kind == "printer" else iccfile.rgb(4, draw_columns(rng), [curve] * 3)
    ramp = np.repeat(np.tile(np.arange(256, dtype=np.uint8), (16, 1))[..., None], 3, axis=2)
    Image.fromarray(ramp).save(tmp_path / "in.png", icc_profile=icc)
    for words in (["--gray"], ["--linear", "--gray"], ["--gray=G"], ["--profile", "adobe", "--gray"], ["--gray", "--flip", "h", "--flip", "h"]):
        harness.run("-y", "in.png", *words, *(["--quality", "100"] if name == "out.jpg" else []), name, cwd=tmp_path)
        assert icc_of(tmp_path / name)[16:20] == b"GRAY"
        bright = shown(tmp_path / "in.png") @ [0.2126, 0.7152, 0.0722]  # a printer's grays are tinted
        assert np.abs(shown(tmp_path / name)[..., 1] - bright)[:, 8:].max() <= (3 if kind == "printer" else 2), words


def test_gray_of_light(tmp_path, rng):
    """With --linear the light of the output, by its own profile, is the sum of the light of the channels."""
    matrix = to_xyz(BUILTIN["adobe"][0])
    given = write(tmp_path / "in.tif", draw_picture(rng, 3), None, 16)
    harness.run("in.tif", "--profile", "adobe", "--depth", "16", "wide.tif", cwd=tmp_path)
    harness.run("wide.tif", "--linear", "--gray", "--depth", "float", "out.tif", cwd=tmp_path)
    with harness.tifffile.TiffFile(tmp_path / "out.tif") as tiff:
        icc = tiff.pages[0].tags["InterColorProfile"].value
    got = light(harness.read_tiff(tmp_path / "out.tif").reshape(*given.shape[:2], 1), icc)[..., 0]
    wide = harness.read_tiff(tmp_path / "wide.tif") / 65535
    assert np.abs(got - decode(wide, 563 / 256) @ matrix[1]).max() < 1e-4


def test_gray_of_srgb(tmp_path, rng):
    """sRGB's grays have the profile of --profile gray, also of cICP; without a profile there is none; gray with a profile of RGB gets it, too."""
    samples = np.rint(draw_picture(rng, 3) * 255).astype(np.uint8)
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    Image.fromarray(samples).save(tmp_path / "in.png")
    harness.run("in.png", "--profile", "gray", "gray.png", cwd=tmp_path)
    harness.run("in.png", "--gray", "none.png", cwd=tmp_path)
    with Image.open(tmp_path / "none.png") as image:
        assert "icc_profile" not in image.info
    (tmp_path / "c.png").write_bytes(with_chunks((tmp_path / "in.png").read_bytes(), [(b"cICP", bytes((1, 13, 0, 1)))]))
    Image.fromarray(samples).save(tmp_path / "s.png", icc_profile=srgb)
    Image.fromarray(samples[..., 0]).save(tmp_path / "g.tif", icc_profile=srgb)
    for name, words in (("c.png", ["--gray"]), ("s.png", ["--gray"]), ("g.tif", ["--invert"]), ("g.tif", []), ("in.png", ["--profile", "srgb", "--gray"])):
        harness.run("-y", name, *words, "out.png", cwd=tmp_path)
        assert icc_of(tmp_path / "out.png") == icc_of(tmp_path / "gray.png"), name


def test_gray_of_pq(tmp_path):
    """A signal of 58% is white; what is brighter is white, too."""
    ramp = np.repeat(np.tile(np.arange(256, dtype=np.uint8), (4, 1))[..., None], 3, axis=2)
    png = io.BytesIO()
    Image.fromarray(ramp).save(png, "PNG")
    (tmp_path / "in.png").write_bytes(with_chunks(png.getvalue(), [(b"cICP", bytes((9, 16, 0, 1)))]))
    harness.run("in.png", "--gray", "out.png", cwd=tmp_path)
    p = (ramp[0, :, 0] / 255) ** (1 / 78.84375)
    nits = 10000 * (np.clip(p - 0.8359375, 0, None) / (18.8515625 - 18.6875 * p)) ** (1 / 0.1593017578125)
    assert np.abs(shown(tmp_path / "out.png")[0, :, 1] - 255 * encode(np.clip(nits / 203, 0, 1), None)).max() <= 2


def print_colours(rng):
    """CMYK without colours that all programs clip in their own ways."""
    inks = rng.integers(0, 200, (40, 56, 4)).astype(np.uint8)
    inks[..., 3] //= 2
    inks[0, :5] = [[0, 0, 0, 0], [0, 0, 0, 255], [255, 0, 0, 0], [0, 255, 0, 0], [0, 0, 255, 0]]
    return inks


@pytest.mark.parametrize("word", ["", "p3"])
def test_cmyk(tmp_path, rng, word):
    """JPEG (CMYK and YCCK are inverted) and TIFF of 8 and 16 bit: against Pillow, into sRGB or what --profile names."""
    inks, icc = print_colours(rng), iccfile.printer(9, "CMYK")
    harness.run("-y", harness.SAMPLES / "scene.png", "--profile", word or "srgb", "t.png", cwd=tmp_path)
    with Image.open(tmp_path / "t.png") as target:
        target = ImageCms.ImageCmsProfile(io.BytesIO(target.info["icc_profile"]))
    picture = Image.fromarray(inks, "CMYK")
    for name, more in (("in.jpg", {"quality": 95}), ("in.tif", {})):
        picture.save(tmp_path / name, icc_profile=icc, **more)
        with Image.open(tmp_path / name) as read:
            expected = np.asarray(ImageCms.profileToProfile(read, ImageCms.ImageCmsProfile(io.BytesIO(icc)), target, renderingIntent=1,
                                                            outputMode="RGB", flags=BLACK)).astype(int)
        done = harness.run("-y", name, *(["--profile", word] if word else []), "out.png", cwd=tmp_path)
        assert done.err == ("" if word else f"climg: {name}: warning: is converted from CMYK to sRGB, as climg does not write it\n")
        with Image.open(tmp_path / "out.png") as out:
            assert np.abs(np.asarray(out).astype(int) - expected).max() <= 2
            assert out.mode == "RGB" and out.info["icc_profile"][16:20] == b"RGB "
    harness.tifffile.imwrite(tmp_path / "in16.tif", inks.astype(np.uint16) * 257, photometric="separated", extratags=[(34675, 7, len(icc), icc, True)])
    harness.run("-y", "in16.tif", *(["--profile", word] if word else []), "out16.png", cwd=tmp_path)
    assert np.abs(harness.read_samples(tmp_path / "out16.png") / 257 - expected).max() <= 2


@pytest.mark.parametrize("stages", ["", "--blur 2", "--rotate 90", "--resize 10x10"])
def test_cmyk_jpeg_becomes_rgb(tmp_path, rng, stages):
    """Also where a JPEG of RGB would be copied, turned without loss, or decoded smaller. The file itself becomes RGB only by --profile."""
    Image.fromarray(print_colours(rng), "CMYK").save(tmp_path / "in.jpg", icc_profile=iccfile.printer(9, "CMYK"))
    harness.run("in.jpg", *stages.split(), "out.jpg", cwd=tmp_path)
    with Image.open(tmp_path / "out.jpg") as out:
        assert out.mode == "RGB" and out.info["icc_profile"][16:20] == b"RGB "
    before = (tmp_path / "in.jpg").read_bytes()
    assert "--in-place would lose the inks of CMYK; write to another file" in harness.run("--in-place", tmp_path / "in.jpg", *stages.split(), status=1).err
    assert (tmp_path / "in.jpg").read_bytes() == before
    harness.run("--in-place", tmp_path / "in.jpg", "--profile", "srgb", *stages.split())


def test_cmyk_without_profile(tmp_path, rng):
    inks = print_colours(rng)
    for dtype in (np.uint8, np.uint16):
        full = np.iinfo(dtype).max
        harness.tifffile.imwrite(tmp_path / "in.tif", inks.astype(dtype) * (full // 255), photometric="separated")
        done = harness.run("-y", "in.tif", "out.tif", cwd=tmp_path)
        assert "is CMYK without a profile that can be used; its colours are approximate" in done.err
        expected = (1 - inks[..., :3] / 255) * (1 - inks[..., 3:] / 255)
        assert np.abs(harness.read_samples(tmp_path / "out.tif") / full - expected).max() <= 0.51 / full + 1e-6


LAB_ENCODINGS = [(photometric, bits) for photometric in (8, 9) for bits in (8, 16)]


def write_lab(path, lab, photometric, bits, tags=()):
    """CIE L*a*b*, whose a* and b* are signed, or (9) ICC's. Returns L*a*b* as stored."""
    unit, full = (1, 255) if bits == 8 else (256, 65535 if photometric == 8 else 65280)
    numbers = np.rint(lab * [full / 100, unit, unit]).astype(int)
    offset = 0 if photometric == 8 else 128 * unit
    harness.tifffile.imwrite(path, ((numbers + [0, offset, offset]) & (2 ** bits - 1)).astype(f"u{bits // 8}"),
                             photometric="cielab" if photometric == 8 else "icclab", extratags=tags)
    return numbers / [full / 100, unit, unit]


def white_tag(white):
    return [(318, 5, 2, tuple(number for v in white for number in (round(v * 1e6), 1000000)), True)] if white else []


@pytest.mark.parametrize("white", [None, (0.3127, 0.329), (0.44758, 0.40745)])
@pytest.mark.parametrize("photometric, bits", LAB_ENCODINGS)
def test_lab(tmp_path, rng, photometric, bits, white):
    """The grays and colours of sRGB, by the formulas: relative to WhitePoint, or to D50 without it."""
    rgb = rng.integers(0, 256, (20, 30, 3)) / 255
    relative_to = np.array(iccfile.D50 if white is None else (white[0] / white[1], 1, (1 - sum(white)) / white[1]))
    cones = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
    matrix = to_xyz(BUILTIN["srgb"][0])
    adapted = np.linalg.solve(cones, np.diag((cones @ relative_to) / (cones @ matrix.sum(axis=1))) @ cones) @ matrix
    ratio = decode(rgb, None) @ adapted.T / relative_to

    def lightness(ratio):
        return np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)

    f = lightness(ratio)
    lab = np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)
    write_lab(tmp_path / "in.tif", lab, photometric, bits, white_tag(white))
    harness.run("in.tif", "out.png", cwd=tmp_path)
    out = harness.read_samples(tmp_path / "out.png") / (2 ** bits - 1)
    again = decode(out, None) @ adapted.T / relative_to
    assert np.abs(lightness(again) - f).max() < (0.015 if bits == 8 else 0.002)


def test_lab_of_scikit_image(tmp_path, rng):
    """Its L*a*b* are relative to D65."""
    rgb = rng.integers(0, 256, (20, 30, 3)).astype(np.uint8)
    write_lab(tmp_path / "in.tif", skimage.color.rgb2lab(rgb), 8, 16, white_tag((0.3127, 0.329)))
    harness.run("in.tif", "--depth", "8", "out.png", cwd=tmp_path)
    assert np.abs(harness.read_samples(tmp_path / "out.png").astype(int) - rgb).max() <= 1
    assert "--in-place would lose the colours of L*a*b*" in harness.run("--in-place", "in.tif", cwd=tmp_path, status=1).err


@pytest.mark.parametrize("photometric, bits", LAB_ENCODINGS)
def test_lab_profile(tmp_path, rng, photometric, bits):
    """A profile of L*a*b*, here of half its chroma, counts more than WhitePoint; one of RGB does not count."""
    nodes = 3
    half = [v for i in range(nodes ** 3) for v in (i // 9 / 2, *((128 / 255 + (i // k % 3 / 2 * 65535 / 65280 - 128 / 255) / 2) * 65280 / 65535 for k in (3, 1)))]
    half = iccfile.profile(2, "spac", "Lab ", "Lab ", {"A2B0": iccfile.lut(3, 3, nodes, half)})
    for icc, share in ((half, 0.5), (draw_matrix(rng), 1)):
        lab = np.stack([rng.uniform(45, 65, (9, 11)), *rng.uniform(-18, 18, (2, 9, 11))], axis=-1)
        tags = [(34675, 7, len(icc), icc, True)]
        stored = write_lab(tmp_path / "in.tif", lab, photometric, bits, tags + (white_tag((0.44758, 0.40745)) if share < 1 else []))
        harness.run("-y", "in.tif", "out.png", cwd=tmp_path)
        back = np.empty_like(lab, np.float32)
        out = np.ascontiguousarray(harness.read_samples(tmp_path / "out.png") / (2 ** bits - 1), np.float32)
        transform = lcms.cmsCreateTransform(opened(icc_of(tmp_path / "out.png")), pixel_type(3), ctypes.c_void_p(lcms.cmsCreateLab4Profile(None)), 0x4A001C, 1,
                                            NO_SHORTCUTS)
        lcms.cmsDoTransform(ctypes.c_void_p(transform), out.ctypes.data_as(ctypes.c_void_p), back.ctypes.data_as(ctypes.c_void_p), out.size // 3)
        assert np.abs(back - stored * [1, share, share]).max() < (1 if bits == 8 else 0.1), share


def test_strip_converts(tmp_path, rng):
    """A profile that is not sRGB is applied before it is dropped, also of gray and after other stages; the chain's own --profile stays."""
    wide, samples = iccfile.rgb(4, PROPHOTO, [iccfile.curve(1.8)] * 3), draw_picture(rng, 3, dull=0.3)
    Image.fromarray(np.rint(samples * 255).astype(np.uint8)).save(tmp_path / "in.png", icc_profile=wide)
    done = harness.run("in.png", "--strip", "out.png", cwd=tmp_path)
    assert "is converted from test to sRGB, as --strip drops profiles" in done.err
    harness.run("in.png", "--profile", "srgb", "expected.png", cwd=tmp_path)
    assert np.array_equal(harness.read_samples(tmp_path / "out.png"), harness.read_samples(tmp_path / "expected.png"))
    with Image.open(tmp_path / "out.png") as out:
        assert "icc_profile" not in out.info
    for words, mode, size in ((["--gray"], "L", None), (["--profile", "p3"], "RGB", 500)):
        harness.run("-y", "in.png", *words, "--strip", "out.png", cwd=tmp_path)
        with Image.open(tmp_path / "out.png") as out:
            assert out.mode == mode and (len(out.info.get("icc_profile", b"")) > 500) == bool(size)
    Image.fromarray(np.rint(samples * 255).astype(np.uint8)).save(tmp_path / "s.png", icc_profile=ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    assert harness.run("s.png", "--strip", "kept.png", cwd=tmp_path).err == ""
    assert np.array_equal(harness.read_samples(tmp_path / "kept.png"), harness.read_samples(tmp_path / "s.png"))


def test_info_names_the_space(tmp_path, rng):
    write(tmp_path / "in.tif", draw_picture(rng, 3), iccfile.rgb(4, PROPHOTO, [iccfile.curve(1.8)] * 3), 8)
    said = harness.run("--info", "in.tif", cwd=tmp_path).out.decode()
    assert "colours: test; primaries 0.735,0.265 0.160,0.840 0.037,0.000; curve: a power of 1.8008\n" in said
    space = json.loads(harness.run("--info=json", "in.tif", cwd=tmp_path).out)["colour_space"]
    assert space["name"] == "test" and space["curve"] == "a power of 1.8008" and np.allclose(space["primaries"][:2], [0.7347, 0.2653], atol=1e-3)
    write(tmp_path / "in.tif", draw_picture(rng, 3), None, 8)
    assert json.loads(harness.run("--info=json", "in.tif", cwd=tmp_path).out)["colour_space"] is None


@pytest.mark.parametrize("kind", ["matrix", "gray", "printer", "cmyk"])
def test_damaged_profiles(tmp_path, rng, kind):
    """Flipped and cut: an error or a warning for a file, never a crash."""
    icc = {"matrix": draw_matrix(rng), "gray": iccfile.gray(4, iccfile.curve(2.2)), "printer": iccfile.printer(5), "cmyk": iccfile.printer(5, "CMYK")}[kind]
    (tmp_path / "in").mkdir()
    samples = np.zeros((2, 2) if kind == "gray" else (2, 2, 4 if kind == "cmyk" else 3), np.uint8)
    for i in range(harness.some(60, 500)):
        damaged = bytearray(icc)
        for at in rng.integers(0, len(icc) if rng.random() < 0.5 else min(400, len(icc)), rng.integers(1, 9)):
            damaged[at] = rng.choice([0, 255, rng.integers(256)])
        damaged = bytes(damaged[:rng.integers(len(icc)) if i % 5 == 4 else len(icc)]) or b"\0"
        harness.tifffile.imwrite(tmp_path / "in" / f"{i}.tif", samples, extratags=[(34675, 7, len(damaged), damaged, True)],
                                 photometric={"gray": "minisblack", "cmyk": "separated"}.get(kind, "rgb"))
    done = subprocess.run([harness.CLIMG, "in", "--profile", "p3", "out"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in (0, 1, 3), done
    assert len(list((tmp_path / "out").iterdir())) + done.stderr.count("cannot be used;") >= 1
    assert all("warning" in line or "failed" in line or "cannot" in line or "warnings" in line for line in done.stderr.splitlines()), done.stderr


def test_a_folder_of_many_profiles(tmp_path, rng):
    """More profiles than are kept are freed while other workers compute conversions."""
    columns = [(0.43607, 0.22249, 0.01392), (0.38515, 0.71687, 0.09708), (0.14307, 0.06061, 0.71410)]
    (tmp_path / "in").mkdir()
    picture = Image.fromarray(rng.integers(0, 256, (16, 16, 3)).astype(np.uint8))
    for i in range(100):
        picture.save(tmp_path / f"in/{i}.png", icc_profile=iccfile.rgb(4, columns, [iccfile.parametric(0, 1.5 + i / 100)] * 3))
    harness.run("in", "--profile", "p3", "--jobs", "8", "out/", cwd=tmp_path, env={"CLIMG_GROUP": "1"})
    assert len(list((tmp_path / "out").iterdir())) == 100


def test_a_last_channel_that_is_not_alpha(tmp_path, rng):
    """--profile refuses it; --gray takes the named colour."""
    samples = rng.integers(0, 255, (9, 11, 4)).astype(np.uint8)
    harness.write_tiff(tmp_path / "in.tif", samples, extrasamples=["unspecified"])
    assert "the last channel of the picture is not alpha" in harness.run("in.tif", "--profile", "p3", "out.tif", cwd=tmp_path, status=1).err
    harness.run("in.tif", "--gray=G", "out.tif", "-y", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif")[..., 0], samples[..., 1])
