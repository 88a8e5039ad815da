"""--align and --stack mean on series with known positions: the stars of a night, a hand-held burst, a drifting microscope.

With CLIMG_TEST_ALL=1 they have 300 frames of 320x240 as in docs/stacking.md."""
import os

import numpy as np
import pytest
import tifffile
from scipy import ndimage

import harness

ALL = bool(os.environ.get("CLIMG_TEST_ALL"))
NUMBER, WIDTH, HEIGHT = (300, 320, 240) if ALL else (30, 180, 150)
REACH = 260  # pixels of the scene beyond the first frame


def stars(rng):
    """Stars of 1.3 pixels with the brightness of a field of the Milky Way; the mount drifts and turns."""
    count = WIDTH * HEIGHT // 300
    places = rng.uniform(-60, 60, (count, 2)) + rng.random((count, 2)) * (WIDTH, HEIGHT)
    fluxes = np.minimum(0.02 * np.exp(rng.exponential(1.1, count)), 0.4)

    def light(x, y):
        value = np.full(x.shape, 0.08)
        for (left, top), flux in zip(places, fluxes):
            near = (squares := (x - left)**2 + (y - top)**2) < 60
            value[near] += flux * np.exp(-squares[near] / (2 * 1.3**2))
        return value

    steps = np.linspace(0, 1, NUMBER)[:, None] * (14, -9, 1.5)
    return light, steps + rng.normal(0, (0.4, 0.4, 0), (NUMBER, 3)), 0.01, "first,model=rigid"


def texture(rng, coarsest):
    """Detail of all sizes from a pixel to `coarsest`, the larger the stronger, as in photographs."""
    height, width = 2 * (HEIGHT + 2 * REACH), 2 * (WIDTH + 2 * REACH)
    value = np.zeros((height, width))
    for size in 2.0 ** np.arange(1, np.log2(2 * coarsest)):
        octave = ndimage.gaussian_filter(rng.normal(0, 1, (height, width)), size)
        value += size**0.7 * octave / octave.std()
    spline = ndimage.spline_filter(0.5 + 0.12 * value / value.std(), 3)
    return lambda x, y: ndimage.map_coordinates(spline, (2 * (y + REACH), 2 * (x + REACH)), order=3, prefilter=False)


def burst(rng):
    """A camera in the hand: each frame is shifted and turned at random."""
    return texture(rng, 32), rng.normal(0, (5, 5, 0.7), (NUMBER, 3)), 0.02, "first,model=rigid"


def microscope(rng):
    """A drift that wanders off by more than a third of the picture, so that the key must change."""
    speed = np.array((0.45 * WIDTH, -0.35 * HEIGHT)) / NUMBER
    steps = ndimage.gaussian_filter1d(rng.normal(0, 1, (NUMBER, 2)), 3, axis=0) + speed
    return texture(rng, 64), np.c_[np.cumsum(steps, 0), np.zeros(NUMBER)], 0.02, "previous,model=shift"


@pytest.mark.some(1)
@pytest.mark.long
@pytest.mark.parametrize("kind", [stars, burst, microscope], ids=lambda kind: kind.__name__)
def test_mean_of_a_series(tmp_path, rng, kind):
    """It is within 0.3 dB of the mean of frames that never moved. Two frames of something else are left out and named."""
    light, poses, noise, words = kind(rng)
    poses -= poses[0]
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(float)
    counts = np.zeros((HEIGHT, WIDTH))
    for i, (right, down, degrees) in enumerate(poses):
        cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        across, along = x - WIDTH / 2, y - HEIGHT / 2
        frame = light(cosine * across - sine * along + WIDTH / 2 + right, sine * across + cosine * along + HEIGHT / 2 + down)
        frame += rng.normal(0, noise, frame.shape)
        tifffile.imwrite(tmp_path / f"{i:03}.tif", np.rint(65535 * np.clip(frame, 0, 1)).astype(np.uint16))
        # Where the frame covers the grid of the first one.
        across, along = x - right - WIDTH / 2, y - down - HEIGHT / 2
        across, along = cosine * across + sine * along + WIDTH / 2, cosine * along - sine * across + HEIGHT / 2
        counts += (across >= 0) & (across <= WIDTH - 1) & (along >= 0) & (along <= HEIGHT - 1)
    for i, size in ((NUMBER // 3, 0.5), (NUMBER // 2, 5)):
        other = ndimage.gaussian_filter(rng.normal(0, 1, (HEIGHT, WIDTH)), size)
        tifffile.imwrite(tmp_path / f"{i:03}x.tif", np.rint(32768 + 6000 * other / other.std()).astype(np.uint16))
    done = harness.run(tmp_path, "--align", f"{words},matrix={tmp_path / 'found.csv'}", "--stack", "mean", "--depth", "float", tmp_path / "out.tiff")
    left_out = sorted(line.split(": cannot be aligned")[0] for line in done.err.splitlines())
    assert left_out == [f"climg: {tmp_path}/{i:03}x.tif" for i in (NUMBER // 3, NUMBER // 2)], done.err
    inside = counts >= NUMBER / 4
    inside[:24] = inside[-24:] = inside[:, :24] = inside[:, -24:] = False
    error = (tifffile.imread(tmp_path / "out.tiff") - light(x, y))[inside]
    loss = 10 * np.log10(np.mean(error**2) / (noise**2 * np.mean(1 / counts[inside])))
    assert loss < 0.3, loss
    # Where the matrices put the middle of the grid.
    rows = [line.split(",")[1:7] for line in (tmp_path / "found.csv").read_text().splitlines()[1:]]
    maps = np.array([row for row in rows if row[0]], float).reshape(-1, 2, 3)
    middle = maps @ (WIDTH / 2, HEIGHT / 2, 1) - (WIDTH / 2, HEIGHT / 2)
    for i, (right, down, degrees) in enumerate(poses):
        cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        middle[i] = cosine * middle[i][0] - sine * middle[i][1] + right, sine * middle[i][0] + cosine * middle[i][1] + down
    # With previous, errors of the key pictures add up.
    assert np.hypot(*middle.T).max() < (0.4 if words.startswith("previous") else 0.15)


def test_previous_refuses_moved_pictures(tmp_path, rng):
    """It registers the files as they are."""
    for name in ("a.tif", "b.tif"):
        harness.write_tiff(tmp_path / name, rng.integers(0, 255, (40, 50, 1)).astype(np.uint8))
    for stage in (["--rotate", "90"], ["--flip", "h"], ["--scale", "1/2"], ["--resize", "50%"], ["--trim"], ["--crop", "50%"]):
        said = harness.run("a.tif", "b.tif", *stage, "--align", "previous", "--stack", "mean", "out.tif", cwd=tmp_path, status=2).err
        assert "a stage before it moves their pixels" in said


def test_page_that_is_merged_is_registered(tmp_path, rng):
    """The first pages do not match; of the second ones one is moved by (7, 3)."""
    scene = ndimage.gaussian_filter(rng.random((160, 200)), 2)
    scene = np.uint8(255 * (scene - scene.min()) / np.ptp(scene))
    for name, (top, left) in (("a.tif", (10, 10)), ("b.tif", (13, 17))):
        with tifffile.TiffWriter(tmp_path / name) as file:
            file.write(np.uint8(255 * rng.random((120, 150))))
            file.write(scene[top:top + 120, left:left + 150])
    for word in ("previous", "first"):
        harness.run("a.tif", "b.tif", "--page", "2", "--align", f"{word},matrix=m.csv", "--stack", "mean", "out.tif", "-y", cwd=tmp_path)
        row = (tmp_path / "m.csv").read_text().splitlines()[2].split(",")
        assert abs(float(row[3])) - 7 < 0.2 and abs(abs(float(row[6])) - 3) < 0.2
