#!/usr/bin/python3
"""The same bits on every device: commands of sums.txt, and the CRC-32 of the samples that each gives at --depth float.

    tests/reference/sums.py                      on the device that climg takes: both kernel variants, buffers and images, slices
    tests/reference/sums.py --device gpu buffer image slice    that device, in these ways alone
    tests/reference/sums.py --only denoise       commands with that word alone
    tests/reference/sums.py --update             writes the sums anew, by the first way, after a change that is meant to change them

The last line is a row for the table in docs/reliability.md. It needs Python alone. The sums are climg's own: they say that
results are the same everywhere; that they are right is for all other tests to say."""
import argparse
import concurrent.futures
import os
import pathlib
import shlex
import struct
import subprocess
import sys
import tempfile
import zlib

import iccfile
import tiffbytes

HERE = pathlib.Path(__file__).parent
TABLE = HERE / "sums.txt"
SAMPLES = HERE.parent.parent / "samples"

# Bytes of a sample, and TIFF's SampleFormat.
TYPES = {"u8": (1, 1), "u16": (2, 1), "u32": (4, 1), "i8": (1, 2), "i16": (2, 2), "i32": (4, 2), "half": (2, 3), "float": (4, 3)}

# type, width, height, channels: odd sizes, and more rows than two slices.
PICTURES = {"rgb": ("u8", 61, 77, 3), "gray": ("u8", 70, 67, 1), "rgba": ("u8", 61, 77, 4), "ga": ("u8", 35, 71, 2),
            "rgb16": ("u16", 61, 77, 3), "gray16": ("u16", 67, 69, 1), "rgba16": ("u16", 37, 73, 4), "gray32": ("u32", 53, 69, 1),
            "int8": ("i8", 53, 69, 1), "int16": ("i16", 53, 69, 3), "int32": ("i32", 53, 69, 1), "half": ("half", 61, 77, 3),
            "float": ("float", 61, 77, 3), "floata": ("float", 45, 77, 4), "large": ("u8", 211, 163, 3), "tiny": ("u8", 7, 5, 3)}

# Additions to the environment, and to the command.
WAYS = {"auto": ({}, []),
        "cpu": ({"CLIMG_CLASS": "cpu"}, ["-m", "buffer"]),
        "cpu slices": ({"CLIMG_CLASS": "cpu", "CLIMG_SLICE": "32"}, ["-m", "buffer"]),
        "gpu": ({"CLIMG_CLASS": "gpu"}, ["-m", "buffer"]),
        "gpu slices": ({"CLIMG_CLASS": "gpu", "CLIMG_SLICE": "32"}, ["-m", "buffer"]),
        "gpu images": ({"CLIMG_CLASS": "gpu"}, ["-m", "image"]),
        "buffer": ({}, ["-m", "buffer"]),
        "image": ({}, ["-m", "image"]),
        "slice": ({"CLIMG_SLICE": "32"}, [])}
USUAL = ("cpu", "cpu slices", "gpu", "gpu slices", "gpu images")


def mix(number):
    """32 bits that look random: the finalizer of MurmurHash3."""
    number = (number ^ number >> 16) * 0x85ebca6b & 0xffffffff
    number = (number ^ number >> 13) * 0xc2b2ae35 & 0xffffffff
    return number ^ number >> 16


def sample_bytes(kind, level, bits):
    """A sample of that brightness, from 0 to 1, and noise."""
    value = min(max(level + ((bits >> 8 & 0xffff) - 0x8000) / 0x100000, 0.0), 1.0)
    if kind in ("half", "float"):
        return struct.pack("<e" if kind == "half" else "<f", value)
    size, form = TYPES[kind]
    full = (1 << 8 * size - (form == 2)) - 1
    return int(value * full + 0.5).to_bytes(size, "little")


def write_picture(path, name):
    """Waves, an edge and noise; alpha has holes."""
    kind, width, height, channels = PICTURES[name]
    size, form = TYPES[kind]
    alpha = channels in (2, 4)
    rows = bytearray()
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                bits = mix((y * width + x) * channels + c + 1)
                wave = ((x * (3 + c) + y * 5) % 64) / 64
                level = 0.2 + 0.4 * (wave if wave < 0.5 else 1 - wave) + (0.35 if x + 2 * y > width + 9 * c else 0)
                if alpha and c == channels - 1:
                    level = 0 if bits % 11 == 0 else 1 if y % 7 else level
                rows += sample_bytes(kind, level, 0x800000 if alpha and c == channels - 1 else bits)
    tags = {256: [width], 257: [height], 258: [8 * size] * channels, 259: [1], 262: [2 if channels > 2 else 1], 277: [channels],
            278: [height], 339: [form] * channels}
    if alpha:
        tags[338] = [2]
    path.write_bytes(tiffbytes.make((tags, [bytes(rows)])))


def page_bytes(data):
    """The samples of all pages of climg's own TIFF: little-endian, not compressed."""
    at, = struct.unpack_from("<I", data, 4)
    while at:
        count, = struct.unpack_from("<H", data, at)
        tags = {}
        for i in range(count):
            tag, kind, length, value = struct.unpack_from("<HHII", data, at + 2 + 12 * i)
            if tag in (273, 279):
                letter = "H" if kind == 3 else "I"
                whole = length * struct.calcsize(letter) <= 4
                tags[tag] = struct.unpack_from(f"<{length}{letter}", data, at + 10 + 12 * i if whole else value)
        for offset, size in zip(tags[273], tags[279]):
            yield data[offset:offset + size]
        at, = struct.unpack_from("<I", data, at + 2 + 12 * count)


def sum_of(climg, device, folder, way, recipe):
    """The sum, or what went wrong."""
    environment, more = WAYS[way]
    output = folder / f"{zlib.crc32((way + recipe).encode()):08x}.tif"
    command = [*climg, *(word.format(**{name: folder / f"{name}.tif" for name in PICTURES}, samples=SAMPLES, printer=folder / "printer.icc") for word in shlex.split(recipe)),
               "--depth", "float", *more, *(["-d", device] if device else []), output]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode != 0:
        return "failed: " + done.stderr.strip()
    total = 0
    for part in page_bytes(output.read_bytes()):
        total = zlib.crc32(part, total)
    output.unlink()
    return f"{total:08x}"


def read_table():
    lines = [line for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    return [line.split(None, 1) for line in lines]


def draw_ways(chance):
    """One way for each kernel variant."""
    return [chance.choice([way for way in USUAL if way.startswith(variant)]) for variant in ("cpu", "gpu")]


def compare(climg, ways, device=None, only="", jobs=None, chance=None):
    """[(way, recipe, expected sum, sum)] of all recipes in all ways; with a random.Random as `chance`, each in one way for each variant."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for picture in PICTURES:
            write_picture(folder / f"{picture}.tif", picture)
        (folder / "printer.icc").write_bytes(iccfile.printer())
        work = [(way, recipe, expected) for expected, recipe in read_table() if only in recipe
                for way in (ways if chance is None else draw_ways(chance))]
        with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
            sums = list(pool.map(lambda item: sum_of(climg, device, folder, *item[:2]), work))
    return [(*item, got) for item, got in zip(work, sums)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device")
    parser.add_argument("--only", default="")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("ways", nargs="*", default=USUAL)
    arguments = parser.parse_args()
    climg = os.environ.get("CLIMG", str(HERE.parent.parent / "build" / "climg"))
    ways = arguments.ways[:1] if arguments.update else arguments.ways
    results = compare([climg], ways, arguments.device, arguments.only, arguments.jobs)
    wrong = [(way, recipe, got) for way, recipe, expected, got in results if got != expected]
    for way, recipe, got in wrong:
        print(f"{way}: {recipe}: {got}")
    if arguments.update:
        changed = {recipe: got for _, recipe, got in wrong if len(got) == 8}
        lines = TABLE.read_text().splitlines()
        TABLE.write_text("".join(f"{changed.get(line[9:], line[:8])} {line[9:]}\n" if line[:1] != "#" else line + "\n" for line in lines))
        return
    cells = []
    for way in ways:
        of_way = [expected == got for each, _, expected, got in results if each == way]
        cells.append(f"{way} {sum(of_way)} of {len(of_way)}")
    print(f"| {arguments.device or 'auto'} | {', '.join(cells)} |")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
