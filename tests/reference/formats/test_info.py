"""--info against what tifffile and Pillow say of the same files, where there is no device."""

import json
import os
import re

import numpy as np
import pytest
import tifffile
from PIL import Image, PngImagePlugin

import harness

NO_DEVICE = {"OCL_ICD_VENDORS": "/nonexistent", "CLIMG_DEVICE": "nothing"}
SAMPLES = {"8 bit": np.uint8, "16 bit": np.uint16, "float": np.float32, "half": np.float16}


def told(*args, **kwargs):
    return [json.loads(line) for line in harness.run("--info=json", *args, env=NO_DEVICE, **kwargs).out.decode().splitlines()]


@pytest.mark.parametrize("samples", SAMPLES)
@pytest.mark.parametrize("compression, name", [(None, "None"), ("zlib", "AdobeDeflate")])
def test_tiff(tmp_path, rng, samples, compression, name):
    channels, pages = int(rng.choice([1, 3])), int(rng.integers(1, 5))
    path, dtype, size = tmp_path / "in.tif", SAMPLES[samples], (21, 34, 3) if channels == 3 else (21, 34)
    with tifffile.TiffWriter(path) as tiff:
        for _ in range(pages):
            tiff.write(rng.integers(0, 100, size).astype(dtype), photometric="rgb" if channels == 3 else "minisblack",
                       compression=compression, metadata=None, description="a picture", resolution=(300, 150), resolutionunit=2)
    info, = told(path)
    with tifffile.TiffFile(path) as tiff:
        page = tiff.pages[0]
        assert (info["width"], info["height"], info["channels"]) == (page.imagewidth, page.imagelength, page.samplesperpixel)
        assert info["pages"] == len(tiff.pages) == pages and info["file"] == str(path)
    assert (info["format"], info["samples"], info["compression"]) == ("TIFF", samples, name)
    assert {"key": "Description", "value": "a picture"} in info["texts"] and info["pyramid"] is None
    assert np.allclose([info["resolution"]["x"], info["resolution"]["y"]], [300 / 0.0254, 150 / 0.0254], rtol=1e-4)


@pytest.mark.parametrize("compression, name", [("tiff_lzw", "LZW"), ("packbits", "PackBits")])
def test_compression_of_tiff(tmp_path, compression, name):
    Image.new("L", (9, 8)).save(tmp_path / "in.tif", compression=compression)
    assert told(tmp_path / "in.tif")[0]["compression"] == name


@pytest.mark.parametrize("mode, channels, colours", [("L", 1, "gray"), ("LA", 2, "gray with alpha"), ("RGB", 3, "RGB"),
                                                     ("RGBA", 4, "RGB with alpha"), ("P", 3, "RGB"), ("1", 1, "gray")])
def test_png(tmp_path, mode, channels, colours):
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Author", "n\u00e9 \u00fc")
    texts.add_itxt("Title", "\u4e00")
    Image.new("RGB", (7, 5), "red").convert(mode).save(tmp_path / "in.png", pnginfo=texts, dpi=(72, 72))
    info, = told(tmp_path / "in.png")
    assert (info["width"], info["height"], info["channels"], info["colours"]) == (7, 5, channels, colours)
    assert info["palette"] == (mode == "P") and info["compression"] == "Deflate" and info["pages"] == 1
    assert {text["key"]: text["value"] for text in info["texts"]} == {"Author": "n\u00e9 \u00fc", "Title": "\u4e00"}
    assert mode != "1" or info["bits"] == 1
    lines = harness.run("--info", tmp_path / "in.png", env=NO_DEVICE).out.decode().splitlines()
    assert lines[0].startswith(f"{tmp_path}/in.png: PNG, 7 x 5, {colours}, ")
    assert {"  compression: Deflate", "  Author: n\u00e9 \u00fc", "  Title: \u4e00"} <= set(lines)


@pytest.mark.parametrize("kind, name", [("separated", "CMYK"), ("cielab", "L*a*b*"), ("jpg", "CMYK"), ("rgb", None), ("palette", None)])
def test_colour_model(tmp_path, rng, kind, name):
    """Files of other colours than RGB, which are described as they are read."""
    samples = rng.integers(0, 255, (8, 9, 4 if name == "CMYK" else 3), dtype=np.uint8)
    if kind == "jpg":
        Image.fromarray(samples, "CMYK").save(tmp_path / "in", "JPEG")
    elif kind == "palette":
        tifffile.imwrite(tmp_path / "in", samples[..., 0], photometric=kind, colormap=np.zeros((3, 256), np.uint16))
    else:
        tifffile.imwrite(tmp_path / "in", samples, photometric=kind, metadata=None)
    info, = told(tmp_path / "in")
    assert (info["colours"], info["colour_model"]) == ("RGB", name)
    line = harness.run("--info", tmp_path / "in", env=NO_DEVICE).out.decode().splitlines()[0]
    assert line.endswith(", RGB, 8 bit" + (f", from {name}" if name else " of a palette" if kind == "palette" else ""))


def test_coefficients(tmp_path):
    harness.run(harness.SAMPLES / "scene.png", "--wavelet=3,biort=legall,qshift=qshift_b", tmp_path / "w.tif")
    info, = told(tmp_path / "w.tif")
    assert info["pyramid"] == {"width": 512, "height": 512, "channels": 3, "samples": "8 bit", "levels": 3, "biort": "legall",
                               "qshift": "qshift_b", "linear": False}
    assert info["pages"] == 1 + 3 * 6
    text = harness.run("--info", tmp_path / "w.tif", env=NO_DEVICE).out.decode()
    assert "coefficients: of 512 x 512, 3 channels, 8 bit; 3 levels, biort legall, qshift qshift_b\n" in text


def test_many(tmp_path):
    """Folders, lists and pipes; what is broken costs itself alone."""
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        Image.new("L", (3, 2)).save(tmp_path / "in" / f"{name}.png")
    (tmp_path / "in" / "c.png").write_bytes(b"broken")
    done = harness.run("--info=json", "in", cwd=tmp_path, status=3, env=NO_DEVICE)
    assert [json.loads(line)["file"] for line in done.out.splitlines()] == ["in/a.png", "in/b.png"]
    assert done.err.startswith("climg: in/c.png: ") and done.err.endswith("\nclimg: 1 of 3 files failed\n")
    assert [info["file"] for info in told("--files-from", "-", cwd=tmp_path, stdin=b"in/b.png\nin/a.png\n")] == ["in/b.png", "in/a.png"]
    assert told(stdin=(tmp_path / "in" / "a.png").read_bytes())[0]["file"] == "standard input"
    assert sorted(os.listdir(tmp_path)) == ["in"]


def test_long_texts_are_cut_in_text_alone(tmp_path):
    texts = PngImagePlugin.PngInfo()
    texts.add_itxt("Comment", "\u00e4" * 300 + "\nend")
    Image.new("L", (3, 2)).save(tmp_path / "in.png", pnginfo=texts)
    assert told(tmp_path / "in.png")[0]["texts"][0]["value"] == "\u00e4" * 300 + "\nend"
    assert "\n  Comment: " + "\u00e4" * 100 + "... (604 bytes)\n" in harness.run("--info", tmp_path / "in.png", env=NO_DEVICE).out.decode()


def test_terminals_obey_no_text(tmp_path):
    texts = PngImagePlugin.PngInfo()
    texts.add_itxt("Comment", "red \x1b[31m, \u009b31m\nand\x7f")
    Image.new("L", (2, 2)).save(tmp_path / "in.png", pnginfo=texts)
    out = harness.run("--info", tmp_path / "in.png", env=NO_DEVICE).out
    assert b"  Comment: red  [31m, \xc2?31m and \n" in out


@pytest.mark.parametrize("sigma", [2, 9])
@pytest.mark.parametrize("channels, independent", [(1, True), (3, True), (3, False)])
def test_one_number_for_the_noise(tmp_path, rng, channels, independent, sigma):
    """The standard deviation of white noise, independent in each colour or the same in all."""
    flat = np.full((300, 300, 1), 127.5) + np.linspace(-60, 60, 300)[:, None, None]
    noise = rng.normal(0, sigma, (300, 300, channels if independent else 1))
    harness.write_tiff(tmp_path / "in.tif", (np.broadcast_to(flat + noise, (300, 300, channels)) / 255).astype(np.float32))
    text = harness.run("--info", "--measure", tmp_path / "in.tif").out.decode()
    found = float(re.search(r"^  noise: about ([0-9.]+) of 255 on average\n    by size of detail \(2, ", text, re.M)[1])
    assert abs(found - sigma) < 0.1 * sigma, text


def test_memory_limit(tmp_path):
    """--measure keeps to the limit; without it, no pixels are in memory, and the option is an error."""
    big = tmp_path / "big.tif"
    harness.write_tiff(big, np.zeros((600, 3000, 3), np.float32))
    said = harness.run("--info", "--measure", "--memory-limit", "64K", big, status=1).err
    assert "--memory-limit" in said, said
    harness.run("--info", "--measure", "--memory-limit", "256M", big)
    assert "no effect" in harness.run("--info", "--memory-limit", "64K", big, status=2).err


def test_nothing_else_is_done(tmp_path):
    done = harness.run("--info", harness.SAMPLES / "scene.png", "--blur", "2", cwd=tmp_path, status=2)
    assert done.err == "climg: --info reads files as they are; leave out stages\n"


def test_noise(tmp_path):
    """Equals the noise that --denoise finds, in pictures of several sizes and kinds, with and without slices; none for coefficients."""
    harness.run(harness.SAMPLES / "scene.png", "--wavelet=2", tmp_path / "w.tif")
    files = [harness.SAMPLES / name for name in ("noisy.png", "scene.tif", "soft-alpha.png", "zoneplate.png")]
    harness.run(*files, "--denoise", "--report", tmp_path / "r", tmp_path / "out/")
    expected = {line["input"]: line["noise"] for line in map(json.loads, (tmp_path / "r").read_text().splitlines())}
    for env in ({}, {"CLIMG_SLICE": "64"}):
        done = harness.run("--info=json", "--measure", *files, tmp_path / "w.tif", env=env).out.decode()
        found = {line["file"]: line["noise"] for line in map(json.loads, done.splitlines())}
        assert found.pop(str(tmp_path / "w.tif")) is None
        assert found.keys() == expected.keys()
        for name, noise in found.items():
            assert np.allclose(noise, expected[name], atol=2e-3), name
    lines = harness.run("--info", "--measure", files[0]).out.decode().splitlines()
    assert sum("by size of detail (2, 4, 8, 16, 32, 64 pixels), each as the sigma of equally strong white noise:" in line for line in lines) == 1
    assert sum(line.startswith("    brightness ") for line in lines) == 1
    assert "--measure requires --info" in harness.run("--measure", files[0], tmp_path / "out.png", status=2).err


def measure(path):
    return json.loads(harness.run("--info=json", "--measure", path).out)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32"])
def test_clipped_and_sharp(tmp_path, rng, channels, dtype):
    """Shares of the ends of the scale, and the variance of the Laplacian over 20 times the finest level's noise."""
    samples = rng.normal(0.5, 0.25, (64, 80, channels))
    low, full = (0, 1) if dtype == "float32" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    samples = samples.astype(dtype) if dtype == "float32" else np.clip(samples * full, low, full).astype(dtype)
    if dtype == "int16":
        samples[:5] = low
    colours = channels - (channels in (2, 4))
    if colours < channels:  # colours nobody sees
        samples[:20, 10:40, :colours] = full
        samples[:20, 10:40, -1] = 0
    harness.write_tiff(tmp_path / "a.tif", samples)
    found = measure(tmp_path / "a.tif")
    hidden = np.zeros(samples.shape, bool)
    hidden[..., :colours] = colours < channels and samples[..., -1:] == 0
    seen = np.ma.array(samples.astype(float), mask=hidden)
    for key, ends in (("black", seen <= low), ("white", seen >= full)):
        assert np.allclose(found["clipped"][key], ends.mean(axis=(0, 1)), atol=1e-8), key
    for key, function in (("smallest", np.ma.min), ("largest", np.ma.max), ("mean", np.ma.mean)):
        assert np.allclose(found["values"][key], function(seen, axis=(0, 1)), rtol=1e-6), key
    scale = (0, 1) if dtype == "float32" else (low, full + 1)
    for channel, counts in enumerate(found["histogram"]):
        assert counts == np.histogram(np.clip(seen[..., channel].compressed(), low, full), 256, scale)[0].tolist(), channel
    grey = (seen[..., :colours] / full).sum(axis=2) / np.sqrt(colours)
    laplacian = 4 * grey[1:-1, 1:-1] - grey[:-2, 1:-1] - grey[2:, 1:-1] - grey[1:-1, :-2] - grey[1:-1, 2:]
    expected = laplacian.var() / (20 * (found["noise"][0][0] / 255)**2)
    assert np.isclose(found["sharpness"], expected, rtol=1e-3)


def test_values_of_a_12_bit_camera(tmp_path, rng):
    samples = rng.integers(30, 1901, (40, 50, 1)).astype(np.uint16)
    harness.write_tiff(tmp_path / "a.tif", samples)
    text = harness.run("--info", "--measure", tmp_path / "a.tif").out.decode()
    smallest, largest, mean = re.search(r"  values: gray (\d+) to (\d+), mean (\d+\.?\d*); white is 65535\n", text).groups()
    assert (int(smallest), int(largest)) == (samples.min(), samples.max())
    assert abs(float(mean) - samples.mean()) < 0.0050001  # five digits; ties may be rounded up or down
    harness.write_tiff(tmp_path / "b.tif", np.array([[np.nan, 2, np.inf, -1]], np.float32).reshape(2, 2, 1))
    found = measure(tmp_path / "b.tif")
    assert found["values"] == {"smallest": [-1], "largest": [2], "mean": [0.5]}
    assert found["histogram"] == [[1] + 254 * [0] + [1]]


def test_pixels_of_imagej(tmp_path):
    import tifffile
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((8, 8), np.uint16), imagej=True, resolution=(5.5, 5.5), metadata={"unit": "um"})
    assert "  resolution: 5.5 pixels per unit, which the description may name\n" in harness.run("--info", tmp_path / "a.tif").out.decode()


def test_camera_date_and_exposure(tmp_path):
    """Of EXIF in either order of bytes; nothing of what is missing or damaged."""
    from PIL import Image
    from PIL.TiffImagePlugin import IFDRational
    exif = Image.Exif()
    exif[0x010f], exif[0x0110] = "Canon ", "Canon EOS R6"
    exif[0x8769] = {0x9003: "2024:05:31 12:00:00", 0x829a: IFDRational(1, 250), 0x829d: IFDRational(28, 10), 0x8827: 400, 0x920a: IFDRational(50)}
    exif[0x8825] = {1: "N", 2: (48.0, 8.0, 3.0)}
    Image.new("RGB", (8, 8)).save(tmp_path / "a.jpg", exif=exif)
    found = json.loads(harness.run("--info=json", tmp_path / "a.jpg").out)
    assert found["taken"] == "Canon EOS R6, 2024:05:31 12:00:00, 1/250 s, f/2.8, ISO 400, 50 mm, with GPS position"
    assert f"  taken: {found['taken']}\n" in harness.run("--info", tmp_path / "a.jpg").out.decode()
    few = Image.Exif()
    few[0x010f], few[0x0110] = "NIKON CORPORATION", "E990"
    few[0x8769] = {0x829a: IFDRational(30), 0x829d: IFDRational(1, 0)}
    Image.new("RGB", (8, 8)).save(tmp_path / "b.jpg", exif=few)
    assert json.loads(harness.run("--info=json", tmp_path / "b.jpg").out)["taken"] == "NIKON CORPORATION E990, 30 s"
    few = Image.Exif()
    few[0x0112] = 1
    Image.new("RGB", (8, 8)).save(tmp_path / "c.jpg", exif=few)
    assert json.loads(harness.run("--info=json", tmp_path / "c.jpg").out)["taken"] is None


def test_sharpness_orders_pictures(tmp_path):
    """White noise has about 1; a blurred picture of the same noise has less than a sharp one."""
    sharp = tmp_path / "sharp.tif"
    harness.run(harness.SAMPLES / "valley.jpg", "--depth", "float", sharp)
    values = harness.read_tiff(sharp).astype(float)
    noise = np.random.default_rng(1).normal(0, 0.02, values.shape)
    found = []
    for sigma in (0, 1, 3):
        harness.run(sharp, *(["--blur", sigma] if sigma else []), tmp_path / "soft.tif")
        harness.write_tiff(tmp_path / "noisy.tif", (harness.read_tiff(tmp_path / "soft.tif") + noise).astype(np.float32))
        found.append(measure(tmp_path / "noisy.tif")["sharpness"])
    assert found[0] > 1.5 * found[1] > 1.5 * found[2] > 1 and abs(found[2] - 1) < 0.2, found


@pytest.mark.parametrize("make, bits", [(lambda v: v * 257, 8), (lambda v: v << 8, 8), (lambda v: v << 8 | 77, 8), (lambda v: v << 4 & 0xfff0, 16),
                                        (lambda v: v * 257 + (v == 3), 16), (lambda v: v * 0 + 514, None)])
def test_real_bits(tmp_path, rng, make, bits):
    values = rng.integers(0, 4096, (40, 50, 1)).astype(np.uint32)
    values = values & 255 if bits == 8 or bits is None else values
    values[0, 0] = 3
    samples = make(values).astype(np.uint16)
    harness.write_tiff(tmp_path / "a.tif", samples)
    constant = int(np.bitwise_or.reduce(samples.ravel() ^ samples[0, 0]))
    expected = bits if bits != 16 else 16 - (constant & -constant).bit_length() + 1
    assert measure(tmp_path / "a.tif")["real_bits"] == expected
    text = harness.run("--info", "--measure", tmp_path / "a.tif").out.decode()
    assert ("--depth 8 loses nothing" in text) == (bits == 8 and not (samples % 257).any())
    harness.run(tmp_path / "a.tif", "--depth", "8", tmp_path / "b.tif")
    assert measure(tmp_path / "b.tif")["real_bits"] is None


def test_measuring_a_pipe_and_other_files(tmp_path):
    picture = harness.SAMPLES / "photo.jpg"
    found = measure(picture)
    assert found["jpeg_quality"] == 90 and found["real_bits"] is None
    piped = json.loads(harness.run("--info=json", "--measure", "-", stdin=picture.read_bytes()).out)
    assert piped | {"file": ""} == found | {"file": ""}
    harness.run(picture, "--wavelet=2", tmp_path / "w.tif")
    found = measure(tmp_path / "w.tif")
    assert found["noise"] is None and found["sharpness"] is None and found["clipped"] == {"black": [], "white": []} and found["histogram"] == []
    harness.run(picture, "--crop", "1x1+0+0", tmp_path / "dot.png")
    assert measure(tmp_path / "dot.png")["sharpness"] is None


def test_real_bits_beside_opaque_alpha(tmp_path, rng):
    """The lowest bits of alpha are 1, of colours 0, and none of them changes."""
    samples = (rng.integers(0, 4096, (40, 50, 4)) << 4).astype(np.uint16)
    samples[..., 3] = 65535
    harness.write_tiff(tmp_path / "a.tif", samples)
    assert measure(tmp_path / "a.tif")["real_bits"] == 12
