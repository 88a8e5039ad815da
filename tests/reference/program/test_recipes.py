"""docs/recipes.md: sixty commands and more, and that those of vips and ImageMagick beside them do run where they are installed, and
make pictures of the same size. climg's commands run in test_documents.py, too."""

import os
import re
import shutil
import subprocess

import pytest
import tifffile
from PIL import Image

import harness
from program.test_documents import make_files, make_programs

TEXT = (harness.ROOT / "docs" / "recipes.md").read_text()
RECIPES = re.findall(r"(?:^ {4}.*\n)+", TEXT, re.M)
OTHERS = ("vips", "vipsthumbnail", "vipsheader", "magick", "gmic", "jpegtran")
OUTPUT = re.compile(r"[\w$-]+\.(?:png|jpg|webp|tif)(?=$|[ \[])")


def lines(recipe):
    return [line.strip() for line in recipe.splitlines() if not line.strip().startswith("#")]


def other_lines():
    """(climg's line or "", the other's)."""
    for recipe in RECIPES:
        ours = next((line for line in lines(recipe) if line.startswith("climg ")), "")
        for line in lines(recipe):
            if line.split()[0] in OTHERS and "montage" not in line:  # a contact sheet's size is its own
                yield pytest.param(ours, line, id=line[:70])


def test_sixty_daily_commands():
    climgs = {line.split("  ")[0] for recipe in RECIPES for line in lines(recipe) if "climg " in line}
    assert len(climgs) >= 60
    assert sum(any(line.split()[0] in OTHERS for line in lines(recipe)) for recipe in RECIPES) >= 40


def run(line, folder):
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, timeout=120,
                          env=os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"})
    assert done.returncode == 0, f"{line}\n{done.stderr.decode()}"


def make_magick(folder):
    """The `magick` of ImageMagick 7, where there is only version 6, whose programs have names of their own."""
    if not shutil.which("magick"):
        program = folder / "magick"
        program.write_text('#!/bin/sh\ncase $1 in\nidentify | mogrify | montage) exec "$@" ;;\nesac\nexec convert "$@"\n')
        program.chmod(0o755)


def size(path):
    if path.suffix == ".tif":
        return tifffile.TiffFile(path).pages[0].shape[1::-1]
    with Image.open(path) as picture:
        return picture.size


@pytest.mark.some(8)
@pytest.mark.parametrize("ours, line", list(other_lines()))
def test_other_program(tmp_path, rng, ours, line):
    """Sizes may differ by a pixel: programs round them differently."""
    program = line.split()[0]
    if not shutil.which(program) and not (program == "magick" and shutil.which("mogrify")):
        pytest.skip(f"{program} is not installed: make deps-bench")
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        make_files(tmp_path / name, rng)
        make_programs(tmp_path / name)
        make_magick(tmp_path / name / "bin")
        for folder in ("jpegs", "thumbs", "small"):
            (tmp_path / name / folder).mkdir(exist_ok=True)
    run(line, tmp_path / "there")
    if ours and "identify" not in line and not re.search(r"--info|photos/|--in-place|thumbs/", ours):
        run(ours, tmp_path / "here")
        target = OUTPUT.findall(line)[-1]
        mine, theirs = (size(tmp_path / name / target) for name in ("here", "there"))
        assert all(abs(a - b) <= 1 for a, b in zip(mine, theirs)), (mine, theirs)
