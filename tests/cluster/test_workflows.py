"""Workflow engines of docs/workflows: Snakemake's rules run over a folder, also when climg, and then the engine itself, are killed;
Galaxy's tools do what they say; the rest is well formed and names options that climg has."""

import json
import os
import re
import shutil
import signal
import string
import subprocess
import time
import xml.etree.ElementTree as xml

import numpy as np
import pytest
import yaml
from PIL import Image, ImageDraw, ImageFont

import harness
import pngfile

FOLDER = harness.ROOT / "docs" / "workflows"
VERSION = re.search(r"^VERSION := (.*)$", (harness.ROOT / "Makefile").read_text(), re.M)[1]
COUNT = 200
TOOLS = sorted((FOLDER / "galaxy").glob("*.xml"))


@pytest.fixture
def env(tmp_path):
    """climg in the PATH, and a home for Snakemake's caches."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "climg").symlink_to(harness.CLIMG)
    return os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path)}


# ---------------------------------------------------------------- Snakemake

@pytest.fixture
def example(tmp_path, rng):
    """The rules over 200 pictures, of which one is none. Noise of 300 x 300 lasts long enough to be killed among."""
    shutil.copy(FOLDER / "snakemake" / "Snakefile", tmp_path)
    text = (FOLDER / "snakemake" / "config.yaml").read_text()
    text = re.sub(r"stages: .*", "stages: --invert --scale 2,filter=nearest", re.sub(r"parts: \d+", "parts: 4", text))
    (tmp_path / "config.yaml").write_text(text)
    for i in range(COUNT):
        path = tmp_path / "photos" / f"{i % 3}" / f"{i:03d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        if i != 7:
            pngfile.write_png(path, rng.integers(0, 256, (300, 300, 3), dtype=np.uint8))
    (tmp_path / "photos" / "1" / "007.png").write_text("no picture")
    return tmp_path


def begin(folder, env, *args):
    """In a process group of its own, as on a machine of its own."""
    log = open(folder / "log.txt", "a")
    return subprocess.Popen(["snakemake", "--cores", "2", *args], cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True)


def outputs(folder):
    return sorted(path for path in (folder / "clean").rglob("*.png") if not path.name.startswith("."))


def wait_for_outputs(folder, count, process):
    while len(outputs(folder)) < count:
        assert process.poll() is None, (folder / "log.txt").read_text()
        time.sleep(0.01)


def kill_one_climg(group):
    """Returns the engine's jobs."""
    listed = subprocess.run(["ps", "-o", "pid=,comm=", "-g", str(group)], capture_output=True, text=True, check=True).stdout
    pids = [int(line.split()[0]) for line in listed.splitlines() if line.split()[1] == "climg"]
    os.kill(pids[0], signal.SIGKILL)


def test_snakemake(example, env):
    if not shutil.which("snakemake"):
        pytest.skip("no snakemake here: make deps-workflows installs it")
    first = begin(example, env)
    wait_for_outputs(example, 10, first)
    kill_one_climg(first.pid)  # the job is tried again
    wait_for_outputs(example, 40, first)
    os.killpg(first.pid, signal.SIGKILL)  # and now the machine
    first.wait()
    done = len(outputs(example))
    assert 40 <= done < COUNT - 1, "the kill came too late to show anything"
    assert not (example / "report.jsonl").exists()

    subprocess.run(["snakemake", "--unlock"], cwd=example, env=env, check=True, capture_output=True)
    assert begin(example, env, "--rerun-incomplete").wait(timeout=100) == 0, (example / "log.txt").read_text()
    names = sorted(path.relative_to(example / "photos") for path in (example / "photos").rglob("*.png"))
    assert [path.relative_to(example / "clean") for path in outputs(example)] == [name for name in names if name.name != "007.png"]
    for path in outputs(example)[::20]:
        picture = np.array(Image.open(example / "photos" / path.relative_to(example / "clean")))
        assert np.array_equal(np.array(Image.open(path)), (255 - picture).repeat(2, axis=0).repeat(2, axis=1)), path
    lines = [json.loads(line) for line in (example / "report.jsonl").read_text().splitlines()]
    assert [line["input"] for line in lines] == sorted(f"photos/{name}" for name in names)
    assert [line["input"] for line in lines if line["status"] == "failed"] == ["photos/1/007.png"]
    assert sum(line["status"] == "skipped" for line in lines) >= 30, "what was done before the kill is not done again"
    assert (example / "failed.txt").read_text().startswith("photos/1/007.png: ")
    assert any("007.png" in log.read_text() for log in (example / "logs").iterdir())

    shutil.rmtree(example / "clean")
    assert begin(example, env).wait(timeout=100) == 0, (example / "log.txt").read_text()
    assert len(outputs(example)) == COUNT - 1, "an output folder that was removed is made again"


# ---------------------------------------------------------------- Galaxy

def values_of(tool):
    """Each parameter's value in the tool's own test."""
    return {param.get("name"): param.get("value") for param in tool.find("tests/test").iter("param")}


@pytest.mark.parametrize("path", TOOLS, ids=lambda path: path.stem)
def test_galaxy_tool(tmp_path, env, path):
    """Its test, with the command filled in as Galaxy does, over files that are called .dat, as Galaxy's are."""
    tool = xml.parse(path).getroot()
    assert tool.get("id") == path.stem and tool.get("version") == f"{VERSION}+galaxy0"
    assert tool.find("requirements/requirement").get("version") == VERSION
    values = values_of(tool)
    params = {param.get("name"): param for param in tool.find("inputs").iter("param")}
    assert set(values) == set(params)
    for name, param in params.items():
        if param.get("type") == "data":
            shutil.copy(harness.SAMPLES / values[name], tmp_path / f"{name}.dat")
            values[name] = str(tmp_path / f"{name}.dat")
        if param.get("type") == "select":
            assert values[name] in [option.get("value") for option in param.iter("option")]
    output = tmp_path / "output.dat"
    output.touch()
    command = string.Template(tool.find("command").text.replace("\\${", "$${")).substitute(values, output=output)
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    with Image.open(output) as picture:
        assert picture.format == "PNG"
        assert path.stem != "climg_resize" or picture.size == (40, 30)
    assert output.stat().st_size > int(tool.find("tests/test/output/assert_contents/has_size").get("min"))


@pytest.mark.parametrize("path", TOOLS, ids=lambda path: path.stem)
def test_galaxy_choices(path):
    """Every word that a tool offers is one that climg takes, but for those of -f, which are data types of Galaxy, too."""
    tool = xml.parse(path).getroot()
    stage = harness.run(f"--help={path.stem.removeprefix('climg_')}").out.decode()
    for param in tool.find("inputs").iter("param"):
        words = [option.get("value") for option in param.iter("option")]
        told = harness.run("--help=format").out.decode() if param.get("name") == "format" else stage
        assert all(re.search(rf"\b{word}\b", told) for word in words), words


# ---------------------------------------------------------------- Nextflow, conda

def test_versions_are_climgs():
    for name in ("nextflow/climg/main.nf", "nextflow/climg/environment.yml", "conda/meta.yaml"):
        assert VERSION in (FOLDER / name).read_text(), name


def test_nextflow_script(tmp_path, env):
    """The shell of the process, with its variables filled in, makes what the outputs name; the version's command prints it."""
    text = (FOLDER / "nextflow" / "climg" / "main.nf").read_text()
    script = re.search(r'script:.*?"""\n(.*?)"""', text, re.S)[1]
    for word, value in (("$device", "auto"), ("$task.cpus", "2"), ("$image", "noisy.png"), ("$args", "--denoise -f tiff"), ("${prefix}", "sample1"),
                        ("\\\\", "\\")):
        script = script.replace(word, value)
    shutil.copy(harness.SAMPLES / "noisy.png", tmp_path)
    subprocess.run(["bash", "-euc", script], cwd=tmp_path, env=env, check=True, timeout=100)
    assert [path.name for path in (tmp_path / "out").glob("*.tif*")] and (tmp_path / "sample1.jsonl").exists()
    version = re.search(r'eval\("(.*?)"\)', text)[1]
    assert subprocess.run(["bash", "-c", version], env=env, check=True, capture_output=True, text=True).stdout == f"{VERSION}\n"


def test_nextflow_description():
    """meta.yml names the channels of main.nf, and what is in them."""
    text = (FOLDER / "nextflow" / "climg" / "main.nf").read_text()
    described = yaml.safe_load((FOLDER / "nextflow" / "climg" / "meta.yml").read_text())["output"]
    emitted = {name: elements for elements, name in re.findall(r"^    tuple (.*), emit: (\w+)", text, re.M)}
    assert list(described) == list(emitted)
    for name, (elements,) in described.items():
        assert all(key in emitted[name] for element in elements for key in element), name


def test_yaml_parses():
    for path in [*FOLDER.rglob("*.yml"), *FOLDER.rglob("*.yaml"), FOLDER.parent / "CITATION.cff"]:
        text = re.sub(r"^{%.*%}$", "", path.read_text(), flags=re.M)
        assert isinstance(yaml.safe_load(re.sub(r"{{.*?}}", "x", text)), dict), path


# ---------------------------------------------------------------- OCRmyPDF

def test_ocrmypdf(tmp_path, env):
    """A page that is askew in uneven light: the plugin's text is complete, the page keeps its size, and a wrong size is refused."""
    if not shutil.which("ocrmypdf"):
        pytest.skip("no OCRmyPDF here: make deps-workflows installs it")
    words = ["The quick brown fox jumps over the lazy dog", "while many pages of paper wait in the library"] * 4
    page = Image.new("L", (1100, 700), 235)
    font = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf", 28)
    for number, line in enumerate(words):
        ImageDraw.Draw(page).text((130, 120 + number * 52), line, fill=50, font=font)
    light = np.linspace(1, 0.35, page.width)
    samples = np.asarray(page.rotate(4, Image.BICUBIC, fillcolor=235)) * light
    Image.fromarray(samples.astype(np.uint8)).save(tmp_path / "page.png", dpi=(150, 150))
    command = ["ocrmypdf", "--plugin", FOLDER / "ocrmypdf" / "climg_pages.py", "--image-dpi", "150", "--force-ocr", "--output-type", "pdf", "--sidecar", "out.txt",
               "--tesseract-timeout", "280"]
    stages = ["--climg-page", "--deskew --background 40,method=divide,light=yes", "--climg-ocr", "--threshold sauvola --despeckle 6"]
    subprocess.run([*command, *stages, "page.png", "out.pdf"], cwd=tmp_path, env=env, check=True, timeout=300)
    text = (tmp_path / "out.txt").read_text()
    assert text.count("quick brown fox") == 4 and text.count("wait in the library") == 4
    refused = subprocess.run([*command, "--climg-page", "--rotate auto", "page.png", "no.pdf"], cwd=tmp_path, env=env, capture_output=True,
                             text=True, timeout=300)
    assert refused.returncode != 0 and "changes the size of the page" in refused.stderr and not (tmp_path / "no.pdf").exists()
