"""The table of docs/metadata.md is what exiftool, tifffile and Pillow find in outputs."""

import json
import re
import struct
import subprocess

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

import harness
import pngfile

TABLE = harness.ROOT / "docs" / "metadata.md"
XMP = ('<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
       'xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Label="Red"/></rdf:RDF></x:xmpmeta>')
CHROMATICITIES = (31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)
ITEMS = ('<Item name="Comment">seen</Item><Item name="SCALE" sample="0" role="scale">0.5</Item>'
         '<Item name="STATISTICS_MEAN" sample="0">0</Item>')
IPTC = b"\x1c\x02\x05\x00\x05Boats" + bytes(2)

# Name in docs/metadata.md; where exiftool ("group:tag") or pngfile ("chunk NAME") finds it in PNG and in TIFF.
ROWS = [
    ("ICC profile", "ICC-header:ProfileClass", "ICC-header:ProfileClass"),
    ("EXIF: camera", "IFD0:Make", "IFD0:Make"),
    ("EXIF: exposure", "ExifIFD:ExposureTime", "ExifIFD:ExposureTime"),
    ("EXIF: GPS", "GPS:GPSAltitude", "GPS:GPSAltitude"),
    ("EXIF: pixel size", "ExifIFD:ExifImageWidth", "ExifIFD:ExifImageWidth"),
    ("EXIF: thumbnail", "IFD1:ThumbnailLength", "IFD1:ThumbnailLength"),
    ("orientation", "IFD0:Orientation", "IFD0:Orientation"),
    ("resolution", "PNG-pHYs:PixelsPerUnitX", "IFD0:XResolution"),
    ("Title / DocumentName", "PNG:Title", "IFD0:DocumentName"),
    ("Description / ImageDescription", "PNG:Description", "IFD0:ImageDescription"),
    ("Author / Artist", "PNG:Author", "IFD0:Artist"),
    ("Copyright", "PNG:Copyright", "IFD0:Copyright"),
    ("Creation Time / DateTime", "chunk Creation Time", "IFD0:ModifyDate"),
    ("Software", "PNG:Software", "IFD0:Software"),
    ("other texts / GDAL's items", "PNG:Comment", "IFD0:GDALMetadata"),
    ("XMP", "XMP-xmp:Label", "XMP-xmp:Label"),
    ("gAMA / EXIF Gamma", "PNG:Gamma", "ExifIFD:Gamma"),
    ("cHRM / WhitePoint", "chunk cHRM", "IFD0:WhitePoint"),
    ("cICP", "chunk cICP", None), ("HostComputer", None, "IFD0:HostComputer"), ("IPTC", None, "IPTC:ObjectName"),
    ("GeoTIFF", None, "GeoTIFF"), ("GDAL's nodata", None, "IFD0:GDALNoData"),
    ("GDAL's scale", None, "scale"), ("GDAL's statistics", None, "statistics"),
]


def found(path, tags):
    """{where: value}, with what exiftool says of it."""
    tags["GeoTIFF"] = tags.get("IFD0:PixelScale", tags.get("IFD0:ModelTransform"))
    items = dict(re.findall(r'name="(\w+)" sample="0"[^>]*>(.*?)<', tags.get("IFD0:GDALMetadata", "")))
    tags["scale"], tags["statistics"] = items.get("SCALE"), items.get("STATISTICS_MEAN")
    if path.suffix == ".png":
        png = pngfile.read_png(path)
        tags.update({f"chunk {name}": data for name, data in png.chunks})
        tags["chunk Creation Time"] = png.texts().get("Creation Time")
    return tags


def canonical(name, value, suffix):
    """Returns a TIFF value in PNG's notation."""
    if value is None or suffix == ".png":
        return value
    if name == "resolution":
        return round(value / 0.0254)
    if name == "gAMA / EXIF Gamma":
        return round(value, 3)
    if name == "other texts / GDAL's items":
        return re.search(r'<Item name="Comment">(.*?)</Item>', value)[1]
    if name == "cHRM / WhitePoint":
        return [round(float(n), 4) for n in value.split()]
    return value


def as_tiff(name, value, suffix):
    """PNG's own forms of what TIFF says otherwise."""
    if suffix == ".png" and value is not None:
        if name == "gAMA / EXIF Gamma":
            return round(value, 3)
        if name == "cHRM / WhitePoint":
            return [n / 1e5 for n in struct.unpack(">2I", value[:8])]
    return value


def state(row, source, target, before, after):
    name, png, tiff = row
    values = []
    for path, tags in ((source, before), (target, after)):
        where = png if path.suffix == ".png" else tiff
        values.append(as_tiff(name, canonical(name, tags.get(where), path.suffix), path.suffix))
    if values[0] is None:
        return "–"
    return "dropped" if values[1] is None else "kept" if values[0] == values[1] else "changed"


def exif(png):
    """With a camera, an exposure, a place, a size and, in PNG, a thumbnail."""
    data = Image.Exif()
    data[271], data[274] = "Maker", 6
    data[34665] = {33434: (1, 125), 40962: 16}
    data[34853] = {6: (100, 1)}
    data = data.tobytes()[6:]
    thumbnail = b"\xff\xd8\xff\xdb" + bytes(40) + b"\xff\xd9"
    at, end = struct.unpack_from(">I", data, 4)[0], len(data) + len(data) % 2
    link = at + 2 + 12 * struct.unpack_from(">H", data, at)[0]
    table = struct.pack(">HHHIIHHII", 2, 513, 4, 1, end + 30, 514, 4, 1, len(thumbnail)) + bytes(4)
    return data[:link] + struct.pack(">I", end) + data[link + 4:] + bytes(len(data) % 2) + table + thumbnail


def write_png(path):
    texts = {"Title": "Boats", "Description": "Three boats", "Author": "Nobody", "Copyright": "None", "Software": "Painter 1",
             "Creation Time": "2020:02:29 12:34:56", "Comment": "seen"}
    chunks = [("gAMA", struct.pack(">I", 50000)), ("cHRM", struct.pack(">8I", *CHROMATICITIES)), ("cICP", bytes([9, 16, 0, 1])),
              ("eXIf", exif(True)), pngfile.resolution_chunk(11812, 7875),
              pngfile.icc_chunk(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()),
              *(pngfile.text_chunk(*text) for text in texts.items()), pngfile.international_text_chunk("XML:com.adobe.xmp", XMP)]
    pngfile.write_png(path, np.zeros((12, 16, 3), np.uint8), chunks=chunks)


def write_tiff(path, folder):
    """By exiftool and tifffile; EXIF from what climg has no part in."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    extras = [(269, "s", 0, "Boats", True), (316, "s", 0, "host", True), (42113, "s", 0, "-9999", True),
              (33550, "d", 3, (10.0, 20.0, 0.0), True), (33922, "d", 6, (0.0, 0.0, 0.0, 5.0, 6.0, 0.0), True), (34735, "H", 8, (1, 1, 0, 1, 1025, 0, 1, 1), True),
              (42112, "s", 0, f"<GDALMetadata>{ITEMS}</GDALMetadata>", True),
              (33723, "B", len(IPTC), tuple(IPTC), True), (318, "2I", 2, (3127, 10000, 3290, 10000), True),
              (319, "2I", 6, tuple(n for c in CHROMATICITIES[2:] for n in (c // 10, 10000)), True),
              (700, "B", len(XMP), tuple(XMP.encode()), True), (34675, "B", len(profile), tuple(profile), True)]
    tifffile.imwrite(path, np.zeros((12, 16, 3), np.uint8), photometric="rgb", metadata=None, description="Three boats",
                     software="Painter 1", datetime="2020:02:29 12:34:56", resolution=(300, 200), extratags=extras)
    subprocess.run(["exiftool", "-q", "-overwrite_original", "-n", "-Make=Maker", "-Orientation=6", "-ExposureTime=0.008", "-GPSAltitude=100",
                    "-ExifImageWidth=16", "-Gamma=2", "-Artist=Nobody", "-Copyright=None", path], check=True)


def measure(folder):
    """The table's cells."""
    write_png(folder / "in.png")
    write_tiff(folder / "in.tif", folder)
    ways = (("in.png", "out.png", []), ("in.tif", "out.tif", []), ("in.png", "across.tif", []),
            ("in.tif", "across.png", []), ("in.png", "half.png", ["--scale", "1/2"]),
            ("in.tif", "half.tif", ["--scale", "1/2"]), ("in.png", "turned.png", ["--rotate", "180"]),
            ("in.tif", "turned.tif", ["--rotate", "180"]), ("in.tif", "deep.tif", ["--depth", "float"]))
    for source, target, stages in ways:
        harness.run(folder / source, *stages, folder / target)
    names = sorted({name for source, target, _ in ways for name in (source, target)})
    said = json.loads(subprocess.run(["exiftool", "-j", "-n", "-G1", *names], cwd=folder, capture_output=True, check=True).stdout)
    tags = {tags["SourceFile"]: found(folder / tags["SourceFile"], tags) for tags in said}
    columns = [[state(row, folder / source, folder / target, tags[source], tags[target]) for row in ROWS] for source, target, _ in ways]
    return [[row[0], *cells] for row, cells in zip(ROWS, zip(*columns))]


@pytest.mark.long
def test_table(tmp_path):
    text = TABLE.read_text()
    lines = text[text.index("\n| tag | ") + 1:].split("\n\n")[0].splitlines()
    told = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    measured = measure(tmp_path)
    assert told == measured, "\n" + "\n".join("| " + " | ".join(row) + " |" for row in measured)
