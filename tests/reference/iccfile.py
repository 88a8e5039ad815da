"""ICC profiles of versions 2 and 4, byte by byte (ICC.1:2022 and ICC.1:2001-04): matrices, gray, tables. Needs Python alone."""
import struct

D50 = (0.9642, 1.0, 0.8249)
SRGB = (2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)  # parameters of form 3


def fixed(value):
    return struct.pack(">i", round(value * 65536))


def curve(*values):
    """curveType: nothing is linear, one number an exponent, more are a table from 0 to 1."""
    numbers = [round(values[0] * 256)] if len(values) == 1 else [round(value * 65535) for value in values]
    return b"curv\0\0\0\0" + struct.pack(f">I{len(numbers)}H", len(numbers), *numbers)


def parametric(form, *numbers):
    return b"para\0\0\0\0" + struct.pack(">HH", form, 0) + b"".join(map(fixed, numbers))


def xyz(*values):
    return b"XYZ \0\0\0\0" + b"".join(map(fixed, values))


def text(version, words):
    if version >= 4:
        return b"mluc\0\0\0\0" + struct.pack(">II4sII", 1, 12, b"enUS", 2 * len(words), 28) + words.encode("utf-16-be")
    return b"desc\0\0\0\0" + struct.pack(">I", len(words) + 1) + words.encode() + bytes(1 + 78)


def profile(version, kind, space, connection, tags, name="test"):
    """`kind` is mntr, scnr or prtr, `space` "RGB ", "GRAY" or "CMYK", `connection` "XYZ " or "Lab "."""
    tags = {"desc": text(version, name), "cprt": text(version, "CC0") if version >= 4 else b"text\0\0\0\0CC0\0",
            "wtpt": xyz(*D50), **tags}
    table, data, places, start = b"", b"", {}, 132 + 12 * len(tags)
    for tag, value in tags.items():
        if value not in places:
            data += bytes(-len(data) % 4)
            places[value] = start + len(data)
            data += value
        table += struct.pack(">4sII", tag.encode(), places[value], len(value))
    data += bytes(-len(data) % 4)
    head = struct.pack(">I4sI4s4s4s6H4sI", start + len(data), b"test", version << 24, kind.encode(), space.encode(),
                       connection.encode(), 2026, 1, 1, 0, 0, 0, b"acsp", 0)
    head += bytes(64 - len(head)) + struct.pack(">I", 0) + b"".join(map(fixed, D50)) + bytes(48)
    return head[:128] + struct.pack(">I", len(tags)) + table + data


def rgb(version, columns, curves, **more):
    """`columns`: XYZ of red, green and blue under D50."""
    tags = {f"{c}XYZ": xyz(*column) for c, column in zip("rgb", columns)}
    tags |= {f"{c}TRC": value for c, value in zip("rgb", curves)}
    return profile(version, more.pop("kind", "mntr"), "RGB ", "XYZ ", {**tags, **more})


def gray(version, tone, connection="XYZ "):
    return profile(version, "mntr", "GRAY", connection, {"kTRC": tone})


def lut(inputs, outputs, nodes, values):
    """lut16Type without curves; `values`: numbers from 0 to 1, the last input fastest."""
    head = struct.pack(">BBBB", inputs, outputs, nodes, 0) + b"".join(map(fixed, (1, 0, 0, 0, 1, 0, 0, 0, 1))) + struct.pack(">HH", 2, 2)
    ends = struct.pack(">HH", 0, 65535)
    numbers = [min(max(round(value * 65535), 0), 65535) for value in values]
    return b"mft2\0\0\0\0" + head + ends * inputs + struct.pack(f">{len(numbers)}H", *numbers) + ends * outputs


def printer(nodes=9, space="RGB "):
    """A profile of tables for a device whose colours are dull, darker than linear, and mixed."""
    count = 4 if space == "CMYK" else 3
    to_lab, from_lab = [], []
    for i in range(nodes ** count):
        device = [i // nodes ** (count - 1 - c) % nodes / (nodes - 1) for c in range(count)]
        if count == 4:
            device = [(1 - ink) * (1 - 0.9 * device[3]) for ink in device[:3]]
        r, g, b = (value ** 1.3 for value in device)
        to_lab += [(0.08 + 0.84 * (0.3 * r + 0.6 * g + 0.1 * b)) * 65280 / 65535, 128 / 255 * 65280 / 65535 + 0.2 * (r - g),
                   128 / 255 * 65280 / 65535 + 0.2 * (0.5 * (r + g) - b)]
    for i in range(nodes ** 3):
        light, a, b = (i // nodes ** (2 - c) % nodes / (nodes - 1) for c in range(3))
        mean, red, blue = (light - 0.08) / 0.84, (a - 0.5) * 2, (b - 0.5) * 2
        inks = [min(max(v, 0), 1) for v in (mean + red - 0.3 * blue, mean - red, mean - blue)]
        from_lab += inks if count == 3 else [1 - v for v in inks] + [0]
    return profile(2, "prtr", space, "Lab ", {"A2B0": lut(count, 3, nodes, to_lab), "B2A0": lut(3, count, nodes, from_lab)})
