"""Y4M against ffmpeg, x264, numpy and scipy: every form of colour and depth, what the stream's lines say, stages on its planes, and
streams that end too early."""

import json
import subprocess

import numpy as np
import pytest
import scipy.ndimage

import harness

# Name: samples of brightness for one of colour, across and down; None: there is none.
FORMS = {"420jpeg": (2, 2), "420mpeg2": (2, 2), "420paldv": (2, 2), "420": (2, 2), "422": (2, 1), "444": (1, 1), "440": (1, 2), "411": (4, 1),
         "mono": None}
SMALLER = {name: by for name, by in FORMS.items() if name[3:] == ""}
DEPTHS = [8, 9, 10, 12, 14, 16]


def tag(form, bits):
    return form if bits == 8 else f"{form}{'' if form == 'mono' else 'p'}{bits}"


KINDS = [(form, 8) for form in FORMS] + [(form, bits) for form in [*SMALLER, "mono"] for bits in DEPTHS[1:]]


def sizes(form, width, height):
    """Returns the planes' sizes as numpy's shapes."""
    if FORMS[form] is None:
        return [(height, width)]
    across, down = FORMS[form]
    return [(height, width)] + 2 * [(-(-height // down), -(-width // across))]


def dtype(bits):
    return "u1" if bits == 8 else "<u2"


def frames_of(rng, form, bits, width=37, height=29, count=3):
    return [[rng.integers(0, 1 << bits, size).astype(dtype(bits)) for size in sizes(form, width, height)] for _ in range(count)]


def y4m(frames, header, lines=(b"FRAME",)):
    return header.encode() + b"\n" + b"".join(lines[i % len(lines)] + b"\n" + b"".join(plane.tobytes() for plane in frame)
                                              for i, frame in enumerate(frames))


def header_of(frames, form, bits, more="F25:1 Ip A1:1"):
    height, width = frames[0][0].shape
    return f"YUV4MPEG2 W{width} H{height} {more} C{tag(form, bits)}"


def planes_in(data, form, bits):
    """The stream's line, and the planes of each frame."""
    header, rest = data.split(b"\n", 1)
    words = {word[:1]: word[1:] for word in header.split()[1:]}
    shapes, frames = sizes(form, int(words[b"W"]), int(words[b"H"])), []
    while rest:
        line, rest = rest.split(b"\n", 1)
        assert line.startswith(b"FRAME")
        frames.append([])
        for shape in shapes:
            plane = np.frombuffer(rest, dtype(bits), shape[0] * shape[1]).reshape(shape)
            frames[-1].append(plane)
            rest = rest[plane.nbytes:]
    return header.decode(), frames


def through(data, *args):
    return harness.run("-", *args, "-f", "y4m", "-", stdin=data).out


def ffmpeg(*args, stdin=None):
    return subprocess.run(["ffmpeg", "-v", "error", *map(str, args)], input=stdin, stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.parametrize("form,bits", KINDS)
def test_nothing_changes_without_stages(tmp_path, rng, form, bits):
    """No byte, from a pipe and from a file."""
    frames = frames_of(rng, form, bits, *[(37, 29), (1, 1), (64, 2)][rng.integers(3)])
    data = y4m(frames, header_of(frames, form, bits))
    assert through(data) == data
    (tmp_path / "in.y4m").write_bytes(data)
    harness.run("in.y4m", "out.y4m", cwd=tmp_path)
    assert (tmp_path / "out.y4m").read_bytes() == data


def test_verified(rng):
    """--verify does each page a second time, and gives the same bytes."""
    frames = frames_of(rng, "420jpeg", 8)
    data = y4m(frames, header_of(frames, "420jpeg", 8))
    assert through(data, "--verify=100", "--blur", "2") == through(data, "--blur", "2")


HEADERS = ["YUV4MPEG2 C420p10 W{w} H{h} F24000:1001 Ip A0:0 XLENGTH=3", "YUV4MPEG2 W{w} H{h} F30:1 It A10:11 C420p10 XYSCSS=420P10 XCOLORRANGE=FULL",
           "YUV4MPEG2 H{h} W{w} C420p10 Im"]


@pytest.mark.parametrize("header", HEADERS)
def test_what_the_lines_say_is_kept(rng, header):
    """In its order, as vspipe and ffmpeg have it; but for the size, where that changes."""
    frames = frames_of(rng, "420", 10, 16, 12)
    lines = [b"FRAME", b"FRAME Ixyz XA=1", b"FRAME"]
    data = y4m(frames, header.format(w=16, h=12), lines)
    assert through(data) == data
    assert through(data, "--strip") == data
    result = through(data, "--crop", "8x6+4+2")
    small = [[plane[2 // by:8 // by, 4 // by:12 // by] for plane, by in zip(frame, (1, 2, 2))] for frame in frames]
    assert result == y4m(small, header.format(w=8, h=6), lines)


def test_without_a_form_it_is_420(rng):
    frames = frames_of(rng, "420", 8)
    data = y4m(frames, "YUV4MPEG2 W37 H29 F25:1")
    assert through(data) == data


@pytest.mark.parametrize("form", ["yuv420p", "yuv422p", "yuv444p", "yuv411p", "gray", "gray10", "gray16", "yuv420p10", "yuv422p10", "yuv444p12",
                                  "yuv420p16"])
def test_ffmpeg_reads_the_same(tmp_path, form):
    """Its checksums of the frames it wrote, and of what climg made of them, are the same; a stage's output has as many frames."""
    given = ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=30", "-frames:v", 4, "-pix_fmt", form, "-strict", -1, "-f", "yuv4mpegpipe", "-")
    def sums(data):
        return ffmpeg("-i", "-", "-f", "framemd5", "-", stdin=data)
    assert through(given) == given and sums(through(given)) == sums(given)
    small = sums(through(given, "--scale", "1/2")).decode()
    assert "#dimensions 0: 32x24" in small and len([line for line in small.splitlines() if line[0] != "#"]) == 4


@pytest.mark.parametrize("form", ["420jpeg", "422", "444"])
def test_x264_reads_what_is_written(tmp_path, rng, form):
    """Coded without loss, ffmpeg finds climg's planes in it again."""
    given = y4m(frames_of(rng, form, 8, 48, 32), f"YUV4MPEG2 W48 H32 F25:1 Ip A1:1 C{form}")
    made = through(given, "--flip", "h")
    (tmp_path / "out.y4m").write_bytes(made)
    subprocess.run(["x264", "--quiet", "--qp", "0", "--output-csp", f"i{form[:3]}", "-o", "out.264", "out.y4m"], cwd=tmp_path, check=True,
                   capture_output=True)
    raw = ffmpeg("-i", tmp_path / "out.264", "-f", "rawvideo", "-")
    assert raw == b"".join(plane.tobytes() for frame in planes_in(made, form, 8)[1] for plane in frame)


def moved(plane, stage):
    return {"flip": np.fliplr(plane), "rotate": np.rot90(plane, -1)}[stage]


@pytest.mark.parametrize("form,bits", [("420jpeg", 8), ("444", 8), ("420", 10), ("mono", 16), ("422", 8)])
@pytest.mark.parametrize("stage,value", [("flip", "h"), ("rotate", "90")])
def test_moves(rng, form, bits, stage, value):
    """Samples are copied. Of 4:2:2, whose colour lies on the left samples, a mirrored picture has them all only if its width is odd."""
    frames = frames_of(rng, form, bits, 49 if (form, stage) == ("422", "flip") else 48, 20)
    data = y4m(frames, header_of(frames, form, bits))
    if (form, stage) == ("422", "rotate"):
        said = harness.run("-", "--rotate", "90", "-f", "y4m", "-", stdin=data, status=1).err
        assert "chroma has 20x24 samples now, but a Y4M of this form needs 10x48" in said
        return
    expected = [[moved(plane, stage) for plane in frame] for frame in frames]
    assert through(data, f"--{stage}", value) == y4m(expected, header_of(expected, form, bits))


# The place of the first sample of colour, in samples of brightness right of and below the first.
SITES = {"420jpeg": (0.5, 0.5), "420mpeg2": (0, 0.5), "420paldv": (0, 0), "420": (0.5, 0.5), "422": (0, 0), "411": (0, 0), "440": (0, 0.5)}


@pytest.mark.parametrize("form", SITES)
@pytest.mark.parametrize("width,height", [(64, 48), (65, 47)])
def test_moves_keep_the_siting(form, width, height):
    """Brightness and colour are one ramp over the picture. They agree at each sample of colour afterwards, but for the border, where
    colour has to be interpolated."""
    (across, down), (left, top) = FORMS[form], SITES[form]
    y, x = np.mgrid[:height, :width]
    rows, columns = np.mgrid[:-(-height // down), :-(-width // across)]
    colour = 2 * (columns * across + left) + 2 * (rows * down + top)
    frame = [np.round(plane).astype("u1") for plane in (2 * x + 2 * y, colour, colour)]
    for stage, value in (("flip", "h"), ("flip", "v"), ("rotate", "180"), ("rotate", "90")):
        if value == "90" and across != down:
            continue
        (bright, blue, red), = planes_in(through(y4m([frame], header_of([frame], form, 8)), f"--{stage}", value), form, 8)[1]
        rows, columns = np.mgrid[3:blue.shape[0] - 3, 3:blue.shape[1] - 3]
        there = scipy.ndimage.map_coordinates(bright.astype(float), [rows * down + top, columns * across + left], order=1)
        assert np.abs(blue[3:-3, 3:-3] - there).max() <= 0.51, (stage, value)
        assert np.array_equal(blue, red)


@pytest.mark.parametrize("form,bits", [(form, 8) for form in SMALLER] + [("mono", 8), ("420", 10), ("444", 16)])
@pytest.mark.parametrize("sigma", [3, 7, 14])
def test_blur_follows_the_size_of_colour(rng, form, bits, sigma):
    """scipy's Gaussian of each plane, with as many of its own pixels. The wider ones run on a coarser grid."""
    frames = frames_of(rng, form, bits, 61, 43)
    _, made = planes_in(through(y4m(frames, header_of(frames, form, bits)), "--blur", sigma), form, bits)
    for frame, result in zip(frames, made, strict=True):
        for i, (plane, blurred) in enumerate(zip(frame, result, strict=True)):
            across, down = FORMS[form] if i > 0 else (1, 1)
            expected = scipy.ndimage.gaussian_filter(plane.astype(float), (sigma / down, sigma / across), mode="nearest", truncate=8)
            assert np.abs(blurred - expected).max() < 0.51 + 1e-5 * (1 << bits)


def test_convolve_of_444(tmp_path, rng):
    """The kernel comes from a file."""
    (tmp_path / "kernel.txt").write_text("0 1 0\n1 4 1\n0 1 0\n")
    frames = frames_of(rng, "444", 8)
    data = harness.run("-", "--convolve", "@kernel.txt", "-f", "y4m", "-", stdin=y4m(frames, header_of(frames, "444", 8)), cwd=tmp_path).out
    for frame, result in zip(frames, planes_in(data, "444", 8)[1], strict=True):
        for plane, made in zip(frame, result, strict=True):
            expected = scipy.ndimage.correlate(plane.astype(float), np.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / 8, mode="nearest")
            assert np.abs(made - expected).max() < 0.501


@pytest.mark.parametrize("radius", [1, 2, 3])
@pytest.mark.parametrize("form", ["420", "422", "444"])
def test_median_follows_the_size_of_colour(rng, form, radius):
    """The window stays square."""
    frames = frames_of(rng, form, 8)
    _, made = planes_in(through(y4m(frames, header_of(frames, form, 8)), "--median", radius), form, 8)
    for frame, result in zip(frames, made, strict=True):
        for plane, filtered, reach in zip(frame, result, (radius, -(-radius // FORMS[form][0]), -(-radius // FORMS[form][0]))):
            assert np.array_equal(filtered, scipy.ndimage.median_filter(plane, 2 * reach + 1, mode="nearest"))


@pytest.mark.parametrize("value", ["2", "1/2"])
@pytest.mark.parametrize("width,height", [(36, 28), (37, 29)])
def test_scale(rng, value, width, height):
    """4:2:0, also of odd sizes: each plane equals the plane scaled alone (invariance; test_scale.py has the mathematics)."""
    frames = frames_of(rng, "420", 8, width, height, 2)
    header, made = planes_in(through(y4m(frames, header_of(frames, "420", 8)), "--scale", value), "420", 8)
    for frame, result in zip(frames, made, strict=True):
        for plane, scaled in zip(frame, result, strict=True):
            alone = planes_in(through(y4m([[plane]], header_of([[plane]], "mono", 8)), "--scale", value), "mono", 8)[1][0][0]
            assert np.array_equal(scaled, alone[:scaled.shape[0], :scaled.shape[1]])


@pytest.mark.parametrize("size", ["50x31", "20x", "37%"])
def test_sizes_of_resize_and_crop_are_halved(rng, size):
    for form in SMALLER:
        frames = frames_of(rng, form, 8, 66, 46)
        header, made = planes_in(through(y4m(frames, header_of(frames, form, 8)), "--resize", size), form, 8)
        assert len(made) == 3
    frames = frames_of(rng, "420", 8, 66, 46)
    _, made = planes_in(through(y4m(frames, header_of(frames, "420", 8)), "--crop", "21x31+4+6"), "420", 8)
    for frame, result in zip(frames, made, strict=True):
        assert np.array_equal(result[0], frame[0][6:37, 4:25]) and np.array_equal(result[2], frame[2][3:19, 2:13])


@pytest.mark.parametrize("width, height, size", [(61, 47, "122x94"), (101, 33, "1000x"), (192, 108, "85x47"), (64, 48, "129x97")])
def test_resize_keeps_colour_on_brightness(size, width, height):
    """A ramp in all planes, whose values are places in pixels of brightness, stays one: colour lies at most a quarter of its pixel off."""
    x, y = np.arange(width), np.arange(-(-width // 2))
    ramps = [np.tile(np.round(128 + 320 * row), (rows, 1)).astype("<u2")
             for row, rows in ((x, height), (2 * y + 0.5, -(-height // 2)), (2 * y + 0.5, -(-height // 2)))]
    (bright, blue, _), = planes_in(through(y4m([ramps], header_of([ramps], "420", 16)), "--resize", f"{size},filter=bilinear"), "420", 16)[1]
    inner = slice(blue.shape[1] // 10, blue.shape[1] * 9 // 10)
    there = np.interp(2 * np.arange(blue.shape[1]) + 0.5, np.arange(bright.shape[1]), bright[0].astype(float))
    assert np.abs(blue[0, inner] - there[inner]).max() <= 320 * 0.25 * 2


def test_extend(rng):
    """By the pixels of the border, in all planes."""
    frames = frames_of(rng, "420", 8, 40, 30)
    _, made = planes_in(through(y4m(frames, header_of(frames, "420", 8)), "--extend", "50x44+4+6,color=edge"), "420", 8)
    for frame, result in zip(frames, made, strict=True):
        assert np.array_equal(result[0], np.pad(frame[0], ((6, 8), (4, 6)), "edge"))
        assert np.array_equal(result[1], np.pad(frame[1], ((3, 4), (2, 3)), "edge"))


def test_border(rng):
    frames = frames_of(rng, "420", 8, 40, 30)
    _, made = planes_in(through(y4m(frames, header_of(frames, "420", 8)), "--border", "4x6,color=edge"), "420", 8)
    for frame, result in zip(frames, made, strict=True):
        assert np.array_equal(result[0], np.pad(frame[0], ((6, 6), (4, 4)), "edge"))
        assert np.array_equal(result[1], np.pad(frame[1], ((3, 3), (2, 2)), "edge"))
    _, made = planes_in(through(y4m(frames, header_of(frames, "420", 8)), "--border", "-4x-6"), "420", 8)
    for frame, result in zip(frames, made, strict=True):
        assert np.array_equal(result[0], frame[0][6:-6, 4:-4]) and np.array_equal(result[2], frame[2][3:-3, 2:-2])


def test_rotation_without_corners(rng):
    """Nothing beyond the picture is seen, so outside=edge is not asked for. Brightness is scipy's, colour has half its size."""
    frames = [[np.full_like(plane, 99) if i else plane for i, plane in enumerate(frame)] for frame in frames_of(rng, "420", 8, 61, 45, 1)]
    data = through(y4m(frames, header_of(frames, "420", 8)), "--rotate", "8,crop=inside,filter=bilinear")
    _, [made] = planes_in(data, "420", 8)
    (height, width), cosine, sine = made[0].shape, np.cos(np.radians(8)), np.sin(np.radians(8))
    assert made[1].shape == (-(-height // 2), -(-width // 2)) and np.all(made[1] == 99) and np.all(made[2] == 99)
    matrix, centre = np.array([[cosine, -sine], [sine, cosine]]), np.array([(height - 1) / 2, (width - 1) / 2])
    luma = scipy.ndimage.affine_transform(frames[0][0].astype(float), matrix, np.array([22, 30]) - matrix @ centre, (height, width), order=1, mode="nearest")
    assert np.abs(made[0] - luma).max() < 0.51


def test_warp_moves_colour_with_brightness(rng):
    """A shift by whole pixels of colour, which copies all planes."""
    frames = frames_of(rng, "420", 8, 40, 30)
    _, made = planes_in(through(y4m(frames, header_of(frames, "420", 8)), "--warp", "1 0 4 0 1 -2,outside=edge,filter=nearest"), "420", 8)
    for frame, result in zip(frames, made, strict=True):
        for plane, warped, by in zip(frame, result, (1, 2, 2)):
            x, y = np.clip(np.arange(plane.shape[1]) + 4 // by, 0, plane.shape[1] - 1), np.clip(np.arange(plane.shape[0]) - 2 // by, 0, None)
            assert np.array_equal(warped, plane[np.ix_(y, x)])


def test_noise_is_held_for_24_frames(rng):
    """--denoise finds it in the first frame, for brightness and colour, and in the 25th. Invariance: the same frame behind others."""
    shapes = sizes("420", 64, 48)
    noisy, calm = ([rng.normal(128, sigma, shape).clip(0, 255).astype("u1") for shape in shapes] for sigma in (25, 4))
    def denoised(*frames):
        data = y4m(frames, header_of(frames, "420", 8))
        whole, slices = (harness.run("-", "--denoise=auto,levels=3", "-f", "y4m", "-", stdin=data, env=env).out for env in ({}, {"CLIMG_SLICE": "16"}))
        assert whole == slices
        return planes_in(whole, "420", 8)[1]
    alone, held, later = denoised(calm)[0], denoised(noisy, calm, noisy, calm), denoised(*[noisy] * 24, calm)
    for i in range(3):
        assert np.array_equal(held[1][i], held[3][i]) and not np.array_equal(held[1][i], alone[i])
        assert np.array_equal(later[24][i], alone[i])


def test_timing_tells_frames_a_second(tmp_path, rng):
    frames = frames_of(rng, "420", 8)
    (tmp_path / "in.y4m").write_bytes(y4m(frames, header_of(frames, "420", 8)))
    table = harness.run("in.y4m", "--flip", "h", "--timing", "out.y4m", cwd=tmp_path).err.splitlines()[-1].split()
    assert table[:2] == ["frames", "3"] and float(table[2]) > 0 and table[3:] == ["a", "second"]
    harness.run("in.y4m", "--flip", "h", "--timing=json:t.json", "out.y4m", cwd=tmp_path)
    told = json.loads((tmp_path / "t.json").read_text())
    assert told["frames"] == 3 and told["frames_per_s"] > 0


@pytest.mark.parametrize("pages,kept", [("2", [1]), ("2-3", [1, 2]), ("4-", None), ("1", [0])])
def test_pages_are_frames(rng, pages, kept):
    frames = frames_of(rng, "420", 8)
    data = y4m(frames, header_of(frames, "420", 8))
    if kept is None:
        assert "there is no page 4; the file has 3" in harness.run("-", "--page", "4", "-f", "y4m", "-", stdin=data, status=1).err
        return
    assert through(data, "--page", pages) == y4m([frames[i] for i in kept], header_of(frames, "420", 8))


@pytest.mark.parametrize("pages,length", [((), 3), (("--page", "2-3"), 2), (("--page", "2"), 1), (("--page", "3-9"), 1), (("--page", "1-2"), 2)])
def test_length_follows_pages(rng, pages, length):
    frames = frames_of(rng, "420", 8)
    header, made = planes_in(through(y4m(frames, header_of(frames, "420", 8) + " XLENGTH=3"), *pages), "420", 8)
    assert header.split()[-1] == f"XLENGTH={length}" and len(made) == length


def test_gray_pictures_are_written(tmp_path, rng):
    samples = rng.integers(0, 65536, (9, 11)).astype(np.uint16)
    harness.write_tiff(tmp_path / "in.tif", samples[..., None])
    harness.run("in.tif", "out.y4m", cwd=tmp_path)
    header, frames = planes_in((tmp_path / "out.y4m").read_bytes(), "mono", 16)
    assert header.endswith("Cmono16") and np.array_equal(frames[0][0], samples)
    harness.run("out.y4m", "back.tif", cwd=tmp_path)
    assert np.array_equal(harness.read_tiff(tmp_path / "back.tif")[..., 0], samples)


@pytest.mark.parametrize("left", [1, 700, 1608])
def test_a_cut_frame_is_an_error_after_the_whole_ones(rng, left):
    frames = frames_of(rng, "420", 8, height=30)
    data = y4m(frames, header_of(frames, "420", 8))
    size = sum(plane.nbytes for plane in frames[0]) + len("FRAME\n")
    whole = len(data) - size
    done = harness.run("-", "--flip", "v", "-f", "y4m", "-", stdin=data[:whole + left], status=1)
    assert done.out == y4m([[plane[::-1] for plane in frame] for frame in frames[:2]], header_of(frames, "420", 8))
    assert done.err == "climg: standard input: damaged Y4M: the last frame is cut off\n"


REFUSED = [
    ("420", ["--gray"], "--gray does not work on Y, Cb and Cr"),
    ("420", ["--gradient=1"], "--gradient does not work on Y, Cb and Cr"),
    ("420", ["--convolve", "1 2 1"], "--convolve 1 2 1: works on video whose colour is as large"),
    ("420", ["--wavelet", "--mosaic"], "--wavelet does not work on Y, Cb and Cr"),
    ("444", ["--gray"], "--gray does not work on Y, Cb and Cr"),
    ("422", ["--rotate", "1,outside=edge"], "--rotate 1,outside=edge: works on video whose colour is as wide as high, 4:2:0 or 4:4:4"),
    ("420", ["--crop", "20x20+3+2"], "--crop 20x20+3+2: the part begins at +3+2, between two pixels of the video's colour"),
    ("420", ["--border", "-3"], "--border -3: the part begins at +3+3, between two pixels of the video's colour"),
    ("420", ["--rotate", "5"], "--rotate 5: needs outside=edge on video"),
    ("420", ["--linear", "--blur", "1"], "is video of Y, Cb and Cr; leave --linear out"),
    ("420", ["--range", "auto", "--blur", "1"], "is video of Y, Cb and Cr; leave --range out"),
    ("420", ["--edge", "zero", "--blur", "1"], "is video of Y, Cb and Cr; leave --edge zero out"),
    ("420", ["--depth", "16"], "a Y4M keeps the 8 bits of its samples; leave --depth out"),
]


@pytest.mark.parametrize("form,args,said", REFUSED)
def test_what_cannot_be_done(rng, form, args, said):
    frames = frames_of(rng, form, 8, 48, 40)
    assert said in harness.run("-", *args, "-f", "y4m", "-", stdin=y4m(frames, header_of(frames, form, 8)), status=1).err


@pytest.mark.parametrize("name", ["png", "tif", "jpg", "ppm"])
def test_other_formats_hold_no_video(tmp_path, rng, name):
    frames = frames_of(rng, "420", 8)
    (tmp_path / "in.y4m").write_bytes(y4m(frames, header_of(frames, "420", 8)))
    for options in ([], ["--page", "1"]):
        assert "is video of Y, Cb and Cr, which" in harness.run("in.y4m", *options, f"out.{name}", cwd=tmp_path, status=1).err
    assert not (tmp_path / f"out.{name}").exists()


@pytest.mark.parametrize("data,said", [
    (b"YUV4MPEG2 W4 H4 C444alpha\nFRAME\n", "C444alpha: climg reads C420"), (b"YUV4MPEG2 W4 H4 C420p17\nFRAME\n", "C420p17: climg reads"),
    (b"YUV4MPEG2 W4 H4 C422jpeg\nFRAME\n", "C422jpeg: climg reads"), (b"YUV4MPEG2 W4\nFRAME\n", "does not say the size"),
    (b"YUV4MPEG2 W4 H-4\nFRAME\n", "does not say the size"), (b"YUV4MPEG2 W4 H4\n", "holds no frame"),
    (b"YUV4MPEG2 W4 H4\nframe\n" + bytes(24), "a frame does not begin with FRAME"),
    (b"YUV4MPEG2 W4 H4 Cmono10\nFRAME\n" + b"\xff" * 32, "a sample has more than 10 bits"),
    (b"YUV4MPEG2 W99999 H99999\nFRAME\n", "raise --max-pixels"), (b"YUV4MPEG2 " + b"X" * 2000 + b" W4 H4\n", "its first line has no end")])
def test_damage(data, said):
    assert said in harness.run("-", "-f", "y4m", "-", stdin=data, status=1).err


def test_info(tmp_path, rng):
    frames = frames_of(rng, "420", 10, 16, 12)
    (tmp_path / "in.y4m").write_bytes(y4m(frames, "YUV4MPEG2 W16 H12 F25:1 C420p10"))
    told = harness.run("--info", "in.y4m", cwd=tmp_path).out.decode()
    assert told == "in.y4m: Y4M, 16 x 12, Y, Cb and Cr, 10 bit\n  pages: one or more\n  stream: YUV4MPEG2 W16 H12 F25:1 C420p10\n"
