#!/usr/bin/python3
"""Writes small files of every kind that climg reads to FOLDER/images, and command lines to FOLDER/arguments: what
libFuzzer begins with."""
import io
import pathlib
import subprocess
import sys

import numpy as np
import PIL.Image
import tifffile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tiffs(rng):
    gray, colour = rng.integers(0, 256, (9, 11), np.uint8), rng.integers(0, 256, (9, 11, 3), np.uint8)
    for name in ("packbits", "tiff_lzw", "tiff_adobe_deflate", "jpeg", "group3", "group4", "webp", "zstd", "lzma"):
        for picture in (gray, colour, gray > 128):
            stream = io.BytesIO()
            try:
                PIL.Image.fromarray(picture).save(stream, "TIFF", compression=name)
            except (OSError, RuntimeError, ValueError):  # that codec does not take these samples
                continue
            yield f"{name}-{picture.dtype}-{picture.ndim}.tif", stream.getvalue()
    for name, samples, options in (
            ("tiles", np.tile(colour, (4, 4, 1)), {"tile": (16, 16)}), ("planes", colour.transpose(2, 0, 1), {
                "photometric": "rgb", "planarconfig": "separate"}), ("big", gray, {"bigtiff": True}),
            ("16", gray.astype(">u2") * 257, {"byteorder": ">"}), ("float", gray.astype(np.float32) / 255, {}),
            ("half", gray.astype(np.float16), {}), ("pages", np.stack([gray] * 3), {"photometric": "minisblack"})):
        stream = io.BytesIO()
        tifffile.imwrite(stream, samples, **options)
        yield f"{name}.tif", stream.getvalue()


def pngs(rng):
    for mode, channels in (("L", 1), ("LA", 2), ("RGB", 3), ("RGBA", 4)):
        picture = PIL.Image.fromarray(rng.integers(0, 256, (9, 11, channels), np.uint8).squeeze(), mode)
        stream = io.BytesIO()
        picture.save(stream, "PNG", dpi=(300, 300))
        yield f"{mode}.png", stream.getvalue()
    for name, picture in (("palette", picture.convert("P")), ("bits", picture.convert("1"))):
        stream = io.BytesIO()
        picture.save(stream, "PNG")
        yield f"{name}.png", stream.getvalue()


def netpbm(rng):
    for kind, samples in (("P5 9 4 255", rng.bytes(36)), ("P6 3 4 1000", bytes(72)), ("P4 9 4", rng.bytes(8)), ("P1 3 1", b"0 11"),
                          ("P2 3 1 15", b"0 7 15"), ("P3 1 1 255", b"1 2 3"), ("Pf 3 4 -1.0", rng.bytes(48)),
                          ("PF 1 2 1.0", rng.bytes(24))):
        yield kind.split(maxsplit=1)[0], 2 * (f"{kind}\n".encode() + samples)
    yield "P7", b"P7\nWIDTH 3\nHEIGHT 2\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n" + rng.bytes(24)


def pieces(rng):
    """What is inside of files; the first byte says of which kind it is (pieces.c)."""
    image = PIL.Image.fromarray(rng.integers(0, 256, (9, 11, 3), np.uint8))
    exif = image.getexif()
    exif.update({0x010e: "a picture", 0x0112: 6, 0x011a: 300.0})
    exif.get_ifd(0x8769).update({0xa002: 11, 0xa003: 9, 0x9003: "2001:02:03 04:05:06"})
    yield "exif", b"\0" + exif.tobytes()[6:]
    yield "coefficients", b"\1" + (b'{"climg": "dual-tree complex wavelet coefficients", "version": 1, "width": 97, "height": 61,'
                                   b' "channels": 3, "alpha": false, "levels": 3, "biort": "near_sym_a", "qshift": "qshift_a",'
                                   b' "samples": "uint8", "linear": false, "exponent": 0.0, "description": "seen"}')
    for name, text in (("taps", "1 4 6 4 1"), ("two", "-1 0 1 / 1,2,1"), ("file", "1 2 1 # a row\n0 .5 1e-3\n\n-2 0 1\n")):
        yield name, b"\2" + text.encode()


def command_lines():
    """Every stage and option, with a value."""
    text = subprocess.run([ROOT / "build" / "climg", "--complete=--"], capture_output=True, text=True, check=True).stdout
    words = [line.split("\t")[0] for line in text.splitlines()]
    for i, word in enumerate(words):
        yield f"{i}", f"in.png\n{word}=1,2\nout.png".encode()


def main():
    folder, rng = pathlib.Path(sys.argv[1]), np.random.default_rng(1)
    for kind, files in (("images", [*tiffs(rng), *pngs(rng), *netpbm(rng)]), ("pieces", list(pieces(rng))), ("arguments", list(command_lines()))):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for name, data in files:
            (folder / kind / name).write_bytes(data)


if __name__ == "__main__":
    main()
