"""Every command of the README and of docs/ runs as it stands, among files of the names that it uses."""
import os
import pathlib
import re
import shutil
import stat
import subprocess
import textwrap

import numpy as np
import pytest
import tifffile
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import harness

TEXTS = [harness.ROOT / "README.md", *sorted((harness.ROOT / "docs").glob("*.md")), harness.ROOT / "docs" / "workflows" / "README.md"]
# Commands that are tested elsewhere: on a cluster's scheduler (tests/cluster), over every kernel of the device (test_warm and
# test_selftest), with a program that Debian's tests do not have.
ELSEWHERE = re.compile(r"{}|srun|sbatch|SLURM|parallel|kubectl|JOB_COMPLETION|#SBATCH|climg --(?:warm|selftest)|make |vips|hyperfine|xargs")
COMMAND = re.compile(r"^ {4}((?:for |find |curl |ffmpeg )?.*\bclimg .*)$", re.M)


def commands():
    for text in TEXTS:
        if text.name == "tutorial.md":  # its commands need each other: test_tutorial.py
            continue
        prose = re.sub(r"```.*?```", "", text.read_text(), flags=re.S)
        for command in COMMAND.findall(prose):
            if not ELSEWHERE.search(command):
                yield pytest.param(command, id=f"{text.name}: {command[:60]}")


def picture(rng, width=80, height=60, channels=3):
    return harness.random_samples(rng, harness.Shape(width, height, channels, "uint8"))


def make_files(folder, rng):
    """Whatever the commands name as theirs."""
    shutil.copytree(harness.ROOT / "samples", folder / "samples")
    for name in ("in", "a", "c", "photo"):
        Image.fromarray(picture(rng)).save(folder / f"{name}.png")
    made = PngInfo()
    made.add_text("Software", "climg 0.2.0 --scale=1/2")
    Image.fromarray(picture(rng)).save(folder / "small.png", pnginfo=made)  # an output of earlier commands, which later ones replace
    for name in ("scan", "b", "night"):
        tifffile.imwrite(folder / f"{name}.tif", picture(rng).astype(np.uint16) * 257, photometric="rgb")
    tifffile.imwrite(folder / "stack.tif", np.stack([picture(rng, channels=1)[..., 0] for _ in range(4)]), photometric="minisblack")
    tifffile.imwrite(folder / "measured.tif", rng.uniform(0, 4095, (60, 80)).astype(np.float32))
    for name in ("photos", "photos/more"):
        (folder / name).mkdir()
        Image.fromarray(picture(rng)).save(folder / name / "one.png")
    for name in ("renders", "expected"):
        shutil.copytree(folder / "photos", folder / name)
    Image.fromarray(picture(rng, channels=4)).save(folder / "logo.png")
    (folder / "series").mkdir()
    for i in (1, 2):  # of one kind, moved
        tifffile.imwrite(folder / f"series/0{i}.tif", tifffile.imread(folder / "samples/scene.tif")[i:i + 200, :200], photometric="rgb")
    for name in ("macro", "shots"):
        shutil.copytree(folder / "samples/shots", folder / name)
    for name, level in (("dark", 10), ("flat", 120)):
        tifffile.imwrite(folder / f"{name}.tif", np.full((200, 200, 3), level, np.uint8), photometric="rgb")
    for name in ("darks", "flats", "lights"):
        shutil.copytree(folder / "series", folder / name)
    subprocess.run([harness.CLIMG, "photo.png", "--wavelet=3", "coefficients.tif"], cwd=folder, check=True)
    shutil.copy(folder / "coefficients.tif", folder / "c.tif")
    shutil.copy(folder / "coefficients.tif", folder / "c2.tif")
    subprocess.run([harness.CLIMG, "photo.png", "photo.tif"], cwd=folder, check=True)
    shutil.copy(folder / "photo.png", folder / "photo-of-curl.png")
    Image.fromarray(picture(rng)).save(folder / "photo.jpg")


def make_programs(folder):
    """climg; curl, which fetches nothing here; a program that reads."""
    (folder / "bin").mkdir()
    (folder / "bin" / "climg").symlink_to(harness.CLIMG)
    for name, script in (("curl", f"cat {folder}/photo-of-curl.png"), ("other-tool", "cat >/dev/null")):
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)


def make_film(folder):
    subprocess.run("ffmpeg -v error -f lavfi -i testsrc=size=64x48:rate=5:duration=1 -c:v mpeg4 film.mp4 && cp film.mp4 in.mp4",
                   shell=True, cwd=folder, check=True)


@pytest.mark.some(20)
@pytest.mark.parametrize("command", list(commands()))
def test_command_runs(tmp_path, rng, command):
    make_files(tmp_path, rng)
    make_programs(tmp_path)
    if ".mp4" in command:
        make_film(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                          env=os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    told = re.search(r"--(?:list-devices|dry-run|help|info|compare|version|timing|shard)|climg -n|other-tool", command)
    changed = [path for path in tmp_path.rglob("*") if path.is_file() and before.get(path) != path.stat().st_mtime_ns]
    assert changed or told, "nothing was written"


def test_code_of_contributing_is_there():
    """Blocks of code stand in the files that the text before them names."""
    text = (harness.ROOT / "CONTRIBUTING.md").read_text()
    blocks = [found for found in re.finditer(r"(?:^(?: {4}.*)?\n)+", text, re.M) if "{" in found[0]]
    assert len(blocks) == 2
    for block in blocks:
        name = re.findall(r"`((?:src|kernels)/[\w/]+\.\w+)`", text[:block.start()])
        code = textwrap.dedent(block[0]).strip()
        assert any(code in (harness.ROOT / file).read_text() for file in name[-2:]), name


def test_links_lead_somewhere():
    for text in TEXTS:
        for target in re.findall(r"\]\(([^)\s]+)", text.read_text()):
            if not re.match(r"https?:|#", target):
                path = pathlib.Path(target.split("#")[0])
                assert (text.parent / path).exists(), f"{text.name} links to {target}"


def test_every_stage_is_in_the_gallery_or_the_transform():
    told = (harness.ROOT / "docs" / "gallery.md").read_text() + (harness.ROOT / "docs" / "wavelet.md").read_text()
    for stage in harness.stages():
        assert re.search(rf"^ {{4}}climg .*--{stage}\b", told, re.M), f"--{stage} has no picture"
