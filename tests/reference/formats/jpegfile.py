"""JPEGs for tests: pictures, segments taken apart and put together, kinds that Pillow does not write."""

import io
import struct

import numpy as np
from PIL import Image


def picture(rng, height, width, channels=3):
    """Smooth, with some noise: what is neither black nor white after coding."""
    y, x = np.mgrid[:height, :width]
    phases = rng.uniform(0, 6, channels)
    waves = np.stack([128 + 80 * np.sin(x / 9 + p) * np.cos(y / 7 - p) for p in phases], axis=-1)
    return np.clip(waves + rng.normal(0, 6, waves.shape), 0, 255).astype(np.uint8)


def encode(samples, **options):
    """By Pillow's libjpeg."""
    stream = io.BytesIO()
    Image.fromarray(samples.squeeze(axis=2) if samples.shape[2] == 1 else samples).save(stream, "JPEG", **options)
    return stream.getvalue()


def decode(data):
    """By Pillow's libjpeg: height x width x channels."""
    with Image.open(io.BytesIO(data)) as image:
        samples = np.asarray(image)
    return samples[..., None] if samples.ndim == 2 else samples


def segments(data):
    """[(marker, payload)] of the header, up to the first scan; then what follows as it is."""
    found, at = [], 2
    while data[at + 1] != 0xDA:
        size = struct.unpack(">H", data[at + 2:at + 4])[0]
        found.append((data[at + 1], data[at + 4:at + 2 + size]))
        at += 2 + size
    return found, data[at:]


def join(found, rest):
    return b"\xff\xd8" + b"".join(b"\xff" + bytes([marker]) + struct.pack(">H", len(payload) + 2) + payload
                                  for marker, payload in found) + rest


def insert(data, *new):
    """Segments behind the first one, which is JFIF's."""
    found, rest = segments(data)
    return join(found[:1] + list(new) + found[1:], rest)


def as_rgb(data):
    """The same numbers, said to be red, green and blue: by the components' names, where no JFIF says otherwise."""
    found, rest = segments(data)
    frame = dict(found)[0xC0]
    names = frame[:6] + b"".join(bytes([name]) + frame[7 + 3 * i:9 + 3 * i] for i, name in enumerate(b"RGB"))
    scan = rest[:5] + b"".join(bytes([name]) + rest[6 + 2 * i:7 + 2 * i] for i, name in enumerate(b"RGB")) + rest[11:]
    return join([(marker, names if marker == 0xC0 else payload) for marker, payload in found if marker != 0xE0], scan)
