"""Slices: an image that goes through in runs of rows comes out bit for bit as when it goes through at once."""
import json

import numpy as np
import PIL.Image
import pytest
import tifffile

import harness
from harness import Shape

# In addition to the chains of test_matrix.py.
CHAINS = (["--blur", "2.5"], ["--convolve", "1 2 3 4 / 1 0 1 0 5"], ["--scale", "1/4"],
          ["--scale", "4,grid=corners"], ["--scale", "1/4,grid=corners"],
          ["--scale", "1/8,grid=corners,filter=bilinear,antialias=no"],
          ["--scale", "2,filter=bspline", "--blur", "1", "--scale", "1/2", "--invert"])
HEIGHTS = (1, 3, 16, 37)


@pytest.mark.some(7)
@pytest.mark.parametrize("edge", harness.run_edges())
@pytest.mark.parametrize("chain", CHAINS, ids=harness.chain_id)
def test_slices_change_nothing(tmp_path, rng, chain, edge):
    """Several sizes, also lower than a filter's halo; memory that was never written holds NaN."""
    names = []
    for i, (width, height) in enumerate([(40, 61), (17, 5), (3, 1)]):
        names.append(f"{i}.tif")
        harness.write_tiff(tmp_path / names[-1], harness.random_samples(rng, Shape(width, height, 3, "float32")))
    outputs = {}
    for height in (*HEIGHTS, 100000):
        harness.run(*names, *chain, "--edge", edge, f"{height}/", cwd=tmp_path,
                    env={"CLIMG_SLICE": str(height), "CLIMG_POISON": "1"})
        outputs[height] = [tifffile.imread(tmp_path / str(height) / name) for name in names]
    for height in HEIGHTS:
        for name, part, whole in zip(names, outputs[height], outputs[100000]):
            assert np.isfinite(whole).all()
            assert np.array_equal(part, whole), f"{name} in slices of {height} rows"


@pytest.mark.some(3)
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
    for height in (*HEIGHTS, 256, 100000):
        harness.run("pages.tif", "in.png", *chain, f"{height}/", cwd=tmp_path,
                    env={"CLIMG_SLICE": str(height), "CLIMG_POISON": "1", **(way if height < 100000 else {})})
        outputs[height] = [(tmp_path / str(height) / name).read_bytes() for name in ("pages.tif", "in.png")]
        assert len(tifffile.TiffFile(tmp_path / str(height) / "pages.tif").pages) == 3
        same = outputs[height] == outputs[1]
        assert same, f"in slices of {height} rows"


@pytest.mark.parametrize("value", ["4,grid=corners", "8,filter=bspline", "1/4,grid=corners", "1/2"])
def test_slices_on_gpus(tmp_path, rng, monkeypatch, value):
    monkeypatch.setenv("CLIMG_CLASS", "gpu")
    test_slices_change_nothing(tmp_path, rng, ["--memory", "buffer", "--scale", value], "clamp")


# The wavelet transform, whose levels have borders, paddings and reaches of their own.
DEEP = (["--wavelet={levels}", "--inverse-wavelet"],
        ["--wavelet={levels},biort=near_sym_b,qshift=qshift_d", "--shrink=10", "--inverse-wavelet"],
        ["--wavelet={levels},biort=legall,qshift=qshift_06", "--gain", "1:1.5,low:0.9", "--inverse-wavelet"],
        ["--wavelet={levels},biort=antonini,qshift=qshift_c", "--gain=1:2", "--shrink=10", "--shrink=3", "--inverse-wavelet"],
        ["--wavelet={levels},qshift=qshift_b", "--inverse-wavelet"],
        ["--denoise=8,levels={levels}"],
        ["--denoise=8,levels=6"],
        ["--denoise=8,levels={levels},quality=high"],
        ["--denoise=auto,levels={levels}"],
        ["--blur", "2", "--denoise=auto,levels=6", "--scale", "2"],
        ["--rotate", "90", "--denoise=auto,levels=5", "--invert", "--denoise=6,levels=4"],
        ["--blur", "2", "--denoise=5,levels={levels}", "--scale", "2"],
        ["--scale", "1/2", "--wavelet={levels}", "--inverse-wavelet", "--sharpen", "1", "--denoise=20,levels=2"])


@pytest.mark.some(3)
@pytest.mark.parametrize("levels", [1, 2, 3, 4])
@pytest.mark.parametrize("chain", DEEP, ids=harness.chain_id)
def test_slices_of_pyramids_change_nothing(tmp_path, rng, chain, levels):
    """Heights much above and below a slice's reach, with every number of channels, on either class of kernels."""
    chain, names = [part.format(levels=levels) for part in chain], []
    form, edge = str(rng.choice(["cpu", "gpu"])), str(rng.choice(harness.run_edges()))
    for channels, highest in ((1, 900), (2, 40), (3, 400), (4, 150)):
        height, kind = int(rng.integers(1, highest + 1)), str(rng.choice(["uint8", "uint16", "float32"]))
        names.append(f"{channels}-{height}.tif")
        shape = Shape(int(rng.integers(5, 60)), height, channels, kind)
        harness.write_tiff(tmp_path / names[-1], harness.random_samples(rng, shape))
    outputs, heights = {}, (16, 37, 256)
    for height in (*heights, 100000):
        harness.run(*names, *chain, "--edge", edge, f"{height}/", cwd=tmp_path,
                    env={"CLIMG_SLICE": str(height), "CLIMG_POISON": "1", "CLIMG_CLASS": form})
        outputs[height] = [tifffile.imread(tmp_path / str(height) / name) for name in names]
    for height in heights:
        for name, part, whole in zip(names, outputs[height], outputs[100000]):
            assert np.isfinite(whole).all()
            assert np.array_equal(part, whole), f"{name}, {form}, --edge {edge}, in slices of {height} rows"


def test_heights_of_every_remainder(tmp_path, rng):
    """At four levels padding depends on the height modulo 32. Slices of one row and of seven, PNG files."""
    remainders = rng.choice(32, harness.some(6, 32), replace=False)
    names = [f"{160 + remainder}.png" for remainder in remainders]
    for name in names:
        samples = harness.random_samples(rng, Shape(21, int(name[:3]), 1, "uint8"))
        PIL.Image.fromarray(samples.reshape(samples.shape[:2])).save(tmp_path / name)
    chain = ["--wavelet=4,biort=near_sym_b,qshift=qshift_d", "--shrink=10", "--inverse-wavelet", "--denoise=5,levels=3"]
    for height in (1, 7, 100000):
        harness.run(*names, *chain, "--depth", "16", f"{height}/", cwd=tmp_path,
                    env={"CLIMG_SLICE": str(height), "CLIMG_POISON": "1"})
    for name in names:
        parts = [(tmp_path / str(height) / name).read_bytes() for height in (1, 7, 100000)]
        assert parts[0] == parts[2], f"{name} in slices of one row"
        assert parts[1] == parts[2], f"{name} in slices of seven rows"


@pytest.mark.some(2)
@pytest.mark.parametrize("memory", harness.MEMORIES)
@pytest.mark.parametrize("form", ["cpu", "gpu"])
@pytest.mark.parametrize("chain", [["--denoise"], ["--denoise=20"], ["--sharpen", "1", "--denoise=auto,levels=7"],
                                   ["--denoise=quality=high"], ["--denoise=20,levels=2", "--sharpen", "1"]], ids=harness.chain_id)
def test_surveys(tmp_path, rng, chain, form, memory):
    """Slices of --denoise, in tiles of their columns, come after a survey of the picture, which may come through a pipe: the same
    picture, and the same noise. Of tall ones it transforms only rows near those places whose energies count."""
    rows = int(rng.choice([300, 1700]))
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(int(rng.integers(30, 150000 // rows)), rows, int(rng.integers(1, 5)), "uint8")))
    outputs, noise = [], []
    for height in (64, 100000):
        env = {"CLIMG_SLICE": str(height), "CLIMG_POISON": "1", "CLIMG_CLASS": form}
        words = ["-m", memory, *chain, "--report", f"{height}.jsonl", "--depth", "16", f"{height}.tif"]
        if height == 64:
            env["CLIMG_TILE"] = str(rng.choice([64, 128]))
            harness.run("-", *words, cwd=tmp_path, env=env, stdin=(tmp_path / "in.tif").read_bytes())
        else:
            harness.run("in.tif", *words, cwd=tmp_path, env=env)
        outputs.append(tifffile.imread(tmp_path / f"{height}.tif").astype(int))
        noise.append(json.loads((tmp_path / f"{height}.jsonl").read_text())["noise"])
    assert noise[0] == noise[1]
    assert np.array_equal(*outputs), np.abs(outputs[0] - outputs[1]).max()


def test_surveys_keep_rows(tmp_path, rng):
    """In a temporary file; other ways of computing see the same noise."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(70, 200, 3, "uint8")))
    env = {"CLIMG_SLICE": "64"}
    harness.run("in.tif", "in.png", cwd=tmp_path)
    harness.run("in.png", "--denoise", "--verify=100", "out.tif", cwd=tmp_path, env=env)
    failed = harness.run("in.png", "--denoise", "-y", "other.tif", cwd=tmp_path, env={**env, "TMPDIR": str(tmp_path / "missing")}, status=1)
    assert f"cannot create a temporary file in {tmp_path}/missing: " in failed.err and not (tmp_path / "other.tif").exists()


@pytest.mark.parametrize("stages", [["--denoise"], ["--levels", "auto"], ["--levels", "auto", "--threshold", "otsu"]], ids=harness.chain_id)
@pytest.mark.parametrize("name", ["one.tif", "pages.tif", "one.ppm", "deep.ppm"])
def test_surveys_read_again_what_is_not_decoded(tmp_path, rng, name, stages):
    """Without a temporary file, and with the same result as of a file whose rows are kept (invariance)."""
    pages = [harness.random_samples(rng, Shape(70, 200 + i, 3, "uint16" if name == "deep.ppm" else "uint8"))
             for i in range(3 if name == "pages.tif" else 1)]
    for file, options in ((name, {}), ("kept.tif", {"compression": "zlib"})):
        with tifffile.TiffWriter(tmp_path / file) as tiff:  # a .ppm is made of the other one below
            for page in pages:
                tiff.write(page, photometric="rgb", metadata=None, **options)
    if name.endswith(".ppm"):
        harness.run("-y", "kept.tif", name, cwd=tmp_path)
    env = {"CLIMG_SLICE": "64"}
    harness.run(name, *stages, "-f", "tiff", "one", cwd=tmp_path, env={**env, "TMPDIR": str(tmp_path / "missing")})
    harness.run("kept.tif", *stages, "--compression", "none", "-f", "tiff", "other", cwd=tmp_path, env=env)
    with tifffile.TiffFile(tmp_path / "one") as one, tifffile.TiffFile(tmp_path / "other") as other:
        assert len(one.pages) == len(other.pages) == len(pages)
        assert all(np.array_equal(a.asarray(), b.asarray()) for a, b in zip(one.pages, other.pages, strict=True))


@pytest.mark.parametrize("chain", [["--denoise=auto,levels=3"], ["--wavelet=3", "--shrink", "--inverse-wavelet"],
                                   ["--wavelet=3", "--mosaic"], ["--wavelet=3", "--invert"]], ids=harness.chain_id)
def test_whole_images_stay_whole(tmp_path, rng, chain):
    """An estimated noise and a mosaic must see all rows: a slice's height is not for them."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(90, 150, 3, "uint8")))
    for height in (16, 100000):
        harness.run("in.tif", *chain, f"{height}.tif", cwd=tmp_path, env={"CLIMG_SLICE": str(height), "CLIMG_POISON": "1"})
    assert (tmp_path / "16.tif").read_bytes() == (tmp_path / "100000.tif").read_bytes()


@pytest.mark.parametrize("chain", [["--denoise=auto,levels=3"], ["--wavelet=3", "--shrink", "--inverse-wavelet"],
                                   ["--wavelet=1", "--inverse-wavelet"]], ids=harness.chain_id)
def test_rows_that_nobody_wants(tmp_path, rng, chain):
    """--scale without antialiasing leaves the last rows out; the noise is still measured in the whole image."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(40, 79, 3, "float32")))
    scale, env = ["--scale", "1/32,antialias=no,filter=nearest"], {"CLIMG_POISON": "1"}
    harness.run("in.tif", *chain, *scale, "once.tif", cwd=tmp_path, env=env)
    harness.run("in.tif", *chain, "--depth", "float", "first.tif", cwd=tmp_path, env=env)
    harness.run("first.tif", *scale, "twice.tif", cwd=tmp_path, env=env)
    assert np.array_equal(tifffile.imread(tmp_path / "once.tif"), tifffile.imread(tmp_path / "twice.tif"))


def test_pyramid_files_are_whole(tmp_path, rng):
    """To a file and from one, whatever CLIMG_SLICE asks for."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(90, 150, 3, "uint8")))
    outputs = []
    for height in (16, 100000):
        env = {"CLIMG_SLICE": str(height), "CLIMG_POISON": "1"}
        harness.run("in.tif", "--wavelet=3", "--gain=1:2", f"{height}.tif", cwd=tmp_path, env=env)
        harness.run(f"{height}.tif", "--shrink=4", "--inverse-wavelet", f"back{height}.tif", cwd=tmp_path, env=env)
        outputs.append([(tmp_path / f"{name}{height}.tif").read_bytes() for name in ("", "back")])
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("chain", [["--blur", "2"], ["--scale", "2"], ["--denoise=5,levels=2"]], ids=harness.chain_id)
def test_images_taller_than_the_device_has(tmp_path, rng, chain):
    """In image memory, whose images are 16384 rows high at most nearly everywhere; only their width is a limit."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(8, 17000, 1, "float32")))
    for memory in ("buffer", "image"):
        harness.run("in.tif", *chain, "--memory", memory, f"{memory}.tif", cwd=tmp_path)
    buffer, image = (tifffile.imread(tmp_path / f"{memory}.tif") for memory in ("buffer", "image"))
    assert np.array_equal(buffer, image)
