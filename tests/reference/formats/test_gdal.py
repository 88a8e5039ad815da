"""TIFFs that GDAL makes are read as GDAL reads them, and what climg writes says to GDAL what the input said. A file that is
refused names the command that makes one of it that is not. Skipped where GDAL's Python package is not installed."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import harness

gdal = pytest.importorskip("osgeo.gdal", reason="GDAL's Python package is not installed")
if not shutil.which("gdal_translate"):
    pytest.skip("GDAL's programs are not installed", allow_module_level=True)
gdal.UseExceptions()
TILES = ["TILED=YES", "BLOCKXSIZE=32", "BLOCKYSIZE=48"]
DTYPES = {"Byte": np.uint8, "UInt16": np.uint16, "Int16": np.int16, "UInt32": np.uint32, "Int32": np.int32, "Float32": np.float32,
          "Float64": np.float64, "CFloat32": np.complex64, "CInt16": np.complex64}


def make(path, rng, kind, bands=1, options=(), most=None):
    """Float32 of GDAL with NBITS=16 is float16; 64-bit floats get values that 32 bits hold, 32-bit integers 24 bits."""
    dtype, shape = np.dtype(DTYPES[kind]), (bands, 70, 83)
    if dtype.kind in "ui":
        limits = np.iinfo(dtype)
        samples = rng.integers(max(limits.min, -(1 << 23)), (min(limits.max, 1 << 23) if most is None else most) + 1, shape).astype(dtype)
    else:
        samples = rng.normal(0, 10, shape).astype(np.float16).astype(dtype)
    data = gdal.GetDriverByName("GTiff").Create(str(path), 83, 70, bands, getattr(gdal, f"GDT_{kind}"), options=list(options))
    for band in range(bands):
        data.GetRasterBand(band + 1).WriteArray(samples[band])
    return data


def read(path):
    return gdal.Open(str(path)).ReadAsArray()


RGB = ["PHOTOMETRIC=RGB"]
CASES = {"": [(kind, 1, []) for kind in DTYPES if kind[0] != "C"], "RGB": [(kind, 3, RGB) for kind in DTYPES if kind[0] != "C"],
         "compression": [("Byte", 3, [f"COMPRESS={name}", *RGB]) for name in ("LZW", "DEFLATE", "PACKBITS", "ZSTD", "LZMA", "LERC", "LERC_ZSTD")],
         "predictor": [(kind, 2, [*TILES, "COMPRESS=LZW", "PREDICTOR=2"]) for kind in ("Byte", "UInt16", "Int16", "UInt32", "Float32")] +
                      [(kind, 2, [*TILES, "COMPRESS=DEFLATE", "PREDICTOR=3"]) for kind in ("Float32", "Float64")],
         "separate": [(kind, bands, ["INTERLEAVE=BAND", *RGB, *more]) for kind, bands, more in
                      (("Byte", 3, []), ("UInt16", 4, TILES), ("Float32", 3, ["BLOCKYSIZE=7"]))],
         "layout": [("UInt16", 1, ["BIGTIFF=YES"]), ("Float32", 1, ["BIGTIFF=YES", "ENDIANNESS=BIG", *TILES]), ("UInt16", 3, ["ENDIANNESS=BIG", *RGB]),
                    ("Byte", 4, ["ALPHA=YES", *RGB]), ("UInt16", 2, ["ALPHA=YES"]), ("Byte", 1, ["PIXELTYPE=SIGNEDBYTE"]), ("Byte", 1, ["PROFILE=GeoTIFF"])],
         "half": [("Float32", 1, ["NBITS=16"]), ("Float32", 3, ["NBITS=16", "COMPRESS=DEFLATE", "PREDICTOR=3", *TILES, *RGB]), ("Float32", 1, ["NBITS=24"])]}


@pytest.mark.parametrize("kind, bands, options", [case for cases in CASES.values() for case in cases], ids=str)
def test_pixels(tmp_path, rng, kind, bands, options):
    make(tmp_path / "in.tif", rng, kind, bands, options).FlushCache()
    harness.run(tmp_path / "in.tif", tmp_path / "out.tif")
    before, after = read(tmp_path / "in.tif"), read(tmp_path / "out.tif")
    assert after.shape == before.shape and np.array_equal(after, before)


@pytest.mark.parametrize("bits", [*range(1, 8), *range(9, 16)])
def test_few_bits(tmp_path, rng, bits):
    """They become 8 or 16: the nearest of them."""
    most = (1 << bits) - 1
    data = make(tmp_path / "in.tif", rng, "Byte" if bits < 8 else "UInt16", 1, [f"NBITS={bits}"], most)
    data.FlushCache()
    del data
    said = harness.run("-v", tmp_path / "in.tif", tmp_path / "out.tif").err
    exact = read(tmp_path / "in.tif") * ((255 if bits < 8 else 65535) / most)
    assert f"{bits}-bit samples become" in said and np.abs(read(tmp_path / "out.tif") - exact).max() <= 0.5


def test_what_is_said(tmp_path, rng):
    data = make(tmp_path / "in.tif", rng, "Int16", 3, RGB)
    data.SetGeoTransform((5e5, 10, 0, 4e6, 0, -20))
    data.SetMetadataItem("place", "here & <there>")
    for number in (1, 2, 3):
        band = data.GetRasterBand(number)
        for say, value in ((band.SetNoDataValue, -999), (band.SetScale, 0.1 * number), (band.SetOffset, 7), (band.SetUnitType, "m"),
                           (band.SetDescription, f"band {number}")):
            say(value)
        band.ComputeStatistics(False)
    data.FlushCache()
    del data, band

    def told(path):
        data = gdal.Open(str(path))
        bands = [data.GetRasterBand(number) for number in (1, 2, 3)]
        return (data.GetGeoTransform(), data.GetMetadataItem("place"),
                [(b.GetNoDataValue(), b.GetScale(), b.GetOffset(), b.GetUnitType(), b.GetDescription(), b.GetMetadata()) for b in bands])

    harness.run(tmp_path / "in.tif", tmp_path / "out.tif")
    assert told(tmp_path / "out.tif") == told(tmp_path / "in.tif")
    harness.run(tmp_path / "in.tif", "--scale", "1/2", tmp_path / "half.tif")
    (x, a, b, y, c, d), _, bands = told(tmp_path / "half.tif")
    assert (x, a, b, y, c, d) == pytest.approx((5e5, 20, 0, 4e6, 0, -40)) and bands[1] == (-999, 0.2, 7, "m", "band 2", {})
    harness.run(tmp_path / "in.tif", "--depth", "float", tmp_path / "float.tif")
    place, _, bands = told(tmp_path / "float.tif")
    assert place == (5e5, 10, 0, 4e6, 0, -20) and bands[1] == (None, None, None, "", "", {})


def test_what_is_no_page_is_named(tmp_path, rng):
    data = make(tmp_path / "in.tif", rng, "Byte")
    gdal.SetConfigOption("GDAL_TIFF_INTERNAL_MASK", "YES")
    data.CreateMaskBand(gdal.GMF_PER_DATASET)
    data.GetRasterBand(1).GetMaskBand().WriteArray((read(tmp_path / "in.tif") > 100).astype(np.uint8) * 255)
    data.BuildOverviews("NEAREST", [2])
    data.FlushCache()
    del data
    said = harness.run("-v", tmp_path / "in.tif", tmp_path / "out.tif").err
    assert said.split("left out: ")[1].splitlines()[0] == "smaller copies"
    assert "warning: has a mask of transparency, which is left out\n" in said
    assert np.array_equal(read(tmp_path / "out.tif"), read(tmp_path / "in.tif"))


@pytest.mark.parametrize("kind, bands, options, sparse", [
    ("UInt16", 3, [], False), ("Float32", 4, TILES, False), ("Byte", 5, [], False), ("Byte", 6, RGB, False), ("CFloat32", 1, [], False), ("CInt16", 1, [], False),
    ("Byte", 1, [*TILES, "SPARSE_OK=TRUE"], True), ("Int16", 1, ["SPARSE_OK=TRUE"], True)], ids=str)
def test_refusals_name_what_helps(tmp_path, rng, kind, bands, options, sparse):
    if sparse:
        data = gdal.GetDriverByName("GTiff").Create(str(tmp_path / "in.tif"), 83, 70, 1, getattr(gdal, f"GDT_{kind}"), options=options)
        data.GetRasterBand(1).WriteArray(np.ones((10, 10), DTYPES[kind]), 33, 49)
    else:
        data = make(tmp_path / "in.tif", rng, kind, bands, options)
    data.FlushCache()
    del data
    said = harness.run("in.tif", "out.tif", cwd=tmp_path, status=1).err
    command = re.search(r"gdal_translate [^()]*?IN OUT", said)[0].replace("IN", "in.tif").replace("OUT", "made.tif")
    assert said.count("\n") == 1
    subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    harness.run("made.tif", "out.tif", cwd=tmp_path)
    assert np.array_equal(read(tmp_path / "out.tif"), read(tmp_path / "made.tif"))
