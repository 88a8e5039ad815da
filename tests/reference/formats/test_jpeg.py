"""JPEG's pixels against libjpeg-turbo's own decoding and coding, as Pillow calls it."""

import io
import itertools
import struct
import subprocess

import numpy as np
import pytest
from PIL import Image, ImageOps

import harness
import jpegfile
import pngfile

SIZES = ((1, 1), (3, 5), (8, 8), (17, 33), (64, 16), (129, 70), (300, 257))  # height, width
CODINGS = ({"subsampling": 0}, {"subsampling": 1}, {"subsampling": 2, "quality": 30}, {"progressive": True},
           {"optimize": True, "quality": 97}, {"progressive": True, "subsampling": 0, "quality": 5})


def make_files(folder, rng):
    """Every coding of gray and colour in some size."""
    sizes = itertools.cycle(rng.permutation(SIZES).tolist())
    folder.mkdir()
    for i, (options, channels) in enumerate(itertools.product(CODINGS, (1, 3))):
        (folder / f"{i}.jpg").write_bytes(jpegfile.encode(jpegfile.picture(rng, *next(sizes), channels), **options))
    (folder / "rgb.jpeg").write_bytes(jpegfile.as_rgb(jpegfile.encode(jpegfile.picture(rng, 40, 30), subsampling=0)))
    for kind in ("yuvj440p", "yuvj411p"):  # which Pillow reads, but does not write
        picture = jpegfile.picture(rng, 48, 80)
        Image.fromarray(picture).save(folder / "frame.ppm")
        subprocess.run(["ffmpeg", "-v", "error", "-i", folder / "frame.ppm", "-pix_fmt", kind, folder / f"{kind}.JPG"], check=True)
        (folder / "frame.ppm").unlink()


def test_decoded_as_by_libjpeg(tmp_path, rng):
    make_files(tmp_path / "in", rng)
    for i, path in enumerate(sorted((tmp_path / "in").iterdir())):
        harness.run(path, "--invert", tmp_path / "in" / f"again{i}.jpg") if i % 5 == 0 else None
    for slices in ("", "7"):
        harness.run(tmp_path / "in", "-r", "-f", "png", tmp_path / "out", env={"CLIMG_SLICE": slices} if slices else {})
        for path in (tmp_path / "in").iterdir():
            made = pngfile.read_png(tmp_path / "out" / f"{path.stem}.png").samples
            assert np.array_equal(made, jpegfile.decode(path.read_bytes())), path.name


def test_coded_as_by_libjpeg(tmp_path, rng):
    """The same tables and the same pixels as Pillow's file has of the same samples, however many threads code it."""
    names = {"4:4:4": 0, "4:2:2": 1, "4:2:0": 2}
    for size in SIZES + ((700, 900),):
        channels, quality = int(rng.choice([1, 3])), int(rng.integers(1, 101))
        words = ["--quality", quality]
        subsampling = str(rng.choice([*names, "auto"]))
        words += ["--subsampling", subsampling]
        samples = jpegfile.picture(rng, *size, channels)
        harness.write_tiff(tmp_path / "in.tif", samples)
        harness.run(*words, "-j", rng.integers(1, 4), tmp_path / "in.tif", tmp_path / "out.jpg")
        expected = jpegfile.encode(samples, quality=quality, subsampling=names.get(subsampling, 0 if quality >= 90 else 2))
        assert np.array_equal(jpegfile.decode((tmp_path / "out.jpg").read_bytes()), jpegfile.decode(expected)), (size, words)


def test_tables_of_codes_are_those_of_the_picture(tmp_path, rng):
    """Files are as long as libjpeg's own with optimised tables, baseline or progressive, and shorter than with the standard ones.
    With little memory they get the standard tables, and the same pixels."""
    samples = jpegfile.picture(rng, 480, 640)
    Image.fromarray(samples).save(tmp_path / "in.png")
    sizes = {}
    for words, options in (([], {"optimize": True}), (["--progressive"], {"progressive": True}), (["--memory-limit", "3M"], {})):
        harness.run(tmp_path / "in.png", "--quality", "85", "--subsampling", "4:2:0", *words, tmp_path / "out.jpg", "-y")
        made, theirs = (tmp_path / "out.jpg").read_bytes(), jpegfile.encode(samples, quality=85, subsampling=2, **options)
        assert np.array_equal(jpegfile.decode(made), jpegfile.decode(theirs))
        sizes[str(words)] = len(jpegfile.segments(made)[1])
        assert abs(len(made) - len(theirs)) < 300  # the text about climg
        assert (b"\xff\xc2" in made) == (words == ["--progressive"])
    assert sizes["['--progressive']"] < sizes["[]"] < sizes["['--memory-limit', '3M']"]


def test_progressive_without_loss(tmp_path, rng):
    """If nothing else changes, the coefficients stay, as with jpegtran -progressive."""
    data = jpegfile.encode(jpegfile.picture(rng, 48, 64))
    (tmp_path / "in.jpg").write_bytes(data)
    assert "is written without being coded again" in harness.run("-v", "--progressive", tmp_path / "in.jpg", tmp_path / "out.jpg").err
    made = (tmp_path / "out.jpg").read_bytes()
    assert b"\xff\xc2" in made and np.array_equal(jpegfile.decode(made), jpegfile.decode(data))
    assert "--progressive means nothing in PNG" in harness.run("--progressive", tmp_path / "in.jpg", tmp_path / "out.png", status=2).err


def tables(path):
    with Image.open(path) as image:
        return image.quantization, image.layer[0][1:3] if image.mode == "RGB" else None


def test_quality_is_that_of_the_input(tmp_path, rng):
    """Through a stage; of PNG it is 90 with all colours."""
    samples = jpegfile.picture(rng, 30, 40)
    (tmp_path / "in").mkdir()
    for quality in (1, 10, 24, 25, 49, 50, 75, 85, 92, 98, 99, 100):
        for subsampling in range(3):
            (tmp_path / "in" / f"{quality}-{subsampling}.jpg").write_bytes(
                jpegfile.encode(samples, quality=quality, subsampling=subsampling))
    harness.run(tmp_path / "in", "--invert", tmp_path / "out")
    for path in (tmp_path / "in").iterdir():
        assert tables(tmp_path / "out" / path.name) == tables(path), path.name
    Image.fromarray(samples).save(tmp_path / "in.png")
    harness.run(tmp_path / "in.png", tmp_path / "out.jpg")
    (tmp_path / "expected.jpg").write_bytes(jpegfile.encode(samples, quality=90, subsampling=0))
    assert tables(tmp_path / "out.jpg") == tables(tmp_path / "expected.jpg")
    assert "quality 90, 4:4:4" in harness.run("--info", tmp_path / "out.jpg").out.decode()


def test_tables_of_colour_are_those_of_the_input(tmp_path, rng):
    """Brightness and colour may have tables of different quality; --quality sets both."""
    samples = jpegfile.picture(rng, 30, 40)
    (tmp_path / "in").mkdir()
    for bright, colour in ((50, 95), (95, 50), (75, 75), (90, 85), (10, 30)):
        stored = [tables(io.BytesIO(jpegfile.encode(samples, quality=quality)))[0] for quality in (bright, colour)]
        (tmp_path / "in" / f"{bright}-{colour}.jpg").write_bytes(jpegfile.encode(samples, qtables=[stored[0][0], stored[1][1]], subsampling=2))
        said = harness.run("--info", tmp_path / "in" / f"{bright}-{colour}.jpg").out.decode()
        assert f"quality {bright}{f', of colour {colour}' if bright != colour else ''}, 4:2:0" in said
    harness.run(tmp_path / "in", "--invert", tmp_path / "out")
    for path in (tmp_path / "in").iterdir():
        assert tables(tmp_path / "out" / path.name) == tables(path), path.name
    harness.run(tmp_path / "in" / "50-95.jpg", "--quality", "70", tmp_path / "out.jpg")
    assert tables(tmp_path / "out.jpg") == tables(io.BytesIO(jpegfile.encode(samples, quality=70, subsampling=2)))


def test_what_jpeg_does_not_hold_is_said(tmp_path, rng):
    """Alpha lies on white, 16 bits become 8."""
    deep = rng.integers(0, 65536, (20, 30, 3)).astype(np.uint16)
    pngfile.write_png(tmp_path / "deep.png", deep)
    clear = np.concatenate([jpegfile.picture(rng, 20, 30), rng.integers(0, 256, (20, 30, 1)).astype(np.uint8)], axis=2)
    pngfile.write_png(tmp_path / "clear.png", clear)
    alpha = clear[..., 3:].astype(int)
    flat = (clear[..., :3] * alpha + 255 * (255 - alpha) + 127) // 255
    for name, said, expected in (("deep", "16 bit samples become 8 bit, as JPEG holds no more", np.rint(deep / 257)),
                                 ("clear", "its alpha is lost, as JPEG has none: the picture is put on white", flat)):
        assert said in harness.run(tmp_path / f"{name}.png", tmp_path / "out.jpg").err
        coded = jpegfile.encode(expected.astype(np.uint8), quality=90, subsampling=0)
        assert np.array_equal(jpegfile.decode((tmp_path / "out.jpg").read_bytes()), jpegfile.decode(coded)), name
    assert harness.run(tmp_path / "deep.png", "--depth", "8", tmp_path / "out.jpg").err == ""
    assert "JPEG does not hold 16 bit samples" in harness.run(tmp_path / "deep.png", "--depth", "16", tmp_path / "out.jpg", status=2).err
    assert "at most 65500 pixels" in harness.run(tmp_path / "deep.png", "--resize", "70000x1,fit=exact", tmp_path / "out.jpg", status=1).err


def test_pipes_and_replacing(tmp_path, rng):
    data = jpegfile.encode(jpegfile.picture(rng, 90, 70), subsampling=0)
    inverted = 255 - jpegfile.decode(data).astype(int)
    expected = jpegfile.decode(jpegfile.encode(inverted.astype(np.uint8), subsampling=0))
    assert np.array_equal(jpegfile.decode(harness.run("--invert", stdin=data).out), expected)
    (tmp_path / "a.jpg").write_bytes(data)
    harness.run("--in-place", tmp_path / "a.jpg", "--invert")
    assert np.array_equal(jpegfile.decode((tmp_path / "a.jpg").read_bytes()), expected)


def test_what_nothing_changes_is_copied(tmp_path, rng):
    """To the last byte, from a pipe, too; but not what options change, and not what is damaged."""
    exif = Image.Exif()
    exif[274] = 6
    plain = jpegfile.encode(jpegfile.picture(rng, 30, 40), quality=33) + b"what a phone puts behind it"
    turned = jpegfile.insert(plain, (0xE1, exif.tobytes()), (0xEB, b"nobody knows"))
    path, made = tmp_path / "in.jpg", tmp_path / "out.jpg"
    for data, words, copied in ((plain, [], True), (turned, [], True), (plain, ["--auto-orient"], True), (turned, ["--auto-orient"], False),
                                (plain, ["--quality", "33"], False), (plain, ["--subsampling", "4:2:0"], False), (turned, ["--strip"], False),
                                (plain, ["--subsampling", "auto"], True), (plain, ["--range", "0,255"], False)):
        path.write_bytes(data)
        assert ("is copied as it is" in harness.run("-v", *words, path, made, "-y").err) == copied, words
        assert (made.read_bytes() == data) == copied, words
        assert (harness.run(*words, stdin=data).out == data) == copied, words
    made.unlink()
    path.write_bytes(plain[:len(plain) // 2])
    assert "damaged JPEG" in harness.run(path, made, status=1).err and not made.exists()
    path.write_bytes(plain)
    harness.run("--in-place", path)
    assert path.read_bytes() == plain


def test_turned_without_being_coded_again(tmp_path, rng):
    """Blocks of whole units: four quarter turns give the first pixels again, one gives them but for the rounding of the cosines."""
    (tmp_path / "in").mkdir()
    for i, (options, channels, size) in enumerate(itertools.product(CODINGS, (1, 3), ((48, 64), (64, 50)))):
        (tmp_path / "in" / f"{i}.jpg").write_bytes(jpegfile.encode(jpegfile.picture(rng, *size, channels), **options))
    for turn, words in enumerate((["--rotate", "90"], ["--rotate", "180"], ["--rotate", "270"], ["--rotate", "0"])):
        said = harness.run("-v", tmp_path / "in", *words, tmp_path / f"{turn}").err
        for path in (tmp_path / "in").iterdir():
            before, after = (jpegfile.decode(name.read_bytes()).astype(int) for name in (path, tmp_path / f"{turn}" / path.name))
            whole = f"/{path.name}: is written without being coded again" in said
            assert after.shape == np.rot90(before, -turn - 1).shape
            assert whole or before.shape[1] % 8 != 0 and 0 < turn < 3, path.name
            if whole:
                assert np.abs(after - np.rot90(before, -turn - 1)).max() <= 4, path.name
    for turn in ("once", "twice", "thrice"):
        harness.run(tmp_path / {"once": "0", "twice": "once", "thrice": "twice"}[turn], "--rotate", "90", tmp_path / turn)
    for path in (tmp_path / "in").glob("[0-9]*.jpg"):
        data = path.read_bytes()
        if jpegfile.decode(data).shape[1] % 16 == 0:
            assert np.array_equal(jpegfile.decode((tmp_path / "thrice" / path.name).read_bytes()), jpegfile.decode(data)), path.name


def test_rgb_is_turned_without_being_coded_again(tmp_path, rng):
    """RGB that looks like YCbCr: with Adobe's marker, without JFIF's."""
    data = jpegfile.encode(jpegfile.picture(rng, 48, 64), subsampling=0, quality=95)
    found, rest = jpegfile.segments(data)
    adobe = (0xEE, b"Adobe" + struct.pack(">HHHB", 100, 0, 0, 0))
    data = jpegfile.join([adobe] + [segment for segment in found if segment[0] != 0xE0], rest)
    with Image.open(io.BytesIO(data)) as image:
        rgb = np.asarray(image).astype(int)
    (tmp_path / "in.jpg").write_bytes(data)
    assert "is written without being coded again" in harness.run("-v", tmp_path / "in.jpg", "--rotate", "90", tmp_path / "out.jpg").err
    with Image.open(tmp_path / "out.jpg") as image:
        assert np.abs(np.asarray(image).astype(int) - np.rot90(rgb, -1)).max() <= 4


@pytest.mark.parametrize("size,words,said", [
    ((50, 64), ["--rotate", "90"], "its height, 50, is no multiple of 16 pixels"), ((64, 50), ["--flip", "h"], "its width, 50, is no multiple of 16 pixels"),
    ((64, 64), ["--crop", "32x32"], "pixels are cut off or added"), ((640, 640), ["--rotate", "90", "--memory-limit", "16M"], "moving its blocks would take more than 4 MiB of memory"), ((64, 50), ["--blur", "1"], None)])
def test_coded_again_is_said(tmp_path, rng, size, words, said):
    """With -v, and why."""
    (tmp_path / "in.jpg").write_bytes(jpegfile.encode(jpegfile.picture(rng, *size)))
    told = harness.run("-v", tmp_path / "in.jpg", *words, tmp_path / "out.jpg").err
    assert f"in.jpg: is coded again, as {said}" in told if said else "coded again, as" not in told


def test_cut_off_and_added_again(tmp_path, rng):
    """Two moves whose maps cancel are no copy."""
    (tmp_path / "in.jpg").write_bytes(jpegfile.encode(np.full((64, 64, 3), 200, np.uint8)))
    harness.run(tmp_path / "in.jpg", "--crop", "32x32+16+16", "--extend", "64x64+16+16", tmp_path / "out.jpg")
    made = jpegfile.decode((tmp_path / "out.jpg").read_bytes())
    assert made[:8].max() < 20 and made[24:40, 24:40].min() > 180


def test_said_otherwise_without_being_coded_again(tmp_path, rng):
    """--strip, and --auto-orient with every orientation."""
    data = jpegfile.encode(jpegfile.picture(rng, 32, 48), quality=40)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[274], exif[305] = orientation, "a phone"
        (tmp_path / "in.jpg").write_bytes(jpegfile.insert(data, (0xE1, exif.tobytes())))
        with Image.open(tmp_path / "in.jpg") as image:
            expected = np.asarray(ImageOps.exif_transpose(image)).astype(int)
        said = harness.run("-v", tmp_path / "in.jpg", "--auto-orient", "--strip", tmp_path / "out.jpg").err
        assert "is written without being coded again" in said
        made = (tmp_path / "out.jpg").read_bytes()
        assert np.abs(jpegfile.decode(made) - expected).max() <= 4 and b"a phone" not in made, orientation
        harness.run(tmp_path / "in.jpg", "--auto-orient", "--flip", "v", "--rotate", "90", tmp_path / "moved.jpg")
        whole = np.rot90(jpegfile.decode(made)[::-1], -1).astype(int)
        assert np.abs(jpegfile.decode((tmp_path / "moved.jpg").read_bytes()) - whole).max() <= 4, orientation
    piped = harness.run("--strip", stdin=data).out
    assert piped != data and np.array_equal(jpegfile.decode(piped), jpegfile.decode(data))


def test_other_kinds_are_refused(tmp_path, rng):
    lossless = bytearray(jpegfile.encode(jpegfile.picture(rng, 20, 20)))
    lossless[lossless.index(b"\xff\xc0") + 1] = 0xC3
    assert "a kind of JPEG that is not supported" in harness.run("--invert", stdin=bytes(lossless), status=1).err


def test_has_one_page(tmp_path, rng):
    (tmp_path / "in.jpg").write_bytes(jpegfile.encode(jpegfile.picture(rng, 20, 20)))
    harness.run(tmp_path / "in.jpg", "--page", "1", tmp_path / "out.png")
    for page in ("2", "2-3"):
        assert "there is no page 2; a JPEG has one" in harness.run(tmp_path / "in.jpg", "--page", page, tmp_path / "none.png", status=1).err
    assert not (tmp_path / "none.png").exists()


def test_depth_8_is_no_reason_to_code_again(tmp_path, rng):
    data = jpegfile.encode(jpegfile.picture(rng, 32, 48), quality=33)
    (tmp_path / "in.jpg").write_bytes(data)
    harness.run("--depth", "8", tmp_path / "in.jpg", tmp_path / "out.jpg")
    assert (tmp_path / "out.jpg").read_bytes() == data
    said = harness.run("-v", "-y", "--depth", "8", tmp_path / "in.jpg", "--rotate", "90", tmp_path / "out.jpg").err
    assert "is written without being coded again" in said


def test_gray_with_sampling_factors_is_turned_without_being_coded_again(tmp_path, rng):
    """Of one component an MCU is a block, whatever the factors are."""
    data = bytearray(jpegfile.encode(jpegfile.picture(rng, 24, 40, 1)))
    data[data.index(b"\xff\xc0") + 11] = 0x22
    before = jpegfile.decode(bytes(data)).astype(int)
    (tmp_path / "in.jpg").write_bytes(data)
    for turn, degrees in enumerate(("90", "180", "270"), 1):
        said = harness.run("-v", "-y", tmp_path / "in.jpg", "--rotate", degrees, tmp_path / "out.jpg").err
        assert "is written without being coded again" in said, degrees
        after = jpegfile.decode((tmp_path / "out.jpg").read_bytes())
        assert np.abs(after - np.rot90(before, -turn)).max() <= 4, degrees
