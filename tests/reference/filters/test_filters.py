"""--blur, --convolve, --sharpen and --gradient against scipy.ndimage in float64."""

import json

import numpy as np
import pytest
from scipy import ndimage

import reference
from harness import (EDGES, MEMORIES, Shape, check_integers, check_stage, device_copies, draw_shapes, pair, random_samples, read_samples, read_tiff,
                     run, run_edges, write_tiff)

OTHER_EDGES = EDGES[1:]


def case_id(value):
    return str(value).replace(" ", "_").replace("/", "div")


def cases(name, variants, count=8):
    return pytest.mark.parametrize("variant, shape", pair(name, variants, count), ids=case_id)


# ---------------------------------------------------------------- blur

BLURS = (("0.4", 0.4, 0), ("1", 1, 0), ("2,truncate=3", 2, 3), ("2.35", 2.35, 0), ("6.5,truncate=4", 6.5, 4), ("3,truncate=1.2", 3, 1.2),
         ("9", 9, 0))


@cases("blur", BLURS)
def test_blur(tmp_path, rng, variant, shape):
    text, sigma, truncate = variant
    check_stage(tmp_path, rng, shape, ["--blur", text], [lambda planes: reference.blur(planes, sigma, truncate)])


@pytest.mark.some(5)
@pytest.mark.parametrize("edge, shape", [(edge, shape) for edge in OTHER_EDGES for shape in draw_shapes(f"edge {edge}", 2)]
                         + [(edge, Shape(5, 2, 4, "float32")) for edge in OTHER_EDGES], ids=case_id)
def test_blur_edges(tmp_path, rng, edge, shape):
    check_stage(tmp_path, rng, shape, ["--blur", "3", "--edge", edge],
                [lambda planes: reference.blur(planes, 3, edge=edge)])


# ---------------------------------------------------------------- convolve

def matrix(y_taps, x_taps):
    return np.outer(y_taps, x_taps)


SEPARABLE = (
    ("1 4 6 4 1", matrix([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]), {}),
    ("-1 0 1 / 1 2 1", matrix([1, 2, 1], [-1, 0, 1]), {}),
    ("1 2 3 4 / 2 1", matrix([2, 1], [1, 2, 3, 4]), {}),
    ("0.5 0.25 / .75 2e-1 1,normalize=no", matrix([0.75, 0.2, 1], [0.5, 0.25]), {"normalize": False}),
    ("0.1 0.2 -0.3 / 1", matrix([1], [0.1, 0.2, -0.3]), {}),
    ("3", matrix([3], [3]), {}),
    ("1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 / 5 4 3 2 1", matrix([5, 4, 3, 2, 1], [1] * 21), {}),
)


@cases("convolve", SEPARABLE)
def test_convolve_separable(tmp_path, rng, variant, shape):
    text, kernel, options = variant
    check_stage(tmp_path, rng, shape, ["--convolve", text],
                [lambda planes: reference.convolve(planes, kernel, **options)])


def write_kernel(path, kernel):
    path.write_text("".join(" ".join(f"{w:.17g}" for w in row) + "\n" for row in kernel))
    return path


def draw_kernel(rng, kind):
    """Random matrices: any, of sum 0, of rank 1 (which climg may run as two passes), and a classic."""
    if kind == "sharp":
        return np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], float)
    height, width = rng.integers(1, 8, 2)
    if kind == "rank1":
        return np.outer(rng.uniform(0.1, 1, height), rng.uniform(0.1, 1, width))
    kernel = rng.uniform(0.05, 1, (height + 1, width + 1))
    return kernel - kernel.mean() if kind == "zero" else kernel


@cases("matrix", ("any", "zero", "rank1", "sharp", "any"), count=8)
def test_convolve_matrix(tmp_path, rng, variant, shape):
    kernel = draw_kernel(rng, variant)
    if variant == "zero":
        kernel = kernel / np.abs(kernel).sum()
    path = write_kernel(tmp_path / "kernel.txt", kernel)
    check_stage(tmp_path, rng, shape, ["--convolve", f"@{path}"],
                [lambda planes: reference.convolve(planes, kernel)])


def test_convolve_large_matrix(tmp_path, rng):
    kernel = rng.uniform(0, 1, (16, 16))
    path = write_kernel(tmp_path / "kernel.txt", kernel)
    check_stage(tmp_path, rng, Shape(101, 99, 3, "uint8"), ["--convolve", f"@{path}"],
                [lambda planes: reference.convolve(planes, kernel)])


@pytest.mark.parametrize("edge", run_edges()[1:])
@pytest.mark.parametrize("kind", ["any", "separable"])
def test_convolve_edges(tmp_path, rng, edge, kind):
    if kind == "any":
        kernel = draw_kernel(rng, "any")
        value = f"@{write_kernel(tmp_path / 'kernel.txt', kernel)}"
    else:
        kernel, value = matrix([1, 2], [1, 2, 3, 4]), "1 2 3 4 / 1 2"
    shape = draw_shapes(f"convolve {edge} {kind}")[0]
    check_stage(tmp_path, rng, shape, ["--convolve", value, "--edge", edge],
                [lambda planes: reference.convolve(planes, kernel, edge=edge)])


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_convolve_bias(tmp_path, rng, channels):
    check_stage(tmp_path, rng, Shape(33, 17, channels, "uint8"), ["--convolve=-1 0 1 / 1 2 1,bias=0.5"],
                [lambda planes: reference.convolve(planes, matrix([1, 2, 1], [-1, 0, 1]), bias=0.5)])


@pytest.mark.parametrize("channels", [2, 4])
def test_bias_leaves_alpha_alone(tmp_path, rng, channels):
    """Both forms of a kernel whose sum is not 0: separable, and a matrix of rank 2."""
    shape, kernel = Shape(33, 17, channels, "float32"), np.array([[1, 2, 0], [0, 3, 1]])
    check_stage(tmp_path, rng, shape, ["--convolve=1 2 1,bias=0.1"],
                [lambda planes: reference.convolve(planes, matrix([1, 2, 1], [1, 2, 1]), bias=0.1)])
    check_stage(tmp_path, rng, shape, ["--convolve", f"@{write_kernel(tmp_path / 'k.txt', kernel)},bias=0.1"],
                [lambda planes: reference.convolve(planes, kernel, bias=0.1)])


def test_exact_halves_round_to_even(tmp_path, rng):
    """Binomial weights on 8-bit samples: sums of integers / 256, so every half is exact."""
    samples = rng.integers(0, 256, (101, 99, 3), np.uint8)
    write_tiff(tmp_path / "in.tif", samples)
    taps = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1])
    sums = np.stack([ndimage.correlate(samples[..., c].astype(int), taps, mode="nearest") for c in range(3)], axis=2)
    expected = np.rint(sums / 256).astype(np.uint8)
    for memory in MEMORIES:
        run("--memory", memory, tmp_path / "in.tif", "--convolve", "1 4 6 4 1", tmp_path / "out.tif")
        assert np.array_equal(read_tiff(tmp_path / "out.tif"), expected)


# ---------------------------------------------------------------- sharpen

SHARPENS = (("0.8", 0.8, 1, 0), ("1.5,sigma=2.5", 1.5, 2.5, 0), ("0.5,sigma=0.7,threshold=0.1", 0.5, 0.7, 0.1),
            ("2,threshold=0.25", 2, 1, 0.25))


@cases("sharpen", SHARPENS)
def test_sharpen(tmp_path, rng, variant, shape):
    text, amount, sigma, threshold = variant

    def on_the_threshold(planes):
        detail = np.abs(planes - reference.blur(planes, sigma))
        return np.abs(detail - threshold) < (1e-6 if threshold else -1)

    check_stage(tmp_path, rng, shape, ["--sharpen", text],
                [lambda planes: reference.sharpen(planes, amount, sigma, threshold)], ignore=on_the_threshold)


# ---------------------------------------------------------------- gradient

GRADIENTS = (("", 1), ("=0.6", 0.6), ("=2", 2), ("=3.3", 3.3))


@cases("gradient", GRADIENTS)
def test_gradient(tmp_path, rng, variant, shape):
    text, sigma = variant
    check_stage(tmp_path, rng, shape, [f"--gradient{text}"], [lambda planes: reference.gradient(planes, sigma)])


@pytest.mark.parametrize("edge", run_edges()[1:])
def test_sharpen_and_gradient_edges(tmp_path, rng, edge):
    shape = Shape(*rng.integers(2, 40, 2).tolist(), 3, "float32")
    check_stage(tmp_path, rng, shape, ["--edge", edge, "--sharpen", "0.7", "--gradient"],
                [lambda planes: reference.sharpen(planes, 0.7, edge=edge),
                 lambda planes: reference.gradient(planes, 1, edge=edge)])


# ---------------------------------------------------------------- integers and chains

INTEGER_CHAINS = {
    "blur": (["--blur", "2"], lambda planes: reference.blur(planes, 2)),
    # The sum is odd: powers of two would put many results exactly between two counts.
    "convolve": (["--convolve", "1 3 5 3 1"],
                 lambda planes: reference.convolve(planes, matrix([1, 3, 5, 3, 1], [1, 3, 5, 3, 1]))),
    "sharpen": (["--sharpen", "0.6"], lambda planes: reference.sharpen(planes, 0.6)),
    "gradient": (["--gradient"], lambda planes: reference.gradient(planes)),
}


@pytest.mark.some(4)
@pytest.mark.parametrize("name", list(INTEGER_CHAINS))
@pytest.mark.parametrize("shape", [Shape(300, 257, 3, "uint8"), Shape(101, 99, 4, "uint8")], ids=str)
def test_eight_bits(tmp_path, rng, name, shape):
    args, stage = INTEGER_CHAINS[name]
    check_integers(tmp_path, rng, shape, args, [stage], suffix=rng.choice([".png", ".tif"]))


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_chain(tmp_path, rng, channels):
    shape = Shape(*rng.integers(1, 90, 2).tolist(), channels, str(rng.choice(["uint8", "uint16", "float32"])))
    check_stage(tmp_path, rng, shape, ["--blur", "1.2", "--scale", "2", "--sharpen", "0.5", "--scale=1/4"],
                [lambda planes: reference.blur(planes, 1.2), lambda planes: reference.scale(planes, 2),
                 lambda planes: reference.sharpen(planes, 0.5), lambda planes: reference.scale(planes, "1/4")])


# The first and the last stage of a chain read and write plain samples themselves on CPU devices.
ENDS = {
    "both": (["--blur", "1.5"], [lambda planes, edge: reference.blur(planes, 1.5, edge=edge)],
             {"product"}),
    "first": (["--convolve", "1 2 4 1", "--invert"],
              [lambda planes, edge: reference.convolve(planes, np.outer([1, 2, 4, 1], [1, 2, 4, 1]), edge=edge),
               lambda planes, edge: 1 - planes],
              {"product", "linear", "pack"}),
    "last": (["--invert", "--scale", "2"],
             [lambda planes, edge: 1 - planes, lambda planes, edge: reference.scale(planes, "2", edge=edge)],
             {"unpack", "linear", "product"}),
    "long": (["--blur", "40,truncate=4"], [lambda planes, edge: reference.blur(planes, 40, 4, edge=edge)],
             {"product"}),
    "coarse": (["--blur", "12"], [lambda planes, edge: reference.blur(planes, 12, edge=edge)],
               {"product"}),
}


@pytest.mark.some(5)
@pytest.mark.parametrize("ends, edge", [*((ends, "clamp") for ends in ENDS), *(("both", edge) for edge in run_edges()[1:]),
                                        *(("last", edge) for edge in run_edges()[1:]), *(("coarse", edge) for edge in run_edges()[1:])])
def test_stages_at_the_ends(tmp_path, rng, monkeypatch, ends, edge):
    if device_copies():
        pytest.skip("kernels for CPUs")
    monkeypatch.setenv("CLIMG_CLASS", "cpu")
    monkeypatch.setenv("CLIMG_SLICE", "13")
    args, stages, kernels = ENDS[ends]
    stages = [lambda planes, stage=stage: stage(planes, edge) for stage in stages]
    kind = int(rng.choice([1, 3])), str(rng.choice(["uint8", "uint16"]))
    for width in (1, 64, 65, int(rng.integers(2, 300))):
        shape = Shape(width, int(rng.integers(1, 50)), *kind)
        check_integers(tmp_path, rng, shape, ["--edge", edge, *args], stages, fraction=0.1)  # few samples
    done = run("--quiet", "--memory", "buffer", "--edge", edge, tmp_path / "in.tif", *args, tmp_path / "out.tif", "--timing=json")
    assert {row["kernel"] for row in json.loads(done.err)["stages"]} == kernels


@pytest.mark.parametrize("args", [["--linear"], ["--depth", "float"], ["--depth", "16"]], ids=lambda args: args[-1])
def test_ends_of_other_kinds(tmp_path, rng, monkeypatch, args):
    """Input and output types may differ: only equal types are processed without planes."""
    if device_copies():
        pytest.skip("kernels for CPUs")
    monkeypatch.setenv("CLIMG_CLASS", "cpu")
    write_tiff(tmp_path / "in.tif", random_samples(rng, Shape(70, 20, 3, "uint8")))
    run("--memory", "buffer", *args, tmp_path / "in.tif", "--blur", "1", tmp_path / "direct.tif")
    run("--memory", "image", *args, tmp_path / "in.tif", "--blur", "1", tmp_path / "planes.tif")
    direct, planes = (read_samples(tmp_path / name).astype(float) for name in ("direct.tif", "planes.tif"))
    assert np.abs(direct - planes).max() <= (1e-6 if args[-1] == "float" else 1)
