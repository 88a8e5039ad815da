"""A small TIFF writer for files that no program would write: any tags, in either byte order and layout, after TIFF 6.0 and the
BigTIFF proposal. Offsets, lists of strips and links are right unless a page says something else."""
import struct

SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1, 12: 8, 16: 8}
LETTERS = {1: "B", 3: "H", 4: "I", 5: "II", 12: "d", 16: "Q"}


class At(tuple):
    """A value that lies somewhere else in the file: type, number of elements, offset."""


def value_bytes(value, order):
    """Type, number of elements, bytes."""
    if isinstance(value, bytes):
        return 7, len(value), value
    if isinstance(value, str):
        data = value.encode() + b"\0"
        return 2, len(data), data
    if isinstance(value, tuple):  # type and elements
        kind, elements = value
    else:
        kind, elements = (3, value) if isinstance(value, list) else (4, [value])
    return kind, len(elements), b"".join(struct.pack(order + LETTERS[kind], *(each if isinstance(each, tuple) else (each,)))
                                         for each in elements)


def make(*pages, order="<", big=False, last_link=0):
    """Pages are (tags, strips or tiles). A tag's value: a number (LONG), a list (SHORT), bytes (UNDEFINED), a text (ASCII),
    (type, elements) or At. The arrays of strips are added, of tiles where there is a TileWidth."""
    word, head = ("Q", 16) if big else ("I", 8)
    room = struct.calcsize("=" + word)
    data = bytearray((b"II" if order == "<" else b"MM") + struct.pack(order + "HHH", 43, 8, 0)[:6 if big else 2] + bytes(room))
    if not big:
        data[2:4] = struct.pack(order + "H", 42)
    assert len(data) == head
    link = head - room
    for tags, strips in pages:
        at = []
        for strip in strips:
            at.append(len(data))
            data += strip + bytes(len(strip) % 2)
        names = (324, 325) if 322 in tags else (273, 279)
        tags = {names[0]: (4, at), names[1]: (4, [len(strip) for strip in strips]), **tags}
        entries = b""
        for tag, value in sorted(tags.items()):
            if isinstance(value, At):
                kind, count, offset = value
                entries += struct.pack(f"{order}HH{word}{word}", tag, kind, count, offset)
                continue
            kind, count, raw = value_bytes(value, order)
            if len(raw) > room:
                offset, raw = len(data), raw + bytes(len(raw) % 2)
                data += raw
                raw = struct.pack(order + word, offset)
            entries += struct.pack(f"{order}HH{word}", tag, kind, count) + raw.ljust(room, b"\0")
        data[link:link + room] = struct.pack(order + word, len(data))
        data += struct.pack(order + ("Q" if big else "H"), len(tags)) + entries
        link = len(data)
        data += bytes(room)
    data[link:link + room] = struct.pack(order + word, last_link)
    return bytes(data)


def gray(samples, **tags):
    """A page of one uncompressed strip; tags as t262=1."""
    height, width = samples.shape
    return ({256: width, 257: height, 258: [8 * samples.itemsize], 259: [1], 262: [1], 277: [1], 278: height,
             **{int(name[1:]): value for name, value in tags.items()}}, [samples.tobytes()])
