"""--align: pairs whose matrix is known (align_pairs.py), and pairs that do not match."""

import json
import re

import numpy as np
import pytest
import tifffile
from scipy import ndimage

import align_pairs
import harness
import pngfile
import reference
from harness import Shape

SIDE = 144


def align(folder, *args, status=0, env=None):
    """Returns the report's line of each file."""
    done = harness.run(*args[:-1], "--report", "report", args[-1], cwd=folder, status=status, env=env)
    return [json.loads(line) for line in (folder / "report").read_text().splitlines()], done


def random_texture(rng, width, height, channels=1):
    """Smooth enough to be interpolated."""
    planes = rng.uniform(0, 1, (height, width, channels))
    planes = ndimage.gaussian_filter(planes, (1.5, 1.5, 0))
    return (planes - planes.min()) / (planes.max() - planes.min())


LIES = {"near": {}, "half covered": {"covered": 0.55}} | {f"turned by {turn}": {"turn": turn} for turn in (90, 180, 270)}


@pytest.mark.some(4)
@pytest.mark.parametrize("model, lie", [(model, lie) for model in align_pairs.MODELS for lie in LIES
                                        if model != "shift" or "turn" not in LIES[lie]])
@pytest.mark.parametrize("kind", [align_pairs.texture, align_pairs.leaves, align_pairs.blocks, align_pairs.mixed],
                         ids=lambda kind: kind.__name__)
def test_pairs(tmp_path, rng, kind, model, lie):
    """One in forty may be refused, of mixed pictures with noise that are half covered one in nine; what is accepted is right."""
    whole = align_pairs.picture(kind, rng, SIDE)
    noise = float(rng.choice([0, 10]))
    truths = {}
    count = 6 if lie == "half covered" else 3
    for i in range(count):
        expected, other, truths[f"{i}.png"] = align_pairs.pair(rng, whole, noise, model, **LIES[lie])
        pngfile.write_png(tmp_path / f"{i}.png", other[..., None])
    harness.write_tiff(tmp_path / "reference.tif", expected[..., None].astype(np.uint16) * 257)
    done = harness.run(*truths, "--align", f"reference.tif,model={model},confidence=0", "--report", "report", "out/",
                       cwd=tmp_path)
    errors = []
    for line in map(json.loads, (tmp_path / "report").read_text().splitlines()):
        truth = truths[line["input"]]
        if line["align"]["confidence"] >= 0.3:
            errors.append(align_pairs.corner_error(line["align"]["matrix"], truth, SIDE, SIDE))
    assert len(errors) >= 2 * count / 3 and max(errors) < (0.8 if noise else 0.2), (errors, noise, done)


@pytest.mark.parametrize("memory", ["buffer", "image"])
def test_output(tmp_path, rng, memory):
    """Is what --warp would make with the matrix that is told: on the reference's grid, of all channels."""
    channels, dtype = int(rng.integers(1, 5)), str(rng.choice(["uint8", "uint16", "float32"]))
    x, y = map(int, rng.integers(0, 9, 2))
    whole = random_texture(rng, 110, 102, channels)
    if channels in (2, 4):
        whole[..., -1] = 0.5 + 0.5 * whole[..., -1]
    samples = whole.astype(np.float32) if dtype == "float32" else reference.to_integers(whole, np.dtype(dtype))
    harness.write_tiff(tmp_path / "in.tif", samples[y:y + 92, x:x + 100])
    harness.write_tiff(tmp_path / "reference.tif", samples[4:90, 4:99])
    (line,), done = align(tmp_path, "-v", "-m", memory, "in.tif", "--align", "reference.tif,model=shift", "--depth", "float",
                          "out.tif", env={"CLIMG_CLASS": str(rng.choice(["cpu", "gpu"])), "CLIMG_SLICE": "11"})
    matrix = line["align"]["matrix"]
    assert np.allclose(matrix, (1, 0, 4 - x, 0, 1, 4 - y), atol=0.02), matrix
    told = re.search(r'in.tif: aligned by "(.*)", confidence', done.err)[1]
    assert np.allclose([float(word) for word in told.split()], matrix, atol=1e-6)
    entered = reference.enter(reference.to_float(samples[y:y + 92, x:x + 100]))
    expected = reference.leave(reference.warp(entered, matrix, (95, 86), antialias=False))
    got = harness.read_tiff(tmp_path / "out.tif")
    seen = expected[..., -1:] > 0.01 if channels in (2, 4) else np.full_like(expected, True, bool)
    assert got.shape == expected.shape and np.allclose(np.where(seen, got, 0), np.where(seen, expected, 0), atol=2e-5)


def test_matrix_in_a_file(tmp_path, rng):
    """The report rounds it. --warp makes the same samples of it: invariance."""
    expected, other, _ = align_pairs.pair(rng, align_pairs.picture(align_pairs.leaves, rng, SIDE), 0)
    pngfile.write_png(tmp_path / "reference.png", expected[..., None].astype(np.uint8))
    pngfile.write_png(tmp_path / "in.png", other[..., None].astype(np.uint8))
    (line,), _ = align(tmp_path, "in.png", "--align", "reference.png,matrix=found.txt,antialias=no", "--depth", "float", "out.tif")
    matrix = np.loadtxt(tmp_path / "found.txt")
    assert matrix.shape == (2, 3) and np.allclose(matrix.ravel(), line["align"]["matrix"], atol=1e-6)
    height, width = expected.shape
    harness.run("in.png", "--warp", f"@found.txt,antialias=no,size={width}x{height}", "--depth", "float", "again.tif", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), harness.read_tiff(tmp_path / "again.tif"))
    (tmp_path / "found.txt").write_bytes(b"\n1, 0 2.5\r\n\t0 1 -1\r\n")
    harness.run("in.png", "--warp", "@found.txt", "shifted.png", cwd=tmp_path)
    harness.run("in.png", "--warp", "1 0 2.5 0 1 -1", "expected.png", cwd=tmp_path)
    assert (tmp_path / "shifted.png").read_bytes() == (tmp_path / "expected.png").read_bytes()


@pytest.mark.parametrize("content, message", [
    (None, "No such file or directory"), (b"", 'not six numbers "a b tx c d ty"'), (b"1 0 0 0 1", 'not six numbers "a b tx c d ty"'),
    (b"1 0 0 0 1 0 7", 'not six numbers "a b tx c d ty"'), (b"1 " * 2000, 'holds more than six numbers "a b tx c d ty"')])
def test_bad_matrix_files(tmp_path, content, message):
    pngfile.write_png(tmp_path / "in.png", np.zeros((4, 4, 1), np.uint8))
    if content is not None:
        (tmp_path / "m.txt").write_bytes(content)
    done = harness.run("in.png", "--warp", "@m.txt", "out.png", cwd=tmp_path, status=2 if "not six" in message else 1)
    assert done.err == f"climg: --warp @m.txt: {message}\n" and not (tmp_path / "out.png").exists()


def test_others_fail(tmp_path, rng):
    """Alone, and in a batch, which writes only the pictures that match the reference and leaves no other files."""
    expected, other, _ = align_pairs.pair(rng, align_pairs.picture(align_pairs.leaves, rng, SIDE), 0)
    stranger = align_pairs.picture(align_pairs.leaves, rng, SIDE)[:SIDE, :SIDE]
    for name, plane in (("reference", expected), ("other", other), ("stranger", stranger), ("flat", np.full((50, 40), 77))):
        pngfile.write_png(tmp_path / f"{name}.png", plane.astype(np.uint8)[..., None])
    for name in ("stranger", "flat"):
        done = harness.run(f"{name}.png", "--align", "reference.png", "out.png", cwd=tmp_path, status=1)
        assert re.fullmatch(rf"climg: {name}.png: cannot be aligned to reference.png: the pictures do not match \(confidence 0.[01]., needed 0.3\)\n", done.err), done
    lines, _ = align(tmp_path, "-j", "2", "stranger.png", "other.png", "flat.png", "--align", "reference.png", "out/", status=3)
    assert {line["input"]: line["status"] for line in lines} == {"stranger.png": "failed", "flat.png": "failed",
                                                                "other.png": "done"}
    assert all((line["align"]["confidence"] < 0.3) == (line["status"] == "failed") for line in lines)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["other.png"] and not (tmp_path / "out.png").exists()
    align(tmp_path, "stranger.png", "--align", "reference.png,confidence=0", "out.png")


def accepted(folder, reference_plane, other, truth, model="similarity"):
    """The error of the worst corner and the confidence; 16 bit. Confidences below 0.3 would be refused."""
    for name, plane in (("reference", reference_plane), ("in", other)):
        harness.write_tiff(folder / f"{name}.tif", np.clip(np.rint(plane), 0, 65535).astype(np.uint16)[..., None])
    (line,), _ = align(folder, "-y", "in.tif", "--align", f"reference.tif,model={model},confidence=0", "out.tif")
    height, width = np.shape(reference_plane)
    return align_pairs.corner_error(line["align"]["matrix"], truth, width, height), line["align"]["confidence"]


@pytest.mark.some(2)
@pytest.mark.parametrize("hot", [0, 20])
@pytest.mark.parametrize("seed", range(2))
def test_star_fields(tmp_path, seed, hot):
    """Stars of 2.2 pixels, most of the picture empty; with pixels that stay bright in place while the stars move."""
    rng = np.random.default_rng((seed, 11))
    shift = rng.uniform(-25, 25, 2)
    stars = np.c_[rng.uniform((-40, -40), (680, 520), (60, 2)), 10**rng.uniform(1, 2.6, 60)]
    bright = rng.integers(3, 477, (hot, 2))
    y, x = np.indices((480, 640))
    planes = []
    for left, top in ((0, 0), shift):
        plane = 20 + rng.normal(0, 3, (480, 640))
        for star_x, star_y, flux in stars:
            plane += flux * np.exp(-((x - star_x - left)**2 + (y - star_y - top)**2) / (2 * (2.2 / 2.355)**2))
        plane[bright[:, 0], bright[:, 1]] = 1300
        planes.append(50 * plane)
    error, confidence = accepted(tmp_path, *planes, np.c_[np.eye(2), shift], "shift")
    assert error < 0.1 and confidence >= 0.3, (error, confidence)


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(3))
def test_objects_that_moved(tmp_path, seed):
    """Three or four squares of nine show something else: 28 or 37% of the picture."""
    rng = np.random.default_rng((seed, 12))
    planes = [align_pairs.picture(kind, rng, 240) for kind in (align_pairs.mixed, align_pairs.leaves)]
    expected, other, truth = align_pairs.pair(rng, planes[0], 4)
    for k in rng.permutation(9)[:4 if seed else 3]:
        top, left = 80 * (k // 3) + 3, 80 * (k % 3) + 3
        y, x = rng.integers(0, 280, 2)
        other[top:top + 73, left:left + 73] = planes[1][y:y + 73, x:x + 73]
    error, confidence = accepted(tmp_path, expected, other, truth)
    assert error < 0.3 and confidence >= 0.3, (error, confidence)


@pytest.mark.parametrize("gamma", [0.5, 2])
def test_tone_curves(tmp_path, gamma):
    """The second picture through another tone curve, both out of focus. Noise makes nothing surer."""
    rng = np.random.default_rng(13)
    whole = np.clip(ndimage.gaussian_filter(align_pairs.leaves(rng, 384, 60), 3) / 255, 0.03, 0.97)
    shift, surest = (6, -4), 1
    for noise in (0, 4, 12):
        planes = [65535 * (plane + noise / 255 * rng.standard_normal(plane.shape))
                  for plane in (whole[64:320, 64:320], whole[60:316, 70:326]**gamma)]
        error, confidence = accepted(tmp_path, *planes, [[1, 0, -shift[0]], [0, 1, -shift[1]]])
        assert error < (0.35 if noise == 12 else 0.3) and 0.3 <= confidence <= surest + 0.02, (noise, error, confidence)
        surest = confidence


@pytest.mark.parametrize("side, sigma", [(200, 16), (200, 32), (400, 64)])
def test_smooth_pictures(tmp_path, side, sigma):
    """Without an edge: the mean of what is left of the smoothing filter at the border does not move them."""
    whole = ndimage.gaussian_filter(np.random.default_rng((side, 15)).normal(size=(side + 12, side + 12)), sigma, mode="wrap")
    whole = 65535 * (0.5 + 0.4 * whole / np.abs(whole).max())
    error, confidence = accepted(tmp_path, whole[6:-6, 6:-6], whole[3:-9, 1:-11], [[1, 0, 5], [0, 1, 3]])
    assert error < 0.03 and confidence >= 0.3, (error, confidence)


def test_strangers_are_refused(tmp_path):
    """Other pictures of one kind, and others that share only 30 bright pixels in place."""
    rng = np.random.default_rng(14)
    for kind in (align_pairs.stars, align_pairs.clouds, align_pairs.leaves):
        planes = [200.0 * align_pairs.picture(kind, rng, 120) for _ in range(2)]
        bright = rng.integers(3, 177, (30, 2))
        for hot in (False, True):
            for plane in planes if hot else ():
                plane[bright[:, 0], bright[:, 1]] = 65535
            assert accepted(tmp_path, *planes, np.eye(2, 3))[1] < 0.3


def test_small_overlaps_do_not_end_the_search(tmp_path):
    """A quarter of these rectangles agrees well by chance without a turn, under a map that is uncertain."""
    rng = np.random.default_rng((38, 16))
    expected, other, truth = align_pairs.pair(rng, align_pairs.picture(align_pairs.blocks, rng, SIDE), 0, turn=180)
    error, confidence = accepted(tmp_path, 257.0 * expected, 257.0 * other, truth)
    assert error < 0.05 and confidence > 0.9, (error, confidence)


def test_flat_pictures_are_not_found(tmp_path, rng):
    """Whichever of the two it is; without a confidence they stay where they are."""
    samples = (255 * random_texture(rng, 40, 30)).astype(np.uint8)
    pngfile.write_png(tmp_path / "texture.png", samples)
    pngfile.write_png(tmp_path / "flat.png", np.full_like(samples, 100))
    env = {"MALLOC_PERTURB_": "165"}  # what is in memory before
    for name, other in (("texture.png", "flat.png"), ("flat.png", "texture.png")):
        lines, _ = align(tmp_path, name, "--align", f"{other},confidence=0", "out.png", env=env)
        assert lines[0]["align"] == {"matrix": [1, 0, 0, 0, 1, 0], "confidence": 0}
        assert np.array_equal(harness.read_samples(tmp_path / "out.png"), harness.read_samples(tmp_path / name))
    align(tmp_path, "flat.png", "--align", "texture.png", "none.png", status=1, env=env)


def test_transparent_is_not_looked_at(tmp_path, rng):
    """Below alpha 0 lies the same picture elsewhere."""
    whole = random_texture(rng, 100, 90)[..., 0]
    planes = np.stack([np.where(np.arange(80) < 30, whole[10:80, 15:95], whole[3:73, 5:85]),
                       np.broadcast_to(np.arange(80) >= 30, (70, 80))], axis=-1)
    harness.write_tiff(tmp_path / "in.tif", planes.astype(np.float32))
    harness.write_tiff(tmp_path / "reference.tif", whole[5:75, 8:88, None].astype(np.float32))
    (line,), _ = align(tmp_path, "in.tif", "--align", "reference.tif,model=rigid", "out.tif")
    assert align_pairs.corner_error(line["align"]["matrix"], [[1, 0, 3], [0, 1, 2]], 80, 70) < 0.1, line


@pytest.mark.parametrize("shown", ["soft disc", "even"])
def test_mostly_transparent(tmp_path, rng, shown):
    """Coverage is a share of what the reference shows: an eighth of it, or all of it at 30% alpha."""
    whole = random_texture(rng, 120, 110)[..., 0]
    y, x = np.indices(whole.shape)
    disc = np.clip((24 - np.hypot(x - 60, y - 55)) / 6, 0, 1)
    planes = np.stack([whole, disc if shown == "soft disc" else np.full_like(whole, 0.3)], axis=-1).astype(np.float32)
    harness.write_tiff(tmp_path / "reference.tif", planes[5:105, 5:115])
    harness.write_tiff(tmp_path / "in.tif", planes[3:103, 8:118])
    (line,), _ = align(tmp_path, "in.tif", "--align", "reference.tif", "out.tif")
    assert align_pairs.corner_error(line["align"]["matrix"], [[1, 0, -3], [0, 1, 2]], 110, 100) < 0.1, line
    assert line["align"]["confidence"] > 0.9
    (line,), _ = align(tmp_path, "in.tif", "--align", "in.tif", "out.tif")
    assert align_pairs.corner_error(line["align"]["matrix"], [[1, 0, 0], [0, 1, 0]], 110, 100) < 0.01, line
    assert line["align"]["confidence"] > 0.9


@pytest.mark.parametrize("model", align_pairs.MODELS)
def test_repeated_patterns_are_refused(tmp_path, rng, model):
    """A second place agrees as well, of which nobody knows which is meant."""
    period = int(rng.integers(14, 37))
    tile = ndimage.gaussian_filter(rng.uniform(0, 1, (period, period)), 1.5, mode="wrap")
    tile = (tile - tile.min()) / (tile.max() - tile.min())
    x, y = map(int, rng.integers(0, period, 2))
    for name, (left, top) in {"reference": (0, 0), "in": (x, y)}.items():
        plane = np.tile(tile, (14, 14))[top:top + SIDE, left:left + SIDE] + rng.normal(0, 0.01, (SIDE, SIDE))
        harness.write_tiff(tmp_path / f"{name}.tif", plane[..., None].astype(np.float32))
    done = harness.run("in.tif", "--align", f"reference.tif,model={model},confidence=0.5", "out.tif", cwd=tmp_path, status=1)
    assert "confidence 0." in done.err and not (tmp_path / "out.tif").exists(), (period, done)


def test_linear_light(tmp_path, rng):
    """The same place is found, for which climg is compared with climg, and what is warped is light."""
    expected, other, truth = align_pairs.pair(rng, align_pairs.picture(align_pairs.leaves, rng, SIDE), 0, "rigid")
    for name, plane in (("reference", expected), ("other", other)):
        pngfile.write_png(tmp_path / f"{name}.png", plane[..., None])
    words = ("other.png", "--align", "reference.png,model=rigid", "--depth", "float")
    (plain,), _ = align(tmp_path, *words, "plain.tif")
    (line,), _ = align(tmp_path, "--linear", *words, "out.tif")
    matrix = np.reshape(line["align"]["matrix"], (2, 3))
    assert align_pairs.corner_error(plain["align"]["matrix"], matrix, SIDE, SIDE) < 0.02, (plain, line)
    assert line["align"]["confidence"] > plain["align"]["confidence"] - 0.02, (plain, line)
    entered = reference.enter(reference.to_float(other[..., None]), linear=True)
    expected = reference.leave(reference.warp(entered, matrix.ravel(), (SIDE, SIDE), antialias=False), linear=True)
    bright = expected > 0.1  # the curve is steep below
    assert np.allclose(harness.read_tiff(tmp_path / "out.tif")[bright], expected[bright], atol=2e-4)


def test_pages(tmp_path, rng):
    """Each by itself, to the reference's first."""
    whole = random_texture(rng, 100, 90)
    shifts = [tuple(map(int, rng.integers(0, 12, 2))) for _ in range(3)]
    pages = [whole[y:y + 70, x:x + 80] for x, y in shifts]
    tifffile.imwrite(tmp_path / "in.tif", np.stack(pages).astype(np.float32), photometric="minisblack")
    tifffile.imwrite(tmp_path / "reference.tif", np.stack([whole[6:76, 6:86], pages[0]]).astype(np.float32),
                     photometric="minisblack")
    done = harness.run("-v", "in.tif", "--align", "reference.tif,model=shift", "out.tif", cwd=tmp_path)
    told = [list(map(float, text.split())) for text in re.findall(r'aligned by "(.*)"', done.err)]
    assert np.allclose(told, [(1, 0, 6 - x, 0, 1, 6 - y) for x, y in shifts], atol=0.02), told
    assert len(harness.read_pages(tmp_path / "out.tif")) == 3


def test_large_pictures_and_threads(tmp_path, rng):
    """Reducing before the comparison shifts nothing. The number of threads changes no bit (invariance). --timing and --trace
    show the time of the registration."""
    x, y = map(int, rng.integers(0, 60, 2))
    whole = np.kron(random_texture(rng, 560, 360), np.ones((3, 3, 1)))
    pngfile.write_png(tmp_path / "in.png", reference.to_integers(whole[y:y + 1010, x:x + 1601], np.dtype("uint8")))
    harness.write_tiff(tmp_path / "reference.tif", reference.to_integers(whole[30:1031, 20:1621], np.dtype("uint16")))
    words = ("--timing=json:times", "--trace", "trace", "-y", "in.png", "--align", "reference.tif,model=rigid", "out.tif")
    told = []
    for jobs in "1", "5":
        (line,), _ = align(tmp_path, "-j", jobs, *words)
        told.append((line["align"], (tmp_path / "out.tif").read_bytes()))
    assert told[0] == told[1]
    assert align_pairs.corner_error(told[0][0]["matrix"], [[1, 0, 20 - x], [0, 1, 30 - y]], 1601, 1001) < 0.1, (told[0][0], x, y)
    times, events = (json.loads((tmp_path / name).read_text()) for name in ("times", "trace"))
    assert times["parts"]["registration"] > 0 and times["parts"]["prepare"] > 0
    row, = (event["tid"] for event in events if event["name"] == "thread_name" and event["args"]["name"] == "host")
    shown = {event["name"]: 1e-6 * event["dur"] for event in events if event["ph"] == "X" and event["tid"] == row}
    assert shown.keys() == {"brightness", "registration"}
    assert sum(shown.values()) == pytest.approx(times["parts"]["registration"], abs=1e-3)


def test_orientation(tmp_path, rng):
    """Both are turned before."""
    whole = random_texture(rng, 80, 70).astype(np.float32)
    harness.write_tiff(tmp_path / "reference.tif", whole)
    turned = np.rot90(whole[3:63, 2:72])
    harness.write_tiff(tmp_path / "in.tif", turned, extratags=[(274, "H", 1, 6, True)])
    (line,), _ = align(tmp_path, "in.tif", "--align", "reference.tif,model=shift", "out.tif")
    assert np.allclose(line["align"]["matrix"], (1, 0, -2, 0, 1, -3), atol=0.02)
    harness.run("--stored-orientation", "in.tif", "--align", "reference.tif,model=shift", "out.tif", "-y", cwd=tmp_path, status=1)
    for orientation, stored in ((2, whole[:, ::-1]), (3, whole[::-1, ::-1]), (5, whole.swapaxes(0, 1)), (6, np.rot90(whole)), (8, np.rot90(whole, -1))):
        harness.write_tiff(tmp_path / "reference.tif", stored, extratags=[(274, "H", 1, orientation, True)])
        (line,), _ = align(tmp_path, "in.tif", "--align", "reference.tif,model=shift", "out.tif", "-y")
        assert np.allclose(line["align"]["matrix"], (1, 0, -2, 0, 1, -3), atol=0.02), orientation


def test_reference_is_an_input(tmp_path, rng):
    """Nothing is written there, and --resume does files again when it changed."""
    whole = (255 * random_texture(rng, 80, 70)).astype(np.uint8)
    for name in ("reference.png", "in.png"):
        pngfile.write_png(tmp_path / name, whole)
    for words in (["in.png", "--align", "reference.png", "-o", "reference.png", "-y"],
                  ["in.png", "--align", "reference.png", "--report", "reference.png.x", "out.png"],
                  ["--in-place", "reference.png", "--align", "reference.png"]):
        (tmp_path / "reference.png.x").unlink(missing_ok=True)
        (tmp_path / "reference.png.x").symlink_to("reference.png")
        assert "--align reads" in harness.run(*words, cwd=tmp_path, status=2).err
    assert "wants the name of a file" in harness.run("in.png", "--align", "-", "out.png", cwd=tmp_path, status=2).err
    assert "--align: none.png: " in harness.run("in.png", "--align", "none.png", "out.png", cwd=tmp_path, status=1).err
    missing = harness.run("none.png", "in.png", "--align", "first", "--stack", "mean", "out.png", cwd=tmp_path, status=1).err
    assert missing == "climg: none.png: cannot open: No such file or directory; it is the reference of --align first\n"
    states = []
    for reference_samples in (whole, whole, whole[2:]):
        pngfile.write_png(tmp_path / "reference.png", reference_samples)
        lines, _ = align(tmp_path, "--resume", "in.png", "--align", "reference.png", "out.png")
        states.append(lines[-1]["status"])
    assert states == ["done", "skipped", "done"] and harness.read_samples(tmp_path / "out.png").shape[0] == 68


def test_an_input_as_the_reference_without_a_stack(tmp_path, rng):
    """first and middle are inputs in the order that was typed, also for the pages of one file, and for a shard without them; --resume sees that they changed."""
    whole = random_texture(rng, 100, 90)
    shifts = [tuple(map(int, rng.integers(0, 12, 2))) for _ in range(3)]
    parts = np.stack([whole[y:y + 70, x:x + 80] for x, y in shifts]).astype(np.float32)
    (tmp_path / "in").mkdir()
    for i, part in enumerate(parts):
        harness.write_tiff(tmp_path / f"in/{i}.tif", part)
    tifffile.imwrite(tmp_path / "pages.tif", parts[..., 0], photometric="minisblack")

    def matrices(reference):
        x, y = shifts[reference]
        return {f"in/{i}.tif": (1, 0, x - left, 0, 1, y - top) for i, (left, top) in enumerate(shifts)}

    for word, reference in (("first", 0), ("middle", 1)):
        lines, _ = align(tmp_path, "in", "--align", f"{word},model=shift", f"{word}/")
        truths = matrices(reference)
        assert len(lines) == 3 and all(np.allclose(line["align"]["matrix"], truths[line["input"]], atol=0.02) for line in lines), lines
    lines, _ = align(tmp_path, "in/2.tif", "in/1.tif", "in/2.tif", "in/0.tif", "--align", "first,model=shift", "typed/")
    truths = matrices(2)
    assert len(lines) == 3 and all(np.allclose(line["align"]["matrix"], truths[line["input"]], atol=0.02) for line in lines), lines
    done = harness.run("-v", "pages.tif", "--align", "first,model=shift", "registered.tif", cwd=tmp_path)
    told = [list(map(float, text.split())) for text in re.findall(r'aligned by "(.*)"', done.err)]
    assert np.allclose(told, list(matrices(0).values()), atol=0.02), told
    lines = sum((align(tmp_path, "--shard", f"{i}/3", "in", "--align", "first,model=shift", "shards/")[0] for i in (1, 2, 3)), [])
    assert len(lines) == 3 and all(np.allclose(line["align"]["matrix"], matrices(0)[line["input"]], atol=0.02) for line in lines), lines

    states = []
    for is_changed in (False, False, True):
        if is_changed:
            harness.write_tiff(tmp_path / "in/0.tif", parts[0][2:])
        lines, _ = align(tmp_path, "--resume", "in", "--align", "first,model=shift", "resumed/")
        states.append([line["status"] for line in lines[-3:]])
    assert states == [["done"] * 3, ["skipped"] * 3, ["done"] * 3], states
    assert "standard input cannot be read twice" in harness.run("-", "--align", "first", "out.tif", cwd=tmp_path, status=2).err
    for words in (["in"], ["in", "--resume"], ["pages.tif", "--resume"]):  # another run would read the changed reference
        assert "--in-place would replace" in harness.run("--in-place", *words, "--align", "first", cwd=tmp_path, status=2).err
    harness.run("--in-place", "pages.tif", "--align", "first", cwd=tmp_path)


def test_the_reference_among_the_inputs_keeps_its_samples(tmp_path, rng):
    """Its map was found up to 0.0003 pixels off the identity; NaNs stay where they are."""
    picture = random_texture(rng, 50, 40, 3) + rng.normal(0, 0.05, (40, 50, 3))
    harness.write_tiff(tmp_path / "in.tif", (1000 + 50000 * np.clip(picture, 0, 1)).astype(np.uint16))
    line, = align(tmp_path, "in.tif", "--align", "first,model=affine", "out.tif")[0]
    assert line["align"]["matrix"] == [1, 0, 0, 0, 1, 0]
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), tifffile.imread(tmp_path / "in.tif"))
    picture[20:23, 30] = np.nan
    harness.write_tiff(tmp_path / "float.tif", picture.astype(np.float32))
    harness.run("float.tif", "--align", "first", "out.tif", cwd=tmp_path)
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), picture.astype(np.float32), equal_nan=True)


def test_detail_in_a_corner_of_a_flat_picture(tmp_path):
    """Shifts that show only the flat rest have no squares, and their correlations must not count."""
    y, x = np.mgrid[:256, :256]
    picture = 100 + 120 * np.exp(-((y - 40)**2 + (x - 44)**2) / 60) + 80 * np.exp(-((y - 52)**2 + (x - 36)**2) / 30)
    harness.write_tiff(tmp_path / "in.tif", np.clip(picture, 0, 255).astype(np.uint8)[..., None])
    said = harness.run("-v", "in.tif", "--align", "in.tif", "out.tif", cwd=tmp_path).err
    assert float(re.search(r"confidence ([\d.]+)", said)[1]) > 0.9


def test_coefficient_files_are_no_references(tmp_path, rng):
    """Their first page is a lowpass, which --align and --minus do not take for the picture."""
    for name in "ab":
        tifffile.imwrite(tmp_path / f"{name}.tif", rng.integers(0, 256, (120, 140), np.uint8), photometric="minisblack")
        harness.run(f"{name}.tif", "--wavelet=3", f"{name}-coefficients.tif", cwd=tmp_path)
    harness.run("a.tif", "--wavelet=1", "fine.tif", cwd=tmp_path)
    words = "a-coefficients.tif: contains wavelet coefficients, not a picture"
    for reference in ("first", "previous"):
        assert words in harness.run("a-coefficients.tif", "b-coefficients.tif", "--inverse-wavelet", "--align", reference, "--stack", "mean",
                                    "out.tif", cwd=tmp_path, status=1).err
    assert words in harness.run("a.tif", "--align", "a-coefficients.tif", "out.tif", cwd=tmp_path, status=1).err
    assert "fine.tif: is not a picture" in harness.run("a.tif", "--minus", "fine.tif", "out.tif", cwd=tmp_path, status=1).err
    assert not (tmp_path / "out.tif").exists()
