"""Renders the scenes that make_samples.py photographs: a harbour at night, a valley, a gel, cells, a printed page.

Scenes are arrays of linear light, height x width x RGB, 1 = white. They are drawn at OVERSAMPLING times the size
and averaged, so that edges are as soft as a lens makes them.
"""

import numpy as np
from PIL import Image, ImageDraw, ImageFont

OVERSAMPLING = 2


# ---------------------------------------------------------------- noise, blurs

def value_noise(rng, width, height, cells_x, cells_y, octaves, gain=0.5):
    """Fractal noise with mean 0: octaves of bicubic value noise."""
    total = np.zeros((height, width), np.float32)
    for octave in range(octaves):
        shape = (min(cells_y << octave, height) + 1, min(cells_x << octave, width) + 1)
        layer = Image.fromarray(rng.uniform(-1, 1, shape).astype(np.float32), mode="F")
        total += gain ** octave * np.asarray(layer.resize((width, height), Image.BICUBIC))
    return total


def blurred(picture, sigma):
    """Gaussian blur of each channel; the border repeats the edge. Wide blurs run on a coarser grid."""
    if sigma > 8:
        height, width = picture.shape[:2]
        small = blurred(averaged(picture, 4), sigma / 4)
        planes = [Image.fromarray(np.ascontiguousarray(plane), "F").resize((width // 4 * 4, height // 4 * 4), Image.BICUBIC)
                  for plane in np.moveaxis(small.astype(np.float32), 2, 0)]
        out = np.pad(np.stack(planes, axis=2), ((0, height % 4), (0, width % 4), (0, 0)), mode="edge")
        return out[..., 0] if picture.ndim == 2 else out
    radius = int(np.ceil(3.5 * sigma))
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    out = picture.astype(np.float32)
    for axis in (0, 1):
        padded = np.pad(out, [(radius, radius) if a == axis else (0, 0) for a in range(out.ndim)], mode="edge")
        length = out.shape[axis]
        out = sum(np.float32(tap) * padded.take(np.arange(k, k + length), axis) for k, tap in enumerate(taps / taps.sum()))
    return out


def averaged(picture, factor=OVERSAMPLING):
    height, width = picture.shape[0] // factor, picture.shape[1] // factor
    return picture[:height * factor, :width * factor].reshape(height, factor, width, factor, -1).mean(axis=(1, 3)).astype(np.float32)


def light(*rgb):
    return np.array(rgb, np.float32)


def as_srgb(x):
    return np.where(x <= 0.0031308, 12.92 * x, 1.055 * np.maximum(x, 0.0031308) ** (1 / 2.4) - 0.055)


def as_display(linear, exposure=1.0, contrast=0.0):
    """Filmic curve (J. Hable), sRGB's, then part of an S-curve."""
    def curve(v):
        return (v * (0.15 * v + 0.05) + 0.004) / (v * (0.15 * v + 0.5) + 0.06) - 1 / 15
    x = np.clip(curve(2.0 * exposure * linear) / curve(11.2), 0, 1)
    x = as_srgb(x)
    return x + contrast * (x * x * (3 - 2 * x) - x)


# ---------------------------------------------------------------- a harbour at night

SODIUM, LED, INCANDESCENT, OFFICE = light(1.0, 0.55, 0.18), light(0.95, 1.0, 1.05), light(1.0, 0.66, 0.34), light(0.85, 0.95, 1.0)


def night_sky(rng, width, height, waterline):
    """Deep blue above, the glow of the town below, clouds that reflect it."""
    y = (np.arange(height) / waterline)[:, None, None]
    glow = np.exp(-((1 - y) / 0.30) ** 2) * light(0.050, 0.028, 0.017) + np.exp(-((1 - y) / 0.9) ** 2) * light(0.010, 0.011, 0.020)
    clouds = value_noise(rng, width, height, 3, 6, 7)
    cover = np.clip(clouds * 1.1 + 0.15, 0, 1)[..., None]
    return light(0.003, 0.004, 0.010) + glow * (0.55 + 1.5 * cover)


def facade(rng, width, height, pitch_x, pitch_y, lit, tint, wall, frame=0.0):
    """A wall of windows: (height, width, 3). `lit` is the share of windows with light, `frame` how bright their frames are."""
    rows, columns = height // pitch_y + 1, width // pitch_x + 1
    on = rng.uniform(size=(rows, columns)) < lit
    on |= (rng.uniform(size=(rows, 1)) < lit * 0.3) & (rng.uniform(size=(rows, columns)) < 0.85)
    power = on * rng.lognormal(-1.1, 0.9, (rows, columns))
    common = rng.uniform(size=(rows, columns, 1)) < 0.8
    paint = np.where(common, tint, np.where(rng.uniform(size=(rows, columns, 1)) < 0.7, INCANDESCENT, OFFICE))
    paint = paint * rng.uniform(0.85, 1.15, (rows, columns, 3))
    curtain = rng.uniform(0.0, 0.9, (rows, columns)) * (rng.uniform(size=(rows, columns)) < 0.6)
    blind = rng.uniform(0.0, 0.8, (rows, columns)) * (rng.uniform(size=(rows, columns)) < 0.4)

    y, x = np.arange(height), np.arange(width)
    row, column, v, u = y // pitch_y, x // pitch_x, (y % pitch_y) / pitch_y, (x % pitch_x) / pitch_x
    half, top, foot = 0.30, 0.20, 0.80
    glass = ((v > top) & (v < foot))[:, None] & (np.abs(u - 0.51) < half)[None, :]
    edge = 1.5 / pitch_x
    around = ((v > top - edge) & (v < foot + edge))[:, None] & (np.abs(u - 0.51) < half + edge)[None, :] & ~glass
    bars = glass & ((np.abs(u - 0.51) < 0.6 / pitch_x)[None, :] | (np.abs(v - 0.42) < 0.6 / pitch_y)[:, None]) & (pitch_x > 12)
    at = np.ix_(row, column)
    height_in = ((v - top) / (foot - top))[:, None]
    inside = power[at] * (1.3 - 0.9 * height_in)
    inside = inside * np.where(np.abs(u[None, :] - 0.51) > half * (1 - curtain[at]), 0.45, 1.0) * np.where(height_in < blind[at], 0.6, 1.0)
    window = inside[..., None] * paint[at] * 0.75 + light(0.004, 0.006, 0.010)
    texture = 1 + 0.22 * value_noise(rng, width, height, max(width // 40, 1), max(height // 40, 1), 5)
    stone = wall * texture[..., None] * np.where((v > 0.93)[:, None, None], 0.75, 1.0)
    stone = np.where((around | bars)[..., None], stone * (1 + frame), stone)
    return np.where((glass & ~bars)[..., None], window, stone)


def put(picture, left, top, patch):
    """Pastes a patch, cut at the picture's sides."""
    height, width = picture.shape[:2]
    x0, y0, x1, y1 = max(left, 0), max(top, 0), min(left + patch.shape[1], width), min(top + patch.shape[0], height)
    if x0 < x1 and y0 < y1:
        picture[y0:y1, x0:x1] = patch[y0 - top:y1 - top, x0 - left:x1 - left]


def tower(rng, picture, left, base, width, height, pitch, lit, far):
    """A building with a front and a darker side; haze lightens what is far."""
    tint = [INCANDESCENT, OFFICE, LED * light(1, 0.92, 0.75)][rng.integers(3)]
    wall = light(*(rng.uniform(0.6, 1.3) * np.array([0.020, 0.015, 0.012]) * rng.uniform(0.85, 1.15, 3)))
    pitch_x, pitch_y = pitch + int(rng.integers(-1, 3)), int(pitch * 1.15) + int(rng.integers(0, 3))
    height -= height % pitch_y
    front = facade(rng, width, height, pitch_x, pitch_y, lit, tint, wall)
    side = facade(rng, int(width * rng.uniform(0.15, 0.45)), height, max(pitch_x // 2, 3), pitch_y, lit * 0.8, tint, wall * 0.5)
    block = np.concatenate([front, side] if rng.uniform() < 0.5 else [side, front], axis=1)
    block = block * (1 - 0.55 * far) + far * light(0.030, 0.020, 0.016)
    put(picture, left, base - height, block)
    for _ in range(rng.integers(1, 4)):  # machine rooms and masts on the roof
        w, h = int(rng.integers(8, max(width // 3, 9))), int(rng.integers(4, 16))
        put(picture, left + int(rng.integers(0, max(width - w, 1))), base - height - h, np.broadcast_to(wall * 0.35 * (1 - far) + far * light(0.03, 0.02, 0.016), (h, w, 3)))
    if height > 300 and rng.uniform() < 0.7:
        x, h = left + block.shape[1] // 2, int(rng.integers(30, 70))
        put(picture, x, base - height - h, np.broadcast_to(light(0.008, 0.006, 0.006), (h, 2, 3)))
        put(picture, x - 1, base - height - h, np.broadcast_to(light(3.0, 0.15, 0.06), (4, 4, 3)))


def gabled_house(rng, picture, left, base, width, height):
    """An old house on the quay, lit by the lamps in front of it."""
    wall = light(*[(0.18, 0.080, 0.045), (0.17, 0.125, 0.070), (0.13, 0.045, 0.030), (0.20, 0.150, 0.090), (0.09, 0.085, 0.080)][rng.integers(5)])
    wall = wall * rng.uniform(0.7, 1.2)
    columns = int(rng.integers(3, 5))
    pitch = width // columns
    front = facade(rng, width, height, pitch, int(pitch * rng.uniform(1.35, 1.6)), 0.45, INCANDESCENT * 1.5, wall, rng.uniform(0.1, 0.9))
    y, x = np.mgrid[0:height, 0:width]
    brick = 1 - 0.10 * ((y % 4 == 0) | ((x + 3 * (y // 4 % 2)) % 7 == 0))
    rise, shape = width * rng.uniform(0.35, 0.8), rng.integers(4)
    slope = np.abs(x - width / 2 + 0.5) / (width / 2)
    slope = [slope, np.ceil(slope * 6) / 6, slope ** 2 * (slope > 0.25), np.where(slope < 0.3, 0, 0.35 + 0.65 * (slope > 0.62))][shape]
    gable = y - slope * rise
    lamps = np.exp(-((height - y) / 105.0)) * (0.85 + 0.35 * np.sin(x / width * np.pi * rng.uniform(0.6, 1.6) + rng.uniform(0, 3)))
    lit = front * (brick * (0.09 + 1.8 * lamps))[..., None] * light(1.12, 0.95, 0.72)
    front = np.where(front.max(axis=-1, keepdims=True) > 0.3, front, lit)
    front = np.where(((gable >= 0) & (gable < 4))[..., None], wall * (0.6 + 0.8 * lamps)[..., None] * 1.5, front)
    shop_height, glow = int(rng.integers(34, 46)), rng.choice([0.08, 0.3, 0.6, 0.9])
    door = int(rng.integers(0, columns))
    down, across = height - y, (x % pitch) / pitch
    shop = (down < shop_height) & (down > 9) & (np.abs(across - 0.5) < 0.38) & (x // pitch != door)
    goods = 1 + 0.6 * value_noise(rng, width, height, max(width // 9, 1), max(height // 12, 1), 4)
    front = np.where(shop[..., None], (INCANDESCENT + light(0, 0.1, 0.12)) * (glow * goods * np.where(down < 20, 0.5, 1))[..., None], front)
    front = np.where(((down < shop_height) & (np.abs(across - 0.5) < 0.2) & (x // pitch == door))[..., None], light(0.02, 0.015, 0.012), front)
    cloth = light(*[(0.12, 0.03, 0.025), (0.03, 0.05, 0.035), (0.14, 0.12, 0.09), (0.03, 0.04, 0.07)][rng.integers(4)])
    awning = (down >= shop_height) & (down < shop_height + 7) & (np.abs(across - 0.5) < 0.42) & (x // pitch != door)
    front = np.where(awning[..., None], cloth * (0.3 + lamps + 0.06 * (shop_height + 7 - down))[..., None], front)
    target = picture[base - height:base, left:left + width]
    front, gable = front[:, :target.shape[1]], gable[:, :target.shape[1]]
    target[...] = np.where((gable >= 0)[..., None], front, target)
    chimney = left + int(width * rng.uniform(0.15, 0.7))
    put(picture, chimney, base - height + int(rise * 0.3), np.broadcast_to(wall * 0.25, (int(rise * 0.5), 9, 3)) if shape != 0 else np.zeros((0, 9, 3)))


def tree(rng, picture, x, base, size):
    """A lime tree on the quay: clumps of leaves, lit from below by lamps."""
    height, width = picture.shape[:2]
    clumps, each = 55, 90
    angle, r = rng.uniform(0, 2 * np.pi, clumps), np.sqrt(rng.uniform(0, 1, clumps))
    cx, cy = x + size * 0.46 * r * np.cos(angle), base - size * 0.95 + size * 0.46 * r * np.sin(angle)
    put(picture, int(x) - 3, int(base - size * 0.7), np.broadcast_to(light(0.040, 0.026, 0.014), (int(size * 0.7), 6, 3)))
    for k in np.argsort(cy):
        radius = size * rng.uniform(0.08, 0.17)
        px, py = rng.normal(cx[k], radius * 0.55, each), rng.normal(cy[k], radius * 0.45, each)
        shade = rng.uniform(0.25, 1.1) * np.exp(-max(base - cy[k], 0) / size * 1.2)
        lit = shade * np.clip(0.55 + 0.7 * (py - cy[k]) / radius, 0.08, 1.5) * rng.uniform(0.5, 1.2, each)
        for i in range(each):
            a, b, s = int(px[i]), int(py[i]), int(rng.integers(2, 5))
            if 0 <= a < width - s and 0 <= b < base - size * 0.25:
                picture[b:b + s, a:a + s] = light(0.36, 0.33, 0.06) * lit[i] + light(0.003, 0.004, 0.003)


def walker(rng, picture, x, base, size):
    """Someone on the quay, dark against the shops."""
    coat = light(*rng.uniform(0.004, 0.035, 3))
    y, across = np.mgrid[0:size, -size // 4:size // 4] / size
    body = (np.abs(across) < 0.13 - 0.05 * np.abs(y - 0.45)) & (y > 0.18) & (y < 0.62)
    legs = (np.abs(np.abs(across) - 0.03 - 0.06 * rng.uniform() * (y - 0.6)) < 0.035) & (y >= 0.6)
    head = np.hypot(across, y - 0.09) < 0.075
    target = picture[base - size:base, x - size // 4:x - size // 4 + across.shape[1]]
    if target.shape == (*across.shape, 3):
        target[...] = np.where((body | legs | head)[..., None], coat, target)


def lamp(picture, x, y, paint, power, base):
    put(picture, x, y, np.broadcast_to(light(0.02, 0.018, 0.015), (base - y, 2, 3)))
    put(picture, x - 2, y - 3, np.broadcast_to(paint * power, (5, 6, 3)))


def sign(picture, text, left, top, size, paint):
    """Letters of light on a roof."""
    font = ImageFont.truetype("DejaVuSans-Bold.ttf", size)
    mask = Image.new("L", (int(font.getlength(text)) + 4, int(size * 1.3)))
    ImageDraw.Draw(mask).text((2, 0), text, 255, font)
    letters = np.asarray(mask, np.float32)[..., None] / 255
    target = picture[top:top + letters.shape[0], left:left + letters.shape[1]]
    target[...] = target * (1 - letters) + letters * paint


def water(rng, picture, waterline):
    """The scene above the waterline, mirrored by waves: at each point of the surface the slope of the waves tilts the
    ray that is reflected. Several samples a pixel, as waves are smaller than pixels."""
    height, width = picture.shape[:2]
    rows = np.arange(height - waterline)
    distance = 900.0 / (rows + 6)  # of the surface from the camera, at the height of a quay
    x, z = (np.arange(width)[None, :] - width / 2) / 900 * distance[:, None], distance[:, None]
    waves = [(rng.uniform(0.25, 1.2) * 2.2 ** rng.integers(0, 5), rng.normal(0.4, 0.55), rng.uniform(0, 6.3)) for _ in range(34)]
    total = np.zeros((len(rows), width, 3), np.float32)
    samples = 10
    for _ in range(samples):
        dx, dz = rng.uniform(-0.5, 0.5, z.shape) * distance[:, None] / 900, rng.uniform(-0.5, 0.5, (len(rows), width)) * (distance ** 2 / 900)[:, None]
        slope_x, slope_z = np.zeros((len(rows), width)), np.zeros((len(rows), width))
        for k, turn, phase in waves:
            ripple = np.cos(k * (np.sin(turn) * (x + dx) + np.cos(turn) * (z + dz)) * 2 + phase) * 0.011
            slope_x += ripple * np.sin(turn)
            slope_z += ripple * np.cos(turn)
        up = rows[:, None] + 2 * 900 * slope_z * 0.32 + 2
        source_y = np.clip(waterline - 1 - np.abs(up), 0, waterline - 1).astype(int)
        source_x = np.clip(np.arange(width)[None, :] + 2 * 900 * slope_x * 0.07, 0, width - 1).astype(int)
        total += picture[source_y, source_x]
    fresnel = (0.75 - 0.45 * (rows / len(rows)) ** 0.7)[:, None, None]
    return np.concatenate([picture[:waterline], total / samples * fresnel + light(0.0015, 0.0025, 0.004)])


def lens(picture):
    """Light that a lens spreads around bright points: a narrow core, a halo and a faint veil."""
    bright = np.minimum(picture, 12)
    return 0.86 * picture + 0.085 * blurred(bright, 3) + 0.035 * blurred(bright, 12) + 0.02 * blurred(bright, 60)


def harbour(width=768, height=512):
    """A town across the water, at night: towers, old houses, lamps, shops, a hotel's sign, people and boats."""
    rng = np.random.default_rng(11)
    width, height = width * OVERSAMPLING, height * OVERSAMPLING
    waterline = int(0.66 * height)
    picture = night_sky(rng, width, height, waterline).astype(np.float32)
    hill = waterline - 170 - 90 * value_noise(rng, width, 1, 3, 1, 6)[0] - 120 * np.linspace(0, 1, width)
    y = np.arange(height)[:, None]
    slope = light(0.010, 0.008, 0.009) * (1 + 0.3 * value_noise(rng, width, height, 60, 60, 3))[..., None]
    picture = np.where((y > hill[None, :])[..., None], slope, picture)
    for _ in range(420):
        a = int(rng.integers(0, width - 3))
        b = int(hill[a] + rng.exponential(50) + 6)
        if b < waterline:
            picture[b:b + 2, a:a + 2] = [SODIUM, INCANDESCENT, OFFICE][rng.integers(3)] * rng.lognormal(-1.4, 0.8)
    base = waterline - 18
    for _ in range(16):
        tower(rng, picture, int(rng.integers(-60, width)), base, int(rng.integers(50, 120)), int(rng.integers(180, 380)), 7, rng.uniform(0.12, 0.35), 0.6)
    for left, tall in ((90, 560), (330, 430), (1010, 510), (1170, 590), (1390, 470)):
        tower(rng, picture, left + int(rng.integers(-20, 20)), base, int(rng.integers(80, 130)), tall, 12, rng.uniform(0.2, 0.4), 0.2)
    left, hotel = -30, None
    while left < width:
        house, tall = int(rng.integers(100, 190)), int(rng.integers(170, 300))
        gabled_house(rng, picture, max(left, 0), base, house, tall)
        if hotel is None and left > 560:
            hotel = (left + 4, base - tall - 52)
        left += house + int(rng.choice([0, 0, 3, 26]))
    sign(picture, "HOTEL", *hotel, 44, light(2.2, 0.16, 0.08))
    for x in (60, 345, 430, 770, 1120, 1330, 1440):
        tree(rng, picture, x + int(rng.integers(-25, 25)), base + 2, int(rng.integers(110, 165)))
    lamps = np.cumsum(rng.integers(95, 190, 12)) - 60
    grain = 1 + 0.35 * value_noise(rng, width, height, 120, 60, 4)
    pools = sum(np.exp(-((np.arange(width) - x) / 50.0) ** 2) for x in lamps)
    stone = light(0.11, 0.07, 0.036) * (grain[base:waterline] * (0.15 + pools))[..., None]
    stone[:3] *= 1.7
    stone[6::6] *= 0.6
    picture[base:waterline] = stone
    for x in rng.integers(30, width - 30, 26):
        walker(rng, picture, int(x), base + 2, int(rng.integers(25, 31)))
    for x in lamps:
        lamp(picture, int(x), base - 62, SODIUM if rng.uniform() < 0.7 else LED, 11, base)
    for x in rng.integers(40, width - 40, 7):  # boats at the quay
        mast, length = int(rng.integers(90, 190)), int(rng.integers(70, 130))
        put(picture, int(x), waterline - mast, np.broadcast_to(light(0.07, 0.06, 0.045), (mast, 2, 3)))
        hull = light(*rng.uniform(0.03, 0.12, 3)) * np.linspace(1.2, 0.4, 16)[:, None, None] * (1 + 0.2 * value_noise(rng, length, 16, 6, 2, 3))[..., None]
        put(picture, int(x) - length // 2, waterline - 15, hull)
        cabin = np.broadcast_to(light(0.10, 0.09, 0.075), (11, length // 3, 3)).copy()
        cabin[3:7, 4::9] = cabin[3:7, 5::9] = INCANDESCENT * rng.choice([0.01, 0.5])
        put(picture, int(x) - length // 5, waterline - 26, cabin)
        put(picture, int(x), waterline - mast, np.broadcast_to(light(1.2, 1.2, 1.1), (2, 2, 3)))
    picture = water(rng, picture, waterline)
    return blurred(averaged(lens(picture)), 0.5)
# ---------------------------------------------------------------- a valley by day

CELL, SIDE = 16.0, 1024  # metres a cell of the map, cells a side


def hashed(i, j, salt):
    """Pseudo-random numbers from 0 to 1 for integer coordinates (PCG's permutation)."""
    word = np.uint32
    n = np.asarray(i).astype(word) * word(73856093) ^ np.asarray(j).astype(word) * word(19349663) ^ word(salt * 83492791 & 0xFFFFFFFF)
    n = n * word(747796405) + word(2891336453)
    n = ((n >> ((n >> word(28)) + word(4))) ^ n) * word(277803737)
    return ((n >> word(22)) ^ n).astype(np.float32) / np.float32(2 ** 32)


def noise_at(x, z, salt):
    """Value noise at points of the plane, one cell a unit."""
    i, j = np.floor(x), np.floor(z)
    u, v = x - i, z - j
    u, v = u * u * (3 - 2 * u), v * v * (3 - 2 * v)
    low = hashed(i, j, salt) * (1 - u) + hashed(i + 1, j, salt) * u
    high = hashed(i, j + 1, salt) * (1 - u) + hashed(i + 1, j + 1, salt) * u
    return 2 * (low * (1 - v) + high * v) - 1


def relief(rng):
    """Heights in metres: octaves of noise, each weaker where those before are steep, which resembles erosion (I. Quilez); a
    valley with a lake at height 0 along the middle."""
    z, x = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32) * CELL
    height, steep_x, steep_z = np.zeros((SIDE, SIDE), np.float32), 0, 0
    for octave in range(9):
        layer = value_noise(rng, SIDE, SIDE, 4 << octave, 4 << octave, 1) * 1250 * 0.5 ** octave
        dz, dx = np.gradient(layer, CELL)
        steep_x, steep_z = steep_x + dx, steep_z + dz
        height += layer / (1 + 1.1 * (steep_x ** 2 + steep_z ** 2))
    middle = x - SIDE * CELL / 2 - 900 * np.sin(z / 3300) - 250
    slope = np.abs(middle) / 1000
    wall = 1500 * np.clip((slope - 0.55) / 2.6, 0, 1) ** 1.15 + 2100 * np.clip((z - 7500) / 6500, 0, 1) ** 1.3
    near = 330 * np.clip((2900 - z) / 2600, 0, 1) ** 1.4
    return 0.75 * (height * np.clip(0.10 + slope * 0.40 + (z - 6000).clip(0) / 9000, 0, 1.15) + wall) + near - 40


def at_map(plane, x, z):
    """Bilinear interpolation of a map at points given in metres."""
    u, v = np.clip(x / CELL, 0, SIDE - 1.001), np.clip(z / CELL, 0, SIDE - 1.001)
    i, j = u.astype(int), v.astype(int)
    u, v = (u - i).astype(np.float32), (v - j).astype(np.float32)
    return (plane[j, i] * (1 - u) + plane[j, i + 1] * u) * (1 - v) + (plane[j + 1, i] * (1 - u) + plane[j + 1, i + 1] * u) * v


def trees_at(x, z, density, spacing=9.0):
    """Height of the conifer at a point, and a random number of that tree: cones at jittered places of a grid."""
    best, kind = np.zeros(x.shape, np.float32), np.zeros(x.shape, np.float32)
    ragged = 1 + 0.45 * noise_at(x / 0.8, z / 0.8, 7) + 0.25 * noise_at(x / 2.1, z / 2.1, 8)
    i0, j0 = np.floor(x / spacing), np.floor(z / spacing)
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            i, j = i0 + di, j0 + dj
            px, pz = (i + 0.15 + 0.7 * hashed(i, j, 1)) * spacing, (j + 0.15 + 0.7 * hashed(i, j, 2)) * spacing
            tall = (11 + 14 * hashed(i, j, 3)) * (hashed(i, j, 4) < density)
            wide = tall * (0.17 + 0.10 * hashed(i, j, 5))
            away = np.hypot(x - px, z - pz) * ragged
            cone = tall * np.clip(1 - away / np.maximum(wide, 1e-3), 0, 1) ** 0.8
            kind = np.where(cone > best, hashed(i, j, 6), kind)
            best = np.maximum(best, cone)
    return best, kind


def valley(width=768, height=448):
    """Mountains around a lake, forests and meadows, seen from a hill: a map of heights, marched through column by column."""
    rng = np.random.default_rng(5)
    ground = relief(rng)
    slope_z, slope_x = np.gradient(ground, CELL)
    steep = np.hypot(slope_x, slope_z)
    sun = np.array([-0.66, 0.47, -0.38])
    sun /= np.linalg.norm(sun)
    flat = np.hypot(sun[0], sun[2])
    lit = np.zeros_like(ground)  # how far a shadow lies above the ground
    z, x = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32) * CELL
    for step in range(1, 140):
        far = step * CELL * (1 + step / 120)
        lit = np.maximum(lit, at_map(ground, x + sun[0] / flat * far, z + sun[2] / flat * far) - far * sun[1] / flat - ground)
    shadow = np.clip(lit / 25, 0, 1)
    hollow = np.clip((blurred(ground, 12) - ground) / 160, -0.5, 1)
    density = np.clip(1.2 - np.clip((ground - 750) / 450, 0, 2) - (steep - 0.95).clip(0) * 3, 0, 0.97)
    density *= np.clip(0.75 + 2.4 * value_noise(rng, SIDE, SIDE, 14, 14, 7, 0.6), 0.02, 1) * (ground > 6)

    def surface(px, pz):
        base = at_map(ground, px, pz)
        rough = (noise_at(px / 31, pz / 31, 11) * 9 + noise_at(px / 12, pz / 12, 12) * 4 + noise_at(px / 5, pz / 5, 13) * 1.6)
        base = base + rough * np.clip(at_map(steep, px, pz) * 1.1 - 0.25, 0.05, 1.2) * (base > 2)
        wooded = pz - eye[2] < 6500
        tree, kind = np.zeros(px.shape, np.float32), np.zeros(px.shape, np.float32)
        tree[wooded], kind[wooded] = trees_at(px[wooded], pz[wooded], at_map(density, px[wooded], pz[wooded]))
        return base, tree, kind

    w, h = width * OVERSAMPLING, height * OVERSAMPLING
    focal, horizon, eye = 1.05 * w, 0.47 * h, np.array([SIDE * CELL / 2 + 150.0, 0.0, 120.0])
    eye[1] = at_map(ground, eye[0:1], eye[2:3])[0] + 210
    distance = 330 * np.exp(np.arange(0, 3300) / 420.0)
    distance = distance[distance < 15500][:, None]
    across = (np.arange(w)[None, :] + 0.5 - w / 2) / focal
    px, pz = eye[0] + across * distance, eye[2] + np.broadcast_to(distance, (len(distance), w))
    base, tree, _ = surface(px, pz)
    row = np.minimum.accumulate(horizon + (eye[1] - np.maximum(base + tree, 0)) / distance * focal, axis=0)
    rows = np.arange(h) + 0.5
    hit = np.stack([np.searchsorted(-row[:, c], -rows) for c in range(w)], axis=1)
    sky = hit >= len(distance)
    hit = np.minimum(hit, len(distance) - 1)
    columns = np.broadcast_to(np.arange(w), (h, w))
    before = np.maximum(hit - 1, 0)
    a, b = row[before, columns], row[hit, columns]
    t = np.clip((a - rows[:, None]) / np.maximum(a - b, 1e-3), 0, 1)
    far = distance[before, 0] * (1 - t) + distance[hit, 0] * t
    px, pz = eye[0] + (columns + 0.5 - w / 2) / focal * far, eye[2] + far

    base, tree, kind = surface(px, pz)
    size = np.maximum(far / focal, 0.6)
    bx, tx, _ = surface(px + size, pz)
    bz, tz, _ = surface(px, pz + size)
    nx, nz = -(bx + tx * 0.6 - base - tree * 0.6) / size, -(bz + tz * 0.6 - base - tree * 0.6) / size
    long = np.sqrt(nx ** 2 + nz ** 2 + 1)
    facing = np.clip((nx * sun[0] + sun[1] + nz * sun[2]) / long, 0, 1)
    tilt, high = at_map(steep, px, pz), base + 130 * noise_at(px / 210, pz / 210, 21) + 50 * noise_at(px / 47, pz / 47, 22)
    mottle = noise_at(px / 55, pz / 55, 31) * 0.5 + noise_at(px / 14, pz / 14, 32) * 0.35 + noise_at(px / 4, pz / 4, 33) * 0.3
    grass = light(0.105, 0.118, 0.034) * (1 + 0.35 * mottle)[..., None] + light(0.05, 0.02, 0.0) * np.clip(mottle + high / 900, 0, 1)[..., None]
    strata = noise_at(high / 17, px / 400, 41) * 0.25 + noise_at(high / 5, px / 150, 42) * 0.15
    rock = light(0.155, 0.14, 0.125) * (1 + 0.5 * mottle + strata)[..., None]
    paint = np.where((np.clip((tilt - 0.85 - 0.25 * mottle) * 6, 0, 1) > 0.5)[..., None], rock, grass)
    bare = np.clip((high - 1050) / 350, 0, 1)[..., None]
    paint = paint * (1 - bare) + rock * bare
    snow = np.clip((high - 1350 - 420 * (tilt - 0.7) + 160 * mottle) / 90, 0, 1)[..., None] * np.clip((1.45 - tilt) * 4, 0, 1)[..., None]
    paint = paint * (1 - snow) + light(0.78, 0.80, 0.84) * snow
    distant = (far >= 6500) & (noise_at(px / 16, pz / 16, 35) * 0.5 + 0.5 < at_map(density, px, pz))
    tree, kind = np.where(distant, 9, tree), np.where(distant, 0.4 + 0.3 * mottle, kind)
    wood = np.clip(tree / 2.0, 0, 1)[..., None]
    needle = light(0.030, 0.050, 0.020) * ((0.6 + 0.7 * kind) * (1 + 0.5 * noise_at(px / 1.1, pz / 1.1, 34)))[..., None]
    needle = np.where((kind > 0.93)[..., None], light(0.12, 0.080, 0.018), needle)
    deep = (0.35 + 0.65 * np.clip(tree / 11, 0, 1))[..., None]
    paint = paint * (1 - wood) + needle * deep * wood
    direct = (facing * (1 - at_map(shadow, px, pz)))[..., None] * light(3.6, 3.25, 2.75)
    ambient = (0.85 - 0.5 * at_map(hollow, px, pz))[..., None] * light(0.42, 0.56, 0.80) * (0.65 + 0.35 / long)[..., None]
    land = paint * (direct + ambient)

    elevation = np.clip((horizon - rows) / focal, 0, 1)[:, None]
    blue = light(0.16, 0.33, 0.75) * 1.1 + (light(0.72, 0.80, 0.92) - light(0.16, 0.33, 0.75)) * np.exp(-elevation / 0.16)[..., None]
    plane = 1 / (elevation + 0.10)
    cx, cz = across * plane * 2.4, np.broadcast_to(plane * 2.4, (h, w))
    cloud = sum(noise_at(cx * 2 ** k + 7, cz * 2 ** k, 50 + k) * 0.55 ** k for k in range(7))
    shade = sum(noise_at(cx * 2 ** k + 7.12, cz * 2 ** k - 0.1, 50 + k) * 0.55 ** k for k in range(6))
    cover = np.clip((cloud - 0.28) * 2.0, 0, 1)[..., None]
    air = blue * (1 - cover) + (light(0.80, 0.84, 0.90) + np.clip(0.5 + 1.3 * (cloud - shade), 0, 1)[..., None] * light(0.75, 0.70, 0.62)) * cover
    clear = np.exp(-far / 60000 - (far / 32000) ** 2)[..., None]
    haze = light(0.46, 0.58, 0.80)
    picture = np.where(sky[..., None], air, land * clear + haze * (1 - clear))

    lake = (base + tree <= 0.0) & ~sky
    mirrored = np.clip(2 * horizon - rows + 0.02 * h, 0, horizon + 0.07 * h).astype(int)
    wind = noise_at(px / 260, pz / 900, 61) + 0.5 * noise_at(px / 90, pz / 400, 62)
    ripple = noise_at(px / 3, pz / 9, 63) * 2 + noise_at(px / 9, pz / 30, 64) * 3
    source = np.clip(mirrored[:, None] + ripple * (1 + 2 * np.clip(wind, 0, 1)), 0, h - 1).astype(int)
    deep = picture[source, columns] * 0.42 + light(0.012, 0.045, 0.055)
    rough = blue[np.clip(h // 6, 0, h - 1)][None, :] * 0.30 + light(0.01, 0.04, 0.05)
    gust = np.clip(wind * 1.6 - 0.25, 0, 0.8)[..., None]
    picture = np.where(lake[..., None], (deep * (1 - gust) + rough * gust) * clear + haze * (1 - clear), picture)
    bright = np.minimum(picture, 3)
    return blurred(averaged(0.97 * picture + 0.03 * blurred(bright, 8)), 0.4)


# ---------------------------------------------------------------- a gel, cells, a page

def gel(width=480, height=360):
    """An agarose gel, gray: dark bands in ten lanes on an unevenly lit ground, with dust and a scratch."""
    rng = np.random.default_rng(6)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    ground = 0.80 - 0.34 * ((x - 0.62 * width) ** 2 + 1.3 * (y - 0.4 * height) ** 2) / (0.75 * width) ** 2
    ground = ground - 0.16 * np.exp(-((x - 20) / 90) ** 2) + 0.03 * value_noise(rng, width, height, 5, 4, 5)
    dark = np.zeros_like(ground)
    pitch, fragments = width / 10.6, height * np.array([0.16, 0.24, 0.31, 0.37, 0.44, 0.51, 0.58, 0.66, 0.76, 0.87])
    for lane in range(10):
        middle = (lane + 0.8) * pitch
        smile = 0.0009 * (x - width / 2) ** 2 / 10 - 0.010 * (x - middle) ** 2
        across = np.exp(-(np.abs(x - middle) / (0.36 * pitch)) ** 6)
        ladder = lane in (0, 9)
        places = fragments if ladder else np.sort(rng.choice(fragments, rng.integers(2, 6), replace=False)) + rng.normal(0, 4)
        dark += across * 0.05 * rng.uniform(0.3, 1) * np.exp(-((y - 0.45 * height) / (0.3 * height)) ** 2)
        for place in places:
            strong, wide = (0.16 if ladder else 0.42 * rng.lognormal(-0.5, 0.7)), rng.uniform(2.0, 3.4)
            body = np.exp(-((y - place - smile) / wide) ** 2) + 0.35 * np.exp(-((y - place - smile) / (3.5 * wide)).clip(-9, 0) ** 2) * (y < place + smile)
            dark += across * min(strong, 0.6) * body * (1 + 0.06 * value_noise(rng, width, height, 60, 45, 2))
        dark += 0.30 * np.exp(-(np.abs(x - middle) / (0.38 * pitch)) ** 8) * np.exp(-((y - 0.055 * height) / 2.2) ** 4)
    for _ in range(30):
        a, b, size = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(0.5, 1.5)
        dark += rng.uniform(-0.25, 0.2) * np.exp(-((x - a) ** 2 + (y - b) ** 2) / size ** 2)
    clean = blurred(ground * (1 - np.clip(dark, -0.3, 0.85)), 0.8)
    return np.clip(clean + rng.normal(0, 0.008, clean.shape) * np.sqrt(clean / 0.6), 0, 1)


def cells(width=480, height=360):
    """Nuclei in a fluorescence microscope, gray: bright, blotchy, some out of focus or dividing, on an uneven glow."""
    rng = np.random.default_rng(9)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    sharp, soft = np.zeros((height, width), np.float32), np.zeros((height, width), np.float32)
    for _ in range(74):
        a, b, turn = rng.uniform(-10, width + 10), rng.uniform(-10, height + 10), rng.uniform(0, np.pi)
        long, short = rng.uniform(14, 20), rng.uniform(10, 14)
        u, v = (x - a) * np.cos(turn) + (y - b) * np.sin(turn), (y - b) * np.cos(turn) - (x - a) * np.sin(turn)
        angle = np.arctan2(v, u)
        rim = 1 + 0.05 * np.sin(2 * angle + rng.uniform(0, 6)) + 0.04 * np.sin(3 * angle + rng.uniform(0, 6))
        r = np.hypot(u / long, v / short) / rim
        near = r < 1.3
        body = np.clip((1 - r) * 7, 0, 1) * (0.75 + 0.25 * np.sqrt(np.clip(1 - r ** 2, 0, 1)))
        blotch = 1 + 0.28 * value_noise(rng, width, height, width // 9, height // 9, 3)
        for _ in range(rng.integers(2, 5)):
            blotch -= 0.5 * np.exp(-((u - rng.normal(0, 5)) ** 2 + (v - rng.normal(0, 4)) ** 2) / rng.uniform(4, 12))
        power = 0.30 * rng.lognormal(0, 0.35)
        target = sharp if rng.uniform() < 0.8 else soft
        target += np.where(near, power * body * blotch.clip(0.2), 0)
    glow = 0.10 + 0.30 * np.exp(-((x - 0.25 * width) ** 2 + (y - 0.7 * height) ** 2) / (0.42 * width) ** 2)
    glow += 0.05 * value_noise(rng, width, height, 4, 3, 3)
    photons = (glow + blurred(sharp, 1.1) + blurred(soft, 4.5) + 0.22 * blurred(sharp + soft, 18)).clip(0) * 380
    return np.clip((rng.poisson(photons) + rng.normal(0, 4, photons.shape)) / 400, 0, 1)


PAGE = """The wind had gone round to the north before dawn, and when the harbour woke the boats lay all one way, like filings
about a magnet. Nobody spoke of it. The nets were dry, the tide would not wait, and a man who looks too long at the sky, as the
saying went on that coast, will find that it has begun to look at him.

She carried the lamp down the outer stair, shading it with one hand, though there was daylight enough to see the steps. It was
the habit of thirty winters. Under the wall the water moved as if it breathed; further out, where the bar began, it broke in
short white lines that came and went without a sound.

By noon they had counted nine sails. By four there were seven, and the glass had fallen so far that the schoolmaster, who kept
the record, took it from its nail and tapped it, and hung it up again and said nothing. The children were sent home along the
high road, two by two, and the shutters were closed."""


def wrapped(text, font, width):
    """Lines of a paragraph, the first one indented by four spaces."""
    lines = ["   "]
    for word in text.split():
        if font.getlength(f"{lines[-1]} {word}") > width:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return lines


def page(width=520, height=640, degrees=2.3):
    """A printed page on a desk, photographed askew in the light of a lamp; the photographer's shadow falls on it."""
    rng = np.random.default_rng(8)
    scale = 2 * OVERSAMPLING
    paper = Image.new("L", (440 * scale, 600 * scale), 255)
    draw = ImageDraw.Draw(paper)
    body, head = ImageFont.truetype("DejaVuSerif.ttf", 46), ImageFont.truetype("DejaVuSerif-Bold.ttf", 76)
    draw.text((44 * scale, 38 * scale), "12. The Glass Falls", 25, head)
    draw.line((44 * scale, 70 * scale, 396 * scale, 70 * scale), 40, scale // 2)
    lines = [line for paragraph in PAGE.split("\n\n") for line in wrapped(paragraph, body, 352 * scale)]
    for row, line in enumerate(lines):
        draw.text((44 * scale, (84 + 20.6 * row) * scale), line, 15, body, stroke_width=1)
    draw.text((212 * scale, 572 * scale), "87", 40, body)
    width, height = width * OVERSAMPLING, height * OVERSAMPLING
    cosine, sine = np.cos(np.radians(degrees)) * 2, np.sin(np.radians(degrees)) * 2
    x0, y0 = paper.width / 2, paper.height / 2
    back = (cosine, -sine, x0 - cosine * width / 2 + sine * height / 2, sine, cosine, y0 - sine * width / 2 - cosine * height / 2)
    ink = np.asarray(paper.transform((width, height), Image.AFFINE, back, Image.BICUBIC, fillcolor=0), np.float32) / 255
    sheet = np.asarray(Image.new("L", paper.size, 255).transform((width, height), Image.AFFINE, back, Image.BICUBIC, fillcolor=0), np.float32) / 255
    y, x = np.mgrid[0:height, 0:width].astype(np.float32) / width
    fibre = 1 + 0.018 * value_noise(rng, width, height, 300, 300, 2) + 0.02 * value_noise(rng, width, height, 6, 7, 4)
    ink = ink ** 1.6 * 0.82 + 0.02
    white = light(0.86, 0.80, 0.69) * fibre[..., None]
    grain = value_noise(rng, width, height, 4, 130, 6) + 0.35 * value_noise(rng, width, height, 12, 400, 3)
    desk = light(0.105, 0.058, 0.030) * (1 + 0.45 * grain)[..., None]
    cast = np.clip(1 - 0.55 * (blurred(np.roll(sheet, (10, 12), (0, 1)), 8) > 0.0) * blurred(np.roll(sheet, (10, 12), (0, 1)), 8), 0, 1)
    sheet = blurred(sheet, 0.8)[..., None]
    picture = sheet * white * (0.04 + 0.96 * ink / 0.84)[..., None] + (1 - sheet) * desk * cast[..., None]
    lamp_light = 0.30 + 1.05 * np.exp(-((x - 0.98) ** 2 + (y - 0.12) ** 2) / 0.55)
    edge = 0.34 + 0.10 * np.sin(2.2 * y + 0.4)
    shade = 1 - 0.42 / (1 + np.exp((x - edge) / 0.035)) * np.clip((y - 0.25) * 3, 0, 1)
    return blurred(averaged(picture * (lamp_light * shade)[..., None]), 0.55)


def shaken(picture, left, top, width, height, degrees, right, down):
    """A part of a scene as a hand that shakes sees it: turned about its middle and shifted."""
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    x, y = left + width / 2 + right, top + height / 2 + down
    back = (cosine, sine, x - cosine * width / 2 - sine * height / 2, -sine, cosine, y + sine * width / 2 - cosine * height / 2)
    planes = [Image.fromarray(np.ascontiguousarray(plane), "F").transform((width, height), Image.AFFINE, back, Image.BICUBIC)
              for plane in np.moveaxis(picture.astype(np.float32), 2, 0)]
    return np.stack([np.asarray(plane) for plane in planes], axis=2).clip(0)
