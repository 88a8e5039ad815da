"""A value that a user types starts no compiler: whatever the numbers, a stage takes the programs that it has.

What counts is the list of programs of --timing=json: files of kernels/ with all that they were built with."""

import json
import os

import numpy as np
import pytest

import harness

VALUES = 20


def number(rng, low, high):
    return f"{rng.uniform(low, high):.4g}"


def taps(rng, most):
    return " ".join(number(rng, -1, 1) for _ in range(rng.integers(1, most + 1)))


def matrix(rng, folder):
    path = folder / f"{rng.integers(1 << 60)}.txt"
    np.savetxt(path, rng.uniform(-1, 1, (rng.integers(2, 32), rng.integers(2, 32))))
    return path


def there_and_back(rng, *choices):
    factor = rng.choice(choices)
    return ["--scale", str(factor), "--scale", f"1/{factor}"]


# A stage: what is usual, and the like with random numbers. Radii go up to 64, factors from 1/16 to 16.
STAGES = {
    "blur": (lambda rng, folder: ["--blur", "2"],
             lambda rng, folder: ["--blur", f"{number(rng, 0.2, 16)},truncate={number(rng, 2, 4)}"]),
    "sharpen": (lambda rng, folder: ["--sharpen", "1"],
                lambda rng, folder: ["--sharpen", f"{number(rng, 0, 5)},sigma={number(rng, 0.2, 6)},threshold={number(rng, 0, 0.5)}"]),
    "coarse": (lambda rng, folder: ["--blur", "9", "--sharpen", "1,sigma=9", "--gradient=9"],
               lambda rng, folder: ["--blur", number(rng, 7, 1000), "--sharpen", f"1,sigma={number(rng, 7, 1000)}",
                                    f"--gradient={number(rng, 7, 1000)}"]),
    "gradient": (lambda rng, folder: ["--gradient"],
                 lambda rng, folder: [f"--gradient={number(rng, 0.2, 16)},truncate=4"]),
    "median": (lambda rng, folder: ["--median", "1"] if os.environ["CLIMG_CLASS"] == "cpu" else ["--median", "1", "--median", "2"],
               lambda rng, folder: ["--median", str(rng.integers(1, 3))]),
    "rank": (lambda rng, folder: ["--median", "9"],
             lambda rng, folder: ["--rank", f"{rng.integers(3, 32)},percent={number(rng, 0, 99)}", "--rank", "3,percent=0.5"]),
    "disc": (lambda rng, folder: ["--median", "9,shape=disc"],
             lambda rng, folder: ["--rank", f"{rng.integers(1, 32)},percent={number(rng, 0, 99)},shape=disc"]),
    "background": (lambda rng, folder: ["--background", "9", "--background", "9,method=tophat", "--background", "9,method=divide"],
                   lambda rng, folder: ["--background", f"{rng.integers(1, 300)},counts={number(rng, 1, 300)}",
                                        "--background", f"{rng.integers(1, 300)},method=tophat",
                                        "--background", f"{rng.integers(6, 300)},method=divide"]),
    "extend": (lambda rng, folder: ["--extend", "110%", "--extend", "110%"],
               lambda rng, folder: ["--extend", f"{rng.integers(101, 120)}%,color=white",
                                    "--border", f"{rng.integers(0, 20)}x3,color=#{rng.integers(1 << 24):06x}"]),
    "convolve": (lambda rng, folder: ["--convolve", "1 4 6 4 1,bias=0.5"],
                 lambda rng, folder: ["--convolve", f"{taps(rng, 64)} / {taps(rng, 64)},bias={number(rng, -1, 1)}"]),
    "matrix": (lambda rng, folder: ["--convolve", f"@{matrix(rng, folder)}"],
               lambda rng, folder: ["--convolve", f"@{matrix(rng, folder)}"]),
    "scale": (lambda rng, folder: there_and_back(rng, 4),
              lambda rng, folder: there_and_back(rng, 2, 4, 8, 16)),
    "resize": (lambda rng, folder: ["--resize", "50%"],
               lambda rng, folder: ["--resize", f"{rng.integers(1, 200)}x{rng.integers(1, 200)},fit=exact"]),
    # A quarter turn that comes first moves samples. CPUs have a kernel for small angles.
    "rotate": (lambda rng, folder: ["--rotate", "90", "--rotate", "30"],
               lambda rng, folder: ["--rotate", str(rng.choice([90, 180, 270, -90])),
                                    "--rotate", f"{rng.choice([90, number(rng, -20, 20), number(rng, -360, 360)])},size=45x37"]),
    "warp": (lambda rng, folder: ["--warp", "1 0.5 0 -0.5 1 0"],
             lambda rng, folder: ["--warp", " ".join(number(rng, -3, 3) for _ in range(6)),
                                  "--warp", f"1 {number(rng, -0.1, 0.1)} 0 {number(rng, -0.1, 0.1)} 1 0"]),
    "wavelet": (lambda rng, folder: ["--wavelet=4", "--gain", "1:2", "--shrink=5", "--inverse-wavelet"],
                lambda rng, folder: [f"--wavelet={rng.integers(2, 7)}", "--gain", f"low:{number(rng, 0, 2)}",
                                     f"--shrink={number(rng, 0, 50)}", "--inverse-wavelet"]),
    "denoise": (lambda rng, folder: ["--denoise=10"],
                lambda rng, folder: [f"--denoise={number(rng, 0, 50)},levels={rng.integers(2, 7)}"]),
}


def programs(folder, stages):
    """Returns the programs of a chain. Stages at the ends may have other programs than those between them."""
    result = harness.run("--quiet", "--timing=json", "--memory", "buffer", folder / "in.tif", *stages, folder / "out.tif")
    (folder / "out.tif").unlink()
    return set(json.loads(result.err)["programs"])


@pytest.mark.some(14)
@pytest.mark.parametrize("form", ["cpu", "gpu"])
@pytest.mark.parametrize("name", STAGES)
def test_values_build_nothing(tmp_path, rng, monkeypatch, name, form):
    monkeypatch.setenv("CLIMG_CLASS", form)
    # Wider than the longest filter: narrow pictures go through another kernel of GPUs, which has borders of any width.
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (37, 180, 3)).astype(np.uint8))
    usual, random = STAGES[name]
    known = programs(tmp_path, [text for _ in range(3) for text in usual(rng, tmp_path)])
    stages = [text for _ in range(VALUES) for text in random(rng, tmp_path)]
    assert known and programs(tmp_path, stages) == known, " ".join(map(str, stages))


PRODUCTS = [["--blur", "2"], ["--convolve", "1 4 6 4 1"], ["--sharpen", "1"], ["--scale", "2"], ["--scale", "1/4"],
            ["--scale", "2,filter=nearest"], ["--resize", "37%"], ["--blur", "9"], ["--sharpen", "1,sigma=9"], ["--gradient"], ["--gradient=9"]]


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_products_share_their_program(tmp_path, rng, monkeypatch, dtype):
    """On CPU devices, from samples to samples: after the first of these stages the others build nothing."""
    monkeypatch.setenv("CLIMG_CLASS", "cpu")
    harness.write_tiff(tmp_path / "in.tif", harness.random_samples(rng, harness.Shape(45, 37, 3, dtype)))
    known = {" ".join(stage): programs(tmp_path, stage) for stage in PRODUCTS}
    # Stages that amplify count what they clip, which is another program.
    known = {stage: {name.replace(" -DCOUNT=1", "") for name in names} for stage, names in known.items()}
    assert len(set(map(frozenset, known.values()))) == 1 and all(len(names) == 1 for names in known.values()), known


@pytest.mark.parametrize("stage", [["--crop", "20x10+1+2"], ["--rotate", "90"], ["--flip", "h"], ["--extend", "110%"], ["--median", "1"],
                                   ["--median", "9"], ["--resize", "37%"], ["--sharpen", "1"], ["--blur", "9"], ["--invert"]], ids=" ".join)
def test_gray_after_colour_builds_nothing(tmp_path, rng, monkeypatch, stage):
    monkeypatch.setenv("CLIMG_CLASS", "cpu")
    built = []
    for channels in (3, 1):
        harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (37, 45, channels)).astype(np.uint8))
        built.append(programs(tmp_path, stage))
    assert built[0] and built[1] <= built[0]


def test_compiler_that_wants_its_own_header(tmp_path, rng, altered_kernels):
    """If kernels/builtins.h lacks a function, PoCL gets clang's header."""
    picture = rng.integers(0, 256, (9, 13, 1)).astype(np.uint8)
    harness.write_tiff(tmp_path / "in.tif", picture)
    harness.run(tmp_path / "in.tif", "--invert", tmp_path / "out.tif",
                env={**altered_kernels, "ALTERED_FROM": "CONST size_t get_global_id(uint);", "ALTERED_TO": ""})
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), 255 - picture)


@pytest.mark.parametrize("stages", [["--denoise=10"], ["--blur", "2", "--denoise=10", "--scale", "1/2"], ["--wavelet=2"]], ids=" ".join)
def test_a_chains_programs_are_built_together(tmp_path, rng, stages):
    """In one go before the first launch: those that nobody foresaw would have a box of their own in the trace."""
    harness.write_tiff(tmp_path / "in.tif", rng.integers(0, 256, (37, 45, 3)).astype(np.uint8))
    harness.run("--trace", tmp_path / "trace.json", tmp_path / "in.tif", *stages, tmp_path / "out.png")
    trace = json.loads((tmp_path / "trace.json").read_text())
    names = [event["name"] for event in (trace if isinstance(trace, list) else trace["traceEvents"])]
    assert names.count("build kernels") == 1
