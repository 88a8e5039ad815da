"""Writes a whole, valid PNG of one colour: make_huge_png.py SIDE > FILE. 60000 x 60000 gray takes 4 MB."""

import struct
import sys
import zlib


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def zeros(count):
    """`count` zero bytes as a zlib stream: one block ended by a full flush stands alone, so it is repeated."""
    block = 1 << 20
    deflate = zlib.compressobj(wbits=-15)
    once = deflate.compress(bytes(block)) + deflate.flush(zlib.Z_FULL_FLUSH)
    rest = zlib.compressobj(wbits=-15)
    tail = rest.compress(bytes(count % block)) + rest.flush()
    adler = (count % 65521) << 16 | 1  # of zeros: the low half stays 1, the high half counts
    return b"\x78\x9c" + once * (count // block) + tail + struct.pack(">I", adler)


side = int(sys.argv[1])
header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
sys.stdout.buffer.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
                        + chunk(b"IDAT", zeros(side * (side + 1))) + chunk(b"IEND", b""))
