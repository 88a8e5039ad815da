"""The kernel forms that this device would not take by itself: those for GPUs."""

import numpy as np
import pytest

import harness
import reference
from harness import Shape, check_stage


@pytest.fixture
def gpu_variant(monkeypatch):
    monkeypatch.setenv("CLIMG_CLASS", "gpu")


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
def test_forms_for_gpus(tmp_path, rng, gpu_variant, args, stage, size):
    check_stage(tmp_path, rng, Shape(*size, "float32"), args, [stage])


@pytest.mark.parametrize("width, height", [(5, 3), (45, 3), (33, 90)])  # the last one beyond local memory
def test_matrices_on_gpus(tmp_path, rng, gpu_variant, width, height):
    matrix = rng.uniform(-1, 1, (height, width)) / height
    np.savetxt(tmp_path / "kernel.txt", matrix)
    edge = str(rng.choice(harness.run_edges()))
    check_stage(tmp_path, rng, Shape(83, 61, 1, "float32"),
                ["--edge", edge, "--convolve", f"@{tmp_path}/kernel.txt,normalize=no"],
                [lambda planes: reference.convolve(planes, matrix, normalize=False, edge=edge)])


@pytest.mark.parametrize("edge", harness.run_edges()[1:])
def test_edges_on_gpus(tmp_path, rng, gpu_variant, edge):
    check_stage(tmp_path, rng, Shape(19, 23, 3, "float32"), ["--blur", "3", "--scale", "2", "--edge", edge],
                [lambda planes: reference.blur(planes, 3, edge=edge),
                 lambda planes: reference.scale(planes, "2", edge=edge)])
    check_stage(tmp_path, rng, Shape(139, 23, 4, "float32"), ["--scale", "1/2", "--edge", edge],
                [lambda planes: reference.scale(planes, "1/2", edge=edge)])


@pytest.mark.some(6)
@pytest.mark.parametrize("edge", harness.run_edges())
@pytest.mark.parametrize("value", ["1", "2", "4,filter=bilinear", "4,grid=corners", "16", "4,filter=nearest"])
def test_enlarging_on_gpus(tmp_path, rng, gpu_variant, value, edge):
    factor, *options = value.split(",")
    width, height = rng.integers(1, 20, 2).tolist()
    check_stage(tmp_path, rng, Shape(width, height, 3, "float32"), ["--edge", edge, "--scale", value],
                [lambda planes: reference.scale(planes, factor, edge=edge, **dict(o.split("=") for o in options))])


@pytest.mark.parametrize("form", ["cpu", "gpu"])
def test_compilers_say_nothing(tmp_path, rng, form):
    """With an empty cache: what a compiler has to say about kernels is not for users."""
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, Shape(20, 11, 1, "float32")))
    env = {"CLIMG_CLASS": form, "POCL_CACHE_DIR": str(tmp_path / "cache"), "CUDA_CACHE_DISABLE": "1"}
    assert harness.run("in.tif", "--blur", "1", "out.tif", cwd=tmp_path, env=env).err == ""
