#!/usr/bin/python3
"""Makes the pictures of the README and of docs/ from samples/: docs/make_pictures.py [CLIMG [FOLDER]] (build/climg and
docs/pictures unless named).

A picture belongs to the commands that stand below it in the text:

    ![What it shows](pictures/blur.png "160 110 200 150")

        climg samples/scene.png --blur 3 blurred.png

Each command runs as it stands. The picture shows its input and its output side by side, with what was done below them; of
several commands each input once, and beside it what --align takes as reference. More than three stand in rows. What is written is
so large that it can be read where the whole is as wide as a telephone. The numbers are the part that is shown, left, top, width and height in pixels of the
input; of another size of output the same part. All are enlarged to the largest of them, pixel by pixel. `levels` instead of
numbers: a mosaic, whole, with the names of its cells.
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
    """(input, words of the chain, output) of each line, whose # begins a remark."""
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        assert words[0] == "climg", line
        yield words[1], words[2:-1], words[-1]


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
    """What `crop` is of a picture of the size `whole`."""
    factors = picture.width / whole.width, picture.height / whole.height
    left, top, width, height = (round(value * factors[i % 2]) for i, value in enumerate(crop))
    return picture.crop((left, top, left + width, top + height))


def caption(chain):
    return " ".join(shlex.quote(word) if " " in word else word for word in chain) or "as it is"


def font_for(width):
    """Nine pixels where a telephone shows the whole width as 360."""
    return ImageFont.truetype("DejaVuSans.ttf", max(13, round(width / 40)))


def lines_that_fit(text, width, font):
    """Broken at blanks and after commas."""
    lines = [""]
    for word in re.findall(r"[^ ,]+,?| +|,", text):
        if lines[-1] and font.getlength(lines[-1] + word.rstrip()) > width - 2 * MARGIN:
            lines.append("")
        lines[-1] += word if lines[-1] else word.lstrip()
    return lines


def side_by_side(panels):
    width, height = max(p.width for p, _ in panels), max(p.height for p, _ in panels)
    columns = next(n for n in (len(panels), 2, 3) if n <= 3 and len(panels) <= 2 * n)
    whole = columns * (width + GAP) - GAP
    font = font_for(whole)
    texts = [lines_that_fit(text, width, font) for _, text in panels]
    line = round(1.25 * font.size)
    rows = [range(first, min(first + columns, len(panels))) for first in range(0, len(panels), columns)]
    below = [line * max(len(texts[i]) for i in row) + 2 * MARGIN for row in rows]
    frame = Image.new("RGB", (whole, len(rows) * (height + GAP) - GAP + sum(below)), "white")
    draw = ImageDraw.Draw(frame)
    top = 0
    for row, space in zip(rows, below):
        for column, i in enumerate(row):
            panel, left = panels[i][0], column * (width + GAP)
            factor = min(width / panel.width, height / panel.height)
            frame.paste(panel.resize((round(panel.width * factor), round(panel.height * factor)), Image.NEAREST), (left, top))
            for n, text in enumerate(texts[i]):
                draw.text((left + MARGIN, top + height + MARGIN // 2 + n * line), text, "black", font)
        top += height + space + GAP
    return frame


def compare(block, crop, folder):
    panels = {}
    for source, chain, target in commands(block):
        whole = opened(folder / source)
        box = crop or (0, 0, whole.width, whole.height)
        panels.setdefault(source, (part(whole, whole, box), pathlib.Path(source).name))
        if "--align" in chain:
            reference = chain[chain.index("--align") + 1]
            panels.setdefault(reference, (opened(folder / reference), pathlib.Path(reference).name))
        panels[target] = (part(opened(folder / target), whole, box), caption(chain))
    return side_by_side(list(panels.values()))


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
    (source, chain, target), = commands(block)
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
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                shutil.copytree(ROOT / "samples", folder / "samples")
                for source, chain, target in commands(block):
                    subprocess.run([climg, source, *chain, target, "--quiet"], cwd=folder, check=True)
                crop = None if what in ("levels", "whole") else tuple(map(int, what.split()))
                picture = mosaic(block, folder) if what == "levels" else compare(block, crop, folder)
            picture.save(pictures / name, optimize=True, quality=88)


if __name__ == "__main__":
    main()
