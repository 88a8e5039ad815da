"""Bands: an image that goes through in runs of rows comes out bit for bit as when it goes through at once."""
import numpy as np
import PIL.Image
import pytest
import tifffile

import harness
from harness import Shape

CHAINS = (["--blur", "2.5"], ["--convolve", "1 2 3 4 / 1 0 1 0 5"], ["--sharpen", "1"], ["--gradient=1.7"],
          ["--scale", "4"], ["--scale", "1/4"], ["--scale", "1/2,antialias=no"], ["--scale", "1/4,filter=nearest"],
          ["--scale", "4,grid=corners"], ["--scale", "1/4,grid=corners"],
          ["--scale", "1/8,grid=corners,filter=bilinear,antialias=no"],
          ["--scale", "2,filter=bspline", "--blur", "1", "--scale", "1/2", "--invert"])
BANDS = (1, 3, 16, 37)


@pytest.mark.parametrize("edge", ["clamp", "mirror", "wrap", "zero"])
@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: "".join(chain).replace(" ", "_").replace("/", "div"))
def test_bands_change_nothing(tmp_path, rng, chain, edge):
    """Several sizes, also lower than a filter's halo; memory that was never written holds NaN."""
    names = []
    for i, (width, height) in enumerate([(40, 61), (17, 5), (3, 1)]):
        names.append(f"{i}.tif")
        harness.write_tiff(tmp_path / names[-1], harness.random_samples(rng, Shape(width, height, 3, "float32")))
    outputs = {}
    for band in (*BANDS, 100000):
        harness.run(*names, *chain, "--edge", edge, f"{band}/", cwd=tmp_path,
                    env={"CLIMG_BAND": str(band), "CLIMG_POISON": "1"})
        outputs[band] = [tifffile.imread(tmp_path / str(band) / name) for name in names]
    for band in BANDS:
        for name, part, whole in zip(names, outputs[band], outputs[100000]):
            assert np.isfinite(whole).all()
            assert np.array_equal(part, whole), f"{name} in bands of {band} rows"


@pytest.mark.parametrize("way", [{}, {"CLIMG_OWN_MEMORY": "1"}], ids=["shared", "own"])
@pytest.mark.parametrize("chain", [["--blur", "2.5"], ["--scale", "1/2", "--sharpen", "1"], []], ids=["blur", "half", "none"])
def test_files_are_the_same(tmp_path, rng, chain, way):
    """Whole files, byte for byte: pages of several heights, and PNG; samples are copied or stay where they are."""
    pages = [harness.random_samples(rng, Shape(37, height, 3, "uint16")) for height in (300, 61, 520)]
    with tifffile.TiffWriter(tmp_path / "pages.tif") as tiff:
        for page in pages:
            tiff.write(page, photometric="rgb", metadata=None)
    PIL.Image.fromarray(harness.random_samples(rng, Shape(43, 530, 4, "uint8"))).save(tmp_path / "in.png")
    outputs = {}
    for band in (*BANDS, 256, 100000):
        harness.run("pages.tif", "in.png", *chain, f"{band}/", cwd=tmp_path,
                    env={"CLIMG_BAND": str(band), "CLIMG_POISON": "1", **(way if band < 100000 else {})})
        outputs[band] = [(tmp_path / str(band) / name).read_bytes() for name in ("pages.tif", "in.png")]
        assert len(tifffile.TiffFile(tmp_path / str(band) / "pages.tif").pages) == 3
        same = outputs[band] == outputs[1]
        assert same, f"in bands of {band} rows"


@pytest.mark.parametrize("value", ["4,grid=corners", "8,filter=bspline", "1/4,grid=corners"])
def test_bands_on_gpus(tmp_path, rng, monkeypatch, value):
    monkeypatch.setenv("CLIMG_CLASS", "grouped")
    test_bands_change_nothing(tmp_path, rng, ["--memory", "buffer", "--scale", value], "clamp")
