"""Pages as scanners and cameras see them, with the angle by which they are turned: text in fonts of Debian, 150 to 600 dpi, gradients,
shadows, bleed-through, noise and JPEG."""

import functools
import glob
import io

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

WORDS = ("the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one you were "
         "all her she there would their we him been has when who will no more if out so up said what its about than into them can only "
         "other time new some could these two may first then do any like my now over such our man me even most made after also did many "
         "fox quick brown jumps lazy dog paper light order library shelf window garden river mountain 1876 1912 24 per cent").split()


@functools.cache
def font_files():
    """Fonts of text, without symbols."""
    found = sorted(glob.glob("/usr/share/fonts/**/*.ttf", recursive=True) + glob.glob("/usr/share/fonts/**/*.otf", recursive=True))
    return [name for name in found if any(part in name for part in ("DejaVu", "Liberation", "Lato", "Nimbus", "C059", "P052", "Bookman"))]


def draw_text(rng, width, height, dpi, ink, paper):
    """Headings, paragraphs, perhaps two columns, a table or a picture."""
    page = Image.new("L", (width, height), paper)
    draw = ImageDraw.Draw(page)
    name = str(rng.choice(font_files()))
    size = int(rng.uniform(9, 13) * dpi / 72)
    font, large = ImageFont.truetype(name, size), ImageFont.truetype(name, int(1.6 * size))
    margin, pitch = int(rng.uniform(0.6, 1.2) * dpi), int(size * rng.uniform(1.15, 1.6))
    columns = int(rng.choice([1, 1, 2]))
    wide = (width - (columns + 1) * margin) // columns
    draw.text((margin, margin // 2), " ".join(rng.choice(WORDS, 4)).title(), fill=ink, font=large)
    full = rng.uniform(0.35, 1)
    for column in range(columns):
        left, y = margin + column * (wide + margin), int(1.3 * margin)
        while y < margin + full * (height - 2 * margin):
            if rng.random() < 0.02:  # a picture
                tall = int(rng.uniform(0.1, 0.25) * height)
                draw.rectangle((left, y, left + int(wide * rng.uniform(0.4, 1)), y + tall - pitch), fill=int(rng.uniform(ink, paper)))
                y += tall
                continue
            last, line = rng.random() < 0.12, ""
            while font.getlength(line) < wide * (rng.uniform(0.2, 0.8) if last else 0.93):
                line += str(rng.choice(WORDS)) + " "
            draw.text((left, y), line, fill=ink, font=font)
            y += pitch * (2 if last else 1)
    return np.asarray(page, float)


def make_page(rng, dpi=None, degrees=None):
    """(samples of 8 bit, degrees by which the lines fall to the right)."""
    dpi = dpi or int(rng.choice([150, 200, 300, 300, 400, 600]))
    degrees = float(rng.uniform(-10, 10)) if degrees is None else degrees
    width, height = int(8.27 * dpi), int(11.69 * dpi)
    if rng.random() < 0.15:
        width, height = height, width
    paper, ink = float(rng.uniform(190, 250)), float(rng.uniform(10, 110))
    page = draw_text(rng, width, height, dpi, int(ink), int(paper))
    if rng.random() < 0.3:  # the other side shines through
        back = draw_text(rng, width, height, dpi, int(ink), int(paper))[:, ::-1]
        page = np.minimum(page, paper - (paper - back) * rng.uniform(0.05, 0.25))
    around = float(rng.choice([paper, paper, 20, 255]))  # of the scanner's bed
    turned = Image.fromarray(page.astype(np.float32)).rotate(-degrees, Image.BICUBIC, fillcolor=around)
    page = np.asarray(turned, float)
    y, x = np.mgrid[-1:1:complex(height), -1:1:complex(width)]
    light = 1 - rng.uniform(0, 0.35) * (1 + np.cos(rng.uniform(0, 6.3)) * x + np.sin(rng.uniform(0, 6.3)) * y) / 2
    if rng.random() < 0.3:  # a shadow with a soft edge
        edge = np.cos(rng.uniform(0, 6.3)) * x + np.sin(rng.uniform(0, 6.3)) * y - rng.uniform(-0.5, 0.5)
        light *= 1 - rng.uniform(0.1, 0.45) / (1 + np.exp(-edge / rng.uniform(0.01, 0.1)))
    page = ndimage.gaussian_filter(page * light, rng.uniform(0.3, 1.0) * dpi / 300)
    page += rng.normal(0, rng.uniform(0.5, 12), page.shape)
    file = io.BytesIO()
    Image.fromarray(np.clip(np.rint(page), 0, 255).astype(np.uint8)).save(file, "JPEG", quality=int(rng.integers(40, 95)))
    return np.asarray(Image.open(file)), degrees
