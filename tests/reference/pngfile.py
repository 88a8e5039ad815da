"""A small PNG encoder and decoder: every colour type and bit depth, interlace, any chunk.

It exists because Pillow turns 16-bit RGB into 8 bits. After the PNG specification (ISO/IEC 15948:2003);
test_references.py checks it against Pillow where Pillow can.
"""

import dataclasses
import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GRAY, RGB, PALETTE, GRAY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6
CHANNELS = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGB_ALPHA: 4}
COLOUR_TYPE = {1: GRAY, 2: GRAY_ALPHA, 3: RGB, 4: RGB_ALPHA}
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


@dataclasses.dataclass
class Png:
    samples: np.ndarray  # height x width x channels, as stored: palette indices stay indices
    depth: int
    colour_type: int
    chunks: list  # of (name, data), without IHDR, IDAT and IEND

    def chunk(self, name):
        """The data of the first chunk of that name, or None."""
        return next((data for each, data in self.chunks if each == name), None)

    def texts(self):
        """tEXt, zTXt and iTXt as {keyword: text}."""
        return dict(parse_text(name, data) for name, data in self.chunks if name in ("tEXt", "zTXt", "iTXt"))

    def icc(self):
        data = self.chunk("iCCP")
        return None if data is None else zlib.decompress(data[data.index(b"\0") + 2:])

    def resolution(self):
        """(x, y, unit) of pHYs; unit 1 is the metre."""
        data = self.chunk("pHYs")
        return None if data is None else struct.unpack(">IIB", data)


def parse_text(name, data):
    keyword, rest = data.split(b"\0", 1)
    if name == "zTXt":
        return keyword.decode("latin-1"), zlib.decompress(rest[1:]).decode("latin-1")
    if name == "iTXt":
        compressed, (_language, _translated, text) = rest[0], rest[2:].split(b"\0", 2)
        return keyword.decode("latin-1"), (zlib.decompress(text) if compressed else text).decode("utf-8")
    return keyword.decode("latin-1"), rest.decode("latin-1")


# ---------------------------------------------------------------- samples and bytes

def pack_row(values, depth):
    """One row of sample values as bytes, the first sample in the highest bits."""
    if depth == 16:
        return values.astype(">u2").tobytes()
    if depth == 8:
        return values.astype(np.uint8).tobytes()
    bits = (values[:, None] >> np.arange(depth - 1, -1, -1)) & 1
    return np.packbits(bits.astype(np.uint8).ravel()).tobytes()


def unpack_row(data, count, depth):
    if depth == 16:
        return np.frombuffer(data, ">u2", count).astype(np.uint16)
    if depth == 8:
        return np.frombuffer(data, np.uint8, count)
    bits = np.unpackbits(np.frombuffer(data, np.uint8))[:count * depth].reshape(count, depth)
    return (bits << np.arange(depth - 1, -1, -1)).sum(axis=1).astype(np.uint8)


def paeth(a, b, c):
    """The one of left, above, above-left that is nearest to a + b - c (section 9.4)."""
    estimate = a + b - c
    pa, pb, pc = abs(estimate - a), abs(estimate - b), abs(estimate - c)
    return np.where((pa <= pb) & (pa <= pc), a, np.where(pb <= pc, b, c))


def filter_row(kind, row, above, step):
    """Filters 0 to 4: none, sub, up, average, Paeth (section 9.2)."""
    row, above = np.frombuffer(row, np.uint8).astype(int), np.frombuffer(above, np.uint8).astype(int)
    left = np.concatenate([np.zeros(step, int), row])[:len(row)]
    corner = np.concatenate([np.zeros(step, int), above])[:len(row)]
    guess = (0, left, above, (left + above) // 2, paeth(left, above, corner))[kind]
    return bytes([kind]) + ((row - guess) % 256).astype(np.uint8).tobytes()


def unfilter_row(kind, row, above, step):
    row = bytearray(row)
    for i in range(len(row)):
        left, corner = (row[i - step], above[i - step]) if i >= step else (0, 0)
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = above[i]
        elif kind == 3:
            guess = (left + above[i]) // 2
        elif kind == 4:
            estimate = left + above[i] - corner
            guess = min((abs(estimate - left), 0, left), (abs(estimate - above[i]), 1, above[i]),
                        (abs(estimate - corner), 2, corner))[2]
        else:
            break
        row[i] = (row[i] + guess) & 255
    return bytes(row)


def encode_pass(samples, depth):
    height, width, channels = samples.shape
    if 0 in samples.shape:
        return b""
    step = max(1, channels * depth // 8)
    rows = [pack_row(row.ravel(), depth) for row in samples]
    blank = bytes(len(rows[0]))
    return b"".join(filter_row(y % 5, rows[y], rows[y - 1] if y else blank, step) for y in range(height))


def decode_pass(data, height, width, channels, depth):
    """The samples of one pass and the bytes that are left."""
    samples = np.zeros((height, width, channels), np.uint16 if depth == 16 else np.uint8)
    if 0 in samples.shape:
        return samples, data
    length, step = (width * channels * depth + 7) // 8, max(1, channels * depth // 8)
    above = bytes(length)
    for y in range(height):
        line = data[y * (length + 1):(y + 1) * (length + 1)]
        above = unfilter_row(line[0], line[1:], above, step)
        samples[y] = unpack_row(above, width * channels, depth).reshape(width, channels)
    return samples, data[height * (length + 1):]


# ---------------------------------------------------------------- files

def chunk_bytes(name, data):
    name = name.encode()
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def encode_png(samples, depth=None, colour_type=None, interlace=False, chunks=()):
    """Samples are height x width x channels; chunks are (name, data) and stand before IDAT."""
    depth = depth or samples.dtype.itemsize * 8
    colour_type = COLOUR_TYPE[samples.shape[2]] if colour_type is None else colour_type
    height, width = samples.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, int(interlace))
    passes = ADAM7 if interlace else ((0, 0, 1, 1),)
    data = b"".join(encode_pass(samples[y::dy, x::dx], depth) for x, y, dx, dy in passes)
    pieces = [("IHDR", header), *chunks, ("IDAT", zlib.compress(data)), ("IEND", b"")]
    return SIGNATURE + b"".join(chunk_bytes(*piece) for piece in pieces)


def write_png(path, samples, **options):
    path.write_bytes(encode_png(samples, **options))


def split_chunks(data):
    """(name, data) of every chunk, in order; the checksums must be right."""
    assert data[:8] == SIGNATURE, "not a PNG"
    at, chunks = 8, []
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(name + body)
        chunks.append((name.decode(), body))
        at += 12 + length
    assert chunks[-1][0] == "IEND", "the PNG does not end in IEND"
    return chunks


def decode_png(data):
    chunks = split_chunks(data)
    width, height, depth, colour_type, _, _, interlace = struct.unpack(">IIBBBBB", chunks[0][1])
    channels = CHANNELS[colour_type]
    stream = zlib.decompress(b"".join(body for name, body in chunks if name == "IDAT"))
    samples = np.zeros((height, width, channels), np.uint16 if depth == 16 else np.uint8)
    for x, y, dx, dy in ADAM7 if interlace else ((0, 0, 1, 1),):
        part = samples[y::dy, x::dx]
        part[...], stream = decode_pass(stream, part.shape[0], part.shape[1], channels, depth)
    others = [chunk for chunk in chunks if chunk[0] not in ("IHDR", "IDAT", "IEND")]
    return Png(samples, depth, colour_type, others)


def read_png(path):
    return decode_png(path.read_bytes())


# ---------------------------------------------------------------- chunks that tests write

def text_chunk(keyword, text):
    return "tEXt", keyword.encode("latin-1") + b"\0" + text.encode("latin-1")


def international_text_chunk(keyword, text):
    return "iTXt", keyword.encode("latin-1") + b"\0\0\0\0\0" + text.encode("utf-8")


def icc_chunk(profile):
    return "iCCP", b"profile\0\0" + zlib.compress(profile)


def resolution_chunk(x, y):
    """Pixels a metre."""
    return "pHYs", struct.pack(">IIB", x, y, 1)


def palette_chunk(colours):
    return "PLTE", np.asarray(colours, np.uint8).tobytes()
