# Pictures in XMP, which a stage drops: as many as a PNG of few bytes unpacks to, in one pass.
"$PYTHON" - <<'END'
import struct, zlib
def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
xmp = b"<x:xmpmeta>" + b"<xmpGImg:image>a</xmpGImg:image>" * 100000 + b"</x:xmpmeta>"
text = b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(xmp)
open("in.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)) + chunk(b"iTXt", text) +
                           chunk(b"IDAT", zlib.compress(bytes(6))) + chunk(b"IEND", b""))
END
(ulimit -t 5; climg -v in.png --invert out.png 2>&1) | grep -o 'left out: .*'
rm in.png out.png
