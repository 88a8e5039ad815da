"""Runs climg, makes its inputs, reads its outputs, and compares."""

import dataclasses
import functools
import itertools
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import pytest
import tifffile

import pngfile
import reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
CLIMG = os.path.abspath(os.environ.get("CLIMG", ROOT / "build" / "climg"))
# With the signals' default actions: a job in the background, or nohup, hands down that some are ignored.
KILLABLE = ["env", "--default-signal", CLIMG]

FLOAT_TOLERANCE = 1e-5    # of full scale, against float64
MEMORY_TOLERANCE = 1e-6   # of full scale, buffers against images
MEMORIES = ("buffer", "image")
EDGES = ("clamp", "mirror", "wrap", "zero")
SIZES = ((1, 1), (1, 7), (7, 1), (33, 17), (64, 64), (101, 99), (300, 257))  # width, height
TYPES = ("uint8", "uint16", "float32")


# ---------------------------------------------------------------- randomness

def seed_text():
    return os.environ["CLIMG_TEST_SEED"]


def some(few, all_of_them):
    """Returns the number of similar cases to run: `few`, or all of them if CLIMG_TEST_ALL is set."""
    return all_of_them if os.environ.get("CLIMG_TEST_ALL") else few


def run_edges():
    """The edge that is the default, and one of the others that all tests of a run share: for each edge every kernel is built anew.
    What --edge is about goes through all of them."""
    chance = random.Random(f"{seed_text()}/edge")
    return EDGES[:1] + tuple(sorted(chance.sample(EDGES[1:], some(1, 3))))


def generator(*names):
    """A numpy generator that depends on the run's seed and on the names only."""
    return np.random.default_rng([int(seed_text()), zlib.crc32(repr(names).encode())])


@dataclasses.dataclass(frozen=True)
class Shape:
    width: int
    height: int
    channels: int
    dtype: str

    def __str__(self):
        return f"{self.width}x{self.height}x{self.channels}-{self.dtype}"


def draw_shapes(name, count=8):
    """Shapes in a random order that meet every size, channel count and sample type once `count` allows."""
    chance = random.Random(f"{seed_text()}/{name}")
    columns = []
    for values in (SIZES, (1, 2, 3, 4), TYPES):
        pool = [values[i % len(values)] for i in range(count)]
        chance.shuffle(pool)
        columns.append(pool)
    return [Shape(*size, channels, dtype) for size, channels, dtype in zip(*columns)]


def pair(name, variants, count=8):
    """(variant, shape) for pytest.mark.parametrize: every variant at least once, every shape of draw_shapes."""
    count = max(count, len(variants))
    shapes = draw_shapes(name, count)
    return [(variants[i % len(variants)], shapes[i]) for i in range(count)]


def random_samples(rng, shape, low=0.0, high=1.0, alpha_low=0.2):
    """Uniform noise; alpha, where there is one, from `alpha_low` to 1."""
    picture = rng.uniform(low, high, (shape.height, shape.width, shape.channels))
    if shape.channels in (2, 4):
        picture[..., -1] = rng.uniform(alpha_low, 1, picture.shape[:2])
    if shape.dtype.startswith("float"):
        return picture.astype(shape.dtype)
    return reference.to_integers(picture, np.dtype(shape.dtype))


# ---------------------------------------------------------------- running

@dataclasses.dataclass
class Result:
    command: str
    status: int
    out: bytes
    err: str

    def __str__(self):
        return f"$ {self.command}\nexit status {self.status}\n{self.err}"


def climg_with(env=()):
    """The words that start climg with these changes of the environment. Variables other than climg's and folders may be for the linker,
    an allocator or the drivers: climg is then loaded anew."""
    is_forked = all(name.startswith(("CLIMG_", "XDG_")) or name in ("HOME", "TMPDIR") for name in env)
    return [*(os.environ.get("CLIMG_TEST_STARTER", "").split() if is_forked else []), CLIMG]


def run(*args, stdin=None, cwd=None, status=0, env=None):
    """Runs climg and insists on its exit status."""
    command = [CLIMG, *map(str, args)]
    done = subprocess.run([*climg_with(env or {}), *command[1:]], input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL,
                          capture_output=True, cwd=cwd, timeout=120, env={**os.environ, **(env or {})})
    result = Result(shlex.join(command), done.returncode, done.stdout, done.stderr.decode())
    assert result.status == status, f"expected exit status {status}\n{result}"
    return result


# A process starts with the peak of the one that started it, so that one should be small.
LAUNCHER = """import os, sys
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(usage.ru_maxrss << 10)
sys.exit(os.waitstatus_to_exitcode(status))"""


def peak_of_run(args, status):
    """Bytes that were resident at most."""
    env = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=0:thread_local_quarantine_size_kb=0"}  # It keeps what is freed.
    done = subprocess.run([sys.executable, "-S", "-c", LAUNCHER, CLIMG, *map(str, args)], check=False, capture_output=True, env=env)
    assert done.returncode == status
    return int(done.stdout)


def pocl_cache():
    """Returns PoCL's cache, for tests that give climg another cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("POCL_CACHE_DIR") or f"{base}/pocl/kcache"


@functools.cache
def device_copies():
    """True if the device under test has its own memory, so that samples are copied to it and back."""
    with tempfile.TemporaryDirectory() as folder:
        write_tiff(f"{folder}/in.tif", np.zeros((9, 9, 1), np.uint8))
        timing = json.loads(run("--timing=json", f"{folder}/in.tif", "--invert", f"{folder}/out.tif").err)
    return timing["parts"]["upload"] > 0


def without_clipping(said):
    """Removes the warning that samples were clipped."""
    return re.sub(r"^climg: .*: warning: [\d.e+]+% of the samples were clipped to black or white by the stages\n", "", said, flags=re.M)


def run_shell(command, cwd):
    """A pipeline as a user types it; any failing part fails it."""
    env = {**os.environ, "PATH": f"{os.path.dirname(CLIMG)}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, cwd=cwd, env=env,
                          timeout=120)
    assert done.returncode == 0, f"$ {command}\n{done.stderr.decode()}"


# ---------------------------------------------------------------- stages

@functools.cache
def stages():
    """{name: --help=NAME} of every stage there is."""
    listed = run("--help=all").out.decode().split("Stages, run in the order written:")[1].split("Options, anywhere:")[0]
    return {name: run(f"--help={name}").out.decode() for name in re.findall(r"^  --([a-z-]+)", listed, re.M)}


def examples(stage):
    """Its manual's examples, whole commands."""
    return [line.strip() for line in stages()[stage].splitlines() if line.startswith("  climg ")]


def with_value(chain, stage, value):
    """The chain with `value` appended to the stage's value."""
    at = next(i for i, word in enumerate(chain) if word.split("=")[0] == f"--{stage}")
    words = list(chain)
    if "=" in words[at]:
        words[at] += f",{value}"
    elif at + 1 < len(words) and not words[at + 1].startswith("--"):
        words[at + 1] += f",{value}"
    else:
        words[at] += f"={value}"
    return words


def is_valid(chain):
    """True if no key is refused as meaningless. The input does not exist, which is found only after that."""
    return subprocess.run([CLIMG, "none.png", *chain, "out.png"], stderr=subprocess.DEVNULL, check=False).returncode == 1


@functools.cache
def stage_chains():
    """pytest parameters, chains that show every stage: its examples, and one of them with each word of each key. A
    new stage is among them. They may read samples/NAME. Examples with --stack, which make one file of all inputs, are left out."""
    chains = []
    for stage, text in stages().items():
        shown = [shlex.split(example)[2:-1] for example in examples(stage)]
        chains += shown
        for key, words in re.findall(r"^  ([a-z-]+)=([a-z0-9_]+(?:\|[a-z0-9_]+)+)", text, re.M):
            words = words.split("|")
            free = [chain for chain in shown if f"{key}=" not in "".join(chain) and is_valid(with_value(chain, stage, f"{key}={words[0]}"))]
            chains += [with_value(chain, stage, f"{key}={word}") for word, chain in zip(words, itertools.cycle(free))]
    return [pytest.param(chain, id=chain_id(chain)) for chain in chains if "--stack" not in chain]


def chain_id(chain):
    return "".join(chain).replace(" ", "_").replace("/", "div") or "none"


# ---------------------------------------------------------------- files

def write_tiff(path, samples, **options):
    """Height x width x channels; the last of 2 or 4 channels is unassociated alpha."""
    channels = samples.shape[2]
    settings = {"photometric": "rgb" if channels > 2 else "minisblack", "planarconfig": "contig",
                "metadata": None}
    if channels in (2, 4):
        settings["extrasamples"] = ["unassalpha"]
    settings.update(options)
    if channels == 1:
        samples, settings["planarconfig"] = samples[..., 0], None
    elif settings["planarconfig"] == "separate":
        samples = np.moveaxis(samples, 2, 0)
    tifffile.imwrite(path, samples, **settings)


def page_samples(page):
    """A tifffile page as height x width x channels, with unassociated alpha."""
    shape = (page.imagelength, page.imagewidth, page.samplesperpixel)
    if page.planarconfig == 2 and page.samplesperpixel > 1:
        samples = np.moveaxis(page.asarray().reshape(shape[2], shape[0], shape[1]), 0, 2)
    else:
        samples = page.asarray().reshape(shape)
    if shape[2] in (2, 4) and page.extrasamples and int(page.extrasamples[0]) == 1:
        samples = reference.leave(reference.to_float(samples)).astype(np.float32)
    return samples


def read_pages(path):
    with tifffile.TiffFile(path) as tiff:
        return [page_samples(page) for page in tiff.pages]


def read_tiff(path):
    pages = read_pages(path)
    assert len(pages) == 1, f"{len(pages)} pages in {path}"
    return pages[0]


def read_samples(path):
    """Samples of a PNG or a one-page TIFF."""
    return pngfile.read_png(path).samples if path.suffix == ".png" else read_tiff(path)


def tiff_tags(path, page=0):
    """{tag number: value} of one page."""
    with tifffile.TiffFile(path) as tiff:
        return {tag.code: tag.value for tag in tiff.pages[page].tags}


# ---------------------------------------------------------------- comparing

def allowed_error(expected, tolerance):
    """The tolerance, and for colour more where the division by alpha on exit multiplies every error.

    A quotient q = c / a is off by (dc + |q| da) / |a| when c and a are off by dc and da; that counts where
    alpha is below 0.2 or colour is beyond full scale. Next to alpha 0 the quotient says nothing.
    """
    allowed = np.full(expected.shape, tolerance)
    if reference.has_alpha(expected):
        alpha = np.abs(expected[..., -1:])
        colour = np.abs(expected[..., :-1])
        factor = np.maximum(1, 0.2 / np.maximum(alpha, 1e-12)) * np.maximum(1, colour)
        allowed[..., :-1] = np.where(alpha < 1e-4, np.inf, tolerance * factor)
    return allowed


def assert_close(actual, expected, tolerance=FLOAT_TOLERANCE, context="", ignore=None):
    """Every sample within tolerance of full scale; `ignore` masks samples that may differ."""
    assert actual.shape == expected.shape, f"size {actual.shape}, expected {expected.shape}\n{context}"
    assert np.isfinite(actual).all(), f"not every sample is finite\n{context}"
    excess = np.abs(actual - expected) - allowed_error(expected, tolerance)
    if ignore is not None:
        excess = np.where(ignore, -1, excess)
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    wrong = int((excess > 0).sum())
    assert wrong == 0, (f"{wrong} of {excess.size} samples off, worst at (row, column, channel) "
                        f"{tuple(map(int, worst))}: {actual[worst]!r}, expected {expected[worst]!r}\n{context}")


def assert_counts(actual, exact, context="", fraction=None):
    """Integer samples against `exact`, the float64 samples before rounding.

    At most one count off, and that only where a float error could carry the exact value over the rounding
    boundary; in fewer than 0.1% of 8-bit samples, 2% of 16-bit samples (their counts are 257 times finer).
    One sample may always be off, and any number where the picture has few values, as all may lie near one boundary.
    """
    assert actual.shape == exact.shape, f"size {actual.shape}, expected {exact.shape}\n{context}"
    expected = reference.to_integers(exact, actual.dtype)
    off = np.abs(actual.astype(np.int64) - expected.astype(np.int64))
    counts = np.clip(exact, 0, 1) * reference.full_scale(actual.dtype)
    slack = 0.5 + allowed_error(exact, FLOAT_TOLERANCE) * reference.full_scale(actual.dtype)
    far = (off > 1) | (np.abs(actual - counts) > slack)
    assert not far.any(), (f"{far.sum()} samples too far, first at {tuple(map(int, np.argwhere(far)[0]))}: "
                           f"{actual[far][0]}, expected {counts[far][0]:.5f}\n{context}")
    fraction = fraction or (0.001 if actual.dtype == np.uint8 else 0.02)
    various = len(np.unique(expected)) >= 50
    assert not various or off.sum() <= max(1, fraction * off.size), f"{off.sum()} of {off.size} samples off\n{context}"


def check_stage(folder, rng, shape, args, stages, ignore=None, **picture):
    """A chain in both memories, float out, against its reference and against each other.

    `stages` are functions of planes; `ignore` gives a mask from the planes that go in.
    """
    samples = random_samples(rng, shape, **picture)
    write_tiff(folder / "in.tif", samples)
    expected = reference.through(samples, *stages)
    mask = None if ignore is None else ignore(reference.enter(reference.to_float(samples)))
    outputs = []
    for memory in MEMORIES:
        output = folder / f"{memory}.tif"
        context = run("--memory", memory, "--depth", "float", folder / "in.tif", *args, output)
        outputs.append(read_tiff(output))
        assert outputs[-1].dtype == np.float32, context
        assert_close(outputs[-1].astype(float), expected, FLOAT_TOLERANCE, f"{shape}\n{context}", mask)
    # Premultiplied, as the device computed them: the division by alpha multiplies a difference of roundings by up to five.
    planes = [reference.enter(output) for output in outputs]
    assert_close(planes[0], planes[1], MEMORY_TOLERANCE,
                 f"{shape}: buffer (actual) against image (expected)\n{context}", ignore=mask)


def check_integers(folder, rng, shape, args, stages, suffix=".tif", fraction=None, **picture):
    """A chain with the input's own integer samples out, in both memories; `fraction` as assert_counts has it."""
    samples = random_samples(rng, shape, **picture)
    write_tiff(folder / "in.tif", samples)
    expected = reference.through(samples, *stages)
    for memory in MEMORIES:
        output = folder / f"{memory}{suffix}"
        context = run("--memory", memory, folder / "in.tif", *args, output)
        result = read_samples(output)
        assert result.dtype == samples.dtype, f"{shape}\n{context}"
        assert_counts(result, expected, f"{shape}\n{context}", fraction)
