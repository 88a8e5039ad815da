"""First guesses of people who know ImageMagick, vips, ffmpeg and G'MIC: each answer is one line, or two where
several files failed, and what it names is done here as a reader would do it, until the command works."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

import harness

CONVERT = f"""#!{sys.executable}
# Stands in for ImageMagick's: what is tested is that the files are named in the right order.
import sys
from PIL import Image
Image.open(sys.argv[1]).save(sys.argv[2])
"""
MOST_ANSWERS = 4

# The typed words, and the command that works in the end, except for values that the answers leave to the reader.
GUESSES = {
    "climg -i in.png": "climg in.png --blur 2 out.png",
    "climg --input in.png --output out.png": "climg in.png --blur 2 out.png",
    "climg in.png -resize 50% out.png": "climg in.png --resize 50% out.png",
    "climg in.png -resise 50% out.png": "climg in.png --resize 50% out.png",
    "climg in.png -resize 100x100! out.png": "climg in.png --resize 100x100,fit=exact out.png",
    "climg in.png --resize 100x100^ out.png": "climg in.png --resize 100x100,fit=cover out.png",
    "climg in.png --resize 0.5 out.png": "climg in.png --resize 50% out.png", "climg in.png --resize 100 out.png": "climg in.png --resize 100x out.png",
    "climg in.png --resize 80PX out.png": "climg in.png --resize 80x out.png", "climg in.png --resize 80X60, out.png": "climg in.png --resize 80x60 out.png",
    "climg in.png --flip horizontal out.png": "climg in.png --flip h out.png", "climg in.png --gray=Red out.png": "climg in.png --gray=R out.png",
    "climg in.png --depth 16bit out.png": "climg in.png --depth 16 out.png", "climg in.png --rotate left out.png": "climg in.png --rotate -90 out.png",
    "climg in.png --denoise high out.png": "climg in.png --denoise=quality=high out.png", "climg in.png --bw out.png":
    "climg in.png --gray --threshold otsu out.png", "climg in.png --white-balance out.png": "climg in.png --levels auto,channels=each out.png",
    "climg in.png a.png --merge": "climg in.png a.png --stack mean out.png", "climg in.png --convert out.png": "climg in.png out.jpg",
    "climg in.png -thumbnail 100x100 out.png": "climg in.png --resize 100x100 out.png",
    "climg in.png -blur 0x2 out.png": "climg in.png --blur 2 out.png",
    "climg in.png --median 5x5 out.png": "climg in.png --median 2 out.png",
    "climg in.png --resize 100x100> out.png": "climg in.png --resize 100x100> out.png",
    "climg in.png --extend 10 out.png": "climg in.png --border 10 out.png",
    "climg in.png --crop inside out.png": "climg in.png --rotate 2,crop=inside out.png",
    "climg in.png -negate out.png": "climg in.png --invert out.png",
    "climg in.png -rotate 90deg out.png": "climg in.png --rotate 90 out.png",
    "climg in.png --rotate out.png": "climg in.png --rotate 2 out.png",
    "climg in.png -vf scale=2 out.png": "climg in.png --scale 2 out.png",
    "climg resize in.png out.png 0.5": "climg in.png --resize 50% out.png",
    "climg gaussblur in.png out.png 2": "climg in.png --blur 2 out.png",
    "climg in.png denoise out.png": "climg in.png --denoise out.png",
    "climg in.png blur 3 -o out.png": "climg in.png --blur 2 out.png",
    "climg help": "climg --help", "climg man": "climg --help", "climg -h": "climg -h", "climg --usage": "climg --help",
    "climg --version": "climg --version", "climg -V": "climg -V", "climg --help blurr": "climg --help=blur",
    "climg list-devices": "climg --list-devices", "climg info in.png": "climg --info in.png", "climg identify in.png": "climg --info in.png",
    "climg in.png": "climg in.png out.png", "climg": "climg in.png --blur 2 out.png", "climg --blur": "climg in.png --blur 2 out.png",
    "climg photo.gif out.png": "climg photo.png out.png", "climg missing.gif out.png": "climg missing.png out.png",
    "climg in.png out.gif": "climg in.png out.png", "climg photo.gif photo.heic": "climg photo.png --in-place photo.png",
    "climg *.png --scale 1/2": "climg a.png b.png in.png --scale 1/2 out/", "climg a.png b.png --blur 1": "climg a.png b.png --blur 1 out/",
    "climg folder --invert": "climg folder --invert out/", "climg in.png --blur 2 in.png": "climg in.png --blur 2 --in-place in.png",
    "climg in.png --sigma 2 out.png": "climg in.png --blur 2 out.png", "climg in.png --blr 2 out.png": "climg in.png --blur 2 out.png",
    "climg in.png --blur -2 out.png": "climg in.png --blur 0.05 out.png", "climg in.png --blur 2px out.png": "climg in.png --blur 2 out.png",
    "climg in.png --scale 1.5 out.png": "climg in.png --resize 150% out.png", "climg in.png --scale 50% out.png": "climg in.png --scale 0.5 out.png",
    "climg in.png --denoise 10 out.png": "climg in.png --denoise=10 out.png", "climg in.png --unsharp-mask 0.8 out.png": "climg in.png --sharpen 0.8 out.png",
    "climg in.png --denoise=high out.png": "climg in.png --denoise=quality=high out.png",
    "climg in.png --grayscale out.png": "climg in.png --gray out.png", "climg in.png --usm 0.8 out.png": "climg in.png --sharpen 0.8 out.png",
    "climg in.png --threads 2 --blur 1 out.png": "climg in.png --jobs 2 --blur 1 out.png", "climg in.png --edge black --blur 2 out.png":
    "climg in.png --edge clamp --blur 2 out.png", "climg in.png --depth 12 out.png": "climg in.png --depth 8 out.png",
    "climg in.png --format gif -o out.bin": "climg in.png --format JPEG -o out.bin", "climg in.png --blur 1 --overwrite out.png":
    "climg in.png --blur 1 --yes out.png", "climg in.png --device vulkan --blur 1 out.png": "climg --list-devices",
    "climg in.png –blur 2 out.png": "climg in.png --blur 2 out.png", "climg in.png --BLUR 2 out.png": "climg in.png --blur 2 out.png",
    "climg in.png --lanczos 50% out.png": "climg in.png --resize 50% out.png", "climg in.png --nlmeans out.png": "climg in.png --denoise out.png",
    "climg in.png --max 3 out.png": "climg in.png --rank 3,percent=100 out.png", "climg in.png --gamma 2.2 out.png": "climg in.png --levels 0%,100%,gamma=2.2 out.png",
    "climg in.png --blur 5x2 out.png": "climg in.png --blur 2 out.png", "climg in.png --blur sigma=2 out.png": "climg in.png --blur 2 out.png",
    "climg in.png --gray=r out.png": "climg in.png --gray=R out.png", "climg in.png --threshold auto out.png": "climg in.png --threshold otsu out.png",
    "climg in.png --extend 200x200,white out.png": "climg in.png --extend 200x200,color=white out.png",
    "climg in.png --resize 80x60 --fit cover out.png": "climg in.png --resize 80x60,fit=cover out.png", "climg in.png --register in.png out.png": "climg in.png --align in.png out.png",
    "climg --devices": "climg --list-devices",
    "climg in.png --wavelet 3 out.tif": "climg in.png --wavelet=3 out.tif",
}

# A pattern of an answer, and the words that replace the typed ones.
VALUES = {"SIGMA": "2", "SIZE": "50%", "DEGREES": "2", "DEGREES|auto": "2", "INPUT": "in.png", "OUTPUT": "out.png", "mean|median|max|min|sum|focus": "mean"}


def replace(words, old, new):
    at = words.index(old)
    return words[:at] + new + words[at + 1:]


def fill(command):
    return [VALUES.get(word, word) for word in command.split()]


def with_value(words, option, value):
    at = words.index(option) + 1
    files = [] if at < len(words) or len(words) > 2 else ["out.png"]
    return (["climg", "in.png"] if len(words) == 2 else words[:at - 1]) + [option, VALUES[value]] + words[at:] + files


def value_of(words, option):
    return words[words.index(option) + 1]


def without(words, option):
    at = words.index(option)
    return words[:at] + words[at + 2:]


def with_old_value(words, typed, option, before, after):
    at = words.index(typed)
    return words[:at] + [option, before + words[at + 1] + after] + words[at + 2:]


READINGS = [
    (r"leave the word out, as in (climg .+)$", lambda words, m: fill(m[1])),
    (r"(?:inputs need no option|stages are options), as in (climg .+)$", lambda words, m: fill(m[1])),
    (r"stages are options: (climg .+)$", lambda words, m: fill(m[1])),
    (r"no input is named; (climg .+?) is an example", lambda words, m: fill(m[1])),
    (r"^--help=(\w+): .*did you mean (\S+)\?$", lambda words, m: ["climg", m[2]]),
    (r"^(\S+): there is no such file; did you mean (\S+)\?$",
     lambda words, m: ["climg", "in.png", m[2], "2", "out.png"] if m[1] == "gaussblur" else replace(words, m[1], [m[2]])),
    (r"^unknown (?:stage or )?option (\S+); did you mean (\S+)\?$", lambda words, m: replace(words, m[1], [m[2]])),
    (r"^(\S+) begins with a typographic dash.*; did you mean (\S+)\?$", lambda words, m: replace(words, m[1], [m[2]])),
    (r"^--\S+ (\S+): not .* alone; did you mean (\S+)\?$", lambda words, m: replace(words, m[1], [m[2]])),
    (r"^(--\S+) (\S+): not a number; did you mean (\S+)\?$", lambda words, m: replace(words, f"{m[1]}={m[2]}", [f"{m[1]}={m[3]}"])),
    (r"^--\S+ (\S+): not a size; did you mean (\S+)\?$", lambda words, m: replace(words, m[1], [m[2]])),
    (r"^--\S+ (\S+): not a whole number; a radius of (\d+) is a window of \1$", lambda words, m: replace(words, m[1], [m[2]])),
    (r"^(--\S+) (\S+): not a size; (--\S+) (\S+) (?:adds|cuts) ",
     lambda words, m: replace(replace(words, m[1], [m[3]]), m[2], [m[4].replace("DEGREES", "2")])),
    (r"^--rotate (\S+): .*; did you mean 90 \(right\) or (\S+) \(left\)\?$", lambda words, m: replace(words, m[1], [m[2]])),
    (r"^(--\S+) (\S+): .*; did you mean ([^- ]\S*)\?$",
     lambda words, m: replace(words, m[2], [m[3]]) if m[2] in words else replace(words, f"{m[1]}={m[2]}", [f"{m[1]}={m[3]}"])),
    (r"^(--\S+) (\S+): there is no such file; did you mean (--\S+)\?$", lambda words, m: replace(replace(words, m[2], []), m[1], [m[3]])),
    (r"^unknown stage or option (\S+); write (--\S+) (\S*)(?:RADIUS|G)(\S*)$", lambda words, m: with_old_value(words, m[1], m[2], m[3], m[4])),
    (r"^(--\S+) is no option; write (\S+=) after the value of (--\S+), with a comma$",
     lambda words, m: with_old_value(without(words, m[1]), m[3], m[3], "", f",{m[2]}{value_of(words, m[1])}")),
    (r"^(--\S+): \S+ is written without a key: \1 (\S+)$", lambda words, m: replace(words, value_of(words, m[1]), [m[2]])),
    (r"^--\S+ (\S+): did you mean (\S+)\?$", lambda words, m: replace(words, m[1], [m[2]])),
    (r"^unknown stage or option (\S+); write (--.*)$", lambda words, m: replace(words, m[1], m[2].split())),
    (r"the output's name is enough, as in (climg .+)$", lambda words, m: fill(m[1])),
    (r"^--\S+ (\S+): expected a size such as (\S+), ", lambda words, m: replace(words, m[1], [m[2]])),
    (r"^--scale (\S+): .*; (--resize) (\S+) takes any size$", lambda words, m: replace(replace(words, "--scale", [m[2]]), m[1], [m[3]])),
    (r"^(\S+) needs a value: \1 (\S+)$", lambda words, m: with_value(words, m[1], m[2])),
    (r"^--\S+ (\S+): must be from (\S+) to", lambda words, m: replace(words, m[1], [m[2]])),
    (r"^(--gray) (\S+): not one of .*; channels are R, G, B and A", lambda words, m: replace(words, f"{m[1]}={m[2]}", [f"{m[1]}={m[2][0]}"])),
    (r"^--\S+ (\S+): not one of ([^,]+),", lambda words, m: replace(words, m[1], [m[2]])),
    (r"^(--\S+) (\S+): write its value after =, as in (\S+)$", lambda words, m: replace(replace(words, m[2], []), m[1], [m[3]])),
    (r"^--format (\S+): climg writes (\w+),", lambda words, m: replace(words, m[1], [m[2]])),
    (r"see (--list-devices)$", lambda words, m: ["climg", m[1]]),
    (r"no output is named, .*name one at the end: climg .* (\S+)$", lambda words, m: [*words, m[1]]),
    (r"add an output(?: after the stages)?, such as (\S+), or --yes", lambda words, m: [*words, m[1]]),
    (r"give a folder at the end, such as out/|need an output folder, such as out/|is a folder; name an output folder", lambda words, m: words + ["out/"]),
    (r"is also the input; (--in-place) replaces it", lambda words, m: words[:-1] + [m[1], words[-1]]),
]


def follow(words, said, folder):
    line = said.splitlines()[0].removeprefix("climg: ")
    converted = re.search(r"(?:; write (\S+) and convert that|convert it first), as with ImageMagick: convert (\S+) (\S+)$", line)
    if converted and converted[1]:
        assert converted[2] == converted[1]
        return [converted[1] if word == converted[3] else word for word in words]
    if converted:
        if "No such file" in line:
            shutil.copy(folder / "photo.gif", folder / converted[2])  # it is found elsewhere
        subprocess.run([folder / "bin" / "convert", *converted.groups()[1:]], cwd=folder, check=True)
        return replace(words, converted[2], [converted[3]])
    for pattern, reading in READINGS:
        if match := re.search(pattern, line):
            return reading(words, match)
    raise AssertionError(f"no reader would know what to do: {line}")


def type_in(words, folder):
    """On a terminal, which shows nothing of pixels."""
    shown, own = os.openpty()
    try:
        stdout = own if words in (["climg"], ["climg", "in.png"]) else subprocess.PIPE
        return subprocess.run([harness.CLIMG, *words[1:]], cwd=folder, stdin=own, stdout=stdout, stderr=subprocess.PIPE, timeout=120)
    finally:
        os.close(shown)
        os.close(own)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    from PIL import Image
    folder = tmp_path_factory.mktemp("guesses")
    (folder / "folder").mkdir()
    image = Image.open(harness.ROOT / "samples" / "scene.png").convert("RGB").resize((96, 80))
    for name in ("in.png", "a.png", "b.png", "folder/c.png", "photo.gif"):
        image.save(folder / name)
    (folder / "bin").mkdir()
    (folder / "bin" / "convert").write_text(CONVERT)
    (folder / "bin" / "convert").chmod(0o755)
    return folder


@pytest.mark.some(12)
@pytest.mark.parametrize("typed", GUESSES)
def test_guess(tmp_path, pictures, typed):
    shutil.copytree(pictures, tmp_path, dirs_exist_ok=True)
    words = [name for word in shlex.split(typed) for name in (sorted(p.name for p in tmp_path.glob("*.png")) if "*" in word else [word])]
    dialogue = []
    for _ in range(MOST_ANSWERS):
        done = type_in(words, tmp_path)
        said = done.stderr.decode()
        dialogue.append(f"$ {shlex.join(words)}\n{said}")
        if done.returncode == 0:
            break
        lines = said.splitlines()
        assert len(lines) == 1 or (len(lines) == 2 and re.fullmatch(r"climg: \d of \d files failed", lines[1])), "\n".join(dialogue)
        words = follow(words, said, tmp_path)
    assert done.returncode == 0, "\n".join(dialogue)
    assert shlex.split(GUESSES[typed]) == words, "\n".join(dialogue)
    assert not re.match("out|photo", words[-1]) or (tmp_path / words[-1]).exists(), "\n".join(dialogue)


def test_there_are_enough_of_them():
    assert len(GUESSES) >= 25
