"""docs/tutorial.md: its commands run one after the other in one folder and do what the text says of them."""

import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

import harness

TEXT = (harness.ROOT / "docs" / "tutorial.md").read_text()
COMMANDS = re.findall(r"^ {4}(climg .*)$", re.sub(r"```.*?```", "", TEXT, flags=re.S), re.M)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Returns the output of each command, and the folder in which they ran."""
    folder = tmp_path_factory.mktemp("tutorial")
    shutil.copytree(harness.SAMPLES, folder / "samples")
    (folder / "bin").mkdir()
    (folder / "bin" / "climg").symlink_to(harness.CLIMG)
    env = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    printed = {}
    for command in COMMANDS:
        before = set(folder.rglob("*"))
        done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=300, env=env)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        printed[command] = done.stdout + done.stderr
        assert "--dry-run" not in command or set(folder.rglob("*")) == before
    return printed, folder


def pixels(path):
    return np.asarray(Image.open(path).convert("RGB"), float)


def test_the_photograph_is_cleaner(told):
    """The sky is smooth, so its deviations from a blurred sky are noise; the edges of the hotel's sign stay."""
    _, folder = told

    def noise(name):
        sky = pixels(folder / name)[10:70, 270:480]
        return np.mean((sky - ndimage.gaussian_filter(sky, (4, 4, 0))) ** 2)

    noisy, weak, clean = map(noise, ("samples/night.jpg", "weak.jpg", "clean.jpg"))
    assert clean < 0.1 * noisy and clean < 0.5 * weak < 0.5 * noisy
    before, after = (np.ptp(ndimage.uniform_filter(pixels(folder / name)[165:190, 292:378], (3, 3, 1))[..., 0]) for name in ("samples/night.jpg", "clean.jpg"))
    assert after > 0.9 * before


def test_noise_is_dark_in_the_transform(told):
    _, folder = told
    noisy, clean = (np.percentile(pixels(folder / f"{name}-detail.png"), 25) for name in ("noisy", "clean"))
    assert clean < 0.6 * noisy


def test_stages_in_a_row(told):
    assert Image.open(told[1] / "large.png").size == (512, 512)


def test_tables_are_as_the_text_shows_them(told):
    printed, _ = told
    table = next(text for command, text in printed.items() if "--timing" in command)
    for line in re.search(r"```\n(.*?)```", TEXT, re.S)[1].splitlines():
        title = re.match(r"[^\d.]*(?=  )|\.\.\.", line)[0].strip() if line else ""
        assert title.split("(")[0].strip() in table or title == "..."


def test_folder(told):
    printed, folder = told
    pictures = [path for path in (folder / "samples").iterdir() if path.suffix in (".png", ".jpg", ".tif")]
    dry, _, resumed = (text for command, text in printed.items() if "small/" in command)
    assert sorted(path.name for path in (folder / "small").iterdir() if not path.name.startswith(".")) == sorted(path.name for path in pictures)
    assert len(re.findall(" -> ", dry)) == len(pictures)
    assert (folder / "done.jsonl").read_text().count('"skipped"') == len(pictures), resumed
