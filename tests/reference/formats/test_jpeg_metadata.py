"""Metadata of JPEGs, written by exiftool and Pillow and read by them again."""

import base64
import json
import struct
import subprocess

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps

import harness
import jpegfile
import pngfile

# Metadata as different cameras and phones write it.
CAMERAS = {
    "canon": {"Make": "Canon", "Model": "Canon EOS 5D Mark IV", "ExposureTime": "1/250", "FNumber": 5.6, "ISO": 400, "OwnerName": "A. Nobody",
              "LensModel": "EF24-70mm f/2.8L II USM", "SubSecTimeOriginal": "42", "XResolution": 72, "YResolution": 72, "Orientation#": 8},
    "nikon": {"Make": "NIKON CORPORATION", "Model": "NIKON D850", "ExposureTime": "1/8000", "ISO": 64, "SceneCaptureType#": 2, "UserComment": "a comment"},
    "sony": {"Make": "SONY", "Model": "ILCE-7RM4", "ExposureBiasValue": "-0.7", "FocalLength": 85, "ColorSpace#": 65535, "ISO": 102400},
    "fuji": {"Make": "FUJIFILM", "Model": "X-T4", "Copyright": "(c) A. Nobody", "Artist": "A. Nobody", "Orientation#": 6, "FocalPlaneXResolution": 2604},
    "olympus": {"Make": "OLYMPUS CORPORATION", "Model": "E-M1MarkII", "Software": "Version 3.5", "LightSource#": 24, "ImageDescription": "OLYMPUS DIGITAL CAMERA"},
    "panasonic": {"Make": "Panasonic", "Model": "DMC-GH5", "ExifVersion": "0230", "DigitalZoomRatio": 2, "Gamma": 2.2},
    "pentax": {"Make": "RICOH IMAGING COMPANY, LTD.", "Model": "PENTAX K-1", "GPSLatitude": 52.5, "GPSLatitudeRef": "N", "GPSLongitude": 13.25,
               "GPSLongitudeRef": "E", "GPSAltitude": 34.5},
    "leica": {"Make": "Leica Camera AG", "Model": "M10", "ApertureValue": 2, "FocalLengthIn35mmFormat": 50, "ImageUniqueID": "00000000000000000000000000000017"},
    "iphone": {"Make": "Apple", "Model": "iPhone 12 Pro", "Orientation#": 6, "SubjectArea": "30 20 12 10", "GPSImgDirection": 133.5,
               "OffsetTimeOriginal": "+02:00", "LensInfo": "1.54 6 1.6 2.4", "HostComputer": "iPhone 12 Pro"},
    "pixel": {"Make": "Google", "Model": "Pixel 6", "Orientation#": 1, "GPSDateStamp": "2024:01:31", "GPSTimeStamp": "12:34:56", "SensingMethod#": 2},
    "samsung": {"Make": "samsung", "Model": "SM-G998B", "Orientation#": 3, "XResolution": 72, "ShutterSpeedValue": "1/33", "BrightnessValue": -1.5},
    "huawei": {"Make": "HUAWEI", "Model": "VOG-L29", "Orientation#": 0, "CustomRendered#": 1, "SubjectDistanceRange#": 3, "DeviceSettingDescription": "ipp"},
    "xiaomi": {"Make": "Xiaomi", "Model": "M2007J3SG", "Orientation#": 5, "ModifyDate": "2023:12:24 18:00:00", "DateTimeOriginal": "2023:12:24 18:00:00"},
    "dji": {"Make": "DJI", "Model": "FC3170", "GPSAltitudeRef#": 0, "GPSAltitude": 120.5, "XPComment": "Type=N, Mode=P", "XPKeywords": "single"},
    "gopro": {"Make": "GoPro", "Model": "HERO9 Black", "MaxApertureValue": 2.5, "FileSource#": 3, "ExposureIndex": 100},
    "hasselblad": {"Make": "Hasselblad", "Model": "X1D", "XResolution": 300, "YResolution": 300, "CFAPattern": "0 2 0 2 0 1 1 2", "WhiteBalance#": 1},
    "phase": {"Make": "Phase One", "Model": "IQ4 150MP", "ImageDescription": "Grüße aus Köln", "SensitivityType#": 2, "RecommendedExposureIndex": 50},
    "epson": {"Make": "EPSON", "Model": "Perfection V850", "XResolution": 4800, "YResolution": 4800, "Software": "EPSON Scan", "SceneType#": 1},
    "kodak": {"Make": "EASTMAN KODAK COMPANY", "Model": "KODAK DC240", "ExifVersion": "0210", "YCbCrPositioning#": 1, "CompressedBitsPerPixel": 2.5},
    "casio": {"Make": "CASIO COMPUTER CO.,LTD", "Model": "EX-Z1000", "RelatedSoundFile": "CIMG0001.WAV", "FlashEnergy": 10, "Rating": 4},
}
# Tags that depend on the pixels, tags that exiftool computes, and tags of the file itself.
CHANGES = {"ExifTool:ExifToolVersion", "SourceFile", "EXIF:ExifImageWidth", "EXIF:ExifImageHeight", "EXIF:XResolution", "EXIF:YResolution",
           "EXIF:FocalPlaneXResolution", "EXIF:SubjectArea"}


def exiftool(*args):
    """Tags with their groups; without its own interpretation."""
    done = subprocess.run(["exiftool", "-q", "-q", "-n", *map(str, args)], capture_output=True, check=True)
    return json.loads(done.stdout) if done.stdout.strip() else None


def tags(folder, *groups):
    """{file: {tag: value}}"""
    found = exiftool("-j", "-G", "-a", *[f"-{group}:all" for group in groups], folder)
    return {entry["SourceFile"].rsplit("/", 1)[1]: {tag: value for tag, value in entry.items() if tag != "SourceFile"} for entry in found}


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """One of each camera, byte orders by turns, some with a thumbnail."""
    folder, rng = tmp_path_factory.mktemp("photographs"), np.random.default_rng(5)
    thumbnail = "base64:" + base64.b64encode(jpegfile.encode(jpegfile.picture(rng, 30, 40))).decode()
    said = []
    for i, (name, camera) in enumerate(CAMERAS.items()):
        (folder / f"{name}.jpg").write_bytes(jpegfile.encode(jpegfile.picture(rng, 40, 60)))
        said.append({"SourceFile": f"{folder}/{name}.jpg", "ExifByteOrder": ("MM", "II")[i % 2], "EXIF:ExifImageWidth": 60,
                     "EXIF:ExifImageHeight": 40, **camera, **({"ThumbnailImage": thumbnail} if i % 3 == 0 else {})})
    (folder.parent / "said.json").write_text(json.dumps(said))
    exiftool("-overwrite_original", "-charset", "utf8", f"-j={folder.parent / 'said.json'}", folder)
    return folder


def test_cameras(tmp_path, photographs):
    """EXIF stays, byte for byte where no pixel moves; sizes and resolutions follow, and the thumbnail goes with a stage."""
    before = tags(photographs, "EXIF")
    assert sum("EXIF:ThumbnailOffset" in said for said in before.values()) == 7
    assert len(before) == len(CAMERAS) and all(len(said) > 5 for said in before.values())
    harness.run("-r", photographs, "--invert", tmp_path / "same")
    harness.run("-r", photographs, "--scale", "1/2", tmp_path / "half")
    harness.run("-r", photographs, "-f", "png", tmp_path / "png")
    same, half, png = (tags(tmp_path / name, "EXIF") for name in ("same", "half", "png"))
    for name, said in before.items():
        thumbnail = {tag for tag in said if "Thumbnail" in tag or tag == "EXIF:Compression"}
        rest = {tag: value for tag, value in said.items() if tag not in thumbnail}
        plain = {tag: value for tag, value in rest.items() if tag not in CHANGES}
        assert same[name] == rest, name
        assert {tag: half[name].get(tag) for tag in plain} == plain, name
        assert (half[name]["EXIF:ExifImageWidth"], half[name]["EXIF:ExifImageHeight"]) == (30, 20), name
        assert half[name]["EXIF:XResolution"] == said["EXIF:XResolution"] / 2, name
        assert set(said) - set(png[name.replace(".jpg", ".png")]) <= {"EXIF:ThumbnailImage"}, name


def test_cameras_by_way_of_tiff(tmp_path, photographs):
    """A TIFF has some tags of EXIF in its page; they are EXIF again in other formats. The description of a program is not."""
    before = tags(photographs, "EXIF")
    harness.run("-r", photographs, "-f", "tif", tmp_path / "tif")
    layouts = {"Compression", "YCbCrPositioning"}  # of a JPEG
    for suffix in ("tif", "jpg", "webp"):
        if suffix != "tif":
            harness.run("-r", tmp_path / "tif", "-f", suffix, tmp_path / suffix)
        after = tags(tmp_path / suffix, "EXIF")
        for name, said in before.items():
            plain = {tag: value for tag, value in said.items() if "Thumbnail" not in tag and tag[5:] not in layouts | {"Software"}
                     and (tag, value) != ("EXIF:Orientation", 0)}
            made = after[name.replace("jpg", suffix)]
            assert {tag: made.get(tag) for tag in plain} == plain, (suffix, name)
    harness.run(tmp_path / "tif" / "phase.tif", tmp_path / "phase.png")
    exiftool("-overwrite_original", "-ImageDescription={\"shape\": [40, 60, 3]}", tmp_path / "tif" / "phase.tif")
    harness.run(tmp_path / "tif" / "phase.tif", "--scale", "1/2", tmp_path / "half.jpg")
    assert "IFD0:ImageDescription" in exiftool("-j", "-G1", tmp_path / "phase.png")[0]
    assert "IFD0:ImageDescription" not in exiftool("-j", "-G1", tmp_path / "half.jpg")[0]
    # Nor is that of coefficients, and a long one does not push out all EXIF.
    harness.run("tif/nikon.tif", "--wavelet", "coefficients.tif", cwd=tmp_path)
    harness.run("coefficients.tif", "--inverse-wavelet", "again.tif", cwd=tmp_path)
    harness.run("--check", "again.tif", cwd=tmp_path)
    (tmp_path / "long").write_text("x" * 70000)
    exiftool("-overwrite_original", f"-ImageDescription<={tmp_path}/long", tmp_path / "tif" / "phase.tif")
    harness.run(tmp_path / "tif" / "phase.tif", "--scale", "1/2", tmp_path / "half.jpg")
    assert "ExifIFD:RecommendedExposureIndex" in exiftool("-j", "-G1", tmp_path / "half.jpg")[0]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientations(tmp_path, rng, orientation):
    data = jpegfile.encode(jpegfile.picture(rng, 21, 34))
    exif = Image.Exif()
    exif[274] = orientation
    (tmp_path / "in.jpg").write_bytes(jpegfile.insert(data, (0xE1, exif.tobytes())))
    harness.run(tmp_path / "in.jpg", "--auto-orient", tmp_path / "out.png")
    with Image.open(tmp_path / "in.jpg") as image:
        expected = np.asarray(ImageOps.exif_transpose(image))
    assert np.array_equal(pngfile.read_png(tmp_path / "out.png").samples, expected)
    harness.run(tmp_path / "in.jpg", "--invert", tmp_path / "out.jpg")
    harness.run(tmp_path / "out.png", "--auto-orient", "--invert", tmp_path / "upright.jpg")
    for name, value in (("out.jpg", orientation), ("upright.jpg", 1)):
        with Image.open(tmp_path / name) as image:
            assert image.getexif().get(274, 1) == value


def long_profile(size, rng):
    """sRGB's, and a tag of noise."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    profile += bytes(-len(profile) % 4)
    count = struct.unpack(">I", profile[128:132])[0]
    head, body = profile[:132 + 12 * count], profile[132 + 12 * count:]
    for i in range(count):  # they move behind an entry more
        at = 132 + 12 * i + 4
        head[at:at + 4] = struct.pack(">I", struct.unpack(">I", head[at:at + 4])[0] + 12)
    noise = b"data\0\0\0\0\0\0\0\1" + rng.bytes(size - len(head) - 12 - len(body) - 12)
    head[128:132] = struct.pack(">I", count + 1)
    head += b"nois" + struct.pack(">II", size - len(noise), len(noise))
    head[:4] = struct.pack(">I", size)
    return bytes(head + body + noise)


@pytest.mark.parametrize("size", [4000, 65516, 65520, 200_000])
def test_profiles(tmp_path, rng, size):
    """In several segments, in any order; one that lacks a part is left out and named; gray gets one of gray."""
    profile, data = long_profile(size, rng), jpegfile.encode(jpegfile.picture(rng, 16, 16))
    pieces = [profile[at:at + 60_000] for at in range(0, size, 60_000)]
    parts = [(0xE2, b"ICC_PROFILE\0" + bytes([i + 1, len(pieces)]) + piece) for i, piece in enumerate(pieces)]
    (tmp_path / "in.jpg").write_bytes(jpegfile.insert(data, *parts[::-1]))
    for words, name in ((["--invert"], "out.jpg"), ([], "out.tif"), ([], "out.png")):
        harness.run(tmp_path / "in.jpg", *words, tmp_path / name)
        with Image.open(tmp_path / name) as image:
            assert image.info["icc_profile"] == profile, name
    for name in ("out.tif", "out.png"):
        harness.run(tmp_path / name, tmp_path / "again.jpg")
        with Image.open(tmp_path / "again.jpg") as image:
            assert image.info["icc_profile"] == profile, name
    if len(parts) > 1:
        (tmp_path / "in.jpg").write_bytes(jpegfile.insert(data, *parts[1:]))
        assert "left out: the ICC profile, which is damaged" in harness.run("-v", tmp_path / "in.jpg", "--invert", tmp_path / "out.jpg").err
        with Image.open(tmp_path / "out.jpg") as image:
            assert "icc_profile" not in image.info
    (tmp_path / "in.jpg").write_bytes(jpegfile.insert(jpegfile.encode(jpegfile.picture(rng, 16, 16, 1)), *parts))
    harness.run(tmp_path / "in.jpg", "--invert", tmp_path / "out.jpg")
    with Image.open(tmp_path / "out.jpg") as image:
        assert image.info["icc_profile"][16:20] == b"GRAY"



def test_xmp_iptc_comments_and_density(tmp_path, rng):
    """Through a stage; a second comment, IPTC beside other resources of Photoshop, and pixels of 300 an inch."""
    path = tmp_path / "in.jpg"
    path.write_bytes(jpegfile.encode(jpegfile.picture(rng, 40, 60), dpi=(300, 300)))
    exiftool("-overwrite_original", "-XMP:Title=Über allen Gipfeln", "-XMP:Creator=A. Nobody", "-IPTC:Keywords=one", "-IPTC:Keywords=two",
             "-IPTC:Caption-Abstract=a caption", "-Photoshop:CopyrightFlag=1", "-Comment=first", "-charset", "utf8", path)
    path.write_bytes(jpegfile.insert(path.read_bytes(), (0xFE, "zweiter, grün".encode("latin-1")), (0xEB, b"JP\0\1 whatever")))
    said = harness.run("-v", path, "--scale", "1/2", tmp_path / "out.jpg").err
    assert "left out: " in said and "Photoshop's resources" in said and "APP11 (JP)" in said
    before, after = (exiftool("-j", "-G", "-a", name)[0] for name in (path, tmp_path / "out.jpg"))
    for tag in ("XMP:Title", "XMP:Creator", "IPTC:Keywords", "IPTC:Caption-Abstract"):
        assert after[tag] == before[tag], tag
    assert (after["JFIF:ResolutionUnit"], after["JFIF:XResolution"], after["JFIF:YResolution"]) == (1, 150, 150)
    comments = [payload.decode() for marker, payload in jpegfile.segments((tmp_path / "out.jpg").read_bytes())[0] if marker == 0xFE]
    assert comments[0].startswith("Software: climg ") and comments[1:] == ["zweiter, grün", "first"]
    harness.run(path, tmp_path / "out.tif")
    kept = exiftool("-j", "-G", tmp_path / "out.tif")[0]
    assert kept["IPTC:Keywords"] == ["one", "two"] and kept["XMP:Title"] == "Über allen Gipfeln" and kept["EXIF:XResolution"] == 300


@pytest.mark.parametrize("cut", [40, 65_000, 65_519])
def test_iptc_in_several_segments(tmp_path, rng, cut):
    """A resource goes on in the next segment of Photoshop's, wherever it is cut; and so does what climg writes."""
    record = b"".join(b"\x1c\x02\x19" + struct.pack(">H", 60) + f"{i:060}".encode() for i in range(1500))
    resources = b"8BIM\x04\x04\0\0" + struct.pack(">I", len(record)) + record + bytes(len(record) % 2) + b"8BIM\x03\xed\0\0\0\0\0\2ab"
    pieces = [resources[:cut]] + [resources[at:at + 65_000] for at in range(cut, len(resources), 65_000)]
    path = tmp_path / "in.jpg"
    path.write_bytes(jpegfile.insert(jpegfile.encode(jpegfile.picture(rng, 16, 16)), *[(0xED, b"Photoshop 3.0\0" + piece) for piece in pieces]))
    assert "left out: Photoshop's resources" in harness.run("-v", path, "--blur", "1", tmp_path / "out.jpg").err
    harness.run(tmp_path / "out.jpg", "--flip", "h", tmp_path / "out.tif")
    for name in ("in.jpg", "out.jpg", "out.tif"):
        assert exiftool("-j", "-G", tmp_path / name)[0]["IPTC:Keywords"] == [f"{i:060}" for i in range(1500)], name


def test_several_resources_of_iptc(tmp_path, rng):
    """Each whole in a segment of its own; the first lacks the byte that makes its size even."""
    parts = [b"Photoshop 3.0\0" + b"8BIM\x04\x04\0\0" + struct.pack(">I", 8) + b"\x1c\x02\x19\0\3" + word for word in (b"one", b"two")]
    parts[0] = b"Photoshop 3.0\0" + b"8BIM\x04\x04\0\0" + struct.pack(">I", 9) + b"\x1c\x02\x19\0\4" + b"zero"
    path = tmp_path / "in.jpg"
    path.write_bytes(jpegfile.insert(jpegfile.encode(jpegfile.picture(rng, 16, 16)), *[(0xED, part) for part in parts]))
    harness.run(path, "--invert", tmp_path / "out.jpg")
    assert exiftool("-j", "-G", tmp_path / "out.jpg")[0]["IPTC:Keywords"] == ["zero", "two"]


# ---------------------------------------------------------------- pictures and videos after the first picture

RDF = ('<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
       'xmlns:dc="http://purl.org/dc/elements/1.1/" dc:format="image/jpeg" %s>%s</rdf:Description></rdf:RDF></x:xmpmeta>')
CONTAINER = ('xmlns:Container="http://ns.google.com/photos/1.0/container/" xmlns:Item="http://ns.google.com/photos/1.0/container/item/"',
             '<Container:Directory><rdf:Seq><rdf:li rdf:parseType="Resource"><Container:Item Item:Semantic="Primary" Item:Mime="image/jpeg"/></rdf:li>'
             '<rdf:li rdf:parseType="Resource"><Container:Item Item:Semantic="%s" Item:Mime="image/jpeg" Item:Length="9"/></rdf:li></rdf:Seq></Container:Directory>')
CAMERA = 'xmlns:%s="http://ns.google.com/photos/1.0/camera/"'
XMP = b"http://ns.adobe.com/xap/1.0/\0"
GAIN_MAP, VIDEO, FURTHER = "the gain map for HDR", "the video of a motion photo", "further pictures"


def index_of_pictures(kind, order="<"):
    """MPF's, of two pictures, the second of that kind."""
    mark = b"II*\0" if order == "<" else b"MM\0*"
    return (0xE2, b"MPF\0" + mark + struct.pack(order + "IH", 8, 3) + struct.pack(order + "HHI4s", 0xB000, 7, 4, b"0100")
            + struct.pack(order + "HHII", 0xB001, 4, 1, 2) + struct.pack(order + "HHII", 0xB002, 7, 32, 50) + struct.pack(order + "I", 0)
            + struct.pack(order + "IIIHH", 0x30000, 0, 0, 0, 0) + struct.pack(order + "IIIHH", kind, 9, 0, 0, 0))


def xmp(attributes, elements=""):
    return (0xE1, XMP + (RDF % (attributes, elements)).encode())


SECOND = jpegfile.encode(np.zeros((8, 8, 1), np.uint8))
COMPANIONS = {
    "Ultra HDR": ([xmp(CONTAINER[0] + ' xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" hdrgm:Version="1.0"', CONTAINER[1] % "GainMap"), index_of_pictures(0)], SECOND, GAIN_MAP),
    "other prefixes": ([xmp('xmlns:h="http://ns.adobe.com/hdr-gain-map/1.0/" xmlns:C = "http://ns.google.com/photos/1.0/container/"',
                            "<h:Version>1.0</h:Version><h:GainMapMax><rdf:Seq><rdf:li>1</rdf:li></rdf:Seq></h:GainMapMax><C:Directory><rdf:Seq/></C:Directory>")], SECOND, GAIN_MAP),
    "ISO 21496-1": ([(0xE2, b"urn:iso:std:iso:ts:21496:-1\0\0\0\0\0"), index_of_pictures(0, ">")], SECOND, GAIN_MAP),
    "Apple": ([index_of_pictures(0)], jpegfile.insert(SECOND, xmp('xmlns:HDRGainMap="http://ns.apple.com/HDRGainMap/1.0/" HDRGainMap:HDRGainMapVersion="65536"')), FURTHER),
    "gain map after padding, without an index": ([], bytes(40) + jpegfile.insert(SECOND, xmp('xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" hdrgm:Version="1.0"')), GAIN_MAP),
    "MicroVideo": ([xmp(CAMERA % "GCamera" + ' GCamera:MicroVideo="1" GCamera:MicroVideoVersion="1" GCamera:MicroVideoOffset="24"')], b"\0\0\0\x18ftypmp42" + bytes(12), VIDEO),
    "MotionPhoto": ([xmp(CAMERA % "Camera" + " " + CONTAINER[0] + ' Camera:MotionPhoto="1" Camera:MotionPhotoVersion="1"', CONTAINER[1] % "MotionPhoto")], b"\0\0\0\x18ftypmp42", VIDEO),
    "Samsung's": ([], b"\0\0\x30\x0a\x10\0\0\0MotionPhoto_Data\0\0\0\x18ftypmp42" + bytes(99) + b"SEFT", VIDEO),
    "video without a word": ([], b"\0\0\0\x18ftypmp42" + bytes(12), VIDEO),
    "both eyes": ([index_of_pictures(0x20002)], SECOND, FURTHER),
    "another picture": ([], SECOND, FURTHER),
    "a preview": ([index_of_pictures(0x10001)], SECOND, None),
    "no motion": ([xmp(CAMERA % "GCamera" + ' GCamera:MotionPhoto="0" GCamera:MicroVideo="0"')], b"", None),
    "extended XMP": ([xmp('xmlns:xmpNote="http://ns.adobe.com/xmp/note/" xmpNote:HasExtendedXMP="0123456789ABCDEF0123456789ABCDEF"'),
                      (0xE1, b"http://ns.adobe.com/xmp/extension/\0" + b"0123456789ABCDEF0123456789ABCDEF" + struct.pack(">II", 3, 0) + b"<x>")], b"", None),
}


@pytest.mark.parametrize("kind", COMPANIONS)
def test_companions_are_left_out_with_a_warning(tmp_path, rng, kind):
    """Also from a lossless turn and in other formats; XMP no longer speaks of them, and the rest of it stays. A copy has all."""
    segments, behind, said = COMPANIONS[kind]
    path = tmp_path / "in.jpg"
    path.write_bytes(jpegfile.insert(jpegfile.encode(jpegfile.picture(rng, 16, 32)), *segments) + behind)
    for words, name, expected in ((["--blur", "1"], "out.jpg", said), (["--rotate", "90"], "out.jpg", said), ([], "out.png", said), (["--flip", "v"], "out.tif", said)):
        told = harness.run("-y", path, *words, tmp_path / name).err
        assert told == (f"climg: {path}: warning: only its first picture is read; left out: {expected}\n" if expected else ""), words
        data = (tmp_path / name).read_bytes()
        for word in (b"hdrgm", b"hdr-gain-map", b"GainMap", b"Container", b"Item:", b"MotionPhoto", b"MicroVideo", b"HasExtendedXMP", b"MPF\0", b"21496"):
            assert word not in data, (word, words)
        assert (b'dc:format="image/jpeg"' in data) == any(segment[0] == 0xE1 for segment in segments)
    harness.run("-y", path, tmp_path / "copy.jpg")
    harness.run("--in-place", tmp_path / "copy.jpg")
    assert (tmp_path / "copy.jpg").read_bytes() == path.read_bytes()
    if said:
        data = path.read_bytes()
        for words in ([path, "--rotate", "90"], [path, "--blur", "1"], [path, tmp_path / "copy.jpg", "--blur", "1"]):
            assert f"--in-place would lose {said}; write to" in harness.run("--in-place", *words, status=1).err
            assert path.read_bytes() == (tmp_path / "copy.jpg").read_bytes() == data
    if said and segments:
        assert said in harness.run("--info", path).out.decode()


def test_picture_after_cmyk(tmp_path, rng):
    Image.fromarray(rng.integers(0, 256, (16, 16, 4), np.uint8), "CMYK").save(tmp_path / "in.jpg")
    with open(tmp_path / "in.jpg", "ab") as file:
        file.write(SECOND)
    said = harness.run(tmp_path / "in.jpg", tmp_path / "out.png").err.splitlines()
    assert said[1:] == [f"climg: {tmp_path}/in.jpg: warning: only its first picture is read; left out: {FURTHER}"]


def test_texts_of_other_formats(tmp_path, rng):
    """They are comments that begin with their key, and texts again on the way back."""
    pngfile.write_png(tmp_path / "in.png", jpegfile.picture(rng, 9, 9), chunks=[
        ("tEXt", b"Title\0a title"), ("tEXt", b"Make\0a maker"), ("tEXt", b"Comment\0said of it"), ("tEXt", b"My own\0words"), ("iTXt", b"Author\0\0\0de\0\0Niemand"), ("pHYs", struct.pack(">IIB", 11811, 11811, 1))])
    assert "left out: the languages of texts" in harness.run("-v", tmp_path / "in.png", tmp_path / "out.jpg").err
    with Image.open(tmp_path / "out.jpg") as image:
        assert image.info["dpi"] == (300, 300) and image.info["comment"] == b"said of it"
    harness.run(tmp_path / "out.jpg", tmp_path / "back.png")
    with Image.open(tmp_path / "back.png") as image:
        assert (image.text["Title"], image.text["Software"].split()[0]) == ("a title", "climg")
    harness.run(tmp_path / "out.jpg", tmp_path / "back.tif")
    with Image.open(tmp_path / "back.tif") as image:
        assert (image.tag_v2[269], image.tag_v2[271]) == ("a title", "a maker")
    made = (tmp_path / "out.jpg").stat().st_ino
    for words, again in (([], False), (["--quality", "50"], True)):
        harness.run("--resume", *words, tmp_path / "in.png", tmp_path / "out.jpg")
        assert ((tmp_path / "out.jpg").stat().st_ino != made) == again


@pytest.mark.parametrize("chunk, dots", [((100_000, 50_000, 0), b"\0\x27\x10\x13\x88"), ((5, 5, 1), None), ((2**31 - 1, 11811, 1), None)])
def test_resolution_beyond_jfif(tmp_path, rng, chunk, dots):
    """An aspect ratio is scaled to 16 bits; a resolution that does not fit them is named."""
    pngfile.write_png(tmp_path / "in.png", jpegfile.picture(rng, 9, 9), chunks=[("pHYs", struct.pack(">IIB", *chunk))])
    said = harness.run("-v", tmp_path / "in.png", tmp_path / "out.jpg").err
    assert (tmp_path / "out.jpg").read_bytes()[13:18] == (dots or b"\0\0\1\0\1") and ("left out: the resolution" in said) == (dots is None)


def test_strip(tmp_path, photographs):
    """All goes but what says how pixels are to be seen."""
    harness.run("--strip", photographs / "canon.jpg", "--invert", tmp_path / "out.jpg")
    found = exiftool("-j", "-G", tmp_path / "out.jpg")[0]
    assert not any(tag in found for tag in ("EXIF:Make", "EXIF:ISO", "File:Comment", "EXIF:OwnerName"))


def test_what_is_too_large_is_left_out(tmp_path, rng):
    """Segments have 64 KiB."""
    xmp = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'>" + b" " * 70_000 + b"</x:xmpmeta>"
    exif = Image.Exif()
    exif[270] = "x" * 70_000
    exif[274] = 6
    pngfile.write_png(tmp_path / "in.png", jpegfile.picture(rng, 9, 9), chunks=[
        ("iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp), ("eXIf", exif.tobytes()[6:])])
    said = harness.run("-v", tmp_path / "in.png", tmp_path / "out.jpg").err
    assert 'the text "XML:com.adobe.xmp"' in said and "EXIF, which is larger than 64 KiB" in said
    with Image.open(tmp_path / "out.jpg") as image:
        assert dict(image.getexif()) == {274: 6}
