"""stdin to stdout, as in a shell, in both formats."""

import numpy as np
import pytest
import tifffile

import harness
import reference
from harness import Shape


def expected_pixels(samples):
    """blur 2, to counts, then scale 1/2."""
    once = reference.to_integers(reference.through(samples, lambda p: reference.blur(p, 2)), samples.dtype)
    return reference.through(once, lambda p: reference.scale(p, "1/2"))


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_pipe(tmp_path, rng, suffix):
    samples = harness.random_samples(rng, Shape(101, 67, 3, "uint8"))
    write = harness.write_tiff if suffix == ".tif" else harness.pngfile.write_png
    write(tmp_path / f"in{suffix}", samples)
    harness.run_shell(f"cat in{suffix} | climg --blur 2 | climg --scale 1/2 > out{suffix}", cwd=tmp_path)
    result = harness.read_samples(tmp_path / f"out{suffix}")
    assert result.dtype == np.uint8
    # One sample that the first climg rounds the other way may move a few of the second's by a small part.
    off = np.abs(result - expected_pixels(samples) * 255)
    assert off.max() <= 1 and (off > 0.51).mean() < 0.01


@pytest.mark.parametrize("command", ["climg < in.tif > out.tif", "climg in.tif > out.tif", "climg - out.tif < in.tif",
                                     "climg - - < in.tif > out.tif", "climg in.tif - | cat > out.tif",
                                     "climg -- in.tif out.tif"])
def test_dashes(tmp_path, rng, command):
    samples = harness.random_samples(rng, Shape(12, 9, 4, "uint16"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run_shell(command, cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif"), samples)


def test_pipe_of_pages(tmp_path, rng):
    """stdout cannot seek: TIFF is spooled, with all its pages."""
    pages = rng.integers(0, 256, (3, 20, 30), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "in.tif", pages, photometric="minisblack", metadata=None)
    harness.run_shell("cat in.tif | climg | cat > out.tif", cwd=tmp_path)
    results = harness.read_pages(tmp_path / "out.tif")
    assert np.array_equal(np.stack(results)[..., 0], pages)


def test_change_of_format(tmp_path, rng):
    samples = harness.random_samples(rng, Shape(12, 9, 3, "uint8"))
    harness.pngfile.write_png(tmp_path / "in.png", samples)
    harness.run_shell("climg -f tiff < in.png | climg --format=png > out.png", cwd=tmp_path)
    assert np.array_equal(harness.read_samples(tmp_path / "out.png"), samples)


@pytest.mark.parametrize("name", ["/dev/fd/1", "/proc/self/fd/1", "/dev/stdout"])
@pytest.mark.parametrize("form", ["ppm", "tif"])  # a TIFF is first collected in a temporary file
def test_names_of_stdout(tmp_path, rng, name, form):
    """What was written to the file before and what comes after stays."""
    samples = harness.random_samples(rng, Shape(12, 9, 3, "uint8"))
    harness.write_tiff(tmp_path / "in.tif", samples)
    harness.run_shell(f"climg in.tif -f {form} > whole", cwd=tmp_path)
    harness.run_shell(f"{{ echo before; climg in.tif -f {form} -o {name}; echo after; }} > all", cwd=tmp_path)
    assert (tmp_path / "all").read_bytes() == b"before\n" + (tmp_path / "whole").read_bytes() + b"after\n"
