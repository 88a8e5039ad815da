"""The kernel forms that this device would not take by itself: those for GPUs, and those of a tuning file."""

import numpy as np
import pytest

import harness
import reference
from harness import Shape, check_stage

KERNEL_5X3 = "1 2 3 4 5\n-1 0 2 0 1\n0 1 0 3 -2\n"


@pytest.fixture
def grouped(monkeypatch):
    monkeypatch.setenv("CLIMG_CLASS", "grouped")


def stage_cases():
    blur = lambda sigma: lambda planes: reference.blur(planes, sigma)
    scale = lambda factor, name="bicubic": lambda planes: reference.scale(planes, factor, name)
    yield "blur", ["--blur", "2"], blur(2), (101, 99, 3)
    yield "blur-small", ["--blur", "2"], blur(2), (5, 3, 2)
    yield "blur-long", ["--blur", "20,truncate=4"], lambda planes: reference.blur(planes, 20, 4), (150, 33, 1)
    yield "blur-coarse", ["--blur", "20"], blur(20), (150, 33, 1)
    yield "sharpen", ["--sharpen", "1.5,sigma=2"], lambda planes: reference.sharpen(planes, 1.5, 2), (67, 40, 4)
    yield "gradient", ["--gradient=2"], lambda planes: reference.gradient(planes, 2), (67, 40, 4)
    yield "half", ["--scale", "1/2"], scale("1/2"), (101, 99, 3)
    yield "quarter", ["--scale", "1/4"], scale("1/4"), (131, 70, 1)
    yield "twice", ["--scale", "2"], scale("2"), (37, 29, 3)
    yield "four", ["--scale", "4,filter=bilinear"], scale("4", "bilinear"), (37, 29, 1)
    yield "sixteen", ["--scale", "16"], scale("16"), (9, 7, 2)
    yield "nearest", ["--scale", "4,filter=nearest"], scale("4", "nearest"), (9, 7, 1)
    yield "half-corners", ["--scale", "1/2,grid=corners"], lambda planes: reference.scale(planes, "1/2", grid="corners"), (67, 35, 2)
    yield "wavelet", ["--wavelet=3", "--inverse-wavelet"], lambda planes: planes, (61, 47, 3)


CASES = list(stage_cases())


@pytest.mark.some(7)
@pytest.mark.parametrize("args, stage, size", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_forms_for_gpus(tmp_path, rng, grouped, args, stage, size):
    check_stage(tmp_path, rng, Shape(*size, "float32"), args, [stage])


@pytest.mark.parametrize("width, height", [(5, 3), (45, 3), (33, 90)])  # the last one beyond local memory
def test_matrices_on_gpus(tmp_path, rng, grouped, width, height):
    matrix = rng.uniform(-1, 1, (height, width)) / height
    np.savetxt(tmp_path / "kernel.txt", matrix)
    edge = str(rng.choice(harness.run_edges()))
    check_stage(tmp_path, rng, Shape(83, 61, 1, "float32"),
                ["--edge", edge, "--convolve", f"@{tmp_path}/kernel.txt,normalize=no"],
                [lambda planes: reference.convolve(planes, matrix, normalize=False, edge=edge)])


@pytest.mark.parametrize("edge", harness.run_edges()[1:])
def test_edges_on_gpus(tmp_path, rng, grouped, edge):
    check_stage(tmp_path, rng, Shape(19, 23, 3, "float32"), ["--blur", "3", "--scale", "2", "--edge", edge],
                [lambda planes: reference.blur(planes, 3, edge=edge),
                 lambda planes: reference.scale(planes, "2", edge=edge)])
    check_stage(tmp_path, rng, Shape(139, 23, 4, "float32"), ["--scale", "1/2", "--edge", edge],
                [lambda planes: reference.scale(planes, "1/2", edge=edge)])


@pytest.mark.some(6)
@pytest.mark.parametrize("edge", harness.run_edges())
@pytest.mark.parametrize("value", ["1", "2", "4,filter=bilinear", "4,grid=corners", "16", "4,filter=nearest"])
def test_enlarging_on_gpus(tmp_path, rng, grouped, value, edge):
    factor, *options = value.split(",")
    width, height = rng.integers(1, 20, 2).tolist()
    check_stage(tmp_path, rng, Shape(width, height, 3, "float32"), ["--edge", edge, "--scale", value],
                [lambda planes: reference.scale(planes, factor, edge=edge, **dict(o.split("=") for o in options))])


@pytest.mark.some(2)
@pytest.mark.parametrize("outputs", [1, 2, 16])
def test_outputs_along_x(tmp_path, rng, grouped, monkeypatch, outputs):
    (tmp_path / "tuned").write_text(f"made for this test\nimage enlarge {outputs} 2 8\n")
    monkeypatch.setenv("CLIMG_TUNING", str(tmp_path / "tuned"))
    for factor in ("2", "8"):
        check_stage(tmp_path, rng, Shape(19, 13, 4, "float32"), ["--scale", factor],
                    [lambda planes: reference.scale(planes, factor)])


TUNED = {  # memory and kernel: outputs, group, and a chain that launches it
    "buffer filter_both": ((16, 64, 1), "blur"), "buffer reduce": ((8, 64, 1), "half"),
    "buffer filter_rows": ((1, 4, 4), "blur-long"), "buffer filter_columns": ((2, 8, 2), "blur-long"),
    "buffer enlarge": ((16, 4, 2), "twice"),
    "buffer convolve": ((2, 8, 2), "matrix"),
    "buffer forward_1": ((1, 64, 1), "wavelet"), "buffer forward_2": ((1, 256, 1), "wavelet"),
    "buffer inverse_1": ((1, 64, 1), "wavelet"), "buffer inverse_2": ((16, 64, 1), "wavelet"),
    "image filter_both": ((4, 64, 1), "blur"), "image reduce": ((2, 256, 1), "half"),
    "image filter_rows": ((4, 2, 8), "blur-long"), "image filter_columns": ((16, 4, 4), "blur-long"),
    "image enlarge": ((4, 8, 2), "twice"),
    "image convolve": ((2, 4, 4), "matrix"),
    "image forward_1": ((1, 128, 1), "wavelet"), "image forward_2": ((1, 64, 1), "wavelet"),
    "image inverse_1": ((2, 128, 1), "wavelet"), "image inverse_2": ((1, 128, 1), "wavelet")}


def launched(folder, layer, memory, args):
    """{kernel: width and height of its groups}"""
    log = folder / f"{memory}.log"
    harness.run("--memory", memory, "--depth", "float", folder / "in.tif", *args, folder / "out.tif",
                env={**layer, "LAUNCHES": str(log)})
    return {kernel: (int(x), int(y)) for kernel, x, y in map(str.split, log.read_text().splitlines())}


@pytest.mark.some(3)
@pytest.mark.parametrize("name", ["blur", "blur-long", "half", "twice", "matrix", "wavelet"])
def test_tuned_forms(tmp_path, rng, grouped, monkeypatch, failing_device, name):
    """Those of the file are taken, and right."""
    np.savetxt(tmp_path / "kernel.txt", np.loadtxt(KERNEL_5X3.splitlines()))
    cases = {case[0]: case[1:] for case in CASES}
    matrix = ["--convolve", f"@{tmp_path}/kernel.txt"]
    cases["matrix"] = (matrix, lambda planes: reference.convolve(planes, np.loadtxt(KERNEL_5X3.splitlines())), (67, 40, 3))
    args, stage, size = cases[name]
    lines = [f"{key} {' '.join(map(str, form))}" for key, (form, chain) in TUNED.items()]
    (tmp_path / "tuned").write_text("\n".join(["made for this test", *lines, ""]))
    monkeypatch.setenv("CLIMG_TUNING", str(tmp_path / "tuned"))
    check_stage(tmp_path, rng, Shape(*size, "float32"), args, [stage])
    for key, (form, chain) in TUNED.items():
        memory, kernel = key.split()
        rows = 2 if key.startswith("buffer inverse") else 1  # of items: one for L, one for H
        if chain == name:
            assert launched(tmp_path, failing_device, memory, args)[kernel] == (form[1], rows * form[2]), key


@pytest.mark.parametrize("text", ["", "x", "x\nbuffer filter_columns 3 16 1\n", "x\nbuffer filter_columns 4 99999 99999\n",
                                  "x\nbuffer filter_rows 8 16 1\n", "x\nnothing here\n\0\xff", "x\nbuffer nonesuch 1 4 4"])
def test_broken_tuning_files_are_ignored(tmp_path, rng, monkeypatch, text):
    (tmp_path / "tuned").write_bytes(text.encode("latin1"))
    monkeypatch.setenv("CLIMG_TUNING", str(tmp_path / "tuned"))
    check_stage(tmp_path, rng, Shape(20, 11, 1, "float32"), ["--blur", "1"], [lambda planes: reference.blur(planes, 1)])


@pytest.mark.parametrize("form", ["wide", "grouped"])
def test_compilers_say_nothing(tmp_path, rng, form):
    """With an empty cache: what a compiler has to say about kernels is not for users."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(20, 11, 1, "float32")))
    env = {"CLIMG_CLASS": form, "POCL_CACHE_DIR": str(tmp_path / "cache"), "CUDA_CACHE_DISABLE": "1"}
    assert harness.run("in.tif", "--blur", "1", "out.tif", cwd=tmp_path, env=env).err == ""
