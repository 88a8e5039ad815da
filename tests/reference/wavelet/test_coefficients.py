"""Coefficient files: every filter pair against the transform in numpy, page by page; there and back through a file."""
import json
import zlib

import numpy as np
import pytest
import tifffile

import dualtree
import harness
from harness import MEMORIES, Shape

BIORTS, QSHIFTS = tuple(dualtree.BIORTS), tuple(dualtree.QSHIFTS)
SIZES = ((256, 192), (30, 46), (101, 99), (6, 10), (3, 5), (1, 1), (17, 64))  # width, height
DEGREES = (15, 45, 75, -75, -45, -15)
COEFFICIENTS = 2e-6    # of the largest coefficient
RECONSTRUCTION = 3e-6  # of full scale


def assert_near(actual, expected, tolerance, context):
    assert actual.shape == expected.shape, f"{actual.shape}, expected {expected.shape}\n{context}"
    error = np.abs(actual.astype(np.complex128) - expected).max()
    assert error <= tolerance, f"off by {error:.3g}, {tolerance:.3g} allowed\n{context}"


def read_coefficients(path):
    """(description, lowpass, [level][band]) of a coefficient file: what docs/wavelet.md shows."""
    with tifffile.TiffFile(path) as tiff:
        description = json.loads(tiff.pages[0].description)
        pages = [page.asarray() for page in tiff.pages]
        names = [page.tags["PageName"].value for page in tiff.pages]
    levels = description["levels"]
    assert names == ["lowpass"] + [f"level {l}, {d} degrees" for l in range(1, levels + 1) for d in DEGREES]
    return description, pages[0], [pages[1 + 6 * l:7 + 6 * l] for l in range(levels)]


def planes_of(samples):
    return np.moveaxis(samples.astype(float).reshape(*samples.shape[:2], -1), 2, 0)


def check_pyramid(path, expected, biort, qshift, context):
    """Against the pyramid of each channel."""
    description, lowpass, bands = read_coefficients(path)
    levels = len(expected[0].highpasses)
    assert (description["biort"], description["qshift"], description["levels"]) == (biort, qshift, levels)
    for c, pyramid in enumerate(expected):
        largest = max(np.abs(h).max() for h in (pyramid.lowpass, *pyramid.highpasses))
        pick = (lambda page: page[..., c]) if len(expected) > 1 else (lambda page: page)
        assert_near(pick(lowpass), pyramid.lowpass, COEFFICIENTS * largest, context)
        for level in range(levels):
            for band in range(6):
                assert_near(pick(bands[level][band]), pyramid.highpasses[level][..., band],
                            COEFFICIENTS * largest, context)


def there_and_back(folder, pictures, all_levels, biort, qshift, memory):
    """All the pictures in one command for each number of levels, and all that came of it in one back: starting the program
    costs more than its work."""
    names = [f"{i}.tif" for i in range(len(pictures))]
    for name, samples in zip(names, pictures):
        tifffile.imwrite(folder / name, samples, metadata=None)
    (folder / "c").mkdir()
    for levels in all_levels:
        context = harness.run("-m", memory, *names, f"--wavelet={levels},biort={biort},qshift={qshift}", f"c/{levels}/", cwd=folder)
    context = f"{context}\n{harness.run('-r', '-m', memory, 'c', '--inverse-wavelet', 'out/', cwd=folder)}"
    for name, samples in zip(names, pictures):
        pyramids = zip(*(dualtree.forward_each(plane, max(all_levels), biort, qshift) for plane in planes_of(samples)))
        for levels, expected in enumerate(pyramids, 1):
            if levels in all_levels:
                what = f"{samples.shape}, {levels} levels\n{context}"
                check_pyramid(folder / "c" / str(levels) / name, expected, biort, qshift, what)
                back = harness.read_tiff(folder / "out" / str(levels) / name)
                assert_near(back.reshape(samples.shape), samples, RECONSTRUCTION, what)


@pytest.mark.some(2)
@pytest.mark.parametrize("qshift", QSHIFTS)
@pytest.mark.parametrize("biort", BIORTS)
def test_every_filter_pair_level_and_size(tmp_path, rng, biort, qshift):
    """The memory changes with the level, and from pair to pair."""
    for odd, channels in enumerate(([], [3])):
        (tmp_path / str(odd)).mkdir()
        memory = MEMORIES[(odd + BIORTS.index(biort) + QSHIFTS.index(qshift)) % 2]
        pictures = [rng.random((height, width, *channels), np.float32) for width, height in SIZES]
        there_and_back(tmp_path / str(odd), pictures, range(2 - odd, 7, 2), biort, qshift, memory)


@pytest.mark.parametrize("qshift", QSHIFTS)
@pytest.mark.parametrize("biort", BIORTS)
def test_every_filter_pair_in_slices(tmp_path, rng, biort, qshift):
    """Without shrinkage, which would have the slices hold more rows than the filters need."""
    gains = (0.9, 1.5, 0.5, 2, 0.7)  # of the lowpass and of each level: what comes back is not what went in
    names = [f"{height}.tif" for height in (61, 150, 237)]
    planes = [rng.random((int(name[:-4]), 21), np.float32) for name in names]
    for name, plane in zip(names, planes):
        tifffile.imwrite(tmp_path / name, plane, metadata=None)
    context = harness.run(*names, f"--wavelet=4,biort={biort},qshift={qshift}", "--gain", "low:0.9,1:1.5,2:0.5,3:2,4:0.7",
                          "--inverse-wavelet", "out/", cwd=tmp_path, env={"CLIMG_SLICE": "5", "CLIMG_POISON": "1"})
    for name, plane in zip(names, planes):
        pyramid = dualtree.forward(plane, 4, biort, qshift)
        bands = tuple(gain * band for gain, band in zip(gains[1:], pyramid.highpasses))
        expected = dualtree.inverse(dualtree.Pyramid(gains[0] * pyramid.lowpass, bands), plane.shape, biort, qshift)
        assert_near(tifffile.imread(tmp_path / "out" / name), expected, 2 * RECONSTRUCTION, f"{name}\n{context}")


@pytest.mark.some(2)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("channels", [2, 4])
def test_alpha(tmp_path, rng, channels, memory):
    """Coefficients are of colour times alpha; the way back divides."""
    samples = harness.random_samples(rng, Shape(33, 20, channels, "float32"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run("-m", memory, tmp_path / "in.tif", "--wavelet=3", tmp_path / "c.tif")
    multiplied = samples * np.where(np.arange(channels) < channels - 1, samples[..., -1:], 1)
    check_pyramid(tmp_path / "c.tif", [dualtree.forward(plane, 3) for plane in planes_of(multiplied)], "near_sym_a", "qshift_a", "")
    harness.run("-m", memory, tmp_path / "c.tif", "--inverse-wavelet", tmp_path / "out.tif")
    assert np.abs(harness.read_tiff(tmp_path / "out.tif") - samples).max() <= 5 * RECONSTRUCTION


def test_samples_and_metadata_come_back(tmp_path, rng):
    """An 8-bit picture is an 8-bit picture again, with profile, resolution and description."""
    samples = rng.integers(0, 256, (40, 30, 3), np.uint8)
    profile = bytes(rng.integers(0, 256, 300, np.uint8))
    tifffile.imwrite(tmp_path / "in.tif", samples, photometric="rgb", description="a \"quoted\" name",
                     resolution=(300, 200), resolutionunit="INCH", metadata=None,
                     extratags=[(34675, 7, len(profile), profile, True)])
    harness.run(tmp_path / "in.tif", "--wavelet=5", tmp_path / "c.tif")
    harness.run(tmp_path / "c.tif", "--inverse-wavelet", tmp_path / "out.tif")
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), samples)
    for path in (tmp_path / "c.tif", tmp_path / "out.tif"):
        with tifffile.TiffFile(path) as tiff:
            page = tiff.pages[0]
            assert page.tags[34675].value == profile
            assert page.get_resolution("INCH") == pytest.approx((300, 200))
    assert page.description == "a \"quoted\" name"


def test_coefficients_are_floats(tmp_path, rng):
    """--depth of another type is refused, with and without stages."""
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (20, 30, 1), np.uint8))
    harness.run("in.tif", "--wavelet=2", "c.tif", cwd=tmp_path)
    for stages in ([], ["--gain", "2:2"]):
        assert "coefficients are written as float" in harness.run("c.tif", *stages, "--depth", "8", "out.tif", cwd=tmp_path, status=2).err
        harness.run("c.tif", *stages, "--depth", "float", "out.tif", "-y", cwd=tmp_path)


def test_a_list_may_name_coefficients(tmp_path, rng):
    """Names in a list are not known when the command line is checked."""
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (20, 30, 1), np.uint8))
    harness.run("in.tif", "--wavelet=2", "c.tif", cwd=tmp_path)
    (tmp_path / "list").write_text("c.tif\n")
    harness.run("--files-from", "list", "--inverse-wavelet", "--depth", "8", "out/", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out" / "c.tif"), harness.read_tiff(tmp_path / "in.tif"))


def test_coefficient_files_become_mosaics(tmp_path, rng):
    """A PNG, or an image stage, makes the same picture from the file as from the transform (invariance)."""
    harness.write_tiff(tmp_path / "in.tif", rng.random((30, 40, 1), np.float32))
    harness.run(tmp_path / "in.tif", "--wavelet=2", tmp_path / "c.tif")
    for stages in ([], ["--scale", "2"]):
        harness.run(tmp_path / "in.tif", "--wavelet=2", *stages, tmp_path / "direct.png")
        harness.run(tmp_path / "c.tif", *stages, tmp_path / "detour.png")
        direct, detour = (harness.read_samples(tmp_path / name) for name in ("direct.png", "detour.png"))
        assert np.array_equal(direct, detour)


@pytest.mark.parametrize("options", [[], ["--compression", "none"]], ids=["compressed", "uncompressed"])
@pytest.mark.parametrize("stage", [["--levels", "auto"], ["--negative"]], ids=lambda stage: stage[0])
def test_part_of_an_analysed_picture(tmp_path, rng, stage, options):
    """The stage needs all rows of the picture, the output only some, and the pages are read once."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, harness.Shape(60, 40, 3, "uint8")))
    rest = ["--inverse-wavelet", *stage, "--crop", "20x9"]
    harness.run("in.tif", "--wavelet=2", *rest, "right.tif", cwd=tmp_path)
    harness.run("in.tif", "--wavelet=2", *options, "w.tif", cwd=tmp_path)
    harness.run("w.tif", *rest, "--verify=100", "out.tif", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), harness.read_tiff(tmp_path / "right.tif"))


def test_linear_light_comes_back(tmp_path, rng):
    samples = rng.integers(0, 256, (16, 16), np.uint8)
    tifffile.imwrite(tmp_path / "in.tif", samples, metadata=None)
    harness.run("--linear", tmp_path / "in.tif", "--wavelet", tmp_path / "c.tif")
    harness.run(tmp_path / "c.tif", "--inverse-wavelet", tmp_path / "out.tif")
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif")[..., 0], samples)
    # A stage with a colour knows that the coefficients are of linear light.
    harness.run(tmp_path / "c.tif", "--inverse-wavelet", "--border", "4,color=#808080", tmp_path / "bordered.tif")
    assert harness.read_tiff(tmp_path / "bordered.tif")[0, 0, 0] == 128


def test_damaged_files(tmp_path, rng):
    tifffile.imwrite(tmp_path / "in.tif", rng.random((16, 16), np.float32), metadata=None)
    harness.run(tmp_path / "in.tif", "--wavelet=2", tmp_path / "c.tif")
    with tifffile.TiffFile(tmp_path / "c.tif") as tiff:
        pages, text = [page.asarray() for page in tiff.pages], tiff.pages[0].description
    damages = {"fewer pages": (pages[:-1], text), "more pages": (pages + pages[-1:], text),
               "another size": (pages[:-1] + [pages[-1][:, :-1]], text),
               "real numbers": (pages[:-1] + [pages[-1].real], text),
               "no levels": (pages, text.replace('"levels":2', '"levels":0')),
               "no such filter": (pages, text.replace("qshift_a", "qshift_z")),
               "another version": (pages, text.replace('"version":1', '"version":7')),
               "complex samples of a picture": (pages, text.replace('"samples":"float"', '"samples":"complex"')),
               "no such curve": (pages, text.replace('"exponent":0.0', '"exponent":-5')),
               "a size that needs more memory than exists": (pages, text.replace('"width":16,"height":16', '"width":1073741824,"height":1073741824'))}
    assert all(description != text for some, description in damages.values() if some is pages)
    for name, (some, description) in damages.items():
        with tifffile.TiffWriter(tmp_path / "bad.tif") as writer:
            for i, page in enumerate(some):
                writer.write(page, description=description if i == 0 else None, metadata=None, contiguous=False)
        result = harness.run(tmp_path / "bad.tif", "--inverse-wavelet", tmp_path / "out.tif", status=1)
        assert "coefficient file" in result.err and result.err.count("\n") == 1, name
        assert not (tmp_path / "out.tif").exists(), name


def flip_bit(path, to, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    to.write_bytes(data)


@pytest.mark.parametrize("compression", ["none", "fast"])
def test_flipped_bits(tmp_path, rng, compression):
    """In every page, and in the description: uncompressed files have no other checksum. What another program writes needs none."""
    tifffile.imwrite(tmp_path / "in.tif", rng.random((16, 16), np.float32), metadata=None, description="known words")
    harness.run(tmp_path / "in.tif", "--compression", "none", "--wavelet=2", tmp_path / "plain.tif")
    harness.run(tmp_path / "in.tif", "--compression", compression, "--wavelet=2", tmp_path / "c.tif")
    with tifffile.TiffFile(tmp_path / "plain.tif") as tiff:
        pages = [page.asarray() for page in tiff.pages]
    with tifffile.TiffFile(tmp_path / "c.tif") as tiff:
        texts = [page.description for page in tiff.pages]
        places = [page.dataoffsets[0] + page.databytecounts[0] // 2 for page in tiff.pages]
    data = (tmp_path / "c.tif").read_bytes()
    places += [data.index(b"known words"), data.index(b"near_sym_a") + 9, data.index(b'"crc32":') + 9]
    for at in places:
        flip_bit(tmp_path / "c.tif", tmp_path / "bad.tif", at)
        said = harness.run(tmp_path / "bad.tif", "--inverse-wavelet", tmp_path / "out.tif", status=1).err
        assert "checksum" in said or "deflated" in said or "too few pixels" in said or "description" in said, (at, said)
        assert not (tmp_path / "out.tif").exists()
    sums = zlib.crc32(texts[0].encode())
    for page in pages:
        sums = zlib.crc32(page.tobytes(), sums)
    assert json.loads(texts[-1])["crc32"] == sums
    with tifffile.TiffWriter(tmp_path / "own.tif") as writer:
        for i, page in enumerate(pages):
            writer.write(2 * page, description=texts[0] if i == 0 else None, metadata=None, contiguous=False)
    harness.run(tmp_path / "own.tif", "--inverse-wavelet", tmp_path / "out.tif")


def test_orientation(tmp_path, rng):
    """Coefficients of a picture that is stored on its side: what --inverse-wavelet makes of them is turned as the picture would be."""
    upright = rng.integers(0, 256, (40, 48), np.uint8)
    stored = np.ascontiguousarray(np.rot90(upright))
    tifffile.imwrite(tmp_path / "side.tif", stored, photometric="minisblack", extratags=[(274, "H", 1, 6, True)])
    tifffile.imwrite(tmp_path / "upright.tif", upright, photometric="minisblack")
    for name in ("side", "upright"):
        harness.run(f"{name}.tif", "--wavelet=2", f"{name}-levels.tif", cwd=tmp_path)
    for inputs, stages, expected in ((["side-levels.tif"], ["--crop", "20x10+5+7"], upright[7:17, 5:25]),
                                     (["side-levels.tif"], ["--auto-orient"], upright),
                                     (["upright-levels.tif", "side-levels.tif"], ["--stack", "mean"], upright),
                                     (["side-levels.tif"], ["--stored-orientation", "--crop", "20x10+5+7"], stored[7:17, 5:25]),
                                     (["side-levels.tif"], [], stored)):
        harness.run("-y", *inputs, "--inverse-wavelet", *stages, "out.tif", cwd=tmp_path)
        assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), expected), stages


def test_measured_stages(tmp_path, rng):
    """--trim reads all pages of a coefficient file, as --inverse-wavelet does; a pipe, too."""
    picture = np.full((40, 48), 255, np.uint8)
    picture[7:17, 5:25] = rng.integers(0, 100, (10, 20))
    tifffile.imwrite(tmp_path / "in.tif", picture, photometric="minisblack")
    harness.run("in.tif", "--wavelet=2", "levels.tif", cwd=tmp_path)
    for name, stdin in (("levels.tif", None), ("-", (tmp_path / "levels.tif").read_bytes())):
        harness.run("-y", name, "--inverse-wavelet", "--trim", "out.tif", cwd=tmp_path, stdin=stdin)
        assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), picture[7:17, 5:25])
