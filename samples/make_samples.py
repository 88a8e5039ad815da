#!/usr/bin/python3
"""Makes climg's sample pictures, the same bytes every time: make_samples.py [FOLDER]

Needs numpy, Pillow, tifffile and the DejaVu fonts, and a minute, most of it for the valley of scenes.py. Positions are in units of the picture's side, x to the right and y down,
colours are display values from 0 to 1.
"""

import pathlib
import sys

import numpy as np
import tifffile
from PIL import Image, ImageDraw, PngImagePlugin

import scenes

SIDE = 512
OVERSAMPLING = 2
HORIZON = 0.60


# ---------------------------------------------------------------- helpers

def smoothstep(low, high, x):
    """0 below `low`, 1 above `high`, 3t^2 - 2t^3 between."""
    t = np.clip((x - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


def mix(a, b, t):
    """a where t is 0, b where t is 1; t may be a plane for colours a and b."""
    a, b, t = np.asarray(a, float), np.asarray(b, float), np.asarray(t, float)
    if t.ndim == 2:
        t = t[..., None]
    return a + (b - a) * t


def colour(text):
    """'e8b070' as three numbers from 0 to 1."""
    return np.array([int(text[i:i + 2], 16) / 255 for i in (0, 2, 4)])


def grid(side):
    """Pixel centres as (x, y)."""
    centres = (np.arange(side) + 0.5) / side
    return np.meshgrid(centres, centres)


def enlarged(cells, width, height):
    """A small array drawn large with bicubic interpolation."""
    image = Image.fromarray(cells.astype(np.float32), mode="F")
    return np.asarray(image.resize((width, height), Image.BICUBIC), dtype=float)


def clouds_of_noise(rng, width, height, cells_x, cells_y, octaves, ridged=False):
    """Fractal noise about 0: octaves of bicubic value noise, each at half the size and half the height."""
    total = np.zeros((height, width))
    for octave in range(octaves):
        shape = (min(cells_y << octave, height) + 1, min(cells_x << octave, width) + 1)
        layer = enlarged(rng.uniform(-1, 1, shape), width, height)
        total += (0.5 - 2 * np.abs(layer) if ridged else layer) * 0.5 ** octave
    return total


def line_of_noise(rng, length, cells, octaves):
    return clouds_of_noise(rng, length, 1, cells, 1, octaves)[0]


# ---------------------------------------------------------------- the scene, back to front

def draw_sky(rng, x, y):
    """A morning sky with a low sun on the left and thin clouds lit from it."""
    side = len(x)
    height = np.clip(y / HORIZON, 0, 1)
    sky = mix(colour("2f5f9f"), colour("86b4d8"), smoothstep(0, 0.65, height))
    sky = mix(sky, colour("f7d9b0"), smoothstep(0.5, 1.0, height) * 0.9)
    distance = np.hypot(x - 0.20, (y - 0.50) * 1.15)
    sky = mix(sky, colour("ffe9bd"), 0.85 * np.exp(-(distance / 0.17) ** 2))
    density = clouds_of_noise(rng, side, side, 3, 9, 7) - 0.6 * height + 0.05
    cover = smoothstep(0.0, 0.9, density)
    lit = np.roll(density, side // 90, axis=1) - density
    cloud = mix(colour("c9cfdd"), colour("fff3e2"), smoothstep(-0.2, 0.25, lit))
    return mix(sky, cloud, 0.85 * cover)


def draw_ridge(rng, picture, x, y, base, relief, dark, light, haze, snow):
    """One mountain range: a fractal skyline and ridged noise lit from the left."""
    side = len(x)
    skyline = base - relief * (0.35 + line_of_noise(rng, side, 4, 8))
    depth = y - skyline[None, :]
    stretch = clouds_of_noise(rng, side, side, 7, 5, 7, ridged=True)
    slope = np.gradient(stretch + 9 * depth * relief, axis=1) * side / 60
    rock = mix(dark, light, smoothstep(-0.6, 0.6, slope))
    white = smoothstep(0.0, 0.5, stretch + (relief * snow - depth) * 14)
    rock = mix(rock, mix(colour("9fb3d6"), colour("fffaf0"), smoothstep(-0.7, 0.5, slope)), white * (snow > 0))
    rock = mix(rock, haze, 0.25 + 0.6 * smoothstep(0.0, 0.22, depth))
    return mix(picture, rock, smoothstep(-0.5 / side, 0.5 / side, depth))


def draw_forest(rng, picture, x, y):
    """A dark bank of conifers along the far shore."""
    side = len(x)
    trees = np.abs((x * 75 + 0.7 * line_of_noise(rng, side, 60, 2)[None, :]) % 1 - 0.5)
    tops = HORIZON - 0.012 - 0.028 * (0.6 + line_of_noise(rng, side, 90, 3))[None, :] * (1 - 1.6 * trees)
    needles = clouds_of_noise(rng, side, side, 128, 128, 2)
    wood = mix(colour("16301f"), colour("4d6b35"), smoothstep(-0.8, 1.2, needles - 3 * (trees - 0.25)))
    wood = mix(wood, colour("d9b98c"), 0.18)
    return mix(picture, wood, smoothstep(0, 2.0 / side, y - tops) * (y < HORIZON))


def balloon_width(down, radius):
    """Half the width at `down` below the middle: a half circle above, a taper to the mouth below."""
    above = np.sqrt(np.clip(radius ** 2 - down ** 2, 0, None))
    below = radius * (1 - 0.8 * np.clip(down / (1.4 * radius), 0, 1) ** 1.9)
    return np.where(down < 0, above, below)


def balloon_pattern(around, down, radius, palette, turn):
    """Gores of alternating colours with zigzag bands about the middle."""
    cell = (around + turn) / (np.pi / 7)
    gore = np.floor(cell).astype(int)
    cloth = np.where((gore % 2 == 0)[..., None], palette[0], palette[1])
    zigzag = down / radius + 0.22 * np.abs(cell % 2 - 1)
    cloth = np.where((np.abs(zigzag - 0.22) < 0.11)[..., None], palette[2], cloth)
    cloth = np.where((np.abs(zigzag - 0.22) < 0.045)[..., None], palette[3], cloth)
    cloth = np.where((zigzag < -0.80)[..., None], palette[2], cloth)
    seam = np.abs(cell - np.rint(cell))
    return cloth * (0.72 + 0.28 * smoothstep(0.0, 0.06, seam))[..., None]


def draw_balloon(picture, x, y, middle, radius, palette, turn):
    """The envelope, shaded as a round body lit from the left, then the basket on its ropes."""
    side = len(x)
    right, down = x - middle[0], y - middle[1]
    width = balloon_width(down, radius)
    inside = (np.abs(right) < width) & (down < 1.4 * radius)
    across = np.clip(right / np.maximum(width, 1e-6), -1, 1)
    cloth = balloon_pattern(np.arcsin(across), down, radius, palette, turn)
    up = np.clip(-down / radius, -1, 1)
    light = 0.62 - 0.42 * across + 0.22 * up + 0.10 * np.sqrt(1 - across ** 2)
    shine = np.exp(-((across + 0.5) ** 2 + (up - 0.45) ** 2) / 0.05)
    cloth = np.clip(cloth * light[..., None] * 1.25, 0, 1) + 0.22 * shine[..., None]
    picture = np.where(inside[..., None], cloth, picture)

    image = Image.fromarray(np.uint8(np.clip(picture, 0, 1) * 255))
    draw = ImageDraw.Draw(image)
    mouth, floor = middle[1] + 1.4 * radius, middle[1] + 1.75 * radius
    for k in (-1, -0.5, 0.5, 1):
        ends = [(middle[0] + 0.2 * radius * k, mouth), (middle[0] + 0.13 * radius * k, floor)]
        draw.line([(a * side, b * side) for a, b in ends], fill=(50, 35, 30), width=max(1, side // 900))
    box = [middle[0] - 0.14 * radius, floor, middle[0] + 0.14 * radius, floor + 0.2 * radius]
    draw.rectangle([v * side for v in box], fill=(112, 70, 38))
    for k in range(1, 5):
        weave = (floor + 0.04 * radius * k) * side
        draw.line([(box[0] * side, weave), (box[2] * side, weave)], fill=(70, 42, 25))
    drawn = np.asarray(image, float) / 255
    touched = np.any(drawn != np.floor(np.clip(picture, 0, 1) * 255) / 255, axis=-1)
    return np.where(touched[..., None], drawn, picture)


def draw_lake(rng, picture, x, y):
    """The picture above the shore, mirrored, darker, and broken by ripples that grow towards the viewer."""
    side = len(x)
    shore = int(HORIZON * side)
    rows = np.arange(side - shore)
    near = rows / len(rows)
    ripple = clouds_of_noise(rng, side, len(rows), 10, 60, 4)
    shift = ripple * (3 + 34 * near[:, None] ** 1.4) * side / 1024
    source_y = np.clip(shore - 1 - rows[:, None] * 1.25 + shift, 0, shore - 1).astype(int)
    source_x = np.clip(np.arange(side)[None, :] + 0.35 * shift, 0, side - 1).astype(int)
    mirrored = picture[source_y, source_x]
    water = mix(mirrored, colour("14344a"), 0.22 + 0.38 * near[:, None] * np.ones_like(ripple))
    sparkle = smoothstep(0.75, 1.15, ripple) * np.exp(-((x[shore:] - 0.2) / 0.17) ** 2)
    water = mix(water, colour("fff1cf"), 0.8 * sparkle)
    water[:3] = mix(water[:3], colour("e9d8b8"), 0.5)
    return np.concatenate([picture[:shore], np.clip(water, 0, 1)])


def curve(start, control, end, count):
    """A quadratic Bezier curve."""
    t = np.linspace(0, 1, count)[:, None]
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t ** 2 * end


def draw_blade(draw, side, points, width, paint):
    """A tapered stroke, made of short lines that get thinner."""
    for k in range(len(points) - 1):
        thin = max(1, int(round(width * side * (1 - k / (len(points) - 1)))))
        draw.line([tuple(points[k] * side), tuple(points[k + 1] * side)], fill=paint, width=thin)


def byte_colour(value):
    return tuple(int(v) for v in np.clip(np.asarray(value) * 255, 0, 255))


def draw_grass(rng, draw, side, count, reach, shades):
    """Blades from the lower edge, leaning every way."""
    for _ in range(count):
        root = np.array([rng.uniform(-0.05, 1.05), rng.uniform(0.97, 1.03)])
        lean = rng.normal(0.02, 0.07)
        height = reach * rng.uniform(0.45, 1.0)
        tip = root + np.array([lean * 1.6, -height])
        bend = root + np.array([lean * 0.3, -0.65 * height])
        shade = mix(shades[0], shades[1], rng.uniform() ** 1.5)
        draw_blade(draw, side, curve(root, bend, tip, 14), rng.uniform(0.002, 0.005), byte_colour(shade))


def draw_flower(rng, draw, side, middle, radius, petal, heart):
    """A daisy: stem, petals at every orientation, a speckled heart."""
    foot = np.array([middle[0] + rng.normal(0, 0.03), 1.02])
    bend = np.array([middle[0] + rng.normal(0, 0.02), (middle[1] + 1) / 2])
    draw_blade(draw, side, curve(foot, bend, middle, 20), 0.005, (62, 92, 38))
    petals = 19
    tilt = rng.uniform(0.75, 1.0)
    for k in range(petals):
        angle = 2 * np.pi * (k + rng.uniform(-0.2, 0.2)) / petals
        along = np.array([np.cos(angle), np.sin(angle) * tilt])
        aside = np.array([-np.sin(angle), np.cos(angle) * tilt])
        outline = [middle + radius * (t * along + s * np.sin(np.pi * t ** 0.8) * 0.13 * aside)
                   for s in (1, -1) for t in (np.linspace(0.1, 1, 9) if s == 1 else np.linspace(1, 0.1, 9))]
        shade = byte_colour(petal * (0.78 + 0.14 * np.cos(angle + 2.5) + rng.uniform(-0.05, 0.08)))
        draw.polygon([tuple(p * side) for p in outline], fill=shade)
        crease = [tuple((middle + radius * t * along) * side) for t in (0.25, 0.9)]
        draw.line(crease, fill=byte_colour(petal * 0.68), width=1)
    for _ in range(420):
        angle, r = rng.uniform(0, 2 * np.pi), 0.27 * radius * np.sqrt(rng.uniform())
        at = middle + r * np.array([np.cos(angle), np.sin(angle) * tilt])
        bright = rng.uniform(0.55, 1.0) - 0.25 * (np.sin(angle) * r / radius / 0.27)
        spot = 0.0016 * side
        draw.ellipse([at[0] * side - spot, at[1] * side - spot, at[0] * side + spot, at[1] * side + spot],
                     fill=byte_colour(heart * bright))


def draw_hairs(rng, draw, side, count):
    """Hair-like stalks of wild oats with drooping awns: one-pixel lines, nearly every orientation."""
    for _ in range(count):
        root = np.array([rng.uniform(0.52, 1.0), 1.0])
        tip = root + np.array([rng.normal(0.03, 0.10), -rng.uniform(0.22, 0.42)])
        bend = np.array([root[0], tip[1] + 0.10])
        stalk = curve(root, bend, tip, 40)
        straw = byte_colour(mix(colour("8a7038"), colour("f0d898"), rng.uniform()))
        draw.line([tuple(p * side) for p in stalk], fill=straw, width=2)
        for k in range(20, 40, 2):
            angle = rng.uniform(-0.5, np.pi + 0.5)
            droop = stalk[k] + 0.028 * np.array([np.cos(angle), np.sin(angle) - 0.6])
            awn = curve(stalk[k], stalk[k] + [0.5 * (droop - stalk[k])[0], -0.012], droop, 8)
            draw.line([tuple(p * side) for p in awn], fill=straw, width=1)


def draw_foreground(rng, picture):
    side = len(picture)
    image = Image.fromarray(np.uint8(np.clip(picture, 0, 1) * 255 + 0.5))
    draw = ImageDraw.Draw(image)
    draw_grass(rng, draw, side, 380, 0.20, (colour("12240f"), colour("3b5a24")))
    draw_hairs(rng, draw, side, 16)
    draw_grass(rng, draw, side, 260, 0.13, (colour("2c4a18"), colour("a8b850")))
    white, yellow, pink = colour("fffdf6"), colour("f4b41e"), colour("f08fb4")
    draw_flower(rng, draw, side, np.array([0.15, 0.80]), 0.085, white, yellow)
    draw_flower(rng, draw, side, np.array([0.36, 0.885]), 0.062, pink, yellow)
    draw_flower(rng, draw, side, np.array([0.53, 0.80]), 0.048, white, yellow)
    draw_grass(rng, draw, side, 110, 0.07, (colour("20380f"), colour("c2cc66")))
    return np.asarray(image, float) / 255


def render_scene(side):
    """The whole scene as an array of side x side RGB from 0 to 1, without grain."""
    rng = np.random.default_rng(2)
    large = side * OVERSAMPLING
    x, y = grid(large)
    picture = draw_sky(rng, x, y)
    picture = draw_ridge(rng, picture, x, y, 0.47, 0.15, colour("4a5f86"), colour("b9a9a8"), colour("b8c4d8"), 1.0)
    picture = draw_ridge(rng, picture, x, y, 0.545, 0.08, colour("2f4560"), colour("94806c"), colour("b9b4b0"), 0)
    picture = draw_forest(rng, picture, x, y)
    red = (colour("d8342c"), colour("f6ead2"), colour("f2b134"), colour("1e4e8c"))
    teal = (colour("1f9a96"), colour("f7d65a"), colour("f7f0e0"), colour("b03a5b"))
    violet = (colour("7a4aa0"), colour("f0a8b8"), colour("fff2d0"), colour("3a6ab0"))
    picture = draw_balloon(picture, x, y, (0.67, 0.21), 0.165, red, 0.2)
    picture = draw_balloon(picture, x, y, (0.345, 0.315), 0.075, teal, 0.1)
    picture = draw_balloon(picture, x, y, (0.105, 0.16), 0.043, violet, 0.35)
    picture = draw_lake(rng, picture, x, y)
    picture = draw_foreground(rng, picture)
    small = picture.reshape(side, OVERSAMPLING, side, OVERSAMPLING, 3).mean(axis=(1, 3))
    x, y = grid(side)
    vignette = 1 - 0.22 * smoothstep(0.45, 0.8, np.hypot(x - 0.5, y - 0.5))
    return np.clip(small * vignette[..., None], 0, 1)


def with_grain(picture, sigma):
    """Film grain: noise that is shared by the colours, strongest in the middle tones."""
    rng = np.random.default_rng(3)
    luma = picture.mean(axis=-1, keepdims=True)
    grain = rng.normal(0, sigma, picture.shape[:2] + (1,)) + rng.normal(0, 0.4 * sigma, picture.shape)
    return np.clip(picture + grain * (0.35 + 2.6 * luma * (1 - luma)), 0, 1)


def with_noise(picture, sigma):
    """White noise, as of a sensor in the dark: what --denoise is for."""
    return picture + np.random.default_rng(20).normal(0, sigma, picture.shape)


def with_camera(picture, electron, read, seed=27):
    """Simulates a camera: photons and read noise on a mosaic of red, green and blue, then bilinear demosaicing. `electron` is
    the light of one electron, `read` the standard deviation of the read noise, both of full scale."""
    rng = np.random.default_rng(seed)
    light = np.where(picture <= 0.04045, picture / 12.92, ((picture + 0.055) / 1.055) ** 2.4)
    y, x = np.indices(picture.shape[:2])
    place = np.arange(3) == (y % 2 + x % 2)[..., None]
    seen = (rng.poisson(light / electron) * electron + rng.normal(0, read, light.shape)).clip(0) * place

    def around(planes):
        padded, (height, width) = np.pad(planes, ((1, 1), (1, 1), (0, 0)), mode="reflect"), planes.shape[:2]
        return sum((2 - abs(j - 1)) * (2 - abs(i - 1)) * padded[j:j + height, i:i + width] for j in range(3) for i in range(3))

    light = (around(seen) / around(place.astype(float))).clip(0, 1)
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


# ---------------------------------------------------------------- the other pictures

def zone_plate(side):
    """(1 + cos(pi r^2 / side)) / 2: the local frequency grows with r to half a cycle a pixel at the edges."""
    x = np.arange(side) - side / 2 + 0.5
    r2 = x[None, :] ** 2 + x[:, None] ** 2
    return 0.5 + 0.5 * np.cos(np.pi * r2 / side)


def noisy_gradient(width, height):
    """Slow ramps over a narrow range that 8 bits cannot hold without steps, and noise of 0.0004."""
    rng = np.random.default_rng(4)
    x, y = np.meshgrid((np.arange(width) + 0.5) / width, (np.arange(height) + 0.5) / height)
    ramp = 0.25 + 0.45 * x + 0.12 * (y - 0.5)
    glow = 0.12 * np.exp(-((x - 0.35) ** 2 / 0.05 + (y - 0.45) ** 2 / 0.08))
    return np.clip(ramp + glow + rng.normal(0, 0.0004, x.shape), 0, 1)


def over(below, paint, alpha):
    """Lays a colour of some opacity over an RGBA picture that is not premultiplied."""
    a = alpha + below[..., 3] * (1 - alpha)
    weight = np.divide(alpha, a, out=np.zeros_like(a), where=a > 0)
    return np.dstack([mix(below[..., :3], paint, weight), a])


def soft_shapes(side):
    """Soft discs and rays on nothing; below them transparent red touches opaque blue."""
    x, y = grid(side)
    picture = np.zeros((side, side, 4))
    angle = np.arctan2(y - 0.33, x - 0.5)
    radius = np.hypot(x - 0.5, y - 0.33)
    rays = smoothstep(0.3, 0.9, np.cos(24 * angle)) * smoothstep(0.34, 0.22, radius) * 0.9
    picture = over(picture, colour("ffd24a"), rays)
    for px, py, r, soft, paint in ((0.33, 0.30, 0.17, 0.10, "e8503a"), (0.63, 0.24, 0.14, 0.02, "34a07c"),
                                   (0.58, 0.43, 0.15, 0.18, "7a58c8")):
        distance = np.hypot(x - px, y - py)
        picture = over(picture, colour(paint), 0.85 * smoothstep(r + soft / 2, r - soft / 2, distance))
    ring = np.abs(np.hypot(x - 0.5, y - 0.33) - 0.27)
    picture = over(picture, colour("203050"), smoothstep(0.008, 0.003, ring))
    panel = (y > 0.68) & (y < 0.94) & (x > 0.08) & (x < 0.92)
    blue = panel & (x >= 0.5)
    picture[panel & ~blue] = (1, 0, 0, 0)
    picture[blue] = (0.05, 0.2, 0.9, 1)
    return picture


def tilted(picture, left, top, side, degrees=6, size=1 / 0.95):
    """A square of it, turned clockwise about its middle and enlarged."""
    cosine, sine = np.cos(np.radians(degrees)) / size, np.sin(np.radians(degrees)) / size
    x, y = left + side / 2, top + side / 2
    back = (cosine, sine, x - (cosine + sine) * side / 2, -sine, cosine, y - (cosine - sine) * side / 2)
    planes = [Image.fromarray(plane.astype(np.float32), "F").transform((side, side), Image.AFFINE, back, Image.BICUBIC)
              for plane in np.moveaxis(picture, 2, 0)]
    return np.stack([np.asarray(plane, float) for plane in planes], axis=2)


# ---------------------------------------------------------------- files

def as_bytes(picture):
    return np.uint8(np.rint(np.clip(picture, 0, 1) * 255))


def as_words(picture):
    return np.uint16(np.rint(np.clip(picture, 0, 1) * 65535))


def save_png(path, pixels, mode=None, title=None):
    info = PngImagePlugin.PngInfo()
    if title:
        info.add_text("Title", title)
    Image.fromarray(pixels, mode).save(path, optimize=True, pnginfo=info, dpi=(144, 144))


def save_tiff(path, pixels, description):
    tifffile.imwrite(path, pixels, photometric="rgb", compression="zlib", predictor=True, rowsperstrip=64,
                     resolution=(300, 300), resolutionunit="INCH", description=description, metadata=None,
                     software="make_samples.py")


def save_jpeg(path, picture, comment, quality=90):
    Image.fromarray(as_bytes(picture)).save(path, quality=quality, dpi=(144, 144), comment=comment)


NIGHT_EXPOSURE = 4.6


def take_photographs(folder):
    """Renders the scenes of scenes.py and photographs them."""
    harbour = scenes.harbour()
    night = scenes.as_display(harbour, NIGHT_EXPOSURE)
    save_jpeg(folder / "night.jpg", with_camera(night, 0.003, 0.010), "A harbour at night, at a high ISO", 92)
    (folder / "shots").mkdir(exist_ok=True)
    moves = ((0, 0, 0), (1.3, 9, -5), (-0.9, -12, 7), (0.6, 5, 13), (-1.6, -7, -10))
    for shot, (degrees, right, down) in enumerate(moves):
        part = scenes.shaken(harbour, 240, 120, 360, 270, degrees, right, down)
        save_jpeg(folder / "shots" / f"{shot + 1}.jpg", with_camera(scenes.as_display(part, NIGHT_EXPOSURE), 0.006, 0.018, 30 + shot),
                  f"A harbour at night, shaken shot {shot + 1} of {len(moves)}")
    valley = scenes.as_display(scenes.valley(), 1.75, 0.75)
    save_jpeg(folder / "valley.jpg", with_noise(valley, 0.006), "A valley by day")
    page = scenes.as_srgb(scenes.page())
    save_jpeg(folder / "page.jpg", with_camera(page, 0.0006, 0.002), "A printed page, photographed askew")
    save_png(folder / "gel.png", as_bytes(scenes.gel()), title="A gel")
    save_png(folder / "cells.png", as_bytes(scenes.cells()), title="Nuclei in a microscope")


def on_film(picture):
    """A frame of colour negative film between unexposed edges, as a scanner sees it: density grows by 0.6 (blue: 0.66) for each
    factor of ten of light, above the base's orange mask. Display values with gamma 2.2."""
    light = np.clip(picture, 0, 1) ** 2.2
    exposed = np.array([0.60, 0.62, 0.66]) * np.clip(np.log10(np.maximum(light, 1e-6)) + 2.4, 0, None)
    exposed[:, :6] = exposed[:, -6:] = 0
    return 10 ** (-(np.array([0.1, 0.5, 0.85]) + exposed) / 2.2)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    folder.mkdir(parents=True, exist_ok=True)
    scene = render_scene(SIDE)
    save_png(folder / "scene.png", as_bytes(with_grain(scene, 0.014)), title="Balloons over a lake")
    left, top = 200, 12
    save_tiff(folder / "scene.tif", as_words(scene[top:top + 256, left:left + 256]),
              "Balloons over a lake, the middle, 16 bits")
    save_png(folder / "tilted.png", as_bytes(0.05 + 0.8 * tilted(np.clip(scene, 0, 1), left + 8, top + 6, 256)), title="Balloons, tilted")
    left, top = 132, 16
    save_png(folder / "noisy.png", as_bytes(with_noise(scene[top:top + 240, left:left + 320], 20 / 255)),
             title="Balloons, noise of 20 counts")
    Image.fromarray(as_bytes(with_camera(scene[12:396], 0.008, 0.02))).save(
        folder / "photo.jpg", quality=90, dpi=(144, 144), comment="Balloons over a lake, as a camera takes them at a high ISO")
    save_png(folder / "zoneplate.png", as_bytes(zone_plate(SIDE)), title="Zone plate")
    save_png(folder / "gradient16.png", as_words(noisy_gradient(384, 256)), "I;16", "Gradient with noise, 16 bits")
    save_png(folder / "soft-alpha.png", as_bytes(soft_shapes(320)), title="Soft shapes on nothing")
    Image.fromarray(as_bytes(on_film(scene[40:296, 96:480]))).save(
        folder / "negative.jpg", quality=92, dpi=(144, 144), comment="Balloons on colour negative film, scanned")
    take_photographs(folder)


if __name__ == "__main__":
    main()
