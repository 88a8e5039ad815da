#!/usr/bin/python3
"""Makes the pictures of the README and of docs/ from samples/: docs/make_pictures.py [CLIMG [FOLDER [NAME]...]] (by default
build/climg, docs/pictures and every picture).

A picture belongs to the commands below it in the text:

    ![Title](pictures/blur.png "160 110 200 150")

        climg samples/scene.png --blur 3 blurred.png

Each command runs as it is written; those of ImageMagick (magick) and G'MIC (gmic) if they are installed. The picture shows inputs and outputs side by side, each input once, with the stages below them; more
than three are placed in rows. Captions can be read when the whole is as wide as a telephone. The numbers are the part of the input to show:
left, top, width and height in pixels; of an output of another size the same part. Smaller panels are enlarged to the size of the largest,
pixel by pixel. Words instead of numbers:

    whole    whole pictures, none of them enlarged
    levels   a mosaic, with the names of its cells
    mean     of a command with many inputs: the first one, the mean of all inputs, the mean of all outputs
"""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image, ImageDraw, ImageFont

ROOT = pathlib.Path(__file__).resolve().parents[1]
GAP, MARGIN, WIDE = 6, 4, 900
BLOCK = re.compile(r'!\[[^\]]*\]\((?:docs/)?pictures/([\w-]+\.(?:png|jpg)) "([^"]+)"\)\n\n((?:    .*\n)+)')


def commands(block):
    """(program, input, words between, output) of each line; # begins a remark."""
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        yield words[0], words[1], words[2:-1], words[-1]


def program_path(name, climg):
    """None if the program is not installed."""
    if name == "climg":
        return climg
    return next(filter(None, map(shutil.which, {"magick": ("magick", "convert-im6.q16", "convert")}.get(name, (name,)))), None)


def opened(path):
    """As RGB, on a chequerboard where it is transparent; 16 bits as 8."""
    picture = Image.open(path)
    if picture.mode.startswith("I"):
        picture = Image.fromarray((np.asarray(picture) // 257).astype(np.uint8))
    if picture.mode == "RGBA":
        y, x = np.indices((picture.height, picture.width)) // 8
        board = Image.fromarray(np.where((x + y) % 2, 255, 205).astype(np.uint8)).convert("RGBA")
        picture = Image.alpha_composite(board, picture)
    return picture.convert("RGB")


def part(picture, whole, crop):
    """The part of a picture that `crop` is of a picture of the size `whole`."""
    factors = picture.width / whole.width, picture.height / whole.height
    left, top, width, height = (round(value * factors[i % 2]) for i, value in enumerate(crop))
    return picture.crop((left, top, left + width, top + height))


def caption(program, chain):
    text = " ".join(shlex.quote(word) if " " in word else word for word in chain).removesuffix(" cut 0,255 -o") or "as it is"
    return text if program == "climg" else f"{program}: {text}"


def font_for(width):
    """Nine pixels where a telephone shows the whole width as 360."""
    return ImageFont.truetype("DejaVuSans.ttf", min(max(13, round(width / 40)), 26))


def lines_that_fit(text, width, font):
    """Broken at blanks and after commas."""
    lines = [""]
    for word in re.findall(r"[^ ,]+,?| +|,", text):
        if lines[-1] and font.getlength(lines[-1] + word.rstrip()) > width - 2 * MARGIN:
            lines.append("")
        lines[-1] += word if lines[-1] else word.lstrip()
    return lines


def side_by_side(panels, enlarged=True):
    """Panels with their captions, in rows of at most three; as large as the largest if `enlarged`."""
    width, height = max(p.width for p, _ in panels), max(p.height for p, _ in panels)
    if enlarged:
        factors = (min(width / p.width, height / p.height) for p, _ in panels)
        panels = [(p.resize((round(p.width * f), round(p.height * f)), Image.NEAREST), text) for f, (p, text) in zip(factors, panels)]
    columns = next(n for n in (len(panels), 2, 3) if n <= 3 and len(panels) <= 2 * n)
    widths = [max(p.width for p, _ in panels[column::columns]) for column in range(columns)]
    whole = sum(widths) + (columns - 1) * GAP
    font = font_for(whole)
    texts = [lines_that_fit(text, widths[i % columns], font) for i, (_, text) in enumerate(panels)]
    line = round(1.25 * font.size)
    rows = [range(first, min(first + columns, len(panels))) for first in range(0, len(panels), columns)]
    below = [line * max(len(texts[i]) for i in row) + 2 * MARGIN for row in rows]
    frame = Image.new("RGB", (whole, len(rows) * (height + GAP) - GAP + sum(below)), "white")
    draw = ImageDraw.Draw(frame)
    top = 0
    for row, space in zip(rows, below):
        left = 0
        for i in row:
            frame.paste(panels[i][0], (left, top))
            for n, text in enumerate(texts[i]):
                draw.text((left + MARGIN, top + height + MARGIN // 2 + n * line), text, "black", font)
            left += widths[i % columns] + GAP
        top += height + space + GAP
    return frame


def compare(block, crop, folder):
    panels = {}
    for program, source, chain, target in commands(block):
        if not (folder / target).exists():
            continue
        if (folder / source).is_dir():
            source = min(path.relative_to(folder) for path in (folder / source).iterdir())
        whole = opened(folder / source)
        box = crop or (0, 0, whole.width, whole.height)
        panels.setdefault(source, (part(whole, whole, box), pathlib.Path(source).name))
        panels[target] = (part(opened(folder / target), whole, box), caption(program, chain))
    return side_by_side(list(panels.values()), crop is not None)


def mean(paths):
    """The mean of pictures of one size, without the border that a turn leaves."""
    pixels = np.mean([np.asarray(opened(path), float) for path in paths], axis=0)[24:-24, 24:-24]
    return Image.fromarray(np.uint8(pixels + 0.5))


def means(block, folder):
    (_, source, chain, target), = commands(block)
    before, after = (sorted(folder.glob(f"{name}.jpg")) for name in (source.removesuffix(".jpg"), f"{target}*"))
    assert len(before) == len(after) > 1
    return side_by_side([(mean(before[1:2]), before[1].name), (mean(before), f"mean of {len(before)}"),
                         (mean(after), caption("climg", chain) + f", mean of {len(after)}")])


def label(draw, x, y, text):
    font = font_for(WIDE)
    box = draw.textbbox((x + MARGIN, y + MARGIN), text, font)
    draw.rectangle((box[0] - 3, box[1] - 2, box[2] + 3, box[3] + 2), "black")
    draw.text((x + MARGIN, y + MARGIN), text, "white", font)


def cells(width, height, levels, gap=2):
    """(left, top, level, degrees) of each cell of --mosaic, as --help=mosaic describes it; the lowpass last. For sizes that
    2^levels divides."""
    x = y = 0
    for level in range(1, levels + 1):
        w, h = width >> level, height >> level
        for i, degrees in enumerate((15, 45, 75, -15, -45, -75)):
            yield x + i % 3 * (w + gap), y + i // 3 * (h + gap), level, degrees
        if level == 2:
            y += 2 * (h + gap)
        else:
            x += 3 * (w + gap)
    yield x, y, levels, None


def mosaic(block, folder):
    """The picture with names, and below it the levels that are too small for them, enlarged."""
    (_, source, chain, target), = commands(block)
    whole, picture = Image.open(folder / source), opened(folder / target)
    levels = int(re.search(r"--wavelet=?(\d*)", " ".join(chain))[1] or 4)
    places = list(cells(whole.width, whole.height, levels))
    factor = WIDE / picture.width
    frame = picture.resize((WIDE, round(picture.height * factor)), Image.BOX if factor < 1 else Image.NEAREST)
    draw = ImageDraw.Draw(frame)
    for x, y, level, degrees in places:
        if level == 1:
            label(draw, x * factor, y * factor, f"level 1: {degrees}°")
        elif level == 2 and degrees is not None:  # too small for both
            label(draw, x * factor, y * factor, "level 2" if degrees == 15 else f"{degrees}°")
    left, top = next((x, y) for x, y, level, _ in places if level == 3)
    deep = picture.crop((left, top, picture.width, top + 2 * (whole.height >> 3) + 2))
    scale = WIDE / deep.width
    deep = deep.resize((WIDE, round(deep.height * scale)), Image.NEAREST)
    draw = ImageDraw.Draw(deep)
    for x, y, level, degrees in places:
        if degrees is None:
            label(draw, (x - left) * scale, (y - top) * scale, "lowpass")
        elif level == 3:
            label(draw, (x - left) * scale, (y - top) * scale, f"level 3: {degrees}°")
        elif level > 3 and degrees == 15:
            label(draw, (x - left) * scale, (y - top) * scale, f"level {level}")
    both = Image.new("RGB", (WIDE, frame.height + GAP + deep.height), "white")
    both.paste(frame, (0, 0))
    both.paste(deep, (0, frame.height + GAP))
    return both


def main():
    climg = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "climg").resolve()
    pictures = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "docs" / "pictures")
    for text in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for name, what, block in BLOCK.findall(text.read_text()):
            if len(sys.argv) > 3 and name not in sys.argv[3:]:
                continue
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                shutil.copytree(ROOT / "samples", folder / "samples")
                for program, source, chain, target in commands(block):
                    path = program_path(program, climg)
                    if path:
                        inputs, quiet = sorted(folder.glob(source)), ["--quiet"] if program == "climg" else []
                        subprocess.run([path, *inputs, *chain, target, *quiet], cwd=folder, check=True, stderr=None if quiet else subprocess.DEVNULL)
                if what in ("levels", "mean"):
                    picture = {"levels": mosaic, "mean": means}[what](block, folder)
                else:
                    picture = compare(block, None if what == "whole" else tuple(map(int, what.split())), folder)
            picture.save(pictures / name, optimize=True, quality=90)


if __name__ == "__main__":
    main()
