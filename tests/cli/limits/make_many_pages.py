#!/usr/bin/python3
"""Writes a TIFF of as many pages as the first argument says, of one pixel each, to stdout."""
import struct
import sys

TAGS = [(256, 1), (257, 1), (258, 8), (259, 1), (262, 1), (273, 4), (277, 1), (278, 1), (279, 1)]
PAGES, SIZE = int(sys.argv[1]), 2 + 12 * len(TAGS) + 4
sys.stdout.buffer.write(b"II*\0" + struct.pack("<I", 8))
for page in range(PAGES):
    following = 8 + (page + 1) * SIZE if page + 1 < PAGES else 0
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in TAGS)
    sys.stdout.buffer.write(struct.pack("<H", len(TAGS)) + entries + struct.pack("<I", following))
