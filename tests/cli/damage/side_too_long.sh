"$PYTHON" - <<'END'
import struct

width = 3000000000
tags = [(256, 4, 1, width), (257, 4, 1, 1), (258, 3, 1, 1), (259, 3, 1, 1), (262, 3, 1, 1),
        (273, 4, 1, 200), (277, 3, 1, 1), (278, 4, 1, 1), (279, 4, 1, width // 8)]
entries = b"".join(struct.pack("<HHII", *tag) for tag in tags)
with open("wide.tif", "wb") as file:
    file.write(b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4))
    file.truncate(200 + width // 8)  # a hole
END
climg wide.tif --max-pixels 8G --blur 1 out.tif
