"""TIFFs that are damaged, or that ask for more than they are worth: what is lost is a failure, and nothing is written then."""
import numpy as np
import pytest
import tifffile

import harness
import tiffbytes


def assert_fails(folder, *args, says):
    """In one line, and leaves the folder as it was."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    said = harness.run(*args, cwd=folder, status=1).err
    assert said.count("\n") == 1 and says in said, said
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


# ---------------------------------------------------------------- pages that a link should lead to

def pages_of(rng, count):
    stack = rng.integers(0, 256, (count, 20, 30), dtype=np.uint8)
    return stack, [tiffbytes.gray(each) for each in stack]


LINKS = {"beyond the end": 0x7fffff00, "into the header": 6, "into the pixels": 20, "back to the first page": None}


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("kind", list(LINKS))
def test_link_that_leads_to_no_page(tmp_path, rng, kind, big):
    """Nobody knows whether a page is lost: the user decides, with --page."""
    stack, pages = pages_of(rng, 3)
    stack[0, :2] = 0  # no directory is to be found there
    pages[0] = tiffbytes.gray(stack[0])
    link = LINKS[kind]
    if link is None:
        link = int.from_bytes(tiffbytes.make(*pages, big=big)[8 if big else 4:16 if big else 8], "little")
    (tmp_path / "in.tif").write_bytes(tiffbytes.make(*pages, big=big, last_link=link))
    says = "the link after page 3 leads to no page, as where a file lost its end; --page 1-3 reads what is before it"
    assert_fails(tmp_path, "in.tif", "out.tif", says=says)
    assert_fails(tmp_path, "in.tif", "--invert", "--in-place", says=says)
    assert_fails(tmp_path, "in.tif", "--page", "2-", "out.tif", says=says)
    assert_fails(tmp_path, "in.tif", "--page", "3-4", "out.tif", says=says)
    harness.run("in.tif", "--page", "2-3", "out.tif", cwd=tmp_path)
    assert np.array_equal(np.stack(harness.read_pages(tmp_path / "out.tif"))[..., 0], stack[1:])


@pytest.mark.parametrize("lost", [1, 4, 5, 2000])
def test_cut_file(tmp_path, rng, lost):
    """The last link is lost, the last page, all pages but some."""
    _, pages = pages_of(rng, 5)
    (tmp_path / "in.tif").write_bytes(tiffbytes.make(*pages)[:-lost])
    assert_fails(tmp_path, "in.tif", "out.tif", says="leads to no page")
    assert_fails(tmp_path, "in.tif", "--invert", "--in-place", says="leads to no page")


def test_what_is_before_a_broken_link_is_whole(tmp_path, rng):
    """Its tags, and its strips on several threads."""
    samples = rng.integers(0, 256, (1600, 1000), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "in.tif", samples, compression="zlib", rowsperstrip=100, metadata=None, description="seen",
                     extratags=[(33550, 12, 3, (2.0, 2.0, 0.0), True), (33922, 12, 6, (0, 0, 0, 5.0, 6.0, 0), True),
                                (34735, 3, 8, (1, 1, 0, 1, 1025, 0, 1, 1), True)])
    data = bytearray((tmp_path / "in.tif").read_bytes())
    with tifffile.TiffFile(tmp_path / "in.tif") as tiff:
        page = tiff.pages[0]
        at = page.offset + 2 + 12 * len(page.tags)
    data[at:at + 4] = (16).to_bytes(4, "little")
    (tmp_path / "in.tif").write_bytes(data)
    harness.run("in.tif", "--page", "1", "--jobs", "3", "out.tif", cwd=tmp_path)
    tags = harness.tiff_tags(tmp_path / "out.tif")
    assert np.array_equal(harness.read_tiff(tmp_path / "out.tif")[..., 0], samples)
    assert tags[270] == "seen" and tags[33550] == (2.0, 2.0, 0.0) and tags[34735][0] == 1


# ---------------------------------------------------------------- tags that nobody asks for

def test_large_tags_take_no_memory(tmp_path, rng):
    """Sixty overlapping ones of a megabyte each; Photoshop's layers, half a gigabyte in a hole of the file, at each of four threads."""
    samples = rng.integers(0, 256, (1100, 1000), dtype=np.uint8)
    strips = [samples[y:y + 100].tobytes() for y in range(0, 1100, 100)]
    plain = {256: 1000, 257: 1100, 258: [8], 259: [32773], 262: [1], 277: [1], 278: 100}
    packed = [b"".join(b"\x7f" + strip[at:at + 128] for at in range(0, len(strip) - 127, 128)) + bytes([len(strip) % 128 - 1]) +
              strip[len(strip) - len(strip) % 128:] for strip in strips]
    (tmp_path / "plain.tif").write_bytes(tiffbytes.make((plain, packed)))
    unknown = {60000 + i: tiffbytes.At((1, 1 << 20, 8)) for i in range(60)}
    (tmp_path / "unknown.tif").write_bytes(tiffbytes.make((plain | unknown, packed)))
    layers = tiffbytes.make((plain | {37724: tiffbytes.At((7, 512 << 20, 1 << 21))}, packed))
    with open(tmp_path / "layers.tif", "wb") as file:
        file.write(layers)
        file.truncate(520 << 20)
    base = harness.peak_of_run([tmp_path / "plain.tif", "-j", 4, tmp_path / "out.tif"], 0)
    for name in ("unknown.tif", "layers.tif"):
        assert harness.peak_of_run([tmp_path / name, "-j", 4, tmp_path / "out.tif"], 0) < base + (6 << 20), name
        assert np.array_equal(harness.read_tiff(tmp_path / "out.tif")[..., 0], samples)


def test_an_offset_that_wraps(tmp_path, rng):
    """In BigTIFF, the sum of the strip's offset and a row's offset in the strip is an offset in the file again."""
    samples = rng.integers(0, 256, (400, 300), dtype=np.uint8)
    (tmp_path / "in.tif").write_bytes(tiffbytes.make(tiffbytes.gray(samples, t273=(16, [2**64 - 200 * 300])), big=True))
    for crop in ("300x100+0+200", "300x400+0+0"):
        done = harness.run("in.tif", "--crop", crop, "out.tif", cwd=tmp_path, status=1)
        assert "in.tif: " in done.err and not (tmp_path / "out.tif").exists(), done.err


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("tag, value, name", [(34675, (7, 3000, 4000), "its ICC Profile is"), (270, (2, 60, 5000), "its ImageDescription is"),
                                              (282, (5, 1, 5000), "its XResolution is"), (33550, (12, 3, 5000), "its tag 33550 is"),
                                              (34665, (4, 1, 5000), "some of its EXIF is"), (34853, (4, 1, 5000), "some of its EXIF is")])
def test_values_after_the_end(tmp_path, rng, order, tag, value, name):
    """As of a file that lost its end: programs write the values of tags there. A value inside the file causes no warning."""
    samples = rng.integers(0, 256, (20, 30), dtype=np.uint8)
    (tmp_path / "in.tif").write_bytes(tiffbytes.make(tiffbytes.gray(samples, **{f"t{tag}": tiffbytes.At(value)}), order=order))
    assert f"in.tif: warning: {name} damaged and left out" in harness.run(tmp_path / "in.tif", tmp_path / "out.png").err
    if tag < 34665:
        whole = tiffbytes.At((*value[:2], 8)) if tag != 270 else "words"
        (tmp_path / "in.tif").write_bytes(tiffbytes.make(tiffbytes.gray(samples, **{f"t{tag}": whole}), order=order) + bytes(3000))
        assert harness.run(tmp_path / "in.tif", tmp_path / "out.png").err == ""
