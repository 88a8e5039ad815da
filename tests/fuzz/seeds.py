#!/usr/bin/python3
"""Writes small files of every kind that climg reads to FOLDER/images, and what the other targets take to folders of their names:
what libFuzzer begins with."""
import io
import pathlib
import subprocess
import sys

import numpy as np
import PIL.Image
import PIL.ImageCms
import PIL.PngImagePlugin
import tifffile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "reference"))
import iccfile  # noqa: E402


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
    deflate = {"compression": "zlib", "photometric": "rgb"}
    for name, samples, options in (
            ("deflated", colour, deflate | {"rowsperstrip": 4, "predictor": True}), ("deflated-tiles", colour, deflate | {"tile": (16, 16)}),
            ("deflated-planes", colour.transpose(2, 0, 1), deflate | {"planarconfig": "separate"}),
            ("complex", (gray / 255).astype(np.complex64), {"compression": "zlib"}),
            ("tiles", np.tile(colour, (4, 4, 1)), {"tile": (16, 16)}), ("planes", colour.transpose(2, 0, 1), {
                "photometric": "rgb", "planarconfig": "separate"}), ("big", gray, {"bigtiff": True}),
            ("16", gray.astype(">u2") * 257, {"byteorder": ">"}), ("float", gray.astype(np.float32) / 255, {}),
            ("half", gray.astype(np.float16), {}), ("cmyk", np.dstack([colour, gray]), {"photometric": "separated", "extratags": [(34675, 7, 0, iccfile.printer(2, "CMYK"), True)]}),
            ("lab", colour, {"photometric": "cielab", "extratags": [(318, 5, 2, (3127, 10000, 3290, 10000), True)]}),
            ("icclab", colour.astype(np.uint16) * 257, {"photometric": "icclab"}), ("pages", np.stack([gray] * 3), {"photometric": "minisblack"})):
        stream = io.BytesIO()
        tifffile.imwrite(stream, samples, **options)
        yield f"{name}.tif", stream.getvalue()


def pngs(rng):
    for mode, channels in (("L", 1), ("LA", 2), ("RGB", 3), ("RGBA", 4)):
        picture = PIL.Image.fromarray(rng.integers(0, 256, (9, 11, channels), np.uint8).squeeze(), mode)
        stream = io.BytesIO()
        picture.save(stream, "PNG", dpi=(300, 300))
        yield f"{mode}.png", stream.getvalue()
    stream = io.BytesIO()
    picture.save(stream, "PNG", icc_profile=iccfile.printer(2))
    yield "profile.png", stream.getvalue()
    for name, picture in (("palette", picture.convert("P")), ("bits", picture.convert("1"))):
        stream = io.BytesIO()
        picture.save(stream, "PNG")
        yield f"{name}.png", stream.getvalue()


def webps(rng):
    """Lossy and lossless, with and without alpha and metadata, and an animation."""
    for channels in (3, 4):
        pictures = [PIL.Image.fromarray(rng.integers(0, 256, (9, 11, channels), np.uint8)) for _ in range(2)]
        for name, options in (("lossy", {"quality": 30}), ("lossless", {"lossless": True, "exif": b"MM\0*\0\0\0\10" + bytes(6), "xmp": b"<x/>"}),
                              ("profile", {"icc_profile": iccfile.printer(2)}), ("frames", {"save_all": True, "append_images": pictures[1:]})):
            stream = io.BytesIO()
            pictures[0].save(stream, "WEBP", **options)
            yield f"{name}-{channels}.webp", stream.getvalue()


def jpegs(rng):
    """JPEGs of every coding, one with all metadata, and one that several threads decode."""
    colour, exif = rng.integers(0, 256, (33, 35, 3), np.uint8), PIL.Image.Exif()
    exif.update({0x010e: "a picture", 0x0112: 6, 0x011a: 300.0})
    said = {"exif": exif.tobytes(), "icc_profile": PIL.ImageCms.ImageCmsProfile(PIL.ImageCms.createProfile("sRGB")).tobytes(), "comment": "Title: Boats",
            "dpi": (300, 300)}
    for picture in (colour, colour[..., 0]):
        for name, options in (("420", {}), ("422", {"subsampling": 1}), ("444", {"subsampling": 0}), ("progressive", {"progressive": True}), ("said", said)):
            stream = io.BytesIO()
            PIL.Image.fromarray(picture).save(stream, "JPEG", quality=30, **options)
            yield f"{name}-{picture.ndim}.jpg", stream.getvalue()
    stream = io.BytesIO()
    PIL.Image.fromarray(np.tile(colour, (22, 4, 1))[:720, :128]).resize((128, 720)).save(stream, "PPM")
    for subsampling in ("4:4:4", "4:2:0"):
        made = subprocess.run([ROOT / "build" / "climg", "--quality", "2", "--subsampling", subsampling, "-f", "jpeg"], input=stream.getvalue(),
                              capture_output=True, check=True)
        yield f"restarts-{subsampling.replace(':', '')}.jpg", made.stdout


def netpbm(rng):
    for kind, samples in (("P5 9 4 255", rng.bytes(36)), ("P6 3 4 1000", bytes(72)), ("P4 9 4", rng.bytes(8)), ("P1 3 1", b"0 11"),
                          ("P2 3 1 15", b"0 7 15"), ("P3 1 1 255", b"1 2 3"), ("Pf 3 4 -1.0", rng.bytes(48)),
                          ("PF 1 2 1.0", rng.bytes(24))):
        yield kind.split(maxsplit=1)[0], 2 * (f"{kind}\n".encode() + samples)
    yield "P7", b"P7\nWIDTH 3\nHEIGHT 2\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n" + rng.bytes(24)


def streams(rng):
    """Pictures of netpbm, and video, after two bytes that choose how they are read (streams.c)."""
    pictures = dict(netpbm(rng))
    for i, (name, data) in enumerate(pictures.items()):
        yield name, bytes([i * 37 % 256, i]) + data
    for i, (name, data) in enumerate(y4m(rng)):
        yield name, bytes([i * 37 % 256, i]) + data
    for i in range(4):
        yield f"mixed{i}", bytes([64 * (i % 2) + 4 * i, 3 * i]) + b"\n".join(pictures[name] for name in list(pictures)[i::4])


def y4m(rng):
    for tag, size in (("C420jpeg", 9 * 7 + 2 * 5 * 4), ("C422 Ip", 63 + 2 * 35), ("C444 XCOLORRANGE=FULL", 3 * 63), ("Cmono", 63), ("A1:1", 63 + 2 * 20),
                      ("C420p10 XLENGTH=2", 2 * (63 + 2 * 20)), ("Cmono16", 2 * 63)):
        frames = [line + b"\n" + (bytes(size) if "10" in tag else rng.bytes(size)) for line in (b"FRAME", b"FRAME Ixyz")]
        yield tag.split()[0].split(":")[0], f"YUV4MPEG2 W9 H7 F25:1 {tag}\n".encode() + b"".join(frames)


def pieces(rng):
    """Seeds of pieces.c, whose first byte chooses the parser."""
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


def metadata(rng):
    """A PNG, a JPEG and TIFFs that say all kinds of things."""
    image = PIL.Image.fromarray(rng.integers(0, 256, (9, 11, 3), np.uint8))
    profile = PIL.ImageCms.ImageCmsProfile(PIL.ImageCms.createProfile("sRGB")).tobytes()
    exif = PIL.Image.Exif()
    exif.update({0x010f: "Maker", 0x0112: 6, 0x011a: 300.0, 0x011b: 200.0, 0x0128: 2})
    exif[0x8769] = {0xa002: 11, 0xa003: 9, 0x9214: (5, 4, 2, 2), 0x927c: b"Nikon\0\2" + bytes(20)}
    xmp = ('<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF><rdf:Description tiff:Orientation="6" tiff:ImageWidth="11">'
           "<exif:PixelYDimension>9</exif:PixelYDimension><xmpGImg:image>/9j/4AAQ</xmpGImg:image></rdf:Description></rdf:RDF></x:xmpmeta>")
    texts = PIL.PngImagePlugin.PngInfo()
    for key, value in (("Title", "Boats"), ("Software", "; Painter; climg 0.1 --blur=1"), ("exif:PixelXDimension", "11")):
        texts.add_text(key, value)
    texts.add_itxt("XML:com.adobe.xmp", xmp)
    texts.add_text("Notes", "again and again " * 9, zip=True)
    texts.add(b"cICP", bytes([9, 16, 0, 1]))
    for name, options in (("PNG", {"pnginfo": texts}), ("JPEG", {"comment": "seen"})):
        stream = io.BytesIO()
        image.save(stream, name, exif=exif, icc_profile=profile, dpi=(300, 200), **options)
        yield name, stream.getvalue()
    items = ('<GDALMetadata><Item name="SCALE" sample="0" role="scale">0.5</Item><Item name="Comment">seen</Item>'
             '<Item name="STATISTICS_MEAN" sample="0">0</Item><Item name="LINE_OFF" domain="RPC">7</Item></GDALMetadata>')
    geo = [(33550, "d", 3, (10.0, 20.0, 0.0), True), (33922, "d", 6, (0.0, 0.0, 0.0, 5.0, 6.0, 0.0), True),
           (34735, "H", 8, (1, 1, 0, 1, 1025, 0, 1, 2), True), (42112, "s", 0, items, True), (42113, "s", 0, "-9999", True), (700, "B", len(xmp), xmp.encode(), True)]
    stack = rng.integers(0, 256, (2, 9, 11), np.uint8)
    for name, options in (("geo", {"extratags": geo, "metadata": None}), ("shape", {}), ("ome", {"ome": True, "metadata": {"axes": "ZYX", "PhysicalSizeX": 0.5}}),
                          ("imagej", {"imagej": True, "metadata": {"axes": "ZYX", "unit": "um", "min": 1, "max": 9, "Labels": ["one", "two"]}})):
        stream = io.BytesIO()
        tifffile.imwrite(stream, stack, photometric="minisblack", **options)
        yield name, stream.getvalue()


def profiles():
    """Profiles of matrices, gray and tables, after a byte that chooses the conversion (profile.c)."""
    curves = [iccfile.curve(2.2), iccfile.curve(0, 0.2, 1), iccfile.parametric(3, *iccfile.SRGB)]
    columns = [(0.436, 0.222, 0.014), (0.385, 0.717, 0.097), (0.1432, 0.061, 0.7139)]
    made = [iccfile.rgb(version, columns, curves[:version - 1] + curves[2:] * (4 - version)) for version in (2, 4)]
    made += [iccfile.gray(2, curves[0]), iccfile.gray(4, curves[1], "Lab "), iccfile.printer(3), iccfile.printer(2, "CMYK")]
    for i, icc in enumerate(made):
        for options in (0, 1 + 4 + 8, 2 + 16 + 32, 3 + 8 + 16 + 32 + 64):
            yield f"{i}-{options}", bytes([options]) + icc


def command_lines():
    """Every stage and option, with a value."""
    text = subprocess.run([ROOT / "build" / "climg", "--complete=--"], capture_output=True, text=True, check=True).stdout
    words = [line.split("\t")[0] for line in text.splitlines()]
    for i, word in enumerate(words):
        yield f"{i}", f"in.png\n{word}=1,2\nout.png".encode()


def lists():
    """The first byte says how the list is read (lists.c)."""
    names = ["/etc/passwd", "none.png", "a/../none.tif", "-", "/dev/null", "x" * 300 + ".png"]
    for i, options in enumerate((0, 2, 4, 8, 16, 22)):
        yield f"lines{i}", bytes([options]) + "\n".join(names).encode()
        yield f"null{i}", bytes([options | 1]) + "\0".join(names).encode()
    states = "6882 91 1795423676154016495 1795423676154016495 0a565eea 25500 92 1795423678133389943 1795423678136324368 62565eea"
    line = f"climg2 0123456789abcdef {states} a.png\n"
    yield "record", b"\x80" + 2 * line.encode() + b"climg2 \n" + line[:90].encode()


def main():
    folder, rng = pathlib.Path(sys.argv[1]), np.random.default_rng(1)
    said = list(metadata(rng))
    choices = {name: rng.bytes(8) for name, _ in said}
    for kind, files in (("info", [(name, b"\1" + data) for name, data in said]), ("metadata_follow", [(name, choices[name] + data) for name, data in said]),
                        ("images", [*tiffs(rng), *pngs(rng), *webps(rng), *netpbm(rng), *y4m(rng)]), ("jpeg", list(jpegs(rng))), ("pieces", list(pieces(rng))), ("arguments", list(command_lines())),
                        ("lists", list(lists())), ("profile", list(profiles())), ("streams", list(streams(rng)))):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for name, data in files:
            (folder / kind / name).write_bytes(data)


if __name__ == "__main__":
    main()
