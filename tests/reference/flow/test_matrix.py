"""Every stage, as its manual shows it and with every word of its keys, in every way that the program may take.

This tests invariance: slices, groups, memories, kernel forms and what a later stage leaves out change nothing. What is right
is said elsewhere.
"""
import os

import numpy as np
import pytest
from scipy import ndimage

import harness
import pngfile
from harness import Shape

WAYS = {"plain": {}, "gpu": {"CLIMG_CLASS": "gpu"}, "cpu": {"CLIMG_CLASS": "cpu"},
        "copies": {"CLIMG_OWN_MEMORY": "1"}}
REFERENCE = "reference.tif"
SIDES = (64, 90)  # six levels of a wavelet transform at least

every_chain = pytest.mark.parametrize("chain", harness.stage_chains())


@pytest.fixture
def folder(tmp_path):
    os.symlink(harness.SAMPLES, tmp_path / "samples")
    return tmp_path


@pytest.fixture
def way(rng):
    """One of those that the device would not take by itself, and memory that holds NaN where nothing was written."""
    return {"CLIMG_POISON": "1", **WAYS[str(rng.choice(list(WAYS)))]}


@pytest.fixture
def edge(rng):
    return ["--edge", str(rng.choice(harness.run_edges()))]


def write_inputs(folder, rng, count, channels, chain):
    """Pictures of one shape. If the chain reads a second one, they and the reference are of one kind, moved against each other."""
    width, height = map(int, rng.integers(*SIDES, 2))
    names = [f"{i}.tif" for i in range(count)]
    for name in names:
        harness.write_tiff(folder / name, harness.random_samples(rng, Shape(width, height, channels, "float32")))
    if any("samples/scene.tif" in word for word in chain):
        whole = ndimage.gaussian_filter(rng.uniform(0, 4, (height + count, width + 2, channels)), (1.5, 1.5, 0))
        if channels in (2, 4):
            whole[..., -1] = 1
        for i, name in enumerate([REFERENCE, *names]):
            harness.write_tiff(folder / name, whole[i:height + i, i % 2:width + i % 2].astype(np.float32))
    return names


def of_reference(chain):
    """The chain with the picture that write_inputs wrote."""
    return [word.replace("samples/scene.tif", REFERENCE) for word in chain]


@pytest.mark.some(6)
@every_chain
def test_slices(folder, rng, chain, way, edge):
    """Bit for bit, of few rows and of many."""
    names = write_inputs(folder, rng, 2, int(rng.integers(1, 5)), chain)
    memory, outputs = ["--memory", str(rng.choice(["buffer", "image"]))], []
    for height in (int(rng.integers(1, 12)), int(rng.integers(12, SIDES[0])), 100000):
        harness.run(*names, *of_reference(chain), *edge, *memory, f"{height}/", cwd=folder, env={**way, "CLIMG_SLICE": str(height)})
        outputs.append([(folder / str(height) / name).read_bytes() for name in names])
    assert outputs[0] == outputs[2] and outputs[1] == outputs[2], (way, edge, memory)


@pytest.mark.some(2)
@every_chain
def test_what_is_cut_off(folder, rng, chain, way, edge):
    """Bit for bit: a stage that is asked for some rows writes these and no others."""
    name, = write_inputs(folder, rng, 1, int(rng.choice([1, 3])), chain)
    command = [name, *of_reference(chain), *edge, "--memory", str(rng.choice(["buffer", "image"])), "--depth", "float", "--warp"]
    harness.run(*command, "1 0 0 0 1 0,filter=nearest", "whole.tif", cwd=folder, env=way)
    whole = harness.read_tiff(folder / "whole.tif")
    top = int(rng.integers(len(whole)))
    height = int(rng.integers(1, len(whole) - top + 1))
    harness.run(*command, f"1 0 0 0 1 {top},size={whole.shape[1]}x{height},filter=nearest", "part.tif", cwd=folder, env=way)
    assert np.array_equal(harness.read_tiff(folder / "part.tif"), whole[top:top + height]), (way, edge, top, height)


@pytest.mark.some(6)
@every_chain
def test_groups(folder, rng, chain, way, edge):
    """Bit for bit."""
    names = write_inputs(folder, rng, 5, int(rng.choice([1, 3])), chain)
    outputs = []
    for most in ("1", "5"):
        harness.run("-j", 1, *names, *of_reference(chain), *edge, f"{most}/", cwd=folder, env={**way, "CLIMG_GROUP": most})
        outputs.append([(folder / most / name).read_bytes() for name in names])
    assert outputs[0] == outputs[1], (way, edge)


@pytest.mark.some(6)
@every_chain
def test_forms_and_memories(folder, rng, chain, edge):
    """Bit for bit."""
    name, = write_inputs(folder, rng, 1, int(rng.integers(1, 5)), chain)
    outputs = []
    forms = [("buffer", "cpu"), ("buffer", "gpu"), ("image", str(rng.choice(["cpu", "gpu"])))]
    for number, (memory, form) in enumerate(forms):
        harness.run("-m", memory, name, *of_reference(chain), *edge, "--depth", "16", f"{number}.png", cwd=folder,
                    env={"CLIMG_CLASS": form, "CLIMG_POISON": "1"})
        outputs.append(pngfile.read_png(folder / f"{number}.png").samples.tobytes())
    assert outputs[0] == outputs[1] == outputs[2], (forms, edge)
