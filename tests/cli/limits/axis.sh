# The longest row there is, of a file of few bytes: nothing is allocated for it before the plan. A mosaic would be longer.
"$PYTHON" - <<'END'
import struct, zlib

def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

for width in (1 << 30, (1 << 30) + 1):
    with open(f"{width}.png", "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, 1, 16, 6, 0, 0, 0)) + chunk(b"IDAT", b""))
END
climg 1073741824.png --memory-limit 64M --invert out.png
climg 1073741824.png --memory-limit 64M --wavelet=1 out.png
climg 1073741825.png --max-pixels 4G --invert out.png
rm *.png
