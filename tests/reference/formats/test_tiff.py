"""Reading and writing TIFF: layouts, sample types, codecs, pages; and one clear line for what is not supported."""

import shutil
import subprocess
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image

import harness
from harness import Shape

LAYOUTS = {
    "one strip": {},
    "strips": {"rowsperstrip": 7},
    "tiles": {"tile": (16, 32)},
    "separate": {"planarconfig": "separate"},
    "separate tiles": {"planarconfig": "separate", "tile": (32, 16)},
    "deflate": {"compression": "zlib", "rowsperstrip": 5},
    "deflate predictor": {"compression": "zlib", "predictor": True, "rowsperstrip": 5},
    "deflate tiles": {"compression": "zlib", "predictor": True, "tile": (16, 16)},
    "lzma": {"compression": "lzma"},
    "big endian": {"byteorder": ">"},
    "big endian predictor": {"byteorder": ">", "compression": "zlib", "predictor": True},
    "BigTIFF": {"bigtiff": True},
}


def convert(tmp_path, *args, output="out.tif"):
    harness.run(*args, tmp_path / "in.tif", tmp_path / output)
    return harness.read_samples(tmp_path / output)


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_layouts(tmp_path, rng, layout):
    channels = int(rng.choice([2, 3, 4] if "separate" in layout else [1, 2, 3, 4]))
    dtype = str(rng.choice(["uint8", "uint16"] if "predictor" in layout or layout == "deflate tiles"
                           else harness.TYPES))
    width, height = rng.integers(1, 70, 2).tolist()
    samples = harness.random_samples(rng, Shape(width, height, channels, dtype))
    harness.write_tiff(tmp_path / "in.tif", samples, **LAYOUTS[layout])
    result = convert(tmp_path, "--compression", "none")
    harness.assert_close(harness.reference.to_float(result), harness.reference.to_float(samples), 1e-6)
    assert result.dtype == samples.dtype


@pytest.mark.parametrize("codec", ["tiff_lzw", "packbits", "tiff_adobe_deflate"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_codecs_of_libtiff(tmp_path, rng, codec, channels):
    samples = harness.random_samples(rng, Shape(45, 33, channels, "uint8"))
    pixels = samples[..., 0] if channels == 1 else samples
    Image.fromarray(pixels).save(tmp_path / "in.tif", compression=codec)
    assert np.array_equal(convert(tmp_path, output="out.png"), samples)


def test_output_keeps_the_codec(tmp_path):
    Image.new("RGB", (40, 30), (10, 200, 30)).save(tmp_path / "in.tif", compression="tiff_lzw")
    harness.run(tmp_path / "in.tif", "--blur", "1", tmp_path / "out.tif")
    assert harness.tiff_tags(tmp_path / "out.tif")[259] == 5
    assert Image.open(tmp_path / "out.tif").getpixel((7, 9)) == (10, 200, 30)


@pytest.mark.parametrize("mode,predictor", [("L", 1), ("L", 2), ("I;16", 1), ("I;16", 2), ("F", 1), ("F", 3)])
@pytest.mark.parametrize("codec", ["tiff_lzw", "tiff_adobe_deflate"])
def test_output_keeps_the_predictor(tmp_path, rng, mode, predictor, codec):
    """The predictor stays if it suits the samples. Uncompressed integers get differences; floats get none, as few programs read them."""
    dtype = {"L": np.uint8, "I;16": np.uint16, "F": np.float32}[mode]
    samples = (rng.random((30, 40)) * 200).astype(dtype)
    Image.fromarray(samples).save(tmp_path / "in.tif", compression=codec, tiffinfo={317: predictor})
    harness.run(tmp_path / "in.tif", "--flip", "h", tmp_path / "out.tif")
    tags = harness.tiff_tags(tmp_path / "out.tif")
    assert (tags[259], tags.get(317, 1)) == (5 if codec == "tiff_lzw" else 8, predictor)
    with Image.open(tmp_path / "out.tif") as image:
        assert np.array_equal(np.asarray(image), samples[:, ::-1])
    Image.fromarray(samples).save(tmp_path / "plain.tif")
    harness.run(tmp_path / "plain.tif", "--compression", "fast", tmp_path / "out.tif", "-y")
    assert harness.tiff_tags(tmp_path / "out.tif").get(317, 1) == (1 if mode == "F" else 2)
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), samples)
    harness.run(tmp_path / "in.tif", "--depth", "8" if mode == "F" else "float", tmp_path / "out.tif", "-y")
    assert harness.tiff_tags(tmp_path / "out.tif").get(317, 1) == (1 if mode != "F" or predictor == 1 else 2)


PAGES = [(1, 7), (7, 1), (2, 2), (3, 5), (16, 16), (53, 37), (300, 1100)]


@pytest.mark.some(6)
@pytest.mark.parametrize("made_by", ["imagej", "tifffile", "nobody"])
@pytest.mark.parametrize("compression", ["none", "fast"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_stacks_of_any_page_size(tmp_path, rng, made_by, compression, dtype):
    """tifffile takes pages for one run of samples, by what their description says and where their directories lie; Pillow goes from
    directory to directory."""
    for size in PAGES:
        stack = (rng.random((3, *size)) * 200).astype(dtype)
        if made_by == "imagej" and size[1] > 1:
            tifffile.imwrite(tmp_path / "in.tif", stack, imagej=True, metadata={"axes": "ZYX"})
        elif made_by == "tifffile" and min(size) > 1:
            tifffile.imwrite(tmp_path / "in.tif", stack, photometric="minisblack")
        else:  # a page of one column would be taken for more dimensions
            with tifffile.TiffWriter(tmp_path / "in.tif") as tiff:
                for page in stack:
                    tiff.write(page, photometric="minisblack", contiguous=False, metadata={} if made_by == "tifffile" else None)
        harness.run(tmp_path / "in.tif", "--flip", "v", "--compression", compression, tmp_path / "out.tif", "-y")
        assert np.array_equal(np.ravel(tifffile.imread(tmp_path / "out.tif", key=range(3))), stack[:, ::-1].ravel()), size
        if made_by != "tifffile" or min(size) > 1:
            assert np.array_equal(tifffile.imread(tmp_path / "out.tif").ravel(), stack[:, ::-1].ravel()), size
        with Image.open(tmp_path / "out.tif") as image:
            for i, page in enumerate(stack):
                image.seek(i)
                assert np.array_equal(np.asarray(image), page[::-1]), (size, i)
        if shutil.which("vips"):
            subprocess.run(["vips", "copy", f"{tmp_path}/out.tif[n=3]", f"{tmp_path}/out.ppm" if dtype == np.uint8 else f"{tmp_path}/out.pfm"], check=True)


def test_stack_of_one_directory(tmp_path, rng):
    """tifffile writes one for all pages if asked to; the rest is not lost quietly."""
    stack = rng.integers(0, 256, (3, 20, 30), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "in.tif", stack, photometric="minisblack", metadata={"axes": "ZYX"}, truncate=True)
    said = harness.run(tmp_path / "in.tif", tmp_path / "out.tif", status=1).err
    assert "several images in one directory, as tifffile writes them" in said
    harness.run(tmp_path / "in.tif", "--page", "1", tmp_path / "out.tif")
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), stack[0])


# ---------------------------------------------------------------- strips compressed on several threads

def undo_predictor(kind, rows, dtype, channels):
    """Differences of neighbours: of samples (2), or of the bytes of floats sorted by significance (3)."""
    if kind == 1:
        return rows.view(dtype).reshape(len(rows), -1, channels)
    if kind == 2:
        samples = rows.view(dtype).reshape(len(rows), -1, channels)
        return np.cumsum(samples, axis=1, dtype=dtype)
    planes = np.cumsum(rows.reshape(len(rows), -1, channels), axis=1, dtype=np.uint8)
    planes = planes.reshape(len(rows), np.dtype(dtype).itemsize, -1)
    return np.ascontiguousarray(planes.transpose(0, 2, 1)).view(">f4").astype(dtype).reshape(len(rows), -1, channels)


def read_deflated(path):
    """The samples, by zlib and numpy alone, and how many strips there are."""
    data = path.read_bytes()
    with tifffile.TiffFile(path) as tiff:
        page = tiff.pages[0]
        strips = [zlib.decompress(data[at:at + size]) for at, size in zip(page.dataoffsets, page.databytecounts)]
        rows = np.frombuffer(b"".join(strips), np.uint8).reshape(page.imagelength, -1)
        assert all(len(strip) == page.rowsperstrip * rows.shape[1] for strip in strips[:-1])
        return undo_predictor(page.predictor, rows, page.dtype, page.samplesperpixel), len(strips)


def write_with_jobs(folder, *options):
    """The same file from 1, 2 and 16 threads."""
    files = []
    for jobs in (1, 2, 16):
        harness.run(folder / "in.tif", *options, "--jobs", jobs, folder / "out.tif")
        files.append((folder / "out.tif").read_bytes())
    assert files[0] == files[1] == files[2]


@pytest.mark.some(6)
@pytest.mark.parametrize("level", ["fast", "5", "best"])
@pytest.mark.parametrize("size", [(1, 1), (300, 7), (400, 900), (70001, 9)], ids=str)
@pytest.mark.parametrize("dtype", harness.TYPES)
def test_deflated_strips(tmp_path, rng, dtype, size, level):
    channels = int(rng.choice([1, 3]))
    samples = harness.random_samples(rng, Shape(*size, channels, dtype))
    harness.write_tiff(tmp_path / "in.tif", samples)
    write_with_jobs(tmp_path, "--compression", level)
    result, count = read_deflated(tmp_path / "out.tif")
    row = size[0] * channels * samples.itemsize
    assert count == -(-size[1] // max(1, (256 << 10) // row))
    assert result.dtype == samples.dtype
    assert np.array_equal(result, samples)


@pytest.mark.parametrize("codec", ["tiff_lzw", "packbits", "zstd", "lzma"])
def test_strips_of_other_codecs(tmp_path, rng, codec):
    pixels = harness.random_samples(rng, Shape(500, 700, 3, "uint8"))
    Image.fromarray(pixels).save(tmp_path / "in.tif", compression=codec)
    write_with_jobs(tmp_path)
    with Image.open(tmp_path / "out.tif") as image:
        assert image.info["compression"] == codec
        assert np.array_equal(np.asarray(image), pixels)


LARGE_LAYOUTS = {  # of more than 1 MiB, which are decoded on several threads
    "strips": {"compression": "zlib", "rowsperstrip": 37},
    "predictor": {"compression": "zlib", "predictor": True, "rowsperstrip": 100},
    "big endian": {"byteorder": ">", "compression": "zlib", "predictor": True, "rowsperstrip": 64},
    "tiles": {"compression": "zlib", "tile": (64, 128)},
    "separate": {"compression": "zlib", "planarconfig": "separate", "rowsperstrip": 50},
    "separate tiles": {"compression": "zlib", "planarconfig": "separate", "tile": (128, 64)},
}


@pytest.mark.some(6)
@pytest.mark.parametrize("layout", list(LARGE_LAYOUTS))
@pytest.mark.parametrize("jobs", [1, 2, 16])
def test_bands_decoded_ahead(tmp_path, rng, layout, jobs):
    samples = harness.random_samples(rng, Shape(523, 611, 3, str(rng.choice(["uint16", "uint8"]))))
    if samples.dtype == np.uint8:
        samples = np.ascontiguousarray(np.tile(samples, (1, 2, 1)))
    harness.write_tiff(tmp_path / "in.tif", samples, **LARGE_LAYOUTS[layout])
    assert np.array_equal(convert(tmp_path, "--compression", "none", "--jobs", jobs), samples)


@pytest.mark.parametrize("codec", ["tiff_lzw", "packbits", "zstd"])
def test_codecs_decoded_ahead(tmp_path, rng, codec):
    pixels = harness.random_samples(rng, Shape(700, 800, 3, "uint8"))
    Image.fromarray(pixels).save(tmp_path / "in.tif", compression=codec)
    assert np.array_equal(convert(tmp_path, "--compression", "none", "--jobs", 5), pixels)


# ---------------------------------------------------------------- sample types

@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("dtype, tolerance", [("float16", 1e-6), ("uint32", 1e-6), ("float32", 1e-6),
                                              ("float64", 1e-6)])
def test_wide_samples(tmp_path, rng, dtype, tolerance, channels):
    shape = Shape(31, 23, channels, dtype)
    samples = harness.random_samples(rng, shape)
    harness.write_tiff(tmp_path / "in.tif", samples)
    result = convert(tmp_path)
    expected = harness.reference.to_float(samples)
    harness.assert_close(harness.reference.to_float(result), expected, 1e-3 if dtype == "float16" else tolerance)
    harness.assert_close(convert(tmp_path, "--depth", "float").astype(float), expected, tolerance)


@pytest.mark.parametrize("photometric, black", [("minisblack", 0), ("miniswhite", 1)])
def test_bilevel(tmp_path, rng, photometric, black):
    bits = rng.integers(0, 2, (19, 37)).astype(bool)
    tifffile.imwrite(tmp_path / "in.tif", bits, photometric=photometric, metadata=None)
    assert np.array_equal(convert(tmp_path)[..., 0], np.where(bits == bool(black), 0, 255))


def test_fax(tmp_path, rng):
    bits = Image.fromarray(rng.integers(0, 2, (19, 40)).astype(bool))
    bits.save(tmp_path / "in.tif", compression="group4")
    assert np.array_equal(convert(tmp_path, output="out.png")[..., 0], np.asarray(bits.convert("L")))


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_min_is_white(tmp_path, rng, dtype):
    samples = harness.random_samples(rng, Shape(20, 15, 1, dtype))
    harness.write_tiff(tmp_path / "in.tif", samples, photometric="miniswhite")
    assert np.array_equal(convert(tmp_path, output="out.png"), np.iinfo(dtype).max - samples)


def test_min_is_white_without_a_largest_value(tmp_path, rng):
    samples = harness.random_samples(rng, Shape(20, 15, 1, "float32"))
    harness.write_tiff(tmp_path / "in.tif", samples, photometric="miniswhite")
    assert "they stay, so 0 becomes black" in harness.run("in.tif", "out.tif", cwd=tmp_path).err
    assert np.array_equal(harness.read_samples(tmp_path / "out.tif"), samples)


def test_palette(tmp_path, rng):
    image = Image.fromarray(rng.integers(0, 256, (21, 17), dtype=np.uint8), "P")
    colours = rng.integers(0, 256, (256, 3), dtype=np.uint8)
    image.putpalette(colours.tobytes())
    image.save(tmp_path / "in.tif")
    result = convert(tmp_path, "--depth", "8")
    assert np.abs(result.astype(int) - colours[np.asarray(image)]).max() <= 1


# ---------------------------------------------------------------- pages

def write_pages(path, rng, count, width=20):
    pages = [harness.random_samples(rng, Shape(width + 3 * k, 15 + k, 3, "uint8")) for k in range(count)]
    with tifffile.TiffWriter(path) as tiff:
        for page in pages:
            tiff.write(page, photometric="rgb", metadata=None)
    return pages


def test_every_page_of_a_tiff(tmp_path, rng):
    pages = write_pages(tmp_path / "in.tif", rng, 3)
    harness.run(tmp_path / "in.tif", "--scale", "2,filter=nearest", tmp_path / "out.tif")
    results = harness.read_pages(tmp_path / "out.tif")
    assert len(results) == 3
    for page, result in zip(pages, results):
        assert np.array_equal(result, page.repeat(2, axis=0).repeat(2, axis=1))


@pytest.mark.parametrize("page", [1, 3])
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_one_page(tmp_path, rng, page, suffix):
    pages = write_pages(tmp_path / "in.tif", rng, 3)
    assert np.array_equal(convert(tmp_path, "--page", page, output=f"out{suffix}"), pages[page - 1])


@pytest.mark.parametrize("pages, expected", [("2-4", [2, 3, 4]), ("4-", [4, 5]), ("-2", [1, 2]), ("2-2", [2]), ("3-99", [3, 4, 5])])
@pytest.mark.parametrize("kind", ["tiff", "pnm"])
def test_some_pages(tmp_path, rng, kind, pages, expected):
    """A TIFF, and images in a pipe whose number is unknown."""
    samples = write_pages(tmp_path / "in.tif", rng, 5)
    if kind == "tiff":
        harness.run(tmp_path / "in.tif", "--page", pages, tmp_path / "out.tif")
    else:
        stream = harness.run(tmp_path / "in.tif", "-f", "ppm").out
        harness.run("--page", pages, "-f", "tiff", "-o", tmp_path / "out.tif", stdin=stream)
    results = harness.read_pages(tmp_path / "out.tif")
    assert len(results) == len(expected)
    for page, result in zip(expected, results):
        assert np.array_equal(result, samples[page - 1])


def test_pages_do_not_fit_a_png(tmp_path, rng):
    write_pages(tmp_path / "in.tif", rng, 2)
    result = harness.run(tmp_path / "in.tif", tmp_path / "out.png", status=1)
    assert result.err.count("\n") == 1 and "--page" in result.err
    assert not (tmp_path / "out.png").exists()


def test_page_that_is_not_there(tmp_path, rng):
    write_pages(tmp_path / "in.tif", rng, 2)
    result = harness.run(tmp_path / "in.tif", "--page", "3", tmp_path / "out.tif", status=1)
    assert result.err.count("\n") == 1 and "2" in result.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.tif"]


# ---------------------------------------------------------------- not supported

UNSUPPORTED = {
    "CMYK of 32 bits": (np.zeros((8, 8, 4), np.uint32), {"photometric": "separated"}),
    "uint64": (np.zeros((8, 8), np.uint64), {"photometric": "minisblack"}),
    "five": (np.zeros((8, 8, 5), np.uint8), {"photometric": "minisblack", "planarconfig": "contig"}),
}


@pytest.mark.parametrize("kind", list(UNSUPPORTED))
def test_unsupported(tmp_path, kind):
    samples, options = UNSUPPORTED[kind]
    tifffile.imwrite(tmp_path / "in.tif", samples, metadata=None, **options)
    result = harness.run(tmp_path / "in.tif", tmp_path / "out.tif", status=1)
    assert result.err.startswith(f"climg: {tmp_path / 'in.tif'}: ") and result.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.tif"]


@pytest.mark.parametrize("page", ["2", "1-9"])
def test_other_pages_are_not_lost_in_place(tmp_path, rng, page):
    """They are nowhere else."""
    write_pages(tmp_path / "in.tif", rng, 3)
    before = (tmp_path / "in.tif").read_bytes()
    done = harness.run("in.tif", "--invert", "--page", page, "--in-place", cwd=tmp_path, status=2)
    assert done.err.startswith("climg: --in-place with --page would lose the other pages")
    assert (tmp_path / "in.tif").read_bytes() == before
